"""Files with what no program writes: damaged ones, and fields of other types or lengths."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from transcript_files import (
    FILES,
    LANGGRAPH,
    SESSION,
    ClaudeCode,
    chatgpt_conversation,
    messages_lines,
)

from warmset import Memory
from warmset.errors import InvalidInputError
from warmset.maintenance import import_transcripts

UNREADABLE = Path("/proc/self/mem")
"""A regular file that can be opened, and whose first byte cannot be read."""

ODD = [None, 7, 1e308, True, [7], [[]], {"a": {}}, "", "\ud800", "a\0b", "x" * 70_000]


def write(file, lines):
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def names(store):
    with Memory.open(store, embedder="lexical") as memory:
        return memory.conversations()


def fields(value, at=()):
    """Yield the place of every field of a value."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for name, one in children:
        yield (*at, name)
        if isinstance(one, (dict, list)):
            yield from fields(one, (*at, name))


def changed(value, at, odd):
    """Return a copy in which one field is another one."""
    made = json.loads(json.dumps(value))
    inner = made
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = odd
    return made


@pytest.mark.parametrize("source", ["claude-code", "codex", "messages"])
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_a_line_with_any_field_is_stored_once(source, odd, files, store):
    write_files = messages_lines if source == "messages" else FILES[source]
    lines = [json.loads(line) for line in write_files(files).read_text().splitlines()]
    places = [(line, at) for line in lines for at in fields(line)]
    types = [(line, at) for line, at in places if at[-1] == "type"]
    some = places[:: max(1, len(places) // 100)]
    made = [changed(line, at, odd) for line, at in types + some]
    write(files / "odd.jsonl", [lines[0], *made])
    report = import_transcripts(store, files / "odd.jsonl", source=source)
    assert report.new > 0
    assert report.failed == {}
    assert import_transcripts(store, files / "odd.jsonl", source=source).new == 0
    assert names(store)


@pytest.mark.parametrize("source", ["chatgpt", "claude", "locomo"])
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_an_export_with_any_field_is_stored_once(source, odd, files, store):
    path = FILES[source](files)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            [name] = [one for one in archive.namelist() if one.endswith("conversations.json")]
            value = json.loads(archive.read(name))
    else:
        value = json.loads(path.read_text())
    first = value[0]
    places = list(fields(first))
    made = [changed(first, at, odd) for at in places[:: max(1, len(places) // 30)]]
    file = files / "odd.json"
    file.write_text(json.dumps([first, *made]))
    report = import_transcripts(store, file, source=source)
    assert report.new > 0
    assert import_transcripts(store, file, source=source).new == 0


def test_names_that_a_store_does_not_take_are_their_digests(files, store):
    long, agent = "s" * 30_000, "\ud800"
    talk, side = ClaudeCode(long), ClaudeCode(long, agent=agent)
    talk.user("Hello")
    side.user("An agent says it")
    side.line(type="system", subtype="\udc00" + "k" * 70_000)
    file = write(files / "long.jsonl", talk.lines + side.lines)
    report = import_transcripts(store, file)
    assert (report.messages, report.side_chains) == (2, 1)
    [kind] = report.kept
    assert kind == "system/?" + "k" * 120
    session, inner = sorted(names(store))
    assert session.startswith("sha256:")
    assert inner.startswith(f"{session}/sha256:")
    assert import_transcripts(store, file).new == 0
    with Memory.open(store, embedder="lexical") as memory:
        memory.erase(conversation=session)
        assert memory.conversations() == []
    assert import_transcripts(store, file).new == 0


def test_a_session_of_an_agent_that_a_store_does_not_take_is_its_digest(files, store):
    meta = {"id": "deep", "parent_thread_id": "p" * 70_000, "session_id": "s" * 70_000}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    lines = [("session_meta", meta), ("response_item", said)]
    file = write(files / "r.jsonl", [{"type": kind, "payload": one} for kind, one in lines])
    assert import_transcripts(store, file).new == 2
    [name] = names(store)
    parent, _, agent = name.partition("/")
    with Memory.open(store, embedder="lexical") as memory:
        [turn] = memory.conversation(name).messages()
    assert (agent, turn.meta["side_chain_of"]) == ("deep", parent)
    assert turn.meta["side_chain_in"].startswith("sha256:")
    assert import_transcripts(store, file).new == 0


@pytest.mark.parametrize("length", [1_024, 1_025])
def test_the_longest_name(length, files, store):
    talk = ClaudeCode("n" * length)
    talk.user("Hello")
    import_transcripts(store, write(files / "s.jsonl", talk.lines))
    assert (names(store) == ["n" * length]) == (length == 1_024)


def test_a_part_of_a_type_that_is_none_in_a_checkpoint(files, store):
    path = files / "checkpoints.db"
    message = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "HumanMessage"],
        "kwargs": {"id": "u", "content": [{"type": ["text"]}, {"type": "text", "text": "Hi"}]},
    }
    with sqlite3.connect(path) as made:
        made.execute(
            "CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint)"
        )
        value = json.dumps({"ts": "2026-01-01T00:00:00Z", "channel_values": {"m": [message]}})
        made.execute("INSERT INTO checkpoints VALUES ('t', '', '1', 'json', ?)", (value,))
        made.execute(
            "INSERT INTO checkpoints VALUES ('t', '', '2', 'other', CAST(X'ff41' AS TEXT))"
        )
    made.close()
    report = import_transcripts(store, path)
    assert report.kept == {"verbatim": 1, "checkpoint": 1}
    with Memory.open(store, embedder="lexical") as memory:
        [said] = memory.conversation("t")
        assert said["content"] == [{"type": "text", "text": "Hi"}]
        assert memory.conversation("t").entries()[-1].payload == b"\xffA"


def damaged_names(path):
    """Copy the checkpoints with names of threads that are no text."""
    with sqlite3.connect(path) as made, sqlite3.connect(LANGGRAPH) as source:
        source.backup(made)
        made.execute("UPDATE checkpoints SET thread_id = CAST(X'ff41' AS TEXT)")
    made.close()
    source.close()


def damaged_schema(path):
    damaged_names(path)
    path.write_bytes(
        path.read_bytes().replace(
            b"CREATE TABLE checkpoints", b"CREATE \xff\xff\xff\xff\xff checkpoints", 1
        )
    )


def encrypted(path):
    zipped(path)
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))


def packed_otherwise(path):
    zipped(path)
    data = bytearray(path.read_bytes())
    data[8] = data[data.index(b"PK\x01\x02") + 10] = 98
    path.write_bytes(bytes(data))


def zipped(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([chatgpt_conversation()]))


def other_bytes(path):
    zipped(path)
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(bytes(data))


def cut_off(path):
    zipped(path)
    path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize(
    ("name", "damage", "why"),
    [
        ("a.db", damaged_names, "SQLite cannot read it"),
        ("a.db", damaged_schema, "SQLite cannot read it"),
        ("a.zip", encrypted, "archive cannot be read"),
        ("a.zip", packed_otherwise, "archive cannot be read"),
        ("a.zip", other_bytes, "archive cannot be read"),
        ("a.zip", cut_off, "archive cannot be read"),
    ],
)
def test_a_damaged_file_fails_alone(name, damage, why, files, store):
    damage(files / name)
    talk = ClaudeCode()
    talk.user("Hello")
    talk.write(files / "z.jsonl")
    report = import_transcripts(store, files)
    assert list(report.failed) == [str(files / name)]
    assert why in report.failed[str(files / name)]
    assert SESSION in names(store)
    with pytest.raises(InvalidInputError, match=why):
        import_transcripts(store, files / name)


@pytest.mark.skipif(not UNREADABLE.exists(), reason="needs Linux")
@pytest.mark.parametrize("source", [None, "claude-code"])
def test_a_file_that_cannot_be_read_fails_alone(source, files, store):
    (files / "a.jsonl").symlink_to(UNREADABLE)
    talk = ClaudeCode()
    talk.user("Hello")
    talk.write(files / "z.jsonl")
    report = import_transcripts(store, files, source=source)
    assert report.failed == {str(files / "a.jsonl"): "Input/output error"}
    assert report.messages == 1
    with pytest.raises(InvalidInputError, match=r"a\.jsonl: Input/output error"):
        import_transcripts(store, files / "a.jsonl", source=source)


def test_an_archive_that_is_no_export_is_of_no_known_source(files, store):
    with zipfile.ZipFile(files / "a.zip", "w") as archive:
        archive.writestr("other.json", "[]")
    assert import_transcripts(store, files).skipped == 1
    with pytest.raises(InvalidInputError, match="no known source"):
        import_transcripts(store, files / "a.zip")


def test_an_empty_name_is_not_the_working_directory(files, store):
    talk = ClaudeCode()
    talk.user("Hello")
    talk.write(files / "s.jsonl")
    with pytest.raises(InvalidInputError, match="a name is empty"):
        import_transcripts(store, [files, ""])
    line = [sys.executable, "-m", "warmset", "import", "", "--memory", str(store)]
    done = subprocess.run(line, cwd=files, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 1
    assert "a name is empty" in done.stderr
    assert not store.exists()
    assert import_transcripts(store, files).messages == 1
    assert names(store) == [SESSION]
