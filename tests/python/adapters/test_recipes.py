"""Examples of pages for frameworks with environments of their own run and print what is shown.

A block whose fence has `needs-` and a module's name runs where that module is. The command
`python -m tests.apart DIR` makes the environments.
"""

import contextlib
import io

import doc_pages as docs
import pytest

RECIPES = [(page, block) for page in docs.PAGES for block in docs.blocks(page) if docs.needs(block)]
PLACES = sorted({(page, docs.needs(block)) for page, block in RECIPES})
LONGEST = 80


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


@pytest.mark.parametrize(("page", "module"), PLACES, ids=lambda one: getattr(one, "stem", one))
def test_the_examples_of_a_page_run_and_print_what_is_shown(page, module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, module)


def test_recipes_are_short():
    assert RECIPES
    assert all(block.text.count("\n") <= LONGEST for _, block in RECIPES)
