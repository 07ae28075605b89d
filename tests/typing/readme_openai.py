"""The calls of OpenAI's SDK that the documentation shows: type-checked, never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
from openai.types.responses import Response, ResponseInputItemParam

from warmset import Budget, fit, repair, retry_on_overflow, validate
from warmset.serve import wrap

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletionToolUnionParam

    from warmset import Conversation, Memory

    Messages = list[ChatCompletionMessageParam]


def readme(client: OpenAI, memory: Memory, messages: Messages) -> None:
    result = fit(messages, budget=16_000)
    client.chat.completions.create(model="gpt-5-mini", messages=result.messages)
    kit = memory.conversation("agent").tools(budget=4_000)
    window = memory.process(messages, conversation="agent", budget=32_000, tools=kit.definitions)
    reply = client.chat.completions.create(model="gpt-5-mini", **window.openai())
    assert_type(reply, ChatCompletion)
    assert_type(window.openai()["messages"], list[ChatCompletionMessageParam])
    answers = kit.run_all(reply.choices[0].message.tool_calls or ())
    memory.process([*messages, reply.choices[0].message, *answers], conversation="a", budget=9)


def loop(client: OpenAI, chat: Conversation, model: str) -> None:
    kit = chat.tools(budget=4_000)
    window = chat.window("What did we decide first?", budget=2_000, tools=kit.definitions)
    history = window.messages
    reply = client.chat.completions.create(model=model, **window.openai())
    while calls := reply.choices[0].message.tool_calls:
        history.append(reply.choices[0].message)
        history += kit.run_all(call for call in calls if kit.handles(call))
        reply = client.chat.completions.create(model=model, messages=history, tools=kit.definitions)


def own_list(
    client: OpenAI, messages: Messages, model: str, tools: list[ChatCompletionToolUnionParam]
) -> None:
    def call(budget: int) -> ChatCompletion:
        result = fit(messages, budget=budget, tools=[dict(tool) for tool in tools])
        return client.chat.completions.create(model=model, messages=result.messages, tools=tools)

    def short(budget: int) -> ChatCompletion:
        return client.chat.completions.create(
            model=model, messages=fit(messages, budget=budget).messages
        )

    assert_type(retry_on_overflow(call, budget=16_000), ChatCompletion)
    retry_on_overflow(short, budget=16_000)
    client.chat.completions.create(model=model, messages=repair(messages).messages)
    validate(messages)


def stored(client: OpenAI, chat: Conversation, messages: Messages, model: str) -> None:
    chat.append(messages)
    kept = chat.fit(budget=Budget(window=32_000, watermark=0.7))
    client.chat.completions.create(model=model, messages=kept.messages)


def replies(client: OpenAI, chat: Conversation, messages: Messages, model: str) -> None:
    window = chat.window(budget=16_000, system="Be brief.")
    message = client.chat.completions.create(model=model, **window.openai()).choices[0].message
    chat.append(message)
    chat.append([*messages, message])
    chat.sync([*messages, message])
    repair([*messages, message])
    validate([*messages, message])


def responses(client: OpenAI, chat: Conversation, model: str) -> None:
    kit = chat.tools(dialect="responses")
    window = chat.window(budget=9, dialect="responses", tools=kit.definitions)
    answer = client.responses.create(model=model, **window.responses())
    assert_type(answer, Response)
    assert_type(window.responses()["input"], list[ResponseInputItemParam])
    client.responses.create(model=model, instructions="Be brief.", **window.responses())
    chat.append(answer.output)
    chat.append(kit.run_all(item for item in answer.output if kit.handles(item)))
    chat.sync([*window.messages, *answer.output])


def kept_there(client: OpenAI) -> None:
    first = client.responses.create(model="gpt-5.2", input="Count shelf 4.")
    client.responses.create(model="gpt-5.2", input="And shelf 5?", previous_response_id=first.id)


def wrapped(openai: OpenAI, memory: Memory, messages: Messages) -> None:
    client = wrap(openai, memory)
    client.chat.completions.create(model="gpt-6", messages=messages)


def wrong(client: OpenAI, chat: Conversation, answer: Response) -> None:
    """Each line below is an error of the type checker."""
    window = chat.window(budget=9)
    chat.append(answer.output_text)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.responses.create(model="m", **window.openai())  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    client.chat.completions.create(model="m", **window.anthropic())  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
