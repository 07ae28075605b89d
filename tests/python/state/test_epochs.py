"""Chains of epoch records: which one holds, in every process, whatever was erased."""

from __future__ import annotations

import pytest
from checked_locks import alone

from warmset import Memory
from warmset.state.epochs import Epochs
from warmset.store.derived import Derived, Made
from warmset.store.epochs import Beginning, Insertion, Step, decode_step, head_of, step_draft

KEY = ("openai", "m")


def step(token, after="", *, begins=False, insertions=(), count=1, model="m"):
    start = Beginning(number=1, start=0, held=(), lead=0, why="why") if begins else None
    given = {"dialect": "openai", "model": model, "beside": "b", "count": count}
    return Step(token=token, after=after, begins=start, insertions=insertions, **given)


def made(id_, one, *, head=7, sources=()):
    kind, key, meta, payload, found = step_draft("acme", "log", one, head, sources)
    record = type("R", (), {"seq": id_, "kind": kind, "key": key, "meta": meta, "sources": found})
    record.hash, record.payload = b"", payload
    return Derived().take(record), payload


def chain_of(*steps):
    epochs = Epochs()
    for id_, one in steps:
        epochs.take(made(id_, one)[0])
    return epochs


def tokens(epochs, key=KEY):
    return [one.step.token for one in epochs.chain(key)]


def test_a_record_is_read_as_it_was_written():
    said = Insertion(name="recall", at=3, text="ö \ud800", quoted=(0, 2), listed=(1,))
    front = Insertion(name="summary", at=2, text="")
    one = step("t2", "t1", begins=True, insertions=(front, said))
    record, payload = made(9, one, head=4, sources=(4, 3, 4, 8))
    assert isinstance(record, Made)
    assert decode_step(record.fields, payload) == one
    assert (head_of(record), record.sources) == (4, (4, 3, 8))


def test_a_record_of_the_first_preview_states_no_days():
    one = step("t", insertions=(Insertion(name="recall", at=3, text="a", quoted=(0, 2)),))
    record, payload = made(9, one)
    fields = record.fields | {"insertions": [row[:4] for row in record.fields["insertions"]]}
    assert decode_step(fields, payload) == one


@pytest.mark.parametrize("damage", ["dialect", "count", "keep"])
def test_what_is_not_as_it_is_written_is_none(damage):
    record, _ = made(9, step("t"))
    assert decode_step(record.fields | {damage: None}, None) is None
    assert decode_step(record.fields | {"insertions": [["other", 1, [], []]]}, None) is None


def test_of_two_that_continue_one_the_first_holds():
    epochs = chain_of((1, step("a", begins=True)), (2, step("b", "a")), (3, step("c", "a")))
    assert tokens(epochs) == ["a", "b"]
    assert epochs.last(KEY) == "b"
    epochs.take(made(4, step("d", "b", begins=True))[0])
    epochs.take(made(5, step("e", "b"))[0])
    epochs.take(made(6, step("f", "b", begins=True))[0])
    assert tokens(epochs) == ["d"]
    assert [one.step.token for one in epochs.before(KEY)] == ["a", "b"]


@alone()
def test_other_models_have_chains_of_their_own():
    epochs = chain_of((1, step("a", begins=True)), (2, step("b", begins=True, model="n")))
    assert (tokens(epochs), tokens(epochs, ("openai", "n"))) == (["a"], ["b"])
    assert epochs.newest("openai") == ("openai", "n")
    assert epochs.newest("anthropic") is None
    assert epochs.sent_at(7) == step("b", begins=True, model="n")
    assert epochs.sent_at(8) is None


def test_an_epoch_without_a_beginning_is_none():
    assert tokens(chain_of((1, step("b", "a")), (2, step("c", "b")))) == []


ALL = [
    (1, step("a", begins=True)),
    (2, step("b", "a")),
    (3, step("c", "b", begins=True)),
    (4, step("d", "c")),
    (5, step("e", "d")),
]


@pytest.mark.parametrize("gone", [1, 2, 3, 4, 5])
def test_after_an_erasure_the_next_epoch_can_begin(gone):
    epochs = chain_of(*(one for one in ALL if one[0] != gone))
    epochs.take(made(6, step("f", epochs.last(KEY), begins=True))[0])
    epochs.take(made(7, step("g", "f"))[0])
    assert tokens(epochs) == ["f", "g"]


def test_epochs_before_the_last_two_are_outdated():
    epochs = chain_of(*ALL)
    assert epochs.outdated() == []
    epochs.take(made(6, step("f", "e", begins=True))[0])
    assert epochs.outdated() == [1, 2]
    epochs.take(made(7, step("g", "f", begins=True))[0])
    assert epochs.outdated() == [1, 2, 3, 4, 5]
    assert tokens(epochs) == ["g"]


def test_an_erasure_takes_outdated_records_along(tmp_path):
    def said(text, role="user"):
        return {"role": role, "content": f"{text} " * 40}

    with Memory.open(tmp_path, embedder="lexical") as memory:
        log, other = memory.conversation("log"), memory.conversation("other")
        other.append(said("gone"))
        for n in range(40):
            log.append(said(f"question {n}"))
            window = log.window(budget=1_200, mode="steady")
            log.append(said(f"answer {n}", "assistant"))
        assert window.report.epoch.number > 4
        window = log.window(budget=1_200, mode="steady")
        before = memory.stats()["records"]
        memory.erase(conversation="other")
        assert memory.stats()["records"] < before - 20
        assert log.window(budget=1_200, mode="steady").messages == window.messages
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        again = log.window(budget=1_200, mode="steady")
        assert (again.messages, again.report.epoch.began) == (window.messages, False)
