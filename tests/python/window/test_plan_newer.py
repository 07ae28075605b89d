"""The newer value beside the older one, by itself: at every room, against a naive reading."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from warmset._support.locks import rlock
from warmset.messages import Facts
from warmset.quote.cache import Cards
from warmset.quote.format import changed_line
from warmset.state.ledger import Ledger
from warmset.store.records import TurnMeta
from warmset.window.newer import lines_with_newer, with_newer

DAY = 19_000


class Talk:
    """Messages of one day, and which of them changed a value of which."""

    def __init__(self, *said, changed):
        self.ledger = Ledger("t", "c", (0, 0))
        texts = {}
        for id_, one in enumerate(said, start=1):
            texts[id_] = one if isinstance(one, str) else "a call, or its result"
            facts = one if isinstance(one, Facts) else Facts("user", one, request=True)
            meta = TurnMeta(at=DAY * 86_400.0, dialect="openai")
            self.ledger.admit(id_, b"%016d" % id_, facts, meta, 9)
        self.cards = Cards(texts.__getitem__, "o200k_base")
        self.engine = SimpleNamespace(cards=self.cards)
        self.lock = rlock("engine")
        changed = {old: self[new] for old, new in changed.items()}
        self.changers = SimpleNamespace(newer=lambda one: changed.get(one.id))

    def __getitem__(self, id_):
        return self.ledger.entries[id_]

    def quotes(self, quoted, room, known=()):
        units = [tuple(map(self.__getitem__, unit)) for unit in quoted]
        shown = [self[id_] for id_ in known]
        with self.lock:
            made, marks = with_newer(self.engine, self.ledger, units, self.changers, shown, room)
        return [tuple(one.id for one in unit) for unit in made], dict(marks)

    def lines(self, lines, room, known=()):
        listed, shown = [self[id_] for id_ in lines], [self[id_] for id_ in known]
        made, marks = lines_with_newer(self.engine, listed, self.changers, shown, room)
        return [one.id for one in made], dict(marks)

    def quote(self, id_):
        return self.cards.quote(self[id_]).tokens

    def line(self, id_):
        return self.cards.line(self[id_]).tokens

    def mark(self, id_):
        return self.cards.plain(changed_line(id_, below=True)).tokens

    @property
    def day(self):
        return self.cards.day(DAY).tokens


def test_what_is_shown_verbatim_gets_its_newer_value_behind_what_was_found():
    talk = Talk("The limit is 30 s.", "rope", "Make it 90 s.", changed={1: 3})
    seen = set()
    for room in range(talk.day + talk.quote(2) + talk.quote(3) + 2):
        order = [2, 3]
        while order and talk.day + sum(map(talk.quote, order)) > room:
            order.pop()
        made, marks = talk.quotes([(2,)], room, known=[1])
        assert (made, marks) == ([(id_,) for id_ in order], {})  # no mark in a message as it was
        seen.add(tuple(order))
    assert seen == {(), (2,), (2, 3)}


@pytest.mark.parametrize("known", [(1, 3), (3, 1)])
def test_a_newer_value_that_is_shown_verbatim_is_not_quoted(known):
    talk = Talk("The limit is 30 s.", "rope", "Make it 90 s.", changed={1: 3})
    assert talk.quotes([(2,)], 1_000, known=known) == ([(2,)], {})


def test_a_newer_value_of_several_messages_is_quoted_once():
    said = "It is 30 s.", "So 30 s it is.", "rope", "Make it 90 s.", "The port is 80.", "Port 90."
    talk = Talk(*said, changed={1: 4, 2: 4, 5: 6})
    assert talk.quotes([(3,)], 1_000, known=[5, 2, 1]) == ([(3,), (4,), (6,)], {})
    assert talk.quotes([(3,), (4,)], 1_000, known=[1]) == ([(3,), (4,)], {})
    assert talk.quotes([(2,)], 1_000, known=[1, 3]) == ([(4,), (2,)], {2: 4})


def test_a_newer_value_comes_with_its_unit_once():
    call = Facts("assistant", "Make it 90 s.", calls=("c",))
    result = Facts("tool", "It is 90 s now.", results=("c",))
    talk = Talk("It is 30 s.", "Really 30 s.", "rope", call, result, changed={1: 4, 2: 5})
    made, marks = talk.quotes([(3,)], 1_000, known=[1, 2])
    assert (made, marks) == ([(3,), (4, 5)], {})


def test_a_newer_value_that_left_the_path_is_not_quoted():
    talk = Talk("The limit is 30 s.", "rope", "Make it 90 s.", changed={1: 3})
    with talk.lock:
        talk.ledger.history.move(2)
    assert talk.quotes([(2,)], 1_000, known=[1]) == ([(2,)], {})


@pytest.mark.parametrize("size", [1, 12, 40])
def test_the_newer_one_may_take_half_of_the_room_and_all_must_fit(size):
    talk = Talk("The limit is 30 s.", "Make it 90 s." + " boat" * size, "rope", changed={1: 2})
    seen = set()
    for room in range(3 * (talk.quote(2) + talk.quote(1)) + 40):
        order = [2, 1, 3] if 2 * talk.quote(2) <= room - room % 2 else [3]
        costs = {id_: talk.quote(id_) for id_ in order}
        if 1 in costs:
            costs[1] += talk.mark(2)
        while order and talk.day + sum(costs[id_] for id_ in order) > room:
            order.pop()
        made, marks = talk.quotes([(1,), (3,)], room)
        assert made == [(id_,) for id_ in order]
        assert marks == ({1: 2} if 1 in order else {})
        seen.add(tuple(order))
    assert {(3,), (2, 1, 3)} <= seen, "the test would show nothing otherwise"


def test_the_newer_one_that_is_shown_takes_no_room():
    talk = Talk("The limit is 30 s.", "Make it 90 s." + " boat" * 60, "rope", changed={1: 2})
    room = talk.day + talk.quote(1) + talk.mark(2)
    assert talk.quotes([(1,)], room, known=(2,)) == ([(1,)], {1: 2})
    assert talk.quotes([(1,)], room - 1, known=(2,)) == ([], {})
    assert talk.quotes([(2,), (1,)], 10_000) == ([(2,), (1,)], {1: 2})
    assert talk.quotes([(3,)], 0) == ([(3,)], {}), "nothing changed, nothing is done"


def test_a_unit_whose_values_were_changed_by_two_needs_both():
    call, result = Facts("assistant", "", calls=("a",)), Facts("tool", "", results=("a",))
    talk = Talk(call, result, "short", "long" + " boat" * 80, changed={1: 3, 2: 4})
    both = 2 * (talk.quote(3) + talk.quote(4) + talk.quote(1) + talk.quote(2)) + 100
    made, marks = talk.quotes([(1, 2)], both)
    assert made == [(3,), (4,), (1, 2)]
    assert marks == {1: 3, 2: 4}
    made, marks = talk.quotes([(1, 2)], 2 * talk.quote(4) - 1)
    assert (1, 2) not in made
    assert marks == {}


@pytest.mark.parametrize("known", [(), (2,)])
def test_lines_have_the_newer_one_at_every_room(known):
    talk = Talk("The limit is 30 s.", "Make it 90 s.", "rope", changed={1: 2})
    for room in range(80):
        order = [1, 3] if known else [2, 1, 3]
        costs = {id_: talk.line(id_) + (talk.mark(2) if id_ == 1 else 0) for id_ in order}
        while order and sum(costs[id_] for id_ in order) > room:
            order.pop()
        made, marks = talk.lines([1, 3], room, known)
        assert made == order
        assert marks == ({1: 2} if 1 in order else {})
    assert len(order) == 3 - len(known)
