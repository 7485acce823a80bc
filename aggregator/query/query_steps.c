/* How many steps an answer has: what is over the limit is refused before it is read, and where nobody chose a step, one that fits is
 * taken; see query_asking.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/history/history_points_frames.h"
#include "aggregator/query/query_asking.h"
#include "aggregator/query/query_text.h"
#include "synop/clock.h"
#include "synop/config.h"

#define STEPS_USUAL 60
#define ROWS_USUAL 64    /* of a node: with fewer points than these make nothing is counted */
#define ROWS_OF_NODES 16 /* nodes whose rows are counted, where frames would have to be unpacked */
#define MINUTE (60 * NS_PER_S)

static size_t
points_most (const struct asking *asking)
{
  const struct query *query = asking->query;
  bool narrowed = query->fold || query->top || query->bottom;

  return narrowed ? QUERY_READ_MAX : query->levels ? QUERY_LEVELS_MAX : QUERY_POINTS_MAX;
}

/* ---- how many series there are ---- */

static void
no_points (void *context, void *series, const struct history_point *points, size_t count)
{
  (void) context;
  (void) series;
  (void) points;
  (void) count;
}

/* The last hours of a tier. */
static int
count_tier (struct asking *asking, const struct query_piece *piece, const struct points_query *of, size_t *count,
            struct error *error)
{
  struct bucket_table table = { .steps = 1, .step_ns = INT64_MAX, .most = SIZE_MAX };
  struct points_into into = bucket_table_into;
  struct points_query query = *of;
  size_t broken;
  int result;

  into.context = &table;
  into.points = no_points;
  query.to_ns = piece->to_ns;
  query.from_ns = piece->to_ns - (piece->tier == HISTORY_HOURS ? 24 : 2) * plan_spans[HISTORY_HOURS];
  query.from_ns = query.from_ns < piece->from_ns ? piece->from_ns : query.from_ns;
  query.folded = true;
  result = history_points (asking->file, piece->tier, &query, &into, &broken, error);
  *count = bucket_table_count (&table);
  bucket_table_free (&table);
  return result;
}

static int
compare_nodes (const void *one, const void *other)
{
  const struct chunk_row *a = one, *b = other;

  return a->node < b->node ? -1 : a->node > b->node;
}

/* Nodes that have frames in the last minute; their rows, as those of some have. */
static int
count_frames (struct asking *asking, const struct query_piece *piece, const struct points_query *of, size_t *count,
              struct error *error)
{
  struct bucket_table table = { .steps = 1, .step_ns = INT64_MAX, .most = SIZE_MAX };
  struct points_into into = bucket_table_into;
  struct points_query query = *of;
  struct chunk_list list = { 0 };
  size_t nodes = 0, kept = 0, broken;
  int result;

  into.context = &table;
  into.points = no_points;
  query.to_ns = piece->to_ns;
  query.from_ns = piece->to_ns - MINUTE < piece->from_ns ? piece->from_ns : piece->to_ns - MINUTE;
  result = history_file_chunks_of_nodes (asking->file, of->nodes, false, query.from_ns, query.to_ns, &list, error);
  if (list.count)
    qsort (list.rows, list.count, sizeof list.rows[0], compare_nodes);
  for (size_t i = 0; i < list.count; i++) {
    bool first = i == 0 || list.rows[i].node != list.rows[i - 1].node;
    if (!*list.rows[i].node || (of->nodes && !globs_match (of->nodes, list.rows[i].node)))
      continue;
    nodes += first;
    if (nodes <= ROWS_OF_NODES)
      list.rows[kept++] = list.rows[i];
  }
  *count = nodes;
  if (result < 0 || !of->rows || nodes == 0) {
    free (list.rows);
    return result;
  }
  list.count = kept;
  result = history_chunk_points (asking->file, &list, &query, &into, &broken, error);
  *count = bucket_table_count (&table) * nodes / (nodes < ROWS_OF_NODES ? nodes : ROWS_OF_NODES);
  bucket_table_free (&table);
  return result;
}

/* At most, or nearly, of the leading metric. It is looked up only where it may matter. */
static int
count_series (struct asking *asking, size_t most, size_t *count, struct error *error)
{
  const struct plan *plan = &asking->plan;
  const struct query_piece *last = plan->count ? &plan->pieces[plan->count - 1] : NULL;
  struct points_query query = asking_points (asking, asking_leading (asking));
  int64_t nodes = 0;

  *count = 0;
  if (asking->combined || !last)
    return 0;
  if (history_file_number (asking->file, "SELECT count (*) FROM nodes", &nodes, error) < 0)
    return -1;
  if ((size_t) nodes * (query.rows ? ROWS_USUAL : 1) * plan->steps <= most)
    return 0;
  return last->tier == HISTORY_FRAMES ? count_frames (asking, last, &query, count, error)
                                      : count_tier (asking, last, &query, count, error);
}

/* ---- steps ---- */

static int64_t
local_offset (int64_t time_ns)
{
  time_t seconds = (time_t) (time_ns / NS_PER_S);
  struct tm tm = { 0 };

  localtime_r (&seconds, &tm);
  return tm.tm_gmtoff * NS_PER_S;
}

static int
make_plan (struct asking *asking, int64_t step_ns, size_t wanted, struct error *error)
{
  free (asking->plan.pieces);
  return plan_make (&asking->plan, asking->from_ns, asking->to_ns, step_ns, wanted, local_offset (asking->from_ns),
                    asking->tiers, error);
}

static bool
fits (const struct asking *asking)
{
  return asking->series <= points_most (asking) / asking->plan.steps;
}

/* The shortest steps that fit. False: one is too many. */
static bool
make_plan_that_fits (struct asking *asking, size_t wanted)
{
  for (; wanted > 0; wanted--)
    if (make_plan (asking, 0, wanted, NULL) == 0 && fits (asking))
      return true;
  return false;
}

/* "10,000" */
static void
add_number (struct buffer *out, size_t number)
{
  char text[32];
  int length = snprintf (text, sizeof text, "%zu", number);

  for (int i = 0; i < length; i++)
    buffer_printf (out, "%s%c", i && (length - i) % 3 == 0 ? "," : "", text[i]);
}

/* "2m", as it is given. */
static void
add_duration (struct buffer *out, int64_t ns)
{
  struct buffer words = { 0 };
  char *space;

  query_duration (&words, ns);
  space = strchr (buffer_text (&words), ' ');
  buffer_printf (out, "%.*s%c", (int) (space - words.data), words.data, space[1]);
  buffer_free (&words);
}

static int
too_many (struct asking *asking, const char **key, struct error *error)
{
  size_t most = points_most (asking), steps = asking->plan.steps;
  bool narrowed = most == QUERY_READ_MAX;
  struct buffer text = { 0 };

  add_number (&text, steps);
  buffer_printf (&text, " step%s of %s", steps == 1 ? "" : "s", asking->more ? "more than " : "");
  add_number (&text, asking->series - asking->more);
  buffer_add_string (&text, " series are ");
  add_number (&text, steps * asking->series);
  buffer_printf (&text, " points%s, and %s at most ", asking->more ? " or more" : "",
                 narrowed ? "a fold or a ranking is made of" : "an answer has");
  add_number (&text, most);
  buffer_add_string (&text, ": choose ");
  if (asking->series <= most && make_plan_that_fits (asking, most / asking->series)) {
    add_duration (&text, asking->plan.step_ns);
    buffer_add_string (&text, ", or ");
  }
  buffer_printf (&text, "fewer series: by node%s%s", asking->by_rows ? ", row" : "", narrowed ? "" : ", fold or top");
  *key = "step";
  error_set (error, "%s", buffer_text (&text));
  buffer_free (&text);
  return -1;
}

static void
note_steps (struct asking *asking, bool longer)
{
  struct buffer *note = &asking->answer->note;

  buffer_clear (note);
  if (!asking->plan.wider && !longer)
    return;
  buffer_add_string (note, "Steps are ");
  query_duration (note, asking->plan.step_ns);
  if (longer) {
    buffer_printf (note, " long, for %s", asking->more ? "more than " : "");
    add_number (note, asking->series - asking->more);
    buffer_add_string (note, " series; with fewer (--top, --fold, --node) they are shorter.\n");
  } else {
    buffer_add_string (note, " long: nothing finer goes back so far.\n");
  }
}

int
asking_choose_steps (struct asking *asking, const char **key, struct error *error)
{
  bool longer = false;
  int64_t step_ns = 0;

  if (asking->query->step)
    duration_parse (asking->query->step, &step_ns, NULL);
  for (size_t i = 0; i < HISTORY_TIERS; i++)
    asking->tiers[i].there =
        history_points_range (asking->file, (enum history_tier) i, &asking->tiers[i].from_ns, &asking->tiers[i].to_ns);
  *key = "step";
  if (make_plan (asking, step_ns, STEPS_USUAL, error) < 0)
    return -1;
  *key = NULL;
  if (!asking->series && count_series (asking, points_most (asking), &asking->series, error) < 0)
    return -1;
  if (asking->series && !fits (asking)) {
    longer = !step_ns && make_plan_that_fits (asking, points_most (asking) / asking->series);
    if (!longer)
      return too_many (asking, key, error);
  }
  note_steps (asking, longer);
  return 0;
}

size_t
asking_series_most (const struct asking *asking)
{
  return points_most (asking) / asking->plan.steps;
}

int
asking_again (struct asking *asking, const char **key, struct error *error)
{
  size_t most = asking_series_most (asking);

  asking->series = asking->series > most ? 2 * asking->series : most + 1;
  asking->more = true;
  return asking->query->step ? too_many (asking, key, error) : asking_choose_steps (asking, key, error);
}
