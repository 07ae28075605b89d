"""Finding what is easily lost: numbers, paths, URLs, identifiers, names and quotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from warmset.summarize.spelling import MONTH, UNIT, amount, clock, day
from warmset.text.hard_facts import is_path, plain_name, plain_path
from warmset.text.stopwords import NO_NAMES, OPENERS

if TYPE_CHECKING:
    from collections.abc import Iterator

_YEAR = r"(?:1[5-9]|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|[nr]d|th)?"
_CODE: Final = re.compile(
    r"(?P<url>(?:https?|ftp|ssh|s3|postgres(?:ql)?|redis|file)://[^\s<>\"'`)\]}]{1,500})"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+)"
    r"|(?P<path>(?<![\w/\\])(?:[A-Za-z]:\\|~?/|\.{1,2}[/\\])?(?:[\w.@+~-]{1,80}[/\\]){1,30}"
    r"[\w.@+~*-]{0,80}|(?<![\w/\\.])[~.]?/[\w.@+-]{2,80})"
    r"|(?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
    rf"|(?P<iso>(?<![\w-]){_YEAR}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z"
    rf"|[+-]\d\d:?\d\d)?)?"
    r"(?![\w-]))"
    rf"|(?P<date>(?<![\w-])(?:{_DAY}\s(?:of\s)?{MONTH}\.?(?:,?\s{_YEAR})?"
    rf"|{MONTH}\.?\s{_DAY}(?:,?\s{_YEAR})?|{MONTH}\.?,?\s{_YEAR})(?!\w))"
    r"|(?P<clock>(?<![\w:.])(?:\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?"
    r"|\d{1,2}\s?[ap]\.?m\b\.?)(?![\w:]))"
    r"|(?P<file>\b\w[\w-]{0,80}\.[a-z][a-z0-9_]{0,40}(?:\.[a-z][a-z0-9_]{0,40})*\b(?!\.[a-z]))"
    r"|(?P<version>(?<![\w.])v?\d+(?:\.\d+){2,}[\w.+-]*\b|(?<![\w.])v\d+(?:\.\d+)*\b)"
    r"|(?P<ticket>\b[A-Z][A-Z0-9]{1,9}-\d+\b|(?<![\w#&])#\d{1,7}\b|(?<![\w@])@[a-zA-Z][\w-]{1,38})"
    r"|(?P<flag>(?<![\w-])--[a-zA-Z][\w-]{1,60})"
    r"|(?P<hash>\b(?=[0-9a-f]{0,39}[a-f])(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,64}\b|\b0x[0-9a-fA-F]+\b)"
    r"|(?P<code>\$[A-Za-z_]\w{1,60}|\b[^\W\d_]\w{0,80}_\w{1,80}\b|(?<!\w)_{1,2}[a-z]\w{1,80}\b"
    r"|\b[a-z]{1,40}[A-Z]\w{0,80}\b|\b[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+\b"
    r"|\b[a-z][a-z0-9]{0,40}(?:-[a-z0-9]{1,40}){0,8}-(?=[a-z]{0,40}\d)[a-z0-9]{1,40}\b)"
    rf"|(?P<number>(?<![\w.])(?:[$€£¥]\s?)?(?:(?<!\S)[-−])?\d[\d,_]*(?:\.\d+)?"  # noqa: RUF001
    r"(?:\s?(?:hundred|thousand|million|billion|trillion)\b|[kKMB]n?\b)?"
    rf"(?:(?:st|[nr]d|th)\b|[\s-]?(?i:{UNIT})(?!\w)|\s?[€£])?)"
)
_KINDS: Final = {
    "url": "url",
    "path": "path",
    "file": "path",
    "iso": "number",
    "date": "number",
    "clock": "number",
    "number": "number",
    "version": "number",
}
_QUOTE: Final = re.compile(
    r"\"([^\"\n]{2,160})\"|“([^”\n]{2,160})”|«([^»\n]{2,160})»|(?<!`)`([^`\n]{2,160})`(?!`)"
    r"|(?<![\w])'([^'\n]{2,120})'(?!\w)|「([^」\n]{2,160})」"
)
_MARKED: Final = re.compile(r"(?<!\w)[^\W\d_][\w'’&-]*")
_OPENS: Final = re.compile(r"(?:^|[.!?:…\"“(]\s{0,4}|\n[ \t>*#-]{0,12}|\]\s|\d[.)]\s)$")
_MARK: Final = 3
_LIST_MARK: Final = re.compile(r"(?:^|\n)[ \t]{0,8}\d{1,3}$")
_ABBREVIATIONS: Final = frozenset({"e.g", "i.e", "etc", "vs", "a.m", "p.m", "a.k.a"})
_END: Final = ".,;:!?'’\"-"
_SHOUTED: Final = frozenset(
    [
        "TODO",
        "FIXME",
        "XXX",
        "NOTE",
        "NB",
        "OK",
        "BTW",
        "FYI",
        "LOL",
        "OMG",
        "ASAP",
        "IMHO",
        "AM",
        "PM",
    ]
)
_FILES: Final = frozenset(
    """
    bash bin bmp bz2 c cc cfg conf cpp cs css csv dat db dockerfile docx dump env exe gif go gz
    h hpp html ico ini ipynb jar java jpeg jpg js json jsonl jsx key kt lock log lua md mp3 mp4
    parquet part pdf pem php pkl png proto ps1 py pyi pyc r rb rs rst scala sh so sql sqlite
    svelte svg swift tar tex tgz toml ts tsv tsx txt vue wasm wav whl xlsx xml yaml yml zip zst
    """.split()  # noqa: SIM905 - a table to be read
)


class Found(NamedTuple):
    """One thing that a text states.

    Args:
        kind: What kind of thing.
        text: As it was written.
        key: In the spelling that is compared.
        start: Where it begins.
        end: Where it ends.
    """

    kind: str
    text: str
    key: str
    start: int
    end: int


def code_of(text: str) -> Iterator[Found]:
    """Find numbers, paths, URLs and identifiers, which never overlap, in order."""
    for match in _CODE.finditer(text):
        group = match.lastgroup or ""
        said = match.group().rstrip(_END) if group != "clock" else match.group()
        if len(said) < 1 or (group == "path" and not _is_path(said)):
            continue
        if group == "file" and (said in _ABBREVIATIONS or not _is_file(said)):
            continue
        start = match.start()
        end = start + len(said)
        if group == "number" and _marks_item(text, start, end):
            continue
        key = _key(group, said)
        kind = _KINDS.get(group, "identifier")
        if group == "file" and said.rpartition(".")[2] not in _FILES:
            kind = "identifier"
        yield Found(kind, said, key, start, end)


def quotes_of(text: str) -> Iterator[Found]:
    """Find what is quoted, in a text that is not JSON."""
    for match in _QUOTE.finditer(text):
        said = next(group for group in match.groups() if group is not None)
        words = plain_words(said)
        if words and said[0] not in " ,.:;)" and text[match.end() : match.end() + 1] != ":":
            yield Found("quote", said.strip(), " ".join(words), match.start(), match.end())


def names_of(text: str, taken: list[Found], lower: frozenset[str] | set[str]) -> Iterator[Found]:
    """Find names: capitalised words, those that follow each other together.

    Args:
        text: What is said.
        taken: What `code_of` found in it; no name is looked for there.
        lower: Words that occur in lower case somewhere, so that one that begins a sentence is none.
    """
    spans = [(one.start, one.end) for one in taken]
    at = 0
    run: list[re.Match[str]] = []
    for match in _MARKED.finditer(text):
        start = match.start()
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        inside = at < len(spans) and spans[at][0] < match.end()
        joined = bool(run) and text[run[-1].end() : start] == " "
        if run and not joined:
            yield from _named(run)
            run = []
        if not inside and _names(match, text, lower):
            run.append(match)
        elif run:
            yield from _named(run)
            run = []
    if run:
        yield from _named(run)


def lower_words(text: str) -> set[str]:
    """Return the words of a text that are written in lower case."""
    return {word for word in set(text.split()) if word.islower() and word.isalpha()}


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without signs and possessives."""
    return [plain_name(word) for word in re.findall(r"\w[\w'’.-]*\w|\w", text)]


def _names(match: re.Match[str], text: str, lower: frozenset[str] | set[str]) -> bool:
    word = match.group()
    plain = plain_name(word)
    if not word[0].isupper() or len(plain) == 1 or plain in NO_NAMES or word.lower() in NO_NAMES:
        return False
    if word.isupper() and (word in _SHOUTED or plain in lower):
        return False
    if not _OPENS.search(text, max(0, match.start() - 16), match.start()):
        return plain not in lower or len(plain) > 2 and plain not in OPENERS  # noqa: PLR2004, RUF021
    return plain not in OPENERS and plain not in lower and not plain.endswith("ing")


def _named(run: list[re.Match[str]]) -> Iterator[Found]:
    said = " ".join(match.group() for match in run).rstrip("'’-&")
    words = plain_words(said)
    start = run[0].start()
    end = start + len(said)
    last = said[-2:]
    yield Found("name", said[:-2] if last in {"'s", "’s"} else said, " ".join(words), start, end)


def _marks_item(text: str, start: int, end: int) -> bool:
    """Tell whether a number is that of a list's item: `1.` or `2)` at the start of a line."""
    return (
        end - start <= _MARK
        and text[end : end + 1] in {".", ")"}
        and _LIST_MARK.search(text, max(0, start - 10), end) is not None
    )


def _is_path(said: str) -> bool:
    plain = said.replace("\\", "/")
    if "\\" in said and not re.search(r"[A-Za-z]:\\|\\[\w.-]+\\|\.\w+$", said):
        return False
    return "/" in plain and is_path(plain)


def _is_file(said: str) -> bool:
    """Tell a file or a dotted name from two sentences without a gap: `done.then`."""
    stem, _, end = said.rpartition(".")
    return len(end) <= 5 or "_" in said or stem.count(".") > 0 or len(stem) < 12  # noqa: PLR2004


def _key(group: str, said: str) -> str:
    if group == "number":
        return amount(said)
    if group == "date":
        return day(said)
    if group == "clock":
        return clock(said)
    if group in {"path", "url", "file"}:
        return plain_path(said)
    plain = said.casefold()
    if group == "version":
        return plain.removeprefix("v")
    return plain.lstrip("$")
