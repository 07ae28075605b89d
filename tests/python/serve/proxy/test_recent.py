"""What the page shows: the newest, within bounds, and nothing of a conversation but numbers."""

from __future__ import annotations

import json
import threading

from warmset.serve.proxy.recent import CONVERSATIONS, SHOWN, WINDOWS, Recent, Row
from warmset.serve.proxy.saving import Before


def row(conversation, **changed):
    given = {
        "at": 5.0,
        "conversation": conversation,
        "model": "m",
        "mode": "steady",
        "turns": 3,
        "tokens_in": 100,
        "tokens_sent": 40,
        "cached": 10,
        "measured": True,
        "saved_usd": 0.5,
    }
    return Row(**(given | changed))


BEFORE = Before(100, "m", 1.0)


def test_nothing_yet():
    state = Recent(clock=lambda: 7.0).state()
    assert state == {
        "since": 7.0,
        "requests": 0,
        "failed": 0,
        "streams": 0,
        "tokens_in": 0,
        "tokens_sent": 0,
        "tokens_cached": 0,
        "saved_usd": 0.0,
        "unpriced": 0,
        "bypasses": {},
        "windows": [],
        "kept": 0,
        "conversations": [],
    }


def test_windows_and_conversations_the_newest_first():
    one = Recent()
    one.window(row("a"), BEFORE)
    one.window(row("b", tokens_in=50, tokens_sent=50, saved_usd=None), BEFORE)
    one.window(row("a", turns=5, tokens_in=200, saved_usd=-0.125, at=9.0), BEFORE)
    state = one.state()
    assert [(each["number"], each["conversation"]) for each in state["windows"]] == [
        (3, "a"),
        (2, "b"),
        (1, "a"),
    ]
    assert state["windows"][0] == {
        "number": 3,
        "at": 9.0,
        "conversation": "a",
        "model": "m",
        "mode": "steady",
        "turns": 5,
        "tokens_in": 200,
        "tokens_sent": 40,
        "cached": 10,
        "measured": True,
        "saved_usd": -0.125,
    }
    assert state["conversations"] == [
        {"conversation": "a", "name": None, "turns": 5, "tokens": 200, "windows": 2, "at": 9.0},
        {"conversation": "b", "name": None, "turns": 3, "tokens": 50, "windows": 1, "at": 5.0},
    ]
    sums = {name: state[name] for name in ("tokens_in", "tokens_sent", "saved_usd", "unpriced")}
    assert sums == {"tokens_in": 350, "tokens_sent": 130, "saved_usd": 0.375, "unpriced": 1}


def test_requests_and_bypasses():
    one = Recent()
    one.request(failed=False, bypass=None, cached=7)
    one.request(failed=True, bypass=None, cached=-7)
    for reason in ("a", "b", "b"):
        one.request(failed=False, bypass=reason, cached=0)
    state = one.state()
    assert (state["requests"], state["failed"], state["tokens_cached"]) == (5, 1, 7)
    assert list(state["bypasses"].items()) == [("b", 2), ("a", 1)]


def test_what_is_kept_and_what_is_shown_is_bounded():
    one = Recent(conversations=70)
    for at in range(200):
        one.window(row(f"c{at}"), BEFORE)
    state = one.state()
    assert [each["number"] for each in state["windows"]] == list(range(200, 200 - WINDOWS, -1))
    assert state["kept"] == 70
    shown = [each["conversation"] for each in state["conversations"]]
    assert shown == [f"c{at}" for at in range(199, 199 - SHOWN, -1)]
    assert one.before("c130") is BEFORE
    assert one.before("c129") is None
    assert SHOWN < 70 < CONVERSATIONS


def test_who_comes_back_is_kept():
    one = Recent(conversations=2)
    for name in ("a", "b", "a", "c"):
        one.window(row(name), BEFORE)
    assert [each["conversation"] for each in one.state()["conversations"]] == ["c", "a"]


def test_ten_thousand_conversations_are_a_small_answer():
    one = Recent()
    for at in range(CONVERSATIONS + 5):
        one.window(row(f"{at:012x}"), BEFORE, name="n" * 40)
    state = one.state()
    assert state["kept"] == CONVERSATIONS
    assert len(json.dumps(state)) < 40_000


def test_threads_lose_nothing():
    one = Recent()

    def work(name):
        for _ in range(300):
            one.window(row(name), BEFORE)
            one.request(failed=False, bypass="x", cached=1)
            one.streams(1)
            one.state()
            one.streams(-1)

    threads = [threading.Thread(target=work, args=(f"t{at}",)) for at in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    state = one.state()
    assert state["windows"][0]["number"] == 1_200
    assert (state["requests"], state["bypasses"], state["streams"]) == (1_200, {"x": 1_200}, 0)
    assert [each["windows"] for each in state["conversations"]] == [300] * 4


def test_the_next_request_is_compared_with_the_last_one():
    one, last = Recent(), Before(200, "m", 2.0)
    one.window(row("a"), BEFORE)
    one.window(row("a"), last)
    assert one.before("a") is last
    assert one.before("b") is None
