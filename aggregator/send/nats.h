/* What is used of libnats, the C client of NATS, as its documentation has it. */
#ifndef SYNOP_AGGREGATOR_SEND_NATS_H
#define SYNOP_AGGREGATOR_SEND_NATS_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/error.h"

struct nats_connection;
struct nats_options;
struct nats_message;

enum { NATS_OK = 0, NATS_TIMEOUT = 26 };

struct nats {
  int (*options_create) (struct nats_options **options);
  void (*options_destroy) (struct nats_options *options);
  int (*set_url) (struct nats_options *options, const char *url);
  int (*set_name) (struct nats_options *options, const char *name);
  int (*set_timeout) (struct nats_options *options, int64_t ms);
  int (*set_allow_reconnect) (struct nats_options *options, bool allow);
  int (*set_user) (struct nats_options *options, const char *user, const char *password);
  int (*set_token) (struct nats_options *options, const char *token);
  int (*set_credentials) (struct nats_options *options, const char *file, const char *seed);
  int (*set_secure) (struct nats_options *options, bool secure);
  int (*load_ca) (struct nats_options *options, const char *file);
  int (*load_certificate) (struct nats_options *options, const char *certificate, const char *key);
  int (*connect) (struct nats_connection **connection, struct nats_options *options);
  void (*destroy) (struct nats_connection *connection);
  bool (*is_closed) (struct nats_connection *connection);
  int64_t (*most) (struct nats_connection *connection);
  int (*publish) (struct nats_connection *connection, const char *subject, const void *bytes, int length);
  int (*request) (struct nats_message **reply, struct nats_connection *connection, const char *subject,
                  const void *bytes, int length, int64_t ms);
  int (*flush) (struct nats_connection *connection, int64_t ms);
  int (*last_error) (struct nats_connection *connection, const char **text);
  const char *(*thread_error) (int *status); /* of the last call in this thread */
  const char *(*message_data) (const struct nats_message *message);
  int (*message_length) (const struct nats_message *message);
  void (*message_destroy) (struct nats_message *message);
  const char *(*status_text) (int status);
};

int nats_load (struct nats *nats, struct error *error);

#endif
