"""What workers saw is one state: sums, the newest windows, and each conversation once."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from warmset.serve.proxy.gathered import Gathered
from warmset.serve.proxy.recent import SHOWN, WINDOWS


def talk(key, *, at, windows=1, turns=3):
    return {
        "conversation": key,
        "name": None,
        "turns": turns,
        "tokens": 10 * turns,
        "windows": windows,
        "at": at,
    }


def state(*, at=(), talks=(), **changed):
    given = {
        "since": 7.0,
        "requests": 2,
        "failed": 1,
        "streams": 1,
        "tokens_in": 100,
        "tokens_sent": 40,
        "tokens_cached": 5,
        "saved_usd": 0.5,
        "unpriced": 1,
        "bypasses": {"error": 1},
        "windows": [{"number": number, "at": one} for number, one in enumerate(at, 1)],
        "kept": len(talks),
        "conversations": list(talks),
    }
    return given | changed


@pytest.fixture
def ended():
    """Return the process number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def by_another(place, process, told, known=()):
    (place / f"{process}.json").write_text(json.dumps({"state": told, "known": list(known)}))


def test_what_one_wrote_itself_counts_once(tmp_path):
    told, one = state(at=[2.0], talks=[talk("a", at=2.0)]), Gathered(tmp_path)
    one.write(told, ["a"])
    found = one.state(told, ["a"])
    assert (found["requests"], len(found["windows"]), found["kept"]) == (2, 1, 1)


def test_one_alone_is_itself(tmp_path):
    told = state(at=[2.0], talks=[talk("a", at=2.0)])
    found = Gathered(tmp_path).state(told, ["a"])
    [window] = found.pop("windows")
    assert window == {"number": 1, "at": 2.0, "worker": os.getpid()}
    assert found == {name: value for name, value in told.items() if name != "windows"}


def test_sums_and_the_newest_of_all(tmp_path):
    parent = os.getppid()
    other = state(
        since=3.0,
        at=[1.0, 4.0],
        talks=[talk("a", at=4.0, windows=5, turns=9), talk("c", at=1.0)],
        bypasses={"error": 2, "Locked": 9},
    )
    by_another(tmp_path, parent, other, ["a", "c", "d"])
    own = state(at=[2.0, 3.0], talks=[talk("a", at=2.0, windows=2), talk("b", at=3.0)])
    found = Gathered(tmp_path).state(own, ["a", "b"])
    assert found["since"] == 3.0
    assert [found[name] for name in ("requests", "failed", "streams")] == [4, 2, 2]
    assert [found[name] for name in ("tokens_in", "tokens_sent", "tokens_cached")] == [200, 80, 10]
    assert (found["saved_usd"], found["unpriced"]) == (1.0, 2)
    assert list(found["bypasses"].items()) == [("Locked", 9), ("error", 3)]
    assert [(one["worker"], one["number"]) for one in found["windows"]] == [
        (parent, 2),
        (os.getpid(), 2),
        (os.getpid(), 1),
        (parent, 1),
    ]
    shown = found["conversations"]
    assert [one["conversation"] for one in shown] == ["a", "b", "c"]
    assert (shown[0]["windows"], shown[0]["turns"], shown[0]["at"]) == (7, 9, 4.0)
    assert found["kept"] == 4


def test_the_newest_state_of_a_conversation_is_shown_whoever_has_it(tmp_path):
    by_another(tmp_path, os.getppid(), state(talks=[talk("a", at=1.0, turns=1)]), ["a"])
    found = Gathered(tmp_path).state(state(talks=[talk("a", at=2.0, turns=5)]), ["a"])
    [one] = found["conversations"]
    assert (one["turns"], one["at"], one["windows"]) == (5, 2.0, 2)


def test_no_more_is_shown_than_of_one(tmp_path):
    times = [float(at) for at in range(max(WINDOWS, SHOWN))]
    own = state(at=times[:WINDOWS], talks=[talk(f"a{at}", at=at) for at in times[:SHOWN]])
    other = state(at=[-1.0], talks=[talk("older", at=-1.0)])
    by_another(tmp_path, os.getppid(), other, ["older"])
    found = Gathered(tmp_path).state(own, [one["conversation"] for one in own["conversations"]])
    assert (len(found["windows"]), len(found["conversations"])) == (WINDOWS, SHOWN)
    assert found["kept"] == SHOWN + 1
    assert -1.0 not in {one["at"] for one in [*found["windows"], *found["conversations"]]}


def test_who_has_ended_still_counts_but_has_no_open_streams(tmp_path, ended):
    by_another(tmp_path, ended, state(at=[9.0]))
    by_another(tmp_path, os.getppid(), state())
    gathered = Gathered(tmp_path)
    found = gathered.state(state(), [])
    assert (found["requests"], found["streams"]) == (6, 2)
    assert found["windows"][0]["worker"] == ended
    assert gathered.ended() == [ended]


def test_each_sees_what_the_other_wrote_last(tmp_path):
    writing = Gathered(tmp_path)
    for count in (1, 5):
        writing.write(state(requests=count), ["a"])
        path = tmp_path / f"{os.getpid()}.json"
        path = path.rename(tmp_path / f"{os.getppid()}.json")
        found = Gathered(tmp_path).state(state(requests=0), [])
        assert (found["requests"], found["kept"]) == (count, 1)
    writing.write(state(requests=5), ["a"])
    assert not (tmp_path / f"{os.getpid()}.json").exists()  # nothing new
    writing.write(state(requests=5), ["a", "b"])
    assert (tmp_path / f"{os.getpid()}.json").exists()
    assert list(tmp_path.glob("*.new")) == []
