"""The report as one page that needs nothing beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring

from warmset.lab.eval import page_reader, plot
from warmset.lab.eval.options import MIDDLE, middle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STYLE: Final = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem;margin:1rem 0}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #8884}
th:first-child,td:first-child{text-align:left}
tr.default{font-weight:600}
.wide{overflow-x:auto}
.note{opacity:.75;font-size:.9rem}
svg{max-width:100%;height:auto}
"""


def page(figures: Mapping[str, Any]) -> str:
    """Write the report.

    Args:
        figures: As `warmset.lab.eval.run.measure` returns them.

    Returns:
        HTML without a reference to anything outside of it.
    """
    found: Mapping[str, Any] = figures["retrievers"]
    keys = list(found["default"]["recall"]["fraction"])
    html = Element("html", {"lang": "en"})
    head = SubElement(html, "head")
    SubElement(head, "meta", {"charset": "utf-8"})
    SubElement(head, "meta", {"name": "viewport", "content": "width=device-width"})
    SubElement(head, "title").text = f"warmset eval {figures['dataset']}"
    SubElement(head, "style").text = _STYLE
    body = SubElement(html, "body")
    SubElement(body, "h1").text = f"Evidence in the window: {figures['dataset']}"
    _opening(body, figures)
    body.append(plot.draw(figures))
    SubElement(body, "h2").text = "Evidence recall"
    _note(
        body,
        "Fraction: the mean part of a question's evidence that is there. @k: among the first k "
        "hits. %: in a window of that part of the conversation's tokens; headers count, the "
        "question does not. In brackets: 95 % bootstrap interval over conversations.",
    )
    for measure in ("fraction", "all", "any"):
        _recalls(body, found, measure, keys)
    SubElement(body, "h2").text = "Coverage, cost, time"
    _others(body, found, keys)
    SubElement(body, "h2").text = "By category"
    for name, one in found.items():
        _categories(body, name, one["by_category"], keys)
    if "reader" in figures:
        page_reader.section(body, figures["reader"], table)
    return "<!doctype html>\n" + tostring(html, encoding="unicode", method="html") + "\n"


def table(body: Element, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Add a table; a row that begins with "default" stands out."""
    made = SubElement(SubElement(body, "div", {"class": "wide"}), "table")
    top = SubElement(SubElement(made, "thead"), "tr")
    for head in heads:
        SubElement(top, "th").text = head
    rest = SubElement(made, "tbody")
    for cells in rows:
        row = SubElement(rest, "tr", {"class": "default"} if cells[0] == "default" else {})
        for cell in cells:
            SubElement(row, "td").text = cell


def figure(value: float | None) -> str:
    """Write a part of one to three places, nothing where there is none."""
    return "" if value is None else f"{value:.3f}"


def head_of(key: str) -> str:
    """Return what a cut or a budget is called above a column."""
    return f"@{key[1:]}" if key.startswith("k") else f"{key[1:]} %"


def _note(body: Element, said: str) -> None:
    SubElement(body, "p", {"class": "note"}).text = said


def _opening(body: Element, figures: Mapping[str, Any]) -> None:
    left, settings = figures["left_out"], figures["settings"]
    alone = ", of each turn alone" if settings["views"] == "turn" else ""
    speakers = "roles only, no speakers' names" if settings["roles"] else "speakers by name"
    SubElement(body, "p").text = (
        f"{len(figures['conversations'])} conversations, {figures['questions']} questions; left "
        f"out: {left['without_evidence']} without evidence, {left['not_scored']} that are not "
        f"scored. Vectors: {settings['embedder']}{alone}; tokens: {settings['tokenizer']}; "
        f"{speakers}. No recent turns and no scoped index unless said. This is what the window "
        "holds, not how well a model answers from it."
    )


def _recalls(body: Element, found: Mapping[str, Any], measure: str, keys: Sequence[str]) -> None:
    SubElement(body, "h3").text = measure
    rows: list[list[str]] = []
    for name, one in found.items():
        cells = [name]
        for key in keys:
            ends: list[float] | None = one["interval"][measure][key]
            value = figure(one["recall"][measure][key])
            if one["budgeted"] and ends is not None:
                value = f"{value} [{ends[0]:.2f}, {ends[1]:.2f}]"
            cells.append(value)
        rows.append(cells)
    table(body, ["", *map(head_of, keys)], rows)


def _others(body: Element, found: Mapping[str, Any], keys: Sequence[str]) -> None:
    _, price = middle(keys)
    rows = [
        [
            name,
            figure(one["gac"][price]),
            f"{one['window_tokens'][price]:,.0f}",
            figure(one["area"]),
            f"{one['latency_ms']['p50']:.1f} / {one['latency_ms']['p95']:.1f}",
            f"{one['latency_ms']['window']['p50']:.1f} / {one['latency_ms']['window']['p95']:.1f}",
        ]
        for name, one in found.items()
    ]
    at = head_of(price)
    heads = ["", f"GAC {at}", f"tokens {at}", "area under recall over log cost"]
    table(body, [*heads, "search ms, p50 / p95", "window ms, p50 / p95"], rows)
    for key, said in (
        (
            "default_window",
            "The window as it is by default, with recent turns and scoped index",
        ),
        ("whole_window", "The question paid out of the budget, shares of the bare messages"),
    ):
        usual = found["default"][key]
        recalls = ", ".join(f"{name} {figure(value)}" for name, value in usual["recall"].items())
        _note(body, f"{said}, at {MIDDLE:g} %: {recalls}, {usual['tokens']:,.0f} tokens.")


def _categories(body: Element, name: str, found: Mapping[str, Any], keys: Sequence[str]) -> None:
    inside = SubElement(body, "details", {"open": "open"} if name == "default" else {})
    SubElement(inside, "summary").text = name
    rows: list[list[str]] = []
    for category, one in found.items():
        for measure in ("fraction", "all"):
            values = [figure(one["recall"][measure][key]) for key in keys]
            asked = str(one["questions"]) if measure == "fraction" else ""
            rows.append([f"{category}, {measure}", asked, *values])
        rows.append([f"{category}, GAC", "", *(figure(one["gac"][key]) for key in keys)])
    table(inside, ["", "asked", *map(head_of, keys)], rows)
