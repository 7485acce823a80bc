/* The fields of the control messages about traces, written and read by control.c. */
#ifndef SYNOP_DATA_TRACE_MESSAGE_H
#define SYNOP_DATA_TRACE_MESSAGE_H

#include "synop/trace_message.h"
#include "synop/wire.h"

#define TRACE_REQUEST_FIELDS 12
#define TRACE_ANSWER_FIELDS 4

void trace_request_pack (struct msgpack_packer *packer, const struct trace_request *request);
void trace_answer_pack (struct msgpack_packer *packer, const struct trace_answer *answer);
/* What breaks a rule sets `bad`. */
void trace_request_read (struct wire *wire, struct trace_request *request);
void trace_answer_read (struct wire *wire, struct trace_answer *answer);

#endif
