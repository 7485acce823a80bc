/* How a sender begins and ends; see sender.h. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "aggregator/send/sender_private.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define END_WAIT (2 * NS_PER_S)

static struct send_http *
create_http (const struct send_options *options)
{
  const struct send_http_options to = { .url = options->url,
                                        .bearer_file = options->bearer_file,
                                        .user = options->user,
                                        .password_file = options->password_file,
                                        .ca = options->ca,
                                        .certificate = options->certificate,
                                        .key = options->key,
                                        .timeout_ns = options->timeout_ns };

  return send_http_create (&to);
}

struct sender *
sender_create (const char *name, const struct send_options *options, const char *history)
{
  struct sender *sender = memory_new (1, sizeof *sender);

  sender->name = memory_string (name);
  sender->path = memory_string (history);
  sender->options = config_instance_copy (&send_config_type, options);
  options = sender->options;
  sender->type = send_type_of (options);
  sender->setting = (struct send_setting){ sender->name, options, send_own (options), eventfd (0, EFD_CLOEXEC) };
  if (sender->setting.stop < 0)
    abort ();
  sender->type_state = sender->type->open (&sender->setting);
  send_batch_init (&sender->batch, sender->type);
  globs_init (&sender->node_globs, options->nodes);
  sender->http = send_posts (options) ? create_http (options) : NULL;
  sender->retry.most_ns = options->retry_ns;
  sender->settled_ns = INT64_MIN;
  pthread_mutex_init (&sender->mutex, NULL);
  thread_condition_init (&sender->wake);
  thread_condition_init (&sender->over);
  if (thread_start (&sender->thread, 0, sender_run, sender) != 0)
    abort ();
  return sender;
}

void
sender_free (struct sender *sender)
{
  sender_close_file (sender);
  send_http_destroy (sender->http);
  close (sender->setting.stop);
  send_window_free (&sender->window);
  send_batch_free (&sender->batch);
  buffer_free (&sender->request.body);
  globs_free (&sender->node_globs);
  pthread_cond_destroy (&sender->wake);
  pthread_cond_destroy (&sender->over);
  pthread_mutex_destroy (&sender->mutex);
  config_instance_free (&send_config_type, sender->options);
  free (sender->name);
  free (sender->path);
  free (sender);
}

void
sender_end (struct sender *sender)
{
  pthread_mutex_lock (&sender->mutex);
  sender->end_ns = sender->end ? sender->end_ns : clock_monotonic ();
  sender->end = true;
  pthread_cond_signal (&sender->wake);
  pthread_mutex_unlock (&sender->mutex);
  send_http_stop (sender->http);
  eventfd_write (sender->setting.stop, 1);
}

bool
sender_destroy (struct sender *sender)
{
  struct timespec until;
  bool ended;

  sender_end (sender);
  pthread_mutex_lock (&sender->mutex);
  until = (struct timespec){ (sender->end_ns + END_WAIT) / NS_PER_S, (sender->end_ns + END_WAIT) % NS_PER_S };
  while (!sender->ended && clock_monotonic () < sender->end_ns + END_WAIT)
    pthread_cond_timedwait (&sender->over, &sender->mutex, &until);
  ended = sender->ended;
  if (!ended) {
    log_warning ("send %s: %s hangs, and is left", sender->name, sender_target (sender));
    pthread_detach (sender->thread);
    sender->left = true;
  }
  pthread_mutex_unlock (&sender->mutex);
  if (!ended)
    return false;
  pthread_join (sender->thread, NULL);
  sender_free (sender);
  return true;
}

void
sender_settle (struct sender *sender, int64_t settled_ns)
{
  pthread_mutex_lock (&sender->mutex);
  sender->settled_ns = settled_ns;
  pthread_mutex_unlock (&sender->mutex);
}

void
sender_count (struct sender *sender, struct sender_counts *counts)
{
  pthread_mutex_lock (&sender->mutex);
  *counts = sender->counts;
  pthread_mutex_unlock (&sender->mutex);
}

const char *
sender_target (const struct sender *sender)
{
  return sender->type->target ? sender->type->target (&sender->setting) : sender->options->url;
}
