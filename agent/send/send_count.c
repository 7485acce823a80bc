/* See send_count.h. */
#include "agent/send/send_count.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/send/send_tables.h"
#include "synop/clock.h"
#include "synop/memory.h"

struct count {
  const struct metric_family **families; /* of each series */
  size_t count, room;
};

static void
add (void *context, const struct send_sample *sample)
{
  struct count *count = context;

  if (count->count == count->room) {
    count->room = count->room ? 2 * count->room : 256;
    count->families = memory_resize (count->families, count->room, sizeof (const struct metric_family *));
  }
  count->families[count->count++] = sample->series->family->public;
}

static void
sample_all (struct send_tables *tables, const struct schema *schema, struct sampling *sampling)
{
  struct sample sample;

  sampling_run (sampling, clock_monotonic (), &sample);
  for (size_t i = 0; i < sample.count; i++)
    for (size_t group = 0; group < schema->group_count; group++)
      if (schema->groups[group] == sample.tables[i]->group)
        table_copy (send_tables_next (tables, group), sample.tables[i]);
}

static int
compare (const void *one, const void *other)
{
  const struct metric_family *const *a = one, *const *b = other;

  return strcmp ((*a)->name, (*b)->name);
}

static void
put_row (struct buffer *out, const char *name, size_t series, double price)
{
  buffer_printf (out, "%-48s  %9zu", name, series);
  if (price >= 0)
    buffer_printf (out, "  %13.2f", (double) series * price);
  buffer_add_string (out, "\n");
}

static void
put_table (struct buffer *out, const struct count *count, double price)
{
  buffer_printf (out, "%-48s  %9s%s\n", "NAME", "SERIES", price >= 0 ? "   COST A MONTH" : "");
  for (size_t at = 0, same; at < count->count; at += same) {
    for (same = 1; at + same < count->count && compare (&count->families[at], &count->families[at + same]) == 0;)
      same++;
    put_row (out, count->families[at]->name, same, price);
  }
  put_row (out, "all", count->count, price);
}

int
send_count (const struct send_settings *settings, const char *node, const struct schema *schema,
            struct sampling *sampling, int64_t period_ns, double price, struct buffer *out, struct error *error)
{
  struct cloudwatch *cloudwatch = cloudwatch_create (&settings->cloudwatch, settings->url);
  struct send_tables *tables = send_tables_create (settings, node, cloudwatch, schema, error);
  struct count count = { 0 };

  if (tables) {
    sampling_start (sampling, clock_monotonic ());
    sample_all (tables, schema, sampling);
    nanosleep (&(struct timespec){ period_ns / NS_PER_S, period_ns % NS_PER_S }, NULL);
    sampling_start (sampling, clock_monotonic ());
    sample_all (tables, schema, sampling);
    send_tables_give (tables, clock_wall (), add, &count);
    if (count.count > 1)
      qsort (count.families, count.count, sizeof (const struct metric_family *), compare);
    put_table (out, &count, price);
  }
  send_tables_destroy (tables);
  cloudwatch_destroy (cloudwatch);
  free (count.families);
  return tables ? 0 : -1;
}
