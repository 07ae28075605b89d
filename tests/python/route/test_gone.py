"""What goes while it is routed: between the index and the text, and between two processes."""

from __future__ import annotations

import threading

import pytest

from warmset import Memory
from warmset.items import NewItem
from warmset.route import Need, Router, TaskSpec
from warmset.route.gather import Gatherer


def router(memory, priority):
    need = Need(type="note", scope="global", priority=priority)
    messages = Need(type="conversation", scope="global", priority=priority)
    spec = TaskSpec(task_type="t", required_memory=(need, messages), max_context_tokens=2_000)
    return Router(memory, specs=[spec])


@pytest.mark.parametrize("priority", ["essential", "supplementary"])
@pytest.mark.parametrize("gone", ["n1", "turn"])
def test_an_item_that_is_erased_while_it_is_routed(memory, monkeypatch, priority, gone):
    for n in (1, 2):
        memory.items.put(NewItem(memory_type="note", text=f"The ferry {n}.", memory_id=f"n{n}"))
    [id_] = memory.conversation("c").append({"role": "user", "content": "A ferry, please."})
    name = f"turn:{id_}" if gone == "turn" else gone
    gather = Gatherer.gather

    def late(self, spec, request):
        found = gather(self, spec, request)
        memory.items.erase(name)
        return found

    monkeypatch.setattr(Gatherer, "gather", late)
    made = router(memory, priority).route("t", query="ferry")
    assert name not in {one.memory_id for one in made.context_payload}
    [out] = made.excluded
    assert (out.memory_id, out.classification) == (name, "irrelevant")
    assert out.reason == "it was removed meanwhile"
    assert name not in str(made.messages)
    assert len(made.context_payload) == 2


def test_nothing_is_granted_that_was_erased(memory):
    for n in (1, 2):
        memory.items.put(NewItem(memory_type="note", text=f"The ferry {n}.", memory_id=f"n{n}"))
    need = Need(type="note", scope="global")
    spec = TaskSpec(task_type="t", required_memory=(need,), max_context_tokens=75)
    made = Router(memory, specs=[spec]).route("t", query="ferry 1")
    [out] = made.excluded
    memory.items.erase(out.memory_id)
    more = made.more([out.memory_id])
    assert (more.text, more.refused) == ("", {out.memory_id: "it was removed meanwhile"})
    assert made.more("ferry 2").granted == ()


def test_another_process_s_items_are_seen_at_once(tmp_path):
    with (
        Memory.open(tmp_path / "m", embedder="lexical") as ours,
        Memory.open(tmp_path / "m", embedder="lexical", tenant="other") as other,
    ):
        ours.items.put(NewItem(memory_type="note", text="A boat.", memory_id="n0"))
        made = router(ours, "supplementary")
        assert len(made.route("t", query="ferry").context_payload) == 1
        ours.items.put(NewItem(memory_type="note", text="The ferry.", memory_id="n1"))
        other.items.put(NewItem(memory_type="note", text="The ferry.", memory_id="n2"))
        found = made.route("t", query="ferry").context_payload
        assert {one.memory_id for one in found} == {"n0", "n1"}


def test_threads_that_route_and_erase_never_show_what_is_gone(tmp_path):
    with Memory.open(tmp_path / "m", embedder="lexical", durability="os") as memory:
        memory.items.put_many(
            [
                NewItem(memory_type="note", text=f"The ferry {n} is kite{n}x.", memory_id=f"n{n}")
                for n in range(30)
            ]
        )
        made = router(memory, "supplementary")
        gone: list[int] = []
        faults: list[object] = []

        def route():
            for _ in range(60):
                before = list(gone)
                text = str(made.route("t", query="ferry").messages)
                faults.extend(n for n in before if f"kite{n}x" in text)

        threads = [threading.Thread(target=route) for _ in range(3)]
        for one in threads:
            one.start()
        for n in range(0, 30, 3):
            memory.items.erase(f"n{n}")
            gone.append(n)
        for one in threads:
            one.join(60)
        assert not faults
        left = made.route("t", query="ferry").context_payload
        assert len(left) == 20


def test_a_payload_of_an_erased_conversation_leaves_no_record_when_it_is_rerouted(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.items.put(NewItem(memory_type="note", memory_id="a", text="The ferry sails."))
        memory.conversation("talk").append({"role": "user", "content": "Hello."})
        need = Need(type="note", scope="global")
        spec = TaskSpec(task_type="t", required_memory=(need,), max_context_tokens=400)
        router = Router(memory, specs=[spec])
        made = router.route("t", query="is a walrus aboard?", conversation="talk")
        other = router.reroute(made, 0.1)
        assert other.payload_id is not None
        memory.erase(conversation="talk")
        for one in (made, other, router.reroute(other, 0.1)):
            again = router.reroute(one, 0.1)
            assert (again.payload_id, len(again.notes)) == (None, 1)
            assert [each.memory_id for each in again.context_payload] == ["a"]
        assert router.payloads() == []
    assert not any(b"walrus" in file.read_bytes() for file in tmp_path.rglob("*.*"))
