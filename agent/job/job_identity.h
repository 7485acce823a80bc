/* Which job a process belongs to, from what /proc says of it: its environment and its cgroups. Pure: no file is opened.
 *
 * A cgroup that a scheduler made decides (the kernel keeps it, the process cannot leave it by itself); else the
 * environment, in the order of enum job_scheduler. Further facts come from the environment, if that names the same job.
 * Whoever starts a process chooses its environment: a process that names a job without lying in the job's cgroup
 * (`by_cgroup` is false) belongs to it only if it runs as the job's user. */
#ifndef SYNOP_AGENT_JOB_IDENTITY_H
#define SYNOP_AGENT_JOB_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum job_scheduler {
  JOB_SLURM,
  JOB_PBS, /* OpenPBS, PBS Professional, Torque */
  JOB_OAR,
  JOB_LSF,
  JOB_FLUX,
  JOB_SYNOP, /* SYNOP_JOB_ID, as "agent run" sets it */
  JOB_OTHER, /* a variable of [jobs] environment */
};
#define JOB_SCHEDULERS (JOB_OTHER + 1)

#define JOB_LABEL_SIZE 129
#define JOB_ID_MAX 117 /* leaves room for "/N" */
#define JOB_UID_UNKNOWN UINT32_MAX

struct job_identity {
  enum job_scheduler scheduler;
  char label[JOB_LABEL_SIZE]; /* `id`, "/N" for its Nth requeue, and "@UID" if another user's job has the plain label */
  char id[JOB_LABEL_SIZE];
  int run;        /* how often it was requeued; -1: known by its cgroup alone, the run is that of its other processes */
  bool by_cgroup; /* the cgroup named the job, or lies in a folder of a job that the environment named */
  char step[32];  /* SLURM: "0", "batch", "extern", "interactive"; or "" */
  /* The job's folder as in /proc/PID/cgroup, "/slurm/uid_0/job_5"; "" without one, or when it is too long. It is the job's
   * key where its name holds no id (SLUID). */
  char folder[256];
  uint32_t uid;        /* the job's, as its scheduler says; or JOB_UID_UNKNOWN */
  bool user_by_folder; /* `uid` or `user` is from the cgroup's folder, not from the environment */
  char user[64], name[128], array[64], gpus[1024], node_list[1024]; /* "" where not known */
  uint32_t cpus;                                                    /* allocated on this node; 0: not known */
  uint32_t nodes;                                                   /* allocated; 0: not known */
};

/* `environment` is /proc/PID/environ ("A=1\0B=2\0"), `cgroup` is /proc/PID/cgroup; either may be NULL with a length of
 * 0. `variables` are further ones that name a job, "A,B", or NULL. False: no job is named; if `folder` is set all the
 * same, the process belongs to the job that has this folder, if there is one. */
bool job_identify (const char *environment, size_t environment_length, const char *cgroup, size_t cgroup_length,
                   const char *variables, struct job_identity *identity);

/* Whether it is a process of the scheduler (slurmstepd), which lies in the job's cgroup but is not part of the job. */
bool job_is_daemon (const char *comm);

const char *job_scheduler_name (enum job_scheduler scheduler); /* "slurm" */

/* Whether it can be a job's id: 1 to 100 characters of letters, digits and ._:@+-[]#, as "agent run" takes it. */
bool job_id_is_valid (const char *id);

/* ---- job_folder.c: the layouts of cgroups ---- */

#define JOB_FOLDER_PREFIX "synop_job_" /* and the id: made by "agent run" */
struct job_folder {
  enum job_scheduler scheduler;
  const char *path;        /* "/slurm/uid_0/job_5/step_0": into the text, not NUL-terminated */
  size_t length;           /* of the path up to the end of the job's folder */
  char id[JOB_LABEL_SIZE]; /* "": the folder is not named by the id */
  uint32_t uid;            /* or JOB_UID_UNKNOWN */
  char user[64];           /* "" */
  char step[32];
  bool daemon; /* lies where the scheduler keeps its own processes */
};
/* Finds the job's folder in one path of /proc/PID/cgroup. False: it has none. */
bool job_folder_find (const char *path, size_t length, struct job_folder *folder);

struct cgroup_line { /* a line of /proc/PID/cgroup, "4:cpu,cpuacct:/path"; into the text */
  const char *controllers, *path;
  size_t controllers_length, path_length;
  bool unified; /* cgroup v2: "0::/path" */
};
/* Takes the next line that is sound. False at the end. */
bool cgroup_line_next (const char **at, const char *end, struct cgroup_line *line);
/* Picks the folder that decides, of all lines: in the order of enum job_scheduler, and with an id before without one. */
bool job_folder_decide (const char *cgroup, size_t length, struct job_folder *folder);
/* Whether both folders, of two lines, are of one job. */
bool job_folder_is_same (const struct job_folder *a, const struct job_folder *b);

#endif
