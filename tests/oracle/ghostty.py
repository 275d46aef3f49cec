#!/usr/bin/env python3
"""Ghostty's own terminal engine as a judge (libghostty-vt in the PyPI wheel pyghostty 0.1.3; test time only).

    ghostty.py < CASES

CASES is a JSON list of {"name", "sequence" (hex), "title", "body", "protocol"}. For osc777 the engine must report exactly one
notification with that title and body; for osc9 one with an empty title and that body; for osc99, which it parses and ignores,
none; a bell never. Prints one line for each case that fails; exit status 1 if there is one.
"""
import json
import sys

from pyghostty._ffi import ffi, lib


def events(data):
    """What the engine reports for a byte stream: ("notify", title, body) and ("bell",)."""
    seen, handle = [], ffi.new("GhosttyTerminal *")
    if lib.ghostty_terminal_new(ffi.NULL, handle, 80, 24) != 0:
        raise RuntimeError("ghostty_terminal_new failed")
    terminal = handle[0]

    def text(string):
        return bytes(ffi.buffer(string.ptr, string.len)).decode("utf-8", "replace") if string.len else ""

    @ffi.callback("void(GhosttyTerminal, void*, const GhosttyTerminalDesktopNotification*)")
    def notify(_terminal, _user, notification):
        seen.append(("notify", text(notification.title), text(notification.body)))

    @ffi.callback("void(GhosttyTerminal, void*)")
    def bell(_terminal, _user):
        seen.append(("bell",))

    lib.ghostty_terminal_set(terminal, lib.GHOSTTY_TERMINAL_OPT_DESKTOP_NOTIFICATION, ffi.cast("void*", notify))
    lib.ghostty_terminal_set(terminal, lib.GHOSTTY_TERMINAL_OPT_BELL, ffi.cast("void*", bell))
    lib.ghostty_terminal_vt_write(terminal, ffi.from_buffer(data), len(data))
    lib.ghostty_terminal_free(terminal)
    return seen


def wanted(case):
    if case["protocol"] == "osc99":
        return []
    return [("notify", "" if case["protocol"] == "osc9" else case["title"], case["body"])]


def main():
    failed = 0
    cases = json.load(sys.stdin)
    for case in cases:
        got = events(bytes.fromhex(case["sequence"]))
        if got != wanted(case):
            failed += 1
            print("%s: wanted %r, got %r from %s" % (case["name"], wanted(case), got, case["sequence"]))
    print("%d cases, %d failed" % (len(cases), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
