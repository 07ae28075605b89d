"""Runs a model's tool calls, and shows turns while the budget lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset._support.aio import twin
from warmset._support.locks import guarded, lock
from warmset.errors import InvalidInputError
from warmset.messages.tool_calls import (
    UnusableError,
    answer,
    arguments,
    joined,
    listed_calls,
    read_call,
)
from warmset.options import least_score
from warmset.quote.format import index_line
from warmset.tokens import message_tokens
from warmset.tokens.budget import input_tokens
from warmset.tools import wording
from warmset.tools.schema import (
    COMPACT,
    FETCH,
    SEARCH,
    definitions,
    focus_of,
    ids_of,
    search_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warmset.messages import Dialect, Message
    from warmset.tools.reader import ToolReader
    from warmset.tools.wording import Shown

_LEAST: Final = 48
"""The least tokens of a turn's beginning that is shown."""

_WIDEST: Final = 64
"""The most characters of one token, for the search of a turn's beginning."""

_CUT: Final = " …"


@guarded(
    "self._lock",
    writes=("_spent",),
    calls=("_fetch", "_search", "_compacted"),
)
class TurnTools:
    """The tools of a conversation; see `Conversation.tools`.

    They are `fetch_turns` and `search_turns`, and `compact_conversation` where there is a prepared
    compaction.

    Every result counts against the budget, refusals included. Instances are thread-safe.

    Attributes:
        definitions: The tools as the `tools` of a request.
        dialect: The dialect of the calls and the results.
        budget: The most tokens that all results may have together.
    """

    def __init__(
        self,
        reader: ToolReader,
        *,
        budget: int,
        dialect: Dialect,
        strict: bool,
        compact: Callable[[str | None], bool] | None = None,
    ) -> None:
        self._reader = reader
        self._compact = compact
        self._lock = lock("tools")
        self._spent = 0
        self._granted: dict[int, None] = {}
        self.budget = input_tokens(budget)
        self.dialect: Dialect = dialect
        self.definitions: list[Any] = definitions(
            dialect, strict=strict, compact=compact is not None
        )

    def __repr__(self) -> str:
        return f"TurnTools({self._reader.name!r}, {self.dialect}, {self.left} tokens left)"

    @property
    def left(self) -> int:
        """The remaining tokens for results."""
        return max(0, self.budget - self._spent)

    @property
    def spent(self) -> int:
        """Tokens of all results so far; refusals are short, but may exceed the budget."""
        return self._spent

    @property
    def granted(self) -> tuple[int, ...]:
        """Ids of the turns that were shown, whole or cut, in that order."""
        return tuple(self._granted)

    def handles(self, call: object) -> bool:
        """Return whether a tool call is for these tools."""
        try:
            name = read_call(call, self.dialect).name
        except InvalidInputError:
            return False
        return name in (FETCH, SEARCH) or (name == COMPACT and self._compact is not None)

    def run(self, call: object) -> Message:
        """Run a tool call.

        Args:
            call: The provider's tool call: an element of `tool_calls`, a `function_call` item, a
                `tool_use` block, or a `functionCall`; a mapping, or the SDK's object.

        Returns:
            The message that answers it, to be sent after the message with the call. Its text
            reports invalid arguments, and turns for which the budget has no room.

        Raises:
            InvalidInputError: It is not a tool call of the dialect.
            EmbedderError: The embedder failed.
            StoreError: The store could not be read.
        """
        one = read_call(call, self.dialect)

        def said(text: str) -> Message:
            return answer(one, text, self.dialect)

        with self._lock:
            try:
                given = arguments(one.arguments)
                if one.name == FETCH:
                    made = said(self._fetch(ids_of(given), said))
                elif one.name == SEARCH:
                    made = said(self._search(*search_of(given), said))
                elif one.name == COMPACT and self._compact is not None:
                    made = said(self._compacted(focus_of(given), self._compact))
                else:
                    made = answer(one, wording.UNKNOWN, self.dialect, failed=True)
            except UnusableError as error:
                made = answer(one, str(error), self.dialect, failed=True)
            self._spent += self._cost(made)
            return made

    def run_all(self, calls: Iterable[object]) -> list[Message]:
        """Run all calls of one message; see `run`.

        Args:
            calls: Tool calls, in order.

        Returns:
            One message for each call, or one for all in dialects that require a single message.

        Raises:
            InvalidInputError: It is no list, or see `run`.
        """
        return joined([self.run(call) for call in listed_calls(calls)], self.dialect)

    def _fetch(self, ids: list[int], said: Callable[[str], Message]) -> str:
        found = self._reader.read(ids)
        missing = [id_ for id_, turn in found.items() if turn is None]
        turns = [turn for turn in found.values() if turn is not None]
        shown: list[Shown] = []
        refused: list[int] = []
        for turn in turns:
            if self._cost(said(wording.quoted([*shown, turn]))) <= self.left:
                shown.append(turn)
            else:
                refused.append(turn[0].id)
        while shown and self._cost(said(self._text(shown, missing, refused))) > self.left:
            refused.append(shown.pop()[0].id)  # make room for the note about refused turns
        if turns and not shown:
            rest = [id_ for id_ in refused if id_ != turns[0][0].id]
            beginning = self._beginning(turns[0], missing, rest, said)
            if beginning is not None:
                self._granted[turns[0][0].id] = None
                return beginning
        self._granted.update(dict.fromkeys(entry.id for entry, _ in shown))
        return self._text(shown, missing, refused)

    def _beginning(
        self, turn: Shown, missing: list[int], refused: list[int], said: Callable[[str], Message]
    ) -> str | None:
        """Return as much of a turn's beginning as fits; None if that is too short."""
        entry, whole = turn

        def text(length: int) -> str:
            part = (entry, whole[:length] + _CUT)
            return self._text([part], missing, refused, cut=entry.id)

        if self._cost(said(text(0))) + _LEAST > self.left:
            return None
        low, high = 0, min(len(whole), _WIDEST * self.left)
        while low < high:
            middle = (low + high + 1) // 2
            if self._cost(said(text(middle))) <= self.left:
                low = middle
            else:
                high = middle - 1
        return text(low)

    def _text(
        self, shown: Sequence[Shown], missing: list[int], refused: list[int], cut: int | None = None
    ) -> str:
        return wording.fetched(shown, missing, refused, cut=cut, exhausted=self._exhausted)

    @property
    def _exhausted(self) -> str:
        return wording.exhausted(self.left, self.budget)

    def _search(self, query: str, limit: int, said: Callable[[str], Message]) -> str:
        found = self._reader.search(query, limit)
        least = least_score([hit.score for hit in found])
        turns = self._reader.read([hit.id for hit in found if hit.score >= least])
        lines = [
            index_line(entry, text, self._reader.said_of(entry))
            for entry, text in filter(None, turns.values())
        ]
        if not lines:
            return "Nothing was found."
        while lines and self._cost(said(wording.found(lines))) > self.left:
            lines.pop()
        return wording.found(lines) if lines else self._exhausted

    def _compacted(self, focus: str | None, compact: Callable[[str | None], bool]) -> str:
        if not self.left:
            return self._exhausted
        return wording.COMPACTING if compact(focus) else wording.NOTHING_TO_COMPACT

    def _cost(self, message: Message) -> int:
        return message_tokens([message], self._reader.encoding)[0]

    arun = twin(run)
    arun_all = twin(run_all)
