"""A coding agent kept under 16,000 tokens for 100 calls, in five dialects and in two ways.

`python -m warmset.lab.demo.coding_agent` prints the table of the documentation's tutorial.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

from warmset.evict import BlobStore, Chain, ClearToolResults, OffloadLarge, TokenBudget, fit
from warmset.lab.demo.agent_session import coding_session
from warmset.memory import Memory
from warmset.messages import DIALECTS, convert, validate
from warmset.tokens import count_tokens, message_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.conversation import Conversation
    from warmset.messages import Dialect, Message, System

BUDGET: Final = 16_000
CALLS: Final = 100
_ENCODING: Final = "o200k_base"


@dataclass(frozen=True, slots=True)
class Sent:
    """The input of one call of the model.

    Args:
        messages: The messages.
        kept: How many of them are the agent's own, unchanged; the others replace messages.
    """

    messages: list[Message]
    kept: int


class Keeper(Protocol):
    """Reduces the whole list of an agent to what is sent, one call after the other."""

    def __call__(self, messages: list[Message], system: System | None, /) -> Sent:
        """Return the messages to send."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The figures of `CALLS` calls in one dialect.

    Args:
        way: How the list was kept within the budget.
        dialect: The dialect of the list.
        calls: How often the model was called.
        largest: Tokens of the largest list that was sent.
        refused: How many lists the provider would have rejected.
        kept: Messages sent as they were, on average.
        stand_ins: Messages sent that stand for others, on average.
        moves: How often something that the call before had sent was changed or left.
        cached: The part of what was sent that the call before had sent just so, at its front.
    """

    way: str
    dialect: Dialect
    calls: int
    largest: int
    refused: int
    kept: float
    stand_ins: float
    moves: int
    cached: float


def by_fit(dialect: Dialect) -> Keeper:
    """Return a keeper that fits every list from scratch, with `warmset.fit` and three policies."""
    policy = Chain(ClearToolResults(keep=6), OffloadLarge(store=BlobStore()), TokenBudget())

    def keep(messages: list[Message], system: System | None, /) -> Sent:
        made = fit(messages, budget=BUDGET, policy=policy, dialect=dialect, system=system)
        return Sent(made.messages, len(made.kept))

    return keep


def by_conversation(conversation: Conversation) -> Keeper:
    """Return a keeper that appends what is new to a conversation, and calls `Conversation.fit`."""

    def keep(messages: list[Message], system: System | None, /) -> Sent:
        conversation.append(messages[len(conversation) :])
        made = conversation.fit(budget=BUDGET, system=system)
        return Sent(made.messages, len(made.ids))

    return keep


def run() -> list[Row]:
    """Replay the last calls of the session, in every dialect and both ways."""
    rows: list[Row] = []
    with Memory.open(None, embedder="lexical") as memory:
        for one in DIALECTS:
            lists, system = lists_of(one)
            rows.append(_replay("fit", one, lists, system, by_fit(one)))
            keeper = by_conversation(memory.conversation(one))
            rows.append(_replay("Conversation.fit", one, lists, system, keeper))
    return sorted(rows, key=lambda row: row.way != "fit")


def lists_of(dialect: Dialect) -> tuple[list[list[Message]], System | None]:
    """Return the agent's list at each of the last calls, as it grows, and its system prompt."""
    session = coding_session()
    answers = [at for at, message in enumerate(session) if message["role"] == "assistant"]
    begun = convert(session[: answers[0]], source="openai", target=dialect)
    lists = [begun.messages]
    for start, end in pairwise(answers):
        said = convert(session[start:end], source="openai", target=dialect)
        lists.append([*lists[-1], *said.messages])
    return lists[-CALLS:], begun.system


def _replay(
    way: str, dialect: Dialect, lists: list[list[Message]], system: System | None, keep: Keeper
) -> Row:
    """Simulate the calls of the model, and measure their inputs."""
    sent: list[Sent] = []
    tokens: list[int] = []
    refused = moves = cached = 0
    for messages in lists:
        one = keep(messages, system)
        tokens.append(count_tokens(one.messages, system=system))
        refused += bool(validate(one.messages, dialect=dialect))
        if sent:
            before = sent[-1].messages
            same = _same(before, one.messages)
            moves += same < len(before)
            cached += sum(message_tokens(one.messages[:same], _ENCODING))
        sent.append(one)
    return Row(
        way=way,
        dialect=dialect,
        calls=len(sent),
        largest=max(tokens),
        refused=refused,
        kept=sum(one.kept for one in sent) / len(sent),
        stand_ins=sum(len(one.messages) - one.kept for one in sent) / len(sent),
        moves=moves,
        cached=cached / sum(tokens[1:]),
    )


def _same(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Return how many messages at the front are the same in both."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def table(rows: Sequence[Row]) -> str:
    """Write the rows as a table of plain text."""
    session = coding_session()
    columns: dict[str, Callable[[Row], str]] = {
        "kept by": lambda row: row.way,
        "dialect": lambda row: row.dialect,
        "calls": lambda row: str(row.calls),
        "largest": lambda row: f"{row.largest:,}",
        "refused": lambda row: str(row.refused),
        "as they were": lambda row: f"{row.kept:.0f}",
        "stand-ins": lambda row: f"{row.stand_ins:.0f}",
        "moves": lambda row: str(row.moves),
        "cached": lambda row: f"{row.cached:.0%}",
    }
    lines = [list(columns), *([show(row) for show in columns.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    heading = (
        f"{len(session)} messages, {int(count_tokens(session)):,} tokens; "
        f"the last {CALLS} calls of the model, {BUDGET:,} tokens each at most"
    )
    return "\n".join([heading, "", *(_line(line, widths) for line in lines)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    sized = zip(cells, widths, strict=True)
    texts = (cell.ljust(w) if at < 2 else cell.rjust(w) for at, (cell, w) in enumerate(sized))  # noqa: PLR2004 - the first two are words
    return "  ".join(texts)


def main() -> None:
    """Print the table."""
    sys.stdout.write(f"{table(run())}\n")


if __name__ == "__main__":
    main()
