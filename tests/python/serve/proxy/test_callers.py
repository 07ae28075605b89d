"""Which conversation a request belongs to, as far as the store and what was said before tell."""

from __future__ import annotations

from functools import partial

import pytest

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.listed import listed_of
from warmset.serve.proxy.memories import Memories
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.surfaces import CHAT, RESPONSES
from warmset.serve.proxy.tenants import Tenants


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


class Who:
    """Callers, and the store behind them."""

    def __init__(self, folder):
        self.memories = Memories(folder / "store", {"embedder": "lexical", "durability": "os"})
        self.callers = Callers(Tenants(b"s" * 32, Aliases(folder)), ProxyOptions())

    def ask(self, *given, reply=None, surface=CHAT, tenant="t", **headers):
        """Send a list, and append what is answered; return the conversation's name."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        with self.memories.of(tenant) as memory:
            body = {surface.messages: list(given)}
            listed = partial(listed_of, list(given))
            talk = self.callers.conversation(memory, headers, body, surface, listed)
            conversation = memory.conversation(talk.name)
            conversation.sync(list(given))
            if reply is not None:
                conversation.append([reply])
                self.callers.replied(talk, [reply], surface)
            return talk.name

    def forget(self):
        """Forget what is in memory, as a start does."""
        self.callers._recognition.forget()


@pytest.fixture
def who(tmp_path):
    made = Who(tmp_path)
    yield made
    made.memories.close()


def test_a_question_that_was_answered_begins_anew(who):
    first = who.ask(user("a"))
    assert who.ask(user("a"), reply=said("r")) == first  # nothing was answered yet
    second = who.ask(user("a"), reply=said("s"))
    assert second != first
    assert who.ask(user("a"), said("r"), user("b")) == first
    assert who.ask(user("a"), said("s"), user("b")) == second


def test_tenants_have_conversations_of_their_own(who):
    first = who.ask(user("a"), said("r"), user("b"))
    other = who.ask(user("a"), said("r"), user("b"), tenant="u")
    assert other != first
    assert who.ask(user("a"), said("r"), user("c")) == first


def test_a_list_that_nothing_names_is_of_no_conversation_that_a_caller_named(who):
    name = "x_warmset_conversation"
    assert who.ask(user("a"), reply=said("r"), **{name: "mine"}) == "mine"
    own = who.ask(user("a"), said("r"), user("b"))
    assert own.startswith("auto-")
    who.forget()
    assert who.ask(user("a"), said("r"), user("b"), said("s"), user("c")) == own


@pytest.mark.parametrize("start", [True, False])
def test_a_list_is_of_no_conversation_of_another_dialect(who, start):
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    plain = user("a"), said("r")
    first = who.ask(*plain, user("b"), reply=called)
    if start:
        who.forget()
    items = [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
    ]
    other = who.ask(*plain, user("c"), *items, reply=said("s"), surface=RESPONSES)
    assert other != first
    assert who.ask(*plain, user("c"), *items, said("s"), user("d"), surface=RESPONSES) == other
    answered = {"role": "tool", "tool_call_id": "c", "content": "1"}
    assert who.ask(*plain, user("b"), called, answered) == first


def test_what_is_stored_in_another_dialect_is_not_found(who):
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    plain = user("a"), said("r")
    first = who.ask(*plain, user([image]), reply=said("s"))
    with who.memories.of("t") as memory:
        assert memory.conversation(first).dialect == "openai"
    who.forget()
    assert who.ask(*plain, user("c"), surface=RESPONSES) != first


def test_a_list_that_is_valid_in_several_dialects_may_go_on_in_another_one(who):
    first = who.ask(user("a"), reply=said("r"))
    assert who.ask(user("a"), said("r"), user("b"), surface=RESPONSES) == first
    who.forget()
    assert who.ask(user("a"), said("r"), user("b"), surface=RESPONSES) == first
