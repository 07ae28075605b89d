"""The tree of a conversation's messages, against a tree that is searched without any shortcut."""

from __future__ import annotations

import numpy as np
import pytest
from checked_locks import alone
from hypothesis import given, strategies as st
from unit_facts import FACTS, fact

from warmset._core import Units
from warmset.messages import Facts, units
from warmset.options import SESSION_GAP
from warmset.state.branch_records import Links
from warmset.state.branches import ROOT, History, Step
from warmset.state.last_cut import Standing
from warmset.state.ledger import Ledger, columns_of
from warmset.state.matching import match
from warmset.state.prompt_prefix import Sent
from warmset.state.sent_lists import SentList, SentLists
from warmset.state.unit_costs import Accounts
from warmset.store.descriptions import Described
from warmset.store.records import TurnMeta
from warmset.text.timestamps import day_of
from warmset.tokens import extra_tokens, message_tokens


@pytest.fixture(autouse=True)
def _no_engine():
    with alone():
        yield


A, B, C, X, Y, Z = (letter * 16 for letter in (b"a", b"b", b"c", b"x", b"y", b"z"))
CONTENTS = (A, B, C)
STEPS = st.lists(st.tuples(st.integers(0, 99), st.sampled_from(CONTENTS)), max_size=12)
"""Where the path moves before a message of some content is added: to one of those there are."""


def grown(steps):
    """Grow a tree; give it with what each message follows and says, and the paths that it had."""
    history, parents, says = History(), {}, {}
    for id_, (at, digest) in enumerate(steps, 1):
        heads = [ROOT, *parents, history.head]
        head = heads[at % len(heads)] if at % 3 == 0 else history.head
        if head != history.head:
            before = history.path
            left, joined = history.move(head)
            path = chain(parents, head)
            assert left == [one for one in before if one not in path]
            assert joined == [one for one in path if one not in before]
            assert history.branched
        parents[id_], says[id_] = history.head, digest
        history.add(id_, digest)
        assert history.path == chain(parents, id_)
        for one in (ROOT, id_ // 2):
            assert list(history.following(one)) == [i for i in parents if parents[i] == one]
    assert history.among(CONTENTS[:2]) == {
        digest: id_ for id_, digest in says.items() if digest in CONTENTS[:2]
    }
    return history, parents, says


def chain(parents, id_):
    """The path to a message."""
    path = []
    while id_ != ROOT:
        path.insert(0, id_)
        id_ = parents[id_]
    return path


@given(STEPS, st.lists(st.sampled_from(CONTENTS), max_size=6))
def test_a_list_is_followed_as_far_as_any_branch_has_it(steps, listed):
    history, parents, says = grown(steps)
    found = match(history, listed)
    best = max(
        (
            [path[:n] for path in ([], *(chain(parents, id_) for id_ in parents))
             for n in range(len(path) + 1)]
        ),
        key=lambda path: len(path) if [says[one] for one in path] == listed[: len(path)] else -1,
    )  # fmt: skip
    assert len(found.ids) == len(found.of)
    assert [says[one] for one in found.ids] == listed[: len(found.ids)]
    assert found.ids == chain(parents, found.ids[-1] if found.ids else ROOT)
    path = history.path
    common = next(
        (at for at, (one, two) in enumerate(zip(found.ids, path, strict=False)) if one != two),
        min(len(found.ids), len(path)),
    )
    assert found.branched_at == (common if common < len(path) else None)
    shared = 0
    while shared < min(len(path), len(listed)) and says[path[shared]] == listed[shared]:
        shared += 1
    assert path[:shared] == found.ids[:shared], "the path that is current comes first"
    twins = len({(parents[one], says[one]) for one in parents}) < len(parents)
    assert twins or len(found.ids) == len(best)


@given(STEPS, st.sets(st.integers(1, 12)))
def test_after_an_erasure_each_message_follows_its_nearest_ancestor_that_is_left(steps, gone):
    history, parents, says = grown(steps)
    gone &= parents.keys()
    links = Links.without(history, gone)
    left = [id_ for id_ in parents if id_ not in gone]
    wanted = {id_: next((one for one in reversed(chain(parents, id_)[:-1]) if one in left), ROOT)
              for id_ in parents}  # fmt: skip
    head = next((one for one in reversed(history.path) if one in left), ROOT)
    if links is None:
        orphans = [id_ for id_ in left if parents[id_] in gone]
        assert not history.branched or not (orphans or gone)
        return
    assert links == Links.decode({"of": [[i, *a] for i, a in links.of.items()], "head": links.head})
    assert links.end(left) == head
    assert {id_: links.parent(id_, left) for id_ in links.of} == {
        id_: wanted[id_] for id_ in links.of
    }
    assert links.of.keys() >= {id_ for id_ in left if parents[id_] in gone} | gone
    again = History()  # as a process that opens the store afterwards has it
    for id_ in left:
        again.move(parents[id_] if parents[id_] in (ROOT, *left) else again.head)
        again.add(id_, says[id_])
    again.heirs |= {id_: of for id_, of in links.of.items() if id_ not in again}
    again.relink({id_: links.parent(id_, left) for id_ in links.of if id_ in left})
    again.move(links.end(left))
    assert again.path == [one for one in history.path if one not in gone]
    assert {id_: next(again.ancestors(id_), ROOT) for id_ in left} == {
        id_: wanted[id_] for id_ in left
    }
    assert {id_: again.heir(id_) for id_ in gone} == {id_: wanted[id_] for id_ in gone}
    last = {(wanted[id_], says[id_]): id_ for id_ in left}
    places = [(after, digest) for after in (ROOT, *left) for digest in CONTENTS]
    assert {place: again.with_content(*place) for place in places} == {
        place: last.get(place) for place in places
    }
    following = {one: [id_ for id_ in left if wanted[id_] == one] for one in [ROOT, *left]}
    assert {one: list(again.following(one)) for one in following} == following


def test_an_erased_message_that_no_link_names_is_followed_by_what_is_before_it():
    history = History()
    for id_ in (2, 4, 9):
        history.add(id_, b"%016d" % id_)
    assert [history.heir(id_) for id_ in (1, 2, 3, 5, 99)] == [ROOT, 2, 2, 4, 9]
    history.heirs = {7: (6, 4), 6: (5,), 5: (3, 2)}
    assert [history.heir(id_) for id_ in (7, 6, 5)] == [4, 2, 2]


def test_a_gone_message_followed_what_the_path_had_been_moved_to():
    history = History()
    for id_ in (1, 2, 3):
        history.add(id_, b"%016d" % id_)
    assert history.head_at(4, 1)
    history.move(1)
    history.keep(6, 1)
    history.add(8, b"%016d" % 8)
    assert [history.heir(id_) for id_ in (5, 6, 7, 9)] == [1, 1, 1, 8]
    assert not history.head_at(7, 3), "what came later has moved the path's end since"
    assert history.head_at(10, 9)
    assert [history.heir(id_) for id_ in (8, 11)] == [8, 8]


def test_messages_follow_earlier_ones_only_and_steps_are_forgotten_with_their_places():
    history = History()
    for id_ in (1, 2, 3):
        history.add(id_, b"%016d" % id_)
    history.steps[1, X] = Step((2,), "reordered")
    for parent in (3, 4):
        with pytest.raises(ValueError, match="an earlier one"):
            History.relink(history, {3: parent})
    history.steps[1, X] = Step((2,), "reordered")
    history.relink({3: 1})
    assert history.steps == {}


class Alike:
    """Says which stored messages a list may have in another form, and which are thinking alone."""

    def __init__(self, alike=(), alone=()):
        self._alike, self._alone = alike, alone

    def variant(self, _at, id_, /):
        return "other" if id_ in self._alike else None

    def is_alone(self, id_, /):
        return id_ in self._alone

    def is_thinking(self, _at, /):
        return False


@pytest.mark.parametrize(
    ("alone", "ids"), [((), [1]), ((2,), [1]), ((3,), [1]), ((2, 3), [1, 2, 3])]
)
def test_only_thinking_may_be_missing_at_the_end(alone, ids):
    history = History()
    for id_ in (1, 2, 3):
        history.add(id_, b"%016d" % id_)
    found = match(history, [b"%016d" % 1], Alike(alone=alone))
    assert (found.ids, found.branched_at) == (ids, None if len(ids) == 3 else 1)
    assert found.of == [1]


def test_of_messages_that_are_alike_the_one_on_the_current_path_is_meant():
    history = History()
    history.add(1, b"%016d" % 1)
    history.add(2, b"%016d" % 2)
    likeness = Alike(alike=(2, 3))
    assert match(history, [b"%016d" % 1, X], likeness).ids == [1, 2]
    history.move(1)
    history.add(3, b"%016d" % 3)
    found = match(history, [b"%016d" % 1, X], likeness)
    assert (found.ids, found.branched_at) == ([1, 3], None)
    found = match(history, [b"%016d" % 1, b"%016d" % 2], likeness)
    assert (found.ids, found.branched_at) == ([1, 3], None), "in another form, but here"
    history.move(2)
    assert match(history, [b"%016d" % 1, X], likeness).ids == [1, 2]


# --- the spool ------------------------------------------------------------------------------------


def test_what_lies_in_the_spool_is_awaited_until_it_is_taken_up():
    history = History()
    history.add(1, A)
    history.expect(None, [X, Y])
    assert (history.awaited_after, history.awaited) == (
        1,
        [X, Y],
    )
    history.add(2, X)
    assert (history.awaited_after, history.awaited) == (2, [Y])
    history.expect(None, [Z])
    history.add(3, Y)
    history.add(4, Z)
    assert (history.awaited_after, history.awaited) == (None, []), "the mark goes with the last"
    history.add(5, X)
    assert (history.awaited_after, history.awaited) == (None, [])


def test_what_others_append_meanwhile_is_not_what_is_awaited():
    history = History()
    history.add(1, A)
    history.expect(None, [X])
    history.add(2, B)
    history.expect(None, [Y])
    assert (history.awaited_after, history.awaited) == (
        1,
        [X, Y],
    ), "behind the first batch"
    history.add(3, X)
    assert history.awaited == [X, Y], "it follows another message"
    history.move(1)
    assert history.awaited_after == 1
    history.add(4, X)
    assert (history.awaited_after, history.awaited) == (4, [Y])


def test_a_branch_in_the_spool_takes_the_place_of_what_was_awaited_before_it():
    history = History()
    for id_ in (1, 2):
        history.add(id_, b"%016d" % id_)
    history.expect(None, [X])
    history.expect(1, [Y])
    assert (history.awaited_after, history.awaited) == (1, [Y])
    history.expect(1, [])
    assert (history.awaited_after, history.awaited) == (1, [])
    history.move(2)
    assert history.awaited_after == 1
    history.move(1)
    assert history.awaited_after is None, "the move was taken up"


# --- what is kept of a path -----------------------------------------------------------------------


SAID = fact("user", (), (), True)


def ledger_of(facts=(), start=1):
    ledger = Ledger("t", "c", (0, 0))
    for at, one in enumerate(facts, start):
        admit(ledger, at, one)
    return ledger


def admit(ledger, id_, one, **meta):
    meta = TurnMeta(**{"at": 3e4 * id_, "dialect": "openai", **meta})
    ledger.admit(id_, b"%016d" % id_, one, meta, id_ % 7 + 1)
    return ledger.entries[id_]


@given(st.lists(st.tuples(FACTS, st.integers(0, 9), st.booleans()), max_size=14))
def test_what_is_kept_of_a_path_is_that_of_the_path(steps):
    ledger = ledger_of()
    for id_, (one, at, looked) in enumerate(steps, 1):
        heads = [ROOT, *ledger.entries]
        if at < 3:
            ledger.history.move(heads[at % len(heads)])
        admit(ledger, id_, one)
        if at == 9:
            ledger.describe(heads[id_ // 2] or id_, Described(1, id_ % 2 == 0))
        if looked or id_ == len(steps):
            check(ledger)


def check(ledger):
    """Compare what is kept of a path with what is read of it now."""
    path = [ledger.entries[id_] for id_ in ledger.history.path]
    assert list(ledger.live()) == path
    columns = columns_of(ledger)
    accounts = Accounts(Units.of([one.facts for one in path], [one.tokens for one in path], False))
    parts = [accounts.members(unit) for unit in range(len(accounts.roll))]
    assert [ledger.accounts().members(unit) for unit in range(len(parts))] == parts
    assert ledger.accounts().roll.since(0) == sum(one.tokens for one in path)
    assert columns.ids.tolist() == [one.id for one in path]
    assert columns.decides.tolist() == [one.decision for one in path]
    assert columns.homes.tolist() == [accounts.home(at) for at in range(len(path))]
    for unit, members in enumerate(parts):
        own = [path[at] for at in members]
        assert columns.tokens[unit] == sum(one.tokens for one in own)
        assert columns.sizes[unit] == len(own)
        assert columns.days[unit] == day_of(own[0].at)
        assert columns.settles[unit] == any(one.decision for one in own)
    for place, one in enumerate(path):
        near = [path[at] if 0 <= at < len(path) else None for at in (place - 1, place + 1)]
        wanted = tuple(
            other.id if other and other.session == one.session and not other.blank else None
            for other in near
        )
        assert ledger.around(one.id) == wanted
        assert ledger.place(one.id) == place
    assert len(units([one.facts for one in path])) == len(parts)


@pytest.mark.parametrize("batch", [1, 63, 64, 65, 128])
def test_columns_grow_with_the_path(batch):
    ledger = ledger_of()
    for id_ in range(1, 2 * batch + 2):
        admit(ledger, id_, SAID)
        if id_ % batch == 0:
            assert columns_of(ledger).ids.tolist() == ledger.history.path
    assert columns_of(ledger).ids.tolist() == ledger.history.path
    ids = np.array([0, 1, 2 * batch + 1, 2 * batch + 2])
    assert columns_of(ledger).places(ids).tolist() == [-1, 0, 2 * batch, -1]


@pytest.mark.parametrize(("pause", "sessions"), [(0, 1), (SESSION_GAP, 1), (SESSION_GAP + 1, 2)])
def test_a_session_ends_with_a_longer_pause_than_the_gap(pause, sessions):
    ledger = ledger_of()
    admit(ledger, 1, SAID, at=5.0)
    admit(ledger, 2, SAID, at=5.0 + pause)
    assert len({one.session for one in ledger.entries.values()}) == sessions
    assert ledger.around(1) == ((None, None) if sessions == 2 else (None, ledger.around(1)[1]))


def test_contexts_have_neighbours_of_their_session_that_say_something():
    ledger = ledger_of()
    for id_, (session, text) in enumerate(["ax", "ay", "a ", "az", "bx", "by"], 1):
        one = Facts("user", text, (), ())
        admit(ledger, id_, one, session=session)
    around = [ledger.around(id_) for id_ in range(1, 7)]
    n = None
    assert around == [(n, 2), (1, n), (2, 4), (n, n), (n, 6), (5, n)]


def test_a_branch_takes_what_was_sent_behind_it_out_of_the_last_cut():
    ledger = ledger_of([SAID] * 5)
    tokens = [one.tokens for one in ledger.live()]
    for common in range(6):
        ledger.standing = Standing(
            key=(), start=1, held=(), moves=2, sent=np.array([0, 2, 3]), tokens=99, brief=False
        )
        ledger.branch(common)
        sent = [at for at in (0, 2, 3) if at < common]
        assert (ledger.standing.sent.tolist(), ledger.standing.start) == (sent, None)
        assert ledger.standing.tokens == sum(tokens[at] for at in sent)


CALL, RESULT = fact("assistant", ("a",), (), False), fact("tool", (), ("a",), False)


def test_a_unit_settles_something_while_any_of_its_messages_does():
    ledger = ledger_of([SAID, CALL, RESULT])
    columns = columns_of(ledger)
    for first, second in ((True, False), (True, True), (False, True), (False, False)):
        ledger.describe(2, Described(9, first))
        ledger.describe(3, Described(9, second))
        assert columns.settles[:2].tolist() == [False, first or second]
        assert columns.decides.tolist() == [False, first, second]


@pytest.mark.parametrize(
    ("facts", "pins", "wanted"),
    [
        ([SAID, CALL, SAID], (), [0, 2]),  # a call that was left
        ([SAID, CALL], (), [0, 1]),  # one that waits for its result
        ([SAID, CALL, RESULT], (), [0]),
        ([SAID, CALL, RESULT, SAID, SAID], (), [0, 3]),
        ([SAID, CALL, RESULT, SAID, SAID], (2,), [0, 1, 3]),
        ([fact("system", (), (), False), fact("assistant", (), (), False)] * 2, (), [0, 2, 3]),
        ([fact("assistant", (), (), False), fact("system", (), (), False)], (), [0, 1]),
    ],
)
def test_what_must_stay(facts, pins, wanted):
    accounts = ledger_of(facts).accounts()
    assert accounts.protected(pins) == wanted


# --- lists ----------------------------------------------------------------------------------------


def test_a_reply_is_made_behind_the_one_list_there_was_since_the_last_one():
    one, two = (SentList("anthropic", [], until=7, model=model) for model in "ab")
    lists = SentLists()
    assert (lists.only(7), lists.unknown, lists.ever) == (None, True, False)
    lists.note(one)
    lists.note(one)
    assert (lists.only(7), lists.only(6), lists.unknown, lists.ever) == (one, None, False, True)
    lists.note(two)
    assert (lists.only(7), lists.unknown) == (None, False), "it may have been either"
    lists.replied()
    assert (lists.only(7), lists.unknown, lists.ever) == (None, True, True)


def test_what_is_the_same_at_the_front_of_two_lists():
    texts = ["a word", "two words more", "and three"]
    listed = [{"role": "user", "content": text} for text in texts]
    other = [*listed[:2], {"role": "user", "content": "else"}]
    beside = [{"system": "Be brief."}, {"system": "Be long."}, {}, {"tools": [{"name": "f"}]}]
    counts = [message_tokens([one], "o200k_base")[0] for one in listed]
    for one in beside:
        around = extra_tokens("o200k_base", system=one.get("system"), tools=one.get("tools"))
        for two in beside:
            before = Sent(listed, **one)
            before.cached(listed, Sent(), "o200k_base")
            for now, same in ((listed, 3), (other, 2), (listed[:1], 1), ([*listed, *other], 3)):
                found = Sent(now, **two).cached(now, before, "o200k_base")
                assert found == (around + sum(counts[:same]) if one is two else 0)
    assert Sent(listed).cached(listed, Sent(), "o200k_base") == 0


def test_a_session_goes_on_where_a_message_names_none():
    ledger = ledger_of()
    for id_, session in enumerate(["a", None, "a", "b", None, "b"], 1):
        admit(ledger, id_, SAID, session=session, at=5.0)
    assert [one.session for one in ledger.entries.values()] == [0, 0, 0, 1, 1, 1]


def test_blocks_of_another_field_are_no_part_of_the_same_prefix():
    blocks = [{"type": "text", "text": "a boat " * 9}, {"type": "text", "text": "a car"}]
    before = Sent([{"role": "user", "content": blocks}])
    for field, same in (("content", True), ("parts", False)):
        now = [{"role": "user", field: [blocks[0], {"type": "text", "text": "a plane"}]}]
        assert (Sent(now).cached(now, before, "o200k_base") > 0) == same
