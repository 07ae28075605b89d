"""Made-up files of the programs whose conversations are imported, in the shape that those write."""

from __future__ import annotations

import asyncio
import json
import zipfile
from pathlib import Path

from agents import SQLiteSession

FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"

LANGGRAPH = FIXTURES / "langgraph.sqlite"
"""Written by langgraph-checkpoint-sqlite 3.1.2: two threads, a subgraph, a trimmed list."""

SESSION = "5c0ffee0-0000-4000-8000-000000000001"


def text(said):
    return {"type": "text", "text": said}


def call(name, tool="Read", **arguments):
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def result(name, said="ok"):
    return {"type": "tool_result", "tool_use_id": name, "content": said}


class ClaudeCode:
    """A session of Claude Code that is written line by line.

    Args:
        session: Its id; also the beginning of the ids of its lines.
        agent: The id of the agent whose side chain it is.
    """

    def __init__(self, session=SESSION, agent=None):
        self.lines = []
        self.session = session
        self.agent = agent
        self.last = None

    def line(self, **fields):
        uuid = f"{self.agent or self.session}-{len(self.lines)}"
        shared = {
            "parentUuid": self.last,
            "isSidechain": self.agent is not None,
            "userType": "external",
            "cwd": "/home/ada/lamp",
            "sessionId": self.session,
            "version": "2.1.12",
            "gitBranch": "main",
        }
        if self.agent is not None:
            shared["agentId"] = self.agent
        when = f"2026-05-01T{len(self.lines) // 3600 % 24:02d}:{len(self.lines) // 60 % 60:02d}"
        stamp = {"uuid": uuid, "timestamp": f"{when}:{len(self.lines) % 60:02d}.000Z"}
        self.lines.append({**shared, **stamp, **fields})
        self.last = uuid
        return uuid

    def bare(self, **fields):
        """A line without an id and without a place."""
        self.lines.append(fields)

    def user(self, content, **fields):
        return self.line(type="user", message={"role": "user", "content": content}, **fields)

    def reply(self, name, *blocks, **fields):
        message = {
            "id": name,
            "type": "message",
            "role": "assistant",
            "model": "claude-made-up",
            "content": list(blocks),
            "stop_reason": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        }
        return self.line(type="assistant", message=message, requestId=f"req_{name}", **fields)

    def queued(self, prompt, mode="prompt"):
        attachment = {"type": "queued_command", "prompt": prompt, "commandMode": mode}
        return self.line(type="attachment", attachment=attachment)

    def compacted(self, summary="This session is being continued."):
        logical, self.last = self.last, None
        self.line(
            type="system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=logical,
            compactMetadata={"trigger": "auto", "preTokens": 155025},
        )
        self.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def data(self):
        return b"".join(json.dumps(one).encode() + b"\n" for one in self.lines)

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path


def claude_code(path):
    """A session with everything that is special in one."""
    talk = ClaudeCode()
    talk.bare(type="file-history-snapshot", messageId="m", snapshot={}, isSnapshotUpdate=False)
    talk.user("Paint the lamp room green.")
    talk.reply("m1", {"type": "thinking", "thinking": "Two files.", "signature": "sig"})
    talk.reply("m1", text("I look at both."))
    first = talk.reply("m1", call("t1", file_path="/lamp/wall.py"))
    talk.user([result("t1", "grey")], parentUuid=first)
    second = talk.reply("m1", call("t2", file_path="/lamp/door.py"), parentUuid=first)
    talk.queued("And the door, please.")
    talk.user([result("t2", "brown")], parentUuid=second)
    talk.line(type="progress", data={"type": "bash_progress", "output": "50 %"})
    talk.reply("m2", text("Both are green now."))
    talk.line(type="system", subtype="turn_duration", durationMs=88947)
    talk.compacted()
    talk.reply("m3", call("t3", file_path="/lamp/wall.py"))
    talk.user([result("t3", "green")])
    talk.reply("m4", text("The wall is green."))
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    talk.user([{"type": "image", "source": image}, text("Like this?")])
    talk.reply("m5", text("Yes."))
    talk.bare(type="queue-operation", operation="enqueue", sessionId=SESSION, content="later")
    talk.bare(type="invented-next-year", sessionId=SESSION, of={"any": "shape"})
    side = ClaudeCode(agent="a1b2c3d4")
    side.user("Count the doors.")
    side.reply("s1", text("There are two."))
    talk.lines += side.lines
    return talk.write(path / f"{SESSION}.jsonl")


def codex(path):
    def line(kind, second, **payload):
        stamp = f"2026-04-02T09:00:{second:02d}.000Z"
        return json.dumps({"timestamp": stamp, "type": kind, "payload": payload})

    def message(second, role, said):
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": said}]
        return line("response_item", second, type="message", role=role, content=content)

    def shell(second, name, command):
        arguments = json.dumps({"command": ["bash", "-lc", command]})
        call = {"name": "shell", "arguments": arguments, "call_id": name}
        return line("response_item", second, type="function_call", **call)

    def output(second, name):
        output = json.dumps({"output": "import lamp\n", "metadata": {"exit_code": 0}})
        return line(
            "response_item", second, type="function_call_output", call_id=name, output=output
        )

    lines = [
        line("session_meta", 0, id="codex-1", cwd="/lamp", originator="codex_cli_rs", git={}),
        message(1, "developer", "<permissions>"),
        message(2, "user", "Light the lamp."),
        line("event_msg", 2, type="user_message", message="Light the lamp.", images=[]),
        line("turn_context", 3, cwd="/lamp", model="gpt-made-up", effort="medium"),
        line("response_item", 4, type="reasoning", summary=[], encrypted_content="gAAA"),
        shell(5, "c1", "cat lamp.py"),
        output(6, "c1"),
        line("compacted", 7, message="The lamp is to be lit.", replacement_history=None),
        shell(8, "c2", "sed -n 1,20p lamp.py && ls"),
        output(9, "c2"),
        message(10, "assistant", "It is lit."),
        line("event_msg", 11, type="token_count", info=None),
        line("response_item", 12, type="ghost_snapshot", ghost_commit={"id": "x"}),
        line("event_msg", 13, type="turn_aborted", reason="interrupted"),
    ]
    file = path / "rollout-2026-04-02T09-00-00-codex-1.jsonl"
    file.write_text("\n".join(lines) + "\n")
    return file


def chatgpt_conversation(name="gpt-1", tell="42"):
    def node(key, parent, children, role=None, content=None, **fields):
        message = None
        if role is not None:
            message = {
                "id": f"{name}-{key}",
                "author": {"role": role, "name": fields.pop("by", None), "metadata": {}},
                "create_time": 1_700_000_000.5 + len(key),
                "content": content,
                "recipient": fields.pop("to", "all"),
                "metadata": {"model_slug": "gpt-made-up"} if role == "assistant" else {},
            }
        return {"id": key, "message": message, "parent": parent, "children": children}

    def said(*parts):
        return {"content_type": "text", "parts": list(parts)}

    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-x"}
    nodes = [
        node("root", None, ["sys"]),
        node("sys", "root", ["u1"], "system", said("")),
        node("u1", "sys", ["a1", "a2"], "user", said("What is six times seven?")),
        node("a1", "u1", [], "assistant", said("43.")),
        node("a2", "u1", ["u2"], "assistant", said(f"{tell}.")),
        node(
            "u2",
            "a2",
            ["c1"],
            "user",
            {"content_type": "multimodal_text", "parts": [picture, "And this?"]},
        ),
        node(
            "c1",
            "u2",
            ["x1"],
            "assistant",
            {"content_type": "code", "language": "python", "text": "print(1)"},
            to="python",
        ),
        node(
            "x1",
            "c1",
            ["t1"],
            "tool",
            {"content_type": "execution_output", "text": "1"},
            by="python",
        ),
        node("t1", "x1", ["a3"], "assistant", {"content_type": "thoughts", "thoughts": []}),
        node("a3", "t1", [], "assistant", said("A cat.")),
    ]
    return {
        "title": "Times",
        "create_time": 1_700_000_000.0,
        "mapping": {one["id"]: one for one in nodes},
        "current_node": "a3",
        "conversation_id": name,
        "id": name,
    }


def chatgpt(path):
    file = path / "conversations.json"
    file.write_text(json.dumps([chatgpt_conversation(), chatgpt_conversation("gpt-2", "7 · 6")]))
    return file


def claude(path):
    def message(key, sender, *blocks, **fields):
        return {
            "uuid": key,
            "text": "",
            "content": list(blocks),
            "sender": sender,
            "created_at": "2026-02-03T04:05:06.789012Z",
            "updated_at": "2026-02-03T04:05:06.789012Z",
            "attachments": [],
            "files": [],
            **fields,
        }

    root = "00000000-0000-4000-8000-000000000000"
    notes = {"file_name": "notes.txt", "file_type": "txt", "extracted_content": "the keel"}
    talk = {
        "uuid": "claude-1",
        "name": "Ships",
        "account": {"uuid": "me"},
        "chat_messages": [
            message(
                "cl-1",
                "human",
                text("What is this?"),
                attachments=[notes],
                parent_message_uuid=root,
            ),
            message(
                "cl-2",
                "assistant",
                {"type": "thinking", "thinking": "Hm."},
                text("A keel."),
                {"type": "tool_use", "name": "web_search", "input": {"query": "keel"}},
                {"type": "tool_result", "name": "web_search", "content": [text("found")]},
                parent_message_uuid="cl-1",
            ),
            message("cl-3", "human", text("First wording"), parent_message_uuid="cl-2"),
            message("cl-4", "human", text("Second wording"), parent_message_uuid="cl-2"),
            message("cl-5", "assistant", text("Yes."), parent_message_uuid="cl-4"),
            message("cl-6", "human", text(""), parent_message_uuid="cl-5"),
        ],
    }
    file = path / "conversations.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("data/conversations.json", json.dumps([talk]))
    return file


def agents_sdk(path):
    file = path / "sessions.db"

    async def fill():
        for name in ("run-1", "run-2"):
            session = SQLiteSession(name, file)
            await session.add_items(
                [
                    {"role": "user", "content": f"Where is {name}?"},
                    {"type": "function_call", "call_id": "f1", "name": "find", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "f1", "output": "here"},
                    {
                        "id": "msg_1",
                        "type": "message",
                        "role": "assistant",
                        "status": "completed",
                        "content": [{"type": "output_text", "text": "Here.", "annotations": []}],
                    },
                ]
            )
            session.close()

    asyncio.run(fill())
    return file


def messages_list(path):
    file = path / "talk.json"
    listed = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "yes"},
        {"role": "assistant", "content": "What?"},
        {"role": "user", "content": "yes"},
    ]
    file.write_text(json.dumps({"conversation_id": "plain-1", "messages": listed}, indent=2))
    return file


def messages_lines(path):
    file = path / "lines.jsonl"
    lines = [
        {"role": "user", "content": "One.", "timestamp": "2026-01-02T03:04:05Z", "speaker": "Ada"},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "One.", "timestamp": "2026-01-02T03:04:06Z", "speaker": "Ada"},
        {"role": "user", "content": "One.", "timestamp": "2026-01-02T03:04:06Z", "speaker": "Ada"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))  # no end of the last line
    return file


def locomo(path):
    file = path / "locomo.json"
    file.write_bytes((FIXTURES / "locomo.json").read_bytes())
    return file


def langgraph(path):
    file = path / "threads.sqlite"
    file.write_bytes(LANGGRAPH.read_bytes())
    return file


FILES = {
    "claude-code": claude_code,
    "codex": codex,
    "chatgpt": chatgpt,
    "claude": claude,
    "agents-sdk": agents_sdk,
    "langgraph": langgraph,
    "messages": messages_list,
    "locomo": locomo,
}
"""The source of a file ─▶ what writes one into a directory."""
