/* See stream.h. */
#include "aggregator/stream/stream.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

struct stream_reader {
  struct stream_reader *next, **place;
  struct stream_choice choice;
  struct outlet *outlet;
  bool fed;
  void (*ready) (void *context);
  void *context;
};

struct stream {
  struct stream_reader *readers;
  struct json json; /* the current line */
};

void
stream_choice_init (struct stream_choice *choice, const struct stream_filter *filter)
{
  bool only_nodes = *filter->group && !*filter->type;

  globs_init (&choice->nodes, filter->node);
  globs_init (&choice->groups, filter->group);
  globs_init (&choice->types, only_nodes ? "node" : filter->type);
}

void
stream_choice_free (struct stream_choice *choice)
{
  globs_free (&choice->nodes);
  globs_free (&choice->groups);
  globs_free (&choice->types);
}

static bool
choice_wants (const struct stream_choice *choice, const struct stream_line *line)
{
  if (!globs_match (&choice->types, line->type))
    return false;
  if (choice->nodes.count && (!line->node || !globs_match (&choice->nodes, line->node)))
    return false;
  return !choice->groups.count || !line->has || line->has (line->context, &choice->groups);
}

/* Does the choice want only some groups of the line? */
static bool
choice_parts (const struct stream_choice *choice, const struct stream_line *line)
{
  return choice->groups.count && line->has;
}

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

  stream_choice_init (&reader->choice, filter);
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
  stream_choice_free (&reader->choice);
  free (reader);
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
    if (!choice_wants (&reader->choice, line))
      continue;
    if (choice_parts (&reader->choice, line)) {
      struct line *part = render (stream, line, &reader->choice.groups);
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

/* A pattern that matches no type would wait for ever. */
int
stream_types_check (const char *value, struct error *error)
{
  static const char *const types[] = { "node", "cluster", "event", "job" };
  struct globs globs;
  const char *pattern;
  int result = globs_list_check (value, error);

  globs_init (&globs, value);
  pattern = globs.text;
  for (size_t i = 0; i < globs.count && result == 0; i++, pattern += strlen (pattern) + 1) {
    size_t type = 0;

    while (type < sizeof types / sizeof types[0] && fnmatch (pattern, types[type], 0) != 0)
      type++;
    if (type == sizeof types / sizeof types[0])
      result = error_set (error, "\"%.64s\" is no type of line; expected node, cluster, event or job", pattern);
  }
  globs_free (&globs);
  return result;
}
