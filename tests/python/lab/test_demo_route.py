"""``warmset demo --route``: what the modules of a valuation get, and that it is what they need."""

from __future__ import annotations

import io
import json
import re
import socket
import time
from dataclasses import replace

import pytest
from doc_pages import ROOT
from rich.cells import cell_len
from rich.console import Console

from warmset import count_tokens
from warmset.cli import app
from warmset.errors import NotFound
from warmset.lab.demo.route import run as running, show
from warmset.lab.demo.route.books import FIGURES, YEARS, books_of
from warmset.lab.demo.route.compare import specs
from warmset.lab.demo.route.figures import LEAST, MOST
from warmset.lab.demo.route.filings import filing, stated
from warmset.lab.demo.route.modules import MODULES, Desk, assumed_in, worked_out
from warmset.lab.demo.route.needed import TASKS, settled
from warmset.lab.demo.route.run import RouteOptions, figures_of, measure
from warmset.lab.demo.route.world import COMPANY, PIPELINE, SEED, world

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
WAYS = ("router", "similarity", "everything")


@pytest.fixture(scope="module")
def both():
    with world() as made:
        yield made, figures_of(made, put=0.0)


@pytest.fixture(scope="module")
def found(both):
    return both[1]


@pytest.fixture(scope="module")
def there(both):
    return both[0], {one.task: one for one in both[1].tasks}


def ways(one):
    return dict(zip(WAYS, one.contexts, strict=True))


# --- the texts ------------------------------------------------------------------------------------


def test_each_text_states_the_figures_of_the_books_that_it_is_said_to_state_and_no_other():
    books = books_of(COMPANY, SEED)
    for year in YEARS:
        chunks = filing(books, year, SEED)
        for chunk in chunks:
            assert stated(chunk.text) == {(name, year): books[name, year] for name in chunk.states}
        said = [name for chunk in chunks for name in chunk.states]
        assert sorted(said) == sorted(FIGURES), "each figure once in a filing"
        assert len({chunk.name for chunk in chunks}) == len({chunk.text for chunk in chunks})


def test_the_figures_of_the_years_fit_together():
    books = books_of(COMPANY, SEED)
    for year in YEARS:
        parts = ("sales_flow", "sales_sensing", "sales_services")
        assert sum(books[part, year] for part in parts) == books["net_sales", year]
        assert books["diluted_shares", year] > books["shares_outstanding", year]
        if year > YEARS[0]:
            more = books["working_capital", year] - books["working_capital", year - 1]
            assert more == books["working_capital_growth", year]


@pytest.mark.parametrize("year", YEARS)
def test_a_table_has_the_figures_of_its_year_and_of_those_before(year):
    books = books_of(COMPANY, SEED)
    [text] = [
        one.text for one in filing(books, year, SEED) if one.section.endswith("of Operations")
    ]
    head, *rows = (line.split(" | ") for line in text.splitlines()[1:])
    assert [int(cell) for cell in head[1:]] == [one for one in reversed(YEARS) if one <= year]
    row = next(row for row in rows if row[0] == "Net sales")
    cells = [float(cell.replace(",", "")) for cell in row[1:]]
    assert cells == [books["net_sales", int(one)] for one in head[1:]]


def test_the_filings_have_the_size_of_real_ones_and_sentences_are_not_repeated(found):
    assert (found.filings, found.company) == (3, COMPANY)
    assert 180_000 < found.tokens < 220_000
    books = books_of(COMPANY, SEED)
    whole, every = 0, set()
    for year in YEARS:
        bodies = [one.text.partition("\n")[2] for one in filing(books, year, SEED)]
        sentences = [one for body in bodies for one in re.split(r"(?<=\.) ", body)]
        assert len(set(sentences)) > 0.95 * len(sentences)
        whole, every = whole + len(sentences), every.union(sentences)
    assert len(every) > 0.8 * whole, "each year has words of its own"


# --- what is needed -------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_each_thing_that_a_task_needs_stands_in_an_item_of_its_gold_list(there, task):
    made, _tasks = there
    wanted = TASKS[task]
    items = [made.memory.items.get(name) for name in sorted(made.gold(task))]
    texts = "\n".join(item.text for item in items)
    for name in wanted.figures:
        for year in wanted.years:
            assert f"{made.books.written(name, year)} in fiscal {year}" in texts
    for key in wanted.assumptions:
        assert settled()[key] in texts
    for module in wanted.modules:
        assert f"{PIPELINE}/{module}" in made.gold(task)
    reasons = {item.memory_type for item in items}
    assert all(
        stated(item.text).keys() & {(name, year) for name in wanted.figures for year in YEARS}
        for item in items
        if item.memory_type == "document_chunk"
    ), "a chunk is needed for a figure alone"
    assert ("error_fix" in reasons) == bool(wanted.fixes)


def test_the_newer_assumption_is_needed_and_was_made_from_what_the_user_said(there):
    made, _tasks = there
    item = made.memory.items.get("assumption/terminal_growth/2")
    assert item.memory_id in made.gold("dcf")
    assert item.supersedes == ("assumption/terminal_growth",)
    assert item.origin == "user"
    [turn] = item.derived_from
    assert "terminal growth is 2.5 percent" in made.memory.items.get(turn).text
    assert turn in made.gold("follow_up")


def test_each_task_has_a_specification_and_forty_errors_were_mended(there):
    made, _tasks = there
    assert sorted(specs()) == sorted(TASKS)
    assert len(made.memory.items.query(memory_type="error_fix", k=1_000)) == 40
    assert set(MODULES) <= set(TASKS)


# --- what the tasks get ---------------------------------------------------------------------------


def test_the_valuation_gets_exactly_what_it_needs_in_few_tokens(found):
    assert found.broken == ()
    one = found.valuation
    assert set(one.router.items) == one.needed
    assert len(one.router.items) == len(one.needed) == 21
    assert one.router.stray == ()
    assert one.router.tokens == one.payload.total_tokens < MOST == 7_000
    assert ways(one)["everything"].tokens > LEAST == 120_000
    assert found.value == found.known > 0


def test_every_task_finds_all_within_its_budget_with_less_beside_it_than_by_similarity(found):
    for one in found.tasks:
        router, similar, everything = one.contexts
        assert tuple(context.way for context in one.contexts) == WAYS
        assert router.found == everything.found == len(one.needed)
        assert max(router.tokens, similar.tokens) <= one.budget < everything.tokens
        assert len(router.stray) < len(similar.stray) < len(everything.stray)
        for context in one.contexts:
            assert len(context.items) == context.found + len(context.stray)
            assert len(set(context.items)) == len(context.items)
    assert sum(ways(one)["similarity"].found < len(one.needed) for one in found.tasks) >= 5


def test_the_tokens_of_a_call_have_its_request(there):
    """No output is put between these two, so that they differ in their requests alone."""
    _made, tasks = there
    one, other = (ways(tasks[name])["everything"] for name in ("follow_up", "error_diagnosis"))
    assert one.items == other.items
    asked = [count_tokens(TASKS[name].query) for name in ("follow_up", "error_diagnosis")]
    assert other.tokens - one.tokens == asked[1] - asked[0] > 0


def test_the_budget_of_similarity_is_used_up(found):
    one = ways(found.valuation)["similarity"]
    assert found.valuation.budget - one.tokens < 60, "less than the shortest item takes"


def test_what_a_module_makes_of_its_payload_is_what_the_books_say(there):
    made, tasks = there
    assumed = {}
    for text in settled().values():
        assumed |= assumed_in(text)
    known = worked_out(made.books, assumed)
    assert {name: tasks[name].output for name in known} == known
    assert tasks["error_diagnosis"].output is None


def test_net_debt_is_what_is_owed_with_leases_and_without_the_cash():
    owed = {"term_loan": 200.0, "notes_2029": 30.0, "notes_2033": 4.0}
    beside = {"lease_liability": 50.0, "cash": 7.0, "interest_expense": 1.0}
    figures = {(name, YEARS[-1]): value for name, value in (owed | beside).items()}
    made = MODULES["debt_schedule"](Desk(figures=figures, assumed={}, outputs={}))
    assert (made["debt"], made["net_debt"]) == (234.0, 277.0)


def test_outputs_stand_for_what_they_were_made_from(there):
    made, tasks = there
    one = tasks["dcf"]
    reasons = {item.memory_id: item.reason for item in one.payload.excluded}
    assert reasons["tarnwick/2025/net-sales/1"] == f"worked up in {PIPELINE}/revenue_extraction"
    assert reasons["assumption/terminal_growth"] == "superseded by assumption/terminal_growth/2"
    output = made.memory.items.get(f"{PIPELINE}/debt_schedule")
    assert set(output.derived_from) == set(tasks["debt_schedule"].router.items)
    assert (output.pipeline, output.module_context) == (PIPELINE, "debt_schedule")


def test_temptations_are_there_and_stay_out(found, there):
    kinds = set(found.kinds["everything"])
    assert kinds == {
        *("another company", "another year", "another task", "another pipeline"),
        *("another session", "another conversation", "other sections"),
    }
    assert found.kinds["router"] == {}
    assert len(found.kinds["similarity"]) >= 5
    everything = ways(found.valuation)["everything"]
    assert sum(found.kinds["everything"].values()) == len(everything.stray)
    made, tasks = there
    theirs = made.others.items.get("assumption/discount_rate").text
    ours = made.memory.items.get("assumption/discount_rate").text
    assert theirs != ours
    said = tasks["dcf"].payload.messages[-1]["content"]
    assert ours in said
    assert theirs not in said
    wanted = "tarnwick/2025/working-capital/1"
    assert made.others.items.get(wanted).text != made.memory.items.get(wanted).text


def test_a_module_says_what_is_not_on_its_desk():
    desk = Desk.of([])
    for ask, told in (
        (lambda: desk.figure("net_sales", 2024), "'Net sales' of 2024"),
        (lambda: desk.assumption("tax_rate"), "'tax_rate'"),
        (lambda: desk.made("debt_schedule"), "'debt_schedule'"),
    ):
        with pytest.raises(NotFound, match=told):
            ask()


# --- the command ----------------------------------------------------------------------------------


def test_json_has_all_figures_and_two_runs_differ_in_their_times_alone(found, capsys, monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("it needs no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    begun = time.perf_counter()
    assert app.run(["demo", "--route", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    got = json.loads(out)
    assert list(got) == [
        *("filings", "tasks", "strays", "payload", "value_per_share", "broken", "seconds"),
    ]
    for one in got["tasks"]:
        assert list(one) == ["task", "budget", "needed", "ways", "output"]
        for way in WAYS:
            assert list(one["ways"][way]) == ["tokens", "items", "found", "stray"]
    assert [one["task"] for one in got["tasks"]] == list(TASKS)
    assert got["broken"] == []
    assert got["payload"]["task"] == "dcf"
    assert set(got["seconds"]) == {"put", "compare"}
    assert 0 < got["seconds"]["compare"] < time.perf_counter() - begun
    same = found.as_json()
    assert {**got, "seconds": 0} == json.loads(json.dumps({**same, "seconds": 0}))


def test_other_texts_keep_the_promise_too():
    other = measure(RouteOptions(seed=4))
    assert other.broken == ()
    assert other.known != measure_known(SEED)


def measure_known(seed):
    assumed = {}
    for text in settled().values():
        assumed |= assumed_in(text)
    return worked_out(books_of(COMPANY, seed), assumed)["dcf"]["value_per_share"]


def test_a_payload_that_is_not_as_promised_ends_with_1(found, monkeypatch, capsys):
    monkeypatch.setattr(running, "measure", lambda _options: replace(found, known=1.0))
    assert app.run(["demo", "--route", "--json"]) == 1
    [fault] = json.loads(capsys.readouterr().out)["broken"]
    assert fault == f"a share is worth {found.value:.2f}, not 1.00"
    assert app.run(["demo", "--route"]) == 1
    assert fault in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"known": 1.0}, "a share is worth"),
        ({"tasks": "router too large"}, "not under 7,000"),
        ({"tasks": "everything too small"}, "not over 120,000"),
        ({"tasks": "one missing"}, "it has 20 of 21 needed items"),
        ({"tasks": "one more"}, "it has 1 items that it does not need"),
    ],
)
def test_each_part_of_the_promise_is_looked_at(found, change, told):
    one = found.valuation
    router, similar, everything = one.contexts
    changed = {
        "router too large": (replace(router, tokens=7_000), similar, everything),
        "everything too small": (router, similar, replace(everything, tokens=120_000)),
        "one missing": (replace(router, found=20), similar, everything),
        "one more": (replace(router, stray=("osmer/tax_rate",)), similar, everything),
    }
    if "tasks" in change:
        change = {"tasks": [replace(one, contexts=changed[change["tasks"]])]}
    [fault] = replace(found, **change).broken
    assert told in fault


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_it_is_plain_and_within_its_columns(found, width, encoding):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    show.show(found, Console(file=file, width=width, highlight=False))
    file.flush()
    text = raw.getvalue().decode(encoding)
    assert not CONTROL.search(text)
    assert max(map(cell_len, text.splitlines())) <= width
    said = " ".join(text.replace("|", " ").split())  # the ruled lines of plain ASCII
    dcf = found.valuation
    similar, everything = ways(dcf)["similarity"], ways(dcf)["everything"]
    assert (
        f"dcf {dcf.router.tokens:,} 21/21 0 {similar.tokens:,} {similar.found}/21 "
        f"{len(similar.stray)} {everything.tokens:,} 21/21 {len(everything.stray)}"
    ) in said
    assert "revenue_extraction" in said
    assert all(name in said for name in dcf.needed)
    assert "1 redundant superseded by assumption/terminal_growth/2" in said
    assert f"A share is worth {found.known:.2f}" in said
    assert "dcf has exactly what it needs" in said


def test_the_page_on_the_router_shows_about_what_this_version_does(found):
    page = (ROOT / "python" / "docs" / "how-to" / "route-a-task.md").read_text()
    rows = [line.split() for line in page.splitlines() if line.startswith(tuple(TASKS))]
    assert [row[0] for row in rows] == [one.task for one in found.tasks]
    for row, one in zip(rows, found.tasks, strict=True):
        said = [row[1 + 3 * at : 4 + 3 * at] for at in range(len(WAYS))]
        for (tokens, part, stray), context in zip(said, one.contexts, strict=True):
            found_, needed = map(int, part.split("/"))
            assert int(tokens.replace(",", "")) == pytest.approx(context.tokens, rel=0.1)
            assert needed == len(one.needed)
            least = 4 if context.way == "similarity" else 0  # its ranking may change a little
            assert abs(found_ - context.found) <= least
            assert abs(int(stray) - len(context.stray)) <= 2 * least


def test_what_is_broken_is_shown_in_place_of_what_is_promised(found):
    out = io.StringIO()
    show.show(replace(found, known=1.0), Console(file=out, width=100))
    assert "not 1.00" in out.getvalue()
    assert "exactly what it needs" not in out.getvalue()


@pytest.mark.parametrize(
    "tokens",
    [
        *(["--file", "x.json"], ["--query", "x"], ["--budget", "9"], ["--conversation", "x"]),
        *(["--limit", "1"], ["--store", "x"], ["--words-only"], ["--embedder", "static"]),
        *(["--picker", "openai:x"], ["--compact"], ["--latency", "1"], ["--pace", "1"]),
        *(["--cost"], ["--quick"]),
    ],
)
def test_options_that_are_no_use_are_refused(capsys, tokens):
    assert app.run(["demo", "--route", *tokens]) == 1
    name = tokens[0].removeprefix("--").replace("-", "_")
    assert f"{name}: means nothing with --route" in capsys.readouterr().err
