/* The series that are sent, each once for all nodes: what its labels are beside the node's name, found again without looking
 * at them. Their texts are symbols, each once too. A bounded number is kept. */
#ifndef SYNOP_SEND_SERIES_H
#define SYNOP_SEND_SERIES_H

#include "synop/hash_table.h"
#include "synop/series.h"

struct send_symbol {
  uint64_t request; /* the type's: the request that has it, */
  uint32_t ref;     /* and where */
  uint32_t length;
  UT_hash_handle hh;
  char text[]; /* with a NUL behind */
};

struct send_label {
  struct send_symbol *name, *value; /* value NULL: the node's name */
};

struct send_family {
  const struct metric_family *public;
  struct send_symbol *help, *unit; /* maybe empty */
  int64_t stated_ns;               /* the type's: when it was stated last; 0: never */
  UT_hash_handle hh;
};

struct send_series {
  struct send_family *family;
  struct send_label *labels;    /* in order of their names, each once, none empty; __name__ is among them */
  size_t label_count, instance; /* that one has the node's name */
  size_t size;                  /* of the labels' texts */
  uint64_t hash;                /* of the labels; whatever the node */
  bool wanted;                  /* by the type; else it is never a sample */
  void *encoded;                /* the type's, which is freed with it; NULL at first */
  /* The rest is private. */
  struct send_series *following; /* which was wanted after it the last time */
  UT_hash_handle hh;
  size_t key_length;
  char key[];
};

struct send_sample {
  struct send_series *series;
  struct send_symbol *node;
  double value;
  int64_t time_ms;
  int64_t start_ms; /* its node's boot: counters count from then on, or later */
  bool stale;       /* its series ends here: there is no value; only for types that ask for these */
};

struct send_cache;

struct send_cache_options {
  const char *job, *labels; /* the label `job`; labels that all get, as send_labels.h has them */
  /* Is this series to be sent? Asked once a series, before it is sent the first time. May be NULL: all are. */
  bool (*wants) (void *context, const struct send_series *series);
  void *context;
};

struct send_cache *send_cache_create (const struct send_cache_options *options); /* its texts stay */
void send_cache_destroy (struct send_cache *cache);                              /* NULL is fine */
/* Valid until send_cache_trim. */
struct send_series *send_series_find (struct send_cache *cache, const struct series *series);
struct send_symbol *send_symbol_find (struct send_cache *cache, const char *text, size_t length);
/* Forgets all when there are many. */
void send_cache_trim (struct send_cache *cache);

#endif
