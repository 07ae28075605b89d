"""Callables that replace the summary line, the entities and the decision of a turn."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from warmset import Memory
from warmset.errors import InvalidInputError
from warmset.memory import MemoryOptions

LONG = " ".join(f"word{n}" for n in range(60))


def said(text, role="user"):
    return {"role": role, "content": text}


class Calls:
    """A callable that counts, and that returns what a function says."""

    def __init__(self, make, fingerprint="calls"):
        self.make = make
        self.fingerprint = fingerprint
        self.texts = []

    def __call__(self, text):
        self.texts.append(text)
        return self.make(text)


class Held:
    """A callable that returns nothing until `go` is set."""

    fingerprint = "held"

    def __init__(self, make):
        self.make, self.go = make, threading.Event()

    def __call__(self, text):
        self.go.wait(30)
        return self.make(text)


def line(text):
    return f"about {text.split()[0]}"


def talk(count):
    return [
        said(f"turn{n} harbour decided {LONG}", "assistant" if n % 2 else "user")
        for n in range(count)
    ]


def index_text(window):
    return "\n".join(str(one["content"]) for one in window.messages)


def narrow(log, query="nothing of that"):
    """Build a window with many index lines."""
    return log.window(query, budget=2_600, index_share=0.6, recent=1)


def first_words(memory):
    """Return the first words of all summary lines of `talk`."""
    return {one.summary.split()[0] for one in memory.search("harbour")}


def test_the_models_search_shows_the_summary_lines():
    with Memory.open(None, embedder="lexical", summary_line=Calls(line)) as memory:
        log = memory.conversation("log")
        log.append(talk(6))
        assert memory.flush(20)
        kit = log.tools()
        call = {"name": "search_turns", "arguments": '{"query": "harbour"}'}
        asked = {"id": "c", "type": "function", "function": call}
        found = kit.run(asked)
        assert "about turn3" in found["content"]
        assert "word20" not in found["content"]


def test_the_summary_line_is_replaced_in_windows_and_hits():
    summarise = Calls(line)
    with Memory.open(None, embedder="lexical", summary_line=summarise) as memory:
        log = memory.conversation("log")
        log.append(talk(30))
        assert memory.flush(20)
        assert len(summarise.texts) == 30
        assert ": about turn" in index_text(narrow(log))
        assert first_words(memory) == {"about"}
        assert memory.stats()["undescribed"] == 0


def test_pickers_see_it():
    seen = []

    class Picker:
        def pick(self, _request, candidates, *, limit):
            seen.extend(one.summary for one in candidates)
            return [candidates[0].id][:limit]

    with Memory.open(None, embedder="lexical", summary_line=line, picker=Picker()) as memory:
        memory.conversation("log").append(talk(30))
        assert memory.flush(20)
        narrow(memory.conversation("log"), "harbour")
    assert seen
    assert all(one.startswith("about turn") for one in seen)


def test_until_it_is_there_the_default_is_shown_and_nobody_waits():
    slow = Held(line)
    with Memory.open(None, embedder="lexical", summary_line=slow) as memory:
        log, began = memory.conversation("log"), time.monotonic()
        log.append(talk(30))
        shown = index_text(narrow(log))
        assert time.monotonic() - began < 5
        assert "about turn" not in shown
        assert memory.stats()["undescribed"] == 30
        assert not memory.flush(0.05)
        slow.go.set()
        assert memory.flush(20)
        log.append([said("ok", "assistant"), said("turn3 again")])
        assert "about turn" in index_text(narrow(log))


def test_a_line_that_comes_in_the_middle_of_an_exchange_is_shown_from_the_next_on():
    slow = Held(line)
    with Memory.open(None, embedder="lexical", summary_line=slow) as memory:
        log = memory.conversation("log")
        log.append([*talk(30), said("nothing of that?")])
        first = narrow(log, None)
        slow.go.set()
        assert memory.flush(20)
        second = narrow(log, None)
        assert first.messages == second.messages, "the provider's cache would be lost"
        log.append([said("ok", "assistant"), said("nothing of this?")])
        third = narrow(log, None)
        assert "about turn" in index_text(third)


@pytest.mark.parametrize("cipher", [None, "keys"])
def test_it_is_stored_and_made_once(cipher, tmp_path):
    first, second, other = Calls(line), Calls(line), Calls(lambda _text: "other", "other")
    options = {"embedder": "lexical", "encryption": cipher}
    with Memory.open(tmp_path, summary_line=first, **options) as memory:
        memory.conversation("log").append(talk(5))
        assert memory.flush(20)
        count = memory.stats()["records"]
    with Memory.open(tmp_path, summary_line=second, **options) as memory:
        assert [one.summary[:5] for one in memory.search("harbour")] == ["about"] * 5
        memory.conversation("log").append(said("more"))
        assert memory.flush(20)
        assert second.texts == ["more"]
        assert memory.stats()["records"] == count + 2
    with Memory.open(tmp_path, **options) as memory:
        assert all(one.summary.startswith("turn") for one in memory.search("harbour"))
    with Memory.open(tmp_path, summary_line=other, **options) as memory:
        assert memory.flush(20)
        assert len(other.texts) == 6
        assert {one.summary for one in memory.search("harbour")} == {"other"}


def test_what_was_pending_is_described_after_the_next_open(tmp_path):
    slow, again = Held(line), Calls(line, "held")
    memory = Memory.open(tmp_path, embedder="lexical", summary_line=slow)
    memory.conversation("log").append(talk(3))
    memory.close(timeout=0)
    slow.go.set()
    with Memory.open(tmp_path, embedder="lexical", summary_line=again) as memory:
        assert memory.flush(20)
        assert len(again.texts) == 3


def test_closing_finishes_what_is_pending(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", summary_line=line) as memory:
        memory.conversation("log").append(talk(40))
    again = Calls(line, f"{__name__}.line")
    with Memory.open(tmp_path, embedder="lexical", summary_line=again) as memory:
        assert memory.flush(20)
        assert again.texts == []


@pytest.mark.parametrize("what", ["conversation", "ids"])
def test_erasing_a_turn_erases_its_description(what, tmp_path):
    def quoted(text):
        return f"LINE of {text}"

    with Memory.open(tmp_path, embedder="lexical", summary_line=quoted) as memory:
        log = memory.conversation("log")
        [first, _] = log.append([said("SECRET one"), said("two", "assistant")])
        assert memory.flush(20)
        assert b"LINE of SECRET" in bytes_of(tmp_path)
        if what == "conversation":
            memory.erase(conversation="log")
        else:
            memory.erase(ids=[first])
            assert [one.summary for one in memory.search("two")] == ["LINE of two"]
            assert memory.flush(20)
        assert memory.stats()["undescribed"] == 0
    assert b"SECRET" not in bytes_of(tmp_path)


def bytes_of(path):
    return b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())


def test_entities_and_decisions_are_replaced():
    turn3 = Held(lambda text: text.startswith("turn3"))
    with Memory.open(
        None,
        embedder="lexical",
        entities=lambda text: [f"E-{text.split()[0]}", "E-two", "E-two"],
        decisions=turn3,
    ) as memory:
        log = memory.conversation("log")
        log.append([*talk(30), said("we decided to use TOML"), said("ok", "assistant")])
        assert memory.search("TOML")[0].decision
        narrow(log)  # the columns are there
        turn3.go.set()
        assert memory.flush(20)
        assert not memory.search("TOML")[0].decision
        [hit] = [one for one in memory.search("turn3") if one.summary.startswith("turn3 ")]
        assert hit.decision
        shown = index_text(narrow(log, "nothing at all"))
        assert "[decision]: turn3" in shown
        assert "(E-turn3, E-two)" in shown
        assert "[decision]: we decided" not in shown


def test_the_columns_follow_a_decision():
    turn4 = Held(lambda text: text.startswith("turn4"))
    with Memory.open(None, embedder="lexical", decisions=turn4) as memory:
        log = memory.conversation("log")
        log.append([*(said(f"turn{n} {LONG}") for n in range(20)), said("we decided")])
        log.window("we decided", budget=2_600, recent=1)
        columns = log._ledger.columns
        assert columns.decides.tolist() == [False] * 20 + [True]
        turn4.go.set()
        assert memory.flush(20)
        assert columns.decides.tolist() == [False] * 4 + [True] + [False] * 16
        assert columns.settles[columns.homes].tolist() == columns.decides.tolist()
        assert [one.decision for one in log._ledger.live()] == columns.decides.tolist()


async def later(text):
    return f"later {text.split()[0]}"


def test_asynchronous_callables():
    with Memory.open(None, embedder="lexical", summary_line=later) as memory:
        memory.conversation("log").append(talk(3))
        assert memory.flush(20)
        assert first_words(memory) == {"later"}


def test_a_long_line_is_cut_and_put_in_one_line():
    with Memory.open(None, embedder="lexical", summary_line=lambda _t: "a\n" * 500) as memory:
        memory.conversation("log").append(said("harbour"))
        assert memory.flush(20)
        assert memory.search("harbour")[0].summary == ("a " * 80).rstrip()


def raising(text):
    raise ValueError(f"SECRET {text}")


@pytest.mark.parametrize(
    ("option", "make", "error"),
    [
        ("summary_line", raising, "ValueError"),
        ("summary_line", lambda _text: None, "TypeError"),
        ("summary_line", lambda _text: " \n", "ValueError"),
        ("entities", lambda _text: "one", "TypeError"),
        ("entities", lambda _text: [1], "TypeError"),
        ("entities", lambda _text: 3, "TypeError"),
        ("decisions", lambda _text: "yes", "TypeError"),
    ],
)
def test_errors_leave_the_built_in_rules(option, make, error, caplog):
    caplog.set_level(logging.DEBUG, logger="warmset")
    calls = Calls(make)
    with Memory.open(None, embedder="lexical", **{option: calls}) as memory:
        memory.conversation("log").append(said("we decided on Harbour SECRET"))
        assert not memory.flush(20)
        [hit] = memory.search("harbour")
        assert (hit.summary, hit.decision) == ("we decided on Harbour SECRET", True)
        records = [one for one in caplog.records if getattr(one, "part", "") == option]
        assert {(one.event, one.what, one.to, one.error) for one in records} == {
            ("fell_back", "description", "built-in", error)
        }
        assert sum(one.turns for one in records) == len(calls.texts)
        assert "SECRET" not in "".join(one.getMessage() for one in records)
        assert memory.stats()["undescribed"] == 1
        calls.make = {
            "summary_line": lambda _text: "a line",
            "entities": lambda _text: ["one"],
            "decisions": lambda _text: False,
        }[option]
        assert memory.flush(20), "what failed is tried again"
        assert memory.stats()["undescribed"] == 0


def test_a_reader_shows_what_is_stored_and_makes_nothing(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", summary_line=line) as memory:
        memory.conversation("log").append(talk(3))
    calls = Calls(line, f"{__name__}.line")
    with Memory.open(tmp_path, embedder="lexical", summary_line=calls, mode="read") as memory:
        assert first_words(memory) == {"about"}
        assert memory.flush(5)
    assert calls.texts == []


def test_two_memories_on_a_path_have_the_same_callables(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", summary_line=line) as memory:
        with pytest.raises(InvalidInputError, match="summary_line="):
            Memory.open(tmp_path, embedder="lexical", summary_line=Calls(line, "another"))
        with pytest.raises(InvalidInputError, match="decisions="):
            Memory.open(tmp_path, embedder="lexical", decisions=raising)
        with Memory.open(tmp_path, embedder="lexical") as other:
            other.conversation("log").append(talk(2))
            assert other.flush(20)
            assert first_words(memory) == {"about"}


@pytest.mark.parametrize("option", ["summary_line", "entities", "decisions"])
@pytest.mark.parametrize("given", ["text", 3, str])
def test_what_is_no_function_is_refused(option, given):
    with pytest.raises(InvalidInputError, match=f"{option}: expected a function"):
        MemoryOptions(**{option: given})


def test_an_abandoned_turn_and_an_erased_one_are_no_trouble():
    slow = Held(line)
    with Memory.open(None, embedder="lexical", summary_line=slow) as memory:
        log = memory.conversation("log")
        ids = log.append(talk(4))
        log.sync([*talk(2), said("another way")])
        memory.erase(ids=[ids[1]])
        slow.go.set()
        assert memory.flush(20)
        kept = [one.summary for one in memory.search("harbour")]
        assert set(kept) == {"about turn0"}


def test_a_turn_that_is_erased_while_it_is_described_costs_the_others_nothing(caplog):
    caplog.set_level(logging.WARNING, logger="warmset")

    def erase(text):
        if text == "gone":
            memory.erase(ids=[ids[1]])
        return f"line of {text}"

    slow = Held(erase)
    with Memory.open(None, embedder="lexical", summary_line=slow) as memory:
        ids = memory.conversation("log").append([said("one"), said("gone"), said("two")])
        slow.go.set()
        assert memory.flush(20)
        assert memory.search("one")[0].summary == "line of one"
        assert memory.search("two")[0].summary == "line of two"
    assert not caplog.records


def test_a_reader_does_not_describe_what_lacks_it(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append(talk(3))
    calls = Calls(line)
    with Memory.open(tmp_path, embedder="lexical", summary_line=calls, mode="read") as memory:
        assert memory.flush(5)
        assert memory.stats()["undescribed"] == 0
    assert calls.texts == []


def test_nothing_is_left_of_an_erased_description():
    with Memory.open(None, embedder="lexical", summary_line=line) as memory:
        memory.conversation("log").append(talk(3))
        assert memory.flush(20)
        assert len(memory._engine.described) == 3
        memory.erase(conversation="log")
        assert memory._engine.described == {}
