/* The combined report as JSON. */
#include <string.h>

#include "aggregator/core/combine.h"

struct writing {
  struct json *json;
  const char *section; /* of the group at hand; NULL: there is none yet */
  const char *fold_name;
  bool in_fold; /* the fold of its rows is open */
};

static void
write_value (struct json *json, const char *key, const struct value *value)
{
  report_number_write (json_key (json, key), NULL, value);
}

/* The keys of a minimum or maximum. */
struct end_keys {
  const char *value, *node, *row;
};
static const struct end_keys min_keys = { "min", "min_node", "min_row" }, max_keys = { "max", "max_node", "max_row" };

static void
write_end (struct json *json, const struct end_keys *keys, const struct combine_end *end)
{
  write_value (json, keys->value, &end->value);
  json_key (json, keys->node);
  json_text (json, end->node);
  if (!end->row)
    return;
  json_key (json, keys->row);
  json_text_n (json, end->row, end->row_length);
}

static void
open_fold (struct writing *writing)
{
  json_key (writing->json, writing->fold_name);
  json_object (writing->json);
  writing->in_fold = true;
}

static void
write_metric (void *context, const struct combine_group *group, const struct combine_metric *metric)
{
  struct writing *writing = context;
  struct json *json = writing->json;

  (void) group;
  if (!writing->in_fold && !(metric->flags & METRIC_OF_NODE))
    open_fold (writing);
  json_key (json, metric->name);
  json_object (json);
  json_key (json, "nodes");
  json_uint (json, metric->nodes);
  if (metric->rows) {
    json_key (json, "rows");
    json_uint (json, metric->rows);
  }
  if (metric->fold == FOLD_SUM)
    write_value (json, "sum", &metric->sum);
  json_key (json, "mean");
  json_real (json, metric->mean);
  write_end (json, &min_keys, &metric->min);
  write_end (json, &max_keys, &metric->max);
  if (metric->p50.type != VALUE_MISSING) {
    write_value (json, "p50", &metric->p50);
    write_value (json, "p95", &metric->p95);
  }
  json_object_end (json);
}

/* Its counters are of rows, so that the fold is open. */
static void
write_derived (void *context, const struct combine_group *group, const struct combine_derived *derived)
{
  struct json *json = ((struct writing *) context)->json;

  (void) group;
  json_object (json_key (json, derived->derived->name));
  json_uint (json_key (json, "nodes"), derived->nodes);
  json_real (json_key (json, derived->derived->over ? "mean" : "sum"), derived->value);
  json_object_end (json);
}

/* A group whose rows have a fold gets its object even when it is empty. */
static void
end_group (struct writing *writing)
{
  if (!writing->section)
    return;
  if (!writing->in_fold && writing->fold_name[0])
    open_fold (writing);
  if (writing->in_fold)
    json_object_end (writing->json);
  json_object_end (writing->json);
  writing->in_fold = false;
}

/* Ends the current section and begins this one. "": no section, groups lie directly in the report. */
static void
go_to_section (struct writing *writing, const char *section)
{
  if (writing->section && strcmp (writing->section, section) == 0)
    return;
  if (writing->section && *writing->section)
    json_object_end (writing->json);
  if (*section) {
    json_key (writing->json, section);
    json_object (writing->json);
  }
}

static void
begin_group (void *context, const struct combine_group *group)
{
  struct writing *writing = context;
  struct json *json = writing->json;

  end_group (writing);
  go_to_section (writing, group->section);
  writing->section = group->section;
  writing->fold_name = group->fold_name;
  json_key (json, group->name);
  json_object (json);
  json_key (json, "nodes");
  json_uint (json, group->nodes);
  json_key (json, "errors");
  json_uint (json, group->errors);
  json_key (json, "period");
  json_object (json);
  json_key (json, "min");
  json_real (json, group->period_min);
  json_key (json, "max");
  json_real (json, group->period_max);
  json_object_end (json);
}

void
combine_write (const struct combine *combine, struct json *json, bool (*only) (const void *context, const char *group),
               const void *context, uint64_t *left_out)
{
  struct writing writing = { .json = json };
  uint64_t out = combine_walk (combine, &(struct combine_walk){ .context = &writing,
                                                                .group = begin_group,
                                                                .metric = write_metric,
                                                                .derived = write_derived,
                                                                .only = only,
                                                                .only_context = context });

  end_group (&writing);
  go_to_section (&writing, "");
  if (left_out)
    *left_out = out;
}
