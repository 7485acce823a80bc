/* See job_json.h. */
#include "aggregator/history/job_json.h"

#include "aggregator/views/job_line.h"

void
job_json (struct json *json, const struct job_record *job)
{
  const char *const texts[JOB_TEXTS] = { job->scheduler, job->user, job->name, job->command, job->array };

  json_object (json);
  json_text (json_key (json, "job_id"), job->label);
  json_text (json_key (json, "shown"), job->shown);
  json_uint (json_key (json, "run"), job->run);
  for (size_t i = 0; i < JOB_TEXTS; i++)
    json_text (json_key (json, job_text_names[i]), texts[i]);
  json_real (json_key (json, "cpus"), job->cpus);
  json_array (json_key (json, "nodes"));
  for (size_t i = 0; i < job->node_count; i++)
    json_text (json, job->nodes[i].name);
  json_array_end (json);
  json_text (json_key (json, "state"), job->ended_ns ? "ended" : "running");
  json_time (json_key (json, "started"), job->started_ns);
  json_key (json, "ended");
  if (job->ended_ns)
    json_time (json, job->ended_ns);
  else
    json_null (json);
  json_text (json_key (json, "reason"), job->reason);
  job_facts_write (json_key (json, JOB_FACTS_KEY), &job->facts);
  json_key (json, "summary");
  if (*job->summary) {
    buffer_add_string (&json->out, job->summary);
    json->comma = true;
  } else {
    json_null (json);
  }
  json_object_end (json);
}
