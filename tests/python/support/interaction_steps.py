"""Steps of the Interactions API, one maker for each kind."""

TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image", "mime_type": "image/png", "data": "QUJD"}
SEARCH = {
    "type": "google_search_call",
    "id": "s",
    "arguments": {"queries": ["kites"]},
    "signature": "c2ln",
}
FOUND = {
    "type": "google_search_result",
    "call_id": "s",
    "result": [{"search_suggestions": "<b>kites</b>"}],
    "signature": "c2ln",
}
STRANGE = {"type": "hologram_call", "beam": 3}
STUB = "(no result: the call was interrupted)"


def block(said="hi", **more):
    return {"type": "text", "text": said, **more}


def user(*blocks, **more):
    return {"type": "user_input", "content": list(blocks or (TEXT,)), **more}


def output(*blocks, **more):
    return {"type": "model_output", "content": list(blocks or (block("hello"),)), **more}


def thought(signature="c2ln", **more):
    return {"type": "thought", "signature": signature, **more}


def call(i="a", name="f", arguments=None, **more):
    given = {} if arguments is None else arguments
    return {"type": "function_call", "id": i, "name": name, "arguments": given, **more}


def result(i="a", said="x", name="f", **more):
    return {"type": "function_result", "call_id": i, "name": name, "result": said, **more}


def stub(i="a", name="f"):
    return result(i, STUB, name, is_error=True)
