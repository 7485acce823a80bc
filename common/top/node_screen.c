/* See node_screen.h. */
#include "synop/node_screen.h"

#include <stdlib.h>
#include <string.h>

#include "common/top/node_screen_private.h"
#include "synop/memory.h"
#include "synop/screen.h"

#define PAGE_ROWS 512

struct node_screen {
  json_t *system, *jobs; /* groups by name; jobs by id */
  char time[40];
  bool filled;
  struct canvas page;
  int first, height, rows; /* the first row that is shown, of so many; how many there is room for */
};

struct node_screen *
node_screen_create (void)
{
  struct node_screen *screen = memory_new (1, sizeof *screen);

  node_screen_clear (screen);
  return screen;
}

static void
drop (struct node_screen *screen)
{
  json_decref (screen->system);
  json_decref (screen->jobs);
}

void
node_screen_destroy (struct node_screen *screen)
{
  if (!screen)
    return;
  drop (screen);
  canvas_free (&screen->page);
  free (screen);
}

void
node_screen_clear (struct node_screen *screen)
{
  drop (screen);
  screen->system = json_pack ("{}");
  screen->jobs = json_pack ("{}");
  screen->filled = false;
  screen->time[0] = 0;
  screen->first = 0;
}

/* A job's groups that were not sampled this time stay; jobs that are not named any more go. */
static void
take_jobs (struct node_screen *screen, json_t *list)
{
  json_t *jobs = json_pack ("{}");

  for (size_t i = 0; i < json_array_size (list); i++) {
    json_t *job = json_array_get (list, i), *groups;
    const char *id = node_text (job, "job_id");
    if (!*id)
      continue;
    groups = json_object_get (screen->jobs, id);
    groups = groups ? json_incref (groups) : json_pack ("{}");
    json_object_update (groups, json_object_get (job, "report"));
    json_object_set_new (jobs, id, groups);
  }
  json_decref (screen->jobs);
  screen->jobs = jobs;
}

int
node_screen_take (struct node_screen *screen, const char *line, size_t length)
{
  json_t *root = json_loadb (line, length, 0, NULL), *report = json_object_get (root, "report");
  const char *time = node_text (root, "time");

  if (strcmp (node_text (root, "type"), "node") != 0 || !json_is_object (report)) {
    json_decref (root);
    return -1;
  }
  json_object_update (screen->system, json_object_get (report, "system_data"));
  if (json_object_get (report, "job_data"))
    take_jobs (screen, json_object_get (report, "job_data"));
  memcpy (screen->time, time, strnlen (time, sizeof screen->time - 1) + 1);
  screen->time[sizeof screen->time - 1] = 0;
  screen->filled = true;
  json_decref (root);
  return 0;
}

bool
node_screen_is_filled (const struct node_screen *screen)
{
  return screen->filled;
}

const char *
node_screen_time (const struct node_screen *screen)
{
  return screen->time;
}

static void
scroll_to (struct node_screen *screen, int first)
{
  int last = screen->height > screen->rows ? screen->height - screen->rows : 0;

  screen->first = first < 0 ? 0 : first > last ? last : first;
}

void
node_screen_draw (struct node_screen *screen, struct canvas *canvas, int y, int rows, bool jobs)
{
  struct node_page page = { &screen->page, 0, screen->system, screen->jobs };

  screen->page.unicode = canvas->unicode;
  canvas_begin (&screen->page, canvas->width, PAGE_ROWS);
  if (jobs)
    node_jobs_draw (&page, 0);
  else
    node_page_draw (&page);
  screen->height = page.y;
  screen->rows = rows;
  scroll_to (screen, screen->first);
  canvas_copy (canvas, y, &screen->page, screen->first, rows);
  if (screen->first + rows < screen->height && rows > 2)
    canvas_right (canvas, 0, y + rows - 1, canvas->width, STYLE_WARNING,
                  canvas->unicode ? " more below ↓" : " more below");
}

bool
node_screen_key (struct node_screen *screen, int key)
{
  int page = screen->rows > 2 ? screen->rows - 2 : 1;

  switch (key) {
  case TERMINAL_UP:
    scroll_to (screen, screen->first - 1);
    return true;
  case TERMINAL_DOWN:
    scroll_to (screen, screen->first + 1);
    return true;
  case TERMINAL_PAGE_UP:
    scroll_to (screen, screen->first - page);
    return true;
  case TERMINAL_PAGE_DOWN:
    scroll_to (screen, screen->first + page);
    return true;
  case TERMINAL_HOME:
    scroll_to (screen, 0);
    return true;
  case TERMINAL_END:
    scroll_to (screen, screen->height);
    return true;
  default:
    return false;
  }
}

/* ---- values ---- */

double
node_number (json_t *object, const char *key)
{
  json_t *value = json_object_get (object, key);

  return json_is_number (value) ? json_number_value (value) : strtod ("nan", NULL);
}

const char *
node_text (json_t *object, const char *key)
{
  const char *text = json_string_value (json_object_get (object, key));

  return text ? text : "";
}

json_t *
node_group (json_t *section, const char *name)
{
  json_t *group = json_object_get (section, name);

  return json_is_object (group) ? group : NULL;
}

double
node_rate (json_t *group, json_t *row, const char *key)
{
  double period = node_number (group, "period");

  return period > 0 ? node_number (row, key) / period : strtod ("nan", NULL);
}
