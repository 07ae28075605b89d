"""The context router: what a task declares that it needs.

What this package promises:

- A specification that was accepted is whole: each field is known, each name is one, and no task
  waits for its own output.
- An error says where in the document it is, as a JSON path, and what would be right.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.route.candidates import Candidate, Classification, NeedReport
    from warmset.route.need import MEMORY_TYPES, Need, Priority, Scope, When
    from warmset.route.payload import Excluded, Included, Missing, More, Payload
    from warmset.route.pipeline import Pipeline
    from warmset.route.registry import TaskSpecs
    from warmset.route.request import (
        Request,
        RouteKeywords,
        RunOptions,
        TaskKeywords,
        TaskOptions,
    )
    from warmset.route.router import Router
    from warmset.route.run import Run
    from warmset.route.spec import Age, TaskSpec, spec_schema
    from warmset.route.triage import RuleTriage, Triage, Verdict

__all__ = [
    "MEMORY_TYPES",
    "Age",
    "Candidate",
    "Classification",
    "Excluded",
    "Included",
    "Missing",
    "More",
    "Need",
    "NeedReport",
    "Payload",
    "Pipeline",
    "Priority",
    "Request",
    "RouteKeywords",
    "Router",
    "RuleTriage",
    "Run",
    "RunOptions",
    "Scope",
    "TaskKeywords",
    "TaskOptions",
    "TaskSpec",
    "TaskSpecs",
    "Triage",
    "Verdict",
    "When",
    "spec_schema",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "candidates": ["Candidate", "Classification", "NeedReport"],
            "need": ["MEMORY_TYPES", "Need", "Priority", "Scope", "When"],
            "payload": ["Excluded", "Included", "Missing", "More", "Payload"],
            "pipeline": ["Pipeline"],
            "registry": ["TaskSpecs"],
            "request": [
                "Request",
                "RouteKeywords",
                "RunOptions",
                "TaskKeywords",
                "TaskOptions",
            ],
            "router": ["Router"],
            "run": ["Run"],
            "spec": ["Age", "TaskSpec", "spec_schema"],
            "triage": ["RuleTriage", "Triage", "Verdict"],
        },
    )
