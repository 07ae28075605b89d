"""``warmset serve`` as a process: it answers, ends when it is told to, and keeps what was said."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx2
import pytest
from client_loops import Chat, asked

from warmset import Memory
from warmset.cli.app import run

KEY = "sk-canary-0123456789"


LOGGING = """
import logging
logging.basicConfig(level=logging.DEBUG)
from warmset.cli.entry import main
main()
"""
"""A program that is the command, and logs everything, of every library."""


@contextmanager
def serving(store, *options, program=("-m", "warmset")):
    """Start the command; yield its address and the process."""
    command = [sys.executable, *program, "serve", "--memory", str(store)]
    command += ["--port", "0", "--embedder", "lexical", *options]
    process = subprocess.Popen(  # noqa: S603 - this test's own program
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        while not (found := re.search(r"warmset: (http://\S+:\d+)", process.stderr.readline())):
            assert process.poll() is None, process.stderr.read()
        yield found[1], process
    finally:
        process.kill()
        process.communicate()


def run_loop(loop, url, turns):
    loop.client = loop.client.with_options(base_url=f"{url}/v1", api_key=KEY)
    messages = list(loop.first)
    for turn in range(turns):
        messages.append(asked(turn))
        calls = True
        while calls:
            said, calls = loop.call(messages)
            messages += loop.done(said, calls)
    return messages


def shown(url):
    """Return the conversation that the page shows."""
    [one] = httpx2.get(f"{url}/_warmset/state").json()["conversations"]
    return one


def everything(store):
    return b"".join(one.read_bytes() for one in store.rglob("*") if one.is_file())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_told_to_and_has_what_was_said(httpserver, tmp_path, number):
    store = tmp_path / "store"
    loop = Chat(httpserver)
    with serving(store, "--upstream", loop.server.url.rstrip("/")) as (url, process):
        messages = run_loop(loop, url, 3)
        assert httpx2.get(f"{url}/_warmset/", headers={"host": "elsewhere"}).status_code == 421
        pages = [httpx2.get(f"{url}/_warmset/{one}").text for one in ("", "state", "metrics")]
        process.send_signal(number)
        out, errors = process.communicate(timeout=20)
        assert process.returncode in (0, 130, -number)
        assert (out, errors) == ("", "")
    assert loop.server.errors == []
    with Memory.open(store, embedder="lexical") as memory:
        assert memory.conversations() == []  # of nobody
    [tenant] = set(re.findall(rb"key-[0-9a-f]{32}", everything(store)))
    with Memory.open(store, embedder="lexical", tenant=tenant.decode()) as memory:
        [name] = memory.conversations()
        assert len(list(memory.conversation(name).messages())) == len(messages)
    assert KEY.encode() not in everything(store)
    assert KEY not in "".join(pages)
    assert name not in "".join(pages)
    assert 'warmset_refusals_total{reason="warmset_host"} 1.0' in pages[2]
    assert json.loads(pages[1])["requests"] == len(loop.server.lengths)


def test_a_restart_knows_the_conversation_again(httpserver, tmp_path):
    store = tmp_path / "store"
    loop = Chat(httpserver)
    upstream = ("--upstream", loop.server.url.rstrip("/"))
    with serving(store, *upstream) as (url, process):
        messages = run_loop(loop, url, 2)
        before = shown(url)
        process.send_signal(signal.SIGKILL)  # nobody can tell it to end
        process.wait(10)
    logs = {"program": ("-c", LOGGING)}
    with serving(store, *upstream, "--show-names", **logs) as (url, process):
        loop.client = loop.client.with_options(base_url=f"{url}/v1", api_key=KEY)
        messages.append(asked(9))
        loop.call(messages)
        after = shown(url)
        httpx2.get(f"{url}/v1beta/models?key={KEY}")
        process.terminate()
        _out, logged = process.communicate(timeout=20)
    assert "Application startup complete" in logged
    assert KEY not in logged
    [tenant] = set(re.findall(rb"key-[0-9a-f]{32}", everything(store)))
    with Memory.open(store, embedder="lexical", tenant=tenant.decode()) as memory:
        [name] = memory.conversations()
        assert len(list(memory.conversation(name).messages())) == len(messages) + 1
    assert before["conversation"] == after["conversation"]  # its digest outlives the process
    assert (before["name"], after["name"]) == (None, name)


CLOSING = """
import sys
from warmset.serve.proxy.memories import Memories
close = Memories.close
def told(self):
    close(self)
    print("closed", file=sys.stderr, flush=True)
Memories.close = told
from warmset.cli.entry import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_its_store_is_closed_before_it_ends(tmp_path, number):
    with serving(tmp_path / "s", program=("-c", CLOSING)) as (url, process):
        assert httpx2.get(f"{url}/_warmset/health").is_success
        process.send_signal(number)
        _out, errors = process.communicate(timeout=20)
    assert errors == "closed\n"


FAILING = """
from warmset.serve.proxy.exchange import Exchanges
def failed(*given, **options):
    raise OSError("no room")
Exchanges._prepared = failed
from warmset.cli.entry import main
main()
"""


def test_warnings_are_on_standard_error(httpserver, tmp_path):
    loop = Chat(httpserver)
    upstream = ("--upstream", loop.server.url.rstrip("/"))
    with serving(tmp_path / "s", *upstream, program=("-c", FAILING)) as (url, process):
        run_loop(loop, url, 1)
        process.terminate()
        _out, errors = process.communicate(timeout=20)
    told = errors.splitlines()
    assert "WARNING warmset.serve bypassed surface='chat' reason='error' error='OSError'" in told[0]
    assert all(" WARNING warmset." in line for line in told)


def failed(capsys, *tokens):
    """Run the command, which fails; return what it says."""
    assert run(["serve", *map(str, tokens)]) == 1
    return capsys.readouterr().err


def test_what_is_not_safe_is_refused(capsys, tmp_path):
    store = tmp_path / "s"
    said = failed(capsys, "--memory", store, "--host", "0.0.0.0")  # noqa: S104
    assert "allow" in said
    empty = tmp_path / "token"
    empty.write_text(" \n")
    said = failed(capsys, "--memory", store, "--token-file", empty)
    assert "empty" in said
    empty.write_bytes(b"\xff\xfe")
    said = failed(capsys, "--memory", store, "--token-file", empty)
    assert said == f"error: token_file: {empty} is no text in UTF-8\n"
    for port in (65_536, -1):
        said = failed(capsys, "--memory", store, "--port", port)
        assert said == f"error: port: expected 0 to 65535, found {port}\n"
    said = failed(capsys, "--memory", store, "--upstream", "http://10.0.0.1:80")
    assert "upstream" in said
    assert not store.exists()


def test_a_port_that_is_taken_is_told(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = failed(capsys, "--memory", tmp_path / "s", "--port", port)
    assert "give another --port" in said


def test_a_key_takes_the_place_of_another(capsys, tmp_path):
    Memory.open(tmp_path / "s", embedder="lexical").close()
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text(f"{KEY}\n")
    new.write_text("sk-another-0123456789\n")
    given = [
        "serve",
        "alias",
        "--memory",
        str(tmp_path / "s"),
        "--new-key-file",
        str(new),
        "--json",
    ]
    assert run([*given, "--old-key-file", str(old)]) == 0
    made = json.loads(capsys.readouterr().out)["aliases"]
    assert made
    assert all(one.startswith("key-") for pair in made for one in pair)
    assert run(given) == 0
    assert json.loads(capsys.readouterr().out)["aliases"] == made
    assert run(given) == 0
    assert json.loads(capsys.readouterr().out)["aliases"] == []
    assert KEY.encode() not in everything(tmp_path / "s")
