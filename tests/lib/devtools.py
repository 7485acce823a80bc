"""A headless Chromium, spoken to by the DevTools protocol over its pipes (--remote-debugging-pipe)."""

import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

from lib.programs import environment

ANSWER = 60.0
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars",
    "--no-default-browser-check", "--password-store=basic", "--mute-audio", "--disable-features=Translate,MediaRouter",
    "--no-pings", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1",
)


def chromium():
    """Its path; None: it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def pipe():
    """Its ends, which are not where Chromium looks for its own: 3 and 4."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high


class ProtocolError(AssertionError):
    pass


class Chromium:
    """The process and its pipes. `heard` is called with each event: (session, method, params)."""

    def __init__(self, *flags, width=1400, height=900):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="synop-browser."))
        self.heard = lambda session, method, params: None
        self.rest, self.last = b"", 0
        for_it, self.write_to = pipe()
        self.read_from, its = pipe()
        home = {name: str(self.folder) for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{for_it} 4>&{its} {for_it}<&- {its}>&-', "bash", chromium(), *FLAGS,
                 "--remote-debugging-pipe", f"--user-data-dir={self.folder}/profile", f"--window-size={width},{height}",
                 *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(for_it, its), env=environment() | home,
                start_new_session=True)
        os.close(for_it)
        os.close(its)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def receive(self, until):
        """The next message; None: there was none in time."""
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read_from], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            piece = os.read(self.read_from, 1 << 20)
            if not piece:
                raise ProtocolError(f"the browser has ended: {self.log()}")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, session=None, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_to, data):]
        return self.last

    def take(self, message):
        if "method" in message:
            self.heard(message.get("sessionId"), message["method"], message["params"])

    def call(self, method, session=None, limit=ANSWER, **params):
        number, until = self.send(method, session, **params), time.monotonic() + limit
        while (message := self.receive(until)) is not None:
            if message.get("id") == number:
                if "error" in message:
                    raise ProtocolError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.take(message)
        raise ProtocolError(f"{method}: no answer within {limit:.0f} s: {self.log()}")

    def pump(self, seconds=0.0):
        """Takes the events that have come, and that come in so many seconds."""
        until = time.monotonic() + seconds
        while (message := self.receive(until)) is not None:
            self.take(message)

    def processes(self):
        """All of its session, as it and those that it started."""
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                words = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(words[3]) == self.process.pid:
                yield int(path.parent.name)

    def close(self):
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            pass
        for _ in range(50):  # what it started ends a moment after it
            left = list(self.processes())
            if not left:
                break
            time.sleep(0.1)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(10)
        os.close(self.write_to)
        os.close(self.read_from)
        shutil.rmtree(self.folder, ignore_errors=True)
