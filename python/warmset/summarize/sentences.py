"""Sentences that bind or ask: constraints, decisions, open tasks; and how far two of them agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from warmset.text.stopwords import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST: Final = 400
"""Characters of a sentence; a longer one is cut between words."""

_BREAK: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]{0,2}\s+|(?<=[。！？；])|\n+")  # noqa: RUF001
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|no|dr|mr|mrs|ms|st)\.)$", re.IGNORECASE
)
_MARKS: Final = re.compile(r"^[\s>*#•–-]{0,12}(?:\d{1,3}[.)]\s)?")  # noqa: RUF001
_BOX: Final = re.compile(r"^\s{0,12}(?:[-*+]|\d{1,3}[.)])?\s{0,4}\[([ xX✓✔]?)\]\s+(.+)")
_BINDS: Final = re.compile(
    r"\b(?:must(?:n't)?|never|always|shall(?:n't)?|may not|forbidden|prohibited|required|obliged"
    r"|(?:nobody|no[- ]one|none of)\b[^.!?\n]{0,40}\b(?:may|can|is|are|should)"
    r"|no \w+(?: \w+){0,3} (?:may|can|should|is to|are to|is allowed|are allowed)"
    r"|(?:is|are|were|be) (?:only |not )?(?:allowed|permitted)|(?:is|are) (?:not |only )to"
    r"|not (?:permitted|acceptable|negotiable|without|until|unless)|non-negotiable|no exceptions?"
    r"|keep\w*\b[^.!?\n]{1,60}\b(?:below|under|above|within|at|between|out of|off|away|free of"
    r"|intact"
    r"|read-only|untouched|unchanged|private|secret)"
    r"|(?:stays?|remains?)\b[^.!?\n]{0,30}\b(?:below|under|within|read-only|frozen|unchanged"
    r"|untouched"
    r"|intact|as (?:it|they) (?:is|are)|private|secret|off)"
    r"|leave\b[^.!?\n]{1,60}\b(?:alone|untouched|unchanged|as (?:it|they) (?:is|are))|hands off"
    r"|capped at|(?:cap|ceiling|limit|maximum|minimum) (?:of|is|at)|(?:hard|upper|lower"
    r"|strict) limit"
    r"|no (?:more|fewer|less|later|earlier|longer|higher|lower) than|at the latest|exclusively"
    r"|reserved for|restricted to|whatever (?:happens|you do)|at all times|without exception"
    r"|(?:have|has|need|needs) to (?:be|stay|remain)|unless|(?:the|our|my|a) (?:rule|policy) is"
    r"|rule:"
    r"|out of the question|no question of|ruled out|off the table|too (?:much|many)|insists?"
    r"|demands?"
    r"|(?:we|you|they|it) (?:cannot|can't|can not) \w+[^.!?\n]{0,60}\b(?:before|until|without"
    r"|more|unless)"
    r"|(?:agreed|decided|promised|told|asked|want|wants|wanted)\b[^.!?\n]{0,40}\b(?:not to|only|no)"
    r"|(?:don't|do not) you|essential|crucial|vital|stay away|keep away|(?:by|per) (?:law|contract)"
    r"|requirements?|constraints?|deadlines?|only when|obligatory|compulsory"
    r"|mandatory|at most|at least|no more than|no less than|not more than|no later than|maximum of"
    r"|limited? (?:of|to|is)|no fewer than|under no circumstances|make sure|ensure|keep (?:it"
    r"|them|the)"
    r"|has to|have to stay|cannot exceed|do not|don't (?:ever|use|touch|change|write|commit"
    r"|push|deploy"
    r"|add|remove|delete|send|share|run|call|edit|rename|merge|store|log|break|let|allow|put"
    r"|modify|install|start|restart|exceed|mention|tell|ask|open|make|go over|skip)"
    r"|only (?:use|ever|after|if|when|on|in|with|from|the|through|via|read|write|allow|one|between"
    r"|\d+)|only\b[^.!?\n]{1,60}\b(?:may|can|should|must|allowed)"
    r"|(?:use|may|can|should|must|allowed)(?: be)? only|(?:may|can|should|must|allowed) only"
    r"|avoid|without (?:asking|permission|approval|my)|stay (?:under"
    r"|below|within)|should(?:n't| not)|can't (?:use|change|exceed|be)|cannot (?:use|change|be)"
    r"|off[- ]limits|until (?:further|i say)|by no means|refrain|except for|not before"
    r"|not after)\b",
    re.IGNORECASE,
)
_TALK: Final = re.compile(
    r"\bmust(?:'ve| have\b| be (?:so|really|very|nice|great|tough|hard|fun|amazing|exciting|proud))"
    r"|\bnever (?:forget|mind|been|gets? old|give up|had)\b|\bnot always\b"
    r"|\b(?:I|it|they|he|she|that|you|who)(?:'ve|'s|'ll|'re|'d| have| was| were"
    r"| has)? (?:always|never)\b"
    r"|\balways (?:be |been )?(?:there|here|love\w*|wanted|special|fun|remember|look forward"
    r"|make us)\b"
    r"|\bkeep it up\b|\bmake sure you (?:take care|have fun|enjoy)\b",
    re.IGNORECASE,
)
"""What people say of themselves and each other with the words of a constraint."""
_BINDS_CJK: Final = re.compile(r"必须|不得|禁止|不能|不要|只能|至多|至少|務必|してはいけない|必ず")
_FORBIDS: Final = re.compile(
    r"\b(?:never|not|no|avoid|without|forbid\w*|prohibit\w*|\w+n['’]t|cannot|refrain|off[- ]limits"
    r"|nothing|none|nobody|neither|banned|disallow\w*|exclude[sd]?|excluding|refus\w*|stay away"
    r"|keep out)\b",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\b(?:TODO|FIXME|XXX)\b"
    r"|(?i:\b(?:to[- ]do|next (?:up|steps?|task|thing|is|we|i'll|on)|still (?:to do|to be"
    r"|need\w*|have to"
    r"|has to|missing|open|left|remains?|pending|outstanding|unresolved|owe)|remaining"
    r"|remains to be"
    r"|left to do|(?:is|are) left|outstanding|pending|follow[- ]?up|open (?:item|task|question"
    r"|point|issue)s?"
    r"|action items?|not (?:done|finished|started|fixed|implemented|merged|tested|resolved) yet"
    r"|yet to (?:be|do)"
    r"|blocked (?:on|by)|waiting (?:on|for)|needs? to be|later we|remind me|don't forget"
    r"|remember to"
    r"|unfinished|incomplete|unresolved|work in progress|wip|tbd|tbc)\b)"
    r"|^(?i:next)\b"
    r"|(?i:\b(?:not|n't|nobody|nothing)\b[^.!?\n]{0,60}\byet\b"
    r"|\b(?:I|we|you|they)(?:'ll| will| shall| am going to|'re going to| plan to| intend to)\b"
    r"[^.!?\n]{0,80}\b(?:later|tomorrow|next|afterwards|tonight|once|as soon as|after)\b"
    r"|\b(?:somebody|someone|anybody|who) (?:has to|needs to|should|could|must|will)\b"
    r"|\b(?:tomorrow|later|afterwards)\b[^.!?\n]{0,60}\b(?:I|we|you)(?:'ll| will| shall| should)\b"
    r"|^(?:open|left|due|later|tomorrow|missing|after \w+(?: \w+)?|then)\s?[:,]|\bowes?\b"
    r"|\b(?:I|we|you)(?:'d| would) like\b"
    r"|^(?:and |so |then |but )?(?:please|kindly)\b|,? please[.!]?$|\b(?:can|could|would"
    r"|will) (?:you|we|somebody|someone|anybody)\b"
    r"|\bafter\b[^.!?\n]{1,40}\b(?:I|we|you)(?:'ll| will)\b|\b(?:we|you|I) (?:also "
    r"|really )?(?:need|ought|have got) to\b"
    r"|\b(?:haven't|hasn't|has not|have not|not) been \w+|\bwait(?:s|ing) to be\b|\bon (?:the"
    r"|my|our) list\b"
    r"|^(?:to be|to)\s\w+(?:ed|en)?\s?:|\blast item\b)"
)
_OPEN_CJK: Final = re.compile(r"待办|待辦|下一步|还需要|未完成|まだ|残り|次に")
_WORD: Final = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STEM: Final = 5
_ENOUGH: Final = 0.7
_LONG: Final = 8
"""Content words of a sentence that is known by most of them."""
_CLAUSE: Final = re.compile(r"[;:,()]\s|\s[–—-]\s")  # noqa: RUF001


def sentences(text: str) -> Iterator[str]:
    """Part a text into sentences and lines, without the marks of a list, none of them blank."""
    start = 0
    for match in _BREAK.finditer(text):
        end = match.start()
        if "\n" not in match.group() and _ABBREVIATED.search(text, max(start, end - 8), end):
            continue
        yield from _cut(text[start : match.end()])
        start = match.end()
    yield from _cut(text[start:])


def without_marks(sentence: str) -> str:
    """Return a sentence without what marks it as an item of a list."""
    return _MARKS.sub("", sentence, count=1)


def binds(sentence: str) -> bool:
    """Tell whether a sentence states a constraint."""
    plain = _TALK.sub(" ", sentence.replace("’", "'"))
    return _BINDS.search(plain) is not None or _BINDS_CJK.search(plain) is not None


def asks_for_work(sentence: str) -> bool:
    """Tell whether a sentence names work that is still to be done."""
    plain = sentence.replace("’", "'")
    box = _BOX.match(plain)
    if box is not None:
        return not box[1].strip()
    return _OPEN.search(plain) is not None or _OPEN_CJK.search(plain) is not None


def box_of(sentence: str) -> tuple[str, bool] | None:
    """Read a check box: what it says, and whether it is ticked; None where there is none."""
    box = _BOX.match(sentence)
    return None if box is None else (box[2].strip(), bool(box[1].strip()))


def forbids(sentence: str) -> bool:
    """Tell whether a sentence has a word of prohibition or denial."""
    return _FORBIDS.search(sentence) is not None or "不" in sentence or "禁" in sentence


def content(sentence: str) -> frozenset[str]:
    """Return the beginnings of the words that carry what a sentence says."""
    found = {
        word.casefold().replace("’", "'")[:_STEM]
        for word in _WORD.findall(sentence)
        if word.casefold().replace("’", "'") not in EMPTY
    }
    if _CJK.search(sentence):
        signs = "".join(_CJK.findall(sentence))
        found |= {signs[at : at + 2] for at in range(len(signs) - 1)}
    return frozenset(found)


def places(text: str) -> list[tuple[frozenset[str], bool]]:
    """Return the content of each sentence and clause of a text, and whether it forbids."""
    found: dict[tuple[frozenset[str], bool], None] = {}
    for sentence in sentences(text):
        found[content(sentence), forbids(sentence)] = None
        clauses = _CLAUSE.split(sentence)
        for clause in clauses if len(clauses) > 1 else ():
            found[content(clause), forbids(clause)] = None
    return list(found)


def said_in(
    sentence: str, places: list[tuple[frozenset[str], bool]], *, polarity: bool = True
) -> bool:
    """Tell whether a sentence is said in one of several others, in these or in other words.

    Args:
        sentence: What is looked for.
        places: Content and denial of each of the others.
        polarity: Whether what is forbidden must be forbidden there too.
    """
    wanted = content(sentence)
    if not wanted:
        return True
    denied = polarity and forbids(sentence)
    return any(_agree(wanted, words) and (not denied or no) for words, no in places)


def _agree(wanted: frozenset[str], words: frozenset[str]) -> bool:
    """Tell whether words say what is wanted: all of it, or most of it and little else.

    "Archive the exports" has most words of "rename the exports" and is another task, so a word that
    is missing may not have been replaced by others.
    """
    gone = wanted - words
    missing = len(gone)
    if not missing:
        return True
    if any(word[0].isdigit() for word in gone) or missing > (1 - _ENOUGH) * len(wanted):
        return False
    return len(wanted) >= _LONG or len(words - wanted) <= len(wanted) // _LONG


def _cut(piece: str) -> Iterator[str]:
    piece = piece.strip()
    start = 0
    while len(piece) - start > LONGEST:
        end = piece.rfind(" ", start + LONGEST // 2, start + LONGEST)
        end = start + LONGEST if end < 0 else end
        said = piece[start:end].strip()
        if said:
            yield said
        start = end
    said = piece[start:].strip()
    if said:
        yield said
