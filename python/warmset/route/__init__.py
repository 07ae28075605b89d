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
    from warmset.route.records import PayloadRecord
    from warmset.route.registry import TaskSpecs
    from warmset.route.request import Request
    from warmset.route.router import Router
    from warmset.route.spec import Age, TaskSpec, spec_schema
    from warmset.route.triage import RuleTriage, Triage, Verdict
    from warmset.route.usage import used

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
    "PayloadRecord",
    "Priority",
    "Request",
    "Router",
    "RuleTriage",
    "Scope",
    "TaskSpec",
    "TaskSpecs",
    "Triage",
    "Verdict",
    "When",
    "spec_schema",
    "used",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "candidates": ["Candidate", "Classification", "NeedReport"],
            "need": ["MEMORY_TYPES", "Need", "Priority", "Scope", "When"],
            "payload": ["Excluded", "Included", "Missing", "More", "Payload"],
            "records": ["PayloadRecord"],
            "registry": ["TaskSpecs"],
            "request": ["Request"],
            "router": ["Router"],
            "spec": ["Age", "TaskSpec", "spec_schema"],
            "triage": ["RuleTriage", "Triage", "Verdict"],
            "usage": ["used"],
        },
    )
