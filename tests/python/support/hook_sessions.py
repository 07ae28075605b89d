"""Sessions of agents, as the documentation of their hosts has them: transcripts, and inputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from warmset import Memory
from warmset.serve.hooks import entry
from warmset.serve.hooks.config import Config
from warmset.serve.hooks.installing import prepare

HOSTS = ("claude-code", "codex")
TIME = "2026-11-28T10:00:00.000Z"


class Agent:
    """An agent of one host, in one session, that runs its hooks.

    Args:
        place: A directory of its own.
        host: Its host.
        session: Its session.
        store: The store's directory; one in `place` if not given.
    """

    def __init__(self, place, host="claude-code", session="0b5c1d2e-5e1f-4a57", store=None):
        self.host, self.session = host, session
        self.cwd = place / "project"
        self.cwd.mkdir(exist_ok=True)
        self.transcript = place / f"{session}.jsonl"
        self.places = prepare(store or place / "store", Config(idle=30.0))
        self._number = 0

    def told(self, event, **more):
        """Return what the host sends for an event."""
        common = {
            "session_id": self.session,
            "transcript_path": str(self.transcript) if self.transcript.exists() else None,
            "cwd": str(self.cwd),
            "hook_event_name": event,
        }
        if self.host == "codex":
            common["model"] = "gpt-5.4-codex"
            if event not in ("SessionStart", "SessionEnd"):
                common["turn_id"] = f"turn-{self._number}"
            if event not in ("PreCompact", "PostCompact"):
                common["permission_mode"] = "default"
        usual = {
            "SessionStart": {"source": "startup"},
            "UserPromptSubmit": {"prompt": "Go on."},
            "PreCompact": {"trigger": "auto"},
            "PostCompact": {"trigger": "auto"},
            "Stop": {"stop_hook_active": False},
            "SessionEnd": {"reason": "other"},
        }[event]
        if self.host == "claude-code" and event == "PreCompact":
            usual["custom_instructions"] = ""
        return {**common, **usual, **more}

    def hook(self, event, **more):
        """Run the hook of an event as the host does; return what it prints."""
        done = self.run(event, json.dumps(self.told(event, **more)).encode())
        assert done.returncode == 0, done
        assert done.stderr == b"", done
        return done.stdout.decode()

    def context(self, event, **more):
        """Run a hook; return what it puts into the context."""
        out = self.hook(event, **more)
        if not out:
            return ""
        made = json.loads(out)
        assert list(made) == ["hookSpecificOutput"]
        assert made["hookSpecificOutput"]["hookEventName"] == event
        assert list(made["hookSpecificOutput"]) == ["hookEventName", "additionalContext"]
        return made["hookSpecificOutput"]["additionalContext"]

    def run(self, event, raw, *, alone=True, **options):
        """Run the hook of an event with any input; without a new helper, unless one lives."""
        if alone:
            Path(self.places.started).touch()
        command = [sys.executable, "-I", "-S", entry.__file__, self.host, event]
        return subprocess.run(  # noqa: S603, PLW1510 - our own hook, whose exit code is looked at
            [*command, self.places.memory], input=raw, capture_output=True, timeout=60, **options
        )

    # --- what the transcript gets ------------------------------------------------------------

    def line(self, made):
        """Add a line to the transcript."""
        self._number += 1
        with self.transcript.open("a") as file:
            file.write(json.dumps(made) + "\n")

    def asks(self, text):
        """Have the user say something."""
        if self.host == "codex":
            self._item({"type": "message", "role": "user", "content": _texts("input", text)})
        else:
            self._message("user", text)

    def says(self, text, *, edits=(), used=1_000, plan=()):
        """Have the agent say something, edit files, set its plan."""
        if self.host == "codex":
            self._item({"type": "message", "role": "assistant", "content": _texts("output", text)})
            for path in edits:
                patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch"
                self._item({"type": "custom_tool_call", "name": "apply_patch", "input": patch})
            if plan:
                steps = [{"step": step, "status": status} for step, status in plan]
                given = json.dumps({"plan": steps})
                self._item({"type": "function_call", "name": "update_plan", "arguments": given})
            last = {"input_tokens": used - 10, "output_tokens": 10, "total_tokens": used}
            info = {"last_token_usage": last, "model_context_window": 200_000}
            payload = {"type": "token_count", "info": info}
            self.line({"timestamp": TIME, "type": "event_msg", "payload": payload})
            return
        content = [{"type": "text", "text": text}]
        content += [
            {"type": "tool_use", "id": f"t{n}", "name": "Edit", "input": {"file_path": path}}
            for n, path in enumerate(edits)
        ]
        if plan:
            todos = [{"content": step, "status": status} for step, status in plan]
            content.append(
                {"type": "tool_use", "id": "p", "name": "TodoWrite", "input": {"todos": todos}}
            )
        usage = {"input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 10}
        usage["cache_read_input_tokens"] = used - 13
        self._message("assistant", content, model="claude-opus-4-8", usage=usage)

    def compacts(self, summary):
        """Have the host write down a compaction."""
        if self.host == "codex":
            self.line({"timestamp": TIME, "type": "compacted", "payload": {"message": summary}})
            return
        meta = {"trigger": "auto", "preTokens": 150_000}
        self.line(
            {"type": "system", "subtype": "compact_boundary", "uuid": f"b{self._number}"}
            | {"isSidechain": False, "timestamp": TIME, "compactMetadata": meta}
        )
        self._message("user", summary, line={"isCompactSummary": True})

    def _message(self, role, content, *, line=None, **more):
        self.line(
            {"type": role, "uuid": f"{self.session}-{self._number}", "isSidechain": False}
            | {"timestamp": TIME, "sessionId": self.session, "cwd": str(self.cwd)}
            | {"message": {"role": role, "content": content, **more}, **(line or {})}
        )

    def _item(self, payload):
        self.line({"timestamp": TIME, "type": "response_item", "payload": payload})

    # --- what is kept ----------------------------------------------------------------------------

    def memory(self):
        """Open the store."""
        return Memory.open(self.places.memory, embedder="lexical")


def _texts(kind, text):
    return [{"type": f"{kind}_text", "text": text}]


def at_work(agent):
    """Have an agent and its user do some work."""
    agent.asks("Move the billing service to PostgreSQL 18; staging keeps port 5544.")
    agent.says(
        "I decided to use logical replication. Created migrations/004.sql. Next I will update "
        "docker-compose.yml.",
        edits=["/srv/billing/migrations/004.sql"],
        plan=[("Write the migration", "completed"), ("Update docker-compose.yml", "pending")],
    )
    agent.asks("Please always use snake_case for the names of tables in the billing schema.")
    agent.says(
        "The quota of tenant Zephyr is set to 7,413 requests. The tests fail because docker is "
        "not installed."
    )


def environ_without_home(place):
    """Return an environment whose home directory is a new one."""
    home = place / "home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name[:5] not in ("CODEX", "CLAUD")}
    return {**kept, "HOME": str(home)}
