/* What columnar.c, which gathers rows, and the forms, which encode them, share. */
#ifndef SYNOP_AGGREGATOR_COLUMNAR_PRIVATE_H
#define SYNOP_AGGREGATOR_COLUMNAR_PRIVATE_H

#include <zstd.h>

#include "aggregator/columnar/columnar.h"
#include "synop/buffer.h"

/* The cells of a column in a block. Nulls have a place too: zero, or an empty text. */
struct columnar_values {
  size_t nulls;
  struct buffer known; /* a byte for each row: 1, or 0 of a null */
  struct buffer fixed; /* int64_t, double; bool: a byte, 0 or 1; text: uint32_t, where it ends in `text` */
  struct buffer text;
};

/* The i-th text of a block. */
static inline const char *
columnar_text (const struct columnar_values *values, size_t i, size_t *length)
{
  const uint32_t *ends = (const uint32_t *) (const void *) values->fixed.data;
  uint32_t begin = i ? ends[i - 1] : 0;

  *length = ends[i] - begin;
  return values->text.data ? values->text.data + begin : "";
}

struct columnar_pool {
  const struct columnar_form *form;
  struct columnar *tables;
  size_t block_bytes, form_bytes; /* of all tables: in blocks; kept by the form */
  ZSTD_CCtx *zstd;
};

struct columnar {
  struct columnar *prev, *next; /* in the pool */
  struct columnar_pool *pool;
  char *name, *help;
  struct columnar_column *columns; /* texts are owned */
  size_t column_count;
  struct columnar_sink sink;
  uint64_t written;               /* bytes */
  struct columnar_values *values; /* the block */
  size_t rows, block_bytes;       /* in it */
  size_t form_bytes;              /* that the form keeps of earlier blocks */
  void *state;                    /* the form's */
};

/* Both forms see only whole blocks, with a row at least. -1 and error: the sink failed. */
struct columnar_form {
  void *(*create) (struct columnar *table);
  int (*block) (struct columnar *table, struct error *error); /* takes the block; sets form_bytes */
  int (*flush) (struct columnar *table, struct error *error); /* writes what it keeps; form_bytes is 0 then */
  int (*finish) (struct columnar *table, struct error *error);
  void (*destroy) (struct columnar *table);
};

int columnar_put (struct columnar *table, const void *bytes, size_t length, struct error *error);

/* Adds the bytes compressed; returns how many these are. */
size_t columnar_pack (struct columnar_pool *pool, struct buffer *out, const void *bytes, size_t length);

#endif
