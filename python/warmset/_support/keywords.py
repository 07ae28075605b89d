"""Option classes behind keyword arguments: defined once, checked once, shown in every signature."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def spelled_out(*kinds: type) -> Callable[[F], F]:
    """Show the fields of option classes in a function's signature instead of ``**options``.

    Type checkers read the function's `TypedDict` annotation; `help()` and `inspect` read the
    signature that this sets.

    Args:
        kinds: The dataclasses whose fields are the function's keyword arguments.

    Returns:
        A decorator that returns the function itself.
    """

    def mark(function: F) -> F:
        signature = inspect.signature(function)
        named = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        options = [_parameter(field) for kind in kinds for field in fields(kind)]
        shown = signature.replace(parameters=[*named, *options])
        vars(function)["__signature__"] = shown
        return function

    return mark


def _parameter(field: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(field.name, kind, default=default, annotation=field.type)
