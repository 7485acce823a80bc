/* See made_tables.h. */
#include "tests/unit/aggregator/columnar/made_tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/columnar/columnar.h"
#include "synop/clock.h"
#include "synop/json.h"
#include "synop/memory.h"

#define COLUMNS_MAX 8
#define TABLES 5
#define TEXT_SIZE 4096

static uint64_t
next (uint64_t *random) /* splitmix64 */
{
  uint64_t z = *random += UINT64_C (0x9e3779b97f4a7c15);

  z = (z ^ z >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C (0x94d049bb133111eb);
  return z ^ z >> 31;
}

static int
file_put (void *context, const void *bytes, size_t length, struct error *error)
{
  return fwrite (bytes, 1, length, context) == length ? 0 : error_set (error, "%s", strerror (errno));
}

static FILE *
file_open (const char *folder, size_t table, const char *ending)
{
  char *path = memory_format ("%s/t%zu.%s", folder, table, ending);
  FILE *file = fopen (path, "we");

  if (!file) {
    fprintf (stderr, "%s: %s\n", path, strerror (errno));
    exit (1);
  }
  free (path);
  return file;
}

/* ---- random tables ---- */

/* A column: how many of 8 cells are null, and from how many different values the others are drawn. */
struct made_column {
  unsigned nulls;
  uint64_t different;
  char name[24];
};

struct made {
  struct columnar_column columns[COLUMNS_MAX];
  struct made_column how[COLUMNS_MAX];
  struct columnar_cell cells[COLUMNS_MAX];
  char texts[COLUMNS_MAX][TEXT_SIZE];
  size_t column_count, rows;
  struct columnar *forms[2];
  FILE *files[3];
};

static const char *const type_names[] = { "int64", "double", "bool", "text", "time" };

static void
made_text (struct columnar_cell *cell, char *text, uint64_t which)
{
  static const char *const some[] = { "", "lo", "naïve \U0001f300", "a,\"b\"\n", "\x01", "n1" };
  size_t length;

  if (which < sizeof some / sizeof some[0])
    length = (size_t) snprintf (text, TEXT_SIZE, "%s", some[which]);
  else if (which % 1000 == 999)
    memset (text, 'a' + (int) (which % 7), length = TEXT_SIZE);
  else
    length = (size_t) snprintf (text, TEXT_SIZE, "text%llu", (unsigned long long) which);
  cell->as.text = text;
  cell->length = (uint32_t) length;
}

static void
made_cell (struct made *made, size_t column, uint64_t *random)
{
  static const double odd[] = { 0.0, -0.0, (double) INFINITY, -(double) INFINITY, 5e-324, 1.7976931348623157e308, 0.1 };
  const struct made_column *how = &made->how[column];
  struct columnar_cell *cell = &made->cells[column];
  uint64_t which = next (random) % how->different;

  *cell = (struct columnar_cell){ .known = next (random) % 8 >= how->nulls };
  if (!cell->known)
    return;
  switch (made->columns[column].type) {
  case COLUMNAR_TEXT:
    made_text (cell, made->texts[column], which);
    break;
  case COLUMNAR_BOOL:
    cell->as.whole = (int64_t) (which & 1);
    break;
  case COLUMNAR_DOUBLE:
    if (how->different > 100)
      cell->as.whole = (int64_t) next (random); /* any bits */
    else
      cell->as.real = odd[which % 7];
    break;
  default:
    cell->as.whole = how->different > 100 ? (int64_t) next (random) : which ? (int64_t) which : INT64_MIN;
  }
}

static void
json_cell (struct json *json, enum columnar_type type, const struct columnar_cell *cell)
{
  char bits[20];

  if (!cell->known) {
    json_null (json);
  } else if (type == COLUMNAR_DOUBLE) {
    snprintf (bits, sizeof bits, "%016llx", (unsigned long long) cell->as.whole);
    json_text (json, isnan (cell->as.real) ? "nan" : bits);
  } else if (type == COLUMNAR_TEXT) {
    json_text_n (json, cell->as.text, cell->length);
  } else if (type == COLUMNAR_BOOL) {
    json_bool (json, cell->as.whole);
  } else {
    json_int (json, cell->as.whole);
  }
}

static void
json_flush (struct json *json, FILE *file)
{
  json_newline (json);
  fwrite (json->out.data, 1, json->out.length, file);
  json_clear (json);
}

static void
made_head (struct made *made, struct json *json)
{
  json_object (json);
  json_array (json_key (json, "columns"));
  for (size_t i = 0; i < made->column_count; i++) {
    json_object (json);
    json_text (json_key (json, "name"), made->columns[i].name);
    json_text (json_key (json, "type"), type_names[made->columns[i].type]);
    json_bool (json_key (json, "label"), made->columns[i].label);
    json_text (json_key (json, "unit"), made->columns[i].unit);
    json_text (json_key (json, "help"), made->columns[i].help);
    json_object_end (json);
  }
  json_array_end (json);
  json_uint (json_key (json, "rows"), made->rows);
  json_object_end (json);
  json_flush (json, made->files[2]);
}

static void
made_begin (struct made *made, struct columnar_pool *pools[2], size_t index, const char *folder, uint64_t *random)
{
  static const size_t rows[] = { 0, 1, 7, 8, 9, 1000, 32768, 32769, 33000 };
  static const uint64_t different[] = { 1, 2, 5, 40, 3000, UINT64_C (1) << 60 };
  static const char *const endings[] = { "parquet", "arrow", "jsonl" };
  static const char *const units[] = { "", "bytes", "°C" };
  struct columnar_plan plan = { "made \"up\"", "Made up.", made->columns, 0 };

  bool many = index == 0; /* two columns of more texts than a dictionary holds: from the second block on, and at once */

  made->rows = many ? 50000 : rows[next (random) % (sizeof rows / sizeof rows[0])];
  made->column_count = plan.column_count = (many ? 2 : 1) + next (random) % (COLUMNS_MAX - 1);
  for (size_t i = 0; i < made->column_count; i++) {
    struct made_column *how = &made->how[i];
    how->nulls = many && i < 2 ? 4 * (i == 0) : next (random) % 3 ? 0 : (unsigned) (next (random) % 9);
    how->different = different[many && i < 2 ? 5 : next (random) % 6];
    snprintf (how->name, sizeof how->name, i == 3 ? "größe_%zu" : "c%zu", i);
    made->columns[i] = (struct columnar_column){ .name = how->name,
                                                 .type = many && i < 2 ? COLUMNAR_TEXT : next (random) % COLUMNAR_TYPES,
                                                 .unit = units[next (random) % 3],
                                                 .help = next (random) % 2 ? "" : "What it is, in \"words\"." };
    made->columns[i].label = made->columns[i].type == COLUMNAR_TEXT && how->different <= 3000 && next (random) % 2;
  }
  for (size_t i = 0; i < 3; i++)
    made->files[i] = file_open (folder, index, endings[i]);
  for (size_t i = 0; i < 2; i++)
    made->forms[i] = columnar_create (pools[i], &plan, &(struct columnar_sink){ made->files[i], file_put });
}

static int
made_row (struct made *made, struct json *json, uint64_t *random, struct error *error)
{
  json_array (json);
  for (size_t i = 0; i < made->column_count; i++) {
    made_cell (made, i, random);
    json_cell (json, made->columns[i].type, &made->cells[i]);
  }
  json_array_end (json);
  json_flush (json, made->files[2]);
  return columnar_add (made->forms[0], made->cells, error) < 0 || columnar_add (made->forms[1], made->cells, error) < 0
             ? -1
             : 0;
}

static int
made_end (struct made *made, struct error *error)
{
  int result = 0;

  for (size_t i = 0; i < 2; i++) {
    if (columnar_finish (made->forms[i], error) < 0)
      result = -1;
    columnar_destroy (made->forms[i]);
  }
  for (size_t i = 0; i < 3; i++)
    if (fclose (made->files[i]) != 0)
      result = error_set (error, "%s", strerror (errno));
  return result;
}

int
made_random (const char *seed, const char *folder)
{
  struct columnar_pool *pools[2] = { columnar_pool_create (&columnar_parquet), columnar_pool_create (&columnar_arrow) };
  struct made *tables = memory_new (TABLES, sizeof *tables);
  uint64_t random = strtoull (seed, NULL, 10);
  struct json json = { 0 };
  struct error error = { "" };
  size_t most = 0;
  int result = 0;

  for (size_t i = 0; i < TABLES; i++) {
    made_begin (&tables[i], pools, i, folder, &random);
    made_head (&tables[i], &json);
    most = tables[i].rows > most ? tables[i].rows : most;
  }
  for (size_t row = 0; row < most && result == 0; row++)
    for (size_t i = 0; i < TABLES && result == 0; i++)
      if (row < tables[i].rows)
        result = made_row (&tables[i], &json, &random, &error);
  for (size_t i = 0; i < TABLES; i++)
    if (made_end (&tables[i], &error) < 0)
      result = -1;
  if (result < 0)
    fprintf (stderr, "%s\n", error.text);
  columnar_pool_destroy (pools[0]);
  columnar_pool_destroy (pools[1]);
  json_free (&json);
  free (tables);
  return result < 0;
}

/* ---- many rows ---- */

#define NODES 1000
#define DEVICES 8
enum { TIME, NODE, DEVICE, PERIOD, FAULT, COUNTER, STILL, GAUGE, STATE = GAUGE + 2, FEW, ROW_COLUMNS };

static void
fill_row (struct columnar_cell *cells, uint64_t row, char names[2][32], uint64_t *random)
{
  uint64_t sample = row / (NODES * DEVICES);

  cells[TIME] = (struct columnar_cell){ true, 0, { .whole = (int64_t) (1700000000 + sample) * NS_PER_S } };
  cells[TIME].as.whole += (int64_t) (row / DEVICES % NODES * 977);
  cells[NODE] = (struct columnar_cell){ true, 0, { .text = names[0] } };
  cells[NODE].length = (uint32_t) snprintf (names[0], 32, "n%04u", (unsigned) (row / DEVICES % NODES));
  cells[DEVICE] = (struct columnar_cell){ true, 0, { .text = names[1] } };
  cells[DEVICE].length = (uint32_t) snprintf (names[1], 32, "eth%u", (unsigned) (row % DEVICES));
  cells[PERIOD] = (struct columnar_cell){ true, 0, { .real = 1 + (double) (next (random) % 1000) * 1e-6 } };
  cells[FAULT] = (struct columnar_cell){ .known = false };
  cells[COUNTER] = (struct columnar_cell){ true, 0, { .whole = (int64_t) (next (random) >> 44) } };
  cells[STILL] = (struct columnar_cell){ .known = true };
  cells[GAUGE] = (struct columnar_cell){ row % 50 != 0, 0, { .real = (double) (next (random) % 100000) / 100 } };
  cells[GAUGE + 1] = (struct columnar_cell){ true, 0, { .real = (double) (row % DEVICES) } };
  cells[STATE] = (struct columnar_cell){ true, 0, { .whole = next (random) % 64 != 0 } };
  cells[FEW] = (struct columnar_cell){ true, 2, { .text = row % 97 ? "up" : "no" } };
}

/* Of a column: its nulls, and the sum of its values, of texts of their lengths. */
struct sum {
  uint64_t nulls;
  int64_t whole;
  double real;
};

static void
sum_add (struct sum *sum, enum columnar_type type, const struct columnar_cell *cell)
{
  sum->nulls += !cell->known;
  if (cell->known && type == COLUMNAR_DOUBLE)
    sum->real += cell->as.real;
  else if (cell->known)
    sum->whole = (int64_t) ((uint64_t) sum->whole + (type == COLUMNAR_TEXT ? cell->length : (uint64_t) cell->as.whole));
}

/* VmHWM; getrusage has that of who started the program too. */
static int
peak_mib (void)
{
  char line[256];
  FILE *file = fopen ("/proc/self/status", "re");
  long kib = -1;

  while (file && fgets (line, sizeof line, file))
    sscanf (line, "VmHWM: %ld", &kib);
  if (file)
    fclose (file);
  return (int) (kib / 1024);
}

static void
say_rows (uint64_t rows, int64_t begin_ns, FILE *file, const struct columnar_column *columns, const struct sum *sums)
{
  struct json json = { 0 };

  json_object (&json);
  json_uint (json_key (&json, "rows"), rows);
  json_real (json_key (&json, "seconds"), (double) (clock_monotonic () - begin_ns) / NS_PER_S);
  json_int (json_key (&json, "bytes"), ftell (file));
  json_int (json_key (&json, "rss_mib"), peak_mib ());
  json_object (json_key (&json, "sums"));
  for (size_t i = 0; i < ROW_COLUMNS; i++) {
    json_array (json_key (&json, columns[i].name));
    json_uint (&json, sums[i].nulls);
    json_int (&json, sums[i].whole + llround (sums[i].real));
    json_array_end (&json);
  }
  json_object_end (&json);
  json_object_end (&json);
  json_flush (&json, stdout);
  json_free (&json);
}

int
made_rows (const char *count, const char *form, const char *path)
{
  const struct columnar_column columns[ROW_COLUMNS] = { [TIME] = { "time", COLUMNAR_TIME, false, "", "" },
                                                        [NODE] = { "node", COLUMNAR_TEXT, true, "", "" },
                                                        [DEVICE] = { "device", COLUMNAR_TEXT, false, "", "" },
                                                        [PERIOD] = { "period", COLUMNAR_DOUBLE, false, "seconds", "" },
                                                        [FAULT] = { "error", COLUMNAR_TEXT, false, "", "" },
                                                        [COUNTER] = { "rx_bytes", COLUMNAR_INT64, false, "bytes", "" },
                                                        [STILL] = { "rx_errors", COLUMNAR_INT64, false, "", "" },
                                                        [GAUGE] = { "load", COLUMNAR_DOUBLE, false, "", "" },
                                                        [GAUGE + 1] = { "number", COLUMNAR_DOUBLE, false, "", "" },
                                                        [STATE] = { "up", COLUMNAR_BOOL, false, "", "" },
                                                        [FEW] = { "state", COLUMNAR_TEXT, false, "", "" } };
  const struct columnar_plan plan = { "network", "Network.", columns, ROW_COLUMNS };
  uint64_t rows = strtoull (count, NULL, 10), random = 1;
  int64_t begin = clock_monotonic ();
  struct columnar_cell cells[ROW_COLUMNS];
  struct columnar_pool *pool = columnar_pool_create (strcmp (form, "arrow") == 0 ? &columnar_arrow : &columnar_parquet);
  FILE *file = fopen (path, "we");
  struct columnar *table = columnar_create (pool, &plan, &(struct columnar_sink){ file, file_put });
  struct sum sums[ROW_COLUMNS] = { { 0 } };
  char names[2][32];
  struct error error;
  int result = file ? 0 : -1;

  for (uint64_t row = 0; row < rows && result == 0; row++) {
    fill_row (cells, row, names, &random);
    for (size_t i = 0; i < ROW_COLUMNS; i++)
      sum_add (&sums[i], columns[i].type, &cells[i]);
    result = columnar_add (table, cells, &error);
  }
  if (result == 0)
    result = columnar_finish (table, &error);
  if (file)
    say_rows (rows, begin, file, columns, sums);
  columnar_destroy (table);
  columnar_pool_destroy (pool);
  return file && fclose (file) == 0 && result == 0 ? 0 : 1;
}
