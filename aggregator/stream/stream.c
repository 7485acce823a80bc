/* See stream.h. */
#include "aggregator/stream/stream.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

struct stream_reader {
  struct stream_reader *next, **place;
  struct stream_choice choice;
  struct viewer viewer;
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
stream_attach (struct stream *stream, const struct stream_filter *filter, const struct viewer *viewer,
               struct outlet *outlet, void (*ready) (void *context), void *context)
{
  struct stream_reader *reader = memory_new (1, sizeof *reader);

  stream_choice_init (&reader->choice, filter);
  reader->viewer = *viewer;
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
render (struct stream *stream, const struct stream_line *line, const struct globs *groups, const struct viewer *viewer)
{
  json_clear (&stream->json);
  line->write (line->context, &stream->json, groups, viewer);
  return line_create (stream->json.out.data, stream->json.out.length);
}

/* A line with all its groups, as it was rendered for readers so far: whole, without what is of users, and as the last user
 * saw it who has a part in it. */
struct rendered {
  struct line *whole, *bare, *own;
  const struct viewer *owner;
};

static struct line **
rendered_for (struct rendered *rendered, const struct viewer *viewer, enum stream_share share)
{
  if (share != STREAM_OWN)
    return share == STREAM_WHOLE ? &rendered->whole : &rendered->bare;
  if (rendered->owner && (rendered->owner->uid != viewer->uid || strcmp (rendered->owner->name, viewer->name) != 0)) {
    line_release (rendered->own);
    rendered->own = NULL;
  }
  rendered->owner = viewer;
  return &rendered->own;
}

static void
feed (struct stream *stream, struct stream_reader *reader, const struct stream_line *line, struct rendered *rendered)
{
  const struct viewer *viewer = &reader->viewer;
  enum stream_share share = viewer->all || !line->share ? STREAM_WHOLE : line->share (line->context, viewer);
  struct line *part = NULL, **at = &part;

  if (share == STREAM_HIDDEN)
    return;
  if (!choice_parts (&reader->choice, line))
    at = rendered_for (rendered, viewer, share);
  if (!*at)
    *at = render (stream, line, at == &part ? &reader->choice.groups : NULL,
                  share == STREAM_WHOLE  ? &viewer_all
                  : share == STREAM_BARE ? &viewer_nobody
                                         : viewer);
  outlet_put (reader->outlet, *at);
  line_release (part);
  reader->fed = true;
}

void
stream_put (struct stream *stream, const struct stream_line *line)
{
  struct rendered rendered = { 0 };

  for (struct stream_reader *reader = stream->readers; reader; reader = reader->next)
    if (choice_wants (&reader->choice, line))
      feed (stream, reader, line, &rendered);
  line_release (rendered.whole);
  line_release (rendered.bare);
  line_release (rendered.own);
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
