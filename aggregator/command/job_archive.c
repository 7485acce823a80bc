/* See job_archive.h: meta.json, and the folder. */
#include "aggregator/command/job_archive.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

#define UNKNOWN "unknown" /* texts that a schema wants */
#define ARCHIVED 3        /* monitoringStatus */
#define PLACES 4

/* ---- meta.json ---- */

static void
write_count (struct json *json, const char *key, double number)
{
  if (number >= 1)
    json_int (json_key (json, key), (int64_t) fmin (number, 1e15));
}

static void
write_text (struct json *json, const char *key, const char *text)
{
  if (text && *text)
    json_text (json_key (json, key), text);
}

static const char *
known (const char *text)
{
  return text && *text ? text : UNKNOWN;
}

/* Words that all versions of the schema know, but for "preempted", which older ones lack. */
static const char *
state_of (const struct job_report *report)
{
  switch (report->facts.outcome) {
  case JOB_OUTCOME_FAILED:
    return "failed";
  case JOB_OUTCOME_CANCELLED:
    return "cancelled";
  case JOB_OUTCOME_TIMEOUT:
    return "timeout";
  case JOB_OUTCOME_OUT_OF_MEMORY:
    return "out_of_memory";
  case JOB_OUTCOME_NODE_FAIL:
    return "node_fail";
  case JOB_OUTCOME_PREEMPTED:
  case JOB_OUTCOME_REQUEUED:
    return "preempted";
  default:
    return "completed";
  }
}

/* "shared" of the schema as it is now, "exclusive" of older ones. */
static void
write_shared (struct json *json, const struct job_report *report)
{
  bool shared = false;

  for (size_t i = 0; i < report->node_count; i++)
    shared |= report->nodes[i].shared;
  json_text (json_key (json, "shared"), shared ? "multi_user" : "none");
  json_uint (json_key (json, "exclusive"), shared ? 0 : 1);
}

static void
write_resources (struct json *json, const struct job_report *report)
{
  json_array (json_key (json, "resources"));
  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_node *node = &report->nodes[i];
    json_object (json);
    json_text (json_key (json, "hostname"), node->name);
    if (node->gpu_count)
      json_array (json_key (json, "accelerators"));
    for (size_t k = 0; k < node->gpu_count; k++)
      json_text (json, node->gpus[k].label);
    if (node->gpu_count)
      json_array_end (json);
    json_object_end (json);
  }
  json_array_end (json);
}

struct identity {
  int64_t id, start; /* in seconds */
  char cluster[128];
  const char *part;
};

static void
write_meta (struct json *json, const struct job_report *report, const struct identity *identity,
            const struct json *statistics)
{
  const struct job_facts *facts = &report->facts;
  int64_t duration = (report->until_ns - report->started_ns + NS_PER_S / 2) / NS_PER_S;
  size_t gpus = 0;

  for (size_t i = 0; i < report->node_count; i++)
    gpus += report->nodes[i].gpu_count;
  json_object (json);
  json_int (json_key (json, "jobId"), identity->id);
  write_count (json, "arrayJobId", facts->texts[JOB_FACT_ARRAY] ? strtod (facts->texts[JOB_FACT_ARRAY], NULL) : 0);
  json_text (json_key (json, "user"), known (report->user));
  json_text (json_key (json, "project"), known (facts->texts[JOB_FACT_ACCOUNT]));
  json_text (json_key (json, "cluster"), identity->cluster);
  json_text (json_key (json, "subCluster"), identity->part);
  write_text (json, "partition", facts->texts[JOB_FACT_PARTITION]);
  json_uint (json_key (json, "numNodes"), report->node_count);
  write_count (json, "numHwthreads", report->cpus);
  write_count (json, "numAcc", (double) gpus);
  write_shared (json, report);
  json_uint (json_key (json, "monitoringStatus"), ARCHIVED);
  write_count (json, "walltime", facts->numbers[JOB_FACT_TIME_LIMIT]);
  json_text (json_key (json, "jobState"), state_of (report));
  json_int (json_key (json, "startTime"), identity->start);
  json_int (json_key (json, "duration"), duration < 1 ? 1 : duration);
  write_resources (json, report);
  if (isfinite (report->all[JOB_ENERGY].total))
    json_real_places (json_key (json, "energy"), report->all[JOB_ENERGY].total, PLACES);
  json_object (json_key (json, "metaData"));
  write_text (json, "jobName", report->name);
  write_text (json, "jobScript", report->command);
  json_object_end (json);
  json_key (json, "statistics");
  buffer_add (&json->out, statistics->out.data, statistics->out.length);
  json_object_end (json);
  json_newline (json);
}

/* ---- the folder ---- */

/* The number that an id begins with: 12 of "12.server", and of "12/1", a second run. */
static int
identify (const struct job_archive *archive, struct identity *identity, struct error *error)
{
  const struct job_report *report = archive->report;
  const char *slash = strchr (archive->cluster, '/');
  size_t length = slash ? (size_t) (slash - archive->cluster) : strlen (archive->cluster);
  char *end;

  if (!report->ended_ns)
    return error_set (error, "job %.64s runs still, and ClusterCockpit's archive is of jobs that have ended",
                      report->shown);
  errno = 0;
  identity->id = isdigit ((unsigned char) report->id[0]) ? strtoll (report->id, &end, 10) : 0;
  if (identity->id <= 0 || errno)
    return error_set (error, "job %.64s has no number, as jobs of ClusterCockpit's archive have", report->shown);
  identity->start = report->started_ns / NS_PER_S;
  identity->part = slash ? slash + 1 : "main";
  if (length == 0 || length >= sizeof identity->cluster || archive->cluster[0] == '.' || !*identity->part ||
      strchr (identity->part, '/'))
    return error_set (error, "--cluster is the name of a cluster, or NAME/PART, not \"%.64s\"", archive->cluster);
  snprintf (identity->cluster, sizeof identity->cluster, "%.*s", (int) length, archive->cluster);
  return 0;
}

static int
fail (const char *path, struct error *error)
{
  return error_set (error, "%.300s: %s", path, strerror (errno));
}

/* With all folders above it. */
static int
make_folders (char *path, struct error *error)
{
  for (char *at = path + 1; *at; at++)
    if (*at == '/') {
      *at = '\0';
      if (mkdir (path, 0777) < 0 && errno != EEXIST)
        return fail (path, error);
      *at = '/';
    }
  return 0;
}

static int
write_file (const char *folder, const char *name, const struct buffer *text, struct error *error)
{
  char *path = memory_format ("%s/%s", folder, name);
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), result = -1;

  if (fd < 0 || file_write (fd, text->data, text->length) < 0)
    fail (path, error);
  else
    result = 0;
  if (fd >= 0 && close (fd) < 0 && result == 0)
    result = fail (path, error);
  free (path);
  return result;
}

static void
remove_folder (const char *folder)
{
  static const char *const names[] = { "meta.json", "data.json" };

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char *path = memory_format ("%s/%s", folder, names[i]);
    unlink (path);
    free (path);
  }
  rmdir (folder);
}

/* Both files are in a folder beside it, which gets its name when they are whole. */
static int
write_folder (const char *path, const struct buffer *meta, const struct buffer *data, struct error *error)
{
  char *aside = memory_format ("%s.%ld", path, (long) getpid ());
  bool there = access (path, F_OK) == 0;
  int result = -1;

  if (there)
    errno = EEXIST;
  if (there || mkdir (aside, 0777) < 0) {
    fail (path, error);
  } else {
    result = write_file (aside, "meta.json", meta, error);
    if (result == 0)
      result = write_file (aside, "data.json", data, error);
    if (result == 0 && rename (aside, path) < 0)
      result = fail (path, error);
    if (result < 0)
      remove_folder (aside);
  }
  free (aside);
  return result;
}

int
job_archive_write (struct job_archive *archive, struct error *error)
{
  struct json meta = { 0 }, data = { 0 }, statistics = { 0 };
  struct identity identity;
  char *path;
  int result = identify (archive, &identity, error);

  if (result == 0)
    result = job_archive_data (archive, &data, &statistics, error);
  if (result == 0) {
    path = memory_format ("%s/%s/%lld/%03lld/%lld", archive->root, identity.cluster, (long long) (identity.id / 1000),
                          (long long) (identity.id % 1000), (long long) identity.start);
    write_meta (&meta, archive->report, &identity, &statistics);
    json_newline (&data);
    result = make_folders (path, error);
    if (result == 0)
      result = write_folder (path, &meta.out, &data.out, error);
    archive->path = path;
  }
  json_free (&meta);
  json_free (&data);
  json_free (&statistics);
  return result;
}
