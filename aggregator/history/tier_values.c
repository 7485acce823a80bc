/* See tier_values.h. */
#include "aggregator/history/tier_values.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_number.h"

enum { STREAM_MIN, STREAM_MAX, STREAM_SUM, STREAM_REST };
enum { MIN_ONE, MIN_MIDDLE, MIN_STEPS, MIN_PLANS };
enum { MAX_NONE, MAX_ONE, MAX_RANGES, MAX_STEPS, MAX_MIDDLE, MAX_PLANS };
enum { SUM_NONE, SUM_ONE, SUM_ABOVE, SUM_STEPS, SUM_PARTS, SUM_PLANS };
#define PLANS (MIN_PLANS * MAX_PLANS * SUM_PLANS)
#define PLAN_SAME 255

#define SMALL 16   /* numbers that are tokens themselves */
#define SHORTEST 5 /* length of others in bits, at least */

static unsigned
length_of (uint64_t value)
{
  return value ? 64 - (unsigned) __builtin_clzll (value) : 0;
}

/* ---- numbers out ---- */

static void
put_bits (struct values_out *out, uint64_t bits, unsigned count)
{
  while (count > 0) {
    unsigned now = count < 32 ? count : 32;
    out->held |= (bits & ((UINT64_C (1) << now) - 1)) << out->held_count;
    out->held_count += now;
    bits >>= now;
    count -= now;
    for (; out->held_count >= 8; out->held_count -= 8, out->held >>= 8)
      buffer_add (&out->bits, &(uint8_t){ (uint8_t) out->held }, 1);
  }
}

static void
put (struct values_out *out, uint64_t number)
{
  uint8_t token = (uint8_t) number;
  unsigned rest = 0;

  if (number >= SMALL) {
    rest = length_of (number) - 3;
    token = (uint8_t) (SMALL + 4 * (rest + 3 - SHORTEST) + (number >> rest & 3));
  }
  buffer_add (&out->tokens, &token, 1);
  put_bits (out, number, rest);
}

/* ---- what is shortest ---- */

static int
compare_numbers (const void *one, const void *other)
{
  int64_t a = *(const int64_t *) one, b = *(const int64_t *) other;

  return (a > b) - (a < b);
}

static uint64_t
middle_of (const uint64_t *numbers, size_t count)
{
  uint64_t sorted[VALUES_MOST];

  memcpy (sorted, numbers, count * sizeof sorted[0]);
  qsort (sorted, count, sizeof sorted[0], compare_numbers);
  return sorted[count / 2];
}

/* Some bits more than the number has are those of its token. */
static unsigned
cost_of (uint64_t number)
{
  return number ? length_of (number) + 2 : 0;
}

static unsigned
cost_to (const uint64_t *numbers, size_t count, uint64_t base)
{
  unsigned cost = cost_of (zigzag (base));

  for (size_t i = 0; i < count; i++)
    cost += cost_of (zigzag (numbers[i] - base));
  return cost;
}

static unsigned
cost_above (const uint64_t *numbers, size_t count, uint64_t base)
{
  unsigned cost = cost_of (base);

  for (size_t i = 0; i < count; i++)
    cost += cost_of (numbers[i] - base);
  return cost;
}

static unsigned
cost_of_steps (const uint64_t *numbers, size_t count)
{
  unsigned cost = 0;

  for (size_t i = 0; i < count; i++)
    cost += cost_of (zigzag (numbers[i] - (i ? numbers[i - 1] : 0)));
  return cost;
}

static void
put_to (struct values_out *out, const uint64_t *numbers, size_t count, uint64_t base)
{
  put (out, zigzag (base));
  for (size_t i = 0; i < count; i++)
    put (out, zigzag (numbers[i] - base));
}

static void
put_above (struct values_out *out, const uint64_t *numbers, size_t count, uint64_t base)
{
  put (out, base);
  for (size_t i = 0; i < count; i++)
    put (out, numbers[i] - base);
}

static void
put_steps (struct values_out *out, const uint64_t *numbers, size_t count)
{
  for (size_t i = 0; i < count; i++)
    put (out, zigzag (numbers[i] - (i ? numbers[i - 1] : 0)));
}

struct column {
  uint64_t numbers[VALUES_MOST];
  bool same, below; /* all are; one is below 0 */
  uint64_t least;   /* as unsigned */
};

static void
column_look (struct column *column, size_t count)
{
  column->same = true;
  column->below = false;
  column->least = UINT64_MAX;
  for (size_t i = 0; i < count; i++) {
    uint64_t number = column->numbers[i];
    column->same = column->same && number == column->numbers[0];
    column->below = column->below || number >> 63;
    column->least = number < column->least ? number : column->least;
  }
}

static unsigned
write_min (struct values_out *out, const struct column *min, size_t count)
{
  uint64_t middle;

  if (min->same) {
    put (out, zigzag (min->numbers[0]));
    return MIN_ONE;
  }
  middle = middle_of (min->numbers, count);
  if (cost_to (min->numbers, count, middle) <= cost_of_steps (min->numbers, count)) {
    put_to (out, min->numbers, count, middle);
    return MIN_MIDDLE;
  }
  put_steps (out, min->numbers, count);
  return MIN_STEPS;
}

static unsigned
write_max (struct values_out *out, const struct column *max, const struct column *range, size_t count)
{
  unsigned ranges, steps, to;
  uint64_t middle;

  if (range->same && range->numbers[0] == 0)
    return MAX_NONE;
  if (range->same) {
    put (out, range->numbers[0]);
    return MAX_ONE;
  }
  middle = middle_of (max->numbers, count);
  ranges = cost_above (range->numbers, count, range->least);
  steps = cost_of_steps (max->numbers, count);
  to = cost_to (max->numbers, count, middle);
  if (ranges <= steps && ranges <= to) {
    put_above (out, range->numbers, count, range->least);
    return MAX_RANGES;
  }
  if (steps <= to) {
    put_steps (out, max->numbers, count);
    return MAX_STEPS;
  }
  put_to (out, max->numbers, count, middle);
  return MAX_MIDDLE;
}

/* What S is of ranges; UINT_MAX: it is none. */
static unsigned
cost_of_parts (const struct column *above, const struct column *range, size_t count)
{
  unsigned cost = 0;

  for (size_t i = 0; i < count; i++) {
    uint64_t whole = range->numbers[i], part = above->numbers[i];
    if (whole == 0 && part != 0)
      return UINT32_MAX;
    cost += whole ? cost_of (part / whole) + cost_of (part % whole) : 0;
  }
  return cost;
}

static unsigned
write_sum (struct values_writer *writer, const struct column *above, const struct column *range, size_t count)
{
  struct values_out *out = &writer->streams[STREAM_SUM];
  unsigned least;

  if (above->same && above->numbers[0] == 0)
    return SUM_NONE;
  if (above->same) {
    put (out, zigzag (above->numbers[0]));
    return SUM_ONE;
  }
  least = cost_above (above->numbers, count, above->least);
  if (above->below || cost_of_steps (above->numbers, count) < least) {
    put_steps (out, above->numbers, count);
    return SUM_STEPS;
  }
  if (least <= cost_of_parts (above, range, count)) {
    put_above (out, above->numbers, count, above->least);
    return SUM_ABOVE;
  }
  for (size_t i = 0; i < count; i++)
    if (range->numbers[i]) {
      put (out, above->numbers[i] / range->numbers[i]);
      put (&writer->streams[STREAM_REST], above->numbers[i] % range->numbers[i]);
    }
  return SUM_PARTS;
}

void
values_write (struct values_writer *writer, const struct values *values, size_t count)
{
  struct column min, max, range, above;
  unsigned plan;

  for (size_t i = 0; i < count; i++) {
    min.numbers[i] = values[i].min;
    range.numbers[i] = values[i].range;
    max.numbers[i] = values[i].min + values[i].range;
    above.numbers[i] = values[i].above;
  }
  column_look (&min, count);
  column_look (&range, count);
  column_look (&above, count);
  plan = write_min (&writer->streams[STREAM_MIN], &min, count);
  plan += MIN_PLANS * write_max (&writer->streams[STREAM_MAX], &max, &range, count);
  plan += MIN_PLANS * MAX_PLANS * write_sum (writer, &above, &range, count);
  buffer_add (&writer->plans, &(uint8_t){ (uint8_t) plan }, 1);
}

void
values_write_same (struct values_writer *writer, uint64_t before)
{
  put (&writer->streams[STREAM_MIN], before);
  buffer_add (&writer->plans, &(uint8_t){ PLAN_SAME }, 1);
}

void
values_clear (struct values_writer *writer)
{
  buffer_clear (&writer->plans);
  for (size_t i = 0; i < VALUES_STREAMS; i++) {
    struct values_out *out = &writer->streams[i];
    buffer_clear (&out->tokens);
    buffer_clear (&out->bits);
    out->held = out->held_count = 0;
  }
}

void
values_free (struct values_writer *writer)
{
  buffer_free (&writer->plans);
  for (size_t i = 0; i < VALUES_STREAMS; i++) {
    buffer_free (&writer->streams[i].tokens);
    buffer_free (&writer->streams[i].bits);
  }
}

void
values_end (struct values_writer *writer, struct buffer *front, struct buffer *back)
{
  varint_write (front, writer->plans.length);
  for (size_t i = 0; i < VALUES_STREAMS; i++) {
    struct values_out *out = &writer->streams[i];
    put_bits (out, 0, (8 - out->held_count) % 8);
    varint_write (front, out->tokens.length);
    varint_write (front, out->bits.length);
    buffer_add (back, out->bits.data, out->bits.length);
  }
  buffer_add (front, writer->plans.data, writer->plans.length);
  for (size_t i = 0; i < VALUES_STREAMS; i++)
    buffer_add (front, writer->streams[i].tokens.data, writer->streams[i].tokens.length);
}

/* ---- reading ---- */

int
values_begin (struct values_reader *reader, struct wire *front, struct wire *back)
{
  uint64_t plans = varint_read (front, UINT32_MAX), tokens[VALUES_STREAMS], bits[VALUES_STREAMS];

  for (size_t i = 0; i < VALUES_STREAMS; i++) {
    tokens[i] = varint_read (front, UINT32_MAX);
    bits[i] = varint_read (front, UINT32_MAX);
  }
  if (front->bad || back->bad || plans > (uint64_t) (front->end - front->at))
    return -1;
  reader->plans = front->at;
  reader->plans_end = front->at += plans;
  for (size_t i = 0; i < VALUES_STREAMS; i++) {
    if (tokens[i] > (uint64_t) (front->end - front->at) || bits[i] > (uint64_t) (back->end - back->at))
      return -1;
    reader->streams[i] = (struct values_in){
      .token = front->at, .tokens_end = front->at + tokens[i], .bits = back->at, .bits_end = back->at + bits[i]
    };
    front->at += tokens[i];
    back->at += bits[i];
  }
  return 0;
}

/* Has 32 bits or more behind it, or all that there are. */
static inline void
refill (struct values_in *in)
{
  uint32_t word;

  if (in->held_count >= 32)
    return;
  if (in->bits_end - in->bits >= (ptrdiff_t) sizeof word) {
    memcpy (&word, in->bits, sizeof word);
    in->held |= (uint64_t) le32toh (word) << in->held_count;
    in->held_count += 32;
    in->bits += sizeof word;
    return;
  }
  for (; in->bits < in->bits_end && in->held_count <= 56; in->held_count += 8)
    in->held |= (uint64_t) *in->bits++ << in->held_count;
}

static inline uint64_t
get_bits (struct values_in *in, unsigned count)
{
  uint64_t bits;

  refill (in);
  if (in->held_count < count) {
    in->bad = true;
    return 0;
  }
  bits = in->held & ((UINT64_C (1) << count) - 1);
  in->held >>= count;
  in->held_count -= count;
  return bits;
}

static inline uint64_t
get (struct values_in *in)
{
  unsigned token, rest;
  uint64_t low;

  if (in->token == in->tokens_end) {
    in->bad = true;
    return 0;
  }
  token = *in->token++;
  if (token < SMALL)
    return token;
  token -= SMALL;
  rest = token / 4 + SHORTEST - 3;
  low = get_bits (in, rest < 32 ? rest : 32);
  if (rest > 32)
    low |= get_bits (in, rest - 32) << 32;
  return (uint64_t) (4 | (token & 3)) << rest | low;
}

static void
read_min (struct values_in *in, unsigned plan, struct values *values, size_t count)
{
  uint64_t base = plan == MIN_STEPS ? 0 : unzigzag (get (in));

  for (size_t i = 0; i < count; i++) {
    values[i].min = plan == MIN_ONE ? base : base + unzigzag (get (in));
    base = plan == MIN_STEPS ? values[i].min : base;
  }
}

static void
read_max (struct values_in *in, unsigned plan, struct values *values, size_t count)
{
  uint64_t base = plan == MAX_NONE || plan == MAX_STEPS ? 0 : get (in), max;

  base = plan == MAX_MIDDLE ? unzigzag (base) : base;
  for (size_t i = 0; i < count; i++) {
    if (plan < MAX_STEPS) {
      values[i].range = plan == MAX_RANGES ? base + get (in) : base;
      continue;
    }
    max = base + unzigzag (get (in));
    values[i].range = max - values[i].min;
    base = plan == MAX_STEPS ? max : base;
  }
}

static void
read_sum (struct values_in *in, struct values_in *rest, unsigned plan, struct values *values, size_t count)
{
  uint64_t base = plan == SUM_ONE || plan == SUM_ABOVE ? get (in) : 0;

  base = plan == SUM_ONE ? unzigzag (base) : base;
  for (size_t i = 0; i < count; i++) {
    uint64_t range = values[i].range;
    if (plan == SUM_PARTS)
      values[i].above = range ? get (in) * range + get (rest) : 0;
    else if (plan == SUM_STEPS)
      base = values[i].above = base + unzigzag (get (in));
    else
      values[i].above = plan == SUM_ABOVE ? base + get (in) : base;
  }
}

int
values_read (struct values_reader *reader, struct values *values, size_t count, uint64_t *before)
{
  struct values_in *streams = reader->streams;
  unsigned plan;
  bool bad = false;

  *before = 0;
  if (reader->plans == reader->plans_end)
    return -1;
  plan = *reader->plans++;
  if (plan == PLAN_SAME) {
    *before = get (&streams[STREAM_MIN]);
    return streams[STREAM_MIN].bad || *before == 0 ? -1 : 0;
  }
  if (plan >= PLANS)
    return -1;
  read_min (&streams[STREAM_MIN], plan % MIN_PLANS, values, count);
  read_max (&streams[STREAM_MAX], plan / MIN_PLANS % MAX_PLANS, values, count);
  read_sum (&streams[STREAM_SUM], &streams[STREAM_REST], plan / (MIN_PLANS * MAX_PLANS), values, count);
  for (size_t i = 0; i < VALUES_STREAMS; i++)
    bad = bad || streams[i].bad;
  return bad ? -1 : 0;
}
