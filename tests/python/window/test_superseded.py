"""Index lines of decisions are those that no later one supersedes, on this branch."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from checked_locks import alone

from warmset import Memory
from warmset.messages import Facts
from warmset.quote.cache import Cards
from warmset.state.ledger import Ledger
from warmset.store.descriptions import Described
from warmset.store.records import TurnMeta
from warmset.window.decisions import Decisions, decisions_of

OLD, NEW, OTHER = (
    "The port of the crane must be 8080.",
    "The port of the crane must be 9090.",
    "We agreed on red paint.",
)
STEADY = {"mode": "steady", "budget": 2_000, "recall_share": 0}
BACK = "We agreed: the port of the crane is 8080 again."


def said(role, text):
    return {"role": role, "content": text}


def talk(count, decided=None, start=0):
    texts = decided or {}
    return [
        said(
            "assistant" if at % 2 else "user",
            texts.get(at, f"Boat {at} lies at quay {at % 9}, beside crane {at % 7}."),
        )
        for at in range(start, start + count)
    ]


class Nothing:
    """Picks nothing, so that all that was found is left for the index."""

    def pick(self, _request, _candidates, /, limit):  # noqa: ARG002 - as all are
        return []


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


@pytest.fixture
def conversation(memory):
    return memory.conversation("log")


def lines(window):
    """The texts of the index's lines of decisions."""
    content = "\n".join(str(message["content"]) for message in window.messages)
    return [line.split(": ", 1)[1] for line in content.splitlines() if " [decision]: " in line]


@pytest.fixture(params=["jit", "steady"])
def options(request):
    return {"mode": "jit", "budget": 2_000} if request.param == "jit" else STEADY


def test_a_decision_that_a_later_one_supersedes_has_no_line(conversation, options):
    ids = conversation.append(talk(601, {40: OLD, 100: OTHER, 200: NEW}))
    window = conversation.window(**options)
    assert lines(window) == [OTHER, NEW]
    index = next(part for part in window.parts if part.name == "index")
    assert ids[40] not in index.ids


def test_it_has_none_where_the_later_one_is_shown_whole(conversation, options):
    conversation.append(talk(601, {40: OLD, 100: OTHER, 598: NEW}))
    window = conversation.window(**options)
    assert lines(window) == [OTHER]
    assert NEW in str(window.messages)


def test_on_a_branch_without_the_later_one_it_has_its_line(conversation, options):
    whole = talk(601, {40: OLD, 100: OTHER, 500: NEW})
    conversation.sync(whole)
    assert lines(conversation.window(**options)) == [OTHER, NEW]
    conversation.sync([*whole[:450], *talk(101, start=2_000)])
    assert lines(conversation.window(**options)) == [OLD, OTHER]
    conversation.sync(whole)
    assert lines(conversation.window(**options)) == [OTHER, NEW]


def test_an_erased_decision_supersedes_nothing(memory, conversation, options):
    ids = conversation.append(talk(601, {40: OLD, 100: OTHER, 200: NEW}))
    assert lines(conversation.window(**options)) == [OTHER, NEW]
    memory.erase(ids=[ids[200]])
    assert lines(conversation.window(**options)) == [OLD, OTHER]


def test_what_the_model_says_does_not_change_what_a_person_decided(conversation, options):
    conversation.append(talk(601, {40: OLD, 101: NEW}))
    assert lines(conversation.window(**options)) == [OLD, NEW]


def test_what_a_tool_returned_changes_nothing(conversation, options):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    conversation.append(
        [
            *talk(200, {40: OLD}),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": NEW},
            *talk(401),
        ]
    )
    assert lines(conversation.window(**options)) == [OLD]


def test_a_decision_that_was_taken_back_is_the_last_one(conversation, options):
    conversation.append(talk(601, {40: OLD, 100: NEW, 200: BACK}))
    assert lines(conversation.window(**options)) == [NEW, BACK]


def test_they_are_not_among_the_decisions_that_were_found(conversation):
    """A search finds many; those beyond the best have a line if they hold."""
    texts = {at: f"The port of crane must be {7_000 + at}." for at in range(0, 120, 2)}
    conversation.append(talk(601, texts))
    options = {"budget": 4_000, "recent": 2, "shortlist": 1, "picker": Nothing()}
    window = conversation.window("What is the port of crane?", **options)
    found = [one for one in lines(window) if "must be" in one]
    assert texts[118] in found
    assert len(found) <= 2


def test_the_count_of_the_rest_is_of_those_that_hold(conversation):
    texts = {at: f"We agreed that item {at} goes to quay {at}." for at in range(0, 200, 2)}
    texts |= {at: f"The port of the crane must be {7_000 + at}." for at in range(300, 500, 2)}
    conversation.append(talk(601, texts))
    window = conversation.window(**STEADY)
    [count] = re.findall(r"(\d+) more decisions", str(window.messages))
    assert int(count) == 100 - len(lines(window))


def test_a_recall_has_no_line_of_them(conversation):
    texts = {at: f"The port of crane must be {7_000 + at}." for at in range(2, 122, 2)}
    conversation.append(talk(601, texts))
    options = {**STEADY, "budget": 6_000, "shortlist": 1, "recall_share": 0.2, "swap_to": 0.3}
    conversation.window(**options)
    conversation.append([said("assistant", "Yes."), said("user", "What is the port of crane?")])
    window = conversation.window(**options)
    assert window.report.epoch.recalled
    assert len([one for one in lines(window) if "must be" in one]) <= 2


def test_a_list_made_anew_has_no_line_of_them_among_the_turns_between(conversation):
    texts = {at: f"The port of the crane must be {7_000 + at}." for at in range(400, 600, 2)}
    conversation.append(talk(601, texts))
    window = conversation.window(**STEADY)
    assert window.report.epoch.hidden > 450
    assert lines(window) == []
    index = next(part for part in window.parts if part.name == "index")
    assert index.ids


def test_what_a_decision_is_about_is_forgotten_with_its_text():
    reads = []

    def read(id_):
        reads.append(id_)
        return OLD

    cards, entry = Cards(read, "o200k_base"), SimpleNamespace(id=7)
    assert cards.topics(entry) == cards.topics(entry)
    assert reads == [7]
    cards.clear()
    cards.topics(entry)
    assert reads == [7, 7]


def test_decisions_that_hold_are_those_of_the_path():
    held = Decisions(Cards(["", OLD, OTHER, NEW].__getitem__, "o200k_base"))
    facts = SimpleNamespace(role="user", results=())
    live = [SimpleNamespace(id=id_, facts=facts) for id_ in (1, 2, 3)]
    decides = Decides()
    held.take(live, decides.now(True, True, True))
    assert (held.places, held.holding) == ([0, 1, 2], [1, 2])
    held.take(live[:2], decides.now(True, True))
    assert (held.places, held.holding) == ([0, 1], [0, 1])
    held.take(live[:1], decides.now(False))
    assert (held.places, held.holding) == ([], [])
    held.take(live[:2], Decides().now(True, True))
    assert (held.places, held.holding) == ([0, 1], [0, 1]), "of another path"
    held.take([live[0], live[2]], decides.now(True, True))
    assert held.holding == [1]


def test_decisions_are_read_again_after_a_failure():
    texts = {1: OLD, 2: OTHER}
    held = Decisions(Cards(lambda id_: texts[id_], "o200k_base"))
    facts = SimpleNamespace(role="user", results=())
    live = [SimpleNamespace(id=id_, facts=facts) for id_ in (1, 2, 3)]
    columns = Decides()
    held.take(live[:2], columns.now(True, True))
    decides = columns.now(True, True, True)
    for _ in range(2):
        with pytest.raises(KeyError):
            held.take(live, decides)
    texts[3] = NEW
    held.take(live, decides)
    assert (held.places, held.holding) == ([0, 1, 2], [1, 2])


@alone()
def test_decisions_follow_the_path_and_what_callables_say():
    ledger, texts = Ledger("t", "c", (0, 0)), {1: OLD, 2: "Hello.", 3: OTHER}
    cards = Cards(texts.__getitem__, "o200k_base")
    for at, text in texts.items():
        said = Facts("user", text, request=True)
        ledger.admit(at, b"%016d" % at, said, TurnMeta(at=0.0, dialect="openai"), 5)
        assert decisions_of(cards, ledger).places == [0, 2][: (at + 1) // 2]
    ledger.describe(2, Described(7, True))
    assert decisions_of(cards, ledger).places == [0, 1, 2]
    ledger.describe(1, Described(8, False))
    assert decisions_of(cards, ledger).places == [1, 2]


class Decides(SimpleNamespace):
    """Columns of a path that changes."""

    version = 0

    def now(self, *decides):
        self.version += 1
        self.decides = np.array(decides)
        return self
