"""Markdown as blocks: the parser says which lines are what, and the lines stay as they are."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset._extras import extra
from warmset.items.documents.blocks import Block
from warmset.items.documents.labels import with_numbered

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_FRONT: Final = re.compile(r"---[ \t]*\n(?:[^\n]*\n){0,200}?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_LISTS: Final = ("bullet_list_open", "ordered_list_open")
_CODE: Final = ("fence", "code_block")
_SAID: Final = ("text", "code_inline", "image")


def markdown_blocks(text: str) -> list[Block]:
    r"""Return the blocks of a Markdown text whose lines end in "\n".

    Raises:
        MissingExtraError: The extra `documents` is not installed.
    """
    with extra("documents"):
        from markdown_it import MarkdownIt  # noqa: PLC0415

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable("inline")  # of headings alone; the rest stays as it is
    words = MarkdownIt("commonmark")
    front = _FRONT.match(text)
    blocks = [Block(text=front[0])] if front else []
    body = text[len(front[0]) :] if front else text
    lines = _LINE.findall(body)
    tokens = parser.parse(body)
    done = 0  # lines that are in blocks
    for at, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        first, last = token.map
        _between(blocks, lines[done:first])
        title = _title(words, tokens[at + 1]) if token.type == "heading_open" else ""
        blocks.append(_block(token, lines[first:last], title))
        done = max(done, last)
    _between(blocks, lines[done:])
    return with_numbered(blocks)


def _between(blocks: list[Block], lines: list[str]) -> None:
    """Add lines that the parser has no block for: blank ones, and definitions of links."""
    text = "".join(lines)
    if blocks and not text.strip():
        last = blocks[-1]
        tail = last.tail and last.tail + text
        blocks[-1] = replace(last, text=last.text + text, tail=tail)
    elif text:
        blocks.append(Block(text=text))


def _block(token: Token, lines: list[str], title: str) -> Block:
    text = "".join(lines)
    if token.type == "heading_open":
        return Block(text=text, kind="heading", rank=float(token.tag[1:]), title=title)
    if token.type == "table_open":
        return Block(text=text, kind="table", head="".join(lines[:2]))
    if token.type in _LISTS:
        return Block(text=text, kind="list")
    if token.type in _CODE:
        is_fenced = token.type == "fence"
        is_closed = len(lines) > 1 and lines[-1].strip().startswith(token.markup)
        return Block(
            text=text,
            kind="code",
            head=lines[0] if is_fenced else "",
            tail=lines[-1] if is_fenced and is_closed else "",
        )
    return Block(text=text)


def _title(parser: MarkdownIt, inline: Token) -> str:
    """Return the words of a heading without its marks."""
    [parsed] = parser.parseInline(inline.content)
    return "".join(
        one.content if one.type in _SAID else " " if one.type.endswith("break") else ""
        for one in parsed.children or []
    )
