/* The agent's options: from the command line, from /etc/synop/agent.ini, or defaults. */
#ifndef SYNOP_AGENT_OPTIONS_H
#define SYNOP_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/sampling/sampler.h"
#include "agent/send/send_settings.h"
#include "agent/traces/traces_settings.h"
#include "synop/buffer.h"
#include "synop/config.h"
#include "synop/error.h"
#include "synop/http.h"

enum agent_action {
  ACTION_RUN,
  ACTION_ONCE,
  ACTION_HELP,
  ACTION_VERSION,
  ACTION_PRINT_CONFIG,
  ACTION_LIST_GROUPS,
  ACTION_DRY_RUN,
};

/* What a reload applies together; a change of any other option waits for a restart. */
enum agent_reload_kind { RELOAD_LOG = 1, RELOAD_CONNECTION, RELOAD_SAMPLING, RELOAD_NAMES, RELOAD_SEND };

struct group_options {
  int64_t period_ns; /* 0: as [agent] period */
  bool enabled;
};

struct agent_options {
  enum agent_action action, other; /* other: a second one that was given; else as `action` */
  bool json, markdown;             /* of --list-groups; markdown of --print-config too */
  int argc;                        /* of main, to be read again */
  char **argv;
  struct config *config;
  const char **names; /* of the groups */
  struct config_wildcard sections;

  char *node, *connect, *keys, *root, *frame_log;
  int64_t period_ns;
  uint64_t queue, count;
  int log_level;
  bool ring;
  char *ring_path;
  int64_t ring_age_ns;
  uint64_t ring_size;
  bool realtime;
  struct http_settings http;
  int everybody_sees; /* enum node_page_sees */
  char *prometheus_names;
  struct send_settings send;
  char *price; /* of --dry-run */
  struct traces_settings traces;
  struct group_options *groups; /* for each of `samplers` */

  /* What follows from them. */
  char node_name[256];
  int64_t *periods_ns; /* for each of `samplers`; 0: not sampled */
  int64_t *spent_ns;   /* for each of `samplers`, see struct sampler_context */
  struct sampler_context context;
  char *context_root;

  struct option *table; /* the agent's rows, and those of samplers and services */
  size_t row_count;
  struct own_values *own;
  size_t own_count;
  _Alignas(max_align_t) char own_values[]; /* of samplers and services, one struct behind the other */
};

struct agent_options *agent_options_create (void); /* all defaults */
void agent_options_destroy (struct agent_options *options);
/* -1 and error: do not start; the exit code is 2. */
int agent_options_read (struct agent_options *options, int argc, char **argv, struct error *error);
/* Sets what follows from the groups' options once more after these have changed. No sampler may be open. */
int agent_options_resolve (struct agent_options *options, struct error *error);

void agent_options_help (const struct agent_options *options, struct buffer *out);

#endif
