/* Answers from the history, made by a program of its own: "synop-aggregator answer", started by HTTP's thread. It gets the question
 * on standard input, words with a NUL behind each: HISTORY SOCKET PRICE CURRENCY CO2 ADVICE CLUSTER VIEWER FRESH PATH
 * [NAME=VALUE]... VIEWER: as viewer_write has it. FRESH "": what the aggregator holds in memory still is left out. It
 * prints "STATUS TYPE [FILE]\n" and the body; FILE is the name of a download. "synop-aggregator answer openapi.json" prints the description. */
#ifndef SYNOP_AGGREGATOR_API_READ_H
#define SYNOP_AGGREGATOR_API_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/api/api_error.h"
#include "aggregator/history/history_file.h"
#include "synop/buffer.h"
#include "synop/viewer.h"

#define API_READ_COMMAND "answer"
enum api_read_word {
  API_WORD_HISTORY,
  API_WORD_SOCKET,
  API_WORD_PRICE,
  API_WORD_CURRENCY,
  API_WORD_CO2,
  API_WORD_ADVICE,
  API_WORD_CLUSTER,
  API_WORD_VIEWER,
  API_WORD_FRESH,
  API_WORDS_OWN
};
#define API_SETTINGS (API_WORD_VIEWER - API_WORD_PRICE) /* of the configuration */

struct api_ask;

struct api_read {
  const char *const *words; /* API_WORDS_OWN */
  const struct api_ask *ask;
  struct history_file *file;
  int64_t now_ns;
  struct viewer viewer;
  unsigned status;  /* 200 at first */
  const char *type; /* of the body; "application/json" at first */
  char name[128];   /* of the file, if it is a download; "": it is none */
  struct buffer out;
  bool begun; /* the first of it is printed already */
  int code;   /* to exit with */
};

void api_read_print (struct api_read *read); /* what there is so far, and clears it */

/* -1 and error: there is no answer but that. */
typedef int api_read_fn (struct api_read *read, struct api_error *error);
api_read_fn api_read_jobs, api_read_job, api_read_report, api_read_events, api_read_alerts, api_read_lines,
    api_read_query, api_read_metrics;

/* The interval of the parameters `from` and `to`. */
int api_read_interval (const struct api_read *read, int64_t *from_ns, int64_t *to_ns, struct api_error *error);

int api_read_main (int argc, char **argv); /* argv[0] is "answer" */

#endif
