"""Blocks joined to chunks: each of one section, with its labels, and under a number of tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset.items.documents.labels import labels_of
from warmset.items.documents.split import halves_of, parts_of, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.items.documents.blocks import Block
    from warmset.items.documents.split import Count

_PROSE: Final = ("text", "list")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a document.

    Args:
        text: Its text.
        tokens: The tokens of it.
        body: Its text without the headings that it begins with.
        titles: The headings that it stands under, the highest first.
        labels: The labels of all of them.
        parent: The place of the chunk with the nearest heading that is not in this one; None if
            there is none.
    """

    text: str
    tokens: int
    body: str
    titles: tuple[str, ...]
    labels: tuple[str, ...]
    parent: int | None


@dataclass(slots=True)
class _Heading:
    """A heading that what follows stands under."""

    rank: float
    title: str
    place: int | None = None  # of the chunk that has it


@dataclass(slots=True)
class _Chunker:
    limit: int
    count: Count
    chunks: list[Chunk] = field(default_factory=list[Chunk])
    above: list[_Heading] = field(default_factory=list[_Heading])
    pieces: list[str] = field(default_factory=list[str])  # of the next chunk
    used: int = 0
    heads: int = 0  # the number of these pieces that are headings
    has_body: bool = False  # whether there is more

    def heading(self, block: Block, size: int) -> None:
        """Begin a section; a heading right above a lower one stays with it."""
        if self.has_body or (self.above and block.rank <= self.above[-1].rank):
            self.close()
        while self.above and self.above[-1].rank >= block.rank:
            self.above.pop()
        self.above.append(_Heading(block.rank, block.title))
        self._fill([(block.text, size)], by_lines=False)
        self.heads = len(self.pieces)

    def body(self, block: Block, size: int) -> None:
        """Add what stands in a section."""
        is_free = not self.has_body
        if self.used + size > self.limit and not (is_free and block.kind in _PROSE):
            room = self.limit - (self.used if is_free else 0)
            is_whole = size <= self.limit
            if not is_free or is_whole or room < self.limit // 2:
                self.close()
                room = self.limit
            if not is_whole and block.kind not in _PROSE:
                for part in parts_of(block, room, self.count):
                    self.pieces.append(part)
                    self.close()
                return
        self._fill([(block.text, size)], by_lines=block.kind == "list")
        self.has_body = self.has_body or bool(block.text.strip())

    def _fill(self, pieces: Iterable[tuple[str, int]], *, by_lines: bool) -> None:
        """Add pieces, cut where they do not fit."""
        for text, size in pieces:
            if self.used + size <= self.limit:
                self._add(text, size)
                continue
            room = self.limit - self.used
            room = room if room >= self.limit // 2 else self.limit
            for piece, tokens in pieces_of(text, room, self.count, by_lines=by_lines):
                if self.used + tokens > self.limit:
                    self.close()
                self._add(piece, tokens)

    def _add(self, text: str, size: int) -> None:
        self.pieces.append(text)
        self.used += size

    def close(self) -> None:
        """End a chunk."""
        self._emit(self.pieces, self.heads)
        self.pieces, self.used, self.heads, self.has_body = [], 0, 0, False

    def _emit(self, pieces: Sequence[str], heads: int) -> None:
        text = "".join(pieces).strip("\n").rstrip()
        if not text.strip():
            return
        [tokens] = self.count([text])
        if tokens > self.limit and len(text) > 1:  # they do not add up where pieces meet
            half = len(pieces) // 2
            first, rest = (pieces[:half], pieces[half:]) if half else map(list, _halves(text))
            self._emit(first, heads)
            self._emit(rest, max(0, heads - len(first)))
            return
        known = [one.place for one in self.above if one.place is not None]
        titles = tuple(one.title for one in self.above)
        labels = (label for title in titles for label in labels_of(title))
        self.chunks.append(
            Chunk(
                text=text,
                tokens=tokens,
                body="".join(pieces[heads:]),
                titles=titles,
                labels=tuple(dict.fromkeys(labels)),
                parent=known[-1] if known else None,
            )
        )
        for one in self.above:
            if one.place is None:
                one.place = len(self.chunks) - 1


def _halves(text: str) -> tuple[list[str], list[str]]:
    first, rest = halves_of(text)
    return [first], [rest]


def chunks_of(blocks: Sequence[Block], limit: int, count: Count) -> list[Chunk]:
    """Join blocks to chunks, in their order.

    A chunk has blocks of one section, as many as fit. A heading with nothing below it but another
    section is in the first chunk of that; a block that is larger than a chunk is cut.

    Args:
        blocks: The blocks of the document.
        limit: The most tokens of a chunk.
        count: Counts tokens.
    """
    chunker = _Chunker(limit, count)
    for block, size in zip(blocks, count([one.text for one in blocks]), strict=True):
        if block.kind == "heading":
            chunker.heading(block, size)
        else:
            chunker.body(block, size)
    chunker.close()
    return chunker.chunks
