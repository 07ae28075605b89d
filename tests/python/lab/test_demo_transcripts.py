"""Transcripts of every kind become the same neutral lines, and what is malformed is named."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from warmset import Memory
from warmset.cli.app import run
from warmset.errors import InvalidInputError
from warmset.lab.demo import transcripts
from warmset.messages import DIALECTS
from warmset.testing import random_history

FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"


def said(transcript):
    return [(line.message["role"], line.message["content"]) for line in transcript.lines]


def when(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp()


@pytest.fixture
def write(tmp_path):
    def write(content, name="given.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# --- messages ------------------------------------------------------------------------------------


def test_an_object_with_messages():
    read = transcripts.read(FIXTURES / "openai.json")
    given = json.loads((FIXTURES / "openai.json").read_text())["messages"]
    assert [line.message for line in read.lines] == given
    assert (read.name, read.kind, read.notes) == ("openai", "messages", ())
    assert read.lines[2].where == "message 3"
    assert {line.at for line in read.lines} == {None}


def test_a_list_of_messages(write):
    given = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    read = transcripts.read(write(json.dumps(given, indent=1)))
    assert [line.message for line in read.lines] == given


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_read_and_shown(write, capsys, dialect):
    given = random_history(4, dialect, exchanges=8).messages
    path = write("".join(f"{json.dumps(message)}\n" for message in given))
    assert [line.message for line in transcripts.read(path).lines] == given
    assert transcripts.read(write(json.dumps(given), "a.json")).lines[-1].message == given[-1]
    query = ["--query", "what of the budget?", "--budget", "2000", "--words-only"]
    for options in (query, ["--compact", "--budget", "6000"]):
        assert run(["demo", "--file", str(path), *options]) == 0
        assert capsys.readouterr().out


def test_a_message_a_line():
    read = transcripts.read(FIXTURES / "openai.jsonl")
    assert said(read) == [
        ("user", "Which bulb do we order?"),
        ("assistant", "The 250 W one."),
    ]
    assert [line.where for line in read.lines] == ["line 1", "line 3"]


def test_rows_have_times_speakers_and_sessions():
    lines = transcripts.read(FIXTURES / "rows.jsonl").lines
    start = when(2026, 5, 1, 8)
    assert [line.at for line in lines] == [start, start + 5, start + 7]
    assert [line.speaker for line in lines] == [None, "Nora", None]
    assert [line.session for line in lines] == [None, None, "morning"]
    assert lines[1].message == {"role": "user", "content": "Which bulb do we order?"}


def test_anthropic_messages_stay_what_they_are():
    read = transcripts.read(FIXTURES / "anthropic.json")
    assert [line.message["content"][0]["type"] for line in read.lines] == [
        "text",
        "tool_use",
        "tool_result",
        "text",
    ]
    assert "system prompt" in read.notes[0]


@pytest.mark.parametrize("name", ["openai.jsonl", "rows.jsonl", "openai.json", "claude_code.jsonl"])
def test_bom_crlf_and_blank_lines_change_nothing(write, name):
    plain = (FIXTURES / name).read_bytes()
    odd = b"\xef\xbb\xbf\r\n" + plain.replace(b"\n", b"\r\n\r\n") + b"  \r\n"
    assert said(transcripts.read(write(odd, name))) == said(transcripts.read(FIXTURES / name))


def test_a_call_without_a_result_at_the_end_is_left_out_and_told(write):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    rows = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call, call | {"id": "d"}]},
        {"role": "tool", "tool_call_id": "c", "content": "one of two"},
    ]
    read = transcripts.read(write("\n".join(map(json.dumps, rows))))
    assert said(read) == [("user", "go")]
    assert "2 messages" in read.notes[0]


def test_surrogates_and_four_bytes_survive(write):
    read = transcripts.read(write('{"role": "user", "content": "\\ud83d \U0001f9ed \\u0000"}'))
    assert said(read) == [("user", "\ud83d \U0001f9ed \x00")]


def test_jsonl_is_streamed(write):
    row = json.dumps({"role": "user", "content": "x" * 20_000})
    path = write("\n".join([row] * 500))
    rows = transcripts.rows.stream(path)
    tracemalloc.start()
    try:
        assert sum(1 for _ in rows) == 500
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 < path.stat().st_size


# --- Claude Code ---------------------------------------------------------------------------------


def test_claude_code_is_the_main_conversation_in_order():
    read = transcripts.read(FIXTURES / "claude_code.jsonl")
    assert read.kind == "Claude Code"
    blocks = [
        content if isinstance(content, str) else [block["type"] for block in content]
        for _, content in said(read)
    ]
    assert blocks == [
        "Paint the lamp room green",
        ["thinking", "tool_use", "tool_use"],
        ["tool_result"],
        ["tool_result"],
        ["text"],
        "Thank you",
    ]
    assert all(set(line.message) == {"role", "content"} for line in read.lines)
    assert read.lines[1].at == when(2026, 5, 1, 8, 1, 2)


def test_claude_code_keeps_a_prompt_that_was_not_asked_anew(write):
    rows = [json.loads(row) for row in (FIXTURES / "claude_code.jsonl").read_text().splitlines()]
    for row in rows:
        if row.get("uuid") == "u2":
            row["parentUuid"] = "a1"
    read = transcripts.read(write("\n".join(map(json.dumps, rows))))
    assert next(text for _, text in said(read) if isinstance(text, str)).endswith("gren")
    assert len(read.lines) == 8


def test_claude_code_can_be_kept_and_asked():
    read = transcripts.read(FIXTURES / "claude_code.jsonl")
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("x")
        conversation.append([line.message for line in read.lines])
        window = conversation.window("What colour is the lamp room?", budget=4_000)
        assert conversation.dialect == "anthropic"
        assert window.tokens <= 4_000


def test_claude_code_without_a_turn_is_refused(write):
    path = write('{"type":"summary","summary":"nothing","leafUuid":"a"}\n')
    with pytest.raises(InvalidInputError, match="no message"):
        transcripts.read(path)


# --- LoCoMo --------------------------------------------------------------------------------------


def test_locomo_turns_sessions_and_times():
    read = transcripts.read(FIXTURES / "locomo.json")
    assert (read.name, read.kind) == ("isle-1", "LoCoMo")
    assert said(read) == [
        ("user", "I painted the lamp room green."),
        ("assistant", "Show me!"),
        ("user", "Here. [photo: a green room]"),
        ("user", "The fog horn broke."),
        ("assistant", "My boat is called Petrel."),
    ]
    assert [line.session for line in read.lines] == [*["session_1"] * 3, "session_2", "session_10"]
    assert read.lines[0].at == when(2023, 5, 8, 13, 56)
    assert read.lines[4].at == when(2023, 6, 1, 0, 5)
    assert read.lines[4].speaker == "Tor"


def test_locomo_evidence_however_it_is_written():
    asked = transcripts.read(FIXTURES / "locomo.json").questions
    assert [question.evidence for question in asked] == [(0, 3), (2,), (4,)]


def test_locomo_conversations_by_name(write):
    read = transcripts.read(FIXTURES / "locomo.json", conversation="isle-2")
    assert said(read) == [("assistant", "Hi Ada")]
    assert read.lines[0].at is None
    with pytest.raises(InvalidInputError, match=r"no conversation 'x'; it has isle-1, isle-2"):
        transcripts.read(FIXTURES / "locomo.json", conversation="x")
    one = json.loads((FIXTURES / "locomo.json").read_text())[1]
    assert transcripts.read(write(json.dumps(one))).name == "isle-2"


def test_a_name_makes_no_sense_for_other_files():
    for name in ("openai.json", "openai.jsonl"):
        with pytest.raises(InvalidInputError, match="leave the name out"):
            transcripts.read(FIXTURES / name, conversation="isle-1")


# --- the sample -----------------------------------------------------------------------------------


def test_the_sample_has_its_ten_questions():
    read = transcripts.sample()
    assert (len(read.lines), len(read.questions)) == (467, 10)
    assert all(line.at is not None for line in read.lines)
    assert read.lines[read.questions[0].evidence[0]].message["content"].startswith("Agreed")
