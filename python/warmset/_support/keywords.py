"""Option classes behind keyword arguments: defined once, checked once, shown in every signature."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


def refuse_unknown(given: Iterable[str], function: str, *kinds: type[Any]) -> None:
    """Refuse keyword arguments that no option class has.

    Args:
        given: Their names.
        function: The function that they were given to, for the error.
        kinds: The option classes.

    Raises:
        TypeError: One is unknown; a name like it is suggested.
    """
    for name in given:
        if not any(name in kind.__dataclass_fields__ for kind in kinds):
            from difflib import get_close_matches  # noqa: PLC0415 - for the error alone

            known = [field.name for kind in kinds for field in fields(kind)]
            like = get_close_matches(name, known, n=1)
            hint = f"; did you mean {like[0]!r}?" if like else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def _parameter(field: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(field.name, kind, default=default, annotation=field.type)
