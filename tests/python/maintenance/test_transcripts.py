"""Every source: what of it is stored and how, and that nothing is stored twice."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from transcript_files import (
    FILES,
    FIXTURES,
    SESSION,
    ClaudeCode,
    call,
    chatgpt_conversation,
    messages_lines,
    result,
    text,
)

from warmset import Memory
from warmset.errors import InvalidInputError, RedactionError
from warmset.maintenance import SOURCES, import_transcripts, redactor, sniff
from warmset.messages import validate
from warmset.native import ColdStore, Log


def memory_of(store):
    return Memory.open(store, embedder="lexical")


def talks(store):
    with memory_of(store) as memory:
        return {
            name: [dict(turn) for turn in memory.conversation(name)]
            for name in memory.conversations()
        }


def beside(store, name):
    """What is stored as it stands, by its kind."""
    with memory_of(store) as memory:
        entries = memory.conversation(name).entries(limit=None)
    return {entry.columns["kind"]: entry.payload for entry in entries if entry.turn is None}


@pytest.mark.parametrize("source", FILES)
def test_a_source_is_known_by_its_content_and_imported_once(source, files, store):
    made = FILES[source](files)
    file = made.rename(made.with_name("anything"))
    assert sniff(file) == source
    dry = import_transcripts(store, file, dry_run=True)
    assert not store.exists()
    first = import_transcripts(store, file)
    assert dry.as_json() == {**first.as_json(), "dry": True}
    assert first.files == {source: 1}
    assert first.messages > 1
    assert not first.failed
    before = talks(store)
    assert sum(map(len, before.values())) <= first.messages  # others are on branches
    again = import_transcripts(store, file)
    assert (again.new, again.known, again.erased) == (0, first.new, 0)
    assert again.left_out == first.left_out
    assert import_transcripts(store, file, dry_run=True).new == 0
    assert talks(store) == before
    with memory_of(store) as memory:
        for name, listed in before.items():
            dialect = memory.conversation(name).dialect
            assert validate(listed, dialect=dialect) == []


@pytest.mark.parametrize("source", FILES)
def test_an_open_memory_finds_what_was_imported(source, files):
    file = FILES[source](files)
    with Memory.open(None, embedder="lexical", tenant="ada") as memory:
        first = import_transcripts(memory, file)
        assert sum(len(memory.conversation(name)) for name in memory.conversations()) > 1
        assert import_transcripts(memory, file).new == 0
        assert first.new > 1
        with pytest.raises(InvalidInputError, match="has its own"):
            import_transcripts(memory, file, tenant="bob")


def test_a_session_of_claude_code(files, store):
    file = FILES["claude-code"](files)
    report = import_transcripts(store, file)
    listed = talks(store)
    assert list(listed) == [SESSION, f"{SESSION}/a1b2c3d4"]
    assert (report.side_chains, report.compactions, report.calls, report.rereads) == (1, 1, 3, 1)
    assert report.left_out == {"file-history-snapshot": 1, "progress": 1}
    assert [one["content"] for one in listed[f"{SESSION}/a1b2c3d4"]] == [
        "Count the doors.",
        [text("There are two.")],
    ]
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    assert listed[SESSION] == [
        {"role": "user", "content": "Paint the lamp room green."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two files.", "signature": "sig"},
                text("I look at both."),
                call("t1", file_path="/lamp/wall.py"),
                call("t2", file_path="/lamp/door.py"),
            ],
        },
        {"role": "user", "content": [result("t1", "grey")]},
        {"role": "user", "content": [result("t2", "brown")]},
        {"role": "user", "content": "And the door, please."},
        {"role": "assistant", "content": [text("Both are green now.")]},
        {"role": "user", "content": "This session is being continued."},
        {"role": "assistant", "content": [call("t3", file_path="/lamp/wall.py")]},
        {"role": "user", "content": [result("t3", "green")]},
        {"role": "assistant", "content": [text("The wall is green.")]},
        {"role": "user", "content": [{"type": "image", "source": image}, text("Like this?")]},
        {"role": "assistant", "content": [text("Yes.")]},
    ]
    kept = beside(store, SESSION)
    lines = {one["type"]: one for one in map(json.loads, file.read_text().splitlines())}
    for kind in ("queue-operation", "invented-next-year"):
        assert json.loads(kept[kind]) == lines[kind]
    assert kept.keys() == {
        "queue-operation",
        "invented-next-year",
        "system/turn_duration",
        "system/compact_boundary",
    }
    with memory_of(store) as memory:
        turns = memory.conversation(SESSION).messages()
        assert turns[0].at.timestamp() == 1777593601.0
        assert turns[1].meta == {"source": "claude-code", "model": "claude-made-up"}
        assert turns[4].meta == {"source": "claude-code", "queued": True}
        assert turns[6].meta == {"source": "claude-code", "compact_summary": True}
        [side, _] = memory.conversation(f"{SESSION}/a1b2c3d4").messages()
        assert side.meta == {"source": "claude-code", "side_chain_of": SESSION}


def test_a_rollout_of_codex(files, store):
    report = import_transcripts(store, FILES["codex"](files))
    [(name, listed)] = talks(store).items()
    assert name == "codex-1"
    assert [one.get("role", one["type"]) for one in listed] == [
        "developer",
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
        "function_call",
        "function_call_output",
        "assistant",
    ]
    assert (report.compactions, report.calls, report.rereads) == (1, 2, 1)
    assert report.left_out == {"event_msg/user_message": 1, "event_msg/token_count": 1}
    assert beside(store, name).keys() == {
        "session_meta",
        "turn_context",
        "compacted",
        "response_item/ghost_snapshot",
        "event_msg/turn_aborted",
    }
    with memory_of(store) as memory:
        assert memory.conversation(name).dialect == "responses"
        assert memory.conversation(name).messages()[-1].meta == {
            "source": "codex",
            "model": "gpt-made-up",
        }


def test_a_rollout_of_an_older_codex_and_of_an_agent_of_codex(files, store):
    content = [{"type": "input_text", "text": "Hello"}]
    old = [
        {"id": "old-1", "timestamp": "2025-05-01T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": content},
    ]
    (files / "a.jsonl").write_text("\n".join(map(json.dumps, old)))
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "codex-1", "depth": 1}}}
    new = [
        {"type": "session_meta", "payload": {"id": "codex-2", "source": spawn}},
        {"type": "response_item", "payload": old[2]},
    ]
    (files / "b.jsonl").write_text("\n".join(map(json.dumps, new)))
    report = import_transcripts(store, files)
    assert report.files == {"codex": 2}
    assert talks(store) == {"codex-1/codex-2": [old[2]], "old-1": [old[2]]}
    assert report.side_chains == 1


def test_an_export_of_chatgpt_with_its_branches(files, store):
    report = import_transcripts(store, FILES["chatgpt"](files))
    listed = talks(store)
    assert list(listed) == ["gpt-1", "gpt-2"]
    assert [one["content"] for one in listed["gpt-1"]] == [
        "What is six times seven?",
        "42.",
        "[image: file-service://file-x]\nAnd this?",
        "[to python]\nprint(1)",
        "[python]\n1",
        "A cat.",
    ]
    with memory_of(store) as memory:
        found = memory.search("43", where=None)
        conversation = memory.conversation("gpt-1")
        assert all("43" not in one["content"] for one in conversation)
        first = conversation.ids[0]
        assert conversation.fetch(first + 1)["content"] == "43."
        assert not [hit for hit in found if hit.id == first + 1]  # an abandoned branch
        assert conversation.messages()[0].at.timestamp() == 1_700_000_002.5
    kept = beside(store, "gpt-1")
    assert kept.keys() == {"verbatim", "assistant/thoughts"}
    assert json.loads(kept["verbatim"])["content"]["content_type"] == "multimodal_text"
    assert report.left_out == {"system/text": 2}


def test_a_branch_that_grew_since_the_last_export(files, store):
    file = files / "conversations.json"
    talk = chatgpt_conversation()
    file.write_text(json.dumps([talk]))
    import_transcripts(store, file)
    mapping = talk["mapping"]
    said = {"content_type": "text", "parts": ["Really 43?"]}
    message = {"id": "gpt-1-u9", "author": {"role": "user"}, "content": said}
    mapping["u9"] = {"id": "u9", "message": message, "parent": "a1", "children": []}
    mapping["a1"]["children"] = ["u9"]
    again = {**mapping["a3"]["message"], "id": "gpt-1-a4"}
    mapping["a4"] = {"id": "a4", "message": again, "parent": "t1", "children": []}
    mapping["t1"]["children"] += ["a4"]
    talk["current_node"] = "a4"
    file.write_text(json.dumps([talk]))
    report = import_transcripts(store, file)
    assert report.messages == 2
    assert report.unplaced == 1  # it follows an answer on a branch that is not the path
    [listed] = talks(store).values()
    assert [one["content"] for one in listed][-2:] == ["[python]\n1", "A cat."]


def test_an_export_of_claude_in_its_archive(files, store):
    report = import_transcripts(store, FILES["claude"](files))
    [(name, listed)] = talks(store).items()
    assert name == "claude-1"
    assert [(one["role"], one["content"]) for one in listed] == [
        ("user", "What is this?\n\n[attachment: notes.txt]\nthe keel"),
        ("assistant", 'A keel.\n\n[web_search: {"query": "keel"}]\n\n[result: found]'),
        ("user", "Second wording"),
        ("assistant", "Yes."),
    ]
    assert report.kept == {"verbatim": 2, "chat_message": 1}
    with memory_of(store) as memory:
        conversation = memory.conversation(name)
        ids = [id_ for id_ in range(1, 99) if has(conversation, id_)]
        assert "First wording" in [conversation.fetch(id_)["content"] for id_ in ids]


def has(conversation, id_):
    try:
        conversation.fetch(id_)
    except LookupError:
        return False
    return True


def test_an_output_of_codex_that_is_an_object_is_its_text_or_as_json(files, store):
    file = FILES["codex"](files)
    lines = []
    for line in file.read_text().splitlines():
        one = json.loads(line)
        if one["payload"].get("type") == "function_call_output":
            odd = one["payload"]["call_id"] == "c1"
            one["payload"]["output"] = {"état": 1} if odd else {"content": "réglé", "success": True}
        lines.append(json.dumps(one))
    file.write_text("\n".join(lines) + "\n")
    import_transcripts(store, file)
    [(_, listed)] = talks(store).items()
    found = [one["output"] for one in listed if one["type"] == "function_call_output"]
    assert sorted(found) == ["réglé", '{"état": 1}']


def test_sessions_of_the_agents_sdk(files, store):
    file = FILES["agents-sdk"](files)
    import_transcripts(store, file)
    listed = talks(store)
    assert list(listed) == ["run-1", "run-2"]
    assert [one.get("type", "message") for one in listed["run-2"]] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    with sqlite3.connect(file) as connection:
        connection.execute(
            "INSERT INTO agent_messages (session_id, message_data) "
            "VALUES ('run-1', ?), ('run-1', ?)",
            (json.dumps({"role": "user", "content": "Thanks."}), "not JSON"),
        )
    connection.close()
    report = import_transcripts(store, file)
    assert (report.messages, report.kept) == (1, {"row": 1})
    assert talks(store)["run-1"][-1] == {"role": "user", "content": "Thanks."}


def test_checkpoints_of_langgraph(files, store):
    report = import_transcripts(store, FILES["langgraph"](files))
    listed = talks(store)
    assert list(listed) == ["other", "trip", "trip/sub:1"]
    assert listed["other"][0]["content"] == "Hello æøå 😀"
    assert [(one["role"], one["content"]) for one in listed["trip"]] == [
        ("user", "What is the weather in Oslo?"),
        ("assistant", None),
        ("tool", "rain, 4 degrees"),
        ("assistant", [text("It rains.")]),
        ("user", "And in Bergen?"),
        ("assistant", "More rain."),
    ]
    [asked] = listed["trip"][1]["tool_calls"]
    assert asked["function"] == {"name": "weather", "arguments": '{"city": "Oslo"}'}
    assert json.loads(beside(store, "trip")["verbatim"])["id"] == "b1"
    assert report.side_chains == 1


def test_messages_without_ids_are_known_by_what_they_say_and_how_often(files, store):
    file = messages_lines(files)
    assert import_transcripts(store, file).messages == 4
    assert import_transcripts(store, file).new == 0
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[1:], lines[0], lines[0]]))  # the first ones are gone
    assert import_transcripts(store, file).messages == 1  # "One." of Ada at 03:04:05, once more
    with memory_of(store) as memory:
        [first, *_] = memory.conversation("lines").messages()
    assert (first.speaker, first.at.timestamp()) == ("Ada", 1767323045.0)


def test_names_of_conversations_of_messages(files, store):
    messages_lines(files)
    import_transcripts(store, files / "lines.jsonl", conversation="ada")
    (files / "deep").mkdir()
    (files / "deep" / "lines.jsonl").write_text('{"role": "user", "content": "Deep."}\n')
    many = [{"messages": [{"role": "user", "content": str(n)}]} for n in range(3)]
    (files / "many.jsonl").write_text("\n".join(map(json.dumps, many)))
    import_transcripts(store, files, tenant="bob")
    assert list(talks(store)) == ["ada"]
    with Memory.open(store, embedder="lexical", tenant="bob") as memory:
        assert sorted(memory.conversations()) == ["deep/lines", "lines", "many", "many#2", "many#3"]


def test_the_other_fixtures_are_known():
    found = {path.name: sniff(path) for path in FIXTURES.iterdir()}
    assert found == {
        "anthropic.json": "messages",
        "claude_code.jsonl": "claude-code",
        "langgraph.sqlite": "langgraph",
        "locomo.json": "locomo",
        "openai.json": "messages",
        "openai.jsonl": "messages",
        "rows.jsonl": None,
    }
    assert set(FILES) | {"warmset"} == set(SOURCES)


# --- what files may be like -----------------------------------------------------------------------


def test_garbage_is_stored_as_it_stands_and_counted(files, store):
    talk = ClaudeCode()
    talk.user("Hello")
    talk.reply("m1", text("Hi"))
    garbage = [b"not json {{", b"\xff\xfe\x00latin \xe9", b"[" * 100_000, b"null", b'"text"', b"12"]
    file = files / "s.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + talk.data() + b"\r\n\n" + b"\n".join(garbage) + b"\n")
    report = import_transcripts(store, file)
    assert (report.messages, report.unreadable) == (2, 6)
    assert import_transcripts(store, file).new == 0
    with ColdStore.open(store, mode="read") as cold:
        entries = Log(cold).entries(["default", SESSION], limit=None)
    assert {entry.payload for entry in entries if entry.turn is None} == set(garbage)


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_that_is_too_long_is_left_out_and_counted(end, files, store, monkeypatch):
    monkeypatch.setattr("warmset.maintenance.transcripts.lines.LONGEST", 2_000)
    talk = ClaudeCode()
    talk.user("x" * 2_000)
    talk.user("short")
    talk.user("y" * 5_000)
    file = files / "s.jsonl"
    file.write_bytes(talk.data().rstrip(b"\n") + end)
    report = import_transcripts(store, file)
    assert (report.messages, report.too_long, report.torn) == (1, 1 + bool(end), not end)
    assert [one["content"] for [one] in talks(store).values()] == ["short"]


def test_a_line_of_exactly_the_longest_length_is_stored(files, store, monkeypatch):
    talk = ClaudeCode()
    talk.user("short")
    talk.user("x" * 2_000)
    longest = max(map(len, talk.data().splitlines())) + 1
    file = talk.write(files / "s.jsonl")
    monkeypatch.setattr("warmset.maintenance.transcripts.lines.LONGEST", longest)
    assert import_transcripts(store, file, dry_run=True).messages == 2
    monkeypatch.setattr("warmset.maintenance.transcripts.lines.LONGEST", longest - 2)
    assert import_transcripts(store, file, dry_run=True).messages == 1


def test_a_torn_last_line_waits_for_its_rest(files, store):
    talk = ClaudeCode()
    talk.user("Hello")
    talk.reply("m1", text("Hi"))
    data = talk.data()
    file = files / "s.jsonl"
    file.write_bytes(data[:-30])
    report = import_transcripts(store, file)
    assert (report.messages, report.unreadable, report.torn) == (1, 0, 1)
    file.write_bytes(data[:-1])  # whole, but for the end of the line
    report = import_transcripts(store, file)
    assert (report.messages, report.known, report.torn) == (1, 1, 0)
    file.write_bytes(data)
    assert import_transcripts(store, file).new == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_an_encoding_that_no_source_writes_is_refused(encoding, files, store):
    talk = ClaudeCode()
    talk.user("Hello")
    file = files / "s.jsonl"
    file.write_text(talk.data().decode(), encoding=encoding)
    with pytest.raises(InvalidInputError, match="UTF-16" if encoding == "utf-16" else "no known"):
        import_transcripts(store, file)
    assert not store.exists()


def test_a_directory_with_links_and_other_files(files, store):
    FILES["claude-code"](files)
    below = files / "project" / "deep"
    below.mkdir(parents=True)
    FILES["codex"](below)
    (below / "again.jsonl").symlink_to(files / f"{SESSION}.jsonl")
    (below / "loop").symlink_to(files)
    (below / "nowhere.jsonl").symlink_to(files / "nowhere")
    (below / "other.json").write_text('{"some": "settings"}')
    (below / "empty.jsonl").write_text("")
    (below / "wide.jsonl").write_bytes("{}\n".encode("utf-16"))
    (below / "notes.txt").write_text('{"role": "user", "content": "no"}')
    os.mkfifo(below / "pipe.jsonl")
    (below / "cut.json").write_text(json.dumps([chatgpt_conversation()])[:-1])
    report = import_transcripts(store, files)
    assert report.files == {"claude-code": 1, "codex": 1, "chatgpt": 1}
    assert report.skipped == 1
    assert {Path(path).name for path in report.failed} == {"wide.jsonl", "cut.json"}
    assert "gpt-1" in talks(store)
    again = import_transcripts(store, [files, files / "project", below / "again.jsonl"])
    assert (again.new, again.files) == (0, report.files)


@pytest.mark.parametrize("made", ["none", "pipe", "other", "empty"])
def test_a_named_file_that_is_no_source_makes_no_store(made, files, store):
    file = files / "x.jsonl"
    if made == "pipe":
        os.mkfifo(file)
    elif made != "none":
        file.write_text('{"some": "settings"}' if made == "other" else "")
    with pytest.raises(InvalidInputError, match=r"x\.jsonl"):
        import_transcripts(store, file)
    assert not store.exists()
    with pytest.raises(InvalidInputError, match="at least one"):
        import_transcripts(store, [])
    with pytest.raises(InvalidInputError, match="expected one of"):
        import_transcripts(store, files, source="word")


def test_a_file_that_is_named_and_cut_short_fails_and_what_came_before_stands(files, store):
    file = files / "conversations.json"
    file.write_text(json.dumps([chatgpt_conversation(), chatgpt_conversation("gpt-2")])[:-9])
    with pytest.raises(InvalidInputError, match="cut short"):
        import_transcripts(store, file)
    assert list(talks(store)) == ["gpt-1"]


def test_a_source_that_is_named_is_not_sniffed(files, store):
    file = files / "x"
    file.write_text('{"strange": 1}\n{"role": "user", "content": "Hello"}\n')
    report = import_transcripts(store, file, source="messages")
    assert (report.messages, report.kept) == (1, {"value": 1})


def test_what_is_imported_is_redacted(files, store):
    file = FILES["claude-code"](files)
    lines = file.read_text().replace("green", "<private>hush</private>").replace("later", "SECRET")
    file.write_text(lines + "SECRET, no JSON\n")

    report = import_transcripts(store, file, redactor=redactor(None, private_tags=True))
    assert report.redacted > 2
    data = b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert b"hush" not in data
    assert b"SECRET" in data


def test_a_hook_that_fails_stores_nothing(files, store, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hook_that_fails.py").write_text("def hide(text):\n    raise ValueError\n")
    hook = redactor("hook_that_fails:hide", private_tags=True)
    with pytest.raises(RedactionError):
        import_transcripts(store, FILES["claude-code"](files), redactor=hook)
    assert talks(store) == {}


def test_an_encrypted_store(files, store, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    Memory.open(store, embedder="lexical", encryption=key.read_bytes()).close()
    file = FILES["claude-code"](files)
    assert import_transcripts(store, file, key_file=key).messages > 2
    assert import_transcripts(store, file, key_file=key).new == 0
    assert b"lamp room" not in b"".join(p.read_bytes() for p in store.rglob("*") if p.is_file())
    with Memory.open(store, embedder="lexical", encryption=key.read_bytes()) as memory:
        memory.erase(conversation=SESSION)
    assert import_transcripts(store, file, key_file=key).messages == 0


def test_a_second_result_of_a_call_of_codex_is_none(tmp_path):
    file = FILES["codex"](tmp_path)
    lines = file.read_text().splitlines()
    [output] = [one for one in lines if "function_call_output" in one and '"c1"' in one]
    file.write_text("\n".join([*lines, output.replace("09:00:06", "09:00:59")]) + "\n")
    with Memory.open(None, embedder="lexical") as memory:
        report = import_transcripts(memory, file)
        assert report.kept["response_item/function_call_output"] == 1
        calls = [turn.get("call_id") for turn in memory.conversation("codex-1")]
        assert calls.count("c1") == 2
