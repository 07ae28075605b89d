"""`Memory.items`: everything of a tenant that may compete for a window, under one name each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, cast

from warmset._core import Held, count_texts
from warmset._support.aio import twin
from warmset.errors import InvalidInputError, NotFound, TooLarge
from warmset.evict.policies import at_least, yes_or_no
from warmset.items.ask import Ask, Question, names_of
from warmset.items.cells import item_of, name_of, number_name, row_of
from warmset.items.consolidate.run import consolidate
from warmset.items.documents.add import CHUNK, CHUNK_TOKENS, add_document
from warmset.items.erasure import erase_items
from warmset.items.existing import Existing
from warmset.items.item import ORIGINS
from warmset.items.marks import change_columns
from warmset.items.new import NewItem, digest_of
from warmset.items.shelf import Shelf, shelf_of
from warmset.options import MAX_TURN, SEARCH_WAIT, SHORTLIST
from warmset.text.timestamps import milliseconds

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from warmset._core import Cell
    from warmset.embed import Vectors
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.items.consolidate import Consolidation, ConsolidationPolicy, Used
    from warmset.items.documents import Document, Format
    from warmset.items.documents.add import Progress
    from warmset.items.existing import Searches
    from warmset.items.item import MemoryItem, Origin
    from warmset.items.memories import Memories
    from warmset.options import Weights
    from warmset.receipts import ErasureResult
    from warmset.store.rows import Put

MOST_FOUND: Final = 1 << 31
"""The most items that are listed, whatever `k` is."""

_STEP: Final = 1_000
"""Items that are written in one batch."""

_REDACTED: Final = ("text", "data", "summary", "sections", "keys", "entities", "meta")
"""The fields of an item whose texts are redacted."""

_texts_of: Final = attrgetter(*_REDACTED)

_PUT_ASIDE: Final = ("archived", "merged_into")
"""The columns of an archived item that it has not otherwise."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the items of a tenant come from.

    Args:
        handle: The open store.
        existing: Its messages and memories.
        weights: The weight of each signal of a search.
    """

    handle: Handle
    existing: Existing
    weights: Weights

    def shelf(self) -> Shelf:
        """Return the index of what was put, as it is now.

        Raises:
            Closed: The store was closed.
            StoreError: It could not be read.
        """
        return shelf_of(self.handle.live(), self.handle.tenant)

    def as_seen(self) -> Shelf:
        """Return the index as the last call of anybody saw it, without looking for changes.

        Raises:
            StoreError: It is not there yet and could not be read.
        """
        engine = self.handle.engine
        with engine.lock:
            found = engine.shelves.get(self.handle.tenant)
        return found if isinstance(found, Shelf) else self.shelf()

    def vector(self, text: str | None) -> Vectors | None:
        """Return the vector of a question, if it can be had in time; None to compare by words.

        Raises:
            EmbedderMismatch: The embedder is not the store's.
        """
        vector, _why = self.vector_or_why(text)
        return vector

    def vector_or_why(self, text: str | None) -> tuple[Vectors | None, str | None]:
        """Return the vector of a question, or why there is none though there is an embedder.

        Raises:
            EmbedderMismatch: The embedder is not the store's.
        """
        vectors = self.handle.query_vectors
        if vectors is None or text is None or not text.strip():
            return None, None
        return vectors.get(text, SEARCH_WAIT)


class Items:
    """The items of one tenant: what was put here, what `Memory.remember` stores, and messages.

    An item that was put has the name that its caller gave, else "item:" and a number. A memory is
    an item under its own name, or "memory:" and its id; a message is one of type "conversation"
    under "turn:" and its id. All are durable when a call returns. Methods with the prefix `a` run
    in a thread.

    Args:
        handle: The open store.
        memories: The tenant's memories.
        searcher: What searches its messages.
        weights: The weight of each signal of a search.
    """

    def __init__(
        self, handle: Handle, memories: Memories, searcher: Searches, weights: Weights
    ) -> None:
        self._handle = handle
        self._weights = weights
        self._existing = Existing(handle, memories, searcher)
        self.sources = Sources(handle, self._existing, weights)

    def put(self, item: NewItem, /) -> str:
        """Store an item, or another version of the one of its name; see `put_many`.

        Returns:
            Its name.
        """
        [name] = self.put_many([item])
        return name

    def put_many(self, items: Iterable[NewItem], /) -> list[str]:
        """Store items, each under its name.

        What is there already as it is given is not written again, so that a call may be repeated.
        Other fields under the same name are a new version, which takes the place of the old one.
        Up to 1,000 items are written at once, all of them or none; one that is derived from another
        one of this call comes in a later batch.

        Args:
            items: The items.

        Returns:
            Their names, in the same order.

        Raises:
            NotFound: One is derived from something that is not there.
            InvalidInputError: One is no `NewItem`, or has the name of a memory.
            TooLarge: One has more than 64 MiB.
            RedactionError: The redaction hook failed.
            StoreError: They could not be written; batches before the failure were.
        """
        engine = self._handle.live()
        if not isinstance(items, Iterable):
            raise InvalidInputError(f"items: expected a list of NewItem, found {items!r:.80}")
        listed = list(items)
        for item in listed:
            if not isinstance(item, NewItem):
                raise InvalidInputError(f"items: expected a NewItem, found {item!r:.80}")
        engine.must_write()
        shelf = shelf_of(engine, self._handle.tenant)
        names: list[str] = []
        batch: list[NewItem] = []
        own: set[str] = set()
        for item in listed:
            follows = item.memory_id in own or not own.isdisjoint(item.derived_from)
            if len(batch) == _STEP or follows:
                names += self._put(engine, shelf, batch)
                batch, own = [], set()
            batch.append(item)
            if item.memory_id is not None:
                own.add(item.memory_id)
        return names + self._put(engine, shelf, batch)

    def add_document(
        self,
        source: str | os.PathLike[str],
        /,
        *,
        name: str | None = None,
        format: Format | None = None,  # noqa: A002 - what everybody calls it
        chunk_tokens: int = CHUNK_TOKENS,
        memory_type: str = CHUNK,
        conversation: str | None = None,
        session_id: str | None = None,
        timestamp: datetime | None = None,
        module_context: str | None = None,
        pipeline: str | None = None,
        keys: Sequence[str] = (),
        entities: Sequence[str] = (),
        relevance_decay: float = 1.0,
        derived_from: Sequence[str] = (),
        origin: Origin = "import",
        meta: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Document:
        """Store a document in chunks that follow its structure, each an item.

        A chunk is a part of one section. It is labelled with the section's heading and those above,
        "Item 7" for "Item 7. Title" too, so that `sections=["Item 7"]` finds all that stands below
        it. Tables and code are kept whole if they fit; larger tables are cut between rows, and each
        part begins with the first one. `meta` has the `document`, the `order` from 1 on, and as
        `parent` the chunk with the nearest heading that this one does not have itself. No chunk
        depends on another one: each can be read alone.

        Adding a document again writes what changed: chunks are new versions under their names, and
        those that it has no more are archived. If two processes add it at once, the last one that
        writes a chunk wins; add it again then.

        Args:
            source: A str is the text itself, a `pathlib.Path` a file in UTF-8.
            name: What it is called, and a key of each chunk; the name of the file if not given.
            format: "markdown", "html" or "text"; by default by the end of the file's name, else by
                how the text begins, and plain text in doubt.
            chunk_tokens: The most tokens of a chunk, 32 or more.
            memory_type: The type of the chunks.
            conversation: The conversation that they belong to and are erased with.
            session_id: The session of the conversation.
            timestamp: When the document was made; the time of the call if not given.
            module_context: The module that they are made for.
            pipeline: The run of modules that they are of.
            keys: What they are known under.
            entities: Whom or what they name.
            relevance_decay: What their relevance is multiplied by for each hour, or turn.
            derived_from: Names of items that the document was made from; they must be there.
            origin: Whose words these are.
            meta: Your own fields, plain JSON.
            progress: Called with the numbers of chunks that are stored and of all.

        Returns:
            Its name, and the names of its chunks.

        Raises:
            InvalidInputError: It has no text or no name, is not in UTF-8, or an argument is wrong.
            MissingExtraError: Markdown and HTML need the extra `documents`.
            NotFound: It is derived from something that is not there.
            RedactionError: The redaction hook failed.
            OSError: The file could not be read.
            StoreError: It could not be written; chunks before the failure were.
        """
        like = NewItem(
            text="-",  # each chunk has its own
            memory_type=memory_type,
            conversation=conversation,
            session_id=session_id,
            timestamp=timestamp,
            module_context=module_context,
            pipeline=pipeline,
            keys=keys,
            entities=entities,
            relevance_decay=relevance_decay,
            derived_from=derived_from,
            origin=origin,
            meta=meta,
        )
        return add_document(
            self,
            self._handle,
            source,
            name=name,
            format=format,
            chunk_tokens=chunk_tokens,
            like=like,
            progress=progress,
        )

    def _put(self, engine: Engine, shelf: Shelf, given: Sequence[NewItem]) -> list[str]:
        """Write one batch."""
        ready = [self._ready(item) for item in given]
        batch = [item for item, _digest in ready]
        texts = [item.said() for item in batch]
        if (size := max(map(len, texts), default=0)) > MAX_TURN:  # counting it would take a minute
            raise TooLarge(size, MAX_TURN)
        tokens = count_texts(texts, engine.encoding)
        now = datetime.now(UTC)
        rows: list[Put] = []
        nameless: list[int] = []  # places of the rows that have no name
        taken = self._existing.names()
        with shelf.lock:
            shelf.refresh()
            for (item, digest), count in zip(ready, tokens, strict=True):
                if item.memory_id is None:
                    nameless.append(len(rows))
                else:
                    there = shelf.named(item.memory_id)
                    if there is not None and there.digest == digest and not there.archived:
                        continue
                    if there is None and item.memory_id in taken:
                        raise InvalidInputError(
                            f"memory_id: {item.memory_id!r:.80} is a memory; change its text by "
                            f"Memory.revise"
                        )
                sources, origin = self._provenance(shelf, item)
                rows.append(
                    row_of(
                        self._handle.tenant,
                        name_of(item.memory_id),
                        item,
                        now=now,
                        tokens=count,
                        origin=origin,
                        digest=digest,
                        sources=sources,
                    )
                )
            written = engine.log.write(rows) if rows else []
            shelf.refresh()
        numbers = iter(number_name(cast("int", written[at].id)) for at in nameless)
        return [item.memory_id or next(numbers) for item in batch]

    def _provenance(self, shelf: Shelf, item: NewItem) -> tuple[list[int], Origin]:
        """Return the ids of the records that an item is made from, and whose words it has."""
        if not item.derived_from:
            return [], item.origin
        sources: list[int] = []
        origins: list[Origin] = [item.origin]
        for name in item.derived_from:
            found = self._find(shelf, name)
            if found is None:
                raise NotFound(f"derived_from: there is no item {name!r:.80}")
            sources.append(found.id)
            origins.append(found.origin or item.origin)
        return sorted(set(sources)), max(origins, key=ORIGINS.index)

    def _find(self, shelf: Shelf, name: object) -> Held | MemoryItem | None:
        """Return what is known of an item that was put, or a memory or message; None if neither."""
        return shelf.named(name) or self._existing.get(name)

    def _ready(self, item: NewItem) -> tuple[NewItem, str]:
        """Return an item as it may be stored, and its digest."""
        given = item.given()
        if self._handle.redactor.may_change(given):
            item = self._redacted(item)
            given = item.given()
        return item, digest_of(given)

    def _redacted(self, item: NewItem) -> NewItem:
        """Return an item with its texts redacted."""
        redactor = self._handle.redactor
        plain = [list(one) if isinstance(one, tuple) else one for one in _texts_of(item)]
        said = redactor.data(plain)  # the values alone: the names of our fields are no text
        if said == plain:
            return item
        changed = replace(item, **dict(zip(_REDACTED, said, strict=True)))
        redactor.note(self._handle.tenant, item.conversation, 1)
        return changed

    def get(self, memory_id: str, /) -> MemoryItem:
        """Return the item, memory or message with a name.

        Raises:
            NotFound: This tenant has none of that name.
            StoreError: It could not be read.
        """
        shelf = self.sources.shelf()
        found = self._find(shelf, memory_id)
        if isinstance(found, Held):
            [cell] = shelf.cells([found])
            found = None if cell is None else item_of(cell)
        if found is None:
            raise NotFound(f"there is no item {memory_id!r:.80}")
        return found

    def query(
        self,
        text: str | None = None,
        *,
        k: int = SHORTLIST,
        memory_type: str | Iterable[str] | None = None,
        conversation: str | None = None,
        session_id: str | None = None,
        module: str | Iterable[str] | None = None,
        pipeline: str | Iterable[str] | None = None,
        sections: Iterable[str] = (),
        keys: Iterable[str] = (),
        entities: Iterable[str] = (),
        since: datetime | float | None = None,
        before: datetime | float | None = None,
        archived: bool = False,
        superseded: bool = False,
    ) -> list[MemoryItem]:
        """List items, or search them; every argument that is given narrows the result.

        Args:
            text: The question that they should answer; without it, the newest come first.
            k: The most items.
            memory_type: Only of this type, or of one of these; "conversation" for messages.
            conversation: Only of this conversation, or of none.
            session_id: Only of this session.
            module: Only of this module, or of one of these.
            pipeline: Only of this run of modules, or of one of these.
            sections: Only with one of these labels.
            keys: Only with one of these keys.
            entities: Only with one of these entities.
            since: Only from this time on.
            before: Only before this time.
            archived: Whether archived ones count.
            superseded: Whether those count that newer items replace.

        Returns:
            The items, best first, ties by id; with a question only those that match it.

        Raises:
            InvalidInputError: An argument is out of its range.
            EmbedderError: The embedder failed.
        """
        engine = self._handle.live()
        at_least("k", k, 1)
        k = min(k, MOST_FOUND)
        yes_or_no("archived", archived)
        yes_or_no("superseded", superseded)
        if text is not None and not isinstance(text, str):
            raise InvalidInputError(f"text: expected a text, found {text!r:.80}")
        labels = {
            "module": () if module is None else module,
            "pipeline": () if pipeline is None else pipeline,
            "sections": sections,
            "keys": keys,
            "entities": entities,
        }
        for name, one in (("conversation", conversation), ("session_id", session_id)):
            if one is not None and (not isinstance(one, str) or not one):
                raise InvalidInputError(f"{name}: expected a name, found {one!r:.80}")
        text = None if text is None else self._handle.redactor.text(text)
        ask = Ask(
            k=k,
            types=None if memory_type is None else names_of("memory_type", memory_type),
            conversation=conversation,
            session=session_id,
            labels={name: names for name, one in labels.items() if (names := names_of(name, one))},
            since=milliseconds(since, "since"),
            before=milliseconds(before, "before"),
            archived=archived,
            superseded=superseded,
            floor=None if text is None else 0.0,
        )
        shelf = shelf_of(engine, self._handle.tenant)
        found = self._existing.query(ask, text, {} if superseded else shelf.heirs())
        question = Question(text=text, vector=self.sources.vector(text), weights=self._weights)
        [answer] = shelf.find([ask], question)
        scores = {hit.id: hit.score for hit in answer.found}
        cells = shelf.cells([held for id_ in scores if (held := shelf.get(id_)) is not None])
        there = [cell for cell in cells if cell is not None]
        found += [
            item_of(cell, None if text is None else scores.get(cell.version)) for cell in there
        ]
        if text is None:
            found.sort(key=lambda one: (one.timestamp, one.id), reverse=True)
        else:
            found.sort(key=lambda one: (-(one.score or 0.0), one.id))
        return found[:k]

    def supersede(self, memory_id: str, item: NewItem, /) -> str:
        """Store an item in the place of another one, which stays and is not shown any more.

        Args:
            memory_id: The name of the item, memory or message that it replaces.
            item: The new item; `supersedes` gets that name.

        Returns:
            The name of the new item.

        Raises:
            NotFound: There is nothing of that name.
            InvalidInputError: The new item has the same name.
        """
        self.get(memory_id)
        if not isinstance(item, NewItem):
            raise InvalidInputError(f"item: expected a NewItem, found {item!r:.80}")
        return self.put(replace(item, supersedes=(memory_id, *item.supersedes)))

    def archive(self, *memory_ids: str) -> None:
        """Keep items without showing them, until they are restored or put anew.

        Raises:
            NotFound: There is no item of that name which was put; nothing was archived.
            StoreError: It could not be written.
        """
        self._mark(memory_ids, archived=True)

    def restore(self, *memory_ids: str) -> None:
        """Show archived items again; the same errors as `archive`."""
        self._mark(memory_ids, archived=False)

    def _mark(self, memory_ids: Iterable[str], *, archived: bool) -> None:
        engine = self._handle.live()
        engine.must_write()
        shelf = shelf_of(engine, self._handle.tenant)
        there: dict[str, Held] = {}
        for name in memory_ids:
            held = shelf.named(name)
            if held is None:
                raise NotFound(f"there is no item {name!r:.80} that was put")
            there[name] = held

        def changed(cells: Sequence[Cell | None]) -> list[dict[str, Any] | None]:
            found: list[dict[str, Any] | None] = []
            for name, cell in zip(there, cells, strict=True):
                if cell is None:
                    raise NotFound(f"there is no item {name!r:.80} that was put")
                others = dict(cell.columns)
                for field in () if archived else _PUT_ASIDE:
                    others.pop(field, None)
                found.append({**others, "archived": True} if archived else others)
            return found

        change_columns(engine, shelf, [held.name for held in there.values()], changed)

    def consolidate(
        self,
        policy: ConsolidationPolicy,
        /,
        *,
        used: Used | None = None,
        now: datetime | None = None,
        dry_run: bool = True,
    ) -> Consolidation:
        """Archive what is old and not used, and merge what says the same; or plan it.

        Only items that were put are looked at, never messages and memories. An item is merged into
        another one of its type, conversation, session, module and pipeline if that has each of its
        numbers, names, paths and labels, denies as often, is no less trusted, and is as similar as
        the policy says. What was used last stays, else what has the highest reward, else the
        newest. It stays word for word; the other one is archived, and its `merged_into` says the
        name of the one that stays. `restore` takes back whatever was archived.

        Args:
            policy: What may be archived and merged.
            used: When items were last used, by their names, or a function that returns it.
            now: The time that ages are counted up to; the time of the call if not given.
            dry_run: Whether nothing is changed.

        Returns:
            What was done, or would be, with the reasons. What was changed or erased between the
            plan and its doing is left as it is, and listed.

        Raises:
            InvalidInputError: An argument has a wrong value.
            StoreError: It could not be read or written; batches of 1,000 before the failure were.
        """
        engine = self._handle.live()
        return consolidate(
            engine,
            shelf_of(engine, self._handle.tenant),
            policy,
            is_elsewhere=lambda name: self._existing.get(name) is not None,
            used=used,
            now=now,
            dry_run=dry_run,
        )

    def erase(self, *memory_ids: str) -> ErasureResult:
        """Erase items, memories and messages, and everything derived from them, for good.

        When this returns, nobody can find or read them, and no file has their bytes. All versions
        of an item go.

        Returns:
            The numbers of erased records, of erased records that were derived from them, and of
            removed encryption keys.

        Raises:
            NotFound: There is nothing of that name; nothing was erased.
            StoreError: They could not be erased.
        """
        engine = self._handle.live()
        shelf = shelf_of(engine, self._handle.tenant)
        cells: list[int] = []
        records: list[int] = []
        for name in memory_ids:
            found = self._find(shelf, name)
            if found is None:
                raise NotFound(f"there is no item {name!r:.80}")
            (cells if isinstance(found, Held) else records).append(found.id)
        return erase_items(engine, self._handle.tenant, cells=cells, records=records)

    aput = twin(put)
    aput_many = twin(put_many)
    aadd_document = twin(add_document)
    aget = twin(get)
    aquery = twin(query)
    asupersede = twin(supersede)
    aarchive = twin(archive)
    arestore = twin(restore)
    aconsolidate = twin(consolidate)
    aerase = twin(erase)
