"""The recipes with real agents of their frameworks, beside the frameworks' in-memory classes."""

import asyncio
import json

import doc_pages as docs
import pytest
from recipes import run

from warmset import Memory, validate

PAGE = docs.DOCS / "how-to" / "recipes-for-frameworks.md"
LONG = "with cranes and boxes " + "word " * 60


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda module: run(PAGE, module)


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "own.ws", embedder="lexical") as made:
        yield made


# --- LlamaIndex ----------------------------------------------------------------------------------


def llama_talk(names):
    message, call = names["ChatMessage"], names["ToolCallBlock"]
    text = names["TextBlock"]
    calls = [
        call(tool_call_id=f"c{at}", tool_name="look", tool_kwargs={"shelf": at}) for at in range(2)
    ]
    return [
        message(role="system", content="Be brief."),
        message(role="user", content="What is on the shelves?"),
        message(role="assistant", blocks=[text(text="I look."), *calls]),
        message(role="tool", content="40 boxes", additional_kwargs={"tool_call_id": "c0"}),
        message(role="tool", content="none", additional_kwargs={"tool_call_id": "c1"}),
        message(role="assistant", content="Forty."),
    ]


def test_llama_index_reads_back_what_its_buffer_reads_back(recipe, memory):
    names = recipe("llama_index.core")
    from llama_index.core.memory import ChatMemoryBuffer  # noqa: PLC0415 - it may be missing

    both = [names["WarmsetMemory"].from_defaults(memory), ChatMemoryBuffer.from_defaults()]
    talk = llama_talk(names)

    async def shown():
        ours, theirs = [(await one.aget_all(), await one.aget()) for one in both]
        assert ours == theirs
        return ours[0]

    async def everything():
        assert await shown() == []
        for one in both:
            await one.aput(talk[0])
            await one.aput_messages(talk[1:])
        assert await shown() == talk
        for one in both:
            await one.aset(talk[:2])
        assert await shown() == talk[:2]
        for one in both:
            await one.areset()
        assert await shown() == []
        for one in both:
            one.put(talk[1])
        assert await shown() == talk[1:2]

    asyncio.run(everything())


def test_a_chat_engine_of_llama_index_goes_on_after_a_restart(recipe, tmp_path):
    names = recipe("llama_index.core")
    from llama_index.core.chat_engine import SimpleChatEngine  # noqa: PLC0415
    from llama_index.core.llms.mock import MockLLM  # noqa: PLC0415

    for _ in range(2):
        with Memory.open(tmp_path / "own.ws", embedder="lexical") as memory:
            chat = names["WarmsetMemory"].from_defaults(memory, budget=600)
            engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=chat)
            for at in range(10):
                engine.chat(f"What is on shelf {at}? {LONG}")
            stored = memory.conversation("chat").messages()
            shown = [names["_dict"](one) for one in chat.get()]
            assert len(shown) < len(stored)
            assert not validate(shown, dialect="openai")
    assert len(stored) == 40


# --- Google ADK ----------------------------------------------------------------------------------


def test_adk_finds_what_its_memory_in_memory_finds(recipe, tmp_path):
    names = recipe("google.adk")
    from google.adk.memory.in_memory_memory_service import InMemoryMemoryService  # noqa: PLC0415

    types, event = names["types"], names["Event"]
    ours = names["WarmsetMemoryService"](str(tmp_path / "own.ws"), embedder="lexical")
    sessions = names["InMemorySessionService"]()
    texts = {
        "ann": ["Shelf seven holds ropes.", "Shelf eight holds paint.", "Cranes are old."],
        "bob": ["Bob keeps ropes, too."],
    }

    async def found(service, user, query):
        asked = {"app_name": "harbour", "user_id": user, "query": query}
        memories = (await service.search_memory(**asked)).memories
        return {(one.author, one.content.role, one.content.parts[0].text) for one in memories}

    async def everything():
        theirs = InMemoryMemoryService()
        for user, said in texts.items():
            session = await sessions.create_session(app_name="harbour", user_id=user)
            for text in said:
                author = "user" if text.startswith("Shelf") else "keeper"
                role = "user" if author == "user" else "model"
                content = types.Content(role=role, parts=[types.Part(text=text)])
                await sessions.append_event(session, event(author=author, content=content))
            thought = types.Content(role="model", parts=[types.Part(text="Hm.", thought=True)])
            await sessions.append_event(session, event(author="keeper", content=thought))
            await sessions.append_event(session, event(author="user"))  # says nothing
            for service in (ours, theirs):
                await service.add_session_to_memory(session)
                await service.add_session_to_memory(session)
                more = {"app_name": "harbour", "user_id": user, "session_id": session.id}
                await service.add_events_to_memory(events=session.events[-2:], **more)
        for user, word in (("ann", "ropes"), ("ann", "paint"), ("bob", "ropes"), ("bob", "paint")):
            assert await found(ours, user, word) == await found(theirs, user, word), (user, word)
        assert len(await found(ours, "ann", "ropes")) == 1
        assert not await found(ours, "ann", "Hm")
        await ours.close()

    asyncio.run(everything())


# --- Agent Framework -----------------------------------------------------------------------------


def framework_run(names, provider, exchanges, **session):
    """Run an agent with a tool; return what its client was sent."""
    from agent_framework import (  # noqa: PLC0415
        Agent,
        BaseChatClient,
        ChatResponse,
        FunctionInvocationLayer,
    )

    content, message = names["Content"], names["Message"]
    sent = []

    class Client(FunctionInvocationLayer, BaseChatClient):
        def _inner_get_response(self, *, messages, **_more):
            sent.append([one for said in messages for one in names["_dicts"](said)])
            last = messages[-1]
            if last.role == "user":
                call = content.from_function_call(f"c{len(sent)}", "look", arguments='{"shelf": 1}')
                made = message("assistant", [call])
            else:
                made = message("assistant", ["Forty boxes."])

            async def answer():
                return ChatResponse(messages=[made], response_id=f"r{len(sent)}")

            return answer()

    def look(shelf: int) -> str:
        """Look at a shelf."""
        return f"Boxes on {shelf}."

    async def talk():
        agent = Agent(Client(), tools=[look], context_providers=[provider])
        session_ = agent.create_session(**session)
        for at in range(exchanges):
            await agent.run(f"What is on shelf {at}? {LONG}", session=session_)

    asyncio.run(talk())
    return sent


def test_a_short_run_of_agent_framework_sends_what_its_history_in_memory_sends(recipe, memory):
    names = recipe("agent_framework")
    from agent_framework import InMemoryHistoryProvider  # noqa: PLC0415

    ours = framework_run(names, names["WarmsetHistoryProvider"](memory), 3)
    theirs = framework_run(names, InMemoryHistoryProvider(), 3)
    assert [[one["role"] for one in sent] for sent in ours] == [
        [one["role"] for one in sent] for sent in theirs
    ]
    assert [one.get("content") for one in ours[-1]] == [one.get("content") for one in theirs[-1]]


def test_a_long_session_of_agent_framework_is_kept_whole_and_sent_as_valid_windows(recipe, memory):
    names = recipe("agent_framework")
    provider = names["WarmsetHistoryProvider"](memory, budget=800)
    sent = framework_run(names, provider, 12, session_id="harbour")
    again = framework_run(names, provider, 1, session_id="harbour")  # as after a restart
    assert len(memory.conversation("harbour")) == 13 * 4
    assert len(again[-1]) < 26
    assert not [one for body in [*sent, *again] for one in validate(body, dialect="openai")]


# --- Strands -------------------------------------------------------------------------------------


def strands_agent(manager, sent, **more):
    """Make an agent whose model asks for a tool, and answers when it has the result."""
    from strands import Agent, tool  # noqa: PLC0415
    from strands.models import Model  # noqa: PLC0415
    from strands.types.exceptions import ContextWindowOverflowException  # noqa: PLC0415

    class Fake(Model):
        too_long = 0

        def update_config(self, **_config):
            """Have none."""

        def get_config(self):
            return {}

        def structured_output(self, *_given, **_more):
            raise NotImplementedError

        async def stream(self, messages, *_given, **_more):
            if self.too_long:
                self.too_long -= 1
                raise ContextWindowOverflowException("too long")
            sent.append(json.loads(json.dumps(messages)))
            yield {"messageStart": {"role": "assistant"}}
            if any("toolResult" in one for one in messages[-1]["content"]):
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "Forty boxes."}}}
                stop = "end_turn"
            else:
                use = {"toolUseId": f"t{len(sent)}", "name": "look"}
                yield {"contentBlockStart": {"start": {"toolUse": use}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"shelf": 1}'}}}}
                stop = "tool_use"
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": stop}}

    @tool
    def look(shelf: int) -> str:
        """Look at a shelf."""
        return f"Boxes on {shelf}."

    return Agent(
        model=Fake(),
        tools=[look],
        conversation_manager=manager,
        system_prompt="Be brief.",
        callback_handler=None,
        **more,
    )


def plain(sent):
    return [
        [(one["role"], [next(iter(block.items())) for block in one["content"]]) for one in body]
        for body in sent
    ]


def test_a_short_run_of_strands_sends_what_it_sends_without_a_manager(recipe, memory):
    names = recipe("strands")
    from strands.agent.conversation_manager import NullConversationManager  # noqa: PLC0415

    ours, theirs = [], []
    for manager, sent in (
        (names["WarmsetConversationManager"](memory, "talk"), ours),
        (NullConversationManager(), theirs),
    ):
        agent = strands_agent(manager, sent)
        for at in range(3):
            agent(f"What is on shelf {at}? {LONG}")
    assert plain(ours) == plain(theirs)


def test_a_long_run_of_strands_is_kept_whole_and_sent_as_valid_windows(recipe, memory):
    names = recipe("strands")
    manager, sent = names["WarmsetConversationManager"](memory, "talk", budget=800), []
    agent = strands_agent(manager, sent)
    for at in range(12):
        agent(f"What is on shelf {at}? {LONG}")
    assert len(memory.conversation("talk")) == 12 * 4
    assert len(sent[-1]) < 24
    stored = names["_stored"]
    bodies = [[stored(one) for one in body] for body in sent]
    assert not [one for body in bodies for one in validate(body, dialect="anthropic")]
    state = manager.get_state()
    later = names["WarmsetConversationManager"](memory, "talk", budget=800)
    later.restore_from_session(state)
    agent = strands_agent(later, sent, messages=agent.messages)
    agent("And then?")
    assert len(memory.conversation("talk")) == 13 * 4


def test_strands_sends_what_the_question_asks_for_with_its_first_call(recipe, memory):
    names = recipe("strands")
    manager, sent = names["WarmsetConversationManager"](memory, "talk", budget=800), []
    agent = strands_agent(manager, sent)
    agent("Let us look at the shelves.")
    agent("A heron lives on shelf zero.")
    for at in range(1, 12):
        agent(f"What is on shelf {at}? {LONG}")
    assert "heron lives" not in json.dumps(sent[-1])
    agent("Where does the heron live?")
    assert "heron lives" in json.dumps(sent[-2])


def test_strands_sends_less_when_its_model_finds_a_list_too_long(recipe, memory):
    names = recipe("strands")
    manager, sent = names["WarmsetConversationManager"](memory, "talk", budget=2_000), []
    agent = strands_agent(manager, sent)
    for at in range(8):
        agent(f"What is on shelf {at}? {LONG}")
    before = len(sent[-1])
    agent.model.too_long = 1
    agent("And then?")
    assert len(sent[-2]) < before
    assert len(memory.conversation("talk")) == 9 * 4
