"""Items of the Responses API, one maker for each kind."""

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
ASKED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
TOLD = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "hello", "annotations": []}],
}
REASONED = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
SEALED = {"type": "reasoning", "summary": [], "encrypted_content": "…"}
LOST = {"type": "reasoning", "summary": []}
COMPACTED = {"type": "compaction", "encrypted_content": "…"}
SEARCHED = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
STRANGE = {"type": "hologram_call", "beam": 3}
SCREEN = {"type": "computer_screenshot", "image_url": "https://a.b/c.png"}


def call(i="a", **more):
    return {"type": "function_call", "call_id": i, "name": "f", "arguments": "{}", **more}


def output(i="a", said="x", **more):
    return {"type": "function_call_output", "call_id": i, "output": said, **more}


def custom(i="a"):
    return {"type": "custom_tool_call", "call_id": i, "name": "sh", "input": "ls"}


def reference(i):
    return {"type": "item_reference", "id": i}


def computer(i="a"):
    return {"type": "computer_call", "id": f"cu_{i}", "call_id": i, "action": {"type": "wait"}}


def approval(i="mcpr_1"):
    asked = {"name": "delete", "arguments": "{}", "server_label": "files"}
    return {"type": "mcp_approval_request", "id": i, **asked}


def approved(i="mcpr_1", **more):
    return {
        "type": "mcp_approval_response",
        "approval_request_id": i,
        "approve": True,
        **more,
    }


def shell(i="a"):
    return {"type": "shell_call", "call_id": i, "action": {"commands": ["ls"]}}


def local(i="a"):
    action = {"type": "exec", "command": ["ls"], "env": {}}
    return {"type": "local_shell_call", "id": f"lsh_{i}", "call_id": i, "action": action}


def patch(i="a"):
    operation = {"type": "update_file", "path": "a.py", "diff": "-x"}
    return {"type": "apply_patch_call", "call_id": i, "status": "completed", "operation": operation}


def search(i="a"):
    return {"type": "tool_search_call", "call_id": i, "execution": "client", "arguments": {"q": 1}}


def program(i="p"):
    return {"type": "program", "id": "pr_1", "call_id": i, "code": "f()", "fingerprint": "…"}


PAIRS = [
    (call(), output()),
    (custom(), {"type": "custom_tool_call_output", "call_id": "a", "output": "x"}),
    (computer(), {"type": "computer_call_output", "call_id": "a", "output": SCREEN}),
    (local(), {"type": "local_shell_call_output", "call_id": "a", "output": "x"}),
    (local(), {"type": "local_shell_call_output", "id": "a", "output": "x"}),
    (
        shell(),
        {
            "type": "shell_call_output",
            "call_id": "a",
            "output": [{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}],
        },
    ),
    (patch(), {"type": "apply_patch_call_output", "call_id": "a", "status": "completed"}),
    (search(), {"type": "tool_search_output", "call_id": "a", "tools": []}),
    (approval(), approved()),
]
