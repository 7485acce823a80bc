"""What is looked at before any host is: inventories that are wrong, the knobs and their explanations, the playbooks' form."""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from lib.packages import PROGRAMS, make
from lib.programs import ROOT

ANSIBLE = ROOT / "ansible"
needs_ansible = pytest.mark.skipif(not shutil.which("ansible-playbook"), reason="not installed: ansible-core")

ALL_WRONG = """\
[masters]
m0

[worker]
n1.a
n1.b
n2 synop_node=a/b
n3 synop_agent_options='{"agent": {"perod": "1s"}, "group load": {"period": "2s"}}'
n4 synop_aggregator_options=5s

[all:vars]
synop_instal=build
skip_workers=true
synop_port=http
rotate_keys=maybe
"""
VALUES_WRONG = """\
[master]
m0

[worker]
n1

[all:vars]
skip_worker=ja
synop_purge=perhaps
synop_wait=long
synop_clock_limit=half
synop_serial=ten
synop_port=80x
synop_portal=grafana
synop_portal_address=9090
"""
PORTAL_WRONG = """\
[master]
m0
[worker]
n1
[all:vars]
synop_portal=prometheus
synop_aggregator_options={"http": {"listen": "*:5580", "password_file": "/etc/synop/http.passwords"}}
"""
WRONG = {
    ALL_WRONG: ["no host in [master]; its groups are: masters, worker", "there is no variable synop_instal;",
                "there is no variable skip_workers;", "there is no [agent] perod;", "two hosts have a node n1",
                "cannot be called a/b", "synop_aggregator_options must be sections", "synop_port must be a number",
                "rotate_keys must be"],
    "[master]\nm0\nm1\n": ["[master] must be one host, and is m0, m1", "no host in [worker]"],
    VALUES_WRONG: ["skip_worker must be true or false, and is ja", "synop_purge must be", "synop_wait must be",
                   "synop_clock_limit must be", "synop_serial must be a number or a share such as 10%, and is ten",
                   "synop_port must be a number from 1 to 65534, and is 80x",
                   "synop_portal must be prometheus, victoria-metrics or none, and is grafana",
                   "synop_portal_address must be an address with a port, and is 9090"],
    "[master]\nm0\n[all:vars]\nrotate_keys=all\nskip_worker=true\n": ["rotate_keys=all leaves no worker out"],
    PORTAL_WRONG: ["synop_portal needs [http] of the aggregator without password_file and certificate"],
}


@needs_ansible
@pytest.mark.parametrize("inventory", WRONG, ids=["much", "two-masters", "values", "keys", "portal"])
def test_wrong_inventory_is_refused_first(tmp_path, inventory):
    path = tmp_path / "host.ini"
    path.write_text(inventory)
    command = ["ansible-playbook", "-i", path, "ansible/deploy.yaml"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True,
                          check=False)
    assert done.returncode != 0
    missing = [sentence for sentence in [*WRONG[inventory], "Nothing was touched"] if sentence not in done.stdout]
    assert not missing, done.stdout
    assert "[group load]" not in done.stdout and "Look at the hosts" not in done.stdout


def test_every_knob_is_explained():
    """group_vars/all.yaml without its first "# " is the defaults, each below a comment."""
    defaults = yaml.safe_load((ANSIBLE / "roles/common/defaults/main.yaml").read_text())
    text = (ANSIBLE / "group_vars/all.yaml").read_text()
    knobs = re.sub(r"(?m)^# (?=(?:skip|rotate|synop)_[a-z_]+:|  (?:  )?[A-Za-z]+: *(?:[\[{]|\"|$)| {16}[a-z])", "", text)
    knobs = "\n".join(line for line in knobs.splitlines() if not line.startswith("#"))
    assert yaml.safe_load(knobs) == defaults


@pytest.mark.parametrize("tool", [["ansible-lint", "--offline", "--nocolor", "--profile", "production", "ansible"],
                                  ["yamllint", "-c", "ansible/.yamllint", "--strict", "ansible"]], ids=lambda t: t[0])
def test_lint(tool):
    if not shutil.which(tool[0]):
        pytest.skip(f"not installed: {tool[0]}")
    done = subprocess.run(tool, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def paths(tasks):
    """What the tasks copy, by their loops."""
    for task in tasks:
        if "loop" in task and "ansible.builtin.copy" in task:
            yield from (item if isinstance(item, str) else item["path"] for item in task["loop"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_that_belongs_to_a_program_is_copied_and_removed(tmp_path, program):
    """What make install knows of; the user and the folders are tasks of their own, and so are the options."""
    make(f"install-{program}", f"DESTDIR={tmp_path}", "PREFIX=/usr", "ALIASES=", "SYSUSERSDIR=", "TMPFILESDIR=")
    installed = {f"/{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*") if path.is_file()}
    tasks = yaml.safe_load((ANSIBLE / "roles/common/tasks/program.yaml").read_text())
    copied = {path.replace("{{ synop_program }}", program) for path in paths(tasks)}
    build = yaml.safe_load((ANSIBLE / "roles/common/tasks/build.yaml").read_text())
    script = next(task["ansible.builtin.command"]["argv"][2] for task in build if task["name"].startswith("Pack "))
    packed = {f"/usr/share/{word}" for word in re.findall(r'"(\S*\$3\S*)"', script)}
    packed = {path.replace("$3", f"synop-{program}") for path in packed}
    folder = f"/usr/share/synop-{program}"  # is packed whole
    files = {path for path in installed if path.startswith(f"{folder}/")}
    assert files and copied | packed - {folder} | {f"/etc/synop/{program}.ini"} == installed - files and folder in packed
    facts = yaml.safe_load((ANSIBLE / "roles/common/vars/main.yaml").read_text())
    assert installed - files | {folder} <= set(facts["synop_files"][program])


@needs_ansible
def test_example_inventory(tmp_path):
    command = ["ansible-inventory", "-i", ANSIBLE / "host.ini.example", "--list"]
    done = subprocess.run(command, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
    groups = json.loads(done.stdout)
    assert groups["master"]["hosts"] == ["m0"] and groups["worker"]["hosts"] == [f"n{at}" for at in range(1, 10)]
    assert groups["_meta"]["hostvars"]["n9"]["ansible_user"] == "root"
