/* See trace_text.h. */
#include "agent/traces/trace_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "synop/clock.h"

#define WARM_UP_S 5                   /* Kineto's own default */
#define TOO_LATE_NS (100 * NS_PER_MS) /* for the process to read its configuration */
#define ROUND_UP "10"                 /* the iterations whose multiples all ranks begin at */

/* ---- paths ---- */

static int
add (char *path, size_t *length, const char *text, size_t count, struct error *error)
{
  if (*length + count > TRACES_PATH_MAX)
    return error_set (error, "the path is longer than %d bytes", TRACES_PATH_MAX);
  memcpy (path + *length, text, count);
  *length += count;
  path[*length] = 0;
  return 0;
}

static int
add_word (char *path, size_t *length, const char *name, size_t count, const struct trace_words *words,
          struct error *error)
{
  char number[32];
  const char *text = NULL;
  size_t from = *length;

  if (count == 3 && memcmp (name, "job", 3) == 0)
    text = words->job;
  else if (count == 4 && memcmp (name, "node", 4) == 0)
    text = words->node;
  else if (count == 4 && memcmp (name, "rank", 4) == 0) {
    snprintf (number, sizeof number, words->rank < 0 ? "pid%d" : "%d",
              words->rank < 0 ? (int) words->pid : (int) words->rank);
    text = number;
  } else if (count == 3 && memcmp (name, "pid", 3) == 0) {
    snprintf (number, sizeof number, "%d", (int) words->pid);
    text = number;
  }
  if (!text)
    return error_set (error, "{%.*s} is none of {job}, {node}, {rank}, {pid}", (int) (count < 32 ? count : 32), name);
  if (add (path, length, text, strlen (text), error) < 0)
    return -1;
  for (size_t i = from; i < *length; i++)
    if (path[i] == '/')
      path[i] = '_';
  return 0;
}

static bool
is_sound (const char *path)
{
  for (const char *at = path; *at; at++)
    if (iscntrl ((unsigned char) *at))
      return false;
  for (const char *at = path; at; at = strchr (at + 1, '/')) { /* each begins with '/' */
    size_t length = strcspn (at + 1, "/");

    if (length == 0 || (length == 1 && at[1] == '.') || (length == 2 && memcmp (at + 1, "..", 2) == 0))
      return false;
  }
  return true;
}

int
trace_path (const char *template, const struct trace_words *words, char path[TRACES_PATH_MAX + 1], struct error *error)
{
  size_t length = 0;

  path[0] = 0;
  for (const char *at = template; *at;) {
    size_t plain = strcspn (at, "{}");

    if (add (path, &length, at, plain, error) < 0)
      return -1;
    at += plain;
    if (*at == '{') {
      const char *end = strchr (at, '}');

      if (!end || add_word (path, &length, at + 1, (size_t) (end - at - 1), words, error) < 0)
        return end ? -1 : error_set (error, "the template has a '{' without its '}'");
      at = end + 1;
    } else if (*at)
      return error_set (error, "the template has a '}' without its '{'");
  }
  if (path[0] != '/')
    return error_set (error, "\"%.100s\" is no absolute path", path);
  return is_sound (path) ? 0
                         : error_set (error, "a part of \"%.100s\" is empty, \".\" or \"..\", or has controls", path);
}

int
trace_path_check (const char *path, const char *folders, size_t *behind, struct error *error)
{
  for (const char *at = folders; *at;) {
    size_t length = strcspn (at, ","), cut = length;

    while (cut > 1 && at[cut - 1] == '/')
      cut--;
    if (cut && at[0] == '/' && strncmp (path, at, cut) == 0 && (path[cut] == '/' || cut == 1)) {
      *behind = cut == 1 ? 1 : cut + 1;
      return 0;
    }
    at += length + (at[length] == ',');
  }
  if (!*folders)
    return error_set (error, "no traces may be written on this node: set [traces] folders in its agent.ini");
  return error_set (error, "%.200s is in none of the folders for traces, %.120s ([traces] folders)", path, folders);
}

bool
trace_path_kineto (const char *path, pid_t pid, char other[TRACES_PATH_MAX + 1])
{
  const char *at = strstr (path, ".pt.trace.json");
  int length;

  if (!at)
    at = strstr (path, ".json");
  if (!at)
    return false;
  length = snprintf (other, TRACES_PATH_MAX + 1, "%.*s_%d%s", (int) (at - path), path, (int) pid, at);
  return length > 0 && length <= TRACES_PATH_MAX;
}

/* ---- configurations ---- */

#define KEYS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static bool
is_of (const char *key, size_t length, const char *const *keys)
{
  for (; *keys; keys++)
    if (strlen (*keys) == length && memcmp (key, *keys, length) == 0)
      return true;
  return false;
}

static int
check_key (enum traces_tool tool, const char *key, size_t length, struct error *error)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

  if (tool == TRACES_COUNTERS && !is_of (key, length, KEYS ("groups", "period")))
    return error_set (error, "counters take groups=A,B and period=20ms, not \"%.*s\"", (int) length, key);
  if (tool != TRACES_KINETO)
    return tool == TRACES_COUNTERS ? 0 : error_set (error, "%s takes no options", traces_tool_names[tool]);
  if (!length || strspn (key, letters) < length)
    return error_set (error, "\"%.*s\" is no option of Kineto's", (int) length, key);
  if (is_of (key, length,
             KEYS ("PROFILE_START_TIME", "PROFILE_START_ITERATION", "REQUEST_TIMESTAMP", "ACTIVITIES_DURATION_SECS",
                   "ACTIVITIES_DURATION_MSECS", "ACTIVITIES_ITERATIONS")) ||
      memmem (key, length, "LOG_FILE", 8) || memmem (key, length, "LOG_URL", 7))
    return error_set (error, "%.*s follows from the request, and cannot be given", (int) length, key);
  return 0;
}

int
trace_config_check (enum traces_tool tool, const char *config, struct error *error)
{
  if (strlen (config) > TRACES_CONFIG_MAX)
    return error_set (error, "the options are longer than %d bytes", TRACES_CONFIG_MAX);
  for (const char *at = config; *at;) {
    size_t line = strcspn (at, "\n"), key = strcspn (at, "=\n");

    if (line && (at[key] != '=' || key > 64))
      return error_set (error, "\"%.*s\" is no KEY=VALUE", (int) (line < 80 ? line : 80), at);
    if (line && check_key (tool, at, key, error) < 0)
      return -1;
    for (size_t i = 0; i < line; i++)
      if (iscntrl ((unsigned char) at[i]) || at[i] == '#')
        return error_set (error, "the value of %.*s has a control or a '#'", (int) key, at);
    at += line + (at[line] == '\n');
  }
  return 0;
}

bool
trace_config_find (const char *config, const char *key, char *value, size_t size)
{
  size_t length = strlen (key);

  value[0] = 0;
  for (const char *at = config; *at;) {
    size_t line = strcspn (at, "\n");

    if (line > length && at[length] == '=' && memcmp (at, key, length) == 0 && line - length - 1 < size) {
      memcpy (value, at + length + 1, line - length - 1);
      value[line - length - 1] = 0;
      return true;
    }
    at += line + (at[line] == '\n');
  }
  return false;
}

/* A process that has less time until the start than its warm-up takes would not begin at all. */
static int64_t
warm_up_s (int64_t left_ns)
{
  int64_t left_s = (left_ns - TOO_LATE_NS) / NS_PER_S;

  return left_s < WARM_UP_S ? left_s : WARM_UP_S;
}

size_t
trace_config (char text[KINETO_ANSWER_MAX], const struct traces_request *request, const char *path,
              int64_t start_wall_ns, int64_t left_ns)
{
  char own[16];
  int length = 0;

  if (request->iterations) {
    length = snprintf (text, KINETO_ANSWER_MAX, "PROFILE_START_ITERATION=0\nACTIVITIES_ITERATIONS=%u\n",
                       (unsigned) request->iterations);
    if (!trace_config_find (request->config, "PROFILE_START_ITERATION_ROUNDUP", own, sizeof own))
      length += snprintf (text + length, KINETO_ANSWER_MAX - (size_t) length,
                          "PROFILE_START_ITERATION_ROUNDUP=" ROUND_UP "\n");
  } else if (left_ns < TOO_LATE_NS) {
    return 0;
  } else {
    length = snprintf (text, KINETO_ANSWER_MAX, "PROFILE_START_TIME=%lld\nACTIVITIES_DURATION_MSECS=%lld\n",
                       (long long) (start_wall_ns / NS_PER_MS), (long long) (request->duration_ns / NS_PER_MS));
    if (!trace_config_find (request->config, "ACTIVITIES_WARMUP_PERIOD_SECS", own, sizeof own))
      length += snprintf (text + length, KINETO_ANSWER_MAX - (size_t) length, "ACTIVITIES_WARMUP_PERIOD_SECS=%lld\n",
                          (long long) warm_up_s (left_ns));
  }
  length += snprintf (text + length, KINETO_ANSWER_MAX - (size_t) length, "ACTIVITIES_LOG_FILE=%s\n%s%s", path,
                      request->config, *request->config ? "\n" : "");
  return (size_t) length < KINETO_ANSWER_MAX ? (size_t) length : 0;
}
