/* HDF5: one file, a dataset for each table, a compound of its columns: pandas.DataFrame (h5py.File (path)["network"][:]).
 *
 * time is int64, ns since 1970 in UTC; numbers are doubles, NaN where they are missing; texts are UTF-8, empty where they
 * are missing, of a fixed size for node and label (padded with NUL), else variable. Attributes of a dataset:
 * "COLUMN.unit", "COLUMN.help". Rows are written in blocks, each of which HDF5 compresses as a chunk. */
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
#define COMPRESSION 4

struct hdf5_output {
  char *path;
  hid_t file;
};

struct hdf5_table {
  struct hdf5_output *output;
  char *name;
  const struct group *group;
  hid_t type, space, set;
  size_t row_size, label_at, period_at, error_at, metrics_at;
  char *block;
  size_t count; /* rows of the block */
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

static size_t
hdf5_insert (hid_t row, const char *name, size_t at, hid_t type)
{
  H5Tinsert (row, name, at, type);
  return at + H5Tget_size (type);
}

static void
make_type (struct hdf5_table *table)
{
  const struct group *group = table->group;
  hid_t node = text_type (FRAME_NODE_MAX), label = text_type (TABLE_LABEL_MAX + 1), text = text_type (H5T_VARIABLE);
  size_t at = 0, fixed = export_columns (group) - group->metric_count;

  table->label_at = sizeof (int64_t) + FRAME_NODE_MAX;
  table->period_at = table->label_at + (export_has_label (group) ? TABLE_LABEL_MAX + 1 : 0);
  table->error_at = table->period_at + sizeof (double);
  table->metrics_at = table->error_at + sizeof (char *);
  table->row_size = table->metrics_at + group->metric_count * sizeof (double);
  table->type = H5Tcreate (H5T_COMPOUND, table->row_size);
  at = hdf5_insert (table->type, "time", at, H5T_NATIVE_INT64);
  at = hdf5_insert (table->type, "node", at, node);
  if (export_has_label (group))
    at = hdf5_insert (table->type, export_column (group, 2).name, at, label);
  at = hdf5_insert (table->type, "period", at, H5T_NATIVE_DOUBLE);
  at = hdf5_insert (table->type, "error", at, text);
  for (size_t i = 0; i < group->metric_count; i++)
    at = hdf5_insert (table->type, export_column (group, fixed + i).name, at,
                      group->metrics[i].kind == TEXT ? text : H5T_NATIVE_DOUBLE);
  H5Tclose (node);
  H5Tclose (label);
  H5Tclose (text);
}

static void
attribute (const struct hdf5_table *table, const char *column, const char *property, const char *text)
{
  char *name = memory_format ("%s.%s", column, property);
  hid_t type, space, made;

  if (*text) {
    type = text_type (strlen (text));
    space = H5Screate (H5S_SCALAR);
    made = H5Acreate2 (table->set, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite (made, type, text);
    H5Aclose (made);
    H5Sclose (space);
    H5Tclose (type);
  }
  free (name);
}

static void *
table_begin_writing (void *context, const char *name, const struct group *group, struct error *error)
{
  struct hdf5_table *table = memory_new (1, sizeof *table);
  hsize_t none = 0, any = H5S_UNLIMITED, block = BLOCK_ROWS;
  hid_t properties = H5Pcreate (H5P_DATASET_CREATE);

  table->output = context;
  table->name = memory_string (name);
  table->group = group;
  make_type (table);
  table->block = memory_new (BLOCK_ROWS, table->row_size);
  table->space = H5Screate_simple (1, &none, &any);
  H5Pset_chunk (properties, 1, &block);
  H5Pset_shuffle (properties);
  H5Pset_deflate (properties, COMPRESSION);
  table->set = H5Dcreate2 (table->output->file, name, table->type, table->space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Pclose (properties);
  if (table->set < 0) {
    hdf5_fail (table->output, "make a table", error);
    H5Sclose (table->space);
    H5Tclose (table->type);
    free (table->block);
    free (table->name);
    free (table);
    return NULL;
  }
  attribute (table, "time", "unit", "ns since 1970-01-01 UTC");
  attribute (table, "period", "unit", "seconds");
  for (size_t i = 0; i < group->metric_count; i++) {
    attribute (table, group->metrics[i].name, "unit", export_unit (&group->metrics[i]));
    attribute (table, group->metrics[i].name, "help", group->metrics[i].help);
  }
  return table;
}

/* ---- rows ---- */

static void
free_texts (struct hdf5_table *table)
{
  for (size_t i = 0; i < table->count; i++) {
    char *row = table->block + i * table->row_size, *text;
    memcpy (&text, row + table->error_at, sizeof text);
    free (text);
    for (size_t k = 0; k < table->group->metric_count; k++)
      if (table->group->metrics[k].kind == TEXT) {
        memcpy (&text, row + table->metrics_at + k * sizeof (double), sizeof text);
        free (text);
      }
  }
  table->count = 0;
}

static int
write_block (struct hdf5_table *table, struct error *error)
{
  hsize_t count = table->count, whole = table->written + count;
  hid_t memory, file;
  int result = 0;

  if (count == 0)
    return 0;
  memory = H5Screate_simple (1, &count, NULL);
  if (H5Dset_extent (table->set, &whole) < 0)
    result = -1;
  file = H5Dget_space (table->set);
  if (result < 0 || H5Sselect_hyperslab (file, H5S_SELECT_SET, &table->written, NULL, &count, NULL) < 0 ||
      H5Dwrite (table->set, table->type, memory, file, H5P_DEFAULT, table->block) < 0)
    result = hdf5_fail (table->output, "write a table", error);
  H5Sclose (file);
  H5Sclose (memory);
  table->written = whole;
  free_texts (table);
  return result;
}

static int
table_row (void *context, const struct export_row *row, struct error *error)
{
  struct hdf5_table *table = context;
  char *to = table->block + table->count * table->row_size, *text;
  double period = row->period_ns ? (double) row->period_ns / NS_PER_S : (double) NAN;

  memset (to, 0, table->row_size);
  memcpy (to, &row->time_ns, sizeof row->time_ns);
  memcpy (to + sizeof row->time_ns, row->node, strnlen (row->node, FRAME_NODE_MAX));
  if (export_has_label (table->group) && row->label)
    memcpy (to + table->label_at, row->label, row->label_length);
  memcpy (to + table->period_at, &period, sizeof period);
  text = memory_string (row->table->error);
  memcpy (to + table->error_at, &text, sizeof text);
  for (size_t i = 0; i < table->group->metric_count; i++) {
    char *at = to + table->metrics_at + i * sizeof (double);
    double value = value_double (&row->values[i]);
    if (table->group->metrics[i].kind == TEXT) {
      size_t length = 0;
      const char *bytes = row->values[i].type == VALUE_TEXT ? table_text (row->table, &row->values[i], &length) : "";
      text = memory_copy (bytes, length);
      memcpy (at, &text, sizeof text);
    } else {
      memcpy (at, &value, sizeof value);
    }
  }
  return ++table->count < BLOCK_ROWS ? 0 : write_block (table, error);
}

static int
table_swap_names (void *one, void *other, struct error *error)
{
  static const char aside[] = " swap"; /* no name of a group */
  struct hdf5_table *table = one, *with = other;
  hid_t file = table->output->file;
  char *name = table->name;

  if (H5Lmove (file, table->name, file, aside, H5P_DEFAULT, H5P_DEFAULT) < 0 ||
      H5Lmove (file, with->name, file, table->name, H5P_DEFAULT, H5P_DEFAULT) < 0 ||
      H5Lmove (file, aside, file, with->name, H5P_DEFAULT, H5P_DEFAULT) < 0)
    return hdf5_fail (table->output, "name a table", error);
  table->name = with->name;
  with->name = name;
  return 0;
}

static int
table_end (void *context, struct error *error)
{
  struct hdf5_table *table = context;
  int result = write_block (table, error);

  if (H5Dclose (table->set) < 0 && result == 0)
    result = hdf5_fail (table->output, "finish a table", error);
  H5Sclose (table->space);
  H5Tclose (table->type);
  free_texts (table);
  free (table->block);
  free (table->name);
  free (table);
  return result;
}

const struct export_format export_hdf5 = { output_create,    table_begin_writing, table_row,
                                           table_swap_names, table_end,           output_destroy };
