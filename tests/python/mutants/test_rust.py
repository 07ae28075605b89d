"""Mutants of the core through cargo-mutants, on a crate of one function."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.mutants.command import main

if TYPE_CHECKING:
    from pathlib import Path

CRATE = """\
[package]
name = "warmset-core"
version = "0.1.0"
edition = "2021"

[[test]]
name = "pack"
path = "../../tests/rust/pack/main.rs"
"""
SOURCE = """\
/// Whether it fits.
pub fn fits(size: u64, budget: u64) -> bool {
    size < budget
}
"""
PAIR = """\\
/// Two numbers; a mutant that leaves one of them out passes every filter by name.
#[derive(Default)]
pub struct Pair {
    /// One.
    pub one: u64,
    /// Another.
    pub other: u64,
}

/// Both alike.
pub fn twice(one: u64) -> Pair {
    Pair { one, ..Default::default() }
}
"""
TESTS = """\
#[test]
fn fits() {
    assert!(warmset_core::pack::fits(1, 3));
    assert!(!warmset_core::pack::fits(4, 3));
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with the core's layout: one stage and its test."""
    place = tmp_path / "repository"
    files = {
        "Cargo.toml": '[workspace]\nresolver = "2"\nmembers = ["rust/core"]\n',
        "rust/core/Cargo.toml": CRATE,
        "rust/core/src/lib.rs": "//! A crate.\npub mod pack;\n",
        "rust/core/src/pack/mod.rs": SOURCE,
        "tests/rust/pack/main.rs": TESTS,
        "python/warmset/__init__.py": "",
        "python/warmset/_core.so": "",
        ".gitignore": "/target/\n*.so\n",
    }
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for command in ("git init -q", "git add -A"):
        subprocess.run(command.split(), cwd=place, check=True)  # noqa: S603 - our own
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *who, "commit", "-q", "-m", "As it is"]
    subprocess.run(command, cwd=place, check=True)  # noqa: S603 - our own
    return place


def made_of(made: dict[str, Any], one: dict[str, Any]) -> str:
    """What came of the same mutant in another run."""
    same = (one["operator"], one["line"])
    found = [o["outcome"] for o in made["mutants"] if (o["operator"], o["line"]) == same]
    return str(found[0])


@pytest.mark.skipif(
    not (shutil.which("cargo") and shutil.which("cargo-mutants")),
    reason="cargo install --locked cargo-mutants",
)
def test_a_stage_is_tried_with_its_tests(root: Path) -> None:
    source = root / "rust/core/src/pack/mod.rs"
    source.write_text(SOURCE.replace("size < budget", "size <= budget"), encoding="utf-8")
    out = root.parent / "out.json"
    code = main(["--changed", "HEAD", "--language", "rust", "--json", str(out)], root)
    made: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    outcomes = {one["operator"]: one["outcome"] for one in made["mutants"]}
    assert outcomes.pop("replace <= with > in fits") == "found"
    assert outcomes.pop("replace fits -> bool with true") == "found"
    assert outcomes.pop("replace fits -> bool with false") == "found"
    assert code == 0
    assert made["rooms"]["rust/pack"]["lived"] == list(outcomes.values()).count("lived")
    main(["--sample", "1", "--language", "rust", "--json", str(out), "rust/pack"], root)
    [one] = json.loads(out.read_text(encoding="utf-8"))["mutants"]
    assert (one["file"], one["outcome"]) == ("rust/core/src/pack/mod.rs", made_of(made, one))


def test_without_cargo_mutants_it_says_how_to_install_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert main(["--sample", "1", "--language", "rust"], root) == 2
    assert "cargo install --locked cargo-mutants" in capsys.readouterr().out
