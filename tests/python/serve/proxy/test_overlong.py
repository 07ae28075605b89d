"""Whether an answer says that a request is too long, and how far that is read."""

from __future__ import annotations

import asyncio
import json

import pytest

from warmset.serve.proxy.overlong import MOST_SAID, begun, too_long

SAID = json.dumps({"error": {"message": "no", "code": "context_length_exceeded"}}).encode()


@pytest.mark.parametrize(
    ("status", "said", "found"),
    [
        (400, SAID, True),
        (413, SAID, True),
        (413, b"Request Entity Too Large", True),
        (400, b"prompt is too long", True),
        (400, b"[" * 100_000, False),
        (400, b"\xff", False),
        (422, SAID, False),
        (500, SAID, False),
    ],
)
def test_two_statuses_may_say_that_a_request_is_too_long(status, said, found):
    assert too_long(status, said) is found


@pytest.mark.parametrize(
    ("sizes", "read", "whole"),
    [
        ([MOST_SAID], 1, True),
        ([MOST_SAID - 1, 1], 2, True),
        ([MOST_SAID, 1, 1], 2, False),
        ([MOST_SAID + 1, 1], 1, False),
        ([], 0, True),
    ],
)
def test_a_long_error_is_read_no_further_than_it_is_looked_at(sizes, read, whole):
    asked = []

    async def pieces():
        for size in sizes:
            asked.append(size)
            yield b"x" * size

    into = []
    assert asyncio.run(begun(pieces(), into)) is whole
    assert asked == sizes[:read]
    assert [len(one) for one in into] == asked
