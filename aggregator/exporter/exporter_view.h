/* The exporter as a view: what is reported is put into it, and HTTP shows it. */
#ifndef SYNOP_AGGREGATOR_EXPORTER_VIEW_H
#define SYNOP_AGGREGATOR_EXPORTER_VIEW_H

#include "aggregator/views/view.h"

/* Its options. */
struct exporter_settings {
  struct http_settings http;
  char *names;
};

extern const struct view exporter_view;

#endif
