"""What the trimmers of five frameworks do to the invariants of `check_evictor`, as a page.

    python -m benches.python.trim.broken --peers DIR --install --page benches/results/trimmers.md

Each peer runs in an environment of its own (`--install` makes those that are not there); one that
is not there is left out of the page. Every case is made as small as the kit can make it, its texts
are made short, and what an issue would show is run in the peer's interpreter before it is written
down. The same versions give the same page. It takes a minute or two.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from random import Random
from string import Template

from benches.python.trim import peers
from warmset.testing import (
    INVARIANTS,
    EvictorError,
    History,
    check_evictor,
    check_prefix,
    with_refusals,
)
from warmset.testing.smallest import Case, smallest
from warmset.testing.trial import Trial
from warmset.tokens import counter

DIALECTS = {"strands-agents": "anthropic"}
"""Of the lists; the others take OpenAI's."""

NAMES = {
    "langchain-core": "langchain-core, `trim_messages`",
    "agent-framework-core": "Microsoft Agent Framework, `TruncationStrategy`",
    "llama-index-core": "LlamaIndex, `ChatMemoryBuffer`",
    "strands-agents": "Strands Agents, `SlidingWindowConversationManager`",
    "litellm": "LiteLLM, `trim_messages`",
}
TITLES = {
    "fits_the_budget": "The result is over the budget",
    "keeps_what_must_stay": "The system prompt or the current request is dropped",
    "shows_the_task": "The first request is dropped",
    "keeps_units_whole": "A tool call and its result are separated",
    "keeps_the_order": "Messages come back changed or in another order",
    "invents_nothing": "A message comes back that was not in the list",
    "stays_valid": "The result is a list that the provider rejects",
    "leaves_what_fits_alone": "A list within the budget is changed",
    "is_idempotent": "A trimmed list is trimmed again by the same budget",
    "is_deterministic": "The same call gives another result",
    "changes_nothing_given": "The caller's messages are changed",
    "raises_only_budget_too_small": "It raises an error",
    "returns_messages": "The result is no list of messages",
}
UNITS = {"llama-index-core": "characters", "litellm": "tokens"}
"""What a peer counts; the others count messages."""

SOME = "Calls past the budget change the prefix"
TURNS = 40
"""Questions of the conversation by which the prefix rule is checked."""

INTRO = Template("""\
# What trimmers of frameworks break

The property tests of [your own trimmer](../../python/docs/how-to/test-your-own-trimmer.md) ran on
what five frameworks ship, each with the options with which an agent would use it. This is no
reproach: a trimmer that promises the last messages that fit keeps that promise. The table says what
an agent has to do besides. The page is written by this command:

```sh
python -m benches.python.trim.broken --peers DIR --install --page benches/results/trimmers.md
```

- Only lists that the provider takes are judged, and an empty result counts as a refusal. Strands
  never sees a system prompt, so system messages in the middle of a list are not judged for it.
- Budgets are counted as the peer counts: messages for langchain-core (`token_counter=len`), Agent
  Framework and Strands, characters of contents for LlamaIndex (`tokenizer_fn=list`), tokens for
  LiteLLM.
- The prefix rule: a conversation grows by a question and an answer from call to call, within a
  quarter of its whole size. Of the calls that were trimmed, how many begin otherwise than the call
  before, so that a prompt cache is lost?
- A cell has the size of the smallest list that was found. Below are the cases as texts for an issue
  tracker; each was run before it was written down.

$table
""")

CASE = Template("""
### $title ($short)

````text
$title: $package $version

With $size and a budget of $budget: $why.

```python
$code
```

It prints:

```
$printed
```
````
""")

PREFIX = Template("""
### $title ($short)

````text
$title: $package $version

A conversation of $turns questions and answers is trimmed before each call, to a quarter of its
whole size. Of $cuts calls that were trimmed, $changed begin otherwise than the call before, so that
a provider's prompt cache has to read the list again. Cutting further at once, and then letting the
list grow up to the budget, would keep the prefix for many calls.
````
""")


class PeerError(Exception):
    """What the peer raised, by its own words."""


@dataclass
class Broken:
    """An invariant that a peer broke, with the smallest case, and what an issue would show."""

    invariant: str
    why: str
    messages: int
    budget: int
    code: str
    printed: str


@dataclass
class Examined:
    """What was found about a peer."""

    package: str
    version: str
    about: str
    found: dict[str, Broken]
    changed: int
    cuts: int

    @property
    def name(self):
        """Return the framework's name and that of its trimmer."""
        return NAMES[self.package]

    @property
    def short(self):
        """Return the framework's name."""
        return self.name.partition(",")[0]

    @property
    def unit(self):
        """Return what it counts."""
        return UNITS.get(self.package, "messages")

    def cell(self, invariant):
        """Say how small a list breaks an invariant."""
        case = self.found.get(invariant)
        return "holds" if case is None else f"{case.messages} message{'s' * (case.messages > 1)}"


def judged(invariant, dialect):
    """Judge valid lists only: what a provider rejects, no trimmer needs to take."""

    @wraps(invariant)
    def of_valid(outcome):
        roles = [one["role"] for one in outcome.given.messages]
        late = dialect == "anthropic" and "system" in roles[1:]
        return invariant(outcome) if outcome.given.valid and not late else None

    return of_valid


def evictor(peer):
    """Make a function of messages and a budget that asks the peer."""

    def cut(messages, budget):
        answer = peer.ask({"ask": "cut", "messages": messages, "budget": budget})
        if "error" in answer:
            raise PeerError(answer["error"])
        return [messages[one] if isinstance(one, int) else one for one in answer["kept"]]

    return with_refusals(cut)


def short(value, key=""):
    """Make texts short; ids, names, roles and kinds stay."""
    if isinstance(value, dict):
        return {name: short(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [short(one, key) for one in value]
    if key == "arguments":
        return "{}"
    return "words" if isinstance(value, str) and key in {"content", "text"} and value else value


def numbered(messages, dialect):
    """Make texts short and different, as no two messages of a case may be equal; no pictures."""
    made = [short(one) for one in messages]
    for at, one in enumerate(made):
        pictured = dialect == "openai" and isinstance(one.get("content"), list)
        if pictured or (isinstance(one.get("content"), str) and one["content"]):
            one["content"] = f"text {at}"
        for block in one["content"] if isinstance(one.get("content"), list) else ():
            for key in ("text", "content"):
                if isinstance(block.get(key), str):
                    block[key] = f"text {at}"
    return made


def simpler(trial, failure, dialect):
    """Return a failure's list with short texts, its budget and complaint, if it still fails."""
    history = History(numbered(failure.messages, dialect), dialect, ())
    most = int(trial.counter.count(history.messages)) + 1
    rng = Random(0)  # noqa: S311 - no secret
    for budget in [*range(1, min(most, 200)), *trial.budgets(history, rng)]:
        for found in trial.broken(history, budget):
            if found.invariant == failure.invariant:
                case = smallest(trial, Case(history, budget, found))
                return case.history.messages, case.budget, case.finding.why
    return failure.messages, failure.budget, failure.why


def broken(peer, dialect, examples):
    """Check a peer, and return what it broke, the smallest case first."""
    count = counter(lambda given: peer.ask({"ask": "count", "messages": given})["count"])
    evict, invariants = evictor(peer), [judged(one, dialect) for one in INVARIANTS]
    options = {"counter": count, "invariants": invariants, "refusals": False}
    failures = ()
    try:
        check_evictor(evict, dialect, examples=examples, **options)
    except EvictorError as error:
        failures = error.failures
    trial = Trial(evict, count, tuple(invariants), refusals=False)
    made = []
    for failure in failures:
        messages, budget, why = simpler(trial, failure, dialect)
        shown = peer.ask({"ask": "show", "messages": messages, "budget": budget})
        made.append(
            Broken(failure.invariant, why, len(messages), budget, shown["code"], shown["printed"])
        )
    return sorted(made, key=lambda one: (one.messages, one.budget, one.invariant))


def prefix(peer, dialect):
    """Grow a conversation request by request within one budget; count the cuts that rewrite it.

    Returns:
        How many of the requests that were trimmed changed what stood before, and how many were.
    """
    roles = ("user", "assistant")
    whole = [{"role": roles[at % 2], "content": f"turn {at:03}"} for at in range(2 * TURNS)]
    ask = {"ask": "count", "messages": whole}
    budget = peer.ask(ask)["count"] // 4
    evict = evictor(peer)
    requests = [evict(whole[:end], budget) for end in range(1, len(whole) + 1, 2)]
    trimmed = [at for at, one in enumerate(requests) if len(one) < 2 * at + 1]
    breaks = {one.first + 1 for one in check_prefix(requests, dialect=dialect).breaks}
    return len(breaks & {*trimmed}), len(trimmed)


def page(found):
    """Return the page."""
    names = [name for name in TITLES if any(name in one.found for one in found)]
    rows = [
        ["", *(one.short for one in found)],
        ["---"] * (len(found) + 1),
        ["version", *(one.version for one in found)],
        *([f"`{name}`", *(one.cell(name) for one in found)] for name in names),
        ["calls that change the prefix", *(f"{one.changed} of {one.cuts}" for one in found)],
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return INTRO.substitute(table=table) + "".join(section(one) for one in found)


def section(one):
    """Return what stands below the table about one peer, the smallest case first."""
    parts = [f"\n## {one.name}\n\n{one.about}\n"]
    head = {"package": one.package, "version": one.version, "short": one.short}
    parts += [
        CASE.substitute(
            head,
            title=TITLES[case.invariant],
            size=f"{case.messages} message{'s' * (case.messages > 1)}",
            budget=f"{case.budget} {one.unit if case.budget > 1 else one.unit[:-1]}",
            why=case.why.replace("tokens", one.unit),
            code=case.code.rstrip(),
            printed=case.printed.rstrip(),
        )
        for case in one.found.values()
    ]
    if one.changed:
        every = one.changed == one.cuts
        title = "Every call past the budget changes the prefix" if every else SOME
        parts.append(
            PREFIX.substitute(head, title=title, turns=TURNS, cuts=one.cuts, changed=one.changed)
        )
    return "".join(parts)


def examined(peer, name, examples):
    """Check one peer by the invariants and by the prefix rule."""
    dialect = DIALECTS.get(name, "openai")
    changed, cuts = prefix(peer, dialect)
    return Examined(
        package=name,
        version=peer.about["version"],
        about=peer.about["doc"],
        found={one.invariant: one for one in broken(peer, dialect, examples)},
        changed=changed,
        cuts=cuts,
    )


def main() -> None:
    """Check all peers, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, help="directory of the peers' environments")
    parser.add_argument("--install", action="store_true", help="make what is not there, with pip")
    parser.add_argument("--page", type=Path, help="where to write; standard output if not given")
    parser.add_argument("--examples", type=int, default=60)
    options = parser.parse_args()
    named = os.environ.get(peers.VARIABLE)
    place = options.peers or (Path(named) if named else None)
    if options.install:
        if place is None:
            parser.error(f"--install needs --peers or {peers.VARIABLE}")
        peers.install(place, {name: (name,) for name in NAMES})
    found = []
    for name in NAMES:
        try:
            with peers.peer(name, place, script=Path(__file__).with_name("evicting.py")) as peer:
                print(f"{name} {peer.about['version']}", file=sys.stderr)
                found.append(examined(peer, name, options.examples))
        except peers.NoPeer as reason:
            print(f"skipped {reason}", file=sys.stderr)
    if options.page:
        options.page.write_text(page(found), encoding="utf-8")
    else:
        print(page(found))


if __name__ == "__main__":
    main()
