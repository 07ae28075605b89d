"""The kinds of Responses items: which call, which answer, which stand for themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES = ("user", "assistant", "system", "developer")


@dataclass(frozen=True, slots=True)
class Pair:
    """A kind of call with its kind of output.

    Args:
        call: The call's type.
        output: The output's type.
        call_id: The field in which the call has its id.
        output_id: The field in which the output names that id.
        demanded: Whether the provider refuses the call without its output.
    """

    call: str
    output: str
    call_id: str = "call_id"
    output_id: str = "call_id"
    demanded: bool = True


PAIRS: tuple[Pair, ...] = (
    Pair("function_call", "function_call_output"),
    Pair("custom_tool_call", "custom_tool_call_output"),
    Pair("computer_call", "computer_call_output"),
    Pair("local_shell_call", "local_shell_call_output"),
    Pair("shell_call", "shell_call_output"),
    Pair("apply_patch_call", "apply_patch_call_output"),
    Pair("tool_search_call", "tool_search_output"),
    Pair("program", "program_output", demanded=False),
    Pair("mcp_approval_request", "mcp_approval_response", "id", "approval_request_id"),
)
"""A program runs at the provider and may wait for the output of calls that it makes itself."""

_HOSTED_SEARCH = Pair("tool_search_call", "tool_search_output", demanded=False)
"""A search that the provider ran: it may have an output, and is not refused without one."""

CALLS: dict[str, Pair] = {pair.call: pair for pair in PAIRS}
OUTPUTS: dict[str, Pair] = {pair.output: pair for pair in PAIRS}

PROVIDED = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_list_tools",
        "mcp_call",
    }
)
"""Items of the provider's own tools, call and output in one; they cannot do without their id."""

BESIDE = {"additional_tools": "developer", "configuration_update": "developer"}
"""Items that instruct, by the role in which they do."""

REFERENCE = "item_reference"
COMPACTION = "compaction"
TRIGGER = "compaction_trigger"
REASONING = "reasoning"
MESSAGE = "message"

KNOWN = frozenset(
    {*CALLS, *OUTPUTS, *PROVIDED, *BESIDE, REFERENCE, COMPACTION, TRIGGER, REASONING, MESSAGE}
)

_MAYBE_ALONE = ("tool_search_call", "tool_search_output", "function_call_output")


def item_kind(item: Mapping[str, Any]) -> str:
    """Return an item's type: "message" for what has only a role, a reference for a bare id."""
    kind = kind_of(item)
    if kind or item.get("type") is not None:
        return kind
    return REFERENCE if "id" in item and "role" not in item else MESSAGE


def stands_alone(item: Mapping[str, Any]) -> bool:
    """Tell whether a call or output has no partner: the provider's search, an output by name."""
    kind = item_kind(item)
    if kind not in _MAYBE_ALONE or item.get("call_id") is not None:
        return False
    return kind != "function_call_output" or isinstance(item.get("name"), str)


def call_of(item: Mapping[str, Any]) -> tuple[Pair, str] | None:
    """Return what a well-formed item calls and the call's id; None where it calls nothing."""
    pair = CALLS.get(item_kind(item))
    if pair is None or stands_alone(item):
        return None
    hosted = pair.call == "tool_search_call" and item.get("execution") != "client"
    return (_HOSTED_SEARCH if hosted else pair), item[pair.call_id]


def output_of(item: Mapping[str, Any]) -> tuple[Pair, str] | None:
    """Return what a well-formed item answers and the call's id; None where it answers nothing."""
    pair = OUTPUTS.get(item_kind(item))
    return None if pair is None or stands_alone(item) else (pair, item[output_field(item, pair)])


def output_field(item: Mapping[str, Any], pair: Pair) -> str:
    """Return the field in which an output names its call.

    The output of a local shell has it in `call_id`, as the API wants it, or in `id`, as its older
    reference says.
    """
    if pair.output == "local_shell_call_output" and item.get("call_id") is None:
        return "id"
    return pair.output_id


def is_produced(item: Mapping[str, Any]) -> bool:
    """Tell whether the model made the item; what is unknown may be the model's."""
    kind = item_kind(item)
    if kind == MESSAGE:
        return bool(item["role"] == "assistant")
    return kind not in OUTPUTS and kind not in BESIDE and kind != TRIGGER


def may_call(reference: Mapping[str, Any]) -> bool:
    """Tell whether a reference may stand for a call, as far as its id shows."""
    return not str(reference["id"]).startswith(("msg_", "rs_"))


def item_id(item: Mapping[str, Any]) -> str | None:
    """Return an item's own id; None where it has none, or has there the id of a call."""
    own = item.get("id")
    made = call_of(item)
    if made is not None and made[0].call_id == "id":
        return None
    given = output_of(item)
    if given is not None and output_field(item, given[0]) == "id":
        return None
    return own if isinstance(own, str) and own else None
