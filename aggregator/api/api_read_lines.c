/* Lines of the history, as the stream had them: one reader of a stream of its own, whose lines go to a file in memory. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregator/api/api_route.h"
#include "aggregator/history/history_read.h"
#include "aggregator/history/job_owners.h"
#include "aggregator/stream/stream_view.h"
#include "synop/file.h"
#include "synop/json.h"

#define BYTES_MAX (UINT64_C (64) << 20)

struct gathering {
  int fd;
  struct outlet *outlet;
  bool full;
  bool others; /* what others own was left out */
};

static void
flush_lines (void *context)
{
  struct gathering *gathering = context;

  outlet_flush (gathering->outlet);
  gathering->full = lseek (gathering->fd, 0, SEEK_END) > (off_t) BYTES_MAX;
}

/* The stream's view without what the question leaves out: that is not read then. */
static struct view
view_of (const struct stream_choice *choice)
{
  struct view view = stream_view;

  if (!globs_match (&choice->types, "node"))
    view.frame = NULL;
  if (!globs_match (&choice->types, "cluster") || choice->nodes.count)
    view.tick = NULL;
  if (!globs_match (&choice->types, "event"))
    view.event = NULL;
  if (!globs_match (&choice->types, JOB_LINE_TYPE))
    view.job = NULL;
  return view;
}

static int
gather (struct api_read *read, struct gathering *gathering, struct history_query *query, size_t *damaged,
        struct error *why)
{
  const char *node = api_value (read->ask, "node"), *group = api_value (read->ask, "group"),
             *type = api_value (read->ask, "type");
  const struct stream_filter filter = { node ? node : "", group ? group : "", type ? type : "" };
  struct stream *stream = stream_create ();
  struct stream_reader *reader;
  struct stream_choice choice;
  uint64_t dropped = 0;
  struct view view;
  int result;

  stream_choice_init (&choice, &filter);
  query->nodes = &choice.nodes;
  view = view_of (&choice);
  gathering->outlet = outlet_create (gathering->fd, OUTLET_OPEN, SIZE_MAX, &dropped);
  reader = stream_attach (stream, &filter, &read->viewer, gathering->outlet, flush_lines, gathering);
  result =
      history_read (read->file, query, &(struct history_into){ &view, stream, &gathering->full, NULL }, damaged, why);
  if (result >= 0)
    stream_flush (stream);
  gathering->others = !read->viewer.all;
  stream_detach (reader);
  outlet_destroy (gathering->outlet);
  stream_destroy (stream);
  stream_choice_free (&choice);
  return result < 0 ? -1 : 0;
}

/* The newest `most` of the lines as an array. */
static void
write_lines (struct api_read *read, const char *text, size_t length, size_t most, size_t damaged, bool others)
{
  size_t count = 0, left_out;
  const char *end = text + length;
  struct json json = { 0 };

  for (const char *at = text; (at = memchr (at, '\n', (size_t) (end - at))); at++)
    count++;
  left_out = count > most ? count - most : 0;
  for (size_t i = 0; i < left_out; i++)
    text = (const char *) memchr (text, '\n', (size_t) (end - text)) + 1;
  json_object (&json);
  json_array (json_key (&json, "lines"));
  while (text < end) {
    const char *newline = memchr (text, '\n', (size_t) (end - text));
    buffer_add_string (&json.out, "\n");
    buffer_add (&json.out, text, (size_t) (newline - text));
    text = newline + 1;
    buffer_add_string (&json.out, text < end ? "," : "");
  }
  json.comma = true;
  json_array_end (&json);
  json_uint (json_key (&json, "left_out"), left_out);
  json_uint (json_key (&json, "damaged"), damaged);
  if (others)
    json_bool (json_key (&json, "others_left_out"), true);
  json_object_end (&json);
  json_newline (&json);
  read->out = json.out;
}

static int
send_gathered (struct api_read *read, const struct gathering *gathering, size_t damaged, struct api_error *error)
{
  off_t length = lseek (gathering->fd, 0, SEEK_END);
  size_t most = strtoul (api_value (read->ask, "limit"), NULL, 10);
  char *text = NULL;

  if (gathering->full)
    return api_error_set (error, 400, NULL,
                          "these are more than %d MiB of lines; ask for less: fewer nodes or groups, a "
                          "shorter time",
                          (int) (BYTES_MAX >> 20));
  if (length > 0)
    text = mmap (NULL, (size_t) length, PROT_READ, MAP_PRIVATE, gathering->fd, 0);
  if (length < 0 || text == MAP_FAILED)
    return api_error_set (error, 500, NULL, "the lines cannot be read: %s", strerror (errno));
  if (*api_value (read->ask, "format") == 'l') {
    buffer_add (&read->out, text ? text : "", (size_t) length);
    read->type = "application/x-ndjson";
  } else {
    write_lines (read, text ? text : "", (size_t) length, most, damaged, gathering->others);
  }
  if (text)
    munmap (text, (size_t) length);
  return 0;
}

int
api_read_lines (struct api_read *read, struct api_error *error)
{
  struct gathering gathering = { .fd = memfd_create ("lines", MFD_CLOEXEC) };
  struct history_query query = { 0 };
  struct job_owners *owners = NULL;
  size_t damaged = 0;
  struct error why;
  int result;

  if (gathering.fd < 0)
    return api_error_set (error, 500, NULL, "no file in memory: %s", strerror (errno));
  result = api_read_interval (read, &query.from_ns, &query.to_ns, error);
  if (result == 0 && !read->viewer.all) {
    owners = job_owners_read (read->file, query.from_ns, query.to_ns, &why);
    if (owners)
      job_owners_show (owners, &read->viewer);
    else
      result = api_error_set (error, 500, NULL, "%s", why.text);
  }
  if (result == 0 && gather (read, &gathering, &query, &damaged, &why) < 0)
    result = api_error_set (error, 500, NULL, "%s", why.text);
  if (result == 0)
    result = send_gathered (read, &gathering, damaged, error);
  job_owners_free (owners);
  file_close (&gathering.fd);
  return result;
}
