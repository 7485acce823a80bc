/* What publisher.c (samples, frames, life) and publisher_talk.c (what is said to the aggregator, and heard) share. */
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

enum publisher_state { STATE_NEW, STATE_UP, STATE_DOWN, STATE_REFUSED, STATE_CROWDED, STATE_MISNAMED };

/* What the aggregator asked for last of the ring, until it is answered. */
struct replay_request {
  bool waits;
  uint64_t session, from, to;
  uint64_t next; /* no frame before it is held */
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
  struct loop_timer *sample_timer, *probe_timer, *silence_timer, *talk_timer;
  enum publisher_state state;
  bool begun;     /* samples are taken */
  bool welcomed;  /* once at least */
  bool unsettled; /* something ran for the first time: its memory is let go of after the next sample */
  char key[KEY_TEXT_SIZE];
  uint8_t server_key[KEY_SIZE];
  char endpoint[LINK_ENDPOINT_MAX]; /* that it is connected to, */
  int queue_frames;                 /* with this queue */
  char *keys;                       /* the folder that the keys were read from */
  struct frame_header header;       /* sequence: of the last frame */
  struct buffer frame, message;
  size_t frame_bytes_max; /* that the aggregator takes, as it said last */
  int64_t heard_ns;       /* when the aggregator said something, or the last attempt to connect anew */
  int64_t read_ns;        /* when the message at hand was read */
  int64_t hello_ns;       /* the last hello of a session that was not known, */
  int64_t hello_pause_ns; /* and how long there is none after it */
  int64_t schemas_ns;     /* when a second began, */
  unsigned schemas;       /* and the schemas that were sent in it */
  bool paused;            /* more was said than is heard at once: the rest waits for talk_timer */
  struct replay_request asked;
  int64_t replay_ns;                    /* the next replay is not answered before */
  uint64_t replays_lost;                /* requests that another one came in place of, since that was told */
  int64_t replays_lost_ns, misnamed_ns; /* when these were told; 0: never */
  struct prober prober;
  struct sampling_clock clock; /* cluster time, once it is known */
};

/* publisher.c: samples are taken, the first at the first instant after that, unless they are already. */
void publisher_begin (struct publisher *publisher, int64_t after_ns);

/* publisher_talk.c */
void publisher_enter (struct publisher *publisher, enum publisher_state state);
void publisher_hello (struct publisher *publisher);
void publisher_probe (struct publisher *publisher, int64_t now_ns);
/* Hears what there is to hear, as much as is heard at once; talk_timer goes on. Due after whatever was sent, since
 * libzmq's fd speaks up only once. */
void publisher_drain (struct publisher *publisher);
void publisher_talk_on (void *publisher, int64_t due_ns); /* talk_timer: what was put off */

#endif
