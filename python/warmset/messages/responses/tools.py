"""OpenAI Responses: the calls and outputs, of which an item is at most one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.model import Answer, Message, Use
from warmset.messages.responses.kinds import call_of, item_kind, output_of
from warmset.messages.responses.said import arguments_of, name_of, output_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_TEXTUAL = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "apply_patch_call_output",
    }
)
_EMPTY: dict[str, tuple[str, str]] = {
    "function_call": ("arguments", "{}"),
    "mcp_approval_request": ("arguments", "{}"),
    "custom_tool_call": ("input", ""),
}
_COMMANDS = {"local_shell_call": "command", "shell_call": "commands"}


def uses(message: Message) -> list[Use]:
    """Return the call that an item is; see `Tools`."""
    made = call_of(message)
    return [] if made is None else [Use(made[1], name_of(message), arguments_of(message))]


def answers(message: Message) -> list[Answer]:
    """Return the output that an item is; see `Tools`."""
    given = output_of(message)
    return [] if given is None else [Answer(given[1], output_text(message))]


def with_answers(message: Message, texts: Mapping[int, str]) -> Message:
    """Return a copy in which an output says another text; see `Tools`.

    An output that is no text stays as it is: a screenshot, an approval, the tools that were found,
    and what a program at the provider gave.
    """
    kind = item_kind(message)
    if 0 not in texts or output_of(message) is None:
        return dict(message)
    if kind in _TEXTUAL:
        return {**message, "output": texts[0]}
    if kind == "shell_call_output":
        chunk = {"stdout": texts[0], "stderr": "", "outcome": _outcome(message.get("output"))}
        return {**message, "output": [chunk]}
    return dict(message)


def without_inputs(message: Message, calls: Collection[int]) -> Message:
    """Return a copy in which a call has empty arguments; see `Tools`.

    Calls that the provider refuses without their arguments keep them: those of a computer, of a
    search and of a program. A patch keeps its path.
    """
    kind = item_kind(message)
    if 0 not in calls or call_of(message) is None:
        return dict(message)
    if kind in _EMPTY:
        key, empty = _EMPTY[kind]
        return {**message, key: empty}
    action = message.get("action")
    if kind in _COMMANDS and isinstance(action, dict):
        return {**message, "action": {**action, _COMMANDS[kind]: []}}
    operation = message.get("operation")
    if kind == "apply_patch_call" and isinstance(operation, dict) and "diff" in operation:
        return {**message, "operation": {**operation, "diff": ""}}
    return dict(message)


def _outcome(output: Any) -> Any:
    last = output[-1] if isinstance(output, list) and output else None
    outcome = last.get("outcome") if isinstance(last, dict) else None
    return outcome or {"type": "exit", "exit_code": 0}
