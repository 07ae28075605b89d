"""``warmset serve --workers``: several processes at one socket are one proxy."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from proxy_requests import REPLY
from werkzeug import Response

from warmset import Memory
from warmset.cli.app import run
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.tenants import Tenants, secret_of

HEADERS = {"authorization": "Bearer sk-canary-0123456789"}
SOON = 30.0
END = b"data: [DONE]\n\n"

HTTP = httpx2.Client(timeout=SOON, limits=httpx2.Limits(max_keepalive_connections=0))
"""Makes a connection for each request; workers may still be starting."""


def workers_of(process):
    """Return the process numbers of the workers; the helper of multiprocessing is none."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    children = [one for task in tasks for one in (task / "children").read_text().split()]
    called = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return sorted(int(child) for child, by in called.items() if b"spawn_main" in by)


def until(told):
    """Wait until something is true."""
    end = time.monotonic() + SOON
    while not (found := told()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


@contextmanager
def serving(store, upstream, *options):
    """Start the command with two workers; yield its address, the process, and the workers."""
    command = [sys.executable, "-m", "warmset", "serve", "--memory", str(store), "--port", "0"]
    command += ["--embedder", "lexical", "--upstream", upstream, "--workers", "2", *options]
    process = subprocess.Popen(  # noqa: S603 - this test's own program
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    found = []
    try:
        line = process.stderr.readline()
        url = re.search(r"http://\S+:\d+", line)[0]
        until(lambda: len(seen_by(url)) == 2)
        found = workers_of(process)
        assert len(found) == 2
        yield url, process, found
    finally:
        for one in [process.pid, *found, *(workers_of(process) if process.poll() is None else ())]:
            with_kill(one)
        process.communicate()


def with_kill(number):
    try:
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:
        return


def seen_by(url):
    """Return which of the workers answer, by a few connections of their own."""
    return {HTTP.get(f"{url}/_warmset/health").json()["process"] for _each in range(12)}


def listens(url):
    try:
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), SOON).close()
    except ConnectionRefusedError:
        return False
    return True


def requests_by(url):
    """Return what the pages of the workers say of the number of requests."""
    return {HTTP.get(f"{url}/_warmset/state").json()["requests"] for _each in range(12)}


class Client:
    """Sends its whole list each time, on a connection of its own."""

    def __init__(self, number):
        self.number, self.messages = number, []

    def ask(self, url):
        text = f"Client {self.number} asks for shelf {len(self.messages) // 2}."
        asked = [*self.messages, {"role": "user", "content": text}]
        body = {"model": "gpt-5.2", "messages": asked}
        answer = HTTP.post(f"{url}/v1/chat/completions", json=body, headers=HEADERS)
        assert answer.headers["x-warmset"].startswith("mode="), answer.headers["x-warmset"]
        self.messages = [*asked, answer.json()["choices"][0]["message"]]


def answering(httpserver):
    def answer(request):
        last = json.loads(request.data)["messages"][-1]["content"]
        said = {"role": "assistant", "content": f"There are forty boxes. ({last})"}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        return Response(json.dumps(REPLY | {"choices": [choice]}), mimetype="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    return httpserver.url_for("").rstrip("/")


def piece(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def stored(store):
    tenant = Tenants(secret_of(store), Aliases(store)).tenant(HEADERS)
    with Memory.open(store, embedder="lexical", tenant=tenant) as memory:
        names = memory.conversations()
        return [list(memory.conversation(name).messages()) for name in names]


def counted(url):
    text = HTTP.get(f"{url}/_warmset/metrics").text
    found = re.findall(r'^warmset_requests_total\{.*surface="chat".*\} (\S+)$', text, re.MULTILINE)
    return sum(map(float, found))


def test_they_share_conversations_counts_and_the_page(httpserver, tmp_path):
    store, clients = tmp_path / "store", [Client(number) for number in range(3)]
    with serving(store, answering(httpserver)) as (url, process, workers):
        for _round in range(6):
            for client in clients:
                client.ask(url)
        assert counted(url) == 18
        until(lambda: requests_by(url) == {18})  # each has told the other
        state = HTTP.get(f"{url}/_warmset/state").json()
        assert {one["worker"] for one in state["windows"]} == set(workers)
        assert (state["kept"], len(state["conversations"])) == (3, 3)
        assert sorted(one["windows"] for one in state["conversations"]) == [6, 6, 6]
        assert {one["turns"] for one in state["conversations"]} == {11}
        times = [one["at"] for one in state["windows"]]
        assert times == sorted(times, reverse=True)

        os.kill(workers[0], signal.SIGKILL)
        fresh = until(
            lambda: (now := seen_by(url)) and len(now) == 2 and workers[0] not in now and now
        )
        assert workers[1] in fresh
        for client in clients:
            client.ask(url)
        assert counted(url) == 21
        until(lambda: requests_by(url) == {21})

        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=SOON)
    assert (process.returncode, out, errors) == (0, "", "")
    kept = stored(store)
    assert sorted(map(json.dumps, kept)) == sorted(json.dumps(one.messages) for one in clients)


def test_an_open_stream_is_finished_before_they_end(httpserver, tmp_path):
    told = []

    def slowly(_request):
        def pieces():
            yield piece({"role": "assistant", "content": "For"})
            until(lambda: told)
            yield piece({"content": "ty."}) + piece({}, "stop") + END

        return Response(pieces(), mimetype="text/event-stream")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(slowly)
    store = tmp_path / "store"
    with serving(store, httpserver.url_for("").rstrip("/")) as (url, process, _workers):
        asked = {"role": "user", "content": "How many boxes?"}
        body = {"model": "gpt-5.2", "stream": True, "messages": [asked]}
        at = f"{url}/v1/chat/completions"
        with HTTP.stream("POST", at, json=body, headers=HEADERS) as answer:
            pieces = answer.iter_raw()
            got = next(pieces)
            process.send_signal(signal.SIGTERM)
            until(lambda: not listens(url))
            told.append(True)
            got += b"".join(pieces)
        process.communicate(timeout=SOON)
        assert process.returncode == 0
    assert got.endswith(END)
    assert stored(store) == [[asked, {"role": "assistant", "content": "Forty."}]]


def test_workers_end_when_their_starter_is_gone(httpserver, tmp_path):
    with serving(tmp_path / "store", answering(httpserver)) as (url, process, workers):
        Client(1).ask(url)
        process.kill()
        until(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))
        assert not listens(url)


@pytest.mark.parametrize("count", ["0", "257"])
def test_the_number_of_workers_is_bounded(capsys, tmp_path, count):
    assert run(["serve", "--memory", str(tmp_path / "s"), "--workers", count]) == 1
    assert "workers: expected 1 to 256" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_a_store_that_cannot_be_opened_is_said_by_the_starter(capsys, tmp_path):
    place = tmp_path / "s"
    place.write_text("no store")
    assert run(["serve", "--memory", str(place), "--workers", "2", "--embedder", "lexical"]) == 1
    assert "error" in capsys.readouterr().err
