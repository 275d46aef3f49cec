"""A person's circle with the real Claude Code: settings of their own, install, sessions, uninstall.

    AGENT_NOTIFY_BIN=PROGRAM circle.py tmux|plain CLAUDE FOLDER

`tmux`: Claude in a pane that is out of sight whenever it has something to say, passthrough off, in a terminal that is Ghostty;
the settings are where CLAUDE_CONFIG_DIR says, and nobody but us writes them. `plain`: no tmux, the settings in ~/.claude, and
Claude itself rewrites them while we are installed. FOLDER is new and holds everything. Needs a loopback interface only.
Exit status 1 if a check failed.
"""

import pathlib
import re
import socket
import sys
import traceback

from api import Api
from host import PROJECT, Host
from session import Session, TmuxSession, Trouble, wait
from terminal import NOTIFICATION

EVENTS = {"Stop", "StopFailure", "PermissionRequest", "Notification"}
# On the screen, without blanks.
DIALOGS = re.compile(r"Settings(Warning|Error)|hook(failed|error|problem)", re.IGNORECASE)
DONE, ASKS = "Waiting for input", "Needs your action"
# Claude tells of a question that nobody answered after 6 to 7 s.
REMINDER = 20


class Circle:
    def __init__(self, name, claude, folder):
        self.name, self.claude, self.folder = name, claude, folder
        self.in_tmux = name == "tmux"
        self.failures = 0
        self.api = Api()
        self.host = self.session = None

    def run(self):
        try:
            self.steps()
        except Exception as trouble:  # whatever it is, the dump below tells more
            if not isinstance(trouble, Trouble):
                traceback.print_exc(file=sys.stdout)
            self.check("the circle goes on", repr(trouble))
        finally:
            if self.session:
                self.session.close()

    def steps(self):
        reference = self.without_hooks()
        host = self.host = self.new_host("home")
        before = host.settings.read_bytes()
        self.install()

        session = self.start()
        if not self.in_tmux:
            self.let_claude_rewrite()
        session.prompt("first")
        self.check_arrival("the end of a turn", DONE)
        session.prompt("tool-second")
        self.check_arrival("a question", ASKS)
        self.check_reminder()
        session.allow("tool-second")
        self.check_arrival("the end of the turn after the answer", DONE)
        self.check("the tool has run", not (host.project / "tool-second").exists() and "no file")
        self.check_session()

        self.uninstall(before, reference)
        self.once_more()

    def new_host(self, folder):
        return Host(self.folder / folder, self.claude, self.api, elsewhere=self.in_tmux)

    def start(self):
        self.session = (TmuxSession if self.in_tmux else Session)(self.host, self.api)
        self.check_dialogs("Claude starts without a dialog")
        return self.session

    def without_hooks(self):
        """The same settings on a host without us: nothing may arrive there, or the rest proves nothing. Returns what Claude
        makes of the settings when it rewrites them."""
        self.host = self.new_host("without")
        session = self.start()
        if not self.in_tmux:
            self.let_claude_rewrite()
        session.prompt("nothing")
        arrived = session.arrived(3)
        self.check("without hooks nothing arrives", arrived and f"got {arrived}")
        self.check("without hooks the person's own hook ran", self.host.their_hook_ran() != 1 and f"{self.host.their_hook_ran()} times")
        settings = self.host.settings.read_bytes()
        if not self.in_tmux:
            self.while_it_runs(settings)
        session.leave()
        session.close()
        return settings

    def while_it_runs(self, settings):
        """Install says that running sessions pick the hooks up within seconds. When exactly, only another turn shows."""
        host, session = self.host, self.session
        host.agent_notify("install", "--claude", "--yes", "--no-test")
        for attempt in range(8):
            session.prompt(f"in-{attempt}")
            arrived = session.arrived(1)
            if arrived:
                break
        self.check("a running session picks the hooks up", not arrived and "nothing arrived")
        host.agent_notify("uninstall", "--claude", "--yes")
        for attempt in range(8):
            session.prompt(f"out-{attempt}")
            arrived = session.arrived(1)
            if not arrived:
                break
        self.check("a running session drops the hooks", arrived and f"got {arrived}")
        wrong = host.transcript()[1]
        self.check("with not one failure on the way", wrong and f"got {wrong}")
        after = host.settings.read_bytes()
        self.check("and the settings are what they were", after != settings and f"wanted {settings!r}\n    got {after!r}")

    def let_claude_rewrite(self):
        before = self.host.settings.read_bytes()
        self.session.say("/model sonnet")
        wait("Claude rewrites its settings for /model", 10, lambda: self.host.settings.read_bytes() != before)

    def install(self):
        host = self.host
        status, printed = host.agent_notify("install", "--claude", "--yes", "--no-test")
        self.check("install succeeds", status != 0 and f"status {status}: {printed}")
        hooks = host.own_hooks()
        self.check("the events of this version are registered", set(hooks) != EVENTS and f"wanted {EVENTS}, got {hooks}")
        started = host.home / ".local/state/agent-notify/versions.json"
        self.check("the version came from files, not from a start", started.exists() and f"{started} exists")

    def check_arrival(self, what, body):
        place = " · work / 0 / 0" if self.in_tmux else ""
        host = socket.gethostname().split(".")[0]
        wanted = f"\x1b]777;notify;Claude — {PROJECT};{body} · {PROJECT} · {host}{place}\x07".encode()
        arrived = self.session.arrived()
        self.check(f"{what} notifies once", arrived != [wanted] and f"wanted {[wanted]}, got {arrived}")

    def check_reminder(self):
        """What Claude says again of the same question comes to the hook, and is not shown."""
        reminder = lambda: [entry for entry in self.host.decisions() if entry[0] == "Notification"]
        try:
            entry = wait("Claude's own notification about the question", REMINDER, reminder)[0]
            self.check("the reminder is known as the same question", entry[1:] != ("suppress", "duplicate") and f"got {entry}")
        except Trouble as trouble:
            self.check("the reminder is known as the same question", str(trouble))
        arrived = self.session.arrived(1)
        self.check("and does not notify again", arrived and f"got {arrived}")

    def check_dialogs(self, name):
        found = DIALOGS.search(self.session.text())
        self.check(name, found and f"on the screen: {found[0]}")

    def check_session(self):
        """The whole session, at its end."""
        host, session = self.host, self.session
        self.check_dialogs("no dialog and no failed hook in the session")
        both = lambda: len(host.transcript()[0]) >= 2 or host.transcript()[1] or not host.own_hooks()
        wait("both ends of a turn are in the transcript", 5, both)
        answers, wrong = host.transcript()
        self.check("Claude has nothing against a hook", wrong and f"got {wrong}")
        if self.in_tmux:
            self.check("the hook answers {}", (not answers or set(answers) != {"{}\n"}) and f"got {answers}")
            # Else they would come twice where passthrough is on.
            written = session.written_by_claude()
            own = NOTIFICATION.findall(written) if b"FIRST" in written else "no record of the pane"
            self.check("Claude itself writes no notification into the pane", own and f"got {own}")
        else:
            is_sequence = all(answer.startswith('{"terminalSequence":') for answer in answers)
            self.check("the hook answers a sequence", not (answers and is_sequence) and f"got {answers}")
        session.leave()
        arrived = session.arrived(1)
        self.check("leaving notifies nobody", arrived and f"got {arrived}")
        session.close()
        count = host.their_hook_ran()
        self.check("the person's own hook ran at the end of each turn", count != 2 and f"{count} times")

    def uninstall(self, before, reference):
        host = self.host
        status, printed = host.agent_notify("uninstall", "--claude", "--yes")
        self.check("uninstall succeeds", status != 0 and f"status {status}: {printed}")
        after, wanted = host.settings.read_bytes(), before if self.in_tmux else reference
        name = "the settings are what they were" if self.in_tmux else "the settings are what Claude made of them without us"
        self.check(f"{name}, byte by byte", after != wanted and f"wanted {wanted!r}\n    got {after!r}")
        mode = host.settings.stat().st_mode & 0o777
        self.check("and their mode", mode != 0o640 and f"got {mode:o}")

    def once_more(self):
        """Claude after us."""
        host = self.host
        decisions, (answers, _) = host.decisions(), host.transcript()
        session = self.start()
        session.prompt("last")
        arrived = session.arrived(3)
        self.check("after uninstall nothing arrives", arrived and f"got {arrived}")
        ran = host.decisions() != decisions or host.transcript()[0] != answers
        self.check("and no hook of ours runs", ran and "it did")
        self.check("but the person's own does", host.their_hook_ran() != 3 and f"{host.their_hook_ran()} times")
        wrong = host.transcript()[1]
        self.check("and none failed", wrong and f"got {wrong}")
        self.check_dialogs("and the screen names none")
        session.leave()

    def check(self, what, problem=None):
        """Wrong if there is a problem to tell of."""
        self.failures += bool(problem)
        print(f"check {'FAILED' if problem else 'ok'}: {self.name}: {what}", flush=True)
        if problem:
            print(f"    {problem}")
            self.dump()

    def dump(self):
        """What is known when something is wrong."""
        if self.session:
            print(f"--- the screen\n{self.session.screen()[-4000:]}")
            print(f"--- what the terminal got last\n{bytes(self.session.terminal.recorded[-4000:])!r}")
            print(f"--- its notifications\n{self.session.terminal.notifications()}")
        if self.host:
            print(f"--- agent-notify log\n{self.host.agent_notify('log')[1]}", flush=True)


def main():
    name, claude, folder = sys.argv[1:]
    circle = Circle(name, pathlib.Path(claude), pathlib.Path(folder))
    circle.run()
    sys.exit(circle.failures > 0)


if __name__ == "__main__":
    main()
