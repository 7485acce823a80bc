/* See history_points_frames.h. Each node is read by itself, its chunks in order of session and sequence, by up to four
 * threads; a chunk gives the values of the one metric (history_samples.h). What a change is compared with lies in the same
 * chunk, in the one before, or it is fetched. */
#include "aggregator/history/history_points_frames.h"

#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/history/history_samples.h"
#include "synop/array.h"
#include "synop/memory.h"
#include "synop/report.h"
#include "synop/thread.h"

#define THREADS 4
#define HELD 3 /* chunks of a node that stay unpacked: live and late frames alternate */

/* The chunks of a node, in order of session and sequence. */
struct part {
  size_t from, to;
};

struct reading {
  struct history_file *file;
  const struct points_query *query;
  const struct points_into *into;
  struct chunk_list list;
  struct part *parts;
  size_t part_count, part_room;
  pthread_mutex_t lock; /* of the rest */
  size_t next;          /* part */
  size_t broken;
  bool failed;
  struct error error;
};

struct worker {
  struct reading *reading;
  struct history_file *file; /* its own */
  sqlite3_stmt *select;
  struct samples held[HELD];
  size_t oldest;
  struct history_point *points;
  size_t count, room;
};

/* ---- chunks ---- */

static void
note_broken (struct worker *worker, const struct chunk_row *row, const char *why)
{
  pthread_mutex_lock (&worker->reading->lock);
  worker->reading->broken++;
  history_file_log_broken (row, why);
  pthread_mutex_unlock (&worker->reading->lock);
}

/* 1: it was deleted meanwhile. */
static int
read_chunk (struct worker *worker, struct samples *samples, const struct chunk_row *row, struct error *error)
{
  const struct points_query *query = worker->reading->query;
  int code, result = -1;

  samples->id = 0;
  sqlite3_bind_int64 (worker->select, 1, row->id);
  code = sqlite3_step (worker->select);
  if (code == SQLITE_ROW && sqlite3_column_blob (worker->select, 0))
    result = samples_read (samples, worker->file, row, sqlite3_column_blob (worker->select, 0),
                           (size_t) sqlite3_column_bytes (worker->select, 0), query->group, query->metric, error);
  else if (code == SQLITE_ROW)
    error_set (error, "the chunk is empty");
  else if (code == SQLITE_DONE)
    result = 1;
  else
    history_file_fail (worker->file, error);
  sqlite3_reset (worker->select);
  if (result != 0)
    samples->id = 0;
  return result;
}

/* The chunk in the place of the one that was read first. */
static struct samples *
hold_chunk (struct worker *worker, const struct chunk_row *row, int *result, struct error *error)
{
  struct samples *samples = &worker->held[worker->oldest];

  worker->oldest = (worker->oldest + 1) % HELD;
  *result = read_chunk (worker, samples, row, error);
  return samples;
}

static const struct sample *
sample_in (const struct samples *samples, uint64_t session, uint64_t sequence)
{
  bool within = samples->id && samples->group && samples->session == session && sequence >= samples->first &&
                sequence <= samples->last;

  return within && samples->list[sequence - samples->first].there ? &samples->list[sequence - samples->first] : NULL;
}

/* ---- values ---- */

/* The sample that a change is compared with, and the chunk that holds it. NULL: there is none. `now` may not be in the
 * chunk that is read next. */
static const struct sample *
base_of (struct worker *worker, const char *node, struct samples *samples, const struct sample *now,
         const struct samples **in)
{
  uint64_t sequence = now->sequence - now->distance;
  const struct sample *base = NULL;
  struct chunk_row row;
  int result;

  if (now->distance == 0 || now->distance >= now->sequence)
    return NULL;
  *in = samples;
  base = sample_in (samples, samples->session, sequence);
  for (size_t i = 0; i < HELD && !base; i++) {
    *in = &worker->held[i];
    base = sample_in (*in, samples->session, sequence);
  }
  if (!base && !(sequence >= samples->first && sequence <= samples->last) &&
      history_file_find (worker->file, node, samples->session, sequence, &row, NULL) == 1) {
    while (&worker->held[worker->oldest] == samples)
      worker->oldest = (worker->oldest + 1) % HELD;
    *in = hold_chunk (worker, &row, &result, NULL);
    base = result == 0 ? sample_in (*in, samples->session, sequence) : NULL;
  }
  return base && (*in)->group == samples->group && base->monotonic_ns < now->monotonic_ns ? base : NULL;
}

/* A sample and what it is compared with. */
struct pair {
  const struct samples *samples, *before_samples;
  const struct sample *now, *before; /* before NULL: none */
  int64_t elapsed_ns;
};

static struct value
row_value (const struct pair *pair, size_t row)
{
  const struct value *now = &pair->samples->values[pair->now->at + row], *before = NULL;

  if (pair->before && !pair->now->labels) {
    before = &pair->before_samples->values[pair->before->at];
  } else if (pair->before && pair->samples->metric->kind == COUNTER) {
    bool same = pair->now->labels == pair->before->labels;
    size_t length, there = row;
    const char *label = sample_label (pair->now->labels, row, &length);
    if (!same)
      there = sample_find_row (pair->before->labels, label, length, row);
    if (there != SIZE_MAX)
      before = &pair->before_samples->values[pair->before->at + there];
  }
  return report_value (pair->samples->metric, now, before, pair->elapsed_ns);
}

static struct value
node_value (const struct pair *pair)
{
  const struct metric *metric = pair->samples->metric;
  struct report_fold fold = { 0 };

  if (metric->flags & METRIC_OF_NODE)
    return row_value (pair, 0);
  for (size_t row = 0; row < pair->now->rows && metric->fold != FOLD_NONE; row++) {
    struct value value = row_value (pair, row);
    if (pair->samples->counted[pair->now->at + row])
      report_fold_add (&fold, metric->fold, &value);
  }
  return report_fold_value (&fold, metric->fold);
}

static void
add_point (struct worker *worker, const struct pair *pair, const struct value *value)
{
  double number = value_double (value);

  if (!isnan (number))
    *array_add (worker->points, worker->count, worker->room) =
        (struct history_point){ .time_ns = pair->now->time_ns,
                                .span_ns = pair->before ? pair->elapsed_ns : 0,
                                .count = 1,
                                .sum = number,
                                .min = number,
                                .max = number,
                                .covered = true };
}

static void
give (struct worker *worker, const char *node, const char *label, size_t length, const struct metric *metric)
{
  const struct points_into *into = worker->reading->into;

  if (worker->count) {
    pthread_mutex_lock (&worker->reading->lock);
    into->points (into->context, into->series (into->context, node, label, length, metric), worker->points,
                  worker->count);
    pthread_mutex_unlock (&worker->reading->lock);
  }
  worker->count = 0;
}

static bool
is_wanted (const struct globs *rows, const char *label, size_t length)
{
  char text[TABLE_LABEL_MAX + 1];

  if (rows->count == 0)
    return true;
  memcpy (text, label, length);
  text[length] = '\0';
  return globs_match (rows, text);
}

/* ---- a chunk ---- */

/* All rows, or the node as a whole, of samples with the same labels. */
static void
give_run (struct worker *worker, const char *node, const struct pair *pairs, size_t count)
{
  const struct globs *rows = worker->reading->query->rows;
  const struct samples *samples = pairs[0].samples;

  for (size_t row = 0; rows && pairs[0].now->labels && row < pairs[0].now->rows; row++) {
    size_t length;
    const char *label = sample_label (pairs[0].now->labels, row, &length);
    for (size_t i = 0; i < count && is_wanted (rows, label, length); i++) {
      struct value value = row_value (&pairs[i], row);
      add_point (worker, &pairs[i], &value);
    }
    give (worker, node, label, length, samples->metric);
  }
  for (size_t i = 0; !rows && i < count; i++) {
    struct value value = node_value (&pairs[i]);
    add_point (worker, &pairs[i], &value);
  }
  give (worker, node, NULL, 0, samples->metric);
}

static void
give_chunk (struct worker *worker, const char *node, struct samples *samples)
{
  const struct points_query *query = worker->reading->query;
  struct pair *pairs = memory_new (samples->count, sizeof *pairs);
  size_t count = 0;

  for (size_t i = 0; i < samples->count; i++) {
    const struct sample *now = &samples->list[i];
    struct pair pair = { .samples = samples, .now = now };
    if (!now->there || now->time_ns < query->from_ns || now->time_ns >= query->to_ns)
      continue;
    pair.before = base_of (worker, node, samples, now, &pair.before_samples);
    pair.elapsed_ns = pair.before ? now->monotonic_ns - pair.before->monotonic_ns : now->period_ns;
    if (count && (pairs[0].now->labels != now->labels || pair.before_samples != samples)) {
      give_run (worker, node, pairs, count);
      count = 0;
    }
    pairs[count++] = pair;
    if (pair.before && pair.before_samples != samples) { /* which may go with the next that is fetched */
      give_run (worker, node, pairs, count);
      count = 0;
    }
  }
  if (count)
    give_run (worker, node, pairs, count);
  free (pairs);
}

static void
read_part (struct worker *worker, const struct part *part)
{
  for (size_t i = part->from; i < part->to; i++) {
    const struct chunk_row *row = &worker->reading->list.rows[i];
    struct error error;
    int result;
    struct samples *samples = hold_chunk (worker, row, &result, &error);
    if (result < 0)
      note_broken (worker, row, error.text);
    else if (result == 0 && samples->group)
      give_chunk (worker, row->node, samples);
  }
}

/* ---- threads ---- */

static bool
next_part (struct reading *reading, struct part *part)
{
  bool any;

  pthread_mutex_lock (&reading->lock);
  any = !reading->failed && reading->next < reading->part_count;
  if (any)
    *part = reading->parts[reading->next++];
  pthread_mutex_unlock (&reading->lock);
  return any;
}

static void
fail (struct reading *reading, const struct error *error)
{
  pthread_mutex_lock (&reading->lock);
  if (!reading->failed)
    reading->error = *error;
  reading->failed = true;
  pthread_mutex_unlock (&reading->lock);
}

static void *
work (void *context)
{
  struct worker worker = { .reading = context };
  struct error error;
  struct part part;

  worker.file = history_file_open (history_file_path (worker.reading->file), &error);
  if (worker.file)
    worker.select = history_file_prepare (worker.file, "SELECT data FROM chunks WHERE id = ?", &error);
  if (!worker.select)
    fail (worker.reading, &error);
  while (worker.select && next_part (worker.reading, &part)) {
    read_part (&worker, &part);
    for (size_t i = 0; i < HELD; i++) /* sessions of two nodes may have the same number */
      worker.held[i].id = 0;
  }
  sqlite3_finalize (worker.select);
  for (size_t i = 0; i < HELD; i++)
    samples_free (&worker.held[i]);
  free (worker.points);
  history_file_close (worker.file);
  return NULL;
}

static void
work_together (struct reading *reading)
{
  long processors = sysconf (_SC_NPROCESSORS_ONLN);
  pthread_t threads[THREADS - 1];
  size_t count = 0, most = processors < THREADS ? (size_t) processors : THREADS;

  most = most > reading->part_count ? reading->part_count : most;
  while (count + 1 < most && thread_start (&threads[count], 0, work, reading) == 0)
    count++;
  work (reading);
  while (count > 0)
    pthread_join (threads[--count], NULL);
}

/* ---- */

static int
compare_chunks (const void *one, const void *other)
{
  const struct chunk_row *a = one, *b = other;
  int order = strcmp (a->node, b->node);

  if (order == 0)
    order = a->session < b->session ? -1 : a->session > b->session;
  return order ? order : a->first < b->first ? -1 : a->first > b->first;
}

/* Leaves the chunks of the wanted nodes, and parts them by node. */
static void
part_chunks (struct reading *reading)
{
  const struct globs *nodes = reading->query->nodes;
  struct chunk_list *list = &reading->list;
  const char *last = NULL;
  size_t count = 0;
  bool wanted = false;

  if (list->count)
    qsort (list->rows, list->count, sizeof list->rows[0], compare_chunks);
  for (size_t i = 0; i < list->count; i++) {
    const char *node = list->rows[i].node;
    if (!last || strcmp (last, node) != 0) {
      wanted = *node && (!nodes || globs_match (nodes, node));
      if (wanted)
        *array_add (reading->parts, reading->part_count, reading->part_room) = (struct part){ count, count };
    }
    last = node;
    if (wanted) {
      list->rows[count++] = list->rows[i];
      reading->parts[reading->part_count - 1].to = count;
    }
  }
}

int
history_chunk_points (struct history_file *file, struct chunk_list *list, const struct points_query *query,
                      const struct points_into *into, size_t *broken, struct error *error)
{
  struct reading reading = { .file = file, .query = query, .into = into, .list = *list };

  part_chunks (&reading);
  pthread_mutex_init (&reading.lock, NULL);
  if (reading.part_count)
    work_together (&reading);
  pthread_mutex_destroy (&reading.lock);
  *broken = reading.broken;
  if (reading.failed)
    *error = reading.error;
  free (reading.parts);
  free (list->rows);
  return reading.failed ? -1 : 0;
}

int
history_frames_points (struct history_file *file, const struct points_query *query, const struct points_into *into,
                       size_t *broken, struct error *error)
{
  struct chunk_list list = { 0 };

  if (query->combined)
    return history_combined_points (file, query, into, broken, error);
  if (history_file_chunks_of_nodes (file, query->nodes, false, query->from_ns, query->to_ns, &list, error) < 0) {
    free (list.rows);
    return -1;
  }
  return history_chunk_points (file, &list, query, into, broken, error);
}

/* ---- what there is ---- */

static void
give_schema (const struct schema *schema, size_t nodes, const struct points_metrics *into)
{
  for (size_t i = 0; i < schema->group_count; i++)
    for (size_t k = 0; k < schema->groups[i]->metric_count; k++)
      into->metric (into->context, schema->groups[i], &schema->groups[i]->metrics[k], nodes);
}

/* A node is counted with the schema that it used last. Files of older versions do not know which. */
int
history_frames_metrics (struct history_file *file, const struct points_metrics *into, struct error *error)
{
  static const char counted[] =
      "WITH newest AS (SELECT hash, node, max (last) FROM schema_uses WHERE node != 0 GROUP BY node) SELECT hash, "
      "(SELECT count (*) FROM newest WHERE newest.hash = schemas.hash) FROM schemas ORDER BY rowid";
  sqlite3_stmt *statement = history_file_prepare (file, counted, NULL);
  int code = SQLITE_ERROR;

  if (!statement)
    statement = history_file_prepare (file, "SELECT hash, 0 FROM schemas ORDER BY rowid", error);
  if (!statement)
    return -1;
  while ((code = sqlite3_step (statement)) == SQLITE_ROW) {
    const uint8_t *hash = sqlite3_column_blob (statement, 0);
    bool fits = hash && sqlite3_column_bytes (statement, 0) == SCHEMA_HASH_SIZE;
    const struct schema *schema = fits ? history_file_schema (file, hash, NULL) : NULL;
    if (schema)
      give_schema (schema, (size_t) sqlite3_column_int64 (statement, 1), into);
  }
  if (code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

bool
history_frames_range (struct history_file *file, int64_t *from_ns, int64_t *to_ns)
{
  static const char oldest[] = "SELECT first_time FROM chunks WHERE node != 0 ORDER BY first_time LIMIT 1";
  static const char newest[] = "SELECT max (last_time) + 1 FROM chunks WHERE node != 0 AND first_time >= "
                               "(SELECT max (first_time) FROM chunks) - 60000000000";

  return history_file_number (file, oldest, from_ns, NULL) == 0 && history_file_number (file, newest, to_ns, NULL) == 0;
}
