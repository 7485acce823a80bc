/* Requests to one receiver over one connection that stays open: libcurl. */
#ifndef SYNOP_AGGREGATOR_SEND_HTTP_H
#define SYNOP_AGGREGATOR_SEND_HTTP_H

#include "aggregator/send/send_options.h"

struct send_http;

struct send_http *send_http_create (const struct send_options *options);
void send_http_destroy (struct send_http *http); /* NULL is fine */
/* Posts, and waits for the answer: no longer than the timeout, nor than until send_http_stop. Secrets are read from their
 * files each time, so that they may change. */
void send_http_post (struct send_http *http, const struct send_request *request, struct send_answer *answer);
void send_answer_text (const struct send_answer *answer, char *text, size_t size); /* for people */
void send_http_stop (struct send_http *http); /* from any thread, once; NULL is fine */

#endif
