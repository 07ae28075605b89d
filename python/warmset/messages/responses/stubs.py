"""Outputs that say that there is none, one for each kind of call that can have such an output."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from warmset.messages.mending import NO_RESULT
from warmset.messages.responses.kinds import call_of

if TYPE_CHECKING:
    from warmset.messages.model import Message

_STUBS: dict[str, dict[str, Any]] = {
    "function_call": {"output": NO_RESULT},
    "custom_tool_call": {"output": NO_RESULT},
    "local_shell_call": {"output": NO_RESULT},
    "shell_call": {
        "output": [{"stdout": "", "stderr": NO_RESULT, "outcome": {"type": "timeout"}}],
    },
    "apply_patch_call": {"status": "failed", "output": NO_RESULT},
    "tool_search_call": {"execution": "client", "status": "completed", "tools": []},
    "mcp_approval_request": {"approve": False, "reason": NO_RESULT},
}


def stub(call: Message) -> Message | None:
    """Make the output of a call that was never answered.

    A missing approval is a refusal, a missing patch a failure, a missing search finds nothing.

    Args:
        call: A well-formed item that calls.

    Returns:
        The output; None for a call that is answered by an image, of which there is none.
    """
    made = call_of(call)
    if made is None:
        return None
    pair, call_id = made
    if pair.call not in _STUBS:
        return None
    body = copy.deepcopy(_STUBS[pair.call])
    if call.get("caller") is not None:
        body["caller"] = call["caller"]
    return {"type": pair.output, pair.output_id: call_id, **body}
