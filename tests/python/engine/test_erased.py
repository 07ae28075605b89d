"""What is known of a conversation when a part of it was erased, and what is forgotten."""

from __future__ import annotations

import gc
from tempfile import TemporaryDirectory

import pytest
from bag import Bag

from warmset import Memory, compact_context
from warmset.errors import NotFound, ReadOnly
from warmset.native import ColdStore
from warmset.receipts import ErasureResult

MODEL = "claude-opus-5-5"


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


def thought(n):
    thinking = {"type": "thinking", "thinking": "hm", "signature": f"s{n}"}
    return {"role": "assistant", "content": [thinking, {"type": "text", "text": f"a{n}"}]}


def window(log):
    return log.window(mode="full", budget=9_999, dialect="anthropic", model=MODEL)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_that_lists_were_made_is_known_after_an_erasure(whole, asked):
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append(said("t", "u"))
        if asked:
            window(log)
        memory.erase(**({"conversation": "log"} if whole else {"ids": log.ids[1:]}))
        if not whole:
            memory.erase(ids=log.ids)
        log.append([*said("v"), thought(1), *said("w")])
        assert window(log).report.thinking.kept == (0 if asked else 1), "behind one of ours, or not"


@pytest.mark.parametrize("kind", ["lexical", "bag"])
def test_the_rest_of_a_conversation_is_found_and_not_embedded_again(tmp_path, kind):
    embedder = Bag() if kind == "bag" else "lexical"
    with Memory.open(tmp_path, embedder=embedder) as memory:
        log = memory.conversation("log")
        ids = log.append(said("a car", "a boat", "a plane", "a train"))
        assert memory.flush(30)
        made = len(embedder.texts) if kind == "bag" else 0
        memory.erase(ids=ids[:1])
        assert memory.flush(30)
        assert list(memory.search("car", k=9).ids) == [] or kind == "bag"
        assert ids[0] not in memory.search("car", k=9).ids
        for at, word in enumerate(["boat", "plane", "train"], 1):
            assert memory.search(word, k=1)[0].id == ids[at]
        if kind == "bag":
            again = [text for text in embedder.texts[made:] if "\n" in text]
            assert again == ["a boat\na plane"], "the one context that had words of it"
            assert memory.stats()["rows"] == 3


def test_no_ids_need_no_store_that_may_be_written(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append(said("one"))
    with Memory.open(tmp_path, embedder="lexical", mode="read") as memory:
        assert memory.erase(ids=[]) == ErasureResult(0, 0, 0)
        with pytest.raises(ReadOnly):
            memory.erase(ids=memory.conversation("log").ids)


def test_records_of_windows_that_nobody_needs_are_erased_with_anything(tmp_path):
    def choices():
        with ColdStore.open(tmp_path, mode="read") as store:
            return [one.seq for one in store.page() if b'"choices"' in one.meta]

    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        for n in range(40):
            log.append(said(f"Question {n} of the boats in the harbour? " * 4))
            log.append({"role": "assistant", "content": f"Answer {n} of the crane. " * 6})
        (gone,) = memory.conversation("other").append(said("a secret"))
        for n in range(3):
            log.append(said(f"What about question {n}?"))
            log.window(budget=1_500)
            log.append({"role": "assistant", "content": f"It is {n}."})
        before = choices()
        assert len(before) == 3
        memory.erase(ids=[gone])
        assert choices() == before[-1:]
        log.window(budget=1_500)
        assert choices() == before[-1:], "it is used again"
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append(said("And now?"))
        log.window(budget=1_500)
        last = choices()[-1]
        with ColdStore.open(tmp_path, mode="read") as store:
            sources = store.get(last).sources
        quoted = [id_ for id_ in log.ids[1:-4] if id_ in sources]
        memory.erase(ids=quoted[:1])
        assert last not in choices(), "a message that it quoted is gone"
        log.window(budget=1_500)
        assert choices()[-1] > last


HIDDEN = "rabiznaz"
"""A word, spelled backwards so that the test itself does not have it."""


def anywhere():
    """Give the types of all objects of this process that refer to a text with the word."""
    word = HIDDEN[::-1]
    gc.collect()
    waiting = gc.get_objects()
    found = set()
    while waiting:
        one = waiting.pop()
        for other in gc.get_referents(one):
            if type(other) is str and word in other and other != word:
                found.add((type(one).__name__, other[:40]))
            elif type(other) in (dict, tuple) and not gc.is_tracked(other):
                waiting.append(other)  # these hold nothing but texts and numbers
    return found


@pytest.mark.parametrize("way", ["ids", "conversation"])
def test_no_text_of_what_was_erased_is_left_in_the_process(tmp_path, way):
    def secret(n):
        return f"message {n} of {HIDDEN[::-1]} in the harbour, where the boats are. " * 4

    with Memory.open(tmp_path, embedder="lexical", summary_line=lambda text: text[:30]) as memory:
        log = memory.conversation("log")
        log.append(said("the task"))
        ids = log.append([message for n in range(12) for message in said(secret(n))])
        log.append(said(*(f"plain {n} of the boats" for n in range(9))))
        listed = [dict(turn) for turn in log.fetch(log.ids)]
        log.sync(listed)
        assert memory.flush(30)
        log.window("boats in the harbour?", budget=1_000)
        log.window(budget=1_000, mode="steady")
        log.fit(budget=700)
        assert memory.search("harbour")[0].summary
        memory.remember(secret(0))
        assert memory.memories(query="harbour")
        del listed[:]
        assert anywhere()
        memory.erase(ids=[one.id for one in memory.memories(k=99)])
        memory.erase(**({"ids": ids} if way == "ids" else {"conversation": "log"}))
        assert anywhere() == set()


def test_no_memory_of_what_was_popped_for_good_is_left_in_the_process(tmp_path):
    secret = f"We decided that {HIDDEN[::-1]} has the keys of the harbour gate since Monday."
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append(said("the task", secret))
        rest = [f"later {n} of the boats " * 9 for n in range(20)]
        made = compact_context(
            said("the task", secret, *rest), memory=log, target_ratio=0.05, distill_novel=True
        )
        assert made.stats.distilled
        assert any(HIDDEN[::-1] in one.text for one in memory.memories(query="harbour gate keys"))
        del made
        log.pop(forget=True)
        assert anywhere() == set()


@pytest.mark.parametrize("way", ["ids", "conversation"])
def test_no_mark_of_an_erased_message_is_left_in_the_process(way):
    def marked(text):
        block = {"type": "text", "text": text, "cache_control": {"type": f"for {HIDDEN[::-1]}"}}
        return {"role": "user", "content": [block]}

    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        ids = log.append(said("a boat", "a car"))
        assert log.sync([marked("a boat"), *said("a car")]).appended == []
        assert anywhere()
        memory.erase(**({"ids": ids[:1]} if way == "ids" else {"conversation": "log"}))
        assert anywhere() == set()


def test_nothing_is_erased_where_an_id_is_somebody_elses(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical") as one,
        Memory.open(tmp_path, embedder="lexical", tenant="t") as two,
    ):
        mine = one.conversation("log").append(said("a"))
        theirs = two.conversation("log").append(said("b"))
        for ids in (theirs, [*mine, *theirs], [*theirs, *mine]):
            with pytest.raises(NotFound):
                one.erase(ids=ids)
        assert (len(one.conversation("log")), len(two.conversation("log"))) == (1, 1)


def test_the_description_of_other_callables_may_go():
    def one(text):
        return f"one {text}"

    def two(text):
        return f"two {text}"

    with TemporaryDirectory() as path:
        for call in (one, two):
            with Memory.open(path, embedder="lexical", summary_line=call) as memory:
                memory.conversation("log").sync(said("a boat", "a car"))
                assert memory.flush(30)
        with Memory.open(path, embedder="lexical", summary_line=two) as memory:
            boat, car = memory.conversation("log").ids
            made = memory._engine.derived.of("summary", "default")
            old, new = (one.id for one in made if one.sources == (boat,))
            assert memory.search("boat")[0].summary == "two a boat"
            memory.erase(ids=[old])
            assert memory.search("boat")[0].summary == "two a boat"
            memory.erase(ids=[car])  # the rest is read again
            assert memory.search("boat")[0].summary == "two a boat"
            memory.erase(ids=[new])
            assert memory.search("boat")[0].summary == "a boat"
        with Memory.open(path, embedder="lexical") as memory:
            assert memory.search("boat")[0].summary == "a boat"
