"""``--json`` on every command, for answers and errors; narrow terminals; completion."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from warmset import Memory, compact_context
from warmset.cli import app

LINES = [{"role": "user", "content": f"turn {n} about the ferry"} for n in range(12)]
OTHER = {"bench", "completion", "eval", "mcp", "rpc", "unwrap", "wrap"}
"""Commands whose output is a script, whose --json names a file, or whose output is JSON anyway."""


@pytest.fixture
def store(tmp_path):
    with Memory.open(tmp_path / "store", embedder="lexical") as memory:
        memory.conversation("talk").append(LINES)
    return str(tmp_path / "store")


@pytest.fixture
def transcript(tmp_path):
    (tmp_path / "list.json").write_text(json.dumps(LINES))
    return str(tmp_path / "list.json")


def call(*tokens, columns=80):
    return subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-W", "ignore", "-m", "warmset", *tokens],
        env={**os.environ, "COLUMNS": str(columns)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def answer(capsys, *tokens, code=0):
    """Run a command with --json; standard output is one document, whatever it says."""
    assert app.run([*tokens, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_every_command_answers_in_json(store, transcript, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # not the settings of who runs this
    out = str(tmp_path / "out.jsonl")
    found = {
        "doctor": answer(capsys, "doctor", store),
        "verify": answer(capsys, "verify", store),
        "history": answer(capsys, "history", store),
        "compact": answer(capsys, "compact", transcript, "--words-only"),
        "lint": answer(capsys, "lint", transcript, transcript),
        "route": answer(capsys, "route", "--records", "--memory", store),
        "demo": answer(capsys, "demo", "--words-only", "--limit", "1"),
        "export": answer(capsys, "export", store, "--out", out),
        "import": answer(capsys, "import", out, "--memory", str(tmp_path / "other")),
        "erase": answer(capsys, "erase", store, "--conversation", "talk", "--yes"),
        "model": answer(capsys, "model", "path"),
        "hooks": answer(capsys, "hooks", "status", "--memory", store),
        "serve": answer(capsys, "serve", "alias", "--memory", store, "--new-key-file", transcript),
    }
    assert found.keys() | OTHER == app.COMMANDS.keys()
    assert found["export"]["records"] == found["import"]["records"] == len(LINES)
    assert found["export"]["out"] == out
    assert found["erase"]["records"] == len(LINES)
    assert (found["erase"]["compacted"], found["erase"]["files"]) == (True, 1)
    assert found["erase"]["bytes"] > 0
    assert found["model"]["directory"].endswith("all-MiniLM-L6-v2")


def test_an_export_to_standard_output_cannot_be_described_there(store, capsys):
    found = answer(capsys, "export", store, code=1)
    assert "--out" in found["error"]["message"]


def test_an_erasure_without_compaction_says_so_in_json(store, capsys):
    found = answer(capsys, "erase", store, "--conversation", "talk", "--yes", "--no-compact")
    assert (found["compacted"], found["files"], found["bytes"]) == (False, 0, 0)


@pytest.mark.usefixtures("weights")
def test_the_model_is_verified_in_json(capsys):
    found = answer(capsys, "model", "verify")
    assert found["ok"] is True
    assert found["least"] == pytest.approx(min(found["cosines"]), abs=1e-6)
    assert found["least"] >= found["needed"]
    found = answer(capsys, "model", "pull")
    assert found["file"].endswith(".onnx")


@pytest.mark.parametrize(
    ("tokens", "kind", "code"),
    [
        (["doctor", "{none}"], "NotAStore", 1),
        (["verify", "{none}"], "NotAStore", 1),
        (["history", "{none}"], "NotAStore", 1),
        (["export", "{none}", "--out", "{none}.jsonl"], "NotAStore", 1),
        (["import", "{none}", "--memory", "{store}"], "InvalidInputError", 1),
        (["erase", "{store}", "--conversation", "none", "--yes"], "NotFound", 1),
        (["erase", "{store}", "--conversation", "talk"], "InvalidInputError", 1),
        (["compact", "{none}"], "InvalidInputError", 1),
        (["demo", "--budget", "0"], "InvalidInputError", 1),
        (["doctor"], "MissingArgumentError", 2),
        (["model", "pth"], "UnknownCommandError", 2),
        (["dmo"], "UnknownCommandError", 2),
    ],
)
def test_errors_are_json_too(tokens, kind, code, store, tmp_path, capsys, monkeypatch):
    none = str(tmp_path / "none")
    words = [word.format(none=none, store=store) for word in tokens]
    found = answer(capsys, *words, code=code)
    assert found["code"] == code
    assert found["error"]["message"]
    assert found["error"]["type"] == kind, found
    monkeypatch.setattr("builtins.input", lambda _question: "no")
    app.run(words)
    assert not capsys.readouterr().out.startswith('{"error"'), "without --json there is none"


@pytest.mark.parametrize(
    "tokens", [["eval", "locomo", "none", "--json", "out.json"], ["rpc", "--json"]]
)
def test_where_json_means_something_else_an_error_is_not_printed_as_json(tokens, tmp_path, capsys):
    assert app.run([word.replace("none", str(tmp_path / "none")) for word in tokens]) != 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")


def test_what_is_not_a_command_names_those_that_are(capsys):
    assert app.run(["dmo"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "no command 'dmo', did you mean 'demo'? Commands: " in error
    assert error.split("Commands: ")[1].split(", ") == sorted(app.COMMANDS)
    assert app.run(["model", "xyz"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert error == "error: warmset model has no command 'xyz'. Commands: path, pull, verify"


@pytest.mark.parametrize("tokens", [[name] for name in app.COMMANDS] + [[]])
def test_help_fits_a_narrow_terminal(tokens):
    done = call(*tokens, "--help", columns=40)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 40


def test_a_narrow_terminal_cuts_no_id(store, transcript):
    with Memory.open(store, embedder="lexical") as memory:
        for _ in range(3):
            compact_context(LINES, memory=memory, query="ferry")
    lines = [
        ["demo", "--words-only", "--limit", "2"],
        ["doctor", store],
        ["verify", store],
        ["history", store],
        ["compact", transcript, "--words-only"],
    ]
    for tokens in lines:
        wide, narrow = call(*tokens, columns=200), call(*tokens, columns=40)
        assert (wide.returncode, narrow.returncode) == (0, 0), narrow.stderr
        ids = [re.findall(r"^ *#?\d+ ", one.stdout, re.MULTILINE) for one in (wide, narrow)]
        assert [one.strip() for one in ids[0]] == [one.strip() for one in ids[1]], tokens
        assert len(ids[0]) >= {"demo": 5, "history": 3, "compact": 5}.get(tokens[0], 0)
        if tokens[0] == "demo":
            for word in ("full", "recency", "plain BM25", "jit", "100.0%"):
                assert re.search(word, narrow.stdout), word


def test_bash_completes_commands_and_options(capsys, tmp_path):
    assert app.run(["completion", "bash"]) == 0
    script = tmp_path / "complete.bash"
    script.write_text(capsys.readouterr().out)
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")

    def completes(*words):
        line = " ".join(words)
        given = " ".join(f"'{word}'" for word in words)
        code = f"""
            source {script}
            COMP_WORDS=({given}) COMP_CWORD={len(words) - 1}
            COMP_LINE='{line}' COMP_POINT={len(line)}
            name=$(complete -p warmset | sed 's/.*-F \\([^ ]*\\).*/\\1/')
            $name warmset '{words[-1]}' '{words[-2]}'
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = subprocess.run(  # noqa: S603 - fixed
            [bash, "-c", code], capture_output=True, text=True, check=True
        )
        return set(done.stdout.split())

    assert set(app.COMMANDS) <= completes("warmset", "")
    assert completes("warmset", "de") == {"demo"}
    assert {"path", "pull", "verify"} <= completes("warmset", "model", "")
    assert {"--words-only", "--json"} <= completes("warmset", "demo", "--")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_is_valid_and_has_all_commands(shell, capsys, tmp_path):
    assert app.run(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name in (*app.COMMANDS, "--words-only", "--key-file", "longmemeval"):
        assert name.lstrip("-") in script, name
    (tmp_path / "script").write_text(script)
    if (found := shutil.which(shell)) is not None:
        checked = subprocess.run(  # noqa: S603 - fixed
            [found, "-n", str(tmp_path / "script")], capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")
