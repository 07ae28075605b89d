"""Thinking is bound to what stood before it: A15, A16, R9 and R10, in lists without a store."""

from __future__ import annotations

from functools import partial

import pytest

from warmset import ClearToolResults, Memory, compact_context, fit, repair, validate
from warmset.errors import InvalidInputError
from warmset.messages import alternate, bound
from warmset.messages.prefix import ANOTHER_MODEL, THINKING_MOVED, UNKNOWN, Prefix, PrefixHash
from warmset.messages.sent import Beside, witness_of
from warmset.messages.thinking import judge

CHECKED, OLDER = "claude-opus-5-5", "claude-sonnet-4-5"


def thought(n):
    return {"type": "thinking", "thinking": f"hm {n}", "signature": f"s{n}"}


def said(n, *, calls=False):
    use = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}}] if calls else []
    return {"role": "assistant", "content": [thought(n), {"type": "text", "text": f"a{n}"}, *use]}


def bare(n):
    return {"role": "assistant", "content": [{"type": "text", "text": f"a{n}"}]}


def user(text):
    return {"role": "user", "content": text}


def result(n, text="ok"):
    block = {"type": "tool_result", "tool_use_id": f"t{n}", "content": text}
    return {"role": "user", "content": [block]}


TALK = [user("u0"), said(0), user("u1"), said(1), user("u2"), said(2), user("u3")]


def judged(made, given=TALK, *, model=CHECKED, system=None, tools=None, sent=None):
    witness = witness_of(given, "anthropic", Beside(system=None, model=model), sent)
    beside = Beside(system, tools, model)
    return judge(made, "anthropic", witness, beside.front(), model=model)


def test_an_unchanged_list_keeps_its_thinking():
    found = judged(TALK)
    assert found.messages == TALK
    assert all(one is other for one, other in zip(found.messages, TALK, strict=True))
    assert (found.thinking.kept, found.thinking.removed) == (3, ())
    assert judged([*TALK, user("more")]).thinking.kept == 3


def test_all_thinking_behind_a_change_leaves():
    made = [TALK[0], *TALK[3:]]
    found = judged(made)
    assert found.messages == [TALK[0], bare(1), TALK[4], bare(2), TALK[6]]
    assert [one.index for one in found.thinking.removed] == [1, 3]
    assert found.thinking.why == ("the messages before it are others",)
    changed = [*TALK[:4], user("edited"), *TALK[5:]]
    assert [one.index for one in judged(changed).thinking.removed] == [5]


@pytest.mark.parametrize(
    ("beside", "why"),
    [
        ({"system": "x"}, "the system prompt before it is another one"),
        ({"tools": [{"name": "f"}]}, "the tools are others"),
    ],
)
def test_another_system_prompt_or_tool_counts(beside, why):
    found = judged(TALK, **beside).thinking
    assert (found.kept, found.why) == (0, (why,))


def test_thinking_that_left_counts_for_what_comes_later():
    made = [TALK[0], bare(0), *TALK[2:]]
    found = judged(made).thinking
    assert (found.kept, found.why) == (0, (THINKING_MOVED,))
    rules = [one.rule for one in validate(made, dialect="anthropic", model=CHECKED, sent=TALK)]
    assert rules == ["A16", "A16"]


def test_a_changed_tool_result_counts():
    loop = [user("u"), said(0, calls=True), result(0), said(1), user("v")]
    made = [*loop[:2], result(0, "cleared"), *loop[3:]]
    assert [one.index for one in judged(made, loop).thinking.removed] == [3]


def test_cache_marks_and_merged_neighbours_do_not_count():
    mark = {"cache_control": {"type": "ephemeral"}}
    text = {"type": "text", "text": "u1"}
    marked = [*TALK[:2], {"role": "user", "content": [text | mark]}, *TALK[3:]]
    assert judged(marked).thinking.kept == 3
    loop = [user("u"), said(0, calls=True), user("and"), result(0), said(1), user("v")]
    merged = alternate(loop)
    assert len(merged) == 5
    assert judged(merged, loop).thinking.kept == judged(loop, merged).thinking.kept == 2
    asked = [user("a"), user("b"), said(0), user("c")]
    assert judged(alternate(asked), asked).thinking.kept == 1


def test_a_message_of_thinking_alone_stays_as_a_filler_message():
    alone = {"role": "assistant", "content": [thought(9)]}
    given = [user("u"), user("x"), alone, user("v")]
    assert judged(given[1:], given).messages[1]["content"] == [
        {"type": "text", "text": "(continued)"}
    ]


def test_a_model_that_does_not_look_keeps_everything_but_thinking_of_another_model():
    assert judged(TALK[2:], model=OLDER).thinking.kept == 2
    sent = {"messages": TALK[:-1], "model": "claude-opus-4-1"}
    found = judged(TALK, model=OLDER, sent=sent).thinking
    assert (found.kept, found.why) == (0, (ANOTHER_MODEL,))
    dated = {"messages": TALK[:-1], "model": f"{CHECKED}-20260922"}
    assert judged(TALK, sent=dated).thinking.kept == 3


def test_what_was_sent_is_the_witness():
    window = [TALK[0], bare(0), *TALK[2:5]]  # 0 was shown without its thinking, 2 answered it
    for made in (TALK, [*window, *TALK[5:]]):
        found = judged(made, made, sent=window)
        assert found.messages == [*window, *TALK[5:]]
        assert found.thinking.kept == 2
    nothing = [TALK[0], bare(0), TALK[2], bare(1), TALK[4]]
    assert judged(TALK, sent=nothing).messages == [*nothing, *TALK[5:]]
    other = [user("a window"), *TALK[2:5]]  # not what the list is, thinking aside
    found = judged([user("a window"), *TALK[2:]], sent=other).thinking
    assert found.kept == 2


def test_only_the_first_reply_to_what_was_sent_is_bound_to_it():
    made = [*TALK[:2], user("u1"), said(1, calls=True), result(1), said(2), user("v")]
    found = judged(made, made, sent=made[:3]).thinking
    assert [(one.index, one.why) for one in found.removed] == [(5, UNKNOWN)]


@pytest.mark.parametrize(
    "wrong",
    [
        5,
        "text",
        {"model": "m"},
        [{"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}],
        {"contents": [{"role": "user", "parts": [{"text": "x"}]}]},
        {"messages": TALK, "tools": 5},
        {"messages": TALK, "model": 5},
        {"messages": TALK, "model": 0},
        {"messages": TALK, "system": 5},
    ],
)
@pytest.mark.parametrize("maker", [validate, repair, partial(fit, budget=999), compact_context])
def test_what_was_sent_has_to_be_readable(wrong, maker):
    with pytest.raises(InvalidInputError):
        maker(TALK, dialect="anthropic", sent=wrong)


def stored(method):
    """Return a function that stores a list, and calls a method of its conversation."""

    def maker(messages, *, dialect, **options):  # noqa: ARG001 - as the others
        with Memory.open(None, embedder="lexical") as memory:
            log = memory.conversation("a")
            log.append(messages)
            return getattr(log, method)(budget=999, **options)

    return maker


MAKERS = [validate, repair, partial(fit, budget=999), compact_context, stored("fit")]
MAKERS.append(stored("window"))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_model_is_a_name_or_nothing(maker):
    maker(TALK, dialect="anthropic", model=None)
    for wrong in (5, 0, False, b"", []):
        with pytest.raises(InvalidInputError, match=r"^model: expected a model's name, found "):
            maker(TALK, dialect="anthropic", model=wrong)


@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_sent_beside_a_list_is_checked(maker):
    maker(TALK, dialect="anthropic", system=None, tools=None)
    maker(TALK, dialect="anthropic", system="", tools=[])
    for wrong in (5, 0, {"type": "text", "text": "s"}):
        with pytest.raises(InvalidInputError, match=r"^system: expected a text or blocks, found "):
            maker(TALK, dialect="anthropic", system=wrong)
    for wrong in (5, 0, "f", {"name": "f"}):
        with pytest.raises(InvalidInputError, match=r"^tools: expected a list of schemas, found "):
            maker(TALK, dialect="anthropic", tools=wrong)


def test_runs_of_thinking_are_hashed_in_linear_time():
    after = PrefixHash()
    for n in range(3):
        after.add(judge_pieces(said(n)))
    before = [after.copy().prefix() for _ in range(2)]
    assert before[0] == before[1] == after.prefix()
    assert not after._after._rest, "nothing of an assistant's run waits for its end"


def test_sent_takes_windows_and_the_arguments_of_every_call():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("a")
        log.append(TALK)
        window = log.window(budget=9_999, mode="full", system="Be brief.", model=CHECKED)
    reply = said(7)
    given = [*window.messages, reply, user("go on")]
    options = {"dialect": "anthropic", "model": CHECKED, "system": "Be brief."}
    for sent in (window, window.anthropic()):
        assert validate(given, **options, sent=sent) == []
        found = validate(given, **options | {"system": "Be long."}, sent=sent)
        assert [one.rule for one in found] == ["A15"] * 4
        assert {one.severity for one in found} == {"refused"}
    assert validate(given, **options | {"model": OLDER}, sent=given[1:]) == []


# --- makers --------------------------------------------------------------------------------------


def test_fit_leaves_thinking_out_behind_what_left():
    long = [user("task"), bare(8), user("old " * 300), *TALK]
    made = fit(long, budget=200, dialect="anthropic", model=CHECKED)
    assert made.thinking.kept == 0
    assert [one.index for one in made.thinking.removed] == [4, 6, 8]
    assert made.tokens == fit(made.messages, budget=200, dialect="anthropic").tokens
    assert fit(long, budget=200, dialect="anthropic", model=OLDER).thinking.kept == 3
    assert fit(TALK, budget=200, dialect="anthropic").messages == TALK


def test_what_the_thinking_was_made_behind_is_found_once(monkeypatch):
    found, lists = [], []

    def witness(*given):
        found.append(given)
        return witness_of(*given)

    def growing(messages):  # a list costs more than its messages
        lists.append(len(messages))
        return sum(len(str(one)) for one in messages) + 60 * len(messages[1:])

    monkeypatch.setattr(bound, "witness_of", witness)
    made = fit(TALK, budget=450, dialect="anthropic", model=CHECKED, counter=growing)
    assert len([one for one in lists if one > 1]) == 3  # it counted a list, and evicted more
    assert made.thinking.removed
    assert len(found) == 1


def test_nothing_changes_before_an_open_loop_that_fits():
    past = [user("u"), said(0, calls=True), result(0, "row " * 90), said(1), user("v")]
    loop = [*past, said(2, calls=True), result(2)]
    policy = ClearToolResults(keep=1, trigger=1)
    options = {"budget": 9_999, "dialect": "anthropic", "policy": policy}
    made = fit(loop, model=CHECKED, **options)
    assert made.messages == loop
    assert "tool loop" in made.notes[0]
    assert fit(loop, model=OLDER, **options).messages != loop
    done = [*loop, said(3), user("w")]
    assert fit(done, model=CHECKED, **options).messages != done


def test_repair_obeys_what_was_sent():
    changed = [user("edited"), *TALK[1:]]
    made = repair(changed, dialect="anthropic", sent=TALK, model=CHECKED)
    assert made.messages == [changed[0], bare(0), TALK[2], bare(1), TALK[4], bare(2), TALK[6]]
    assert [(one.rule, one.index) for one in made.changes] == [("A15", 1), ("A15", 3), ("A15", 5)]
    assert repair(changed, dialect="anthropic", model=CHECKED).changes == []


def test_thinking_behind_a_block_without_proof_is_reported_at_its_message():
    unsigned = thought(9) | {"signature": ""}
    broken = [*TALK[:3], said(1) | {"content": [unsigned, *said(1)["content"]]}, *TALK[4:]]
    made = repair(broken, dialect="anthropic", model=CHECKED)
    assert made.messages == [*TALK[:3], bare(1), TALK[4], bare(2), TALK[6]]
    assert [(one.rule, one.index) for one in made.changes] == [("A6", 3), ("A15", 3), ("A16", 5)]
    assert [one.index for one in made.thinking.removed] == [3, 5]
    assert made.thinking.changed == (3, 5)


ITEMS = [
    user("u0"),
    {
        "type": "reasoning",
        "id": "rs_aaaaaaaaaaaaaaaaaaaa1",
        "summary": [],
        "encrypted_content": "e",
    },
    {
        "type": "function_call",
        "id": "fc_aaaaaaaaaaaaaaaaaaaa2",
        "call_id": "c",
        "name": "f",
        "arguments": "{}",
    },
    {"type": "function_call_output", "call_id": "c", "output": "x"},
    user("u1"),
]


def test_reasoning_leaves_with_the_ids_of_what_was_made_with_it():
    found = validate([user("edited"), *ITEMS[1:]], dialect="responses", sent=ITEMS)
    assert [(one.rule, one.index, one.severity) for one in found] == [("R9", 1, "discouraged")]
    long = [user("task"), {"role": "assistant", "content": "ok"}, user("old " * 300), *ITEMS]
    made = fit(long, budget=90, dialect="responses")
    call = {key: value for key, value in ITEMS[2].items() if key != "id"}
    assert made.messages[-4:] == [ITEMS[0], call, *ITEMS[3:]]
    assert made.thinking.changed == (4, 5)
    assert 4 not in made.kept
    assert validate(made.messages, dialect="responses") == []


# --- the value -----------------------------------------------------------------------------------


def test_a_prefix_survives_its_writing():
    after = PrefixHash(system="s", tools=[{"name": "f"}], model="m")
    found = after.prefix()
    assert Prefix.decode(found.encode()) == found
    unknown = PrefixHash(known=False).prefix()
    assert Prefix.decode(unknown.encode()) == unknown
    assert unknown.differs(found) is None  # what is not known does not differ
    for wrong in (None, [], ["zz"] * 5, [1, 2, 3, 4, 5], [None] * 5, "text"):
        assert Prefix.decode(wrong) is None
    assert Prefix.decode([*found.encode(), "of a newer version"]) == found


def test_a_copy_of_a_hash_goes_on_alone():
    one = PrefixHash()
    before, other = one.prefix(), one.copy()
    other.add(judge_pieces(user("u")))
    assert one.prefix() == before != other.prefix()
    one.add(judge_pieces(user("u")))
    assert one.prefix() == other.prefix()


def judge_pieces(message):
    from warmset.messages.anthropic.thinking import pieces  # noqa: PLC0415

    return pieces(message)
