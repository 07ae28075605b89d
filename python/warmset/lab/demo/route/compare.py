"""Three ways to make the context of a task: the router, similarity alone, and everything."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from warmset.lab.demo.route.modules import MODULES, Desk
from warmset.lab.demo.route.needed import TASKS
from warmset.lab.demo.route.world import CONVERSATION, NOW, PIPELINE
from warmset.route import Router, TaskSpecs
from warmset.route.candidates import Candidate, facts_of
from warmset.route.quoted import quote
from warmset.text.markup import ITEMS, ITEMS_CLOSING
from warmset.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.items import MemoryItem
    from warmset.lab.demo.route.world import World
    from warmset.route import Payload

ALL: Final = 1_000_000
"""More items than there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The context of a task that was made in one way.

    Args:
        way: "router", "similarity" or "everything".
        tokens: The tokens of the call.
        items: The names of the items in it.
        found: How many of them the task needs.
        stray: The others' names.
    """

    way: str
    tokens: int
    items: tuple[str, ...]
    found: int
    stray: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What became of one task.

    Args:
        task: The task.
        budget: The most tokens of its payload.
        needed: The names of the items that it needs.
        contexts: Its context in each of the three ways.
        payload: The router's payload.
        output: What the module made of that; None for a task without one.
    """

    task: str
    budget: int
    needed: frozenset[str]
    contexts: tuple[Context, ...]
    payload: Payload
    output: dict[str, Any] | None

    @property
    def router(self) -> Context:
        """The context that the router made."""
        return self.contexts[0]


def specs() -> TaskSpecs:
    """Return the specifications of the demo's tasks."""
    with resources.as_file(resources.files("warmset.lab.demo.route").joinpath("tasks")) as folder:
        return TaskSpecs.read(folder)


def compare(world: World) -> list[Compared]:
    """Run the modules one after the other, and make each context in three ways.

    Args:
        world: The memory; the modules' outputs are put into it.

    Raises:
        NotFound: A module lacks something that it needs.
        WarmsetError: The store failed.
    """
    router = Router(world.memory, specs=specs(), record=False)
    run = router.pipeline(PIPELINE)
    made: list[Compared] = []
    for name, task in TASKS.items():
        budget = router.specs[name].max_context_tokens
        payload = run.route(
            name, query=task.query, conversation=CONVERSATION, error=task.error, now=NOW
        )
        needed = world.gold(name)
        routed = [one.memory_id for one in payload.context_payload]
        contexts = (
            _context("router", payload.total_tokens, routed, needed),
            _similar(world, task.query, budget, needed),
            _everything(world, task.query, needed),
        )
        output = None
        if name in MODULES:
            output = MODULES[name](Desk.of(map(world.memory.items.get, routed)))
            world.outputs[name] = run.output(name, data=output, derived_from=payload)
        made.append(
            Compared(
                task=name,
                budget=budget,
                needed=needed,
                contexts=contexts,
                payload=payload,
                output=output,
            )
        )
    return made


def _context(way: str, tokens: int, items: Sequence[str], needed: frozenset[str]) -> Context:
    return Context(
        way=way,
        tokens=tokens,
        items=tuple(items),
        found=len(needed.intersection(items)),
        stray=tuple(one for one in items if one not in needed),
    )


def _similar(world: World, query: str, budget: int, needed: frozenset[str]) -> Context:
    """Take what is most similar to the query, as long as it fits; what does not is passed over."""
    items: list[str] = []
    quotes: list[str] = []
    tokens = _tokens([], query)
    for item in world.memory.items.query(query, k=ALL):
        said = _quote(item)
        cost = count_tokens(said)
        if tokens + cost <= budget:
            tokens += cost
            items.append(item.memory_id)
            quotes.append(said)
    return _context("similarity", _tokens(quotes, query), items, needed)


def _everything(world: World, query: str, needed: frozenset[str]) -> Context:
    """Take all that the tenant has, but what newer items replace."""
    items = world.memory.items.query(k=ALL)
    tokens = _tokens([_quote(item) for item in items], query)
    return _context("everything", tokens, [item.memory_id for item in items], needed)


def _quote(item: MemoryItem) -> str:
    made = Candidate(
        id=item.id,
        known=facts_of(item),
        priority="supplementary",
        needs=(),
        similarity=None,
        relevance=0.0,
    )
    return quote(made, item.text)


def _tokens(quotes: Sequence[str], query: str) -> int:
    """Return the tokens of a call that quotes items as the router does."""
    return count_tokens(
        [{"role": "user", "content": f"{ITEMS}{''.join(quotes)}{ITEMS_CLOSING}\n\n{query}"}]
    )
