"""Which mutants there are, which tests they meet, and what cargo-mutants says of its own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from tests.mutants.chosen import MIN_SECONDS, MOST, SECONDS, choose
from tests.mutants.equivalent import Equivalent
from tests.mutants.lists import each, mistakes, part
from tests.mutants.mutant import Mutant, Result
from tests.mutants.operators import mutants_of, operators
from tests.mutants.removals import REMOVALS
from tests.mutants.report import below, score
from tests.mutants.rust import _outcomes, is_compiled, is_core, rust_sample
from tests.mutants.tree import Tree, room_of

if TYPE_CHECKING:
    from tests.mutants.mutant import Outcome


def mutant(file: str = "python/warmset/compact/plan.py", line: int = 1, after: str = "") -> Mutant:
    return Mutant(
        room=room_of(file),
        file=file,
        line=line,
        operator="replace a by b",
        text="a",
        before="a\n",
        after=after or f"b{line}",
    )


class Recorded:
    """A record with one line, on which the given tests are."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    def tests_of(self, _file: str, _line: int) -> set[str]:
        return set(self.seconds)


NAMES = st.builds(
    "tests/python/{}/test_a.py::test_{}".format,
    st.sampled_from(["compact", "window"]),
    st.integers(0, 40),
)


@given(st.dictionaries(NAMES, st.sampled_from([0.001, 0.5, 3.0, 9.0, 30.0]), max_size=30))
def test_tests_are_the_fastest_and_half_the_time_is_for_the_own_room(
    seconds: dict[str, float],
) -> None:
    record: Any = Recorded(seconds)
    chosen = choose(mutant(), record) if seconds else []
    own = [test for test in chosen if "/compact/" in test]
    assert len(chosen) == len(set(chosen))
    costs = [max(seconds[test], MIN_SECONDS) for test in chosen]
    if seconds:
        assert chosen
        slow = max(costs)  # the first of each part is taken even if it is slow
        assert sum(costs) <= SECONDS or slow >= SECONDS / 2 or len(chosen) <= 2
    for room in ("/compact/", "/window/"):
        taken = [seconds[test] for test in chosen if room in test]
        left = [s for test, s in seconds.items() if room in test and test not in chosen]
        assert max(taken, default=0) <= min(left, default=math.inf), "fastest first"
    left_own = [s for test, s in seconds.items() if "/compact/" in test and test not in chosen]
    if left_own:
        assert sum(seconds[test] for test in own) + min(left_own) > SECONDS / 2


def test_no_more_tests_are_chosen_than_start_quickly() -> None:
    record: Any = Recorded({f"tests/python/window/test_a.py::test_{i}": 0.0 for i in range(9999)})
    assert len(choose(mutant(), record)) == SECONDS * MOST
    assert len(choose(mutant(), record, 3 * SECONDS)) == 3 * SECONDS * MOST


def test_no_test_is_chosen_that_was_met_before() -> None:
    tests = [f"tests/python/{room}/test_a.py::test_a" for room in ("compact", "window", "route")]
    record: Any = Recorded(dict.fromkeys(tests, 0.1))
    assert choose(mutant(), record, besides=tests[:2]) == tests[2:]
    assert choose(mutant(), record, besides=tests) == []


@pytest.mark.parametrize(
    ("place", "chosen"),
    [
        ("tests/python/compact", ["a", "b[1]", "b[2]"]),
        ("tests/python/compact/", ["a", "b[1]", "b[2]"]),
        ("tests/python/compact/test_a.py", ["a", "b[1]", "b[2]"]),
        ("tests/python/compact/test_a.py::test_b", ["b[1]", "b[2]"]),
        ("tests/python/compact/test_a.py::test_b[1]", ["b[1]"]),
        ("tests/python/comp", []),
        ("tests/python/compact/test_a.py::test_", []),
    ],
)
def test_tests_may_have_to_lie_in_a_place(place: str, chosen: list[str]) -> None:
    tests = [f"tests/python/compact/test_a.py::test_{name}" for name in ("a", "b[1]", "b[2]")]
    record: Any = Recorded(dict.fromkeys([*tests, "tests/python/other/test_a.py::test_a"], 0.1))
    made = choose(mutant(), record, within=[place])
    assert [test.rpartition("test_")[2] for test in made] == chosen


@pytest.mark.parametrize("removal", REMOVALS, ids=lambda one: one.__name__)
def test_removals_do_what_their_examples_say(removal: Any) -> None:
    for example in removal.examples():
        before = "def f(x, seen, self):\n" + indented(example.pre_mutation_code)
        after = "def f(x, seen, self):\n" + indented(example.post_mutation_code)
        made = [m.after for m in mutants_of("a.py", before) if m.operator == removal.__name__]
        assert made == [after]


def indented(code: str) -> str:
    return "".join(f"    {row}\n" for row in code.splitlines())


def test_an_exception_with_a_dot_among_several_is_left_alone() -> None:
    source = "try:\n    f()\nexcept (ValueError, a.Error, KeyError):\n    pass\n"
    made = [m.after for m in mutants_of("a.py", source) if m.operator == "ExceptionReplacer"]
    assert len(made) == 2
    assert all("a.Error" in one for one in made)


def test_calls_are_removed_only_where_nobody_takes_their_result() -> None:
    source = "def f(a, log):\n    b = a()\n    log.info(a)\n    return a(b())\n"
    assert not [m for m in mutants_of("a.py", source) if m.operator == "RemoveCall"]


def test_annotations_decorators_and_blocks_for_tools_are_left_alone() -> None:
    source = """\
from __future__ import annotations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    DEPTH = 1 + 1

@dataclass(frozen=True)
class A:
    a: Literal[3] | None = 7
    def f(self, x: int | str = 8) -> int | None:
        y: int | None
        return x

if __name__ == "__main__":
    main()
"""
    made = {(one.line, one.made) for one in mutants_of("a.py", source)}
    assert made == {
        (9, "a: Literal[3] | None = 8"),
        (9, "a: Literal[3] | None = 6"),
        (10, "def f(self, x: int | str = 9) -> int | None:"),
        (10, "def f(self, x: int | str = 7) -> int | None:"),
    }


def test_every_operator_is_one_that_cosmic_ray_has() -> None:
    assert len(operators()) == len({type(one) for one in operators().values()})


@pytest.mark.parametrize(
    ("file", "room"),
    [
        ("python/warmset/compact/plan.py", "compact"),
        ("python/warmset/messages/gemini/walk.py", "messages"),
        ("python/warmset/memory.py", "memory"),
        ("python/warmset/conversation.py", "memory"),
        ("python/warmset/receipts.py", "words"),
        ("rust/core/src/hot/file/mod.rs", "rust/hot"),
        ("rust/core/src/entry.rs", "rust/entry"),
        ("rust/py/src/lib.rs", "rust/py"),
    ],
)
def test_rooms(file: str, room: str) -> None:
    assert room_of(file) == room
    assert is_core(file) == (room.startswith("rust/") and room != "rust/py")


def test_parts_have_whole_rooms_and_together_everything() -> None:
    rooms = ["a", "b", "b", "c", "d", "e", "a"]
    listed: list[Any] = [SimpleNamespace(room=room) for room in rooms]
    parts = [[one.room for one in part(listed, number, 3)] for number in (1, 2, 3)]
    assert parts == [["a", "d", "a"], ["b", "b", "e"], ["c"]]


def test_some_of_each_room_are_the_same_for_a_seed() -> None:
    listed: list[Any] = [
        SimpleNamespace(room=room, number=at) for at, room in enumerate("abbabbcbbb")
    ]
    drawn = each(listed, 2, 1)
    assert [one.room for one in drawn] == ["a", "a", "b", "b", "c"]
    assert drawn == each(listed, 2, 1)
    others = {tuple(one.number for one in each(listed, 2, seed)) for seed in range(9)}
    assert len(others) > 1, "another seed draws others"


@pytest.mark.parametrize(
    ("other", "matches"),
    [
        ({}, True),
        ({"make": "b7"}, True),
        ({"make": "b8"}, False),
        ({"line": "c"}, False),
        ({"file": "python/warmset/compact/gap.py"}, False),
        ({"operator": "replace"}, False),
    ],
)
def test_an_equivalent_matches_by_all_that_it_says(other: dict[str, str], matches: bool) -> None:
    said = {"file": "python/warmset/compact/plan.py", "operator": "replace a by b", "line": "a"}
    entry = Equivalent(**{**said, "reason": "so", **other})
    assert entry.matches(mutant(line=7)) == matches


def results(*outcomes: Outcome) -> list[Result]:
    return [Result(mutant=mutant(), outcome=one) for one in outcomes]


def test_scores() -> None:
    assert score(results("found", "timeout", "lived", "lived")) == 0.5
    assert score(results("found", "equivalent", "stale", "unviable", "broken")) == 1.0
    assert score(results("equivalent")) is None
    assert below(results("found", "lived"), 0.5) == []
    assert below(results("found", "lived"), 0.51) == ["compact"]
    assert below(results("stale"), 1.0) == []


@pytest.mark.parametrize(
    ("machine", "tried"),
    [("x86_64", "x86_codes"), ("AMD64", "x86_codes"), ("arm64", "neon"), ("aarch64", "neon")],
)
def test_instructions_of_another_processor_are_not_tried(
    machine: str, tried: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    files = ["neon", "x86_codes", "codes"]
    compiled = [name for name in files if is_compiled(f"rust/core/src/simd/{name}.rs")]
    assert compiled == [tried, "codes"]


def test_a_rust_sample_is_that_of_its_seed_and_takes_stages_in_turn() -> None:
    files = ["rust/core/src/hot/scan/topk.rs", "rust/core/src/pack/mod.rs"]
    every = [mutant(file, line, str(n)) for file in files for line in range(9) for n in range(3)]
    one = rust_sample(every, 6, 1)
    assert one == rust_sample(list(reversed(every)), 6, 1)
    assert one != rust_sample(every, 6, 2)
    assert [m.room for m in one].count("rust/hot") == 3
    assert len({(m.file, m.line) for m in one}) == 6
    assert len(rust_sample(every, 99, 1)) == 18


def test_what_cargo_mutants_says_is_read_as_it_comes(tmp_path: Path) -> None:
    file = "rust/core/src/pack/mod.rs"
    wanted = {name: mutant(file, at) for at, name in enumerate(["a", "b", "c", "d"])}
    said = ["CaughtMutant", "MissedMutant", "Timeout", "Unviable"]
    rows: list[Any] = [{"scenario": "Baseline", "summary": "Success", "phase_results": []}]
    for name, summary in zip([*wanted, "other"], [*said, "CaughtMutant"], strict=True):
        scenario = {"Mutant": {"name": name}}
        phases = [{"phase": "Build", "duration": 1.5}, {"phase": "Test", "duration": 2.0}]
        rows.append({"scenario": scenario, "summary": summary, "phase_results": phases})
    path = tmp_path / "outcomes.json"
    diffs = dict.fromkeys(wanted.values(), "-a\n+b")
    assert list(_outcomes(path, wanted, diffs)) == []
    path.write_text('{"outcomes": [', encoding="utf-8")
    assert list(_outcomes(path, wanted, diffs)) == [], "it is being written"
    path.write_text(json.dumps({"outcomes": rows}), encoding="utf-8")
    read = dict(_outcomes(path, wanted, diffs))
    assert [read[name].outcome for name in wanted] == ["found", "lived", "timeout", "unviable"]
    assert read["a"].seconds == 3.5
    assert read["b"].shown() == "-a\n+b"


def test_every_mistake_of_the_lists_fits_the_sources() -> None:
    """A list that no longer fits tries nothing."""
    tree = Tree(Path(__file__).resolve().parents[3])
    wrong = [one.what for one in mistakes(tree) if one.mutant(tree)[1] != 1]
    assert not wrong
