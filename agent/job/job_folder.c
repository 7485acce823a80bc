/* How schedulers name the cgroup folders of jobs. Any folders may precede these (that of a container), but not
 * user.slice, where users make folders as they like; only those that "agent run" makes count there.
 *
 *   SLURM   v1 slurm/uid_U/job_J/step_S/task_T, and slurm_NODE/...
 *           v2 slurmstepd.scope/job_J/step_S/user/task_T, and NODE_slurmstepd.scope/...; step_S/slurm holds slurmstepd
 *           either with a SLUID instead of job_J, which only a step_S behind it distinguishes from other folders
 *   PBS     pbs_jobs.service/jobid/J (v2: .../jobs/J), pbspro/J, pbspro.slice/pbspro-J.slice; Torque: torque/J
 *   OAR     oar/USER_J
 *   LSF     lsf/CLUSTER/job.J.PID.TIME
 *   synop   synop_job_J
 */
#include <string.h>

#include "agent/job/job_environment.h"
#include "agent/job/job_identity.h"

#define PARTS_MAX 32

/* ---- a part of a path, between two slashes ---- */

static bool
folder_part_is (const struct text *part, const char *text)
{
  return part->length == strlen (text) && memcmp (part->at, text, part->length) == 0;
}

static bool
part_begins (const struct text *part, const char *text)
{
  return part->length > strlen (text) && memcmp (part->at, text, strlen (text)) == 0;
}

static bool
part_ends (const struct text *part, const char *text)
{
  size_t length = strlen (text);

  return part->length >= length && memcmp (part->at + part->length - length, text, length) == 0;
}

/* The part without its first characters. */
static struct text
part_behind (const struct text *part, size_t length)
{
  return (struct text){ part->at + length, part->length - length };
}

static int
hex_digit (char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes a character of a name; systemd writes some as "\x5b". */
static int
take_character (const char **at, const char *end)
{
  const char *text = *at;

  if (end - text >= 4 && text[0] == '\\' && text[1] == 'x' && hex_digit (text[2]) >= 0 && hex_digit (text[3]) >= 0) {
    *at += 4;
    return 16 * hex_digit (text[2]) + hex_digit (text[3]);
  }
  *at += 1;
  return (unsigned char) *text;
}

/* False for a text that no scheduler uses as an id. */
static bool
take_id (struct job_folder *folder, const struct text *part)
{
  const char *at = part->at, *end = part->at + part->length;
  size_t to = 0;

  while (at < end) {
    int c = take_character (&at, end);
    if (c <= ' ' || c >= 127 || c == '/' || to == JOB_ID_MAX) {
      folder->id[0] = '\0';
      return false;
    }
    folder->id[to++] = (char) c;
  }
  folder->id[to] = '\0';
  return to != 0;
}

static void
take_step (struct job_folder *folder, const struct text *part)
{
  size_t to = 0;

  for (size_t i = 0; i < part->length && to < sizeof folder->step - 1; i++)
    if (part->at[i] > ' ' && part->at[i] < 127)
      folder->step[to++] = part->at[i];
  folder->step[to] = '\0';
}

/* ---- the layouts: each returns how many parts lead to the job's folder; 0: not this layout ---- */

static size_t
match_slurm (const struct text *parts, size_t count, struct job_folder *folder)
{
  bool old = count >= 3 && (folder_part_is (&parts[0], "slurm") || part_begins (&parts[0], "slurm_")) &&
             part_begins (&parts[1], "uid_");
  bool unified = count >= 2 && part_ends (&parts[0], "slurmstepd.scope");
  size_t job = old ? 2 : 1;
  bool has_step;
  struct text part;

  if (!old && !unified)
    return 0;
  has_step = count > job + 1 && part_begins (&parts[job + 1], "step_");
  if (part_begins (&parts[job], "job_")) {
    part = part_behind (&parts[job], 4);
    if (!text_is_number (part) || !take_id (folder, &part))
      return 0;
  } else if (!has_step)
    return 0;
  if (old) {
    part = part_behind (&parts[1], 4);
    folder->uid = text_number (part, JOB_UID_UNKNOWN);
  }
  if (has_step) {
    part = part_behind (&parts[job + 1], 5);
    take_step (folder, &part);
  }
  folder->daemon = unified && count > job + 2 && folder_part_is (&parts[job + 2], "slurm");
  return job + 1;
}

static size_t
match_pbs (const struct text *parts, size_t count, struct job_folder *folder)
{
  size_t job = 1;
  struct text id;

  if (count >= 3 && part_begins (&parts[0], "pbs") &&
      (folder_part_is (&parts[1], "jobid") || folder_part_is (&parts[1], "jobs")))
    job = 2;
  else if (count < 2 || (!folder_part_is (&parts[0], "pbspro") && !folder_part_is (&parts[0], "pbspro.slice") &&
                         !folder_part_is (&parts[0], "torque")))
    return 0;
  id = parts[job];
  if (part_begins (&id, "pbspro-") && part_ends (&id, ".slice"))
    id = (struct text){ id.at + 7, id.length - 13 };
  return text_digits (id).length != 0 && take_id (folder, &id) ? job + 1 : 0;
}

static size_t
match_oar (const struct text *parts, size_t count, struct job_folder *folder)
{
  struct text id;
  size_t line;

  if (count < 2 || !folder_part_is (&parts[0], "oar"))
    return 0;
  for (line = parts[1].length; line != 0 && parts[1].at[line - 1] != '_'; line--)
    ;
  id = part_behind (&parts[1], line);
  text_put ((struct text){ parts[1].at, line ? line - 1 : 0 }, folder->user, sizeof folder->user);
  return line > 1 && text_is_number (id) && take_id (folder, &id) ? 2 : 0;
}

static size_t
match_lsf (const struct text *parts, size_t count, struct job_folder *folder)
{
  struct text id;
  const char *dot;

  if (count < 3 || !folder_part_is (&parts[0], "lsf") || !part_begins (&parts[2], "job."))
    return 0;
  id = part_behind (&parts[2], 4);
  dot = memchr (id.at, '.', id.length);
  if (dot)
    id.length = (size_t) (dot - id.at);
  return text_digits (id).length != 0 && take_id (folder, &id) ? 3 : 0;
}

static size_t
match_synop (const struct text *parts, size_t count, struct job_folder *folder)
{
  struct text id;

  if (count == 0 || !part_begins (&parts[0], JOB_FOLDER_PREFIX))
    return 0;
  id = part_behind (&parts[0], strlen (JOB_FOLDER_PREFIX));
  return take_id (folder, &id) && job_id_is_valid (folder->id) ? 1 : 0;
}

static const struct layout {
  enum job_scheduler scheduler;
  size_t (*match) (const struct text *parts, size_t count, struct job_folder *folder);
} layouts[] = {
  { JOB_SLURM, match_slurm }, { JOB_PBS, match_pbs },     { JOB_OAR, match_oar },
  { JOB_LSF, match_lsf },     { JOB_SYNOP, match_synop },
};

/* ---- paths and lines ---- */

static size_t
split_path (const char *path, size_t length, struct text parts[PARTS_MAX])
{
  const char *end = path + length;
  size_t count = 0;

  while (path < end && count < PARTS_MAX) {
    const char *slash = memchr (path, '/', (size_t) (end - path));
    const char *stop = slash ? slash : end;
    if (stop > path)
      parts[count++] = (struct text){ path, (size_t) (stop - path) };
    path = stop + (slash != NULL);
  }
  return count;
}

bool
job_folder_find (const char *path, size_t length, struct job_folder *folder)
{
  struct text parts[PARTS_MAX];
  size_t count = split_path (path, length, parts);
  bool users = false;

  for (size_t i = 0; i < count; i++) {
    users |= folder_part_is (&parts[i], "user.slice");
    for (size_t j = 0; j < sizeof layouts / sizeof *layouts; j++) {
      size_t taken;
      if (users && layouts[j].scheduler != JOB_SYNOP)
        continue;
      *folder = (struct job_folder){ .scheduler = layouts[j].scheduler, .path = path, .uid = JOB_UID_UNKNOWN };
      taken = layouts[j].match (parts + i, count - i, folder);
      if (taken != 0) {
        const struct text *last = &parts[i + taken - 1];
        folder->length = (size_t) (last->at + last->length - path);
        return true;
      }
    }
  }
  return false;
}

bool
cgroup_line_next (const char **at, const char *end, struct cgroup_line *line)
{
  while (*at < end) {
    const char *begin = *at, *newline = memchr (begin, '\n', (size_t) (end - begin));
    const char *stop = newline ? newline : end, *first, *second;
    *at = stop + (newline != NULL);
    first = memchr (begin, ':', (size_t) (stop - begin));
    second = first ? memchr (first + 1, ':', (size_t) (stop - first - 1)) : NULL;
    if (second == NULL || stop - second < 2 || second[1] != '/')
      continue;
    line->controllers = first + 1;
    line->controllers_length = (size_t) (second - first - 1);
    line->path = second + 1;
    line->path_length = (size_t) (stop - second - 1);
    line->unified = first - begin == 1 && *begin == '0' && line->controllers_length == 0;
    return true;
  }
  return false;
}

bool
job_folder_decide (const char *cgroup, size_t length, struct job_folder *folder)
{
  const char *at = length ? cgroup : "", *end = at + length;
  struct cgroup_line line;
  bool found = false;

  while (cgroup_line_next (&at, end, &line)) {
    struct job_folder next;
    if (!job_folder_find (line.path, line.path_length, &next))
      continue;
    if (!found || next.scheduler < folder->scheduler ||
        (next.scheduler == folder->scheduler && next.id[0] && !folder->id[0]))
      *folder = next;
    found = true;
  }
  return found;
}

bool
job_folder_is_same (const struct job_folder *a, const struct job_folder *b)
{
  if (a->scheduler != b->scheduler || strcmp (a->id, b->id) != 0)
    return false;
  return a->id[0] || (a->length == b->length && memcmp (a->path, b->path, a->length) == 0);
}
