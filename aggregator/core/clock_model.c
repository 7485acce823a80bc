/* See clock_model.h for what is computed and why. */
#include "aggregator/core/clock_model.h"

#include <math.h>
#include <string.h>

/* No oscillator is worse than 500 ppm, and the kernel slews a clock by at most another 500 ppm. */
#define FREQUENCY_MAX 1e-3
/* How fast a frequency may change, in 1/s: 1 ppm in 1000 s, as quartz does when a machine warms up. */
#define WANDER 1e-9
/* After a step the frequency from before is kept, give or take this. */
#define FREQUENCY_DOUBT 1e-6
/* A thread that is preempted between reading the clock and the socket only loosens a limit. But clocks are read in
 * whole ns and frequencies are rounded, so limits may cross by this much. */
#define ROUNDING_NS 200.0
/* 18 years: differences of differences of such times do not overflow. */
#define TIME_MAX (INT64_MAX / 16)

void
clock_model_init (struct clock_model *model)
{
  memset (model, 0, sizeof *model);
  model->frequency_low = -FREQUENCY_MAX;
  model->frequency_high = FREQUENCY_MAX;
}

static const struct clock_probe *
probe_at (const struct clock_model *model, size_t index)
{
  return &model->probes[(model->first + index) % CLOCK_MODEL_PROBES];
}

/* An upper limit says: offset at the reference <= value + frequency * age; a lower one: >=. The value includes the
 * slack for the age. Of the points (age, value) only those on the convex hull that faces the other limits can
 * matter: a handful of 64. */
struct limit {
  double age;   /* s, never negative */
  double value; /* ns, from the model's rough offset, so that a double holds it exactly enough */
};

struct limits {
  struct limit upper[CLOCK_MODEL_PROBES], lower[CLOCK_MODEL_PROBES]; /* oldest first */
  size_t uppers, lowers;
  double frequency_low, frequency_high; /* ns per s */
};

/* Adds a younger point to a hull: side 1 for uppers (the hull below them), -1 for lowers. */
static size_t
hull_add (struct limit *hull, size_t count, struct limit point, double side)
{
  while (count > 0 && hull[count - 1].age <= point.age) { /* of the same age: the tighter one stays */
    if ((hull[count - 1].value - point.value) * side <= 0)
      return count;
    count--;
  }
  while (count > 1) {
    struct limit a = hull[count - 2], b = hull[count - 1];
    double cross = (b.age - a.age) * (point.value - a.value) - (b.value - a.value) * (point.age - a.age);
    if (cross * side < 0) /* b is on the inner side of the line from a to the point: it is on the hull */
      break;
    count--;
  }
  hull[count] = point;
  return count + 1;
}

static struct limit
limit_make (int64_t node_ns, int64_t offset_ns, int64_t reference_ns, int64_t rough_ns, double side)
{
  double age = (double) (reference_ns - node_ns) * 1e-9;
  return (struct limit){ age, (double) (offset_ns - rough_ns) + side * WANDER * 1e9 / 2 * age * age };
}

/* The limits of the newest `count` probes as seen from `reference_ns`. */
static void
limits_collect (struct limits *limits, const struct clock_model *model, size_t count, int64_t reference_ns,
                int64_t rough_ns)
{
  for (size_t i = 0; i < count; i++) {
    const struct clock_probe *probe = probe_at (model, model->count - count + i);
    struct limit upper = limit_make (probe->t1, probe->t2 - probe->t1, reference_ns, rough_ns, 1);
    struct limit lower = limit_make (probe->t4, probe->t3 - probe->t4, reference_ns, rough_ns, -1);
    limits->uppers = hull_add (limits->upper, limits->uppers, upper, 1);
    limits->lowers = hull_add (limits->lower, limits->lowers, lower, -1);
  }
}

/* Narrows the interval of frequencies to those for which every lower limit lies below every upper one. False when
 * nothing is left of it. */
static bool
limits_narrow (struct limits *limits)
{
  for (size_t i = 0; i < limits->uppers; i++) {
    const struct limit *upper = &limits->upper[i];
    for (size_t j = 0; j < limits->lowers; j++) {
      const struct limit *lower = &limits->lower[j];
      double room = upper->value - lower->value + ROUNDING_NS;
      double span = lower->age - upper->age; /* frequency * span <= room */
      if (span > 0 && limits->frequency_high * span > room)
        limits->frequency_high = room / span;
      else if (span < 0 && limits->frequency_low * span > room)
        limits->frequency_low = room / span;
      else if (room < 0 && !(span > 0) && !(span < 0))
        return false;
    }
  }
  return limits->frequency_low <= limits->frequency_high;
}

static double
limits_upper (const struct limits *limits, double frequency)
{
  double least = HUGE_VAL;
  for (size_t i = 0; i < limits->uppers; i++) {
    double value = limits->upper[i].value + frequency * limits->upper[i].age;
    least = value < least ? value : least;
  }
  return least;
}

static double
limits_lower (const struct limits *limits, double frequency)
{
  double greatest = -HUGE_VAL;
  for (size_t i = 0; i < limits->lowers; i++) {
    double value = limits->lower[i].value + frequency * limits->lower[i].age;
    greatest = value > greatest ? value : greatest;
  }
  return greatest;
}

/* The estimate of the frequency: the middle of the possible ones, after half of the room that no limit reaches (the
 * delay that every packet has) was taken away. Without that a long path would leave frequencies open that no probe
 * rules out; with all of it taken away three probes alone would decide. */
static double
limits_frequency (const struct limits *limits)
{
  double frequency = (limits->frequency_low + limits->frequency_high) / 2;
  double width = limits_upper (limits, frequency) - limits_lower (limits, frequency);
  if (width <= 0)
    return frequency;
  struct limits inner = *limits;
  for (size_t i = 0; i < inner.uppers; i++)
    inner.upper[i].value -= width / 4;
  for (size_t i = 0; i < inner.lowers; i++)
    inner.lower[i].value += width / 4;
  return limits_narrow (&inner) ? (inner.frequency_low + inner.frequency_high) / 2 : frequency;
}

/* Fits the newest `count` probes under frequencies within [low, high] (s/s). False when no line keeps them. */
static bool
model_fit (struct clock_model *model, size_t count, double low, double high)
{
  const struct clock_probe *newest = probe_at (model, model->count - 1);
  int64_t reference = newest->t4;
  int64_t rough = newest->t3 - newest->t4;
  struct limits limits = { .frequency_low = low * 1e9, .frequency_high = high * 1e9 };
  limits_collect (&limits, model, count, reference, rough);
  if (!limits_narrow (&limits))
    return false;
  double frequency = limits_frequency (&limits);
  double middle = (limits_upper (&limits, frequency) + limits_lower (&limits, frequency)) / 2;
  double most = limits_upper (&limits, limits.frequency_high); /* ages are positive: it grows with the frequency */
  double least = limits_lower (&limits, limits.frequency_low);
  model->reference_ns = reference;
  model->offset_ns = rough + (int64_t) llround (middle);
  model->half_width_ns = fmax (fmax (most - middle, middle - least), 0);
  model->frequency = frequency * 1e-9;
  model->frequency_low = limits.frequency_low * 1e-9;
  model->frequency_high = limits.frequency_high * 1e-9;
  model->frequency_known = count > 1;
  return true;
}

static bool
probe_is_sane (const struct clock_model *model, const struct clock_probe *probe)
{
  const int64_t times[] = { probe->t1, probe->t2, probe->t3, probe->t4 };
  for (int i = 0; i < 4; i++)
    if (times[i] > TIME_MAX || times[i] < -TIME_MAX)
      return false;
  if (probe->t4 < probe->t1 || probe->t3 < probe->t2)
    return false;
  int64_t away = probe->t4 - probe->t1, there = probe->t3 - probe->t2;
  /* The aggregator's part of the exchange lies within the node's, give or take 1000 ppm, the worst of two clocks. */
  if (there > away + away / 500 + 1000)
    return false;
  if (model->count == 0)
    return true;
  const struct clock_probe *last = probe_at (model, model->count - 1);
  return probe->t1 >= last->t1 && probe->t4 >= last->t4; /* the hulls want them in order */
}

static void
probes_push (struct clock_model *model, const struct clock_probe *probe)
{
  if (model->count == CLOCK_MODEL_PROBES) {
    model->first = (model->first + 1) % CLOCK_MODEL_PROBES;
    model->count--;
  }
  model->probes[(model->first + model->count) % CLOCK_MODEL_PROBES] = *probe;
  model->count++;
}

static void
probes_keep (struct clock_model *model, size_t newest)
{
  model->first = (model->first + model->count - newest) % CLOCK_MODEL_PROBES;
  model->count = newest;
}

enum clock_verdict
clock_model_add (struct clock_model *model, const struct clock_probe *probe)
{
  if (!probe_is_sane (model, probe))
    return CLOCK_REFUSED;
  bool had_frequency = model->frequency_known;
  double low = model->frequency_low - FREQUENCY_DOUBT, high = model->frequency_high + FREQUENCY_DOUBT;
  probes_push (model, probe);
  if (model_fit (model, model->count, -FREQUENCY_MAX, FREQUENCY_MAX))
    return CLOCK_FITS;
  /* The newest probes that one line fits: half of them, a quarter...; a changed frequency shows in the oldest first. */
  for (size_t keep = model->count / 2; keep > 1; keep /= 2)
    if (model_fit (model, keep, -FREQUENCY_MAX, FREQUENCY_MAX)) {
      probes_keep (model, keep);
      return CLOCK_FREQUENCY;
    }
  probes_keep (model, 1);
  if (!had_frequency || !model_fit (model, 1, fmax (low, -FREQUENCY_MAX), fmin (high, FREQUENCY_MAX)))
    model_fit (model, 1, -FREQUENCY_MAX, FREQUENCY_MAX);
  return CLOCK_STEPPED;
}

static double
drifted_ns (const struct clock_model *model, int64_t node_ns)
{
  return model->frequency * (double) (node_ns - model->reference_ns);
}

int64_t
clock_model_cluster_ns (const struct clock_model *model, int64_t node_ns)
{
  return node_ns + model->offset_ns + (int64_t) llround (drifted_ns (model, node_ns));
}

int64_t
clock_model_node_ns (const struct clock_model *model, int64_t cluster_ns)
{
  int64_t since = cluster_ns - model->offset_ns - model->reference_ns;
  return model->reference_ns + (int64_t) llround ((double) since / (1 + model->frequency));
}

int64_t
clock_model_bound_ns (const struct clock_model *model, int64_t node_ns)
{
  double away = fabs ((double) (node_ns - model->reference_ns)) * 1e-9;
  double doubt = fmax (model->frequency_high - model->frequency, model->frequency - model->frequency_low) * 1e9;
  double bound = model->half_width_ns + doubt * away + WANDER * 1e9 / 2 * away * away;
  return (int64_t) fmin (bound, 9e18);
}
