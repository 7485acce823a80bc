/* The addresses of the API, in one table: what is asked is checked against it, and docs/openapi.json is written from it. */
#ifndef SYNOP_AGGREGATOR_API_ROUTE_H
#define SYNOP_AGGREGATOR_API_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "aggregator/api/api_error.h"
#include "aggregator/api/api_read.h"
#include "synop/http.h"

#define API_PREFIX "/api/v1/"
#define API_PARAMETERS_MAX 24
#define API_TEXT_MAX 1024    /* bytes of a value, */
#define API_REQUEST_MAX 3900 /* and of a request */

enum api_kind {
  API_GLOBS,    /* globs, with commas between them */
  API_TYPES,    /* of types of lines */
  API_METRICS,  /* paths of metrics, with commas between them */
  API_TIME,     /* as when_parse */
  API_DURATION, /* as 5m */
  API_NUMBER,   /* from 1 to `most` */
  API_BOOLEAN,  /* yes, no, true, false, 1, 0; "" is yes */
  API_CHOICE,   /* one of `choices` */
  API_REQUEST,  /* of the UNIX socket: words with tabs between them */
  API_WORDS     /* any text */
};

struct api_parameter {
  const char *name;
  enum api_kind kind;
  const char *help;
  const char *fallback; /* NULL: none */
  bool required;
  size_t most;
  const char *const *choices; /* NULL at the end */
};

struct api;
struct api_route;

/* A request that was checked: the values of the route's parameters, in their order; NULL: not given, and no fallback.
 * The last one is what stands for {...} in the path, if something does. */
struct api_ask {
  const struct api_route *route;
  char *values[API_PARAMETERS_MAX + 1]; /* owned */
};

struct api_route {
  const char *path; /* behind the prefix; "jobs/{id}": all that begin with "jobs/"; "jobs/{id}/report": and end so */
  const char *title, *help;
  const struct api_parameter *parameters;
  size_t count;
  const char *schema;         /* of the answer, in api_schemas.h; NULL: it is no JSON, but one of: */
  const char *const *types;   /* media types, NULL at the end */
  const char *schema_of_path; /* what {...} is, for the description; NULL: nothing */
  /* In HTTP's thread. It may take over the values, leaving NULL. */
  void (*answer) (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply);
  api_read_fn *read; /* of one that answers from the history: in the child */
};

extern const struct api_route api_routes[];
extern const size_t api_route_count;

/* What a path ends in behind {...}; "": nothing. */
const char *api_route_tail (const struct api_route *route);
/* The route of a path, and the part of it from where {...} stands; NULL and error: there is none. */
const struct api_route *api_route_find (const char *path, const char **part, struct api_error *error);
/* Where the value of that name is; the table has it. */
const char *api_value (const struct api_ask *ask, const char *name);
const char *api_value_of_path (const struct api_ask *ask);
bool api_is_yes (const char *value); /* of a boolean */

/* Takes one parameter, as it was sent; it may come again where it is a list. */
int api_ask_take (struct api_ask *ask, const char *name, const char *value, struct api_error *error);
/* Checks all, and fills in what was not given. */
int api_ask_check (struct api_ask *ask, const char *part, struct api_error *error);
void api_ask_free (struct api_ask *ask);

/* What a value has to be: for the description and for errors. */
void api_expects (const struct api_parameter *parameter, char *text, size_t size);

#endif
