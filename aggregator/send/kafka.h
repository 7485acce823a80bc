/* What is used of librdkafka, the C client of Kafka, as its documentation has it. */
#ifndef SYNOP_AGGREGATOR_SEND_KAFKA_H
#define SYNOP_AGGREGATOR_SEND_KAFKA_H

#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"

struct kafka_conf;
struct kafka_producer;
struct kafka_topic;

struct kafka_message {
  int error;
  struct kafka_topic *topic;
  int32_t partition;
  void *payload;
  size_t length;
  void *key;
  size_t key_length;
  int64_t offset;
  void *opaque; /* as it was produced with */
};

enum { KAFKA_PRODUCER = 0, KAFKA_ANY_PARTITION = -1, KAFKA_COPY = 2, KAFKA_PURGE_ALL = 3 };
enum {
  KAFKA_QUEUE_FULL = -184,
  KAFKA_AUTHENTICATION = -169,
  KAFKA_MESSAGE_TOO_LARGE = 10,
  KAFKA_LIST_TOO_LARGE = 18,
  KAFKA_INVALID_RECORD = 87
};

typedef void kafka_report_fn (struct kafka_producer *producer, const struct kafka_message *message, void *context);
typedef void kafka_error_fn (struct kafka_producer *producer, int error, const char *reason, void *context);
typedef void kafka_log_fn (const struct kafka_producer *producer, int level, const char *facility, const char *text);

struct kafka {
  struct kafka_conf *(*conf_new) (void);
  void (*conf_destroy) (struct kafka_conf *conf);
  int (*conf_set) (struct kafka_conf *conf, const char *name, const char *value, char *why, size_t size);
  void (*conf_set_context) (struct kafka_conf *conf, void *context);
  void (*conf_set_report) (struct kafka_conf *conf, kafka_report_fn *report);
  void (*conf_set_error) (struct kafka_conf *conf, kafka_error_fn *error);
  void (*conf_set_log) (struct kafka_conf *conf, kafka_log_fn *log);
  struct kafka_producer *(*create) (int type, struct kafka_conf *conf, char *why, size_t size);
  void (*destroy) (struct kafka_producer *producer);
  struct kafka_topic *(*topic_new) (struct kafka_producer *producer, const char *name, void *conf);
  void (*topic_destroy) (struct kafka_topic *topic);
  int (*produce) (struct kafka_topic *topic, int32_t partition, int flags, void *payload, size_t length,
                  const void *key, size_t key_length, void *opaque);
  int (*poll) (struct kafka_producer *producer, int ms);
  int (*purge) (struct kafka_producer *producer, int flags);
  int (*last_error) (void);
  int (*fatal_error) (struct kafka_producer *producer, char *why, size_t size);
  const char *(*error_text) (int error);
};

int kafka_load (struct kafka *kafka, struct error *error);

#endif
