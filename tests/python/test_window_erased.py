"""Windows of conversations of which somebody erases something while the window is made."""

from __future__ import annotations

import pytest

from warmset import Memory, Picks
from warmset.errors import NotFound


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
