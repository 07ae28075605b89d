"""A system message in the middle of an Anthropic list: taken, protected, and kept in its place."""

import pytest

from warmset import Memory, compact_context, fit
from warmset.messages import (
    alternate,
    convert,
    detect,
    facts,
    repair,
    units,
    validate,
)
from warmset.messages.anthropic.models import refuses_system


def user(text="hi"):
    return {"role": "user", "content": text}


def said(text="hello"):
    return {"role": "assistant", "content": text}


def system(text="be brief"):
    return {"role": "system", "content": text}


def calls(call="a"):
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": call, "name": "f", "input": {}}],
    }


def result(call="a"):
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": call, "content": "x"}],
    }


SERVED = {
    "role": "assistant",
    "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}],
}


def found(messages, **more):
    return [(one.rule, one.index, one.severity) for one in validate(messages, **ANTHROPIC, **more)]


ANTHROPIC = {"dialect": "anthropic"}


@pytest.mark.parametrize(
    ("messages", "broken"),
    [
        ([user(), system(), said()], []),
        ([user(), system()], []),
        ([user(), system(), system(), said()], []),
        ([user(), calls(), result(), system(), said()], []),
        ([user(), SERVED, system()], []),
        ([user(), said(), system()], [("A10", 2, "refused")]),
        ([system(), user()], [("A10", 0, "refused")]),
        ([user(), system(), user()], [("A10", 1, "refused")]),
        ([user(), calls(), system(), result()], [("A2", 1, "refused"), ("A10", 2, "refused")]),
    ],
)
def test_where_a_system_message_may_stand(messages, broken):
    assert sorted(one for one in found(messages) if one[0] != "A4") == sorted(broken)
    mended = repair(messages, mend="discouraged", **ANTHROPIC)
    assert validate(mended.messages, **ANTHROPIC) == []
    assert bool(mended.changes) == bool(broken)
    kept = [one["content"] for one in mended.messages]
    assert all(one["content"] in kept for one in messages if one["role"] == "system")


def test_where_a_misplaced_system_message_is_put():
    def mended(*messages):
        return repair(list(messages), mend="discouraged", **ANTHROPIC).messages

    assert mended(system(), user("1"), user("2"), said()) == [
        user("1"),
        user("2"),
        system(),
        said(),
    ]
    assert mended(user(), said(), system(), user("2")) == [user(), said(), user("2"), system()]
    assert mended(user(), said(), system()) == [user(), said(), user("be brief")]
    assert mended(user(), calls(), system(), result()) == [user(), calls(), result(), system()]
    kept = [user(), said(), user("2"), system("1"), system("2"), said()]
    assert repair(kept, mend="discouraged", **ANTHROPIC).messages == kept


@pytest.mark.parametrize(
    ("model", "refuses"),
    [
        ("", False),
        ("claude-opus-4-8", False),
        ("claude-opus-4-8-20260528", False),
        ("claude-opus-4-7", True),
        ("claude-opus-4-1-20250805", True),
        ("claude-opus-4-20250514", True),
        ("claude-opus-5", False),
        ("claude-sonnet-5", True),
        ("claude-sonnet-5-20260301", True),
        ("claude-sonnet-5-5", False),
        ("claude-sonnet-5.5", False),
        ("claude-haiku-4-5", True),
        ("claude-haiku-5-5", False),
        ("claude-fable-5", False),
        ("claude-mythos-5-1", False),
        ("claude-3-5-sonnet-20241022", True),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", True),
        ("claude-2.1", True),
        ("claude-instant-1.2", True),
        ("claude-saga-7", False),
        ("some-other-model", False),
    ],
)
def test_which_models_refuse_it(model, refuses):
    assert refuses_system(model) is refuses
    messages = [user(), system(), said(), user("2")]
    assert found(messages, model=model) == ([("A9", 1, "refused")] if refuses else [])
    mended = repair(messages, model=model, **ANTHROPIC).messages
    turned = [user(), user("be brief"), said(), user("2")]
    assert mended == (turned if refuses else messages)


def test_a_plain_list_with_a_system_message_is_of_no_dialect():
    assert detect([user(), system(), said()]) is None
    assert units([facts(system(), "anthropic")])[0].kind == "system"


def test_no_maker_refuses_or_moves_it():
    block = {"role": "user", "content": [{"type": "text", "text": "go on"}]}
    messages = [user("the task"), calls(), result(), system("be brief"), said("yes " * 300)]
    messages += [user("and " * 300), said("so " * 300), block]
    assert fit(messages, budget=100_000, **ANTHROPIC).messages == messages
    small = fit(messages, budget=120, **ANTHROPIC).messages
    assert system("be brief") in small
    assert validate(small, **ANTHROPIC) == []
    assert alternate([user("a"), user("b"), system(), said()])[1] == system()
    for target in ("openai", "responses"):
        turned = convert(messages[:5], source="anthropic", target=target).messages
        assert [one.get("role") for one in turned].count("system") == 1
    kept = compact_context(messages, query="brief", target_ratio=0.05)
    assert system("be brief") in kept.messages
    assert validate(kept.messages, **ANTHROPIC) == []


@pytest.mark.parametrize("mode", ["full", "recency", "jit"])
def test_a_window_keeps_it_in_place(mode):
    messages = [user("the task"), calls(), result(), system("be brief"), said("yes")]
    for number in range(20):
        messages += [user(f"{number} and " * 40), said(f"{number} so " * 40)]
        if number == 15:
            messages += [user("what now?"), system("be long"), said("that")]
    messages += [user("what was the task?")]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("c")
        conversation.append(messages)
        assert memory.conversation("d").sync(messages).appended
        for budget in (100_000, 700, 400):
            if mode == "full" and budget < 100_000:
                continue
            window = conversation.window(budget=budget, mode=mode)
            assert validate(window.messages, **ANTHROPIC) == []
            roles = [one["role"] for one in window.messages]
            assert roles[0] == "user"
            assert window.system is None
            shown = "\n".join(str(one["content"]) for one in window.messages)
            assert shown.index("be brief") < shown.index("be long")
            assert "be long" not in shown.split("19 so")[-1]
            if "15 so" in shown and mode != "jit":
                assert shown.index("15 so") < shown.index("be long")
            told = [one for one in window.messages if one["role"] == "system"]
            assert "be brief" in str(told[0])
            assert "be long" in str(told[-1])


def test_system_messages_that_begin_an_anthropic_conversation_go_beside_the_list():
    messages = [system("one"), system("two"), user("task"), calls(), result(), said()]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("c")
        conversation.append([*messages, user("and now?")])
        window = conversation.window(budget=10_000, system="zero", mode="recency")
        assert [one["text"] for one in window.system] == ["zero", "one", "two"]
        assert window.messages[0] == user("task")
        assert conversation.window(budget=10_000, mode="full").messages[0] == user("task")


@pytest.mark.parametrize("mode", ["full", "recency", "jit"])
def test_a_request_that_is_not_appended_does_not_follow_a_system_message(mode):
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("c")
        conversation.append([user("task"), calls(), result(), system("be brief")])
        window = conversation.window("what now?", budget=10_000, mode=mode)
        assert window.messages[-1]["content"] == "what now?"
        assert validate(window.messages, **ANTHROPIC) == []


@pytest.mark.parametrize("mode", ["full", "recency", "jit"])
def test_a_chat_window_keeps_system_messages_in_place(mode):
    messages = [system("lead"), user("the task")]
    for number in range(20):
        messages += [said(f"{number} so " * 40), user(f"{number} and " * 40)]
        messages += [system("middle")] if number == 18 else []
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("c")
        conversation.append(messages)
        for budget in (100_000, 900):
            if mode == "full" and budget < 100_000:
                continue
            shown = conversation.window(budget=budget, mode=mode).messages
            assert shown[0] == system("lead")
            at = shown.index(system("middle"))
            assert "19 so" in shown[at + 1]["content"]
            turned = conversation.window(budget=budget, mode=mode, dialect="gemini")
            assert [part["text"] for part in turned.system] == ["lead", "middle"]
