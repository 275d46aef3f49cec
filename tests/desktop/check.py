"""Compares one run inside kitty with what must come of it: check.py FOLDER. Exit status 1 if anything differs.

Each call of agent-notify must answer its agent and bring exactly one notification; nothing else may reach the desktop.
"""

import json
import pathlib
import re
import socket
import sys

HOST = re.escape(socket.gethostname().split(".")[0])
# Name of the call, what it prints, title, body (a pattern). The place is session / window / pane; there is none outside tmux.
EXPECTED = [
    ("send", "", "plain: 标题", r"first[;,] 正文"),
    ("codex", "", "Codex — proj", rf"Waiting for input · proj · {HOST}\S*"),
    ("claude-tmux", "{}\n", "Claude — proj", rf"Waiting for input · proj · {HOST}\S* · work / 0 / 0"),
    ("cursor-tmux", "{}\n", "Cursor — build", rf"Waiting for input · proj · {HOST}\S* · work / 1 / 0"),
]

folder = pathlib.Path(sys.argv[1])
lines = (folder / "notifications.jsonl").read_text(encoding="utf-8").splitlines()
left = [call for call in map(json.loads, lines) if "summary" in call]
failures = 0


def check(name, problem):
    global failures
    if problem:
        failures += 1
        print(f"check FAILED: kitty: {name}\n    {problem}")
    else:
        print(f"check ok: kitty: {name}")


for name, stdout, title, body in EXPECTED:
    found = {part: (folder / f"{name}.{part}").read_text(encoding="utf-8") for part in ("stdout", "stderr", "status")}
    wanted = {"stdout": stdout, "stderr": "", "status": "0\n"}
    check(f"{name} answers as its agent expects", found != wanted and f"wanted {wanted}, got {found}")

    mine = [call for call in left if call["summary"] == title]
    left = [call for call in left if call["summary"] != title]
    problem = None
    if len(mine) != 1:
        problem = f"wanted one notification with the title {title!r}, got {len(mine)}"
    elif not re.fullmatch(body, mine[0]["body"]):
        problem = f"wanted a body like {body!r}, got {mine[0]['body']!r}"
    check(f"{name} arrives once, as {title!r}", problem)

check("nothing else arrives", left and f"unexpected: {left}")
sys.exit(failures > 0)
