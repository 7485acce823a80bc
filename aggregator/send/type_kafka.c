/* Frames to a topic of Kafka, as JSON or msgpack, with the node's name as key: a node's are in one partition, in their order.
 *
 * Frames were taken when all replicas in sync have them (acks = all), as the delivery reports say. Those that are on their way
 * when the time is over stay there; only what failed is produced again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/send/kafka.h"
#include "aggregator/send/line_msgpack.h"
#include "aggregator/send/send_options.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

#define SECRET_SIZE 4096
#define POLL_MS 100

enum { ENCODING_JSON, ENCODING_MSGPACK };
enum { FRAME_NEW, FRAME_UNDER_WAY, FRAME_THERE, FRAME_DROPPED };

struct kafka_own {
  char *brokers, *topic, *properties;
  int encoding;
};

struct kafka_state {
  const struct send_setting *setting;
  const struct kafka_own *own;
  bool loaded;
  struct kafka kafka;
  struct kafka_producer *producer; /* NULL: none */
  struct kafka_topic *topic;
  char trouble[192]; /* what it said last of brokers; "": nothing */
  bool denied;       /* it could not log in */
  /* The load at hand. */
  uint8_t *frames;
  size_t count, room, under_way; /* count 0: there is none */
  int failed;                    /* why one of them is not there */
  struct buffer packed;
};

static void *
kafka_open (const struct send_setting *setting)
{
  struct kafka_state *state = memory_new (1, sizeof *state);

  state->setting = setting;
  state->own = setting->own;
  return state;
}

static void
end_producer (struct kafka_state *state)
{
  if (!state->producer)
    return;
  state->kafka.purge (state->producer, KAFKA_PURGE_ALL);
  while (state->under_way && state->kafka.poll (state->producer, POLL_MS) > 0)
    ;
  if (state->topic)
    state->kafka.topic_destroy (state->topic);
  state->kafka.destroy (state->producer);
  state->producer = NULL;
  state->topic = NULL;
}

static void
kafka_close (void *context)
{
  struct kafka_state *state = context;

  end_producer (state);
  buffer_free (&state->packed);
  free (state->frames);
  free (state);
}

/* ---- what it reports ---- */

static bool
is_refused (int error)
{
  return error == KAFKA_MESSAGE_TOO_LARGE || error == KAFKA_LIST_TOO_LARGE || error == KAFKA_INVALID_RECORD;
}

/* In kafka.poll, so in our thread. */
static void
take_report (struct kafka_producer *producer, const struct kafka_message *message, void *context)
{
  struct kafka_state *state = context;
  size_t index = (size_t) (uintptr_t) message->opaque;

  (void) producer;
  if (index >= state->count || state->frames[index] != FRAME_UNDER_WAY)
    return;
  state->under_way--;
  state->frames[index] = !message->error ? FRAME_THERE : is_refused (message->error) ? FRAME_DROPPED : FRAME_NEW;
  state->failed = message->error ? message->error : state->failed;
}

static void
take_error (struct kafka_producer *producer, int error, const char *reason, void *context)
{
  struct kafka_state *state = context;

  (void) producer;
  state->denied |= error == KAFKA_AUTHENTICATION;
  snprintf (state->trouble, sizeof state->trouble, "%s", reason);
}

/* What matters comes as an error too. */
static void
take_log (const struct kafka_producer *producer, int level, const char *facility, const char *text)
{
  (void) producer;
  (void) level;
  log_debug ("kafka: %s: %s", facility, text);
}

/* ---- a producer ---- */

static int
set (struct kafka_state *state, struct kafka_conf *conf, const char *name, const char *value,
     struct send_answer *answer)
{
  char why[192];

  if (state->kafka.conf_set (conf, name, value, why, sizeof why) == 0)
    return 0;
  snprintf (answer->text, sizeof answer->text, "%.60s: %s", name, why);
  return -1;
}

static int
set_login (struct kafka_state *state, struct kafka_conf *conf, struct send_answer *answer)
{
  const struct send_options *options = state->setting->options;
  char secret[SECRET_SIZE];
  struct error error;
  int result;

  if (!*options->user)
    return 0;
  if (file_read_text (options->password_file, secret, sizeof secret, &error) < 0) {
    snprintf (answer->text, sizeof answer->text, "%.255s", error.text);
    return -1;
  }
  secret[strcspn (secret, "\r\n")] = '\0';
  result = set (state, conf, "sasl.mechanisms", "PLAIN", answer) < 0 ||
                   set (state, conf, "sasl.username", options->user, answer) < 0 ||
                   set (state, conf, "sasl.password", secret, answer) < 0
               ? -1
               : 0;
  explicit_bzero (secret, sizeof secret);
  return result;
}

static int
set_security (struct kafka_state *state, struct kafka_conf *conf, struct send_answer *answer)
{
  const struct send_options *options = state->setting->options;
  bool tls = *options->ca || *options->certificate;
  const char *protocol = *options->user ? (tls ? "sasl_ssl" : "sasl_plaintext") : tls ? "ssl" : "plaintext";

  if (set (state, conf, "security.protocol", protocol, answer) < 0 ||
      (*options->ca && set (state, conf, "ssl.ca.location", options->ca, answer) < 0))
    return -1;
  if (*options->certificate && (set (state, conf, "ssl.certificate.location", options->certificate, answer) < 0 ||
                                set (state, conf, "ssl.key.location", options->key, answer) < 0))
    return -1;
  return set_login (state, conf, answer);
}

/* "NAME=VALUE": of the option `properties`, the next one. 0: there is none. */
static int
next_property (const char **at, char name[128], char value[512])
{
  size_t length = strcspn (*at += strspn (*at, ", "), ","), equals = strcspn (*at, "=");

  if (!length || equals >= length || equals >= 128 || length - equals > 512)
    return length ? -1 : 0;
  snprintf (name, 128, "%.*s", (int) equals, *at);
  snprintf (value, 512, "%.*s", (int) (length - equals - 1), *at + equals + 1);
  *at += length;
  return 1;
}

static int
set_all (struct kafka_state *state, struct kafka_conf *conf, struct send_answer *answer)
{
  const char *at = state->own->properties;
  char name[128], value[512], retry[32];

  snprintf (retry, sizeof retry, "%" PRId64, state->setting->options->retry_ns / NS_PER_MS);
  if (set (state, conf, "reconnect.backoff.max.ms", retry, answer) < 0 ||
      set (state, conf, "bootstrap.servers", state->own->brokers, answer) < 0 ||
      set (state, conf, "client.id", "synop", answer) < 0 ||
      set (state, conf, "enable.idempotence", "true", answer) < 0 || set (state, conf, "acks", "all", answer) < 0 ||
      set (state, conf, "max.in.flight", "1", answer) < 0 || /* in order, whatever a broker makes of what comes again */
      set (state, conf, "message.timeout.ms", "0", answer) < 0 ||
      set (state, conf, "compression.type", "lz4", answer) < 0 || set_security (state, conf, answer) < 0)
    return -1;
  while (next_property (&at, name, value) > 0)
    if (set (state, conf, name, value, answer) < 0)
      return -1;
  return 0;
}

static int
begin_producer (struct kafka_state *state, struct send_answer *answer)
{
  struct kafka_conf *conf = state->kafka.conf_new ();
  char why[192] = "";

  state->trouble[0] = '\0';
  state->denied = false;
  state->kafka.conf_set_context (conf, state);
  state->kafka.conf_set_report (conf, take_report);
  state->kafka.conf_set_error (conf, take_error);
  state->kafka.conf_set_log (conf, take_log);
  if (set_all (state, conf, answer) < 0) {
    state->kafka.conf_destroy (conf);
    return -1;
  }
  state->producer = state->kafka.create (KAFKA_PRODUCER, conf, why, sizeof why);
  if (!state->producer) {
    state->kafka.conf_destroy (conf);
    snprintf (answer->text, sizeof answer->text, "%s", why);
    return -1;
  }
  state->topic = state->kafka.topic_new (state->producer, state->own->topic, NULL);
  if (state->topic)
    return 0;
  snprintf (answer->text, sizeof answer->text, "topic %.60s: %.120s", state->own->topic,
            state->kafka.error_text (state->kafka.last_error ()));
  end_producer (state);
  return -1;
}

static int
have_producer (struct kafka_state *state, struct send_answer *answer)
{
  struct error error;

  if (!state->loaded && kafka_load (&state->kafka, &error) < 0) {
    snprintf (answer->text, sizeof answer->text, "%.255s", error.text);
    return -1;
  }
  state->loaded = true;
  return state->producer ? 0 : begin_producer (state, answer);
}

/* ---- a load ---- */

static void
begin_load (struct kafka_state *state, size_t count)
{
  if (count > state->room)
    state->frames = memory_resize (state->frames, state->room = count, sizeof state->frames[0]);
  memset (state->frames, FRAME_NEW, count);
  state->count = count;
}

static int
produce (struct kafka_state *state, const struct send_load *load, size_t index)
{
  const char *node = load->text + load->lines[index].node, *line = load->text + load->lines[index].at;
  size_t length = load->lines[index].length - 1; /* without the newline */

  if (state->own->encoding == ENCODING_MSGPACK) {
    buffer_clear (&state->packed);
    line_msgpack_put (&state->packed, line, length);
    line = state->packed.data;
    length = state->packed.length;
  }
  if (state->kafka.produce (state->topic, KAFKA_ANY_PARTITION, KAFKA_COPY, (void *) (uintptr_t) line, length, node,
                            strlen (node), (void *) (uintptr_t) index) == 0)
    return 0;
  return state->kafka.last_error ();
}

/* Those that are not under way or there. A queue that is full takes the others later, in their order. */
static void
produce_all (struct kafka_state *state, const struct send_load *load)
{
  for (size_t i = 0; i < state->count; i++) {
    int error = state->frames[i] == FRAME_NEW ? produce (state, load, i) : 0;
    if (error == KAFKA_QUEUE_FULL)
      break;
    if (state->frames[i] != FRAME_NEW)
      continue;
    state->failed = error ? error : state->failed;
    state->frames[i] = !error ? FRAME_UNDER_WAY : is_refused (error) ? FRAME_DROPPED : FRAME_NEW;
    state->under_way += !error;
  }
}

static size_t
count_frames (const struct kafka_state *state, int kind)
{
  size_t count = 0;

  for (size_t i = 0; i < state->count; i++)
    count += state->frames[i] == kind;
  return count;
}

static void
say_why (const struct kafka_state *state, struct send_answer *answer)
{
  snprintf (answer->text, sizeof answer->text, "topic %.50s: %.190s", state->own->topic,
            state->failed     ? state->kafka.error_text (state->failed)
            : *state->trouble ? state->trouble
                              : "no broker has acknowledged in time");
}

/* One that has a fatal error is of no more use; one that may not log in has a password that may be another one by now. */
static void
end_if_useless (struct kafka_state *state, struct send_answer *answer)
{
  char why[192];

  if (state->kafka.fatal_error (state->producer, why, sizeof why))
    snprintf (answer->text, sizeof answer->text, "%s", why);
  else if (!state->denied)
    return;
  end_producer (state);
  for (size_t i = 0; i < state->count; i++)
    state->frames[i] = state->frames[i] == FRAME_UNDER_WAY ? FRAME_NEW : state->frames[i];
  state->under_way = 0;
}

/* Until nothing is under way any more: all is there, or the next would be in front of one that failed. */
static void
bring_all (struct kafka_state *state, const struct send_load *load)
{
  int64_t due_ns = clock_monotonic () + state->setting->options->timeout_ns;

  state->failed = 0;
  do {
    if (!state->failed)
      produce_all (state, load);
    state->kafka.poll (state->producer, POLL_MS);
  } while ((state->under_way || (!state->failed && count_frames (state, FRAME_NEW))) && clock_monotonic () < due_ns &&
           !send_is_stopped (state->setting));
}

static enum send_verdict
kafka_deliver (void *context, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  struct kafka_state *state = context;
  size_t left;

  if (have_producer (state, answer) < 0)
    return SEND_AGAIN;
  if (!state->count)
    begin_load (state, *count);
  *count = state->count;
  bring_all (state, load);
  left = count_frames (state, FRAME_NEW) + state->under_way;
  say_why (state, answer);
  if (left) {
    end_if_useless (state, answer);
    return SEND_AGAIN;
  }
  answer->taken = count_frames (state, FRAME_THERE);
  state->trouble[0] = '\0';
  state->count = 0;
  return answer->taken == *count ? SEND_TAKEN : SEND_PART;
}

/* ---- options ---- */

static int
check_properties (const char *value, struct error *error)
{
  char name[128], text[512];
  int result;

  while ((result = next_property (&value, name, text)) > 0)
    ;
  return result < 0 ? error_set (error, "\"%.64s\": expected NAME=VALUE", value) : 0;
}

static int
kafka_check (const struct send_options *options, const void *own, struct error *error)
{
  const struct kafka_own *kafka = own;

  (void) options;
  return *kafka->brokers ? 0 : error_set (error, "brokers: must be given");
}

static const char *
kafka_target (const struct send_setting *setting)
{
  const struct kafka_own *own = setting->own;

  return own->brokers;
}

static const char *const encodings[] = { [ENCODING_JSON] = "json", [ENCODING_MSGPACK] = "msgpack", NULL };

#define AT(member) .offset = offsetof (struct kafka_own, member)
static const struct option options[] = {
  { "", "brokers", NULL, OPTION_LIST, AT (brokers), .help = "Of kafka: brokers to begin with, HOST:9092." },
  { "", "topic", NULL, OPTION_TEXT, AT (topic), "synop", .help = "Of kafka: where to." },
  { "", "encoding", NULL, OPTION_CHOICE, AT (encoding), "json", .choices = encodings,
    .help = "Of kafka: a frame as JSON, or the same as msgpack." },
  { "", "properties", NULL, OPTION_LIST, AT (properties), .check = check_properties,
    .help = "Of kafka: what librdkafka calls so, NAME=VALUE, parted by commas; it goes over all others." },
};

const struct send_type send_kafka = {
  .name = "kafka",
  .shared = SEND_FOR_LOGIN SEND_FOR_TLS,
  .own = { options, sizeof options / sizeof options[0], sizeof (struct kafka_own) },
  .lines = true,
  .load_most = 10000,
  .check = kafka_check,
  .target = kafka_target,
  .open = kafka_open,
  .close = kafka_close,
  .deliver = kafka_deliver,
};
