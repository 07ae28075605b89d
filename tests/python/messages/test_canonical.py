"""Messages that are the same however a client writes them, and stored ones as a list has them."""

from __future__ import annotations

import pytest

from warmset.messages.as_listed import count_thinking, with_marks, without_thinking
from warmset.messages.canonical import SAME, Variant, form_of, variant_of
from warmset.messages.client_only import without_client_only

MARK = {"cache_control": {"type": "ephemeral"}}


def compared(given, stored):
    return variant_of(form_of(given), form_of(stored))


def reply(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(said, **more):
    return {"type": "text", "text": said} | more


def thought(n):
    return {"type": "thinking", "thinking": f"hm {n}", "signature": f"s{n}"}


def use(**given):
    return {"type": "tool_use", "id": "t", "name": "f", "input": given}


@pytest.mark.parametrize(
    ("given", "stored", "found"),
    [
        (reply(text("a")), {"role": "assistant", "content": "a"}, SAME),
        (reply(text("a", citations=[])), reply(text("a")), SAME),
        (reply(text("a", citations=None)), reply(text("a", citations=[])), SAME),
        (reply(text("a", citations=[{"n": 1}])), reply(text("a")), None),
        (reply(text("a")), reply(thought(1), text("a")), Variant(bare=True)),
        (reply(thought(1), text("a")), reply(text("a")), None),
        (reply(thought(1)), reply(thought(1), thought(2)), Variant(bare=True)),
        (reply(thought(2), thought(1)), reply(thought(1), thought(2)), None),
        (reply(thought(2)), reply(thought(1)), None),
        (reply(text("a")), reply(text("a", **MARK)), Variant(marks=())),
        (reply(text("a", **MARK)), reply(text("a", **MARK)), SAME),
        (reply(use(a=1)), reply(use(a=1)), SAME),
        (reply(use(a=1)), reply(use(a=1, b=None)), None),
        (reply(use(a=1)), reply(use(a=1, **MARK)), None),
    ],
)
def test_what_is_the_same_message(given, stored, found):
    assert compared(given, stored) == found


def part(**fields):
    return {"role": "model", "parts": [fields]}


def step(**fields):
    return {"type": "user_input", "content": [{"type": "image", "mime_type": "image/png"} | fields]}


@pytest.mark.parametrize(
    ("given", "stored", "found"),
    [
        (part(text="a", thoughtSignature="-_8="), part(text="a", thoughtSignature="+/8="), SAME),
        (part(text="a", thoughtSignature="-_8"), part(text="a", thoughtSignature="+/8="), SAME),
        (part(text="a", thoughtSignature="-_9="), part(text="a", thoughtSignature="+/8="), None),
        (part(text="a", thought_signature="-_"), part(text="a", thought_signature="+/"), SAME),
        (part(inlineData={"data": "-_"}), part(inlineData={"data": "+/"}), SAME),
        (part(inline_data={"data": "-_"}), part(inline_data={"data": "+/"}), SAME),
        (part(fileData={"data": "-_"}), part(fileData={"data": "+/"}), None),
        (part(text="a-b_"), part(text="a+b/"), None),
        (part(functionCall={"args": {"signature": "-"}}), part(functionCall={"args": {}}), None),
        (
            part(functionCall={"name": "f", "args": {"signature": "-"}}),
            part(functionCall={"name": "f", "args": {"signature": "+"}}),
            None,
        ),
        (step(data="-_8="), step(data="+/8="), SAME),
        (step(uri="a-b"), step(uri="a+b"), None),
        (
            {"type": "thought", "signature": "-_"},
            {"type": "thought", "signature": "+/"},
            SAME,
        ),
    ],
)
def test_both_alphabets_of_base64_say_the_same(given, stored, found):
    assert compared(given, stored) == found
    assert compared(stored, given) == found


def said(**more):
    content = [{"type": "output_text", "text": "t", "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content} | more


def test_an_item_may_lose_its_id_but_not_change_it():
    assert compared(said(), said(id="msg_1")) == SAME
    assert compared(said(id="msg_1"), said(id="msg_1")) == SAME
    assert compared(said(id="msg_2"), said(id="msg_1")) is None
    assert compared(said(id="msg_1"), said()) is None


def test_marks_of_a_list_are_put_where_it_has_them():
    stored = reply(thought(1), text("a"), use(n=MARK))
    listed = reply(text("a"), use(n=MARK) | MARK)
    found = compared(listed, stored)
    assert found is not None
    assert found.bare
    made = with_marks(stored, found.marks)
    assert made == reply(thought(1), text("a"), use(n=MARK) | MARK)
    assert without_thinking(made) == listed
    assert with_marks(made, ()) == stored  # what a tool reads is no mark


def test_a_mark_on_a_text_makes_a_block_of_it():
    stored, listed = (
        {"role": "user", "content": "q"},
        {"role": "user", "content": [text("q") | MARK]},
    )
    found = compared(listed, stored)
    assert found is not None
    assert with_marks(stored, found.marks) == listed


def test_thinking_is_counted_and_taken_out_wherever_it_stands():
    chat = {"role": "assistant", "content": "a", "reasoning_content": "hm", "reasoning": ""}
    assert count_thinking(chat) == 1
    assert without_thinking(chat) == {"role": "assistant", "content": "a"}
    assert count_thinking(reply(thought(1), text("a"), thought(2))) == 2
    assert without_thinking(reply(thought(1))) == reply(text("(continued)"))
    model = {"role": "model", "parts": [{"text": "hm", "thought": True}]}
    assert without_thinking(model) == {"role": "model", "parts": [{"text": "(continued)"}]}
    assert without_thinking({"type": "reasoning", "id": "rs_1", "summary": []}) is None
    plain = reply(text("a"))
    assert without_thinking(plain) is plain


def test_of_a_whole_reply_role_and_content_are_compared():
    whole = reply(text("a")) | {
        "type": "message",
        "id": "m",
        "model": "x",
        "stop_reason": "end_turn",
    }
    assert without_client_only(whole) == reply(text("a"))
    assert compared(whole, reply(text("a"))) == SAME
    assert compared(whole | {"usage": {"input_tokens": 1}}, whole) == SAME
