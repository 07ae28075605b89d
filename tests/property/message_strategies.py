"""Conversations that the providers take, and lists of facts of any shape."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from warmset.messages import Facts

any_text = st.text(
    st.one_of(
        st.characters(exclude_categories=()),
        st.sampled_from("\ud800\udfff\x00\u2028\U0001f600"),
    ),
    max_size=8,
)
words = st.text(st.characters(exclude_categories=("Cs", "Z", "Cc")), min_size=1, max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(words, st.none() | st.booleans() | st.integers() | words, max_size=3)
image_urls = st.sampled_from(["https://a.b/plan.png", "data:image/png;base64,QUJD"])


@st.composite
def openai_lists(draw, min_rounds=0):
    """Valid OpenAI Chat lists: parallel calls, answered in any order."""
    messages = draw(st.lists(st.builds(_said, st.just("system"), words), max_size=1))
    count = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(words | openai_parts)})
        for _ in range(draw(st.integers(min_rounds, min_rounds + 2))):
            ids = [f"call_{count + place}" for place in range(draw(st.integers(1, 3)))]
            count += len(ids)
            calls = [draw(openai_calls(call)) for call in ids]
            said = draw(st.none() | words)
            messages.append({"role": "assistant", "content": said, "tool_calls": calls})
            messages += [
                {"role": "tool", "tool_call_id": call, "content": draw(words | st.just(""))}
                for call in draw(st.permutations(ids))
            ]
        messages.append(_said("assistant", draw(words)))
    return messages if draw(st.booleans()) else [*messages, _said("user", draw(words))]


@st.composite
def openai_calls(draw, call):
    return {
        "id": call,
        "type": "function",
        "function": {
            "name": draw(st.sampled_from(["get", "put"])),
            "arguments": json.dumps(draw(arguments)),
        },
    }


openai_parts = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, words)
    | st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, image_urls),
    min_size=1,
    max_size=3,
)


@st.composite
def anthropic_lists(draw, min_rounds=0):
    """Valid Anthropic lists; a user may speak in the message that holds the results."""
    messages = []
    count = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(words | anthropic_blocks)})
        for _ in range(draw(st.integers(min_rounds, min_rounds + 2))):
            ids = [f"toolu_{count + place}" for place in range(draw(st.integers(1, 3)))]
            count += len(ids)
            said = draw(st.lists(st.builds(_text, words), max_size=1))
            calls = [
                {"type": "tool_use", "id": call, "name": "get", "input": draw(arguments)}
                for call in ids
            ]
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call,
                    "content": draw(words | st.lists(st.builds(_text, words), min_size=1)),
                }
                for call in draw(st.permutations(ids))
            ]
            also = draw(st.lists(st.builds(_text, words), max_size=1))
            messages.append({"role": "assistant", "content": [*said, *calls]})
            messages.append({"role": "user", "content": [*results, *also]})
        messages.append({"role": "assistant", "content": draw(words)})
    return messages if draw(st.booleans()) else [*messages, _said("user", draw(words))]


anthropic_blocks = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, words)
    | st.just({"type": "image", "source": {"type": "url", "url": "https://a.b/plan.png"}}),
    min_size=1,
    max_size=3,
)

_few_ids = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)
facts_lists = st.lists(
    st.one_of(
        st.builds(Facts, st.just("assistant"), st.just(""), _few_ids),
        st.builds(Facts, st.just("user"), st.just(""), st.just(()), _few_ids),
        st.builds(Facts, st.just("user"), st.just("ask"), request=st.just(True)),
        st.builds(Facts, st.sampled_from(["system", "developer"]), st.just("")),
    ),
    max_size=12,
)


def _said(role, text):
    return {"role": role, "content": text}


def _text(text):
    return {"type": "text", "text": text}
