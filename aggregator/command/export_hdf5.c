/* HDF5: one file, a dataset for each table, a compound of its columns: pandas.read_hdf (path, "network"), or
 * h5py.File (path)["network"][:].
 *
 * time is int64, ns since 1970 in UTC; numbers are doubles, NaN where they are missing; texts are UTF-8, empty where they
 * are missing, of a fixed size, padded with NUL: pandas reads no others. A column is as wide as its longest text makes it:
 * for one that does not fit, the table is copied into a wider one. Attributes of a dataset: "COLUMN.unit", "COLUMN.help".
 * Rows are written in blocks, each of which HDF5 compresses as a chunk. */
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/command/export.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/memory.h"

#define BLOCK_ROWS 1024
#define BLOCK_BYTES ((size_t) 1 << 20) /* of a block of few columns; others have fewer rows */
#define COMPRESSION 4
#define TEXT_WIDTH 16  /* of a column that has no longer text yet */
#define ASIDE " aside" /* no name of a group */

struct hdf5_output {
  char *path;
  hid_t file;
};

/* A column: its place in a row, and for texts how wide it is, else 0. */
struct hdf5_column {
  size_t at, width;
};

struct hdf5_table {
  struct hdf5_output *output;
  char *name;
  const struct group *group;
  hid_t type, set;
  struct hdf5_column *columns; /* as export_column counts them */
  size_t row_size;
  char *block;
  size_t block_rows, count; /* room in it, and rows */
  hsize_t written;
};

static int
hdf5_fail (const struct hdf5_output *output, const char *action, struct error *error)
{
  return error_set (error, "%s: HDF5 cannot %s; is the disk full?", output->path, action);
}

static void *
output_create (const char *path, struct error *error)
{
  struct hdf5_output *output = memory_new (1, sizeof *output);
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); /* gives the errno of a failure */

  H5dont_atexit ();                       /* it would crash on a file that could not be written */
  H5Eset_auto2 (H5E_DEFAULT, NULL, NULL); /* we report errors ourselves */
  output->path = memory_string (path);
  output->file = H5I_INVALID_HID;
  if (fd < 0) {
    error_set (error, "%s: %s", path, strerror (errno));
  } else {
    close (fd);
    output->file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (output->file >= 0)
      return output;
    hdf5_fail (output, "make the file", error);
    unlink (path);
  }
  free (output->path);
  free (output);
  return NULL;
}

static int
output_destroy (void *context, bool whole, struct error *error)
{
  struct hdf5_output *output = context;
  int result = H5Fclose (output->file) < 0 ? hdf5_fail (output, "finish the file", error) : 0;

  if (!whole || result < 0)
    unlink (output->path);
  free (output->path);
  free (output);
  return result;
}

/* ---- a table ---- */

static hid_t
text_type (size_t size)
{
  hid_t type = H5Tcopy (H5T_C_S1);

  H5Tset_size (type, size);
  H5Tset_cset (type, H5T_CSET_UTF8);
  if (size != H5T_VARIABLE)
    H5Tset_strpad (type, H5T_STR_NULLPAD);
  return type;
}

static void
make_type (struct hdf5_table *table)
{
  size_t columns = export_columns (table->group), at = 0;

  table->row_size = 0;
  for (size_t i = 0; i < columns; i++)
    table->row_size += table->columns[i].width ? table->columns[i].width : sizeof (double);
  table->type = H5Tcreate (H5T_COMPOUND, table->row_size);
  for (size_t i = 0; i < columns; i++) {
    size_t width = table->columns[i].width;
    hid_t type = width ? text_type (width) : H5Tcopy (i ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64);
    H5Tinsert (table->type, export_column (table->group, i).name, at, type);
    H5Tclose (type);
    table->columns[i].at = at;
    at += width ? width : sizeof (double);
  }
  table->block_rows = BLOCK_BYTES / table->row_size;
  table->block_rows = table->block_rows < 1 ? 1 : table->block_rows > BLOCK_ROWS ? BLOCK_ROWS : table->block_rows;
  table->block = memory_new (table->block_rows, table->row_size);
}

static void
attribute (const struct hdf5_table *table, const char *column, const char *property, const char *text)
{
  char *name = memory_format ("%s.%s", column, property);
  hid_t type, space, made;

  if (*text) {
    type = text_type (H5T_VARIABLE);
    space = H5Screate (H5S_SCALAR);
    made = H5Acreate2 (table->set, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite (made, type, &text);
    H5Aclose (made);
    H5Sclose (space);
    H5Tclose (type);
  }
  free (name);
}

/* An empty table of the columns' widths. */
static int
make_set (struct hdf5_table *table, const char *name, struct error *error)
{
  const struct group *group = table->group;
  hsize_t none = 0, any = H5S_UNLIMITED, block;
  hid_t properties = H5Pcreate (H5P_DATASET_CREATE), space = H5Screate_simple (1, &none, &any);

  make_type (table);
  block = table->block_rows;
  H5Pset_chunk (properties, 1, &block);
  H5Pset_shuffle (properties);
  H5Pset_deflate (properties, COMPRESSION);
  table->set = H5Dcreate2 (table->output->file, name, table->type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Pclose (properties);
  H5Sclose (space);
  if (table->set < 0)
    return hdf5_fail (table->output, "make a table", error);
  attribute (table, "time", "unit", "ns since 1970-01-01 UTC");
  attribute (table, "period", "unit", "seconds");
  for (size_t i = 0; i < group->metric_count; i++) {
    attribute (table, group->metrics[i].name, "unit", export_unit (&group->metrics[i]));
    attribute (table, group->metrics[i].name, "help", group->metrics[i].help);
  }
  return 0;
}

static void
hdf5_table_free (struct hdf5_table *table)
{
  H5Tclose (table->type);
  free (table->columns);
  free (table->block);
  free (table->name);
  free (table);
}

static void *
table_begin_writing (void *context, const char *name, const struct group *group, struct error *error)
{
  struct hdf5_table *table = memory_new (1, sizeof *table);
  size_t columns = export_columns (group), fixed = columns - group->metric_count;

  table->output = context;
  table->name = memory_string (name);
  table->group = group;
  table->columns = memory_new (columns, sizeof table->columns[0]);
  for (size_t i = 1; i < columns; i++)
    if (i < fixed ? i != fixed - 2 : group->metrics[i - fixed].kind == TEXT) /* all but the time and the period */
      table->columns[i].width = TEXT_WIDTH;
  if (make_set (table, name, error) == 0)
    return table;
  hdf5_table_free (table);
  return NULL;
}

/* ---- rows ---- */

/* Reads or writes `count` rows of a table from row `at`, by way of the block. */
static int
move_rows (struct hdf5_table *table, herr_t (*move) (struct hdf5_table *table, hid_t set, hid_t memory, hid_t file),
           hid_t set, hsize_t at, hsize_t count)
{
  hid_t memory = H5Screate_simple (1, &count, NULL), file = H5Dget_space (set);
  int result = 0;

  if (H5Sselect_hyperslab (file, H5S_SELECT_SET, &at, NULL, &count, NULL) < 0 || move (table, set, memory, file) < 0)
    result = -1;
  H5Sclose (file);
  H5Sclose (memory);
  return result;
}

static herr_t
block_read (struct hdf5_table *table, hid_t set, hid_t memory, hid_t file)
{
  return H5Dread (set, table->type, memory, file, H5P_DEFAULT, table->block);
}

static herr_t
block_write (struct hdf5_table *table, hid_t set, hid_t memory, hid_t file)
{
  return H5Dwrite (set, table->type, memory, file, H5P_DEFAULT, table->block);
}

static int
write_block (struct hdf5_table *table, struct error *error)
{
  hsize_t whole = table->written + table->count;

  if (table->count == 0)
    return 0;
  if (H5Dset_extent (table->set, &whole) < 0 ||
      move_rows (table, block_write, table->set, table->written, table->count) < 0)
    return hdf5_fail (table->output, "write a table", error);
  table->written = whole;
  table->count = 0;
  return 0;
}

/* All rows of the table that was, by HDF5's own conversion of texts. */
static int
copy_rows (struct hdf5_table *table, hid_t old, hsize_t rows, struct error *error)
{
  for (table->written = 0; table->written < rows;) {
    hsize_t left = rows - table->written;
    table->count = left < table->block_rows ? (size_t) left : table->block_rows;
    if (move_rows (table, block_read, old, table->written, table->count) < 0)
      return hdf5_fail (table->output, "read a table", error);
    if (write_block (table, error) < 0)
      return -1;
  }
  return 0;
}

/* The columns have new widths. */
static int
widen (struct hdf5_table *table, struct error *error)
{
  hid_t old = table->set, file = table->output->file;
  hsize_t rows = table->written;
  int result;

  H5Tclose (table->type);
  free (table->block);
  result = make_set (table, ASIDE, error);
  if (result == 0)
    result = copy_rows (table, old, rows, error);
  H5Dclose (old);
  if (result == 0 && (H5Ldelete (file, table->name, H5P_DEFAULT) < 0 ||
                      H5Lmove (file, ASIDE, file, table->name, H5P_DEFAULT, H5P_DEFAULT) < 0))
    result = hdf5_fail (table->output, "name a table", error);
  return result;
}

/* The bytes of a column of texts. */
static const char *
text_of (const struct hdf5_table *table, const struct export_row *row, size_t column, size_t *length)
{
  size_t fixed = export_columns (table->group) - table->group->metric_count;
  const char *text = column == 1 ? row->node : column == fixed - 1 ? row->table->error : "";

  *length = strlen (text);
  if (column >= fixed && row->values[column - fixed].type == VALUE_TEXT)
    return table_text (row->table, &row->values[column - fixed], length);
  if (column == 2 && column < fixed - 2 && row->label) {
    *length = row->label_length;
    return row->label;
  }
  return text;
}

/* Makes the columns wide enough for the row's texts. */
static int
make_room (struct hdf5_table *table, const struct export_row *row, struct error *error)
{
  bool wider = false;
  size_t length;

  for (size_t i = 0; i < export_columns (table->group); i++)
    if (table->columns[i].width) {
      text_of (table, row, i, &length);
      if (length > table->columns[i].width && !wider && write_block (table, error) < 0)
        return -1;
      while (length > table->columns[i].width) {
        table->columns[i].width *= 2;
        wider = true;
      }
    }
  return wider ? widen (table, error) : 0;
}

static int
table_row (void *context, const struct export_row *row, struct error *error)
{
  struct hdf5_table *table = context;
  size_t columns = export_columns (table->group), fixed = columns - table->group->metric_count, length;
  char *to;

  if (make_room (table, row, error) < 0)
    return -1;
  to = table->block + table->count * table->row_size;
  memset (to, 0, table->row_size);
  memcpy (to, &row->time_ns, sizeof row->time_ns);
  for (size_t i = 1; i < columns; i++) {
    char *at = to + table->columns[i].at;
    double value = (double) NAN;
    if (table->columns[i].width) {
      const char *text = text_of (table, row, i, &length);
      memcpy (at, text, length);
      continue;
    }
    if (i >= fixed)
      value = value_double (&row->values[i - fixed]);
    else if (row->period_ns)
      value = (double) row->period_ns / NS_PER_S;
    memcpy (at, &value, sizeof value);
  }
  return ++table->count < table->block_rows ? 0 : write_block (table, error);
}

static int
table_swap_names (void *one, void *other, struct error *error)
{
  struct hdf5_table *table = one, *with = other;
  hid_t file = table->output->file;
  char *name = table->name;

  if (H5Lmove (file, table->name, file, ASIDE, H5P_DEFAULT, H5P_DEFAULT) < 0 ||
      H5Lmove (file, with->name, file, table->name, H5P_DEFAULT, H5P_DEFAULT) < 0 ||
      H5Lmove (file, ASIDE, file, with->name, H5P_DEFAULT, H5P_DEFAULT) < 0)
    return hdf5_fail (table->output, "name a table", error);
  table->name = with->name;
  with->name = name;
  return 0;
}

static int
table_end (void *context, bool whole, struct error *error)
{
  struct hdf5_table *table = context;
  int result = whole ? write_block (table, error) : 0;

  if (H5Dclose (table->set) < 0 && result == 0)
    result = hdf5_fail (table->output, "finish a table", error);
  hdf5_table_free (table);
  return result;
}

const struct export_format export_hdf5 = { output_create,    table_begin_writing, table_row,
                                           table_swap_names, table_end,           output_destroy };
