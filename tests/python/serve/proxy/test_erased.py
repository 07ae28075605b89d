"""What is erased, by this process or another, is recognised no more and never comes back."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx2
import pytest
from proxy_requests import REPLY
from werkzeug import Response

from warmset import Conversation
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.tenants import Tenants


@pytest.fixture
def who(tmp_path):
    return Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())


@pytest.fixture
def upstream(httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_json(REPLY)
    return httpserver.url_for("")


def ask(proxy, *texts, first="user"):
    """Send a list of the user's texts with the replies between them."""
    said = []
    for text in texts:
        said += [{"role": first, "content": text}, {"role": "assistant", "content": "Forty."}]
    body = {"model": "gpt-5.2", "messages": said[:-1]}
    got = httpx2.post(
        f"{proxy.url}/v1/chat/completions", json=body, headers={"authorization": "Bearer k"}
    )
    assert got.headers["x-warmset"].startswith("mode=")


def names(proxy):
    [tenant] = proxy.memories._open
    with proxy.memories.of(tenant) as memory:
        return {name: len(memory.conversation(name)) for name in memory.conversations()}


def shown(proxy):
    """Return the names of conversations that the page shows."""
    state = httpx2.get(f"{proxy.url}/_warmset/state").json()
    return {one["name"] for one in state["conversations"]} - {None}


def erase(proxy, **what):
    [tenant] = proxy.memories._open
    with proxy.memories.of(tenant) as memory:
        memory.erase(**what)


_ELSEWHERE = """
import sys
from warmset import Memory
with Memory.open(sys.argv[1], embedder="lexical", tenant=sys.argv[2]) as memory:
    memory.erase(conversation=sys.argv[3])
"""


@pytest.mark.parametrize("here", [True, False])
def test_an_erased_conversation_begins_anew_under_another_name(proxied, upstream, who, here):
    with proxied(upstream, who=who, names=True) as proxy:
        ask(proxy, "a")
        ask(proxy, "a", "b")
        ask(proxy, "other")
        old, other = names(proxy)
        assert shown(proxy) == {old, other}
        [tenant] = proxy.memories._open
        if here:
            erase(proxy, conversation=old)
            assert not who._recognition._tenants
            assert shown(proxy) == set()
        else:
            where = [str(proxy.memories._path), tenant, old]
            run = [sys.executable, "-c", _ELSEWHERE, *where]
            subprocess.run(run, check=True, timeout=60)  # noqa: S603
        ask(proxy, "a", "b", "c")
        found = names(proxy)
        assert old not in found
        assert found.pop(other) == 2
        assert list(found.values()) == [6]
        assert shown(proxy) == set(names(proxy)) - {other}
        ask(proxy, "other", "again")
        assert shown(proxy) == set(names(proxy))
        assert names(proxy)[other] == 4


def test_of_what_lost_a_part_nothing_erased_is_kept(proxied, upstream, who):
    with proxied(upstream, who=who) as proxy:
        ask(proxy, "a")
        ask(proxy, "a", "b")
        [name] = names(proxy)
        [tenant] = proxy.memories._open
        with proxy.memories.of(tenant) as memory:
            memory.erase(ids=memory.conversation(name).ids[2:3])
        assert not who._recognition._tenants
        ask(proxy, "a", "x")
        assert [*names(proxy)] == [name]


def test_a_reply_to_what_is_erased_meanwhile_is_left(proxied, httpserver, who):
    asked = []

    def answers(_request):
        asked.append(1)
        if len(asked) > 1:
            erase(proxy, conversation=next(iter(names(proxy))))
        return Response(json.dumps(REPLY), content_type="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answers)
    with proxied(httpserver.url_for(""), who=who) as proxy:
        ask(proxy, "a")
        ask(proxy, "a", "b")
        assert names(proxy) == {}
        assert not any(place.talks for place in who._recognition._tenants.values())


@pytest.fixture
def read(monkeypatch):
    """The names of the conversations that are read whole, each time."""
    found = []
    whole = Conversation.messages
    monkeypatch.setattr(
        Conversation, "messages", lambda self, **how: found.append(self.id) or whole(self, **how)
    )
    return found


def test_only_conversations_that_begin_alike_are_read_whole(proxied, upstream, who, read):
    with proxied(upstream, who=who) as proxy:
        for at in range(6):
            ask(proxy, f"question {at}")
            ask(proxy, f"question {at}", "and then?")
        before = names(proxy)
        who._recognition.forget()
        read.clear()
        ask(proxy, "question 3", "and then?", "and now?")
        assert read == [[*before][3]]
        assert names(proxy) == before | {read[0]: 6}


def test_an_opening_of_several_messages_is_compared_whole(proxied, upstream, who, read):
    with proxied(upstream, who=who) as proxy:
        for system in ("one", "two"):
            body = [{"role": "system", "content": "You count."}]
            body += [{"role": "system", "content": system}, {"role": "user", "content": "a"}]
            for _ in range(2):
                httpx2.post(
                    f"{proxy.url}/v1/chat/completions",
                    json={"model": "gpt-5.2", "messages": body},
                    headers={"authorization": "Bearer k"},
                )
                body += [{"role": "assistant", "content": "Forty."}]
                body += [{"role": "user", "content": "b"}]
                who._recognition.forget()
        assert [*names(proxy).values()] == [6, 6]
        assert read == [*names(proxy)]


def test_what_has_its_opening_alone_is_found(proxied, httpserver, who):
    answers = [Response("{}", 500), Response(json.dumps(REPLY), content_type="application/json")]
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(
        lambda _request: answers.pop(0)
    )
    with proxied(httpserver.url_for(""), who=who) as proxy:
        ask(proxy, "a")
        [name] = names(proxy)
        who._recognition.forget()
        ask(proxy, "a", "b")
        assert names(proxy) == {name: 4}
