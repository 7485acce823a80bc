/* What the text formats need of a series. */
#ifndef SYNOP_SERIES_PRIVATE_H
#define SYNOP_SERIES_PRIVATE_H

#include "common/metrics/naming_private.h"
#include "synop/number.h"
#include "synop/series.h"

/* What a piece of a label stands for, not escaped but for PART_TEXT of entry.pieces; `number` may hold it. */
struct series_text series_part (const struct series *series, const struct plan_part *part, char number[NUMBER_SIZE]);

#endif
