"""Single calls of LangChain's agents: what is stored, counted and sent, and how a call ends."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest
from cancelling import ends_before

pytest.importorskip("langchain")
from langchain.agents import create_agent
from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool

from warmset import Memory, PreparedCompaction
from warmset.adapters.langchain import WarmsetCompactionMiddleware, WarmsetMiddleware
from warmset.adapters.langchain.windows import Call, thread_of
from warmset.errors import InvalidInputError
from warmset.options import MODES
from warmset.summarize import AnthropicCompaction


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        yield made


class Spy(GenericFakeChatModel):
    """A model that keeps what it was sent, and says whose it is."""

    provider: str = "openai"
    sent: Any = ()

    def _get_ls_params(self, stop=None, **_more):  # noqa: ARG002 - its signature
        return {"ls_provider": self.provider, "ls_model_name": NAMES[self.provider]}

    def _generate(self, messages, *given, **options):
        self.sent.append(messages)
        return super()._generate(messages, *given, **options)


NAMES = {"openai": "gpt-6-sol", "anthropic": "claude-opus-5-5"}


def spy(*replies, provider="openai"):
    return Spy(messages=iter(replies), provider=provider, sent=[])


def request(text, model=None):
    return ModelRequest(model=model or spy("never"), messages=[HumanMessage(text, id=text)])


def test_a_providers_own_compaction_is_refused():
    provider = PreparedCompaction(
        summarizer=AnthropicCompaction(client=anthropic.Anthropic(api_key="k"))
    )
    own = PreparedCompaction(summarizer=lambda _messages, **_given: "Short.")
    with Memory.open(None, embedder="lexical", compaction=provider) as memory:
        with pytest.raises(InvalidInputError, match="cannot carry"):
            WarmsetMiddleware(memory, budget=900)
        WarmsetMiddleware(memory, budget=900, compaction=own)
    with Memory.open(None, embedder="lexical", compaction=own) as memory:
        WarmsetMiddleware(memory, budget=900)
        with pytest.raises(InvalidInputError, match="cannot carry"):
            WarmsetMiddleware(memory, budget=900, compaction=provider)


def test_a_call_that_is_cancelled_ends_when_its_reply_is_stored(memory):
    middleware = WarmsetMiddleware(memory, budget=900, conversation="c")

    async def answer(_request):
        return AIMessage("ok")

    def call():
        return middleware.awrap_model_call(request("hi"), answer)

    assert asyncio.run(ends_before(middleware.windows, "note", call)) is False
    assert [one["content"] for one in memory.conversation("c")] == ["hi", "ok"]


def test_the_thread_0_is_a_thread(memory):
    agent = create_agent(spy("ok"), middleware=[WarmsetMiddleware(memory, budget=900)])
    agent.invoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": 0}})
    assert memory.conversations() == ["0"]


def test_the_first_message_with_an_id_names_what_has_no_thread():
    assert thread_of([HumanMessage("a"), HumanMessage("b", id="2")]) == "run 2"
    with pytest.raises(InvalidInputError, match="thread_id"):
        thread_of([HumanMessage("a")])


def test_a_conversation_stays_in_the_dialect_that_it_began_in(memory):
    middleware = WarmsetMiddleware(memory, budget=900, conversation="c")
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    talk = [HumanMessage("one")]
    for provider in ("anthropic", "openai"):
        model = spy(AIMessage([thought, {"type": "text", "text": "ok"}]), provider=provider)
        talk = create_agent(model, middleware=[middleware]).invoke({"messages": talk})["messages"]
        talk.append(HumanMessage("more"))
        assert memory.conversation("c").dialect == "anthropic"
    said = memory.conversation("c").messages()
    assert len(said) == 4
    assert [one["content"][0]["type"] for one in said[1::2]] == ["thinking", "thinking"]


@pytest.mark.parametrize("mode", MODES)
def test_results_of_several_calls_go_out_as_they_are(memory, mode):
    middleware = WarmsetMiddleware(memory, budget=2_000, mode=mode, conversation="c")
    model, talk = spy("never", provider="anthropic"), []
    for at in range(12):
        calls = [
            {"type": "tool_call", "id": f"c{at}{one}", "name": "look", "args": {}}
            for one in range(2)
        ]
        talk += [
            HumanMessage(f"Question {at}? " + "word " * 20, id=f"q{at}"),
            AIMessage("", tool_calls=calls, id=f"a{at}"),
            *(
                ToolMessage(
                    [{"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf"}],
                    tool_call_id=call["id"],
                    name="look",
                    id=call["id"],
                    artifact={"at": at},
                )
                for call in calls
            ),
        ]
        made = middleware.windows.make(Call(talk, model=model), "c")
        shown = [one for one in made.messages if isinstance(one, ToolMessage)]
        assert shown[-2:] == talk[-2:]
        assert all(any(one is given for given in talk) for one in shown)
        talk.append(AIMessage(f"Answer {at}.", id=f"r{at}"))
        talk.append(HumanMessage("Thanks.", id=f"t{at}"))


@pytest.mark.parametrize(
    ("usage", "calls"),
    [
        ({"token_usage": {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}}, 1),
        ({"usage": {"input_tokens": 50, "output_tokens": 5}}, 1),
        ({"usage": {"beads": 3}}, 0),
        ({}, 0),
    ],
)
def test_what_a_call_took_is_counted_where_its_words_are_known(memory, usage, calls):
    provider = "anthropic" if "usage" in usage else "openai"
    model = spy(AIMessage("ok", response_metadata=usage), provider=provider)
    agent = create_agent(
        model, middleware=[WarmsetMiddleware(memory, budget=900, conversation="c")]
    )
    agent.invoke({"messages": [("user", "hi")]})
    conversation = memory.conversation("c")
    assert len(conversation) == 2
    assert conversation.spent.calls == calls


def test_tools_count(memory):
    @tool
    def look(at: int) -> str:
        """Look."""
        return str(at)

    look.description = "words " * 2_000
    model = spy("never")
    middleware = WarmsetMiddleware(memory, budget=900, conversation="c")
    agent = create_agent(model, [look], middleware=[middleware])
    with pytest.raises(ContextOverflowError, match="budget"):
        agent.invoke({"messages": [("user", "hi")]})
    assert model.sent == []


def test_a_window_has_the_price_of_the_model_that_answers(memory):
    windows = WarmsetMiddleware(memory, budget=9_000).windows
    talk = [HumanMessage("hi " * 500)]
    for provider, model in NAMES.items():
        made = windows.make(Call(talk, model=spy(provider=provider)), provider)
        sent = [{"role": "user", "content": talk[0].content}]
        options = {"budget": 9_000, "model": model, "dialect": provider}
        window = memory.process(sent, conversation=model, **options)
        assert made.window.report.money.price == window.report.money.price > 0
    assert windows.make(Call(talk), "bare").window.report.money.price is None


def test_a_system_prompt_is_sent_as_the_object_that_it_is_or_with_what_a_window_adds(memory):
    options = {"budget": 2_000, "conversation": "c", "mode": "jit", "pinned_role": "system"}
    prompt = SystemMessage("Be brief.", id="s", additional_kwargs={"of": "mine"})
    model = spy("one", "two")
    agent = create_agent(
        model, middleware=[WarmsetMiddleware(memory, **options)], system_prompt=prompt
    )
    state = agent.invoke({"messages": [("user", "hi")]})
    assert (model.sent[0][0].id, model.sent[0][0].additional_kwargs) == ("s", {"of": "mine"})
    memory.pin(memory.remember("The server listens on port 5432."))
    agent.invoke({"messages": [*state["messages"], HumanMessage("and now?")]})
    [said] = [one.content for one in model.sent[1] if isinstance(one, SystemMessage)]
    assert "Be brief." in said
    assert "5432" in said


# --- summaries ------------------------------------------------------------------------------------


def test_a_state_is_replaced_only_by_a_list_with_a_summary(memory):
    compacting = WarmsetCompactionMiddleware(memory, budget=9_000, conversation="c")
    agent = create_agent(spy("ok"), middleware=[compacting])
    updates = [*agent.stream({"messages": [("user", "hi")]}, stream_mode="updates")]
    assert [one.content for update in updates for one in update["model"]["messages"]] == ["ok"]


def test_a_summary_comes_with_the_reply_in_whatever_form_that_is(memory):
    policy = PreparedCompaction(deadline=20.0)
    compacting = WarmsetCompactionMiddleware(
        memory, budget=600, compaction=policy, conversation="c"
    )
    talk, reply = [], AIMessage("answer " + "word " * 60)
    for number in range(20):
        talk.append(HumanMessage(f"Question {number}?", id=f"q{number}"))
        made = compacting.windows.make(Call(talk), "c")
        compacting.windows.note("c", made, [reply])
        if made.window.report.compaction.applied:
            break
        talk.append(reply)
    for response in (reply, ModelResponse(result=[reply])):
        answer = compacting._answer(made, response)
        assert isinstance(answer, ExtendedModelResponse)
        assert answer.model_response == ModelResponse(result=[reply])
        first, *rest = answer.command.update["messages"]
        assert isinstance(first, RemoveMessage)
        assert rest == [*made.messages, reply]
        assert len(rest) < len(talk)
    with pytest.raises(InvalidInputError, match="put it before"):
        compacting._answer(made, answer)
