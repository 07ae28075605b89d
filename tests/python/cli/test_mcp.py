"""``warmset mcp`` as a process: its streams, its ends, who is let in, and what is refused."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from warmset import Memory
from warmset.cli import app
from warmset.serve.mcp.stdio import whole_text

MAIN = "from warmset.cli import main; main()"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
BEGIN = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def start(*tokens, code=MAIN, **options):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(  # noqa: S603 - this interpreter with our own code
        [sys.executable, "-c", code, "mcp", *map(str, tokens)],
        env={k: v for k, v in os.environ.items() if k != "FORCE_COLOR"}
        | {"PYTHONWARNINGS": "ignore"},
        **{**pipes, **options},
    )


def send(process, *messages):
    for one in messages:
        process.stdin.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")
    process.stdin.flush()


def answer(process, id_):
    """Read lines until the answer to a request."""
    return answers(process, id_)[id_]


def answers(process, *ids):
    """Read lines until each of these requests is answered, which may be in any order."""
    made = {}
    for line in process.stdout:
        found = json.loads(line)
        if found.get("id") in ids:
            made[found["id"]] = found
        if len(made) == len(ids):
            return made
    raise AssertionError(process.stderr.read().decode())


def call(id_, name, **arguments):
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


@pytest.fixture
def store(tmp_path):
    return tmp_path / "s.ws"


@POSIX
def test_nothing_but_the_protocol_is_on_standard_output_and_a_bad_line_costs_itself(store):
    noisy = (
        "import os, sys, subprocess; from warmset.serve.tools import remembering as tools;"
        "real = tools.one_of\n"
        "def loud(*given):\n"
        "    print('from Python'); os.write(1, b'past Python\\n')\n"
        "    subprocess.run([sys.executable, '-c', 'print(\"a child\")'], check=True)\n"
        "    assert sys.stdin.read() == ''\n"
        "    return real(*given)\n"
        "tools.one_of = loud\n"
    )
    with start("--memory", store, "--embedder", "lexical", code=noisy + MAIN) as process:
        send(process, b"nonsense\n", BEGIN, b'{"jsonrpc": "2.0", "id": \xff\n', BEGUN)
        assert answer(process, 0)["result"]["serverInfo"]["name"] == "warmset"
        send(process, b"[1, 2\n", b"\n", call(1, "memory_remember", text="The pool is 12."))
        made = answer(process, 1)["result"]
        out, err = process.communicate(timeout=60)
    assert made["structuredContent"] == {"id": "memory:1", "stored": "stored"}
    assert (process.returncode, out) == (0, b"")
    for word in ("from Python", "past Python", "a child"):
        assert word in err.decode()
    with Memory.open(store, embedder="lexical") as memory:
        assert memory.memories()[0].text == "The pool is 12."


@POSIX
def test_a_text_that_was_cut_within_a_character_is_stored(store):
    line = json.dumps(call(1, "memory_remember", text="The pool is 12 \ud83d")).encode() + b"\n"
    with start("--memory", store, "--embedder", "lexical") as process:
        send(process, BEGIN, BEGUN, line)
        made = answer(process, 1)["result"]
        process.communicate(timeout=60)
    assert made["structuredContent"]["stored"] == "stored"
    with Memory.open(store, embedder="lexical") as memory:
        assert memory.memories()[0].text == "The pool is 12 \ufffd"


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\uD83D\uDE00 \uD83D"', r'"\uD83D\uDE00 \ufffd"'),
        (r'"\ud83d\u0041"', r'"\ufffd\u0041"'),
        (r'"\ud83d\ud83d\ude00"', r'"\ufffd\ud83d\ude00"'),
        (r'"\ude00\ud83d"', r'"\ufffd\ufffd"'),
        (r'"\\ud83d"', r'"\\ud83d"'),
        (r'"\\\ud83d"', r'"\\\ufffd"'),
        (r'"\n\u00e9 ud83d"', r'"\n\u00e9 ud83d"'),
        (r'"\ud83', r'"\ud83'),
        ("\\", "\\"),
    ],
)
def test_half_a_character_is_replaced_and_nothing_else(line, whole):
    assert whole_text(line) == whole


@POSIX
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_while_it_waits_for_a_line(number, code, store):
    with start("--memory", store, "--embedder", "lexical") as process:
        send(process, BEGIN, BEGUN, call(1, "context_status"))
        assert answer(process, 1)["result"]["isError"] is False
        process.send_signal(number)
        process.wait(timeout=60)  # its input is still open
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, b"", b"")
    Memory.open(store, embedder="lexical", mode="exclusive").close()


@POSIX
def test_a_client_that_leaves_ends_it(store):
    with start("--memory", store, "--embedder", "lexical") as process:
        send(process, BEGIN)
        answer(process, 0)
        process.stdout.close()
        send(process, BEGUN, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        process.wait(timeout=60)
        err = process.stderr.read()
        process.stdin.close()
    assert (process.returncode, err) == (0, b"")


def test_a_memory_that_cannot_be_opened_is_told_by_each_call(tmp_path):
    file = tmp_path / "file"
    file.write_text("no store")
    with start("--memory", file, "--embedder", "lexical") as process:
        send(process, BEGIN, BEGUN, call(1, "context_status"), call(2, "memory_search", query="x"))
        made = answers(process, 1, 2)
        _, err = process.communicate(timeout=60)
    for one in made.values():
        assert one["result"]["isError"]
        assert str(file) in one["result"]["content"][0]["text"]
    assert process.returncode == 0
    assert f"warmset: {file}" in err.decode()


@pytest.mark.parametrize(
    ("tokens", "code", "told"),
    [
        ([], 2, "--memory"),
        (["--memory", "s.ws", "--limit", "999"], 1, "limit: expected at least 1000"),
        (["--memory", "s.ws", "--http", "--host", "0.0.0.0"], 1, "host: others could connect"),  # noqa: S104
        (["--memory", "s.ws", "--http", "--name", "a b"], 1, "hosts: expected names"),
        (["--memory", __file__, "--http", "--port", "0", "--embedder", "lexical"], 1, "error: "),
        (["--memory", "s.ws", "--http", "--port", "0", "--embedder", "none"], 1, "embedder"),
        (["--memory", "none.ws", "--http", "--read-only", "--embedder", "lexical"], 1, "none.ws"),
        (["--memory", "s.ws", "--import-from", "nowhere"], 1, "import_from: there is no directory"),
    ],
)
def test_what_cannot_be_served_is_one_line(capfd, tmp_path, monkeypatch, tokens, code, told):
    monkeypatch.chdir(tmp_path)
    assert app.run(["mcp", *tokens]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1


def test_an_empty_token_is_refused(capfd, tmp_path):
    (tmp_path / "token").write_text("\n")
    given = ["--memory", str(tmp_path / "s.ws"), "--http", "--token-file", str(tmp_path / "token")]
    assert app.run(["mcp", *given]) == 1
    assert "token_file: it is empty" in capfd.readouterr().err


def ready(process):
    """Return where a server over HTTP listens."""
    line = process.stderr.readline().decode()
    url = next((word for word in line.split() if word.startswith("http://")), None)
    assert url is not None, line + process.stderr.read().decode()
    return urlsplit(url)


def post(place, body, **headers):
    given = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPConnection(place.hostname, place.port, timeout=60)) as connection:
        connection.request("POST", place.path, json.dumps(body), given | named)
        answered = connection.getresponse()
        answered.read()
        return answered


@POSIX
def test_over_http_only_those_are_let_in_who_may_and_sigterm_ends_open_streams(store, tmp_path):
    token = "a-long-random-text-of-letters"  # noqa: S105 - made up
    (tmp_path / "token").write_text(f"{token}\n")
    given = ("--memory", store, "--embedder", "lexical", "--http", "--port", "0")
    more = ("--token-file", tmp_path / "token", "--name", "memory.example:443")
    with start(*given, *more) as process:
        place = ready(process)
        own = {"x_warmset_token": token}
        assert post(place, BEGIN).status == 401
        assert post(place, BEGIN, x_warmset_token="other").status == 401  # noqa: S106
        assert post(place, BEGIN, **own, host=f"evil.example:{place.port}").status == 421
        assert post(place, BEGIN, **own, origin="http://evil.example").status == 403
        assert post(place, BEGIN, **own, host="memory.example").status == 200
        begun = post(place, BEGIN, **own)
        assert begun.status == 200
        session = {"mcp_session_id": begun.headers["mcp-session-id"]} | own
        assert post(place, BEGUN, **session).status == 202
        named = {name.replace("_", "-"): value for name, value in session.items()}
        with closing(http.client.HTTPConnection(place.hostname, place.port, timeout=60)) as stream:
            stream.request("GET", place.path, headers=named | {"accept": "text/event-stream"})
            with stream.getresponse() as opened:
                assert opened.status == 200
                process.terminate()
                process.wait(timeout=60)
        _, err = process.communicate()
    assert process.returncode == 143
    assert token not in err.decode()
    Memory.open(store, embedder="lexical", mode="exclusive").close()


@POSIX
def test_ctrl_c_ends_it_over_http_too(store):
    given = ("--memory", store, "--embedder", "lexical", "--http", "--port", "0")
    with start(*given) as process:
        ready(process)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_program_that_calls_it_has_its_own_handler_again(capfd, tmp_path, monkeypatch):
    def mine(_number, _frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, mine)
    read, write = os.pipe()
    os.close(write)
    kept = os.dup(0)
    os.dup2(read, 0)
    monkeypatch.chdir(tmp_path)
    try:
        assert app.run(["mcp", "--memory", "s.ws", "--embedder", "lexical"]) == 0
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(read)
        signal.signal(signal.SIGTERM, before)
    assert capfd.readouterr().out == ""
    assert not [one for one in threading.enumerate() if one.name == "warmset-mcp-open"]
