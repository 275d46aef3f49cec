"""A person's home on a host: settings of their own, a project, Claude Code; and what can be read there afterwards."""

import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = "shop"
# Accepted as it is: nobody checks it.
KEY = "a-key-for-nobody-0123456789-0123456789"


class Host:
    """Nothing of this process's environment but the system's programs is seen there."""

    def __init__(self, folder, claude, api, elsewhere):
        """`elsewhere`: the settings are not in ~/.claude but where CLAUDE_CONFIG_DIR says."""
        self.home = folder
        self.project = folder / "src" / PROJECT
        self.settings_folder = folder / "elsewhere" / "claude" if elsewhere else folder / ".claude"
        self.settings = self.settings_folder / "settings.json"
        for path in (self.project, self.settings_folder, folder / "bin", folder / "tmp"):
            path.mkdir(parents=True)
        # As npm links it: the version stands in the package around the program.
        (folder / "bin/claude").symlink_to(claude)
        shutil.copyfile(HERE / "settings.json", self.settings)
        self.settings.chmod(0o640)
        answered = {
            "hasCompletedOnboarding": True, "lastOnboardingVersion": "9.9.9", "theme": "dark", "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }
        (self.settings_folder if elsewhere else folder).joinpath(".claude.json").write_text(json.dumps(answered), encoding="utf-8")
        self.environment = {
            "PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "TMPDIR": f"{folder}/tmp", "LANG": "C.UTF-8",
            "SHELL": "/bin/sh", "USER": "person", "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        }
        if elsewhere:
            self.environment["CLAUDE_CONFIG_DIR"] = str(self.settings_folder)

    def agent_notify(self, *words):
        """Status and everything printed."""
        done = subprocess.run([os.environ["AGENT_NOTIFY_BIN"], *words], env=self.environment, cwd=self.project, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
        return done.returncode, done.stdout

    def own_hooks(self):
        """The command of each of our entries in the settings, by event."""
        groups = json.loads(self.settings.read_bytes())["hooks"]
        commands = [(event, hook["command"]) for event, list_ in groups.items() for group in list_ for hook in group["hooks"]]
        return {event: command for event, command in commands if "agent-notify" in command}

    def decisions(self):
        """What the hook noted of each event: (event, decision, reason)."""
        entries = [json.loads(line) for line in self.agent_notify("log", "--json", "-n", "1000")[1].splitlines()]
        return [(entry.get("event"), entry.get("decision"), entry.get("reason")) for entry in entries]

    def their_hook_ran(self):
        """How often the person's own hook has run."""
        file = self.home / "their-hook"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def transcript(self):
        """What Claude noted of its hooks: (the answers of ours, as they were printed; what went wrong with any)."""
        answers, wrong = [], []
        for file in sorted(self.settings_folder.glob("projects/*/*.jsonl")):
            for entry in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
                noted = entry.get("attachment") or {}
                kind = noted.get("type", "")
                if kind == "hook_success" and not noted["stderr"] and noted["exitCode"] == 0:
                    answers += [noted["stdout"]] if "agent-notify" in noted["command"] else []
                elif kind.startswith("hook_"):
                    wrong.append(noted)
                wrong += entry.get("hookErrors") or []
        return answers, wrong
