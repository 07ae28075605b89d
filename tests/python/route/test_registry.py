"""The specifications that a router knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from warmset.errors import SpecError
from warmset.route import Need, TaskSpec, TaskSpecs

if TYPE_CHECKING:
    from pathlib import Path


def spec(task: str, *modules: str, **fields: Any) -> TaskSpec:
    """A task that needs outputs of these modules."""
    given = {"scope": "current_pipeline", "type": "module_output"} | fields
    needs = [Need(modules=(name,), **given) for name in modules] or [Need(type="conversation")]
    return TaskSpec(task_type=task, required_memory=tuple(needs), max_context_tokens=10)


def test_the_examples_have_the_budgets_of_their_tasks() -> None:
    found = TaskSpecs.shipped()
    assert {task: one.max_context_tokens for task, one in found.items()} == {
        "conversation_response": 16_000,
        "revenue_extraction": 32_000,
        "error_diagnosis": 24_000,
    }
    for task, one in found.items():
        assert one.task_type == task
        assert any(need.priority == "essential" for need in one.required_memory)


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    for task in ("b", "a"):
        (tmp_path / f"{task}.json").write_text(json.dumps(spec(task).to_json()))
    (tmp_path / "notes.txt").write_text("no spec")
    found = TaskSpecs.read(tmp_path)
    assert list(found) == ["a", "b"]
    assert found["a"] == spec("a")
    assert len(found) == 2
    assert "c" not in found
    assert repr(found) == "TaskSpecs(a, b)"
    with pytest.raises(KeyError):
        found["c"]


def test_an_error_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(spec("a").to_json()))
    broken = spec("b").to_json()
    broken["required_memory"][0]["scope"] = "all"
    (tmp_path / "wrong.json").write_text(json.dumps(broken))
    with pytest.raises(SpecError) as caught:
        TaskSpecs.read(tmp_path)
    assert (caught.value.file, caught.value.path) == ("wrong.json", "$.required_memory[0].scope")
    assert str(caught.value).startswith("wrong.json: $.required_memory[0].scope: expected one of")
    (tmp_path / "wrong.json").write_text(json.dumps(spec("a").to_json()))
    with pytest.raises(SpecError, match=r"wrong.json: \$.task_type: good.json has the same name"):
        TaskSpecs.read(tmp_path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert len(TaskSpecs.read(tmp_path)) == 0
    with pytest.raises(OSError, match="missing"):
        TaskSpecs.read(tmp_path / "missing")


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(SpecError, match="two specs of 'a'"):
        TaskSpecs([spec("a"), spec("b"), spec("a", "b")])
    with pytest.raises(SpecError, match="expected a TaskSpec"):
        TaskSpecs([spec("a").to_json()])  # type: ignore[list-item]


def test_tasks_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(SpecError) as caught:
        TaskSpecs([spec("a", "b"), spec("b", "x", "c"), spec("c", "a")])
    assert caught.value.path == "$.required_memory"
    chain = caught.value.problem.removeprefix("the outputs wait for each other: ")
    assert chain in {f"{x} needs {y} needs {z} needs {x}" for x, y, z in ("abc", "bca", "cab")}
    with pytest.raises(SpecError, match="a needs a"):
        TaskSpecs([spec("a", "a")])
    one = TaskSpec(
        task_type="a",
        required_memory=(Need(type="module_output", scope="current_pipeline", module="a"),),
        max_context_tokens=1,
    )
    with pytest.raises(SpecError, match="a needs a"):
        TaskSpecs([one])


def test_what_is_there_already_is_not_waited_for() -> None:
    # Outputs of earlier pipelines, other types of memory, and modules without a spec.
    for fields in ({"scope": "global"}, {"type": "error_fix"}):
        assert len(TaskSpecs([spec("a", "b", **fields), spec("b", "a")])) == 2
    assert len(TaskSpecs([spec("a", "b"), spec("b", "x"), spec("c", "a", "b")])) == 3
