/* The senders as a view: one for each section [send NAME], begun and ended as sections come and go. It takes nothing of what
 * is reported: senders read the history. It has the history write in time what they are to send. */
#ifndef SYNOP_AGGREGATOR_SEND_VIEW_H
#define SYNOP_AGGREGATOR_SEND_VIEW_H

#include "aggregator/views/view.h"

extern const struct view send_view;

#endif
