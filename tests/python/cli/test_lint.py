"""``warmset lint``: the files that it reads, what it prints, its exit codes and errors."""

from __future__ import annotations

import io
import json
import sys
import unicodedata

import pytest

from warmset.cli.app import run

MODEL = "claude-fable-5-2"
RULES = "Plan trips by train. Answer briefly. " * 200
THOUGHT = {"type": "thinking", "thinking": "Canals first.", "signature": "c2ln"}
REPLY = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Take the train."}]}
ASKED = {"role": "user", "content": "Plan a weekend."}
FIRST = {"model": MODEL, "system": RULES, "messages": [ASKED]}
SECOND = {**FIRST, "messages": [ASKED, REPLY, {"role": "user", "content": "And on Sunday?"}]}
CHANGED = {**SECOND, "system": RULES.replace("train", "boat", 1)}


@pytest.fixture
def call(capsys):
    def call(*tokens):
        code = run(["lint", *map(str, tokens)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def write(tmp_path):
    def write(name, *values, indent=None):
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(one, indent=indent) for one in values))
        return path

    return write


def test_a_change_is_shown_with_place_tokens_money_and_thinking(call, write):
    code, out, err = call(write("a.json", FIRST, indent=2), write("b.json", CHANGED))
    assert (code, err) == (1, "")
    assert "requests 0 and 1: system changed (byte 33, character 14)" in out
    assert "was: Plan trips by train." in out
    assert "now: Plan trips by boat." in out
    assert "equal before it: 0 tokens; read again: " in out
    assert "thinking at messages[1].content[0] is refused: the system prompt" in out
    assert "to do: build the system prompt once" in out
    assert "1 of 1 changed what stood before" in out
    assert "no cache_control" in out


def test_requests_that_only_append_are_no_finding(call, write):
    code, out, err = call(write("a.json", FIRST), write("b.json", SECOND, indent=1))
    assert (code, err) == (0, "")
    assert "the second only appends" in out
    assert "1 of 1 only append" in out


def test_json_has_all_of_it_and_the_same_exit_code(call, write):
    code, out, err = call(write("a.jsonl", FIRST, SECOND, CHANGED), "--json")
    found = json.loads(out)
    assert (code, err) == (1, "")
    assert (found["ok"], found["breaks"], len(found["diffs"])) == (False, 1, 2)
    assert [one["ok"] for one in found["diffs"]] == [True, False]
    assert found["diffs"][1]["change"]["place"] == "system"
    assert found["diffs"][1]["thinking"][0]["consequence"] == "refused"
    assert found["lost"] == found["diffs"][1]["lost"] > 0
    assert found["money"] > 0
    assert call(write("b.jsonl", FIRST, SECOND), "--json")[0] == 0


def test_one_file_may_have_many_requests_in_several_forms(call, write, monkeypatch):
    both = [FIRST, SECOND]
    lists = [one["messages"] for one in both]
    for path in (
        write("lines.jsonl", *both),
        write("list.json", both),
        write("pretty.json", both, indent=2),
        write("lists.jsonl", *lists),
        write("lists.json", lists),
    ):
        code, out, _ = call(path, "--json")
        assert (code, len(json.loads(out)["diffs"])) == (0, 1), path
    lines = "\n\n".join(map(json.dumps, both)) + "\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode("utf-8-sig"))))
    code, out, _ = call("-")
    assert (code, "1 of 1 only append" in out) == (0, True)


def test_a_file_of_messages_is_one_request(call, write):
    first, second = FIRST["messages"], SECOND["messages"]
    for path in (write("a.json", second), write("a.jsonl", *second)):
        code, out, _ = call(write("first.json", first), path, "--model", MODEL, "--json")
        found = json.loads(out)["diffs"]
        assert (code, len(found)) == (0, 1)
        assert found[0]["model"] == MODEL


def test_items_with_an_input_of_their_own_are_no_requests(call, write):
    tool = {"type": "custom_tool_call", "call_id": "c", "name": "t", "input": "x"}
    items = [ASKED, tool, {"type": "custom_tool_call_output", "call_id": "c", "output": "y"}]
    code, out, _ = call(write("a.jsonl", *items), write("b.json", [*items, ASKED]), "--json")
    assert (code, len(json.loads(out)["diffs"])) == (0, 1)


def test_planned_changes_can_be_allowed(call, write):
    plain = {**FIRST, "messages": [ASKED, {"role": "assistant", "content": "Yes."}, ASKED]}
    path = write("a.jsonl", plain, {**FIRST, "messages": [{**ASKED, "content": "Summary"}]})
    assert call(path)[0] == 1
    code, out, _ = call(path, "--allow", "1")
    assert code == 0
    assert "(1 allowed)" in out
    other = {**FIRST, "messages": [{**ASKED, "content": "Another"}]}
    path = write("b.jsonl", plain, {**FIRST, "messages": [{**ASKED, "content": "Summary"}]}, other)
    assert call(path, "--allow", "1")[0] == 1, "a second change was not planned"
    assert call(path, "--allow", "2")[0] == 0


def test_a_dialect_can_be_named(call, write):
    path = write("a.jsonl", {"messages": [ASKED]}, {"messages": [ASKED, ASKED]})
    for dialect in ("anthropic", "openai"):
        _, out, _ = call(path, "--dialect", dialect, "--json")
        assert json.loads(out)["diffs"][0]["dialect"] == dialect


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("", "empty"),
        ("{", "expected JSON"),
        ('{"messages": []}\n{"mess', "line 2"),
        ("3", "found no request; give an object with messages"),
        ('{"model": "x"}', "found no request"),
        ('[{"messages": 3}]', "expected a list"),
        ("\udcff", "not UTF-8"),
        ('{"messages": [{"role": "user", "content": NaN}]}', "NaN"),
    ],
)
def test_what_cannot_be_read_is_an_error_in_one_line(text, why, call, write, tmp_path):
    path = tmp_path / "bad.json"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    code, out, err = call(write("good.json", FIRST), path)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert why in err
    code, out, _ = call(write("good.json", FIRST), path, "--json")
    assert code == json.loads(out)["code"] == 1


def test_too_few_requests_and_wrong_options_are_errors(call, write):
    path = write("a.json", FIRST)
    code, _, err = call(path)
    assert (code, "at least two" in err) == (1, True)
    assert call()[0] == 2
    assert call(path, path, "--allow", "-1")[0] == 1
    code, _, err = call(path, path, "--dialect", "french")
    assert (code, "unknown dialect" in err) == (1, True)


def test_texts_give_a_terminal_no_commands_and_no_markup(call, write, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    evil = "\x1b[2J\x9b1m\u202eback [bold]x[/bold] "
    first = {"messages": [{"role": "user", "content": evil + "a"}]}
    second = {"messages": [{"role": "user", "content": evil + "b"}]}
    third = {"messages": [{"role": "user", "content": evil + "b", evil: 1}]}
    code, out, _ = call(write("a.jsonl", first, second, third), "--model", evil)
    assert code == 1
    assert "[bold]x" in out
    assert not [one for one in out if one != "\n" and unicodedata.category(one) in ("Cc", "Cf")]
    assert any(len(line) > 40 for line in out.splitlines())  # lines are not wrapped
