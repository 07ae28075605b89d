"""The documentation is right: examples run and print what is shown, links and commands exist."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import functools
import importlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import tomllib

import doc_pages as docs
import pytest
from doc_pages import DOCS, LINKED, PAGES, README, ROOT, agrees, anchors, blocks, links, name, prose

from warmset import Memory, WarmsetError
from warmset.cli.app import COMMANDS
from warmset.embed import weights as weights_module
from warmset.embed.pins import MINILM, POTION
from warmset.errors import ModelMissing
from warmset.money import PRICES

LEAST_BLOCKS = 70
"""Python examples that run, at least; fewer would mean that they are not found any more."""

MOST_UNRUN = 4
"""Examples that are compiled and not run, because they need a network or a key, at most."""

UNRUN = "no-run"

BANNED = re.compile(
    r"\btold\b|\bby worth\b|\bthe wall\b|\bwhat is sure\b|\bsays? so\b|@@", re.IGNORECASE
)
"""Words that a newcomer stumbles over, and places that were left to be filled."""

PYTHON = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]
MODEL = {README: MINILM, DOCS / "reference" / "options.md": POTION}
"""Pages whose examples use a local model; the others are quicker without."""

FRAMEWORKS = {
    DOCS / "how-to" / "openai-agents.md": "agents.testing",
    DOCS / "how-to" / "claude-agent-sdk.md": "claude_agent_sdk",
    DOCS / "how-to" / "langgraph.md": "langgraph.graph",
}
"""Pages about a framework, which is the real one and uses real SDKs."""

DRAWN = {DOCS / "reference", DOCS / "explanation"}
"""Where a block of text may be a drawing or a log, and not what an example prints."""


def run(code, line, page, names):
    """Run an example, as if it stood in its page alone; return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)  # noqa: S102 - our own
    return printed.getvalue()


with contextlib.suppress(ImportError):  # it keeps the standard error of the moment of its import
    importlib.import_module("mcp.client.stdio")


@pytest.fixture(autouse=True)
def closed_loop():
    """An example may set an event loop that it never closes: some frameworks' own calls do."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(autouse=True)
def _prices():
    """Give the other tests the table of prices as it was: a page shows how to add a model."""
    before = dict(PRICES)
    yield
    PRICES.clear()
    PRICES.update(before)


def _have(model):
    """Skip on a machine that has not got a model and cannot get it, as the fixture `weights`."""
    try:
        weights_module.resolve(model)
    except ModelMissing as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"offline and without the model: {error}")


@pytest.mark.parametrize("page", PYTHON, ids=name)
def test_the_examples_of_a_page_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    if page in MODEL:
        _have(MODEL[page])
        # What is not embedded by then is left for the next opening; it would take half a minute.
        monkeypatch.setattr(Memory, "close", functools.partialmethod(Memory.close, timeout=1.0))
    monkeypatch.chdir(tmp_path)
    if page in FRAMEWORKS:
        pytest.importorskip(FRAMEWORKS[page], reason="the page is about that framework")
    else:
        for module, stand_in in docs.sdks().items():
            monkeypatch.setitem(sys.modules, module, stand_in)
    names = {**docs.given(), "__name__": "page"}
    if DOCS / "reference" in page.parents:  # its examples are parts of programs
        names["memory"] = Memory.open(None, embedder="lexical")
        names["chat"] = names["memory"].conversation("log")
    here = blocks(page)
    shows = not DRAWN & set(page.parents)
    level = logging.getLogger("warmset").level
    try:
        for block, following in zip(here, [*here[1:], None], strict=True):
            if block.language != "python" or block.marker == UNRUN or docs.needs(block):
                continue
            printed = run(block.text, block.line, page, names)
            if shows and following is not None and following.language == "text":
                assert agrees(following.text, printed), f"line {following.line}: {printed}"
    finally:
        logging.getLogger("warmset").setLevel(level)
        for value in list(names.values()):
            if isinstance(value, Memory):
                with contextlib.suppress(WarmsetError):
                    value.close()


def test_the_examples_are_found():
    found = [block for page in PAGES for block in blocks(page) if block.language == "python"]
    unrun = [block for block in found if block.marker == UNRUN]
    assert {block.marker for block in found if not docs.needs(block)} <= {"", UNRUN}
    assert len(found) - len(unrun) >= LEAST_BLOCKS
    assert len(unrun) <= MOST_UNRUN


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_is_closed_and_every_output_belongs_to_an_example(page):
    assert "```" not in prose(page)
    here = blocks(page)
    assert not [block.line for block in here if "```" in block.text]
    for before, block in zip([None, *here], here, strict=False):
        if block.language == "text" and not DRAWN & set(page.parents):
            assert before is not None, f"line {block.line} shows what nothing prints"
            assert before.language in {"python", "sh"}, f"line {block.line}"


@pytest.mark.parametrize("page", PYTHON, ids=name)
def test_what_is_not_run_can_be_compiled_and_imported(page):
    for block in blocks(page):
        if block.language != "python" or block.marker != UNRUN:
            continue
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.Import):
                for one in node.names:
                    importlib.import_module(one.name)
            elif isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, one.name) for one in node.names), ast.unparse(node)


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_links_lead_somewhere(page):
    for link in links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme_in_two_clicks():
    def from_(page):
        found = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
        return {path for path in found if path.suffix == ".md" and path.exists()}

    first = from_(README)
    assert set(PAGES) <= {README} | first | {page for one in first for page in from_(one)}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_words_are_plain(page):
    found = BANNED.findall(page.read_text())
    assert not found


def test_commands_that_pages_name_exist():
    for page in [*PAGES, ROOT / "benches" / "README.md"]:
        text = page.read_text()
        for module in re.findall(r"python -m ([\w.]+\w)(?![\w.<])", text):
            if "." in module:
                base = "python/" if module.startswith("warmset") else ""
                place = f"{base}{module.replace('.', '/')}"
                forms = (f"{place}.py", f"{place}/__main__.py")
                assert any((ROOT / one).is_file() for one in forms), (page, module)
        for path in re.findall(r"(?:pytest|python) (benches/[\w/.]+)", text):
            assert (ROOT / path).exists(), (page, path)
        shell = [block.text for block in blocks(page) if block.language == "sh"]
        code = "\n".join([*shell, *re.findall(r"`([^`\n]+)`", prose(page))])
        for command in re.findall(r"^warmset ([a-z]+)", code, re.MULTILINE):
            assert command in COMMANDS, (page, command)


# --- the README -----------------------------------------------------------------------------------


def shell_lines():
    return [
        line
        for block in blocks(README)
        if block.language == "sh"
        for line in block.text.splitlines()
    ]


def figures():
    """Return the rows of the README's table of figures, without its head."""
    rows = re.findall(r"^\|(.*)\|$", README.read_text(), re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows][2:]


def results(file, contest):
    """Return a contest's times in microseconds out of the committed results."""
    [path] = (ROOT / "benches" / "results").glob(f"{file}-*.json")
    found = json.loads(path.read_text())["results"]
    return next(one["microseconds"] for one in found if one["name"] == contest)


def test_the_readme_is_read_to_its_end():
    assert len(README.read_text().splitlines()) <= 150
    first, *others = [block.text for block in blocks(README) if block.language == "python"]
    assert len(first.strip().splitlines()) <= 13
    assert len(others) == 4
    assert all(len(other.strip().splitlines()) <= 6 for other in others)


def test_the_commands_for_a_checkout_are_those_that_ci_runs():
    assert 'pip install ".[local]" && warmset demo' in shell_lines()
    assert 'pip install ".[dev]" && poe check' in shell_lines()
    [script] = re.findall(r"sed -n '([^']+)' README\.md", (ROOT / ".ci" / "run").read_text())
    printed = subprocess.run(  # noqa: S603 - what CI does
        ["sed", "-n", script, str(README)],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == 'pip install ".[dev]" && poe check\n'


def test_every_extra_that_is_named_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"])
    for page in PAGES:
        assert set(re.findall(r'"(?:\.|warmset)\[([a-z]+)\]"', page.read_text())) <= extras, page
    code = "".join(path.read_text() for path in (ROOT / "python").rglob("*.py"))
    assert set(re.findall(r'extra\("(\w+)"\)', code)) <= extras


def test_the_chart_is_drawn_from_the_committed_figures():
    chart = importlib.import_module("benches.python.recall.chart")
    recalls = chart.figures(chart.SOURCE.read_text())
    assert list(recalls) == ["warmset", "keywords (BM25)", "vectors", "the newest turns"]
    assert chart.CHART.read_text() == chart.draw(recalls)
    assert chart.CHART.relative_to(ROOT).as_posix() in links(README)


def written(name, at=0):
    """Return the row of that name in a table of the page of benchmarks, by its columns."""
    page = (DOCS / "explanation" / "benchmarks.md").read_text()
    found = []
    for table in re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE):
        head, _, *rows = [[one.strip() for one in row.split("|")] for row in table.splitlines()]
        found += [dict(zip(head, row, strict=True)) for row in rows if row[1] == name]
    shares = {key: one.strip("*") for key, one in found[at].items() if key.endswith("%")}
    return {key: f"{float(one):.1%}" for key, one in shares.items()}


def test_each_figure_has_a_command_and_is_the_one_that_was_measured(capsys):
    chart = importlib.import_module("benches.python.recall.chart")
    recall = {key: f"{one:.1%}" for key, one in chart.figures(chart.SOURCE.read_text()).items()}
    search = results("index", "like 100,000")
    cut = results("trim", "held 10,000 to 50%, another budget")
    append = results("store", "durable append")
    run_demo = importlib.import_module("warmset.cli.app").run
    assert run_demo(["demo", "--compact"]) == 0
    [longest] = re.findall(r"longest wait of a call, simulated +(.+)", capsys.readouterr().out)
    begun, prepared = re.findall(r"[\d,]+ ms", longest)

    usual, agents = (written(name) for name in ("**default window**", "default windows"))
    bm25, dense = (written("plain " + name, at=-1) for name in ("BM25", "dense"))

    rows = figures()
    assert len(rows) == 7
    assert all(re.search(r"`(warmset|python -m) [^`]+`", row[-1]) for row in rows)
    assert [row[1].replace(" %", "%") for row in rows] == [
        usual["5 %"],
        agents["5 %"],
        prepared,
        "0",
        f"{search['warmset'] / 1000:.2f} ms",
        f"{cut['warmset']:.0f} µs",
        f"{append['warmset']:.0f} µs",
    ]
    assert [row[2].replace(" %", "%") for row in rows] == [
        f"BM25 {recall['keywords (BM25)']}, vectors {recall['vectors']}",
        f"BM25 {bm25['5 %']}, vectors {dense['5 %']}",
        f"begun at the limit: {begun}",
        "",
        f"faiss, exact: {search['faiss flat'] / 1000:.1f} ms",
        f"langchain-core: {cut['langchain-core, len // 4']:,.0f} µs",
        f"SQLite: {append['SQLite FULL']:.0f} µs",
    ]


# --- the providers' calls -------------------------------------------------------------------------

PROVIDER_CALL = re.compile(
    r"client\.(chat\.completions\.create|responses\.create|messages\.create|"
    r"models\.generate_content)\("
)


def provider_calls(code):
    """Return the calls of a provider's client in a program, as they are written."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return {call for call in map(ast.unparse, nodes) if PROVIDER_CALL.match(call)}


def test_the_type_checkers_read_every_call_of_a_provider_that_the_pages_show():
    typed = [path.read_text() for path in (ROOT / "tests" / "typing").glob("readme_*.py")]
    checked = set().union(*map(provider_calls, typed))
    shown = {
        (name(page), call)
        for page in PAGES
        for block in blocks(page)
        if block.language == "python"
        for call in provider_calls(block.text)
    }
    assert len(shown) >= 10
    assert not {(page, call) for page, call in shown if call not in checked}
