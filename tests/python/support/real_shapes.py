"""The corpus of lists in the shape of real recorded requests, and how to judge what is made of one.

Every file in `tests/fixtures/real_shapes/<dialect>/` is a list of fixtures: the list as a request
sends it, whether the provider takes it, why, and the page of its documentation that says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import refusals as provider

from warmset import validate
from warmset.testing.links import without_thinking

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "real_shapes"
LISTS = {
    "openai": "messages",
    "anthropic": "messages",
    "responses": "input",
    "gemini": "contents",
    "interactions": "input",
}
"""Under which key a dialect's requests have their list."""

INSTRUCTING = ("system", "developer")
SPOKEN = ("user_input", "model_output")
"""The steps of Gemini Interactions that have content, as messages have."""


@dataclass(frozen=True)
class Shape:
    """One fixture.

    Args:
        name: Its name.
        dialect: The dialect of its list.
        verdict: "accepted" or "refused".
        why: What is special about it, or why the provider refuses it.
        page: The page of the provider's documentation that it follows.
        messages: The list.
        model: The model that it is sent to; empty if any.
        continues: What the request goes on from, as `previous_response_id` or
            `previous_interaction_id`; empty if nothing.
        system: The system prompt beside the list.
    """

    name: str
    dialect: str
    verdict: str
    why: str
    page: str
    messages: list[Any] = field(repr=False)
    model: str = ""
    continues: dict[str, str] = field(default_factory=dict)
    system: Any = None

    @property
    def request(self):
        """What `validate` and `repair` are told of the request."""
        return {
            "dialect": self.dialect,
            "continues": bool(self.continues),
            "model": self.model,
        }

    def refusals(self, messages):
        """Return why the provider refuses a list that was made of this one, by the oracle."""
        return provider.refusals(
            self.dialect,
            messages,
            model=self.model,
            continues=bool(self.continues),
            system=self.system,
            origin=self.messages,
        )

    def complaints(self, messages):
        """Return the violations for which a provider refuses a list, by `validate`."""
        found = validate(messages, **self.request)
        return [one for one in found if one.severity == "refused"]

    def check(self, messages):
        """Assert that the provider takes a list that was made of this one."""
        assert messages
        assert self.refusals(messages) == []
        assert self.complaints(messages) == []


def load():
    """Return every fixture."""
    shapes = []
    for path in sorted(FOLDER.glob("*/*.json")):
        shapes += map(_shape, json.loads(path.read_text()))
    return shapes


def _shape(found):
    key = LISTS[found["dialect"]]
    return Shape(messages=found[key], **{name: found[name] for name in found if name != key})


def check_kept(shape, made):
    """Assert that a list is whole units of a shape's list: the same objects, in their order.

    A short text that says that messages were left out may stand between them.
    """
    places = {id(message): at for at, message in enumerate(shape.messages)}
    bare = {json.dumps(without_thinking(one)): at for at, one in enumerate(shape.messages)}
    kept = []
    for message in made:
        at = places.get(id(message), bare.get(json.dumps(message)))
        assert at is not None or _is_notice(shape, message), f"not kept: {message}"
        kept += [] if at is None else [at]
    assert kept == sorted(kept)
    for one, other in provider.bonds(shape.dialect, shape.messages):
        alone = shape.messages[one].get("type") == "reasoning" and one not in kept
        assert alone or (one in kept) == (other in kept), (one, other)
    for at, message in enumerate(shape.messages):
        assert message.get("role") not in INSTRUCTING or at in kept


def said(value):
    """Return a JSON value without null fields and empty annotations: a store may drop them."""
    if isinstance(value, dict):
        empty = {key for key, one in value.items() if one is None}
        empty |= {"annotations"} if value.get("annotations") == [] else set()
        return {key: said(one) for key, one in value.items() if key not in empty}
    return [said(one) for one in value] if isinstance(value, list) else value


def check_in_place(shape, made):
    """Assert that a window shows messages as they are, in their order, and all instructions.

    Neighbours of one role may stand as one message. What is not a message of the shape is a text of
    the user's role, as quotations of other messages are, or says that messages were left out.
    """
    blocks = [(at, block) for at, one in enumerate(shape.messages) for block in _blocks(one)]
    whole = [
        {json.dumps(said(message)), json.dumps(said(without_thinking(message)))}
        for message in shape.messages
    ]
    shown, last = set(), -1
    for message in made:
        text = json.dumps(said(message))
        at = next((at for at in range(last + 1, len(whole)) if text in whole[at]), None)
        if at is not None:
            shown.add(at)
            last = at
            continue
        for block in _blocks(message):
            place = next((at for at, one in blocks if at > last and one == block), None)
            if place is None:
                known = [at for at, one in blocks if one == block and at not in shown]
                assert not known, f"out of its place: {block}"
                user = message.get("role") == "user" or message.get("type") == "user_input"
                assert user or _is_notice(shape, message), f"not of the list: {block}"
            else:
                shown.add(place)
        last = max(shown, default=-1)
    for at, message in enumerate(shape.messages):
        assert message.get("role") not in INSTRUCTING or at in shown, f"not in its place: {at}"


def _blocks(message):
    """Return what a message holds, each with its role: merged neighbours hold the same."""
    found = message.get("content", message.get("parts"))
    if isinstance(found, str):
        found = [{"type": "text", "text": found}]
    kind = message.get("type", "message")
    if not isinstance(found, list) or kind not in ("message", *SPOKEN):
        return [json.dumps(said(message))]
    return [json.dumps([message.get("role", kind), said(block)]) for block in found]


def _is_notice(shape, message):
    """Tell whether a message is a single text that no message of the shape holds."""
    known = {block for one in shape.messages for block in _blocks(one)}
    found = _blocks(message)
    alone = json.loads(found[0]) if len(found) == 1 else None
    return isinstance(alone, list) and "text" in alone[1] and found[0] not in known


def is_plain(messages):
    """Tell whether messages mean the same in several dialects: roles and texts alone."""
    return all(
        message.keys() <= {"role", "content", "name", "type"}
        and message.get("type") not in SPOKEN
        and _is_text(message.get("content"))
        for message in messages
    )


def _is_text(content):
    if isinstance(content, list):
        return all(part.get("type") == "text" for part in content)
    return isinstance(content, str)
