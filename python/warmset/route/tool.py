"""`Payload.more` as a tool: a model asks for what its payload lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset._support.aio import twin
from warmset._support.locks import guarded
from warmset.errors import InvalidInputError
from warmset.messages import known_dialect
from warmset.messages.tool_calls import (
    UnusableError,
    answer,
    arguments,
    joined,
    listed_calls,
    read_call,
)
from warmset.messages.tool_definitions import Tool, tool_definitions
from warmset.pick.base import quoted
from warmset.route.found import THERE
from warmset.route.quoted import guard, one_line
from warmset.text.markup import ITEMS, ITEMS_CLOSING
from warmset.tokens import message_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from warmset.messages import Dialect, Message
    from warmset.route.candidates import Candidate
    from warmset.route.found import Found
    from warmset.route.more import Granting

REQUEST_CONTEXT: Final = "request_context"
"""The name of the tool."""

MAX_NAMES: Final = 16
"""Names that one call may have."""

MAX_GRANTED: Final = 8
"""Items that one call may be granted, beside what they depend on."""

MAX_REQUEST: Final = 2_000
"""The most characters of a request."""

_MOST_NAME: Final = 80
_MOST_REFUSED: Final = 8
"""Characters of a name that a refusal repeats, and refusals that an answer names."""

_TOOL: Final = Tool(
    REQUEST_CONTEXT,
    (
        "Ask for more of what this task may know, where the context lacks something that you need. "
        f"Say what is to be known, and up to {MAX_GRANTED} items that answer it best are quoted; "
        "or name items. They count against a token budget, so ask only for what you need."
    ),
    {
        "request": {
            "type": "string",
            "description": "What is to be known, in words; an empty text if items are named",
        },
        "ids": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"Names of items without the #, at most {MAX_NAMES}; an empty list for "
            "those that answer the request",
        },
    },
)

_EXHAUSTED: Final = "The token budget is exhausted. Answer with what you have."
_ALL_THERE: Final = "All that answers it stands in the context already."
_UNKNOWN: Final = f"There is no such tool; there is {REQUEST_CONTEXT}."


def context_tools(dialect: Dialect, *, strict: bool = False) -> list[dict[str, Any]]:
    """Return the definitions that `Payload.tools` has, to be counted by `Router.route` as tools.

    Args:
        dialect: The dialect of the API.
        strict: Whether the API should enforce the schema; Gemini has no such option.

    Raises:
        UnknownDialectError: There is no such dialect.
    """
    return tool_definitions([_TOOL], known_dialect(dialect), strict=strict)


@guarded("self._granting.lock", writes=("_spent",), calls=("_granted", "_told"))
class PayloadTools:
    """The tool with which a model asks for more than its payload has; see `Payload.tools`.

    Every answer counts against what is left of the payload's budget, as the message that it is. So
    the payload and all answers together stay within the budget; only a refusal, which is one short
    sentence then, is given when nothing is left. Instances are thread-safe.

    Attributes:
        definitions: The tool as the `tools` of a request.
        dialect: The dialect of the calls and the answers.
    """

    def __init__(self, granting: Granting, *, dialect: Dialect, strict: bool) -> None:
        self._granting = granting
        self._spent = 0
        self._names: dict[str, None] = {}
        self.dialect: Dialect = dialect
        self.definitions: list[dict[str, Any]] = context_tools(dialect, strict=strict)

    def __repr__(self) -> str:
        return f"PayloadTools({self.dialect}, {self.left} tokens left)"

    @property
    def left(self) -> int:
        """What is left of the payload's budget, in tokens."""
        return self._granting.left

    @property
    def spent(self) -> int:
        """Tokens of all answers so far."""
        return self._spent

    @property
    def granted(self) -> tuple[str, ...]:
        """The names of the items that were granted, in that order."""
        return tuple(self._names)

    def handles(self, call: object) -> bool:
        """Return whether a tool call is for this tool."""
        try:
            return read_call(call, self.dialect).name == REQUEST_CONTEXT
        except InvalidInputError:
            return False

    def run(self, call: object) -> Message:
        """Run a tool call.

        Args:
            call: The provider's tool call: an element of `tool_calls`, a `function_call` item, a
                `tool_use` block, or a `functionCall`; a mapping, or the SDK's object.

        Returns:
            The message that answers it, to be sent after the message with the call. Its text
            reports invalid arguments, and why items were not granted.

        Raises:
            InvalidInputError: It is not a tool call of the dialect.
            EmbedderError: The embedder failed.
            StoreError: The store could not be read.
        """
        one = read_call(call, self.dialect)

        def said(text: str) -> Message:
            return answer(one, text, self.dialect)

        def failed(text: str) -> Message:
            return answer(one, text, self.dialect, failed=True)

        if one.name != REQUEST_CONTEXT:
            with self._granting.lock:
                return self._told([_UNKNOWN], failed)
        try:
            request, names = _wanted(arguments(one.arguments))
        except UnusableError as error:
            with self._granting.lock:
                return self._told([str(error)], failed)
        found = self._granting.find(request, names)
        with self._granting.lock:
            return self._granted(found, said)

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

    def _granted(self, found: Found, said: Callable[[str], Message]) -> Message:
        """Answer with what fits, so that a refusal has room after it."""
        room = self.left - self._cost(said(_EXHAUSTED))

        def quoted_whole(quotes: Iterable[str]) -> str:
            return f"{ITEMS}{''.join(quotes)}{ITEMS_CLOSING}"

        taken = self._granting.take(
            found,
            lambda lines: self._cost(said(quoted_whole(line.quote for line in lines))),
            room,
            most=MAX_GRANTED,
        )
        self._names.update((one.memory_id, None) for one in taken)
        if not taken:
            return self._told(_refusals(found, self.left), said)
        text = quoted_whole(found.lines[one.id].quote for one in taken)
        reports = _refusals(found, self.left, taken)
        refusals = [f"{text}\n{why}" for why in reports if why != _ALL_THERE]
        return self._told([*refusals, text], said)

    def _told(self, texts: Sequence[str], said: Callable[[str], Message]) -> Message:
        """Answer with the first text that leaves room for a refusal, else with a refusal."""
        room = self.left - self._cost(said(_EXHAUSTED))
        answers = (said(text) for text in texts)
        made = next((one for one in answers if self._cost(one) <= room), None)
        made = said(_EXHAUSTED) if made is None else made
        cost = self._cost(made)
        self._spent += cost
        self._granting.spend(cost)
        return made

    def _cost(self, message: Message) -> int:
        return message_tokens([message], self._granting.encoding)[0]

    arun = twin(run)
    arun_all = twin(run_all)


def _wanted(given: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """Return what a call asks for: a request, names, or both.

    Raises:
        UnusableError: It asks for nothing, or for too much.
    """
    request, ids = given.get("request"), given.get("ids")
    request = "" if request is None else request
    ids = [] if ids is None else ids
    if not isinstance(request, str) or len(request) > MAX_REQUEST:
        raise UnusableError(f'"request" must be a text of at most {MAX_REQUEST} characters.')
    if not isinstance(ids, list | tuple) or not all(isinstance(one, str) for one in ids):
        raise UnusableError('"ids" must be a list of names, as {"request": "", "ids": ["a"]}.')
    if len(ids) > MAX_NAMES:
        raise UnusableError(f'"ids" has too many names; at most {MAX_NAMES} can be asked for.')
    plain = request.encode("utf-8", "replace").decode().strip()
    if not plain and not ids:
        raise UnusableError('Say in "request" what is to be known, or name items in "ids".')
    return plain or None, list(ids)


def _refusals(found: Found, left: int, taken: Sequence[Candidate] = ()) -> list[str]:
    """Return what is said of what was refused or is missing, the longest text first."""
    refused = [
        (name, why)
        for name, why in found.refused.items()
        if why != THERE or name in found.named  # of what a request finds, nobody asked for that
    ]
    refused += [
        (one.memory_id, f"{one.needed_by[:_MOST_NAME]} depends on it; {one.reason}")
        for one in found.missed_by(taken)
    ]
    if not refused:
        return [_ALL_THERE] if found.refused else []
    lines = [f"- {guard(quoted(name[:_MOST_NAME]))}: {_plain(why)}" for name, why in refused]
    rest = len(lines) - _MOST_REFUSED
    more = [f"- and {rest} more"] if rest > 0 else []
    tail = f"{left} tokens were left of the budget."
    whole = "\n".join(["Not granted:", *lines[:_MOST_REFUSED], *more, tail])
    return [whole, f"Not granted: {len(refused)} of them. {tail}"]


def _plain(text: str) -> str:
    """Return a text in one line that cannot pass for the quotation's mark-up."""
    return guard(one_line(text))
