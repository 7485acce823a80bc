/* What the node's energy is made of; see energy.h.
 *
 * A sensor of the whole machine and the counters of parts are not read at one instant, and sensors lag: so OTHER is the
 * most by which the whole has been ahead of the parts, over all the time since both are known. What one reading says too
 * much is taken back by the next ones, and nothing ever falls. */
#include "agent/energy/energy.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_seen.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/memory.h"

#define SAME_INSTANT (20 * NS_PER_MS)
#define VALID_NS (30 * NS_PER_S) /* of what GPUs said, beside three pauses between their readings */
#define PAUSE_MAX_NS (600 * NS_PER_S)

struct energy_options {
  bool ipmi;
};

static const struct option option_rows[] = {
  { "energy", "ipmi", "energy-ipmi", OPTION_BOOLEAN, offsetof (struct energy_options, ipmi), "no",
    .help =
        "The power of the whole machine is asked of its management controller (DCMI, by /dev/ipmi0) every 10 s, where "
        "no sensor of the kernel has it. It needs the right to read that device." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct energy_options);

/* What of a source's total is counted already. */
struct follower {
  const char *source;
  uint64_t last_uj;
};

struct gpu_counted {
  char uuid[96];
  uint64_t energy_mj, power_mw;
};

struct energy_state {
  pthread_mutex_t lock;
  struct rapl rapl;
  int64_t read_ns;
  struct meter_sum meters[METER_KINDS];
  struct follower cpu, whole;
  uint64_t whole_uj; /* what the sensor of the whole counted, on the scale of the parts' sum */
  struct energy_view view;

  struct gpus *gpus;
  struct gpu_view seen;
  int64_t gpus_ns, gpus_until_ns; /* of the last reading of GPUs */
  struct gpu_counted *counted;
  size_t counted_count, counted_room;
};

static void
energy_start (void *service_state, const struct sampler_context *context)
{
  struct energy *energy = service_state;
  struct energy_state *state = memory_new (1, sizeof *state);

  pthread_mutex_init (&state->lock, NULL);
  rapl_init (&state->rapl, context->root, context->root[0] ? NULL : &rapl_kernel);
  for (size_t i = 0; i < ENERGY_PARTS; i++)
    state->view.parts[i].watts = nan ("");
  energy->state = state;
}

static void
energy_stop (void *service_state)
{
  struct energy_state *state = ((struct energy *) service_state)->state;

  if (state->gpus)
    service_leave (state->gpus);
  rapl_free (&state->rapl);
  gpu_view_free (&state->seen);
  free (state->counted);
  pthread_mutex_destroy (&state->lock);
  free (state);
}

bool
energy_asks_ipmi (const struct sampler_context *context)
{
  const struct energy_options *options = context_options (context, &own_options);

  return options->ipmi && !context->root[0];
}

const struct service service_energy = {
  .options = &own_options, .size = sizeof (struct energy), .start = energy_start, .stop = energy_stop
};

struct energy *
energy_take (const struct sampler_context *context)
{
  struct energy *energy = service_take (context, &service_energy);
  struct energy_state *state = energy->state;

  pthread_mutex_lock (&state->lock);
  if (!state->gpus) /* a service may take no other when it starts */
    state->gpus = service_take (context, &service_gpus);
  pthread_mutex_unlock (&state->lock);
  return energy;
}

/* ---- CPUs and memory ---- */

static void
part_set (struct energy_state *state, enum energy_part part, const char *source, uint64_t grown_uj, double watts)
{
  struct energy_of_part *to = &state->view.parts[part];

  to->known = true;
  to->source = source;
  to->total_uj += grown_uj;
  to->watts = watts;
}

/* By how much a total has grown since it was last looked at; 0 when it is another source's. */
static uint64_t
follow (struct follower *follower, const char *source, uint64_t total_uj)
{
  uint64_t grown = follower->source == source && total_uj > follower->last_uj ? total_uj - follower->last_uj : 0;

  follower->source = source;
  follower->last_uj = total_uj;
  return grown;
}

static bool
sum_is_valid (const struct meter_sum *sum, int64_t now_ns)
{
  return sum->known && now_ns < sum->until_ns;
}

/* False: no domain of that kind has a value. While one of several has none the part is not known, and catches up with what
 * that one counted when it has. */
static bool
domains_take (struct energy_state *state, enum rapl_kind kind, enum energy_part part)
{
  uint64_t grown = 0;
  double watts = 0;
  bool known = false, lacks = false;

  for (size_t i = 0; i < state->rapl.count; i++) {
    const struct rapl_domain *domain = &state->rapl.domains[i];

    if (domain->kind != kind)
      continue;
    lacks |= !domain->known;
    known |= domain->known;
    grown += domain->grown_uj;
    watts += domain->watts;
  }
  if (known)
    part_set (state, part, "RAPL", grown, watts);
  state->view.parts[part].known &= !lacks;
  return known;
}

static void
cpus_take (struct energy_state *state, int64_t now_ns)
{
  const struct meter_sum *sum = &state->meters[METER_CPU];

  domains_take (state, RAPL_DRAM, ENERGY_DRAM);
  if (domains_take (state, RAPL_PACKAGE, ENERGY_CPU))
    state->cpu.source = NULL;
  else if (sum_is_valid (sum, now_ns))
    part_set (state, ENERGY_CPU, sum->source, follow (&state->cpu, sum->source, sum->total_uj), sum->watts);
}

/* ---- GPUs ---- */

static const struct gpu_counted *
counted_find (const struct energy_state *state, const struct seen_gpu *gpu, size_t index)
{
  if (index < state->counted_count && strcmp (state->counted[index].uuid, gpu->uuid) == 0)
    return &state->counted[index];
  for (size_t i = 0; i < state->counted_count; i++)
    if (strcmp (state->counted[i].uuid, gpu->uuid) == 0)
      return &state->counted[i];
  return NULL;
}

/* Since the reading before, by its counter, else by the power that it said. A counter that fell was reset. */
static uint64_t
gpu_growth_uj (const struct gpu_counted *before, const struct seen_gpu *gpu, double seconds)
{
  if (!before)
    return 0;
  if (gpu->energy_mj != UINT64_MAX)
    return before->energy_mj != UINT64_MAX && gpu->energy_mj >= before->energy_mj
               ? (gpu->energy_mj - before->energy_mj) * 1000
               : 0;
  return gpu->power_mw != UINT64_MAX ? (uint64_t) ((double) gpu->power_mw * 1000 * seconds) : 0;
}

/* A new reading of them. */
static void
gpus_count (struct energy_state *state, const struct gpu_view *seen)
{
  double seconds = (double) (seen->put_ns - state->gpus_ns) / (double) NS_PER_S, watts = 0;
  int64_t pause_ns = state->gpus_ns ? seen->put_ns - state->gpus_ns : 0;
  uint64_t grown = 0;
  bool known = false, drawn = true;

  for (size_t i = 0; i < seen->gpu_count; i++) {
    const struct seen_gpu *gpu = &seen->gpus[i];

    if (gpu->energy_mj == UINT64_MAX && gpu->power_mw == UINT64_MAX)
      continue;
    known = true;
    if (pause_ns < PAUSE_MAX_NS)
      grown += gpu_growth_uj (counted_find (state, gpu, i), gpu, seconds);
    drawn &= gpu->power_mw != UINT64_MAX;
    watts += gpu->power_mw != UINT64_MAX ? (double) gpu->power_mw / 1000 : 0;
  }
  array_reserve (state->counted, state->counted_room, seen->gpu_count);
  state->counted_count = seen->gpu_count;
  for (size_t i = 0; i < seen->gpu_count; i++) {
    memcpy (state->counted[i].uuid, seen->gpus[i].uuid, sizeof state->counted[i].uuid);
    state->counted[i].energy_mj = seen->gpus[i].energy_mj;
    state->counted[i].power_mw = seen->gpus[i].power_mw;
  }
  state->gpus_ns = seen->put_ns;
  state->gpus_until_ns = known ? seen->put_ns + VALID_NS + 3 * pause_ns : 0;
  if (known)
    part_set (state, ENERGY_GPU, "GPU driver", grown,
              drawn      ? watts
              : pause_ns ? (double) grown / 1e6 / seconds
                         : nan (""));
}

static void
gpus_take (struct energy_state *state, int64_t now_ns)
{
  gpu_view_take (&state->seen, state->gpus->seen);
  if (state->seen.put_ns != state->gpus_ns)
    gpus_count (state, &state->seen);
  state->view.parts[ENERGY_GPU].known = now_ns < state->gpus_until_ns;
}

/* ---- the whole machine ---- */

static const struct rapl_domain *
psys_find (const struct energy_state *state)
{
  for (size_t i = 0; i < state->rapl.count; i++)
    if (state->rapl.domains[i].kind == RAPL_PSYS)
      return state->rapl.domains[i].known ? &state->rapl.domains[i] : NULL;
  return NULL;
}

/* The outermost that there is. NULL: none. */
static const char *
whole_find (const struct energy_state *state, int64_t now_ns, uint64_t *total_uj, double *watts)
{
  const struct rapl_domain *psys = psys_find (state);
  const struct meter_sum *sum = &state->meters[METER_NODE];

  if (!sum_is_valid (sum, now_ns) && psys) {
    *total_uj = psys->total_uj;
    *watts = psys->watts;
    return "RAPL psys";
  }
  if (!sum_is_valid (sum, now_ns))
    sum = &state->meters[METER_MODULES];
  if (!sum_is_valid (sum, now_ns))
    return NULL;
  *total_uj = sum->total_uj;
  *watts = sum->watts;
  return sum->source;
}

/* Where the whole is newly known it begins at what is counted already. */
static void
whole_take (struct energy_state *state, int64_t now_ns)
{
  struct energy_of_part *parts = state->view.parts;
  uint64_t total_uj, sum_uj = 0;
  double watts = (double) NAN, sum_watts = 0;
  const char *source = whole_find (state, now_ns, &total_uj, &watts);

  for (size_t i = 0; i < ENERGY_OTHER; i++) {
    sum_uj += parts[i].total_uj;
    sum_watts += parts[i].known && !isnan (parts[i].watts) ? parts[i].watts : 0;
  }
  if (source && state->whole.source == source)
    state->whole_uj += follow (&state->whole, source, total_uj);
  else {
    state->whole_uj = sum_uj + parts[ENERGY_OTHER].total_uj;
    state->whole = (struct follower){ source, source ? total_uj : 0 };
  }
  state->view.whole = source;
  parts[ENERGY_OTHER].known = source != NULL;
  if (!source)
    return;
  if (state->whole_uj > sum_uj + parts[ENERGY_OTHER].total_uj)
    parts[ENERGY_OTHER].total_uj = state->whole_uj - sum_uj;
  parts[ENERGY_OTHER].source = source;
  parts[ENERGY_OTHER].watts = isnan (watts) ? watts : fmax (watts - sum_watts, 0);
}

/* ---- for groups ---- */

/* To be called with the lock held. */
static void
update (struct energy_state *state, int64_t now_ns)
{
  if (state->read_ns != 0 && now_ns - state->read_ns < SAME_INSTANT)
    return;
  state->read_ns = now_ns;
  for (size_t i = 0; i < ENERGY_PARTS; i++)
    state->view.parts[i].known = false;
  rapl_read (&state->rapl, now_ns);
  cpus_take (state, now_ns);
  gpus_take (state, now_ns);
  whole_take (state, now_ns);
}

void
energy_look (struct energy *energy, int64_t now_ns, struct energy_view *view)
{
  struct energy_state *state = energy->state;

  pthread_mutex_lock (&state->lock);
  update (state, now_ns);
  *view = state->view;
  pthread_mutex_unlock (&state->lock);
}

void
energy_put_meters (struct energy *energy, const struct meter_sum sums[METER_KINDS])
{
  pthread_mutex_lock (&energy->state->lock);
  memcpy (energy->state->meters, sums, sizeof energy->state->meters);
  pthread_mutex_unlock (&energy->state->lock);
}

const struct rapl *
energy_rapl_begin (struct energy *energy, int64_t now_ns)
{
  pthread_mutex_lock (&energy->state->lock);
  update (energy->state, now_ns);
  return &energy->state->rapl;
}

void
energy_rapl_end (struct energy *energy)
{
  pthread_mutex_unlock (&energy->state->lock);
}

void
energy_rapl_absent (const struct sampler_context *context, char *text, size_t size)
{
  struct rapl rapl;

  rapl_init (&rapl, context->root, context->root[0] ? NULL : &rapl_kernel);
  rapl_absent (&rapl, text, size);
  rapl_free (&rapl);
}

void
energy_absent (const struct sampler_context *context, char *text, size_t size)
{
  struct meters meters;
  char gpus[512];
  bool sensors;

  energy_rapl_absent (context, text, size);
  meters_init (&meters, context->root, NULL);
  sensors = meters_exist (&meters);
  meters_free (&meters);
  if (!text[0])
    return;
  gpus_absent (context, gpus, sizeof gpus);
  if (sensors || energy_asks_ipmi (context) || !gpus[0])
    text[0] = '\0';
}
