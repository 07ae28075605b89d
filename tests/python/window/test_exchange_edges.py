"""An exchange whose choices meet what came or went since: a late result, an erased message."""

from __future__ import annotations

import pytest

from warmset import Memory


def said(role, text):
    return {"role": role, "content": text}


def calls(*names):
    return [
        {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for name in names
    ]


def test_a_quoted_call_is_not_quoted_beside_the_result_that_it_gets():
    text = "The zebra sleeps at pier nine."
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        chat.append([said("user", "Count crates."), said("assistant", "Yes."), said("user", "Go.")])
        use = calls("a", "b")
        (call,) = chat.append({"role": "assistant", "content": text, "tool_calls": use})
        for at in range(31):
            chat.append(said("assistant" if at % 2 else "user", f"boat {at} " * 8))
        chat.append(said("user", "Where does the zebra sleep?"))
        first = chat.window(budget=400)
        assert first.report.picked == (call,)
        chat.append({"role": "tool", "tool_call_id": "a", "content": "late"})
        again = chat.window(budget=400)
        assert str(again.messages).count(text) == 1
        assert again.report.picked == ()
        ids = [id_ for part in again.parts for id_ in part.ids]
        assert len(ids) == len(set(ids))


class Best:
    """Picks the best candidates, and counts how often it is asked."""

    asked = 0

    def pick(self, _request, candidates, /, limit):
        type(self).asked += 1
        return [one.id for one in candidates[: min(limit, 3)]]


@pytest.mark.parametrize("what", ["quoted", "listed", "nothing"])
def test_another_process_chooses_anew_where_a_chosen_message_was_erased(tmp_path, what):
    Best.asked = 0
    with Memory.open(tmp_path, embedder="lexical") as memory:
        chat = memory.conversation("log")
        for at in range(140):
            text = f"boat {at} lies at quay {at % 5}, says the harbour master"
            chat.append(said("assistant" if at % 2 else "user", text))
        chat.append(said("user", "Which boat lies at quay 3?"))
        options = {"budget": 1_200, "picker": Best(), "index_share": 0.5}
        first = chat.window(**options)
        parts = {part.name: part.ids for part in first.parts}
        gone = {"quoted": parts["retrieved"][0], "listed": parts["index"][0]}
    with Memory.open(tmp_path, embedder="lexical") as memory:
        if what in gone:
            memory.erase(ids=[gone[what]])
        made = memory.conversation("log").window(**options)
        assert Best.asked == (1 if what == "nothing" else 2)
        assert len(made.report.picked) == len(first.report.picked)
        assert (made.messages == first.messages) == (what == "nothing")


def test_a_window_that_follows_the_whole_list_is_repeated_by_another_process(tmp_path):
    Best.asked = 0
    options = {"budget": 900, "picker": Best(), "min_saving": 0.99}
    with Memory.open(tmp_path, embedder="lexical") as memory:
        chat = memory.conversation("log")
        for at in range(50):
            chat.append(said("assistant" if at % 2 else "user", f"boat {at} lies at quay {at % 5}"))
        chat.append(said("user", "Which boat lies at quay 3?"))
        assert not chat.window(**options).report.active
        chat.append({"role": "assistant", "content": None, "tool_calls": calls("a")})
        chat.append({"role": "tool", "tool_call_id": "a", "content": "crate " * 300})
        first = chat.window(**options)
        assert first.report.active
        assert first.report.picked
        assert Best.asked == 1
    with Memory.open(tmp_path, embedder="lexical") as memory:
        again = memory.conversation("log").window(**options)
        assert Best.asked == 1
        assert again.messages == first.messages


@pytest.mark.parametrize(("own", "given", "limit"), [(None, None, 6), (2, None, 2), (2, 3, 3)])
def test_a_picker_picks_as_many_as_it_may(own, given, limit):
    limits = []

    class Picks:
        def pick(self, _request, candidates, /, limit):
            limits.append(limit)
            return [one.id for one in candidates[:limit]]

    picker = Picks()
    if own is not None:
        picker.max_picked = own
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        for at in range(140):
            text = f"boat {at} lies at quay {at % 5}, says the harbour master"
            chat.append(said("assistant" if at % 2 else "user", text))
        options = {} if given is None else {"max_picked": given}
        made = chat.window("Which boat lies at quay 3?", budget=900, picker=picker, **options)
    assert limits == [limit]
    assert len(made.report.picked) == limit
