/* What the tests of samplers share: a sampler opened on a root, its values by name, roots written on the spot, and a
 * count of allocations. Header-only, since each test is a program of its own. */
#ifndef SYNOP_SAMPLER_TEST_H
#define SYNOP_SAMPLER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/groups.h"
#include "agent/sampling/sampler.h"
#include "synop/table.h"
#include "tests/lib/options_for.h"
#include "tests/unit/test_folder.h"

#define ROOT_SMALL "tests/roots/small" /* 4 CPUs, 2 NUMA nodes */
#define ROOT_ODD "tests/roots/odd"     /* an old kernel, short files, garbage */
#define ROOT_PROCFS "../shared/roots/procfs"
#define ROOT_BIG480 "../shared/roots/big480"

#ifdef SANITIZED
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#endif

#if COUNTS_ALLOCATIONS
/* glibc's own names behind malloc, so that the tests can stand in between and count. */
void *__libc_malloc (size_t size);
void *__libc_calloc (size_t count, size_t size);
void *__libc_realloc (void *memory, size_t size);
static size_t allocations;

void *
malloc (size_t size)
{
  allocations++;
  return __libc_malloc (size);
}

void *
calloc (size_t count, size_t size)
{
  allocations++;
  return __libc_calloc (count, size);
}

void *
realloc (void *memory, size_t size)
{
  allocations++;
  return __libc_realloc (memory, size);
}
#endif

struct sampled {
  const struct sampler *sampler;
  const char *ini;               /* may be set before sampled_open */
  struct agent_options *options; /* the same, instead: it is not owned, and others may share its services */
  bool owns_options;
  void *state;
  struct table table;
};

static inline void
sampled_open (struct sampled *sampled, const struct sampler *sampler, const char *root)
{
  sampled->sampler = sampler;
  sampled->owns_options = !sampled->options;
  if (sampled->owns_options)
    sampled->options = options_for (root, "%s", sampled->ini ? sampled->ini : "");
  sampled->state = sampler->open (&sampled->options->context);
  table_init (&sampled->table, sampler->group);
}

/* Asked right before a sample, as workers do. */
static inline bool
sampled_may_block (struct sampled *sampled)
{
  return sampled->sampler->may_block (sampled->state);
}

static inline int
sampled_again (struct sampled *sampled)
{
  table_begin (&sampled->table);
  return sampled->sampler->sample (sampled->state, &sampled->table);
}

static inline void
sampled_close (struct sampled *sampled)
{
  sampled->sampler->close (sampled->state);
  table_free (&sampled->table);
  if (sampled->owns_options) {
    agent_options_destroy (sampled->options);
    sampled->options = NULL;
  }
}

/* A metric's column; the test fails when there is no such metric. */
static inline size_t
sampled_column (const struct sampled *sampled, const char *metric)
{
  const struct group *group = sampled->sampler->group;

  for (size_t i = 0; i < group->metric_count; i++)
    if (strcmp (group->metrics[i].name, metric) == 0)
      return i;
  fail_msg ("%s has no metric %s", group->name, metric);
  return 0;
}

static inline bool
sampled_has_row (const struct sampled *sampled, const char *label)
{
  return table_find_row (&sampled->table, label, strlen (label), 0) != SIZE_MAX;
}

/* The raw value in the row of that label; NULL: of the node. */
static inline const struct value *
sampled_value (const struct sampled *sampled, const char *label, const char *metric)
{
  size_t row = label ? table_find_row (&sampled->table, label, strlen (label), 0) : TABLE_NODE;

  if (label != NULL && row == SIZE_MAX)
    fail_msg ("%s has no row %s", sampled->sampler->group->name, label);
  return table_get (&sampled->table, row, sampled_column (sampled, metric));
}

static inline void
assert_uint (const struct sampled *sampled, const char *label, const char *metric, uint64_t expected)
{
  const struct value *value = sampled_value (sampled, label, metric);

  if (value->type != VALUE_UINT || value->as.u != expected)
    fail_msg ("%s %s %s: type %d, %llu; expected %llu", sampled->sampler->group->name, label ? label : "", metric,
              (int) value->type, (unsigned long long) value->as.u, (unsigned long long) expected);
}

/* Exactly that double: a decimal number that was read has to be the nearest one. */
static inline void
assert_real (const struct sampled *sampled, const char *label, const char *metric, double expected)
{
  const struct value *value = sampled_value (sampled, label, metric);

  if (value->type != VALUE_REAL || value->as.d < expected || value->as.d > expected)
    fail_msg ("%s %s %s: type %d, %.17g; expected %.17g", sampled->sampler->group->name, label ? label : "", metric,
              (int) value->type, value->as.d, expected);
}

static inline void
assert_text (const struct sampled *sampled, const char *label, const char *metric, const char *expected)
{
  const struct value *value = sampled_value (sampled, label, metric);
  size_t length = 0;
  const char *text = value->type == VALUE_TEXT ? table_text (&sampled->table, value, &length) : "(no text)";

  if (value->type != VALUE_TEXT || length != strlen (expected) || memcmp (text, expected, length) != 0)
    fail_msg ("%s %s %s: \"%.*s\"; expected \"%s\"", sampled->sampler->group->name, label ? label : "", metric,
              (int) length, text, expected);
}

static inline void
assert_missing (const struct sampled *sampled, const char *label, const char *metric)
{
  const struct value *value = sampled_value (sampled, label, metric);

  if (value->type != VALUE_MISSING)
    fail_msg ("%s %s %s: type %d; expected none", sampled->sampler->group->name, label ? label : "", metric,
              (int) value->type);
}

/* Skips the test when a recorded machine that is not part of the project is absent. */
static inline void
need_root (const char *root)
{
  if (access (root, R_OK) == 0)
    return;
  print_message ("# skipped: %s is absent\n", root);
  skip ();
}

/* Samples that sampler on that root until it is warm, and again: that must allocate nothing. */
static inline void
assert_warm_without_allocation (const struct sampler *sampler, const char *root)
{
#if COUNTS_ALLOCATIONS
  struct sampled sampled = { 0 };
  size_t before, after;

  sampled_open (&sampled, sampler, root);
  for (int i = 0; i < 3; i++)
    sampled_again (&sampled);
  before = allocations;
  for (int i = 0; i < 3; i++)
    sampled_again (&sampled);
  after = allocations;
  sampled_close (&sampled);
  if (after != before)
    fail_msg ("%s on \"%s\": %zu allocations", sampler->group->name, root, after - before);
#else
  (void) sampler;
  (void) root;
  print_message ("# skipped: a sanitizer stands in the allocator's place\n");
  skip ();
#endif
}

/* Two samples of the live machine: no counter falls. Returns false when the group has none on this machine. */
static inline bool
assert_counters_do_not_fall (const struct sampler *sampler)
{
  const struct group *group = sampler->group;
  struct sampled sampled = { 0 };
  struct table first;
  bool good;

  sampled_open (&sampled, sampler, "");
  table_init (&first, group);
  good = sampled_again (&sampled) == 0;
  table_copy (&first, &sampled.table);
  good = sampled_again (&sampled) == 0 && good;
  for (size_t row = 0; good && row <= first.rows; row++) { /* the last stands for the node */
    size_t length = 0, at = TABLE_NODE, now = TABLE_NODE;
    if (row < first.rows) {
      const char *label = table_label (&first, row, &length);
      at = row;
      now = table_find_row (&sampled.table, label, length, row);
      if (now == SIZE_MAX)
        continue;
    }
    for (size_t i = 0; i < group->metric_count; i++) {
      const struct value *before, *after;
      if (group->metrics[i].kind != COUNTER || ((group->metrics[i].flags & METRIC_OF_NODE) != 0) != (at == TABLE_NODE))
        continue;
      before = table_get (&first, at, i);
      after = table_get (&sampled.table, now, i);
      if (before->type != after->type || (before->type == VALUE_UINT && after->as.u < before->as.u))
        fail_msg ("%s %s fell", group->name, group->metrics[i].name);
    }
  }
  table_free (&first);
  sampled_close (&sampled);
  return good;
}

/* A root of its own for a test: written file by file, removed at the end. */
struct scratch {
  char root[TEST_FOLDER_SIZE];
};

static inline void
scratch_init (struct scratch *scratch)
{
  test_folder_make (scratch->root);
}

/* Writes `path` ("/proc/stat") below the root, with the folders that lead there. */
static inline void
scratch_write_bytes (const struct scratch *scratch, const char *path, const char *bytes, size_t length)
{
  char full[512];
  FILE *file;

  snprintf (full, sizeof full, "%s%s", scratch->root, path);
  for (char *slash = strchr (full + strlen (scratch->root) + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
    *slash = '\0';
    mkdir (full, 0755);
    *slash = '/';
  }
  file = fopen (full, "w");
  assert_non_null (file);
  assert_int_equal (fwrite (bytes, 1, length, file), length);
  assert_int_equal (fclose (file), 0);
}

static inline void
scratch_write (const struct scratch *scratch, const char *path, const char *text)
{
  scratch_write_bytes (scratch, path, text, strlen (text));
}

static inline void
scratch_remove (const struct scratch *scratch, const char *path)
{
  char command[600];

  snprintf (command, sizeof command, "rm -rf '%s%s'", scratch->root, path);
  assert_int_equal (system (command), 0);
}

static inline void
scratch_free (const struct scratch *scratch)
{
  test_folder_remove (scratch->root);
}

#endif
