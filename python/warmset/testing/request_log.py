"""`RequestLog`: records the requests of an agent, for a test of what it sends."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from warmset.testing.prefix import assert_append_only, check_prefix
from warmset.testing.requests import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.testing.prefix import PrefixResult
    from warmset.testing.requests import RequestLike

P = ParamSpec("P")
R = TypeVar("R")


class RequestLog:
    """Records requests as they are at the time of the call; lists may change afterwards.

    Use one for each conversation: requests of two conversations have nothing in common.

    Attributes:
        requests: The recorded requests, as JSON values.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def record(self, request: RequestLike) -> None:
        """Record a request.

        Args:
            request: The keyword arguments of a provider's call, the body of an HTTP request, or a
                list of messages.

        Raises:
            InvalidInputError: It is no request, or holds what is not JSON.
        """
        self.requests.append(snapshot(request, len(self.requests)))

    def wrap(self, call: Callable[P, R]) -> Callable[P, R]:
        """Return a function that records its keyword arguments and calls another one.

        Args:
            call: A method of an SDK's client, as `client.messages.create`; an asynchronous one
                too. For a whole client, put the result in the place of the method.

        Returns:
            The function. It raises `InvalidInputError` if it is called without messages.
        """

        @wraps(call)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            self.record(kwargs)
            return call(*args, **kwargs)

        return recorded

    def check(self, *, dialect: str | None = None, model: str = "", allow: int = 0) -> PrefixResult:
        """Compare the recorded requests; see `check_prefix` for the options and errors."""
        return check_prefix(self.requests, dialect=dialect, model=model, allow=allow)

    def assert_append_only(
        self, *, dialect: str | None = None, model: str = "", allow: int = 0
    ) -> None:
        """Raise `PrefixError` if a request does more than append; see `assert_append_only`."""
        assert_append_only(self.requests, dialect=dialect, model=model, allow=allow)
