/* What a section would send, by what the history has: how many series, of how many nodes. Nothing is sent. */
#ifndef SYNOP_AGGREGATOR_SEND_SURVEY_H
#define SYNOP_AGGREGATOR_SEND_SURVEY_H

#include "aggregator/history/history_file.h"
#include "aggregator/send/send_options.h"

struct send_survey {
  uint64_t nodes, series;
};

/* Of nodes with frames from that time on, what their last ones have. -1 and error: the section's names cannot be read, or the
 * history. Of a type that takes frames there are no series. */
int send_survey (const char *name, const struct send_options *options, struct history_file *file, int64_t from_ns,
                 struct send_survey *survey, struct error *error);

#endif
