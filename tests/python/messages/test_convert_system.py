"""System messages behind the first turn: where they stand in each dialect."""

import pytest

from warmset.errors import ConversionError
from warmset.messages import convert, validate

CALL = {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "x"}
SOUND = {"type": "input_audio", "input_audio": {}}
MOVED = "the place of a system message, moved behind the user"
PLACE = "the place of a system message behind the first turn"


def system(text, **more):
    return {"role": "system", "content": text, **more}


def user(text="hi"):
    return {"role": "user", "content": text}


def assistant(text="hello"):
    return {"role": "assistant", "content": text}


def to(target, *messages, **options):
    return convert(messages, source="openai", target=target, **options)


def roles(found):
    return "".join(message["role"][0] for message in found.messages)


def lost(found):
    return [(one.index, one.kind, one.what) for one in found.lost]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_behind_the_user_it_stays_for_anthropic(role):
    late = system("Be brief.", role=role)
    found = to("anthropic", system("Be kind."), user(), late, assistant(), user())
    assert found.system == "Be kind."
    assert found.messages == [user(), system("Be brief."), assistant(), user()]
    assert found.lost == ()
    last = to("anthropic", user(), assistant(), user(), late)
    assert (roles(last), last.lost) == ("uaus", ())
    items = convert([user(), late, assistant()], source="responses", target="anthropic")
    assert items.messages == [user(), system("Be brief."), assistant()]


def test_behind_results_it_stays_for_anthropic():
    found = to("anthropic", user(), CALLS, RESULT, system("Be brief."), assistant())
    assert roles(found) == "uausa"
    assert found.messages[2]["content"][0]["type"] == "tool_result"
    assert found.lost == ()


def test_before_the_user_it_moves_behind():
    found = to("anthropic", user(), assistant(), system("Be brief."), user("and?"), assistant())
    assert found.messages == [
        user(), assistant(), user("and?"), system("Be brief."), assistant(),
    ]  # fmt: skip
    assert lost(found) == [(2, "metadata", MOVED)]
    early = to("anthropic", system("a"), assistant(), system("Be brief."), user())
    assert (early.system, roles(early)) == ("a", "aus")
    assert lost(early) == [(2, "metadata", MOVED)]


def test_between_messages_of_the_user_it_moves_behind_the_last():
    found = to("anthropic", user("a"), system("Be brief."), user("b"), assistant())
    assert roles(found) == "usa"
    assert [block["text"] for block in found.messages[0]["content"]] == ["a", "b"]
    assert lost(found) == [(1, "metadata", MOVED)]
    tools = to("anthropic", user(), CALLS, RESULT, system("Be brief."), user("b"), assistant())
    assert roles(tools) == "uausa"
    assert [block["type"] for block in tools.messages[2]["content"]] == ["tool_result", "text"]


def test_neighbours_become_one_message():
    found = to("anthropic", user(), system("a"), system("b"), assistant())
    assert roles(found) == "usa"
    assert [block["text"] for block in found.messages[1]["content"]] == ["a", "b"]
    assert found.lost == ()
    one_moves = to("anthropic", system("a"), user(), assistant(), system("b"), user(), system("c"))
    assert roles(one_moves) == "uaus"
    assert [block["text"] for block in one_moves.messages[3]["content"]] == ["b", "c"]
    assert lost(one_moves) == [(3, "metadata", MOVED)]


def test_without_a_user_behind_it_its_place_is_content():
    given = (system("Be kind."), user(), assistant(), system("Be brief."), system("Now."))
    with pytest.raises(ConversionError, match=f"message 3: {PLACE} would be lost"):
        to("anthropic", *given)
    found = to("anthropic", *given, lost="drop")
    assert found.messages == [user(), assistant()]
    assert [block["text"] for block in found.system] == ["Be kind.", "Be brief.", "Now."]
    assert lost(found) == [(3, "content", PLACE), (4, "content", PLACE)]
    begins = (assistant(), system("Be brief."), assistant("b"), system("Now."))
    assert to("anthropic", *begins, lost="drop").system == [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Now."},
    ]


def test_of_what_is_dropped_nothing_counts_as_the_users():
    heard = {"role": "user", "content": [SOUND]}
    found = to(
        "anthropic", user(), assistant(), heard, system("a"), assistant(), user(), lost="drop"
    )
    assert roles(found) == "uaus"
    assert [what for _, _, what in lost(found)][-1] == MOVED
    ends = to("anthropic", user(), assistant(), heard, system("a"), lost="drop")
    assert (ends.messages[2]["content"], roles(ends)) == ("(continue)", "uaus")


def test_a_blank_one_leaves():
    found = to("anthropic", user(), system(" "), assistant())
    assert found.messages == [user(), assistant()]
    assert [what for _, _, what in lost(found)] == [
        "a blank text",
        "the system message, as nothing is left in it",
    ]


def test_gemini_has_no_place_for_it():
    given = (system("Be kind."), user(), system("Be brief."), assistant(), user())
    with pytest.raises(ConversionError, match=f"message 2: {PLACE} would be lost"):
        to("gemini", *given)
    found = to("gemini", *given, lost="drop")
    assert [message["role"] for message in found.messages] == ["user", "model", "user"]
    assert found.system == [{"text": "Be kind."}, {"text": "Be brief."}]
    assert lost(found) == [(2, "content", PLACE)]
    alone = to("gemini", user(), system("Be brief."), lost="drop")
    assert (len(alone.messages), alone.system) == (1, "Be brief.")


def test_in_openais_dialects_it_stays_where_it_is():
    given = [user(), assistant(), system("Be brief."), user(), system("b"), system("c"), user()]
    items = to("responses", *given)
    assert items.messages == given
    assert convert(items.messages, source="responses", target="openai").messages == given


def test_from_anthropic_it_stays_where_it_is():
    given = [user(), system("Be brief."), assistant(), user("and?"), system("Now.")]
    for target in ("openai", "responses"):
        found = convert(given, source="anthropic", target=target)
        assert (found.messages, found.lost) == (given, ())
        assert validate(found.messages, dialect=target) == []
        back = convert(found.messages, source=target, target="anthropic")
        assert (back.messages, back.lost) == (given, ())
    beside = convert(given, source="anthropic", target="openai", system="Be kind.")
    assert beside.messages == [system("Be kind."), *given]
    with pytest.raises(ConversionError, match=f"message 1: {PLACE}"):
        convert(given, source="anthropic", target="gemini")
    contents = convert(given, source="anthropic", target="gemini", lost="drop")
    assert contents.system == [{"text": "Be brief."}, {"text": "Now."}]
    assert [index for index, _, _ in lost(contents)] == [1, 4]


def test_marks_and_tools_of_a_system_message():
    marked = {"role": "system", "clear_at": "next_user_message", "content": [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
    ]}  # fmt: skip
    found = convert([user(), marked, assistant()], source="anthropic", target="openai")
    assert found.messages[1] == system([{"type": "text", "text": "a"}])
    assert [(index, kind) for index, kind, _ in lost(found)] == [(1, "metadata")] * 2
    tools = {"role": "system", "content": [{"type": "tool_addition", "tool": {}}]}
    with pytest.raises(ConversionError, match="message 1: a block of type 'tool_addition'"):
        convert([user(), tools], source="anthropic", target="openai")
    dropped = convert([user(), tools], source="anthropic", target="openai", lost="drop")
    assert dropped.messages == [user()]


@pytest.mark.parametrize(
    "middle",
    [
        [system("a")],
        [system("a"), user()],
        [assistant(), system("a"), user()],
        [CALLS, RESULT, system("a"), system("b"), user(), assistant(), system("c")],
        [assistant(), system("a"), assistant(), system("b")],
    ],
)
def test_a_list_for_anthropic_is_valid_and_stands_still(middle):
    given = [user(), *middle, user()]
    found = to("anthropic", system("Be kind."), *given)
    assert validate(found.messages, dialect="anthropic") == []
    chat = convert(found.messages, source="anthropic", target="openai", system=found.system)
    again = convert(chat.messages, source="openai", target="anthropic")
    assert (again.messages, again.system, again.lost) == (found.messages, found.system, ())
    for before, message, after in zip(
        found.messages, found.messages[1:], [*found.messages[2:], None], strict=False
    ):
        if message["role"] == "system":
            assert before["role"] == "user"
            assert after is None or after["role"] == "assistant"
