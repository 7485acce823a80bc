/* The views of the aggregator. A new one is a line here and a file with a `struct view` of that name; nothing else knows it.
 *
 * They get what is reported in this order: who may ask first, for all others; the history, since a line that is printed is in it; the stream before
 * others that only look; what has addresses over HTTP before the exporter, which opens HTTP; the jobs last, since what they report of a frame follows it for all. */
#ifndef SYNOP_AGGREGATOR_VIEW_LIST_H
#define SYNOP_AGGREGATOR_VIEW_LIST_H

#include "aggregator/views/view.h"

#define VIEW_LIST(VIEW)                                                                                                \
  VIEW (access_view)                                                                                                   \
  VIEW (history_view)                                                                                                  \
  VIEW (stream_view)                                                                                                   \
  VIEW (now_view)                                                                                                      \
  VIEW (alerts_view)                                                                                                   \
  VIEW (send_view)                                                                                                     \
  VIEW (api_view)                                                                                                      \
  VIEW (exporter_view)                                                                                                 \
  VIEW (scheduler_view)                                                                                                \
  VIEW (trace_view)                                                                                                    \
  VIEW (jobs_view)

#define VIEW_DECLARE(name) extern const struct view name;
VIEW_LIST (VIEW_DECLARE)

#endif
