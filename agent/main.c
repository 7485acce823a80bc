/* The agent: samples this node, and publishes what it finds or writes it to standard output. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/absent.h"
#include "agent/bench_command.h"
#include "agent/command.h"
#include "agent/compat_command.h"
#include "agent/groups.h"
#include "agent/keys_command.h"
#include "agent/list.h"
#include "agent/names_command.h"
#include "agent/options.h"
#include "agent/reload.h"
#include "agent/run_command.h"
#include "agent/sampling/footprint.h"
#include "agent/sampling/sampling.h"
#include "agent/send/send_child.h"
#include "agent/send_command.h"
#include "agent/standalone.h"
#include "agent/top_command.h"
#include "agent/uplink/publisher.h"
#include "agent/uplink/ring.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/loop.h"
#include "synop/memory.h"
#include "synop/notify.h"
#include "synop/version.h"

static void
write_groups (struct buffer *out, const struct agent_options *options)
{
  const struct group **groups = memory_new (sampler_count, sizeof *groups);

  for (size_t i = 0; i < sampler_count; i++)
    groups[i] = samplers[i]->group;
  list_groups (out, options->json ? LIST_JSON : options->markdown ? LIST_MARKDOWN : LIST_TEXT, groups, sampler_count);
  if (!options->json && !options->markdown)
    absent_write (out, &options->context);
  free (groups);
}

/* --help, --version, --print-config, --list-groups */
static int
print_page (const struct agent_options *options)
{
  struct buffer text = { 0 };
  int rc;

  if (options->action == ACTION_HELP)
    agent_options_help (options, &text);
  else if (options->action == ACTION_VERSION)
    buffer_add_string (&text, "synop agent " SYNOP_VERSION "\n");
  else if (options->action == ACTION_PRINT_CONFIG)
    (options->markdown ? config_print_markdown : config_print) (options->config, &text);
  else
    write_groups (&text, options);
  rc = file_print (&text);
  buffer_free (&text);
  return rc;
}

static uint64_t
session_make (void)
{
  uint64_t session = 0;

  while (session == 0)
    if (getrandom (&session, sizeof session, 0) != sizeof session)
      session = 0;
  return session;
}

static struct ring *
open_ring (const struct agent_options *options)
{
  struct ring_options to = { .path = options->ring_path,
                             .size = (size_t) options->ring_size,
                             .max_age_ns = options->ring_age_ns,
                             .node = options->node_name };

  return options->ring ? ring_create (&to, clock_monotonic (), clock_wall ()) : NULL;
}

static void
send_traced (void *context, const struct trace_answer *answer)
{
  const struct running *running = context;

  if (running->publisher)
    publisher_send_traced (running->publisher, answer);
}

static int
publish (struct running *running, struct loop *loop)
{
  const struct agent_options *options = running->options;
  struct publisher_options to = { .node = options->node_name,
                                  .session = session_make (),
                                  .endpoint = options->connect,
                                  .keys = options->keys,
                                  .queue_frames = (int) options->queue,
                                  .ring = open_ring (options),
                                  .frame_log = options->frame_log,
                                  .notify = running->notify,
                                  .sampled = samples_are_wanted (&running->samples) ? samples_take : NULL,
                                  .sampled_context = &running->samples,
                                  .trace = trace_service_request,
                                  .realtime = options->realtime };
  struct error error;
  int rc;

  to.trace_context = running->traces = trace_service_create (options, loop, send_traced, running, &error);
  if (running->traces)
    running->publisher = publisher_create (&to, loop, running->sampling, &error);
  if (running->publisher) {
    rc = EXIT_FINE;
    loop_run (loop);
    notify_stopping (running->notify);
  } else {
    rc = command_fail (EXIT_USAGE, &error);
    notify_failed (running->notify, &error);
  }
  trace_service_destroy (running->traces);
  publisher_destroy (running->publisher);
  running->publisher = NULL;
  ring_destroy (to.ring);
  return rc;
}

static int
write_lines (const struct running *running, struct loop *loop)
{
  const struct agent_options *options = running->options;
  bool once = options->action == ACTION_ONCE;
  struct standalone_options to = { .node = options->node_name,
                                   .session = session_make (),
                                   .count = once ? 1 : options->count,
                                   .notify = running->notify,
                                   .once_ns = once ? options->period_ns : 0 };
  struct error error;

  return standalone_run (&to, loop, running->sampling, &error) < 0 ? command_fail (EXIT_FAILED, &error) : EXIT_FINE;
}

static int
open_page (struct running *running, struct loop *loop)
{
  const struct agent_options *options = running->options;
  struct node_page_options to = { .http = &options->http,
                                  .names = &options->prometheus_names,
                                  .everybody_sees = &options->everybody_sees,
                                  .node = options->node_name,
                                  .samplers = samplers,
                                  .sampler_count = sampler_count,
                                  .loop = loop };
  struct error error;

  running->samples.page = node_page_create (&to, &error);
  if (running->samples.page)
    return EXIT_FINE;
  notify_failed (running->notify, &error);
  return command_fail (EXIT_USAGE, &error);
}

static void
open_feed (struct running *running, struct loop *loop)
{
  const struct agent_options *options = running->options;
  const struct send_feed_options to = {
    .loop = loop, .node = options->node_name, .session = session_make (), .schema = running->schema
  };
  struct buffer config = { 0 };

  config_print (options->config, &config);
  running->samples.feed = send_feed_create (&to, &options->send, config.data);
  buffer_free (&config);
}

static void
stop (void *loop, int number)
{
  (void) number;
  loop_stop (loop);
}

static int
run (struct agent_options *options)
{
  bool brief = options->action == ACTION_ONCE || options->count != 0, shown = options->http.listen[0] && !brief;
  bool sent = options->send.to != SEND_NOWHERE && !brief;
  struct loop *loop = loop_create ();
  struct running running = { .options = options, .notify = notify_create (loop) };
  int rc = EXIT_FINE;

  loop_signal (loop, SIGTERM, stop, loop);
  loop_signal (loop, SIGINT, stop, loop);
  loop_signal (loop, SIGHUP, agent_reload, &running);
  running.sampling = sampling_create (samplers, options->periods_ns, sampler_count, &options->context);
  running.schema = schema_of_all ();
  if (shown)
    rc = open_page (&running, loop);
  if (sent && rc == EXIT_FINE)
    open_feed (&running, loop);
  if (rc == EXIT_FINE && options->connect[0] && !brief)
    rc = publish (&running, loop);
  else if (rc == EXIT_FINE && samples_are_wanted (&running.samples))
    samples_run (&running.samples, running.sampling, loop, running.notify);
  else if (rc == EXIT_FINE)
    rc = write_lines (&running, loop);
  send_feed_destroy (running.samples.feed);
  node_page_destroy (running.samples.page);
  schema_of_all_destroy (running.schema);
  sampling_destroy (running.sampling);
  notify_destroy (running.notify);
  loop_destroy (loop);
  return rc;
}

int
main (int argc, char **argv)
{
  struct agent_options *options;
  struct error error;
  int rc;

  if (argc > 1 && strcmp (argv[1], "run") == 0)
    return run_command (argc - 1, argv + 1);
  file_claim_standard ();
  signal (SIGPIPE, SIG_IGN);
  signal (SIGCHLD, SIG_DFL); /* our parent may ignore it; then no child's exit code can be read */
  signal (SIGXFSZ, SIG_IGN); /* a file that grew too large is an error like any other */
  footprint_prepare ();
  if (compat_is_asked (argc, argv))
    return compat_command (argc, argv);
  if (argc > 1 && strcmp (argv[1], "keys") == 0)
    return agent_keys_command (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], "names") == 0)
    return names_command (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], "bench-node") == 0)
    return bench_command (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], "top") == 0)
    return top_command (argc - 1, argv + 1);
  if (argc == 2 && strcmp (argv[1], SEND_CHILD_WORD) == 0)
    return send_child_command ();

  options = agent_options_create ();
  if (agent_options_read (options, argc, argv, &error) < 0) {
    rc = command_fail (EXIT_USAGE, &error);
    notify_failed (NULL, &error);
  } else if (options->action == ACTION_RUN || options->action == ACTION_ONCE) {
    rc = run (options);
  } else if (options->action == ACTION_DRY_RUN) {
    rc = send_dry_run (options);
  } else {
    rc = print_page (options);
  }
  agent_options_destroy (options);
  return rc;
}
