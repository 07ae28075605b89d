"""Virtual memory for a client of a provider's library, in process: no server, no other URL."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import httpx2

from warmset.errors import InvalidInputError
from warmset.memory import Memory
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.exchange import Exchanges
from warmset.serve.proxy.naming import HEADER, conversation_of
from warmset.serve.proxy.options import PATIENCE, ProxyOptions
from warmset.serve.proxy.tenants import OneTenant
from warmset.serve.proxy.transport import AsyncTransport, InProcess, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import anthropic
    import openai

    from warmset.options import Mode

ClientT = TypeVar(
    "ClientT",
    bound="openai.OpenAI | openai.AsyncOpenAI | anthropic.Anthropic | anthropic.AsyncAnthropic",
)

_CLIENTS: Final = {
    "openai": ("OpenAI", "AsyncOpenAI"),
    "anthropic": ("Anthropic", "AsyncAnthropic"),
}


def wrap(
    client: ClientT,
    memory: Memory,
    *,
    conversation: str | None = None,
    mode: Mode = "auto",
    budget: int | None = None,
    fields: Sequence[str] = (),
    patience: float = PATIENCE,
    window: Mapping[str, Any] | None = None,
) -> ClientT:
    """Return a client that keeps every turn, and sends a window in the place of each whole list.

    It is used as before: what calls Chat Completions, Responses or Messages with a list gets the
    list stored and a window sent, and the reply is stored before the caller has its end. What
    other calls send and get is not touched. If anything fails on this side, the call goes out as
    it came, and a warning is logged. Raw responses have the header `x-warmset`, which says what
    was sent.

    ```python
    client = wrap(OpenAI(), memory)
    client.chat.completions.create(model="gpt-6", messages=messages)  # the whole list, as before
    ```

    Args:
        client: A client of `openai` (3 or newer) or `anthropic` (2 or newer). It stays as it is;
            both share its connections.
        memory: Where turns are kept. It is yours to close; all that the client does is of its
            tenant, whichever key it has. A child process opens its own, and wraps anew.
        conversation: The conversation of calls that do not name one with the header
            `x-warmset-conversation` (`extra_headers`). Without it, a list is recognised by its
            messages, and one that nobody has seen begins a new conversation.
        mode: How windows are built; see `Conversation.window`.
        budget: The most tokens of a call; what the model's context allows if not given.
        fields: Fields of a call that name the conversation, as "metadata.session_id", in the order
            in which they count.
        patience: Seconds that a window may take before the call goes out as it came.
        window: More options of windows; see `WindowOptions`.

    Returns:
        A copy of the client, of its type.

    Raises:
        InvalidInputError: It is no such client, it is wrapped already, or an option is wrong.
    """
    _check(client)
    if not isinstance(memory, Memory):
        raise InvalidInputError(f"memory: expected a Memory, found {type(memory).__name__}")
    named = None if conversation is None else _header(conversation)
    options = ProxyOptions(
        mode=mode,
        budget=budget,
        patience=patience,
        fields=tuple(fields),
        window=dict(window or {}),
    )
    exchanges = Exchanges(_Lent(memory), Callers(OneTenant(memory.tenant), options), options)
    process = InProcess(exchanges, named, patience)
    inner: object = getattr(client, "_client", None)
    if isinstance(getattr(inner, "_transport", None), Transport | AsyncTransport):
        raise InvalidInputError("client: it is wrapped already")
    made: Any
    if isinstance(inner, httpx2.Client):
        made = httpx2.Client(transport=Transport(inner, process), **_like(inner))
    elif isinstance(inner, httpx2.AsyncClient):
        made = httpx2.AsyncClient(transport=AsyncTransport(inner, process), **_like(inner))
    else:
        raise InvalidInputError(
            "client: its http_client is not one of httpx2; leave it out, or give one of httpx2"
        )
    return cast("ClientT", client.with_options(http_client=made))


def _check(client: object) -> None:
    """Refuse what is no client; a library that was not imported has made none."""
    for library, names in _CLIENTS.items():
        module = sys.modules.get(library)
        kinds = tuple(getattr(module, name) for name in names) if module else ()
        if isinstance(client, kinds):
            return
    known = ", ".join(f"{library}.{name}" for library, names in _CLIENTS.items() for name in names)
    raise InvalidInputError(f"client: expected one of {known}; found {type(client).__name__}")


def _header(conversation: str) -> str:
    """Return the name of a conversation as a header has it."""
    try:
        header = conversation.encode().decode("latin-1")
    except (AttributeError, UnicodeError):
        raise InvalidInputError(
            f"conversation: expected a text, found {conversation!r:.80}"
        ) from None
    conversation_of({HEADER: header}, {}, ProxyOptions())
    return header


def _like(inner: httpx2.Client | httpx2.AsyncClient) -> dict[str, Any]:
    """Return what a client adds to the requests that it builds; the rest it does when it sends."""
    return {
        "headers": inner.headers,
        "params": inner.params,
        "cookies": inner.cookies,
        "timeout": inner.timeout,
    }


class _Lent:
    """One memory, which is its owner's to close."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    @contextmanager
    def of(self, _tenant: str) -> Iterator[Memory]:
        yield self._memory
