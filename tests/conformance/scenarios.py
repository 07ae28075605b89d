"""Which server judges a scenario, or why none can.

`server`: warmset's own server, as users start it. `fixture`: the same core, transport and guard
with the tools, resources and prompts that the scenario asks for by name; they exist for the suite
alone. A text is the reason why a scenario does not apply.
"""

from __future__ import annotations

from typing import Final

SUITE: Final = "0.2.0-alpha.12"
"""The newest release of the suite with scenarios of 2026-07-28 when this was written."""

REVISIONS: Final = ("2025-11-25", "2026-07-28")

NO_REQUESTS: Final = (
    "the server never asks its client for anything: no sampling, elicitation, roots"
)
NO_TASKS: Final = "the extension for tasks is not declared: calls are answered at once"
NO_COMPLETION: Final = "the capability is not declared: names are listed by resources and tools"
NO_SUBSCRIPTIONS: Final = "the capability is not declared: no resource changes behind its URI"
NO_REPLAY: Final = "streams are not resumed: a call that was cut off is made again"

SCENARIOS: Final[dict[str, str]] = {
    # the handshake, sessions, the stateless protocol
    "server-initialize": "server",
    "server-session-lifecycle": "server",
    "server-stateless": "fixture",
    "ping": "server",
    "logging-set-level": "server",
    "dns-rebinding-protection": "server",
    "server-sse-multiple-streams": "server",
    "server-sse-polling": NO_REPLAY,
    "caching": "server",
    "http-header-validation": "server",
    "http-custom-header-server-validation": "fixture",
    # tools
    "tools-list": "server",
    "tools-call-simple-text": "fixture",
    "tools-call-image": "fixture",
    "tools-call-audio": "fixture",
    "tools-call-embedded-resource": "fixture",
    "tools-call-mixed-content": "fixture",
    "tools-call-with-logging": "fixture",
    "tools-call-error": "fixture",
    "tools-call-with-progress": "fixture",
    "json-schema-2020-12": "fixture",
    # resources and prompts
    "resources-list": "server",
    "resources-read-text": "fixture",
    "resources-read-binary": "fixture",
    "resources-templates-read": "fixture",
    "sep-2164-resource-not-found": "server",
    "prompts-list": "server",
    "prompts-get-simple": "fixture",
    "prompts-get-with-args": "fixture",
    "prompts-get-embedded-resource": "fixture",
    "prompts-get-with-image": "fixture",
    # what the server does not do
    "resources-subscribe": NO_SUBSCRIPTIONS,
    "resources-unsubscribe": NO_SUBSCRIPTIONS,
    "completion-complete": NO_COMPLETION,
    "tools-call-sampling": NO_REQUESTS,
    "tools-call-elicitation": NO_REQUESTS,
    "elicitation-sep1034-defaults": NO_REQUESTS,
    "elicitation-sep1330-enums": NO_REQUESTS,
    "input-required-result-basic-elicitation": NO_REQUESTS,
    "input-required-result-basic-sampling": NO_REQUESTS,
    "input-required-result-basic-list-roots": NO_REQUESTS,
    "input-required-result-request-state": NO_REQUESTS,
    "input-required-result-multiple-input-requests": NO_REQUESTS,
    "input-required-result-multi-round": NO_REQUESTS,
    "input-required-result-missing-input-response": NO_REQUESTS,
    "input-required-result-non-tool-request": NO_REQUESTS,
    "input-required-result-result-type": NO_REQUESTS,
    "input-required-result-unsupported-methods": "server",
    "input-required-result-tampered-state": NO_REQUESTS,
    "input-required-result-capability-check": NO_REQUESTS,
    "input-required-result-ignore-extra-params": NO_REQUESTS,
    "input-required-result-validate-input": NO_REQUESTS,
    "tasks-lifecycle": NO_TASKS,
    "tasks-capability-negotiation": NO_TASKS,
    "tasks-wire-fields": NO_TASKS,
    "tasks-request-state-removal": NO_TASKS,
    "tasks-mrtr-input": NO_TASKS,
    "tasks-request-headers": NO_TASKS,
    "tasks-dispatch-and-envelope": NO_TASKS,
    "tasks-status-notifications": NO_TASKS,
    "tasks-required-task-error": NO_TASKS,
    "tasks-mrtr-composition": NO_TASKS,
}
