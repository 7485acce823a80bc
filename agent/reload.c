/* A reload applies what may change while the agent runs: the log's level, where to publish and the keys for that, and what
 * is sampled. For the latter all samplers are opened anew, which is simple and costs what a start costs: no frame is lost,
 * the session goes on, and counters go on, since the kernel's do. For each other option that differs a log line says that
 * it takes effect after a restart. A configuration with an error changes nothing. */
#include "agent/reload.h"

#include "agent/groups.h"
#include "synop/log.h"

/* Samplers read the texts of the options until they are closed. */
static int
sample_anew (struct running *running, const struct agent_options *fresh, struct error *error)
{
  struct agent_options *options = running->options;
  int rc;

  if (running->publisher)
    publisher_drop_sampling (running->publisher);
  sampling_close (running->sampling);
  config_take (options->config, fresh->config, RELOAD_SAMPLING);
  rc = agent_options_resolve (options, error);
  sampling_open (running->sampling, samplers, options->periods_ns, sampler_count, &options->context);
  if (running->publisher)
    publisher_use_sampling (running->publisher, running->sampling);
  else
    samples_begin (&running->samples);
  return rc;
}

static int
connect_anew (struct running *running, const struct agent_options *fresh, struct error *error)
{
  if (publisher_connect (running->publisher, fresh->connect, fresh->keys, (int) fresh->queue, error) < 0)
    return -1;
  config_take (running->options->config, fresh->config, RELOAD_CONNECTION);
  return 0;
}

static void
send_anew (struct running *running, const struct agent_options *fresh)
{
  struct buffer config = { 0 };

  config_take (running->options->config, fresh->config, RELOAD_SEND);
  config_print (running->options->config, &config);
  send_feed_change (running->samples.feed, config.data);
  buffer_free (&config);
}

static int
read_again (struct running *running, struct agent_options *fresh, struct error *error)
{
  struct agent_options *options = running->options;

  if (agent_options_read (fresh, options->argc, options->argv, error) < 0 ||
      config_check_file (options->config, fresh->config, error) < 0)
    return -1;
  if (running->publisher && fresh->connect[0] && connect_anew (running, fresh, error) < 0)
    return -1;
  if ((running->publisher || samples_are_wanted (&running->samples)) &&
      config_changes (options->config, fresh->config, RELOAD_SAMPLING) > 0 && sample_anew (running, fresh, error) < 0)
    return -1;
  config_take (options->config, fresh->config, RELOAD_LOG);
  config_take (options->config, fresh->config, RELOAD_NAMES);
  config_take_sections (options->config, fresh->config);
  if (running->samples.feed && config_changes (options->config, fresh->config, RELOAD_SEND) > 0)
    send_anew (running, fresh);
  config_log_changes (options->config, fresh->config);
  if (running->samples.page && node_page_reload (running->samples.page, error) < 0)
    return -1;
  return 0;
}

void
agent_reload (void *context, int number)
{
  struct running *running = context;
  struct agent_options *fresh = agent_options_create ();
  struct error error;

  (void) number;
  notify_reloading (running->notify);
  if (read_again (running, fresh, &error) < 0) {
    log_error ("%s; the configuration stays as it was", error.text);
    notify_status (running->notify, "configuration not read again: %s", error.text);
  } else {
    log_info ("configuration and keys read again");
    if (running->publisher)
      publisher_notify_status (running->publisher);
  }
  log_set_level ((enum log_level) running->options->log_level); /* reading has set it */
  agent_options_destroy (fresh);
  notify_reloaded (running->notify);
}
