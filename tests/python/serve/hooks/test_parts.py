"""The parts of hooks: transcripts, checkpoints, capsules, words, failures, queue, sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hook_sessions import HOSTS, Agent, at_work
from hypothesis import given, strategies as st

from warmset.serve.hooks import capsule, entry, failures, files, jobs, sessions, transcripts, words
from warmset.serve.hooks.checkpoint import MOST_BYTES, checkpoint
from warmset.serve.hooks.guard import LONG_WINDOW, WINDOW, window_of
from warmset.serve.hooks.recalled import Recalled, has_enough, passage, quoted, terms_of
from warmset.serve.hooks.transcripts import Turn, Usage
from warmset.serve.hooks.words import Said, Words

# --- what a hook imports -------------------------------------------------------------------------

LOADED = """
import sys, os
sys.path.append({root!r})
from warmset.serve.hooks import alone, entry
from warmset.serve.hooks.places import Places
for event in entry.DEADLINES:
    alone.answer("claude-code", event, {memory!r}, {raw!r}.replace(b"EVENT", event.encode()),
                 wrapped=False)
bad = [name for name in sys.modules if name.split(".")[0] == "numpy"]
heavy = ("warmset.memory", "warmset._core", "warmset.engine", "dataclasses", "pathlib")
bad += [name for name in heavy if name in sys.modules]
print(bad, len([name for name in sys.modules if name.startswith("warmset")]))
"""


def test_a_hook_imports_neither_numpy_nor_the_core(tmp_path):
    agent = Agent(tmp_path)
    at_work(agent)
    words.create(agent.places.words, [Said(1, "#1", "user", "c", 0.0, "quota of Zephyr")])
    agent.says("So far.", used=180_000)
    Path(agent.places.started).touch()  # no helper is started
    told = {**agent.told("Stop"), "hook_event_name": "EVENT", "prompt": "the quota of Zephyr"}
    told |= {"source": "compact", "trigger": "auto"}
    root = str(Path(entry.__file__).parents[3])
    program = LOADED.format(root=root, memory=agent.places.memory, raw=json.dumps(told).encode())
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    bad, count = done.stdout.rsplit(" ", 1)
    assert bad == "[]"
    assert int(count) > 15


BUSY = """
import re, runpy, sys
entry = runpy.run_path({entry!r})
entry["DEADLINES"]["Stop"] = 0.3
entry["main"].__globals__["_alone"] = lambda *_: re.match("(a+)+$", "a" * 60 + "b")
sys.argv[1:] = ["codex", "Stop", {memory!r}]
entry["main"]()
"""


def test_a_hook_that_lets_no_thread_run_ends_at_its_deadline(tmp_path):
    agent = Agent(tmp_path)
    program = BUSY.format(entry=entry.__file__, memory=agent.places.memory)
    done = subprocess.run(  # noqa: S603, PLW1510 - our own program, whose exit code is looked at
        [sys.executable, "-I", "-S", "-c", program], input=b"{}", capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    [found] = failures.read(agent.places.failures)
    assert found.what == "TimeoutError: it took longer than 0.3 seconds"


# --- transcripts ---------------------------------------------------------------------------------


@pytest.fixture(params=HOSTS)
def agent(request, tmp_path):
    return Agent(tmp_path, request.param)


def test_both_transcripts_say_the_same(agent):
    at_work(agent)
    agent.compacts("They moved a service.")
    said = [(turn.role, turn.text[:24]) for turn in transcripts.turns(str(agent.transcript))]
    assert [one for one in said if one[1]] == [
        ("user", "Move the billing service"),
        ("assistant", "I decided to use logical"),
        ("user", "Please always use snake_"),
        ("assistant", "The quota of tenant Zeph"),
        ("summary", "They moved a service."),
    ]
    turns = transcripts.turns(str(agent.transcript))
    assert [file for turn in turns for file in turn.files] == ["/srv/billing/migrations/004.sql"]
    plans = [turn.plan for turn in turns if turn.plan]
    assert plans == [
        (("Write the migration", "completed"), ("Update docker-compose.yml", "pending"))
    ]
    assert sum(turn.boundary for turn in turns) == 1


def test_side_chains_and_what_the_host_wrote_are_no_turns(tmp_path):
    agent = Agent(tmp_path)
    agent.line({"type": "user", "isSidechain": True, "message": {"content": "A subagent's task"}})
    agent.line({"type": "user", "isMeta": True, "message": {"content": "Caveat"}})
    agent.line({"type": "user", "message": {"content": "<command-name>/compact</command-name>"}})
    agent.line({"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}})
    agent.line({"type": "queue-operation", "content": "x"})
    agent.asks("<private>my key is 77</private>Look at <kept-in-memory> that I wrote.")
    torn = b'\xff\n[1]\n{"type": "user", "mess'
    agent.transcript.write_bytes(agent.transcript.read_bytes() + torn)
    [turn] = transcripts.turns(str(agent.transcript))
    assert turn.text == "[private]Look at  that I wrote."


def test_the_last_turns_are_read_without_the_rest(agent):
    for at in range(50):
        agent.asks(f"Request number {at} of many.")
    found = transcripts.turns(str(agent.transcript), last=3)
    assert [turn.text.split()[2] for turn in found] == ["47", "48", "49"]
    assert transcripts.first_request(str(agent.transcript)) == "Request number 0 of many."
    end = agent.transcript.read_bytes().index(b"number 2 ")
    assert len(transcripts.turns(str(agent.transcript), end=end)) == 2


def test_usage_is_that_of_the_main_thread(agent):
    assert Agent(agent.cwd.parent, agent.host, "none").transcript.exists() is False
    agent.says("One.", used=50_000)
    agent.says("Two.", used=60_000)
    if agent.host == "claude-code":
        message = {"usage": {"input_tokens": 7}, "content": []}
        agent.line({"type": "assistant", "isSidechain": True, "message": message})
        agent.line({"type": "assistant", "message": {"usage": {"input_tokens": 0}, "content": []}})
    agent.asks("More.")
    found = transcripts.usage(str(agent.transcript))
    assert found.used == 60_000
    assert found.window == (200_000 if agent.host == "codex" else None)
    agent.compacts("They moved a service.")
    assert transcripts.usage(str(agent.transcript)).used == 0


def test_the_window_of_a_model():
    assert window_of(Usage(1, None, "claude-opus-4-8"), None) == WINDOW
    assert window_of(Usage(1, None, "claude-opus-4-8[1m]"), None) == LONG_WINDOW
    assert window_of(Usage(WINDOW, None, "claude-opus-4-8"), None) == WINDOW
    assert window_of(Usage(WINDOW + 1, None, "claude-opus-4-8"), None) == LONG_WINDOW
    assert window_of(Usage(1, 272_000, ""), None) == 272_000
    assert window_of(Usage(1, 272_000, ""), 100_000) == 100_000


# --- checkpoints ---------------------------------------------------------------------------------


@given(
    st.lists(
        st.builds(
            Turn,
            st.sampled_from(["user", "assistant"]),
            st.text(max_size=400),
            files=st.lists(st.text(max_size=300), max_size=3).map(tuple),
            plan=st.lists(
                st.tuples(st.text(min_size=1), st.sampled_from(["completed", "pending"])),
                max_size=3,
            ).map(tuple),
        ),
        max_size=30,
    )
)
def test_a_checkpoint_of_anything_is_short_and_has_a_line_for_each_part(turns):
    made = checkpoint(turns)
    assert len(made.encode("utf-8", "surrogatepass")) <= MOST_BYTES
    names = [line.split(": ")[0] for line in made.split("\n")] if made else []
    parts = ["goal", "next", "done", "files in use", "decisions", "blockers"]
    assert names == [name for name in parts if name in names]


def test_a_checkpoint_without_a_plan_takes_what_was_said():
    turns = [
        Turn("user", "Rename the table orders to order_items."),
        Turn("assistant", "**Renamed** the table. Fixed the tests. Next I will rename the index."),
    ]
    assert checkpoint(turns).splitlines() == [
        "goal: Rename the table orders to order_items.",
        "next: Next I will rename the index.",
        "done: Fixed the tests.; Renamed the table.",
    ]


# --- capsules ------------------------------------------------------------------------------------


def test_a_capsule_is_replaced_by_compare_and_set(tmp_path):
    folder, cwd = str(tmp_path / "capsules"), str(tmp_path)
    assert capsule.read(folder, cwd) == capsule.Capsule("missing", 0)
    assert capsule.write(folder, cwd, expected=1, text="x", session="s") is None
    assert capsule.write(folder, cwd, expected=0, text="one", session="s", now=1000.0) == 1
    assert capsule.write(folder, cwd, expected=0, text="two", session="t") is None
    assert capsule.read(folder, cwd, now=1000.0).text == "one"
    assert capsule.write(folder, cwd, expected=1, text="two", session="t", now=1000.0) == 2
    assert capsule.read(folder, cwd, now=1000.0 + capsule.STALE).state == "ok"
    assert capsule.read(folder, cwd, now=1000.1 + capsule.STALE).state == "stale"
    assert capsule.invalidate(folder, cwd, expected=1) is None
    assert capsule.invalidate(folder, cwd, expected=2) == 3
    assert capsule.read(folder, cwd, now=1000.0).state == "invalidated"
    assert capsule.write(folder, cwd, expected=3, text="new", session="t", now=1000.0) == 4
    assert capsule.read(folder, cwd, now=1000.0).state == "ok"


def test_of_many_who_write_at_once_one_wins(tmp_path):
    folder, cwd, won = str(tmp_path / "capsules"), str(tmp_path), []

    def write(at):
        won.append(capsule.write(folder, cwd, expected=0, text=f"of {at}", session="s"))

    threads = [threading.Thread(target=write, args=(at,)) for at in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(won, key=str) == [1] + [None] * 7


@pytest.mark.parametrize("text", ["x" * 9_000, "“é" * 4_000, '"\\\n\x01' * 2_000])
def test_a_capsule_has_at_most_4_kb(tmp_path, text):
    assert capsule.write(str(tmp_path), str(tmp_path), expected=0, text=text, session="s" * 300)
    [file] = [one for one in tmp_path.iterdir() if one.suffix == ".json"]
    assert 1_000 < file.stat().st_size <= capsule.MOST_BYTES
    assert capsule.read(str(tmp_path), str(tmp_path)).state == "ok"


def test_the_head_of_a_repository(tmp_path):
    git = tmp_path / "a" / ".git"
    (git / "refs/heads").mkdir(parents=True)
    inside = tmp_path / "a" / "b"
    inside.mkdir()
    (git / "HEAD").write_text("c0ffee\n")
    assert capsule.head_of(str(inside)) == "c0ffee"
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert capsule.head_of(str(inside)) is None
    (git / "packed-refs").write_text("# pack-refs\nbead refs/heads/other\nfade refs/heads/main\n")
    assert capsule.head_of(str(inside)) == "fade"
    (git / "refs/heads/main").write_text("babe\n")
    assert capsule.head_of(str(inside)) == "babe"
    tree = git / "worktrees" / "w"
    tree.mkdir(parents=True)
    (tree / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / "commondir").write_text("../..\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {tree}\n")
    assert capsule.head_of(str(tmp_path / "w")) == "babe"


# --- words and quotations ------------------------------------------------------------------------


def some(text, at=1, conversation="c", name=None):
    return Said(at, name or f"#{at}", "user", conversation, 0.0, text)


def recall(path, query, skip=(), without=None, most=6):
    found = Words(path)(query, skip=frozenset(skip), without=without, most=most)
    return [one.name for one in found]


def test_words_find_the_rarest_of_a_prompt(tmp_path):
    path = str(tmp_path / "t" / "words.db")
    assert recall(path, "anything at all") == []
    common = [some(f"common words in every turn {at}", at) for at in range(1, 300)]
    words.create(path, [*common, some("common gauge quillon, Größe 12", 900)])
    assert words.last(path) == 900
    assert recall(path, "Which common gauge is quillon?") == ["#900"]
    assert recall(path, "common words every turn") == []  # each is in too many
    assert recall(path, "the GRÖSSE of gauge") == ["#900"]
    assert recall(path, "gauge quillon", skip=["#900"]) == []
    assert recall(path, "gauge quillon", without="c") == []
    assert recall(path, 'gauge" OR quillon NEAR(') == ["#900"]
    words.extend(path, [some("gauge quillon again", 901)])
    assert words.last(path) == 901
    assert sorted(recall(path, "gauge quillon")) == ["#900", "#901"]
    assert len(recall(path, "gauge quillon", most=1)) == 1
    assert os.stat(path).st_mode & 0o777 == 0o600  # noqa: PTH116


def test_words_of_another_version_are_made_anew(tmp_path, monkeypatch):
    path = str(tmp_path / "words.db")
    words.create(path, [some("gauge quillon")])
    monkeypatch.setattr(words, "VERSION", words.VERSION + 1)
    assert words.last(path) is None
    assert recall(path, "gauge quillon") == []


def test_a_text_must_have_two_of_the_words_where_there_are_two():
    assert terms_of("What is the quota of Zephyr, and the quota?") == ["quota", "zephyr"]
    assert has_enough("The Zephyr quota", ["quota", "zephyr"])
    assert not has_enough("The quota", ["quota", "zephyr"])
    assert has_enough("The quota", ["quota"])


def test_a_passage_is_about_the_words():
    text = "x " * 400 + "the quota is 7 " + "y " * 400
    assert "quota is 7" in passage(text, ["quota"])
    assert len(passage(text, ["quota"]).encode()) <= 260
    assert passage("  short\ntext ", ["quota"]) == "short text"


@given(st.lists(st.builds(Recalled, st.text(), st.text(), st.floats(), st.text()), max_size=8))
def test_quotations_of_anything_are_short_and_closed(found):
    text, names = quoted(found)
    assert len(text.encode("utf-8", "surrogatepass")) <= 800
    assert (text == "") == (not names)
    if text:
        assert text.endswith("\n</kept-in-memory>")
        assert text.count("</kept-in-memory>") == 1
        assert len(text.splitlines()) >= len(names) + 3


# --- failures, queue, sessions -------------------------------------------------------------------


def test_the_oldest_failure_gives_way(tmp_path):
    path = str(tmp_path / "failures")
    failures.prepare(path)
    size = os.stat(path).st_size  # noqa: PTH116
    for at in range(entry.SLOTS + 3):
        assert failures.note(path, "codex", "Stop", f'number {at} "\\ü')
    found = failures.read(path)
    assert [one.what.split()[1] for one in found] == [str(at) for at in range(66, 2, -1)]
    assert os.stat(path).st_size == size == entry.SLOTS * entry.SIZE  # noqa: PTH116
    failures.clear(path)
    assert failures.read(path) == []


def test_failures_that_are_damaged_are_written_over(tmp_path):
    path = tmp_path / "failures"
    path.write_bytes(b'{"n": 12345678901234567890123, "at"' + b"\xff" * 20_000)
    assert failures.read(str(path)) == []
    assert failures.note(str(path), "codex", "Stop", "x" * 2_000)
    [found] = failures.read(str(path))
    assert found.what == "x" * 240


def test_a_job_is_tried_five_times(tmp_path):
    queue = str(tmp_path / "queue")
    assert jobs.waiting(queue) == []
    jobs.put(queue, "store", {"host": "codex"})
    for _ in range(jobs.TRIES - 1):
        [job] = jobs.waiting(queue)
        assert jobs.failed(job)
    [job] = jobs.waiting(queue)
    assert not jobs.failed(job)
    assert jobs.waiting(queue) == []


def test_a_queue_that_nobody_works_at_does_not_grow_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_JOBS", 2)
    queue = str(tmp_path / "queue")
    jobs.put(queue, "store", {})
    jobs.put(queue, "store", {})
    with pytest.raises(jobs.QueueFullError):
        jobs.put(queue, "store", {})


def test_what_is_no_job_is_deleted(tmp_path):
    (tmp_path / "1.json").write_text("{")
    (tmp_path / "2.json").write_text('{"kind": 3}')
    (tmp_path / "3.new").write_text("being written")
    assert jobs.waiting(str(tmp_path)) == []
    assert [one.name for one in tmp_path.iterdir()] == ["3.new"]


def test_the_state_of_a_session_is_written_whole_or_not_at_all(tmp_path):
    folder = str(tmp_path / "sessions")
    with sessions.session(folder, "codex", "../../x\ud800") as state:
        state["advised"] = True
    with pytest.raises(KeyError), sessions.session(folder, "codex", "../../x\ud800") as state:
        state["advised"] = state["nothing"]
    with sessions.session(folder, "codex", "../../x\ud800") as state:
        assert state == {"advised": True}
    with sessions.session(folder, "claude-code", "../../x\ud800") as state:
        assert state == {}
    assert {one.name for one in tmp_path.iterdir()} == {"sessions"}


def test_two_hooks_of_a_session_wait_for_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "_WAIT", 0.01)
    folder = str(tmp_path)
    with sessions.session(folder, "codex", "s"), pytest.raises(TimeoutError, match="is locked"):
        sessions.session(folder, "codex", "s").__enter__()
    with sessions.session(folder, "codex", "t"):
        pass


def test_files_of_hooks_follow_no_links(tmp_path):
    (tmp_path / "real").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match="link"):
        files.read(str(tmp_path / "link"), 100)
    files.replace(str(tmp_path / "link"), b"new")
    assert (tmp_path / "real").read_text() == "{}"
    assert (tmp_path / "link").stat().st_mode & 0o777 == 0o600


def test_a_memory_that_just_fits_is_quoted():
    found = [Recalled("m1", "user", 0.0, "The quota is 7,413 requests.")]
    whole, _ = quoted(found)
    size = len(whole.encode())
    assert quoted(found, size) == (whole, ["m1"])
    assert quoted(found, size - 1) == ("", [])
