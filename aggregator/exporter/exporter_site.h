/* The addresses of the exporter: /metrics, /nodes/NAME/metrics, /aggregator/metrics, /sd. */
#ifndef SYNOP_AGGREGATOR_EXPORTER_SITE_H
#define SYNOP_AGGREGATOR_EXPORTER_SITE_H

#include "aggregator/exporter/exporter.h"
#include "synop/http.h"

struct http_site exporter_site (struct exporter *exporter);

#endif
