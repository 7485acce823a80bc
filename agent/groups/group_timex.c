/* timex: how well the kernel's clock is kept in time, as adjtimex(2) reports it. It is the clock of this machine: a
 * recorded one has none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "agent/sampling/sampler.h"
#include "synop/memory.h"

enum {
  SYNCHRONIZED,
  OFFSET,
  ESTIMATED_ERROR,
  MAXIMUM_ERROR,
  FREQUENCY,
  TICK,
  LOOP_TIME_CONSTANT,
  TAI_OFFSET,
  STATUS,
  PPS_FREQUENCY,
  PPS_STABILITY,
  PPS_JITTER,
  PPS_SHIFT,
  PPS_JITTER_EXCEEDED,
  PPS_CALIBRATIONS,
  PPS_ERRORS,
  PPS_STABILITY_EXCEEDED,
};

#define NS_SECONDS(NAME, FOLD, HELP)                                                                                   \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_SECONDS, FOLD, METRIC_OF_NODE, .per = 1000000000, .help = HELP                                   \
  }

#define PULSES(NAME, HELP)                                                                                             \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = HELP                                                  \
  }

static const struct metric metrics[] = {
  [SYNCHRONIZED] = { "synchronized", GAUGE, UNIT_BOOLEAN, FOLD_MIN, METRIC_OF_NODE,
                     .help = "1 when something keeps the clock synchronized: chrony, ntpd, PTP." },
  [OFFSET] = { "offset", GAUGE, UNIT_SECONDS, FOLD_MEAN, METRIC_OF_NODE, .per = 1000000000,
               .bound = { .most = 1e9, .negative = true },
               .help = "What the kernel still has to correct: local clock less reference." },
  [ESTIMATED_ERROR] = NS_SECONDS ("estimated_error", FOLD_MAX, "Estimated error."),
  [MAXIMUM_ERROR] =
      NS_SECONDS ("maximum_error", FOLD_MAX, "Largest possible error; 16 s while it is not synchronized."),
  [FREQUENCY] = { "frequency_adjustment", GAUGE, UNIT_RATIO, FOLD_MEAN, METRIC_OF_NODE,
                  .help = "The clock runs so many times as fast as it would by itself." },
  [TICK] = NS_SECONDS ("tick", FOLD_MEAN, "Time between two ticks of the clock."),
  [LOOP_TIME_CONSTANT] = { "loop_time_constant", GAUGE, UNIT_COUNT, FOLD_MEAN, METRIC_OF_NODE,
                           .help = "Time constant of the kernel's phase-locked loop." },
  [TAI_OFFSET] = NS_SECONDS ("tai_offset", FOLD_MAX, "TAI less UTC, as far as the kernel knows it."),
  [STATUS] = { "status", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Status bits, as in timex.h." },
  [PPS_FREQUENCY] = { "pps_frequency", GAUGE, UNIT_RATIO, FOLD_NONE, METRIC_OF_NODE,
                      .bound = { .most = 1, .negative = true },
                      .help = "So much faster is a pulse per second than the clock, if there is one." },
  [PPS_STABILITY] = { "pps_stability", GAUGE, UNIT_RATIO, FOLD_NONE, METRIC_OF_NODE,
                      .bound = { .most = 1, .negative = true }, .help = "How much that changes." },
  [PPS_JITTER] = NS_SECONDS ("pps_jitter", FOLD_MAX, "How far off the pulses are."),
  [PPS_SHIFT] = { "pps_shift", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE,
                  .help = "The pulses are averaged over 2 to the power of this seconds." },
  [PPS_JITTER_EXCEEDED] = PULSES ("pps_jitter_exceeded", "Pulses that were too far off."),
  [PPS_CALIBRATIONS] = PULSES ("pps_calibrations", "Intervals by which the frequency was calibrated."),
  [PPS_ERRORS] = PULSES ("pps_errors", "Intervals that were of no use."),
  [PPS_STABILITY_EXCEEDED] = PULSES ("pps_stability_exceeded", "Intervals in which the frequency changed too much."),
};

static const struct group group = {
  .name = "timex",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "How well the kernel's clock is kept in time.",
  GROUP_METRICS (metrics),
};

struct timex_state {
  bool live;
};

static void
pps_set (struct table *table, const struct timex *timex)
{
  table_set_real (table, TABLE_NODE, PPS_FREQUENCY, (double) timex->ppsfreq / 65536e6);
  table_set_real (table, TABLE_NODE, PPS_STABILITY, (double) timex->stabil / 65536e6);
  table_set_int (table, TABLE_NODE, PPS_JITTER, timex->status & STA_NANO ? timex->jitter : timex->jitter * 1000);
  table_set_uint (table, TABLE_NODE, PPS_SHIFT, (uint64_t) timex->shift);
  table_set_uint (table, TABLE_NODE, PPS_JITTER_EXCEEDED, (uint64_t) timex->jitcnt);
  table_set_uint (table, TABLE_NODE, PPS_CALIBRATIONS, (uint64_t) timex->calcnt);
  table_set_uint (table, TABLE_NODE, PPS_ERRORS, (uint64_t) timex->errcnt);
  table_set_uint (table, TABLE_NODE, PPS_STABILITY_EXCEEDED, (uint64_t) timex->stbcnt);
}

static void *
timex_open (const struct sampler_context *context)
{
  struct timex_state *state = memory_new (1, sizeof *state);

  state->live = context->root[0] == '\0';
  return state;
}

static int
timex_sample (void *context, struct table *table)
{
  const struct timex_state *state = context;
  struct timex timex = { .modes = 0 };
  int result;

  if (!state->live)
    return 0;
  result = adjtimex (&timex);
  if (result < 0)
    return table_complain (table, "adjtimex: %s", strerror (errno));
  table_set_uint (table, TABLE_NODE, SYNCHRONIZED, result != TIME_ERROR);
  table_set_int (table, TABLE_NODE, OFFSET, timex.status & STA_NANO ? timex.offset : timex.offset * 1000);
  table_set_uint (table, TABLE_NODE, ESTIMATED_ERROR, (uint64_t) timex.esterror * 1000);
  table_set_uint (table, TABLE_NODE, MAXIMUM_ERROR, (uint64_t) timex.maxerror * 1000);
  table_set_real (table, TABLE_NODE, FREQUENCY, 1 + (double) timex.freq / 65536e6);
  table_set_uint (table, TABLE_NODE, TICK, (uint64_t) timex.tick * 1000);
  table_set_int (table, TABLE_NODE, LOOP_TIME_CONSTANT, timex.constant);
  table_set_int (table, TABLE_NODE, TAI_OFFSET, (int64_t) timex.tai * 1000000000);
  table_set_uint (table, TABLE_NODE, STATUS, (uint64_t) timex.status);
  pps_set (table, &timex);
  return 0;
}

static void
timex_close (void *context)
{
  free (context);
}

const struct sampler sampler_timex = { &group, NULL, timex_open, timex_sample, timex_close, .optional = true };
