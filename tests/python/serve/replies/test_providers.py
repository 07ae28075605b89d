"""What single providers do: broken streams, ends that are none, blocks that nobody knows yet."""

from __future__ import annotations

import json

import pytest
import reply_streams as streams
from reply_streams import EVENTS, JSON

from warmset.serve.replies import assembler_for


def replied(surface, *events):
    one = assembler_for(surface, EVENTS)
    one.feed(streams.sse(*events, named=True))
    return one.reply()


def body(surface, value):
    one = assembler_for(surface, JSON)
    one.feed(json.dumps(value).encode())
    return one.reply()


def content(reply):
    return reply.messages[0]["content"] if reply.messages else []


def test_the_response_wins_over_its_items():
    said = {**streams.SAID, "id": "msg_2"}
    last = {**streams.RESPONSES[-1], "response": {**streams.RESPONSE, "output": [said]}}
    assert replied("responses", *streams.RESPONSES[:-1], last).messages == (said,)


def test_items_come_in_the_order_of_the_output():
    done = [one for one in streams.WITHOUT_OUTPUT if one["type"] == "response.output_item.done"]
    found = replied("responses", *reversed(done), streams.WITHOUT_OUTPUT[-1])
    assert list(found.messages) == streams.OUTPUT


def test_items_of_a_server_that_does_not_say_their_places_come_as_they_are_done():
    items = [{**streams.SAID, "id": f"msg_{at}"} for at in range(3)]
    done = [{"type": "response.output_item.done", "item": one} for one in items]
    end = {"type": "response.completed", "response": {"status": "completed"}}
    reply = replied("responses", *done, end)
    assert list(reply.messages) == items
    assert reply.is_complete


@pytest.mark.parametrize("status", ["incomplete", "failed", "cancelled", "queued", "in_progress"])
def test_reasoning_without_what_follows_it_is_left_out(status):
    output = [streams.SAID, streams.REASONING]
    response = streams.response(status, output)
    found = body("responses", response)
    assert found.messages == (streams.SAID,)
    assert (found.is_complete, found.stop) == (status == "incomplete", status)
    event = {"type": f"response.{status}", "response": response}
    assert replied("responses", event) == found


def test_a_completed_response_keeps_reasoning_at_its_end():
    assert body("responses", streams.response("completed", [streams.REASONING])).messages


def test_a_compacted_list_is_no_reply():
    made = {"id": "r", "object": "response.compaction", "output": [streams.SAID], "usage": {"n": 1}}
    found = body("responses", made)
    assert (found.messages, found.is_complete, found.usage) == ((), False, {"n": 1})


def test_an_error_event_of_responses_ends_nothing():
    found = replied("responses", *streams.RESPONSES[:-1], {"type": "error", "message": "no"})
    assert (found.is_complete, found.stop) == (False, "failed")
    assert list(found.messages) == streams.OUTPUT


def test_a_block_that_did_not_stop_is_left_out_with_all_behind_it():
    events = streams.anthropic(streams.TEXT, streams.TOOL, streams.TEXT)
    stops = [one for one in events if (one["type"], one.get("index")) == ("content_block_stop", 1)]
    found = replied("messages", *(one for one in events if one not in stops))
    assert [one["type"] for one in content(found)] == ["text"]


def test_an_error_event_of_anthropic_keeps_what_stopped():
    events = streams.anthropic(streams.TEXT)
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}
    found = replied("messages", *events[:-2], failed)
    assert not found.is_complete
    assert [one["text"] for one in content(found)] == ["Voilà: 🌍."]
    assert not replied("messages", *events[:-1], failed).is_complete


def test_only_a_broken_stream_leaves_a_search_without_result_out():
    events = streams.anthropic(streams.TEXT, streams.SEARCH, stop="pause_turn")
    found = replied("messages", *events)
    assert (found.is_complete, found.stop) == (True, "pause_turn")
    assert [one["type"] for one in content(found)] == ["text", "server_tool_use"]
    assert [one["type"] for one in content(replied("messages", *events[:-2]))] == ["text"]


def test_blocks_that_nobody_knows_yet_are_kept_and_grow_by_their_fields():
    start = {"type": "hologram", "label": "a", "frames": [1], "depth": 1, "pose": {"x": "0"}}
    more = {"type": "hologram_delta", "label": "b", "frames": [2], "depth": 2, "pose": {"y": None}}
    found = replied("messages", *streams.anthropic(streams.TEXT, (start, more)))
    assert content(found)[1] == {
        "type": "hologram",
        "label": "ab",
        "frames": [1, 2],
        "depth": 2,
        "pose": {"x": "0", "y": None},
    }


def test_empty_and_redacted_thinking_stay_as_they_came():
    found = replied("messages", *streams.anthropic(streams.EMPTY_THINKING, streams.REDACTED))
    assert content(found) == [
        {"type": "thinking", "thinking": "", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "opaque"},
    ]


def test_input_that_is_no_json_makes_a_message_unusable():
    tool = streams._tool("tool_use", "t", "f", '{"city": "Zü')
    found = replied("messages", *streams.anthropic(streams.TEXT, tool, stop="max_tokens"))
    assert found.messages == ()


def test_fields_of_usage_that_the_end_leaves_out_stay():
    events = streams.anthropic(streams.TEXT)
    events[-2]["usage"] = {"output_tokens": 8, "input_tokens": None, "iterations": []}
    assert replied("messages", *events).usage == {
        "input_tokens": 7,
        "output_tokens": 8,
        "cache_read_input_tokens": 5,
        "iterations": [],
    }


def test_parts_join_only_where_no_signature_and_no_other_field_is():
    parts = [
        {"text": "a"},
        {"text": "b"},
        {"text": "c", "thought": True},
        {"text": "d", "thoughtSignature": "s"},
        {"text": "e"},
        {"text": "", "thoughtSignature": "t"},
        {"text": "f", "videoMetadata": {}},
        {"text": "g"},
    ]
    found = replied("gemini", *(streams.candidate(part) for part in parts))
    assert found.messages[0]["parts"] == [{"text": "ab"}, *parts[2:]]
    assert not found.is_complete


def test_only_the_first_candidate_counts():
    two = streams.candidate({"text": "yes"}, finish="STOP")
    second = {"index": 1, "content": {"parts": [{"text": "no"}]}, "finishReason": "STOP"}
    two["candidates"].append(second)
    found = body("gemini", two)
    assert found.messages == ({"role": "model", "parts": [{"text": "yes"}]},)
    assert found.choices == 2


@pytest.mark.parametrize(
    ("answer", "stop", "is_complete"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY", True),
        ({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}, None, True),
        ({"candidates": [{"finishReason": "CONTINUATION"}]}, "CONTINUATION", False),
    ],
)
def test_an_answer_of_gemini_without_parts_is_no_message(answer, stop, is_complete):
    found = body("gemini", answer)
    assert found.messages == ()
    assert found.is_complete == is_complete
    assert stop in (None, found.stop)


def test_calls_whose_arguments_arrive_in_pieces_are_not_usable():
    part = {"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "$.x"}]}}
    found = replied("gemini", streams.candidate({"text": "x"}), streams.candidate(part))
    assert found.messages == ()


def test_the_steps_of_the_completed_interaction_win():
    last = {**streams.INTERACTIONS[-1], **streams.interaction("completed", steps=streams.STEPS[:2])}
    found = replied("interactions", *streams.INTERACTIONS[:-1], last)
    assert list(found.messages) == streams.STEPS[:2]
    assert (found.is_complete, found.stop) == (True, "completed")


@pytest.mark.parametrize("status", ["failed", "cancelled", "in_progress"])
def test_an_interaction_that_was_not_completed(status):
    last = {**streams.INTERACTIONS[-1], **streams.interaction(status)}
    found = replied("interactions", *streams.INTERACTIONS[:-1], last)
    assert (found.is_complete, found.stop) == (False, status)
    assert list(found.messages) == streams.STEPS


def test_usage_of_an_interaction_is_the_last_one():
    events = streams.INTERACTIONS[:-1]
    delta = next(at for at, one in enumerate(events) if one["event_type"] == "step.delta")
    first = {**events[delta], "metadata": {"total_usage": {"total_tokens": 1}}}
    assert replied("interactions", *events[:delta], first).usage == {"total_tokens": 1}
    stop = {**events[-1], "usage": {"total_tokens": 2}}
    assert replied("interactions", *events[:delta], first, stop).usage == {"total_tokens": 2}
