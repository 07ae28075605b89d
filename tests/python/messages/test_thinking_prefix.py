"""What thinking was made behind: equal thoughts, runs of a role, what was sent beside a list."""

from __future__ import annotations

import pytest

from warmset.messages.prefix import Prefix, PrefixHash
from warmset.messages.sent import Beside, witness_of
from warmset.messages.thinking import THOUGHTS, judge, prefixes

CHECKED = "claude-opus-5-5"
OURS = THOUGHTS["anthropic"]


def thought(n):
    return {"type": "thinking", "thinking": f"hm {n}", "signature": f"s{n}"}


def said(n, *more):
    return {"role": "assistant", "content": [thought(n), *more, {"type": "text", "text": f"a{n}"}]}


def bare(n):
    return {"role": "assistant", "content": [{"type": "text", "text": f"a{n}"}]}


def user(text):
    return {"role": "user", "content": text}


def behind(*messages, **beside):
    after = PrefixHash(**beside)
    for message in messages:
        after.add(OURS.pieces(message))
    return after.prefix()


def judged(made, given, *, model=CHECKED, loop=None):
    witness = witness_of(given, "anthropic", Beside(model=model))
    after = Beside(model=model).front()
    return judge(made, "anthropic", witness, after, model=model, loop=loop).thinking


def test_every_block_is_counted_whether_it_stays_or_leaves():
    given = [user("u0"), said(0, thought(1)), user("u1"), said(2)]
    assert judged(given, given).kept == 3
    found = judged([user("other"), *given[1:]], given)
    assert (found.kept, [one.blocks for one in found.removed]) == (0, [2, 1])


@pytest.mark.parametrize(("model", "disabled"), [("", True), (CHECKED, False)])
def test_thinking_is_disabled_only_for_models_that_may_want_it_at_the_front(model, disabled):
    given = [user("u0"), said(0), user("u1")]
    made = [user("other"), *given[1:]]
    assert judged(made, given, model=model, loop=1).disabled is disabled
    assert judged(given, given, model=model, loop=1).disabled is False
    assert judged(made, given, model=model).disabled is False


def test_of_two_equal_thoughts_the_first_is_the_one_that_was_made():
    given = [user("u0"), said(0), user("u1"), said(0)]
    found = prefixes(given, "anthropic", PrefixHash())
    assert list(found.values()) == [behind(user("u0"))]
    assert [one.index for one in judged(given, given).removed] == [3]


def test_a_message_of_thinking_alone_does_not_part_its_neighbours():
    alone = {"role": "assistant", "content": [thought(9)]}
    with_it, without = behind(user("a"), alone, user("b")), behind(user("a"), user("b"))
    assert with_it.spoken == without.spoken
    assert with_it.messages != without.messages
    assert (
        without.spoken
        == behind(
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            }
        ).spoken
    )


def test_no_system_prompt_is_an_empty_one():
    assert behind(system="").system == behind(system=None).system == behind(system=[]).system
    assert behind(system="x").system != behind().system
    assert behind(tools=[]).tools == behind().tools


def test_a_copy_goes_on_by_itself():
    after = PrefixHash()
    after.add(OURS.pieces(user("a")))
    one = after.copy()
    one.add(OURS.pieces(user("b")))
    assert after.prefix() == behind(user("a"))
    after.add(OURS.pieces(user("c")))
    assert one.prefix() == behind(user("a"), user("b"))
    assert after.prefix() == behind(user("a"), user("c"))


def test_a_prefix_is_read_as_it_was_written():
    for prefix in (behind(user("a"), model="m"), behind(user("a"), known=False)):
        assert Prefix.decode(prefix.encode()) == prefix
    assert Prefix.decode(behind().encode()[:-1]) is None
    assert Prefix.decode([None, *behind().encode()[1:]]) is None


def test_the_new_reply_stands_behind_the_last_thinking_that_was_sent():
    given = [user("u"), said(0), user("u1"), said(9), user("u2"), said(1), user("u3"), said(2)]
    sent = [user("a window"), said(0), user("x"), said(1), user("u3")]
    witness = witness_of(given, "anthropic", Beside(model=CHECKED), sent)
    assert witness(3, given[3]) is None
    assert witness(7, given[7]) == behind(*sent, model=CHECKED)


def test_the_new_reply_begins_with_its_first_message():
    sent = [user("a window")]
    given = [user("u"), bare(5), said(0)]
    witness = witness_of(given, "anthropic", Beside(model=CHECKED), sent)
    assert witness(2, given[2]) == behind(*sent, bare(5), model=CHECKED)


def test_a_call_without_a_model_was_made_with_the_one_that_is_named():
    given = [user("u"), said(0), user("v")]
    for sent, model in (
        ({"messages": given[:1]}, "older"),
        ({"messages": given[:1], "model": "m"}, "m"),
    ):
        witness = witness_of(given, "anthropic", Beside(model="older"), sent)
        assert witness(1, given[1]).model == model


@pytest.mark.parametrize("name", ["system", "instructions"])
def test_the_system_prompt_is_read_from_what_was_sent(name):
    given = [{"role": "user", "content": "u"}, {"type": "reasoning", "id": "rs_1", "summary": []}]
    sent = {"input": given[:1], name: "be brief"}
    witness = witness_of(given, "responses", Beside(), sent)
    assert witness(1, given[1]).system == behind(system="be brief").system


def test_thinking_is_known_by_its_first_block_after_a_merge():
    given = [user("u0"), said(0, thought(1)), {"role": "assistant", "content": [thought(2)]}]
    merged = [given[0], {"role": "assistant", "content": given[1]["content"] + [thought(2)]}]
    witness = witness_of(given, "anthropic", Beside(model=CHECKED))
    assert witness(1, merged[1]) == behind(user("u0"), model=CHECKED)


@pytest.mark.parametrize("name", ["CLAUDE-opus-5-5", "Claude-Opus-5-5-20260922", CHECKED, ""])
def test_a_model_is_the_same_in_capitals_and_with_its_date(name):
    assert not behind(model=name).is_foreign(CHECKED)
    assert behind(model="claude-opus-4-1").is_foreign("claude-opus-4-2")
