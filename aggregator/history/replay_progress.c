/* See replay_progress.h. */
#include "aggregator/history/replay_progress.h"

#include <stdio.h>
#include <unistd.h>

void
replay_progress_init (struct replay_progress *progress, const char *title)
{
  *progress = (struct replay_progress){ .title = title,
                                        .shown = isatty (STDERR_FILENO) && !isatty (STDOUT_FILENO),
                                        .percent = -1 };
}

void
replay_progress_show (struct replay_progress *progress, double part)
{
  int percent = (int) (part * 100);

  if (!progress->shown || percent == progress->percent)
    return;
  progress->percent = percent;
  fprintf (stderr, "\r%s: %d %%", progress->title, percent);
}

void
replay_progress_end (struct replay_progress *progress)
{
  if (progress->shown && progress->percent >= 0)
    fprintf (stderr, "\r\033[K");
}
