"""`warmset demo --picker`: a window that a model picked, and what that took."""

from __future__ import annotations

import json

import pytest

from warmset.cli import app
from warmset.errors import InvalidInputError
from warmset.pick import OpenAIResponsesPicker, picker_named

pytestmark = pytest.mark.usefixtures("no_proxy")

pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("llmock", reason="the package llmock is not installed")

ASK = ("demo", "--words-only", "--query", "the connection pool?", "--picker", "openai:m")


def test_json_has_what_the_picker_took(llmock, capsys):
    llmock.reply('{"ids": []}')
    assert app.run([*ASK, "--json"]) == 0
    (window,) = json.loads(capsys.readouterr().out)["windows"]
    took = window["picker"]
    assert took["input"] > 100
    assert took["output"] > 0
    assert took["estimated"] is False
    saved = window["full"] - window["tokens"]
    assert window["net_saved"] == saved - took["input"] - took["output"]
    assert window["picked"] == []


def test_people_read_it_too(llmock, capsys):
    llmock.reply("no idea")
    assert app.run(ASK) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "the picker took " in out
    assert "tokens are saved after all" in out
    assert "the score picked: the answer is not JSON" in out


def test_a_picker_that_is_not_known_is_refused(llmock, capsys):
    assert app.run([*ASK[:-1], "mistral:m"]) == 1
    assert "expected one of openai:model, openai-responses:model" in capsys.readouterr().err
    assert llmock.requests == []
    for spec in ("", "openai", "openai:", ":m"):
        with pytest.raises(InvalidInputError, match="picker: expected one of"):
            picker_named(spec)
    with picker_named("openai-responses:m") as made:
        assert isinstance(made, OpenAIResponsesPicker)
