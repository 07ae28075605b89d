"""The proxy's own pages: metrics for programs, and one live page for people.

The page is a file of this package. It loads nothing from elsewhere, its policy allows its own
script and style alone, and all that it is told it shows as text.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from warmset.serve.proxy.metrics import CONTENT_TYPE
from warmset.serve.proxy.watch import quiet

if TYPE_CHECKING:
    from starlette.requests import Request

    from warmset.serve.proxy.memories import Memories
    from warmset.serve.proxy.watch import Watcher

SAFE: Final = {
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Headers of the proxy's own answers: nobody keeps them, and no other site reads them."""


def pages(watcher: Watcher, memories: Memories, *, patience: float) -> list[Route]:
    """Return the routes of the page, its state and the metrics.

    Args:
        watcher: What is shown.
        memories: The store, which is asked for its backlog.
        patience: Seconds that it may take to answer.
    """
    own = _Pages(watcher, memories, patience)
    return [
        Route("/_warmset", _slash, methods=["GET"]),
        Route("/_warmset/", _page, methods=["GET"]),
        Route("/_warmset/state", own.state, methods=["GET"]),
        Route("/_warmset/metrics", own.metrics, methods=["GET"]),
    ]


class _Pages:
    """Answers requests for them.

    Args:
        watcher: What is shown.
        memories: The store.
        patience: Seconds that it may take to answer.
    """

    def __init__(self, watcher: Watcher, memories: Memories, patience: float) -> None:
        self._watcher = watcher
        self._memories = memories
        self._patience = patience

    async def state(self, _request: Request) -> Response:
        """Answer what the page shows."""
        state = await to_thread.run_sync(self._watcher.state)
        return JSONResponse(state, headers=SAFE)

    async def metrics(self, _request: Request) -> Response:
        """Answer all counts; a store that does not answer leaves its backlog as it was."""

        def look() -> None:
            backlog: int = self._memories.first.stats()["pending"]
            self._watcher.metrics.backlog(backlog)

        with anyio.move_on_after(self._patience):
            await to_thread.run_sync(quiet, look, abandon_on_cancel=True)
        text = await to_thread.run_sync(self._watcher.counts)
        return Response(text, headers={**SAFE, "content-type": CONTENT_TYPE})


async def _slash(_request: Request) -> Response:
    return RedirectResponse("_warmset/")


async def _page(_request: Request) -> Response:
    text, policy = _file()
    return Response(
        text,
        media_type="text/html",
        headers={
            **SAFE,
            "content-security-policy": policy,
            "cross-origin-opener-policy": "same-origin",
        },
    )


@cache
def _file() -> tuple[str, str]:
    """Return the page, and the policy that allows its own script and style."""
    text = (files("warmset.serve.proxy") / "page.html").read_text("utf-8")
    rules: dict[str, Any] = {
        "default-src": "'none'",
        "base-uri": "'none'",
        "connect-src": "'self'",
        "img-src": "data:",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "script-src": _digest(text, "script"),
        "style-src": _digest(text, "style"),
    }
    return text, "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(text: str, element: str) -> str:
    [inner] = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
    hashed = hashlib.sha256(inner.encode()).digest()
    return f"'sha256-{base64.b64encode(hashed).decode()}'"
