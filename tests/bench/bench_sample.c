/* What a sample costs the agent: sampling, encoding and publishing of all groups, against the bare preads of the same
 * files in the same process.
 *
 *   bench_sample ROOT SAMPLES PAUSE_MS      one JSON object on standard output
 *
 * Samples are those of so many periods, one after the other: groups with a longer period are in one of several. The
 * agent's own samplers, frames and link are used; frames go over CURVE to a reader in a child process, whose time
 * does not count. pread is interposed (--wrap=pread), so the bare reads are those of one sample that delivered bytes:
 * the same descriptors, sizes and offsets, into one buffer that stays in the cache. The reads that only find the end of
 * a file are the agent's own cost. Times are CPU times of the process with all its threads; both kinds alternate in
 * rounds, so that what else the machine does hits both. A pause between samples lets the caches go cold, as they are
 * when an agent wakes once a second. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/groups.h"
#include "agent/sampling/sampling.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/json.h"
#include "synop/link.h"
#include "synop/memory.h"
#include "tests/bench/sample_reader.h"
#include "tests/bench/sample_reads.h"
#include "tests/lib/options_for.h"

#define ROUNDS 10
#define WARM_UP 5

/* ---- the agent's work ---- */

struct work {
  struct sampling *sampling;
  struct schema *schema;
  struct frame_header header;
  struct buffer frame;
  struct reader_process *reader;
  struct read_list reads;
  char *buffer;
  size_t buffer_size;
  int64_t pause_ns;
};

static int64_t
cpu_self (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

struct cost {                      /* ns, summed */
  int64_t sample, encode, publish; /* of the main thread */
  int64_t workers, transport;      /* of the others: libzmq's are named ZMQ... */
  uint64_t times;
};

/* Adds the time of every other thread, from /proc: "ns on a CPU, ns waiting, times". */
static void
add_others (struct cost *cost, int sign)
{
  char path[300], name[32] = "", line[100] = "";
  DIR *folder = opendir ("/proc/self/task");
  struct dirent *entry;

  while (folder && (entry = readdir (folder))) {
    FILE *file;
    long id = strtol (entry->d_name, NULL, 10);

    if (id == 0 || id == getpid ())
      continue;
    snprintf (path, sizeof path, "/proc/self/task/%ld/comm", id);
    if ((file = fopen (path, "re")) != NULL) {
      name[fread (name, 1, sizeof name - 1, file)] = 0;
      fclose (file);
    }
    snprintf (path, sizeof path, "/proc/self/task/%ld/schedstat", id);
    if ((file = fopen (path, "re")) != NULL) {
      line[fread (line, 1, sizeof line - 1, file)] = 0;
      fclose (file);
      *(strncmp (name, "ZMQ", 3) == 0 ? &cost->transport : &cost->workers) += sign * strtoll (line, NULL, 10);
    }
  }
  if (folder)
    closedir (folder);
}

static void
pause_for (int64_t ns)
{
  struct timespec time = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

  if (ns > 0)
    nanosleep (&time, NULL);
}

static void
sample_once (struct work *work, struct cost *cost)
{
  struct sample sample;
  int64_t begin = cpu_self (), sampled, encoded;

  sampling_run (work->sampling, sampling_next_due (work->sampling), &sample);
  sampled = cpu_self ();
  work->header.sequence++;
  work->header.monotonic_ns = sample.monotonic_ns;
  work->header.wall_ns = sample.wall_ns;
  buffer_clear (&work->frame);
  frame_write (&work->frame, &work->header, work->schema, (const struct table *const *) sample.tables, sample.count);
  encoded = cpu_self ();
  if (link_agent_publish (work->reader->link, work->frame.data, work->frame.length) < 0)
    fail ("a frame was dropped", NULL);
  work->reader->published++;
  link_drain (work->reader->link);
  cost->publish += cpu_self () - encoded;
  cost->encode += encoded - sampled;
  cost->sample += sampled - begin;
  cost->times++;
}

static void
read_once (struct work *work, struct cost *cost)
{
  int64_t begin = cpu_self ();

  read_bare (&work->reads, work->buffer);
  cost->sample += cpu_self () - begin;
  cost->times++;
}

/* The other threads work for nobody else, so all of their time counts. The pauses do not. */
static void
run_block (struct work *work, void (*once) (struct work *, struct cost *), size_t times, struct cost *cost)
{
  add_others (cost, -1);
  for (size_t i = 0; i < times; i++) {
    pause_for (work->pause_ns);
    once (work, cost);
  }
  pause_for (10 * NS_PER_MS); /* they finish */
  add_others (cost, 1);
}

static void
write_cost (struct json *json, const char *key, const struct cost *cost)
{
  const struct {
    const char *name;
    int64_t ns;
  } parts[] = {
    { "sample_us", cost->sample },
    { "encode_us", cost->encode },
    { "publish_us", cost->publish },
    { "lanes_us", cost->workers },
    { "transport_us", cost->transport },
    { "total_us", cost->sample + cost->encode + cost->publish + cost->workers + cost->transport },
  };

  json_key (json, key);
  json_object (json);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    json_key (json, parts[i].name);
    json_real (json, (double) parts[i].ns / (double) cost->times / 1e3);
  }
  json_object_end (json);
}

static void
compare (struct work *work, struct json *json, const char *key, size_t samples, int64_t pause_ns)
{
  struct cost sample = { 0 }, bare = { 0 };

  work->pause_ns = pause_ns;
  for (int round = 0; round < ROUNDS; round++) {
    run_block (work, sample_once, samples / ROUNDS, &sample);
    run_block (work, read_once, samples / ROUNDS, &bare);
  }
  bare.workers = bare.transport = 0; /* libzmq's heartbeats */
  json_key (json, key);
  json_object (json);
  json_key (json, "samples");
  json_uint (json, sample.times);
  write_cost (json, "agent", &sample);
  write_cost (json, "bare", &bare);
  json_object_end (json);
}

/* ---- group by group, in this thread ---- */

struct one_group {
  const struct sampler *sampler;
  void *state;
  struct table table;
  struct read_list reads;
  int64_t sample, bare;
};

static void
group_sample (struct one_group *group)
{
  table_begin (&group->table);
  group->sampler->sample (group->state, &group->table);
}

static void
groups_run (struct work *work, const struct sampler_context *context, struct json *json, size_t times)
{
  struct one_group *groups = memory_new (sampler_count, sizeof *groups);
  size_t count = 0;

  for (size_t i = 0; i < sampler_count; i++) {
    struct one_group *group = &groups[count];

    if (samplers[i]->group->flags & GROUP_ONCE)
      continue;
    group->sampler = samplers[i];
    group->state = samplers[i]->open (context);
    table_init (&group->table, samplers[i]->group);
    for (int j = 0; j < WARM_UP; j++)
      group_sample (group);
    record_begin (&group->reads);
    group_sample (group);
    work->buffer = record_end (&group->reads, work->buffer, &work->buffer_size);
    count++;
  }
  for (size_t turn = 0; turn < 2 * times; turn++) {
    pause_for (work->pause_ns);
    for (size_t i = 0; i < count; i++) {
      int64_t begin = cpu_self ();

      if (turn % 2 == 0) {
        group_sample (&groups[i]);
        groups[i].sample += cpu_self () - begin;
      } else {
        read_bare (&groups[i].reads, work->buffer);
        groups[i].bare += cpu_self () - begin;
      }
    }
  }
  json_key (json, "groups");
  json_object (json);
  for (size_t i = 0; i < count; i++) {
    json_key (json, groups[i].sampler->group->name);
    json_object (json);
    json_key (json, "sample_us");
    json_real (json, (double) groups[i].sample / (double) times / 1e3);
    json_key (json, "bare_us");
    json_real (json, (double) groups[i].bare / (double) times / 1e3);
    json_key (json, "reads");
    json_uint (json, groups[i].reads.calls_made);
    json_key (json, "bytes");
    json_uint (json, groups[i].reads.bytes);
    json_object_end (json);
    groups[i].sampler->close (groups[i].state);
    table_free (&groups[i].table);
    free (groups[i].reads.calls);
  }
  json_object_end (json);
  free (groups);
}

/* ---- all of it ---- */

static void
work_open (struct work *work, const struct agent_options *options, struct reader_process *reader)
{
  const struct group *const *groups;
  size_t count;

  *work = (struct work){ .reader = reader, .header = { .node = "bench", .session = 1 } };
  work->sampling = sampling_create (samplers, options->periods_ns, sampler_count, &options->context);
  groups = sampling_groups (work->sampling, &count);
  work->schema = schema_create (groups, count);
  memcpy (work->header.schema, work->schema->hash, SCHEMA_HASH_SIZE);
  sampling_start (work->sampling, clock_monotonic ());
  for (int i = 0; i <= WARM_UP; i++) {
    struct cost ignored = { 0 };

    if (i == WARM_UP)
      record_begin (&work->reads);
    sample_once (work, &ignored);
    pause_for (20 * NS_PER_MS); /* what is late in a worker is there next time */
  }
  work->buffer = record_end (&work->reads, work->buffer, &work->buffer_size);
}

static void
work_close (struct work *work)
{
  sampling_destroy (work->sampling);
  schema_destroy (work->schema);
  buffer_free (&work->frame);
  free (work->reads.calls);
  free (work->buffer);
}

int
main (int argc, char **argv)
{
  struct agent_options *options;
  struct reader_process reader = { 0 };
  struct json json = { 0 };
  struct work work;
  size_t samples;
  int64_t pause_ns;

  if (argc != 4 || (samples = strtoul (argv[2], NULL, 10)) < ROUNDS) {
    fprintf (stderr, "usage: bench_sample ROOT SAMPLES PAUSE_MS   (ROOT \"\": the live machine; SAMPLES from %d on)\n",
             ROUNDS);
    return 2;
  }
  options = options_for (argv[1], "%s", "");
  pause_ns = strtol (argv[3], NULL, 10) * NS_PER_MS;
  reader_start (&reader);
  work_open (&work, options, &reader);

  json_object (&json);
  json_key (&json, "reads");
  json_uint (&json, work.reads.count);
  json_key (&json, "reads_with_ends");
  json_uint (&json, work.reads.calls_made);
  json_key (&json, "read_bytes");
  json_uint (&json, work.reads.bytes);
  json_key (&json, "frame_bytes");
  json_uint (&json, work.frame.length);
  compare (&work, &json, "paused", samples, pause_ns);
  compare (&work, &json, "unpaused", samples, 0);
  work.pause_ns = pause_ns;
  groups_run (&work, &options->context, &json, samples / 4 + 1);
  json_key (&json, "frames_published");
  json_uint (&json, reader.published);
  json_key (&json, "frames_arrived");
  json_uint (&json, reader_stop (&reader));
  json_object_end (&json);
  json_newline (&json);
  work_close (&work);
  agent_options_destroy (options);
  fwrite (json.out.data, 1, json.out.length, stdout);
  json_free (&json);
  return 0;
}
