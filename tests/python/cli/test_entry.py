"""The command: exit codes, one line for an error, quiet ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from warmset.cli import app, entry
from warmset.lab.demo.run import Options

FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"
MAIN = "from warmset.cli import main; main()"
QUIET = {"PYTHONWARNINGS": "ignore"}  # a debug build of the core warns at import


def start(*tokens, code=MAIN, **environment):
    return subprocess.Popen(  # noqa: S603 - this interpreter with our own code
        [sys.executable, "-c", code, *tokens],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={k: v for k, v in os.environ.items() if k != "FORCE_COLOR"} | QUIET | environment,
    )


def call(*tokens, code=MAIN, **environment):
    with start(*tokens, code=code, **environment) as process:
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def test_version():
    assert call("--version") == (0, f"{metadata.version('warmset')}\n", "")


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "warmset", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == call("--version")[:2]
    assert done.returncode == 0
    assert metadata.version("warmset") in done.stdout


def test_help_lists_the_commands(capsys):
    assert app.run(["--help"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\bdemo\b", out)
    assert re.search(r"\bmodel +The local embedding model", out)
    assert app.run([]) == 0
    assert capsys.readouterr().out == out


def test_the_list_of_commands_says_what_their_own_pages_begin_with(capsys):
    for name, (_, line) in app.COMMANDS.items():
        assert app.run([name, "--help"]) == 0
        page = " ".join(capsys.readouterr().out.replace("\u2502", " ").split())
        assert line in page, name


def test_the_list_of_commands_imports_none_of_them():
    code = "import sys; from warmset.cli.app import run; run(['--help']); print({m for m in "
    code += (
        "('warmset.lab', 'warmset.memory', 'warmset.maintenance', 'numpy') if m in sys.modules})"
    )
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_every_option_reaches_the_demo(monkeypatch):
    seen = []
    monkeypatch.setattr("warmset.cli.demo.run_demo", seen.append)
    line = "demo --file a.json --query one two --budget 9 --conversation c --limit 3 --json"
    assert app.run([*line.split(), "--store", "s", "--words-only"]) == 0
    assert app.run(["demo", "--embedder", "static"]) == 0
    assert seen == [
        Options(
            file=Path("a.json"),
            queries=["one", "two"],
            budget=9,
            conversation="c",
            limit=3,
            as_json=True,
            store=Path("s"),
            words_only=True,
        ),
        Options(embedder="static"),
    ]


def test_the_demo_runs_as_a_command():
    code, out, err = call("demo", "--words-only", "--json", "--limit", "1")
    assert (code, err) == (0, "")
    assert json.loads(out)["conversation"]["messages"] == 467


@pytest.mark.parametrize(
    ("tokens", "code", "told"),
    [
        (["demo", "--file", "none.json"], 1, "none.json: No such file"),
        (["demo", "--words-only", "--budget", "9"], 1, "what must stay needs"),
        (["demo", "--budget", "0"], 1, "budget: expected at least 1"),
        (["demo", "--budget", "much"], 2, "--budget"),
        (["demo", "--nonsense"], 2, "--nonsense"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_an_error_is_one_line(capsys, tokens, code, told):
    assert app.run(tokens) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert told in err
    assert err.count("\n") == 1
    assert "\x1b" not in err


def test_an_error_is_red_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert app.run(["demo", "--budget", "0"]) == 1
    assert "\x1b[31merror: " in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    assert app.run(["demo", "--budget", "0"]) == 1
    assert "\x1b[31m" not in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["0", "00", "1", "-1", "", "x"])
def test_an_error_is_told_however_wide_the_terminal_says_it_is(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert app.run(["route", "t", "--memory", "nowhere", "--query", "q"]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_the_exit_code_is_that_of_the_command(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["warmset", "demo", "--budget", "0"])
    with pytest.raises(SystemExit) as caught:
        entry.main()
    assert caught.value.code == 1


@pytest.mark.parametrize("module", ["cyclopts", "rich"])
def test_without_the_extra_one_line_says_how_to_get_it(module):
    code = f"import sys; sys.modules[{module!r}] = None; {MAIN}"
    code, out, err = call("demo", code=code)
    assert (code, out) == (2, "")
    assert re.fullmatch(
        rf'error: {module}[\w.]* is not installed; run: pip install "warmset\[local\]"\n', err
    )


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers"])
def test_without_the_models_packages_likewise(module):
    hide = (
        "import importlib.util as util; real = util.find_spec;"
        f"util.find_spec = lambda name, *rest: None if name == {module!r} else real(name, *rest);"
    )
    code, out, err = call("demo", code=hide + MAIN)
    assert (code, out) == (2, "")
    assert err == f'error: {module} is not installed; run: pip install "warmset[local]"\n'


def test_nothing_else_needs_the_extra():
    code = "import sys; sys.modules['rich'] = sys.modules['cyclopts'] = None; import warmset"
    assert call(code=code) == (0, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals to one process")
def test_ctrl_c_is_quiet():
    wait = (
        "import time; from warmset.cli import demo;"
        "demo.run_demo = lambda _: (print('now', flush=True), time.sleep(60));"
    )
    with start("demo", code=wait + MAIN) as process:
        assert process.stdout.readline() == "now\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_error(more):
    with start("demo", "--words-only", *more) as process:
        process.stdout.close()
        err = process.stderr.read()
        process.wait(timeout=60)
    assert (process.returncode, err) == (1, "")


def test_a_terminal_that_cannot_say_it_gets_what_it_can():
    file = str(FIXTURES / "openai.jsonl")
    code, out, err = call(
        "demo",
        "--words-only",
        "--file",
        file,
        "--query",
        "\u00e9t\u00e9 \u2192 \U0001f9ed?",
        PYTHONIOENCODING="ascii",
        PYTHONUTF8="0",
    )
    assert (code, err) == (0, "")
    assert 'The window for "?t? ? ??"' in out
    assert out.isascii()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    ("where", "ends"), [("sys.stdout = open('/dev/full', 'w')", 1), ("sys.stdout = None", 0)]
)
def test_an_output_that_takes_nothing_ends_quietly(where, ends):
    file = str(FIXTURES / "openai.jsonl")
    code = f"import os, sys; {where}; {MAIN}"
    code, out, err = call("compact", file, "--words-only", "--json", code=code)
    assert (code, out) == (ends, "")
    assert err == ("error: the output cannot be written: No space left on device\n" * ends)


def test_a_file_that_cannot_be_used_is_named(capsys, monkeypatch):
    def fail(*_tokens, **_options):
        raise PermissionError(13, "Permission denied", "/kept/store")

    monkeypatch.setattr(app, "application", lambda _tokens: fail)
    assert app.run(["demo"]) == 1
    assert capsys.readouterr().err == "error: /kept/store: Permission denied\n"


def test_a_turn_of_a_demo_is_no_order_to_the_terminal(tmp_path):
    file = tmp_path / "talk.json"
    said = [
        {"role": "user", "content": f"lemon {at} \x1b[31m\x07 " + "pad " * 90} for at in range(40)
    ]
    file.write_text(json.dumps([*said, {"role": "user", "content": "lemon 7 \x1b[2J?"}]))
    code, out, _ = call("demo", "--words-only", "--file", str(file))
    assert code == 0
    assert "lemon 7" in out
    assert not set(out) & {"\x1b", "\x07"}
