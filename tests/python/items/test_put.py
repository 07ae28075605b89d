"""`Memory.items`: put under a name, read back, replaced, archived, erased."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from other_process import other, said

from warmset import Memory
from warmset.errors import InvalidInputError, NotFound, ReadOnly, RedactionError, TooLarge
from warmset.items import MemoryItem, NewItem
from warmset.items.cells import key_of_item
from warmset.maintenance import erase_conversation
from warmset.native import ColdStore, Log, Put

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def items(memory):
    return memory.items


def new(text="the ferry leaves at 7:35", memory_type="fact_sheet", **fields):
    return NewItem(memory_type=memory_type, text=text, **fields)


def records(memory):
    return memory.stats()["records"]


def test_an_item_comes_back_as_it_was_put(items):
    items.put(new("earlier", memory_id="e"))
    name = items.put(
        new(
            "margins fell by 3 %",
            memory_type="document_chunk",
            memory_id="10-K:7",
            summary="margins",
            conversation="dcf",
            session_id="monday",
            timestamp=NOON,
            module_context="margins",
            sections=["Item 7", "MD&A"],
            keys=("margin",),
            entities=["ACME"],
            relevance_decay=0.5,
            dependencies=["later"],
            supersedes=["old"],
            derived_from=["e"],
            origin="tool",
            reward=0.25,
            confidence=0.5,
            meta={"page": [1, None]},
        )
    )
    found = items.get("10-K:7")
    assert name == "10-K:7"
    assert found == MemoryItem(
        id=found.id,
        memory_id="10-K:7",
        memory_type="document_chunk",
        text="margins fell by 3 %",
        summary="margins",
        conversation="dcf",
        session_id="monday",
        timestamp=NOON,
        module_context="margins",
        sections=("Item 7", "MD&A"),
        keys=("margin",),
        entities=("ACME",),
        token_count=found.token_count,
        relevance_decay=0.5,
        dependencies=("later",),
        supersedes=("old",),
        derived_from=("e",),
        origin="import",  # that of what it is derived from
        reward=0.25,
        confidence=0.5,
        meta={"page": [1, None]},
    )
    assert found.token_count > 3


def test_what_is_not_given_has_a_default(items):
    before = datetime.now(UTC)
    found = items.get(items.put(new()))
    assert before <= found.timestamp <= datetime.now(UTC)
    assert (found.origin, found.relevance_decay, found.confidence) == ("import", 1.0, 0.75)
    assert (found.reward, found.summary, found.data, found.meta) == (None, None, None, {})
    assert not found.archived
    assert (found.sections, found.derived_from) == ((), ())


@pytest.mark.parametrize("data", [{"b": [1, 2.5, None], "a": "é"}, [], 0, False, "x"])
def test_data_has_its_json_as_text(items, data):
    found = items.get(items.put(NewItem(memory_type="output", data=data, memory_id="o")))
    assert found.data == data
    assert type(found.data) is type(data)
    assert (
        found.text
        == {
            "{'b'": '{"a":"é","b":[1,2.5,null]}',
            "[]": "[]",
            "0": "0",
            "False": "false",
            "x": '"x"',
        }[str(data).split(":")[0]]
    )


def test_a_time_without_a_zone_is_utc_and_others_are_converted(items):
    naive = items.put(new(timestamp=NOON.replace(tzinfo=None)))
    east = items.put(new(timestamp=datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))))
    assert items.get(naive).timestamp == items.get(east).timestamp == NOON


def test_the_same_item_is_not_written_again(memory, items):
    names = items.put_many([new(memory_id="a"), new("b", memory_id="b", timestamp=NOON)])
    count, versions = records(memory), [items.get(name).id for name in names]
    assert items.put_many([new(memory_id="a"), new("b", memory_id="b", timestamp=NOON)]) == names
    assert records(memory) == count
    assert [items.get(name).id for name in names] == versions
    items.put(new("b", memory_id="b", timestamp=NOON, confidence=0.8))
    assert items.get("b").confidence == 0.8
    assert items.get("b").id > versions[1]
    assert [one.memory_id for one in items.query("b")] == ["b"]
    assert records(memory) == count + 1


def test_an_item_without_a_name_has_a_number_that_stays(items):
    first, second = items.put_many([new(), new()])
    assert first != second
    assert first == f"item:{items.get(first).id}"
    items.archive(first)
    items.restore(first)
    assert items.get(first).memory_id == first
    items.put_many([])
    assert len(items.query()) == 2


def test_what_is_derived_from_another_item_of_the_call_comes_after_it(items):
    made = new("made", memory_id="made", derived_from=["raw"])
    assert items.put_many([new("raw", memory_id="raw"), made]) == ["raw", "made"]
    assert items.erase("raw").derived == 1
    with pytest.raises(NotFound):
        items.get("made")


def test_of_one_name_the_last_item_of_a_call_stays(items):
    first, other = new("first", memory_id="a"), new("other", memory_id="a")
    items.put(first)
    assert items.put_many([other, first]) == ["a", "a"]
    assert items.get("a").text == "first"
    assert items.put_many([first, new("b"), other, new("c")])[::2] == ["a", "a"]
    assert items.get("a").text == "other"
    assert {one.text for one in items.query()} == {"other", "b", "c"}


def test_a_batch_with_an_unknown_source_writes_nothing(memory, items):
    count = records(memory)
    with pytest.raises(NotFound, match="'missing'"):
        items.put_many([new(memory_id="a"), new(derived_from=["missing"])])
    assert records(memory) == count
    assert items.query() == []


def test_many_items_are_written_in_batches(items):
    names = items.put_many(new(str(n), memory_id=f"n{n}") for n in range(1_001))
    assert names == [f"n{n}" for n in range(1_001)]
    assert items.get("n1000").text == "1000"
    assert len(items.query(k=2_000)) == 1_001


@pytest.mark.parametrize(
    ("own", "of", "is_"),
    [
        ("user", [], "user"),
        ("user", ["user"], "user"),
        ("user", ["assistant"], "assistant"),
        ("user", ["user", "web", "tool"], "web"),
        ("web", ["user"], "web"),
        ("tool", ["import"], "import"),
    ],
)
def test_what_is_made_from_items_is_no_more_trusted_than_they(items, own, of, is_):
    for origin in of:
        items.put(new(origin, memory_id=origin, origin=origin))
    assert items.get(items.put(new("made", origin=own, derived_from=of))).origin == is_
    again = items.put(new("again", origin="user", derived_from=[items.query("made")[0].memory_id]))
    assert items.get(again).origin == is_


def test_messages_are_items_with_the_origin_of_their_role(memory, items):
    log = memory.conversation("log")
    [asked, answered] = log.append(
        [said("when does the ferry leave?"), said("at 7:35", "assistant")], session="s", at=NOON
    )
    found = items.get(f"turn:{asked}")
    assert (found.text, found.memory_type) == ("when does the ferry leave?", "conversation")
    assert (found.conversation, found.session_id, found.origin) == ("log", "s", "user")
    assert (found.id, found.timestamp) == (asked, NOON)
    assert items.get(f"turn:{answered}").origin == "assistant"
    derived = items.put(new("7:35", origin="user", derived_from=[f"turn:{answered}"]))
    assert items.get(derived).origin == "assistant"
    memory.erase(ids=[answered])
    for name in (derived, f"turn:{answered}"):
        with pytest.raises(NotFound):
            items.get(name)


@pytest.mark.parametrize("name", ["\ud800", "n" * 20_000, " "])
def test_a_memory_may_have_a_name_that_no_item_has(memory, items, name):
    stored = memory.remember("the ferry leaves at noon", memory_id=name)
    assert items.get(name).id == stored
    with pytest.raises(InvalidInputError):
        items.put(new(memory_id=name))


def test_memories_are_items_under_their_names(memory, items):
    plain = memory.remember("the mast was repaired")
    memory.remember("tables, not lists", memory_type="preference", memory_id="tables")
    assert items.get(f"memory:{plain}").text == "the mast was repaired"
    assert items.get("tables").memory_type == "preference"
    assert items.get("tables").token_count > 2
    with pytest.raises(NotFound):  # it has a name of its own
        items.get(f"memory:{items.get('tables').id}")
    with pytest.raises(InvalidInputError, match=r"'tables' is a memory; change its text by"):
        items.put(new(memory_id="tables"))


def test_a_name_of_an_item_is_not_given_to_a_memory(memory, items):
    items.put(new(memory_id="ferry"))
    with pytest.raises(InvalidInputError, match="'ferry' is an item"):
        memory.remember("the ferry", memory_id="ferry")
    assert memory.memories() == []


def test_tenants_do_not_see_each_others_items(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical", tenant="a") as one,
        Memory.open(tmp_path, embedder="lexical", tenant="b") as two,
    ):
        one.items.put(new("of a", memory_id="x"))
        name = one.items.put(new("also of a"))
        [turn] = one.conversation("log").append(said("hello"))
        two.items.put(new("of b", memory_id="x"))
        assert one.items.get("x").text == "of a"
        assert [item.text for item in two.items.query()] == ["of b"]
        assert two.items.query("also") == []
        for other_name in (name, f"turn:{turn}"):
            with pytest.raises(NotFound):
                two.items.get(other_name)
            with pytest.raises(NotFound):
                two.items.erase(other_name)
        two.items.erase("x")
        assert one.items.get("x").text == "of a"


# --- in place of others --------------------------------------------------------------------------


def names(found):
    return {one.memory_id for one in found}


def test_what_is_superseded_stays_and_is_not_shown(memory, items):
    items.put(new("sales rose by 12 %", memory_id="old"))
    better = items.supersede("old", new("sales rose by 11 %", supersedes=["older"]))
    assert items.get(better).supersedes == ("old", "older")
    assert items.get("old").text == "sales rose by 12 %"
    assert names(items.query("sales")) == names(items.query()) == {better}
    assert names(items.query("sales", superseded=True)) == {"old", better}
    items.archive(better)  # then nothing better is shown
    assert names(items.query()) == {"old"}
    items.restore(better)
    items.erase(better)
    assert names(items.query()) == {"old"}
    [turn] = memory.conversation("log").append(said("sales fell"))
    fact = memory.remember("sales stood still")
    items.put(new("both were wrong", supersedes=[f"turn:{turn}", f"memory:{fact}"]))
    assert names(items.query("sales")) == {"old"}
    assert names(items.query("sales", superseded=True)) == {
        "old",
        f"turn:{turn}",
        f"memory:{fact}",
    }


@pytest.mark.parametrize("words", [None, "sales"])
def test_what_is_superseded_takes_no_place_of_what_is_shown(memory, items, words):
    log = memory.conversation("c")
    turns = [log.append([said(f"sales {at} were good")])[0] for at in range(4)]
    facts = [memory.remember(f"sales of shop {at} were bad") for at in range(4)]
    for old in [f"turn:{turns[3]}", f"turn:{turns[2]}", f"memory:{facts[3]}", f"memory:{facts[0]}"]:
        items.put(new("wrong", memory_type="note", supersedes=[old]))
    shown = {
        kind: {one.id for one in items.query(words, k=2, memory_type=kind)}
        for kind in ("conversation", "fact")
    }
    assert shown == {"conversation": set(turns[:2]), "fact": set(facts[1:3])}


def test_of_two_that_supersede_each_other_the_newer_one_is_shown(items):
    items.put_many([new("a", memory_id="a", supersedes=["b"]), new("b", memory_id="b")])
    items.put(new("b", memory_id="b", supersedes=["a"]))
    assert names(items.query()) == {"b"}
    items.put(new("a again", memory_id="a", supersedes=["b"]))
    assert names(items.query()) == {"a"}


def test_only_what_is_there_is_superseded(items):
    with pytest.raises(NotFound, match="'missing'"):
        items.supersede("missing", new())
    items.put(new(memory_id="a"))
    with pytest.raises(InvalidInputError, match="the item itself"):
        items.supersede("a", new(memory_id="a"))
    with pytest.raises(InvalidInputError, match="NewItem"):
        items.supersede("a", "text")
    assert len(items.query()) == 1


def test_archived_items_are_kept_and_not_shown(items):
    marked = new(memory_id="a", meta={"k": 1}, sections=["s"], confidence=0.5)
    items.put_many([marked, new(memory_id="b")])
    before = items.get("a")
    items.archive("a", "a")
    assert names(items.query(sections=["s"], archived=True)) == {"a"}
    assert names(items.query()) == names(items.query("ferry")) == {"b"}
    assert names(items.query(archived=True)) == {"a", "b"}
    assert items.get("a").archived
    assert items.get("a").meta == {"k": 1}
    items.restore("a")
    assert items.get("a") == before
    items.archive("a")
    items.put(marked)
    assert names(items.query()) == {"a", "b"}
    with pytest.raises(NotFound, match="'c'"):
        items.archive("b", "c")
    assert names(items.query()) == {"a", "b"}


# --- erased --------------------------------------------------------------------------------------


def anywhere(path, words):
    files = [file for file in Path(path).rglob("*") if file.is_file()]
    return [file.name for file in files if words.encode() in file.read_bytes()]


@pytest.mark.parametrize("encryption", [None, "keys"])
def test_an_erased_item_is_gone_with_all_its_versions(tmp_path, encryption):
    with Memory.open(tmp_path, embedder="lexical", encryption=encryption) as memory:
        items = memory.items
        items.put(new("plaintext one", memory_id="a"))
        items.put(new("plaintext two", memory_id="a"))
        items.put(new("made from it", memory_id="m", derived_from=["a"], summary="plaintext"))
        items.put(new("kept", memory_id="k"))
        assert bool(anywhere(tmp_path, "plaintext")) == (encryption is None)
        assert items.erase("a").records == 1
        assert anywhere(tmp_path, "plaintext") == []
        assert names(items.query()) == {"k"}
        assert items.query("plaintext") == []
        items.put(new("a new beginning", memory_id="a"))
        assert items.get("a").text == "a new beginning"
    with Memory.open(tmp_path, embedder="lexical", encryption=encryption) as memory:
        assert names(memory.items.query()) == {"a", "k"}
        assert memory.stats()["damaged"] == []


def test_messages_memories_and_items_are_erased_together_or_not_at_all(memory, items):
    [turn] = memory.conversation("log").append(said("hello"))
    memory.remember("a fact", memory_id="fact")
    items.put(new(memory_id="a"))
    every = ["a", "fact", f"turn:{turn}"]
    with pytest.raises(NotFound, match="'b'"):
        items.erase(*every, "b")
    assert names(items.query()) == set(every)
    assert items.erase(*every).records >= 3
    assert items.query() == []
    assert items.erase().records == 0


@pytest.mark.parametrize("way", ["used", "unused", "by the command"])
def test_the_items_of_a_conversation_are_erased_with_it(tmp_path, way):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("secret").append(said("hello"))
        memory.items.put(new("plaintext", memory_id="a", conversation="secret"))
        memory.items.put(new("made of it", memory_id="m", derived_from=["a"]))
        memory.items.put(new("elsewhere", memory_id="e", conversation="other"))
        memory.items.put(new("of all", memory_id="s"))
    if way == "by the command":
        store = ColdStore.open(tmp_path)
        erase_conversation(store, "default", "secret")
        store.compact()
        store.close()
    with Memory.open(tmp_path, embedder="lexical") as memory:
        if way == "used":
            assert len(memory.items.query()) == 5
        if way != "by the command":
            memory.erase(conversation="secret")
        assert names(memory.items.query()) == {"e", "s"}
        assert anywhere(tmp_path, "plaintext") == []


def test_a_conversation_with_half_a_character_in_its_name_is_erased(memory, items):
    memory.conversation("\ud800").append(said("hello"))
    items.put(new(memory_id="a", conversation="other"))
    memory.erase(conversation="\ud800")
    assert memory.conversations() == []
    assert names(items.query()) == {"a"}


# --- beside others -------------------------------------------------------------------------------


def test_another_process_sees_and_changes_the_items(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", mode="shared") as memory:
        items = memory.items
        items.put_many([new("first", memory_id="a"), new("second", memory_id="b")])
        code = """
from warmset.items import NewItem
print(sorted(one.text for one in memory.items.query()))
memory.items.put(NewItem(memory_type="t", text="third", memory_id="a"))
memory.items.erase("b")
"""
        assert other(tmp_path, code, mode="shared") == "['first', 'second']\n"
        assert [one.text for one in items.query()] == ["third"]
        assert items.query("first second") == []
        assert items.get("a").text == "third"


def test_a_store_opened_again_has_the_items(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        name = memory.items.put(new(sections=["a"]))
        memory.items.put(new("the mast", memory_id="x"))
        memory.items.put(new("the boat", memory_id="x"))
    with Memory.open(tmp_path, embedder="lexical", mode="read") as memory:
        assert names(memory.items.query(sections=["a"])) == {name}
        assert memory.items.query("mast") == []
        assert names(memory.items.query("boat")) == {"x"}
        for change in (
            lambda: memory.items.put(new()),
            lambda: memory.items.archive("x"),
            lambda: memory.items.erase("x"),
        ):
            with pytest.raises(ReadOnly):
                change()


def test_texts_are_redacted_before_they_are_stored(tmp_path):
    def hide(text):
        return text.replace("secret", "[hidden]")

    with Memory.open(tmp_path, embedder="lexical", redact=hide) as memory:
        memory.items.put(
            new("a secret", memory_id="a", summary="secret", keys=["secret"], meta={"secret": 1})
        )
        memory.items.put(NewItem(memory_type="t", data={"x": "secret"}, memory_id="d"))
        found = memory.items.get("a")
        assert (found.text, found.summary) == ("a [hidden]", "[hidden]")
        assert (found.keys, found.meta) == (("[hidden]",), {"[hidden]": 1})
        assert memory.items.get("d").data == {"x": "[hidden]"}
        assert names(memory.items.query("secret")) >= {"a"}
        assert memory.stats()["redacted"]["messages"] == 2
    assert anywhere(tmp_path, "secret") == []

    def broken(_text):
        raise OSError

    with Memory.open(None, embedder="lexical", redact=broken) as memory:
        with pytest.raises(RedactionError):
            memory.items.put(new())
        assert len(memory.items.query()) == 0


def test_a_hook_that_changes_every_text_changes_no_name_of_a_field_of_ours():
    with Memory.open(None, embedder="lexical", redact=lambda _text: "x") as memory:
        memory.items.put(
            new(
                "text",
                memory_id="a",
                summary="summary",
                sections=["one", "two"],
                keys=["key"],
                entities=["entity"],
                meta={"own": "value"},
            )
        )
        memory.items.put(NewItem(memory_type="t", data={"own": ["value"]}, memory_id="d"))
        found = memory.items.get("a")
        assert (found.text, found.summary, found.meta) == ("x", "x", {"x": "x"})
        assert (found.sections, found.keys, found.entities) == (("x",), ("x",), ("x",))
        assert memory.items.get("d").data == {"x": ["x"]}


def test_a_hook_may_exchange_the_names_of_fields():
    names = {"text": "summary", "summary": "text"}
    with Memory.open(None, embedder="lexical", redact=lambda text: names.get(text, text)) as memory:
        memory.items.put(new("what it says", memory_id="a", summary="in short"))
        found = memory.items.get("a")
        assert (found.text, found.summary) == ("what it says", "in short")


@pytest.mark.parametrize(
    ("field", "given", "kept"),
    [
        ("summary", "in <private>short</private>", "in [private]"),
        ("sections", ["<private>s</private>"], ("[private]",)),
        ("keys", ["k", "<private>s</private>"], ("k", "[private]")),
        ("entities", ["<private>s</private>"], ("[private]",)),
        ("meta", {"<private>a</private>": "b"}, {"[private]": "b"}),
    ],
)
def test_private_parts_of_any_field_are_left_out(memory, field, given, kept):
    memory.items.put(new("a text", memory_id="a", **{field: given}))
    assert getattr(memory.items.get("a"), field) == kept


def test_private_parts_of_data_are_left_out(memory):
    given = {"<private>a</private>": ["<private>b</private>"], "c": 1}
    memory.items.put(NewItem(memory_type="t", data=given, memory_id="d"))
    assert memory.items.get("d").data == {"[private]": ["[private]"], "c": 1}


def test_what_is_redacted_and_put_again_is_no_other_version(memory):
    name = memory.items.put(new("a <private>b</private>", memory_id="a"))
    before = memory.items.get(name).id
    memory.items.put(new("a <private>b</private>", memory_id="a"))
    assert memory.items.get(name).id == before


def test_a_cell_that_is_no_item_is_passed_over(tmp_path):
    store = ColdStore.open(tmp_path)
    strange = [
        Put(key_of_item("default", b"\x80"), b"", columns={"type": "t", "origin": "user"}),
        Put(key_of_item("default", b"plain"), b""),
        Put(key_of_item("default", b"number"), b"", columns={"type": 5, "origin": "user"}),
        Put(key_of_item("default", b"system"), b"", columns={"type": "t", "origin": "system"}),
    ]
    Log(store).write(strange)
    store.close()
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.items.put(new(memory_id="a"))
        assert names(memory.items.query()) == {"a"}
        assert len([one for one in memory.stats()["damaged"] if "item" in one]) == 4


def test_an_item_over_the_limit_is_refused(items):
    with pytest.raises(TooLarge):
        items.put(new("x" * ((64 << 20) + 1)))
    assert items.query() == []


def test_every_method_has_an_asynchronous_twin(items):
    async def all_of_them():
        name = await items.aput(new("first", memory_id="a"))
        await items.aput_many([new("second", memory_id="b")])
        await items.aarchive(name)
        await items.arestore(name)
        c = await items.asupersede("b", new("third", memory_id="c"))
        assert names(await items.aquery()) == {"a", "c"}
        assert (await items.aget(c)).text == "third"
        return await items.aerase("a")

    assert asyncio.run(all_of_them()).records >= 1
    assert names(items.query()) == {"c"}


# --- refused -------------------------------------------------------------------------------------

WRONG = {
    "no type": ({"memory_type": ""}, "memory_type: expected a name"),
    "messages": ({"memory_type": "conversation"}, "append one to a conversation"),
    "neither": ({"text": None}, "expected a text or data, and not both"),
    "both": ({"data": 1}, "expected a text or data, and not both"),
    "a blank text": ({"text": " \n"}, "a text that is not blank"),
    "a text": ({"text": b"x"}, "a text that is not blank"),
    "an automatic name": ({"memory_id": "item:5"}, "give another name"),
    "a name of a turn": ({"memory_id": "turn:5"}, "give another name"),
    "a long name": ({"memory_id": "x" * 1_001}, "at most 1,000 characters, found 1,001"),
    "half a character": ({"memory_id": "\ud800"}, "Unicode"),
    "a summary": ({"summary": 5}, "summary: expected a text"),
    "a conversation": ({"conversation": ""}, "conversation: expected a name"),
    "a session": ({"session_id": 5}, "session_id: expected a name"),
    "a module": ({"module_context": " "}, "module_context: expected a name"),
    "one section": ({"sections": "a"}, "sections: expected a list of names"),
    "a key": ({"keys": ["a", 5]}, "keys: expected a name"),
    "many entities": ({"entities": ["a"] * 1_001}, "entities: expected at most 1,000"),
    "itself": ({"memory_id": "a", "supersedes": ["a"]}, "the item itself"),
    "made of itself": ({"memory_id": "a", "derived_from": ["a"]}, "derived_from: 'a' is the item"),
    "itself first": ({"memory_id": "a", "dependencies": ["a"]}, "dependencies: 'a' is the item"),
    "long names": (
        {"sections": [f"{n:02}" + "x" * 998 for n in range(50)], "conversation": "y"},
        "at most 50,000 bytes in all names, found 50,001",
    ),
    "a long summary": ({"summary": "x" * 20_001}, "at most 20,000 characters"),
    "long meta": ({"meta": {"a": "x" * 899_993}}, "900,000 bytes of JSON, found 900,001"),
    "a time before all": (
        {"timestamp": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))},
        "is no time in UTC",
    ),
    "no decay": ({"relevance_decay": 0}, "relevance_decay: expected a number over 0 to 1"),
    "much decay": ({"relevance_decay": 1.01}, "relevance_decay: expected"),
    "a reward": ({"reward": float("nan")}, "reward: expected 0 to 1"),
    "a high reward": ({"reward": 1.01}, "reward: expected 0 to 1"),
    "no confidence": ({"confidence": None}, "confidence: expected 0 to 1"),
    "confidence": ({"confidence": -0.01}, "confidence: expected 0 to 1"),
    "an origin": ({"origin": "system"}, "origin: expected one of user, assistant"),
    "a time": ({"timestamp": 5}, "timestamp: expected a datetime"),
    "meta": ({"meta": [1]}, "meta: expected a mapping"),
    "odd meta": ({"meta": {"a": {1}}}, "meta: expected plain JSON"),
    "odd data": ({"text": None, "data": {"a": float("inf")}}, "data: expected plain JSON"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_item_with_a_wrong_field_is_refused(wrong):
    fields, words = WRONG[wrong]
    with pytest.raises(InvalidInputError, match=words):
        NewItem(**{"memory_type": "t", "text": "x"} | fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"memory_id": "x" * 1_000},
        {"relevance_decay": 1},
        {"reward": 0},
        {"reward": 1},
        {"confidence": 0},
        {"confidence": 1},
        {"sections": ["a"] * 1_000},
        {"sections": [f"{n:02}" + "x" * 998 for n in range(50)]},
        {"summary": "\0" * 20_000, "meta": {"a": "é" * 449_996}},
        {"timestamp": datetime.min.replace(tzinfo=UTC)},
        {"timestamp": datetime.max.replace(tzinfo=UTC)},
    ],
)
def test_an_item_at_a_limit_is_taken(items, fields):
    items.put(NewItem(memory_type="t", text="x", **fields))
    assert len(items.query()) == 1


def test_what_is_no_item_and_no_name_is_refused(items):
    with pytest.raises(InvalidInputError, match="expected a NewItem"):
        items.put({"memory_type": "t", "text": "x"})
    with pytest.raises(InvalidInputError, match="memory_id"):
        items.get(5)
    for name in ("item:1", "turn:1", "memory:1", "x", "turn:" + "9" * 20):
        with pytest.raises(NotFound):
            items.get(name)
