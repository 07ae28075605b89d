"""Which turn changed a value of an earlier one: of long paths and of branches."""

from __future__ import annotations

from itertools import pairwise

import pytest

from warmset import Memory
from warmset.errors import Erased
from warmset.retrieve import changers
from warmset.retrieve.changers import changers_of

OLD = "Replica lag of the ledger: the alert fires above 30 s."
NEW = "It harms nobody at night, raise the alert to 90 s."
NEWEST = "Let us raise the alert to 120 s, then."


NAMES = "harbour ledger crane bakery orchard museum".split()  # noqa: SIM905


class Log:
    """A conversation whose changes are asked for by the texts' ids."""

    def __init__(self, memory):
        self.memory, self.chat = memory, memory.conversation("log")

    def say(self, text, role="user"):
        (id_,) = self.chat.append({"role": role, "content": text})
        return id_

    def fill(self, count):
        self.chat.append(
            [
                {"role": "user", "content": f"The boat number {at} was painted."}
                for at in range(count)
            ]
        )

    def newer(self, id_):
        engine = self.memory._handle.engine
        with engine.lock:
            ledger = engine.owner(id_)
            found = changers_of(engine, ledger).newer(ledger.entries[id_])
        return found and found.id


@pytest.fixture
def log():
    with Memory.open(None, embedder="lexical") as memory:
        yield Log(memory)


def test_the_newest_change_counts_and_only_for_what_was_said_before_it(log):
    old, new = log.say(OLD), log.say(NEW)
    assert log.newer(old) == new
    assert log.newer(new) is None
    newest = log.say(NEWEST)
    assert log.newer(old) == log.newer(new) == newest
    assert log.newer(newest) is None
    again = log.say(OLD)
    assert log.newer(again) is None, "nothing changed it since"
    both = log.say("The alert fires above 30 s, so raise the alert to 90 s, not above 30 s.")
    assert log.newer(both) is None, "no message changes itself"


def test_several_messages_of_one_value_are_all_changed(log):
    ids = [log.say(OLD) for _ in range(3)]
    log.fill(20)
    new = log.say(NEW)
    assert [log.newer(id_) for id_ in ids] == [new] * 3


def test_a_change_is_found_by_way_of_others(log):
    """What the last one speaks of, only the second one speaks of."""
    first = log.say("The review of the harbour plan is on 3 May 2023.")
    second = log.say(
        "The review of the harbour plan moved to 9 May 2023, in the boathouse meeting."
    )
    third = log.say("The boathouse meeting moved to 12 May 2023.")
    assert log.newer(second) == third
    assert log.newer(first) == third


def test_of_two_changes_of_one_message_the_newest_counts(log):
    """The second one changed nothing that the first one says."""
    old = log.say("The alert of the ledger fires above 30 s, the timeout of the backup is 40 s.")
    first = log.say("Raise the alert of the ledger to 90 s.")
    second = log.say("Raise the timeout of the backup to 120 s.")
    assert log.newer(first) is None
    assert log.newer(old) == second


def test_many_changes_that_come_together_are_compared_over_several_windows(log, monkeypatch):
    """The newest ones first; all that each of them changes is known in the end."""
    counted = []
    real = type(log.memory._handle.engine.cards).changed_by

    def counting(*given):
        counted.append(given)
        return real(*given)

    monkeypatch.setattr(type(log.memory._handle.engine.cards), "changed_by", counting)
    first = log.say("The boat is blue.")
    assert log.newer(first) is None
    things = [f"{what} of the {of}" for of in NAMES for what in ("pool", "retry", "cache", "lease")]
    said = [
        f"We moved the {things[at % len(things)]} from {at} to {at + 1} seconds."
        for at in range(600)
    ]
    ids = log.chat.append([{"role": "user", "content": text} for text in said])
    assert log.newer(ids[-1 - len(things)]) == ids[-1], "of what changed the same thing before"
    assert 0 < len(counted) <= changers.AT_ONCE + changers.COMPARED
    counted.clear()
    log.newer(ids[0])
    assert len(counted) <= 2 * changers.COMPARED
    monkeypatch.setattr(changers, "COMPARED", 1_000)
    for _ in range(len(ids)):
        log.newer(ids[0])
    known = [log.newer(one) for one in ids]
    assert any(known)
    counted.clear()
    assert [log.newer(one) for one in ids] == known
    assert counted == [], "everything is compared"
    with log.memory._handle.engine.lock:
        ledger = log.memory._handle.engine.owner(ids[0])
        ledger.changers = None
    monkeypatch.setattr(changers, "AT_ONCE", 1_000_000)
    monkeypatch.setattr(changers, "MOST", 1_000_000)
    assert [log.newer(one) for one in ids] == known, "as if they were compared together"


def test_what_was_left_of_a_path_that_was_cut_is_forgotten(log, monkeypatch):
    """Both what was not read yet and what was not compared."""
    monkeypatch.setattr(changers, "MOST", 1)
    monkeypatch.setattr(changers, "COMPARED", 0)
    messages = [{"role": "user", "content": text} for text in (OLD, NEW)]
    fill = [{"role": "user", "content": f"The boat {at} was painted."} for at in range(9)]
    newest = {"role": "user", "content": NEWEST}
    old, new, *_ = log.chat.append([*messages, *fill, newest, fill[0]])
    for _ in range(2):
        assert log.newer(old) is None, "the newest change waits"
    log.chat.sync(messages)
    monkeypatch.setattr(changers, "COMPARED", 1_000)
    for _ in range(12):
        assert log.newer(old) == new


def test_a_value_of_another_conversation_is_not_changed(log):
    other = Log(log.memory)
    other.chat = log.memory.conversation("other")
    theirs = other.say(OLD)
    old, new = log.say(OLD), log.say(NEW)
    assert (log.newer(old), other.newer(theirs)) == (new, None)


def test_another_branch_has_its_own_changes(log):
    """Both paths have as many messages."""
    messages = [{"role": "user", "content": OLD}]
    ((old,),) = (log.chat.append(messages),)
    new = log.say(NEW)
    assert log.newer(old) == new
    log.chat.sync([*messages, {"role": "user", "content": "The boat was painted."}])
    assert log.newer(old) is None
    newest = log.say(NEWEST)
    assert log.newer(old) == newest
    log.chat.sync([*messages, {"role": "user", "content": NEW}])
    assert log.newer(old) == new


def test_one_that_has_left_the_path_changes_nothing_before_the_path_is_read_again(log):
    said = [
        "The review of the harbour plan is on 3 May 2023.",
        "The review of the harbour plan moved to 9 May 2023, in the boathouse meeting.",
        "The boathouse meeting moved to 12 May 2023.",
    ]
    messages = [{"role": "user", "content": text} for text in said]
    old, new, newest = log.chat.append(messages)
    assert log.newer(old) == newest
    engine = log.memory._handle.engine
    log.chat.sync(messages[:2])
    with engine.lock:
        ledger = engine.owner(old)
        found = ledger.changers.newer(ledger.entries[old])
    assert found.id == new
    log.chat.sync([messages[0], {"role": "user", "content": "The boat was painted."}])
    with engine.lock:
        assert ledger.changers.newer(ledger.entries[old]) is None


def test_older_messages_of_a_long_path_are_read_a_few_at_a_time(log, monkeypatch):
    monkeypatch.setattr(changers, "MOST", 8)
    monkeypatch.setattr(changers, "MORE", 1)
    old, new = log.say(OLD), log.say(NEW)
    log.fill(10)
    calls = 0
    while (found := log.newer(old)) is None:
        calls += 1
        assert calls < 10
    assert found == new
    assert calls == 4, "not at once: the first window waits for it"


def test_what_older_messages_change_is_looked_for_a_little_at_a_time(log, monkeypatch):
    """As many comparisons a window as told, and all of them in the end."""
    monkeypatch.setattr(changers, "MOST", 1)
    monkeypatch.setattr(changers, "COMPARED", 3)
    olds = [log.say(OLD) for _ in range(10)]
    new = log.say(NEW)
    log.say("The boat was painted.")
    found = [0]
    while len(found) < 20 and found[-1] < len(olds):
        log.newer(new)  # as a window does
        engine = log.memory._handle.engine
        with engine.lock:
            ledger = engine.owner(new)
            known = ledger.changers
            found.append(sum(known.newer(ledger.entries[id_]) is not None for id_ in olds))
    assert max(after - before for before, after in pairwise(found)) == 3
    assert {log.newer(id_) for id_ in olds} == {new}


def test_what_waits_is_forgotten_with_the_path_that_it_was_of(log, monkeypatch):
    monkeypatch.setattr(changers, "MOST", 1)
    monkeypatch.setattr(changers, "COMPARED", 1)
    monkeypatch.setattr(changers, "MORE", 8)
    said = OLD, OLD, NEW, NEWEST, "The boat is red."
    messages = [{"role": "user", "content": text} for text in said]
    old, *_, last = log.chat.append(messages)
    assert log.newer(last) is None  # the changes are read, and one is compared with one message
    assert log.memory._handle.engine.owner(old).changers._waiting
    log.chat.sync([*messages[:2], {"role": "user", "content": "The boat was painted."}])
    for _ in range(8):
        assert [log.newer(id_) for id_ in (old, old + 1)] == [None, None]


def test_several_changes_are_looked_for_as_far_as_comparisons_reach(log, monkeypatch):
    monkeypatch.setattr(changers, "MOST", 1)
    monkeypatch.setattr(changers, "MORE", 8)
    olds = log.say(OLD), log.say("The timeout of the backup is 40 s.")
    changed = log.say("Raise the timeout of the backup to 120 s."), log.say(NEW)
    log.say("The boat was painted.")
    monkeypatch.setattr(changers, "COMPARED", 100)
    assert [log.newer(id_) for id_ in olds] == list(reversed(changed))


def test_an_older_change_that_is_read_later_does_not_count(log, monkeypatch):
    """The second one changed nothing that the first one says."""
    monkeypatch.setattr(changers, "MOST", 1)
    old = log.say("The alert of the ledger fires above 30 s, the timeout of the backup is 40 s.")
    log.say("Raise the alert of the ledger to 90 s.")
    second = log.say("Raise the timeout of the backup to 120 s.")
    for _ in range(4):
        assert log.newer(old) == second


def test_one_that_is_erased_meanwhile_hides_no_other(log, monkeypatch):
    monkeypatch.setattr(changers, "MOST", 1)
    gone, old, new = log.say(OLD), log.say(OLD), log.say(NEW)
    log.say("The boat was painted.")
    cards = log.memory._handle.engine.cards
    compare = cards.changed_by

    def changed_by(entry, change):
        if entry.id == gone:
            raise Erased("it was erased")
        return compare(entry, change)

    monkeypatch.setattr(cards, "changed_by", changed_by)
    assert [log.newer(old) for _ in range(4)][-1] == new


def test_a_new_change_does_not_wait(log, monkeypatch):
    monkeypatch.setattr(changers, "COMPARED", 1)
    olds = [log.say(OLD) for _ in range(6)]
    assert log.newer(olds[0]) is None
    new = log.say(NEW)
    assert [log.newer(id_) for id_ in olds] == [new] * 6


def test_a_change_that_is_said_of_much_is_found_among_the_nearest(log):
    old = log.say(OLD)
    log.fill(300)
    for at in range(100):
        log.say(f"The alert of crane {at} was quiet.")
    new = log.say("Raise the alert of the ledger's replica lag to 90 s.")
    assert log.newer(old) == new


def test_what_was_erased_changes_nothing(log):
    old, new = log.say(OLD), log.say(NEW)
    assert log.newer(old) == new
    log.memory.erase(ids=[new])
    assert log.newer(old) is None


def test_every_value_that_a_message_changes_is_looked_for(log):
    first = log.say("The alert of the ledger fires above 30 s.")
    second = log.say("The timeout of the backup is 40 s.")
    for at in range(changers.NEAREST + 6):  # more than one look finds, for the words of each
        log.say(f"The alert of the ledger, the timeout of boat {at}.")
        log.say(f"The backup of boat {at} and its timeout, the alert of another one.")
    far = "The boats lie in the harbour. " * 40
    new = log.say(
        f"Raise the alert of the ledger to 90 s. {far}Raise the timeout of the backup to 120 s."
    )
    assert [log.newer(id_) for id_ in (first, second)] == [new, new]


def test_what_is_said_elsewhere_takes_no_place_of_what_is_said_here(log):
    other = Log(log.memory)
    other.chat = log.memory.conversation("other")
    for _ in range(changers.NEAREST + 6):
        other.say(NEW)
    old = log.say(OLD)
    log.fill(20)
    assert log.newer(old) is None
    new = log.say(NEW)
    assert log.newer(old) == new
