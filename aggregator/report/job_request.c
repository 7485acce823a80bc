/* See job_request.h. */
#include "aggregator/report/job_request.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define MIB 1048576.0
#define GIB (1024 * MIB)
#define NAMES_LENGTH 200 /* bytes of names of nodes */

static bool
is_of (const struct job_report *report, const char *scheduler)
{
  return strcmp (report->scheduler, scheduler) == 0;
}

double
job_request_rounded (double bytes)
{
  return bytes < 2 * GIB ? fmax (1, ceil (bytes / (256 * MIB))) * 256 * MIB : ceil (bytes / GIB) * GIB;
}

/* "20G", "512M" and what the scheduler writes behind it. */
static void
put_bytes (struct buffer *to, double bytes, const char *kilo)
{
  double shown = job_request_rounded (bytes);
  bool whole = fmod (shown, GIB) == 0;

  buffer_printf (to, "%.0f%c%s", shown / (whole ? GIB : MIB),
                 isupper ((unsigned char) *kilo) ? (whole ? 'G' : 'M') : (whole ? 'g' : 'm'), kilo + 1);
}

void
job_request_memory (struct buffer *to, const struct job_report *report, double bytes)
{
  if (is_of (report, "slurm")) {
    buffer_add_string (to, "#SBATCH --mem=");
    put_bytes (to, bytes, "K");
  } else if (is_of (report, "pbs")) {
    buffer_printf (to, "#PBS -l select=%zu:mem=", report->node_count);
    put_bytes (to, bytes, "kb");
  } else if (is_of (report, "lsf")) {
    buffer_add_string (to, "#BSUB -R \"rusage[mem=");
    put_bytes (to, bytes, "KB");
    buffer_add_string (to, "]\" -M ");
    put_bytes (to, bytes, "KB");
  }
}

void
job_request_cpus (struct buffer *to, const struct job_report *report, double cpus)
{
  size_t nodes = report->node_count ? report->node_count : 1;

  if (is_of (report, "slurm"))
    buffer_printf (to, "#SBATCH %s=%.0f", nodes == 1 ? "--cpus-per-task" : "--ntasks-per-node", cpus);
  else if (is_of (report, "pbs"))
    buffer_printf (to, "#PBS -l select=%zu:ncpus=%.0f", nodes, cpus);
  else if (is_of (report, "oar"))
    buffer_printf (to, "#OAR -l nodes=%zu/core=%.0f", nodes, cpus);
  else if (is_of (report, "lsf"))
    buffer_printf (to, "#BSUB -n %.0f -R \"span[ptile=%.0f]\"", cpus * (double) nodes, cpus);
  else if (is_of (report, "flux"))
    buffer_printf (to, "#flux: --nodes=%zu --cores=%.0f", nodes, cpus * (double) nodes);
}

void
job_request_nodes (struct buffer *to, const struct job_report *report, size_t nodes)
{
  double cpus = report->node_count ? report->cpus / (double) report->node_count : nan ("");

  if (is_of (report, "slurm"))
    buffer_printf (to, "#SBATCH --nodes=%zu", nodes);
  else if (is_of (report, "pbs") && !isnan (cpus))
    buffer_printf (to, "#PBS -l select=%zu:ncpus=%.0f", nodes, cpus);
  else if (is_of (report, "oar"))
    buffer_printf (to, "#OAR -l nodes=%zu", nodes);
  else if (is_of (report, "lsf") && !isnan (cpus))
    buffer_printf (to, "#BSUB -n %.0f", cpus * (double) nodes);
  else if (is_of (report, "flux"))
    buffer_printf (to, "#flux: --nodes=%zu", nodes);
}

/* "h100" of "NVIDIA H100 80GB HBM3": the first word of letters and digits that is no size. */
static void
put_type (struct buffer *to, const char *type)
{
  for (const char *at = type; *at;) {
    size_t length = strcspn (at, " -"), digits = 0, letters = 0;
    for (size_t i = 0; i < length; i++) {
      digits += isdigit ((unsigned char) at[i]) != 0;
      letters += isalpha ((unsigned char) at[i]) != 0;
    }
    if (digits && letters && digits + letters == length && isalpha ((unsigned char) *at)) {
      for (size_t i = 0; i < length; i++)
        buffer_printf (to, "%c", tolower ((unsigned char) at[i]));
      buffer_add_string (to, ":");
      return;
    }
    at += length + strspn (at + length, " -");
  }
}

void
job_request_gpus (struct buffer *to, const struct job_report *report, size_t gpus, const char *type)
{
  size_t nodes = report->node_count ? report->node_count : 1;

  if (is_of (report, "slurm")) {
    buffer_add_string (to, "#SBATCH --gpus-per-node=");
    put_type (to, type);
    buffer_printf (to, "%zu", gpus);
  } else if (is_of (report, "pbs")) {
    buffer_printf (to, "#PBS -l select=%zu:ngpus=%zu", nodes, gpus);
  } else if (is_of (report, "oar")) {
    buffer_printf (to, "#OAR -l nodes=%zu/gpu=%zu", nodes, gpus);
  } else if (is_of (report, "lsf")) {
    buffer_printf (to, "#BSUB -gpu \"num=%zu\"", gpus);
  } else if (is_of (report, "flux")) {
    buffer_printf (to, "#flux: --nodes=%zu --gpus-per-node=%zu", nodes, gpus);
  }
}

void
job_request_time (struct buffer *to, const struct job_report *report, double seconds)
{
  double minutes = ceil (seconds / 60);
  unsigned long hours = (unsigned long) (minutes / 60), rest = (unsigned long) fmod (minutes, 60);

  if (is_of (report, "slurm"))
    buffer_printf (to, "#SBATCH --time=%02lu:%02lu:00", hours, rest);
  else if (is_of (report, "pbs"))
    buffer_printf (to, "#PBS -l walltime=%02lu:%02lu:00", hours, rest);
  else if (is_of (report, "oar"))
    buffer_printf (to, "#OAR -l walltime=%lu:%02lu:00", hours, rest);
  else if (is_of (report, "lsf"))
    buffer_printf (to, "#BSUB -W %lu:%02lu", hours, rest);
  else if (is_of (report, "flux"))
    buffer_printf (to, "#flux: --time-limit=%.0fm", minutes);
}

/* Names that are written as they stand, or "" for others: what is advised will be pasted. */
static void
put_names (struct buffer *to, const struct job_report *report, const bool *nodes)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_[],";

  words_nodes (to, report, nodes, NAMES_LENGTH);
  if (strspn (buffer_text (to), plain) < to->length)
    buffer_clear (to);
}

void
job_request_without (struct buffer *to, const struct job_report *report, const bool *nodes)
{
  struct buffer names = { 0 };

  put_names (&names, report, nodes);
  if (names.length && is_of (report, "slurm"))
    buffer_printf (to, "#SBATCH --exclude=%s", buffer_text (&names));
  else if (names.length && is_of (report, "flux"))
    buffer_printf (to, "#flux: --requires=-host:%s", buffer_text (&names));
  else if (names.length && is_of (report, "lsf") && !strpbrk (buffer_text (&names), "[,"))
    buffer_printf (to, "#BSUB -R \"select[hname!='%s']\"", buffer_text (&names));
  buffer_free (&names);
}
