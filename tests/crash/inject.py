#!/usr/bin/env python3
"""Breaks one command of agent-notify at every system call that touches a home folder, recovers, and looks at what is left.

    inject.py --binary FILE [--runs N] [--expect-violations] [--keep] install|uninstall|rollback

What must hold after a fault (SIGKILL, EIO, ENOSPC) at any such call and `rollback --recover`:
  - all files outside the state folder are as before the command, or all are as after it: content, mode, owner, links;
  - no temporary file and no half-written transaction is left anywhere;
  - a command that reported success has done its work;
  - the command works when it is run again.

The truth about before and after is taken from a run without a fault, so nothing here knows what is installed. Every worker
has one folder for all its runs, since files hold absolute paths.

--expect-violations leaves the recovery out: then there must be violations, or this check could not find any.
Needs strace. Exit status: 0 as expected, 1 not, 2 nothing could be checked.

Not covered: power failures (the page cache survives a kill), half of a write (strace kills before a call begins).
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections import Counter, namedtuple
from pathlib import Path

COMMANDS = {
    "install": ["install", "--all", "--yes", "--no-test"],
    "uninstall": ["uninstall", "--yes"],
    "rollback": ["rollback", "--yes"],
}
RECOVER = ["rollback", "--recover"]
# What a command has to find done before it makes sense.
NEEDS_INSTALLATION = {"uninstall", "rollback"}

WRITING = """open openat openat2 creat write writev pwrite64 pwritev ftruncate truncate fallocate copy_file_range sendfile
    fsync fdatasync sync_file_range syncfs rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat mkdir mkdirat
    rmdir chmod fchmod fchmodat fchmodat2 chown fchown fchownat lchown setxattr lsetxattr fsetxattr fremovexattr""".split()
# A kill there is a kill before the next writing call; an error there is one that has to be noticed.
READING = """read pread64 readv stat lstat fstat statx newfstatat getdents64 readlink readlinkat flock flistxattr fgetxattr
    access faccessat faccessat2""".split()
# Errors by fault, and the calls where the kernel can give them.
ERRORS = {"EIO": WRITING + READING, "ENOSPC": [call for call in WRITING if not re.search("unlink|rmdir|ch(mod|own)", call)]}
PATIENCE = 60

Call = namedtuple("Call", "name number")
Verdict = namedtuple("Verdict", "call fault fired wrong")


def spread(items, most):
    """At most that many, evenly taken."""
    return [items[index * len(items) // most] for index in range(most)] if 0 < most < len(items) else items


def copy(source, target):
    """With hard links among themselves, attributes and owners."""
    subprocess.run(["cp", "--archive", "--", source, target], check=True)


class Worker:
    """One folder, in which the same start is made again and again."""

    def __init__(self, folder, options):
        self.folder, self.options = Path(folder), options
        self.root, self.start = self.folder / "root", self.folder / "start"
        self.home, self.trace = self.root / "home", self.folder / "trace"
        self.environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb", "TMPDIR": str(self.folder)}
        self.make_home()
        if options.command in NEEDS_INSTALLATION:
            self.must("install", COMMANDS["install"])
        copy(self.root, self.start)
        self.before = self.look()
        self.calls = self.list_calls()
        self.after = self.look()

    def make_home(self):
        """Claude's file behind a link and private, Cursor's a hard link with hooks of somebody else, Codex and Pi present."""
        def write(name, text, mode=0o644):
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(mode)
        foreign = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "make test"}]}]}, "model": "opus"}
        write("dotfiles/claude/settings.json", json.dumps(foreign, indent=4) + "\n", 0o600)
        (self.home / ".claude").mkdir()
        (self.home / ".claude/settings.json").symlink_to("../dotfiles/claude/settings.json")
        write(".cursor/hooks.json", '{"version":1,"hooks":{"stop":[{"command":"./mine.sh"}]}}', 0o640)
        # A hard link is written in place, where a fault can leave a part of each content.
        (self.home / "dotfiles/hooks.json").hardlink_to(self.home / ".cursor/hooks.json")
        write(".codex/config.toml", 'model = "o"  # mine\n', 0o600)
        (self.home / ".pi/agent").mkdir(parents=True)
        write(".tmux.conf", "set -g mouse on\n")

    def run(self, arguments, prefix=()):
        """(exit status, output); 128 + N after signal N, 124 after a hang."""
        with subprocess.Popen([*prefix, str(self.options.binary), *arguments], env=self.environment, cwd=self.root,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True) as process:
            try:
                output = process.communicate(timeout=PATIENCE)[0]
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, status = process.communicate()[0], 124
        return (128 - status if status < 0 else status), output.decode("utf-8", "replace").strip()

    def must(self, what, arguments, prefix=()):
        status, output = self.run(arguments, prefix)
        if status != 0:
            give_up(f"{what} fails without a fault ({status}): {output[-600:]}")

    def restart(self):
        shutil.rmtree(self.root)
        copy(self.start, self.root)

    def strace(self, *options):
        names = ",".join("?" + name for name in WRITING + READING)
        # No --seccomp-bpf: with it, strace 6.1 injects errors but no signals, and says nothing.
        return ["strace", "-f", "-y", "-o", str(self.trace), "-e", "trace=" + names, *options]

    def list_calls(self):
        """The calls that touch the folder, of the command's own process: what strace counts is per process."""
        self.must(self.options.command, COMMANDS[self.options.command], self.strace())
        calls, counts, own, others = [], Counter(), None, set()
        for line in self.trace.read_text(errors="replace").splitlines():
            process, _, rest = line.partition(" ")
            own = own or process
            name = re.match(r"\s*(\w+)\(", rest)
            if not name:
                continue
            if process != own:
                others.add(process)
                continue
            counts[name[1]] += 1
            if str(self.root) in rest:
                calls.append(Call(name[1], counts[name[1]]))
        if others:
            print(f"note: {len(others)} other processes are not broken into")
        if not any(call.name in WRITING for call in calls):
            give_up("the command changes nothing in the folder")
        return calls

    def look(self):
        """Everything outside our own state, as comparable facts."""
        facts = {}
        for folder, folders, files in os.walk(self.home):
            if "agent-notify" in folders and Path(folder).name == "state":
                folders.remove("agent-notify")
            for name in folders + files:
                path = Path(folder, name)
                status = path.lstat()
                fact = (stat.filemode(status.st_mode), status.st_uid, status.st_gid, status.st_nlink if path.is_file() else None)
                if path.is_symlink():
                    fact += (os.readlink(path),)
                elif path.is_file():
                    fact += (hashlib.sha256(path.read_bytes()).hexdigest(),)
                facts[str(path.relative_to(self.home))] = fact
        # These appear with the first command that needs a state, whatever comes of it.
        return {name: fact for name, fact in facts.items() if name not in (".local", ".local/state")}

    def leftovers(self):
        return [str(path.relative_to(self.root)) for path in self.root.rglob("*")
                if ".an-" in path.name or path.name.endswith(".tmp")]

    def differences(self, wanted):
        found = self.look()
        return sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))

    def attempt(self, call, fault):
        self.restart()
        effect = "signal=KILL" if fault == "KILL" else "error=" + fault
        command = COMMANDS[self.options.command]
        status, said = self.run(command, self.strace("-e", f"inject={call.name}:{effect}:when={call.number}"))
        fired = ("killed by SIGKILL" if fault == "KILL" else "(INJECTED)") in self.trace.read_text(errors="replace")
        return Verdict(call, fault, fired, self.judge(status, said))

    def judge(self, status, said):
        """What is wrong; None if nothing is."""
        if status == 124:
            return "it hangs"
        if not self.options.expect_violations:
            recovered, output = self.run(RECOVER)
            if recovered != 0:
                return f"recovery ends with {recovered}: {output[-300:]}"
        old, new = self.differences(self.before), self.differences(self.after)
        if old and new:
            return f"a mixture (exit status {status}): not old {old}, not new {new}: {said[-200:]}"
        if status == 0 and new:
            return f"success was reported, yet these are not new: {new}"
        left = self.leftovers()
        if left:
            return f"left behind: {left}"
        if not self.options.expect_violations and new:
            again, output = self.run(COMMANDS[self.options.command])
            if again != 0 or self.differences(self.after):
                return f"run again it ends with {again}, not new: {self.differences(self.after)}: {output[-200:]}"
        return None


def give_up(why):
    print(f"nothing could be checked: {why}", file=sys.stderr, flush=True)
    sys.exit(2)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=lambda text: Path(text).resolve())
    parser.add_argument("--runs", type=int, default=0, help="at most so many per fault, evenly spread; 0 = every call")
    parser.add_argument("--expect-violations", action="store_true", help="without recovery")
    parser.add_argument("--keep", action="store_true", help="leave the folder of the first violation")
    parser.add_argument("command", choices=COMMANDS)
    return parser.parse_args()


def main():
    chosen = options()
    # In memory where there is such a place: no plug is pulled here, and thousands of syncs take their time on a disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    place = tempfile.mkdtemp(prefix="an-crash-", dir=memory)
    violations = []
    try:
        count = os.cpu_count() or 1
        workers = queue.Queue()
        for number in range(count):
            os.mkdir(os.path.join(place, str(number)))
            workers.put(Worker(os.path.join(place, str(number)), chosen))
        first = workers.queue[0]
        calls = first.calls

        def attempt(job):
            worker = workers.get()
            try:
                verdict = worker.attempt(*job)
                if verdict.wrong and chosen.keep and not violations:
                    kept = tempfile.mkdtemp(prefix="an-violation-")
                    copy(worker.root, os.path.join(kept, "root"))
                    print(f"kept: {kept}")
                return verdict
            finally:
                workers.put(worker)

        print(f"{chosen.command}: {len(first.differences(first.before))} paths differ between before and after; "
              + ", ".join(f"{name} {number}" for name, number in Counter(call.name for call in calls).most_common()), flush=True)
        fired = 0
        for fault in ["KILL"] if chosen.expect_violations else ["KILL", "EIO", "ENOSPC"]:
            eligible = [call for call in calls if call.name in (WRITING if fault == "KILL" else ERRORS[fault])]
            jobs = [(call, fault) for call in spread(eligible, chosen.runs)]
            with concurrent.futures.ThreadPoolExecutor(count) as pool:
                verdicts = list(pool.map(attempt, jobs))
            wrong = [verdict for verdict in verdicts if verdict.wrong]
            violations += wrong
            fired += sum(verdict.fired for verdict in verdicts)
            print(f"{fault}: {len(jobs)} of {len(eligible)} calls, {sum(v.fired for v in verdicts)} faults, {len(wrong)} violations", flush=True)
            if not chosen.expect_violations:
                for verdict in wrong[:20]:
                    print(f"  {verdict.fault} at {verdict.call.name} number {verdict.call.number}: {verdict.wrong}")
        if fired == 0:
            give_up("no fault was injected")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if chosen.expect_violations and not violations:
        print("without recovery there is no violation: this check is too weak")
    return bool(violations) != chosen.expect_violations


if __name__ == "__main__":
    sys.exit(main())
