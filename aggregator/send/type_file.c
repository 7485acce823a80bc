/* Frames as JSON lines in files. */
#include <stdlib.h>

#include "aggregator/send/file_out.h"
#include "aggregator/send/send_text.h"
#include "synop/memory.h"

struct file_options {
  bool packed;
};

struct file_state {
  struct file_out *out;
  struct buffer text;
};

static void *
file_open_type (const struct send_setting *setting)
{
  const struct file_options *own = setting->own;
  struct file_state *state = memory_new (1, sizeof *state);

  state->out = file_out_create (setting->name, setting->options, own->packed);
  return state;
}

static void
file_close_type (void *context)
{
  struct file_state *state = context;

  file_out_destroy (state->out);
  buffer_free (&state->text);
  free (state);
}

static enum send_verdict
file_deliver (void *context, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  struct file_state *state = context;

  (void) count;
  send_text (load, &state->text);
  return file_out_write (state->out, &state->text, answer);
}

static int
file_check (const struct send_options *options, const void *own, struct error *error)
{
  (void) own;
  return *options->folder ? 0 : error_set (error, "folder: must be given");
}

static const char *
file_target (const struct send_setting *setting)
{
  return setting->options->folder;
}

static const struct option options[] = {
  { "", "zstd", NULL, OPTION_BOOLEAN, offsetof (struct file_options, packed), "yes",
    .help = "Of file: they are compressed, .jsonl.zst." },
};

const struct send_type send_file = {
  .name = "file",
  .shared = SEND_FOR_FILES,
  .own = { options, sizeof options / sizeof options[0], sizeof (struct file_options) },
  .lines = true,
  .load_most = 10000,
  .load_bytes = 4 * 1024 * 1024,
  .check = file_check,
  .target = file_target,
  .open = file_open_type,
  .close = file_close_type,
  .deliver = file_deliver,
};
