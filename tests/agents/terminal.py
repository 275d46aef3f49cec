"""Plays Ghostty on a pty: keeps every byte, answers what programs ask a terminal, types. Draws nothing."""

import fcntl
import os
import pty
import re
import signal
import struct
import termios
import threading
import time

ROWS, COLUMNS = 42, 130
ENVIRONMENT = {"TERM": "xterm-256color", "TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.3.1", "COLORTERM": "truecolor"}
ANSWERS = [
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), b"\x1b[>1;10;0c"),
    (re.compile(rb"\x1b\[>0?q"), b"\x1bP>|ghostty 1.3.1\x1b\\"),
    (re.compile(rb"\x1b\]10;\?"), b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (re.compile(rb"\x1b\]11;\?"), b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
]
# Every form of a notification; also one that is still wrapped for a multiplexer. Not the progress bar, OSC 9;4.
NOTIFICATION = re.compile(rb"(?:\x1b+P[a-z;]*)?\x1b+\](?:777;|99;|9;(?!4;)).*?(?:\x07|\x1b\\)", re.DOTALL)


class Terminal:
    def __init__(self, words, environment, folder):
        self.recorded = bytearray()
        self.status = None
        self.child, self.master = pty.fork()
        if self.child == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(folder)
            os.execvpe(words[0], words, {**environment, **ENVIRONMENT})
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        seen = 0
        while True:
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                return
            if not piece:
                return
            self.recorded += piece
            for question, reply in ANSWERS:
                # It may be split over two reads.
                for found in question.finditer(self.recorded, max(0, seen - 8)):
                    if found.end() > seen:
                        os.write(self.master, reply)
            seen = len(self.recorded)

    def keys(self, keys):
        os.write(self.master, keys)

    def notifications(self):
        """All so far, as they came."""
        return NOTIFICATION.findall(bytes(self.recorded))

    def text(self):
        """What was printed, without sequences and blanks: words can be found in it, but not where they stand."""
        plain = re.sub(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P].*?(?:\x07|\x1b\\)|.)", b"", bytes(self.recorded), flags=re.DOTALL)
        return re.sub(r"\s", "", plain.decode("utf-8", "replace"))

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.child, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def close(self):
        for number in (signal.SIGHUP, signal.SIGKILL):
            for _ in range(20):
                if self.has_ended():
                    return
                if _ == 0:
                    os.kill(self.child, number)
                time.sleep(0.1)
