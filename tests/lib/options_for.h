/* An agent's options for tests, benches and fuzzers: the defaults, but for what an INI says. */
#ifndef SYNOP_TESTS_OPTIONS_FOR_H
#define SYNOP_TESTS_OPTIONS_FOR_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/options.h"

/* Its samplers see that root, each second, and leave nothing behind. */
static inline struct agent_options *__attribute__ ((format (printf, 2, 3)))
options_for (const char *root, const char *ini, ...)
{
  struct agent_options *options = agent_options_create ();
  struct error error = { "too long" };
  char text[8192];
  va_list arguments;
  int length;

  va_start (arguments, ini);
  length = vsnprintf (text, sizeof text, ini, arguments);
  va_end (arguments);
  if (length >= (int) sizeof text || config_read_text (options->config, "ini", text, &error) < 0 ||
      agent_options_resolve (options, &error) < 0) {
    fprintf (stderr, "%s: %s\n", text, error.text);
    abort ();
  }
  options->context.root = root;
  options->context.brief = true;
  return options;
}

#endif
