"""Examples of pages for frameworks with environments of their own run and print what is shown.

A block whose fence has `needs-` and a module's name runs where that module is. The command
`python -m tests.apart DIR` makes the environments.
"""

import doc_pages as docs
import pytest
from recipes import run

RECIPES = [(page, block) for page in docs.PAGES for block in docs.blocks(page) if docs.needs(block)]
PLACES = sorted({(page, docs.needs(block)) for page, block in RECIPES})
LONGEST = 80


@pytest.mark.parametrize(("page", "module"), PLACES, ids=lambda one: getattr(one, "stem", one))
def test_the_examples_of_a_page_run_and_print_what_is_shown(page, module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, module)


def test_recipes_are_short():
    assert RECIPES
    assert all(block.text.count("\n") <= LONGEST for _, block in RECIPES)
