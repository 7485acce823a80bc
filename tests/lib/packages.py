"""Packages of the sources as they are, and roots to install them into that are thrown away.

    agent, aggregator = debs()
    with Root(folder) as root:
        root.run("dpkg", "-i", agent)
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess

from lib.lab import die_with_parent
from lib.programs import BUILD, ROOT

PROGRAMS = ("agent", "aggregator")
# An overlay of this machine, in memory and in a mount namespace: both end with the process that holds them.
HOLD = r"""
mount -t tmpfs -o mode=755 tmpfs "$1" && cd "$1" && mkdir upper work root &&
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root &&
mount -t proc proc root/proc && mount --bind /dev root/dev && mount -t tmpfs tmpfs root/tmp &&
mount -t tmpfs tmpfs root/run && rm -rf root/etc/synop root/var/lib/synop && echo ready && exec sleep infinity
"""


def lacking(kind):
    """Why packages of a kind, "deb" or "rpm", cannot be made here; None: nothing is lacking."""
    tools = {"deb": ("dpkg-buildpackage", "dh"), "rpm": ("rpmbuild",)}[kind]
    missing = [tool for tool in tools if not shutil.which(tool)]
    return f"not installed: {', '.join(missing)}" if missing else None


def make(*arguments, **more):
    kept = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")} | more
    done = subprocess.run(["make", "-s", f"BUILD={BUILD}", *arguments], cwd=ROOT, env=kept, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"make {' '.join(arguments)}:\n{done.stdout[-6000:]}"


def build(kind):
    """make deb, or make rpm, unless that was done with the very same sources; the folder of what it made."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "packages.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make("source")
        tarball, = BUILD.glob("synop-*.tar.gz")
        digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
        stamp = BUILD / kind / "sources.sha256"
        if not stamp.exists() or stamp.read_text() != digest:
            # What a package holds is looked at, and how fast its programs are is not. Debian's hardening needs -O1.
            make(kind, "RPMFLAGS=--define 'optflags -O0 -g'", DEB_CFLAGS_APPEND="-O1")
            stamp.write_text(digest)
    return BUILD / kind


def debs():
    """The packages of agent and aggregator."""
    folder = build("deb")
    return [next(folder.glob(f"synop-{program}_*.deb")) for program in PROGRAMS]


def rpms():
    folder = build("rpm") / "RPMS"
    return [next(folder.glob(f"*/synop-{program}-[0-9]*.rpm")) for program in PROGRAMS]


def newer(deb, folder, version):
    """The same package as another version."""
    tree = pathlib.Path(folder, deb.stem)
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    control = tree / "DEBIAN/control"
    lines = control.read_text().splitlines(keepends=True)
    control.write_text("".join(f"Version: {version}\n" if line.startswith("Version:") else line for line in lines))
    made = pathlib.Path(folder, f"{deb.name.split('_')[0]}_{version}.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, made], check=True, stdout=subprocess.DEVNULL)
    return made


def rebuilt(deb, folder):
    """The same package in the same version, with a file more."""
    folder.mkdir()
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    (tree / "usr/share/doc/synop-agent/built-anew").touch()
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, folder / deb.name], check=True,
                   stdout=subprocess.DEVNULL)


class Root:
    """Commands run as root of a copy of this machine's files; systemd does not run there."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self):
        self.holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", HOLD, "sh", self.folder],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       preexec_fn=die_with_parent)
        told = self.holder.stdout.readline()
        if told != "ready\n":
            self.__exit__()
            raise OSError(f"no overlay here: {told}")
        return self

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()

    def enter(self, *command):
        return subprocess.run(["nsenter", "--mount", "--target", str(self.holder.pid), *map(str, command)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, env=os.environ | {"LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"})

    def run(self, *command):
        """What it says; it must succeed. Files of this machine have their own names, but for those in /tmp."""
        done = self.enter("chroot", self.folder / "root", *command)
        assert done.returncode == 0, f"{command}: {done.stdout}"
        return done.stdout

    def shell(self, script):
        return self.run("sh", "-ec", script)

    def bring(self, *files):
        """Copies of files, in /tmp of the root."""
        for file in files:
            done = self.enter("cp", file, self.folder / "root/tmp")
            assert done.returncode == 0, done.stdout
        return [f"/tmp/{file.name}" for file in files]

    def written(self):
        """The files that are there and were not, or are others than before."""
        found = self.enter("find", self.folder / "upper", "-not", "-type", "d", "-not", "-type", "c", "-printf", "/%P\n")
        return set(found.stdout.split())
