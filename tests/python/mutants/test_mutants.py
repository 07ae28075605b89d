"""`poe mutants` on a tiny package: what is found, what lives, what no longer fits its list."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.mutants import chosen, record as record_module, run as running
from tests.mutants.changed import changed_lines
from tests.mutants.command import main
from tests.mutants.lists import mistakes
from tests.mutants.record import Record
from tests.mutants.run import Run
from tests.mutants.sample import sample
from tests.mutants.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.mutants.mutant import Mutant, Result

REPOSITORY = Path(__file__).resolve().parents[3]
SOURCE = '''\
"""A room."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT: int | None = 3


def fits(size: int) -> bool:
    return size <= LIMIT


def total(sizes: "Sequence[int]") -> int:
    out = 0
    for size in sizes:
        out += size
    return out


def unseen(a: int) -> int:
    return a + 1
'''
LOOP = """\
def forever(steps: int) -> int:
    while steps > 0:
        steps = steps - 1
    return steps
"""
TESTS = """\
from warmset.loop import forever
from warmset.scale.sizes import fits, total


def test_fits():
    assert fits(2)
    assert not fits(9)


def test_total():
    assert total([1, 2]) == 3


def test_forever():
    assert forever(2) == 0
"""
LIST = """\
room = "scale"
tests = ["tests/python/scale"]
[[mistake]]
file = "python/warmset/scale/sizes.py"
what = "everything fits"
find = "return size <= LIMIT"
make = "return True"
[[mistake]]
file = "python/warmset/scale/sizes.py"
what = "what is as long as the limit does not fit"
find = "size <= LIMIT"
make = "size < LIMIT"
[[mistake]]
file = "python/warmset/scale/sizes.py"
what = "of a text that is no longer there"
find = "size >= LIMIT"
make = "size > LIMIT"
[[mistake]]
file = "python/warmset/scale/sizes.py"
what = "of a text that is there often"
find = "return"
make = "yield"
[[mistake]]
file = "python/warmset/scale/sizes.py"
what = "nobody can see it"
find = "out = 0"
make = "out = -0"
equivalent = "there is one zero"
[[mistake]]
file = "python/warmset/scale/sizes.py"
what = "the tests fail without it"
find = "a + 1"
make = "a - 1"
tests = ["tests/python/broken"]
fresh = true
[[mistake]]
file = "python/warmset/scale/sizes.py"
what = "seen by a line for the shell"
find = "a + 1"
make = "a * 1"
run = "grep -q 'a + 1' python/warmset/scale/sizes.py"
fresh = true
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one room, its tests, a room without tests of its own, and a commit."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # starts in a third of the time
    files = {
        "python/warmset/__init__.py": "",
        "python/warmset/scale/__init__.py": "",
        "python/warmset/scale/sizes.py": SOURCE,
        "python/warmset/loop/__init__.py": LOOP,
        "python/warmset/plain/__init__.py": "def no(a):\n    return not a\n",
        "tests/python/scale/test_sizes.py": TESTS,
        "tests/python/broken/test_broken.py": "def test_no():\n    assert False\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n",
        ".gitignore": "/target/\n__pycache__/\n",
    }
    place = tmp_path / "repository"
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(place, "init", "-q")
    commit(place)
    return place


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *who, *arguments]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True)  # noqa: S603 - our own
    return done.stdout.decode().strip()


def commit(root: Path, *options: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "As it is", *options)


def ran(root: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and what it wrote with `--json`."""
    out = root.parent / "out.json"
    code = main([*arguments, "--json", str(out)], root)
    made: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return code, made


def outcomes(made: dict[str, Any]) -> dict[str, str]:
    return {one["operator"]: one["outcome"] for one in made["mutants"]}


def state(root: Path) -> dict[str, bytes]:
    """All files of a repository but what is kept in target."""
    kept = (path for path in root.rglob("*") if path.is_file())
    names = {path: path.relative_to(root).as_posix() for path in kept}
    skipped = ("target/", ".git/")
    return {name: path.read_bytes() for path, name in names.items() if not name.startswith(skipped)}


def listed(root: Path) -> None:
    place = Tree(root).lists
    place.mkdir(parents=True)
    (place / "scale.toml").write_text(LIST, encoding="utf-8")


def test_a_list_is_tried(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed(root)
    before = state(root)
    code, made = ran(root, "--by-hand", "scale")
    assert outcomes(made) == {
        "everything fits": "found",
        "what is as long as the limit does not fit": "lived",
        "of a text that is no longer there": "stale",
        "of a text that is there often": "stale",
        "nobody can see it": "equivalent",
        "the tests fail without it": "broken",
        "seen by a line for the shell": "found",
    }
    assert code == 1, "a list that no longer fits its sources is a failure"
    assert state(root) == before
    row = made["rooms"]["scale"]
    assert (row["found"], row["lived"], row["score"]) == (2, 1, 0.6667)
    by = {one["operator"]: one["by"] for one in made["mutants"]}
    assert by["everything fits"] == "tests/python/scale/test_sizes.py::test_fits"
    said = capsys.readouterr().out
    assert "python/warmset/scale/sizes.py:12" in said
    assert "+    return size < LIMIT" in said


def test_a_part_of_a_list_is_tried_and_may_have_to_reach_a_score(root: Path) -> None:
    listed(root)
    code, made = ran(root, "--by-hand", "-k", "as long as")
    assert list(outcomes(made).values()) == ["lived"]
    assert code == 0
    code, _made = ran(root, "--by-hand", "-k", "as long as", "--at-least", "85")
    assert code == 1


def test_a_line_for_the_shell_may_be_of_a_file_that_is_no_python(root: Path) -> None:
    listed(root)
    (root / "rust").mkdir(exist_ok=True)
    (root / "rust/size.rs").write_text("fn fits<'a>(size: &'a u8) {}\n", encoding="utf-8")
    one = "[[mistake]]\nfile = 'rust/size.rs'\nwhat = 'nothing fits'\nfind = 'fits'\n"
    one += "make = 'fails'\n"
    text = f"room = 'core'\nrun = 'grep -q fits rust/size.rs'\n{one}"
    (Tree(root).lists / "core.toml").write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    _code, made = ran(root, "--by-hand", "core")
    assert list(outcomes(made).values()) == ["found"]


def test_some_mistakes_of_each_list_are_drawn(root: Path) -> None:
    listed(root)
    _code, made = ran(root, "--by-hand", "--each", "1", "--seed", "3")
    assert len(made["mutants"]) == 1
    assert main(["--record", "--each", "1"], root) == 2


def test_of_a_list_the_tests_that_are_recorded_for_a_line_come_first(root: Path) -> None:
    listed(root)
    path = root / "tests/python/scale/test_sizes.py"
    more = "\n\ndef test_quick():\n    assert fits(1)\n    assert not fits(7)\n"
    path.write_text(TESTS + more, encoding="utf-8")
    assert main(["--record", "tests/python/scale"], root) == 0

    def by() -> str:
        _code, made = ran(root, "--by-hand", "-k", "everything fits")
        (one,) = made["mutants"]
        assert one["outcome"] == "found"
        return str(one["by"]).rpartition("::")[2]

    part = Tree(root).cache / "record" / "python-scale" / "part.json"
    facts = json.loads(part.read_text(encoding="utf-8"))
    test = "tests/python/scale/test_sizes.py::test_"
    facts["tests"] = {f"{test}fits": 5.0, f"{test}quick": 0.01, f"{test}total": 0.001}
    part.write_text(json.dumps(facts), encoding="utf-8")
    assert by() == "test_quick", "fastest first, of those that execute the line"
    facts["tests"] = {f"{test}total": 0.001}
    part.write_text(json.dumps(facts), encoding="utf-8")
    assert by() == "test_fits", "all of them, where none of those fails"
    facts["tests"] = {f"{test}quick": 0.01}
    part.write_text(json.dumps(facts), encoding="utf-8")
    path.write_text(TESTS + more + "\n", encoding="utf-8")
    assert by() == "test_fits", "a record of other tests says nothing"
    path.write_text(TESTS + more, encoding="utf-8")
    place = Tree(root).lists / "scale.toml"
    text = place.read_text(encoding="utf-8")
    elsewhere = text.replace('["tests/python/scale"]', f'["{test}fits"]', 1)
    place.write_text(elsewhere, encoding="utf-8")
    assert by() == "test_fits", "none but the tests of the list"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[mistake]]\nfile = 'a'\nwhat = 'b'\nfind = 'c'\n", "make is missing"),
        ("[[mistake]]\nfile = 'a'\nwhat = 'b'\nfind = 'c'\nmake = 1\n", "make is no str"),
        ("[[mistake]]\nplace = 'a'\n", "no such key: place"),
        ("[[mistake\n", "scale.toml"),
    ],
)
def test_a_wrong_list_is_refused(
    root: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Tree(root).lists
    place.mkdir(parents=True)
    (place / "scale.toml").write_text(text, encoding="utf-8")
    assert main(["--by-hand"], root) == 2
    assert said in capsys.readouterr().out


def test_changed_lines_alone_are_mutated(root: Path) -> None:
    path = root / "python/warmset/scale/sizes.py"
    path.write_text(SOURCE.replace("size <= LIMIT", "size < LIMIT + 1"), encoding="utf-8")
    (root / "python/warmset/plain/new.py").write_text("A = 1\n", encoding="utf-8")
    lines = changed_lines(Tree(root), "HEAD")
    assert lines == {"python/warmset/scale/sizes.py": {12}, "python/warmset/plain/new.py": {1}}
    code, made = ran(root, "--changed", "HEAD", "--language", "python", "scale")
    assert {one["line"] for one in made["mutants"]} == {12}
    assert outcomes(made) == {
        "ReplaceComparisonOperator_Lt_GtE": "found",
        "ReplaceComparisonOperator_Lt_LtE": "lived",
        "ReplaceBinaryOperator_Add_Sub": "found",
        "NumberReplacer": "lived",
    }
    assert code == 0
    commit(root)
    _code, made = ran(root, "--changed", "--language", "python", "--sample", "1", "scale")
    assert [one["line"] for one in made["mutants"]] == [12], "the last commit, without origin/main"
    _code, made = ran(root, "--changed", "HEAD", "--language", "python")
    assert made["mutants"] == []


def test_a_sample_is_that_of_its_seed(root: Path) -> None:
    tree = Tree(root)
    files = tree.python_files()

    def drawn(count: int, seed: int) -> list[tuple[str, int, str]]:
        return [(m.file, m.line, m.after) for m in sample(tree, count, seed, files)]

    assert drawn(5, 1) == drawn(5, 1)
    assert any(drawn(5, 1) != drawn(5, seed) for seed in range(2, 6))
    [room] = [[file] for file in files if file.endswith("sizes.py")]
    firsts = {sample(tree, 1, seed, room)[0].after for seed in range(9)}
    assert len(firsts) > 1, "also within a room"
    everything = drawn(10_000, 3)
    assert len(everything) == len({at[:2] for at in everything}), "one on each line"
    assert {one[0] for one in drawn(3, 1)} == {
        "python/warmset/loop/__init__.py",
        "python/warmset/plain/__init__.py",
        "python/warmset/scale/sizes.py",
    }
    assert {at[1] for at in everything if at[0].endswith("sizes.py")} == {8, 12, 16, 17, 23}


def test_a_sample_meets_the_tests_that_execute_its_lines(root: Path) -> None:
    before = state(root)
    code, made = ran(root, "--sample", "5", "--seed", "1", "scale")
    found = {(one["line"], one["outcome"]) for one in made["mutants"]}
    by = {one["line"]: one["by"] for one in made["mutants"]}
    assert (23, "lived") in found, "nothing tests it"
    assert (17, "found") in found
    assert by[17] == "tests/python/scale/test_sizes.py::test_total"
    assert code == 0
    assert state(root) == before
    part = Tree(root).cache / "record" / "python-scale" / "part.json"
    recorded = part.stat().st_mtime_ns
    ran(root, "--sample", "1", "scale")
    assert part.stat().st_mtime_ns == recorded, "recorded once"
    with (root / "tests/python/scale/test_sizes.py").open("a", encoding="utf-8") as stream:
        stream.write("\n\ndef test_one_more():\n    assert total([]) == 0\n")
    ran(root, "--sample", "1", "scale")
    assert "test_one_more" in part.read_text(encoding="utf-8"), "recorded again when stale"


def test_what_lives_the_first_tests_meets_the_others(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen, "MOST", 1 / chosen.SECONDS)
    met: list[str] = []
    run_tests = Run._try_chosen

    def noted(mutant: Mutant, tests: list[str], *given: Any) -> Result:
        if mutant.line == 17:
            met.extend(tests)
        return run_tests(mutant, tests, *given)

    monkeypatch.setattr(Run, "_try_chosen", staticmethod(noted))
    quick = "".join(f"\n\ndef test_quick_{n}():\n    total([{n}])\n" for n in range(3))
    slow = "\n\ndef test_slow():\n    time.sleep(0.1)\n    assert total([7]) == 7\n"
    tests = TESTS.replace("assert total([1, 2]) == 3", "total([1, 2])")
    file = root / "tests/python/scale/test_sizes.py"
    file.write_text(f"import time\n{tests}{quick}{slow}", encoding="utf-8")
    _, made = ran(root, "--sample", "5", "--seed", "1", "scale")
    by = {one["line"]: one["by"] for one in made["mutants"]}
    assert by[17] == "tests/python/scale/test_sizes.py::test_slow"
    assert len(met) == len(set(met)) == 5, "each once"


def test_what_runs_at_import_meets_the_whole_folder(root: Path) -> None:
    """No line of the file is executed by the test that sees the constant."""
    see = "\n\ndef test_limit():\n    assert sizes.LIMIT == 3\n"
    file = root / "tests/python/scale/test_sizes.py"
    file.write_text(f"from warmset.scale import sizes\n{TESTS}{see}", encoding="utf-8")
    _, made = ran(root, "--sample", "40", "scale")
    limit = SOURCE.splitlines().index("LIMIT: int | None = 3") + 1
    by = {one["line"]: one["by"] for one in made["mutants"]}
    assert by[limit] == "tests/python/scale/test_sizes.py::test_limit"


@pytest.mark.parametrize("seconds", [120.0, -1.0])
def test_what_is_cached_meets_the_tests_that_do_not_execute_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(running, "FOLDER_SECONDS", seconds)
    cached = "\n\n@cache\ndef edge() -> int:\n    return 7 + 1\n"
    path = root / "python/warmset/scale/sizes.py"
    path.write_text(f"from functools import cache\n{SOURCE}{cached}", encoding="utf-8")
    see = "\n\ndef test_a():\n    edge()\n\n\ndef test_b():\n    assert edge() == 8\n"
    tests = TESTS.replace("import fits, total", "import edge, fits, total")
    (root / "tests/python/scale/test_sizes.py").write_text(tests + see, encoding="utf-8")
    _, made = ran(root, "--sample", "40", "scale")
    [one] = [one for one in made["mutants"] if one["line"] == 29]
    if seconds > 0:
        assert one["by"] == "tests/python/scale/test_sizes.py::test_b"
    else:
        assert one["outcome"] == "lived"


@pytest.mark.parametrize("last", running.LAST)
def test_what_lives_meets_what_is_public_and_what_is_logged(root: Path, last: str) -> None:
    (root / last).parent.mkdir()
    see = "from warmset.scale.sizes import unseen\n\n\ndef test_it():\n    assert unseen(1) == 2\n"
    (root / last).write_text(see, encoding="utf-8")
    _, made = ran(root, "--sample", "40", "scale")
    by = {one["line"]: one["by"] for one in made["mutants"]}
    assert by[23] == f"{last}::test_it"


def test_a_line_that_runs_at_import_is_not_that_of_the_test_which_imports_it_first(
    root: Path,
) -> None:
    first = "def test_first():\n    import warmset.scale.sizes\n\n\n"
    then = "def test_then():\n    from warmset.scale.sizes import total\n    total([])\n"
    file = "python/warmset/scale/sizes.py"
    (root / "tests/python/scale/test_sizes.py").write_text(first + then, encoding="utf-8")
    assert main(["--record", "tests/python/scale"], root) == 0
    record = Record(Tree(root))
    limit = SOURCE.splitlines().index("LIMIT: int | None = 3") + 1
    assert record.executes(file, limit)
    assert record.tests_of(file, limit) == set()
    assert {name.rpartition("_")[2] for name in record.tests_of_file(file)} == {"first", "then"}


def test_the_record_finds_lines_again_by_their_text(root: Path) -> None:
    assert main(["--record", "tests/python/scale"], root) == 0
    path = root / "python/warmset/scale/sizes.py"
    moved = SOURCE.replace("LIMIT: int", "M = 1\n" * 10 + "LIMIT: int")
    moved = moved.replace("size <= L", "size < 1 + L")
    path.write_text(moved, encoding="utf-8")
    record = Record(Tree(root))
    file = "python/warmset/scale/sizes.py"
    test = "tests/python/scale/test_sizes.py::test_"
    assert record.tests_of(file, 26) == {f"{test}total"}
    assert record.tests_of(file, 33) == set()
    path.write_text(moved.replace("out += size", "out = size + out"), encoding="utf-8")
    changed = Record(Tree(root))
    assert changed.tests_of(file, 28) == {f"{test}total"}, "a new line has those of its function"
    assert changed.stale() == ["tests/python/broken"]


def test_a_source_that_changes_while_its_tests_run_is_recorded_as_it_ran(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "python" / "warmset" / "scale" / "sizes.py"

    run = record_module.run

    def changed(*given: Any, **more: Any) -> Any:
        path.write_text(f"# one more line\n{SOURCE}", encoding="utf-8")
        return run(*given, **more)

    monkeypatch.setattr(record_module, "run", changed)
    assert main(["--record", "tests/python/scale"], root) == 0
    file, found = "python/warmset/scale/sizes.py", Record(Tree(root))
    at = 2 + SOURCE.splitlines().index("    return out")
    assert found.executes(file, at)
    assert not found.executes(file, at + 1), "a blank line, where it was before"


def test_what_takes_too_long_counts_as_found_and_is_listed_apart(root: Path) -> None:
    listed(root)
    text = "room = 'loop'\n"
    for what, run in (
        ("without end", "grep -q 'steps - 1' python/warmset/loop/__init__.py || sleep 60"),
        ("also slow without it", "sleep 60"),
    ):
        text += f'[[mistake]]\nfile = "python/warmset/loop/__init__.py"\nwhat = "{what}"\n'
        text += f'find = "steps = steps - 1"\nmake = "steps = steps + 1"\nrun = "{run}"\n'
    (Tree(root).lists / "scale.toml").write_text(text, encoding="utf-8")
    _code, made = ran(root, "--by-hand", "--timeout", "1")
    assert outcomes(made) == {"without end": "timeout", "also slow without it": "broken"}
    assert made["rooms"]["loop"]["score"] == 1.0


def test_equivalent_mutants_are_left_out_and_entries_without_a_mutant_reported(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = '[[equivalent]]\nfile = "python/warmset/scale/sizes.py"\nreason = "a + 1 or a - 1"\n'
    entry += 'operator = "ReplaceBinaryOperator_Add_Sub"\n'
    path = Tree(root).equivalents
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f'{entry}line = "return a + 1"\n{entry}line = "return a + 2"\n'
    path.write_text(text, encoding="utf-8")
    source = root / "python/warmset/scale/sizes.py"
    source.write_text("\n" + SOURCE.replace("return a + 1", "return  a + 1"), encoding="utf-8")
    commit(root)
    source.write_text("\n\n" + SOURCE, encoding="utf-8")  # changed, and moved
    code, made = ran(root, "--changed", "HEAD", "--language", "python", "--no-record")
    seen = {one["operator"]: one["outcome"] for one in made["mutants"] if one["line"] == 25}
    assert seen["ReplaceBinaryOperator_Add_Sub"] == "equivalent"
    assert [one[2] for one in made["unmatched"]] == ["return a + 2"]
    assert code == 1
    assert "unmatched" in capsys.readouterr().out
    assert made["rooms"]["scale"]["equivalent"] == 1


def test_results_are_saved_by_room_with_what_they_belong_to(root: Path) -> None:
    listed(root)
    shell = "room = 'loop'\nrun = 'grep -q steps.-.1 python/warmset/loop/__init__.py'\n"
    shell += '[[mistake]]\nfile = "python/warmset/loop/__init__.py"\nwhat = "without end"\n'
    shell += 'find = "steps = steps - 1"\nmake = "steps = steps + 1"\n'
    (Tree(root).lists / "loop.toml").write_text(shell, encoding="utf-8")
    commit(root)

    def saved(room: str) -> tuple[dict[str, Any], str]:
        ran(root, "--by-hand", room, "--save")
        text = (root / "benches/results/mutants-by-hand.json").read_text(encoding="utf-8")
        assert str(root) not in text
        said: dict[str, Any] = json.loads(text)
        return said, git(root, "rev-parse", "HEAD")

    said, _head = saved("loop")
    assert (said["all"]["found"], said["all"]["score"]) == (1, 1.0)
    said, first = saved("scale")
    row = said["rooms"]["scale"]
    names = {"commit", "changed", "date", "python", "command"}
    assert names <= set(row)
    assert (row["found"], row["lived"], row["score"]) == (2, 1, 0.6667)
    assert (row["commit"], row["changed"]) == (first, False)
    commit(root, "--allow-empty")
    said, second = saved("loop")
    assert first != second
    commits = {room: row["commit"] for room, row in said["rooms"].items()}
    assert commits == {"loop": second, "scale": first}, "what is not tried again stays"
    assert (said["all"]["found"], said["all"]["lived"], said["all"]["score"]) == (3, 1, 0.75)
    code = main(["--by-hand", "scale", "-k", "fit", "--save"], root)
    assert code == 2, "a part of a room is not that room"


def test_what_cannot_be_run_says_why(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed(root)
    for arguments, said in [
        ([], "say one of"),
        (["--by-hand", "--sample", "3"], "say one of"),
        (["--by-hand", "no"], "no list of no; there are lists of: scale"),
        (["--sample", "3", "no"], "no room no"),
        (["--changed", "no-such-revision"], "no-such-revision"),
        (["--record", "tests/python/no"], "no folder of tests"),
        (["--sample", "3", "--language", "both"], "of one language"),
    ]:
        assert main(arguments, root) == 2
        assert said in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_ends_it_and_leaves_nothing(root: Path, tmp_path: Path) -> None:
    listed(root)
    before = state(root)
    place = tmp_path / "temporary"
    place.mkdir()
    started = tmp_path / "started"
    text = LIST.replace("tests/python/scale", "tests/python/slow").replace("grep", "true")
    (Tree(root).lists / "scale.toml").write_text(text, encoding="utf-8")
    slow = root / "tests/python/slow/test_slow.py"
    slow.parent.mkdir()
    slow.write_text(
        "import os, pathlib, time\n\n\ndef test_it():\n"
        f"    pathlib.Path({str(started)!r}).write_text(str(os.getpid()))\n    time.sleep(600)\n",
        encoding="utf-8",
    )
    before = state(root)
    code = "import sys; from pathlib import Path; from tests.mutants.command import main\n"
    code += f"sys.exit(main(['--by-hand'], Path({str(root)!r})))"
    env = {**os.environ, "TMPDIR": str(place)}
    process = subprocess.Popen(  # noqa: S603 - our own
        [sys.executable, "-c", code], cwd=REPOSITORY, env=env, stdout=subprocess.PIPE, text=True
    )
    wait_for(lambda: started.exists() and started.read_text(encoding="utf-8") != "")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in said
    assert not list(place.iterdir())
    assert state(root) == before
    wait_for(lambda: not alive(int(started.read_text(encoding="utf-8"))))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text(encoding="utf-8").split(") ")[1][0] == "Z")


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_lists_of_this_repository_can_be_read() -> None:
    tree = Tree(Path(__file__).parents[3])
    listed = mistakes(tree)
    assert {one.room for one in listed} >= {"route", "items", "window", "rust_hot"}
    gone = [f"{one.file}: {one.what}" for one in listed if not (tree.root / one.file).is_file()]
    assert gone == []
