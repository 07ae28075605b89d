"""Answers of any sort come through the proxy as they come without it.

`HYPOTHESIS_PROFILE=deep python -m pytest tests/python/serve/proxy/test_same_bytes.py` plays 10,000.
"""

from __future__ import annotations

import os

import httpx2
import pytest
from any_answers import METHODS, PATHS, Answering, answer

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
COUNT = 10_000 if DEEP else 250

HOP = {"connection", "keep-alive", "transfer-encoding", "trailer", "x-warmset"}
"""Headers of one connection, and the proxy's own."""

SHORTEST = "bypass; reason=budget_too_small"
"""What is said where the upstream finds a request too long that cannot be shorter."""

SAID = {"role": "user", "content": "How many boxes are on the shelf?"}
BODIES = {
    "responses": {"model": "gpt-6.2", "input": [SAID]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "How many?"}]}]},
}
BODIES["gemini stream"] = BODIES["gemini"]


def asked(client, url, number):
    """Ask for an answer; return its status, its headers, its bytes, and whether they broke off."""
    surface = answer(number).surface
    method = METHODS.get(surface, "POST")
    body = BODIES.get(surface, {"model": "gpt-6.2", "messages": [SAID]})
    headers = {"x-answer": str(number), "x-warmset-conversation": f"c{number}"}
    seen, broken = b"", False
    with client.stream(
        method, url + PATHS[surface], json=body if method == "POST" else None, headers=headers
    ) as got:
        try:
            for piece in got.iter_raw():
                seen += piece
        except httpx2.HTTPError:
            broken = True
    kept = [(name.lower(), value) for name, value in got.headers.raw]
    return (
        got.status_code,
        sorted(one for one in kept if one[0].decode() not in HOP),
        seen,
        broken,
        got.headers.get("x-warmset"),
    )


def test_answers_come_through_as_they_are(proxied):
    sorts = set()
    with (
        Answering() as upstream,
        proxied(upstream.url) as proxy,
        httpx2.Client(trust_env=False) as through,
        httpx2.Client(trust_env=False) as without,
    ):
        for number in range(COUNT):
            found = answer(number)
            *mine, own = asked(through, proxy.url, number)
            *theirs, _none = asked(without, upstream.url, number)
            if found.end == "reset":  # what was on its way may be lost at either hop
                assert mine[3], number
                least, most = sorted((mine.pop(2), theirs.pop(2)), key=len)
                assert most.startswith(least), number
            assert mine == theirs, number
            assert theirs[-1] is not found.whole, number
            assert (own is None) == (found.surface in ("through", "gone")), number
            assert own in (None, SHORTEST) or own.startswith("mode="), (number, own)
            sorts.add((found.surface, found.whole, found.end))
    assert len(sorts) > 3 * len(PATHS)


@pytest.mark.parametrize("number", range(3))
def test_the_same_number_is_the_same_answer(number):
    assert answer(number) == answer(number)
