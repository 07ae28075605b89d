"""Puts a document: reads it, cuts it into chunks, and puts each of them as an item."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from warmset._core import count_texts
from warmset._support.names import LONGEST, fault_of
from warmset.errors import InvalidInputError
from warmset.evict.policies import at_least
from warmset.items.ask import Ask, Question
from warmset.items.documents.chunks import chunks_of
from warmset.items.documents.html import html_blocks
from warmset.items.documents.markdown import markdown_blocks
from warmset.items.documents.plain import plain_blocks
from warmset.items.documents.source import read
from warmset.items.shelf import shelf_of
from warmset.text.decisions import summarise

if TYPE_CHECKING:
    import os

    from warmset.engine.handle import Handle
    from warmset.items.documents.chunks import Chunk
    from warmset.items.documents.source import Format
    from warmset.items.items import Items
    from warmset.items.new import NewItem
    from warmset.items.shelf import Shelf

CHUNK_TOKENS: Final = 400
"""The most tokens of a chunk, if the caller does not say."""

LEAST_TOKENS: Final = 32
"""The least that a caller may ask for; a character may have several."""

CHUNK: Final = "document_chunk"
"""The type of chunks, if the caller does not say."""

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the numbers of chunks that are stored and of all."""

_STEP: Final = 1_000
"""Chunks that are put between two calls of the progress function."""

_BLOCKS: Final = {"markdown": markdown_blocks, "html": html_blocks, "text": plain_blocks}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that was added.

    Args:
        name: Its name.
        chunks: The names of its chunks, in their order: the name, "#", and a number from 0001 on.
        archived: The names of chunks that it had before and has no more.
        tokens: The tokens of all chunks.
    """

    name: str
    chunks: tuple[str, ...]
    archived: tuple[str, ...]
    tokens: int


def add_document(
    items: Items,
    handle: Handle,
    source: str | os.PathLike[str],
    *,
    name: str | None,
    format: Format | None,  # noqa: A002 - what everybody calls it
    chunk_tokens: int,
    like: NewItem,
    progress: Progress | None,
) -> Document:
    """Put the chunks of a document; see `Items.add_document`.

    Args:
        items: Where they are put.
        handle: The open store.
        source: The text or the path.
        name: What the document is called; None for the name of the file.
        format: Its format; None to find it out.
        chunk_tokens: The most tokens of a chunk.
        like: An item with the fields that every chunk has.
        progress: Called with the numbers of chunks that are stored and of all.
    """
    engine = handle.live()
    engine.must_write()
    at_least("chunk_tokens", chunk_tokens, LEAST_TOKENS)
    if progress is not None and not callable(progress):
        raise InvalidInputError(f"progress: expected a function, found {progress!r:.80}")
    read_ = read(source, name=name, format=format)
    _check_name(read_.name)
    # The whole text: a hook may look for what the end of a chunk would cut in two.
    called, text = handle.redactor.text(read_.name), handle.redactor.text(read_.text)
    _check_name(called)
    blocks = _BLOCKS[read_.format](text)
    chunks = chunks_of(blocks, chunk_tokens, lambda some: count_texts(some, engine.encoding))
    if not chunks:
        raise InvalidInputError("source: the document has no text")
    names = [f"{called}#{number:04}" for number in range(1, len(chunks) + 1)]
    new = [_item(like, called, names, at, chunk) for at, chunk in enumerate(chunks)]
    handle.redactor.note(handle.tenant, like.conversation, int(text != read_.text))
    for start in range(0, len(new), _STEP):
        items.put_many(new[start : start + _STEP])
        if progress is not None:
            progress(min(len(new), start + _STEP), len(new))
    shelf = shelf_of(engine, handle.tenant)
    archived = _others(shelf, called, frozenset(names))
    if archived:
        items.archive(*archived)
    return Document(
        name=called,
        chunks=tuple(names),
        archived=archived,
        tokens=sum(chunk.tokens for chunk in chunks),
    )


def _item(like: NewItem, document: str, names: Sequence[str], at: int, chunk: Chunk) -> NewItem:
    """Return the item of a chunk."""
    above = " > ".join(summarise(title) for title in chunk.titles)
    own = {
        "document": document,
        "order": at + 1,
        "parent": None if chunk.parent is None else names[chunk.parent],
    }
    return replace(
        like,
        text=chunk.text,
        memory_id=names[at],
        summary=": ".join(filter(None, (above, summarise(chunk.body)))),
        sections=chunk.labels,
        keys=(document, *like.keys),
        meta={**(like.meta or {}), **own},
    )


def _check_name(name: str) -> None:
    if (fault := fault_of(name)) is not None:
        raise InvalidInputError(f"name: {fault}")
    most = LONGEST - len("#0000000000")
    if len(name) > most:
        raise InvalidInputError(f"name: expected at most {most:,} characters, found {len(name):,}")


def _others(shelf: Shelf, document: str, names: frozenset[str]) -> tuple[str, ...]:
    """Return the names of chunks that are shown and are not of the document any more."""
    ask = Ask(
        k=max(1, len(shelf)),
        labels={"keys": frozenset((document,))},
        superseded=True,
        archived=False,
    )
    [answer] = shelf.find([ask], Question())
    chunk = re.compile(re.escape(document) + r"#\d{4,}")
    found = (shelf.get(hit.id) for hit in answer.found)
    old = (one.memory_id for one in found if one is not None)
    return tuple(sorted(one for one in old if one not in names and chunk.fullmatch(one)))
