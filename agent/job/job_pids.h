/* Finds processes that are new since the last scan, without going through all of /proc each time.
 *
 * The kernel gives out process ids one after the other and wraps around, and the last field of /proc/loadavg is the last
 * id given: only ids between that of the last scan and that of now can be new. A sweep through /proc is left for the
 * start, for when more ids were given than are worth being tried one by one (or all of them), and for once a minute in
 * case something was missed; it is spread over many scans. */
#ifndef SYNOP_AGENT_JOB_PIDS_H
#define SYNOP_AGENT_JOB_PIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef bool job_pids_fn (void *context, pid_t pid); /* false: there is no such process */

struct job_pids;
/* `own`: /proc shows the ids of this program's namespace. If not (a container that sees its host's /proc, a recording) the
 * last id says nothing about them, and all of /proc is read each time. */
struct job_pids *job_pids_create (const char *root, bool own);
void job_pids_destroy (struct job_pids *pids);

/* Calls `check` once for each id that may be a new process. */
void job_pids_find (struct job_pids *pids, int64_t now_ns, job_pids_fn *check, void *context);
/* That process is gone, or could not be checked: its id may be new again. */
void job_pids_forget (struct job_pids *pids, pid_t pid);

#endif
