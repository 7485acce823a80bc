/* What stood at an instant of the past, and what stands when the aggregator starts: by the events of the history. */
#ifndef SYNOP_AGGREGATOR_ALERTS_PAST_H
#define SYNOP_AGGREGATOR_ALERTS_PAST_H

#include "aggregator/alerts/alerts.h"
#include "aggregator/history/history_file.h"

/* What began more than a week before is not known. */
int alerts_past (struct alerts *alerts, struct history_file *file, int64_t until_ns, struct error *error);

/* An event as its line; false: it is none, or of a type that is not known. */
bool alerts_take_line (struct alerts *alerts, int64_t time_ns, const char *line, size_t length);

#endif
