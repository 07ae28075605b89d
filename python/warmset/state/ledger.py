"""What is known of one conversation's messages without reading them again."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warmset._core import ListCopy
from warmset._support.locks import guarded, rlock
from warmset.messages import STORED
from warmset.money.spending import Spending
from warmset.options import SESSION_GAP
from warmset.state.branches import History, Row
from warmset.state.columns import Columns
from warmset.state.entries import Entries, Live, beside
from warmset.state.forms import StoredForms
from warmset.state.prompt_prefix import Sent
from warmset.state.rendered import LastWindows
from warmset.state.sent_lists import SentLists
from warmset.state.unit_costs import Accounts
from warmset.store.records import Job
from warmset.text.decisions import is_decision
from warmset.text.features import Addressed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from threading import RLock

    from warmset._core import Turns
    from warmset.messages import Dialect, Facts
    from warmset.messages.canonical import Variant
    from warmset.messages.prefix import PrefixHash
    from warmset.options import Mode
    from warmset.state.entry import Entry
    from warmset.state.last_cut import Standing
    from warmset.store.descriptions import Described
    from warmset.store.records import TurnMeta


@guarded(
    "engine",
    writes=(
        "dialect",
        "history",
        "speakers",
        "addressed",
        "variants",
        "forms",
        "frozen",
        "pinned",
        "changers",
        "decisions",
        "auto",
        "valid_in",
        "sent",
        "last_list",
        "windows",
        "sent_lists",
        "path_hash",
        "began_here",
        "standing",
        "columns",
        "session",
    ),
    fields=("_accounts",),
    calls=(
        "admit",
        "restore",
        "describe",
        "live",
        "sendable",
        "accounts",
        "branch",
        "together",
        "around",
        "keyed",
        "jobs",
    ),
)
@dataclass(slots=True)
class Ledger:
    """The messages of one conversation: what each is, which are current, what belongs together.

    Args:
        tenant: The tenant's name.
        name: The conversation's name.
        numbers: The tenant's and the conversation's numbers in the index.
        dialect: How its messages are written, where that is known.
        valid_in: By dialect, the newest message that was checked, and whether all up to it are
            valid in the dialect; for messages that are valid in several.
        auto: The mode that "auto" chose last in this process, and for which request.
        variants: How the caller's last list had messages, by their ids, where it had them otherwise
            than the store: without their thinking, with other cache marks. Windows show them so.
            Never changed, only replaced, and not stored.
        pinned: The request with which the exchange began, and the ids of the memories that were
            pinned then, the newest first.
        forms: The canonical forms of its messages, as far as they were needed.
        session: The number of the last message's session, its name, and the message's time.
        turn: Held while a whole list is stored and its window is built, by one thread at a time.
    """

    tenant: str
    name: str
    numbers: tuple[int, int]
    dialect: Dialect | None = None
    history: History = field(default_factory=History)
    entries: Entries = field(init=False)
    speakers: dict[str, str] = field(default_factory=dict)
    addressed: Addressed = field(default_factory=Addressed)
    variants: Mapping[int, Variant] = field(default_factory=dict[int, "Variant"])
    forms: StoredForms = field(default_factory=StoredForms)
    frozen: object | None = None
    pinned: tuple[tuple[object, ...], tuple[int, ...]] | None = None
    changers: object | None = None
    decisions: object | None = None
    auto: tuple[Mode, tuple[object, ...]] | None = None
    valid_in: dict[Dialect, tuple[int, bool]] = field(default_factory=dict)
    sent: Sent = field(default_factory=Sent)
    spending: Spending = field(default_factory=Spending)
    last_list: ListCopy = field(default_factory=ListCopy)
    windows: LastWindows = field(default_factory=LastWindows)
    sent_lists: SentLists = field(default_factory=SentLists)
    path_hash: tuple[int, PrefixHash] | None = None
    began_here: bool = False
    standing: Standing | None = None
    columns: Columns = field(default_factory=Columns)
    session: tuple[int, str | None, float] = (0, None, 0.0)
    turn: RLock = field(default_factory=lambda: rlock("turn"))
    _accounts: tuple[int, Accounts] = field(default_factory=lambda: (0, Accounts()))

    def __post_init__(self) -> None:
        self.entries = Entries(self.history.turns)

    def admit(self, id_: int, digest: bytes, facts: Facts, meta: TurnMeta, tokens: int) -> Row:
        """Take a message up at the end of the current path, and return what is known of it.

        Args:
            id_: The store's sequence number.
            digest: Hash of its content.
            facts: What it says and links to.
            meta: What is kept beside it.
            tokens: What it costs verbatim.
        """
        speaker = meta.speaker or facts.speaker
        row = Row(
            facts,
            speaker=speaker,
            at=meta.at,
            tokens=tokens,
            session=self._session_of(meta),
            decision=is_decision(facts.text),
            blank=not facts.text.strip(),
            key=meta.key,
            beside=beside(meta),
        )
        self.history.add(id_, digest, row)
        if meta.behind is not None and meta.behind.system is not None:
            self.sent_lists.stored = self.sent_lists.ever = True
        if speaker:
            self.speakers.setdefault(speaker.casefold(), speaker)
        self.dialect = self.dialect or meta.dialect
        return row

    def restore(self, turns: Turns) -> None:
        """Take up the messages of a conversation that has none yet."""
        self.history.restore(turns)
        self.entries = Entries(turns)

    def describe(self, id_: int, described: Described) -> None:
        """Take up the description of a message that a callable made.

        Windows of the exchange that is going on keep the entry that they have, and so its line.
        """
        decision = self.entries.describe(id_, described)
        at = self.place(id_)
        if at is not None and decision is not None:
            self.columns.decide(at, id_, decision=decision)

    def live(self) -> Live:
        """Return the messages of the current path, in order, as they are now."""
        path = self.history.path
        return Live(self.entries, path, len(path))

    def sendable(self) -> Live:
        """Return the messages of the current path that a provider takes together, in order.

        Those are all, unless a call or a result was erased, or lost its other half otherwise: what
        is left of such a unit stays in the store, and no provider takes it.
        """
        accounts = self.accounts()
        lost = accounts.unsendable(0)
        if not lost:
            return self.live()
        gone = {at for unit in lost for at in accounts.members(unit)}
        path = [id_ for at, id_ in enumerate(self.history.path) if at not in gone]
        return Live(self.entries, path, len(path))

    def first_system(self) -> Entry | None:
        """Return the first system message of the current path; None if there is none."""
        accounts, live = self.accounts(), self.live()
        places = (at for unit in accounts.fixed for at in accounts.members(unit))
        return next((live[at] for at in sorted(places) if live[at].facts.is_system), None)

    def accounts(self) -> Accounts:
        """Return what the units of the current path cost; only new messages are looked at."""
        path, continues = self.history.path, self.dialect in STORED
        last, known = self._accounts
        count = len(known)
        if count and (count > len(path) or path[count - 1] != last):
            known, count = Accounts(), 0
        if count < len(path):
            roll = self.history.turns.count(known.roll, continues)
            known = known if roll is known.roll else Accounts(roll)
        self._accounts = (self.history.head, known)
        return known

    def branch(self, common: int) -> None:
        """Forget where the path was cut: from a position on it is another one.

        Args:
            common: Messages at the front that both paths have.
        """
        if self.standing is not None:
            sent = self.standing.sent[self.standing.sent < common]
            tokens = sum(self.entries[self.history.path[at]].tokens for at in sent.tolist())
            self.standing = replace(self.standing, start=None, sent=sent, tokens=tokens)

    def together(self, ids: Iterable[int]) -> list[tuple[Entry, ...]]:
        """Return the unit of each message on the current path; nothing for any other message."""
        path, entries, accounts = self.history.path, self.entries, self.accounts()
        found: list[tuple[Entry, ...]] = []
        for id_ in ids:
            at = bisect_left(path, id_)
            near = accounts.beside(at) if at < len(path) and path[at] == id_ else ()
            found.append(tuple(entries[path[one]] for one in near))
        return found

    def around(self, id_: int) -> tuple[int | None, int | None]:
        """Return the messages before and after one on the current path, within its session."""
        place = self.place(id_)
        if place is None:
            return None, None
        session = self.entries[id_].session

        def near(at: int) -> int | None:
            if not 0 <= at < len(self.history.path):
                return None
            other = self.entries[self.history.path[at]]
            return other.id if other.session == session and not other.blank else None

        return near(place - 1), near(place + 1)

    def is_live(self, id_: int) -> bool:
        """Tell whether a message is on the current path."""
        return self.place(id_) is not None

    def keyed(self, key: str) -> int | None:
        """Return the message of the current path that has a key."""
        return self.history.turns.keyed(key)

    def jobs(self, ids: Iterable[int]) -> list[Job]:
        """Return every view of some messages that has something to say."""
        wanted = list(ids)
        blank = self.history.turns.blank(wanted)
        said = [id_ for id_, is_blank in zip(wanted, blank, strict=True) if not is_blank]
        return [Job(a, "turn") for a in said] + [Job(a, "context") for a in said if self.settled(a)]

    def settled(self, id_: int) -> bool:
        """Tell whether another message follows one, so that its context will not change."""
        return self.history.head != id_

    def place(self, id_: int) -> int | None:
        """Return a message's position on the current path; ids grow along a path."""
        path = self.history.path
        at = bisect_left(path, id_)
        return at if at < len(path) and path[at] == id_ else None

    def _session_of(self, meta: TurnMeta) -> int:
        number, name, last = self.session
        given = meta.session
        fresh = given != name if given is not None else meta.at - last > SESSION_GAP
        fresh = fresh and bool(self.entries)
        number += fresh
        self.session = (number, given if given is not None else (None if fresh else name), meta.at)
        return number


def columns_of(ledger: Ledger) -> Columns:
    """Return the columns of a conversation's current path, under its engine's lock."""
    accounts, known = ledger.accounts(), ledger.columns
    if known.accounts is not accounts:
        known = ledger.columns = Columns(accounts)
    if known.count < len(accounts):
        rows = ledger.history.turns.columns(known.count)
        known.take(*rows, homes=accounts.homes(known.count))
    return known
