# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mxc on a pseudo-terminal: what a person types, and what they see."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402

PATIENCE = patience.seconds(60)  # only a prompt that hangs needs them
CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>78]|[\x07\x0f]")


class Terminal:
    """One session. `home` keeps its history."""

    def __init__(self, mxc, home, args=(), term="xterm", **more):
        environment = dict(os.environ, HOME=home, TERM=term, COLUMNS="200", **more)
        environment.pop("XDG_STATE_HOME", None)
        self.raw = self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(mxc, [mxc, *args], environment)
        self.edits = term != "dumb"
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def pump(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            got = b""
        if not got:
            return None
        self.raw += got.decode("utf-8", "replace")
        self.seen = CODES.sub("", self.raw).replace("\r", "")
        return True

    def send(self, text):
        os.write(self.fd, text.encode())

    def enter(self, text):
        """A line as typed, ended by Enter."""
        self.send(text + "\r")

    def paste(self, text):
        self.send("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")

    def interrupt(self):
        self.send("\x03")

    def expect(self, pattern):
        """Waits until something is seen that was not expected before; returns the match."""
        end = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.seen)
            if found:
                self.forget(found.end())
                return found
            if time.monotonic() > end or self.pump(1) is None:
                ended = os.waitpid(self.pid, os.WNOHANG)
                sys.exit(f"not seen: {pattern!r}\nseen instead:\n{self.seen}\nraw: {self.raw[-2000:]!r}\nended: {ended}")

    def forget(self, count):
        """Takes what was seen off; what follows is looked at next."""
        rest = self.seen[count:]
        self.raw = self.seen = rest

    def settle(self):
        """Everything up to now is of no interest; on a terminal with editing, until keys are read one by one."""
        end = time.monotonic() + PATIENCE
        while self.edits and termios.tcgetattr(self.fd)[3] & termios.ICANON and time.monotonic() < end:
            self.pump(0.05)
        while self.pump(0.05):
            pass
        self.raw = self.seen = ""

    def leave(self):
        """Ctrl-D; the exit code. Without editing the line must be empty."""
        self.settle()
        self.send("\x04")
        return self.wait()

    def wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.pump(0.1) is None:
                break
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        sys.exit("it did not leave")
