"""Append, sync and branches; all of it again after the store was closed and opened."""

from __future__ import annotations

import json
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from warmset import Filter, Memory
from warmset.errors import InvalidMessageError, NotFiniteError

LIST = [
    {"role": "user", "content": "plan the trip"},
    {"role": "assistant", "content": [{"type": "text", "text": "by train"}]},
    {"role": "user", "content": "plan the trip"},
]


@pytest.fixture(params=["held", "reopened"])
def store(request, tmp_path):
    """A store that is opened with `open`; `settle` closes and opens it again, or does nothing."""
    with ExitStack() as handles:

        def opened(**options):
            memory = Memory.open(tmp_path / "store", embedder="lexical", **options)
            return handles.enter_context(memory)

        def settle(memory):
            if request.param == "held":
                return memory
            memory.close()
            return opened(tenant=memory.tenant)

        yield SimpleNamespace(open=opened, settle=settle)


def talk(letters):
    """One message a letter, in turns."""
    return [
        {"role": "assistant" if at % 2 else "user", "content": letter}
        for at, letter in enumerate(letters)
    ]


def shown(conversation):
    return [dict(turn) for turn in conversation.fetch(conversation.ids)]


class Sdk:
    """An object as a provider's SDK has them."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, *, exclude_unset=False):
        return self.fields if exclude_unset else {**self.fields, "audio": None}


NESTED = {"role": "assistant", "content": [{"type": "text", "text": "x"}]}
GIVEN = {
    "one": (lambda: LIST[0], LIST[:1]),
    "list": (lambda: LIST, LIST),
    "tuple": (lambda: tuple(LIST), LIST),
    "iterator": (lambda: iter(LIST), LIST),
    "nothing": (list, []),
    "repeats": (lambda: [LIST[0]] * 3, [LIST[0]] * 3),
    "sdk": (lambda: Sdk(**LIST[0]), LIST[:1]),
    "mixed": (lambda: [LIST[0], Sdk(**LIST[1]), LIST[2]], LIST),
    "nested": (lambda: Sdk(role="assistant", content=(Sdk(type="text", text="x"),)), [NESTED]),
}


@pytest.mark.parametrize(("given", "kept"), GIVEN.values(), ids=GIVEN)
def test_append_keeps_what_it_is_given(store, given, kept):
    memory = store.open()
    ids = memory.conversation("trip").append(given())
    again = memory.conversation("trip").append(given())
    conversation = store.settle(memory).conversation("trip")
    assert shown(conversation) == [*kept, *kept]
    assert conversation.ids == [*ids, *again] == sorted({*ids, *again})
    assert len(conversation) == 2 * len(kept)


STEPS = {
    "retry": [("abc", 0, 3, None), ("abc", 3, 0, None)],
    "growing": [("ab", 0, 2, None), ("abcd", 2, 2, None), ("abcdef", 4, 2, None)],
    "edit of an old message": [("abcd", 0, 4, None), ("aXcd", 1, 3, 1), ("aXcde", 4, 1, None)],
    "edit of the first": [("abcd", 0, 4, None), ("Xbcd", 0, 4, 0)],
    "other ending": [("abcd", 0, 4, None), ("abXY", 2, 2, 2)],
    "shortened": [("abcd", 0, 4, None), ("ab", 2, 0, 2), ("ab", 2, 0, None)],
    "shortened and back": [("abcd", 0, 4, None), ("ab", 2, 0, 2), ("abcd", 4, 0, None)],
    "shortened and on": [("abcd", 0, 4, None), ("ab", 2, 0, 2), ("abX", 2, 1, None)],
    "back to an older branch": [
        ("abcd", 0, 4, None),
        ("abXY", 2, 2, 2),
        ("abcd", 4, 0, 2),
        ("abXY", 4, 0, 2),
        ("abcdef", 4, 2, 2),
    ],
    "empty at once": [("", 0, 0, None), ("a", 0, 1, None)],
    "emptied": [("abcd", 0, 4, None), ("", 0, 0, 0), ("", 0, 0, None), ("ab", 2, 0, None)],
    "repeats": [("aaaa", 0, 4, None), ("aaaaaa", 4, 2, None), ("aaa", 3, 0, 3)],
    "another list": [("abc", 0, 3, None), ("XYZ", 0, 3, 0)],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_sync_follows_a_list(store, steps):
    memory = store.open()
    known = {}  # beginnings of lists, with the id of their last message
    for letters, kept, appended, branched_at in steps:
        done = memory.conversation("trip").sync(talk(letters))
        assert (done.kept, len(done.appended), done.branched_at) == (kept, appended, branched_at)
        memory = store.settle(memory)
        conversation = memory.conversation("trip")
        assert shown(conversation) == talk(letters)
        for at, id_ in enumerate(conversation.ids, start=1):
            assert known.setdefault(letters[:at], id_) == id_, "found again, not kept twice"
        assert memory.stats()["messages"] == len(known)
    assert len(set(known.values())) == len(known)


FIRST = {"role": "user", "content": "a", "x": {"b": "1", "c": ["2", None]}}
NUMBERS = {"role": "user", "content": "a", "x": {"b": 1, "c": [2.0, None]}}
CHANGES = {
    "text": (FIRST, FIRST | {"content": "a "}),
    "a field more": (FIRST, FIRST | {"y": ""}),
    "a field less": (FIRST, {key: FIRST[key] for key in ("role", "content")}),
    "deep": (FIRST, FIRST | {"x": {"b": "1", "c": ["2", "3"]}}),
    "true for one": (NUMBERS, NUMBERS | {"x": {"b": True, "c": [2.0, None]}}),
    "two for two": (NUMBERS, NUMBERS | {"x": {"b": 1, "c": [2, None]}}),
}


@pytest.mark.parametrize(("first", "other"), CHANGES.values(), ids=CHANGES)
def test_sync_sees_every_change_of_a_message(store, first, other):
    memory = store.open()
    memory.conversation("trip").sync([first])
    memory = store.settle(memory)
    assert memory.conversation("trip").sync([other]).kept == 0
    memory = store.settle(memory)
    conversation = memory.conversation("trip")
    assert json.dumps(shown(conversation)) == json.dumps([other])
    assert conversation.sync([first]).kept == 1


SAME = {
    "a field that is null": FIRST | {"y": None},
    "order": dict(reversed(FIRST.items())),
    "deep order": FIRST | {"x": dict(reversed(FIRST["x"].items()))},
}


@pytest.mark.parametrize("other", SAME.values(), ids=SAME)
def test_a_message_that_is_written_otherwise_is_the_same(store, other):
    memory = store.open()
    memory.conversation("trip").sync([FIRST])
    memory = store.settle(memory)
    conversation = memory.conversation("trip")
    assert conversation.sync([other]).kept == 1
    assert json.dumps(shown(conversation)) == json.dumps([FIRST])


def test_sync_sees_what_the_caller_changed_in_the_same_list(store):
    given = [dict(FIRST, x={"c": ["2"]}), *talk("abc")[1:]]
    memory = store.open()
    memory.conversation("trip").sync(given)
    for change in (
        lambda: given[0]["x"]["c"].append("3"),
        lambda: given[2].update(content="C"),
        given.pop,
        lambda: given[0].pop("x"),
        given.clear,
    ):
        memory = store.settle(memory)
        memory.conversation("trip").sync(given)
        change()
        memory.conversation("trip").sync(given)
        memory = store.settle(memory)
        assert shown(memory.conversation("trip")) == given


def test_what_follows_a_branch_stays_on_it(store):
    memory = store.open()
    memory.conversation("trip").sync(talk("abcd"))
    memory.conversation("trip").sync(talk("ab"))
    memory = store.settle(memory)
    memory.conversation("trip").append(talk("X"))
    memory = store.settle(memory)
    assert [turn["content"] for turn in shown(memory.conversation("trip"))] == ["a", "b", "X"]
    memory.conversation("trip").append(talk("Y"))
    conversation = store.settle(memory).conversation("trip")
    assert [turn["content"] for turn in shown(conversation)] == ["a", "b", "X", "Y"]


def test_what_a_branch_left_behind_is_fetched_and_never_served(store):
    old = [{"role": "user", "content": f"the zeppelin lands on pier {n}"} for n in range(14)]
    new = [{"role": "user", "content": f"the ferry waits at quay {n}"} for n in range(14)]
    memory = store.open()
    left = memory.conversation("trip").sync([LIST[0], *old]).appended[1:]
    live = memory.conversation("trip").sync([LIST[0], *new]).appended
    memory = store.settle(memory)
    conversation = memory.conversation("trip")
    turns = conversation.fetch(left)
    assert [dict(turn) for turn in turns] == old
    assert not any(turn.live for turn in turns)
    assert all(turn.live for turn in conversation.fetch(live))
    assert not conversation.search("zeppelin")
    assert not memory.search("zeppelin", k=100, where=Filter(ids=left)).ids
    assert set(memory.search("zeppelin", k=100, where=Filter(branches=True)).ids) >= set(left)
    for mode in ("full", "recency", "jit"):
        window = conversation.window("where is the zeppelin?", budget=400, mode=mode)
        assert "zeppelin lands" not in str(window.messages)
        assert not {id_ for part in window.parts for id_ in part.ids} & set(left)


def test_a_branch_that_is_taken_up_again_is_served_again(store):
    memory = store.open()
    memory.conversation("trip").sync(talk(["hello", "the zeppelin lands"]))
    memory.conversation("trip").sync(talk(["hello", "the ferry waits"]))
    assert not memory.search("zeppelin").ids
    memory.conversation("trip").sync(talk(["hello", "the zeppelin lands"]))
    memory = store.settle(memory)
    assert memory.search("zeppelin").ids == memory.conversation("trip").ids[1:]
    assert not memory.search("ferry").ids


def test_two_conversations_with_the_same_beginning_are_two(store):
    memory = store.open()
    one, other = memory.conversation("one"), memory.conversation("other")
    one.sync(talk("abc"))
    assert other.sync(talk("abc")).kept == 0
    one.sync(talk("aXY"))
    memory = store.settle(memory)
    one, other = memory.conversation("one"), memory.conversation("other")
    assert not set(one.ids) & set(other.ids)
    assert shown(one) == talk("aXY")
    assert shown(other) == talk("abc")
    assert memory.conversations() == ["one", "other"]


def test_what_stands_beside_a_message_comes_back(store):
    memory = store.open()
    (id_,) = memory.conversation("trip").append(
        LIST[0],
        at="2024-02-29T12:30:00+02:00",
        speaker="Zoë\ud800",
        session="s 1",
        meta={"n": 1, "deep": [{"x": None}], "\ud800": "\x00"},
    )
    turn = store.settle(memory).conversation("trip").fetch(id_)
    assert (turn.id, turn.conversation, turn.speaker) == (id_, "trip", "Zoë\ud800")
    assert turn.at.isoformat() == "2024-02-29T10:30:00+00:00"
    assert turn.meta == {"n": 1, "deep": [{"x": None}], "\ud800": "\x00"}


def test_a_turn_that_is_read_is_a_copy(store):
    memory = store.open()
    mine = {"tags": ["a"]}
    (id_,) = memory.conversation("trip").append(LIST[0], meta=mine)
    mine["tags"].append("b")
    conversation = store.settle(memory).conversation("trip")
    turn = conversation.fetch(id_)
    turn["content"] = "changed"
    turn.meta["tags"].append("c")
    turn.meta["more"] = True
    assert dict(conversation.fetch(id_)) == LIST[0]
    assert conversation.fetch(id_).meta == {"tags": ["a"]}


def test_meta_is_the_same_before_and_after(store):
    """What is no plain JSON is refused, or reads the same at once and after the next open."""
    memory = store.open()
    (id_,) = memory.conversation("trip").append(LIST[0], meta={"t": (1, 2), "s": "x"})
    assert store.settle(memory).conversation("trip").fetch(id_).meta == {"t": [1, 2], "s": "x"}


def test_a_list_that_is_refused_changes_nothing(store):
    memory = store.open()
    conversation = memory.conversation("trip")
    conversation.sync(talk("abc"))
    ids = conversation.ids
    with pytest.raises(NotFiniteError, match="message 1"):
        conversation.sync([*talk("a"), {"role": "user", "content": "x", "n": float("inf")}])
    with pytest.raises(InvalidMessageError, match="message 2"):
        conversation.append([*talk("ab"), {"role": "user"}])
    conversation = store.settle(memory).conversation("trip")
    assert conversation.ids == ids
    assert shown(conversation) == talk("abc")


def test_a_conversation_begins_with_its_first_message(store):
    memory = store.open()
    silent = memory.conversation("silent")
    assert (len(silent), silent.ids, silent.dialect) == (0, [], None)
    assert not silent.search("anything")
    silent.append([])
    memory = store.settle(memory)
    assert memory.conversations() == []
    assert memory.stats()["conversations"] == 0


@pytest.mark.parametrize("again", [False, True])
def test_what_was_left_stays_left_when_the_branching_point_is_erased(tmp_path, again):
    def said(*texts):
        return [{"role": "user", "content": text} for text in texts]

    def ids(memory, name):
        return memory.conversation(name).ids

    with Memory.open(tmp_path, embedder="lexical") as memory:
        edited, shortened = memory.conversation("edited"), memory.conversation("shortened")
        first = edited.append(said("task", "ok", "a secret", "noted"))
        new = edited.sync(said("task", "ok", "no secret", "fine")).appended
        memory.erase(ids=[first[1]])
        assert edited.ids == [first[0], *new]
        three = shortened.append(said("a", "b", "a secret"))
        shortened.sync(said("a", "b"))
        memory.erase(ids=[three[1]])
        assert shortened.ids == three[:1]
        if not again:
            return
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert ids(memory, "edited") == [first[0], *new]
        assert ids(memory, "shortened") == three[:1]


@pytest.mark.parametrize("again", [False, True])
def test_what_was_left_stays_left_when_a_branch_loses_its_first_message(tmp_path, again):
    def said(*texts):
        return [{"role": "user", "content": text} for text in texts]

    with Memory.open(tmp_path / "store", embedder="lexical") as memory:
        edited, ended = memory.conversation("edited"), memory.conversation("ended")
        first = edited.append(said("task", "left", "left too"))
        new = edited.sync(said("task", "a secret", "and more", "goes on", "and on")).appended
        other = ended.append(said("one", "two", "left"))
        secret = ended.sync(said("one", "two", "a secret")).appended
        memory.erase(ids=new[:2])
        assert edited.ids == [first[0], *new[2:]]
        memory.erase(ids=[first[0], *secret])  # the root, and a branch that is nothing else
        assert edited.ids == new[2:]
        assert ended.ids == other[:2]
        more = edited.append(said("the end"))
    if again:
        with Memory.open(tmp_path / "store", embedder="lexical") as memory:
            assert memory.conversation("edited").ids == [*new[2:], *more]
            assert memory.conversation("ended").ids == other[:2]
            assert len(memory.search("left", where=Filter(branches=True))) == 3
            assert [hit.id for hit in memory.search("left")] == []


def test_messages_that_say_the_same_behind_an_erased_one_are_both_kept(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        first = log.append(talk("abc"))
        log.sync(talk("a"))
        again = log.append([*talk("ab")[1:], {"role": "user", "content": "d"}])
        memory.erase(ids=first[:1])
        assert log.ids == again
        assert [turn["content"] for turn in log.fetch(first[1:])] == ["b", "c"]
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert memory.conversation("log").ids == again
        more = memory.conversation("log").sync([*talk("ab")[1:], *talk("abc")[2:]])
        assert (more.kept, more.branched_at) == (1, 1)


def test_an_erasure_after_a_shorter_list_and_an_erasure_leaves_the_path(tmp_path):
    """The first erasure leaves a line of messages, and a record that names erased ones."""
    said = [{"role": "user", "content": f"part {n}"} for n in range(5)]
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        ids = log.append(said)
        log.sync(said[:3])
        memory.erase(ids=ids[2:])
        assert log.ids == ids[:2]
        memory.erase(ids=[ids[1]])
        assert log.ids == ids[:1]
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert memory.conversation("log").ids == ids[:1]


def test_a_list_that_comes_back_after_an_erasure_is_known(tmp_path):
    """Two branches end alike; what the first was behind is erased."""

    def said(*texts):
        return [{"role": "user", "content": text} for text in texts]

    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        first = log.sync(said("q", "x")).appended
        log.sync(said("q"))
        log.sync(said("other", "x"))
        memory.erase(ids=[log.ids[0]])
        assert log.sync(said("q", "x")).appended == []
        assert log.ids == first
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert memory.conversation("log").sync(said("q", "x")).appended == []


def test_conversations_are_in_the_order_of_their_first_messages(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert memory.conversation("z").ids == []
        for name in ("a", "z", "b"):
            memory.conversation(name).append([{"role": "user", "content": name}] * 2)
        assert memory.conversations() == ["a", "z", "b"]
        memory.erase(ids=memory.conversation("a").ids[1:])
        assert memory.conversations() == ["a", "z", "b"]
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert memory.conversations() == ["a", "z", "b"]
