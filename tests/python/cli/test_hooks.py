"""``warmset hooks`` and ``warmset wrap``: what they ask, write, print and run."""

from __future__ import annotations

import builtins
import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hook_sessions import Agent, environ_without_home

from warmset import Memory
from warmset.cli.app import run
from warmset.cli.hooks import agreed
from warmset.serve.hooks import failures

SHOWS = """#!{python}
import json, os, sys
names = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "WARMSET_WRAPPED")
urls = {{name: os.environ.get(name) for name in names}}
out = {{"argv": sys.argv[1:], **urls}}
if urls["WARMSET_WRAPPED"]:
    import urllib.request
    at = urls["OPENAI_BASE_URL"].removesuffix("/v1") + "/warmset/health"
    try:
        urllib.request.urlopen(at, timeout=10)
    except urllib.error.HTTPError as error:
        out["status"] = error.code
    else:
        out["status"] = 200
open({out!r}, "w").write(json.dumps(out))
sys.exit(7)
"""
"""An agent that writes down how it was run, and ends with 7."""


@pytest.fixture
def home(tmp_path, monkeypatch):
    environ = environ_without_home(tmp_path)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", environ["HOME"])
    monkeypatch.chdir(tmp_path)
    return Path(environ["HOME"])


@pytest.fixture
def agents(tmp_path, monkeypatch):
    """Programs named claude, codex and aider."""
    folder, out = tmp_path / "bin", tmp_path / "ran.json"
    folder.mkdir()
    for name in ("claude", "codex", "aider"):
        program = folder / name
        program.write_text(SHOWS.format(python=sys.executable, out=str(out)))
        program.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return out


@pytest.fixture
def call(capsys):
    def call(*tokens):
        code = run(tokens)
        return code, *capsys.readouterr()

    return call


def says(monkeypatch, answer):
    def said(question):
        print(question)
        return answer

    monkeypatch.setattr(builtins, "input", said)


def tree(home):
    return {one: one.read_bytes() for one in home.rglob("*") if one.is_file()}


def test_hooks_are_shown_and_installed_once_agreed(home, call, monkeypatch):
    says(monkeypatch, "n")
    code, out, _ = call("hooks", "install", "claude-code", "--memory", "store")
    assert code == 1
    assert f'"command": "{sys.executable} -I -S ' in out
    assert "install these hooks? [y/N]" in out
    assert tree(home) == {}
    assert not Path("store").exists()
    says(monkeypatch, "y")
    code, out, _ = call("hooks", "install", "claude-code", "--memory", "store")
    assert code == 0
    assert "undo it with: warmset hooks uninstall claude-code" in out
    code, out, _ = call("hooks", "install", "claude-code", "--memory", "store")
    assert code == 0
    assert "has these hooks already" in out
    assert "[y/N]" not in out
    code, out, _ = call("hooks", "status")
    assert code == 0
    assert "claude-code (user): 6 events in " in out
    assert "0 jobs wait; 0 failures in the last 24 hours" in out
    code, out, _ = call("hooks", "uninstall", "claude-code")
    assert code == 0
    assert tree(home) == {}
    code, out, _ = call("hooks", "uninstall", "claude-code", "--yes")
    assert (code, "has no hooks of warmset" in out) == (0, True)
    code, out, _ = call("hooks", "status")
    assert (code, "no hooks are installed" in out) == (0, True)


def test_nobody_there_to_be_asked_is_an_error(home, call, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    code, _, err = call("hooks", "install", "codex", "--memory", "store")
    assert code == 1
    assert "give --yes" in err
    assert tree(home) == {}


def test_codex_is_told_to_trust_its_hooks(home, call):
    code, out, _ = call("hooks", "install", "codex", "--memory", "store", "--yes")
    assert code == 0
    assert "open /hooks in Codex" in out
    assert (home / ".codex/hooks.json").exists()


def test_an_installed_hook_runs_as_it_is_written(home, call):
    call("hooks", "install", "claude-code", "--memory", "my store", "--yes")
    made = json.loads((home / ".claude/settings.json").read_text())
    command = made["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    done = subprocess.run(  # noqa: S602 - as the host does
        command, shell=True, input=b"no JSON", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    code, out, _ = call("hooks", "status")
    assert code == 1
    assert "BadInputError: the input is no JSON" in out
    code, out, _ = call("hooks", "status", "--json")
    [store] = json.loads(out)["stores"]
    assert store["failures"][0]["what"] == "BadInputError: the input is no JSON"
    assert store["recent"] == 1
    code, out, _ = call("doctor", "my store")
    assert code == 0
    assert "hooks: 1 failures are kept; the last, " in out
    assert "claude-code SessionEnd: BadInputError: the input is no JSON" in out
    code, out, _ = call("doctor", "my store", "--json")
    assert json.loads(out)["hook_failures"][0]["event"] == "SessionEnd"


def test_status_says_what_is_broken(home, call):
    call("hooks", "install", "claude-code", "--memory", "store", "--yes")
    file = home / ".claude/settings.json"
    file.write_text(file.read_text().replace("/hooks/entry.py", "/gone/hooks/entry.py"))
    file.write_text(file.read_text().replace("serve/gone/", "serve/").replace("python", "pyth0n"))
    code, out, _ = call("hooks", "status")
    assert code == 1
    assert "is not there any more; install the hooks again" in out
    file.write_text("{")
    code, out, _ = call("hooks", "status")
    assert code == 1
    assert "is no valid JSON" in out


def test_an_encrypted_store_gets_no_hooks(home, call, tmp_path):
    with Memory.open(tmp_path / "store", embedder="lexical", encryption="keys") as memory:
        memory.conversation("a").append({"role": "user", "content": "secret"})
    code, _, err = call("hooks", "install", "claude-code", "--memory", "store", "--yes")
    assert code == 1
    assert "is encrypted" in err
    assert tree(home) == {}


# --- wrap ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["claude", "codex"])
def test_an_agent_runs_behind_the_proxy_and_gives_everything_back(home, call, agents, program):
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text('model = "gpt-5.4"  # mine')
    (home / ".claude.json").write_text('{"numStartups": 3}')
    before = tree(home)
    code, out, _ = call("wrap", program, "--memory", "store", "--yes", "--", "--resume", "x")
    assert code == 7
    assert "-P" in out  # the MCP server is shown
    ran = json.loads(agents.read_text())
    assert ran["argv"][-2:] == ["--resume", "x"]
    assert ran["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
    assert ran["OPENAI_BASE_URL"] == ran["ANTHROPIC_BASE_URL"] + "/v1"
    assert ran["WARMSET_WRAPPED"] == "1"
    assert ran["status"]  # something answers there
    if program == "codex":
        assert ran["argv"][:2] == ["-c", f'openai_base_url="{ran["OPENAI_BASE_URL"]}"']
    assert len(tree(home)) >= 2
    agents.unlink()
    code, out, _ = call("wrap", program, "--no-proxy")  # the store is that of the hooks
    assert code == 7
    assert "[y/N]" not in out
    assert json.loads(agents.read_text())["WARMSET_WRAPPED"] is None
    code, _, _ = call("unwrap", program, "--yes")
    assert code == 0
    assert tree(home) == before
    code, out, _ = call("unwrap", program, "--yes")
    assert (code, "there is nothing of warmset" in out) == (0, True)


def test_any_other_agent_gets_the_proxy_alone(home, call, agents):
    assert call("wrap", "aider", "--memory", "store", "--", "--model", "x")[0] == 7
    assert json.loads(agents.read_text())["WARMSET_WRAPPED"] == "1"
    assert tree(home) == {}
    code, _, err = call("unwrap", "aider")
    assert (code, "changes no settings" in err) == (1, True)


@pytest.mark.usefixtures("home")
def test_without_a_proxy_the_agent_runs_all_the_same(call, agents, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "file:///nowhere")  # the proxy refuses such an upstream
    code, _, err = call("wrap", "claude", "--memory", "store", "--yes")
    assert code == 7
    assert "the proxy did not come up, the agent runs without it" in err
    ran = json.loads(agents.read_text())
    assert (ran["OPENAI_BASE_URL"], ran["WARMSET_WRAPPED"]) == ("file:///nowhere", None)


def test_an_agent_that_is_not_installed_changes_nothing(home, call, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = call("wrap", "claude", "--memory", "store", "--yes")
    assert (code, "claude is not installed" in err) == (1, True)
    assert tree(home) == {}
    code, _, err = call("wrap", "claude", "--no-run", "--yes")
    assert (code, "--memory" in err) == (1, True)
    code, _, _ = call("wrap", "claude", "--no-run", "--yes", "--memory", "store")
    assert code == 0
    assert len(tree(home)) == 2


@pytest.mark.usefixtures("home")
def test_signals_are_the_agents(tmp_path):
    """Ctrl-C leaves the wrapper alone; SIGTERM reaches the agent, and the proxy ends with it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    agent = folder / "aider"
    agent.write_text(
        f"#!{sys.executable}\nimport os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "signal.sigwait({signal.SIGTERM})\nsys.exit(9)\n"
    )
    agent.chmod(stat.S_IRWXU)
    command = [sys.executable, "-m", "warmset", "wrap", "aider", "--memory", "store"]
    environ = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    made = subprocess.Popen(command, env=environ)  # noqa: S603 - our own command
    try:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert made.poll() is None
            time.sleep(0.01)
        made.send_signal(signal.SIGINT)
        made.send_signal(signal.SIGTERM)
        assert made.wait(60) == 9
    finally:
        made.kill()
        made.wait()
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.usefixtures("home")
def test_failures_of_a_store_are_told(tmp_path, call):
    agent = Agent(tmp_path)
    failures.note(agent.places.failures, "codex", "Stop", "OSError: No space left on device")
    code, out, _ = call("hooks", "status", "--memory", agent.places.memory)
    assert code == 1
    assert "no helper, it starts with the next event" in out
    assert "codex Stop: OSError: No space left on device" in out


@pytest.mark.parametrize(("said", "does"), [("y", 1), (" YES ", 1), ("no", 0), ("", 0)])
def test_only_yes_is_yes(monkeypatch, said, does):
    monkeypatch.setattr(builtins, "input", lambda _question: said)
    assert agreed([], "really?", yes=False) == does
