"""Checks a session of `agent_recall` against the rules of making: README.md beside the sessions.

python -m warmset.lab.corpus.agents_check FILE...
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from warmset._core import terms
from warmset.errors import InvalidInputError
from warmset.lab.corpus import agents, rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from warmset.lab.corpus.transcript import Transcript

TURNS: Final = (300, 600)
"""The least and the greatest number of turns."""

BYTES: Final = 230_000
LOOP: Final = 5
"""Calls between two turns of users that make an agent's loop."""

LOOPS: Final = 3
ITEMS: Final = (3, 8)
"""The least and the greatest number of turns that answer a question for a list."""

SHORT: Final = 4
"""Words of a decision's answer up to which it has to stand in the evidence literally."""

GROUNDED: Final = 0.6
"""The part of an answer's content words that has to stand in its evidence."""

SHARED: Final = 0.4
"""The part of a question's content words from which it counts as worded like its evidence."""

THIRD: Final = 0.2
"""The least part of all evidence that each third of the session has."""

SENTENCE: Final = 6
"""Words from which a text of a person or of the agent may be there once only."""

_LITERAL: Final = ("value", "path", "superseded")
_JOINTS: Final = re.compile(r"\s*[;,]\s+|\s+(?:and|und|et|y)\s+")
_MARKS: Final = re.compile(r"[`\"'“”„«»*]")
_STOP: Final = frozenset((agents.shipped() / "grammar.txt").read_text("utf-8").split())


def problems(value: object, *, name: str | None = None) -> list[str]:
    """Return what is wrong with a session; nothing if it keeps to all rules.

    Args:
        value: The JSON value of its file.
        name: The name that it has to have, that of its file; None to leave it unchecked.
    """
    try:
        transcript = agents.read(value)
    except InvalidInputError as error:
        return [str(error)]
    session = rows.mapping(value, "the session")
    check = _Check(session, transcript)
    found = [*check.turns(), *check.questions(), *check.spread()]
    if name not in (None, transcript.name):
        found.append(f"name: expected {name!r}, that of the file, found {transcript.name!r}")
    return found


def problems_of(path: Path) -> list[str]:
    """Return what is wrong with the file of a session, its layout included.

    Raises:
        InvalidInputError: It cannot be read.
    """
    with rows.reading(path):
        value = rows.whole(path)
        text = path.read_text(encoding="utf-8")
    found = problems(value, name=path.stem)
    if len(text.encode()) > BYTES:
        found.append(f"size: expected at most {BYTES} bytes, found {len(text.encode())}")
    lines = set(map(_parsed, text.splitlines()))
    apart = [*value["turns"], *value["questions"]] if not found else []
    if any(json.dumps(one) not in lines for one in apart):
        found.append("layout: expected each turn and each question on a line of its own")
    return found


def content_words(text: str) -> list[str]:
    """Return the terms of a text, those of its grammar left out (four languages)."""
    return terms(" ".join(word for word in re.findall(r"\S+", _plain(text)) if _bare(word)))


def main(names: Sequence[str]) -> int:
    """Check files, and write what is wrong with each.

    Returns:
        1 if anything is wrong, else 0.
    """
    bad = 0
    for name in names:
        found = problems_of(Path(name))
        bad += bool(found)
        sys.stdout.write("".join(f"{name}: {one}\n" for one in found or ["it keeps to the rules"]))
    return int(bad > 0)


class _Check:
    """The rules, one method for what they are about."""

    def __init__(self, session: dict[str, Any], transcript: Transcript) -> None:
        self._turns: list[dict[str, Any]] = session["turns"]
        self._asked: list[dict[str, Any]] = session["questions"]
        self._transcript = transcript
        self._texts = {turn["id"]: _plain(_all_text(turn)) for turn in self._turns}
        self._order = {turn["id"]: place for place, turn in enumerate(self._turns)}

    def turns(self) -> Iterator[str]:
        """Check the turns among themselves."""
        low, high = TURNS
        if not low <= len(self._turns) <= high:
            yield f"turns: expected {low} to {high}, found {len(self._turns)}"
        for one, two in pairwise(self._turns):
            if one["at"] > two["at"]:
                yield f"{two['id']}: it is earlier than {one['id']}"
        calls = [call["id"] for turn in self._turns for call in turn.get("calls", ())]
        yield from (f"call {id_}: its id is not unique" for id_ in _repeated(calls))
        said = [
            " ".join(re.sub(r"\d+", "0", self._texts[turn["id"]]).split())
            for turn in self._turns
            if turn["role"] != "tool" and len(turn.get("content", "").split()) >= SENTENCE
        ]
        yield from (f"said twice, numbers apart: {text:.60}" for text in _repeated(said))
        loops = sum(calls >= LOOP for calls in self._calls_between_users)
        if loops < LOOPS:
            yield f"loops: expected at least {LOOPS} of {LOOP} calls or more, found {loops}"

    @cached_property
    def _calls_between_users(self) -> list[int]:
        counts = [0]
        for turn in self._turns:
            if turn["role"] == "user":
                counts.append(0)
            counts[-1] += len(turn.get("calls", ()))
        return counts

    def questions(self) -> Iterator[str]:
        """Check each question, and how many there are of each kind."""
        counts = Counter(item["kind"] for item in self._asked)
        for kind, wanted in agents.KINDS.items():
            if counts[kind] != wanted:
                yield f"{kind}: expected {wanted} questions, found {counts[kind]}"
        for key in ("id", "question"):
            for text in _repeated([item[key] for item in self._asked]):
                yield f"{key} {text!r}: two questions have it"
        for item in self._asked:
            yield from (f"{item['id']}: {said}" for said in self._question(item))

    def _question(self, item: dict[str, Any]) -> Iterator[str]:
        yield from self._named(item)
        if item["kind"] == agents.UNANSWERABLE:
            return
        answer, named = item["answer"], item["evidence"]
        wanted = content_words(answer)
        asked = set(content_words(item["question"]))
        if _stands(answer, _plain(item["question"])) or (wanted and asked.issuperset(wanted)):
            yield f"its answer {answer!r} stands in the question"
        there = self._words(named)
        short = item["kind"] == "decision" and len(answer.split()) <= SHORT
        if item["kind"] in _LITERAL or short:
            yield from self._literal(answer, named, item.get("outdated", []))
        elif item["kind"] == "who":
            if there.isdisjoint(wanted):
                yield f"its answer {answer!r} is not in the evidence"
        elif item["kind"] != "when":
            part = sum(word in there for word in wanted) / max(len(wanted), 1)
            if part < GROUNDED:
                yield f"only {part:.0%} of the answer's words are in the evidence"

    def _named(self, item: dict[str, Any]) -> Iterator[str]:
        """Check which turns a question names."""
        kind, named, outdated = item["kind"], item["evidence"], item.get("outdated", [])
        if len(set(named)) != len(named):
            yield "a turn is named twice as evidence"
        if kind == "list" and not ITEMS[0] <= len(named) <= ITEMS[1]:
            yield f"a list has evidence of {ITEMS[0]} to {ITEMS[1]} turns, found {len(named)}"
        if kind == "error" and len(named) < 2:  # noqa: PLR2004 - the error, and what mended it
            yield "evidence of an error is the turn of the error and that of its mend"
        if bool(outdated) is not (kind == "superseded"):
            yield "outdated turns belong to a superseded value, and to nothing else"
        elif outdated and max(map(self._place, outdated)) >= min(map(self._place, named)):
            yield "an outdated turn comes before the evidence"

    def _literal(
        self, answer: str, named: Sequence[str], outdated: Collection[str]
    ) -> Iterator[str]:
        """Check that the evidence, and no other turn, has an answer literally."""
        if any(_stands(answer, self._texts[id_]) for id_ in named):
            parts = [answer]
        else:
            parts = [part for part in _JOINTS.split(answer) if part.strip()]
        for part in parts:
            if not any(_stands(part, self._texts[id_]) for id_ in named):
                yield f"{part!r} of its answer is not in the evidence"
        for id_ in named:
            if not any(_stands(part, self._texts[id_]) for part in parts):
                yield f"evidence {id_} has nothing of the answer {answer!r}"
        for id_, text in self._texts.items():
            if id_ in named or id_ in outdated:
                continue
            if all(_stands(part, text) for part in parts):
                yield f"{id_} has the answer {answer!r} too"

    def spread(self) -> Iterator[str]:
        """Check where evidence is, and how near questions are to its words."""
        places = [self._place(id_) for item in self._asked for id_ in item["evidence"]]
        thirds = Counter(place * 3 // max(len(self._turns), 1) for place in places)
        for third in range(3):
            part = thirds[third] / max(len(places), 1)
            if part < THIRD:
                yield f"third {third + 1}: expected {THIRD:.0%} of the evidence, found {part:.0%}"
        asked = [item for item in self._asked if item["evidence"]]
        apart = sum(self._overlap(item) < SHARED for item in asked)
        if apart * 2 < len(asked):
            near = ", ".join(item["id"] for item in asked if self._overlap(item) >= SHARED)
            yield (
                f"wording: {apart} of {len(asked)} questions share less than {SHARED:.0%} of their "
                f"words with the evidence, expected half; these share more: {near}"
            )

    def _overlap(self, item: dict[str, Any]) -> float:
        words = set(content_words(item["question"]))
        return len(words & self._words(item["evidence"])) / max(len(words), 1)

    def _words(self, ids: Iterable[str]) -> set[str]:
        return {word for id_ in ids for word in content_words(self._texts[id_])}

    def _place(self, id_: str) -> int:
        return self._order[id_]


def _parsed(line: str) -> str:
    try:
        return json.dumps(json.loads(line.strip().removesuffix(",")))
    except ValueError:
        return ""


def _all_text(turn: dict[str, Any]) -> str:
    """Return everything that a turn says: a name, the text, calls with their arguments."""
    parts = [turn.get("name", ""), turn.get("content", "")]
    for call in turn.get("calls", ()):
        parts += [call["name"], *_leaves(call["arguments"])]
    return "\n".join(parts)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield str(value)


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", unicodedata.normalize("NFKC", text)).casefold().split())


def _bare(word: str) -> bool:
    return word.strip(".,:;!?()[]¿¡…") not in _STOP


def _stands(answer: str, text: str) -> bool:
    """Return whether an answer stands in a plain text as whole words and whole numbers."""
    wanted = _plain(answer).rstrip(" .,;:!?")
    before = r"(?<!\d[.,:])" if wanted[:1].isdigit() else ""
    behind = r"(?![.,:]\d)" if wanted[-1:].isdigit() else ""
    return re.search(rf"(?<!\w){before}{re.escape(wanted)}(?!\w){behind}", text) is not None


def _repeated(items: Iterable[str]) -> list[str]:
    return [item for item, count in Counter(items).items() if count > 1]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
