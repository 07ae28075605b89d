"""Sessions that hooks and imports read: one conversation, each line of it once."""

from __future__ import annotations

import json

import pytest
from hook_sessions import HOSTS, TIME, Agent, at_work

from warmset import Memory, validate
from warmset.errors import Conflict, RedactionError
from warmset.maintenance import import_transcripts
from warmset.serve.hooks import keeping
from warmset.serve.hooks.jobs import Job
from warmset.serve.hooks.keeping import Keeping, lines_of
from warmset.serve.hooks.work import Worker


def keep(agent, memory, kind="store"):
    """Do what the helper does when a session stops."""
    fields = {"host": agent.host, "session": agent.session, "transcript": str(agent.transcript)}
    Worker(agent.places, memory).do(Job("", kind, fields))


def texts(memory, agent):
    return [said(turn) for turn in memory.conversation(agent.session)]


def said(turn):
    content = turn.get("content", "")
    blocks = [{"text": content}] if isinstance(content, str) else content
    return "".join(block.get("text", "") for block in blocks)[:11]


OLD = "2025-03-04T10:00:00Z"
FIRST = ["Move the bi", "I decided t", "Please alwa", "The quota o"]


def begun(tmp_path, host):
    agent = Agent(tmp_path, host)
    if host == "codex":
        meta = {"id": agent.session, "cwd": str(agent.cwd), "originator": "codex_cli_rs"}
        agent.line({"timestamp": TIME, "type": "session_meta", "payload": meta})
    at_work(agent)
    return agent


@pytest.mark.parametrize("host", HOSTS)
def test_an_import_knows_what_a_hook_stored(tmp_path, host):
    agent = begun(tmp_path, host)
    with agent.memory() as memory:
        keep(agent, memory)
        report = import_transcripts(memory, agent.transcript)
        assert (report.messages, report.kept.total()) == (0, 0)
        assert memory.conversations() == [agent.session]
        assert texts(memory, agent) == FIRST
        agent.asks("And the second thing?")
        report = import_transcripts(memory, agent.transcript)
        assert report.messages == 1
        keep(agent, memory)
        assert texts(memory, agent) == [*FIRST, "And the sec"]


@pytest.mark.parametrize("host", HOSTS)
def test_a_hook_knows_what_an_import_stored(tmp_path, host):
    agent = begun(tmp_path, host)
    with agent.memory() as memory:
        import_transcripts(memory, agent.transcript)
        before = memory.conversation(agent.session).ids
        keep(agent, memory)
        assert memory.conversation(agent.session).ids == before
        assert memory.memories(k=20) == []
        agent.asks("And the second thing?")
        agent.says("That is done, too.")
        keep(agent, memory)
        assert texts(memory, agent)[-2:] == ["And the sec", "That is don"]
        assert len(memory.conversation(agent.session)) == len(before) + 2
        report = import_transcripts(memory, agent.transcript)
        assert report.new == 0
        assert memory.conversations() == [agent.session]


def in_pieces(agent):
    agent.asks("Look at it, please.")
    for n, block in enumerate(
        [{"type": "thinking", "thinking": "So.", "signature": "s"}, {"type": "text", "text": "Ah."}]
    ):
        line = {"type": "assistant", "uuid": f"r{n}", "sessionId": agent.session, "timestamp": TIME}
        message = {"id": "m1", "role": "assistant", "content": [block]}
        agent.line({**line, "message": message})
    agent.asks("Thanks.")


def test_the_pieces_of_a_reply_are_known_one_by_one(tmp_path):
    agent = Agent(tmp_path)
    in_pieces(agent)
    with agent.memory() as memory:
        import_transcripts(memory, agent.transcript)
        keep(agent, memory)
        assert texts(memory, agent) == ["Look at it,", "Ah.", "Thanks."]
    other = Agent(tmp_path, store=tmp_path / "other")
    with other.memory() as memory:
        keep(other, memory)
        assert import_transcripts(memory, other.transcript).messages == 0
        assert texts(memory, other) == ["Look at it,", "Ah.", "Thanks."]


def claude_calls(agent, n):
    agent.says("I look.", edits=[f"/{name}" for name in range(n)])


def claude_answers(agent, n):
    for call in range(n):
        content = [{"type": "tool_result", "tool_use_id": f"t{call}", "content": "x"}]
        agent.line(
            {"type": "user", "uuid": f"r{call}", "sessionId": agent.session, "timestamp": TIME}
            | {"message": {"role": "user", "content": content}}
        )


def codex_item(agent, kind, call):
    payload = {"type": kind, "call_id": f"t{call}", "name": "f", "arguments": "{}", "output": "x"}
    agent.line({"timestamp": TIME, "type": "response_item", "payload": payload})


@pytest.mark.parametrize("host", HOSTS)
def test_the_result_of_a_call_that_a_hook_left_out_is_left_out(tmp_path, host):
    agent = begun(tmp_path, host)
    with agent.memory() as memory:
        if host == "codex":
            codex_item(agent, "function_call", 0)
        else:
            claude_calls(agent, 1)
        keep(agent, memory)  # the tool runs
        before = len(memory.conversation(agent.session))
        if host == "codex":
            codex_item(agent, "function_call_output", 0)
            codex_item(agent, "function_call", 1)
            codex_item(agent, "function_call_output", 1)
        else:
            claude_answers(agent, 1)
            content = [{"type": "tool_use", "id": "t9", "name": "Read", "input": {}}]
            agent.line(
                {"type": "assistant", "uuid": "c9", "sessionId": agent.session, "timestamp": TIME}
                | {"message": {"id": "m9", "role": "assistant", "content": content}}
            )
        agent.asks("Well?")
        report = import_transcripts(memory, agent.transcript)
        assert report.messages == 3  # the call that no hook saw, its result, and the prompt
        messages = memory.conversation(agent.session).messages()[before:]
        assert len(messages) == 3
        validate(messages, dialect=memory.conversation(agent.session).dialect)


@pytest.mark.parametrize("first", ["hook", "import"])
def test_neither_brings_back_what_was_erased(tmp_path, first):
    agent = begun(tmp_path, "claude-code")
    with agent.memory() as memory:
        if first == "hook":
            keep(agent, memory)
        else:
            import_transcripts(memory, agent.transcript)
        memory.erase(ids=[memory.conversation(agent.session).ids[0]])
        keep(agent, memory)
        import_transcripts(memory, agent.transcript)
        assert texts(memory, agent)[0] != FIRST[0]
        memory.erase(conversation=agent.session)
        agent.asks("I would rather like tea.")
        for kind in ("store", "compact"):
            keep(agent, memory, kind)
        assert import_transcripts(memory, agent.transcript).new == 0
        assert memory.conversations() == []
        assert memory.memories(k=20) == []
        assert memory.episodes() == []


def test_what_another_process_writes_meanwhile_is_seen_before_a_batch_is_stored(
    tmp_path, monkeypatch
):
    agent = Agent(tmp_path)
    in_pieces(agent)
    with agent.memory() as memory:
        engine = memory.__warmset_engine__()
        bring, times = type(engine).bring, []

        def after_an_import(this, rows, *, expect=()):
            times.append(len(rows))
            if len(times) == 1:
                import_transcripts(memory, agent.transcript)
            return bring(this, rows, expect=expect)

        monkeypatch.setattr(type(engine), "bring", after_an_import)
        mine = Keeping(memory, agent.host, agent.session)
        mine.add(list(lines_of(agent.transcript.read_bytes())))
        assert len(times) == 2  # the second one is the import's
        assert texts(memory, agent) == ["Look at it,", "Ah.", "Thanks."]

        def never(_this, _rows, *, expect=()):
            del expect
            times.append(0)
            raise Conflict(0, (), "tail", 1)

        monkeypatch.setattr(type(engine), "bring", never)
        monkeypatch.setattr(keeping, "_TRIES", 3)
        agent.asks("Another one?")
        times.clear()
        with pytest.raises(Conflict):
            mine.add(list(lines_of(agent.transcript.read_bytes())))
        assert len(times) == 4


def test_a_transcript_that_was_written_anew_is_read_anew(tmp_path):
    agent = begun(tmp_path, "claude-code")
    with agent.memory() as memory:
        keep(agent, memory)
        lines = agent.transcript.read_text().splitlines(keepends=True)
        agent.transcript.write_text("".join(lines[:2]))
        agent._number = 90
        agent.asks("Shorter now?")
        keep(agent, memory)
        assert texts(memory, agent) == [*FIRST, "Shorter now"]


def test_a_session_that_goes_on_in_another_file_is_read_from_its_beginning(tmp_path):
    agent = begun(tmp_path, "claude-code")
    with agent.memory() as memory:
        keep(agent, memory)
        before = agent.transcript.read_text()
        agent.transcript = tmp_path / "another.jsonl"
        agent.asks("What is new?")
        agent.transcript.write_text(agent.transcript.read_text() + before)
        keep(agent, memory)
        assert texts(memory, agent) == [*FIRST, "What is new"]


def test_a_long_session_is_stored_in_batches_and_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "LINES", 3)
    agent = Agent(tmp_path)
    for n in range(10):
        agent.asks(f"Question {n}?")
    raw = agent.transcript.read_bytes()
    with agent.memory() as memory:
        keep(agent, memory)
        assert texts(memory, agent) == [f"Question {n}?" for n in range(10)]
        Keeping(memory, agent.host, agent.session).add(list(lines_of(raw + raw)))
        assert len(memory.conversation(agent.session)) == 10


@pytest.mark.parametrize("host", HOSTS)
def test_lines_that_end_as_on_windows_are_known_on_both_sides(tmp_path, host):
    agent = begun(tmp_path, host)
    agent.transcript.write_bytes(agent.transcript.read_bytes().replace(b"\n", b"\r\n"))
    with agent.memory() as memory:
        keep(agent, memory)
        assert texts(memory, agent) == FIRST
        assert import_transcripts(memory, agent.transcript).messages == 0
        assert texts(memory, agent) == FIRST


def test_what_stands_beside_a_turn(tmp_path):
    agent = Agent(tmp_path)
    line = {"type": "user", "sessionId": agent.session}
    for uuid, at in (
        ("u0", "2025-03-04T10:00:00Z"),
        ("", "tomorrow"),
        ("\ud800", None),
        ("x" * 2_000, 7),
    ):
        message = {"role": "user", "content": f"Said {at}."}
        agent.line({**line, "uuid": uuid, "timestamp": at, "message": message})
    side = {**line, "uuid": "s", "isSidechain": True, "message": {"role": "user", "content": "No."}}
    agent.line(side)
    with agent.memory() as memory:
        keep(agent, memory)
        conversation = memory.conversation(agent.session)
        assert len(conversation) == 4
        assert conversation.dialect == "anthropic"
        assert conversation.fetch(conversation.ids[0]).at.isoformat()[:10] == OLD[:10]
        report = import_transcripts(memory, agent.transcript)
        assert (report.messages, report.side_chains) == (1, 1)
        assert len(conversation) == 4


def test_a_redaction_hook_sees_each_turn_before_it_is_stored(tmp_path):
    agent = Agent(tmp_path)
    agent.asks("My number is 7413, <private>and my name is Ada</private>.")
    with Memory.open(
        agent.places.memory, embedder="lexical", redact=lambda text: text.replace("7413", "…")
    ) as memory:
        keep(agent, memory)
        [turn] = memory.conversation(agent.session).messages()
        assert turn["content"] == "My number is …, [private]."
        assert memory.stats()["redacted"]["messages"] == 1

    def broken(_text):
        raise ValueError

    agent.asks("Once more.")
    with Memory.open(agent.places.memory, embedder="lexical", redact=broken) as memory:
        with pytest.raises(RedactionError):
            keep(agent, memory)
        assert len(memory.conversation(agent.session)) == 1
    with agent.memory() as memory:
        keep(agent, memory)  # nothing was noted of what failed
        assert len(memory.conversation(agent.session)) == 2


def test_lines_that_say_nothing_are_none():
    raw = b'{"type": "user"}\r\n\n  \n[1]\nno json\n{"isSidechain": true, "uuid": "s"}\n'
    [one] = lines_of(raw)
    assert one.turn is None
    assert one.uid.startswith("sha256:")
    [named] = lines_of(json.dumps({"uuid": "u", "type": "system"}).encode())
    assert (named.uid, named.turn) == ("u", None)
