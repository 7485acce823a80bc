/* The cloud's metadata service, as far as instance_info asks it: an image id, an instance type.
 *
 * A small HTTP exchange of our own: an HTTP library would be the agent's biggest dependency, on every compute node, for
 * a handful of short answers at start. It speaks to an address, never to a name (looking one up may block), in clear
 * text on the link, as the service is defined, and takes nothing in: no redirects, no cookies, no credentials. */
#ifndef SYNOP_AGENT_IMDS_H
#define SYNOP_AGENT_IMDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"

#define IMDS_ENDPOINT "http://169.254.169.254" /* that of the machine on which it is asked */
#define IMDS_TEXT_SIZE 256

struct imds_facts { /* "": not known */
  char instance_id[IMDS_TEXT_SIZE];
  char instance_type[IMDS_TEXT_SIZE];
  char image_id[IMDS_TEXT_SIZE];
  char availability_zone[IMDS_TEXT_SIZE];
  char region[IMDS_TEXT_SIZE];
};

/* `endpoint`: "http://ADDRESS[:PORT]". All within the deadline (clock_monotonic). What is known by then stands in the
 * facts, also after an error. */
int imds_ask_aws (const char *endpoint, int64_t deadline_ns, struct imds_facts *facts, struct error *error);
int imds_ask_azure (const char *endpoint, int64_t deadline_ns, struct imds_facts *facts, struct error *error);

/* The parsers, for fuzzing. */
enum { IMDS_MORE = 1 };
/* An HTTP answer so far; `ended`: nothing more will come. 0: `body` is there; IMDS_MORE; -1: it is no good answer. */
int imds_parse_answer (const char *bytes, size_t length, int ended, struct buffer *body, struct error *error);
/* The text of that key in a JSON object. False when there is none that is plain printable ASCII and fits. */
bool imds_json_text (const json_t *object, const char *key, char text[IMDS_TEXT_SIZE]);

#endif
