"""Specifications as JSON: right ones, and ones with something wrong."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from warmset.route import MEMORY_TYPES

NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=8
)
RIGHT_NAMES = NAMES.filter(lambda name: name.strip() != "")
LISTS = st.lists(RIGHT_NAMES, max_size=3, unique=True)
SHARES = st.floats(0.001, 1) | st.just(1)


def _object(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=optional)


def _says(when: dict[str, Any]) -> bool:
    return when.get("similarity") is not None or any(
        when.get(name) for name in ("mentions", "present")
    )


WHENS = _object({}, {"similarity": SHARES | st.none(), "mentions": LISTS, "present": LISTS}).filter(
    _says
)


def _conditional(need: dict[str, Any]) -> dict[str, Any]:
    return need | {"priority": "conditional"} if need.get("when") is not None else need


NEEDS = _object(
    {"type": st.sampled_from(MEMORY_TYPES) | RIGHT_NAMES},
    {
        "priority": st.sampled_from(["essential", "supplementary", "conditional"]),
        "scope": st.sampled_from(["current_session", "prior_sessions", "global"])
        | st.sampled_from(["current_error", "current_pipeline"]),
        "recency": st.sampled_from(["last_1_turn", "last_5_turns", "30d", "9999999w"]) | st.none(),
        "sections": LISTS,
        "modules": LISTS,
        "module": RIGHT_NAMES | st.none(),
        "keys": LISTS,
        "entities": LISTS,
        "similarity_match": st.booleans() | SHARES,
        "when": WHENS | st.none(),
    },
).map(_conditional)

SPECS = _object(
    {
        "task_type": RIGHT_NAMES,
        "required_memory": st.lists(NEEDS, min_size=1, max_size=3),
        "max_context_tokens": st.integers(1, 2**31 - 1),
    },
    {"decay": st.sampled_from(["hour", "turn"])},
)

ODD = st.sampled_from(
    [
        *(None, True, False, -1, 0, 0.0, 0.5, 1.0, 1.5, 2**31),
        *("", " ", "x", "last_0_turns", "5 d", "5d", "conditional"),
        *([], [""], ["a", "a"], [1], [None], {}, {"similarity": 0}, {"mentions": []}),
    ]
)
"""Values that may be right in one field and are wrong in most."""


@st.composite
def disturbed(draw: st.DrawFn) -> Any:
    """Draw a specification in which one place was changed, added or taken away."""
    spec = draw(SPECS)
    needs = spec["required_memory"]
    whens = [need["when"] for need in needs if need.get("when")]
    there: dict[str, Any] = draw(st.sampled_from([spec, *needs, *whens]))
    how = draw(st.sampled_from(["change", "add", "take"]))
    if how == "add":
        there[
            draw(st.sampled_from(["when", "priority", "Type", "sections", "decay", "similarity"]))
        ] = draw(ODD)
    else:
        name = draw(st.sampled_from(sorted(there)))
        if how == "change":
            there[name] = draw(ODD)
        else:
            del there[name]
    return spec
