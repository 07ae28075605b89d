"""What is left of a unit when a part of it was erased: providers take the windows still."""

from __future__ import annotations

import pytest

from warmset import Memory
from warmset.messages import DIALECTS, validate
from warmset.options import MODES


def of_openai(at):
    call = {"type": "function", "function": {"name": "read", "arguments": "{}"}}
    yield {"role": "user", "content": f"Question {at} about crane {at}"}
    calls = [{**call, "id": f"c{at}"}, {**call, "id": f"d{at}"}]
    yield {"role": "assistant", "content": None, "tool_calls": calls}
    yield {"role": "tool", "tool_call_id": f"c{at}", "content": f"crane {at} lifted " * 5}
    yield {"role": "tool", "tool_call_id": f"d{at}", "content": f"crane {at} lowered " * 5}
    yield {"role": "assistant", "content": f"Done {at}"}


def of_anthropic(at):
    ids = (f"c{at}", f"d{at}")
    uses = [{"type": "tool_use", "id": id_, "name": "read", "input": {}} for id_ in ids]
    yield {"role": "user", "content": f"Question {at} about crane {at}"}
    yield {"role": "assistant", "content": uses}
    said = f"crane {at} lifted " * 5
    yield {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id_, "content": said} for id_ in ids],
    }
    yield {"role": "assistant", "content": f"Done {at}"}


def of_responses(at):
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "abc"}
    call = {"type": "function_call", "name": "read", "arguments": "{}"}
    yield {"role": "user", "content": f"Question {at} about crane {at}"}
    yield {**thought, "id": f"rs_a{at}"}
    yield {**call, "id": f"fc_a{at}", "call_id": f"c{at}"}
    yield {"type": "function_call_output", "call_id": f"c{at}", "output": f"crane {at} " * 5}
    yield {**thought, "id": f"rs_b{at}"}
    yield {
        "type": "message",
        "id": f"msg_b{at}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": f"Done {at}", "annotations": []}],
    }


def of_gemini(at):
    yield {"role": "user", "parts": [{"text": f"Question {at} about crane {at}"}]}
    call = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "abcd"}
    yield {"role": "model", "parts": [call]}
    response = {"name": "read", "response": {"lifted": f"crane {at} " * 5}}
    yield {"role": "user", "parts": [{"functionResponse": response}]}
    yield {"role": "model", "parts": [{"text": f"Done {at}"}]}


TALKS = {
    "openai": of_openai,
    "anthropic": of_anthropic,
    "responses": of_responses,
    "gemini": of_gemini,
}


def talk_of(dialect, count):
    made = [one for at in range(count) for one in TALKS[dialect](at)]
    return [*made, next(TALKS[dialect](count))]


def refused(messages, dialect):
    return [one for one in validate(messages, dialect=dialect) if one.severity == "refused"]


def test_all_dialects_are_tried():
    assert TALKS.keys() == {*DIALECTS} - {"interactions"}
    for dialect in TALKS:
        assert refused(talk_of(dialect, 2), dialect) == []


@pytest.mark.parametrize("dialect", TALKS)
@pytest.mark.parametrize("mode", [*MODES, "fit"])
@pytest.mark.parametrize("count", [2, 4])
def test_whatever_was_erased_the_provider_takes_what_is_left(dialect, mode, count):
    talk = talk_of(dialect, count)
    for at in range(1, len(talk) - 1):
        with Memory.open(None, embedder="lexical") as memory:
            log = memory.conversation("log")
            ids = log.append(talk)
            if mode == "steady":
                log.window(budget=9_000, mode="steady")
            memory.erase(ids=[ids[at]])
            assert log.ids == [id_ for id_ in ids if id_ != ids[at]]
            for budget in (500, 9_000):
                if mode == "fit":
                    shown = log.fit(budget=budget).messages
                elif mode == "full" and budget == 500:
                    continue
                else:
                    shown = log.window(budget=budget, mode=mode).messages
                assert refused(shown, dialect) == [], (at, budget)
                if budget > 500:
                    assert f"Question {count}" in str(shown[-1])
