"""`warmset bench`: its cases, how they are timed, what a wrong result does, what it prints."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from functools import partial
from itertools import count as counter
from types import SimpleNamespace
from typing import get_args
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from warmset import trim_messages
from warmset.cli import bench as command
from warmset.cli.app import run as warmset
from warmset.errors import InvalidInputError
from warmset.lab.bench import count, index, material, setting, show, store, timing, trim, window
from warmset.lab.bench.case import (
    OURS,
    CannotTakePartError,
    Case,
    Contest,
    ContestantError,
    Figure,
    Result,
    WrongResultError,
    expect,
)
from warmset.lab.bench.picture import draw
from warmset.lab.bench.run import QUICK, SECONDS, Report, all_cases, chosen, measure
from warmset.lab.bench.vectors import exact, near, same_bits

CASES = all_cases(trim_messages)
SMALL = [
    index.search("clustered", 1_000),
    index.search_batch("isotropic", 1_000),
    index.add("clustered", 1_000),
    *store.CASES,
    trim.trim(1_000, trim_messages),
    trim.fit_held(1_000),
    window.window(1_000),
    window.turns(1_000),
    window.pack(3, 40),
    count.count("o200k_base", 40),
    count.count("cl100k_base", 40),
]


@pytest.fixture(autouse=True)
def quick_texts(monkeypatch):
    """Texts of made-up words: to read the standard library takes seconds."""
    words = [f"word{at * 7919 % 997}" for at in range(20_000)]

    def texts(n):
        return [" ".join(words[at : at + 8]) + f" {at}" for at in range(n)]

    monkeypatch.setattr(material, "texts", texts)
    material.corpus.cache_clear()
    yield
    material.corpus.cache_clear()


REAL_TEXTS = material.texts


def test_texts_are_real_and_different():
    found = REAL_TEXTS(1_500)
    assert len(set(found)) == 1_500
    assert "import" in " ".join(found)
    assert found[:40] == REAL_TEXTS(40)
    assert len(REAL_TEXTS(1_600)) == 1_600


def test_a_python_without_sources_is_told_so(monkeypatch, tmp_path):
    monkeypatch.setattr(material.sysconfig, "get_path", lambda _: str(tmp_path))
    material._texts.cache_clear()
    with pytest.raises(InvalidInputError, match="texts of 9999; use a Python with its sources"):
        REAL_TEXTS(9_999)
    material._texts.cache_clear()


@pytest.mark.parametrize("case", SMALL, ids=[one.name for one in SMALL])
def test_every_case_runs_beside_its_peers_and_is_checked(case, tmp_path):
    told = []
    [result] = measure([case], tmp_path, seconds=0.01, progress=lambda *step: told.append(step))
    assert next(iter(result.figures)) == OURS
    assert set(result.figures) | set(result.left_out) == {OURS, *case.peers}
    for one in result.figures.values():
        assert 0 < one.fastest <= one.microseconds
        assert one.calls >= timing.ROUNDS[0]
    assert all(reason for reason in result.left_out.values())
    assert told[0] == (case.name, 0, 1)
    assert told[-1][1] == told[-1][2] > 0
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
def test_a_case_opens_the_contestants_that_are_asked_for(case, tmp_path):
    if not case.quick:
        pytest.skip("as the small one of its kind, and takes long")
    if case.group == "window" and case.name != "pack":
        return  # they have no peers
    peer = case.peers[0]
    with case.open(tmp_path, {peer}) as contest:
        assert set(contest.calls) | set(contest.left_out) == {peer}


def test_names_are_unique_and_those_of_the_command():
    names = [one.name for one in CASES]
    groups = dict.fromkeys(one.group for one in CASES)
    assert list(get_args(command.Name)) == [*groups, *names]
    assert len({*names, *groups}) == len(names) + len(groups)


def test_what_is_asked_for_is_measured():
    quick = {one.name for one in chosen(CASES, (), quick=True)}
    assert {one.name for one in CASES} - quick == {
        "search-100k", "trim-10k", "fit-10k", "window-10k", "turns-10k", "count-cl100k"
    }  # fmt: skip
    assert chosen(CASES, (), quick=False) == CASES
    assert [one.name for one in chosen(CASES, ["trim"], quick=True)] == ["trim-2k", "fit-2k"]
    assert len(chosen(CASES, ["trim"], quick=False)) == 4
    both = chosen(CASES, ["search-100k", "count"], quick=True)
    assert [one.name for one in both] == ["search-100k", "count-o200k"]


# --- wrong results --------------------------------------------------------------------------------


def case_of(make, name="made-up", peers=("other",)):
    @contextmanager
    def opened(_place, wanted):
        contest = Contest(wanted)
        make(contest)
        yield contest

    return Case(name=name, group="index", what="something", peers=peers, open=opened)


def measured(make, seconds=0.01):
    return measure([case_of(make)], None, seconds=seconds, progress=lambda *_: None)[0]


def test_a_wrong_result_is_an_error_before_and_after_the_clock():
    def before(contest):
        contest.ours(lambda _: None)
        contest.peer("other", lambda: expect([], "the other's sum"))

    def after(contest):
        contest.ours(lambda _: None)
        contest.check = lambda: expect([], "ours")

    with pytest.raises(WrongResultError, match="the other's sum"):
        measured(before)
    with pytest.raises(WrongResultError, match="wrong result: ours"):
        measured(after)


def test_a_peer_that_cannot_take_part_is_named_with_its_reason():
    def missing():
        raise ModuleNotFoundError("No module named 'other'", name="other")

    def reason():
        raise CannotTakePartError("no vocabulary")

    def broken():
        raise OSError(7, "of another kind")

    def make(contest):
        contest.ours(lambda _: None)
        contest.notes |= {OURS: "said", "a": "not said"}
        contest.peer("a", missing)
        contest.peer("b", reason)
        contest.peer("c", broken)

    found = measured(make)
    assert list(found.figures) == [OURS]
    assert found.notes == {OURS: "said"}
    assert found.left_out == {
        "a": "other is not installed",
        "b": "no vocabulary",
        "c": "OSError: [Errno 7] of another kind",
    }


def test_a_peer_that_fails_while_it_is_timed_is_an_error_and_ours_is_raised_as_it_is():
    def theirs(contest):
        contest.ours(lambda _: None)
        contest.peer("other", lambda: lambda at: [7, 8][at])

    def ours(contest):
        contest.ours(lambda at: expect(at < 2, "as it is"))

    with pytest.raises(ContestantError, match="other failed while it was timed: IndexError"):
        measured(theirs)
    with pytest.raises(WrongResultError, match="as it is"):
        measured(ours)


def test_checks_of_the_cases_find_wrong_results(tmp_path, monkeypatch):
    def called(case):
        place = tmp_path / str(next(numbers))
        place.mkdir()
        with case.open(place, None) as contest:
            for call in contest.calls.values():
                call(0)
            contest.check()

    numbers = counter()

    def fails(case, match):
        with pytest.raises(WrongResultError, match=match):
            called(case)

    with monkeypatch.context() as patch:
        patch.setattr(index, "same_bits", lambda *_: False)
        fails(index.search("clustered", 1_000), "warmset's search")
        fails(index.search_batch("clustered", 1_000), "warmset's batch")
        fails(index.add("clustered", 1_000), "warmset's index")
    with monkeypatch.context() as patch:
        patch.setattr(index, "numpy_search", lambda rows, _: (np.arange(12), rows[:12, 0]))
        fails(index.search("isotropic", 1_000), "numpy's search")
    with monkeypatch.context() as patch:
        patch.setattr(store.Sqlite, "append", lambda _self, _payload: None)
        fails(store.CASES[0], "SQLite holds 0 records of 1")
    with monkeypatch.context() as patch:
        patch.setattr(store.Ours, "get", lambda _self, _seq: b"")
        fails(store.CASES[2], "record 1 of warmset")
    fails(trim.trim(1_000, lambda given, **_: given[-5:]), "trim_messages")
    with monkeypatch.context() as patch:
        patch.setattr(trim, "longest", lambda given, _: len(given))
        fails(trim.trim(2_000, trim_messages), "cut|trim_messages")
    with monkeypatch.context() as patch:
        patch.setattr(window, "BUDGET", 10**7)
        patch.setattr(window, "HITS", 10**5)
        fails(window.turns(1_000), "number of warmset's hits")
    with monkeypatch.context() as patch:
        patch.setattr(window, "naive_pack", lambda *_: ([], [0]))
        fails(window.pack(3, 40), "pack_batch")
    with monkeypatch.context() as patch:
        patch.setattr(count, "count_texts", lambda texts, _: [len(texts)] * len(texts))
        patch.setattr(count, "vocabulary", lambda _: SimpleNamespace(encode_ordinary=list))
        fails(count.count("o200k_base", 40), "by tiktoken and by warmset differ")


def test_the_brute_force_tells_right_from_wrong():
    rows, queries = material.vectors("isotropic", 1_000)
    ids, scores = exact(rows, queries[0])
    by_hand = np.argsort(-(rows.astype(np.float64) @ queries[0].astype(np.float64)))[:12]
    assert ids.tolist() == by_hand.tolist()
    assert same_bits((ids, scores), rows, queries[0])
    assert not same_bits((ids, np.nextafter(scores, np.float32(9))), rows, queries[0])
    assert near((ids[::-1], scores[::-1] + np.float32(1e-6)), rows, queries[0])
    assert not near((ids[:-1], scores[:-1]), rows, queries[0])
    assert not near((ids, scores - np.float32(1e-3)), rows, queries[0])


def test_tiktoken_is_asked_only_if_its_vocabulary_is_here(tmp_path, monkeypatch):
    asked = []

    def get(name):
        asked.append((name, os.environ["TIKTOKEN_CACHE_DIR"]))
        return "an encoding"

    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(get_encoding=get))
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr(count.tempfile, "gettempdir", lambda: str(tmp_path / "none"))
    monkeypatch.setattr(count.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(CannotTakePartError, match="get_encoding\\('o200k_base'\\)"):
        count.vocabulary("o200k_base")
    # The name under which tiktoken 0.14 keeps what it fetched.
    (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").touch()
    assert count.vocabulary("o200k_base") == "an encoding"
    assert asked == [("o200k_base", str(tmp_path))]
    assert "TIKTOKEN_CACHE_DIR" not in os.environ


# --- timing ---------------------------------------------------------------------------------------


def test_contestants_take_turns_and_the_first_call_of_a_turn_does_not_count():
    order = []
    calls = {name: partial(lambda name, at: order.append((name, at)), name) for name in "ab"}
    times = timing.turns(calls, 0)
    assert {name: len(found) for name, found in times.items()} == {"a": 48, "b": 48}
    assert [name for name, _ in order] == [
        *"ab", *"a" * 17, *"b" * 17, *"b" * 17, *"a" * 17, *"a" * 17, *"b" * 17
    ]  # fmt: skip
    for name in "ab":
        assert [at for one, at in order if one == name] == list(range(52))


def test_no_contestant_makes_more_calls_than_there_is_material_for():
    order = []
    steps = []
    times = timing.turns({"a": order.append}, 10, most=5, progress=lambda *step: steps.append(step))
    assert order == [0, 1, 2, 3, 4]
    assert len(times["a"]) == 4
    assert steps == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_long_calls_come_one_at_a_time_and_all_count(monkeypatch):
    clock = iter(range(0, 10**12, 30_000_000))
    monkeypatch.setattr(timing.time, "perf_counter_ns", lambda: next(clock))
    order = []
    times = timing.turns({"a": order.append}, 0.15)
    assert order == [0, 1, 2, 3, 4, 5]
    assert times == {"a": [30_000.0] * 5}


# --- what is shown --------------------------------------------------------------------------------


def result(name="case", ours=10.0, others=None, **options):
    made = {OURS: ours, **(others or {})}
    figures = {
        one: Figure(microseconds=micros, fastest=micros, p95=micros, calls=3)
        for one, micros in made.items()
    }
    whole = {"of": "median", "left_out": {}, "notes": {}} | options
    return Result(name=name, group="index", what=f"what {name} does", figures=figures, **whole)


FOUND = {
    "warmset": "9", "compiler": "rustc 1", "simd": "avx9", "cpu": "a <cpu>", "core": 3,
    "one_thread": True, "python": "3", "system": "an os", "disk": "a disk",
    "packages": {"numpy": "2", "lmdb": "not installed"}, "sqlite": "3.1", "load": [1.25, 0, 0],
}  # fmt: skip


def test_the_header_says_where_figures_come_from():
    assert show.header(FOUND) == [
        "warmset 9, rustc 1, avx9",
        "a <cpu>; core 3 alone, load 1.2",
        "Python 3, an os, a disk",
        "numpy 2, SQLite 3.1",
    ]
    free = FOUND | {"core": None, "one_thread": False, "load": None}
    assert show.header(free)[1] == "a <cpu>; any core, more than one thread"


@pytest.mark.parametrize(
    ("micros", "said"),
    [(0.5, "0.50 µs"), (9.99, "9.99 µs"), (10, "10 µs"), (999, "999 µs"), (1_000, "1.00 ms"),
     (12_345, "12 ms"), (2_500_000, "2.50 s"), (5e9, "5000.00 s")],
)  # fmt: skip
def test_times_are_said_in_the_unit_in_which_they_are_read_best(micros, said):
    assert show.duration(micros) == said


def test_ratios_above_one_say_that_warmset_is_faster():
    one = result(ours=10, others={"slow": 25, "fast": 1, "far": 123_456})
    assert one.ratios == {"slow": 2.5, "fast": 0.1, "far": 12_345.6}
    assert show.peers(one) == "slow x 2.5\nfast x 0.10\nfar x 12,346"
    assert show.peers(result()) == ""


def test_remarks_are_said_once_with_their_cases():
    left = {"left_out": {"x": "x is not installed"}}
    results = (result("a", **left), result("b", notes={"y": "rough"}, **left))
    assert show.remarks(results) == [
        "without x: x is not installed (a, b)",
        "y: rough (b)",
    ]


def test_the_plot_has_a_bar_for_each_peer_in_the_right_direction():
    results = (result("a", others={"slow": 100.0, "fast": 1.0}), result("alone"))
    root = ET.fromstring(draw(Report(setting=FOUND, results=results)))  # noqa: S314
    space = "{http://www.w3.org/2000/svg}"
    slow, fast = root.iter(f"{space}rect")
    assert (slow.get("class"), fast.get("class")) == ("faster", "slower")
    one = float(slow.get("x"))
    assert float(fast.get("x")) + float(fast.get("width")) == pytest.approx(one, abs=0.2)
    assert float(slow.get("width")) == pytest.approx(float(fast.get("width")), abs=0.2)
    words = [text.text for text in root.iter(f"{space}text")]
    assert {"a", "alone", "slow", "fast", "10", "0.10", "a <cpu>; core 3 alone, load 1.2"} <= {
        *words
    }
    assert not list(root.iter("script"))
    assert "http" not in "".join(words)
    bottom = max(float(text.get("y")) for text in root.iter(f"{space}text"))
    assert bottom <= float(root.get("viewBox").split()[3])
    draw(Report(setting=FOUND, results=()))


def test_the_setting_names_the_compiler_and_gives_the_cores_back(tmp_path):
    found = setting.setting(tmp_path, 0, one_thread=False)
    assert json.loads(json.dumps(found)) == found
    assert str(found["compiler"]).startswith("rustc ")
    assert found["cpu"]
    assert found["one_thread"] is True, "on one core nothing is gained by more threads"
    if sys.platform == "linux":
        before = os.sched_getaffinity(0)
        with setting.one_core() as core:
            assert os.sched_getaffinity(0) == {core} <= before
        assert os.sched_getaffinity(0) == before


# --- the command ----------------------------------------------------------------------------------


def test_the_command_measures_writes_and_draws(tmp_path, capsys):
    figures, plot = tmp_path / "f.json", tmp_path / "f.svg"
    words = ["bench", "--quick", "--only", "pack", "count-o200k", "--place", tmp_path]
    assert warmset([*map(str, words), "--json", str(figures), "--plot", str(plot)]) == 0
    captured = capsys.readouterr()
    assert captured.err == "", "no bar where nobody watches"
    assert "loop in Python x " in captured.out
    assert "rustc " in captured.out
    found = json.loads(figures.read_text())
    assert [one["name"] for one in found["results"]] == ["pack", "count-o200k"]
    assert found["results"][0]["ratios"]["loop in Python"] > 0
    assert set(found["setting"]) >= {"warmset", "compiler", "cpu", "simd", "packages", "load"}
    assert ET.parse(plot).getroot().tag.endswith("svg")  # noqa: S314
    assert sorted(one.name for one in tmp_path.iterdir()) == ["f.json", "f.svg"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--only", "nothing"], 2, "search-10k"),
        (["--json", "{none}/f.json"], 1, "give another one"),
        (["--plot", "{here}"], 1, "give another one"),
        (["--place", "{none}"], 1, "no directory"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_measured(
    words, code, said, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("warmset.lab.bench.run.measure", None)
    words = [one.format(none=tmp_path / "none", here=tmp_path) for one in words]
    assert warmset(["bench", *words]) == code
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("words", [[], ["--quick"]])
def test_cases_take_their_time_if_they_are_not_to_be_quick(words, monkeypatch):
    asked = []

    def enough(cases, _place, *, seconds, progress):  # noqa: ARG001
        asked.append((cases, seconds))
        raise InvalidInputError("that is enough")

    monkeypatch.setattr("warmset.lab.bench.run.measure", enough)
    monkeypatch.setattr("warmset.lab.bench.run.all_cases", lambda _trim: CASES)
    assert warmset(["bench", *words]) == 1
    [(cases, seconds)] = asked
    assert seconds == (QUICK if words else SECONDS)
    assert cases == chosen(CASES, (), quick=bool(words))


def test_a_wrong_result_ends_the_command_with_1_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(window, "naive_pack", lambda *_: ([], [0]))
    file = tmp_path / "f.json"
    assert warmset(["bench", "--only", "pack", "--quick", "--json", str(file)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error: wrong result: warmset's pack_batch")
    assert captured.out == ""
    assert not file.exists()
