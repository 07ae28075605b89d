"""Fixes of errors: learnt once, found again for the same error, ranked by how well they work.

A fix is an item of type "error_fix". Its text is the error and the fix, so that both stand in a
payload, and a further line of the error is indented: the first line that begins with "fix: " is
where the fix begins.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from warmset._core import content_hash
from warmset._support.names import fault_of
from warmset.compact.weights import is_number
from warmset.errors import InvalidInputError
from warmset.items.ask import Ask, Question, names_of
from warmset.items.cells import item_of
from warmset.items.marks import change_columns
from warmset.items.new import NewItem
from warmset.items.rewards import FIX, TRUSTED, UNKNOWN, after_outcome, expected_reward
from warmset.options import Weights
from warmset.route.errors_alike import READ, alike, error_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset._core import Cell, Held
    from warmset.items import Items
    from warmset.items.item import MemoryItem, Origin
    from warmset.items.shelf import Shelf

SIMILARITY: Final = 0.6
"""The least similarity of a fix's error with the one that it is used for."""

REWARD: Final = 0.5
"""The least reward that is expected of a fix that is used."""

MOST: Final = 256
"""The most fixes that are compared with an error: the most similar by words, and by vectors."""

SEEN: Final = 16 * MOST
"""The most of which these are chosen; those that may not be used anyway take no place."""

_ERROR: Final = "error: "
_FIX: Final = "\nfix: "
_SUMMARY: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedFix:
    """A fix that worked for an error like this one.

    Args:
        memory_id: Its name.
        error: The error that it was learnt for.
        fix: What to do.
        similarity: How similar that error is to this one, 0 to 1.
        reward: What is expected of it, 0 to 1: `(1 + sum of its rewards) / (2 + their number)`.
        score: The similarity times the reward.
        outcomes: How many outcomes of it were reported.
        origin: Whose words it has.
        id: The id of its record, which is another one when its text is changed.
    """

    memory_id: str
    error: str
    fix: str
    similarity: float
    reward: float
    score: float
    outcomes: int
    origin: Origin
    id: int


class Meant(NamedTuple):
    """What may be a fix that an outcome was reported of.

    Attributes:
        memory_id: Its name.
        id: The id of its record; None for the newest one of that name.
        is_own: Whether it was applied, and did not only stand in a payload.
    """

    memory_id: str
    id: int | None
    is_own: bool


class Fixes:
    """The fixes of a tenant.

    Args:
        items: Its items.
    """

    def __init__(self, items: Items) -> None:
        self._items = items
        self._sources = items.sources

    def learn(
        self,
        error: str,
        fix: str,
        *,
        origin: Origin,
        keys: Sequence[str],
        conversation: str | None,
        derived_from: Sequence[str],
        reward: float | None,
    ) -> str:
        """Store a fix; see `Router.learn_fix`."""
        for name, text in (("error", error), ("fix", fix)):
            if not isinstance(text, str) or not text.strip():
                raise InvalidInputError(f"{name}: expected a text, found {text!r:.80}")
        redactor = self._sources.handle.redactor
        lines = error.strip().splitlines()
        indented = "\n  ".join(lines)
        item = NewItem(
            memory_type=FIX,
            text=f"{_ERROR}{indented}{_FIX}{fix.strip()}",
            summary=lines[-1].strip()[:_SUMMARY],
            keys=keys,
            conversation=conversation,
            derived_from=derived_from,
            origin=origin,
            reward=reward,
        )
        whose = [item.conversation, item.origin, list(item.derived_from) or None]
        said = [error_text(redactor.text(error)).plain, redactor.text(fix).strip(), *whose]
        digest = content_hash(json.dumps(said).encode()).hex()
        item = replace(item, memory_id=f"fix:{digest[:32]}")
        there = self._sources.shelf().named(item.memory_id)
        if there is not None and not there.archived:  # a new version would forget its outcomes
            return f"{item.memory_id}"
        return self._items.put(item)

    def find(
        self,
        error: str,
        *,
        similarity: float,
        reward: float,
        conversation: str | None,
        keys: Iterable[str],
    ) -> CachedFix | None:
        """Return the best fix; see `Router.fix_for`."""
        if not isinstance(error, str) or not error.strip():
            raise InvalidInputError(f"error: expected a text, found {error!r:.80}")
        for name, least in (("similarity", similarity), ("reward", reward)):
            check_share(name, least)
        if conversation is not None and (fault := fault_of(conversation)) is not None:
            raise InvalidInputError(f"conversation: {fault}")
        named = names_of("keys", keys)
        error = self._sources.handle.redactor.text(error)
        ask = Ask(
            k=SEEN,
            types=frozenset((FIX,)),
            conversation=conversation,
            labels={"keys": named} if named else {},
            floor=0.0,
        )
        found = self._alike(error, ask)
        usable = [one for one in found if one.similarity >= similarity and one.reward >= reward]
        return min(usable, key=lambda one: (-one.score, one.id), default=None)

    def _alike(self, error: str, ask: Ask) -> list[CachedFix]:
        """Return the fixes that may be used, each with how similar its error is."""
        shelf = self._sources.shelf()
        own = error_text(error)
        words = own.plain if own.plain.strip() else error
        held = self._usable(shelf, ask, Question(text=words[:READ]))
        vector = self._sources.vector(error)
        cosines: dict[int, float] = {}
        if vector is not None:
            by_vectors = Question(
                text=words[:READ], vector=vector, weights=Weights(dense=1.0, lexical=0.0)
            )
            near = self._usable(shelf, ask, by_vectors)
            cosines = {id_: similarity for id_, (_held, similarity) in near.items()}
            held |= near
        weights = self._sources.weights
        both = weights.dense + weights.lexical
        made: list[CachedFix] = []
        for cell in shelf.cells([one for one, _similarity in held.values()]):
            if cell is None or cell.columns.get("archived"):
                continue
            item = item_of(cell)
            if not may_be_used(item):
                continue
            before, fix = parts_of(item)
            same = alike(own, error_text(before))
            cosine = cosines.get(item.id)
            if cosine is not None and both > 0:
                same = (weights.dense * cosine + weights.lexical * same) / both
            expected = expected_reward(item.reward, item.outcomes, item.origin)
            made.append(
                CachedFix(
                    memory_id=item.memory_id,
                    error=before,
                    fix=fix,
                    similarity=same,
                    reward=expected,
                    score=same * expected,
                    outcomes=item.outcomes,
                    origin=item.origin or "import",
                    id=item.id,
                )
            )
        return made

    def _usable(self, shelf: Shelf, ask: Ask, question: Question) -> dict[int, tuple[Held, float]]:
        """Return the most similar fixes that may be used, each with its similarity, by id."""
        [answer] = shelf.find([ask], question)
        found: dict[int, tuple[Held, float]] = {}
        for hit in answer.found:
            held = shelf.get(hit.id)
            if held is not None and (held.origin in TRUSTED or (held.reward or 0.0) > UNKNOWN):
                found[hit.id] = held, hit.similarity
                if len(found) == MOST:
                    break
        return found

    def report(self, outcomes: Sequence[Meant], reward: float) -> tuple[str, ...]:
        """Count an outcome; see `Router.outcome`.

        Args:
            outcomes: What may be fixes that it is the outcome of.
            reward: How well they worked.

        Returns:
            The names of the fixes that it was counted for.
        """
        engine = self._sources.handle.live()
        engine.must_write()
        shelf = self._sources.shelf()
        held = [(one, there) for one in outcomes if (there := shelf.named(one.memory_id))]
        meant = [(one, there) for one, there in held if there.names("type") == (FIX,)]
        counted: list[str] = []

        def changed(cells: Sequence[Cell | None]) -> list[dict[str, Any] | None]:
            counted.clear()
            found: list[dict[str, Any] | None] = []
            for cell, (one, _there) in zip(cells, meant, strict=True):
                # What was put anew meanwhile is another fix, and what is not trusted is not
                # confirmed by the outcome of a payload in which it only stood.
                if (
                    cell is None
                    or one.id not in (None, cell.version)
                    or not (one.is_own or may_be_used(item_of(cell)))
                ):
                    found.append(None)
                else:
                    found.append(after_outcome(cell.columns, reward))
                    counted.append(one.memory_id)
            return found

        if meant:
            change_columns(engine, shelf, [there.name for _one, there in meant], changed)
        return tuple(counted)


def may_be_used(fix: MemoryItem) -> bool:
    """Return whether a fix may be used without being looked at.

    What tools, the web and imports say is text of strangers: it must have been confirmed, by at
    least one outcome of its own and outcomes that speak for it on the whole.
    """
    if fix.origin in TRUSTED:
        return True
    return expected_reward(fix.reward, fix.outcomes, fix.origin) > UNKNOWN


def parts_of(item: MemoryItem) -> tuple[str, str]:
    """Return the error and the fix that an item has.

    One that was put without the form of `Router.learn_fix` is the fix alone, and its summary says
    what the error is.
    """
    before, found, fix = item.text.partition(_FIX)
    if found and before.startswith(_ERROR):
        return before.removeprefix(_ERROR).replace("\n  ", "\n"), fix
    return item.summary or "", item.text


def check_share(name: str, given: object) -> float:
    """Return a number from 0 to 1.

    Raises:
        InvalidInputError: It is none.
    """
    if not is_number(given) or not 0 <= given <= 1:
        raise InvalidInputError(f"{name}: expected 0 to 1, found {given!r:.80}")
    return float(given)
