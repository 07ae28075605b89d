"""A bar for every stage, where somebody looks."""

from __future__ import annotations

import io

from rich.console import Console

from warmset.embed.bars import Bars


def test_a_stage_is_shown_from_its_first_call_on():
    file = io.StringIO()
    with Bars(Console(file=file, force_terminal=True, width=80)) as bars:
        assert file.getvalue() == ""
        bars("sorting", 1, 2)
        bars("counting", 2, 2)
        bars._shown.refresh()
        assert "sorting" in file.getvalue()
        assert "50%" in file.getvalue()
        assert "100%" in file.getvalue()


def test_nothing_is_shown_in_a_file():
    file = io.StringIO()
    with Bars(Console(file=file, width=80)) as bars:
        bars("sorting", 1, 2)
    assert file.getvalue() == ""
