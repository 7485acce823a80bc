/* Finds processes that are new since the last look, without going through all of /proc each time.
 *
 * The kernel gives out process ids one after the other, round and round, and the last field of /proc/loadavg is the
 * last one given: only ids between that of the last look and that of now can be new. Going through /proc is left for
 * the start, for when more ids were given than are worth being tried one by one (or all of them, a full round), and for
 * once a minute in case something was missed; it is spread over many looks. */
#ifndef SYNOP_AGENT_JOB_PIDS_H
#define SYNOP_AGENT_JOB_PIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef bool job_pids_fn (void *context, pid_t pid); /* false: there is no such process */

struct job_pids;
/* `own`: that /proc shows the ids of this program's namespace. If not (a container that looks at its host, a recording)
 * the last id says nothing of what is in there, and all of it is gone through each time. */
struct job_pids *job_pids_create (const char *root, bool own);
void job_pids_destroy (struct job_pids *pids);

/* Calls `look` once for each id that may be a process that it was not called for. */
void job_pids_find (struct job_pids *pids, int64_t now_ns, job_pids_fn *look, void *context);
/* That process is gone, or was not looked at after all: its id may come again. */
void job_pids_forget (struct job_pids *pids, pid_t pid);

#endif
