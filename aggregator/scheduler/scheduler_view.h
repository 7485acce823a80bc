/* The view that asks schedulers about jobs: scheduler_view.c. */
#ifndef SYNOP_AGGREGATOR_SCHEDULER_VIEW_H
#define SYNOP_AGGREGATOR_SCHEDULER_VIEW_H

#include "aggregator/views/view.h"

extern const struct view scheduler_view;

#endif
