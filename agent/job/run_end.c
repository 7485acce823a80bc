/* See run_end.h. A message is "CODE JOB". */
#include "agent/job/run_end.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGE_MAX 256
#define TAKE_MOST 1024 /* at one time: whoever sends without end keeps no sample */
#define SEND_WAIT_US 200000

static int
make_address (struct sockaddr_un *address, const char *path, struct error *error)
{
  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  if (strlen (path) >= sizeof address->sun_path)
    return error_set (error, "%.100s: the path of a socket has at most %zu bytes", path, sizeof address->sun_path - 1);
  strcpy (address->sun_path, path);
  return 0;
}

int
run_end_connect (const char *path)
{
  const struct timeval wait = { .tv_usec = SEND_WAIT_US };
  struct sockaddr_un address;
  struct error error;
  int fd;

  if (!*path || make_address (&address, path, &error) < 0)
    return -1;
  fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect (fd, (const struct sockaddr *) &address, sizeof address) == 0 &&
      setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) == 0)
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

void
run_end_send (int fd, const char *job, unsigned exit_code)
{
  char text[MESSAGE_MAX];
  int length = snprintf (text, sizeof text, "%u %s", exit_code, job);

  if (length > 0 && (size_t) length < sizeof text && send (fd, text, (size_t) length, MSG_NOSIGNAL) < 0)
    return; /* the agent has gone: then the job ends as it is no more seen */
}

int
run_end_listen (const char *path, struct error *error)
{
  struct sockaddr_un address;
  int fd, other, yes = 1;

  if (make_address (&address, path, error) < 0)
    return -1;
  other = run_end_connect (path);
  if (other >= 0) {
    close (other);
    return error_set (error, "%.100s: another agent listens there", path);
  }
  unlink (path);
  fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && setsockopt (fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
      bind (fd, (const struct sockaddr *) &address, sizeof address) == 0 && chmod (path, 0666) == 0)
    return fd;
  error_set (error, "%.100s: %s", path, strerror (errno));
  if (fd >= 0)
    close (fd);
  return -1;
}

void
run_end_close (int fd, const char *path)
{
  if (fd < 0)
    return;
  close (fd);
  unlink (path);
}

static bool
read_message (struct run_end *end, const char *text, const struct msghdr *message)
{
  const struct cmsghdr *header = CMSG_FIRSTHDR (message);
  struct ucred sender;

  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS)
    return false;
  memcpy (&sender, CMSG_DATA (header), sizeof sender);
  end->uid = sender.uid;
  return sscanf (text, "%3u %128s", &end->exit_code, end->job) == 2 && end->exit_code <= 255 &&
         job_id_is_valid (end->job);
}

bool
run_end_take (int fd, struct run_end *end)
{
  char text[MESSAGE_MAX], control[CMSG_SPACE (sizeof (struct ucred))] __attribute__ ((aligned));

  for (int i = 0; fd >= 0 && i < TAKE_MOST; i++) {
    struct iovec part = { text, sizeof text - 1 };
    struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    ssize_t n = recvmsg (fd, &message, MSG_CMSG_CLOEXEC);
    if (n < 0)
      return false;
    text[n] = '\0';
    if (read_message (end, text, &message))
      return true;
  }
  return false;
}
