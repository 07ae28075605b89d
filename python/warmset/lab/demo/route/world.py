"""A made-up analyst's memory: what a valuation needs, and what only looks like it.

What belongs to other companies, tasks, sessions, pipelines and tenants is there as well, under the
same labels and with the same words.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from warmset.items import NewItem
from warmset.lab.demo.route.books import YEARS, Books, books_of
from warmset.lab.demo.route.filings import Chunk, filing
from warmset.lab.demo.route.material import material
from warmset.lab.demo.route.needed import ASSUMPTIONS, CORRECTED, TASKS, Task
from warmset.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMPANY: Final = "Tarnwick Controls, Inc."
OTHER: Final = "Osmer Freight Holdings"
CONVERSATION: Final = "tarnwick"
SESSION: Final = "model"
PIPELINE: Final = "fy2025"
BEFORE: Final = "fy2024"
NOW: Final = datetime(2026, 3, 9, 8, 30, tzinfo=UTC)
SEED: Final = 25


def year_key(year: int) -> str:
    """Return the key of what is of a fiscal year."""
    return f"FY{year}"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An analyst's memory, and what is known of it by construction.

    Args:
        memory: The memory of the analyst's tenant.
        others: The memory of another tenant of the same store, with the same names.
        books: The figures of the company.
        chunks: What its filings say.
        needed: By task, the names of the items that it needs and that were put at the beginning.
        outputs: By module, the name of its output in the current pipeline.
    """

    memory: Memory
    others: Memory
    books: Books
    chunks: tuple[Chunk, ...]
    needed: Mapping[str, frozenset[str]]
    outputs: dict[str, str] = field(default_factory=dict[str, str])

    def gold(self, task: str) -> frozenset[str]:
        """Return the names of the items that a task needs, once the modules before it have run."""
        return self.needed[task] | {self.outputs[module] for module in TASKS[task].modules}


@contextmanager
def world(seed: int = SEED) -> Iterator[World]:
    """Make the world in a store that is gone afterwards.

    Args:
        seed: The same seed gives the same world.
    """
    books = books_of(COMPANY, seed)
    chunks = tuple(one for year in YEARS for one in filing(books, year, seed))
    with TemporaryDirectory(prefix="warmset-demo-") as folder:
        path = Path(folder) / "store"
        with (
            Memory.open(path, embedder="lexical", durability="os", tenant="other-desk") as others,
            Memory.open(path, embedder="lexical", durability="os", tenant="desk") as memory,
        ):
            _other_tenant(others, seed)
            memory.items.put_many(map(_chunk, chunks))
            _other_company(memory, seed)
            _fixes(memory)
            _other_pipeline(memory, books)
            needed: dict[str, set[str]] = {task: set() for task in TASKS}
            _assumptions(memory, correction=_say(memory, needed))
            for name, task in TASKS.items():
                needed[name] |= _needed(task, chunks)
            yield World(
                memory=memory,
                others=others,
                books=books,
                chunks=chunks,
                needed={name: frozenset(names) for name, names in needed.items()},
            )


def _needed(task: Task, chunks: tuple[Chunk, ...]) -> set[str]:
    """Return the names of what a task needs beside messages and outputs."""
    names = {
        chunk.name
        for chunk in chunks
        if chunk.year in task.years and set(chunk.states) & set(task.figures)
    }
    corrected = {"terminal_growth": "assumption/terminal_growth/2"}
    names |= {corrected.get(key, f"assumption/{key}") for key in task.assumptions}
    names |= {
        _fix_name(number, fix)
        for number, fix in enumerate(_fixes_read())
        if task.fixes in (fix["module"], fix["kind"])
    }
    return names | ({f"error/{task.error}"} if task.error else set())


def _chunk(chunk: Chunk) -> NewItem:
    return NewItem(
        memory_type="document_chunk",
        memory_id=chunk.name,
        text=chunk.text,
        sections=(chunk.section, chunk.item),
        keys=(year_key(chunk.year),),
        entities=(chunk.company,),
        timestamp=datetime(chunk.year + 1, 2, 20, 12, tzinfo=UTC),
    )


def _assumptions(memory: Memory, *, correction: str) -> None:
    """Put what the user settled, what a message corrected, and what was meant for elsewhere."""
    said = datetime(2026, 2, 23, 9, 5, tzinfo=UTC)
    memory.items.put_many(
        _assumption(f"assumption/{key}", key, text, CONVERSATION, said)
        for key, text in ASSUMPTIONS.items()
    )
    later = datetime(2026, 3, 2, 14, 5, tzinfo=UTC)
    corrected = _assumption(
        "assumption/terminal_growth/2",
        "terminal_growth",
        CORRECTED,
        CONVERSATION,
        later,
    )
    memory.items.supersede(
        "assumption/terminal_growth", replace(corrected, derived_from=(correction,))
    )
    scenario = _assumption(
        "scenario/discount_rate",
        "discount_rate",
        "Discount rate: 15.0 percent, a scenario of one afternoon",
        CONVERSATION,
        later,
    )
    memory.items.put_many(
        [
            replace(scenario, session_id="review"),
            _assumption(
                "osmer/discount_rate", "discount_rate", "Discount rate: 11.0 percent", "osmer", said
            ),
            _assumption("osmer/tax_rate", "tax_rate", "Tax rate: 21.0 percent", "osmer", said),
        ]
    )


def _assumption(name: str, key: str, text: str, conversation: str, at: datetime) -> NewItem:
    return NewItem(
        memory_type="user_context",
        memory_id=name,
        text=text,
        keys=(key,),
        conversation=conversation,
        timestamp=at,
        origin="user",
    )


@cache
def _fixes_read() -> list[dict[str, Any]]:
    return list(material("fixes.toml")["fix"])


def _fix_name(number: int, fix: Mapping[str, Any]) -> str:
    return f"fix/{fix['module']}/{fix['kind']}/{number}"


def _fixes(memory: Memory) -> None:
    """Put the errors that were mended before, and those that are open."""
    fixes = _fixes_read()
    at = datetime(2025, 11, 3, tzinfo=UTC)
    memory.items.put_many(
        NewItem(
            memory_type="error_fix",
            memory_id=_fix_name(number, fix),
            text=f"Error: {fix['error']} Fix: {fix['fix']}",
            module_context=fix["module"],
            keys=(fix["kind"],),
            reward=fix["reward"],
            timestamp=at,
        )
        for number, fix in enumerate(fixes)
    )
    for module, kind, text in (
        ("debt_schedule", "footnote-mark", "cannot convert '350 (1)' of the maturity table"),
        ("press_summary", "length", "the summary has 2 pages, 1 was agreed"),
    ):
        memory.items.put(
            NewItem(
                memory_type="error_context",
                memory_id=f"error/{module}/{kind}/1",
                text=f"{module} failed: {text}",
                module_context=module,
                keys=(f"{module}/{kind}/1",),
                timestamp=NOW,
                origin="tool",
            )
        )


def _say(memory: Memory, needed: Mapping[str, set[str]]) -> str:
    """Append the three sessions, note what a task needs of them, and return the correction."""
    correction = ""
    for session in material("talk.toml")["session"]:
        for message in session["messages"]:
            [id_] = memory.conversation(CONVERSATION).append(
                [{"role": message["role"], "content": message["text"]}],
                at=session["at"],
                session=session["name"],
            )
            for task in message.get("for", ()):
                needed[task].add(f"turn:{id_}")
            if "corrects" in message:
                correction = f"turn:{id_}"
    memory.conversation("osmer").append(
        [
            {"role": "user", "content": "For Osmer Freight terminal growth is 1 percent."},
            {"role": "assistant", "content": "Noted: terminal growth of 1 percent for Osmer."},
        ],
        at="2026-03-09T08:20:00Z",
        session=SESSION,
    )
    return correction


def _other_company(memory: Memory, seed: int) -> None:
    """Put what another company's report states, under the same sections and years."""
    theirs = filing(books_of(OTHER, seed), YEARS[-1], seed)
    memory.items.put_many(_chunk(one) for one in theirs if one.states)


def _other_tenant(others: Memory, seed: int) -> None:
    """Put the same names into another tenant, with figures of its own."""
    books = books_of(COMPANY, seed + 1)
    stated = [one for one in filing(books, YEARS[-1], seed + 1) if one.states]
    others.items.put_many(map(_chunk, stated))
    others.items.put(
        _assumption(
            "assumption/discount_rate",
            "discount_rate",
            "Discount rate: 13.0 percent",
            CONVERSATION,
            NOW,
        )
    )


def _other_pipeline(memory: Memory, books: Books) -> None:
    """Put what the modules made a year ago, and what others make of this year's report."""
    year = YEARS[-2]
    old: dict[str, dict[str, Any]] = {
        "revenue_extraction": {"net_sales": {str(year): books["net_sales", year]}},
        "margin_analysis": {"operating_margin": {str(year): 0.17}},
        "debt_schedule": {"net_debt": books["notes_2029", year]},
        "wacc_inputs": {"cost_of_debt": 0.06},
    }
    memory.items.put_many(
        NewItem(
            memory_type="module_output",
            memory_id=f"{BEFORE}/{module}",
            data=data,
            module_context=module,
            pipeline=BEFORE,
            timestamp=datetime(2025, 3, 10, tzinfo=UTC),
            origin="assistant",
        )
        for module, data in old.items()
    )
    memory.items.put_many(
        NewItem(
            memory_type="module_output",
            memory_id=f"{PIPELINE}/{module}",
            text=text,
            module_context=module,
            pipeline=PIPELINE,
            timestamp=NOW,
            origin="assistant",
        )
        for module, text in (
            ("chart_builder", "Charts of net sales, margins and net debt in grey and blue."),
            ("press_summary", "Tarnwick Controls reports higher sales and a stable margin."),
        )
    )
