"""`LatestToolResult(key=…)`: which calls supersede others, and the ready key for files."""

from __future__ import annotations

import json

import pytest
from agent_lists import said

from warmset import Chain, ClearToolResults, LatestToolResult, convert, fit, validate
from warmset.errors import InvalidInputError
from warmset.evict import FileKey, by_file
from warmset.messages import DIALECTS, Use

ENOUGH = 10**6
LONG = "a line of the file\n" * 40
CLEARED = "[cleared: a later call superseded this result]"


def call(name, /, **arguments):
    return name, json.dumps(arguments)


def talk(*calls, results=()):
    messages = [said("user", "go")]
    for at, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": arguments}
        made = [{"id": f"c{at}", "type": "function", "function": function}]
        result = results[at] if at < len(results) else f"{at} {LONG}"
        messages.append({"role": "assistant", "content": None, "tool_calls": made})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": result})
    return [*messages, said("user", "on")]


def cleared(*calls, key=by_file):
    """Return which of some calls lose their results."""
    policy = LatestToolResult(key=key, always=True)
    made = fit(talk(*calls), budget=ENOUGH, policy=policy).messages
    results = [one["content"] for one in made if one["role"] == "tool"]
    assert all(one == CLEARED or one.endswith(LONG) for one in results)
    return [at for at, one in enumerate(results) if one == CLEARED]


READ = call("read_file", path="src/a.py")
OTHER = call("read_file", path="src/b.py")
PART = call("read_file", path="src/a.py", offset=100, limit=50)
EDIT = call("edit_file", path="src/a.py", old="x", new="y")


@pytest.mark.parametrize(
    ("calls", "old"),
    [
        ([READ, OTHER, READ], [0]),
        ([READ, OTHER, EDIT], [0]),
        ([READ, EDIT, READ], [0]),
        ([EDIT, READ], []),
        ([EDIT, EDIT], [0]),
        ([READ, PART], []),
        ([PART, READ], []),
        ([PART, READ, PART], [0]),
        ([PART, READ, EDIT], [0, 1]),
        ([READ, OTHER], []),
        ([READ, READ, READ], [0, 1]),
        ([OTHER, EDIT], []),
    ],
)
def test_a_read_is_stale_once_the_file_was_read_again_or_changed(calls, old):
    assert cleared(*calls) == old


@pytest.mark.parametrize("dialect", DIALECTS)
def test_stale_reads_are_cleared_in_every_dialect(dialect):
    messages = convert(talk(READ, OTHER, EDIT), source="openai", target=dialect).messages
    policy = LatestToolResult(key=by_file, always=True)
    made = fit(messages, budget=ENOUGH, policy=policy, dialect=dialect)
    assert validate(made.messages, dialect=dialect) == []
    assert str(made.messages).count(CLEARED) == 1
    assert [one.stands_for for one in made.inserted] == [(2,)]
    assert made.evicted[0].reason == "a later call superseded it"
    assert made.inserted[0].kind == "placeholder"


SAME = ("file", "src/a.py")
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"
DIFF = "--- a/src/a.py\t2026\n+++ b/src/a.py\t2026\n@@ -1 +1 @@\n-x\n+y\n"


@pytest.mark.parametrize(
    ("made", "key"),
    [
        (call("Read", file_path="src/a.py"), (*SAME, "{}")),
        (call("readFile", filePath="./src//a.py"), (*SAME, "{}")),
        (call("mcp__files__read_text_file", path="src/a.py"), (*SAME, "{}")),
        (call("files.read_file", filename=" src/a.py "), (*SAME, "{}")),
        (call("view", path="src\\a.py"), (*SAME, "{}")),
        (call("read_file", target_file="src/a.py", explanation="I must know"), (*SAME, "{}")),
        (call("read_file", path="src/a.py", limit=None), (*SAME, "{}")),
        (call("Read", file_path="src/a.py", limit=9), (*SAME, '{"limit": 9}')),
        (call("read_file", path="src/x/../a.py"), (*SAME, "{}")),
        (call("str_replace_editor", command="view", path="src/a.py"), (*SAME, "{}")),
        (
            call("str_replace_editor", command="view", path="src/a.py", view_range=[1, 9]),
            (*SAME, '{"viewrange": [1, 9]}'),
        ),
        (call("str_replace_based_edit_tool", command="str_replace", path="src/a.py"), SAME),
        (call("str_replace_based_edit_tool", command="create", path="src/a.py"), SAME),
        (call("read_file", path="src/a.py", type="text"), (*SAME, '{"type": "text"}')),
        (call("read", b=1, path="src/a.py", a=2), (*SAME, '{"a": 2, "b": 1}')),
        (call("Edit", file_path="src/a.py"), SAME),
        (call("MultiEdit", file_path="src/a.py"), SAME),
        (call("Write", file_path="src/a.py", content="{"), SAME),
        (call("NotebookEdit", notebook_path="src/a.py"), SAME),
        (call("replace_in_file", path="src/a.py"), SAME),
        (call("apply_patch", input=PATCH), SAME),
        (("apply_patch", PATCH), SAME),
        (call("apply_patch", type="update_file", path="src/a.py", diff="x"), SAME),
        (call("apply_diff", diff=DIFF), SAME),
        (call("apply_patch", input=PATCH + "\n*** Delete File: src/b.py"), None),
        (call("read_file", input=PATCH), None),
        (call("read_file"), None),
        (call("read_file", path=""), None),
        (call("read_file", path=["src/a.py"]), None),
        (call("read_file", path=" ", file="src/a.py"), (*SAME, "{}")),
        (call("search", path="src/a.py"), None),
        (call("bash", command="cat src/a.py"), None),
        (("read_file", "not JSON"), None),
        (("read_file", "[1]"), None),
        (("read_file", '{"path": "a", "b": ' + "[" * 5_000 + "}"), None),
        (("read_file", ""), None),
        (call("__", path="a"), None),
        (call("", path="a"), None),
    ],
)
def test_calls_of_widespread_tools_have_the_key_of_their_file(made, key):
    assert by_file(Use("id", *made)) == key


def test_the_tables_can_be_replaced():
    key = FileKey(
        reads=["fetch"], writes=["put"], paths=["where"], commands=["how"], remarks=["why"]
    )
    assert key(Use("1", *call("fetch", where="a", why="b"))) == ("file", "a", "{}")
    assert key(Use("1", *call("tool", how="put", where="a"))) == ("file", "a")
    assert key(Use("1", *call("read_file", path="a"))) is None
    assert key(Use("1", *call("fetch", path="a"))) is None
    fetch, put = call("fetch", where="a"), call("put", where="a")
    assert cleared(fetch, READ, put, READ, key=key) == [0]
    assert FileKey() == by_file


@pytest.mark.parametrize("name", ["reads", "writes", "paths", "commands", "remarks"])
@pytest.mark.parametrize("wrong", ["read_file", None, 5, [5]])
def test_a_table_is_a_collection_of_names(name, wrong):
    with pytest.raises(InvalidInputError, match=name):
        FileKey(**{name: wrong})


def test_any_function_of_a_call_can_be_the_key():
    one, two = call("a", n=1), call("b", n=1)
    assert cleared(one, two, one, key=lambda use: use.name) == [0]
    assert cleared(one, two, one, key=lambda use: use.arguments) == [0, 1]
    assert cleared(one, two, one, key=lambda _: None) == []
    assert cleared(one, one, key=lambda _: ()) == [0]
    seen = []
    cleared(one, two, key=seen.append)
    assert sorted(use.id for use in seen) == ["c0", "c1"]


def test_a_tuple_supersedes_what_begins_with_it():
    keys = {"c0": ("a",), "c1": ("a", "b"), "c2": ("a", "b", "c"), "c3": ("d",)}

    def key(use):
        return keys[use.id]

    calls = [call("t", n=at) for at in range(5)]
    for last, old in (
        (("a",), [0, 1, 2]),
        (("a", "b"), [1, 2]),
        (("a", "b", "c"), [2]),
        (("a", "c"), []),
        ((), []),
        ("a", []),
    ):
        keys["c4"] = last
        assert cleared(*calls, key=key) == old


def test_keys_that_are_none():
    with pytest.raises(InvalidInputError, match="key"):
        LatestToolResult(key="by_file")
    with pytest.raises(InvalidInputError, match="hashable"):
        cleared(READ, READ, key=lambda _: ["a"])
    with pytest.raises(InvalidInputError, match="hashable"):
        cleared(READ, READ, key=lambda _: ("a", []))
    with pytest.raises(ZeroDivisionError):
        cleared(READ, READ, key=lambda _: 1 / 0)


def failing(dialect, *calls):
    """Make a list whose last result says that the call failed."""
    messages = convert(talk(*calls), source="openai", target=dialect).messages
    if dialect == "anthropic":
        blocks = [block for one in messages for block in one["content"] if isinstance(block, dict)]
        [*_, last] = [block for block in blocks if block["type"] == "tool_result"]
        last["is_error"] = True
    else:
        messages[-2]["parts"][0]["functionResponse"]["response"] = {"error": "no such text"}
    return messages


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
@pytest.mark.parametrize("key", [None, by_file])
def test_a_call_that_failed_supersedes_nothing(dialect, key):
    policy = LatestToolResult(key=key, always=True)
    for last in (READ, EDIT):
        messages = failing(dialect, READ, last)
        made = fit(messages, budget=ENOUGH, policy=policy, dialect=dialect)
        assert made.messages == messages
    messages = failing(dialect, READ, READ, EDIT)
    made = fit(messages, budget=ENOUGH, policy=policy, dialect=dialect)
    assert [one.stands_for for one in made.inserted] == [(2,)]


def test_an_error_beside_an_output_is_no_failure():
    messages = failing("gemini", READ, READ)
    answer = {"output": "x", "error": ""}
    messages[-2]["parts"][0]["functionResponse"]["response"] = answer
    policy = LatestToolResult(always=True)
    made = fit(messages, budget=ENOUGH, policy=policy, dialect="gemini")
    assert [one.stands_for for one in made.inserted] == [(2,)]


def test_a_placeholder_keeps_its_reason():
    policies = LatestToolResult(key=by_file, always=True), ClearToolResults(keep=0, always=True)
    made = fit(talk(READ, READ), budget=ENOUGH, policy=Chain(*policies))
    results = [one["content"] for one in made.messages if one["role"] == "tool"]
    assert results == [CLEARED, "[old tool result cleared]"]


def test_a_call_that_waits_supersedes_nothing():
    messages = talk(READ, READ)[:-2]
    policy = LatestToolResult(key=by_file, always=True)
    assert fit(messages, budget=ENOUGH, policy=policy).messages == messages


def test_ten_thousand_keys_take_linear_time():
    calls = [call("t", n=at) for at in range(10_000)]
    assert cleared(*calls, key=lambda use: (use.id,)) == []
