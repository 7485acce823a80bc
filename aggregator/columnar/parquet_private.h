/* A Parquet file while it is written: column chunks, pages, metadata. */
#ifndef SYNOP_AGGREGATOR_PARQUET_PRIVATE_H
#define SYNOP_AGGREGATOR_PARQUET_PRIVATE_H

#include "aggregator/columnar/columnar_private.h"
#include "aggregator/columnar/dictionary.h"
#include "aggregator/columnar/thrift.h"

#define PARQUET_MAGIC "PAR1"
enum { PARQUET_BOOLEAN = 0, PARQUET_INT64 = 2, PARQUET_DOUBLE = 5, PARQUET_BYTES = 6 }; /* Type */
enum { PARQUET_PLAIN = 0, PARQUET_RLE = 3, PARQUET_RLE_DICTIONARY = 8 };                /* Encoding */
#define PARQUET_ZSTD 6                                                                  /* CompressionCodec */

/* Statistics of the values that are not null. */
struct parquet_range {
  bool known;
  union {
    int64_t whole; /* INT64, TIME, BOOL */
    double real;
  } min, max;
  struct buffer min_text, max_text;
};

/* A column of the row group: its finished pages, and what is known of them. */
struct parquet_chunk {
  struct buffer pages;
  size_t raw_bytes; /* of the pages before they were compressed, with their headers */
  size_t nulls;
  struct dictionary dictionary; /* of texts */
  bool coded, plain;            /* some pages are numbers of the dictionary; some are texts as they stand */
  struct parquet_range range;
};

struct parquet {
  struct parquet_chunk *chunks; /* one for each column */
  size_t rows;                  /* in them */
  uint64_t all_rows;            /* in finished row groups too */
  struct buffer groups;         /* their metadata, struct RowGroup each */
  size_t group_count;
};

/* ---- parquet_page.c ---- */

/* Adds a block as a page. Returns how many bytes it keeps more in memory. */
size_t parquet_page_add (struct parquet_chunk *chunk, struct columnar *table, size_t column);
/* The page of the chunk's dictionary; its raw bytes are added to the chunk's. */
void parquet_dictionary_page (struct parquet_chunk *chunk, struct columnar_pool *pool, struct buffer *out);

/* ---- parquet_metadata.c ---- */

/* Where the pages of a chunk lie. */
struct parquet_place {
  uint64_t from, data, to; /* the dictionary's page, the first of data, the end */
};

void parquet_group_add (struct parquet *parquet, const struct columnar *table, const struct parquet_place *places);
void parquet_footer_add (struct buffer *out, const struct parquet *parquet, const struct columnar *table);

#endif
