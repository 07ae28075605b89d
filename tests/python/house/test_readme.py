"""The README says what is true: its example runs, its commands are those that CI runs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from warmset import Memory

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.usefixtures("weights")
def test_the_example_runs_and_finds_what_it_says(tmp_path: Path) -> None:
    example = _blocks("python")[0]
    assert len(example.strip().splitlines()) <= 12
    run = subprocess.run(  # noqa: S603 - our own example
        [sys.executable, "-W", "ignore", "-c", example],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    sent, _, whole, *_, found = run.stdout.split()
    assert found == "True"
    assert int(sent) <= 1500 < int(whole)


def test_the_example_of_an_index_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = [block for block in _blocks("python") if "HotIndex(" in block]
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((50, 384)).astype(np.float16)
    given = {
        "ids": range(50),
        "vectors": vectors,
        "conversations": [at % 10 for at in range(50)],
        "times": range(50),
        "query": vectors[27],
    }
    monkeypatch.chdir(tmp_path)
    exec(example, given)  # noqa: S102 - our own example
    assert given["ids"].tolist()[0] == 27
    assert sorted(given["ids"].tolist()) == [7, 17, 27, 37, 47]
    assert len(given["index"]) == 50


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    commands = [line for block in _blocks("sh") for line in block.strip().splitlines()]
    assert 'pip install ".[local]" && warmset demo' in commands
    assert 'pip install ".[dev]" && poe check' in commands
    assert "poe check" in (ROOT / ".ci" / "run").read_text()


def test_every_extra_that_is_named_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"])
    assert set(re.findall(r'"\.\[(\w+)\]"', README)) <= extras
    code = "".join(path.read_text() for path in (ROOT / "python").rglob("*.py"))
    assert set(re.findall(r'extra\("(\w+)"\)', code)) <= extras


def test_no_placeholder_is_left() -> None:
    assert "@@" not in README


def test_the_example_of_a_compaction_runs() -> None:
    (example,) = [block for block in _blocks("python") if "compact_context(" in block]
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": f"part {at} " * 20} for at in range(30)]
    with Memory.open(None, embedder="lexical") as memory:
        given = {"messages": messages, "memory": memory}
        exec(example, given)  # noqa: S102 - our own example
        assert memory.memories(query="which port")[0].text == "staging listens on port 8443"
        assert given["made"].stats.dropped == len(memory.memories(k=99)) - 1 > 5
