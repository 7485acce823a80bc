/* The room of traces among others: floods, borrowed names and descriptors, answers that nobody reads, other users. */
#include "tests/unit/agent/traces/traces_room.h"

static int
flood (void)
{
  char bytes[65536] = { 0 };
  int fd = client_open (), sent = 0;

  for (int i = 0; i < 20000; i++) {
    size_t length = i % 3 == 0 ? 0 : i % 3 == 1 ? 40 : sizeof bytes;

    sent += send (fd, bytes, length, MSG_DONTWAIT) >= 0;
  }
  return sent ? 0 : 1;
}

/* As many as send, so many descriptors come along. */
static int
give_descriptors (void)
{
  char byte = 0, control[CMSG_SPACE (16 * sizeof (int))] __attribute__ ((aligned)) = { 0 };
  struct iovec part = { &byte, 1 };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
  };
  struct cmsghdr *header = CMSG_FIRSTHDR (&message);
  int fd = client_open (), sent = 0;

  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN (16 * sizeof (int));
  for (int i = 0; i < 16; i++)
    memcpy (CMSG_DATA (header) + (size_t) i * sizeof (int), &fd, sizeof fd);
  for (int i = 0; i < 200; i++)
    sent += sendmsg (fd, &message, 0) == 1;
  return sent == 200 ? 0 : 1;
}

static int
open_descriptors (void)
{
  int count = 0;

  for (int fd = 0; fd < 1024; fd++)
    count += fcntl (fd, F_GETFD) >= 0;
  return count;
}

static void
test_hostile (void **state)
{
  int fd = client_open (), before;

  (void) state;
  assert_int_equal (in_child (flood), 0);
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  before = open_descriptors ();
  assert_int_equal (in_child (give_descriptors), 0);
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1); /* all before it was read */
  assert_true (open_descriptors () < before + 16);          /* one or two are open for a moment; 3,200 came along */
  close (fd);
}

/* Another user's process asks by many sockets, and reads none of the answers: ours has no room left. */
static pid_t
hold_answers (void)
{
  int ends[2];
  char byte;
  pid_t pid;

  assert_int_equal (pipe (ends), 0);
  pid = fork ();
  if (pid == 0) {
    const struct {
      int32_t gpu, pid;
      int64_t job;
    } context = { 0, getpid (), 7 };
    char bytes[KINETO_HEAD + sizeof context];
    size_t length = kineto_write (bytes, KINETO_CONTEXT, &context, sizeof context);

    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getuid () == 0 && (setresgid (OTHER, OTHER, OTHER) < 0 || setresuid (OTHER, OTHER, OTHER) < 0))
      _exit (8);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 600; i++)
      if (send (client_open (), bytes, length, 0) < 0)
        _exit (9);
    if (write (ends[1], "x", 1) == 1)
      pause ();
    _exit (10);
  }
  close (ends[1]);
  assert_int_equal (read (ends[0], &byte, 1), 1);
  close (ends[0]);
  return pid;
}

static void
test_held_answers (void **state)
{
  struct sockaddr_un from = { 0 }, none = { .sun_family = AF_UNSPEC };
  struct pollfd in = { client_open (), POLLIN, 0 };
  pid_t holder;
  int32_t context[4] = { 0, getpid (), 7, 0 };
  char bytes[256];
  size_t length = kineto_write (bytes, KINETO_CONTEXT, context, sizeof context);
  struct sockaddr_un address;
  socklen_t size = room_address (&address), from_size = sizeof from;

  (void) state;
  if (getuid () != 0)
    skip (); /* it is another user's that fill it */
  holder = hold_answers ();
  assert_int_equal (connect (in.fd, (const struct sockaddr *) &none, sizeof none.sun_family), 0);
  assert_int_equal (sendto (in.fd, bytes, length, 0, (const struct sockaddr *) &address, size), length);
  assert_int_equal (poll (&in, 1, LIMIT_MS), 1);
  assert_int_equal (recvfrom (in.fd, bytes, sizeof bytes, 0, (struct sockaddr *) &from, &from_size), KINETO_HEAD + 4);
  assert_true (from_size > sizeof from.sun_family && from.sun_path[0] == 0); /* libkineto takes none without a name */
  close (in.fd);
  stop_process (holder);
}

/* One that registered as another user, and one that says that it is another user, are not answered. */
static int
change_user (void)
{
  int fd = client_open ();
  char text[4096];

  if (getuid () != 0 || enter (fd, 0, getpid (), LIMIT_MS) != 1 || setresgid (OTHER, OTHER, OTHER) < 0 ||
      setresuid (OTHER, OTHER, OTHER) < 0)
    return 1;
  return fetch (fd, getpid (), text, sizeof text, REFUSED_MS) == -1 ? 0 : 2;
}

static int
claim_user (void)
{
  char control[CMSG_SPACE (sizeof (struct ucred))] __attribute__ ((aligned)) = { 0 }, bytes[256];
  const struct ucred claimed = { getpid (), OTHER, OTHER };
  int32_t context[4] = { 0, getpid (), 7, 0 };
  struct iovec part = { bytes, kineto_write (bytes, KINETO_CONTEXT, context, sizeof context) };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
  };
  struct cmsghdr *header = CMSG_FIRSTHDR (&message);
  struct pollfd in = { client_open (), POLLIN, 0 };

  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN (sizeof claimed);
  memcpy (CMSG_DATA (header), &claimed, sizeof claimed);
  if (sendmsg (in.fd, &message, 0) < 0)
    return 1;
  return poll (&in, 1, REFUSED_MS) == 0 ? 0 : 2;
}

static int
as_root (int (*run) (void))
{
  pid_t pid = fork ();
  int status = -1;

  if (pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    _exit (run ());
  }
  waitpid (pid, &status, 0);
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
test_users_that_do_not_match (void **state)
{
  (void) state;
  if (getuid () != 0)
    skip ();
  assert_int_equal (as_root (change_user), 0);
  assert_int_equal (as_root (claim_user), 0);
}

/* A path is looked for in our own folder, since containers call that otherwise: what of another user is there by that name
 * is sent nothing. */
static int
borrow_name (void)
{
  struct sockaddr_un own = { .sun_family = AF_UNIX }, room = { .sun_family = AF_UNIX };
  int32_t context[4] = { 0, getpid (), 7, 0 };
  char bytes[256];
  size_t length = kineto_write (bytes, KINETO_CONTEXT, context, sizeof context);
  int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  snprintf (own.sun_path, sizeof own.sun_path, "%.80s/eve/victim", folder);
  snprintf (room.sun_path, sizeof room.sun_path, "%s", socket_name);
  if (bind (fd, (const struct sockaddr *) &own, sizeof own) < 0)
    return 1;
  if (sendto (fd, bytes, length, 0, (const struct sockaddr *) &room, sizeof room) != (ssize_t) length)
    return 2;
  return poll (&(struct pollfd){ fd, POLLIN, 0 }, 1, REFUSED_MS) == 0 ? 0 : 3; /* only who is there is answered */
}

static void
test_a_name_that_is_another_users (void **state)
{
  struct sockaddr_un victim = { .sun_family = AF_UNIX };
  struct pollfd in = { socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), POLLIN, 0 };
  char path[256];

  (void) state;
  if (getuid () != 0)
    skip ();
  traces_close (traces);
  snprintf (socket_name, sizeof socket_name, "%.50s/dynolog", folder);
  traces = open_room ("", &(struct error){ { 0 } });
  assert_non_null (traces);
  snprintf (path, sizeof path, "%s/eve", folder);
  assert_int_equal (mkdir (path, 0777), 0);
  chmod (path, 0777);
  snprintf (victim.sun_path, sizeof victim.sun_path, "%.80s/victim", folder);
  assert_int_equal (bind (in.fd, (const struct sockaddr *) &victim, sizeof victim), 0);
  assert_int_equal (in_child (borrow_name), 0);
  assert_int_equal (poll (&in, 1, REFUSED_MS), 0);
  close (in.fd);
}

/* A process of another user that asks until it is told what to do. */
static pid_t
start_asking (void)
{
  char text[4096];
  pid_t pid = fork ();

  if (pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (setresgid (OTHER, OTHER, OTHER) < 0 || setresuid (OTHER, OTHER, OTHER) < 0)
      _exit (8);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = client_open (); fetch (fd, getpid (), text, sizeof text, LIMIT_MS) == 0;)
      poll (NULL, 0, 10);
    for (;;)
      pause ();
  }
  of_job[0] = pid;
  for (struct traces_process list[1]; traces_list (traces, list, 1) < 1;)
    poll (NULL, 0, 1);
  return pid;
}

/* What somebody else puts where the file is to come is not the process's trace. */
static void
test_a_file_of_others (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;
  pid_t asking;

  (void) state;
  if (getuid () != 0)
    skip ();
  asking = start_asking ();
  asked.start_ns = clock_monotonic ();
  asked.iterations = 3;
  begin (&asked);
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_BEGUN);
  write_file (progress.path, "mine");
  assert_int_equal (poll (&(struct pollfd){ traces_fd (traces), POLLIN, 0 }, 1, 1500), 0);
  assert_int_equal (chown (progress.path, OTHER, OTHER), 0);
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_ENDED);
  assert_int_equal (progress.uid, OTHER);
  stop_process (asking);
}

/* Another program has the name, and gives it back. */
static void
test_name_is_taken (void **state)
{
  struct traces_request asked = request ();
  struct traces *first = traces;
  struct traces_progress progress;
  int fd;

  (void) state;
  traces = open_room ("", &(struct error){ { 0 } });
  assert_non_null (traces);
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "another program");
  traces_close (first);
  asked = request ();
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "KINETO_USE_DAEMON=1");
  fd = client_open ();
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  close (fd);
}

static void
test_users (void **state)
{
  struct error error;

  (void) state;
  if (getuid () != 0)
    skip ();
  traces_close (traces);
  traces = open_room ("12346", &error);
  assert_non_null (traces);
  assert_int_equal (in_child (fetch_nothing), 0);
  assert_int_equal (traces_list (traces, (struct traces_process[1]){ { 0 } }, 1), 0);
}

int
main (void)
{
#define WITH_ROOM(TEST) cmocka_unit_test_setup_teardown (TEST, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    WITH_ROOM (test_name_is_taken),
    WITH_ROOM (test_hostile),
    WITH_ROOM (test_held_answers),
    WITH_ROOM (test_users_that_do_not_match),
    WITH_ROOM (test_a_file_of_others),
    WITH_ROOM (test_a_name_that_is_another_users),
    WITH_ROOM (test_users),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
