"""Records beside turns: taken up in every process, kept by whose they are, erased with sources."""

from __future__ import annotations

import pytest

from warmset import Memory
from warmset.cli.app import run as cli
from warmset.errors import InvalidInputError
from warmset.store.derived import derived_draft


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


def shown(memory, kind="episode", conversation=None):
    found = memory._engine.derived.of(kind, memory.tenant, conversation)
    return [(one.id, one.conversation, one.fields, one.sources) for one in found]


@pytest.mark.parametrize("path", [None, "store"])
def test_records_are_there_at_once_and_after_a_reopening(path, tmp_path):
    where = tmp_path / path if path else None
    with Memory.open(where, embedder="lexical") as memory:
        ids = memory.conversation("a").append(said("one", "two"))
        first = memory._engine.put(
            [
                derived_draft("episode", "default", None, {"n": 1}),
                derived_draft("summary", "default", "a", {"n": 2}, b"text", ids),
            ]
        )
        [later] = memory._engine.put(
            [derived_draft("episode", "default", "a", {"n": 3, "x": None})]
        )
        expected = [(first[0], None, {"n": 1}, ()), (later, "a", {"n": 3}, ())]
        assert shown(memory) == expected
        assert shown(memory, conversation="a") == expected[1:]
        assert shown(memory, "summary") == [(first[1], "a", {"n": 2}, tuple(ids))]
        assert memory._engine.store.get(first[1]).payload == b"text"
        assert shown(memory, "prepared") == []
        other = memory.conversation("a").append(said("three"))
        assert other > ids
    if where is not None:
        with Memory.open(where, embedder="lexical") as memory:
            assert shown(memory) == expected
            assert memory.conversation("a").ids == [*ids, *other]


def test_one_tenant_does_not_see_what_another_has():
    with Memory.open(None, embedder="lexical") as memory:
        memory._engine.put([derived_draft("episode", "other", None, {}) for _ in range(2)])
        assert shown(memory) == []


def test_another_handle_sees_them(tmp_path):
    # Two stores in one process have two followers.
    with Memory.open(tmp_path, embedder="lexical") as one:
        engine = type(one._engine)(
            tmp_path, embedder=None, opening=one._engine.opening, encoding="o200k_base"
        )
        try:
            [id_] = engine.put([derived_draft("episode", "default", "a", {"n": 1})])
            assert shown(one) == []
            one.stats()
            assert shown(one) == [(id_, "a", {"n": 1}, ())]
        finally:
            engine.close(1)


@pytest.mark.parametrize("whole", [False, True])
def test_what_was_made_of_a_message_goes_with_it(whole, tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        ids = memory.conversation("a").append(said("secret", "other"))
        made = memory._engine.put(
            [
                derived_draft("distilled", "default", None, {"n": 1}, b"a secret", ids[:1]),
                derived_draft("distilled", "default", None, {"n": 2}, b"other", ids[1:]),
                derived_draft("item", "default", "a", {"n": 3}, b"other"),
            ]
        )
        memory.erase(**({"conversation": "a"} if whole else {"ids": ids[:1]}))
        left = [] if whole else [made[1], made[2]]
        found = [*shown(memory, "distilled"), *shown(memory, "item")]
        assert [id_ for id_, *_ in found] == left
    with Memory.open(tmp_path, embedder="lexical") as memory:
        found = [*shown(memory, "distilled"), *shown(memory, "item")]
        assert [id_ for id_, *_ in found] == left


def test_a_record_that_somebody_else_wrote_is_told_and_passed_over(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        [id_] = memory._engine.store.append([("item", [b"a", b"b", b"c"], b"{}", b"")])
        memory.stats()
        assert f"record {id_} " in memory._engine.lost[0]
        assert len(memory._engine.derived) == 0


@pytest.mark.parametrize(
    "fields",
    [{"at": 1e300}, {"at": "x"}, {"confidence": {}}, {"meta": True}, {"figures": 3}, {"kind": []}],
    ids=str,
)
def test_what_cannot_be_read_of_a_memory_or_an_episode_is_told_and_passed_over(
    fields, tmp_path, capsys
):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.remember("The ferry leaves at 7:35.")
        run = {"what": "compaction", "figures": {"dropped": 3, "after_tokens": "few"}}
        for kind in ("distilled", "episode"):
            memory._engine.put([derived_draft(kind, "default", None, {**run, **fields}, b"text")])
        memory._engine.put([derived_draft("episode", "default", None, run)])
        assert [one.text for one in memory.memories()] == ["The ferry leaves at 7:35."]
        assert [one.figures["dropped"] for one in memory.episodes()] == [3]
        assert len(memory._engine.lost) == 2
    assert cli(["history", str(tmp_path)]) == 0
    assert "1 on record" in capsys.readouterr().out


def test_a_name_is_needed():
    with pytest.raises(InvalidInputError):
        derived_draft("item", "", None, {})
    with pytest.raises(InvalidInputError):
        derived_draft("item", "a", "", {})
    with pytest.raises(InvalidInputError):
        derived_draft("item", "a", None, {"n": float("nan")})
