/* The datagrams by which libkineto speaks to a daemon. Pure.
 *
 *    datagram   { uint64 size, char type[32] } payload: size is the payload's, type is NUL-terminated; byte order is the machine's
 *    "ctxt"     { int32 gpu, int32 pid, int64 job }: a process registers. Answer "ctxt": int32, how many have
 *    "req"      { int32 type, int32 n, int64 job, int32 pids[n] }: it asks for its configuration every 5 s; pids: itself,
 *               then its parent, and so on. Answer "req": the configuration as KEY=VALUE lines, or nothing. It waits 50 ms
 *
 * What they say of processes are claims. */
#ifndef SYNOP_AGENT_KINETO_MESSAGES_H
#define SYNOP_AGENT_KINETO_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KINETO_HEAD 40
#define KINETO_PIDS_MAX 128
#define KINETO_DATAGRAM_MAX 4096 /* larger ones are none of Kineto's */
#define KINETO_ANSWER_MAX 4096

enum kineto_kind { KINETO_CONTEXT, KINETO_REQUEST };

struct kineto_message {
  enum kineto_kind kind;
  int32_t gpu;
  bool activities; /* of a request: for activities, not for events */
  int32_t pid;     /* its own, as the process knows it; 0: it does not say */
};

/* False: it is none of these. */
bool kineto_read (struct kineto_message *message, const void *bytes, size_t length);

/* Into `to`, of KINETO_HEAD + length bytes; returns that length. */
size_t kineto_write (void *to, enum kineto_kind kind, const void *payload, size_t length);

#endif
