"""`trim_messages`: the call, its arguments and its result."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, overload

from warmset.adapters.langchain.checks import check
from warmset.adapters.langchain.counters import counter_of
from warmset.adapters.langchain.cut import cut
from warmset.adapters.langchain.partial import splitter
from warmset.adapters.langchain.rules import Rules
from warmset.adapters.langchain.shapes import converted, langchain, load_langchain, matcher, take
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import NotRequired, Unpack

    from warmset.adapters.langchain.counters import Counter
    from warmset.messages.model import Message

Types: TypeAlias = "str | type | Sequence[str | type] | None"
"""Which messages: a type as "human", a message class, or several of them."""


class Options(TypedDict):
    """The options of `trim_messages`, which documents them."""

    max_tokens: int
    token_counter: object
    strategy: NotRequired[Literal["first", "last"]]
    allow_partial: NotRequired[bool]
    end_on: NotRequired[Types]
    start_on: NotRequired[Types]
    include_system: NotRequired[bool]
    text_splitter: NotRequired[object]
    pairs: NotRequired[bool]


@overload
def trim_messages(messages: None = None, **options: Unpack[Options]) -> Any: ...
@overload
def trim_messages(messages: Iterable[Message], **options: Unpack[Options]) -> list[Message]: ...
@overload
def trim_messages(messages: Iterable[object], **options: Unpack[Options]) -> list[Any]: ...
def trim_messages(
    messages: Iterable[object] | None = None,
    *,
    max_tokens: int,
    token_counter: object,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Types = None,
    start_on: Types = None,
    include_system: bool = False,
    text_splitter: object = None,
    pairs: bool = True,
) -> Any:
    """Keep the last or the first messages that fit, with the arguments of langchain-core's.

    With `pairs`, calls and results are kept whole: the list is cut as langchain-core cuts it, then
    the cut moves towards the kept end until no tool call is parted from a result that the list has;
    results without any call are left out; a message of a tool exchange is never shortened. Only
    what is kept is read, so a malformed message that is cut away is not refused. A counter of lists
    is given short lists in the order in which they would be sent, and must be monotone: a longer
    list never costs less.

    Args:
        messages: Dicts in OpenAI's chat form, or what langchain-core takes. None for a runnable
            that takes them later; without langchain-core it is a plain function.
        max_tokens: Tokens that the result may have.
        token_counter: A function of a list; a function of one message, if its first parameter is
            annotated as BaseMessage or as a dict; a model with `get_num_tokens_from_messages`; or
            "approximate". Dicts are counted as dicts, by models and by functions that are
            annotated with BaseMessage, or fail for want of an attribute, as langchain's messages.
        strategy: Whether the "last" or the "first" messages are kept.
        allow_partial: Whether the first message that does not fit may be shortened.
        end_on: What the result ends on: a type as "human", a message class, or several.
        start_on: What the result begins with, after the system message; with "last" only.
        include_system: Whether a system message at the beginning is kept; with "last" only.
        text_splitter: How text is parted where a message is shortened: a function, or an object
            with `split_text`; by lines if None.
        pairs: Whether tool calls and results stay together. False is exactly langchain-core.

    Returns:
        The caller's own objects, in order; a shortened message is a new one. Strings and pairs of
        role and content come out as langchain's messages. Empty if nothing fits.

    Raises:
        InvalidInputError: An option cannot be used.
        InvalidMessageError: A message is malformed; it says which and why.
    """
    if messages is None:
        return _later(
            max_tokens=max_tokens,
            token_counter=token_counter,
            strategy=strategy,
            allow_partial=allow_partial,
            end_on=end_on,
            start_on=start_on,
            include_system=include_system,
            text_splitter=text_splitter,
            pairs=pairs,
        )
    _refuse(strategy, max_tokens, start_on=start_on, include_system=include_system)
    given = take(messages)
    counter = counter_of(token_counter)
    rules = Rules(
        budget=max_tokens,
        counter=_in_order(counter) if pairs and strategy == "last" else counter,
        last=strategy == "last",
        split=splitter(text_splitter) if allow_partial else None,
        start_on=matcher(start_on, "start_on"),
        end_on=matcher(end_on, "end_on"),
        system=include_system,
        pairs=pairs,
    )
    if not given or not isinstance(given[0], dict):
        return cut(given, given, rules)
    if not pairs:
        for index, message in enumerate(given):
            check(message, index, strict=True)
    return _cut_dicts(given, rules)


def _cut_dicts(given: list[Message], rules: Rules) -> list[Message]:
    """Trim dicts; a counter that was written for langchain's messages is given those."""
    if langchain() is None:
        return cut(given, given, rules)
    if not rules.counter.objects:
        with suppress(AttributeError):  # the counter looked for what dicts do not have
            return cut(given, given, rules)
    return cut(given, converted(given), rules)


def _refuse(strategy: str, max_tokens: object, *, start_on: object, include_system: object) -> None:
    """Raise `InvalidInputError` for options that cannot be used."""
    if strategy not in ("first", "last"):
        why = f"Unrecognized {strategy=}. Supported strategies are 'last' and 'first'."
        raise InvalidInputError(why)
    if start_on and strategy == "first":
        raise InvalidInputError("start_on parameter is only valid with strategy='last'")
    if include_system and strategy == "first":
        raise InvalidInputError("include_system parameter is only valid with strategy='last'")
    if not isinstance(max_tokens, Real):
        found = type(max_tokens).__name__
        raise InvalidInputError(f"max_tokens is a {found}; it must be a number of tokens")


def _in_order(counter: Counter) -> Counter:
    """Give a counter of lists what is kept from the end in the order of the list."""
    if counter.each is not None:
        return counter
    whole = counter.whole
    return replace(counter, whole=lambda messages: whole(messages[::-1]))


def _later(**options: Any) -> Callable[[Iterable[object]], list[Any]] | Any:
    """Return what trims messages that are given later."""
    runnables = load_langchain("langchain_core.runnables")
    trimmer = partial(trim_messages, **options)
    if runnables is None:
        return trimmer
    return runnables.RunnableLambda(trimmer, name=trim_messages.__name__)
