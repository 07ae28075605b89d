"""What a task needs, as Python and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from warmset.compact.weights import is_number
from warmset.errors import SpecError
from warmset.route.checks import check_choice, check_name, put, read, without_defaults
from warmset.route.need import Need

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Age: TypeAlias = Literal["hour", "turn"]
"""What ages are counted in, for the decay of items."""

AGES: Final = get_args(Age)
MOST_NEEDS: Final = 1_000
MOST_TOKENS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """What a task needs in its context.

    Args:
        task_type: The name of the task. An output of a module of this name is made by this task.
        required_memory: What it needs, most important first.
        max_context_tokens: The most tokens of a payload, 1 to 2,147,483,647.
        decay: What the age of an item is counted in: its relevance is multiplied by its
            `relevance_decay` for each "hour" or each "turn" of the conversation.

    Raises:
        SpecError: A field has a wrong value.
    """

    task_type: str
    required_memory: tuple[Need, ...]
    max_context_tokens: int
    decay: Age = "hour"

    def __post_init__(self) -> None:
        check_name("$.task_type", self.task_type)
        put(self, "required_memory", _needs_of(self.required_memory))
        put(self, "max_context_tokens", _tokens(self.max_context_tokens))
        check_choice("$.decay", self.decay, AGES)

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | str | bytes) -> TaskSpec:
        """Read a specification.

        Args:
            value: The object, or the text of a document.

        Raises:
            SpecError: The error names the place as a JSON path, as in `$.required_memory[2].type`.
        """
        given = _parsed(value) if isinstance(value, str | bytes) else value
        return read(cls, given, "$", {"required_memory": _read_needs})

    def to_json(self) -> dict[str, Any]:
        """Return the specification as JSON, without fields that have their defaults."""
        return without_defaults(self)


def spec_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a specification."""
    file = resources.files("warmset.route").joinpath("task_spec.schema.json")
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def _tokens(given: object) -> int:
    """Return a number of tokens; JSON does not tell 16000.0 from 16000."""
    if is_number(given) and 1 <= given <= MOST_TOKENS and given == int(given):
        return int(given)
    wanted = f"a number of tokens, 1 to {MOST_TOKENS:,}"
    raise SpecError("$.max_context_tokens", f"expected {wanted}, found {given!r:.80}")


def _needs_of(given: Sequence[Need]) -> tuple[Need, ...]:
    path = "$.required_memory"
    if not isinstance(given, list | tuple) or not given:
        raise SpecError(path, f"expected a list of needs, at least one, found {given!r:.80}")
    if len(given) > MOST_NEEDS:
        raise SpecError(path, f"expected at most {MOST_NEEDS:,} needs, found {len(given):,}")
    for at, need in enumerate(given):
        if not isinstance(need, Need):
            raise SpecError(f"{path}[{at}]", f"expected a Need, found {need!r:.80}")
    return tuple(given)


def _read_needs(value: object, path: str) -> object:
    if not isinstance(value, list | tuple):
        return value
    return tuple(Need.from_json(one, f"{path}[{at}]") for at, one in enumerate(value))


def _parsed(text: str | bytes) -> Any:
    """Parse a document; each key may stand once, and numbers are finite."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError("$", f"it is no JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        count = Counter(name for name, _ in pairs)
        twice = next(name for name in made if count[name] > 1)
        raise SpecError("$", f"it has the field {twice!r:.80} twice in one object")
    return made


def _no_number(name: str) -> Any:
    raise SpecError("$", f"{name} is no number of JSON")
