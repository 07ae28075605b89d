"""Messages on their way in: where they land, what is refused, and what happens in between."""

from __future__ import annotations

import pytest
from guarded import guard

from warmset import Memory
from warmset.errors import InvalidInputError, InvalidMessageError, NotFound
from warmset.ingest import Synced
from warmset.messages.model import FixedList
from warmset.messages.prefix import UNKNOWN
from warmset.quote.format import TAG


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


def texts(log):
    return [turn["content"] for turn in log.fetch(log.ids)]


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        guard(made._engine)
        yield made


LISTS = ["abc", "aBC", "aBCde", "ABC", "a", "", "xyz", "abcd"]


@pytest.mark.parametrize("first", LISTS)
@pytest.mark.parametrize("second", LISTS)
def test_a_list_says_what_it_kept_and_left_and_a_reopened_store_has_it(first, second, tmp_path):
    with Memory.open(tmp_path, embedder="lexical", durability="os") as memory:
        guard(memory._engine)
        log = memory.conversation("log")
        log.sync(said(*first))
        made = log.sync(said(*second))
        kept = 0
        while kept < min(len(first), len(second)) and first[kept] == second[kept]:
            kept += 1
        left = len(first) - kept
        assert (made.kept, len(made.appended)) == (kept, len(second) - kept)
        assert (made.branched_at, made.left) == (kept if left else None, left)
        assert texts(log) == [*second]
    with Memory.open(tmp_path, embedder="lexical", durability="os") as memory:
        assert texts(memory.conversation("log")) == [*second]


@pytest.mark.parametrize(
    ("at", "left", "most"), [(2, 2, False), (2, 3, True), (0, 1, True), (None, 0, False)]
)
def test_a_list_that_leaves_more_than_half_is_noticed(at, left, most):
    assert Synced(2, [], at, left=left).left_most == most


def test_a_message_that_is_refused_is_named_by_its_place_in_the_list(memory):
    log = memory.conversation("log")
    listed = said("a", "b", "c")
    log.sync(listed)
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    other = {"role": "assistant", "content": [call]}
    log.sync([*listed, {"role": "assistant", "content": None, "tool_calls": [], "refusal": None}])
    for place in (1, 3):
        given = [*listed[:place], {"role": "tool", "tool_call_id": "x", "content": "r"}, other]
        with pytest.raises(InvalidMessageError) as caught:
            log.sync(given)
        assert caught.value.index == place + 1
        with pytest.raises(InvalidMessageError) as caught:
            log.sync([*listed[:place], {"role": 7}])
        assert caught.value.index == place


def test_fields_of_a_turn_are_the_callers_own(memory):
    log = memory.conversation("log")
    (id_,) = log.append(said("a"), meta={"tags": ["x"]})
    log.fetch(id_).meta["tags"].append("y")
    assert log.fetch(id_).meta == {"tags": ["x"]}


@pytest.mark.parametrize("meta", [5, "x", [("a", 1)], {"a": object()}])
def test_fields_are_a_mapping_of_plain_values(memory, meta):
    log = memory.conversation("log")
    with pytest.raises(InvalidInputError, match="meta"):
        log.append(said("a"), meta=meta)
    assert len(log) == 0


def test_a_message_belongs_to_its_conversation_and_its_branch(memory):
    one, two = memory.conversation("one"), memory.conversation("two")
    ids = list(one.sync(said("a", "b")).appended)
    (other,) = two.append(said("a"))
    one.sync(said("a", "c"))
    assert [one.fetch(id_).live for id_ in ids] == [True, False]
    for log, id_ in ((two, ids[0]), (one, other)):
        with pytest.raises(NotFound):
            log.fetch(id_)


@pytest.mark.parametrize("session", [True, False, 1.5, ["a"]])
def test_a_session_is_a_name_or_a_number(memory, session):
    log = memory.conversation("log")
    with pytest.raises(InvalidInputError, match="session"):
        log.append(said("a"), session=session)
    assert len(log) == 0
    log.append(said("a"), session=1)


def test_a_speaker_of_whom_nothing_is_left_is_none():
    with Memory.open(
        None, embedder="lexical", redact=lambda text: text.replace("Ann", " ")
    ) as memory:
        log = memory.conversation("log")
        ids = [*log.append(said("a"), speaker="Ann"), *log.append(said("b"), speaker="Ann B")]
        assert [log.fetch(id_).speaker for id_ in ids] == [None, "B"]


def test_a_conversation_that_was_erased_meanwhile_may_begin_in_another_dialect():
    erased = []

    def hook(text):
        if "go" in text and not erased:
            erased.append(text)
            memory.erase(conversation="log")
        return text

    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    with Memory.open(None, embedder="lexical", redact=hook) as memory:
        log = memory.conversation("log")
        log.append([*said("a"), {"role": "assistant", "content": None, "tool_calls": [call]}])
        log.append({"role": "assistant", "content": [{"type": "text", "text": "go"}, use]})
        assert len(log) == 1


@pytest.mark.parametrize("verb", ["append", "sync"])
def test_a_conversation_may_be_erased_while_a_message_is_read(verb):
    erased = []

    def hook(text):
        if text == "go" and not erased:
            erased.append(text)
            memory.erase(conversation="log")
        return text

    with Memory.open(None, embedder="lexical", redact=hook) as memory:
        guard(memory._engine)
        log = memory.conversation("log")
        log.append(said("a", "b"))
        getattr(log, verb)(said("go"))
        assert texts(log) == texts(memory.conversation("log")) == ["go"]
        assert memory.search("go").ids == log.ids
        log.append(said("c"))
        assert texts(log) == ["go", "c"]


# --- windows that come back -----------------------------------------------------------------------


def talk():
    made = [
        {"role": "system", "content": "You are brief."},
        {"role": "system", "content": "It is noon."},
        {"role": "user", "content": "Count the boats in the harbour."},
    ]
    for at in range(40):
        made.append({"role": "assistant", "content": f"Answer {at} on the crane and boats. " * 4})
        made.append({"role": "user", "content": f"Question {at} about boats in the harbour? " * 4})
    return made


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("redact", [None, str.upper])
def test_a_window_that_comes_back_edited_at_its_front_is_the_conversation(place, redact):
    history = talk()
    with Memory.open(None, embedder="lexical", redact=redact) as memory:
        log = memory.conversation("c")
        window = memory.process(history, conversation="c", budget=2_500)
        front = next(at for at, one in enumerate(window.messages) if TAG in str(one["content"]))
        if front <= place:
            pytest.skip("the message stands elsewhere")
        shown = [dict(one) for one in window.messages]
        shown[place]["content"] = "It is one o'clock."
        made = log.sync([*shown, {"role": "assistant", "content": "Seven."}])
        history[place] = {**history[place], "content": "It is one o'clock."}
        wanted = [one["content"] for one in [*history, {"content": "Seven."}]]
        assert texts(log) == [redact(one) if redact else one for one in wanted]
        assert made.recognised == len(shown)


def test_a_request_of_a_window_is_stored_with_the_window(memory):
    log = memory.conversation("c")
    log.append(talk())
    window = log.window("And the boats of question 7?", budget=2_500)
    made = log.sync([*window.messages, {"role": "assistant", "content": "None."}])
    assert texts(log)[-2:] == ["And the boats of question 7?", "None."]
    assert len(texts(log)) == len(talk()) + 2
    assert len(made.appended) == 2
    again = log.sync([*window.messages, {"role": "assistant", "content": "None."}])
    assert (again.appended, again.kept) == ([], len(window.messages) + 1)


def test_what_is_ours_is_stored_nowhere(memory):
    log = memory.conversation("c")
    log.append(talk())
    window = log.window("And the boats of question 7?", budget=2_500)
    ours = [one for one in window.messages if TAG in str(one["content"])]
    assert ours
    blocks = [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in ours]
    for block in (*ours, *blocks):
        before = texts(log)
        log.sync([*(dict(one) for one in log.fetch(log.ids)), block, *said("new")])
        assert texts(log) == [*before, "new"]


# --- what replies were made behind ----------------------------------------------------------------

SENT = {"budget": 9_999, "dialect": "anthropic", "model": "claude-opus-5-5"}


def thought(n):
    thinking = {"type": "thinking", "thinking": "hm", "signature": f"s{n}"}
    return {"role": "assistant", "content": [thinking, {"type": "text", "text": f"a{n}"}]}


def test_a_branch_at_the_front_is_no_beginning(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append([*said("a"), thought(1), *said("b")])
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.sync(said("x"))
        log.append([thought(2), *said("y")])  # another process may have made the list
        assert log.window(mode="full", **SENT).report.thinking.kept == 0


@pytest.mark.parametrize(
    ("asked", "kept"), [("and now?", 1), ("and then?", 0), (None, 0), ("and now? and then?", 0)]
)
def test_a_reply_in_another_process_is_behind_the_list_with_its_request(tmp_path, asked, kept):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([*said("a"), {"role": "assistant", "content": "ok"}])
        log.window("and now?", mode="steady", **SENT)
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([*said(*([asked] if asked else [])), thought(1), *said("c")])
        found = log.window(mode="full", **SENT).report.thinking
        assert found.kept == kept
        assert (found.why == (UNKNOWN,)) == (asked not in ("and now?", None))


def test_of_branches_that_say_the_same_the_newest_is_taken(memory):
    log = memory.conversation("log")
    [first] = log.append(said("a"))
    branches = []
    for content in ("b", [{"type": "text", "text": "b"}], "c"):
        log.truncate(first)
        branches += log.append({"role": "assistant", "content": content})
    mark = {"type": "ephemeral"}
    again = {"role": "assistant", "content": [{"type": "text", "text": "b", "cache_control": mark}]}
    assert log.sync([*said("a"), again]).appended == []
    assert log.ids == [first, branches[1]]


@pytest.mark.parametrize("kind", [list, FixedList])
def test_of_a_list_whose_messages_nobody_changes_only_the_objects_are_compared(memory, kind):
    log = memory.conversation("c")
    listed = kind(said("a", "b", "c"))
    assert log.sync(listed).kept == 0
    listed[1]["content"] = "B"  # against the promise of a fixed list
    edited = kind is list
    assert log.sync(listed).branched_at == (1 if edited else None)
    assert log.sync(kind(said("a", "B" if edited else "b", "c", "d"))).kept == 3
    assert texts(log) == ["a", "B" if edited else "b", "c", "d"]
