/* See job_runs.h. */
#include "aggregator/history/job_runs.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "synop/hash_table.h"
#include "synop/memory.h"

struct job_runs {
  char *whose; /* id, user and scheduler */
  uint64_t next;
  int64_t ended_ns; /* the one before; 0: there is none, or it has not ended */
  UT_hash_handle hh;
};

void
job_runs_free (struct job_runs *runs)
{
  struct job_runs *one, *next;

  HASH_ITER (hh, runs, one, next)
  {
    HASH_DEL (runs, one);
    free (one->whose);
    free (one);
  }
}

/* How many there are before it, and when the last of them ended. */
static int
find_before (struct history_file *file, const struct job_record *job, struct job_runs *runs, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (
      file,
      "WITH before AS (SELECT key FROM jobs WHERE label = ? AND user = ? AND scheduler = ? AND key < ?)"
      " SELECT count (*), ifnull ((SELECT time FROM job_ends WHERE job ="
      " (SELECT max (key) FROM before) ORDER BY id DESC LIMIT 1), 0) FROM before",
      error);
  int code;

  if (!statement)
    return -1;
  sqlite3_bind_text (statement, 1, job->label, -1, SQLITE_STATIC);
  sqlite3_bind_text (statement, 2, job->user, -1, SQLITE_STATIC);
  sqlite3_bind_text (statement, 3, job->scheduler, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (statement, 4, job->key);
  code = sqlite3_step (statement);
  if (code == SQLITE_ROW) {
    runs->next = (uint64_t) sqlite3_column_int64 (statement, 0);
    runs->ended_ns = sqlite3_column_int64 (statement, 1);
  } else
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_ROW ? 0 : -1;
}

static int
find_run (struct job_runs **runs, struct history_file *file, struct job_record *job, struct error *error)
{
  char *whose = memory_format ("%s\n%s\n%s", job->label, job->user, job->scheduler);
  struct job_runs *one;
  int result = 0;

  HASH_FIND_STR (*runs, whose, one);
  if (!one) {
    one = memory_new (1, sizeof *one);
    one->whose = memory_string (whose);
    result = find_before (file, job, one, error);
    HASH_ADD_KEYPTR (hh, *runs, one->whose, strlen (one->whose), one);
  }
  job->run = one->next++;
  job->after_ns = one->ended_ns;
  one->ended_ns = job->ended_ns;
  free (whose);
  return result;
}

/* "2_1" of an array's task where its id does not say it, "5/1" of a requeue, "demo/1" of a name that was used again. */
int
job_runs_name (struct job_runs **runs, struct history_file *file, struct job_record *job, struct error *error)
{
  const char *requeue = strrchr (job->label, '/');
  bool by_array = *job->array && !strchr (job->label, '[');

  if (find_run (runs, file, job, error) < 0)
    return -1;
  if (requeue && strspn (requeue + 1, "0123456789") != strlen (requeue + 1))
    requeue = NULL;
  if (requeue)
    job->shown = memory_format ("%.*s%s", (int) (by_array ? strlen (job->array) : (size_t) (requeue - job->label)),
                                by_array ? job->array : job->label, requeue);
  else if (job->run)
    job->shown = memory_format ("%s/%llu", by_array ? job->array : job->label, (unsigned long long) job->run);
  else
    job->shown = memory_string (by_array ? job->array : job->label);
  return 0;
}
