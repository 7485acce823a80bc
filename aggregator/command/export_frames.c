/* `aggregator export --format msgpack`: the frames of a history, byte for byte as the agents sent them, one msgpack array
 * behind the other (docs/protocol.md, Frame), in order of node, session and sequence. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/command/commands.h"
#include "aggregator/command/export.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_record.h"
#include "synop/globs.h"
#include "synop/log.h"

struct frames {
  const struct history_query *query;
  const char *path;
  FILE *out;
  struct history_file *file;
  struct chunk chunk;
  uint64_t written;
  size_t broken;
};

/* Whether the frame lies in the interval; -1 when that cannot be read. */
static int
is_within (const struct frames *frames, const void *record_bytes, size_t record_length, const void *bytes,
           size_t length)
{
  struct frame_header header;
  struct frame_record record;

  if (frame_read_header (bytes, length, &header, NULL) < 0 ||
      frame_record_read (&record, record_bytes, record_length, header.monotonic_ns) < 0)
    return -1;
  return record.time_ns >= frames->query->from_ns && record.time_ns < frames->query->to_ns;
}

/* -1: the file cannot be written. */
static int
write_chunk (struct frames *frames, const struct chunk_row *row, struct error *error)
{
  bool whole = row->first_time >= frames->query->from_ns && row->last_time < frames->query->to_ns;
  struct error why;
  int result = history_file_read (frames->file, row->id, &frames->chunk, NULL, &why);

  if (result == 0 && frames->chunk.count != 2 * (row->last - row->first + 1))
    result = error_set (&why, "it does not hold what it should");
  frames->broken += result < 0;
  if (result < 0)
    history_file_log_broken (row, why.text);
  for (size_t i = 0; result == 0 && i < frames->chunk.count; i += 2) {
    size_t record_length, length;
    const void *record = chunk_message (&frames->chunk, i, &record_length);
    const void *bytes = chunk_message (&frames->chunk, i + 1, &length);
    int within = whole ? 1 : is_within (frames, record, record_length, bytes, length);
    if (within < 0) {
      frames->broken++;
      history_file_log_broken (row, "a frame is broken");
      break;
    }
    if (within && fwrite (bytes, 1, length, frames->out) != length)
      return error_set (error, "%s: %s", frames->path, strerror (errno));
    frames->written += (uint64_t) within;
  }
  return 0;
}

static int
write_frames (struct frames *frames, const struct globs *nodes, struct error *error)
{
  struct chunk_list list = { 0 };
  struct replay_progress progress;
  int result = history_file_all_chunks (frames->file, &list, error);

  replay_progress_init (&progress, "export");
  for (size_t i = 0; result == 0 && i < list.count; i++) {
    const struct chunk_row *row = &list.rows[i];
    if (*row->node && globs_match (nodes, row->node) && row->last_time >= frames->query->from_ns &&
        row->first_time < frames->query->to_ns)
      result = write_chunk (frames, row, error);
    if (result == 0 && export_interrupted ())
      result = error_set (error, "interrupted; what was written is removed");
    replay_progress_show (&progress, (double) (i + 1) / (double) list.count);
  }
  replay_progress_end (&progress);
  free (list.rows);
  return result;
}

int
export_frames (const struct options *options, const struct history_query *query)
{
  struct frames frames = { .query = query, .path = options->output_path };
  struct globs nodes;
  struct error error;
  int result = -1;

  globs_init (&nodes, options->node);
  frames.file = history_file_open (replay_path (options), &error);
  if (frames.file)
    filters_check_history (options, frames.file, query);
  if (frames.file && !(frames.out = fopen (frames.path, "wxe")))
    error_set (&error, "%s: %s", frames.path, strerror (errno));
  if (frames.out) {
    result = write_frames (&frames, &nodes, &error);
    if (fclose (frames.out) != 0 && result == 0)
      result = error_set (&error, "%s: %s", frames.path, strerror (errno));
    if (result < 0)
      unlink (frames.path);
  }
  history_file_close (frames.file);
  chunk_free (&frames.chunk);
  globs_free (&nodes);
  if (result < 0)
    log_error ("%s", error.text);
  else
    log_info ("%s: %" PRIu64 " frames", frames.path, frames.written);
  return result < 0 ? 1 : replay_broken (replay_path (options), "chunks", frames.broken);
}
