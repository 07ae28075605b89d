"""The pytest plugin: five lines that test a trimmer, and nothing for whoever uses none of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import warmset

ROOT = Path(__file__).resolve().parents[3]
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

FIVE_LINES = """
import pytest

@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_trim(check_trimmer, dialect):
    check_trimmer(trim, dialect)
"""
CUTS = "def trim(messages, budget):\n    return messages[-3:]\n" + FIVE_LINES
FITS = """
from warmset import fit

def trim(messages, budget):
    return fit(messages, budget=budget)
"""
APPENDS = """
def said(*texts):
    return [{"role": "user", "content": text} for text in texts]

def test_grows(check_append_only):
    check_append_only([said("a"), said("a", "b")], model="gpt-5")

def test_changes(check_append_only):
    check_append_only([said("a"), said("b")])

def test_changes_once(check_append_only):
    check_append_only([said("a"), said("b")], allow=1)
"""
OTHERS = """
import sys

def test_nothing_is_imported():
    heavy = ("warmset._core", "warmset.testing", "warmset.messages", "numpy")
    assert "warmset.pytest_plugin" in sys.modules
    assert not [one for one in heavy if one in sys.modules]
"""


@pytest.fixture
def run(tmp_path):
    """Run pytest on a file as a user has it, with warmset installed as pip installs it.

    The other plugins that are installed here are left out, as they take seconds, if not asked for.
    """
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    info = tmp_path / "site" / "plugin-0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 0\n")
    lines = [f"{name} = {place}" for name, place in entry["pytest11"].items()]
    info.joinpath("entry_points.txt").write_text("\n".join(["[pytest11]", *lines]) + "\n")

    def run(code, *options, others=False):
        (tmp_path / "test_it.py").write_text(code)
        (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -W error\n")
        path = os.pathsep.join([str(tmp_path / "site"), str(Path(warmset.__file__).parents[1])])
        done = subprocess.run(  # noqa: S603 - fixed
            [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                *(["-p", "no:asyncio"] if others else ["-p", "warmset"]),
                *options,
                "test_it.py",
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, **({} if others else ALONE)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_five_lines_find_what_a_trimmer_breaks(run):
    code, out = run(CUTS)
    assert code == 1
    assert "2 failed" in out
    assert "invariants do not hold in anthropic: " in out
    assert "keeps_units_whole: messages [" in out
    assert "  given 0: {" in out
    assert "Traceback" not in out
    assert "check_evictor(" not in out, "only what was found"


def test_a_trimmer_that_keeps_all_of_it_passes(run):
    code, out = run(FITS + FIVE_LINES, "--trimmer-examples", "10")
    assert (code, "2 passed" in out) == (0, True), out


def test_the_options_choose_the_conversations(run):
    seeds = """
def test_trim(check_trimmer):
    from warmset.testing import random_history
    given = []
    def trim(messages, budget):
        given.append(messages[0])
        return messages
    check_trimmer(trim, invariants=())
    assert len({str(one) for one in given}) == 3
    assert given[0] == random_history(40, "openai").messages[0]
    check_trimmer(trim, examples=0, seed=5, invariants=())
"""
    code, out = run(seeds, "--trimmer-examples", "3", "--trimmer-seed", "40")
    assert (code, "1 passed" in out) == (0, True), out


def test_requests_that_change_what_stood_before_fail_with_the_place(run):
    code, out = run(APPENDS)
    assert code == 1
    assert "1 failed, 2 passed" in out
    assert "1 of 1 requests changed what stood before" in out
    assert "messages[0]" in out


def test_whoever_uses_none_of_it_imports_none_of_it(run):
    code, out = run(OTHERS, others=True)
    assert (code, "1 passed" in out) == (0, True), out
