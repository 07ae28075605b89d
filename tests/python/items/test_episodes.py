"""Dropped turns come back by their handles, and every run is on record."""

from __future__ import annotations

import json
from random import Random

import pytest
from vectors_by_word import WordEmbedder

from warmset import Memory, compact_context
from warmset.errors import Closed, EmbedderError, Erased, InvalidInputError, NotFound
from warmset.messages import DIALECTS, dumps
from warmset.testing import random_history


def talk(n=30, word="word"):
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": f"{word}{at} " * (5 + at % 7)} for at in range(n)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("whole", [False, True])
def test_every_dropped_turn_comes_back_byte_for_byte(dialect, whole):
    for seed in range(12):
        given_list = random_history(Random(seed), dialect).messages
        with Memory.open(None, embedder="lexical") as memory:
            place = memory.conversation("a") if whole else memory
            if whole:
                place.append(given_list)
            made = compact_context(given_list, memory=place, target_ratio=0.2, dialect=dialect)
            for drop in made.dropped:
                assert dumps(memory.restore(drop.handle)) == dumps(given_list[drop.id])
                assert (drop.store_id is not None) == whole
            [episode] = memory.episodes()
            assert episode.id == made.episode
            assert episode.conversation == ("a" if whole else None)


def test_dropped_turns_outlive_the_process_and_are_kept_once(tmp_path):
    given_list = talk()
    given_list[3] = {"content": "word \ud800 kept as it is " * 9, "role": "user"}
    with Memory.open(tmp_path, embedder="lexical") as memory:
        first = compact_context(given_list, memory=memory, target_ratio=0.3)
        again = compact_context(given_list, memory=memory, target_ratio=0.3)
        assert [one.handle for one in again.dropped] == [one.handle for one in first.dropped]
        items = list(memory._engine.derived.of("item", "default"))
        assert len(items) == len({json.dumps(given_list[one.id]) for one in first.dropped})
        other = compact_context(given_list, memory=memory.conversation("b"), target_ratio=0.3)
        assert {one.handle for one in other.dropped}.isdisjoint(one.handle for one in first.dropped)
    with Memory.open(tmp_path, embedder="lexical") as memory:
        for drop in first.dropped:
            assert list(memory.restore(drop.handle).items()) == list(given_list[drop.id].items())


def test_a_conversation_keeps_only_what_it_has_not_got():
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("a")
        ids = conversation.append(talk(20))
        strangers = talk(6, word="stranger")
        given_list = [*talk(20), *strangers, *talk(4, word="end")]
        made = compact_context(given_list, memory=conversation, target_ratio=0.2)
        for drop in made.dropped:
            assert drop.store_id == (ids[drop.id] if drop.id < 20 else None)
            assert memory.restore(drop.handle) == given_list[drop.id]
        items = list(memory._engine.derived.of("item", "default"))
        assert len(items) == sum(drop.id >= 20 for drop in made.dropped) > 0
        assert {one.conversation for one in items} == {"a"}


def test_turns_that_say_the_same_are_told_apart():
    same = {"role": "user", "content": "are we there yet? " * 6}
    given_list = [*talk(4), same, *talk(4, word="x"), dict(same), *talk(9, word="y")]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("a")
        ids = conversation.append(given_list)
        made = compact_context(given_list, memory=conversation, target_ratio=0.2)
        found = {drop.id: drop.store_id for drop in made.dropped}
        assert (found[4], found[9]) == (ids[4], ids[9])


@pytest.mark.parametrize("order", ["dropped first", "left behind"])
def test_a_copy_of_an_erased_message_goes_with_it(tmp_path, order):
    given_list = talk(word="crate-number-")
    with Memory.open(tmp_path, embedder="lexical", durability="os") as memory:
        place, other = memory.conversation("a"), memory.conversation("b")
        if order == "left behind":
            ids = place.append(given_list)
            place.sync(given_list[:1])
        made = compact_context(given_list, memory=place, target_ratio=0.1, distill_novel=True)
        said = [{**one, "content": one["content"] + "b"} for one in given_list]
        kept = compact_context(said, memory=other, target_ratio=0.1).dropped[0]
        first, second = made.dropped[0], made.dropped[1]
        if order == "dropped first":
            ids = place.append([*given_list, given_list[second.id]])
            memory.erase(ids=[ids[second.id]])
            assert memory.restore(second.handle) == given_list[second.id], "it is said once more"
        gone = memory.erase(ids=[ids[first.id]])
        assert (gone.records, gone.derived) == (1, 2), "the copy, and the memory made of it"
        with pytest.raises(Erased):
            memory.restore(first.handle)
        assert memory.restore(kept.handle) == said[kept.id]
        memory.erase(conversation="b")
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        text = given_list[first.id]["content"].encode()
        assert not [file for file in files if text in file.read_bytes()]


@pytest.mark.parametrize("encryption", [None, "keys"])
@pytest.mark.parametrize("way", ["conversation", "ids"])
@pytest.mark.parametrize("where", ["tenant", "another conversation"])
def test_no_copy_outlives_the_conversation(tmp_path, encryption, way, where):
    given_list, other = talk(word="crate-number-"), talk(word="pump-")
    with (
        Memory.open(tmp_path, embedder="lexical", encryption=encryption) as memory,
        Memory.open(tmp_path, embedder="lexical", encryption=encryption, tenant="t") as theirs,
    ):
        place = memory if where == "tenant" else memory.conversation("list")
        made = [
            compact_context(one, memory=place, target_ratio=0.2, distill_novel=True)
            for one in (given_list, other)
        ]
        strange = compact_context(given_list, memory=theirs, target_ratio=0.2)
        ids = memory.conversation("a").append(given_list)
        theirs.conversation("a").append(given_list)
        memory.conversation("b").append(other)
        twin = memory.conversation("c").append(given_list[made[0].dropped[0].id])
        memories = memory.memories(k=99)
        assert {one.text.split("-")[0] for one in memories} == {"crate", "pump"}
        scope = {"ids": ids} if way == "ids" else {"conversation": "a"}
        gone = memory.erase(**scope)
        assert gone.records == len(ids)
        said_again, *left = made[0].dropped
        assert memory.restore(said_again.handle) == given_list[said_again.id]
        for drop in left:
            with pytest.raises(Erased):
                memory.restore(drop.handle)
        for drop in made[1].dropped:
            assert memory.restore(drop.handle) == other[drop.id]
        for drop in strange.dropped:
            assert theirs.restore(drop.handle) == given_list[drop.id], "another tenant's"
        texts = [one.text for one in memory.memories(k=99)]
        assert [one for one in texts if "pump" in one]
        assert len([one for one in texts if "crate" in one]) <= 1
        memory.erase(ids=twin)
        with pytest.raises(Erased):
            memory.restore(said_again.handle)
        theirs.erase(conversation="a")
        assert not [one for one in memory.memories(k=99) if "crate" in one.text]
    files = [one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()]
    assert not [one for one in files if b"crate-number-" in one]
    assert encryption or [one for one in files if b"pump-" in one]


def test_a_handle_is_its_tenants_alone(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical") as ours,
        Memory.open(tmp_path, embedder="lexical", tenant="other") as theirs,
    ):
        made = compact_context(talk(), memory=ours)
        handle = made.dropped[0].handle
        with pytest.raises(NotFound):
            theirs.restore(handle)
        number = handle.split(":")[1]
        forged = compact_context(talk(), memory=theirs).dropped[0].handle.split(":")[2]
        for wrong in (f"kept:{number}:{forged}", "kept:1", "", "kept::", f"kept:{'9' * 30}:x"):
            with pytest.raises(NotFound):
                theirs.restore(wrong)
        with pytest.raises(InvalidInputError):
            ours.restore(3)
        episode = handle.replace(f":{number}:", f":{made.episode}:")
        with pytest.raises(NotFound):
            ours.restore(episode)
        ours.erase(ids=[int(number)])
        with pytest.raises(Erased):
            ours.restore(handle)
        with pytest.raises(NotFound):
            theirs.restore(handle)
        assert theirs.episodes()[0].figures["dropped"] == made.stats.dropped
        assert len(theirs.episodes()) == 1
    with pytest.raises(Closed):
        compact_context(talk(), memory=ours)


def test_every_run_is_on_record_with_its_figures(tmp_path):
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        first = compact_context(talk(), memory=memory, query="word3")
        whole = compact_context(talk(), memory=memory, target_ratio=1)
        own = compact_context(talk(), memory=memory.conversation("a"), target_ratio=0.2)
    with Memory.open(tmp_path, embedder="lexical") as memory:
        runs = memory.episodes()
        assert [run.id for run in runs] == [first.episode, whole.episode, own.episode]
        assert [run.id for run in memory.episodes(conversation="a")] == [own.episode]
        told = first.stats.as_dict()
        del told["milliseconds"]
        assert runs[0].figures == told
        assert runs[1].figures["dropped"] == 0
        assert runs[0].at <= runs[2].at
        with pytest.raises(InvalidInputError):
            memory.episodes(conversation="")


def test_what_is_known_goes_first_and_a_missing_fact_stays():
    given_list = talk(20)
    for at, text in ((4, "the key to the shed hangs behind 3 pots"), (6, "Olga has 19 red boats")):
        given_list[at] = {"role": "user", "content": text}
    with Memory.open(None, embedder=WordEmbedder()) as memory:
        memory.remember("the key to the shed hangs behind 3 pots")
        memory.remember("Olga has 20 red boats")
        made = compact_context(given_list, memory=memory, target_ratio=0.3)
        covered = {drop.id: drop.terms.coverage for drop in made.dropped}
        assert covered[4] > 0.99
        assert covered.get(6, 0) == 0
        assert "known elsewhere" in made.dropped[made.dropped.ids.index(4)].reason


def test_an_embedder_that_fails_keeps_nothing():
    def fail(_texts):
        raise RuntimeError("no")

    with Memory.open(None, embedder="lexical") as memory:
        with pytest.raises(EmbedderError):
            compact_context(talk(), memory=memory, embedder=fail)
        assert memory.episodes() == []
        assert not list(memory._engine.derived.of("item", "default"))
        assert compact_context(talk(), memory=memory).stats.embedder == "none"


def test_the_choice_is_the_same_with_an_empty_memory():
    for seed in range(10):
        given_list = random_history(Random(seed), "openai").messages
        with Memory.open(None, embedder=WordEmbedder()) as memory:
            alone = compact_context(given_list, embedder=WordEmbedder())
            kept = compact_context(given_list, memory=memory)
            assert kept.dropped.ids == alone.dropped.ids
            assert kept.messages == alone.messages
