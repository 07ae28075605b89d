"""Ratios as a picture: SVG that stands alone, light and dark, a row for each peer of each case."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, tostring

from warmset.lab.bench.case import OURS
from warmset.lab.bench.show import duration, header, ratio

if TYPE_CHECKING:
    from warmset.lab.bench.run import Report

WIDTH: Final = 760
_LEFT, _RIGHT, _TOP = 260, 70, 46
_ROW: Final = 18
_GAP: Final = 10
_FOOT: Final = 16
_STYLE: Final = (
    "svg{color:#1f2328;background:#ffffff}"
    "svg text{font:12px system-ui,sans-serif;fill:currentColor}"
    "svg .small{font-size:11px;opacity:.75}"
    "svg .axis{stroke:currentColor;stroke-opacity:.4}"
    "svg .grid{stroke:currentColor;stroke-opacity:.15}"
    "svg .faster{fill:#1d4ed8}svg .slower{fill:#c2410c}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}"
    "svg .faster{fill:#6ea8fe}svg .slower{fill:#ff9c66}}"
)


def draw(report: Report) -> str:
    """Draw how many times longer each peer takes, on a logarithmic axis.

    Args:
        report: The figures; cases without a peer are named with their time alone.

    Returns:
        The content of an SVG file.
    """
    ratios = [one for result in report.results for one in result.ratios.values()]
    low = min(-1, math.floor(math.log10(min(ratios, default=1))))
    high = max(1, math.ceil(math.log10(max(ratios, default=1))))
    rows = sum(max(1, len(one.ratios)) for one in report.results)
    lines = header(report.setting)
    bottom = _TOP + rows * _ROW + len(report.results) * _GAP
    height = bottom + 24 + len(lines) * _FOOT
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {height}",
            "width": str(WIDTH),
            "role": "img",
            "aria-label": "Times of peers divided by warmset's",
        },
    )
    SubElement(svg, "style").text = _STYLE
    _text(svg, 8, 18, "A peer's time divided by warmset's: right of 1, warmset is faster")

    def x(value: float) -> float:
        part = (math.log10(value) - low) / (high - low)
        return _LEFT + part * (WIDTH - _RIGHT - _LEFT)

    for power in range(low, high + 1):
        at = x(10.0**power)
        _line(svg, at, bottom, "axis" if power == 0 else "grid")
        _text(svg, at, _TOP - 6, f"{10.0**power:g}", anchor="middle", kind="small")
    y = float(_TOP)
    for one in report.results:
        y += _GAP
        ours = duration(one.figures[OURS].microseconds)
        _text(svg, 8, y + 12, one.name)
        _text(svg, 96, y + 12, ours, kind="small")
        for name, value in one.ratios.items():
            left, right = sorted((x(1.0), x(value)))
            bar = {
                "x": f"{left:.1f}",
                "y": f"{y + 2:.1f}",
                "width": f"{max(right - left, 1):.1f}",
                "height": str(_ROW - 5),
                "class": "faster" if value >= 1 else "slower",
            }
            title = SubElement(SubElement(svg, "rect", bar), "title")
            title.text = f"{one.what}: {name} takes {ratio(value)} times as long as warmset"
            _text(svg, _LEFT - 6, y + 12, name, anchor="end", kind="small")
            _text(svg, right + 4, y + 12, ratio(value), kind="small")
            y += _ROW
        y += 0 if one.ratios else _ROW
    for at, line in enumerate(lines):
        _text(svg, 8, bottom + 26 + at * _FOOT, line, kind="small")
    return tostring(svg, encoding="unicode") + "\n"


def _line(svg: Element, x: float, bottom: float, kind: str) -> None:
    ends = {"x1": x, "y1": float(_TOP), "x2": x, "y2": bottom}
    SubElement(svg, "line", {"class": kind, **{key: f"{one:.1f}" for key, one in ends.items()}})


def _text(
    svg: Element, x: float, y: float, said: str, *, anchor: str = "start", kind: str = ""
) -> None:
    made = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    SubElement(svg, "text", made | ({"class": kind} if kind else {})).text = said
