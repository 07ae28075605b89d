"""Examples of pages that need a framework with an environment of its own."""

from __future__ import annotations

import contextlib
import io

import doc_pages as docs
import pytest


def run(page, module):
    """Run the examples of a page that need a module, and return the names that they define."""
    pytest.importorskip(module, reason=f"{module} needs an environment of its own: tests.apart")
    here, names = docs.blocks(page), {"__name__": "page"}
    for block, following in zip(here, [*here[1:], None], strict=True):
        if docs.needs(block) != module:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, str(page), "exec"), names)  # noqa: S102 - our own
        if following is not None and following.language == "text":
            assert docs.agrees(following.text, printed.getvalue()), printed.getvalue()
    return names
