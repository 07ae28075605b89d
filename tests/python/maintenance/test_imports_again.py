"""Imports that are repeated: after an erasure or a kill, beside others, while a file grows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from transcript_files import FILES, LANGGRAPH, SESSION, ClaudeCode, chatgpt_conversation, text

from warmset import Memory
from warmset.errors import InvalidInputError, NotAStore
from warmset.maintenance import Access, erase_conversation, export, import_transcripts, open_store
from warmset.maintenance.transcripts.writer import Writer
from warmset.native import ColdStore, Log

SUPPORT = Path(__file__).parents[1] / "support"


def session(count, name=SESSION):
    talk = ClaudeCode(name)
    for n in range(count):
        talk.user(f"Prompt {n} of Ada Lovelace.")
        talk.reply(f"m{n}", text(f"Reply {n}."))
    return talk


def memory_of(store):
    return Memory.open(store, embedder="lexical")


def texts(store, name=SESSION):
    with memory_of(store) as memory:
        return [as_text(turn["content"]) for turn in memory.conversation(name)]


def as_text(content):
    return content if isinstance(content, str) else content[0]["text"]


def expected(count):
    return [
        f"{one} {n}{of}"
        for n in range(count)
        for one, of in (("Prompt", " of Ada Lovelace."), ("Reply", "."))
    ]


# --- what was erased ------------------------------------------------------------------------------


@pytest.mark.parametrize("source", FILES)
@pytest.mark.parametrize("encryption", [None, "keys"])
def test_a_person_who_was_erased_is_not_brought_back(source, encryption, tmp_path, store):
    file = FILES[source](tmp_path)
    with Memory.open(store, embedder="lexical", encryption=encryption) as memory:
        first = import_transcripts(memory, file)
        names = memory.conversations()
        for name in names:
            memory.erase(conversation=name)
    for _ in range(2):
        report = import_transcripts(store, file)
        assert (report.new, report.known) == (0, first.new)
    with Memory.open(store, embedder="lexical", encryption=encryption) as memory:
        assert memory.conversations() == []
        again = import_transcripts(memory, file)
        assert again.new == 0
    fresh = import_transcripts(tmp_path / "other", file)  # what was erased here is not elsewhere
    assert fresh.new == first.new


def test_nothing_of_what_was_erased_can_be_read_out_of_the_store(tmp_path, store):
    talk = session(3, "ada-lovelace-session")
    file = talk.write(tmp_path / "s.jsonl")
    import_transcripts(store, file)
    with memory_of(store) as memory:
        memory.erase(conversation="ada-lovelace-session")
    data = b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
    for trace in (b"Lovelace", b"lovelace", b"Prompt", talk.last.encode()):
        assert trace not in data


def test_what_a_session_went_on_to_say_after_it_was_erased_stays_out(tmp_path, store):
    talk = session(2)
    file = talk.write(tmp_path / "s.jsonl")
    import_transcripts(store, file)
    with open_store(Access(path=store), mode="shared") as cold:
        erase_conversation(cold, "default", SESSION)
    talk.user("Ada Lovelace says more.")
    side = ClaudeCode(agent="late")
    side.user("About Ada Lovelace")
    talk.lines += side.lines
    report = import_transcripts(store, talk.write(file))
    assert (report.new, report.known, report.erased) == (0, 4, 2)
    assert import_transcripts(store, file).erased == 2
    with memory_of(store) as memory:
        assert memory.conversations() == []


def with_side_chains(tmp_path):
    """A session with two side chains, one of which says nothing, and one of an agent's agent."""
    talk = session(2)
    for name in ("one", "two"):
        side = ClaudeCode(agent=name)
        if name == "two":
            side.line(type="system", subtype="turn_duration", durationMs=88947)
        else:
            side.user("About Ada Lovelace")
        talk.lines += side.lines
    talk.write(tmp_path / "files" / "s.jsonl")
    spawned = {"id": "three", "parent_thread_id": "one"}
    payloads = [("session_meta", spawned)]
    said = [{"type": "input_text", "text": "Of Ada Lovelace"}]
    payloads += [("response_item", {"type": "message", "role": "user", "content": said})]
    lines = [
        {"timestamp": f"2026-05-01T10:00:0{n}Z", "type": kind, "payload": payload}
        for n, (kind, payload) in enumerate(payloads)
    ]
    (tmp_path / "files" / "c.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    return tmp_path / "files"


def erased(store, name, way):
    if way == "memory":
        with memory_of(store) as memory:
            return memory.erase(conversation=name)
    with open_store(Access(path=store), mode="shared") as cold:
        return erase_conversation(cold, "default", name)


@pytest.mark.parametrize("way", ["memory", "store"])
def test_side_chains_are_erased_with_their_session(way, tmp_path, store):
    files = with_side_chains(tmp_path)
    first = import_transcripts(store, files)
    assert first.side_chains == 3
    own = [f"{SESSION}/notes", f"{SESSION}/one/deeper", f"{SESSION}ly/one", "other/one"]
    with memory_of(store) as memory:
        for name in own:
            said = {} if name.startswith(f"{SESSION}/") else {"side_chain_of": SESSION}
            memory.conversation(name).append({"role": "user", "content": "Mine."}, meta=said)
        assert {f"{SESSION}/one", "one/three"} < set(memory.conversations())
    gone = erased(store, SESSION, way)
    assert gone.records == first.new == 8
    with memory_of(store) as memory:
        assert memory.conversations() == own
    with ColdStore.open(store, mode="read") as cold:
        assert Log(cold).tail(["default", f"{SESSION}/two"]) == 0
    assert import_transcripts(store, files).new == 0
    with memory_of(store) as memory:
        assert memory.conversations() == own


@pytest.mark.parametrize("way", ["memory", "store"])
def test_a_side_chain_that_is_erased_leaves_its_session(way, tmp_path, store):
    files = with_side_chains(tmp_path)
    import_transcripts(store, files)
    erased(store, f"{SESSION}/one", way)
    assert import_transcripts(store, files).new == 0
    with memory_of(store) as memory:
        assert memory.conversations() == [SESSION]
    assert texts(store) == expected(2)


def test_what_is_only_named_as_a_side_chain_and_cannot_be_read_stays(tmp_path, store):
    import_transcripts(store, session(1).write(tmp_path / "s.jsonl"))
    with ColdStore.open(store, encryption="keys") as cold:
        cold.append([("turn", [b"default", f"{SESSION}/x".encode()], b"{}", b"{}", ())])
    with ColdStore.open(store) as cold:
        cold.append([("turn", [b"default", f"{SESSION}/y".encode()], b"[]", b"{}", ())])
        cold.append([("turn", [b"default", f"{SESSION}ly/z".encode()], b"[]", b"{}", ())])
    for key in (store / "keys").glob("*.key"):
        key.unlink()
    erased(store, SESSION, "store")
    with ColdStore.open(store, mode="read") as cold:
        assert all(Log(cold).tail(["default", f"{SESSION}/{name}"]) for name in "xy")
        assert Log(cold).tail(["default", f"{SESSION}ly/z"])


def test_subgraphs_are_erased_with_their_thread(store):
    with memory_of(store) as memory:
        import_transcripts(memory, LANGGRAPH)
        [inner] = [name for name in memory.conversations() if "/" in name]
        thread = inner.partition("/")[0]
        memory.erase(conversation=thread)
        assert inner not in memory.conversations()
        assert import_transcripts(memory, LANGGRAPH).new == 0


def test_a_redaction_hook_leaves_the_link_of_a_side_chain(tmp_path, store):
    files = with_side_chains(tmp_path)
    with Memory.open(store, embedder="lexical", redact=lambda text: "x" * len(text)) as memory:
        import_transcripts(memory, files)
        memory.erase(conversation=SESSION)
        assert memory.conversations() == []


def test_single_messages_that_were_erased_stay_out(tmp_path, store):
    talk = session(3)
    file = talk.write(tmp_path / "s.jsonl")
    import_transcripts(store, file)
    with memory_of(store) as memory:
        ids = memory.conversation(SESSION).ids
        memory.erase(ids=[ids[0], ids[3], ids[5]])
    talk.user("And then?")
    report = import_transcripts(store, talk.write(file))
    assert (report.messages, report.known) == (1, 6)
    assert texts(store) == [expected(3)[n] for n in (1, 2, 4)] + ["And then?"]


def test_a_message_that_was_taken_off_is_not_imported_again(tmp_path, store):
    file = session(2).write(tmp_path / "s.jsonl")
    with memory_of(store) as memory:
        import_transcripts(memory, file)
        memory.conversation(SESSION).pop(2)
        assert import_transcripts(memory, file).new == 0
    assert texts(store) == expected(1)


def test_an_erasure_while_an_import_runs(tmp_path, store, monkeypatch):
    monkeypatch.setattr("warmset.maintenance.transcripts.writer.RECORDS", 4)
    talk = session(20)
    file = talk.write(tmp_path / "s.jsonl")
    seen = []

    def erase(done, total):
        del total
        if done and not seen:
            seen.append(done)
            with open_store(Access(path=store), mode="shared") as cold:
                erase_conversation(cold, "default", SESSION)

    monkeypatch.setattr("warmset.maintenance.transcripts.run._STEP", 10)
    report = import_transcripts(store, file, progress=erase)
    assert seen
    assert report.messages == 8
    assert report.erased == 32
    with memory_of(store) as memory:
        assert memory.conversations() == []


def test_a_branch_of_what_was_erased_stands_at_the_end(tmp_path, store):
    file = tmp_path / "conversations.json"
    talk = chatgpt_conversation()
    file.write_text(json.dumps([talk]))
    with memory_of(store) as memory:
        import_transcripts(memory, file)
        conversation = memory.conversation("gpt-1")
        memory.erase(ids=[conversation.ids[-2]])
        node = {**talk["mapping"]["a3"]["message"], "id": "new"}
        talk["mapping"]["n"] = {"id": "n", "message": node, "parent": "x1", "children": []}
        talk["current_node"] = "n"
        file.write_text(json.dumps([talk]))
        report = import_transcripts(memory, file)
        assert (report.messages, report.unplaced) == (1, 1)
        assert [turn["content"] for turn in conversation][-2:] == ["A cat.", "A cat."]


# --- exports of warmset ---------------------------------------------------------------------------


def exported(tmp_path):
    place = tmp_path / "source"
    with Memory.open(place, embedder="lexical") as memory:
        memory.conversation("ada").append(
            [{"role": "user", "content": "I am Ada."}, {"role": "assistant", "content": "Hello."}]
        )
        memory.conversation("bob").append({"role": "user", "content": "I am Bob."})
        memory.remember("It is so.")
    file = tmp_path / "export.jsonl"
    with open_store(Access(path=place), mode="read") as cold, file.open("w") as out:
        export(cold, out)
    return file


def test_an_export_is_imported_once_and_nobody_is_brought_back(tmp_path, store):
    file = exported(tmp_path)
    assert import_transcripts(store, file, dry_run=True).new == 4
    first = import_transcripts(store, file)
    assert (first.files, first.new, first.known) == ({"warmset": 1}, 4, 0)
    again = import_transcripts(store, file)
    assert (again.new, again.known) == (0, 4)
    with memory_of(store) as memory:
        memory.erase(conversation="ada")
    again = import_transcripts(store, file)
    assert (again.new, again.known) == (0, 4)
    with memory_of(store) as memory:
        assert memory.conversations() == ["bob"]
        assert import_transcripts(memory, file).new == 0


def test_an_export_into_an_open_memory(tmp_path):
    file = exported(tmp_path)
    with Memory.open(None, embedder="lexical") as memory:
        assert import_transcripts(memory, file).new == 4
        assert memory.conversations() == ["ada", "bob"]
        assert len(memory.memories()) == 1
        assert import_transcripts(memory, file).new == 0


def test_an_export_of_a_conversation_that_went_on_elsewhere_is_refused(tmp_path, store):
    file = exported(tmp_path)
    with memory_of(store) as memory:
        memory.conversation("bob").append({"role": "user", "content": "Another Bob."})
    with pytest.raises(InvalidInputError, match=r"'default bob' has records.*erase them first"):
        import_transcripts(store, file)
    with memory_of(store) as memory:
        assert memory.conversations() == ["bob"]
    other = tmp_path / "other"
    import_transcripts(other, file)
    lines = file.read_text().splitlines()
    grown = json.loads(lines[-1]) | {"id": 99}
    file.write_text("\n".join([*lines, json.dumps(grown)]) + "\n")
    with pytest.raises(InvalidInputError, match="already; import into another store"):
        import_transcripts(other, file)


# --- kills, and others ----------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from warmset.maintenance import import_transcripts
from warmset.maintenance.transcripts import target, writer
writer.RECORDS = 7
class Killed(target.StoreTarget):
    left = int(sys.argv[3])
    def write(self, rows, expect):
        made = super().write(rows, expect) if Killed.left else None
        if not Killed.left:
            os.kill(os.getpid(), signal.SIGKILL)
        Killed.left -= 1
        return made
from warmset.maintenance.transcripts import api
api.StoreTarget = Killed
import_transcripts(sys.argv[1], sys.argv[2])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL there")
def test_an_import_that_was_killed_is_finished_by_the_next(tmp_path, store):
    talk = session(40)
    file = talk.write(tmp_path / "s.jsonl")
    done = 0
    for left in (1, 3, 0, 2):
        arguments = [sys.executable, "-c", KILLED, store, file, str(left)]
        ended = subprocess.run(arguments, check=False, capture_output=True, timeout=120)  # noqa: S603
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        done += left * 7
        assert texts(store) == expected(40)[:done]
    report = import_transcripts(store, file)
    assert (report.new, report.known) == (80 - done, done)
    assert texts(store) == expected(40)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL there")
def test_an_import_that_is_killed_at_any_moment(tmp_path, store):
    file = session(600).write(tmp_path / "s.jsonl")
    code = "import sys; from warmset.maintenance import import_transcripts\n"
    code += "from warmset.maintenance.transcripts import writer; writer.RECORDS = 16\n"
    code += "print('begun', flush=True); import_transcripts(*sys.argv[1:])"
    for n in range(2):
        with subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", code, store, file], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            until(lambda n=n: count(store) > n * 100 or process.poll() is not None)
            process.kill()
        there = texts(store)
        assert there == expected(600)[: len(there)]
    report = import_transcripts(store, file)
    assert report.new + report.known == 1_200
    assert texts(store) == expected(600)


def count(store):
    try:
        with ColdStore.open(store, mode="read") as cold:
            return cold.stats()["records"]
    except NotAStore:
        return 0


def until(true, seconds=20.0):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def test_two_imports_at_the_same_time(tmp_path, store, monkeypatch):
    monkeypatch.setattr("warmset.maintenance.transcripts.writer.RECORDS", 5)
    file = session(60).write(tmp_path / "s.jsonl")
    reports = []
    threads = [
        threading.Thread(target=lambda: reports.append(import_transcripts(store, file)))
        for _ in range(3)
    ]
    ColdStore.open(store).close()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.new for report in reports) == 120
    assert all(report.new + report.known == 120 for report in reports)
    assert texts(store) == expected(60)
    with ColdStore.open(store, mode="read") as cold:
        stored = Log(cold).entries(["default", SESSION], limit=None)
    assert len(stored) == 120


def test_what_another_import_writes_before_a_batch_is_not_counted_again(
    tmp_path, store, monkeypatch
):
    monkeypatch.setattr("warmset.maintenance.transcripts.writer.RECORDS", 5)
    file = session(6).write(tmp_path / "s.jsonl")
    flush, others = Writer.flush, []

    def after_another(writer):
        if not others:
            others.append(None)
            others.append(import_transcripts(store, file))
        flush(writer)

    monkeypatch.setattr(Writer, "flush", after_another)
    report = import_transcripts(store, file)
    assert (others[1].new, report.new, report.known) == (12, 0, 12)
    assert texts(store) == expected(6)


def test_the_part_of_a_message_that_another_import_did_not_see_is_stored(
    tmp_path, store, monkeypatch
):
    talk = ClaudeCode()
    talk.user("Look.")
    talk.reply("m1", text("The first."))
    shorter = talk.write(tmp_path / "shorter.jsonl")
    talk.reply("m1", text("The second."))
    longer = talk.write(tmp_path / "longer.jsonl")
    flush, others = Writer.flush, []

    def after_another(writer):
        if not others:
            others.append(None)
            others.append(import_transcripts(store, shorter))
        flush(writer)

    monkeypatch.setattr(Writer, "flush", after_another)
    import_transcripts(store, longer)
    with memory_of(store) as memory:
        stored = [turn["content"] for turn in memory.conversation(SESSION)]
    assert stored == ["Look.", [text("The first.")], [text("The second.")]]


# --- files that grow ------------------------------------------------------------------------------

WRITER = """
import sys, time
path, data = sys.argv[1], open(sys.argv[2], "rb").read()
with open(path, "ab", buffering=0) as file:
    for start in range(0, len(data), 97):
        file.write(data[start : start + 97])
        sys.stdin.readline()
"""


def test_a_file_is_followed_while_another_process_writes_it(tmp_path, store):
    talk = session(6)
    whole = talk.write(tmp_path / "elsewhere")
    place = tmp_path / "files"
    place.mkdir()
    stop = threading.Event()
    reports = []
    work = threading.Thread(
        target=lambda: reports.append(import_transcripts(store, place, follow=stop)), daemon=True
    )
    work.start()
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", WRITER, place / "s.jsonl", whole], stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        pieces = len(talk.data()) // 97 + 1
        for n in range(pieces):
            process.stdin.write(b"\n")
            process.stdin.flush()
            if n == pieces // 2:  # half of it is there before the rest is written
                until(lambda: count(store) > 3)
    until(lambda: len(texts(store)) >= 11)
    stop.set()
    work.join(30)
    [report] = reports
    assert report.torn == 0
    assert texts(store) == expected(6)
    assert import_transcripts(store, place).new == 0


def test_a_reply_is_complete_once_nothing_more_comes(tmp_path, monkeypatch):
    monkeypatch.setattr("warmset.maintenance.transcripts.run.POLL", 0.01)
    talk = session(1)
    file = talk.write(tmp_path / "s.jsonl")
    stop = threading.Event()
    with memory_of(None) as memory:
        work = threading.Thread(
            target=lambda: import_transcripts(memory, file, follow=stop), daemon=True
        )
        work.start()
        until(lambda: len(memory.conversation(SESSION)) == 2)
        talk.reply("m0", text("More of the reply."))
        talk.user("Thanks.")
        talk.write(file)
        until(lambda: len(memory.conversation(SESSION)) == 4)
        memory.erase(conversation=SESSION)
        talk.user("And on.")
        talk.write(file)
        stop.set()
        work.join(30)
        assert memory.conversations() == []


def test_a_followed_file_that_is_written_anew_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.setattr("warmset.maintenance.transcripts.run.POLL", 0.01)
    file = session(5).write(tmp_path / "s.jsonl")
    stop = threading.Event()
    with memory_of(None) as memory:
        work = threading.Thread(
            target=lambda: import_transcripts(memory, tmp_path, follow=stop), daemon=True
        )
        work.start()
        until(lambda: len(memory.conversation(SESSION)) == 10)
        session(1, "another-session").write(file)
        until(lambda: "another-session" in memory.conversations())
        (tmp_path / "late.json").write_text(json.dumps([chatgpt_conversation()]))
        until(lambda: "gpt-1" in memory.conversations())
        (tmp_path / "late.json").write_text(
            json.dumps([chatgpt_conversation(), chatgpt_conversation("gpt-2")])
        )
        until(lambda: "gpt-2" in memory.conversations())
        stop.set()
        work.join(30)
        assert len(memory.conversation(SESSION)) == 10


COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from warmset.cli import main
main()
"""
"""The command, which Ctrl-C ends, whatever it inherited from a shell in the background."""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_following_and_loses_nothing(tmp_path, store):
    file = session(3).write(tmp_path / "s.jsonl")
    arguments = [sys.executable, "-c", COMMAND, "import", file, "--memory", store, "--follow"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE) as process:  # noqa: S603
        until(lambda: count(store) > 4)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"6 messages imported into 1 conversations" in err
    assert texts(store) == expected(3)


def test_the_longest_line_is_stored(tmp_path, store, monkeypatch):
    file = session(1).write(tmp_path / "s.jsonl")
    longest = len('{"role":"user","content":"Prompt 0 of Ada Lovelace."}')
    for most, new in ((longest - 1, 0), (longest, 1)):
        monkeypatch.setattr("warmset.maintenance.transcripts.writer.LONGEST", most)
        report = import_transcripts(store, file)
        assert (report.messages, report.too_long) == (new, 2 - new)


def test_a_session_that_lies_in_two_files_is_imported_once(tmp_path, store):
    for name in ("one", "two"):
        session(3).write(tmp_path / "files" / f"{name}.jsonl")
    report = import_transcripts(store, tmp_path / "files")
    assert (report.messages, report.known) == (6, 6)
    assert texts(store) == expected(3)
