"""``warmset serve`` is killed while clients talk: what they were answered is there, and goes on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx2
import pytest
from proxy_requests import REPLY
from werkzeug import Response

from warmset import Memory
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.tenants import Tenants, secret_of

CLIENTS, TURNS = 4, 8


@contextmanager
def serving(store, upstream):
    """Start the command; yield its address and the process."""
    command = [sys.executable, "-m", "warmset", "serve", "--memory", str(store), "--port", "0"]
    command += ["--embedder", "lexical", "--upstream", upstream]
    process = subprocess.Popen(  # noqa: S603 - this test's own program
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        line = process.stderr.readline()
        yield re.search(r"http://\S+:\d+", line)[0], process
    finally:
        process.kill()
        process.communicate()


class Client:
    """Asks one thing after the other until nobody answers; keeps what it was answered in full."""

    def __init__(self, number):
        self.number = number
        self.headers = {"authorization": f"Bearer sk-{number}"}
        self.messages = []
        self.done = threading.Semaphore(0)

    def ask(self, url):
        text = f"Client {self.number} asks for shelf {len(self.messages) // 2}."
        asked = [*self.messages, {"role": "user", "content": text}]
        body = {"model": "gpt-5.2", "messages": asked}
        answer = httpx2.post(
            f"{url}/v1/chat/completions", json=body, headers=self.headers, timeout=30
        )
        assert answer.headers["x-warmset"].startswith("mode="), answer.headers["x-warmset"]
        self.messages = [*asked, answer.json()["choices"][0]["message"]]

    def run(self, url):
        try:
            while True:
                self.ask(url)
                self.done.release()
        except httpx2.HTTPError:
            return

    def stored(self, store):
        """Return the conversations of this client as the store has them."""
        tenants = Tenants(secret_of(store), Aliases(store))
        tenant = tenants.tenant(self.headers)
        with Memory.open(store, embedder="lexical", tenant=tenant) as memory:
            return [list(memory.conversation(one).messages()) for one in memory.conversations()]


@pytest.mark.parametrize("rounds", [2])
def test_what_was_answered_is_there_after_a_kill_and_goes_on(httpserver, tmp_path, rounds):
    def answer(request):
        last = json.loads(request.data)["messages"][-1]["content"]
        said = {"role": "assistant", "content": f"There are forty boxes. ({last})"}
        made = REPLY | {"choices": [REPLY["choices"][0] | {"message": said}]}
        return Response(json.dumps(made), content_type="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    store, clients = tmp_path / "store", [Client(at) for at in range(CLIENTS)]
    for _round in range(rounds):
        with serving(store, httpserver.url_for("")) as (url, process):
            threads = [threading.Thread(target=one.run, args=(url,)) for one in clients]
            for thread in threads:
                thread.start()
            for one in clients:
                for _turn in range(TURNS):
                    assert one.done.acquire(timeout=60)
            process.send_signal(signal.SIGKILL)  # nothing is finished
            process.wait(20)
            for thread in threads:
                thread.join(40)
        for one in clients:
            found = one.stored(store)
            [said] = found
            assert said[: len(one.messages)] == one.messages
    with serving(store, httpserver.url_for("")) as (url, process):
        for one in clients:
            one.ask(url)
    for one in clients:
        [said] = one.stored(store)  # known again: there is no second conversation
        assert said == one.messages
        assert len(said) >= 2 * TURNS * rounds
