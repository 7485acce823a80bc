/* Without an aggregator: this node's report as JSON lines; see standalone.h.
 *
 * A first sample is taken at once and not shown, since counters show their change. While a reader is slow no samples
 * are taken: the next line covers the whole time since the last one, so nothing is queued and nothing is lost. */
#include "agent/standalone.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/output.h"
#include "agent/sampling/footprint.h"
#include "synop/clock.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "synop/report.h"

struct standalone {
  const struct standalone_options *options;
  struct loop *loop;
  struct sampling *sampling;
  struct loop_timer *timer;
  struct output *output;
  uint64_t lines;
  struct report_group *shown; /* for each group: what the next line shows */
  struct table *before;       /* for each group: the last table without an error that was shown */
  size_t count;
  struct json json;
  int failure; /* errno of the output */
};

static void
standalone_write (struct standalone *self, const struct sample *sample)
{
  struct json *json = &self->json;
  char session[20];

  snprintf (session, sizeof session, "%016" PRIx64, self->options->session);
  json_clear (json);
  json_object (json);
  json_text (json_key (json, "type"), "node");
  json_time (json_key (json, "time"), sample->wall_ns);
  json_text (json_key (json, "node"), self->options->node);
  json_text (json_key (json, "session"), session);
  json_uint (json_key (json, "seq"), self->lines);
  json_object (json_key (json, "report"));
  report_write (json, self->shown, self->count, NULL, NULL);
  json_object_end (json);
  json_object_end (json);
  json_newline (json);
  if (self->options->shape)
    self->options->shape (self->options->context, &json->out);
}

/* What is due goes into the next line, beside the facts of a sample that was not shown. */
static void
standalone_sample (struct standalone *self, struct sample *sample)
{
  sampling_run (self->sampling, clock_monotonic (), sample);
  for (size_t i = 0; i < sample->count; i++) {
    struct report_group *shown = &self->shown[sample->slots[i]];
    const struct table *before = &self->before[sample->slots[i]];

    *shown = (struct report_group){ .now = sample->tables[i], .before = before->monotonic_ns ? before : NULL };
  }
}

/* The next line shows changes since this sample. */
static void
standalone_keep (struct standalone *self, const struct sample *sample)
{
  for (size_t i = 0; i < sample->count; i++) {
    struct table *table = sample->tables[i];

    if (table->group->flags & GROUP_ONCE)
      continue;
    if (table_is_comparable (table))
      table_swap (&self->before[sample->slots[i]], table);
    self->shown[sample->slots[i]].now = NULL;
  }
}

static void
standalone_plan (struct standalone *self)
{
  loop_timer_set (self->timer, sampling_next_due (self->sampling));
}

static void
standalone_drained (void *context)
{
  struct standalone *self = context;

  if (self->options->count != 0 && self->lines == self->options->count)
    loop_stop (self->loop);
}

static void
standalone_due (void *context, int64_t due_ns)
{
  struct standalone *self = context;
  struct sample sample;

  (void) due_ns;
  if (self->output && output_busy (self->output)) {
    sampling_skip (self->sampling, clock_monotonic ());
    standalone_plan (self);
    return;
  }
  standalone_sample (self, &sample);
  standalone_plan (self);
  if (sample.count == 0)
    return;
  self->lines++;
  standalone_write (self, &sample);
  standalone_keep (self, &sample);
  memset (self->shown, 0, self->count * sizeof *self->shown);
  if (self->output) {
    output_send (self->output, &self->json.out);
  } else {
    self->options->line (self->options->context, self->json.out.data, self->json.out.length);
    standalone_drained (self);
  }
  if (self->lines == 1)
    footprint_settle ();
}

static void
standalone_ended (void *context, int failure)
{
  struct standalone *self = context;

  self->failure = failure;
  loop_stop (self->loop);
}

static void
standalone_begin (struct standalone *self)
{
  int64_t now_ns = clock_monotonic ();
  struct sample sample;

  sampling_start (self->sampling, now_ns);
  standalone_sample (self, &sample);
  standalone_keep (self, &sample);
  if (self->options->once_ns != 0)
    sampling_start (self->sampling, now_ns + self->options->once_ns);
  standalone_plan (self);
  notify_ready (self->options->notify);
}

int
standalone_run (const struct standalone_options *options, struct loop *loop, struct sampling *sampling,
                struct error *error)
{
  struct standalone self = { .options = options, .loop = loop, .sampling = sampling };
  struct output_handler handler = { .context = &self, .drained = standalone_drained, .ended = standalone_ended };
  const struct group *const *groups = sampling_groups (sampling, &self.count);
  int rc = 0;

  self.shown = memory_new (self.count, sizeof *self.shown);
  self.before = memory_new (self.count, sizeof *self.before);
  for (size_t i = 0; i < self.count; i++)
    table_init (&self.before[i], groups[i]);
  self.timer = loop_timer_add (loop, standalone_due, &self);
  self.output = options->line ? NULL : output_create (loop, &handler);

  standalone_begin (&self);
  loop_run (loop);
  if (self.failure != 0 && self.failure != EPIPE)
    rc = error_set (error, "cannot write to standard output: %s", strerror (self.failure));

  output_destroy (self.output);
  loop_timer_remove (self.timer);
  for (size_t i = 0; i < self.count; i++)
    table_free (&self.before[i]);
  free (self.before);
  free (self.shown);
  json_free (&self.json);
  return rc;
}
