"""A program on a terminal: a pty, with pyte as the terminal's emulator. What is seen is read as lines of text."""

import fcntl
import os
import pty
import signal
import struct
import termios
import threading
import time

import pyte
from lib.programs import BUILD, LIMIT, environment, wait_until

KEYS = {"up": "\x1bOA", "down": "\x1bOB", "right": "\x1bOC", "left": "\x1bOD", "home": "\x1bOH", "end": "\x1bOF", "enter": "\r",
        "escape": "\x1b", "backspace": "\x7f", "page down": "\x1b[6~", "page up": "\x1b[5~", "tab": "\t", "F1": "\x1bOP", "F2": "\x1bOQ",
        "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~", "F6": "\x1b[17~", "F7": "\x1b[18~", "F8": "\x1b[19~", "F10": "\x1b[21~"}


class Emulator(pyte.Screen):
    """With what ncurses uses of xterm and pyte lacks: lines that scroll, characters that are repeated."""

    last = " "

    def draw(self, data):
        self.last = data[-1:] or self.last
        super().draw(data)

    def repeat(self, count=None):
        self.draw(self.last * (count or 1))

    def scroll_up(self, count=None):
        self.scroll(count or 1, self.delete_lines)

    def scroll_down(self, count=None):
        self.scroll(count or 1, self.insert_lines)

    def scroll(self, count, lines):
        x, y = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        lines(count)
        self.cursor.x, self.cursor.y = x, y


class Stream(pyte.ByteStream):
    csi = pyte.ByteStream.csi | {"S": "scroll_up", "T": "scroll_down", "b": "repeat"}
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}


class Screen:
    """Ended by `close`, or as a context."""

    def __init__(self, program, *arguments, columns=80, lines=24, env=None):
        self.screen = Emulator(columns, lines)
        self.stream = Stream(self.screen)
        self.lock = threading.Lock()
        self.raw = bytearray()
        self.code = None
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)  # the terminal is as it is to be before the program sees it
            full = environment() | {"TERM": "xterm-256color"} | (env or {})
            os.execvpe(str(BUILD / program), [str(BUILD / program), *map(str, arguments)],
                       {name: value for name, value in full.items() if value is not None})
        self.modes = termios.tcgetattr(self.fd)
        self.set_size(columns, lines)
        os.write(go, b".")
        os.close(ready)
        os.close(go)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self):
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            with self.lock:
                self.raw += data
                self.stream.feed(data)

    def set_size(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        with self.lock:
            self.screen.resize(lines, columns)
        self.set_size(columns, lines)

    def lines(self):
        with self.lock:
            cells = self.screen.buffer
            return ["".join(cells[y][x].data for x in range(self.screen.columns)).rstrip() for y in range(self.screen.lines)]

    def text(self):
        return "\n".join(self.lines())

    def styles(self, line):
        """(foreground, background, bold, reverse) of each cell."""
        with self.lock:
            cells = self.screen.buffer[line]
            return [(cells[x].fg, cells[x].bg, cells[x].bold, cells[x].reverse) for x in range(self.screen.columns)]

    def sent(self):
        """Bytes that the program has written."""
        with self.lock:
            return len(self.raw)

    def wait(self, *texts, limit=LIMIT):
        """Until all of these are seen; returns the screen."""
        try:
            wait_until(lambda: all(text in self.text() for text in texts), f"{texts} on the screen", limit)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from None
        return self.text()

    def wait_gone(self, text):
        wait_until(lambda: text not in self.text(), f"no {text!r} on the screen")

    def keys(self, *keys):
        for key in keys:
            os.write(self.fd, KEYS.get(key, key).encode())

    def ended(self):
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait_end(self):
        wait_until(self.ended, "the program's end")
        return self.code

    def close(self):
        if not self.ended():
            os.kill(self.pid, signal.SIGTERM)
            try:
                self.wait_end()
            except AssertionError:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                self.code = -9
                raise
        self.thread.join(1)
        os.close(self.fd)

    def hang_up(self):
        """The terminal goes away, as when a connection breaks."""
        os.kill(self.pid, signal.SIGHUP)

    def settle(self, seconds=0.3):
        """Until nothing was written for that long."""
        while True:
            before = self.sent()
            time.sleep(seconds)
            if self.sent() == before:
                return


