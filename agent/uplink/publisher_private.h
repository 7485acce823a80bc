/* What publisher.c (samples, frames, life) and publisher_control.c (the protocol with the aggregator) share. */
#ifndef SYNOP_AGENT_PUBLISHER_PRIVATE_H
#define SYNOP_AGENT_PUBLISHER_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/uplink/frame_log.h"
#include "agent/uplink/prober.h"
#include "agent/uplink/publisher.h"
#include "synop/buffer.h"
#include "synop/frame.h"
#include "synop/keys.h"
#include "synop/link.h"
#include "synop/schema.h"

enum publisher_state { STATE_NEW, STATE_UP, STATE_DOWN, STATE_REFUSED, STATE_OVER_LIMIT, STATE_MISNAMED };

/* The aggregator's last replay request, until it is answered. */
struct replay_request {
  bool waits;
  uint64_t session, from, to;
  uint64_t next; /* no earlier frame is held */
  uint32_t frames, bytes;
};

struct publisher {
  struct publisher_options options;
  struct sampling *sampling;
  struct schema *schema;
  struct link_agent *link;
  struct frame_log *log;
  struct loop *loop;
  struct loop_watch *watch;
  struct loop_timer *sample_timer, *probe_timer, *silence_timer, *control_timer;
  enum publisher_state state;
  bool begun;     /* samples are taken */
  bool welcomed;  /* at least once */
  bool unsettled; /* something ran for the first time: its memory is freed after the next sample */
  char key[KEY_TEXT_SIZE];
  uint8_t server_key[KEY_SIZE];
  char endpoint[LINK_ENDPOINT_MAX]; /* of the connection, */
  int queue_frames;                 /* and its queue */
  char *keys;                       /* the folder of its keys */
  struct frame_header header;       /* sequence: of the last frame */
  struct buffer frame, message;
  size_t frame_bytes_max; /* the aggregator's limit, as it stated last */
  int64_t received_ns;    /* the last message of the aggregator, or the last attempt to connect anew */
  int64_t read_ns;        /* when the current message was read */
  int64_t hello_ns;       /* the last hello after the aggregator did not know the session, */
  int64_t hello_pause_ns; /* and the pause after it */
  int64_t schemas_ns;     /* when a second began, */
  unsigned schemas;       /* and the schemas that were sent in it */
  bool paused;            /* more events came than are handled at once: the rest waits for control_timer */
  struct replay_request replay;
  int64_t replay_ns;                    /* the next replay is not sent earlier */
  uint64_t replays_lost;                /* requests that another one replaced, since that was logged */
  int64_t replays_lost_ns, misnamed_ns; /* when these were logged; 0: never */
  struct prober prober;
  struct sampling_clock clock; /* cluster time, once it is known */
};

/* publisher.c: starts sampling, at the first instant after `after_ns`, unless it has begun. */
void publisher_begin (struct publisher *publisher, int64_t after_ns);

/* publisher_control.c */
void publisher_enter (struct publisher *publisher, enum publisher_state state);
void publisher_hello (struct publisher *publisher);
void publisher_probe (struct publisher *publisher, int64_t now_ns);
/* Handles events, up to EVENTS_MAX; control_timer goes on. To be called after each send too, since libzmq's fd signals
 * an event only once. */
void publisher_drain (struct publisher *publisher);
void publisher_resume (void *publisher, int64_t due_ns); /* control_timer: events and replays that were put off */

#endif
