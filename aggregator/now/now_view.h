/* The values of this instant as a view: frames bring them, ticks have lines made. The state is a struct now. */
#ifndef SYNOP_AGGREGATOR_NOW_VIEW_H
#define SYNOP_AGGREGATOR_NOW_VIEW_H

#include "aggregator/now/now.h"
#include "aggregator/views/view.h"

extern const struct view now_view;

#endif
