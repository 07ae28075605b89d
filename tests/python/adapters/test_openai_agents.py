"""Sessions of the OpenAI Agents SDK in a log: the SDK's own session tests, in our words.

Not re-expressed, because they are about SQLite: tests of its connections, threads and locks, of its
tables and columns, of rows that hold no JSON, and of `close`, which a session in a log has not.
"""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("agents", reason="the SDK whose sessions these are")

from agents import Agent, RunConfig, Runner, set_tracing_disabled
from agents.memory import Session, SessionSettings, session_settings

from warmset import Memory
from warmset.adapters.as_json import dumped
from warmset.adapters.openai_agents import WarmsetSession, WindowFilter
from warmset.adapters.openai_agents.items import newest
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.native import Add, ColdStore, Cut, Log, space

USER, REPLY = {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there!"}
set_tracing_disabled(disabled=True)


def made(name="session", path=None, **options):
    return WarmsetSession(name, Log(ColdStore.open(path)), **options)


def said(number):
    return {"role": "assistant" if number % 2 else "user", "content": f"item {number}"}


async def _run(agent, text, **options):
    return await Runner.run(agent, text, **options)


async def _run_sync(agent, text, **options):
    def run():
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            return Runner.run_sync(agent, text, **options)
        finally:
            asyncio.get_event_loop().close()
            asyncio.set_event_loop(None)

    return await asyncio.to_thread(run)


async def _run_streamed(agent, text, **options):
    result = Runner.run_streamed(agent, text, **options)
    async for _ in result.stream_events():
        pass
    return result


RUNS = pytest.mark.parametrize("run", [_run, _run_sync, _run_streamed])


def talking(*replies):
    testing = pytest.importorskip("agents.testing", reason="the SDK's scripted model came later")
    model = testing.ScriptedModel(steps=[[testing.assistant_message(text)] for text in replies])
    return Agent(name="test", model=model), model


# --- the session itself ---------------------------------------------------------------------------


def test_items_are_added_read_popped_and_cleared():
    async def main():
        session = made()
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items([USER, REPLY])
        assert await session.get_items() == [USER, REPLY]
        assert await session.pop_item() == REPLY
        assert await session.pop_item() == USER
        assert await session.pop_item() is None
        await session.add_items([USER])
        await session.clear_session()
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(main())


@pytest.mark.parametrize("together", [1, 2, 15, 16, 17, 200])
def test_limits_and_pops_see_items_whatever_they_were_added_with(together):
    async def main():
        session = made()
        items = [said(at) for at in range(200)]
        for at in range(0, 200, together):
            await session.add_items(items[at : at + together])
        for limit in (0, 1, 2, 15, 16, 17, 63, 64, 65, 199, 200, 1000):
            assert await session.get_items(limit) == (items[-limit:] if limit else [])
        assert await session.get_items(-1) == await session.get_items() == items
        for at in reversed(range(130, 200)):
            assert await session.pop_item() == items[at]
        assert await session.get_items() == items[:130]
        await session.add_items([USER])
        assert await session.get_items(2) == [items[129], USER]

    asyncio.run(main())


def test_items_come_back_as_their_json():
    async def main():
        session = made()
        items = [
            {"role": "user", "content": "héllo 名前 🙂 \ud800 \x00 'DROP TABLE'; --"},
            {
                "type": "function_call",
                "arguments": '{"a": 1}',
                "call_id": "c",
                "n": [1.5, None, True],
            },
            {"big": 2**70, "nested": {"b": {"a": []}}, "line": "a\nb\r\n"},
        ]
        await session.add_items(items)
        assert await session.get_items() == items
        assert [list(item) for item in await session.get_items()] == [list(item) for item in items]

    asyncio.run(main())


def test_what_json_cannot_hold_is_refused_and_nothing_is_added():
    async def main():
        session = made()
        with pytest.raises(TypeError):
            await session.add_items([USER, {"role": "user", "content": object()}])
        assert await session.get_items() == []

    asyncio.run(main())


def test_settings_have_a_limit_which_an_argument_wins_over():
    async def main():
        assert made().session_settings == SessionSettings()
        for given in (SessionSettings(limit=3), {"limit": 3}):
            session = made(session_settings=given)
            assert session.session_settings == SessionSettings(limit=3)
            await session.add_items([said(at) for at in range(5)])
            assert len(await session.get_items()) == 3
            assert len(await session.get_items(4)) == 4
            session.session_settings = None
            assert len(await session.get_items()) == 5
        if hasattr(session_settings, "coerce_session_settings"):  # older ones ignore it
            with pytest.raises(TypeError, match="limitt"):
                made(session_settings={"limitt": 1})
        with pytest.raises(InvalidInputError, match="session_id"):
            made(7)

    asyncio.run(main())


def test_pops_at_the_same_time_take_each_item_once(tmp_path):
    async def main():
        sessions = [made("s", tmp_path / "s") for _ in range(2)]
        await sessions[0].add_items([said(at) for at in range(30)])
        found = await asyncio.gather(*(sessions[at % 2].pop_item() for at in range(40)))
        assert sorted(map(str, found)) == sorted(map(str, [*map(said, range(30)), *[None] * 10]))

    asyncio.run(main())


def test_reads_while_others_replace_the_history_see_one_of_them(tmp_path, monkeypatch):
    from warmset.adapters import place  # noqa: PLC0415

    monkeypatch.setattr(place, "PAGE", 2)
    histories = [[{"h": which, "n": at} for at in range(7 * 16)] for which in range(2)]

    async def main():
        reader, writer = (made("s", tmp_path / "s") for _ in range(2))
        await writer.add_items(histories[0])

        async def replace():
            for at in range(20):
                assert await writer._atomic_replace_items(histories[at % 2])

        async def read():
            for _ in range(20):
                assert await reader.get_items() in histories

        await asyncio.gather(replace(), read())

    asyncio.run(main())


class Between:
    """A log in which somebody replaces the end of a list behind the first page that is read."""

    def __init__(self, log, replace):
        self.log, self.replace = log, replace

    def entries(self, list_, **options):
        page = self.log.entries(list_, **options)
        replace, self.replace = self.replace, lambda: None
        replace()
        return page


def test_the_newest_items_are_of_one_list_if_its_end_is_replaced_meanwhile():
    log, list_ = Log(ColdStore.open(None)), ("t", space("s"), "list")
    ids = [log.write([Add(list_, dumped(at))])[0].id for at in range(30)]

    def replace():
        log.write([Cut(list_, after=ids[20]), Add(list_, dumped("new"))])

    held, complete = newest(Between(log, replace), list_, 10)
    assert [item for _, items in held for item in items] == [*range(12, 21), "new"]
    assert not complete
    for entry, below in zip(held[1:], held, strict=False):
        assert entry[0].parent == below[0].id


def test_what_is_popped_or_replaced_leaves_no_bytes_if_deleting_means_erasing(tmp_path):
    async def main():
        session = made("s", tmp_path / "s", delete="erase")
        await session.add_items([{"n": "KEPT"}, {"n": "POPPED"}])
        await session.pop_item()
        await session.add_items([{"n": "REPLACED"}])
        found = await session._get_compaction_snapshot(1)
        if found is None:
            pytest.skip("this version of the SDK replaces no suffixes")
        assert await found.replace_suffix(0, [{"n": "SUMMARY"}])
        held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert [text in held for text in (b"KEPT", b"SUMMARY")] == [True, True]
        assert [text in held for text in (b"POPPED", b"REPLACED")] == [False, False]
        await session._atomic_replace_items([{"n": "LAST"}])
        held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert [text in held for text in (b"KEPT", b"SUMMARY", b"LAST")] == [False, False, True]

    asyncio.run(main())


# --- runs -----------------------------------------------------------------------------------------


@RUNS
def test_a_run_goes_on_from_what_was_said(run):
    async def main():
        agent, model = talking("San Francisco", "California")
        session = made()
        first = await run(agent, "What city is the bridge in?", session=session)
        assert first.final_output == "San Francisco"
        second = await run(agent, "What state is it in?", session=session)
        assert second.final_output == "California"
        assert [item.get("role") for item in model.calls[-1].input] == ["user", "assistant", "user"]
        assert len(await session.get_items()) == 4
        other = made("other")
        assert await other.get_items() == []

    asyncio.run(main())


@RUNS
@pytest.mark.parametrize(("limit", "expected"), [(None, 5), (0, 1), (2, 3), (100, 5)])
def test_a_run_reads_as_much_as_its_settings_say(run, limit, expected):
    async def main():
        agent, model = talking("Reply 1", "Reply 2", "Reply 3")
        session = made()
        for at in (1, 2):
            await run(agent, f"Message {at}", session=session)
        config = RunConfig(session_settings=SessionSettings(limit=limit))
        await run(agent, "Message 3", session=session, run_config=config)
        assert len(model.calls[-1].input) == expected
        assert model.calls[-1].input[-1].get("content") == "Message 3"
        assert len(await session.get_items()) == 6

    asyncio.run(main())


@RUNS
def test_an_error_of_the_session_reaches_whoever_runs(run):
    async def main():
        agent, _ = talking("never")
        session = made()
        session._place.log.store.close()
        with pytest.raises(Exception, match="closed"):
            await run(agent, "Message", session=session)

    asyncio.run(main())


# --- windows --------------------------------------------------------------------------------------


def windows(memory, **options):
    return RunConfig(call_model_input_filter=WindowFilter(memory, **options))


def test_the_model_gets_a_window_and_the_session_keeps_everything():
    async def main():
        replies = [f"Reply {at}: {'word ' * 30}" for at in range(30)]
        agent, model = talking(*replies)
        agent.instructions = "Be brief."
        session = made()
        with Memory.open(None, embedder="lexical") as memory:
            config = windows(memory, conversation="c", budget=600)
            for at in range(30):
                await Runner.run(agent, f"Question {at}?", session=session, run_config=config)
            assert len(memory.conversation("c")) == 59
        assert len(await session.get_items()) == 60
        sizes = [len(call.input) for call in model.calls]
        assert max(sizes) < 25
        assert {call.system_instructions for call in model.calls} == {"Be brief."}
        assert model.calls[-1].input[-1]["content"] == "Question 29?"
        assert not [
            item for call in model.calls for item in call.input if item.get("role") == "system"
        ]

    asyncio.run(main())


def test_a_window_may_be_named_by_the_runs_context_and_go_without_instructions():
    async def main():
        agent, model = talking("one", "two")
        with Memory.open(None, embedder="lexical") as memory:
            config = windows(
                memory, conversation=lambda data: data.context, budget=4000, mode="jit"
            )
            for user in ("ann", "bob"):
                await Runner.run(agent, "Hello", context=user, run_config=config)
            assert sorted(memory.conversations()) == ["ann", "bob"]
        assert {call.system_instructions for call in model.calls} == {None}
        assert [len(call.input) for call in model.calls] == [1, 1]

    asyncio.run(main())


def test_a_budget_that_is_too_small_ends_the_run():
    async def main():
        agent, _ = talking("never")
        with Memory.open(None, embedder="lexical") as memory:
            with pytest.raises(BudgetTooSmall):
                await Runner.run(
                    agent, "word " * 100, run_config=windows(memory, conversation="c", budget=20)
                )
            with pytest.raises(InvalidInputError):
                WindowFilter(memory, conversation="c", budget=10, recent=-1)

    asyncio.run(main())
