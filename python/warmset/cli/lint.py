"""``warmset lint``: what breaks the prompt cache between consecutive requests."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console

from warmset.cli.request_files import read_files
from warmset.errors import InvalidInputError
from warmset.testing.prefix import check_prefix
from warmset.testing.prefix_advice import lines

if TYPE_CHECKING:
    from warmset.testing.prefix import PrefixResult
    from warmset.testing.prefix_diff import PrefixDiff

_TWO = 2


def lint(
    *files: Annotated[Path, Parameter(allow_leading_hyphen=True, required=True)],
    model: str | None = None,
    dialect: str | None = None,
    allow: int = 0,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Show what breaks the prompt cache between consecutive requests, and what it costs.

    The exit code is 1 if a request does more than append to the one before it.

    Args:
        files: The requests in the order in which they were sent, as JSON or JSONL, at least two in
            all; "-" reads standard input.
        model: The model whose prices and rules hold, instead of the requests' own.
        dialect: The dialect of the lists: openai, responses, anthropic, gemini or interactions;
            detected if not given.
        allow: How many requests may change what stood before, for planned compactions.
        as_json: Print one JSON object.
    """
    requests = read_files(files)
    if len(requests) < _TWO:
        found = "one request" if requests else "no request"
        raise InvalidInputError(f"found {found}; give at least two, in one file or in several")
    result = check_prefix(requests, model=model or "", dialect=dialect, allow=allow)
    if as_json:
        print(json.dumps(result.as_dict(), indent=1))
    else:
        _show(result, Console(file=sys.stdout, highlight=False, emoji=False, markup=False))
    return int(not result.ok)


def _show(result: PrefixResult, out: Console) -> None:
    for found in result.diffs:
        for at, line in enumerate(lines(found)):
            out.print(line, style=_style(found) if at == 0 else None, soft_wrap=True)
    pairs, breaks = len(result.diffs), len(result.breaks)
    if not breaks:
        out.print(f"{pairs:,} of {pairs:,} only append", soft_wrap=True)
        return
    money = "" if result.money is None else f", {result.money:.6f} USD more than from the cache"
    allowed = f" ({result.allow:,} allowed)" if result.allow else ""
    text = f"{breaks:,} of {pairs:,} changed what stood before{allowed}; {result.lost:,} tokens"
    out.print(f"{text} read again{money}", soft_wrap=True)


def _style(found: PrefixDiff) -> str | None:
    return None if found.ok else "red"
