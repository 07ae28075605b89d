"""The context router: what a task declares that it needs.

What this package promises:

- A specification that was accepted is whole: each field is known, each name is one, and no task
  waits for its own output.
- An error says where in the document it is, as a JSON path, and what would be right.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.route.need import MEMORY_TYPES, Need, Priority, Scope, When
    from warmset.route.registry import TaskSpecs
    from warmset.route.spec import Age, TaskSpec, spec_schema

__all__ = [
    "MEMORY_TYPES",
    "Age",
    "Need",
    "Priority",
    "Scope",
    "TaskSpec",
    "TaskSpecs",
    "When",
    "spec_schema",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "need": ["MEMORY_TYPES", "Need", "Priority", "Scope", "When"],
            "registry": ["TaskSpecs"],
            "spec": ["Age", "TaskSpec", "spec_schema"],
        },
    )
