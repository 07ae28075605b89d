"""The page of what trimmers break: how it is made, and that it says what langchain-core does."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

pytest.importorskip("langchain_core", reason="langchain-core is what is asked here")

from warmset.testing import INVARIANTS

broken = importlib.import_module("benches.python.trim.broken")
evicting = importlib.import_module("benches.python.trim.evicting")
PAGE = Path(broken.__file__).parents[2] / "results" / "trimmers.md"
BREAKS = {"keeps_units_whole", "stays_valid", "keeps_what_must_stay", "shows_the_task"}
"""What langchain-core breaks with these options; where messages count one, the budget holds."""


class Here:
    """The peer in this process."""

    def __init__(self, cut=None):
        self.about = {"version": "9.9", "doc": "As it is."}
        self.peer = evicting.LangChain()
        self.cut = cut or self.peer.cut

    def ask(self, what):
        messages = what["messages"]
        if what["ask"] == "count":
            return {"count": self.peer.count(messages)}
        if what["ask"] == "cut":
            return {"kept": self.cut(messages, what["budget"])}
        return {"code": f"trim({messages})", "printed": "[]"}


@pytest.fixture(scope="module")
def found():
    return broken.examined(Here(), "langchain-core", 15)


def test_a_peer_is_examined_and_its_smallest_cases_come_first(found):
    assert set(found.found) == BREAKS
    sizes = [one.messages for one in found.found.values()]
    assert sizes == sorted(sizes)
    assert max(sizes) == 2
    assert "text 1" in found.found["stays_valid"].code, "texts are short"
    assert (found.changed, found.cuts) == (30, 30)


def test_a_trimmer_that_cuts_ahead_keeps_the_prefix_for_some_calls():
    def ahead(messages, budget):
        start = 0
        while len(messages) - start > budget:
            start += 10
        return list(range(start, len(messages)))

    changed, cuts = broken.prefix(Here(ahead), "openai")
    assert (changed, cuts) == (6, 30)


def test_the_page_has_a_row_for_each_invariant_and_a_text_for_each_case(found):
    text = broken.page([found])
    assert "|  | langchain-core |" in text
    assert "| `stays_valid` | 2 messages |" in text
    assert "| calls that change the prefix | 30 of 30 |" in text
    assert "is_deterministic" not in text
    for name in BREAKS:
        assert f"{broken.TITLES[name]}: langchain-core 9.9\n\nWith 2 messages" in text
    assert "a budget of 1 message: " in text
    assert "Every call past the budget changes the prefix: langchain-core 9.9" in text
    assert "$" not in text


def test_every_invariant_has_a_title():
    assert {one.__name__ for one in INVARIANTS} <= set(broken.TITLES)


def test_the_committed_page_has_all_peers_and_agrees_about_langchain(found):
    text = PAGE.read_text()
    assert all(f"## {name}\n" in text for name in broken.NAMES.values())
    part = text.partition("## langchain-core")[2].partition("\n## ")[0]
    for name, title in broken.TITLES.items():
        assert (f"### {title} (" in part) == (name in found.found)
