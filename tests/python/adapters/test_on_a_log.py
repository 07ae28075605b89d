"""What every adapter over a log owes its users where no suite of a framework looks.

Two handles, two processes, a crash, a handle that was open while something was deleted, names that
look alike, and deletion that leaves neither bytes nor keys.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from adapter_drivers import MAKERS, driver

from warmset.errors import InvalidInputError
from warmset.native import ColdStore, Log

SUPPORT = Path(__file__).resolve().parents[1] / "support"

ALIKE = [
    "a",
    "a/b",
    "a.b",
    "a:b",
    "a\x00b",
    "a\nb",
    "A",
    "ä",
    "a\u0308",
    "%",
    "_",
    "..",
    "名前",
    "🙂",
]
EMPTY = {"langgraph_store": []}
"""LangGraph refuses empty labels, dots and NUL in them; all others take any name."""


@pytest.fixture(params=MAKERS)
def name(request):
    pytest.importorskip(MAKERS[request.param][1])
    return request.param


@pytest.fixture
def one(name):
    return driver(name)


def opened(path, **options):
    return Log(ColdStore.open(path, **options))


def test_two_handles_see_what_either_writes(one, tmp_path):
    async def main():
        first, second = (one.make(opened(tmp_path / "s")) for _ in range(2))
        expected = []
        for at in range(10):
            await one.add((first, second)[at % 2], "x", f"text {at}")
            expected.append(f"text {at}")
            assert await one.read((second, first)[at % 2], "x") == expected

    asyncio.run(main())


def test_a_handle_that_was_open_before_a_deletion_shows_nothing_and_goes_on(one, tmp_path):
    async def main():
        stale, other = (one.make(opened(tmp_path / "s")) for _ in range(2))
        await one.add(stale, "x", "old")
        await one.add(stale, "y", "kept")
        assert await one.read(stale, "x") == await one.read(other, "x") == ["old"]
        await one.delete(other, "x")
        assert await one.read(stale, "x") == []
        await one.add(stale, "x", "new")
        assert await one.read(stale, "x") == await one.read(other, "x") == ["new"]
        assert await one.read(stale, "y") == ["kept"]

    asyncio.run(main())


def test_names_that_look_alike_are_different(one, name, tmp_path):
    async def main():
        made = one.make(opened(tmp_path / "s"))
        names = ALIKE + EMPTY.get(name, [""])
        if name == "langgraph_store":
            names = [label for label in names if not {".", "\x00"} & {*label}]
        for label in names:
            await one.add(made, label, f"of {label!r}")
        for label in names:
            assert await one.read(made, label) == [f"of {label!r}"]
        await one.delete(made, names[0])
        assert [bool(await one.read(made, label)) for label in names] == [
            label != names[0] for label in names
        ]

    asyncio.run(main())


def test_tenants_and_adapters_of_one_log_do_not_see_each_other(one, name, tmp_path):
    async def main():
        log = opened(tmp_path / "s")
        ann, bob = one.make(log, tenant="ann"), one.make(log, tenant="bob")
        await one.add(ann, "x", "of ann")
        await one.add(bob, "x", "of bob")
        await one.delete(bob, "x")
        assert await one.read(ann, "x") == ["of ann"]
        for other in MAKERS.keys() - {name}:
            pytest.importorskip(MAKERS[other][1])
            there = driver(other)
            made = there.make(log, tenant="ann")
            await there.add(made, "x", "again")
            await there.delete(made, "x")
            assert await one.read(ann, "x") == ["of ann"]

    asyncio.run(main())


@pytest.mark.parametrize("encryption", [None, "keys"])
def test_what_is_erased_leaves_neither_bytes_nor_a_key(one, tmp_path, encryption):
    def holds(text):
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        return any(text in path.read_bytes() for path in files)

    def keys():
        return len([*(tmp_path / "s" / "keys").iterdir()])

    async def main():
        made = one.make(opened(tmp_path / "s", encryption=encryption), delete="erase")
        await one.add(made, "x", "SECRET")
        await one.add(made, "x", "SECRET 2")
        await one.add(made, "y", "OTHER")
        assert holds(b"SECRET") == holds(b"OTHER") == (encryption is None)
        before = keys() if encryption else 0
        await one.delete(made, "x")
        assert not holds(b"SECRET")
        if encryption:
            assert keys() == before - 1
        assert await one.read(made, "x") == []
        assert await one.read(made, "y") == ["OTHER"]

    asyncio.run(main())


def test_a_wrong_argument_is_refused_with_what_would_be_right(one, tmp_path):
    store = ColdStore.open(tmp_path / "s")
    asked = [({"delete": "shred"}, "delete: expected"), ({"tenant": ""}, "tenant: expected")]
    for options, why in asked:
        with pytest.raises(InvalidInputError, match=why):
            asyncio.run(one.read(one.make(Log(store), **options), "x"))
    with pytest.raises(InvalidInputError, match=r"make one: Log\(store\)"):
        asyncio.run(one.read(one.make(store), "x"))


OTHER = """
import asyncio, sys
sys.path.insert(0, {support!r})
from adapter_drivers import driver
from warmset.native import ColdStore, Log
one = driver({name!r})
made = one.make(Log(ColdStore.open(sys.argv[1])))
async def main():
    for at in range(int(sys.argv[2])):
        await one.add(made, "x", f"{{sys.argv[3]}} {{at}}")
        print(at, flush=True)
asyncio.run(main())
"""


def process(name, path, count, label):
    code = OTHER.format(support=str(SUPPORT), name=name)
    command = [sys.executable, "-W", "ignore", "-c", code, str(path), str(count), label]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - fixed


def test_two_processes_lose_nothing_and_keep_each_others_order(one, name, tmp_path):
    running = [process(name, tmp_path / "s", 20, label) for label in ("left", "right")]
    assert [each.wait(60) for each in running] == [0, 0]
    for each in running:
        each.stdout.close()
    found = asyncio.run(one.read(one.make(opened(tmp_path / "s")), "x"))
    assert len(found) == 40
    for label in ("left", "right"):
        assert [text for text in found if text.startswith(label)] == [
            f"{label} {at}" for at in range(20)
        ]


def test_after_kill_9_and_a_restart_everything_that_was_acknowledged_is_there(one, name, tmp_path):
    running = process(name, tmp_path / "s", 10_000, "text")
    seen = [running.stdout.readline() for _ in range(25)]
    running.send_signal(signal.SIGKILL)
    rest = running.stdout.read()
    running.stdout.close()
    assert running.wait(60) == -signal.SIGKILL
    acknowledged = len(seen) + rest.count("\n")
    made = one.make(opened(tmp_path / "s"))
    found = asyncio.run(one.read(made, "x"))
    assert found == [f"text {at}" for at in range(len(found))]
    assert acknowledged <= len(found) <= acknowledged + 1
    asyncio.run(one.add(made, "x", "after"))
    assert asyncio.run(one.read(made, "x"))[-1] == "after"


def test_a_hundred_tasks_at_once(one, tmp_path):
    async def main():
        made = one.make(opened(tmp_path / "s", durability="os"))
        await asyncio.gather(*(one.add(made, f"n{at % 5}", f"text {at}") for at in range(100)))
        for at in range(5):
            found = await one.read(made, f"n{at}")
            assert sorted(found) == sorted(f"text {each}" for each in range(at, 100, 5))

    asyncio.run(main())


def test_a_call_that_is_cancelled_ends_when_it_is_done(one, tmp_path):
    async def main():
        made = one.make(opened(tmp_path / "s"))
        task = asyncio.create_task(one.add(made, "x", "text"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = await one.read(made, "x")
        await asyncio.sleep(0)
        assert await one.read(made, "x") == found

    asyncio.run(main())
