/* A publisher with a node to tell of, a ring and keys; its clock, loop and link are played. */
#ifndef SYNOP_TESTS_PUBLISHER_STAGE_H
#define SYNOP_TESTS_PUBLISHER_STAGE_H

#include <unistd.h>

#include "agent/uplink/publisher.h"
#include "synop/keys.h"
#include "synop/log.h"
#include "tests/unit/agent/uplink/publisher_played.h"
#include "tests/unit/test_folder.h"

static const struct metric metrics[] = { { "value", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE,
                                           .help = "A value." } };
static const struct group group_plain = { .name = "plain",
                                          .section = "system_data",
                                          .row = "",
                                          .rows_name = "",
                                          .fold_name = "",
                                          .help = "Plain.",
                                          GROUP_METRICS (metrics) };
static const struct group group_facts = { .name = "facts",
                                          .section = "",
                                          .row = "",
                                          .rows_name = "",
                                          .fold_name = "",
                                          .flags = GROUP_ONCE,
                                          .help = "Facts.",
                                          GROUP_METRICS (metrics) };

static inline void *
value_open (const struct sampler_context *context)
{
  (void) context;
  return NULL;
}

static inline int
value_sample (void *state, struct table *table)
{
  (void) state;
  table_set_uint (table, TABLE_NODE, 0, 1);
  return 0;
}

static inline void
value_close (void *state)
{
  (void) state;
}

static const struct sampler plain = { &group_plain, NULL, value_open, value_sample, value_close };
static const struct sampler facts = { &group_facts, NULL, value_open, value_sample, value_close };

static char folder[TEST_FOLDER_SIZE];
static struct sampling *sampling;
static struct publisher *publisher;

static inline int
make_keys (void **state)
{
  struct key_pair pair;
  char *path;
  int rc;

  (void) state;
  log_set_level (LOG_LEVEL_ERROR);
  test_folder_make (folder);
  key_pair_make (&pair);
  path = memory_format ("%s/agent.key", folder);
  rc = key_secret_write (path, pair.secret_key, NULL, NULL);
  free (path);
  path = memory_format ("%s/aggregator.pub", folder);
  rc |= key_public_write (path, pair.public_key, NULL, NULL);
  free (path);
  return rc;
}

static inline int
remove_keys (void **state)
{
  char *key = memory_format ("%s/agent.key", folder), *pub = memory_format ("%s/aggregator.pub", folder);
  int rc;

  (void) state;
  unlink (key);
  unlink (pub);
  rc = rmdir (folder);
  free (key);
  free (pub);
  return rc;
}

static struct ring *ring;
static const char *frame_log; /* for the next publisher */

static inline struct publisher *
create_publisher (uint64_t session)
{
  struct publisher_options options = { .node = "n1",
                                       .session = session,
                                       .endpoint = "tcp://master:5555",
                                       .keys = folder,
                                       .queue_frames = 300,
                                       .ring = ring,
                                       .frame_log = frame_log };
  struct error error;

  return publisher_create (&options, NULL, sampling, &error);
}

/* The agent is started again; the ring stays, as its file does. */
static inline void
restart_publisher (uint64_t session)
{
  publisher_destroy (publisher);
  timer_count = 0;
  publisher = create_publisher (session);
  happens (LINK_UP);
}

static inline int
begin_without_ring (void **state)
{
  static const struct sampler *const list[] = { &plain, &facts };
  static const int64_t periods[] = { S, S };
  static const struct sampler_context context = { .root = "" };
  const struct group *const *groups;
  size_t count;

  (void) state;
  now_ns = START;
  timer_count = event_count = sent_count = frame_count = reconnects = 0;
  sampling = sampling_create (list, periods, 2, &context);
  groups = sampling_groups (sampling, &count);
  declared = schema_create (groups, count);
  publisher = create_publisher (SESSION);
  return publisher ? 0 : -1;
}

static inline int
begin (void **state)
{
  const struct ring_options in_memory = { "", 65536, 900 * S, "n1" };

  ring = ring_create (&in_memory, START, START);
  return begin_without_ring (state);
}

static inline int
end (void **state)
{
  (void) state;
  publisher_destroy (publisher);
  ring_destroy (ring);
  ring = NULL;
  sampling_destroy (sampling);
  schema_destroy (declared);
  schema_destroy (sent_schema);
  sent_schema = NULL;
  buffer_free (&published);
  published = (struct buffer){ 0 };
  return 0;
}

#endif
