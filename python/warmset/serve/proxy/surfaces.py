"""Which requests have a list of messages, and where it stands in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import parse_qsl, unquote

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.messages import Dialect

SurfaceName: TypeAlias = Literal["chat", "responses", "messages", "gemini", "interactions"]

Provider: TypeAlias = Literal["openai", "anthropic", "gemini"]
"""Whose API a request is for."""

PROVIDERS: Final[tuple[Provider, ...]] = ("openai", "anthropic", "gemini")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """One sort of request.

    Args:
        name: Its name.
        provider: Whose API it is of.
        dialect: The dialect of its messages.
        messages: The field with the list of messages.
        system: The field with the system prompt that belongs to the list; None where it stands in
            the list.
        beside: A field with instructions that are counted, and never changed.
        streams: The path says that the answer is a stream; None where the body does.
        previous: A field that names the last response, where the provider may keep the list.
    """

    name: SurfaceName
    provider: Provider
    dialect: Dialect
    messages: str
    system: str | None = None
    beside: str | None = None
    streams: bool | None = None
    previous: str | None = None


CHAT: Final = Surface(name="chat", provider="openai", dialect="openai", messages="messages")
RESPONSES: Final = Surface(
    name="responses",
    provider="openai",
    dialect="responses",
    messages="input",
    beside="instructions",
    previous="previous_response_id",
)
MESSAGES: Final = Surface(
    name="messages",
    provider="anthropic",
    dialect="anthropic",
    messages="messages",
    system="system",
)
INTERACTIONS: Final = Surface(
    name="interactions",
    provider="gemini",
    dialect="interactions",
    messages="input",
    beside="system_instruction",
    previous="previous_interaction_id",
)
_GEMINI: Final = {
    verb: Surface(
        name="gemini",
        provider="gemini",
        dialect="gemini",
        messages="contents",
        beside="systemInstruction",
        streams=verb.startswith("stream"),
    )
    for verb in ("generateContent", "streamGenerateContent")
}
_PATHS: Final = {
    "/v1/chat/completions": CHAT,
    "/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
    "/responses": RESPONSES,
    "/v1/messages": MESSAGES,
}
_INTERACTIONS_PATH: Final = re.compile(r"/v1(?:alpha|beta)?/interactions")
_KEPT: Final = re.compile(r"(.*/(?:responses|interactions))/([^/]+)")
_OF_ANTHROPIC: Final = frozenset({"anthropic-version", "anthropic-beta", "x-api-key"})
_OF_GEMINI: Final = ("/v1beta/", "/v1alpha/", "/upload/")
_GEMINI_PATH: Final = re.compile(r"/v1(?:alpha|beta)?/(?:models|tunedModels)/[^/:]+:([A-Za-z]+)")


def surface_of(method: str, path: str) -> Surface | None:
    """Return what a request is; None for one that passes through as it is.

    Args:
        method: Its method.
        path: Its path, without the query.
    """
    if method != "POST":
        return None
    if (found := _PATHS.get(path)) is not None:
        return found
    if _INTERACTIONS_PATH.fullmatch(path):
        return INTERACTIONS
    verb = _GEMINI_PATH.fullmatch(path)
    return None if verb is None else _GEMINI.get(verb[1])


def surface_behind(method: str, path: str) -> Surface | None:
    """Return what a request of a client is whose base URL may have any path of its own.

    Args:
        method: Its method.
        path: Its path, that of the base URL before it.
    """
    found = (one for end, one in _PATHS.items() if path.endswith(end))
    return next(found, None) if method == "POST" else None


def fetched_of(
    method: str, path: str, made_by: Callable[[str, str], Surface | None] = surface_of
) -> tuple[Surface, str] | None:
    """Return what a request fetches that the provider keeps, and its id; None if it fetches none.

    Args:
        method: Its method.
        path: Its path, without the query.
        made_by: Returns what a request is that makes such things.
    """
    found = _KEPT.fullmatch(path) if method == "GET" else None
    surface = None if found is None else made_by("POST", found[1])
    if found is None or surface is None or surface.previous is None:
        return None
    return surface, unquote(found[2])


def provider_of(path: str, headers: frozenset[str], query: str = "") -> Provider:
    """Return whose API a request that passes through is for.

    A request whose key is one of Anthropic's or Google's by where it stands goes to nobody else.

    Args:
        path: Its path.
        headers: The names of its headers, in lower case.
        query: What stands behind the path.
    """
    if headers & _OF_ANTHROPIC or path.startswith("/v1/messages") or path == "/v1/complete":
        return "anthropic"
    if "x-goog-api-key" in headers or path.startswith(_OF_GEMINI) or _GEMINI_PATH.fullmatch(path):
        return "gemini"
    return "gemini" if "key" in dict(parse_qsl(query, keep_blank_values=True)) else "openai"
