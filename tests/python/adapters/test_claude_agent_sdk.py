"""Transcripts of the Claude Agent SDK in a log, judged by the SDK's own conformance suite."""

from __future__ import annotations

import asyncio
import inspect

import pytest

pytest.importorskip("claude_agent_sdk", reason="the SDK whose sessions these are")

import claude_agent_sdk as sdk
from claude_agent_sdk import testing

from warmset.adapters.claude_agent_sdk import WarmsetSessionStore
from warmset.errors import InvalidInputError
from warmset.native import ColdStore, Log

KEY = {"project_key": "project", "session_id": "session"}


def made(path=None, **options):
    return WarmsetSessionStore(Log(ColdStore.open(path)), **options)


def entry(number, **fields):
    return {"type": "user", "uuid": f"uuid {number}", "n": number, **fields}


def test_the_conformance_suite_of_the_sdk_passes(capsys):
    stores = []

    def fresh():
        stores.append(made())
        return stores[-1]

    asyncio.run(testing.run_session_store_conformance(fresh))
    contracts = len(stores) - 1  # one is made to see which optional methods there are
    with capsys.disabled():
        print(f"\nclaude-agent-sdk {sdk.__version__}: {contracts} contracts passed, none skipped")
    assert contracts == 14


def test_every_optional_method_is_there():
    optional = [name for name, _ in inspect.getmembers(sdk.SessionStore, inspect.isfunction)]
    for name in optional:
        if not name.startswith("_"):
            assert name in vars(WarmsetSessionStore)


def test_an_entry_is_kept_once_and_its_summary_stays_that_of_the_last_new_one():
    async def main():
        store = made()
        entries = [entry(at, customTitle=f"title {at}") for at in range(5)]
        await store.append(KEY, entries[:4])
        await store.append(KEY, entries[:2])
        [told] = await store.list_session_summaries("project")
        assert told["data"]["custom_title"] == "title 3"
        await store.append(KEY, [entries[3], entries[4], entries[4]])
        assert await store.load(KEY) == entries
        [told] = await store.list_session_summaries("project")
        assert told["data"]["custom_title"] == "title 4"

    asyncio.run(main())


def test_entries_without_a_uuid_are_appended_each_time():
    async def main():
        store = made()
        title = {"type": "custom-title", "customTitle": "t"}
        for _ in range(2):
            await store.append(KEY, [title])
        assert await store.load(KEY) == [title, title]
        await store.append({**KEY, "subpath": "agent"}, [{**title, "uuid": ""}] * 2)
        assert len(await store.load({**KEY, "subpath": "agent"})) == 2

    asyncio.run(main())


def test_a_uuid_may_come_again_in_a_subpath_and_in_another_session():
    async def main():
        store = made()
        for key in (KEY, {**KEY, "subpath": "agent"}, {**KEY, "session_id": "other"}):
            await store.append(key, [entry(1)])
            assert await store.load(key) == [entry(1)]

    asyncio.run(main())


def test_appends_at_the_same_time_leave_one_summary_of_all(tmp_path):
    async def main():
        stores = [made(tmp_path / "s") for _ in range(2)]
        titles = [f"t{at}" for at in range(20)]
        await asyncio.gather(
            *(
                stores[at % 2].append(KEY, [entry(at, customTitle=title)])
                for at, title in enumerate(titles)
            )
        )
        found = await stores[0].load(KEY)
        assert sorted(one["customTitle"] for one in found) == sorted(titles)
        [told] = await stores[1].list_session_summaries("project")
        assert told["data"]["custom_title"] == found[-1]["customTitle"]
        [listed] = await stores[0].list_sessions("project")
        assert listed == {"session_id": "session", "mtime": told["mtime"]}

    asyncio.run(main())


class Between:
    """A log in which something happens once, behind the first cell that is read."""

    def __init__(self, log, happens):
        self.log, self.happens = log, happens

    def __getattr__(self, name):
        return getattr(self.log, name)

    def get(self, key, **options):
        found = self.log.get(key, **options)
        happens, self.happens = self.happens, lambda: None
        happens()
        return found


def test_a_session_that_two_begin_at_once_has_the_summary_of_both():
    log = Log(ColdStore.open(None))
    other = WarmsetSessionStore(log)

    def happens():
        asyncio.run(other.append(KEY, [entry(1, customTitle="theirs")]))

    store = WarmsetSessionStore(Between(log, happens))
    asyncio.run(store.append(KEY, [entry(2, aiTitle="ours")]))
    assert asyncio.run(store.load(KEY)) == [
        entry(1, customTitle="theirs"),
        entry(2, aiTitle="ours"),
    ]
    [told] = asyncio.run(store.list_session_summaries("project"))
    assert (told["data"]["custom_title"], told["data"]["ai_title"]) == ("theirs", "ours")


def test_what_comes_again_beside_an_entry_without_a_uuid_leaves_that_one():
    async def main():
        store = made()
        await store.append(KEY, [entry(1)])
        title = {"type": "custom-title", "customTitle": "t"}
        await store.append(KEY, [title])
        await store.append(KEY, [entry(1), title, entry(2)])
        assert await store.load(KEY) == [entry(1), title, title, entry(2)]

    asyncio.run(main())


def test_summaries_of_more_sessions_than_are_read_at_once():
    async def main():
        store = made()
        for at in range(520):
            await store.append({**KEY, "session_id": f"s{at}"}, [entry(at)])
        told = await store.list_session_summaries("project")
        assert {one["session_id"] for one in told} == {f"s{at}" for at in range(520)}

    asyncio.run(main())


def test_a_deleted_subpath_leaves_no_bytes_if_deleting_means_erasing(tmp_path):
    async def main():
        store = made(tmp_path / "s", delete="erase")
        await store.append(KEY, [entry(1, text="MAIN")])
        await store.append({**KEY, "subpath": "a/b"}, [entry(2, text="SECRET")])
        assert await store.list_subkeys(KEY) == ["a/b"]
        await store.delete({**KEY, "subpath": "a/b"})
        assert await store.list_subkeys(KEY) == []
        held = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
        assert b"SECRET" not in held
        assert b"MAIN" in held

    asyncio.run(main())


def test_what_json_cannot_hold_is_refused_and_nothing_is_written():
    async def main():
        store = made()
        with pytest.raises(TypeError):
            await store.append(KEY, [entry(1), entry(2, thing=object())])
        assert await store.load(KEY) is None
        assert await store.list_sessions("project") == []

    asyncio.run(main())


def test_an_empty_subpath_is_refused():
    with pytest.raises(InvalidInputError, match="leave it out"):
        asyncio.run(made().load({**KEY, "subpath": ""}))


def test_the_helpers_of_the_sdk_read_it(tmp_path):
    async def main():
        directory = str(tmp_path)
        project = sdk.project_key_for_directory(directory)
        store = made()
        name = "0f8b6f0e-6c1c-4a52-9d8e-0d5ee3a0f001"
        key = {"project_key": project, "session_id": name}
        said = {"role": "user", "content": "How deep is the sea?"}
        at = "2026-11-28T12:00:00.000Z"
        line = {"type": "user", "uuid": "u1", "parentUuid": None, "timestamp": at}
        await store.append(key, [{**line, "sessionId": name, "message": said}])
        [info] = await sdk.list_sessions_from_store(store, directory=directory)
        assert info.session_id == name
        assert info.first_prompt == "How deep is the sea?"
        [message] = await sdk.get_session_messages_from_store(store, name, directory=directory)
        assert message.message == said
        await sdk.delete_session_via_store(store, name, directory=directory)
        assert await sdk.list_sessions_from_store(store, directory=directory) == []

    asyncio.run(main())
