"""Windows of conversations of which somebody erases something while the window is made."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from preparing import opened, shown, talk

from warmset import Memory
from warmset.engine import Engine
from warmset.errors import NotFound
from warmset.pick import Picks
from warmset.receipts import Spooled
from warmset.window.pipeline import Windows


@pytest.mark.parametrize("erased", ["turn", "conversation"])
def test_what_is_erased_while_a_picker_thinks_is_not_shown(erased):
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([{"role": "user", "content": f"lemon {n} " + "pad " * 200} for n in range(40)])

        class Erasing:
            def pick(self, _request, candidates, *, limit):
                wanted = [one.id for one in candidates[:limit]]
                if candidates and candidates[0].id == 8:
                    how = {"ids": [8]} if erased == "turn" else {"conversation": "log"}
                    memory.erase(**how)
                return Picks(wanted, None)

        window = log.window("lemon 7", budget=4_000, picker=Erasing())
        assert "lemon 7 pad" not in str(window.messages)
        assert window.messages[-1]["content"] == "lemon 7"
        assert (len(log) == 0) == (erased == "conversation")
        assert bool(window.report.picked) == (erased == "turn")


def test_a_picker_that_erases_at_every_look_gets_the_error():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([{"role": "user", "content": f"lemon {n} " + "pad " * 200} for n in range(40)])

        class Erasing:
            def pick(self, _request, candidates, *, limit):
                memory.erase(ids=[candidates[0].id])
                return Picks([one.id for one in candidates[:limit]], None)

        with pytest.raises(NotFound):
            log.window("lemon 7", budget=4_000, picker=Erasing())


@pytest.mark.parametrize("spooled", [False, True])
def test_a_summary_of_what_is_erased_while_a_picker_thinks_is_not_shown(
    made, hand, monkeypatch, spooled
):
    policy = made()
    policy.summarizer.answer = "The secret is Zanzibar."
    memory, log = opened(policy)
    asked = []

    class Erasing:
        def pick(self, _request, candidates, *, limit):
            ids = [one.id for one in candidates[:limit]]
            asked.append(ids)
            if len(asked) == 1:
                memory.erase(ids=[next(id_ for id_ in log.ids[1:] if id_ not in ids)])
            return Picks(ids, None)

    with memory:
        talk(log, 30)
        log.window("Begin.", budget=600)
        with monkeypatch.context() as busy:
            if spooled:
                busy.setattr(memory._engine, "put", lambda _drafts, **_: Spooled("x"))
            hand.run()
        assert shown(log.window("What did answer 2 say?", budget=600))
        window = log.window("What did answer 3 say?", budget=600, picker=Erasing())
        assert "Zanzibar" not in str(window.messages)
        assert len(asked) == 2
        assert window.report.picked


def test_what_is_erased_while_a_mode_is_chosen_is_not_shown(monkeypatch):
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([{"role": "user", "content": f"lemon {n} " + "pad " * 200} for n in range(40)])
        text = Engine.text

        def erasing(self, id_):
            """Read what another process erases just now."""
            monkeypatch.setattr(Engine, "text", text)
            memory.erase(ids=[id_])
            return text(self, id_)

        monkeypatch.setattr(Engine, "text", erasing)
        window = log.window(budget=4_000, mode="auto")
        assert len(log) == 39
        assert "lemon 39 pad" not in str(window.messages)
        assert window.messages[-1]["content"].startswith("lemon 38 pad")


@pytest.mark.parametrize(("times", "made"), [(8, True), (9, False)])
def test_a_window_is_rebuilt_several_times_while_messages_are_erased(monkeypatch, times, made):
    build, left = Windows._window, [times]

    def interrupted(self, conversation, ask):
        if left[0]:
            left[0] -= 1
            raise NotFound("it was erased meanwhile")
        return build(self, conversation, ask)

    monkeypatch.setattr(Windows, "_window", interrupted)
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        chat.append([{"role": "user", "content": "The boat is red."}])
        with nullcontext() if made else pytest.raises(NotFound):
            assert "red" in str(chat.window("Which boat?", budget=500).messages)
    assert left == [0]
