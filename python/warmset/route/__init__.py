"""The context router: what a task declares that it needs.

What this package promises:

- A specification that was accepted is whole: each field is known, each name is one, and no task
  waits for its own output.
- An error says where in the document it is, as a JSON path, and what would be right.
- A model that judges sees what is known of items and a summary of each, never a whole text; what is
  essential is not its to judge, and whatever it does wrong, the rules judge instead and say why.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.route.asking import LLMTriage
    from warmset.route.candidates import Candidate, Classification, NeedReport
    from warmset.route.evaluation import Chances, Evaluation, evaluate
    from warmset.route.fixes import CachedFix
    from warmset.route.judgement import Judgement, TriageReport
    from warmset.route.need import MEMORY_TYPES, Need, Priority, Scope, When
    from warmset.route.outcomes import Decision, OutcomeRecord, need_names
    from warmset.route.payload import Excluded, Included, Missing, More, Payload
    from warmset.route.pipeline import Pipeline
    from warmset.route.policy import LearnedPolicy, Policy
    from warmset.route.providers import (
        AnthropicTriage,
        OpenAIResponsesTriage,
        OpenAITriage,
        ProviderTriage,
        triage_named,
    )
    from warmset.route.records import PayloadRecord
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
    from warmset.route.texts import Texts
    from warmset.route.tool import (
        MAX_GRANTED,
        MAX_NAMES,
        REQUEST_CONTEXT,
        PayloadTools,
        context_tools,
    )
    from warmset.route.triage import RuleTriage, Triage, Verdict
    from warmset.route.usage import used

__all__ = [
    "MAX_GRANTED",
    "MAX_NAMES",
    "MEMORY_TYPES",
    "REQUEST_CONTEXT",
    "Age",
    "AnthropicTriage",
    "CachedFix",
    "Candidate",
    "Chances",
    "Classification",
    "Decision",
    "Evaluation",
    "Excluded",
    "Included",
    "Judgement",
    "LLMTriage",
    "LearnedPolicy",
    "Missing",
    "More",
    "Need",
    "NeedReport",
    "OpenAIResponsesTriage",
    "OpenAITriage",
    "OutcomeRecord",
    "Payload",
    "PayloadRecord",
    "PayloadTools",
    "Pipeline",
    "Policy",
    "Priority",
    "ProviderTriage",
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
    "Texts",
    "Triage",
    "TriageReport",
    "Verdict",
    "When",
    "context_tools",
    "evaluate",
    "need_names",
    "spec_schema",
    "triage_named",
    "used",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "asking": ["LLMTriage"],
            "candidates": ["Candidate", "Classification", "NeedReport"],
            "judgement": ["Judgement", "TriageReport"],
            "evaluation": ["Chances", "Evaluation", "evaluate"],
            "fixes": ["CachedFix"],
            "need": ["MEMORY_TYPES", "Need", "Priority", "Scope", "When"],
            "outcomes": ["Decision", "OutcomeRecord", "need_names"],
            "payload": ["Excluded", "Included", "Missing", "More", "Payload"],
            "pipeline": ["Pipeline"],
            "providers": [
                "AnthropicTriage",
                "OpenAIResponsesTriage",
                "OpenAITriage",
                "ProviderTriage",
                "triage_named",
            ],
            "policy": ["LearnedPolicy", "Policy"],
            "records": ["PayloadRecord"],
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
            "texts": ["Texts"],
            "tool": [
                "MAX_GRANTED",
                "MAX_NAMES",
                "REQUEST_CONTEXT",
                "PayloadTools",
                "context_tools",
            ],
            "triage": ["RuleTriage", "Triage", "Verdict"],
            "usage": ["used"],
        },
    )
