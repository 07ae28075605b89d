"""``warmset rpc`` as a process: its streams, its ends, and that nothing else is on its output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from warmset.cli import app

MAIN = "from warmset.cli import main; main()"
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")


def start(*tokens, code=MAIN, **options):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(  # noqa: S603 - this interpreter with our own code
        [sys.executable, "-c", code, "rpc", *tokens],
        env={k: v for k, v in os.environ.items() if k != "FORCE_COLOR"}
        | {"PYTHONWARNINGS": "ignore"},
        **{**pipes, **options},
    )


def call(data, *tokens, code=MAIN):
    with start(*tokens, code=code) as process:
        out, err = process.communicate(data.encode(), timeout=120)
    return process.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


def compact(messages, id_=1, **more):
    params = {"name": "compact_context", "arguments": {"messages": messages, **more}}
    asked = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
    return f"{json.dumps(asked)}\n"


def test_it_answers_while_its_input_is_open_and_ends_with_it():
    with start() as process:
        for _ in range(2):
            process.stdin.write(PING.encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {
                "jsonrpc": "2.0",
                "id": 1,
                "result": {},
            }
        out, err = process.communicate(b'{"jsonrpc":"2.0","id"', timeout=60)
    assert process.returncode == 0
    assert json.loads(out)["error"]["code"] == -32700, "what came last was cut in the middle"
    assert err == b""


@POSIX
def test_nothing_but_answers_is_on_standard_output():
    noisy = (
        "import os, sys, subprocess; from warmset.serve.tools import compacting as tools;"
        "real = tools.compact_context\n"
        "def loud(*given, **more):\n"
        "    print('from Python'); sys.stdout.write('unflushed'); os.write(1, b'past Python\\n')\n"
        "    subprocess.run([sys.executable, '-c', 'print(\"a child\")'], check=True)\n"
        "    assert os.fstat(0).st_rdev == os.stat(os.devnull).st_rdev\n"
        "    return real(*given, **more)\n"
        "tools.compact_context = loud\n"
    )
    said = [{"role": "user", "content": "x"}]
    code, told, err = call(compact(said) + PING, code=noisy + MAIN)
    assert code == 0
    assert [one["id"] for one in told] == [1, 1]
    assert told[0]["result"]["structuredContent"]["messages"] == said
    for word in ("from Python", "unflushed", "past Python", "a child"):
        assert word in err


def test_what_left_is_restored_by_the_next_process(tmp_path):
    messages = [
        {"role": "user", "content": f"Remark {at}: the tide is at {at} feet."} for at in range(40)
    ]
    options = ("--memory", str(tmp_path), "--conversation", "log", "--embedder", "lexical")
    code, (told,), _ = call(compact(messages, budget=200), *options)
    drop = told["result"]["structuredContent"]["dropped"][0]
    assert code == 0
    params = {"name": "restore", "arguments": {"handle": drop["handle"]}}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    _, (told,), _ = call(json.dumps(asked), *options)
    assert told["result"]["structuredContent"]["message"] == messages[drop["id"]]


def test_limits_are_options():
    code, told, _ = call("x" * 50 + "\n[[[]]]\n" + PING, "--longest", "49", "--deepest", "2")
    assert code == 0
    assert "at most 49" in told[0]["error"]["data"]["why"]
    assert "more than 2 levels" in json.dumps(told[1])
    assert told[2]["result"] == {}


def test_a_limit_may_be_one():
    code, told, _ = call("xx\n", "--longest", "1", "--deepest", "1")
    assert code == 0
    assert "at most 1 are read" in told[0]["error"]["data"]["why"]


@pytest.mark.parametrize(
    ("tokens", "code", "told"),
    [
        (["--longest", "0"], 1, "longest: expected at least 1"),
        (["--deepest", "0"], 1, "deepest: expected at least 1"),
        (["--conversation", "c"], 1, "--memory"),
        (["--embedder", "none"], 1, "embedder: expected one of"),
        (["--memory", __file__], 1, "error: "),
        (["more"], 2, "more"),
    ],
)
def test_what_cannot_be_served_is_one_line(capfd, tokens, code, told):
    assert app.run(["rpc", *tokens]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1


@POSIX
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_with_the_store_closed(number, code, tmp_path):
    with start("--memory", str(tmp_path), "--embedder", "lexical") as process:
        process.stdin.write(PING.encode())
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, b"", b"")


def test_a_program_that_calls_it_has_its_own_handler_again(capfd):
    def mine(_number, _frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, mine)
    try:
        assert app.run(["rpc"]) == 0  # standard input is empty
        assert signal.getsignal(signal.SIGTERM) is mine
        assert app.run(["rpc", "--memory", __file__]) == 1
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capfd.readouterr().out == ""


@POSIX
def test_a_reader_that_leaves_ends_it_quietly():
    with start() as process:
        process.stdout.close()
        process.stdin.write(PING.encode())
        process.stdin.flush()
        process.wait(timeout=60)
        err = process.stderr.read()
        process.stdin.close()
    assert (process.returncode, err) == (1, b"")


@POSIX
@pytest.mark.parametrize(("number", "name"), [(0, "input"), (1, "output")])
def test_a_stream_that_is_closed_is_named(number, name):
    closing = f"import os; os.close({number}); "
    with start(code=closing + MAIN) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"standard {name} is closed" in err.decode()


@POSIX
def test_without_standard_error_it_answers_all_the_same():
    closing = "import os; os.close(2); "
    code, told, _ = call(PING, code=closing + MAIN)
    assert (code, told) == (0, [{"jsonrpc": "2.0", "id": 1, "result": {}}])


@POSIX
def test_what_cannot_be_read_is_named(tmp_path):
    place = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    with start(stdin=place) as process:
        os.close(place)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, b"")
    assert "standard input cannot be read" in err.decode()


@POSIX
def test_a_pipe_that_does_not_block_will_do():
    code = "import os; os.set_blocking(0, False); os.set_blocking(1, False); "
    with start(code=code + MAIN) as process:
        for _ in range(2):
            process.stdin.write(PING.encode())
            process.stdin.flush()
            assert process.stdout.readline()
            time.sleep(0.3)  # it finds nothing to read meanwhile
        process.stdin.close()
        assert process.wait(timeout=60) == 0
