/* The table of addresses; see api_route.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/api/api_private.h"
#include "synop/config_suggest.h"

#define COUNT_OF(array) (sizeof (array) / sizeof ((array)[0]))
#define PARAMETERS(array) .parameters = (array), .count = COUNT_OF (array)

#define WHEN                                                                                                           \
  "As 2026-11-21T10:00:00Z (RFC 3339), 10:00 (today, local time of the aggregator), 2026-11-21 10:00, -1h or now."

static const char *const states[] = { "never", "up", "stale", "down", NULL };

static const char *const folds[] = { "sum", "mean", "min", "max", NULL };
static const char *const report_forms[] = { "html", "pdf", "csv", "json", "text", "jobstats", NULL };
static const char *const report_types[] = { "text/html",        "application/pdf", "text/csv",
                                            "application/json", "text/plain",      NULL }; /* jobstats is text */
static const char *const stream_types[] = { "text/event-stream", NULL };
static const char *const encodings[] = { "values", "levels", NULL };
static const char *const forms[] = { "json", "csv", "levels", "table", "plot", "parquet", "arrow", NULL };
static const char *const metric_forms[] = { "json", "csv", "table", NULL };
static const char *const list_forms[] = { "json", "lines", "table", NULL };
static const char *const line_forms[] = { "json", "lines", NULL };
static const char *const canvases[] = { "terminal", "png", "svg", "pdf", NULL };
static const char *const plain_types[] = { "text/plain", NULL };

/* How a text for people is to look. */
#define LOOK                                                                                                           \
  { "width", API_NUMBER, "Of a text: its columns.", "80", .most = 1000 },                                              \
      { "colour", API_BOOLEAN, "Of a text: with the colours of a terminal.", "no" },                                   \
  {                                                                                                                    \
    "ascii", API_BOOLEAN, "Of a text: without characters that a terminal may lack.", "no"                              \
  }

static const struct api_parameter node_parameters[] = {
  { "node", API_GLOBS, "Only nodes whose name matches one of these globs." },
  { "state", API_CHOICE, "Only nodes in this state.", .choices = states },
  { "facts", API_BOOLEAN, "no: without the facts, which are most of the answer.", "yes" },
};

static const struct api_parameter group_parameters[] = {
  { "group", API_GLOBS, "Only groups whose name matches one of these globs." },
};

static const struct api_parameter metric_parameters[] = {
  { "metric", API_GLOBS, "Only metrics whose name, with or without that of the group, matches one of these globs." },
  { "format", API_CHOICE, "json: an array; csv, table: a line each.", "json", .choices = metric_forms },
};

static const struct api_parameter query_parameters[] = {
  { "metric", API_WORDS, "The metric, as lines show it (cpu_usage.user), or two of them with + - * / between.",
    .required = true },
  { "node", API_GLOBS, "Only nodes whose name matches one of these globs." },
  { "rows", API_BOOLEAN, "Each row (CPU, device, GPU) is a series.", "no" },
  { "row", API_GLOBS, "Only rows whose label matches one of these globs; each is a series." },
  { "fold", API_CHOICE, "All series become one: each step has their sum, mean, minimum or maximum.", .choices = folds },
  { "top", API_NUMBER, "Only so many series: those with most, in the mean.", .most = 10000 },
  { "bottom", API_NUMBER, "Only so many series: those with least, in the mean.", .most = 10000 },
  { "job", API_WORDS, "A job's id: its nodes, its time, its rows." },
  { "user", API_WORDS, "Whose job it is, where several users have one of that id." },
  { "scheduler", API_WORDS, "Of which scheduler, where several have one of that id." },
  { "rate", API_BOOLEAN, "A counter's change in a second, rather than in a step.", "no" },
  { "combined", API_BOOLEAN, "The combined report of the cluster: sum, mean, min, max.", "no" },
  {
      "from",
      API_TIME,
      "The first instant. " WHEN,
  },
  {
      "to",
      API_TIME,
      "The instant before which it ends. " WHEN,
  },
  { "step", API_DURATION,
    "The time between two values, as 30s, 5m, 1h; without it there are about 60 steps, or fewer for many series." },
  { "format", API_CHOICE,
    "json: one object; csv: a table; levels: a byte for each node and step; table: for people; plot: curves; parquet, "
    "arrow: the same as such a file.",
    "json", .choices = forms },
  { "canvas", API_CHOICE, "What a plot is drawn as.", "terminal", .choices = canvases },
  { "height", API_NUMBER, "Of a plot on a terminal: its lines.", "24", .most = 1000 },
  { "width", API_NUMBER, "Of a table or a plot: its columns.", "80", .most = 1000 },
  { "colour", API_BOOLEAN, "Of a plot: with the colours of a terminal.", "no" },
};

static const struct api_parameter now_parameters[] = {
  { "metric", API_METRICS, "What to show, as in a query; counters are their change in a second. At most 16.",
    .required = true },
  { "node", API_GLOBS, "Only nodes whose name matches one of these globs." },
  { "row", API_GLOBS, "Rows whose label matches one of these globs, rather than one value of each node." },
  { "top", API_NUMBER, "Only so many: those with most.", .most = 1000 },
  { "bottom", API_NUMBER, "Only so many: those with least.", .most = 1000 },
  { "encoding", API_CHOICE, "values: numbers; levels: a byte for each node, in base64.", "values",
    .choices = encodings },
};

static const struct api_parameter job_list_parameters[] = {
  { "running", API_BOOLEAN, "Only jobs that run.", "no" },
  { "user", API_GLOBS, "Only jobs of users whose name matches one of these globs." },
  { "from", API_TIME, "Jobs that ran at some time from this instant on. " WHEN, "-24h" },
  { "to", API_TIME, "The instant before which they ran. " WHEN, "now" },
  { "limit", API_NUMBER, "So many at most: those that began last.", "1000", .most = 10000 },
  { "format", API_CHOICE, "json: one object; lines: an object a line; table: for people.", "json",
    .choices = list_forms },
};

static const struct api_parameter job_parameters[] = {
  { "user", API_WORDS, "Whose job it is, where several users have one of that id." },
  { "scheduler", API_WORDS, "Of which scheduler (slurm, pbs, synop...), where several have one of that id." },
};

static const struct api_parameter report_parameters[] = {
  { "format", API_CHOICE,
    "html, pdf: with plots; csv: a table of the nodes' figures; json: one object; text: as on a terminal; jobstats: a "
    "line for SLURM's AdminComment.",
    "html", .choices = report_forms },
  LOOK,
  { "user", API_WORDS, "Whose job it is, where several users have one of that id." },
  { "scheduler", API_WORDS, "Of which scheduler (slurm, pbs, synop...), where several have one of that id." },
};

static const struct api_parameter line_parameters[] = {
  { "from", API_TIME, "The first instant. " WHEN, "-10s" },
  { "to", API_TIME, "The instant before which it ends. " WHEN, "now" },
  { "type", API_TYPES, "Only lines of these types: node, cluster, event, job." },
  { "node", API_GLOBS, "Only lines of nodes whose name matches one of these globs." },
  { "group", API_GLOBS,
    "Only these groups of node lines, or of combined reports; a line with none of them is left out. "
    "Without type, only node lines." },
  { "limit", API_NUMBER, "So many at most: the newest.", "1000", .most = 10000 },
  { "format", API_CHOICE, "json: one object; lines: all of them, one a line, whatever the limit is.", "json",
    .choices = line_forms },
};

static const struct api_parameter event_parameters[] = {
  { "from", API_TIME, "The first instant. " WHEN, "-1h" },
  { "to", API_TIME, "The instant before which it ends. " WHEN, "now" },
  { "type", API_GLOBS, "Only events of these types, as node_down." },
  { "node", API_GLOBS, "Only events about nodes whose name matches one of these globs." },
  { "limit", API_NUMBER, "So many at most: the newest.", "1000", .most = 10000 },
};

static const struct api_parameter alert_parameters[] = {
  { "at", API_TIME, "What stood at that instant; without it, what stands now. " WHEN },
  { "node", API_GLOBS, "Only alerts of nodes whose name matches one of these globs." },
};

static const struct api_parameter stream_parameters[] = {
  { "type", API_TYPES, "Only lines of these types: node, cluster, event, job." },
  { "node", API_GLOBS, "Only lines of nodes whose name matches one of these globs." },
  { "group", API_GLOBS,
    "Only these groups of node lines, or of combined reports with type=cluster; a line with none of them is left out. "
    "Without type, only node lines." },
};

static const struct api_parameter socket_parameters[] = {
  { "request", API_REQUEST, "The request, as tail, and behind tabs its words, as node=n1.", .required = true },
};

const struct api_route api_routes[] = {
  { "", "Addresses", "The addresses of this API.", .schema = "Index", .answer = api_answer_index },
  { "openapi.json", "Description", "This description, in OpenAPI.", .schema = "OpenAPI", .answer = api_answer_openapi },
  { "status", "Status", "Every listed node and every counter: what `synop-aggregator status --json` prints.",
    .schema = "Status", .answer = api_answer_status },
  { "nodes", "Nodes", "The listed nodes: state, clock, frames, versions, facts, as in the status.",
    PARAMETERS (node_parameters), "Nodes", .answer = api_answer_nodes },
  { "groups", "Groups", "The groups and metrics of the nodes that are up: units, kinds, and how many nodes have them.",
    PARAMETERS (group_parameters), "Groups", .answer = api_answer_groups },
  { "metrics", "Metrics", "The metrics of the history: what `synop-aggregator query --list` prints.",
    PARAMETERS (metric_parameters), "Metrics", .answer = api_answer_history, .read = api_read_metrics },
  { "query", "Query", "How a metric went: what `synop-aggregator query --format json` prints.",
    PARAMETERS (query_parameters), "QueryAnswer", .answer = api_answer_history, .read = api_read_query },
  { "now", "Now", "Values of this instant, of all nodes at once, from memory.", PARAMETERS (now_parameters), "Now",
    .answer = api_answer_now },
  { "watch", "Watch", "The same at once and each tick, as server-sent events; `nodes` only when they change.",
    PARAMETERS (now_parameters), .types = stream_types, .answer = api_answer_watch },
  { "jobs", "Jobs", "Jobs, the newest last: what `synop-aggregator jobs --json` prints.",
    PARAMETERS (job_list_parameters), "Jobs", .answer = api_answer_history, .read = api_read_jobs },
  { "jobs/{id}/report", "Report", "The report on a job as a file: what `synop-aggregator report ID` writes.",
    PARAMETERS (report_parameters), .types = report_types, .schema_of_path = "The job's id, as 123 or 123/4.",
    .answer = api_answer_history, .read = api_read_report },
  { "jobs/{id}", "Job", "The report on a job: what `synop-aggregator report ID --format json` prints.",
    PARAMETERS (job_parameters), "JobReport", .schema_of_path = "The job's id, as 123 or 123/4.",
    .answer = api_answer_history, .read = api_read_job },
  { "events", "Events", "What happened, the newest last.", PARAMETERS (event_parameters), "Events",
    .answer = api_answer_history, .read = api_read_events },
  { "alerts", "Alerts",
    "What is wrong: nodes that are silent, groups that fail, errors that hardware counted; the gravest first.",
    PARAMETERS (alert_parameters), "Alerts", .answer = api_answer_alerts, .read = api_read_alerts },
  { "lines", "Lines", "The lines of the past: what `synop-aggregator replay` prints.", PARAMETERS (line_parameters),
    "Lines", .answer = api_answer_history, .read = api_read_lines },
  { "stream", "Stream", "The lines as they come, as server-sent events: what `synop-aggregator tail` prints.",
    PARAMETERS (stream_parameters), .types = stream_types, .answer = api_answer_stream },
  { "socket", "Socket", "What the aggregator's UNIX socket answers, as it is: for commands on other hosts.",
    PARAMETERS (socket_parameters), .types = plain_types, .answer = api_answer_socket },
};
const size_t api_route_count = COUNT_OF (api_routes);

const char *
api_route_tail (const struct api_route *route)
{
  const char *end = strchr (route->path, '}');

  return end ? end + 1 : "";
}

/* False: the path is not of the route. */
static bool
route_has (const struct api_route *route, const char *path, const char **part)
{
  size_t fixed = strcspn (route->path, "{"), tail = strlen (api_route_tail (route)), length;

  *part = route->path[fixed] ? path + fixed : NULL;
  if (!*part)
    return strcmp (path, route->path) == 0;
  length = strlen (path);
  return length > fixed + tail && strncmp (path, route->path, fixed) == 0 &&
         strcmp (path + length - tail, api_route_tail (route)) == 0;
}

const struct api_route *
api_route_find (const char *path, const char **part, struct api_error *error)
{
  struct suggestion suggestion = { .word = path };

  for (size_t i = 0; i < api_route_count; i++) {
    if (route_has (&api_routes[i], path, part))
      return &api_routes[i];
    suggestion_consider (&suggestion, api_routes[i].path);
  }
  api_error_set (error, 404, NULL, "there is no " API_PREFIX "%.200s%s%s%s (" API_PREFIX " lists what there is)", path,
                 *suggestion.best ? "; did you mean " API_PREFIX : "", suggestion.best, *suggestion.best ? "?" : "");
  return NULL;
}

const char *
api_value (const struct api_ask *ask, const char *name)
{
  for (size_t i = 0; i < ask->route->count; i++)
    if (strcmp (ask->route->parameters[i].name, name) == 0)
      return ask->values[i];
  return NULL;
}

const char *
api_value_of_path (const struct api_ask *ask)
{
  return ask->values[ask->route->count];
}

void
api_ask_free (struct api_ask *ask)
{
  for (size_t i = 0; i < COUNT_OF (ask->values); i++)
    free (ask->values[i]);
  *ask = (struct api_ask){ 0 };
}
