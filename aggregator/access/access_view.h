/* Access as a view: its options. The state is a struct access. */
#ifndef SYNOP_AGGREGATOR_ACCESS_VIEW_H
#define SYNOP_AGGREGATOR_ACCESS_VIEW_H

#include "aggregator/access/access.h"
#include "aggregator/views/view.h"

extern const struct view access_view; /* its options are a struct access_settings */

#endif
