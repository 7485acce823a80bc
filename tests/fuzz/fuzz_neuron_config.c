/* neuron-monitor's configuration: any text is read, with periods in bounds, or refused with a reason; and a line of ours of any
 * form becomes one line of JSON. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/compat/neuron_config.h"
#include "agent/compat/neuron_lines.h"
#include "synop/clock.h"
#include "synop/log.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_line (const struct neuron_config *config, const uint8_t *data, size_t size)
{
  struct neuron_lines *lines = neuron_lines_create (config);
  struct buffer line = { 0 };

  for (int i = 0; i < 2; i++) {
    buffer_clear (&line);
    buffer_add (&line, data, size);
    neuron_lines_shape (lines, &line);
    if (line.length < 3 || line.data[0] != '{' || memchr (line.data, '\n', line.length) != line.data + line.length - 1)
      abort ();
  }
  buffer_free (&line);
  neuron_lines_destroy (lines);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct neuron_config config;
  struct error error = { "" };

  log_set_level (LOG_LEVEL_ERROR);
  if (neuron_config_parse (&config, (const char *) data, size, &error) < 0) {
    if (!error.text[0])
      abort ();
    neuron_config_read (&config, NULL, &error);
  }
  for (size_t i = 0; i < NEURON_TYPES; i++)
    if (config.periods_ns[i] && (config.periods_ns[i] < NS_PER_MS || config.periods_ns[i] > 3600 * NS_PER_S))
      abort ();
  check_line (&config, data, size);
  neuron_config_free (&config);
  return 0;
}
