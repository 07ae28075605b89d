"""What the published schema takes is what is read, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from hypothesis import example, given

from tests.python.route.strategies import SPECS, disturbed
from warmset.errors import SpecError
from warmset.route import TaskSpec, TaskSpecs, spec_schema

VALIDATOR = jsonschema.Draft202012Validator(spec_schema())


def is_read(spec: Any) -> bool:
    try:
        TaskSpec.from_json(spec)
    except SpecError:
        return False
    return True


def test_the_schema_is_one() -> None:
    VALIDATOR.check_schema(spec_schema())
    assert spec_schema() is not spec_schema()


@given(SPECS)
def test_right_specs_are_taken_by_both(spec: dict[str, Any]) -> None:
    VALIDATOR.validate(spec)
    made = TaskSpec.from_json(spec)
    said = made.to_json()
    VALIDATOR.validate(said)
    assert TaskSpec.from_json(said) == made
    assert TaskSpec.from_json(json.dumps(spec)) == made


@given(disturbed())
@example(
    {"task_type": "a", "required_memory": [{"type": "a", "when": None}], "max_context_tokens": 1}
)
@example({"task_type": "a", "required_memory": [{"type": "a"}], "max_context_tokens": 16.0})
def test_both_refuse_the_same(spec: dict[str, Any]) -> None:
    assert is_read(spec) == VALIDATOR.is_valid(spec), list(VALIDATOR.iter_errors(spec))


def test_the_examples_follow_it() -> None:
    for spec in TaskSpecs.shipped().values():
        VALIDATOR.validate(spec.to_json())
