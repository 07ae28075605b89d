"""A generated session of a coding agent: 400 messages, the same on every machine.

The agent searches, reads three files at once, edits, runs tests and looks at what changed, for 21
requests of its user. It is written as OpenAI's chat messages; nothing in it is random.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from warmset.messages import Message

REQUESTS: Final = 21
SYSTEM: Final = (
    "You are a coding agent in the repository of a web shop. Read before you edit, keep to its "
    "style, run the tests after every change, and say what you did in two sentences."
)
TASK: Final = (
    "Move the shop from floating-point prices to integer cents, module by module. The public JSON "
    "must not change, and every step must leave the tests green. Begin with {name}."
)
MODULES: Final = [
    "orders",
    "invoices",
    "refunds",
    "carts",
    "discounts",
    "shipping",
    "taxes",
    "payments",
    "ledger",
    "reports",
    "exports",
    "imports",
    "catalogue",
    "stock",
    "suppliers",
    "customers",
    "sessions",
    "mailer",
    "search",
    "admin",
    "webhooks",
]
LINES: Final = (
    "def {verb}_{noun}(session: Session, {noun}: {kind}) -> Decimal:",
    '    """Return what the {noun} costs after {verb}."""',
    "    rows = session.scalars(select({kind}).where({kind}.id == {noun}.id)).all()",
    "    total = sum(row.price * row.quantity for row in rows)",
    "    if total < 0:",
    '        raise {kind}Error(f"{noun} {{{noun}.id}}: negative total {{total}}")',
    "    return round(total * (1 + {noun}.tax_rate), 2)",
    "",
)
VERBS: Final = ("close", "price", "split", "merge", "cancel", "renew", "audit", "quote")


@dataclass(slots=True)
class _Session:
    """The messages so far, and a counter that makes call ids unique."""

    messages: list[Message] = field(default_factory=list)
    calls: int = 0

    def step(self, text: str | None, *uses: tuple[str, dict[str, Any], str]) -> None:
        """Add one answer of the model with its calls, and their results as they come in."""
        calls: list[Message] = []
        results: list[Message] = []
        for name, arguments, output in uses:
            self.calls += 1
            one = f"call_{self.calls:03}"
            function = {"name": name, "arguments": json.dumps(arguments)}
            calls.append({"id": one, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": one, "content": output})
        if self.calls % 2:  # the quickest tool answers first, whatever was asked first
            results.reverse()
        self.messages += [{"role": "assistant", "content": text, "tool_calls": calls}, *results]


def coding_session() -> list[Message]:
    """Write the session down.

    Returns:
        400 messages in OpenAI's chat form: valid, and the last one is the agent's answer.
    """
    made = _Session([{"role": "system", "content": SYSTEM}])
    for number, name in enumerate(MODULES):
        asked = TASK.format(name=name) if not number else f"Good. Now {name}, in the same way."
        made.messages.append({"role": "user", "content": asked})
        _work(made, number, name)
        done = f"{name} keeps cents now: the model, the service and its tests. All tests pass."
        made.messages.append({"role": "assistant", "content": done})
    return made.messages


def _work(made: _Session, number: int, name: str) -> None:
    """Work on one request: seven steps, ten calls, and tests that are red and then green."""
    files = [f"shop/{name}/{part}.py" for part in ("models", "service", "views")]
    sizes = [60 + 37 * (number + at) % 140 for at in range(len(files))]
    pattern = {"pattern": "float|Decimal|round\\(", "path": f"shop/{name}"}
    reads = [
        ("read_file", {"path": path}, source(path, size))
        for path, size in zip(files, sizes, strict=True)
    ]
    tests = {"path": f"tests/{name}"}
    made.step("Where are prices used?", ("search", pattern, found(files, 12 + number % 9)))
    made.step(None, *reads)
    made.step("The model first.", _edit(files[0], number))
    made.step(
        None,
        ("run_tests", tests, tested(name, 40 + 13 * number % 60, fails=True)),
        ("git_diff", {"path": files[0]}, changed(files[0], 18 + number % 7)),
    )
    made.step("The service still rounds.", _edit(files[1], number + 1))
    made.step(None, ("run_tests", tests, tested(name, 40 + 13 * number % 60, fails=False)))
    made.step(None, ("lint", {"path": f"shop/{name}"}, "All checks passed.\n"))


def _edit(path: str, number: int) -> tuple[str, dict[str, Any], str]:
    verb, noun = VERBS[number % len(VERBS)], _noun(path)
    arguments = {
        "path": path,
        "old": f"    return round({verb}_total * (1 + {noun}.tax_rate), 2)",
        "new": f"    return cents({verb}_total, rate={noun}.tax_rate)",
    }
    return "edit_file", arguments, f"{path}: 1 place changed."


def source(path: str, lines: int) -> str:
    """Write a file of that many lines, numbered as an agent's tool shows them."""
    noun = _noun(path)
    made = [
        LINES[at % len(LINES)].format(
            verb=VERBS[at // len(LINES) % len(VERBS)], noun=noun, kind=noun.capitalize()
        )
        for at in range(lines)
    ]
    return "".join(f"{at + 1:5}  {line}\n" for at, line in enumerate(made))


def found(files: list[str], lines: int) -> str:
    """Write what a search found."""
    return "".join(
        f"{files[at % len(files)]}:{7 * at + 4}:    total = sum(row.price * row.quantity"
        f" for row in rows)\n"
        for at in range(lines)
    )


def tested(name: str, tests: int, *, fails: bool) -> str:
    """Write what a run of tests printed, with a traceback if one failed."""
    lines = [
        f"tests/{name}/test_service.py::test_{VERBS[at % len(VERBS)]}_{at} "
        f"{'FAILED' if fails and at == tests - 1 else 'PASSED'} [{100 * (at + 1) // tests:3}%]"
        for at in range(tests)
    ]
    if fails:
        lines += [
            "=== FAILURES ===",
            *(f"    {at:3}: {LINES[at % len(LINES)]}" for at in range(24)),
            "E   AssertionError: assert Decimal('19.99') == 1999",
        ]
    lines.append(f"=== {tests - fails} passed, {int(fails)} failed in {tests / 8:.2f}s ===")
    return "\n".join(lines)


def changed(path: str, lines: int) -> str:
    """Write a difference."""
    body = [
        f"{'-+ '[at % 3]}    total_{at} = {'round(total, 2)' if at % 3 == 0 else 'cents(total)'}"
        for at in range(lines)
    ]
    return "\n".join([f"--- a/{path}", f"+++ b/{path}", f"@@ -12,{lines} +12,{lines} @@", *body])


def _noun(path: str) -> str:
    return path.split("/")[1].removesuffix("s")
