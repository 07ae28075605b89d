"""HTML as blocks: headings, paragraphs and lists with the marks of Markdown, tables as its rows.

The parser tells what begins and ends, so that no tree is built: nesting as deep as a file can have
it takes neither time nor stack. What a page hides is text like the rest; scripts and styles are no
text.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.items.documents.blocks import Block
from warmset.items.documents.labels import with_numbered
from warmset.items.documents.tables import MOST_SPAN, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_TEXT: Final = frozenset(("script", "style", "head", "template"))
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS: Final = ("ul", "ol", "menu", "dir")
_CELLS: Final = ("td", "th")
# fmt: off
_APART: Final = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
    "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header",
    "hgroup", "hr", "html", "legend", "li", "main", "nav", "noscript", "optgroup", "option",
    "p", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "textarea",
    "tfoot", "th", "thead", "title", "tr", *_HEADINGS, *_LISTS,
))
# fmt: on
"""What ends the paragraph before it; all else stands within one, as in a browser."""

_INDENT: Final = 12
"""The most levels that items of a list are indented by."""

_FEED: Final = 1 << 20
_SPACES: Final = re.compile(r"\s+")
_BLANK: Final = re.compile(r"\n\s*\n")
_TICKS: Final = re.compile(r"`{3,}")


def html_blocks(text: str) -> list[Block]:
    """Return the blocks of an HTML text.

    Raises:
        MissingExtraError: The extra `documents` is not installed.
    """
    with extra("documents"):
        etree: Any = import_module("lxml.etree")  # has no types

    if not text.strip():  # the parser takes no empty document
        return []
    target = _Target()
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    data = text.encode("utf-8", "replace")
    for start in range(0, len(data), _FEED):
        parser.feed(data[start : start + _FEED])
    parser.close()
    target.apart()
    return with_numbered(target.blocks)


class _Target:
    """Takes what the parser tells."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._sinks = [self.blocks]
        self._tables: list[Table] = []
        self._words: list[str] = []  # of the paragraph that is read
        self._heading = 0
        self._without = 0  # elements without text that are open
        self._pre = 0
        self._lists: list[int | None] = []  # the number of the next item, None for a dot
        self._mark = ""  # of the item that begins

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        if self._without or tag in _NO_TEXT:
            self._without += 1
            return
        if tag in _APART:
            if not self._pre or tag == "pre":
                self.apart()
                self._open(tag, attributes)
        elif tag == "br":
            self._words.append("\n")
        elif tag == "img":
            self.data(attributes.get("alt") or "")
        elif tag == "sup":
            self._words.append("^")  # 10⁶ is not 106

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _HEADINGS:
            self._heading = int(tag[1])
        elif tag == "pre":
            self._pre += 1
        elif tag in _LISTS:
            self._lists.append(_number(attributes.get("start"), 1) if tag == "ol" else None)
        elif tag == "li":
            self._begin_item()
        elif tag == "table":
            if self._tables:
                self._sinks[-1] = self._tables[-1].arrange()
            self._tables.append(Table(self._sinks[-1]))
        elif tag == "tr" and self._tables:
            self._tables[-1].rows.append([])
        elif tag in _CELLS and self._tables:
            spans = (attributes.get("colspan"), attributes.get("rowspan"))
            columns, rows = (min(MOST_SPAN, max(1, _number(span, 1))) for span in spans)
            self._sinks.append(self._tables[-1].cell(columns, rows))

    def end(self, tag: str) -> None:
        """End an element."""
        if self._without:
            self._without -= 1
            return
        if tag not in _APART or (self._pre and tag != "pre"):
            return
        self.apart()
        if tag in _HEADINGS:
            self._heading = 0
        elif tag == "pre":
            self._pre = max(0, self._pre - 1)
        elif tag in _LISTS and self._lists:
            self._lists.pop()
        elif tag == "table" and self._tables:
            self._tables.pop().close()
        elif tag in _CELLS and len(self._sinks) > 1:
            self._sinks.pop()

    def data(self, text: str) -> None:
        """Add words."""
        if not self._without:
            self._words.append(text if self._pre else _SPACES.sub(" ", text))

    def comment(self, text: str) -> None:
        """Pass over a comment."""

    def pi(self, target: str, text: str | None = None) -> None:
        """Pass over an instruction."""

    def close(self) -> None:
        """End the document."""

    def _begin_item(self) -> None:
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        indent = "  " * min(_INDENT, max(0, len(self._lists) - 1))
        self._mark = indent + ("- " if number is None else f"{number}. ")

    def apart(self) -> None:
        """End a paragraph."""
        text = "".join(self._words)
        self._words = []
        if not text.strip():
            return
        if self._pre:
            self._add(_code(text))
            return
        for said in _BLANK.split(text):
            lines = [" ".join(line.split()) for line in said.split("\n")]
            words = "\n".join(line for line in lines if line)
            if words:
                self._paragraph(words)

    def _paragraph(self, words: str) -> None:
        if self._heading:
            title = " ".join(words.split())
            rank = self._heading
            self._add(
                Block(text=f"{'#' * rank} {title}\n\n", kind="heading", rank=rank, title=title)
            )
        elif self._lists:
            mark = self._mark or "  " * min(_INDENT, len(self._lists))
            self._mark = ""
            self._add(Block(text=f"{mark}{words}\n", kind="list"))
        else:
            self._add(Block(text=f"{words}\n\n"))

    def _add(self, block: Block) -> None:
        sink = self._sinks[-1]
        if sink and sink[-1].kind == "list" and block.kind != "list":
            sink[-1] = Block(text=f"{sink[-1].text}\n", kind="list")
        sink.append(block)


def _code(text: str) -> Block:
    inner = text.strip("\n").rstrip()
    fence = max([*_TICKS.findall(inner), "``"], key=len) + "`"
    head, tail = f"{fence}\n", f"{fence}\n\n"
    return Block(text=f"{head}{inner}\n{tail}", kind="code", head=head, tail=tail)


def _number(given: str | None, otherwise: int) -> int:
    try:
        return int(given or otherwise)
    except ValueError:
        return otherwise
