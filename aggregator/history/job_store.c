/* See job_store.h. */
#include "aggregator/history/job_store.h"

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/job_runs.h"
#include "aggregator/history/json_check.h"
#include "aggregator/views/job_line.h"
#include "synop/array.h"
#include "synop/buffer.h"
#include "synop/frame.h"
#include "synop/memory.h"

#define COLUMNS                                                                                                        \
  "SELECT key, label, scheduler, user, name, command, array, cpus, started, time, reason, summary, seen, state "       \
  "FROM jobs LEFT JOIN job_ends ON job_ends.id = (SELECT max (id) FROM job_ends WHERE job = key) "                     \
  "LEFT JOIN job_marks ON job_marks.job = key "
#define RUNS "ifnull (time, 0) = 0"

static const char has_jobs[] = "SELECT count(*) FROM sqlite_master WHERE name = 'job_marks'";
static const char has_facts[] = "SELECT count(*) FROM sqlite_master WHERE name = 'job_facts'";

/* 0: an older history. */
static int
has_table (struct history_file *file, const char *sql, struct error *error)
{
  int64_t count = 0;

  return history_file_number (file, sql, &count, error) < 0 ? -1 : count > 0;
}

static char *
text_of (sqlite3_stmt *statement, int column)
{
  const char *text = (const char *) sqlite3_column_text (statement, column);

  return memory_string (text ? text : "");
}

static int
by_name (const void *one, const void *other)
{
  return strverscmp (((const struct job_record_node *) one)->name, ((const struct job_record_node *) other)->name);
}

static int
read_nodes (struct history_file *file, sqlite3_stmt *statement, struct job_record *job, struct error *error)
{
  size_t capacity = 0;
  int code;

  sqlite3_bind_int64 (statement, 1, job->key);
  while ((code = sqlite3_step (statement)) == SQLITE_ROW) {
    *array_add (job->nodes, job->node_count, capacity) =
        (struct job_record_node){ text_of (statement, 0), sqlite3_column_int64 (statement, 1) };
  }
  if (code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_reset (statement);
  if (job->node_count)
    qsort (job->nodes, job->node_count, sizeof job->nodes[0], by_name);
  return code == SQLITE_DONE ? 0 : -1;
}

/* `statement` NULL: of an older history. What is no JSON, nothing is known of. */
static int
read_facts (struct history_file *file, sqlite3_stmt *statement, struct job_record *job, struct error *error)
{
  int code;

  if (!statement)
    return 0;
  sqlite3_bind_int64 (statement, 1, job->key);
  code = sqlite3_step (statement);
  if (code == SQLITE_ROW)
    job_facts_read (&job->facts, (const char *) sqlite3_column_text (statement, 0));
  else if (code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_reset (statement);
  return code == SQLITE_ROW || code == SQLITE_DONE ? 0 : -1;
}

static void
read_job (sqlite3_stmt *statement, struct job_record *job)
{
  *job = (struct job_record){ .key = sqlite3_column_int64 (statement, 0),
                              .label = text_of (statement, 1),
                              .scheduler = text_of (statement, 2),
                              .user = text_of (statement, 3),
                              .name = text_of (statement, 4),
                              .command = text_of (statement, 5),
                              .array = text_of (statement, 6),
                              .cpus = nan (""),
                              .started_ns = sqlite3_column_int64 (statement, 8),
                              .ended_ns = sqlite3_column_int64 (statement, 9),
                              .reason = text_of (statement, 10),
                              .summary = text_of (statement, 11),
                              .state = text_of (statement, 13) };
  if (sqlite3_column_type (statement, 7) != SQLITE_NULL)
    job->cpus = sqlite3_column_double (statement, 7);
  job_facts_init (&job->facts);
  job->seen_ns = job->ended_ns                                        ? job->ended_ns
                 : sqlite3_column_type (statement, 12) != SQLITE_NULL ? sqlite3_column_int64 (statement, 12)
                                                                      : job->started_ns;
}

static bool
is_time (int64_t time_ns)
{
  return time_ns > 0 && time_ns < INT64_MAX / 2;
}

/* The damaged part; NULL: none. */
static const char *
damage_of (const struct job_record *job)
{
  if (!is_time (job->key) || job_label_check (job->label, strlen (job->label), NULL) < 0)
    return "its id";
  if (!is_time (job->started_ns) || !is_time (job->seen_ns) || job->ended_ns < 0)
    return "a time";
  if (!isnan (job->cpus) && !(job->cpus >= 0 && job->cpus <= 1e9))
    return "its number of CPUs";
  if (*job->summary && !json_is_object (job->summary))
    return "its summary";
  for (size_t i = 0; i < job->node_count; i++)
    if (!is_time (job->nodes[i].first_ns) ||
        node_name_check (job->nodes[i].name, strlen (job->nodes[i].name), NULL) < 0)
      return "a node of it";
  return NULL;
}

/* Is the job of those that are asked for, and seen? */
static bool
is_chosen (const char *user, const struct globs *users, const struct viewer *viewer)
{
  user = user ? user : "";
  if (users && users->count && !globs_match (users, user))
    return false;
  return !viewer || viewer_sees (viewer, user, strlen (user));
}

/* Reads all rows of the statement. */
static int
read_all (struct history_file *file, sqlite3_stmt *statement, const struct globs *users, const struct viewer *viewer,
          struct job_list *list, struct error *error)
{
  sqlite3_stmt *nodes = history_file_prepare (
      file, "SELECT name, first FROM job_nodes JOIN nodes ON nodes.id = node WHERE job = ?", error);
  int with_facts = has_table (file, has_facts, error), code = SQLITE_DONE, result = nodes && with_facts >= 0 ? 0 : -1;
  sqlite3_stmt *facts = NULL;
  struct job_runs *runs = NULL;

  if (result == 0 && with_facts) {
    facts = history_file_prepare (file, "SELECT facts FROM job_facts WHERE job = ?", error);
    result = facts ? 0 : -1;
  }
  while (result == 0 && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    if (!is_chosen ((const char *) sqlite3_column_text (statement, 3), users, viewer))
      continue;
    read_job (statement, array_add (list->jobs, list->count, list->capacity));
    result = read_nodes (file, nodes, &list->jobs[list->count - 1], error);
    if (result == 0)
      result = read_facts (file, facts, &list->jobs[list->count - 1], error);
    if (result == 0)
      result = job_runs_name (&runs, file, &list->jobs[list->count - 1], error);
    if (result == 0 && damage_of (&list->jobs[list->count - 1])) {
      list->damaged++;
      error_set (error, "the row of job %.128s (key %" PRId64 ") is damaged: %s", list->jobs[list->count - 1].label,
                 list->jobs[list->count - 1].key, damage_of (&list->jobs[list->count - 1]));
      job_record_free (&list->jobs[--list->count]);
    }
  }
  if (result == 0 && code != SQLITE_DONE)
    result = history_file_fail (file, error);
  job_runs_free (runs);
  sqlite3_finalize (nodes);
  sqlite3_finalize (facts);
  return result;
}

int
job_store_list (struct history_file *file, const struct job_query *query, struct job_list *list, struct error *error)
{
  int result = has_table (file, has_jobs, error);
  sqlite3_stmt *statement;

  list->others = query->viewer && !query->viewer->all;
  if (result <= 0)
    return result;
  statement = history_file_prepare (file,
                                    COLUMNS "WHERE started < ?1 AND (" RUNS " OR (time >= ?2 AND NOT ?3)) "
                                            "ORDER BY key",
                                    error);
  if (!statement)
    return -1;
  sqlite3_bind_int64 (statement, 1, query->to_ns);
  sqlite3_bind_int64 (statement, 2, query->from_ns);
  sqlite3_bind_int (statement, 3, query->running);
  result = read_all (file, statement, query->users, query->viewer, list, error);
  sqlite3_finalize (statement);
  return result;
}

/* What people may mean, in this order. ?4 and ?5 are "5" and "1" of "5/1"; of others they are NULL. */
static const char *const meanings[] = {
  /* "123" is 123/1 and so on too: '0' comes after '/'. */
  "(label = ?1 OR (label > ?1 || '/' AND label < ?1 || '0' AND"
  " substr (label, length (?1) + 2) NOT GLOB '*[^0-9]*'))",
  "(array = ?1 AND array != '')",
  "(array = ?4 AND array != '' AND substr (label, -length (?5) - 1) = '/' || ?5)",
  "(label = ?4 AND (SELECT count (*) FROM jobs AS one WHERE one.label = jobs.label AND one.user = jobs.user"
  " AND one.scheduler = jobs.scheduler AND one.key < jobs.key) = CAST (?5 AS INTEGER))",
  /* "12" is 12.pbs: '/' comes after '.'. */
  "(label > ?1 || '.' AND label < ?1 || '/')",
};
/* ?6 and ?7: the names that the viewer's jobs may bear; NULL: he sees all. */
#define WHOSE                                                                                                          \
  "AND (?2 = '' OR user = ?2) AND (?3 = '' OR scheduler = ?3) AND (?6 IS NULL OR (user != '' AND user IN (?6, ?7))) "

static void
bind_viewer (sqlite3_stmt *statement, const struct viewer *viewer)
{
  char number[24] = "";

  if (viewer->uid != VIEWER_UID_UNKNOWN)
    snprintf (number, sizeof number, "%" PRId64, viewer->uid);
  sqlite3_bind_text (statement, 6, viewer->name, -1, SQLITE_STATIC);
  sqlite3_bind_text (statement, 7, number, -1, SQLITE_TRANSIENT);
}

static sqlite3_stmt *
prepare_choice (struct history_file *file, const char *select, const char *meaning, const char *behind,
                const struct job_choice *choice, struct error *error)
{
  const char *const texts[] = { choice->label, choice->user, choice->scheduler };
  const char *run = strrchr (choice->label, '/');
  char *sql = memory_format ("%s WHERE %s " WHOSE "%s", select, meaning, behind);
  sqlite3_stmt *statement = history_file_prepare (file, sql, error);

  free (sql);
  for (int i = 0; statement && i < 3; i++)
    sqlite3_bind_text (statement, i + 1, texts[i] ? texts[i] : "", -1, SQLITE_STATIC);
  if (statement && choice->viewer && !choice->viewer->all)
    bind_viewer (statement, choice->viewer);
  if (statement && run && run[1] && strspn (run + 1, "0123456789") == strlen (run + 1)) {
    sqlite3_bind_text (statement, 4, choice->label, (int) (run - choice->label), SQLITE_STATIC);
    sqlite3_bind_text (statement, 5, run + 1, -1, SQLITE_STATIC);
  }
  return statement;
}

/* JOB_STORE_SEVERAL and error: there are several values. */
static int
check_one (struct history_file *file, const char *what, const char *meaning, const struct job_choice *choice,
           struct error *error)
{
  char *select = memory_format ("SELECT DISTINCT %s FROM jobs", what);
  char *behind = memory_format ("AND %s != '' ORDER BY %s LIMIT 8", what, what);
  sqlite3_stmt *statement = prepare_choice (file, select, meaning, behind, choice, error);
  struct buffer names = { 0 };
  int count = 0, code = SQLITE_DONE, result = statement ? 0 : -1;

  while (statement && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    const char *name = (const char *) sqlite3_column_text (statement, 0);
    buffer_printf (&names, "%s%.64s", count++ ? ", " : "", name ? name : "");
  }
  if (code != SQLITE_DONE)
    result = history_file_fail (file, error);
  else if (count > 1)
    error_set (error, "job %.128s is of several %ss: %s; --%s says whose", choice->label, what, buffer_text (&names),
               what);
  if (result == 0 && count > 1)
    result = JOB_STORE_SEVERAL;
  buffer_free (&names);
  sqlite3_finalize (statement);
  free (select);
  free (behind);
  return result;
}

/* 1: found; 0: none that is meant so. */
static int
find_meant (struct history_file *file, const char *meaning, const struct job_choice *choice, struct job_record *job,
            struct error *error)
{
  int result = check_one (file, "user", meaning, choice, error);
  struct job_list list = { 0 };
  sqlite3_stmt *statement;

  if (result == 0)
    result = check_one (file, "scheduler", meaning, choice, error);
  if (result < 0)
    return result;
  statement = prepare_choice (file, COLUMNS, meaning, "ORDER BY user != '' DESC, key DESC LIMIT 1", choice, error);
  if (!statement)
    return -1;
  result = read_all (file, statement, NULL, choice->viewer, &list, error);
  sqlite3_finalize (statement);
  if (result == 0 && list.count) {
    *job = list.jobs[0];
    list.count = 0;
    result = 1;
  } else if (result == 0 && list.damaged) {
    result = -1;
  }
  job_list_free (&list);
  return result;
}

int
job_store_find (struct history_file *file, const struct job_choice *choice, struct job_record *job, struct error *error)
{
  int result = has_table (file, has_jobs, error), found = 0;

  for (size_t i = 0; result > 0 && found == 0 && i < sizeof meanings / sizeof meanings[0]; i++)
    found = find_meant (file, meanings[i], choice, job, error);
  return result <= 0 ? result : found;
}

void
job_record_free (struct job_record *job)
{
  char *const texts[] = { job->label, job->scheduler, job->user,    job->name,  job->command,
                          job->array, job->reason,    job->summary, job->state, job->shown };

  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    free (texts[i]);
  for (size_t i = 0; i < job->node_count; i++)
    free (job->nodes[i].name);
  free (job->nodes);
  job_facts_free (&job->facts);
  *job = (struct job_record){ 0 };
}

void
job_list_free (struct job_list *list)
{
  for (size_t i = 0; i < list->count; i++)
    job_record_free (&list->jobs[i]);
  free (list->jobs);
  *list = (struct job_list){ 0 };
}
