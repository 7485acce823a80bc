"""A group brings its own: in a copy of the sources a group with an option, and with a reason why some machines have none of
it, is one file more and one line in the list of groups."""

import re
import shutil
import subprocess

from lib.programs import BUILD, LIMIT, copy_tree, environment, parse_line

GROUP = """
#include "agent/sampling/sampler.h"

#include <stdio.h>

static const struct metric metrics[] = {
  { "height", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "How high it is." },
};
static const struct group group = { .name = "tide", .section = "system_data", .row = "", .rows_name = "",
                                    .fold_name = "", .help = "Added by a test.", GROUP_METRICS (metrics) };

struct tide_options {
  uint64_t height;
};
static const struct option option_rows[] = {
  { "tide", "height", "tide-height", OPTION_SIZE, offsetof (struct tide_options, height), "3", "1", "9",
    .help = "How high the tide is." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct tide_options);

static void *
tide_open (const struct sampler_context *context)
{
  return (void *) (uintptr_t) context_options (context, &own_options);
}

static int
tide_sample (void *state, struct table *table)
{
  table_set_uint (table, TABLE_NODE, 0, ((const struct tide_options *) state)->height);
  return 0;
}

static void
tide_close (void *state)
{
  (void) state;
}

static void
tide_absent (const struct sampler_context *context, char *text, size_t size)
{
  (void) context;
  snprintf (text, size, "no sea");
}

const struct sampler sampler_tide = { &group, NULL, tide_open, tide_sample, tide_close, .options = &own_options,
                                      .absent = tide_absent };
"""


def test_a_group_is_one_file_and_one_line(tmp_path):
    tree = tmp_path / "tree"
    copy_tree(tree)
    (tree / "build").mkdir()
    shutil.copytree(BUILD / "obj", tree / "build" / "obj")  # need not be built again
    (tree / "agent" / "groups" / "group_tide.c").write_text(GROUP)
    groups = tree / "agent" / "groups.h"
    text, count = re.subn(r"(  ADD \(load\) \\\n)", r"\1  ADD (tide) \\\n", groups.read_text())
    assert count == 1
    groups.write_text(text)
    made = subprocess.run(["make", "-s", "BUILD=build", "build/agent"], cwd=tree, env=environment(), capture_output=True,
                          text=True, timeout=20 * LIMIT, check=False)
    assert made.returncode == 0, made.stdout + made.stderr

    def agent(*arguments, code=0):
        done = subprocess.run([tree / "build" / "agent", *arguments], capture_output=True, text=True, timeout=LIMIT,
                              check=False, env=environment(), stdin=subprocess.DEVNULL)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def height(*arguments):
        return parse_line(agent("--once", "--period", "100ms", *arguments))["report"]["system_data"]["tide"]["height"]

    ini = tmp_path / "agent.ini"
    ini.write_text("[tide]\nheight = 5\n[group tide]\nenabled = yes\n")
    assert height("--config", "/dev/null") == 3
    assert height("--config", ini) == 5
    assert height("--config", ini, "--tide-height", "7") == 7
    assert "from 1 to 9" in agent("--tide-height", "10", code=2)
    assert "--tide-height NUMBER" in agent("--help")
    assert "[tide]" in agent("--config", "/dev/null", "--print-config")
    assert "\nNot on this machine: tide: no sea\n" in agent("--config", "/dev/null", "--list-groups")
