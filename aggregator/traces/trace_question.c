/* What is asked for, as words. See trace_desk.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/traces/trace_desk.h"
#include "synop/globs.h"

/* "0,8,16-23" */
static int
read_ranks (struct trace_question *question, char *list, struct error *error)
{
  for (char *item; (item = strsep (&list, ","));) {
    char *end, *second;
    unsigned long first = strtoul (item, &end, 10), last = first;

    second = end != item && *end == '-' ? end + 1 : item;
    if (second != item)
      last = strtoul (second, &end, 10);
    if (end == second || *end || last > INT32_MAX || last < first)
      return error_set (error, "ranks: \"%.40s\" is neither a rank nor a range of them, as in 0,8,16-23", item);
    if (question->rank_count + (last - first) >= TRACE_RANKS_MAX)
      return error_set (error, "ranks: no more than %d can be named", TRACE_RANKS_MAX);
    for (; first <= last; first++)
      question->ranks[question->rank_count++] = (uint32_t) first;
  }
  return 0;
}

static int
read_number (const char *text, int64_t most, int64_t *number, struct error *error)
{
  char *end;

  *number = strtoll (text, &end, 10);
  if (end == text || *end || *number < 0 || *number > most)
    return error_set (error, "%.40s: a number from 0 to %lld is expected", text, (long long) most);
  return 0;
}

static int
read_word (struct trace_question *question, char *word, struct error *error)
{
  const struct {
    const char *name;
    const char **text;
    size_t most;
  } texts[] = { { "job", &question->job, TRACE_JOB_MAX },
                { "tool", &question->tool, TRACE_TOOL_MAX },
                { "options", &question->options, TRACE_OPTIONS_MAX },
                { "output", &question->output, TRACE_PATH_MAX },
                { "nodes", &question->nodes, GLOBS_LENGTH_MAX } };
  char *value = strchr (word, '=');
  int64_t number;

  if (!value)
    return error_set (error, "trace: %.40s is no word of the form NAME=VALUE", word);
  *value++ = '\0';
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp (word, texts[i].name) == 0) {
      *texts[i].text = value;
      return strlen (value) <= texts[i].most ? 0 : error_set (error, "%s: too long", word);
    }
  if (strcmp (word, "ranks") == 0)
    return read_ranks (question, value, error);
  if (strcmp (word, "delay") == 0)
    return read_number (value, TRACE_DURATION_MAX_NS, &question->delay_ns, error) < 0
               ? error_set (error, "start: it is from now on to 1h ahead")
               : 0;
  if (strcmp (word, "duration") == 0)
    return read_number (value, TRACE_DURATION_MAX_NS, &question->duration_ns, error);
  if (strcmp (word, "iterations") != 0 && strcmp (word, "limit") != 0)
    return error_set (error, "trace: the word %.40s is not known", word);
  if (read_number (value, TRACE_ITERATIONS_MAX, &number, error) < 0)
    return -1;
  *(*word == 'l' ? &question->limit : &question->iterations) = (uint32_t) number;
  return 0;
}

static int
check_output (const char *output, struct error *error)
{
  static const char *const words[] = { "{job}", "{node}", "{rank}", "{pid}" };

  for (const char *at = output; (at = strchr (at, '{')); at++) {
    bool known = false;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
      known |= strncmp (at, words[i], strlen (words[i])) == 0;
    if (!known)
      return error_set (error, "output: what begins at \"%.40s\" is none of {job}, {node}, {rank}, {pid}", at);
  }
  return 0;
}

/* Which options go with which tool. */
static int
check_tool (const struct trace_question *question, struct error *error)
{
  bool kineto = strcmp (question->tool, "kineto") == 0;

  if (question->rank_count && !kineto && strcmp (question->tool, "py-spy") != 0 &&
      strcmp (question->tool, "rocprof") != 0)
    return error_set (error, "ranks: %s traces whole nodes; nodes names those", question->tool);
  if (question->limit && !kineto)
    return error_set (error, "limit: goes with kineto alone");
  if (question->iterations && !kineto)
    return error_set (error, "iterations: go with kineto alone");
  return 0;
}

int
trace_question_read (struct trace_question *question, char *words, struct error *error)
{
  const char *verb = strsep (&words, "\t");

  *question = (struct trace_question){ .job = "", .user = "", .tool = "", .options = "", .output = "", .nodes = "" };
  question->list = verb && strcmp (verb, "list") == 0;
  if (!question->list && !(verb && strcmp (verb, "begin") == 0))
    return error_set (error, "trace takes list or begin");
  for (char *word; (word = strsep (&words, "\t"));)
    if (read_word (question, word, error) < 0)
      return -1;
  if (question->list)
    return 0;
  if (!*question->job || !*question->tool || !*question->output)
    return error_set (error, "trace begin takes job=, tool= and output=");
  if ((question->duration_ns == 0) == (question->iterations == 0))
    return error_set (error, "trace begin takes either duration= or iterations=");
  if (!globs_list_is_cheap (question->nodes))
    return error_set (error, "nodes: too many stars");
  return check_output (question->output, error) < 0 ? -1 : check_tool (question, error);
}
