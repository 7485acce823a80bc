/* SIGHUP: the configuration and the keys are read again. Options that may change at run time are changed; for each
 * other one that differs a log line says that it takes effect after a restart. A broken configuration changes
 * nothing. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/server/server_private.h"
#include "synop/clock.h"
#include "synop/keys.h"
#include "synop/log.h"
#include "synop/memory.h"

#define FAILURE_SHOWN (60 * NS_PER_S) /* how long a failure stays in "systemctl status" */

static void
apply (struct server *server)
{
  const struct options *options = server->options;
  struct cluster_options core = { .stale_periods = (unsigned) options->stale_periods,
                                  .down_periods = (unsigned) options->down_periods,
                                  .clock_limit_ns = options->clock_limit_ns,
                                  .replay_rate = (double) options->replay_rate };

  log_set_level ((enum log_level) options->log_level);
  cluster_set_limits (server->cluster, &core);
  serve_set_queue (server->serve, options->reader_queue);
  views_reload (server->views);
}

/* The sockets keep the key that they were made with. */
static void
check_own_key (const struct server *server)
{
  char *path = memory_format ("%s/aggregator.key", server->options->keys);
  struct key_pair pair;
  struct error error;

  if (key_pair_read (path, &pair, &error) < 0)
    log_error ("%s", error.text);
  else if (memcmp (pair.public_key, server->public_key, KEY_SIZE) != 0)
    log_warning ("%s: another key takes effect after a restart", path);
  explicit_bzero (&pair, sizeof pair);
  free (path);
}

static int
read_again (struct server *server, struct error *error)
{
  const struct options *options = server->options;
  struct options fresh = { .views = options->views };
  int result = -1;

  if (aggregator_options_read (&fresh, COMMAND_SERVE, options->argc, options->argv, error) == 0 &&
      config_check_file (options->config, fresh.config, error) == 0) {
    config_take (options->config, fresh.config, OPTIONS_RELOADED);
    config_take_sections (options->config, fresh.config);
    config_log_changes (options->config, fresh.config);
    result = 0;
  }
  aggregator_options_free (&fresh);
  apply (server); /* in any case: reading may have changed the log level */
  return result;
}

void
server_reload_all (struct server *server)
{
  struct error error;

  notify_reloading (server->notify);
  if (read_again (server, &error) < 0) {
    log_error ("%s; the configuration stays as it was", error.text);
    notify_status (server->notify, "configuration not read again: %s", error.text);
    server->status_ns = clock_monotonic () + FAILURE_SHOWN;
  } else {
    log_info ("configuration read again");
    server->status_ns = 0;
  }
  check_own_key (server);
  server_reload (server, &error);
  views_flush (server->views);
  notify_reloaded (server->notify);
}
