/* See report_command.h. */
#include "aggregator/report_command.h"

#include "aggregator/history_file.h"
#include "synop/log.h"

int
report_run (const struct options *options)
{
  struct error error;
  struct history_file *file = history_file_open (options->history_path, &error);

  if (!file)
    log_error ("%s", error.text);
  history_file_close (file);
  return file ? 0 : 1;
}
