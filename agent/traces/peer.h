/* A process that is to be traced: what the kernel says of it, and the rank that its environment states. */
#ifndef SYNOP_AGENT_PEER_H
#define SYNOP_AGENT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/job/job_process.h"

#define PEER_GROUPS 64
#define PEER_IDS 8 /* in nested namespaces of processes */

struct peer {
  pid_t pid, parent;
  uint64_t start; /* ticks: with the id, it names one process for ever */
  uid_t uid;      /* real, effective and saved are one */
  gid_t gid;
  gid_t groups[PEER_GROUPS]; /* all that it is in; further ones are left out */
  size_t group_count;
  pid_t ids[PEER_IDS]; /* its own in each namespace, outermost first */
  size_t id_count;
  char command[64];
};

/* False: it is gone, or changes its user. */
bool peer_read (struct process_files *files, pid_t pid, struct peer *peer);
bool peer_is_alive (struct process_files *files, pid_t pid, uint64_t start);
bool peer_is_in (const struct peer *peer, gid_t group);
bool peer_calls_itself (const struct peer *peer, pid_t pid);

/* From the lines Uid, Gid, Groups and NSpid of /proc/PID/status. */
bool peer_parse_status (struct peer *peer, const char *text);

/* By RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK; -1: none of them. */
int32_t peer_rank (const char *environment, size_t length);
/* Reads it, which may hang for as long as the process's memory is held; -1: not known. */
int32_t peer_read_rank (pid_t pid);

#endif
