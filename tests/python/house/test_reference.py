"""The reference pages name what there is: errors, commands, options, tools, public names."""

from __future__ import annotations

import importlib
import inspect
import re
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import tool_pages

from tests.signatures import ROOMS
from warmset import errors, evict, options, route
from warmset.cli.app import COMMANDS, application
from warmset.compact import CompactWeights
from warmset.memory import Memory, MemoryOptions
from warmset.money import Prices, Surcharge
from warmset.prepare import PreparedCompaction
from warmset.serve import methods, tools_of
from warmset.serve.rpc import jsonrpc
from warmset.store import StoreOptions
from warmset.tokens.budget import Budget
from warmset.window import WindowOptions

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "python" / "docs"
REFERENCE = DOCS / "reference"
OURS = sorted([*REFERENCE.glob("*.md"), *(DOCS / "explanation").glob("*.md")])
AWAITED = {REFERENCE / "logging.md"}
"""Pages that may not be there yet."""


def sections(page: Path, marks: str) -> dict[str, str]:
    """Part a page by its headings of one level; what is before the first one is left out."""
    parts = re.split(rf"^{marks} (.+)$", page.read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """Return the cells of the tables in a text, their heads left out."""
    lines = [line.strip().strip("|") for line in text.splitlines() if line.startswith("|")]
    table = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    rules = [at for at, row in enumerate(table) if set("".join(row)) <= {"-", ":"}]
    return [row for at, row in enumerate(table) if at not in rules and at + 1 not in rules]


def named(cell: str) -> list[str]:
    """Return the names in a cell, each between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def first_names(text: str) -> list[str]:
    return [name for row in rows(text) for name in named(row[0])]


# --- errors ---------------------------------------------------------------------------------------


def test_every_error_has_a_row_with_cause_and_cure():
    found = [row for part in sections(REFERENCE / "errors.md", "##").values() for row in rows(part)]
    by_name = {named(row[0])[0]: row for row in found}
    assert sorted(by_name) == sorted(errors.__all__)
    assert len(by_name) == len(found)
    for name, (_, bases, cause, cure) in by_name.items():
        real = [base.__name__ for base in getattr(errors, name).__mro__]
        assert set(named(bases)) <= set(real), name
        assert cause, name
        assert cure, name


# --- the command line -----------------------------------------------------------------------------

GROUPS = {"eval", "hooks", "model", "serve"}


def commands() -> dict[str, object]:
    """Return every command by its whole name."""
    found = {}
    for name in COMMANDS:
        app = application([name])[name]
        inner = [one for one in app if not one.startswith("-")]
        assert bool(inner) == (name in GROUPS)
        if not inner or app.default_command is not None:
            found[name] = app
        found |= {f"{name} {one}": app[one] for one in inner}
    return {f"warmset {name}": app for name, app in found.items()}


def test_every_command_is_described_with_an_example():
    page = sections(REFERENCE / "cli.md", "##")
    assert sorted(page) == sorted(commands())
    for name, text in page.items():
        assert re.search(rf"^(.*\| )?{name}\b", text, re.MULTILINE), name
    opening = (REFERENCE / "cli.md").read_text().split("\n## ")[0]
    assert sorted(first_names(opening)) == sorted(f"warmset {name}" for name in COMMANDS)


@pytest.mark.parametrize("command", commands())
def test_every_option_of_a_command_is_described(command):
    text = sections(REFERENCE / "cli.md", "##")[command]
    arguments = commands()[command].assemble_argument_collection()
    assert first_names(text) == [name for one in arguments for name in one.names]
    required = [row for row in rows(text) if row[2] == "required"]
    assert [named(row[0])[0] for row in required] == [
        one.names[0] for one in arguments if one.required
    ]
    for one, row in zip(arguments, rows(text), strict=True):
        default = one.field_info.default
        if isinstance(default, bool):
            assert row[2] == ("on" if default else "off"), row
        elif not one.required and default not in (None, inspect.Parameter.empty):
            said = f"{default:g}" if isinstance(default, float) else str(default)
            assert row[2].strip("`") == said, row


# --- JSON-RPC -------------------------------------------------------------------------------------


def test_every_method_and_code_is_described():
    page = sections(REFERENCE / "json-rpc.md", "##")
    assert first_names(page["Methods"]) == list(methods([], version="1"))
    codes = ("PARSE", "REQUEST", "METHOD", "PARAMS", "INTERNAL")
    told = [int(row[0]) for row in rows(page["Errors"])]
    assert told == [getattr(jsonrpc, code) for code in codes]


def test_every_tool_is_described_and_the_results_of_the_conformance_suite_are_there():
    assert tool_pages.between(tool_pages.TOOLS) == tool_pages.tools_text()
    assert tool_pages.between(tool_pages.MCP) == tool_pages.conformance_text()
    described = sections(tool_pages.TOOLS, "##")
    with Memory.open(None, embedder="lexical") as memory:
        tools = tools_of(memory)
        made = tools[4].call({"messages": [{"role": "user", "content": "x"}]})
    assert [*described][:-1] == [tool.name for tool in tools]
    for tool in tools:
        table = described[tool.name].split("| member of the result |")[0]
        must = [named(row[0])[0] for row in rows(table) if row[2] == "required"]
        assert must == list(tool.required)
    told = described["context_compact"].split("| member of the result |")[1]
    assert set(made) <= set(first_names(f"| member |{told}"))


# --- options --------------------------------------------------------------------------------------

CLASSES = {
    "MemoryOptions": MemoryOptions,
    "StoreOptions": StoreOptions,
    "WindowOptions": WindowOptions,
    "Budget": Budget,
    "Filter": options.Filter,
    "Weights": options.Weights,
    "PreparedCompaction": PreparedCompaction,
    "Prices": Prices,
    "Surcharge": Surcharge,
    "CompactWeights": CompactWeights,
    "TokenBudget": evict.TokenBudget,
    "SlidingWindow": evict.SlidingWindow,
    "HeadTail": evict.HeadTail,
    "Salience": evict.Salience,
    "ClearToolResults": evict.ClearToolResults,
    "LatestToolResult": evict.LatestToolResult,
    "FileKey": evict.FileKey,
    "CollapseCalls": evict.CollapseCalls,
    "OffloadLarge": evict.OffloadLarge,
    "Summarize": evict.Summarize,
    "Chain": evict.Chain,
    "TaskSpec": route.TaskSpec,
    "Need": route.Need,
    "When": route.When,
}
SEVERAL = {"Policies of fit", "Specification of a task"}
"""Sections that hold those of several classes."""
MADE = {"fallback", "clock", "worker"}
"""Fields whose default is made or is a function: the page says in words what it is."""


def option_sections() -> dict[str, str]:
    page = REFERENCE / "options.md"
    found = {**sections(page, "##"), **sections(page, "###")}
    return {name: re.split(r"^##", text, flags=re.MULTILINE)[0] for name, text in found.items()}


def test_every_class_of_options_has_a_section():
    assert set(option_sections()) == {*CLASSES, *SEVERAL, "Fixed numbers"}
    policies = {name for name in evict.__all__ if hasattr(getattr(evict, name), "plan")}
    assert {*policies - {"Policy"}, "Chain"} <= set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_and_its_default_is_described(name):
    found = rows(option_sections()[name])
    fields = inspect.signature(CLASSES[name]).parameters
    assert [named(row[0]) for row in found] == [[field] for field in fields]
    for field, row in zip(fields.values(), found, strict=True):
        assert row[1]
        assert row[3]
        if field.default is field.empty:
            assert row[2] == "required"
        elif field.name not in MADE:
            assert eval(row[2].strip("`"), {"time": time}) == field.default, field.name  # noqa: S307
        else:
            assert row[2]


def test_fixed_numbers_are_those_of_the_code():
    for name, value, _ in rows(option_sections()["Fixed numbers"]):
        assert float(value.strip("`")) == getattr(options, named(name)[0]), name


# --- public names ---------------------------------------------------------------------------------


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_a_line(room):
    page = sections(REFERENCE / "api.md", "##")
    assert [title for title in page if title.startswith("warmset")] == list(ROOMS)
    text = page[room].split("\n###")[0]
    found = first_names(text) if room != "warmset.errors" else named(text)
    assert sorted(found) == sorted(importlib.import_module(room).__all__)
    assert len(found) == len(set(found))
    assert all(row[1] for row in rows(text))


def test_names_of_other_rooms_are_where_the_page_says():
    text = sections(REFERENCE / "api.md", "##")["Types of other rooms"]
    for name, room, meaning in rows(text):
        found = getattr(importlib.import_module(named(room)[0]), named(name)[0])
        assert found.__doc__ or named(name)[0] in ("State", "Origin")
        assert meaning


def test_every_method_of_the_main_classes_is_listed():
    page = sections(REFERENCE / "api.md", "###")
    for room, name in (("", "Memory"), ("", "Conversation"), (".items", "Items")):
        kind = getattr(importlib.import_module(f"warmset{room}"), name)
        members = [one for one in vars(kind) if not one.startswith("_")]
        text = re.split(r"^##", page[name], flags=re.MULTILINE)[0]
        assert sorted(first_names(text)) == sorted(members), name


def test_every_method_of_the_log_is_listed():
    text = sections(REFERENCE / "api.md", "###")["Log"].split("\n##")[0]
    kind = importlib.import_module("warmset.native").Log
    assert sorted(named("".join(row[0] for row in rows(text)))) == sorted(
        name for name in vars(kind) if not name.startswith("_")
    )


# --- links and pictures ---------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


NOTES = [ROOT / name / "README.md" for name in ("rust", "benches")]
LINKING = [*OURS, *NOTES, ROOT / ".github" / "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", LINKING, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists() or there in AWAITED, target
        if anchor and there.suffix == ".md" and there.exists():
            assert anchor in anchors(there), target


@pytest.mark.parametrize("picture", sorted(DOCS.rglob("*.svg")), ids=lambda one: one.name)
def test_pictures_are_well_formed_small_and_said_in_words(picture):
    text = picture.read_text()
    root = ET.fromstring(text)  # noqa: S314 - our own file
    assert root.get("viewBox")
    assert root.find("{http://www.w3.org/2000/svg}title").text
    assert len(text) < 10_000


@pytest.mark.parametrize("page", OURS, ids=lambda page: page.name)
def test_a_page_opens_with_its_title(page):
    assert page.read_text().startswith("# ")


# --- the rooms, and the bytes ---------------------------------------------------------------------


def test_every_room_is_on_the_map_and_no_reserved_one_is_built():
    page = sections(ROOT / ".github" / "CONTRIBUTING.md", "##")["The house"]
    table, _, reserved = page.partition("### Reserved rooms")
    rooms = {name.rstrip("/") for row in rows(table) for name in named(row[1])}
    package = ROOT / "python" / "warmset"
    folders = {one.parent.name for one in package.glob("*/__init__.py")}
    assert folders == {name for name in rooms if not name.endswith(".py") and name}
    assert all((package / name).exists() for name in rooms)
    free = [name for name in first_names(reserved) if "<" not in name]
    assert len(free) >= 2
    assert not any((package / name).is_dir() for name in free)


def test_kinds_of_records_are_those_of_the_core():
    source = (ROOT / "rust" / "core" / "src" / "entry.rs").read_text()
    known = re.findall(r'\(Self::\w+, (\d+), "(\w+)"\)', source)
    found = rows(sections(REFERENCE / "file-formats.md", "###")["Kinds of records"].split("##")[0])
    assert [(row[0], named(row[1])[0]) for row in found] == known
    assert len(known) > 10


def test_magic_words_are_those_of_the_core():
    page = (REFERENCE / "file-formats.md").read_text()
    words = re.findall(r'magic "(\w+)[\\"]', page)
    assert len(words) == 12
    code = "".join(path.read_text() for path in (ROOT / "rust" / "core" / "src").rglob("*.rs"))
    assert [word for word in words if f'b"{word}' not in code] == []
