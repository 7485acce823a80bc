/* See job.h. Where CPU time comes from:
 *
 * A cgroup also counts processes that lived too shortly to be seen. Where there is one, it is the source, and processes
 * outside of it (they left it, or were never in it) are added. Without one the source is what processes have counted, with
 * the children that they waited for. The source may change at any time: the reported total grows by what the current
 * source grew by, and never falls. When a cgroup is first read and has counted more than its processes, that is added. */
#include "agent/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define RESUME_NS (30 * NS_PER_S) /* by then all processes that still live were found again */

struct job *
job_create (const struct job_found *found, const char *label, uint32_t uid, uint32_t cpus,
            struct job_accounting *accounting, struct cgroup_mounts *mounts, uint64_t now_s, int64_t now_ns)
{
  struct job *job = memory_new (1, sizeof *job);
  struct job_totals *totals = &job->totals;

  job->identity = found->identity;
  job->identity.uid = uid;
  snprintf (job->label, sizeof job->label, "%s", label);
  job->entry = job_accounting_take (accounting, job->label, uid, now_s, totals);
  if (job->entry == SIZE_MAX) {
    free (job);
    return NULL;
  }
  job->written = *totals;
  job->cgroup = job_cgroup_create (mounts);
  job->cpus = found->identity.cpus ? found->identity.cpus : cpus;
  if (totals->updated != 0) {
    job->resumed = totals->updated;
    job->resumed_ns = now_ns;
    memcpy (job->credit, totals->live, sizeof job->credit);
  }
  return job;
}

void
job_destroy (struct job *job, struct job_accounting *accounting, uint64_t now_s)
{
  if (job->ended && job->identity.scheduler == JOB_SYNOP) /* the name may be used again, for another run */
    job_accounting_write (accounting, job->entry, &(struct job_totals){ .uid = job->totals.uid });
  job_accounting_give_back (accounting, job->entry, now_s);
  job_cgroup_destroy (job->cgroup);
  free (job);
}

/* ---- what it is ---- */

static void
learn_text (char *text, size_t size, const char *learned)
{
  if (!text[0])
    snprintf (text, size, "%s", learned);
}

static void
learn_number (uint32_t *number, uint32_t learned)
{
  if (!*number)
    *number = learned;
}

#define LEARN(member) learn_text (mine->member, sizeof mine->member, theirs->member)

void
job_learn (struct job *job, const struct job_found *found)
{
  struct job_identity *mine = &job->identity;
  const struct job_identity *theirs = &found->identity;

  if (theirs->by_cgroup || theirs->folder[0])
    job_cgroup_add (job->cgroup, found->cgroup, found->cgroup_length);
  mine->by_cgroup |= theirs->by_cgroup;
  LEARN (folder);
  LEARN (user);
  LEARN (name);
  LEARN (array);
  LEARN (gpus);
  LEARN (node_list);
  learn_number (&mine->nodes, theirs->nodes);
  if (!mine->cpus && theirs->cpus)
    job->cpus = theirs->cpus;
  learn_number (&mine->cpus, theirs->cpus);
}

bool
job_consider_first (struct job *job, const char *command, uint64_t start, int64_t wall_ns, bool helps)
{
  int64_t *started_ns = &job->totals.started_ns;

  if (wall_ns > 0 && (*started_ns == 0 || (job->first_start != 0 && start < job->first_start && wall_ns < *started_ns)))
    *started_ns = wall_ns;
  if (job->first_start != 0 && (helps || !job->first_helps) && (helps != job->first_helps || start >= job->first_start))
    return false;
  job->first_start = start;
  job->first_helps = helps;
  snprintf (job->command, sizeof job->command, "%s", command);
  return true;
}

/* ---- what it uses ---- */

uint64_t
job_counted_before (struct job *job, uint64_t start, enum process_counter counter, uint64_t value)
{
  if (job->resumed_ns == 0 || start > job->resumed)
    return 0;
  if (value > job->credit[counter])
    value = job->credit[counter];
  job->credit[counter] -= value;
  return value;
}

/* Processes that ended while no agent ran are not found again. */
static void
end_resuming (struct job *job, int64_t now_ns)
{
  if (job->resumed_ns == 0 || now_ns - job->resumed_ns < RESUME_NS)
    return;
  job->totals.ended += job->credit[PROCESS_STARTED];
  memset (job->credit, 0, sizeof job->credit);
  job->resumed_ns = 0;
}

/* By how much the cgroup's CPU time grew; when first read, by how much it exceeds the reported total. The sum is the
 * cgroup's; the kernel may later correct how that is split into user and system, but no reported value falls. */
static void
cpu_grown (struct job_totals *totals, uint64_t user, uint64_t system, uint64_t grown[2])
{
  bool known = totals->flow_known >> FLOW_USER & 1;
  const uint64_t *from = known ? &totals->flow_last[FLOW_USER] : totals->inside;
  uint64_t all = user + system > from[0] + from[1] ? user + system - from[0] - from[1] : 0;

  grown[0] = user > from[0] ? user - from[0] : 0;
  if (grown[0] > all)
    grown[0] = all;
  grown[1] = all - grown[0];
  totals->flow_known |= 1u << FLOW_USER;
  totals->flow_last[FLOW_USER] = user;
  totals->flow_last[FLOW_SYSTEM] = system;
}

static void
settle_cpu (struct job *job)
{
  struct job_totals *totals = &job->totals;
  bool by_cgroup = job->usage.user_ns != JOB_MISSING && job->usage.system_ns != JOB_MISSING;
  uint64_t inside[2] = { job->now.grown_inside[0], job->now.grown_inside[1] }, all = 0;

  if (by_cgroup)
    cpu_grown (totals, job->usage.user_ns, job->usage.system_ns, inside);
  else
    totals->flow_known &= ~(1u << FLOW_USER);
  for (int i = 0; i < 2; i++) {
    uint64_t grown = inside[i] + job->now.grown[i] - job->now.grown_inside[i];

    totals->inside[i] += inside[i];
    totals->total[i] += grown;
    all += grown;
  }
  totals->usage += job->cpus != 0 ? all / job->cpus : 0;
  job->by_cgroup = by_cgroup;
}

static void
flow_follow (struct job_totals *totals, enum job_flow flow, uint64_t value)
{
  uint64_t last = totals->flow_known >> flow & 1 ? totals->flow_last[flow] : 0;

  if (value == JOB_MISSING)
    return;
  totals->flow[flow] += value > last ? value - last : 0;
  totals->flow_last[flow] = value;
  totals->flow_known |= 1u << flow;
}

static void
settle_cgroup (struct job *job)
{
  flow_follow (&job->totals, FLOW_OOM_KILLS, job->usage.oom_kills);
  flow_follow (&job->totals, FLOW_READ_BYTES, job->usage.read_bytes);
  flow_follow (&job->totals, FLOW_WRITE_BYTES, job->usage.write_bytes);
}

static void
read_cgroup (struct job *job)
{
  job_cgroup_read (job->cgroup, &job->usage);
  if (!job->identity.cpus && job->usage.cpus != JOB_MISSING && job->usage.cpus != 0)
    job->cpus = (uint32_t) job->usage.cpus;
}

void
job_settle (struct job *job, struct job_accounting *accounting, uint64_t ticks, int64_t now_ns)
{
  struct job_totals *totals = &job->totals;

  read_cgroup (job);
  settle_cpu (job);
  settle_cgroup (job);
  for (int i = PROCESS_READ_BYTES; i < PROCESS_COUNTERS; i++)
    totals->total[i] += job->now.grown[i];
  totals->ended += job->now.ended;
  end_resuming (job, now_ns);
  for (int i = 0; i < PROCESS_COUNTERS; i++)
    totals->live[i] = job->now.live[i] + job->credit[i];
  if (job->now.rss > totals->rss_peak)
    totals->rss_peak = job->now.rss;

  if (memcmp (totals, &job->written, sizeof *totals) == 0)
    return;
  totals->updated = ticks;
  job_accounting_write (accounting, job->entry, totals);
  job->written = *totals;
}
