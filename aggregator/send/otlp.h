/* Samples as an ExportMetricsServiceRequest of OpenTelemetry, and its answers. For type_otlp.c alone. */
#ifndef SYNOP_AGGREGATOR_OTLP_H
#define SYNOP_AGGREGATOR_OTLP_H

#include "aggregator/send/send_options.h"
#include "aggregator/send/send_type.h"
#include "synop/send_labels.h"

struct otlp {
  const char *service;    /* the option job */
  struct buffer extras;   /* the option labels, as attributes of resources, */
  struct send_extra *all; /* and as they are */
  size_t extra_count;
  struct buffer points, metrics, scope; /* at hand */
};

void otlp_init (struct otlp *otlp, const struct send_options *options);
void otlp_free (struct otlp *otlp);
/* Adds a request to the body. */
void otlp_put (struct otlp *otlp, const struct send_load *load, struct buffer *body);

/* What an ExportMetricsServiceResponse says of data points that were not taken: how many, and why. */
struct otlp_partial {
  uint64_t rejected;
  char message[200]; /* "": none */
};
void otlp_read_partial (const char *body, size_t length, struct otlp_partial *partial);
/* The message of a google.rpc.Status; "": none. */
void otlp_read_status (const char *body, size_t length, char *message, size_t size);

#endif
