/* The cgroup folders of one job, and the sum of what they counted.
 *
 * On a machine with both versions mounted, a folder of v1 that counts a thing is preferred to that of v2: the kernel counts
 * CPU time in each of them. */
#include "agent/job/job_cgroup.h"

#include <stdlib.h>
#include <string.h>

#include "agent/job/job_cgroup_folder.h"
#include "synop/buffer.h"
#include "synop/memory.h"

#define FOLDERS_MAX 256 /* of one job: limits open files when somebody makes folders without end */

struct job_cgroup {
  struct cgroup_mounts *mounts;
  struct folder *folders;
  size_t count;
  struct buffer text;
  uint64_t peak; /* the highest seen sum over all folders */
};

struct job_cgroup *
job_cgroup_create (struct cgroup_mounts *mounts)
{
  struct job_cgroup *cgroup = memory_new (1, sizeof *cgroup);

  cgroup->mounts = mounts;
  return cgroup;
}

void
job_cgroup_destroy (struct job_cgroup *cgroup)
{
  if (cgroup == NULL)
    return;
  for (size_t i = 0; i < cgroup->count; i++)
    folder_free (&cgroup->folders[i]);
  free (cgroup->folders);
  buffer_free (&cgroup->text);
  free (cgroup);
}

/* Takes the path over. A known folder that was gone exists again. */
static void
add_folder (struct job_cgroup *cgroup, enum folder_kind kind, char *path)
{
  for (size_t i = 0; i < cgroup->count; i++) {
    struct folder *folder = &cgroup->folders[i];
    if (folder->kind == kind && strcmp (folder->path, path) == 0) {
      folder_revive (folder);
      free (path);
      return;
    }
  }
  if (cgroup->count == FOLDERS_MAX) {
    free (path);
    return;
  }
  cgroup->folders = memory_resize (cgroup->folders, cgroup->count + 1, sizeof *cgroup->folders);
  folder_init (&cgroup->folders[cgroup->count++], kind, path);
}

static void
add_line (struct job_cgroup *cgroup, const struct cgroup_line *line, const struct job_folder *folder)
{
  for (enum folder_kind kind = 0; kind < FOLDER_KINDS; kind++) {
    const char *controller = folder_controller (kind);
    char *path;
    if (controller ? !cgroup_line_has (line, controller) : !line->unified)
      continue;
    path = cgroup_mounts_folder (cgroup->mounts, line, controller, folder->length);
    if (path)
      add_folder (cgroup, kind, path);
  }
}

size_t
job_cgroup_add (struct job_cgroup *cgroup, const char *text, size_t length)
{
  const char *at = length ? text : "", *end = at + length;
  struct job_folder job, folder;
  struct cgroup_line line;

  if (!job_folder_decide (text, length, &job))
    return cgroup->count;
  while (cgroup_line_next (&at, end, &line))
    if (job_folder_find (line.path, line.path_length, &folder) && job_folder_is_same (&folder, &job))
      add_line (cgroup, &line, &folder);
  return cgroup->count;
}

const char *
job_cgroup_counted (const struct job_cgroup *cgroup, size_t *at)
{
  enum folder_kind kind = FOLDER_UNIFIED;

  for (size_t i = 0; i < cgroup->count; i++)
    if (cgroup->folders[i].kind == FOLDER_PERF)
      kind = FOLDER_PERF;
  while (*at < cgroup->count) {
    const struct folder *folder = &cgroup->folders[(*at)++];
    if (folder->kind == kind && !folder->gone)
      return folder->path;
  }
  return NULL;
}

static void
add (uint64_t *sum, uint64_t value)
{
  if (value != JOB_MISSING)
    *sum = *sum == JOB_MISSING ? value : *sum + value;
}

static void
raise_to (uint64_t *most, uint64_t value)
{
  if (value != JOB_MISSING && (*most == JOB_MISSING || value > *most))
    *most = value;
}

static void
add_usage (struct job_usage *sum, const struct job_usage *usage)
{
  add (&sum->user_ns, usage->user_ns);
  add (&sum->system_ns, usage->system_ns);
  add (&sum->memory, usage->memory);
  raise_to (&sum->memory_peak, usage->memory_peak);
  add (&sum->memory_limit, usage->memory_limit);
  add (&sum->oom_kills, usage->oom_kills);
  add (&sum->read_bytes, usage->read_bytes);
  add (&sum->write_bytes, usage->write_bytes);
  raise_to (&sum->cpus, usage->cpus);
}

/* Devices that any folder permits are permitted; `known`: a folder before gave a list. */
static void
add_devices (struct job_usage *sum, const struct job_usage *usage, bool *known)
{
  for (size_t i = 0; i < JOB_DEVICE_WORDS; i++)
    sum->devices[i] = *known ? sum->devices[i] | usage->devices[i] : usage->devices[i];
  *known = true;
}

static void
pick (uint64_t *value, uint64_t otherwise)
{
  if (*value == JOB_MISSING)
    *value = otherwise;
}

bool
job_cgroup_read (struct job_cgroup *cgroup, struct job_usage *usage)
{
  struct job_usage unified, nothing;
  bool devices = false;

  usage_clear (usage);
  usage_clear (&unified);
  usage_clear (&nothing);
  for (size_t i = 0; i < cgroup->count; i++) {
    struct folder *folder = &cgroup->folders[i];
    folder_read (folder, cgroup->mounts, &cgroup->text);
    add_usage (folder->kind == FOLDER_UNIFIED ? &unified : usage, &folder->usage);
    if (folder->kind == FOLDER_DEVICES && !folder->gone)
      add_devices (usage, &folder->usage, &devices);
  }
  pick (&usage->user_ns, unified.user_ns);
  pick (&usage->system_ns, unified.system_ns);
  pick (&usage->memory, unified.memory);
  pick (&usage->memory_peak, unified.memory_peak);
  pick (&usage->memory_limit, unified.memory_limit);
  pick (&usage->oom_kills, unified.oom_kills);
  pick (&usage->read_bytes, unified.read_bytes);
  pick (&usage->write_bytes, unified.write_bytes);
  pick (&usage->cpus, unified.cpus);
  if (usage->memory != JOB_MISSING && usage->memory > cgroup->peak)
    cgroup->peak = usage->memory;
  if (usage->memory_peak != JOB_MISSING)
    raise_to (&usage->memory_peak, cgroup->peak);
  return memcmp (usage, &nothing, sizeof nothing) != 0;
}
