"""Windows and cuts have no more cache marks than Anthropic takes in one request (A11)."""

from __future__ import annotations

import copy

import pytest
from provider_servers import provider

from warmset import Memory, repair

MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}


def text(words, *, mark):
    return {"type": "text", "text": words, **(MARK if mark else {})}


def exchange(number, *, mark=True):
    """Return a question, a call, its result and an answer, with marks on what the user says."""
    call = {"type": "tool_use", "id": f"tu_{number}", "name": "look", "input": {}}
    found = {"type": "tool_result", "tool_use_id": f"tu_{number}"}
    row = text(f"row {number} of the shelf", mark=mark)
    return [
        {"role": "user", "content": [text(f"shelf {number}?", mark=mark)]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{**found, "content": [row]}]},
        {"role": "assistant", "content": [text(f"shelf {number} is full", mark=False)]},
    ]


def asked(number):
    return {"role": "user", "content": [text(f"And shelf {number}?", mark=True)]}


def places(messages):
    """Return the texts of the blocks with a mark, in order."""
    found = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        for block in blocks:
            inner = block.get("content", [])
            every = [block, *(inner if isinstance(inner, list) else [])]
            found += [one["text"] for one in every if "cache_control" in one]
    return found


def bare(value):
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if key != "cache_control"}
    return [bare(one) for one in value] if isinstance(value, list) else value


@pytest.fixture
def path(tmp_path):
    """Return a store whose conversation was appended with marks, as agents append."""
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        for number in range(5):
            log.append(exchange(number))
        log.append(asked(5))
    return tmp_path


@pytest.fixture
def log(path):
    with Memory.open(path, embedder="lexical") as memory:
        yield memory.conversation("log")


NEWEST = ["row 3 of the shelf", "shelf 4?", "row 4 of the shelf", "And shelf 5?"]
MODES = ["full", "recency", "jit", "steady", "auto"]


def taken(made, system=None, tools=None):
    return provider.refusals("anthropic", made, system=system, tools=tools) == []


@pytest.mark.parametrize("mode", MODES)
def test_windows_keep_the_newest_marks(log, mode):
    made = log.window(budget=8_000, mode=mode, recent=16)
    assert places(made.messages) == NEWEST
    assert taken(made.messages)
    stored = [bare(dict(log.fetch(id_))) for id_ in log.ids]
    assert all(bare(one) in stored for one in made.messages)
    assert len(made.messages) > 16


@pytest.mark.parametrize("mode", MODES)
def test_marks_beside_the_messages_count(log, mode):
    system, tools = [text("Be brief.", mark=True)], [TOOL, {**TOOL, "name": "see", **MARK}]
    given = copy.deepcopy((system, tools))
    made = log.window(budget=8_000, mode=mode, system=system, tools=tools)
    assert places(made.messages) == NEWEST[2:]
    assert taken(made.messages, made.system, made.tools)
    assert (made.system, list(made.tools)) == given == (system, tools)
    none = log.window(budget=8_000, mode=mode, system=[*system * 2], tools=[*tools, tools[1]])
    assert places(none.messages) == []


def test_cuts_keep_the_newest_marks(log):
    assert places(log.fit(budget=8_000).messages) == NEWEST
    system = [text("Be brief.", mark=True)]
    made = log.fit(budget=8_000, system=system, tools=[TOOL | MARK])
    assert places(made.messages) == NEWEST[2:]
    assert taken(made.messages, system, [TOOL | MARK])


def test_instructions_at_the_front_keep_theirs(path):
    with Memory.open(path, embedder="lexical") as memory:
        log = memory.conversation("other")
        log.append({"role": "system", "content": [text("Be brief.", mark=True)]})
        log.append([*exchange(0), *exchange(1), asked(2)])
        for mode in MODES:
            made = log.window(budget=8_000, mode=mode)
            assert places([{"content": made.system}]) == ["Be brief."]
            assert places(made.messages) == ["shelf 1?", "row 1 of the shelf", "And shelf 2?"]


def test_four_marks_stay_as_they_are(path):
    with Memory.open(path, embedder="lexical") as memory:
        log = memory.conversation("four")
        log.append([*exchange(0), *exchange(1)])
        log.append({"role": "user", "content": "And now?"})
        made = log.window(budget=8_000, mode="full")
        assert len(places(made.messages)) == 4
        assert made.messages[0] == exchange(0)[0]


def test_a_growing_list_grows_apart_from_marks(path):
    before = []
    with Memory.open(path, embedder="lexical") as memory:
        log = memory.conversation("log")
        for number in range(6, 10):
            made = log.window(budget=8_000, mode="steady")
            assert bare(made.messages)[: len(before)] == before
            assert len(places(made.messages)) == 4
            assert made.report.epoch.number == 1
            before = bare(made.messages)
            log.append(exchange(number)[1:], window=made)
            log.append(asked(number))


@pytest.mark.parametrize("mode", MODES)
def test_a_window_that_comes_back_is_recognised(log, mode):
    length = len(log)
    made = log.window(budget=8_000, mode=mode)
    synced = log.sync([*made.messages, {"role": "assistant", "content": "It is full."}])
    assert (synced.branched_at, len(log)) == (None, length + 1)


def test_a_synced_list_has_its_own_marks(log):
    whole = [one for number in range(5) for one in exchange(number, mark=False)]
    log.sync([*whole, asked(5)])
    assert places(log.window(budget=8_000, mode="full").messages) == ["And shelf 5?"]
    every = [one for number in range(5) for one in exchange(number)]
    log.sync([*every, asked(5)])
    assert places(log.window(budget=8_000, mode="full").messages) == NEWEST


def test_other_providers_take_as_many_as_there_are(path):
    part = {"type": "text", "text": "shelf?", **MARK}
    with Memory.open(path, embedder="lexical") as memory:
        log = memory.conversation("chat")
        for number in range(6):
            log.append({"role": "user", "content": [part | {"text": f"shelf {number}?"}]})
            log.append({"role": "assistant", "content": "full"})
        made = log.window(budget=8_000, mode="full")
        assert (made.dialect, len(places(made.messages))) == ("openai", 6)
        assert len(places(log.fit(budget=8_000).messages)) == 6


def test_repair_keeps_the_same_ones():
    made = repair([one for n in range(5) for one in exchange(n)], dialect="anthropic")
    assert places(made.messages) == ["shelf 3?", *NEWEST[:3]]


def test_of_one_message_the_first_marks_leave(path):
    asks = [{"type": "tool_use", "id": f"tu_{at}", "name": "look", "input": {}} for at in (1, 2)]
    rows = [text("row 1", mark=True), text("row 2", mark=True)]
    found = {"type": "tool_result", "tool_use_id": "tu_1", "content": rows}
    more = {**found, "tool_use_id": "tu_2", "content": [text("row 3", mark=True)]}
    with Memory.open(path, embedder="lexical") as memory:
        log = memory.conversation("one")
        log.append([{"role": "user", "content": "Both?"}, {"role": "assistant", "content": asks}])
        log.append({"role": "user", "content": [found, more, text("Go on.", mark=True)]})
        for tools, marked in (([], 4), ([TOOL | MARK], 3), ([TOOL | MARK] * 3, 1)):
            made = log.window(budget=8_000, mode="full", tools=tools)
            kept = ["row 1", "row 2", "row 3", "Go on."][4 - marked :]
            assert places(made.messages) == kept
