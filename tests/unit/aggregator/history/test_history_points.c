/* Points from the columns of chunks are what the frames give, rebuilt one by one: of made-up nodes whose rows come, go and
 * change places, whose counters restart and wrap, whose groups are missing now and then, and with late frames. */
#include <math.h>
#include <zstd.h>

#include "aggregator/history/history_form.h"
#include "aggregator/history/history_points.h"
#include "aggregator/history/history_samples.h"
#include "aggregator/history/history_walk.h"
#include "synop/array.h"
#include "tests/unit/aggregator/history/history_bench.h"

#define FRAMES 700
#define SEED 20261123

static const struct metric first_metrics[] = {
  { "other", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Not asked for." },
  { "state", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "A text." },
};
static const struct metric wild_metrics[] = {
  { "sum", COUNTER, UNIT_BYTES, FOLD_SUM, METRIC_WRAPS32, .times = 1024, .help = "A counter." },
  { "share", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 100, .help = "A share." },
  { "least", GAUGE, UNIT_COUNT, FOLD_MIN, 0, .help = "A gauge." },
  { "alone", GAUGE, UNIT_COUNT, FOLD_NONE, 0, .help = "A gauge without a fold." },
  { "top", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_COUNTS, .help = "Whether a row counts." },
  { "whole", COUNTER, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "A counter of the node." },
  { "name", TEXT, UNIT_NONE, FOLD_NONE, 0, .help = "A text." },
};
static const struct metric numbered_metrics[] = { { "use", GAUGE, UNIT_PERCENT, FOLD_MAX, 0, .help = "A gauge." } };
static const struct group
    first_group = { "first", "system_data", "", "", "", 0, "A group.", GROUP_METRICS (first_metrics) },
    wild_group = { "wild", "system_data", "device", "devices", "total", 0, "A group.", GROUP_METRICS (wild_metrics) },
    numbered_group = {
      "numbered", "system_data", "CPU", "cpus", "all", 0, "A group.", GROUP_METRICS (numbered_metrics)
    };
static const struct group *const wild_groups[] = { &first_group, &numbered_group, &wild_group };
#define GROUPS 3

static uint32_t
any (uint32_t below)
{
  static uint64_t state = SEED;

  state = state * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  return (uint32_t) (state >> 33) % below;
}

/* ---- frames ---- */

/* A session of a node: its counters, and the tables that it has sent. */
struct source {
  const char *name;
  uint64_t session, sequence, sums[6], shares[6], whole;
  struct table kept[GROUPS][2];
  bool has[GROUPS];
};

static void
fill_wild (struct source *source, struct table *table)
{
  size_t rows = any (5) ? 4 + any (10) / 9 : any (3), turn = any (20) == 0 ? any (4) : 0;

  for (size_t i = 0; i < 6; i++) {
    source->sums[i] = any (50) == 0 ? any (100) : source->sums[i] + any (4000000);
    source->shares[i] += any (30);
  }
  source->sums[0] &= UINT32_MAX;
  source->whole += any (7);
  for (size_t i = 0; i < rows; i++) {
    size_t device = (i + turn) % 6;
    char label[16];
    snprintf (label, sizeof label, "d.%zu", device);
    size_t row = table_add_row (table, label, strlen (label));
    if (any (10))
      table_set_uint (table, row, 0, source->sums[device]);
    if (any (25))
      table_set_uint (table, row, 1, source->shares[device]);
    if (any (3))
      table_set_int (table, row, 2, (int64_t) any (1000) - 500);
    else if (any (2))
      table_set_real (table, row, 2, any (1000) / 7.0);
    if (device < 3)
      table_set_real (table, row, 3, any (100) / 10.0);
    if (any (4))
      table_set_uint (table, row, 4, any (2));
    table_set_string (table, row, 6, any (2) ? "up" : "down");
  }
  if (any (30))
    table_set_uint (table, TABLE_NODE, 5, source->whole);
  if (any (40) == 0)
    table_complain (table, "something failed");
}

static void
fill (struct source *source, size_t group, struct table *table)
{
  if (group == 0) {
    table_set_uint (table, TABLE_NODE, 0, any (1000000));
    table_set_string (table, TABLE_NODE, 1, any (2) ? "this" : "that");
  } else if (group == 1) {
    size_t rows = any (15) ? 3 : 4;
    for (size_t i = 0; i < rows; i++) {
      char label[24];
      snprintf (label, sizeof label, "%zu", i);
      table_add_row (table, label, strlen (label));
      table_set_real (table, i, 0, any (1000) / 10.0);
    }
  } else {
    fill_wild (source, table);
  }
}

struct taking {
  struct source *source;
  bool fresh[GROUPS];
};

static struct table *
take (void *context, size_t group)
{
  struct taking *taking = context;
  struct table *now = &taking->source->kept[group][0];

  if (taking->source->has[group])
    table_swap (now, &taking->source->kept[group][1]);
  taking->fresh[group] = true;
  table_begin (now);
  return now;
}

/* Puts the next frame, with the groups that are due, as the core does. */
static void
put_next (struct scratch *scratch, struct source *source, bool late)
{
  struct frame_header header = { .session = source->session,
                                 .sequence = ++source->sequence,
                                 .monotonic_ns = (int64_t) source->sequence * NS_PER_S + any (1000),
                                 .wall_ns = 5 };
  struct table made[GROUPS];
  const struct table *tables[GROUPS];
  struct report_group pairs[GROUPS] = { 0 };
  struct taking taking = { .source = source };
  struct frame_sink sink = { .context = &taking, .take = take };
  struct buffer bytes = { 0 };
  struct cluster_frame put = { .header = &header,
                               .late = late,
                               .schema = scratch->schema,
                               .groups = pairs,
                               .bound_ns = -1,
                               .drift_ppb = INT64_MIN,
                               .probe_age_ms = -1 };
  size_t count = 0;

  strcpy (header.node, source->name);
  memcpy (header.schema, scratch->schema->hash, SCHEMA_HASH_SIZE);
  for (size_t i = 0; i < GROUPS; i++) {
    table_init (&made[i], wild_groups[i]);
    made[i].period_ns = NS_PER_S;
    fill (source, i, &made[i]);
    if (any (12) || i == 0)
      tables[count++] = &made[i];
  }
  frame_write (&bytes, &header, scratch->schema, tables, count);
  assert_int_equal (frame_read_header (bytes.data, bytes.length, &header, NULL), 0);
  assert_int_equal (frame_read_tables (bytes.data, bytes.length, &header, scratch->schema, &sink, NULL), 0);
  for (size_t i = 0; i < GROUPS; i++) {
    if (taking.fresh[i])
      pairs[i] = (struct report_group){ &source->kept[i][0], source->has[i] && any (60) ? &source->kept[i][1] : NULL };
    source->has[i] |= taking.fresh[i];
    table_free (&made[i]);
  }
  put.time_ns = scratch->start_ns + header.monotonic_ns + 17;
  put.bytes = bytes.data;
  put.length = bytes.length;
  history_put_frame (scratch->history, &put);
  buffer_free (&bytes);
}

static struct source
begin (const char *name, uint64_t session)
{
  struct source source = { .name = name, .session = session };

  for (size_t i = 0; i < GROUPS; i++)
    for (size_t k = 0; k < 2; k++)
      table_init (&source.kept[i][k], wild_groups[i]);
  return source;
}

static void
end (struct source *source)
{
  for (size_t i = 0; i < GROUPS; i++)
    for (size_t k = 0; k < 2; k++)
      table_free (&source->kept[i][k]);
}

/* Five nodes, one of which is restarted, and most with the same number of their session; some frames are lost. */
static void
store (struct scratch *scratch)
{
  struct source sources[] = { begin ("n1", 7), begin ("n2", 7), begin ("n3", 9),
                              begin ("n1", 3), begin ("n4", 7), begin ("n5", 7) };

  schema_destroy (scratch->schema);
  scratch->schema = schema_create (wild_groups, GROUPS);
  scratch_open (scratch);
  for (size_t i = 0; i < FRAMES; i++)
    for (size_t k = 0; k < 6; k++) {
      if ((k == 0 && i >= FRAMES / 2) || (k == 3 && i < FRAMES / 2))
        continue;
      if (any (90) == 0)
        sources[k].sequence += any (40);
      put_next (scratch, &sources[k], any (10) == 0);
      if (any (200) == 0)
        assert_true (history_flush (scratch->history));
    }
  assert_true (history_flush (scratch->history));
  scratch_close (scratch);
  for (size_t k = 0; k < 6; k++)
    end (&sources[k]);
}

/* ---- points, one way and the other ---- */

struct seen {
  char name[96]; /* node, row */
  int64_t time_ns, span_ns;
  double value;
};

struct seen_list {
  struct seen *list;
  size_t count, room;
  char series[96]; /* the last */
};

static void *
see_series (void *context, const char *node, const char *row, size_t length, const struct metric *metric)
{
  struct seen_list *seen = context;

  assert_int_not_equal (metric->kind, TEXT);
  snprintf (seen->series, sizeof seen->series, "%s %.*s", node, row ? (int) length : 1, row ? row : "-");
  return seen;
}

static void
see_points (void *context, void *series, const struct history_point *points, size_t count)
{
  struct seen_list *seen = series;

  assert_ptr_equal (context, series);
  for (size_t i = 0; i < count; i++) {
    struct seen *one = array_add (seen->list, seen->count, seen->room);
    *one = (struct seen){ .time_ns = points[i].time_ns, .span_ns = points[i].span_ns, .value = points[i].sum };
    strcpy (one->name, seen->series);
    assert_int_equal (points[i].count, 1);
    assert_true (points[i].min == points[i].sum && points[i].max == points[i].sum);
    assert_true (i == 0 || points[i].time_ns >= points[i - 1].time_ns);
  }
}

struct walked {
  struct seen_list *seen;
  const struct points_query *query;
};

static void
walk_value (struct walked *walked, const struct cluster_frame *frame, const struct report_group *pair, const char *row,
            size_t length, const struct value *value)
{
  struct points_into into = { walked->seen, see_series, see_points };
  double number = value_double (value);
  struct history_point point = { frame->time_ns, report_before (pair) ? report_elapsed_ns (pair) : 0, 1, number, number,
                                 number };

  if (!isnan (number))
    into.points (into.context, into.series (into.context, frame->header->node, row, length, &wild_metrics[0]), &point,
                 1);
}

static void
walk_frame (void *context, const struct cluster_frame *frame)
{
  struct walked *walked = context;
  struct value values[SCHEMA_METRICS_MAX];
  size_t searched = 0;

  for (size_t i = 0; i < frame->schema->group_count; i++) {
    const struct report_group *pair = &frame->groups[i];
    const struct group *group = frame->schema->groups[i];
    const struct table *before = pair->now ? report_before (pair) : NULL;
    struct report_search search = { .searched = &searched };
    size_t k = 0;
    if (!pair->now || strcmp (group->name, walked->query->group) != 0)
      continue;
    while (strcmp (group->metrics[k].name, walked->query->metric) != 0)
      k++;
    report_node_values (pair, values, &searched);
    if (!walked->query->rows)
      walk_value (walked, frame, pair, NULL, 0, &values[k]);
    for (size_t row = 0; walked->query->rows && row < pair->now->rows; row++) {
      size_t old = report_row_before (pair->now, before, row, &search), length;
      const char *label = table_label (pair->now, row, &length);
      struct value value = report_value (&group->metrics[k], table_get (pair->now, row, k),
                                         old == SIZE_MAX ? NULL : table_get (before, old, k), report_elapsed_ns (pair));
      walk_value (walked, frame, pair, label, length, &value);
    }
  }
}

static int
compare_seen (const void *one, const void *other)
{
  const struct seen *a = one, *b = other;
  int order = strcmp (a->name, b->name);

  return order ? order : a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static void
compare (struct history_file *file, const char *group, const char *metric, bool rows, int64_t from_ns, int64_t to_ns)
{
  static const char *const nodes[] = { "n1", "n2", "n3", "n4", "n5" };
  struct globs all = { 0 };
  struct seen_list fast = { 0 }, slow = { 0 };
  struct points_query query = {
    .group = group, .metric = metric, .rows = rows ? &all : NULL, .from_ns = from_ns, .to_ns = to_ns
  };
  struct points_into into = { &fast, see_series, see_points };
  struct walked walked = { &slow, &query };
  struct view view = { .frame = walk_frame };
  struct history_walk walk = { from_ns, to_ns - 1, nodes, 5, { &view, &walked }, NULL };
  struct error error = { "" };
  size_t broken;

  if (history_points (file, HISTORY_FRAMES, &query, &into, &broken, &error) < 0)
    fail_msg ("%s", error.text);
  assert_int_equal (broken, 0);
  assert_int_equal (history_walk (file, &walk, &broken, &error), 0);
  assert_int_equal (broken, 0);
  if (fast.count)
    qsort (fast.list, fast.count, sizeof fast.list[0], compare_seen);
  if (slow.count)
    qsort (slow.list, slow.count, sizeof slow.list[0], compare_seen);
  assert_int_equal (fast.count, slow.count);
  for (size_t i = 0; i < fast.count; i++)
    if (compare_seen (&fast.list[i], &slow.list[i]) || fast.list[i].span_ns != slow.list[i].span_ns ||
        fast.list[i].value != slow.list[i].value)
      fail_msg ("%s.%s of %s: %.17g over %lld, by frames %s %.17g over %lld", group, metric, fast.list[i].name,
                fast.list[i].value, (long long) fast.list[i].span_ns, slow.list[i].name, slow.list[i].value,
                (long long) slow.list[i].span_ns);
  assert_true (fast.count > 4 || (!rows && (strcmp (metric, "alone") == 0 || strcmp (metric, "top") == 0)));
  free (fast.list);
  free (slow.list);
}

static void
compare_all (struct scratch *scratch, int64_t from_ns, int64_t to_ns)
{
  struct error error;
  struct history_file *file = history_file_open (scratch->path, &error);

  assert_non_null (file);
  for (size_t i = 0; i < 6; i++) {
    if (i != 5) /* of the node */
      compare (file, "wild", wild_metrics[i].name, true, from_ns, to_ns);
    compare (file, "wild", wild_metrics[i].name, false, from_ns, to_ns);
  }
  compare (file, "numbered", "use", true, from_ns, to_ns);
  compare (file, "numbered", "use", false, from_ns, to_ns);
  history_file_close (file);
}

static void
test_columns_give_what_frames_give (void **state)
{
  struct scratch *scratch = *state;

  store (scratch);
  compare_all (scratch, INT64_MIN / 2, INT64_MAX / 2);
}

/* The first frame of an interval is compared with one before it, in a chunk that may not be of the interval. */
static void
test_intervals_begin_within_chunks (void **state)
{
  struct scratch *scratch = *state;

  store (scratch);
  for (int64_t second = 100; second < 124; second += 5)
    compare_all (scratch, scratch->start_ns + second * NS_PER_S,
                 scratch->start_ns + (second + (second % 2 ? 30 : 4)) * NS_PER_S);
}

/* ---- both ways to read a chunk ---- */

static void
read_both (const void *bytes, size_t length, const struct chunk_row *row, struct history_file *file, const char *metric)
{
  struct samples columns = { 0 }, whole = { 0 };
  struct chunk chunk = { 0 };
  struct buffer again = { 0 };
  struct error error = { "" };

  assert_int_equal (samples_read (&columns, file, row, bytes, length, "wild", metric, &error), 0);
  assert_int_equal (chunk_unpack (&chunk, bytes, length, &error), 0);
  chunk_pack_whole (&chunk, &again);
  if (samples_read (&whole, file, row, again.data, again.length, "wild", metric, &error) < 0)
    fail_msg ("%s", error.text);
  assert_false (columns.by_frames);
  assert_true (whole.by_frames);
  assert_int_equal (columns.count, whole.count);
  for (size_t i = 0; i < columns.count; i++) {
    const struct sample *one = &columns.list[i], *other = &whole.list[i];
    assert_true (one->sequence == other->sequence && one->time_ns == other->time_ns && one->there == other->there);
    assert_true (one->distance == other->distance && one->period_ns == other->period_ns && one->rows == other->rows);
    for (size_t k = 0; k < one->rows; k++) {
      assert_int_equal (columns.values[one->at + k].type, whole.values[other->at + k].type);
      assert_true (columns.values[one->at + k].type == VALUE_MISSING ||
                   columns.values[one->at + k].as.u == whole.values[other->at + k].as.u);
      assert_true (!one->labels || columns.counted[one->at + k] == whole.counted[other->at + k]);
    }
  }
  samples_free (&columns);
  samples_free (&whole);
  chunk_free (&chunk);
  buffer_free (&again);
}

static void
test_chunks_without_forms_are_read_too (void **state)
{
  struct scratch *scratch = *state;
  struct chunk_list list = { 0 };
  struct history_file *file;
  struct error error;
  sqlite3_stmt *select;

  store (scratch);
  file = history_file_open (scratch->path, &error);
  assert_int_equal (history_file_all_chunks (file, &list, &error), 0);
  select = history_file_prepare (file, "SELECT data FROM chunks WHERE id = ?", &error);
  for (size_t i = 0; i < list.count; i++) {
    sqlite3_bind_int64 (select, 1, list.rows[i].id);
    assert_int_equal (sqlite3_step (select), SQLITE_ROW);
    read_both (sqlite3_column_blob (select, 0), (size_t) sqlite3_column_bytes (select, 0), &list.rows[i], file,
               wild_metrics[i % 6].name);
    sqlite3_reset (select);
  }
  sqlite3_finalize (select);
  history_file_close (file);
  free (list.rows);
}

/* Samples of the same messages, read from their columns and from the frames. */
static void
assert_same_samples (const struct samples *one, const struct samples *other)
{
  assert_true (other->by_frames);
  assert_int_equal (one->count, other->count);
  assert_ptr_equal (one->metric, other->metric);
  for (size_t i = 0; i < one->count; i++) {
    const struct sample *a = &one->list[i], *b = &other->list[i];
    assert_true (a->sequence == b->sequence && a->monotonic_ns == b->monotonic_ns && a->time_ns == b->time_ns);
    if (!a->there || !b->there) /* who reads all of a frame may find it broken elsewhere */
      continue;
    assert_true (a->distance == b->distance && a->period_ns == b->period_ns && a->rows == b->rows);
    for (size_t row = 0; row < a->rows; row++) {
      const struct value *x = &one->values[a->at + row], *y = &other->values[b->at + row];
      if (x->type == VALUE_MISSING || y->type == VALUE_MISSING) /* or its type wrong */
        continue;
      assert_int_equal (x->type, y->type);
      assert_memory_equal (&x->as, &y->as, sizeof x->as);
    }
  }
}

/* Bytes that zstd's checksum would find broken, as whoever writes the file may have made them: what can be read of such a chunk
 * is what its messages have. */
static void
test_wrong_columns_do_no_harm (void **state)
{
  struct scratch *scratch = *state;
  struct chunk_list list = { 0 };
  struct history_file *file;
  struct samples samples = { 0 }, whole = { 0 };
  struct buffer raw = { 0 }, packed = { 0 };
  struct error error;
  size_t fine = 0, same = 0;
  sqlite3_stmt *select;

  store (scratch);
  file = history_file_open (scratch->path, &error);
  assert_int_equal (history_file_all_chunks (file, &list, &error), 0);
  select = history_file_prepare (file, "SELECT data FROM chunks WHERE id = ?", &error);
  for (size_t i = 0; i < 4000; i++) {
    const struct chunk_row *row = &list.rows[i % list.count];
    sqlite3_bind_int64 (select, 1, row->id);
    assert_int_equal (sqlite3_step (select), SQLITE_ROW);
    assert_int_equal (
        chunk_inflate (&raw, NULL, sqlite3_column_blob (select, 0), (size_t) sqlite3_column_bytes (select, 0), &error),
        0);
    for (uint32_t k = 0; k <= any (3); k++)
      raw.data[any ((uint32_t) raw.length / (any (4) ? 4 : 1))] = (char) any (256);
    buffer_clear (&packed);
    buffer_reserve (&packed, ZSTD_compressBound (raw.length));
    packed.length = ZSTD_compress (packed.data, packed.capacity, raw.data, raw.length, 1);
    const char *of = i % 2 ? "wild" : "numbered", *metric = i % 2 ? wild_metrics[i % 6].name : "use";
    struct chunk chunk = { 0 };
    bool read = samples_read (&samples, file, row, packed.data, packed.length, of, metric, &error) == 0;
    fine += read;
    if (read && !samples.by_frames && chunk_read (&chunk, raw.data, raw.length, NULL) == 0) {
      buffer_clear (&packed);
      chunk_pack_whole (&chunk, &packed);
      if (samples_read (&whole, file, row, packed.data, packed.length, of, metric, &error) == 0) {
        assert_same_samples (&samples, &whole);
        same++;
      }
    }
    chunk_free (&chunk);
    sqlite3_reset (select);
  }
  assert_true (fine > 100 && fine < 4000 && same > 100);
  sqlite3_finalize (select);
  history_file_close (file);
  samples_free (&samples);
  samples_free (&whole);
  buffer_free (&raw);
  buffer_free (&packed);
  free (list.rows);
}

static void
test_a_damaged_chunk_is_left_out_and_counted (void **state)
{
  struct scratch *scratch = *state;
  struct seen_list seen = { 0 };
  struct points_into into = { &seen, see_series, see_points };
  struct points_query query = { .group = "wild", .metric = "whole", .from_ns = 0, .to_ns = INT64_MAX / 2 };
  struct history_file *file;
  struct error error;
  size_t broken, before;

  store (scratch);
  file = history_file_open (scratch->path, &error);
  assert_int_equal (history_points (file, HISTORY_FRAMES, &query, &into, &broken, &error), 0);
  before = seen.count;
  seen.count = 0;
  scratch_sql (scratch, "UPDATE chunks SET data = substr (data, 1, length (data) - 20) WHERE id = 5");
  assert_int_equal (history_points (file, HISTORY_FRAMES, &query, &into, &broken, &error), 0);
  assert_int_equal (broken, 1);
  assert_true (seen.count < before && seen.count > before - 40);
  history_file_close (file);
  free (seen.list);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_columns_give_what_frames_give, scratch_create, scratch_destroy),
    cmocka_unit_test_setup_teardown (test_intervals_begin_within_chunks, scratch_create, scratch_destroy),
    cmocka_unit_test_setup_teardown (test_chunks_without_forms_are_read_too, scratch_create, scratch_destroy),
    cmocka_unit_test_setup_teardown (test_wrong_columns_do_no_harm, scratch_create, scratch_destroy),
    cmocka_unit_test_setup_teardown (test_a_damaged_chunk_is_left_out_and_counted, scratch_create, scratch_destroy),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
