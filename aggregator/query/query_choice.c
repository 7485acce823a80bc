/* What a question is about: the job, the nodes, the rows; see query_asking.h. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_asking.h"
#include "synop/array.h"
#include "synop/config_suggest.h"
#include "synop/memory.h"
#include "synop/report.h"

/* ---- the job ---- */

/* Its nodes, its time where none is given. */
int
asking_find_job (struct asking *asking, const char **key, struct error *error)
{
  const struct query *query = asking->query;
  struct job_choice choice = { query->job, query->user, query->scheduler, query->viewer };
  int result;

  *key = query->job ? "job" : query->user ? "user" : query->scheduler ? "scheduler" : NULL;
  if (!query->job)
    return *key ? error_set (error, "goes with a job (--job) alone, and none is asked for") : 0;
  result = job_store_find (asking->file, &choice, &asking->job, error);
  if (result == 0)
    error_set (error, query->viewer && !query->viewer->all ? "no job %.64s of yours" : "the history has no job %.64s",
               query->job);
  if (result <= 0)
    return -1;
  if (!query->from)
    asking->from_ns = asking->job.started_ns;
  if (!query->to)
    asking->to_ns = asking->job.ended_ns ? asking->job.ended_ns : asking->now_ns;
  *key = "from";
  return asking->from_ns < asking->to_ns
             ? 0
             : error_set (error, "must be before the end, and job %.64s ran at another time", query->job);
}

/* ---- nodes ---- */

struct name_list {
  char **names;
  size_t count, capacity;
};

static int
read_names (struct history_file *file, struct name_list *list, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file, "SELECT name FROM nodes ORDER BY name", error);
  int code = SQLITE_ERROR;

  while (statement && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    const char *name = (const char *) sqlite3_column_text (statement, 0);
    *array_add (list->names, list->count, list->capacity) = memory_string (name ? name : "");
  }
  if (statement && code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

static void
names_free (struct name_list *list)
{
  for (size_t i = 0; i < list->count; i++)
    free (list->names[i]);
  free (list->names);
}

static int
no_node (const char *wanted, const struct name_list *list, struct error *error)
{
  struct suggestion near = { .word = wanted };

  for (size_t i = 0; i < list->count; i++)
    suggestion_consider (&near, list->names[i]);
  return error_set (error, "no node of the history matches \"%.128s\"%s%s%s", wanted, *near.best ? "; near is " : "",
                    near.best, list->count ? "" : ": it has none");
}

int
asking_check_nodes (struct asking *asking, const char **key, struct error *error)
{
  struct name_list list = { 0 };
  bool any = false;
  int result;

  globs_init (&asking->nodes, asking->query->node ? asking->query->node : "");
  if (!asking->query->node)
    return 0;
  *key = NULL;
  result = read_names (asking->file, &list, error);
  for (size_t i = 0; i < list.count && !any; i++)
    any = globs_match (&asking->nodes, list.names[i]);
  if (result == 0 && !any) {
    *key = "node";
    result = no_node (asking->query->node, &list, error);
  }
  names_free (&list);
  return result;
}

/* Those of the job, and of them those that --node chooses. Names of nodes have nothing that is special in a pattern. */
int
asking_take_job_nodes (struct asking *asking, const char **key, struct error *error)
{
  struct buffer names = { 0 };
  struct globs chosen = asking->nodes;
  size_t count = 0;

  if (!asking->job.label)
    return 0;
  for (size_t i = 0; i < asking->job.node_count; i++)
    if (globs_match (&chosen, asking->job.nodes[i].name))
      buffer_printf (&names, "%s%s", count++ ? "," : "", asking->job.nodes[i].name);
  globs_free (&asking->nodes);
  globs_init (&asking->nodes, buffer_text (&names));
  buffer_free (&names);
  *key = "node";
  return count ? 0 : error_set (error, "job %.64s ran on no such node", asking->query->job);
}

/* ---- rows ---- */

/* A label as a pattern that matches it. */
static char *
label_glob (const char *label)
{
  char *glob = memory_new (2 * strlen (label) + 1, 1), *to = glob;

  for (; *label; label++) {
    if (strchr ("*?[]\\, \t", *label))
      *to++ = '\\';
    *to++ = *label;
  }
  return glob;
}

static bool
of_jobs (const struct operand *operand)
{
  return operand->entry && strcmp (operand->entry->section, REPORT_JOBS) == 0;
}

static bool
lacks (const struct operand *operand, bool (*has) (const struct catalog_entry *entry))
{
  return !operand->entry || !has (operand->entry);
}

int
asking_take_rows (struct asking *asking, const char **key, struct error *error)
{
  const struct query *query = asking->query;
  const struct expression *expression = &asking->expression;
  const struct operand *left = &expression->left, *right = &expression->right;
  bool jobs =
      (of_jobs (left) && catalog_has_rows (left->entry)) || (of_jobs (right) && catalog_has_rows (right->entry));
  const char *label = expression->row ? expression->row : jobs && asking->job.label ? asking->job.label : NULL;
  char *glob = label && !query->row ? label_glob (label) : memory_string (query->row ? query->row : "");

  globs_init (&asking->rows, glob);
  free (glob);
  asking->combined = query->combined || expression->combined;
  asking->by_rows = query->rows || query->row || label || jobs || (left->entry && !catalog_has_node (left->entry)) ||
                    (right->entry && !catalog_has_node (right->entry));
  *key = query->row ? "row" : "rows";
  if (asking->by_rows && !asking->combined && lacks (left, catalog_has_rows) && lacks (right, catalog_has_rows))
    return error_set (error, "it has one value for each node, and no rows");
  return 0;
}

int
asking_check_combined (const struct asking *asking, const char **key, struct error *error)
{
  const struct query *query = asking->query;
  const char *other = query->node ? "node" : query->job ? "job" : query->fold ? "fold" : NULL;

  *key = other;
  return asking->combined && other
             ? error_set (error, "does not go with the combined report (--combined), which is of all nodes together")
             : 0;
}

int
asking_check_rate (const struct asking *asking, const char **key, struct error *error)
{
  const struct catalog_entry *entry = asking->expression.left.entry;

  *key = "rate";
  if (!asking->query->rate || expression_is_change (&asking->expression))
    return 0;
  return error_set (error, "is of counters, and %s%s%s is none: it is shown as it stands",
                    entry ? entry->group : "this", entry ? "." : "", entry ? entry->name : "");
}

/* ---- whose ---- */

static bool
is_of_users (const struct operand *operand)
{
  return operand->entry && operand->entry->of_users;
}

int
asking_take_owners (struct asking *asking, const char **key, struct error *error)
{
  const struct expression *expression = &asking->expression;
  const struct viewer *viewer = asking->query->viewer;

  if (!viewer || viewer->all || (!is_of_users (&expression->left) && !is_of_users (&expression->right)))
    return 0;
  *key = "combined";
  if (asking->combined)
    return error_set (error, "of what is of jobs only admins see the combined report");
  *key = NULL;
  asking->owners = job_owners_read (asking->file, asking->from_ns, asking->to_ns, error);
  return asking->owners ? 0 : -1;
}

/* Rows of jobs are named by them; whose another row of users was, the points do not say. */
bool
asking_shows (const struct asking *asking, const char *node, const char *row)
{
  const struct operand *const operands[] = { &asking->expression.left, &asking->expression.right };

  if (!asking->owners)
    return true;
  for (size_t i = 0; i < 2; i++)
    if (operands[i]->entry && strcmp (operands[i]->entry->section, REPORT_JOBS) != 0)
      return false;
  return row && job_owners_all_his (asking->owners, asking->query->viewer, node, row, asking->from_ns, asking->to_ns);
}
