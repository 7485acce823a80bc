/* What the core of jobs says and stores, noted line by line, for a test to look at. */
#ifndef SYNOP_TESTS_JOBS_SAID_H
#define SYNOP_TESTS_JOBS_SAID_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/history/job_store.h"
#include "aggregator/jobs/jobs.h"
#include "synop/memory.h"

#define NODES 4 /* of a job, at most */

struct said {
  enum job_event event;
  char label[160], nodes[64], reason[16], user[32], array[32];
  int64_t time_ns, started_ns, ended_ns;
  char *summary;
};

/* What the history would hold. */
struct stored {
  int64_t key;
  char label[160], user[32];
  int64_t started_ns, ended_ns, seen_ns;
  char *state;
  struct job_record_node nodes[NODES];
  size_t node_count;
};

/* Lines and rows in their order. */
struct noted {
  struct said *said;
  size_t said_count, checked; /* checked: those that the test has looked at */
  struct stored *stored;
  size_t stored_count;
  bool many; /* only counts */
  size_t rows, events;
  enum event_type event; /* the last one: */
  char who[64], what[64], why[200];
  uint64_t count;
};

static inline void
take_event (void *context, const struct event *event)
{
  struct noted *noted = context;

  noted->events++;
  noted->event = event->type;
  noted->count = event->count;
  snprintf (noted->who, sizeof noted->who, "%s", event->node ? event->node : event->user);
  snprintf (noted->what, sizeof noted->what, "%s", event->reason);
  snprintf (noted->why, sizeof noted->why, "%s", event->text);
}

static inline void
take_line (void *context, const struct job_line *line)
{
  struct noted *noted = context;
  struct said *said;

  if (noted->many)
    return;
  noted->said = memory_resize (noted->said, noted->said_count + 1, sizeof *said);
  said = &noted->said[noted->said_count++];
  *said = (struct said){
    .event = line->event, .time_ns = line->time_ns, .started_ns = line->started_ns, .ended_ns = line->ended_ns
  };
  snprintf (said->label, sizeof said->label, "%s", line->label);
  snprintf (said->user, sizeof said->user, "%s", line->texts[JOB_USER]);
  snprintf (said->array, sizeof said->array, "%s", line->texts[JOB_ARRAY]);
  snprintf (said->reason, sizeof said->reason, "%s", line->reason ? line->reason : "");
  for (size_t i = 0; i < line->node_count; i++)
    snprintf (said->nodes + strlen (said->nodes), sizeof said->nodes - strlen (said->nodes), "%s%s", i ? "," : "",
              line->nodes[i]);
  said->summary = line->summary ? memory_copy (line->summary, line->summary_length) : NULL;
}

static inline void
take_row (void *context, const struct job_row *row)
{
  struct noted *noted = context;
  struct stored *stored;
  size_t at = 0;

  noted->rows++;
  if (noted->many)
    return;
  while (at < noted->stored_count && noted->stored[at].key != row->key)
    at++;
  if (at == noted->stored_count) {
    assert_int_equal (row->kind, JOB_ROW_JOB); /* first */
    noted->stored = memory_resize (noted->stored, ++noted->stored_count, sizeof *stored);
    noted->stored[at] = (struct stored){ .key = row->key };
  }
  stored = &noted->stored[at];
  if (row->kind == JOB_ROW_JOB) {
    snprintf (stored->label, sizeof stored->label, "%s", row->texts[0]);
    snprintf (stored->user, sizeof stored->user, "%s", row->texts[1 + JOB_USER]);
    stored->started_ns = row->time_ns;
    stored->seen_ns = stored->seen_ns ? stored->seen_ns : row->time_ns;
  } else if (row->kind == JOB_ROW_NODE) {
    assert_true (stored->node_count < NODES);
    stored->nodes[stored->node_count++] = (struct job_record_node){ memory_string (row->texts[0]), row->time_ns };
  } else if (row->kind == JOB_ROW_END) {
    stored->ended_ns = row->time_ns;
  } else {
    free (stored->state);
    stored->state = memory_string (row->texts[0]);
    stored->seen_ns = row->time_ns;
  }
}

static inline void
noted_free (struct noted *noted)
{
  for (size_t i = 0; i < noted->said_count; i++)
    free (noted->said[i].summary);
  for (size_t i = 0; i < noted->stored_count; i++) {
    for (size_t k = 0; k < noted->stored[i].node_count; k++)
      free (noted->stored[i].nodes[k].name);
    free (noted->stored[i].state);
  }
  free (noted->said);
  free (noted->stored);
}

/* ---- what must be said: each of these fails at the test's own line ---- */

static inline const struct said *
check_said (struct noted *noted, enum job_event event, const char *label, const char *nodes, const char *file, int line)
{
  const struct said *said;

  _assert_true (noted->checked < noted->said_count, "something more was said", file, line);
  said = &noted->said[noted->checked++];
  _assert_string_equal (said->label, label, file, line);
  _assert_int_equal (said->event, event, file, line);
  _assert_string_equal (said->nodes, nodes, file, line);
  return said;
}

static inline const struct said *
check_ended (struct noted *noted, const char *label, const char *nodes, const char *reason, const char *file, int line)
{
  const struct said *said = check_said (noted, JOB_ENDED, label, nodes, file, line);

  _assert_string_equal (said->reason, reason, file, line);
  return said;
}

/* Of the line that was looked at last. */
static inline void
check_summary (const struct noted *noted, const char *text, const char *file, int line)
{
  const char *summary = noted->said[noted->checked - 1].summary;

  if (!strstr (summary, text))
    print_error ("%s is not in %s\n", text, summary);
  _assert_true (strstr (summary, text) != NULL, "the summary has it", file, line);
}

#define SAID(event, label, nodes) check_said (&scene->noted, event, label, nodes, __FILE__, __LINE__)
#define ENDED(label, nodes, reason) check_ended (&scene->noted, label, nodes, reason, __FILE__, __LINE__)
#define SUMMARY(text) check_summary (&scene->noted, text, __FILE__, __LINE__)
#define NOTHING_MORE() assert_int_equal (scene->noted.checked, scene->noted.said_count)

#endif
