/* The API as a view: its addresses over HTTP, and what reports of jobs are given: the cluster's name, prices, limits. */
#ifndef SYNOP_AGGREGATOR_API_VIEW_H
#define SYNOP_AGGREGATOR_API_VIEW_H

#include "aggregator/report/job_advice.h"
#include "aggregator/views/view.h"

struct api_settings {
  char *cluster;                                /* its name */
  char *price_per_kwh, *currency, *co2_per_kwh; /* "": not known */
  struct advice_limits advice;
};

extern const struct view api_view;

#endif
