/* The cloud's metadata service, as far as instance_info needs it: an image id, an instance type.
 *
 * A small HTTP client of our own: an HTTP library would be the agent's biggest dependency, on every compute node, for a
 * handful of short answers at start. It connects to an address, never to a name (a lookup may block), in clear text on the
 * link, as the service is defined, and supports no redirects, cookies or credentials. */
#ifndef SYNOP_AGENT_IMDS_H
#define SYNOP_AGENT_IMDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"

#define IMDS_ENDPOINT "http://169.254.169.254" /* link-local: of the machine that queries it */
#define IMDS_TEXT_SIZE 256

struct imds_facts { /* "": not known */
  char instance_id[IMDS_TEXT_SIZE];
  char instance_type[IMDS_TEXT_SIZE];
  char image_id[IMDS_TEXT_SIZE];
  char availability_zone[IMDS_TEXT_SIZE];
  char region[IMDS_TEXT_SIZE];
};

/* `endpoint`: "http://ADDRESS[:PORT]". Takes no longer than the deadline (clock_monotonic). Facts that are known by then
 * are set, also after an error. */
int imds_query_aws (const char *endpoint, int64_t deadline_ns, struct imds_facts *facts, struct error *error);
int imds_query_azure (const char *endpoint, int64_t deadline_ns, struct imds_facts *facts, struct error *error);

/* The parsers, for fuzzing. */
enum { IMDS_MORE = 1 };
/* Parses what has come of an HTTP answer; `ended`: nothing more will come. 0: `body` is set; IMDS_MORE; -1: an error. */
int imds_parse_answer (const char *bytes, size_t length, int ended, struct buffer *body, struct error *error);
/* The text of that key in a JSON object. False: there is none that is printable ASCII and fits. */
bool imds_json_text (const json_t *object, const char *key, char text[IMDS_TEXT_SIZE]);

#endif
