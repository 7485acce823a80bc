/* What happened, as a line for people and programs: {"type":"event","event":"node_up","node":"n1",...}. */
#ifndef SYNOP_AGGREGATOR_EVENT_H
#define SYNOP_AGGREGATOR_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "synop/json.h"

enum event_type {
  EVENT_AGGREGATOR_STARTED,
  EVENT_NODE_UP, /* reason: new, restart (another session), back */
  EVENT_NODE_STALE,
  EVENT_NODE_DOWN,
  EVENT_NODE_REVOKED,    /* reason: revoked, replaced (another key) */
  EVENT_GROUP_FAILED,    /* groups of the node have an error, or another one than was reported */
  EVENT_GROUP_RECOVERED, /* and no longer have one */
  EVENT_GAP,             /* frames that never came, and that nobody holds any more */
  EVENT_REPLAYED,        /* frames that came late, within `seconds` */
  EVENT_DUPLICATE_NODE,  /* session: the one whose frames are left out */
  EVENT_REJECTED,
  EVENT_SCHEMA_NEW,
  EVENT_KEY_REFUSED,
  EVENT_CONNECTIONS_ENDED, /* by the aggregator, so that descriptors stay free */
  EVENT_KEYS_RELOADED,
  EVENT_DROPPED,
  EVENT_CLOCK_OFFSET,   /* a node's wall clock is off by more than the limit, by `seconds` */
  EVENT_CLOCK_STEP,     /* a clock jumped by `seconds`; reason: wall, monotonic, aggregator */
  EVENT_HISTORY_FAILED, /* it cannot be written; text: why, and what to do; count: frames that were not stored */
  EVENT_JOBS_HELD_BACK, /* of a node or user; reason: rows, words (announcements); text: why; count: since the last event */
  EVENT_FAULT,        /* hardware counted errors; reason: the metric; text: what, and of which parts; count: how many */
  EVENT_FAULT_OVER,   /* a state of hardware that was a fault is over; reason: the metric */
  EVENT_JOB_DISPUTED, /* a node has another job of an id that runs elsewhere; reason: the id; text: whose the two are */
  EVENT_HISTORY_RESUMED, /* it is written again; count: frames that were not stored meanwhile */
  EVENT_TRACE_BEGUN,     /* of a job's processes; reason: its id; text: what, who asked; count: processes */
  EVENT_TRACE_ENDED,     /* count: traces that are there; text: of how many, and why one is not */
  EVENT_OVER_SHARE,      /* a node was limited to its share of something (reason); count: what was over it */
  EVENT_TYPES
};

struct event {
  enum event_type type;
  int64_t wall_ns;
  const char *node;          /* NULL: not about a node */
  const char *user;          /* the number of one; NULL: not about a user of this machine */
  uint64_t session;          /* 0: none */
  const char *reason;        /* one word, or NULL */
  const char *text;          /* a sentence, or NULL */
  const char *const *groups; /* names */
  size_t group_count;
  uint64_t from, to; /* of a gap: the first and the last frame that are missing */
  double seconds;    /* of a clock */
  uint64_t count;    /* depends on the type: frames lost, lines dropped, nodes listed... */
  /* The whole line of an event read from the history, of which else only type, time and node are known; else NULL. */
  const char *line;
  size_t line_length;
};

const char *event_name (enum event_type type);
enum event_type event_type (const char *name);                   /* EVENT_TYPES: unknown, of another version */
void event_write (struct json *json, const struct event *event); /* a whole line with its newline */
void event_log (const struct event *event);                      /* as text for the log */

#define SESSION_TEXT_SIZE 17
void session_text (uint64_t session, char text[SESSION_TEXT_SIZE]); /* 16 hex digits */

#endif
