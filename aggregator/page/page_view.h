/* The pages as a view: what is reported is put into a page, and HTTP shows it. */
#ifndef SYNOP_AGGREGATOR_PAGE_VIEW_H
#define SYNOP_AGGREGATOR_PAGE_VIEW_H

#include "aggregator/views/view.h"

extern const struct view page_view;

#endif
