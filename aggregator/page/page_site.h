/* The addresses of a page: /metrics, /nodes/NAME/metrics, /aggregator/metrics, /sd. */
#ifndef SYNOP_AGGREGATOR_PAGE_SITE_H
#define SYNOP_AGGREGATOR_PAGE_SITE_H

#include "aggregator/page/page.h"
#include "synop/http.h"

struct http_site page_site (struct page *page);

#endif
