"""The resident helper: it answers hooks, does their jobs, and goes when nobody needs it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hook_sessions import HOSTS, Agent, at_work

from warmset import Memory
from warmset.serve.hooks import config, entry, failures, jobs, starting, words
from warmset.serve.hooks.helper import PING, ping

RESIDENT = Path(entry.__file__).with_name("resident.py")


def started(places):
    return subprocess.Popen(  # noqa: S603 - our own helper
        [sys.executable, str(RESIDENT), places.memory]
    )


def answers(places, made):
    while ping(places) is None:
        assert made.poll() is None
        time.sleep(0.01)


def idle(places):
    """Wait until every job is done."""
    while jobs.waiting(places.queue):
        time.sleep(0.01)


@contextlib.contextmanager
def helped(places):
    made = started(places)
    try:
        answers(places, made)
        yield made
    finally:
        made.kill()
        made.wait()


@pytest.mark.parametrize("host", HOSTS)
def test_a_session_with_the_helper(tmp_path, host):
    agent = Agent(tmp_path, host)
    at_work(agent)
    with helped(agent.places):
        assert agent.hook("Stop") == ""
        idle(agent.places)
        agent.hook("PreCompact")
        idle(agent.places)
        summary = "They moved a service to PostgreSQL. The quota of tenant Zephyr is 7413 requests."
        agent.compacts(summary)
        more = {"compact_summary": summary} if host == "claude-code" else {}
        agent.hook("PostCompact", **more)
        told = agent.context("SessionStart", source="compact")
        assert "<session-checkpoint>" in told
        lost = told.split("<lost-in-summary>")[1].split("</lost-in-summary>")[0]
        assert "5544" in lost
        assert "004.sql" in lost
        assert "7,413" not in lost
        assert "<lost-in-summary>" not in agent.context("SessionStart", source="resume")
        other = Agent(tmp_path, host, "another-session")
        told = other.context("UserPromptSubmit", prompt="What quota has tenant Zephyr?")
        assert "The quota of tenant Zephyr is set to 7,413 requests." in told
        assert other.hook("UserPromptSubmit", prompt="What quota has tenant Zephyr?") == ""
        idle(agent.places)
    assert failures.read(agent.places.failures) == []
    with agent.memory() as memory:
        conversation = memory.conversation(agent.session)
        said = [turn["content"][:16] for turn in conversation]
        assert said[:2] == ["Move the billing", "I decided to use"]
        assert len(said) == 4
        [episode] = [one for one in memory.episodes() if one.what == "compaction"]
        assert episode.conversation == conversation.id
        kinds = {item.memory_type: item for item in memory.memories(k=20)}
        assert kinds["preference"].origin == "user"
    recalled = words.Words(agent.places.words)(
        "quota of tenant Zephyr", skip=frozenset(), without=None, most=3
    )
    assert recalled[0].text.startswith("The quota of tenant Zephyr")


def test_the_audit_reaches_a_session_that_resumed_before_it(tmp_path):
    agent = Agent(tmp_path)
    at_work(agent)
    agent.hook("PreCompact")
    agent.hook("SessionStart", source="compact")
    agent.hook("PostCompact", compact_summary="They moved a service.")
    with helped(agent.places):
        idle(agent.places)
        told = agent.context("UserPromptSubmit", prompt="Go on.")
        assert told.startswith("Stated before the compaction, and not in its summary:\n")
        assert "5544" in told
        assert agent.hook("UserPromptSubmit", prompt="Go on.") == ""


def test_turns_are_stored_once_and_only_whole_lines(tmp_path):
    agent = Agent(tmp_path)
    at_work(agent)
    with helped(agent.places):
        for _ in range(2):
            agent.hook("Stop")
            idle(agent.places)
        with agent.transcript.open("a") as file:
            file.write('{"type": "user", "uuid": "u9", "timestamp": "2026-11-28T10:00:00Z", ')
        agent.hook("Stop")
        idle(agent.places)
        with agent.transcript.open("a") as file:
            file.write('"message": {"content": "The rest of a line."}}\n')
        agent.hook("Stop")
        idle(agent.places)
        os.unlink(agent.places.progress)  # noqa: PTH108 - as if it was never read
        agent.hook("SessionEnd")
        idle(agent.places)
    with agent.memory() as memory:
        said = [turn["content"] for turn in memory.conversation(agent.session)]
    assert len(said) == 5
    assert said[-1] == "The rest of a line."
    assert failures.read(agent.places.failures) == []


def test_what_was_erased_is_not_read_again_and_leaves_no_text(tmp_path):
    agent = Agent(tmp_path)
    at_work(agent)
    name = agent.session
    with helped(agent.places):
        agent.hook("Stop")
        agent.hook("PreCompact")
        idle(agent.places)
    assert os.path.exists(agent.places.words)  # noqa: PTH110
    with agent.memory() as memory:
        memory.erase(conversation=name)
    with helped(agent.places):
        agent.hook("SessionEnd")
        idle(agent.places)
    with agent.memory() as memory:
        assert name not in memory.conversations()
    for file in Path(agent.places.memory).rglob("*"):
        if file.is_file():
            assert b"snake_case" not in file.read_bytes(), file


def test_of_two_helpers_one_lives(tmp_path):
    agent = Agent(tmp_path)
    made = [started(agent.places) for _ in range(3)]
    try:
        while sum(one.poll() is None for one in made) > 1:
            time.sleep(0.01)
        [lives] = [one for one in made if one.poll() is None]
        answers(agent.places, lives)
        assert ping(agent.places) == lives.pid
    finally:
        for one in made:
            one.kill()
            one.wait()
    assert failures.read(agent.places.failures) == []


def test_a_leftover_of_a_killed_helper_is_in_nobodys_way(tmp_path):
    agent = Agent(tmp_path)
    with helped(agent.places):
        assert os.stat(agent.places.socket).st_mode & 0o777 == 0o600  # noqa: PTH116
    assert os.path.exists(agent.places.socket)  # noqa: PTH110
    assert ping(agent.places) is None
    at_work(agent)
    assert agent.hook("PreCompact")  # it answers by itself
    with helped(agent.places) as made:
        assert ping(agent.places) == made.pid


def test_a_helper_that_nobody_asks_ends(tmp_path):
    agent = Agent(tmp_path)
    config.write(agent.places.config, config.Config(idle=0.05))
    made = started(agent.places)
    assert made.wait(60) == 0
    assert not os.path.exists(agent.places.socket)  # noqa: PTH110
    assert failures.read(agent.places.failures) == []


def test_a_helper_without_its_folder_ends(tmp_path):
    agent = Agent(tmp_path)
    with helped(agent.places) as made:
        os.unlink(agent.places.socket)  # noqa: PTH108 - as uninstalling by hand does
        assert made.wait(60) == 0


def test_a_hook_starts_a_helper_that_outlives_it_and_its_host(tmp_path):
    agent = Agent(tmp_path)
    done = agent.run("SessionEnd", json.dumps(agent.told("SessionEnd")).encode(), alone=False)
    assert done.returncode == 0  # its pipes are closed: the host need not wait for the helper
    while (number := ping(agent.places)) is None:
        assert failures.read(agent.places.failures) == []
        time.sleep(0.01)
    try:
        assert os.getsid(number) == number
        assert not starting.start(agent.places)
    finally:
        os.kill(number, signal.SIGKILL)


def test_a_helper_is_started_once_in_a_while(tmp_path, monkeypatch):
    agent = Agent(tmp_path)
    made = []
    monkeypatch.setattr(os, "posix_spawn", lambda *given, **_: made.append(given))
    assert starting.start(agent.places)
    assert not starting.start(agent.places)
    os.utime(agent.places.started, (0, 0))
    assert starting.start(agent.places)
    assert len(made) == 2


def test_others_who_ask_get_nothing(tmp_path):
    agent = Agent(tmp_path)
    with helped(agent.places), socket.socket(socket.AF_UNIX) as made:
        before = Path.cwd()
        os.chdir(agent.places.hooks)
        try:
            made.connect("helper.sock")
        finally:
            os.chdir(before)
        made.sendall(b"no such question")
        made.shutdown(socket.SHUT_WR)
        assert made.recv(100) == b""
        assert entry.asked(PING, "", agent.places.memory, b"", 5.0)


def test_a_helper_that_cannot_open_the_store_says_why(tmp_path):
    agent = Agent(tmp_path)
    for file in Path(agent.places.memory).glob("*.seg"):
        file.unlink()
    assert started(agent.places).wait(60) == 0
    [failure] = failures.read(agent.places.failures)
    assert failure.what.startswith("NotAStore: ")


def test_vectors_of_another_embedder_are_left_alone(tmp_path):
    agent = Agent(tmp_path)
    Path(agent.places.config).write_text('{"embedder": "nobody"}')
    assert started(agent.places).wait(60) == 0
    [failure] = failures.read(agent.places.failures)
    assert "nobody" in failure.what


def test_the_worker_takes_up_what_others_stored(tmp_path):
    agent = Agent(tmp_path)
    with Memory.open(agent.places.memory, embedder="lexical") as memory:
        memory.conversation("elsewhere").append(
            {"role": "user", "content": "The gauge quillon in hall wexham is set to 11 bar."}
        )
        memory.remember("The harbour master of Wexham is called Odile Marchetti.")
    with helped(agent.places):
        agent.asks("Hello.")
        agent.hook("Stop")
        idle(agent.places)
    assert "11 bar" in agent.context("UserPromptSubmit", prompt="Which gauge is in hall wexham?")
    told = agent.context("UserPromptSubmit", prompt="Who is the harbour master of Wexham?")
    assert "[memory:2, user, " in told
    assert "Odile Marchetti" in told
