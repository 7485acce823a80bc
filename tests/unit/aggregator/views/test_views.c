/* The list of views: order, what is optional, what is reported by one of them, and the counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "aggregator/views/views.h"
#include "synop/buffer.h"
#include "synop/log.h"
#include "synop/memory.h"

/* Three views that note each call as "NAME.FUNCTION ". The options of each are the `part` that it has. */
struct part {
  struct scene *scene;
  const char *name;
  const struct view_context *context;
  bool off, fails, loses;
  const char *reports; /* an event, a job's line and a row, in this function; NULL: nothing */
};

struct scene {
  struct part parts[3];
  struct buffer calls;
  struct views *views;
  struct view views_of[3];
  const struct view *list[4];
  struct part *options[3];
};

static const char *const counter_names[] = { "seen", "left", NULL };

static void
note (struct part *part, const char *function)
{
  buffer_printf (&part->scene->calls, "%s.%s ", part->name, function);
  if (!part->reports || strcmp (part->reports, function) != 0)
    return;
  view_event (part->context, &(struct event){ .type = EVENT_GAP });
  view_job (part->context, &(struct job_line){ .event = JOB_STARTED });
  view_job_row (part->context, &(struct job_row){ .kind = JOB_ROW_JOB });
}

static int
part_open (const struct view_context *context, void **state, struct error *error)
{
  struct part *part = *(struct part *const *) context->options;

  part->context = context;
  note (part, "open");
  if (part->fails)
    return error_set (error, "%s fails", part->name);
  *state = part->off ? NULL : part;
  return 0;
}

static int
part_close (void *state)
{
  struct part *part = state;

  note (part, "close");
  return part->loses ? -1 : 0;
}

#define NOTE(function)                                                                                                 \
  static void part_##function (void *state)                                                                            \
  {                                                                                                                    \
    note (state, #function);                                                                                           \
  }
#define NOTE_OF(function, type)                                                                                        \
  static void part_##function (void *state, type)                                                                      \
  {                                                                                                                    \
    note (state, #function);                                                                                           \
  }

NOTE (reload)
NOTE (flush)
NOTE (end)
NOTE_OF (frame, const struct cluster_frame *frame __attribute__ ((unused)))
NOTE_OF (tick, const struct cluster_tick_line *tick __attribute__ ((unused)))
NOTE_OF (event, const struct event *event __attribute__ ((unused)))
NOTE_OF (job, const struct job_line *line __attribute__ ((unused)))
NOTE_OF (job_row, const struct job_row *row __attribute__ ((unused)))
NOTE_OF (poll, struct instant now __attribute__ ((unused)))

static void
part_count (void *state, uint64_t *values)
{
  (void) state;
  values[0] = 7;
  values[1] = 8;
}

static const struct view whole = {
  .open = part_open,
  .close = part_close,
  .reload = part_reload,
  .frame = part_frame,
  .tick = part_tick,
  .event = part_event,
  .job = part_job,
  .job_row = part_job_row,
  .poll = part_poll,
  .flush = part_flush,
  .end = part_end,
  .counters = counter_names,
  .count = part_count,
};

static const void *
values (void *context, const struct view *view)
{
  struct scene *scene = context;

  return &scene->options[view - scene->views_of];
}

static void
open_views (struct scene *scene)
{
  struct error error;

  scene->views =
      views_open (&(struct views_options){ .list = scene->list, .context = scene, .values = values }, &error);
  assert_non_null (scene->views);
}

/* What was called since the last time. */
static void
check_calls (struct scene *scene, const char *expected)
{
  buffer_add (&scene->calls, "", 1);
  assert_string_equal (scene->calls.data, expected);
  buffer_clear (&scene->calls);
}

static int
set_up (void **state)
{
  static const char *const names[] = { "a", "b", "c" };
  struct scene *scene = *state = memory_new (1, sizeof *scene);

  for (size_t i = 0; i < 3; i++) {
    scene->parts[i] = (struct part){ .scene = scene, .name = names[i] };
    scene->views_of[i] = whole;
    scene->views_of[i].name = names[i];
    scene->list[i] = &scene->views_of[i];
    scene->options[i] = &scene->parts[i];
  }
  log_set_level (LOG_LEVEL_ERROR);
  return 0;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  views_close (scene->views);
  buffer_free (&scene->calls);
  free (scene);
  return 0;
}

static const struct cluster_frame frame;
static const struct cluster_tick_line tick;
static const struct event gap = { .type = EVENT_GAP };

static void
test_order (void **state)
{
  struct scene *scene = *state;

  open_views (scene);
  check_calls (scene, "a.open b.open c.open ");
  views_frame (scene->views, &frame);
  views_tick (scene->views, &tick);
  views_event (scene->views, &gap);
  check_calls (scene, "a.frame b.frame c.frame a.tick b.tick c.tick a.event b.event c.event ");
  views_poll (scene->views, (struct instant){ 0 });
  views_flush (scene->views);
  views_reload (scene->views);
  check_calls (scene, "a.poll b.poll c.poll a.flush b.flush c.flush a.reload b.reload c.reload ");
  views_end (scene->views);
  assert_int_equal (views_close (scene->views), 0);
  scene->views = NULL;
  check_calls (scene, "c.end b.end a.end c.close b.close a.close ");
}

/* `a` has nothing but its name, `b` is off. */
static void
test_what_is_optional (void **state)
{
  struct scene *scene = *state;

  scene->views_of[0] = (struct view){ .name = "a" };
  scene->parts[1].off = true;
  open_views (scene);
  views_frame (scene->views, &frame);
  views_tick (scene->views, &tick);
  views_event (scene->views, &gap);
  views_poll (scene->views, (struct instant){ 0 });
  views_flush (scene->views);
  views_reload (scene->views);
  views_end (scene->views);
  check_calls (scene, "b.open c.open c.frame c.tick c.event c.poll c.flush c.reload c.end ");
  assert_null (views_state (scene->views, scene->list[0]));
  assert_null (views_state (scene->views, scene->list[1]));
  assert_ptr_equal (views_state (scene->views, scene->list[2]), &scene->parts[2]);
  assert_int_equal (views_close (scene->views), 0);
  scene->views = NULL;
  check_calls (scene, "c.close ");
}

static void
test_one_that_fails (void **state)
{
  struct scene *scene = *state;
  struct error error = { "" };

  scene->parts[1].fails = true;
  assert_null (views_open (&(struct views_options){ .list = scene->list, .context = scene, .values = values }, &error));
  assert_string_equal (error.text, "b fails");
  check_calls (scene, "a.open b.open a.close ");
}

static void
test_one_that_loses_something (void **state)
{
  struct scene *scene = *state;

  scene->parts[2].loses = true;
  open_views (scene);
  assert_int_equal (views_close (scene->views), -1);
  scene->views = NULL;
  check_calls (scene, "a.open b.open c.open c.close b.close a.close ");
}

/* The others get it at once, it never does. */
static void
test_what_a_view_reports (void **state)
{
  struct scene *scene = *state;

  scene->parts[1].reports = "frame";
  open_views (scene);
  check_calls (scene, "a.open b.open c.open ");
  views_frame (scene->views, &frame);
  check_calls (scene, "a.frame b.frame a.event c.event a.job c.job a.job_row c.job_row c.frame ");
  scene->parts[1].reports = "end";
  views_end (scene->views);
  check_calls (scene, "c.end b.end a.event c.event a.job c.job a.job_row c.job_row a.end ");
}

/* It would come back to the one that made them. */
static void
test_nothing_is_reported_in_a_report (void **state)
{
  struct scene *scene = *state;

  open_views (scene);
  check_calls (scene, "a.open b.open c.open ");
  scene->parts[0].reports = "poll";
  scene->parts[1].reports = "event";
  scene->parts[2].reports = "job";
  views_poll (scene->views, (struct instant){ 0 });
  check_calls (scene, "a.poll b.event c.event b.job c.job b.job_row c.job_row b.poll c.poll ");
  views_event (scene->views, &gap);
  check_calls (scene, "a.event b.event c.event ");
}

static void
take_counter (void *text, const char *name, bool total, uint64_t value)
{
  buffer_printf (text, "%s%s%d ", name, total ? "=" : "~", (int) value);
}

static void
test_counters (void **state)
{
  struct scene *scene = *state;
  struct buffer text = { 0 };

  scene->parts[1].off = true;
  scene->views_of[2].counters = NULL;
  scene->views_of[0].levels = 2;
  open_views (scene);
  views_count (scene->views, &text, take_counter);
  buffer_add (&text, "", 1);
  assert_string_equal (text.data, "seen=7 left~8 seen=0 left=0 ");
  buffer_free (&text);
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    TEST (test_order),
    TEST (test_what_is_optional),
    TEST (test_one_that_fails),
    TEST (test_one_that_loses_something),
    TEST (test_what_a_view_reports),
    TEST (test_nothing_is_reported_in_a_report),
    TEST (test_counters),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
