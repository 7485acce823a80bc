"""A type of sections that users name is a view's: one new file and a line in the list of views. In a copy of the sources
[demo NAME] is added to the aggregator, and looked at from all sides."""

import os
import subprocess

import pytest
from lib.programs import LIMIT, ROOT, copy_built, environment, make, wait_until
from test_reload import READ_AGAIN, reload

DEMO = r"""
#include <stddef.h>
#include <string.h>

#include "aggregator/view_list.h"
#include "synop/log.h"

struct demo {
  char *url;
  int64_t period_ns;
};

static const struct option options[] = {
  { "", "url", NULL, OPTION_TEXT, offsetof (struct demo, url), "", .help = "Where to." },
  { "", "period", NULL, OPTION_DURATION, offsetof (struct demo, period_ns), "5s", "1s", "1h", .help = "How often." },
};

static int
check (const void *instance, struct error *error)
{
  const struct demo *demo = instance;
  return *demo->url ? 0 : error_set (error, "url: must be given");
}

static const struct config_type type = { "demo", "A thing that a test plays.", { options, 2, sizeof (struct demo) },
                                         .check = check };

static void
change (void *state, const char *name, const void *before, const void *now)
{
  const struct demo *was = before, *is = now;
  (void) state;
  log_info ("demo %s: %s -> %s", name, was ? was->url : "none", is ? is->url : "none");
}

const struct view demo_view = { .name = "demo", .section_type = &type, .section = change };
"""


@pytest.fixture(scope="module", name="build")
def build_with_demo(tmp_path_factory):
    tree = tmp_path_factory.mktemp("seams") / "tree"
    copy_built(tree)
    (tree / "aggregator/views/demo_view.c").write_text(DEMO)
    views = tree / "aggregator/view_list.h"
    text = views.read_text()
    assert text.count("  VIEW (jobs_view)") == 1
    views.write_text(text.replace("  VIEW (jobs_view)", "  VIEW (demo_view) \\\n  VIEW (jobs_view)"))
    make(tree, "programs")
    return tree / "build"


def call(build, *arguments):
    return subprocess.run([build / "aggregator", *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT,
                          check=False, env=environment(), stdin=subprocess.DEVNULL)


def test_what_people_see(build, tmp_path):
    ini = tmp_path / "a.ini"
    ini.write_text("[demo one]\nurl = http://a\n")
    done = call(build, "-c", ini, "--demo.two.url=b", "--print-config")
    shown = done.stdout.replace("\n# ", " ").replace("\n", " ")  # a long path has a line of its own
    assert f"[demo one] Where to. TEXT. Default: empty. Set by: {ini}:2. url = http://a " in shown, done
    assert "[demo two]\n" in done.stdout
    assert "# [demo NAME]\n# A thing that a test plays.\n" in call(build, "-c", "/dev/null", "--print-config").stdout
    assert "  --demo.NAME.period DURATION\n" in call(build, "--help").stdout
    assert "demo" not in call(build, "tail", "--help").stdout
    table = call(build, "-c", "/dev/null", "--print-config", "--markdown").stdout
    assert "## [demo NAME]" in table and "| `url` | `--demo.NAME.url` | TEXT | empty | reload | Where to. |" in table

    ini.write_text("[demo one]\n\n[demo one]\nurl = x\n")
    for command in ([], ["tail"]):
        done = call(build, *command, "-c", ini)
        assert done.returncode == 2 and f"{ini}:3: [demo one]: stands in this file already, in line 1" in done.stderr
    ini.write_text("[dmo one]\n")
    assert f"{ini}:1: unknown section [dmo one], did you mean [demo one]?" in call(build, "-c", ini).stderr
    ini.write_text("\n[demo one]\n")
    assert f"{ini}:2: [demo one] url: must be given" in call(build, "-c", ini).stderr


def test_default_configuration(build, tmp_path):
    """The one that is installed shows a section to be filled in, and is read as it is, and with that section filled in."""
    made = subprocess.run([ROOT / "docs/generate-ini", "aggregator"], capture_output=True, text=True, check=True,
                          timeout=LIMIT, env=environment() | {"BUILD": str(build)}).stdout
    ini = tmp_path / "a.ini"
    ini.write_text(made)
    assert "# [demo NAME]\n# A thing that a test plays.\n" in made and "\n# period = 5s\n" in made
    assert call(build, "-c", ini, "--print-config").returncode == 0
    before, section = made.split("# [demo NAME]")
    ini.write_text(before + "[demo x]" + section.replace("# url =", "url = u", 1))
    assert "\nurl = u\n" in call(build, "-c", ini, "--print-config").stdout


def test_completion(build, tmp_path):
    (tmp_path / "synop-aggregator").symlink_to(build / "aggregator")

    def ask(*words):
        script = f'. {ROOT}/ansible/packages/completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _synop; ' \
                 'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-uc", script, "bash", "synop-aggregator", *words], capture_output=True, text=True,
                              timeout=LIMIT, check=True, env=environment() | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
        return set(done.stdout.split())

    assert ask("--dem") == {"--demo."}
    assert ask("--demo.x.") == {"--demo.x.url", "--demo.x.period"}


def test_owner_is_called_at_start_and_at_a_reload(build, cluster):
    ini = cluster.write("aggregator.ini", "[demo one]\nurl = a\n[demo two]\nurl = b\n")
    aggregator = cluster.start("aggregator", build / "aggregator", "--config", ini, "--keys", cluster.master, "--socket",
                               cluster.socket, "--listen", "tcp://127.0.0.1:*", "--history-enabled=no", "--endpoint-file",
                               cluster.folder / "endpoint")
    wait_until(cluster.socket.exists, "the aggregator's socket")
    assert "demo one: none -> a" in aggregator.log() and "demo two: none -> b" in aggregator.log()
    told = reload(aggregator, READ_AGAIN, ini, "[demo two]\nurl = c\n[demo three]\nurl = d\n")
    for line in (f"{ini}: [demo one] is gone", f'{ini}:2: [demo two] url: "b" is "c" now', f"{ini}:3: [demo three] is new",
                 "demo one: a -> none", "demo two: b -> c", "demo three: none -> d"):
        assert line in told, told
    assert "restart" not in told
    told = reload(aggregator, "the configuration stays as it was", ini, "[demo two]\nulr = c\n")
    assert f'{ini}:2: [demo two] ulr: unknown key, did you mean "url"?' in told and "->" not in told
