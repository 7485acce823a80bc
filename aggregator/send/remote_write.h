/* Prometheus' remote write: what both protocols share, and their messages. For type_remote_write.c alone. */
#ifndef SYNOP_AGGREGATOR_REMOTE_WRITE_H
#define SYNOP_AGGREGATOR_REMOTE_WRITE_H

#include "aggregator/send/protobuf.h"
#include "aggregator/send/send_type.h"

enum { PROTOCOL_AUTO, PROTOCOL_1, PROTOCOL_2 };
struct remote_write_options {
  int protocol;
};

/* Sample: value = 1 (double), timestamp = 2 (ms). It is field 2 of either one's TimeSeries. */
#define SAMPLE_MAX (2 + 9 + 1 + VARINT_MAX)

static inline char *
put_sample (char *to, const struct send_sample *sample)
{
  static const uint64_t stale_marker = UINT64_C (0x7ff0000000000002);
  uint64_t bits, time = (uint64_t) sample->time_ms;

  memcpy (&bits, &sample->value, sizeof bits);
  *to++ = FIELD (2, WIRE_BYTES);
  *to++ = (char) (1 + sizeof bits + 1 + varint_size (time));
  to = put_real (to, FIELD (1, WIRE_64), sample->stale ? stale_marker : bits);
  return put_number (to, FIELD (2, WIRE_VARINT), time);
}

static inline size_t
sample_size (const struct send_sample *sample)
{
  return 2 + 1 + sizeof (double) + 1 + varint_size ((uint64_t) sample->time_ms);
}

/* MetricMetadata's and Metadata's type. */
static inline char
metadata_type (const struct send_family *family)
{
  static const char types[FAMILY_TYPES] = { [FAMILY_COUNTER] = 1, [FAMILY_GAUGE] = 2, [FAMILY_INFO] = 6 };

  return types[family->public->type];
}

/* send_series.encoded begins with the number of the request that it is for. */
#define NUMBER_1 UINT64_C (0) /* any of 1.0 */

/* prometheus.WriteRequest; families that were not stated since `since_ns` are stated, as of `now_ns`. */
void write_request_put (struct buffer *body, const struct send_sample *samples, size_t count, int64_t since_ns,
                        int64_t now_ns);
/* io.prometheus.write.v2.Request; `number` is not 0, and another each time. `rest` is room that it needs. */
void request_put (struct buffer *body, const struct send_sample *samples, size_t count, uint64_t number,
                  struct buffer *rest);

#endif
