/* The jobs that run now, for who asks. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs/jobs_private.h"
#include "synop/memory.h"

static void
write_job (const struct jobs_job *job, struct json *json)
{
  const char **nodes = memory_new (job->use_count, sizeof *nodes);

  for (size_t i = 0; i < job->use_count; i++)
    nodes[i] = job->uses[i]->node->name;
  job_line_write (json, &(struct job_line){ .event = JOB_STARTED,
                                            .time_ns = job->started_ns,
                                            .label = job->label,
                                            .texts = (const char *const *) job->texts,
                                            .cpus = job_cpus (job),
                                            .started_ns = job->started_ns,
                                            .nodes = nodes,
                                            .node_count = job->use_count });
  free (nodes);
}

size_t
jobs_each_node (const struct jobs *jobs, const char *label, void *context,
                void (*take) (void *context, const char *user, const char *node))
{
  size_t count = 0;

  for (const struct jobs_job *job = jobs_first (jobs, label, strlen (label)); job; job = jobs_next (job)) {
    if (job->state != JOB_RUNNING)
      continue;
    count++;
    for (size_t i = 0; i < job->use_count; i++)
      if (!job->uses[i]->exited)
        take (context, job->texts[JOB_USER] ? job->texts[JOB_USER] : "", job->uses[i]->node->name);
  }
  return count;
}

void
jobs_write_running (const struct jobs *jobs, const struct viewer *viewer, struct json *json)
{
  for (size_t i = 0; i < jobs->due_count; i++) {
    const char *user = jobs->due[i]->texts[JOB_USER];
    if (viewer_sees (viewer, user ? user : "", user ? strlen (user) : 0))
      write_job (jobs->due[i], json);
  }
}
