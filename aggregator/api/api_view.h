/* The API as a view: its addresses over HTTP, and the prices that reports of jobs are given. */
#ifndef SYNOP_AGGREGATOR_API_VIEW_H
#define SYNOP_AGGREGATOR_API_VIEW_H

#include "aggregator/views/view.h"

struct api_settings {
  char *price_per_kwh, *currency, *co2_per_kwh; /* "": not known */
};

extern const struct view api_view;

#endif
