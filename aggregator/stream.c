/* See stream.h. */
#include "aggregator/stream.h"

#include <stdlib.h>

#include "synop/memory.h"

struct stream_reader {
  struct stream_reader *next, **place;
  struct globs nodes, groups, types;
  struct outlet *outlet;
  bool fed;
  void (*ready) (void *context);
  void *context;
};

struct stream {
  struct stream_reader *readers;
  struct json json; /* the line at hand */
};

struct stream *
stream_create (void)
{
  return memory_new (1, sizeof (struct stream));
}

void
stream_destroy (struct stream *stream)
{
  if (!stream)
    return;
  json_free (&stream->json);
  free (stream);
}

struct stream_reader *
stream_attach (struct stream *stream, const struct stream_filter *filter, struct outlet *outlet,
               void (*ready) (void *context), void *context)
{
  struct stream_reader *reader = memory_new (1, sizeof *reader);
  bool only_nodes = *filter->group && !*filter->type;

  globs_init (&reader->nodes, filter->node);
  globs_init (&reader->groups, filter->group);
  globs_init (&reader->types, only_nodes ? "node" : filter->type);
  reader->outlet = outlet;
  reader->ready = ready;
  reader->context = context;
  reader->next = stream->readers;
  reader->place = &stream->readers;
  if (reader->next)
    reader->next->place = &reader->next;
  stream->readers = reader;
  return reader;
}

void
stream_detach (struct stream_reader *reader)
{
  if (!reader)
    return;
  *reader->place = reader->next;
  if (reader->next)
    reader->next->place = reader->place;
  globs_free (&reader->nodes);
  globs_free (&reader->groups);
  globs_free (&reader->types);
  free (reader);
}

static bool
wants (const struct stream_reader *reader, const struct stream_line *line)
{
  if (!globs_match (&reader->types, line->type))
    return false;
  if (reader->nodes.count && (!line->node || !globs_match (&reader->nodes, line->node)))
    return false;
  return !reader->groups.count || !line->has || line->has (line->context, &reader->groups);
}

static struct line *
render (struct stream *stream, const struct stream_line *line, const struct globs *groups)
{
  json_clear (&stream->json);
  line->write (line->context, &stream->json, groups);
  return line_create (stream->json.out.data, stream->json.out.length);
}

void
stream_put (struct stream *stream, const struct stream_line *line)
{
  struct line *whole = NULL;

  for (struct stream_reader *reader = stream->readers; reader; reader = reader->next) {
    if (!wants (reader, line))
      continue;
    if (reader->groups.count && line->has) {
      struct line *part = render (stream, line, &reader->groups);
      outlet_put (reader->outlet, part);
      line_release (part);
    } else {
      if (!whole)
        whole = render (stream, line, NULL);
      outlet_put (reader->outlet, whole);
    }
    reader->fed = true;
  }
  line_release (whole);
}

void
stream_flush (struct stream *stream)
{
  struct stream_reader *next;

  for (struct stream_reader *reader = stream->readers; reader; reader = next) {
    next = reader->next;
    if (!reader->fed)
      continue;
    reader->fed = false;
    reader->ready (reader->context);
  }
}
