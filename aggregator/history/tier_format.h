/* What both sides of the tiers' codec share: tier_codec.c writes, tier_decode.c reads. */
#ifndef SYNOP_AGGREGATOR_TIER_FORMAT_H
#define SYNOP_AGGREGATOR_TIER_FORMAT_H

#define TIER_FORMAT 2
#define TIER_FORMAT_FIRST 1 /* is read too */
#define TIER_HEAD 10        /* bytes before the directory */
#define TIER_HEAD_FIRST 6   /* before the payload of the first format */
#define TIER_SEGMENT_HEAD 5
enum { TIER_PLAIN, TIER_ZSTD };
enum { TIER_WHOLE, TIER_OTHER, TIER_FORMS };
enum { SERIES_METRIC, SERIES_NODE, SERIES_LABEL, SERIES_POINTS, SERIES_DIVISOR, SERIES_COLUMNS };
enum { POINT_TIME, POINT_COUNT, POINT_MIN, POINT_MAX, POINT_SUM, POINT_COLUMNS };

/* Limits of what is read. */
#define TIER_PAYLOAD_MAX (64 << 20)
#define TIER_SEGMENTS_MAX 4096
#define TIER_SERIES_MAX (1 << 20)
#define TIER_POINTS_MAX (1 << 22)
#define TIER_TIMES_MAX 60
#define TIER_DIVISOR_MAX (UINT64_C (1) << 53)

#endif
