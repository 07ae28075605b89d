"""Recall against cost as a picture: SVG that stands alone, light and dark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH: Final = 760
HEIGHT: Final = 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 118, 18, 46
_TICKS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_APART: Final = 14.0
"""Pixels between two names at the right."""

_COLOURS: Final = (
    "#c2410c",
    "#1d4ed8",
    "#15803d",
    "#7e22ce",
    "#0e7490",
    "#a16207",
    "#be185d",
    "#57606a",
    "#4d7c0f",
    "#b91c1c",
    "#4338ca",
    "#0f766e",
)
STYLE: Final = (
    "svg text{font:12px system-ui,sans-serif;fill:currentColor}"
    "svg .grid{stroke:currentColor;stroke-opacity:.15}"
)
_PAPER: Final = (
    "svg{color:#1f2328;background:#ffffff}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}}"
)


def curves(figures: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """Return what is drawn: for each way the part of the full cost and the recall there.

    Args:
        figures: As `warmset.lab.eval.run.measure` returns them.

    Returns:
        Points by name, the cheapest first; a way that keeps to no budget has one.
    """
    found: Mapping[str, Any] = figures["retrievers"]
    whole = found["full"]["window_tokens"]
    made: dict[str, list[tuple[float, float]]] = {}
    for name, one in found.items():
        recall = one["recall"]["fraction"]
        points = {(cost / whole[key], recall[key]) for key, cost in one["window_tokens"].items()}
        made[name] = sorted(point for point in points if point[0] > 0)
    return {name: points if len(points) > 1 else points[:1] for name, points in made.items()}


def draw(figures: Mapping[str, Any]) -> Element:
    """Draw evidence recall over the logarithm of cost.

    Args:
        figures: As `warmset.lab.eval.run.measure` returns them.

    Returns:
        An `svg` element.
    """
    lines = {name: points for name, points in curves(figures).items() if points}
    least = min((points[0][0] for points in lines.values()), default=0.01)
    low = max((tick for tick in _TICKS if tick <= least), default=_TICKS[0])
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "width": str(WIDTH),
            "role": "img",
            "aria-label": "Evidence recall against the cost of the window",
        },
    )
    SubElement(svg, "style").text = STYLE
    _axes(svg, low)
    ends: list[tuple[float, str, str]] = []
    for at, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[at % len(_COLOURS)]
        placed = [(_x(cost, low), _y(recall)) for cost, recall in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        width = "3" if name == "default" else "1.5"
        SubElement(
            svg,
            "polyline",
            {"points": path, "fill": "none", "stroke": colour, "stroke-width": width},
        )
        for (x, y), (cost, recall) in zip(placed, points, strict=True):
            dot = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3.5", "fill": colour}
            title = SubElement(SubElement(svg, "circle", dot), "title")
            title.text = f"{name}: {recall:.3f} at {cost:.1%}"
        if len(points) == 1:
            _text(svg, placed[0][0] - 6, placed[0][1] + 16, name, "end", colour)
        else:
            ends.append((placed[-1][1], name, colour))
    for y, name, colour in _apart(ends):
        _text(svg, WIDTH - _RIGHT + 8, y + 4, name, "start", colour)
    return svg


def as_text(svg: Element) -> str:
    """Return a picture as a file of its own has it: with its own paper, light or dark."""
    SubElement(svg, "style").text = _PAPER
    return tostring(svg, encoding="unicode") + "\n"


def _axes(svg: Element, low: float) -> None:
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    for step in range(6):
        y = _y(step / 5)
        _line(svg, _LEFT, y, right, y)
        _text(svg, _LEFT - 8, y + 4, f"{step / 5:.1f}", "end")
    for tick in _TICKS:
        if tick >= low:
            x = _x(tick, low)
            _line(svg, x, _TOP, x, bottom)
            _text(svg, x, bottom + 18, f"{tick * 100:g} %", "middle")
    said = "tokens of the window, as a part of the whole conversation"
    _text(svg, (_LEFT + right) / 2, HEIGHT - 8, said, "middle")
    _text(svg, _LEFT, _TOP - 6, "evidence recall", "start")


def _apart(ends: Sequence[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Move names down until none lies on another one."""
    placed: list[tuple[float, str, str]] = []
    for y, name, colour in sorted(ends):
        at = max(y, placed[-1][0] + _APART) if placed else y
        placed.append((at, name, colour))
    return placed


def _x(cost: float, low: float) -> float:
    part = math.log(max(cost, low) / low) / math.log(1 / low)
    return _LEFT + min(part, 1.0) * (WIDTH - _RIGHT - _LEFT)


def _y(recall: float) -> float:
    return HEIGHT - _BOTTOM - recall * (HEIGHT - _BOTTOM - _TOP)


def _line(svg: Element, x1: float, y1: float, x2: float, y2: float) -> None:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    SubElement(svg, "line", {"class": "grid", **{k: f"{v:.1f}" for k, v in ends.items()}})


def _text(svg: Element, x: float, y: float, said: str, anchor: str, colour: str = "") -> None:
    made = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    if colour:
        made["style"] = f"fill:{colour}"
    SubElement(svg, "text", made).text = said
