"""Claude Code in a terminal, and the person in front of it."""

import re
import shlex
import subprocess
import time

from terminal import Terminal

# On the screen when Claude listens.
READY = "❯"


class Trouble(Exception):
    """The circle cannot go on."""


def wait(what, seconds, ready):
    end = time.monotonic() + seconds
    while not (found := ready()):
        if time.monotonic() > end:
            raise Trouble(f"not within {seconds} s: {what}")
        time.sleep(0.05)
    return found


class Session:
    """Without tmux: the terminal is Claude's own, and as far as anybody can tell, always in sight."""

    def __init__(self, host, api):
        self.host, self.api = host, api
        self.seen = 0
        self.open(["claude", "--permission-mode", "manual"])
        try:
            wait("Claude is ready", 30, lambda: READY in self.text())
        except Trouble:
            self.close()
            raise
        # It draws before it listens.
        time.sleep(1.5)

    def open(self, words):
        self.terminal = Terminal(words, self.host.environment, self.host.project)

    def close(self):
        self.terminal.close()

    def look(self):
        pass

    def look_away(self):
        pass

    def screen(self):
        return self.terminal.text()

    def text(self):
        """The screen without blanks."""
        return re.sub(r"\s", "", self.screen())

    def has_ended(self):
        return self.terminal.has_ended()

    def say(self, text):
        self.look()
        self.terminal.keys(text.encode())
        # Enter together with the text would be part of what was pasted.
        time.sleep(0.4)
        self.terminal.keys(b"\r")

    def turn(self, act, word, after_tool=False):
        """The person acts, looks away once the model was asked, and only then it answers."""
        turn = self.api.expect(word, after_tool)
        act()
        if not turn.asked.wait(20):
            raise Trouble(f"the model was not asked about {word}")
        self.look_away()
        turn.may_answer.set()

    def prompt(self, word):
        self.turn(lambda: self.say(f"please {word}"), word)

    def allow(self, word):
        """Yes, which is preselected."""
        self.look()
        self.turn(lambda: self.terminal.keys(b"\r"), word, after_tool=True)

    def arrived(self, seconds=8):
        """Notifications since the last call: waits for one, then a moment for those too many."""
        end = time.monotonic() + seconds
        while len(self.terminal.notifications()) <= self.seen and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1)
        found = self.terminal.notifications()[self.seen:]
        self.seen += len(found)
        return found

    def leave(self):
        self.say("/exit")
        wait("Claude ends after /exit", 20, self.has_ended)


class TmuxSession(Session):
    """In a tmux whose client is the terminal; looking away is another window. The session is `work`, the windows 0 and 1."""

    def open(self, words):
        folder = self.host.home / "tmp"
        self.pane_file = folder / "pane"
        self.pane_file.unlink(missing_ok=True)
        config = folder / "tmux.conf"
        config.write_text("set -g allow-passthrough off\nset -g default-shell /bin/sh\nset -g escape-time 10\n")
        self.words = ["tmux", "-S", str(folder / "tmux"), "-f", str(config)]
        # Recorded from the first byte on.
        start = f"tmux pipe-pane {shlex.quote(f'exec cat >{shlex.quote(str(self.pane_file))}')}; exec {shlex.join(words)}"
        self.terminal = Terminal([*self.words, "new-session", "-s", "work", start], self.host.environment, self.host.project)
        wait("tmux knows its terminal", 10, lambda: "ghostty" in self.tmux("display-message", "-p", "-t", "work", "#{client_termtype}"))
        self.pane = self.tmux("display-message", "-p", "-t", "work:0", "#{pane_id}")
        self.tmux("new-window", "-d", "-t", "work", "exec sleep 1000")

    def tmux(self, *words):
        done = subprocess.run([*self.words, *words], env=self.host.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def close(self):
        self.tmux("kill-server")
        super().close()

    def look(self):
        self.tmux("select-window", "-t", "work:0")

    def look_away(self):
        self.tmux("select-window", "-t", "work:1")

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", self.pane)

    def has_ended(self):
        return self.pane not in self.tmux("list-panes", "-a", "-F", "#{pane_id}").split()

    def written_by_claude(self):
        """Every byte, before tmux takes it apart."""
        return self.pane_file.read_bytes()
