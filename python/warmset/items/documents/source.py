"""The text of a document and its format."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from warmset.errors import InvalidInputError

Format: TypeAlias = Literal["markdown", "html", "text"]
"""The format of a document."""

_SUFFIXES: Final[dict[str, Format]] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
    ".text": "text",
}
_BEGINNING: Final = 20_000
"""The characters in which signs of a format are looked for."""

_SIGNS: Final = 2
"""The kinds of Markdown that a text must have to be taken for it."""

_HTML: Final = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_MARKDOWN: Final = tuple(
    re.compile(sign, re.MULTILINE)
    for sign in (
        r"^#{1,6} \S",
        r"^(?:```|~~~)",
        r"^\|?(?: {0,3}:?-+:? {0,3}\|)+(?: {0,3}:?-+:?)? {0,3}$",
        r"^[-*+] \S",
        r"\[[^\]\n]{1,200}\]\([^)\s]{1,200}\)",
        r"\*\*\S[^*\n]*\*\*",
    )
)
_OTHERS: Final = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True, slots=True)
class Source:
    r"""A document that was read.

    Args:
        name: What it is called.
        text: Its text; lines end in "\n".
        format: Its format.
    """

    name: str
    text: str
    format: Format


def read(
    given: str | os.PathLike[str],
    *,
    name: str | None,
    format: Format | None,  # noqa: A002 - what everybody calls it
) -> Source:
    """Return the text of a document and its format.

    Args:
        given: The text, or the path of a file in UTF-8.
        name: What it is called; None for the name of the file.
        format: Its format; None to find it out: by the name of the file, else by its beginning.

    Raises:
        InvalidInputError: It is no text or path, has no name, or is not in UTF-8.
        OSError: The file could not be read.
    """
    known = get_args(Format)
    if format is not None and format not in known:
        raise InvalidInputError(f"format: expected one of {', '.join(known)}, found {format!r:.80}")
    suffix = ""
    if isinstance(given, str):
        text = given
        if name is None:
            raise InvalidInputError(
                "name: a text needs one; a str is the text itself, give the path of a file as a "
                "pathlib.Path"
            )
    elif isinstance(given, os.PathLike):
        path = Path(given)
        text = _decoded(path.read_bytes(), path)
        name = path.name if name is None else name
        suffix = path.suffix.lower()
    else:
        raise InvalidInputError(
            f"source: expected a text or a path, found {type(given).__name__}; decode bytes first"
        )
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise InvalidInputError("source: the document has no text")
    return Source(name, text, format or _SUFFIXES.get(suffix) or _format_of(text))


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        kind = _OTHERS.get(data[:2])
        found = f"this is {kind}" if kind else f"byte {error.start:,} is {data[error.start]:#04x}"
        raise InvalidInputError(
            f"source: expected UTF-8 in {path.name!r:.80}, but {found}; read it with its encoding, "
            f"path.read_text(encoding=…), and give the text and a name"
        ) from error


def _format_of(text: str) -> Format:
    """Return the format of a text: plain where nothing certain speaks for another one."""
    beginning = text[:_BEGINNING]
    if _HTML.match(beginning):
        return "html"
    signs = sum(sign.search(beginning) is not None for sign in _MARKDOWN)
    has_heading = _MARKDOWN[0].search(beginning) is not None
    return "markdown" if has_heading and signs >= _SIGNS else "text"
