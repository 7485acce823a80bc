/* See top_command.h. The agent's own samplers fill the lines that "synop-agent" writes, those of few groups; the page of the
 * node is made of them, as `synop-aggregator top` makes it of the stream's. */
#include "agent/top_command.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command.h"
#include "agent/groups.h"
#include "agent/options.h"
#include "agent/standalone.h"
#include "synop/config.h"
#include "synop/file.h"
#include "synop/memory.h"
#include "synop/node_screen.h"
#include "synop/screen.h"

#define HEIGHT_ONCE 512

struct arguments {
  char *config, *period, *root;
  bool once, jobs;
  uint64_t width;
  struct command_page page;
};

static const struct option table[] = {
  { "", "once", NULL, OPTION_BOOLEAN, offsetof (struct arguments, once), "no",
    .help = "Writes the screen of one period as text, and ends." },
  { "", "jobs", NULL, OPTION_BOOLEAN, offsetof (struct arguments, jobs), "no", .help = "Shows the jobs alone." },
  { "", "period", NULL, OPTION_TEXT, offsetof (struct arguments, period), "",
    .help = "How often it is drawn anew, as 500ms, 2s; without it as the agent samples." },
  { "", "width", NULL, OPTION_SIZE, offsetof (struct arguments, width), "80", "40", "1000",
    .help = "Columns of --once." },
  { "", "config", NULL, OPTION_PATH, offsetof (struct arguments, config), "",
    .help = "The agent's file of options, rather than /etc/synop/agent.ini." },
  { "", "root", NULL, OPTION_PATH, offsetof (struct arguments, root), "",
    .help = "The folder that holds proc and sys: another than / shows a recorded machine." },
};

static const char head[] =
    "Usage: synop-agent top [--period 2s]\n"
    "       synop-agent top --once [--width 120]\n"
    "\n"
    "Shows this node on the terminal: CPUs, memory, pressure, power, GPUs, network, disks, file "
    "systems, jobs. It\n"
    "samples by itself and needs neither privileges nor an aggregator. Arrows scroll, j shows the "
    "jobs alone, Space\n"
    "holds the screen, q ends. Without colours: NO_COLOR=1.\n"
    "\n";
static const char tail[] = "\nExit codes: 0 ended; 1 there is no terminal; 2 wrong arguments.\n";

/* What the page shows; no other group is sampled. */
static const char *const groups[] = { "cpu_usage",  "memory_info", "load",   "pressure",   "disk_io",
                                      "filesystem", "network",     "gpu",    "node_power", "job_info",
                                      "job_cpu",    "job_memory",  "job_io", "job_gpu" };

struct top {
  const struct arguments *arguments;
  const char *node;
  struct loop *loop;
  struct screen *screen; /* NULL: --once */
  struct node_screen *page;
  bool jobs, held;
};

/* ---- the screen ---- */

static struct screen_cursor
draw (void *context, struct canvas *canvas)
{
  static const struct screen_label labels[] = {
    { "Arrows", "Scroll" }, { "j", "Jobs " }, { "Space", "Hold " }, { "q", "Quit " }
  };
  const struct top *top = context;
  const char *time = node_screen_time (top->page);
  int x = canvas_text (canvas, 0, 0, canvas->width, STYLE_STRONG, top->node), foot = top->screen ? 1 : 0;

  if (strlen (time) >= 19)
    canvas_printf (canvas, x + 2, 0, canvas->width - x - 2, top->held ? STYLE_WARNING : STYLE_PLAIN, "%.8s UTC%s",
                   time + 11, top->held ? "  held; Space goes on" : "");
  if (node_screen_is_filled (top->page))
    node_screen_draw (top->page, canvas, 1, canvas->height - 1 - foot, top->jobs);
  else
    canvas_text (canvas, 0, 1, canvas->width, STYLE_FAINT, "Sampling for one period ...");
  if (foot)
    screen_foot (canvas, labels, sizeof labels / sizeof labels[0]);
  return (struct screen_cursor){ -1, 0 };
}

static void
take_key (void *context, int key)
{
  struct top *top = context;

  if (key == 'q' || key == TERMINAL_F + 10 || key == TERMINAL_ESCAPE)
    loop_stop (top->loop);
  else if (key == 'j')
    top->jobs = !top->jobs;
  else if (key == ' ')
    top->held = !top->held;
  else if (key == 12) /* Ctrl-L */
    screen_repaint (top->screen);
  else
    node_screen_key (top->page, key);
}

static void
take_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  if (top->held)
    return;
  node_screen_take (top->page, line, length);
  if (top->screen)
    screen_changed (top->screen);
}

static int
print_once (struct top *top)
{
  struct canvas canvas = { .unicode = terminal_locale () };
  struct buffer text = { 0 };
  int code;

  canvas_begin (&canvas, (int) top->arguments->width, HEIGHT_ONCE);
  draw (top, &canvas);
  canvas_print (&canvas, &text);
  code = file_print (&text);
  canvas_free (&canvas);
  buffer_free (&text);
  return code;
}

/* ---- samples ---- */

static void
keep_groups (struct agent_options *options)
{
  for (size_t i = 0; i < sampler_count; i++) {
    bool kept = false;
    for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++)
      kept |= strcmp (samplers[i]->group->name, groups[k]) == 0;
    if (!kept)
      options->periods_ns[i] = 0;
  }
  options->context.brief = true; /* nothing is kept for the next start */
}

static int
sample (struct top *top, const struct agent_options *options)
{
  struct sampling *sampling = sampling_create (samplers, options->periods_ns, sampler_count, &options->context);
  struct standalone_options to = { .node = options->node_name,
                                   .session = 1,
                                   .count = top->arguments->once,
                                   .once_ns = top->arguments->once ? options->period_ns : 0,
                                   .line = take_line,
                                   .context = top };
  struct error error;
  int code = standalone_run (&to, top->loop, sampling, &error) < 0 ? command_fail (EXIT_FAILED, &error) : EXIT_FINE;

  sampling_destroy (sampling);
  return code;
}

static int
show (struct top *top, const struct agent_options *options)
{
  struct screen_options to = {
    .loop = top->loop, .unicode = terminal_locale (), .context = top, .draw = draw, .key = take_key
  };
  struct error error;
  int code;

  if (top->arguments->once) {
    code = sample (top, options);
    return code == EXIT_FINE ? print_once (top) : code;
  }
  top->screen = screen_open (&to, &error);
  if (!top->screen)
    return command_fail (EXIT_FAILED, &error);
  code = sample (top, options);
  screen_close (top->screen);
  return code;
}

static int
run (const struct arguments *arguments)
{
  char program[] = "synop-agent", *words[8] = { program };
  const char *const given[][2] = { { "--config", arguments->config },
                                   { "--period", arguments->period },
                                   { "--root", arguments->root } };
  struct agent_options *options = agent_options_create ();
  struct top top = { .arguments = arguments, .jobs = arguments->jobs };
  struct error error;
  int count = 1, code;

  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
    if (*given[i][1]) {
      words[count++] = (char *) given[i][0];
      words[count++] = (char *) given[i][1];
    }
  if (agent_options_read (options, count, words, &error) < 0) {
    code = command_fail (EXIT_USAGE, &error);
  } else {
    keep_groups (options);
    top.node = options->node_name;
    top.loop = loop_create ();
    top.page = node_screen_create ();
    code = show (&top, options);
    node_screen_destroy (top.page);
    loop_destroy (top.loop);
  }
  agent_options_destroy (options);
  return code;
}

int
top_command (int argc, char **argv)
{
  struct arguments arguments = { 0 };
  struct config *config = config_create (table, sizeof table / sizeof *table, &arguments, NULL);
  struct error error;
  int code, count;

  config_set_program (config, "synop-agent top", NULL);
  count = config_read_operands (config, argc, argv, NULL, 0, NULL, command_page_ask, &arguments.page, &error);
  if (command_page_is_asked (&arguments.page))
    code = command_page_write (&arguments.page, config, head, tail);
  else if (count < 0)
    code = command_fail (EXIT_USAGE, &error);
  else
    code = run (&arguments);
  config_destroy (config);
  return code;
}
