"""Prepared summaries in the store: one record each, validated by the hash of the prefix."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset import messages
from warmset.errors import StoreError
from warmset.prepare.boundaries import prefix_hash
from warmset.quote.format import fenced
from warmset.store.derived import derived_draft
from warmset.summarize import HEADING
from warmset.tokens import message_tokens
from warmset.window.choices import Settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect, Message
    from warmset.prepare.boundaries import Span
    from warmset.state.ledger import Ledger
    from warmset.store.derived import Made
    from warmset.store.records import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A summary that can replace the messages before its boundary.

    Args:
        id: The id of its record; None while the record is in the spool.
        boundary: The number of messages before it; each is summarised or stays unchanged.
        last: The id of the last message before the boundary; a path with it has all of them.
        held: Positions before the boundary that stay unchanged, ascending.
        place: The position of the first message that it replaces.
        settled: The summary as it is shown, and the messages that it replaces.
        dialect: The dialect of the conversation.
        text: The summary.
        tokens: The tokens of the message that shows it.
        before: The tokens of the messages that it replaces.
        spent: Tokens that its model used.
        focus: What it keeps above all.
        now: Whether it was asked for: the next window shows it, below the budget as well.
        size: The tokens that the policy's shares were of when it was made.
        milliseconds: How long it took to write.
        adopted: Whether another process, or an earlier one, had prepared it.
    """

    id: int | None
    boundary: int
    last: int
    held: tuple[int, ...]
    place: int
    settled: Settled
    dialect: Dialect
    text: str
    tokens: int
    before: int
    spent: int
    focus: str | None = None
    now: bool = False
    size: int = 0
    milliseconds: float = 0.0
    adopted: bool = False

    @property
    def message(self) -> Message:
        """The summary as a message of the conversation's dialect; a new object for each caller."""
        return messages.text_message(self.dialect, "user", self.settled.text)

    def fits(self, engine: Engine, ledger: Ledger) -> bool:
        """Return whether it is still valid for the front of the conversation."""
        path = ledger.history.path
        return (
            len(path) > self.boundary
            and path[self.boundary - 1] == self.last
            and (self.id is None or self.id in engine.derived)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """The messages that a summary replaces.

    Args:
        boundary: The number of messages before it; each is summarised or stays unchanged.
        covered: Ids of the messages that it replaces.
        before: Their tokens.
        spent: Tokens that its model used.
        focus: What it keeps above all.
        now: Whether it was asked for; see `Ready`.
        size: The tokens that the policy's shares were of.
        milliseconds: How long it took to write.
        adopted: Whether another process, or an earlier one, had prepared it.
    """

    boundary: int
    covered: set[int]
    before: int
    spent: int
    focus: str | None = None
    now: bool = False
    size: int = 0
    milliseconds: float = 0.0
    adopted: bool = False


def ready_of(engine: Engine, ledger: Ledger, id_: int | None, text: str, cover: Cover) -> Ready:
    """Return a summary that is valid for the conversation, ready to be shown.

    It is shown as a user message, marked as data and not as an instruction; no part of its text can
    be mistaken for quoted turns.
    """
    path, dialect = ledger.history.path[: cover.boundary], ledger.dialect or "openai"
    ids = tuple(one for one in path if one in cover.covered)
    words = fenced(f"{HEADING}\n{text}")
    shown = Settled(id_, cover.boundary, words, engine.count(words), ids)
    message = messages.text_message(dialect, "user", shown.text)
    return Ready(
        id=id_,
        boundary=cover.boundary,
        last=path[-1],
        held=tuple(at for at, one in enumerate(path) if one not in cover.covered),
        place=next((at for at, one in enumerate(path) if one in cover.covered), 0),
        settled=shown,
        dialect=dialect,
        text=text,
        tokens=message_tokens([message], engine.encoding)[0],
        before=cover.before,
        spent=cover.spent,
        focus=cover.focus,
        now=cover.now,
        size=cover.size,
        milliseconds=cover.milliseconds,
        adopted=cover.adopted,
    )


def draft(
    ledger: Ledger,
    span: Span,
    prefix: str,
    policy: str,
    text: str,
    previous: Ready | None,
    figures: dict[str, Any],
) -> Draft:
    """Return the draft of a summary's record.

    Args:
        ledger: The conversation.
        span: The messages that it replaces.
        prefix: The hash of the messages before its boundary.
        policy: The fingerprint of the policy.
        text: The summary.
        previous: The summary that it continues.
        figures: Statistics of the summary.
    """
    before = span.cost + (0 if previous is None else previous.before)
    fields = {
        "mark": span.boundary,
        "prefix": prefix,
        "policy": policy,
        "before": before,
        **figures,
    }
    if previous is not None:
        fields["goes_on"] = True
    payload = text.encode("utf-8", "surrogatepass")
    sources = sources_of(span.ids, previous, ledger.history.path)
    return derived_draft("prepared", ledger.tenant, ledger.name, fields, payload, sources)


def sources_of(ids: Sequence[int], previous: Ready | None, path: Sequence[int]) -> tuple[int, ...]:
    """Return the ids of a summary's source records: messages, and the previous summary.

    A previous summary in the spool has no id yet; then its messages are returned instead.
    """
    if previous is None:
        return tuple(ids)
    if previous.id is not None:
        return (*ids, previous.id)
    held = {path[at] for at in previous.held}
    return (*(one for one in path[: previous.boundary] if one not in held), *ids)


def episode(
    ledger: Ledger, what: str, figures: dict[str, Any], sources: tuple[int, ...] = ()
) -> Draft:
    """Return the draft of a summary's event, for `Memory.episodes`."""
    fields = {"what": what, "at": time.time(), "figures": figures}
    return derived_draft("episode", ledger.tenant, ledger.name, fields, b"", sources)


def read(engine: Engine, ledger: Ledger, made: Made, policy: str) -> Ready | None:
    """Read a summary's record; None if it has another policy, or replaces other messages.

    Raises:
        StoreError: The record could not be read.
    """
    path, boundary = ledger.history.path, made.fields.get("mark")
    if (
        made.fields.get("policy") != policy
        or "prefix" not in made.fields  # a provider's compaction
        or not isinstance(boundary, int)
        or not 0 < boundary < len(path)
    ):
        return None
    try:
        if prefix_hash(engine.store, path[:boundary]) != made.fields.get("prefix"):
            return None
    except StoreError:
        return None
    covered = covered_by(engine, made)
    if not covered or not covered.issubset(path[:boundary]):
        return None  # it was made from equal messages on another branch
    text = engine.store.get(made.id).payload.decode("utf-8", "surrogatepass")
    spent, before, size = (made.fields.get(name) for name in ("spent", "before", "size"))
    focus = made.fields.get("focus")
    cover = Cover(
        boundary=boundary,
        covered=covered,
        before=before if isinstance(before, int) else 0,
        spent=spent if isinstance(spent, int) else 0,
        focus=focus if isinstance(focus, str) else None,
        now=made.fields.get("now") is True,
        size=size if isinstance(size, int) else 0,
        adopted=True,
    )
    return ready_of(engine, ledger, made.id, text, cover)


def covered_by(engine: Engine, made: Made) -> set[int]:
    """Return the messages that a summary and its previous summaries replace."""
    covered: set[int] = set()
    waiting: list[Made] = [made]
    while waiting:
        for source in waiting.pop().sources:
            earlier = engine.derived.get(source)
            if earlier is not None and earlier.kind == "prepared":
                waiting.append(earlier)
            else:
                covered.add(source)
    return covered
