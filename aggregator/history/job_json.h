/* A job of the history as one JSON object: what the line "ended" has, of a job that runs without its end. */
#ifndef SYNOP_AGGREGATOR_JOB_JSON_H
#define SYNOP_AGGREGATOR_JOB_JSON_H

#include "aggregator/views/job_record.h"
#include "synop/json.h"

void job_json (struct json *json, const struct job_record *job);

#endif
