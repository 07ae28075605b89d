"""JSON of adapters: what was written comes back, whichever parser reads it, one by one or many."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from warmset.adapters import as_json
from warmset.adapters.as_json import BLOCK, all_loaded, dumped, loaded

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats()
    | st.text(st.characters(codec=None, exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@pytest.fixture(params=["pydantic", "python"])
def parser(request, monkeypatch):
    if request.param == "pydantic":
        from_json = pytest.importorskip("pydantic_core").from_json
        monkeypatch.setattr(as_json, "_parse", from_json)
    else:
        monkeypatch.setattr(as_json, "_parse", as_json._parsed)


@given(value=VALUES)
def test_a_value_comes_back_as_python_s_own_parser_makes_it(value):
    payload = dumped(value)
    assert b"\n" not in payload
    # repr tells -0.0 from 0, True from 1, and NaN from anything else.
    assert repr(loaded(payload)) == repr(json.loads(payload)) == repr(json.loads(json.dumps(value)))


@pytest.mark.parametrize(
    "value",
    ["\ud800", "\udfff\ud800", "a\ud83d\ude00b", 2**64, -(2**63) - 1, 10**400, 5e-324, -0.0,
     float("inf"), 9007199254740993],
)  # fmt: skip
@pytest.mark.usefixtures("parser")
def test_what_parsers_disagree_about_comes_back(value):
    assert repr(loaded(dumped([value]))) == repr(json.loads(json.dumps([value])))
    assert repr(all_loaded([dumped(1), dumped(value)])) == repr(json.loads(json.dumps([1, value])))


@pytest.mark.usefixtures("parser")
def test_what_is_nested_deeply_comes_back():
    deep = "end"
    for _ in range(400):
        deep = [deep]
    assert loaded(dumped(deep)) == deep


@pytest.mark.parametrize("payload", [b"", b"{", b"[1,]", b"nul", b"\xff", b'"\n"', b"1 2"])
@pytest.mark.usefixtures("parser")
def test_what_is_no_json_is_an_error(payload):
    with pytest.raises(ValueError, match=r"."):
        loaded(payload)


@pytest.mark.usefixtures("parser")
def test_many_are_read_in_blocks_and_in_order(monkeypatch):
    read = []
    parse = as_json._parse
    monkeypatch.setattr(as_json, "_parse", lambda block: read.append(len(block)) or parse(block))
    values = [{"at": at, "text": "x" * 1_000} for at in range(200)]
    assert all_loaded(map(dumped, values)) == values
    assert len(read) == 4
    assert max(read) < BLOCK + 2_000
    assert all_loaded([]) == []
    assert all_loaded([b"1,2", b"3"]) == [1, 2, 3]


def test_plain_values_are_written_as_they_are_and_others_with_escapes():
    assert dumped({"a": "é\u2028\U0001f600", "b": [1, None, True, 0.5]}) == (
        '{"a":"é\u2028\U0001f600","b":[1,null,true,0.5]}'.encode()
    )
    assert dumped("é\ud800") == b'"\\u00e9\\ud800"'
    assert all_loaded([dumped("é"), dumped("\ud800")]) == ["é", "\ud800"]
    assert dumped({1: type("Text", (str,), {})("x")}) == b'{"1":"x"}'
    assert dumped("</private><private>\\u0070") == b'"</private><private>\\\\u0070"'


def test_what_json_cannot_hold_is_an_error():
    for value in ({1, 2}, b"bytes", object()):
        with pytest.raises(TypeError):
            dumped(value)
    around = []
    around.append(around)
    with pytest.raises(ValueError, match="Circular"):
        dumped(around)
