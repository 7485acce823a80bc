/* A rank's trace; see trace_rank.h. */
#include "aggregator/traces/trace_rank.h"

#include <inttypes.h>
#include <jansson.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/traces/trace_file.h"
#include "synop/memory.h"

#define PROCESSES_MAX 4096
#define PROCESSES_OF_RANK 10000 /* numbers of processes in the merged trace: a rank's are together */

/* ---- names of files ---- */

enum { FORM_NODE, FORM_RANK, FORM_PID, FORM_JOB, FORM_WORDS };
static const struct {
  const char *word, *expression;
} words[FORM_WORDS] = {
  { "{node}", "([A-Za-z0-9._-]+)" }, { "{rank}", "([0-9]+)" }, { "{pid}", "([0-9]+)" }, { "{job}", "([^/]+)" }
};

/* The expression, and which group of it is which word; 0: the form has it not. */
static int
form_compile (const char *form, regex_t *compiled, int groups[FORM_WORDS], struct error *error)
{
  struct buffer expression = { 0 };
  int count = 0, rc;

  memset (groups, 0, FORM_WORDS * sizeof *groups);
  buffer_add_string (&expression, "^");
  while (*form) {
    size_t i = 0;

    while (i < FORM_WORDS && strncmp (form, words[i].word, strlen (words[i].word)) != 0)
      i++;
    if (i < FORM_WORDS && !groups[i]) {
      buffer_add_string (&expression, words[i].expression);
      groups[i] = ++count;
      form += strlen (words[i].word);
      continue;
    }
    if (*form == '{' || i < FORM_WORDS) {
      buffer_free (&expression);
      return error_set (error, "\"%.64s\" is not understood; expected {node}, {rank}, {pid}, {job}, each once", form);
    }
    if (strchr (".[]()*+?^$|\\{}", *form))
      buffer_add_string (&expression, "\\");
    buffer_add (&expression, form++, 1);
  }
  buffer_add_string (&expression, "([._][^/]*)?\\.json(\\.gz)?$");
  rc = regcomp (compiled, buffer_text (&expression), REG_EXTENDED);
  buffer_free (&expression);
  return rc == 0 ? 0 : error_set (error, "it is no form of names");
}

int
trace_form_check (const char *form, struct error *error)
{
  int groups[FORM_WORDS];
  regex_t compiled;

  if (form_compile (form, &compiled, groups, error) < 0)
    return -1;
  regfree (&compiled);
  if (!groups[FORM_NODE])
    return error_set (error, "\"%.64s\" has no {node}", form);
  return 0;
}

static int
name_read (struct trace_rank *rank, const char *form, struct error *error)
{
  const char *name = strrchr (rank->path, '/') ? strrchr (rank->path, '/') + 1 : rank->path;
  regmatch_t matches[FORM_WORDS + 3];
  int groups[FORM_WORDS], rc;
  regex_t compiled;

  if (form_compile (form, &compiled, groups, error) < 0)
    return -1;
  rc = regexec (&compiled, name, FORM_WORDS + 3, matches, 0);
  regfree (&compiled);
  if (rc != 0)
    return error_set (error, "its name is not of the form \"%.64s.json\"; --name gives another", form);
  snprintf (rank->node, sizeof rank->node, "%.*s",
            (int) (matches[groups[FORM_NODE]].rm_eo - matches[groups[FORM_NODE]].rm_so),
            name + matches[groups[FORM_NODE]].rm_so);
  if (groups[FORM_RANK])
    rank->rank = strtoll (name + matches[groups[FORM_RANK]].rm_so, NULL, 10);
  return 0;
}

/* ---- the first reading ---- */

static int
event_count (void *context, const char *text, size_t length)
{
  struct trace_rank *rank = context;
  struct trace_event event;
  int64_t time_ns;

  rank->events++;
  trace_event_read (&event, text, length);
  if (event.phase == 'M' || !trace_event_time (&event, &time_ns))
    return 0;
  if (!rank->timed || time_ns < rank->first_ns)
    rank->first_ns = time_ns;
  if (!rank->timed || time_ns > rank->last_ns)
    rank->last_ns = time_ns;
  rank->timed++;
  return 0;
}

static int
member_take (void *context, const char *name, const char *text, size_t length)
{
  struct trace_rank *rank = context;
  json_t *value = json_loadb (text, length, JSON_DECODE_ANY, NULL);
  const json_t *number = json_object_get (value, "rank");

  rank->merged |= strcmp (name, "synopRanks") == 0;
  if (strcmp (name, "baseTimeNanoseconds") == 0 && json_is_integer (value))
    rank->base_ns = json_integer_value (value);
  if (strcmp (name, "distributedInfo") == 0 && json_is_integer (number))
    rank->rank = json_integer_value (number);
  json_decref (value);
  return rank->merged ? -1 : 0;
}

int
trace_rank_open (struct trace_rank *rank, const char *path, const char *form, struct error *error)
{
  const struct trace_taker taker = { rank, event_count, member_take };

  *rank = (struct trace_rank){ .path = memory_string (path), .rank = -1 };
  if (name_read (rank, form, error) < 0 || trace_file_read (path, &taker, error) < 0)
    return -1;
  if (!rank->timed && !rank->merged)
    return error_set (error, "it has no event with a time");
  rank->first_ns += rank->base_ns;
  rank->last_ns += rank->base_ns;
  return 0;
}

void
trace_rank_close (struct trace_rank *rank)
{
  for (size_t i = 0; i < rank->process_count; i++)
    free (rank->processes[i].pid);
  free (rank->processes);
  free (rank->path);
}

/* ---- processes ---- */

/* The one of that pid; beyond a number that no trace has, the last. */
static struct trace_process *
process_find (struct trace_rank *rank, const struct trace_part *pid)
{
  struct trace_process *process;
  const char *text = pid->text ? pid->text : "0";
  size_t length = pid->text ? pid->length : 1;

  for (size_t i = 0; i < rank->process_count; i++)
    if (strlen (rank->processes[i].pid) == length && memcmp (rank->processes[i].pid, text, length) == 0)
      return &rank->processes[i];
  if (rank->process_count == PROCESSES_MAX)
    return &rank->processes[PROCESSES_MAX - 1];
  if (rank->process_count == rank->process_room) {
    rank->process_room = rank->process_room ? 2 * rank->process_room : 8;
    rank->processes = memory_resize (rank->processes, rank->process_room, sizeof *rank->processes);
  }
  process = &rank->processes[rank->process_count];
  *process = (struct trace_process){ .pid = memory_format ("%.*s", (int) length, text) };
  snprintf (process->made, sizeof process->made, "%zu", (rank->order + 1) * PROCESSES_OF_RANK + rank->process_count++);
  return process;
}

/* "rank 3 (n7)" */
static void
rank_name (const struct trace_rank *rank, char *text, size_t size)
{
  if (rank->rank >= 0)
    snprintf (text, size, "rank %" PRId64 " (%s)", rank->rank, rank->node);
  else
    snprintf (text, size, "%s", rank->node);
}

/* ---- the second reading ---- */

struct putting {
  struct trace_rank *rank;
  struct trace_out *out;
  int64_t shift_ns;
  struct buffer line;
};

/* A process gets the rank's name before its own; of its place among others the merged trace decides. */
static int
metadata_put (struct putting *putting, struct trace_process *process, const char *text, size_t length)
{
  json_t *event = json_loadb (text, length, 0, NULL);
  const char *its = json_string_value (json_object_get (json_object_get (event, "args"), "name"));
  char owner[96];
  char *name, *made;
  int rc;

  rank_name (putting->rank, owner, sizeof owner);
  name = memory_format ("%s %s", owner, its ? its : "");
  json_object_set_new (event, "args", json_pack ("{s:s}", "name", name));
  json_object_set_new (event, "pid", json_integer (strtoll (process->made, NULL, 10)));
  made = json_dumps (event, JSON_COMPACT);
  rc = trace_out_event (putting->out, made ? made : "{}", made ? strlen (made) : 2);
  process->named = true;
  free (made);
  free (name);
  json_decref (event);
  return rc;
}

static bool
has_name (const struct trace_event *event, const char *name)
{
  return event->name.length == strlen (name) + 2 && memcmp (event->name.text + 1, name, event->name.length - 2) == 0;
}

static int
event_put (void *context, const char *text, size_t length)
{
  struct putting *putting = context;
  struct trace_event event;
  struct trace_process *process;
  struct trace_move move;

  trace_event_read (&event, text, length);
  process = process_find (putting->rank, &event.process);
  if (event.phase == 'M' && has_name (&event, "process_sort_index"))
    return 0;
  if (event.phase == 'M' && has_name (&event, "process_name"))
    return metadata_put (putting, process, text, length);
  move = (struct trace_move){ putting->shift_ns, putting->rank->order, process->made };
  buffer_clear (&putting->line);
  trace_event_write (&putting->line, &event, text, length, &move);
  return trace_out_event (putting->out, putting->line.data, putting->line.length);
}

static int
processes_put (struct putting *putting)
{
  struct trace_rank *rank = putting->rank;
  char owner[96];
  int rc = 0;

  rank_name (rank, owner, sizeof owner);
  for (size_t i = 0; rc == 0 && i < rank->process_count; i++) {
    const struct trace_process *process = &rank->processes[i];

    buffer_clear (&putting->line);
    buffer_printf (&putting->line,
                   "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%s,\"args\":{\"sort_index\":%zu}}",
                   process->made, rank->order * 100 + i);
    rc = trace_out_event (putting->out, putting->line.data, putting->line.length);
    if (rc < 0 || process->named)
      continue;
    buffer_clear (&putting->line);
    buffer_printf (&putting->line, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%s,\"args\":{\"name\":\"%s\"}}",
                   process->made, owner);
    rc = trace_out_event (putting->out, putting->line.data, putting->line.length);
  }
  return rc;
}

int
trace_rank_put (struct trace_rank *rank, int64_t origin_ns, struct trace_out *out, struct error *error)
{
  struct putting putting = { .rank = rank, .out = out, .shift_ns = rank->base_ns - rank->offset_ns - origin_ns };
  const struct trace_taker taker = { &putting, event_put, NULL };
  int rc = trace_file_read (rank->path, &taker, error);

  if (rc == 0 && processes_put (&putting) < 0)
    rc = 1;
  if (rc > 0)
    trace_out_error (out, error);
  buffer_free (&putting.line);
  return rc == 0 ? 0 : -1;
}
