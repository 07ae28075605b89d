"""`WarmsetLogger`: LiteLLM's hooks before and after a call."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, cast

from warmset._support.aio import in_thread, in_thread_to_the_end
from warmset.adapters.litellm.framework import CustomLogger  # pyright: ignore[reportAttributeAccessIssue]
from warmset.adapters.litellm.requests import FIELDS, kind_of
from warmset.adapters.litellm.stores import Stores
from warmset.adapters.litellm.windows import Sent, Windows, bypassed
from warmset.errors import InvalidInputError
from warmset.text.request_names import name_in
from warmset.tokens.budget import input_tokens
from warmset.window.options import WindowOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from warmset.adapters.litellm.requests import Kind
    from warmset.memory_options import OpenKeywords
    from warmset.options import Mode
    from warmset.tokens.budget import Budget
    from warmset.window.options import WindowKeywords

HEADER: Final = "x-warmset"
PATIENCE: Final = 30.0
"""Seconds that a window may take before the request goes on as it came."""

_CALLS: Final = 1_024
"""Calls whose windows are held until their replies are there."""

_OWN: Final = ("system", "tools", "model", "dialect", "pinned_role")


class WarmsetLogger(CustomLogger):  # type: ignore[misc]  # LiteLLM is not there for checkers
    """Keeps the turns of requests, and sends windows in the place of their lists.

    In a proxy each virtual key is a tenant: callers with different keys share nothing. In the SDK
    all calls are of one tenant. A request without a name of its conversation, one whose list cannot
    be understood, and one for which anything fails goes on as it came; the answer's header
    `x-warmset` says so, and a warning "bypassed" is logged. Replies that are not streamed are
    stored before the caller has them; those that are come with the next request.

    LiteLLM calls the hooks of the class itself, and not of one that is derived from it without
    hooks of its own.

    Args:
        path: The store's directory. Several workers may use the same one.
        budget: The most tokens that the input of a request may have, or a `Budget`.
        mode: How windows are made; see `Conversation.window`.
        fields: Fields of a request that name its conversation, in the order in which they count.
        tenant: Returns the tenant of a proxy's request by LiteLLM's `UserAPIKeyAuth`, such as
            `lambda auth: auth.team_id`; if not given, or for an empty result, it is a digest of the
            key.
        patience: Seconds that a window may take before the request goes on as it came.
        memory: The options of `Memory.open`; its tenant is that of calls of the SDK.
        options: The fields of `WindowOptions`, but for those that each request has: `system`,
            `tools`, `model`, `dialect`, and `pinned_role`.

    Raises:
        MissingExtraError: LiteLLM is not installed.
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        budget: int | Budget,
        mode: Mode = "auto",
        fields: Sequence[str] = FIELDS,
        tenant: Callable[[Any], str | None] | None = None,
        patience: float = PATIENCE,
        memory: OpenKeywords | None = None,
        options: WindowKeywords | None = None,
    ) -> None:
        super().__init__()
        opening, given = dict[str, Any](memory or {}), cast("WindowKeywords", dict(options or {}))
        if own := [name for name in _OWN if name in given]:
            raise InvalidInputError(f"options: {own[0]}: each request has its own")
        WindowOptions(**given)
        input_tokens(budget)
        if not patience > 0:
            raise InvalidInputError(f"patience: expected seconds above 0, found {patience!r}")
        self._fields = tuple(fields)
        self._tenant = tenant
        self._patience = patience
        self._sdk_tenant: str = opening.pop("tenant", "default")
        self._stores = Stores(path, cast("OpenKeywords", opening))
        self._windows = Windows(self._stores, budget, mode, given)
        self._calls: OrderedDict[str, tuple[str, Sent]] = OrderedDict()

    def close(self) -> None:
        """Close the store in this process; a later call opens it again."""
        self._stores.close()

    # --- the proxy -------------------------------------------------------------------------------

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,
        cache: Any,  # noqa: ARG002 - LiteLLM's signature
        data: dict[str, Any],
        call_type: Any,
    ) -> dict[str, Any] | None:
        """Return the request with a window; None if it goes on as it came."""
        return await self._before(data, call_type, "proxy", user_api_key_dict)

    async def async_post_call_success_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
    ) -> Any:
        """Store the reply; it is not changed."""
        await self._after(self._sent(data, "proxy", user_api_key_dict), response)

    async def async_post_call_response_headers_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any, **_more: Any
    ) -> dict[str, str] | None:
        """Return a header that says what was sent."""
        del response
        sent = self._sent(data, "proxy", user_api_key_dict)
        return None if sent is None else {HEADER: sent.note}

    # --- the SDK ---------------------------------------------------------------------------------

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Return the call's arguments with a window, unless a proxy has put one into them."""
        by, _ = self._calls.get(_call(kwargs), (None, None))
        return None if by == "proxy" else await self._before(kwargs, call_type, "sdk", None)

    async def async_post_call_success_deployment_hook(
        self,
        request_data: dict[str, Any],
        response: Any,
        call_type: Any,  # noqa: ARG002 - LiteLLM's signature
    ) -> Any:
        """Store the reply; it is not changed."""
        await self._after(self._sent(request_data, "sdk", None), response)

    # --- both ------------------------------------------------------------------------------------

    async def _before(
        self, request: dict[str, Any], call_type: Any, by: str, key: Any
    ) -> dict[str, Any] | None:
        kind = kind_of(call_type, request)
        if kind is None:
            return None
        try:
            sent = await asyncio.wait_for(self._made(request, kind, by, key), self._patience)
        except TimeoutError as error:
            sent = bypassed("too_slow", error)
        except Exception as error:  # noqa: BLE001 - the tenant is told by the caller's code
            sent = bypassed("error", error)
        if call := _call(request):
            self._calls[call] = by, sent
        while len(self._calls) > _CALLS:
            self._calls.popitem(last=False)
        return {**request, **sent.changed} if sent.changed else None

    async def _made(self, request: dict[str, Any], kind: Kind, by: str, key: Any) -> Sent:
        tenant = self._tenant_of(by, key)
        name = name_in(request, self._fields)
        if name is None:
            return Sent(changed={}, note="passed; recorded=no", tenant=tenant)
        return await in_thread(self._windows.make, request, kind, tenant, name)

    def _sent(self, request: Mapping[str, Any], by: str, key: Any) -> Sent | None:
        """Return what became of a request; None if that is not known.

        A client of a proxy chooses the ids of its calls, so one of another tenant may have it, too.
        """
        maker, sent = self._calls.get(_call(request), (None, None))
        if sent is None or maker != by:
            return None
        try:
            return sent if sent.tenant in ("", self._tenant_of(by, key)) else None
        except Exception:  # noqa: BLE001 - the tenant is told by the caller's code
            return None

    async def _after(self, sent: Sent | None, response: Any) -> None:
        if sent is not None:
            await in_thread_to_the_end(self._windows.note, sent, response)

    def _tenant_of(self, by: str, key: Any) -> str:
        """Return the tenant of a key, which is not stored itself."""
        if by == "sdk":
            return self._sdk_tenant
        told = None if self._tenant is None else self._tenant(key)
        if told:
            return told
        written = getattr(key, "api_key", None) or ""
        return f"key-{hashlib.sha256(written.encode()).hexdigest()[:32]}"


def _call(request: Mapping[str, Any]) -> str:
    return str(request.get("litellm_call_id") or "")
