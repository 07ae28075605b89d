"""JSON-RPC 2.0: reads a request line and returns the answer line.

```text
line ─▶ read ─▶ one request, or a batch of them ─▶ method ─▶ result or error ─▶ one line of ASCII
```
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from warmset.serve.lines import TooLong
from warmset.serve.rpc.reading import DEEPEST, UnreadableError, read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from warmset.serve.rpc.reading import Parsed

    Method: TypeAlias = Callable[[Mapping[str, Any]], object]

PARSE: Final = -32700
REQUEST: Final = -32600
METHOD: Final = -32601
PARAMS: Final = -32602
INTERNAL: Final = -32603

MOST: Final = 1_000
"""The most requests of a batch."""

_TITLES: Final = {
    PARSE: "Parse error",
    REQUEST: "Invalid Request",
    METHOD: "Method not found",
    PARAMS: "Invalid params",
    INTERNAL: "Internal error",
}
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


class Fault(Exception):  # noqa: N818 - an answer of the protocol, not a failure of the server
    """An error that is reported to the client.

    Args:
        code: One of the protocol's codes.
        why: What is wrong and what to do.
        more: Further members of the error's data.
    """

    def __init__(self, code: int, why: str, **more: object) -> None:
        super().__init__(code, why)
        self.code = code
        self.data = {"why": why, **more}


class Server:
    """Answers lines by calling methods, one after the other.

    Args:
        methods: The callable methods by name; each takes the named parameters and returns plain
            JSON values, or raises `Fault`.
        deepest: The most levels of nesting in a line.
        most: The most requests of a batch.
    """

    def __init__(
        self, methods: Mapping[str, Method], *, deepest: int = DEEPEST, most: int = MOST
    ) -> None:
        self._methods = methods
        self._deepest = deepest
        self._most = most

    def answer(self, line: bytes | TooLong, *, longest: int) -> bytes | None:
        """Answer a line.

        Args:
            line: The line, or a `TooLong` in its place.
            longest: The most bytes of a line, for the error message.

        Returns:
            One line with its end; None for notifications.
        """
        text = self._answer(line, longest)
        return None if text is None else f"{text}\n".encode("ascii")

    def _answer(self, line: bytes | TooLong, longest: int) -> str | None:
        if isinstance(line, TooLong):
            why = f"the line has {line.size} bytes, at most {longest} are read; send less at once"
            return _error(None, Fault(REQUEST, why))
        try:
            parsed = read(line, deepest=self._deepest)
        except UnreadableError as error:
            return _error(None, Fault(PARSE, str(error)))
        if not isinstance(parsed.value, list):
            return self._one(parsed.value, parsed)
        batch = cast("list[object]", parsed.value)
        if not 0 < len(batch) <= self._most:
            why = f"a batch has 1 to {self._most} requests, this one {len(batch)}; part it"
            return _error(None, Fault(REQUEST, why))
        answers = [text for one in batch if (text := self._one(one, parsed)) is not None]
        return f"[{','.join(answers)}]" if answers else None

    def _one(self, given: object, parsed: Parsed) -> str | None:
        """Answer one request; a notification is run and gets no answer."""
        request = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        id_ = request.get("id") if _is_id(request.get("id")) else None
        try:
            method, params = _checked(given, parsed)
        except Fault as fault:
            return _error(id_, fault)
        reply = self._call(id_, method, params)
        return reply if "id" in request else None

    def _call(self, id_: str | float | None, name: str, params: dict[str, Any] | list[Any]) -> str:
        try:
            made = _encode(self._method(name)(_named(params)))
            return f'{{"jsonrpc":"2.0","id":{_encode(id_)},"result":{made}}}'
        except Fault as fault:
            return _error(id_, fault)
        except Exception as error:  # noqa: BLE001 - the next line is to be answered too
            why = f"{type(error).__name__}: {error}; nothing is known to be wrong with the request"
            return _error(id_, Fault(INTERNAL, why))

    def _method(self, name: str) -> Method:
        found = self._methods.get(name)
        if found is None:
            known = ", ".join(sorted(self._methods))
            raise Fault(METHOD, f"there is no method {name!a:.80}; there are {known}")
        return found


def _checked(given: object, parsed: Parsed) -> tuple[str, dict[str, Any] | list[Any]]:
    """Return method and parameters of a request.

    Raises:
        Fault: It is not a request.
    """
    if parsed.flaw is not None:
        raise Fault(REQUEST, parsed.flaw)
    if not isinstance(given, dict):
        raise Fault(REQUEST, 'a request is an object with "jsonrpc", "method" and "id"')
    request = cast("dict[str, Any]", given)
    if request.get("jsonrpc") != "2.0":
        raise Fault(REQUEST, '"jsonrpc" must be "2.0"')
    method, params = request.get("method"), request.get("params", {})
    if not isinstance(method, str):
        raise Fault(REQUEST, '"method" must be the name of a method')
    if not _is_id(request.get("id")):
        raise Fault(REQUEST, '"id" must be a text, a number or null')
    if not isinstance(params, (dict, list)):
        raise Fault(REQUEST, '"params" must be an object; leave it out if there are none')
    return method, cast("dict[str, Any] | list[Any]", params)


def _named(params: dict[str, Any] | list[Any]) -> dict[str, Any]:
    if isinstance(params, dict):
        return params
    if params:
        raise Fault(PARAMS, "parameters go by their names; send an object")
    return {}


def _is_id(given: object) -> bool:
    return not isinstance(given, bool) and isinstance(given, (str, int, float, type(None)))


def _error(id_: str | float | None, fault: Fault) -> str:
    error = {"code": fault.code, "message": _TITLES[fault.code], "data": fault.data}
    return f'{{"jsonrpc":"2.0","id":{_encode(id_)},"error":{_encode(error)}}}'
