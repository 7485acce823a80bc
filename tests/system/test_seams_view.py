"""A new view is one file and one line in one list: both are added to a copy of the sources, and nothing else."""

import signal

from lib.programs import copy_built, make, run, wait_until

LIST = "aggregator/view_list.h"
FILE = "aggregator/views/notes_view.c"
SOURCE = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/node.h"
#include "aggregator/view_list.h"
#include "synop/memory.h"

struct settings {
  char *path;
};

struct notes {
  const struct view_context *context;
  FILE *file;
  uint64_t frames;
};

static const struct option options[] = {
  { "notes", "path", "notes", OPTION_PATH, .offset = offsetof (struct settings, path), .reload = OPTIONS_RELOADED,
    .help = "Where this view writes what it gets." },
};
static const char *const counters[] = { "notes_frames", NULL };

static int
notes_open (const struct view_context *context, void **state, struct error *error)
{
  const struct settings *settings = context->options;
  struct notes *notes;

  if (!*settings->path)
    return 0;
  notes = *state = memory_new (1, sizeof *notes);
  notes->context = context;
  notes->file = fopen (settings->path, "w");
  return notes->file ? 0 : error_set (error, "%s: %s", settings->path, strerror (errno));
}

static void
notes_frame (void *state, const struct cluster_frame *frame)
{
  struct notes *notes = state;

  fprintf (notes->file, "frame %s at %zu nodes\n", frame->node->name, cluster_node_count (notes->context->cluster));
  if (notes->frames++ == 0)
    view_event (notes->context, &(struct event){ .type = EVENT_OVER_SHARE, .reason = "notes" });
}

static void
notes_tick (void *state, const struct cluster_tick_line *tick)
{
  fprintf (((struct notes *) state)->file, "tick of %zu\n", tick->tick->reporting);
}

static void
notes_event (void *state, const struct event *event)
{
  fprintf (((struct notes *) state)->file, "event %s\n", event_name (event->type));
}

static void
notes_flush (void *state)
{
  fflush (((struct notes *) state)->file);
}

static void
notes_reload (void *state)
{
  const struct settings *settings = ((struct notes *) state)->context->options;

  fprintf (((struct notes *) state)->file, "now %s\n", settings->path);
}

static void
notes_count (void *state, uint64_t *values)
{
  values[0] = ((struct notes *) state)->frames;
}

static int
notes_close (void *state)
{
  struct notes *notes = state;

  fputs ("closed\n", notes->file);
  fclose (notes->file);
  free (notes);
  return 0;
}

const struct view notes_view = {
  .name = "notes",
  .options = options,
  .option_count = 1,
  .options_size = sizeof (struct settings),
  .counters = counters,
  .open = notes_open,
  .reload = notes_reload,
  .frame = notes_frame,
  .tick = notes_tick,
  .event = notes_event,
  .flush = notes_flush,
  .count = notes_count,
  .close = notes_close,
};
"""


def test_one_file_and_one_line(cluster, tmp_path):
    tree = tmp_path / "tree"
    copy_built(tree)
    (tree / FILE).write_text(SOURCE)
    text = (tree / LIST).read_text()
    line = next(one for one in text.splitlines(keepends=True) if "VIEW (jobs_view)" in one)
    (tree / LIST).write_text(text.replace(line, "  VIEW (notes_view) \\\n" + line))
    make(tree, "build/aggregator")
    program = tree / "build" / "aggregator"

    notes, other = cluster.folder / "notes", cluster.folder / "other"
    assert "Where this view writes what it gets." in run(program, "--help").stdout
    cluster.start_aggregator(config=f"[notes]\npath = {notes}\n", program=program)
    cluster.start_nodes("n1")
    cluster.wait_event("over_share", what="notes")
    cluster.aggregator.wait_line(type="cluster")
    cluster.wait_counter("notes_frames", 3)
    wait_until(lambda: {"frame n1 at 1 nodes", "tick of 1", "event node_up"} <= set(notes.read_text().splitlines()),
               "what the view writes")
    assert "event over_share" not in notes.read_text()  # its own

    cluster.write("aggregator.ini", f"[notes]\npath = {other}\n")
    cluster.aggregator.signal(signal.SIGHUP)
    wait_until(lambda: f"now {other}\n" in notes.read_text(), "the option after a reload")
    assert cluster.aggregator.stop() == 0
    assert notes.read_text().endswith("closed\n")


def test_a_view_that_is_off(cluster):
    """The history's counters stand in the status too when there is no history."""
    cluster.start_aggregator("--history-enabled=no")
    cluster.start_nodes("n1")
    assert cluster.counter("frames_stored") == 0 and not cluster.history.exists()
