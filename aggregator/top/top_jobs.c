/* The jobs that run: what they use now, of the request `watch`; whose they are, of the request `jobs`. See top_private.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/top/top_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/quantity.h"

static const char *const expressions[JOB_NUMBERS] = {
  [JOB_BUSY] = "job_cpu.user_time + job_cpu.system_time",
  [JOB_CPUS] = "job_cpu.cpus",
  [JOB_MEMORY] = "job_memory.rss",
  [JOB_TRAFFIC] = "job_io.read_bytes + job_io.write_bytes",
  [JOB_GPU] = "job_gpu.utilization",
  [JOB_POWER] = "job_energy.power",
};
static const char *const first_metrics[JOB_NUMBERS] = {
  "job_cpu.user_time", "job_cpu.cpus", "job_memory.rss", "job_io.read_bytes", "job_gpu.utilization", "job_energy.power"
};

bool
jobs_ask (struct top_jobs *jobs, const struct top_metrics *metrics, struct buffer *request)
{
  jobs->asked_count = 0;
  buffer_add_string (request, "watch");
  for (enum job_number number = 0; number < JOB_NUMBERS; number++)
    if (metrics_has (metrics, first_metrics[number])) {
      jobs->asked[jobs->asked_count++] = number;
      buffer_printf (request, "\tmetric=%s", expressions[number]);
    }
  buffer_add_string (request, "\trow=*\n");
  return jobs->asked_count > 0;
}

/* ---- lines ---- */

static void
jobs_clear (struct top_jobs *jobs)
{
  for (size_t i = 0; i < jobs->count; i++) {
    struct top_job *job = &jobs->list[i];
    for (size_t k = 0; k < job->node_count; k++)
      free (job->nodes[k]);
    free (job->nodes);
    free (job->id);
    free (job->user);
    free (job->name);
    free (job->partition);
  }
  jobs->count = jobs->shown_count = 0;
}

void
jobs_free (struct top_jobs *jobs)
{
  jobs_clear (jobs);
  json_decref (jobs->facts);
  json_decref (jobs->fresh);
  free (jobs->list);
  free (jobs->shown);
  *jobs = (struct top_jobs){ 0 };
}

static const char *
text_of (const json_t *object, const char *key)
{
  const char *text = json_string_value (json_object_get (object, key));

  return text ? text : "";
}

static void
job_name (struct top_jobs *jobs, struct top_job *job)
{
  const json_t *fact = json_object_get (jobs->facts, job->id), *started = json_object_get (fact, "started");
  const json_t *scheduler = json_object_get (fact, "scheduler_facts"),
               *limit = json_object_get (scheduler, "time_limit");
  const char *name = text_of (fact, "name");
  struct tm tm = { 0 };

  free (job->user);
  free (job->name);
  free (job->partition);
  job->partition = memory_string (text_of (scheduler, "partition"));
  job->limit = json_is_number (limit) ? json_number_value (limit) : (double) NAN;
  job->user = memory_string (text_of (fact, "user"));
  job->name = memory_string (*name ? name : text_of (fact, "command"));
  job->started = (double) NAN;
  if (json_is_string (started) && strptime (json_string_value (started), "%Y-%m-%dT%H:%M:%S", &tm))
    job->started = (double) timegm (&tm);
}

/* `index` has the place of each job, by id. */
static struct top_job *
job_of (struct top_jobs *jobs, json_t *index, const char *id)
{
  const json_t *known = json_object_get (index, id);
  struct top_job *job;

  if (known)
    return &jobs->list[json_integer_value (known)];
  json_object_set_new (index, id, json_integer ((json_int_t) jobs->count));
  job = array_add (jobs->list, jobs->count, jobs->room);
  *job = (struct top_job){ .id = memory_string (id) };
  for (size_t i = 0; i < JOB_NUMBERS; i++)
    job->numbers[i] = (double) NAN;
  job_name (jobs, job);
  return job;
}

/* Rows come node by node, so that one look at the last node of a job is enough. */
static void
add_node (struct top_job *job, const char *node)
{
  if (job->node_count && strcmp (job->nodes[job->node_count - 1], node) == 0)
    return;
  *array_add (job->nodes, job->node_count, job->node_room) = memory_string (node);
}

static void
take_rows (struct top_jobs *jobs, json_t *index, enum job_number number, bool first, const json_t *rows)
{
  for (size_t i = 0; i < json_array_size (rows); i++) {
    const json_t *row = json_array_get (rows, i), *value = json_object_get (row, "value");
    const char *id = text_of (row, "row");
    struct top_job *job = *id ? job_of (jobs, index, id) : NULL;
    if (job && first)
      add_node (job, text_of (row, "node"));
    if (job && json_is_number (value)) {
      job->numbers[number] = (isnan (job->numbers[number]) ? 0 : job->numbers[number]) + json_number_value (value);
      job->rows[number]++;
    }
  }
}

int
jobs_take (struct top_jobs *jobs, const char *line, size_t length)
{
  json_t *root = json_loadb (line, length, 0, NULL), *metrics = json_object_get (root, "metrics");
  json_t *index = json_pack ("{}");
  bool fits = json_is_array (metrics) && json_array_size (metrics) == jobs->asked_count;

  if (fits)
    jobs_clear (jobs);
  for (size_t i = 0; fits && i < jobs->asked_count; i++)
    take_rows (jobs, index, jobs->asked[i], i == 0, json_object_get (json_array_get (metrics, i), "rows"));
  for (size_t i = 0; i < jobs->count; i++)
    if (jobs->list[i].rows[JOB_GPU])
      jobs->list[i].numbers[JOB_GPU] /= (double) jobs->list[i].rows[JOB_GPU];
  jobs->filled |= fits;
  json_decref (index);
  json_decref (root);
  return fits ? 0 : -1;
}

void
jobs_take_fact (struct top_jobs *jobs, const char *line, size_t length)
{
  json_t *job = json_loadb (line, length, 0, NULL);
  const char *id = text_of (job, "job_id");

  jobs->fresh = jobs->fresh ? jobs->fresh : json_pack ("{}");
  if (*id)
    json_object_set (jobs->fresh, id, job);
  json_decref (job);
}

void
jobs_facts_end (struct top_jobs *jobs)
{
  json_decref (jobs->facts);
  jobs->facts = jobs->fresh;
  jobs->fresh = NULL;
  jobs->named = true;
  for (size_t i = 0; i < jobs->count; i++)
    job_name (jobs, &jobs->list[i]);
}

/* ---- order ---- */

static const struct top_jobs *ordered; /* qsort passes nothing on */

static int
compare_numbers (double one, double other)
{
  if (isnan (one) || isnan (other))
    return isnan (one) - isnan (other);
  return (one < other) - (one > other);
}

static int
compare_jobs (const void *one, const void *other)
{
  static const enum job_number numbers[] = { [JOBS_BY_CPU] = JOB_BUSY,
                                             [JOBS_BY_MEMORY] = JOB_MEMORY,
                                             [JOBS_BY_TRAFFIC] = JOB_TRAFFIC,
                                             [JOBS_BY_POWER] = JOB_POWER };
  const struct top_job *a = &ordered->list[*(const size_t *) one], *b = &ordered->list[*(const size_t *) other];
  int order = 0;

  if (ordered->sort < JOBS_BY_ID)
    order = compare_numbers (a->numbers[numbers[ordered->sort]], b->numbers[numbers[ordered->sort]]);
  else if (ordered->sort == JOBS_BY_USER)
    order = strcmp (a->user, b->user);
  order = order ? order : strverscmp (a->id, b->id);
  return ordered->reverse ? -order : order;
}

void
jobs_order (struct top_jobs *jobs, const char *filter)
{
  jobs->shown = memory_resize (jobs->shown, jobs->count + 1, sizeof jobs->shown[0]);
  jobs->shown_count = 0;
  for (size_t i = 0; i < jobs->count; i++) {
    const struct top_job *job = &jobs->list[i];
    if (order_matches (filter, job->id) || order_matches (filter, job->user) || order_matches (filter, job->name))
      jobs->shown[jobs->shown_count++] = i;
  }
  ordered = jobs;
  qsort (jobs->shown, jobs->shown_count, sizeof jobs->shown[0], compare_jobs);
}

/* ---- the view ---- */

#define NO_SORT JOBS_SORTS
#define NAME_COLUMN 2
#define NAME_WIDTH 12 /* at least; at most: */
#define NAME_MAX 40
static const struct column {
  const char *title;
  int width;
  bool left;
  enum jobs_sort sort;
} columns[] = { { "JOB", 10, true, JOBS_BY_ID },        { "USER", 8, true, JOBS_BY_USER },
                { "NAME", NAME_WIDTH, true, NO_SORT },  { "NODES", 5, false, NO_SORT },
                { "CPUS", 5, false, NO_SORT },          { "CPU", 6, false, JOBS_BY_CPU },
                { "MEMORY", 7, false, JOBS_BY_MEMORY }, { "TIME", 9, false, NO_SORT },
                { "IO/s", 7, false, JOBS_BY_TRAFFIC },  { "GPU", 6, false, NO_SORT },
                { "POWER", 7, false, JOBS_BY_POWER },   { "LEFT", 9, false, NO_SORT },
                { "PARTITION", 12, true, NO_SORT } };
#define COLUMNS_COUNT (sizeof columns / sizeof columns[0])

/* How many columns fit; the name takes what they leave. */
static size_t
columns_that_fit (int width, int *name)
{
  size_t count = 0;
  int taken = 0;

  while (count < COLUMNS_COUNT && taken + columns[count].width <= width)
    taken += columns[count++].width + 1;
  *name = NAME_WIDTH + width - taken + 1;
  *name = *name > NAME_MAX ? NAME_MAX : *name;
  return count;
}

static void
draw_cells (struct canvas *canvas, int y, const char *const *texts, const struct top_jobs *head)
{
  int x = 0, name;
  size_t count = columns_that_fit (canvas->width, &name);

  for (size_t i = 0; i < count; i++) {
    int width = i == NAME_COLUMN ? name : columns[i].width;
    unsigned style = !head ? STYLE_PLAIN : head->sort == columns[i].sort ? STYLE_SELECTED : STYLE_HEAD;
    (columns[i].left ? canvas_text : canvas_right) (canvas, x, y, width, style, texts[i]);
    x += width + 1;
  }
}

static void
draw_job (struct canvas *canvas, int y, const struct top_job *job, double now)
{
  const double *numbers = job->numbers, left = job->started + job->limit - now;
  struct quantity count = quantity_count ((double) job->node_count), cpus = quantity_count (numbers[JOB_CPUS]),
                  busy = quantity_text (100 * numbers[JOB_BUSY] / numbers[JOB_CPUS], "%"),
                  memory = quantity_short (numbers[JOB_MEMORY], "bytes"), time = quantity_age (now - job->started),
                  traffic = quantity_short (numbers[JOB_TRAFFIC], "bytes"), gpu = quantity_text (numbers[JOB_GPU], "%"),
                  power = quantity_text (numbers[JOB_POWER], "watts"),
                  rest = quantity_age (isnan (left) ? left : fmax (left, 0));

  draw_cells (canvas, y,
              (const char *const[]){ job->id, job->user, job->name, count.text, cpus.text, busy.text, memory.text,
                                     time.text, traffic.text, gpu.text, power.text, rest.text, job->partition },
              NULL);
}

static void
draw_sums (const struct top_jobs *jobs, struct canvas *canvas, int y)
{
  double sums[JOB_NUMBERS] = { 0 };
  char text[160];

  for (size_t i = 0; i < jobs->shown_count; i++)
    for (size_t k = 0; k < JOB_NUMBERS; k++) {
      double value = jobs->list[jobs->shown[i]].numbers[k];
      sums[k] += isnan (value) ? 0 : value;
    }
  snprintf (text, sizeof text, "%zu %s run%s   %s of %s CPUs busy   memory %s", jobs->shown_count,
            jobs->shown_count == 1 ? "job" : "jobs", jobs->shown_count == 1 ? "s" : "",
            quantity_count (sums[JOB_BUSY] < 100 ? sums[JOB_BUSY] : round (sums[JOB_BUSY])).text,
            quantity_count (sums[JOB_CPUS]).text, quantity_text (sums[JOB_MEMORY], "bytes").text);
  canvas_text (canvas, 0, y, canvas->width, STYLE_PLAIN, text);
}

static const char *
why_none (const struct top_jobs *jobs)
{
  if (*jobs->error)
    return jobs->error;
  if (!jobs->filled)
    return "Asking for the jobs ...";
  return jobs->count ? "No job fits the filter; F4 changes it." : "No job runs.";
}

void
jobs_draw (struct top *top, struct canvas *canvas, int y, int rows)
{
  struct top_jobs *jobs = &top->jobs;
  const char *titles[COLUMNS_COUNT];
  int end = y + rows;
  double now = (double) clock_wall () / NS_PER_S;

  for (size_t i = 0; i < COLUMNS_COUNT; i++)
    titles[i] = columns[i].title;
  draw_sums (jobs, canvas, y++);
  canvas_restyle (canvas, 0, y, canvas->width, STYLE_HEAD);
  draw_cells (canvas, y++, titles, jobs);
  top->list_rows = end - y;
  screen_list_fit (&jobs->rows, jobs->shown_count, top->list_rows);
  for (size_t row = jobs->rows.first; y < end && row < jobs->shown_count; row++, y++) {
    draw_job (canvas, y, &jobs->list[jobs->shown[row]], now);
    if (top->screen && row == jobs->rows.selected)
      canvas_restyle (canvas, 0, y, canvas->width, STYLE_SELECTED);
  }
  if (jobs->shown_count == 0)
    canvas_text (canvas, 0, y, canvas->width, *jobs->error ? STYLE_WARNING : STYLE_FAINT, why_none (jobs));
}
