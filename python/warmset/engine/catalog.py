"""The conversations of an open store, and read access to their messages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Protocol

from warmset import messages
from warmset._core import Retriever, count_text
from warmset._support.cut_off import IfCutOff
from warmset._support.locks import guarded, rlock
from warmset.engine.ledgers import Ledgers
from warmset.engine.notices import Notices
from warmset.errors import Erased, IndexDamaged, NotFound, StoreError
from warmset.index.labels import Numbers
from warmset.quote.cache import Cards
from warmset.quote.messages import Copies
from warmset.state.epochs import Epochs
from warmset.state.kept_ledger import restore
from warmset.state.ledger import Ledger
from warmset.store.choices import is_choices
from warmset.store.derived import Derived, key_of_scope
from warmset.store.descriptions import Described, described, read_parts, turn_of
from warmset.store.epochs import is_step
from warmset.store.log import Log
from warmset.store.records import key_of
from warmset.text.decisions import summarise
from warmset.tokens import known_encoding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from warmset._core import Record, Turns
    from warmset.embed import Vectors
    from warmset.engine.ledgers import Name
    from warmset.messages.canonical import Variant
    from warmset.state.entry import Entry
    from warmset.store.derived import Made
    from warmset.store.options import StoreOptions
    from warmset.store.records import Job

_NONE: Final = Described(0, None)
_FEW: Final = 64
"""So many ids are looked up one by one."""

_COMPARED: Final = 16
"""So many messages of a saved conversation, at least, are compared with the store."""


class Attached(Protocol):
    """Background work on a store, which ends before the store is closed."""

    def close(self, timeout: float, /) -> None:
        """End, within about that many seconds."""
        ...

    def forget(self) -> None:
        """Remove texts of erased records; the caller holds the engine's lock."""
        ...


class Follows(Protocol):
    """An index of derived records, which follows appends and erasures."""

    def refresh(self) -> object:
        """Add new records and remove erased ones; the caller must not hold the engine's lock."""
        ...


class Holds(Follows, Protocol):
    """The index of items that were put, which has their texts and searches their vectors."""

    def __contains__(self, id_: object, /) -> bool:
        """Return whether an item has that id."""
        ...

    def text_of(self, id_: int, /) -> str:
        """Return the text of an item; empty if it is gone."""
        ...

    def key_of(self, id_: int, /) -> list[bytes]:
        """Return the key of an item's vectors."""
        ...

    def jobs(self, first: int, /) -> list[Job]:
        """Return the view of every item from an id on."""
        ...

    def take_rows(self, id_: int, rows: Vectors, /) -> None:
        """Search an item by these vectors."""
        ...


@guarded(
    "self.lock",
    fields=(
        "ledgers",
        "asked",
        "listed",
        "epochs",
        "choices",
        "_old_choices",
        "item_indexes",
        "shelves",
    ),
    writes=("loaded", "choices_known", "derived", "numbers"),
    calls=(
        "epochs_of",
        "outdated",
        "take_choices",
        "end_choices",
        "drop_choices",
        "take_epoch",
        "drop_epochs",
        "take_derived",
        "drop_derived",
        "forget_derived",
        "take_description",
        "drop_description",
    ),
)
class Catalog:
    """An open store with its conversations.

    Args:
        path: The store's directory; None keeps everything in memory.
        opening: How the store is opened.
        encoding: The vocabulary that tokens are counted with.

    Raises:
        StoreError: The store could not be opened.
        InvalidInputError: The encoding or an option of the store is unknown.
    """

    def __init__(
        self, path: str | PathLike[str] | None, *, opening: StoreOptions, encoding: str
    ) -> None:
        known_encoding(encoding)
        self.lock = rlock("engine")
        self.copies = Copies(self._sized)
        self._pid = os.getpid()
        self.encoding = encoding
        self.opening = opening
        self.store = opening.store(path)
        self.cards = Cards(self.text, encoding, self.parts_of, self.store)
        self.log = Log(self.store)
        self.indexed = Retriever()  # without the turns that wait; see `Library.retriever`
        self.loaded = False  # whether the retriever has already what is being taken up
        self.choices_known = False  # whether what is being taken up ended choices before
        self.ledgers = Ledgers(self._taken_up)
        self._owners = self.ledgers.owners
        self.asked: set[tuple[str, str]] = set()  # erased conversations for which lists were made
        self.listed: dict[tuple[str, str], dict[int, Variant]] = {}  # of such conversations
        self.derived = Derived()
        self.epochs: dict[tuple[str, str], Epochs] = {}
        self.choices: dict[tuple[str, str], Made] = {}  # the newest of each conversation
        self._old_choices: list[int] = []
        self.described: dict[int, Described] = {}
        # Meta and payload of the record of the embedder that makes the vectors.
        self.embedder: tuple[bytes, bytes] | None = None
        self.describers: dict[str, str] = {}
        self.item_indexes: dict[tuple[str, str | None], Follows] = {}
        self.shelves: dict[str, Holds] = {}  # the indexes of items that were put, by tenant
        self.attached: dict[tuple[str, ...], Attached] = {}
        self.numbers = Numbers()
        self.lost: list[str] = []
        self.closed = False
        self.notices = Notices(self.store, self.lost)

    def is_forked(self) -> bool:
        """Return whether the engine was opened before a fork; then no lock of it may be touched."""
        return os.getpid() != self._pid

    def ledger(self, tenant: str, conversation: str) -> Ledger:
        """Return a conversation's ledger, a new one if it has no messages yet."""
        with self.lock:
            found = self.ledgers.get((tenant, conversation))
            if found is None:
                found = self.ledgers[tenant, conversation] = self._fresh((tenant, conversation))
                found.sent_lists.ever = (tenant, conversation) in self.asked
                found.variants = self.listed.pop((tenant, conversation), {})
            return found

    def conversations(self, tenant: str) -> list[str]:
        """Return the names of a tenant's conversations, in the order in which they began."""
        with self.lock:
            ours = [one for one in self.ledgers.outlines() if one.name[0] == tenant]
            return [one.name[1] for one in sorted(ours, key=lambda one: one.first)]

    def _fresh(self, name: Name) -> Ledger:
        """Return a conversation without messages."""
        tenant, conversation = name
        numbers = self.numbers.of("tenant", tenant), self.numbers.of("conversation", *name)
        return Ledger(tenant, conversation, numbers)

    def _taken_up(self, name: Name, turns: Turns, beside: bytes) -> Ledger:
        """Return a conversation as it was saved."""
        ledger = self._fresh(name)
        restore(ledger, turns, beside)
        self._compare(name, turns)
        for id_ in turns.ids() if self.described else ():
            if id_ in self.described:
                ledger.describe(id_, self.described[id_])
        return ledger

    def _compare(self, name: Name, turns: Turns) -> None:
        """Compare some messages of a saved conversation with the store.

        Raises:
            IndexDamaged: They are others.
        """
        ids = turns.ids()
        for id_ in {*ids[:: max(len(ids) // _COMPARED, 1)], *ids[-1:]}:
            try:
                same = self.store.hash_of(id_) == turns.digest(id_)
            except StoreError:  # it is gone, as a record will say that was not read yet
                continue
            if not same:
                raise IndexDamaged(f"conversation {name[1]!r}", 0, "the store has other messages")

    def near(self, id_: int) -> Ledger | None:
        """Return the conversation of a message, without a lock; None if it is not taken up."""
        return self._owners.near(id_)

    def owner(self, id_: int) -> Ledger:
        """Return the conversation that a message is in.

        Raises:
            NotFound: No message has that id.
        """
        found = self.near(id_)
        if found is None:
            with self.lock:
                found = self.ledgers.owner(id_)
        if found is None:
            raise NotFound(f"no message has id {id_}")
        return found

    def tenant_of(self, id_: int) -> str:
        """Return the tenant of a message or a derived record.

        Raises:
            NotFound: Nothing has that id.
        """
        made = self.derived.get(id_)
        return self.owner(id_).tenant if made is None else made.tenant

    def message(self, id_: int) -> messages.Message:
        """Read a message back.

        Raises:
            NotFound: No message has that id.
            StoreError: It could not be read.
        """
        return messages.loads(self.store.get(id_).payload)

    def _sized(self, ids: Sequence[int]) -> list[tuple[messages.Message, int]]:
        payloads = [record.payload for record in self.store.get_many(ids)]
        return [(messages.loads(payload), len(payload)) for payload in payloads]

    def messages(self, ids: Sequence[int]) -> list[messages.Message]:
        """Read messages back in one go: other threads get no turn between two of them.

        Raises:
            NotFound: No message has one of these ids.
            StoreError: One could not be read.
        """
        return [messages.loads(record.payload) for record in self.store.get_many(ids)]

    def text(self, id_: int) -> str:
        """Return the text of a message; see `indexing.Source`."""
        if not self.knows(id_) and (shelf := self.shelf_of(id_)) is not None:
            return shelf.text_of(id_)
        dialect = self.owner(id_).dialect or "openai"
        return messages.text_of(self.message(id_), dialect)

    def shelf_of(self, id_: int) -> Holds | None:
        """Return the index that has an item; None if none has."""
        with self.lock:
            shelves = list(self.shelves.values())
        # Without our lock, which they take under theirs.
        return next((one for one in shelves if id_ in one), None)

    def parts_of(self, record: int) -> dict[str, Any]:
        """Read what callables said of a turn; empty if that was erased."""
        try:
            return read_parts(self.store.get(record).payload)
        except (Erased, NotFound):
            return {}

    def summary_of(self, entry: Entry) -> str:
        """Return a turn's summary: what a callable wrote, else the beginning of its text."""
        said = {} if entry.described is None else self.parts_of(entry.described.record)
        return said.get("summary_line") or summarise(self.text(entry.id))

    def epochs_of(self, tenant: str, conversation: str) -> Epochs:
        """Return the epoch records of a conversation; the caller holds the lock."""
        return self.epochs.setdefault((tenant, conversation), Epochs())

    def outdated(self) -> list[int]:
        """Return the ids of records of windows that nobody needs; the caller holds the lock."""
        self._old_choices = [id_ for id_ in self._old_choices if id_ in self.derived]
        epochs = (id_ for one in self.epochs.values() for id_ in one.outdated())
        return sorted([*self._old_choices, *epochs])

    def take_choices(self, made: Made) -> None:
        """Take up a record if it is of a window's choices; the caller holds the lock."""
        if is_choices(made) and made.conversation is not None:
            whose = made.tenant, made.conversation
            if (known := self.choices.get(whose)) is None or known.id != made.id:
                self.end_choices(*whose)
                self.choices[whose] = made

    def end_choices(self, tenant: str, conversation: str) -> None:
        """Have a conversation's next window choose anew; the caller holds the lock."""
        if self.choices_known:
            return
        old = self.choices.pop((tenant, conversation), None)
        if old is not None:
            self._old_choices.append(old.id)

    def drop_choices(self, made: Made) -> None:
        """Forget choices that were erased; the caller holds the lock."""
        whose = made.tenant, str(made.conversation)
        if (known := self.choices.get(whose)) is not None and known.id == made.id:
            del self.choices[whose]

    def take_epoch(self, made: Made) -> None:
        """Take up a record if it is of an epoch; the caller holds the lock."""
        if is_step(made) and made.conversation is not None:
            self.epochs_of(made.tenant, made.conversation).take(made)

    def drop_epochs(self, gone: Iterable[Made]) -> None:
        """Take up anew the epochs of which records were erased; the caller holds the lock."""
        names = {(one.tenant, one.conversation) for one in gone if is_step(one)}
        for tenant, conversation in names:
            self.epochs.pop((tenant, str(conversation)), None)
            for made in self.derived.of("item", tenant, conversation):
                self.take_epoch(made)

    def take_derived(self, record: Record) -> None:
        """Take up a derived record, if it is a new one; the caller holds the lock.

        Raises:
            InvalidInputError: It is not as warmset writes it.
            ValueError: Its key names neither a tenant nor a conversation.
        """
        with IfCutOff(lambda: self._take_back(record.seq)):
            made = self.derived.take(record)
            if made is not None:
                self.take_description(made)
                self.take_epoch(made)
                self.take_choices(made)

    def _take_back(self, id_: int) -> None:
        made = self.derived.take_back(id_)
        if made is not None:
            self.drop_epochs((made,))

    def drop_derived(self) -> None:
        """Forget the derived records that were erased; the caller holds the lock."""
        gone = self.derived.forget(self.gone_of)
        with IfCutOff(lambda: self.derived.put_back(gone)):
            for made in gone:
                self.drop_description(made)
                self.drop_choices(made)
            self.drop_epochs(gone)

    def forget_derived(self) -> None:
        """Forget all derived records; the caller holds the lock."""
        self.derived = Derived()
        self.epochs.clear()
        self.choices.clear()
        self._old_choices.clear()
        self.described.clear()

    def take_description(self, made: Made) -> None:
        """Take up a description, if the callables in use made it; the caller holds the lock."""
        turn, found = turn_of(made), described(made, self.describers)
        if turn is not None and found is not None:
            self.described[turn] = found
            if (ledger := self._owners.near(turn)) is not None:
                ledger.describe(turn, found)

    def drop_description(self, made: Made) -> None:
        """Forget a description that was erased; the caller holds the lock."""
        turn = turn_of(made)
        if turn is not None and self.described.get(turn, _NONE).record == made.id:
            del self.described[turn]

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return count_text(text, self.encoding)[0]

    def key(self, id_: int) -> list[bytes]:
        """Return the key of a message's conversation; see `indexing.Source`."""
        if not self.knows(id_) and (shelf := self.shelf_of(id_)) is not None:
            return shelf.key_of(id_)
        ledger = self.owner(id_)
        return key_of(ledger.tenant, ledger.name)

    def neighbours(self, id_: int) -> tuple[int | None, int | None]:
        """Return the turns before and after in the same session; see `indexing.Source`."""
        with self.lock:
            return self.owner(id_).around(id_)

    def knows(self, id_: int) -> bool:
        """Return whether a message has that id."""
        return id_ in self._owners

    def takes_up(self, ids: range) -> bool:
        """Return whether a message, another entry or a derived record has one of these ids."""
        if ids.stop - ids.start <= _FEW:
            if any(self.knows(id_) or id_ in self.derived for id_ in ids):
                return True
            opaque = [one.history.opaque for one in self.ledgers.values()]
            return any(id_ in one for one in opaque for id_ in ids)
        taken = [(one.entries, one.history.opaque) for one in self.ledgers.values()]
        known: list[Iterable[int]] = [self.derived, *(part for one in taken for part in one)]
        return any(id_ in ids for one in known for id_ in one)

    def jobs(self, first: int = 0) -> list[Job]:
        """Return every view of every message with a text, from an id on."""
        with self.lock:
            ledgers = self.ledgers.values()
            return [job for one in ledgers for job in one.jobs(filter(first.__le__, one.entries))]

    def every_job(self, first: int = 0) -> list[Job]:
        """Return the jobs of messages and of items; the caller does not hold the lock."""
        with self.lock:
            shelves = list(self.shelves.values())
        return self.jobs(first) + [job for one in shelves for job in one.jobs(first)]

    def jobs_of(self, name: tuple[str, str], ids: Sequence[int]) -> list[Job]:
        """Return every view of some messages of a conversation."""
        with self.lock:
            return self.ledger(*name).jobs(ids)

    def gone_of(self, name: tuple[str, str | None], ids: list[int]) -> list[int]:
        """Return which records of a conversation, or of a tenant, were erased or removed."""
        return self.store.gone(key_of_scope(*name), ids)

    def is_erased(self, id_: int) -> bool:
        """Return whether a record was erased."""
        try:
            self.store.hash_of(id_)
        except Erased:
            return True
        except StoreError:
            return False
        return False

    def is_gone(self, id_: int) -> bool:
        """Return whether a record was erased or removed; False for an id that was never given."""
        try:
            self.store.hash_of(id_)
        except Erased:
            return True
        except NotFound:
            return id_ < self.store.stats()["next_seq"]
        except StoreError:
            return False
        return False
