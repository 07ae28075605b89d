"""The specifications that a router knows, by their tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError, SpecError
from warmset.route.spec import TaskSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from os import PathLike


class TaskSpecs(Mapping[str, TaskSpec]):
    """Specifications by the name of their task.

    Args:
        specs: The specifications, in any order.

    Raises:
        SpecError: Two have one name, or some wait for each other: within a pipeline each needs an
            output that another one of them makes.
    """

    def __init__(self, specs: Iterable[TaskSpec]) -> None:
        self._specs: dict[str, TaskSpec] = {}
        if not isinstance(specs, Iterable):
            raise SpecError("$", f"expected a list of specs, found {specs!r:.80}")
        for spec in specs:
            if not isinstance(spec, TaskSpec):
                raise SpecError("$", f"expected a TaskSpec, found {spec!r:.80}")
            if spec.task_type in self._specs:
                raise SpecError("$.task_type", f"there are two specs of {spec.task_type!r:.80}")
            self._specs[spec.task_type] = spec
        _refuse_cycles(self._specs)

    def __getitem__(self, task: str) -> TaskSpec:
        return self._specs[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def __repr__(self) -> str:
        return f"TaskSpecs({', '.join(self._specs)})"

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> TaskSpecs:
        """Read the files `*.json` of a folder, one specification each.

        Raises:
            SpecError: A file holds no specification, or see `TaskSpecs`; the error names the file.
            InvalidInputError: No folder has such a name.
            OSError: The folder or a file cannot be read.
        """
        try:
            files = [file for file in Path(folder).iterdir() if file.suffix == ".json"]
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"specs: expected a folder, found {folder!r:.80}") from error
        return cls._of(sorted(files))

    @classmethod
    def shipped(cls) -> TaskSpecs:
        """Return the examples that come with the package.

        They are "conversation_response", "revenue_extraction" and "error_diagnosis".
        """
        folder = resources.files("warmset.route").joinpath("specs")
        return cls._of(sorted(folder.iterdir(), key=lambda file: file.name))

    @classmethod
    def _of(cls, files: Iterable[Traversable]) -> TaskSpecs:
        specs: dict[str, tuple[TaskSpec, str]] = {}
        for file in files:
            try:
                spec = TaskSpec.from_json(file.read_bytes())
            except SpecError as error:
                raise SpecError(error.path, error.problem, file.name) from error
            if spec.task_type in specs:
                other = specs[spec.task_type][1]
                raise SpecError("$.task_type", f"{other} has the same name", file.name)
            specs[spec.task_type] = spec, file.name
        return cls(spec for spec, _ in specs.values())


def _refuse_cycles(specs: Mapping[str, TaskSpec]) -> None:
    waits = {
        task: {
            module
            for need in spec.required_memory
            if need.type == "module_output" and need.scope == "current_pipeline"
            for module in need.all_modules
            if module in specs
        }
        for task, spec in specs.items()
    }
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        tasks: list[str] = error.args[1]
        chain = " needs ".join(reversed(tasks))
        raise SpecError("$.required_memory", f"the outputs wait for each other: {chain}") from error
