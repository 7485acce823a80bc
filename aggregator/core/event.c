/* Events as JSON and as text for the log. One table names the JSON keys of an event's general fields for each type,
 * so that a new type is one row here. */
#include "aggregator/core/event.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "synop/log.h"

struct event_form {
  const char *name;
  const char *reason, *text, *count; /* the JSON keys of these fields; NULL: the type has none */
  const char *seconds;               /* likewise */
  bool session, range, groups;
  enum log_level level;
};

static const struct event_form forms[EVENT_TYPES] = {
  [EVENT_AGGREGATOR_STARTED] = { "aggregator_started", .text = "listen", .count = "nodes", .level = LOG_LEVEL_DEBUG },
  [EVENT_NODE_UP] = { "node_up", .reason = "reason", .session = true, .level = LOG_LEVEL_INFO },
  [EVENT_NODE_STALE] = { "node_stale", .level = LOG_LEVEL_INFO },
  [EVENT_NODE_DOWN] = { "node_down", .level = LOG_LEVEL_WARNING },
  [EVENT_NODE_REVOKED] = { "node_revoked", .reason = "reason", .level = LOG_LEVEL_INFO },
  [EVENT_GROUP_FAILED] = { "group_failed", .text = "error", .groups = true, .level = LOG_LEVEL_WARNING },
  [EVENT_GROUP_RECOVERED] = { "group_recovered", .text = "error", .groups = true, .level = LOG_LEVEL_INFO },
  [EVENT_GAP] = { "gap", .count = "lost", .session = true, .range = true, .level = LOG_LEVEL_INFO },
  [EVENT_REPLAYED] = { "replayed", .count = "count", .session = true, .range = true, .seconds = "took",
                       .level = LOG_LEVEL_INFO },
  [EVENT_DUPLICATE_NODE] = { "duplicate_node", .text = "detail", .session = true, .level = LOG_LEVEL_WARNING },
  [EVENT_REJECTED] = { "rejected", .reason = "what", .text = "error", .count = "count", .level = LOG_LEVEL_WARNING },
  [EVENT_SCHEMA_NEW] = { "schema_new", .text = "hash", .count = "count", .level = LOG_LEVEL_DEBUG },
  [EVENT_KEY_REFUSED] = { "key_refused", .text = "error", .count = "count", .level = LOG_LEVEL_WARNING },
  [EVENT_CONNECTIONS_ENDED] = { "connections_ended", .count = "count", .level = LOG_LEVEL_WARNING },
  [EVENT_KEYS_RELOADED] = { "keys_reloaded", .text = "error", .count = "nodes", .level = LOG_LEVEL_INFO },
  [EVENT_CLOCK_OFFSET] = { "clock_offset", .seconds = "seconds", .level = LOG_LEVEL_WARNING },
  [EVENT_CLOCK_STEP] = { "clock_step", .reason = "clock", .seconds = "seconds", .level = LOG_LEVEL_WARNING },
  [EVENT_FAULT] = { "fault", .reason = "metric", .text = "text", .count = "count", .level = LOG_LEVEL_WARNING },
  [EVENT_FAULT_OVER] = { "fault_over", .reason = "metric", .level = LOG_LEVEL_INFO },
  [EVENT_HISTORY_FAILED] = { "history_failed", .text = "error", .count = "not_stored", .level = LOG_LEVEL_ERROR },
  [EVENT_HISTORY_RESUMED] = { "history_resumed", .count = "not_stored", .level = LOG_LEVEL_INFO },
  [EVENT_JOBS_HELD_BACK] = { "jobs_held_back", .reason = "what", .text = "error", .count = "count",
                             .level = LOG_LEVEL_WARNING },
  [EVENT_JOB_DISPUTED] = { "job_disputed", .reason = "job_id", .text = "detail", .count = "count",
                           .level = LOG_LEVEL_WARNING },
  [EVENT_OVER_SHARE] = { "over_share", .reason = "what", .text = "detail", .count = "count",
                         .level = LOG_LEVEL_WARNING },
  [EVENT_TRACE_BEGUN] = { "trace_begun", .reason = "job_id", .text = "detail", .count = "processes",
                          .level = LOG_LEVEL_INFO },
  [EVENT_TRACE_ENDED] = { "trace_ended", .reason = "job_id", .text = "detail", .count = "traces",
                          .level = LOG_LEVEL_INFO },
  [EVENT_DROPPED] = { "dropped", .count = "lines", .level = LOG_LEVEL_WARNING },
};

const char *
event_name (enum event_type type)
{
  return forms[type].name;
}

enum event_type
event_type (const char *name)
{
  enum event_type type = 0;

  while (type < EVENT_TYPES && strcmp (forms[type].name, name) != 0)
    type++;
  return type;
}

void
session_text (uint64_t session, char text[SESSION_TEXT_SIZE])
{
  snprintf (text, SESSION_TEXT_SIZE, "%016" PRIx64, session);
}

static void
write_text (struct json *json, const char *key, const char *text)
{
  if (key && text)
    json_text (json_key (json, key), text);
}

static void
write_groups (struct json *json, const struct event *event)
{
  json_array (json_key (json, "groups"));
  for (size_t i = 0; i < event->group_count; i++)
    json_text (json, event->groups[i]);
  json_array_end (json);
}

void
event_write (struct json *json, const struct event *event)
{
  const struct event_form *form = &forms[event->type];

  if (event->line) {
    buffer_add (&json->out, event->line, event->line_length);
    return;
  }
  json_object (json);
  write_text (json, "type", "event");
  json_time (json_key (json, "time"), event->wall_ns);
  write_text (json, "event", form->name);
  write_text (json, "node", event->node);
  write_text (json, "user", event->user);
  if (form->session && event->session) {
    char text[SESSION_TEXT_SIZE];
    session_text (event->session, text);
    write_text (json, "session", text);
  }
  write_text (json, form->reason, event->reason);
  if (form->groups)
    write_groups (json, event);
  if (form->range) {
    json_uint (json_key (json, "from"), event->from);
    json_uint (json_key (json, "to"), event->to);
  }
  if (form->seconds)
    json_real (json_key (json, form->seconds), event->seconds);
  if (form->count)
    json_uint (json_key (json, form->count), event->count);
  write_text (json, form->text, event->text);
  json_object_end (json);
  json_newline (json);
}

/* " gpu, gpu_nvlink", cut to the buffer. */
static void
group_words (const struct event *event, char *words, size_t size)
{
  size_t at = 0;

  words[0] = '\0';
  for (size_t i = 0; i < event->group_count && at < size; i++)
    at += (size_t) snprintf (words + at, size - at, "%s %s", i ? "," : "", event->groups[i]);
}

void
event_log (const struct event *event)
{
  const struct event_form *form = &forms[event->type];
  char words[512], groups[200];
  size_t at = 0;
  void (*const levels[]) (const char *, ...) = { log_error, log_warning, log_info, log_debug };
  const struct {
    const char *before, *text;
  } parts[] = { { " node ", event->node },
                { " user ", event->user },
                { "", groups },
                { " ", form->reason ? event->reason : NULL },
                { ": ", form->text ? event->text : NULL } };

  group_words (event, groups, sizeof groups);
  words[0] = '\0';
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (parts[i].text && at < sizeof words)
      at += (size_t) snprintf (words + at, sizeof words - at, "%s%s", parts[i].before, parts[i].text);
  if (form->seconds && at < sizeof words)
    at += (size_t) snprintf (words + at, sizeof words - at, ", %.3f s", event->seconds);
  if (form->count && at < sizeof words)
    snprintf (words + at, sizeof words - at, " (%s %" PRIu64 ")", form->count, event->count);
  levels[form->level]("%s%s", form->name, words);
}
