"""Conversations that OpenAI keeps: requests with what is new, and the id of the last response."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import httpx2
import pytest
from keeping_server import KeepingServer

from warmset import Memory
from warmset.serve.proxy import response_ids
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.provided import Onward, Provided
from warmset.serve.proxy.tenants import Tenants
from warmset.serve.replies import Reply

openai = pytest.importorskip("openai", reason="the extra openai is not installed")


@pytest.fixture
def who(tmp_path):
    return Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())


@pytest.fixture
def server(httpserver):
    return KeepingServer(httpserver)


def post(proxy, key="k", path="/v1/responses", **body):
    """Send a request; return the id of the response, and what the proxy says."""
    headers = {"authorization": f"Bearer {key}"}
    headers |= {name.replace("_", "-"): body.pop(name) for name in [*body] if name[:2] == "x_"}
    body = {"model": "gpt-5.2", **body}
    got = httpx2.post(f"{proxy.url}{path}", json=body, headers=headers, timeout=30)
    told = got.headers["x-warmset"]
    return (got.json().get("id") if "json" in got.headers["content-type"] else got.text), told


def text_of(item):
    said = item["content"]
    return said if isinstance(said, str) else said[0]["text"]


def said(proxy, key="k"):
    """Return the texts of each conversation of a key, the path and all that is stored."""
    tenant = Tenants(b"s" * 32, Aliases(proxy.memories._path)).tenant(
        {"authorization": f"Bearer {key}"}
    )
    with proxy.memories.of(tenant) as memory:
        return {
            name: [text_of(one) for one in memory.conversation(name).messages()]
            for name in memory.conversations()
        }


def test_a_chain_of_the_client_is_one_conversation(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0)
        last, texts = None, []
        for turn in range(12):
            text = f"Count shelf {turn}."
            more = {} if last is None else {"previous_response_id": last}
            if turn % 3 == 2:
                with client.responses.stream(model="gpt-5.2", input=text, **more) as stream:
                    made = stream.get_final_response()
            else:
                given = [{"role": "user", "content": text}] if turn % 2 else text
                made = client.responses.create(model="gpt-5.2", input=given, **more)
            last = made.id
            texts += [text, f"Reply {turn + 1}."]
        assert [*said(proxy).values()] == [texts]
    assert [text_of(one) for one in server.lists[last]] == texts
    assert server.asked[1]["input"] == [{"role": "user", "content": "Count shelf 1."}]
    assert server.asked[2]["input"] == "Count shelf 2."


def test_the_request_is_as_it_was_and_the_answer_says_that_it_is_recorded(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        first, told = post(proxy, input="one")
        assert told.startswith("mode=")
        second, told = post(proxy, input="two", previous_response_id=first, temperature=0.5)
        assert told == "passed; recorded=yes"
        assert [*said(proxy).values()] == [["one", "Reply 1.", "two", "Reply 2."]]
    body = {"model": "gpt-5.2", "input": "two", "previous_response_id": first, "temperature": 0.5}
    assert server.asked[1] == body
    assert second


def test_two_that_go_on_from_one_response_are_two_branches(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one")
        left, _ = post(proxy, input="left", previous_response_id=first)
        right, _ = post(proxy, input="right", previous_response_id=first)
        [(name, path)] = said(proxy).items()
        assert path == ["one", "Reply 1.", "right", "Reply 3."]
        post(proxy, input="left on", previous_response_id=left)
        assert said(proxy)[name] == ["one", "Reply 1.", "left", "Reply 2.", "left on", "Reply 4."]
        post(proxy, input="right on", previous_response_id=right)
        assert said(proxy)[name][2:] == ["right", "Reply 3.", "right on", "Reply 5."]


def test_an_unknown_response_is_passed_and_nothing_is_recorded(proxied, server, who):
    server.lists["resp_old"] = [{"role": "user", "content": "before the proxy"}]
    with proxied(server.url, who=who) as proxy:
        later, told = post(proxy, input="two", previous_response_id="resp_old")
        assert told == "passed; recorded=no"
        _, told = post(proxy, input="three", previous_response_id=later)
        assert told == "passed; recorded=no"
        got = post(proxy, input="x", previous_response_id="resp_none", x_warmset_conversation="c")
        assert got[1] == "passed; recorded=no"
        assert said(proxy) == {}


def test_a_response_of_one_tenant_is_unknown_to_another(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one", key="mine")
        _, told = post(proxy, input="two", previous_response_id=first, key="yours")
        assert told == "passed; recorded=no"
        assert said(proxy, "yours") == {}
        assert [*said(proxy, "mine").values()] == [["one", "Reply 1."]]


def test_a_response_that_the_provider_does_not_keep_has_no_id_here(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one")
        second, told = post(proxy, input="two", previous_response_id=first, store=False)
        assert told == "passed; recorded=yes"
        server.lists[second] = []
        assert post(proxy, input="x", previous_response_id=second)[1] == "passed; recorded=no"
        assert [*said(proxy).values()] == [["one", "Reply 1.", "two", "Reply 2."]]
        alone, _ = post(proxy, input="alone", store=False)
        server.lists[alone] = []
        assert post(proxy, input="x", previous_response_id=alone)[1] == "passed; recorded=no"


def test_what_the_provider_refuses_is_not_recorded(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one")
        list_ = server.lists.pop(first)
        post(proxy, input="two", previous_response_id=first)
        assert [*said(proxy).values()] == [["one", "Reply 1."]]
        server.lists[first] = list_
        post(proxy, input="two", previous_response_id=first)
        assert [*said(proxy).values()] == [["one", "Reply 1.", "two", "Reply 3."]]


def test_a_conversation_of_the_provider_is_one_here(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        one, told = post(proxy, input="one", conversation="conv_canary7")
        assert told == "passed; recorded=yes"
        post(proxy, input="two", conversation={"id": "conv_canary7"})
        post(proxy, input="x", conversation="conv_other")
        found = said(proxy)
        assert [*found.values()] == [["one", "Reply 1.", "two", "Reply 2."], ["x", "Reply 3."]]
        assert all("canary" not in name for name in found)
        post(proxy, input="yours", conversation="conv_canary7", key="yours")
        assert [*said(proxy, "yours").values()] == [["yours", "Reply 4."]]
        post(proxy, input="aside", previous_response_id=one)
        assert next(iter(said(proxy).values())) == ["one", "Reply 1.", "aside", "Reply 5."]
        post(proxy, input="named", conversation="conv_third", x_warmset_conversation="mine")
        assert said(proxy)["mine"] == ["named", "Reply 6."]


def test_a_prompt_of_the_provider_is_passed_and_its_list_recorded(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        given = [{"role": "user", "content": "one"}]
        _, told = post(proxy, input=given, prompt={"id": "pmpt_1"})
        assert told == "passed; recorded=yes"
        given += [*server.output(1), {"role": "user", "content": "two"}]
        post(proxy, input=given, prompt={"id": "pmpt_1"})
        assert [*said(proxy).values()] == [["one", "Reply 1.", "two", "Reply 2."]]
        assert post(proxy, input="", prompt={"id": "pmpt_1"})[1] == "passed; recorded=no"
    assert server.asked[1]["input"] == given


def fetch(proxy, id_, key="k", query=""):
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.get(f"{proxy.url}/v1/responses/{id_}{query}", headers=headers)


@pytest.mark.parametrize("query", ["", "?stream=true&starting_after=1"])
@pytest.mark.parametrize("first", [True, False])
def test_a_response_in_the_background_is_recorded_when_it_is_fetched(
    proxied, server, who, query, first
):
    with proxied(server.url, who=who) as proxy:
        before, more = [], {}
        if not first:
            more["previous_response_id"], _ = post(proxy, input="zero")
            before = ["zero", "Reply 1."]
        server.later = True
        id_, _ = post(proxy, input="one", background=True, **more)
        assert [*said(proxy).values()] == [[*before, "one"]]
        _, told = post(proxy, input="too soon", previous_response_id=id_)
        assert told == "passed; recorded=no"
        fetch(proxy, id_)
        fetch(proxy, id_, key="yours")
        assert [*said(proxy).values()] == [[*before, "one"]]
        server.later = False
        fetch(proxy, id_, key="yours")
        assert said(proxy, "yours") == {}
        for _ in range(2):
            fetch(proxy, id_, query=query)
        reply = f"Reply {2 - first}."
        assert [*said(proxy).values()] == [[*before, "one", reply]]
        post(proxy, input="two", previous_response_id=id_)
        assert next(iter(said(proxy).values()))[-4:-1] == ["one", reply, "two"]


def test_a_stream_in_the_background_that_the_client_leaves_can_be_fetched(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        seen = []
        whole = server.events

        def broken(made):
            seen.append(made["id"])
            return list(whole(made))[:1]

        server.events = broken
        post(proxy, input="one", background=True, stream=True)
        assert [*said(proxy).values()] == [["one"]]
        server.events = whole
        fetch(proxy, seen[0], query="?stream=true&starting_after=0")
        assert [*said(proxy).values()] == [["one", "Reply 1."]]


def test_a_stream_in_the_background_that_ends_is_recorded_once(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one", background=True, stream=True)
        id_ = "resp_canary0001"
        assert "response.completed" in first
        post(proxy, input="two", previous_response_id=id_, background=True, stream=True)
        fetch(proxy, id_)
        assert [*said(proxy).values()] == [["one", "Reply 1.", "two", "Reply 2."]]


def test_a_response_in_the_background_that_fails_is_not_recorded(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        server.unfinished = lambda made: {**made, "status": "failed", "output": []}
        server.later = True
        id_, _ = post(proxy, input=[{"role": "user", "content": "one"}], background=True)
        assert [*said(proxy).values()] == [["one"]]
        post(proxy, input="two", conversation="conv_1", background=True)
        assert [*said(proxy).values()] == [["one"]]
        _, told = post(proxy, input="three", previous_response_id=id_)
        assert told == "passed; recorded=no"


def test_a_reply_that_two_fetch_at_once_is_stored_once(tmp_path):
    reply = Reply(messages=({"role": "assistant", "content": "a"},), is_complete=True, id="resp_1")
    with Memory.open(tmp_path / "s", embedder="lexical", tenant="t") as memory:
        [last] = memory.conversation("c").append([{"role": "user", "content": "one"}])
        response_ids.note(memory, "resp_1", response_ids.Place("c", last, waits=True))
        provided = Provided()
        both = [provided.fetched(memory, "resp_1") for _ in range(2)]
        kept = [provided.append(memory, one, reply, kept=True) for one in both]
        assert kept[0] == response_ids.find(memory, "resp_1")
        assert kept[1] is None
        assert memory.stats()["messages"] == 2


def test_a_reply_in_the_background_follows_what_it_answers(tmp_path):
    item = {"role": "assistant", "content": "a"}
    due = Reply(messages=(item,), id="resp_1", stop="in_progress")
    with Memory.open(tmp_path / "s", embedder="lexical", tenant="t") as memory:
        log = memory.conversation("c")
        [first] = log.append([{"role": "user", "content": "zero"}])
        asked = {"role": "user", "content": "one"}
        provided = Provided()
        onward = Onward(tenant="t", conversation="c", after=first, given=[asked])
        place = provided.append(memory, onward, due, kept=True)
        assert [*map(dict, log.messages())][1:] == [asked]
        log.append([{"role": "user", "content": "aside"}], after=first)
        fetched = provided.fetched(memory, "resp_1")
        assert fetched.after == place.last
        provided.append(memory, fetched, replace(due, is_complete=True), kept=True)
        assert [*map(dict, log.messages())][1:] == [asked, item]


def test_ids_go_with_the_conversation_that_is_erased(proxied, server, who, tmp_path):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one")
        second, _ = post(proxy, input="two", previous_response_id=first)
        [tenant] = proxy.memories._open
        with proxy.memories.of(tenant) as memory:
            [name] = memory.conversations()
            log = memory.__warmset_engine__().log
            assert log.count((tenant,)) == 2
            memory.erase(ids=memory.conversation(name).ids[-1:])
            assert log.count((tenant,)) == 1
            _, told = post(proxy, input="x", previous_response_id=second)
            assert told == "passed; recorded=no"
            memory.erase(conversation=name)
            assert log.count((tenant,)) == 0
        _, told = post(proxy, input="x", previous_response_id=first)
        assert told == "passed; recorded=no"
        assert said(proxy) == {}
    bytes_ = b"".join(one.read_bytes() for one in (tmp_path / "store").rglob("*") if one.is_file())
    assert b"Reply 1." not in bytes_
    assert name.encode() not in bytes_


def test_what_is_erased_meanwhile_does_not_come_back(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one")
        post(proxy, input="one", conversation="conv_1")
        [tenant] = proxy.memories._open
        respond = server.response

        def erases(number, body):
            with proxy.memories.of(tenant) as memory:
                for name in memory.conversations():
                    memory.erase(conversation=name)
            return respond(number, body)

        server.response = erases
        post(proxy, input="two", previous_response_id=first)
        assert said(proxy) == {}
        server.response = respond
        post(proxy, input="one", conversation="conv_1")
        server.response = erases
        post(proxy, input="two", conversation="conv_1")
        assert said(proxy) == {}
        post(proxy, input=[{"role": "user", "content": "a whole list"}])
        assert said(proxy) == {}


def test_ids_are_in_no_file_in_plain(proxied, server, who, tmp_path):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one")
        post(proxy, input="two", previous_response_id=first)
        post(proxy, input="x", conversation="conv_canary7")
    files = [one for one in (tmp_path / "store").rglob("*") if one.is_file()]
    assert files
    assert not [one for one in files if b"canary" in one.read_bytes()]


def test_an_encrypted_store_has_neither_ids_nor_names_of_conversations_beside_them(tmp_path):
    key = bytes(range(32))
    with Memory.open(tmp_path / "s", embedder="lexical", tenant="t", encryption=key) as memory:
        [last] = memory.conversation("c").append([{"role": "user", "content": "one"}])
        response_ids.note(memory, "resp_canary", response_ids.Place("named-canary", last))
        assert response_ids.find(memory, "resp_canary").conversation == "named-canary"
    files = [one for one in (tmp_path / "s").rglob("*") if one.is_file()]
    assert not [one for one in files if b"canary" in one.read_bytes()]


def test_one_id_of_two_tenants_has_nothing_in_common():
    assert response_ids.name_of("a", "conv_1") != response_ids.name_of("b", "conv_1")
    assert response_ids.name_of("a", "conv_1") == response_ids.name_of("a", "conv_1")


_KILLED = """
import os, signal, sys
from warmset import Memory
from warmset.serve.proxy import response_ids
memory = Memory.open(sys.argv[1], embedder="lexical", tenant="t", durability="os")
ids = memory.conversation("c").append([{"role": "user", "content": "one"}])
response_ids.note(memory, "resp_1", response_ids.Place("c", ids[-1], waits=True))
response_ids.note(memory, "resp_1", response_ids.Place("c", ids[-1]))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_an_id_is_found_after_a_kill(tmp_path):
    run = [sys.executable, "-c", _KILLED, str(tmp_path / "s")]
    subprocess.run(run, check=False, timeout=60)  # noqa: S603
    with Memory.open(tmp_path / "s", embedder="lexical", tenant="t") as memory:
        [last] = memory.conversation("c").ids
        assert response_ids.find(memory, "resp_1") == response_ids.Place("c", last)
        assert response_ids.find(memory, "resp_2") is None
    with Memory.open(tmp_path / "s", embedder="lexical", tenant="u") as other:
        assert response_ids.find(other, "resp_1") is None


def test_a_chain_is_found_after_a_restart(proxied, server, who):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one")
    with proxied(server.url, who=who) as proxy:
        _, told = post(proxy, input="two", previous_response_id=first)
        assert told == "passed; recorded=yes"
        assert [*said(proxy).values()] == [["one", "Reply 1.", "two", "Reply 2."]]


def test_what_fails_here_is_recorded_all_the_same_once_it_works(proxied, server, who, monkeypatch):
    with proxied(server.url, who=who) as proxy:
        first, _ = post(proxy, input="one")
        calls = []
        find = type(who).tenant

        def fails(self, *given):
            calls.append(given)
            if len(calls) == 1:
                raise ZeroDivisionError
            return find(self, *given)

        monkeypatch.setattr(type(who), "tenant", fails)
        _, told = post(proxy, input="two", previous_response_id=first)
        assert told == "bypass; reason=error"
        monkeypatch.undo()
        assert [*said(proxy).values()] == [["one", "Reply 1.", "two", "Reply 2."]]
