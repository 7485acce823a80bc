"""A munged of its own: key, socket and all in one folder; and credentials by Debian's `munge`."""

import os
import shutil
import subprocess

from lib.programs import LIMIT, wait_until

MISSING = next((f"{name} is not installed" for name in ("munged", "munge") if not shutil.which(name, path="/usr/sbin:/usr/bin")), None)


class Munged:
    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir(mode=0o755)
        self.socket = self.folder / "s"
        key = self.folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.daemon = None
        self.start()

    def start(self):
        names = {f"--{name}-file": self.folder / name for name in ("key", "pid", "log", "seed")}
        self.daemon = subprocess.Popen(["/usr/sbin/munged", "--foreground", "--force", "--socket", self.socket,
                                        *(word for pair in names.items() for word in pair), "--num-threads", "2"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.socket.exists, "munged")

    def stop(self):
        self.daemon.terminate()
        self.daemon.wait(LIMIT)

    def credential(self, payload, *options, user=None):
        """Of that user, by its number."""
        who = ("setpriv", f"--reuid={user}", "--clear-groups") if user else ()
        done = subprocess.run([*who, "munge", "--socket", self.socket, "--string", payload, *options], capture_output=True,
                              text=True, check=True, timeout=LIMIT)
        return done.stdout.strip()
