"""Objects of providers' SDKs: what they have in common, and their fields as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias


class SupportsModelDump(Protocol):
    """An SDK's object: a message, an item, a content, or a part of one."""

    def model_dump(self, *, exclude_unset: bool = ...) -> dict[str, Any]:
        """Return the fields as a dict, those that were never set left out."""
        ...


MessageLike: TypeAlias = Mapping[str, Any] | SupportsModelDump
"""One message, as callers have it: a dict, another mapping, or an SDK's object."""


def is_dumpable(value: object) -> bool:
    """Return whether a value is an SDK's object, and not a class of them."""
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type)


def is_model(value: object) -> bool:
    """Return whether an SDK's object is a model of pydantic."""
    return isinstance(getattr(value, "model_config", None), dict)


def dumped(value: Any, **options: Any) -> Any:
    """Dump an SDK's object as the SDK does for a request.

    Unset fields are left out, and those that the SDK itself never sends (`__api_exclude__`). Fields
    have the names that the API has for them (`async`, where the attribute is `async_`). Google's
    are not renamed: their aliases are a second spelling, which the SDK's other exports do not use.

    Args:
        value: The object.
        options: Further options of a pydantic model, as `mode`.

    Returns:
        The fields.

    Raises:
        ValueError: The object cannot be dumped with these options.
    """
    excluded = getattr(value, "__api_exclude__", None)
    if excluded:
        options["exclude"] = excluded
    if is_model(value):
        options["by_alias"] = value.model_config.get("alias_generator") is None
        options["warnings"] = False
    return value.model_dump(exclude_unset=True, **options)
