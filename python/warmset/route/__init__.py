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
    from warmset.route.evaluation import Chances, Evaluation, evaluate
    from warmset.route.fixes import CachedFix
    from warmset.route.need import MEMORY_TYPES, Need, Priority, Scope, When
    from warmset.route.outcomes import Decision, OutcomeRecord, need_names
    from warmset.route.payload import Excluded, Included, Missing, More, Payload
    from warmset.route.policy import LearnedPolicy, Policy
    from warmset.route.registry import TaskSpecs
    from warmset.route.request import Request
    from warmset.route.router import Router
    from warmset.route.spec import Age, TaskSpec, spec_schema
    from warmset.route.triage import RuleTriage, Triage, Verdict

__all__ = [
    "MEMORY_TYPES",
    "Age",
    "CachedFix",
    "Candidate",
    "Chances",
    "Classification",
    "Decision",
    "Evaluation",
    "Excluded",
    "Included",
    "LearnedPolicy",
    "Missing",
    "More",
    "Need",
    "NeedReport",
    "OutcomeRecord",
    "Payload",
    "Policy",
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
    "evaluate",
    "need_names",
    "spec_schema",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "candidates": ["Candidate", "Classification", "NeedReport"],
            "evaluation": ["Chances", "Evaluation", "evaluate"],
            "fixes": ["CachedFix"],
            "need": ["MEMORY_TYPES", "Need", "Priority", "Scope", "When"],
            "outcomes": ["Decision", "OutcomeRecord", "need_names"],
            "payload": ["Excluded", "Included", "Missing", "More", "Payload"],
            "policy": ["LearnedPolicy", "Policy"],
            "registry": ["TaskSpecs"],
            "request": ["Request"],
            "router": ["Router"],
            "spec": ["Age", "TaskSpec", "spec_schema"],
            "triage": ["RuleTriage", "Triage", "Verdict"],
        },
    )
