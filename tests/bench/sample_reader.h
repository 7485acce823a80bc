/* Who reads the frames: a child process with the aggregator's end of the link, which throws them away. */
#ifndef SYNOP_SAMPLE_READER_H
#define SYNOP_SAMPLE_READER_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/link.h"
#include "tests/bench/sample_reads.h"

#define START_NS (10 * NS_PER_S) /* for what happens once at the start */

/* Tells its endpoint, one byte when the first frame has come, and at the end how many came. Ends when `until` closes. */
static void
reader_run (const struct key_pair *server, const struct key_pair *agent, int tell, int until)
{
  struct link_server_options options = { .endpoint = "tcp://127.0.0.1:*",
                                         .keys = *server,
                                         .allowed = key_set_create (),
                                         .queue_bytes = 64 << 20,
                                         .queue_messages = 100000,
                                         .data_bytes_max = FRAME_BYTES_MAX };
  struct link_message messages[64];
  struct error error;
  char endpoint[LINK_ENDPOINT_MAX] = "";
  struct link_server *link;
  uint64_t total = 0;

  if (key_set_add (options.allowed, "bench", agent->public_key, &error) < 0 ||
      !(link = link_server_create (&options, &error)))
    fail ("the reader", &error);
  snprintf (endpoint, sizeof endpoint, "%s", link_server_endpoint (link));
  if (write (tell, endpoint, sizeof endpoint) < 0)
    exit (1);
  for (;;) {
    struct pollfd ready[] = { { .fd = link_server_fd (link), .events = POLLIN }, { .fd = until, .events = POLLIN } };
    size_t count;

    poll (ready, 2, -1);
    while ((count = link_server_take (link, messages, 64)) > 0) {
      if (total == 0 && write (tell, "", 1) < 0)
        exit (1);
      total += count;
      for (size_t i = 0; i < count; i++)
        link_server_release (link, &messages[i]);
    }
    if (ready[1].revents)
      break;
  }
  if (write (tell, &total, sizeof total) < 0)
    exit (1);
  _exit (0);
}

struct reader_process {
  pid_t pid;
  int tells, until;
  uint64_t published;
  struct link_agent *link;
};

static void
read_told (struct reader_process *reader, void *into, size_t size)
{
  for (size_t got = 0; got < size;) {
    ssize_t more = read (reader->tells, (char *) into + got, size - got);
    if (more <= 0)
      fail ("the reader has ended", NULL);
    got += (size_t) more;
  }
}

static void
link_drain (struct link_agent *link)
{
  struct link_event event;

  while (link_agent_next (link, &event))
    ;
}

/* A child, made before this process has threads. Returns when frames arrive there. */
static void
reader_start (struct reader_process *reader)
{
  struct link_agent_options options = { .queue_frames = 100000 };
  struct key_pair server;
  int tell[2], until[2];
  char endpoint[LINK_ENDPOINT_MAX];
  struct error error;
  struct pollfd told;
  int64_t end = clock_monotonic () + START_NS;

  key_pair_make (&server);
  key_pair_make (&options.keys);
  memcpy (options.server_key, server.public_key, KEY_SIZE);
  if (pipe (tell) < 0 || pipe (until) < 0)
    fail (strerror (errno), NULL);
  reader->pid = fork ();
  if (reader->pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    close (tell[0]);
    close (until[1]);
    reader_run (&server, &options.keys, tell[1], until[0]);
  }
  close (tell[1]);
  close (until[0]);
  reader->tells = tell[0];
  reader->until = until[1];
  read_told (reader, endpoint, sizeof endpoint);
  options.endpoint = endpoint;
  if (!(reader->link = link_agent_create (&options, &error)))
    fail ("the link", &error);
  told = (struct pollfd){ .fd = reader->tells, .events = POLLIN };
  do { /* what is sent before the subscription has come is lost */
    if (clock_monotonic () > end)
      fail ("no frame arrives at the reader", NULL);
    link_agent_publish (reader->link, "x", 1);
    link_drain (reader->link);
  } while (poll (&told, 1, 10) == 0);
  read_told (reader, endpoint, 1);
}

/* How many frames came there, with those of the start. */
static uint64_t
reader_stop (struct reader_process *reader)
{
  uint64_t total;

  usleep (200000);
  close (reader->until);
  read_told (reader, &total, sizeof total);
  waitpid (reader->pid, NULL, 0);
  link_agent_destroy (reader->link);
  return total;
}

#endif
