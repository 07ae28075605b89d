"""The SDK's compaction on sessions in a log: the behaviours that it tests of its own stores."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import pytest

pytest.importorskip("agents.testing", reason="the SDK whose compaction this is, with its models")

from agents import Agent, RunConfig, Runner, set_tracing_disabled
from agents.memory import OpenAIResponsesCompactionSession, session as sessions
from agents.testing import ScriptedModel, assistant_message

from warmset.adapters.openai_agents import WarmsetSession
from warmset.native import ColdStore, Log

set_tracing_disabled(disabled=True)
pytestmark = pytest.mark.skipif(
    not hasattr(sessions, "_CompactionSnapshot"),
    reason="this version of the SDK replaces no suffixes",
)
SUMMARY = {"type": "compaction", "id": "cmp", "encrypted_content": "synthetic"}


def made(path=None, **options):
    return WarmsetSession("s", Log(ColdStore.open(path)), **options)


def client(output=(), action=None):
    async def compact(**_):
        if action is not None:
            await action()
        return SimpleNamespace(output=[*output])

    found = MagicMock()
    found.responses.compact = AsyncMock(side_effect=compact)
    return found


def compacting(backend, made_client, **options):
    return OpenAIResponsesCompactionSession("s", backend, client=made_client, **options)


def always(**options):
    return {"compaction_mode": "input", "should_trigger_compaction": lambda _: True, **options}


async def run(session, text="continue", **options):
    model = ScriptedModel(steps=[[assistant_message("done")]])
    await Runner.run(Agent(name="worker", model=model), text, session=session, **options)


def said(number):
    return {"role": "assistant" if number % 2 else "user", "content": f"item {number}"}


LIMITED = {"run_config": RunConfig(session_settings={"limit": 1})}


@pytest.mark.parametrize("together", [1, 21])
def test_only_what_the_model_saw_is_compacted_and_the_history_before_it_stays(together):
    async def main():
        backend = made(session_settings={"limit": 20})
        hidden = {"role": "user", "content": "older hidden history"}
        items = [hidden, *map(said, range(20))]
        for at in range(0, 21, together):
            await backend.add_items(items[at : at + together])
        asked = client()
        session = compacting(backend, asked)
        for turn in range(5):
            await run(session, f"turn {turn}")
        asked.responses.compact.assert_awaited_once()
        given = asked.responses.compact.call_args.kwargs
        assert len(given["input"]) == 22
        assert "older hidden history" not in str(given)
        left = await backend.get_items(100)
        assert left[0] == hidden
        assert len(left) == 9

    asyncio.run(main())


@pytest.mark.parametrize("change", ["append", "pop", "clear"])
def test_what_another_handle_did_meanwhile_is_not_overwritten(change, tmp_path):
    async def main():
        backend, other = made(tmp_path / "s"), made(tmp_path / "s")
        await backend.add_items([said(at) for at in range(24)])
        expected = []

        async def action():
            expected.extend(await other.get_items())
            if change == "append":
                await other.add_items([said(99)])
                expected.append(said(99))
            elif change == "pop":
                assert await other.pop_item() == expected.pop()
            else:
                await other.clear_session()
                expected.clear()

        asked = client([SUMMARY], action)
        await run(compacting(backend, asked, **always()), **LIMITED)
        asked.responses.compact.assert_awaited_once()
        assert await backend.get_items() == expected

    asyncio.run(main())


def test_a_part_is_replaced_in_one_batch_and_a_failure_leaves_the_history():
    async def main():
        backend = made()
        items = [said(at) for at in range(4)]
        await backend.add_items(items)
        seen = await backend._get_compaction_snapshot(3)
        assert (seen.items, seen.complete) == (items[1:], False)
        with pytest.raises(TypeError):
            await seen.replace_suffix(1, [SUMMARY, {"thing": object()}])
        assert await backend.get_items() == items
        assert await seen.replace_suffix(1, [SUMMARY])
        assert await backend.get_items() == [*items[:2], SUMMARY]
        assert not await seen.replace_suffix(1, [])
        assert await backend.get_items() == [*items[:2], SUMMARY]
        whole = await backend._get_compaction_snapshot(3)
        assert whole.complete
        assert not await whole.replace_suffix(3, [SUMMARY])
        assert await whole.replace_suffix(0, [])
        assert await backend.get_items() == []
        assert (await backend._get_compaction_snapshot(3)).items == []

    asyncio.run(main())


def test_a_compaction_by_hand_replaces_the_whole_history():
    async def main():
        backend = made()
        await backend.add_items([said(at) for at in range(100)])
        session = compacting(backend, client([SUMMARY]), **always())
        await session.run_compaction({"force": True})
        assert await backend.get_items() == [SUMMARY]

    asyncio.run(main())


def test_a_subclass_that_may_change_items_is_not_bypassed():
    class Own(WarmsetSession):
        pass

    async def main():
        session = Own("s", Log(ColdStore.open(None)))
        assert await session._get_compaction_snapshot(3) is None
        assert not await session._atomic_replace_items([])

    asyncio.run(main())


@pytest.mark.parametrize("expired", [1, 40, 100])
def test_expired_items_of_an_encrypted_session_go_with_a_compaction(expired, monkeypatch):
    pytest.importorskip("cryptography", reason="the SDK's encrypted session needs it")
    from agents.extensions.memory.encrypt_session import EncryptedSession  # noqa: PLC0415

    clock = [1000]
    monkeypatch.setattr("cryptography.fernet.time.time", lambda: clock[0])

    async def main():
        backend = made(session_settings={"limit": 20})
        asked = client()
        sealed = EncryptedSession("s", backend, encryption_key="synthetic", ttl=10)
        session = compacting(sealed, asked)
        await session.add_items([{"role": "user", "content": "expired"}] * expired)
        clock[0] += 11
        await session.add_items([said(at) for at in range(20)])
        await run(session)
        asked.responses.compact.assert_awaited_once()
        assert "expired" not in str(asked.responses.compact.call_args.kwargs)
        assert await backend.get_items() == []

    asyncio.run(main())


@pytest.mark.parametrize("together", [1, 2])
def test_what_comes_before_retained_history_is_pruned_and_nothing_behind_it(together):
    async def main():
        backend = made()
        items = [{"n": at, "old": at in (0, 1, 4)} for at in range(8)]
        for at in range(0, 8, together):
            await backend.add_items(items[at : at + together])
        seen = await backend._get_compaction_snapshot(2, prune_prefix=lambda item: item["old"])
        assert await seen.replace_suffix(0, [SUMMARY])
        assert await backend.get_items() == [*items[2:6], SUMMARY]

    asyncio.run(main())
