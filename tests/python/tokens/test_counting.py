"""Tokens: the reference's number for texts, a stated error for everything else."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from rs_bpe import bpe

from warmset import Memory, count_tokens
from warmset.errors import InvalidInputError, InvalidMessageError, NotFiniteError
from warmset.options import MODELS
from warmset.tokens import TokenCount

TEXTS = {
    "empty": "",
    "space": " ",
    "english": "We moved the launch to Friday, didn't we? It's fine.",
    "contractions": "I'M you'LL he'd WE'VE they're it's o'clock 's",
    "german": "Donaudampfschifffahrtsgesellschaft über Straße",
    "russian": "Мы перенесли запуск на пятницу.",
    "greek": "Μεταφέραμε την εκκίνηση",
    "arabic": "نقلنا موعد الإطلاق إلى يوم الجمعة",
    "hebrew": "העברנו את ההשקה ליום שישי",
    "hindi": "हमने लॉन्च को शुक्रवार तक बढ़ा दिया",
    "thai": "เราย้ายการเปิดตัวไปเป็นวันศุกร์",
    "chinese": "我们把发布移到了星期五。",
    "japanese": "リリースを金曜日に移しました。",
    "korean": "출시를 금요일로 옮겼습니다.",
    "amharic": "ማስጀመሪያውን ወደ ዓርብ",
    "emoji": "👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿😀🇩🇪",
    "four bytes": "𠜎𐍈\U0010ffff",
    "combining": "e\u0301 Z\u0351\u036b\u0343",
    "code": "def f(x):\n\treturn {\n    'a': [1, 2.5e-3],\n}\r\n\n\n",
    "digits": "1234567890 12 123 1234 ٣٤٥ ⅷ½",
    "white space": " \n\n \t  x   y\u00a0\u2003z \r\n  ",
    "NUL": "a\0b\x01\x7f",
    "special tokens": "<|endoftext|> <|im_start|>system<|im_sep|>",
    "bom": "\ufeffx\ufffe\uffff",
    "base64": "TWFuIGlzIGRpc3Rpbmd1aXNoZWQ=" * 40,
    "run": "a" * 3_000 + " " * 3_000 + "=" * 3_000,
}
ENCODINGS = {"o200k_base": bpe.openai.o200k_base, "cl100k_base": bpe.openai.cl100k_base}
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_are_counted_as_by_the_reference(encoding, text):
    counted = count_tokens(text, encoding=encoding)
    assert counted == len(ENCODINGS[encoding]().encode(text))
    assert (counted.exact, counted.error) == (True, 0.0)


@pytest.mark.parametrize("encoding", [*ENCODINGS, "estimate"])
@pytest.mark.parametrize("text", ["\ud800", "a \udfff b", "\ud83d\ude00"])
def test_a_lone_surrogate_has_no_exact_count(encoding, text):
    counted = count_tokens(text, encoding=encoding)
    assert counted >= 1
    assert counted.exact is False
    assert counted.error > 0


@pytest.mark.parametrize("text", [text for name, text in TEXTS.items() if name != "run"])
def test_estimates_say_so_and_are_of_the_right_size(text):
    counted = count_tokens(text, encoding="estimate")
    exact = count_tokens(text)
    assert counted.exact is False
    assert 0 < counted.error < 1
    assert 0.4 * exact - 4 <= counted <= 4.5 * exact + 4


@pytest.mark.parametrize(
    ("model", "encoding", "exact"),
    [
        ("gpt-4o", "o200k_base", True),
        ("gpt-4o-mini-2024-07-18", "o200k_base", True),
        ("openai/gpt-4.1-nano", "o200k_base", True),
        ("GPT-5", "o200k_base", True),
        ("o3-mini", "o200k_base", True),
        ("gpt-4", "cl100k_base", True),
        ("gpt-4-0613", "cl100k_base", True),
        ("gpt-4-turbo-preview", "cl100k_base", True),
        ("gpt-3.5-turbo", "cl100k_base", True),
        ("claude-sonnet-4-20250514", "estimate", False),
        ("gemini-2.5-pro", "estimate", False),
        ("my-model", "estimate", False),
        ("", "estimate", False),
        ("opus", "estimate", False),
    ],
)
def test_models_are_known_by_the_longest_prefix(model, encoding, exact):
    text = TEXTS["english"] + TEXTS["hindi"]
    counted = count_tokens(text, model=model)
    assert (counted, counted.exact) == (count_tokens(text, encoding=encoding), exact)


WINDOWS = {
    8_192: {"gpt-4"},
    16_385: {"gpt-3.5-turbo"},
    128_000: {"gpt-4-turbo", "gpt-4o"},
    131_072: {"gpt-oss"},
    200_000: {"o1", "o3", "o4-mini", "claude-3-5", "claude-3-7"}
    | {f"claude-{name}-4" for name in ("haiku", "opus", "sonnet")},
    400_000: {"gpt-5"},
    1_047_576: {"gpt-4.1"},
}
"""Context windows, in tokens, as the providers' pages of models have them."""


def test_the_table_of_models():
    windows = {name: model.window for name, model in MODELS.items()}
    assert windows == {name: window for window, names in WINDOWS.items() for name in names}
    assert {model.encoding for model in MODELS.values()} == {*ENCODINGS, "estimate"}
    for name, model in MODELS.items():
        assert count_tokens("x y", model=name) == count_tokens("x y", encoding=model.encoding)


def test_a_count_is_a_number():
    counted = count_tokens("one two three", encoding="estimate")
    assert isinstance(counted, int)
    assert type(counted) is TokenCount
    assert counted + 1 == int(counted) + 1
    assert f"{counted}" == str(int(counted)) == json.dumps(counted)
    assert {int(counted): "x"}[counted] == "x"
    for again in (
        pickle.loads(pickle.dumps(counted)),  # noqa: S301 - our own bytes
        copy.copy(counted),
        copy.deepcopy(counted),
    ):
        assert (again, again.exact, again.error) == (counted, False, counted.error)
        assert type(again) is TokenCount


LISTS = {
    "text": [{"role": "user", "content": "the kite"}],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "the kite"}]}],
    "call": [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
    "result": [{"role": "tool", "tool_call_id": "a", "content": "the kite"}],
    "image": [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "x", "detail": "low"}}],
        }
    ],
    "tool_use": [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        }
    ],
    "tool_result": [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
    ],
}


@pytest.mark.parametrize("messages", LISTS.values(), ids=LISTS)
def test_lists_have_overhead_and_a_stated_error(messages):
    alone = count_tokens(messages)
    assert (alone.exact, alone.error) == (False, 0.05)
    assert count_tokens(messages * 3) - 3 == 3 * (alone - 3)
    assert count_tokens(tuple(messages)) == alone
    assert count_tokens(messages[0]) == alone
    assert count_tokens([]) == 3
    texts = json.dumps(messages)
    assert count_tokens(json.loads(texts)) == alone


def test_what_grows_costs_more():
    base = LISTS["call"][0]
    more = {**CALL, "function": {"name": "look", "arguments": '{"a": 1, "b": [2, 3]}'}}
    assert count_tokens(base | {"tool_calls": [more]}) > count_tokens(base)
    assert count_tokens(base | {"tool_calls": [CALL, CALL]}) > count_tokens(base)
    assert count_tokens(base | {"content": "hm"}) > count_tokens(base)
    assert count_tokens(LISTS["image"]) == 85 + 4 + 3
    assert count_tokens(base, system="Be brief.") > count_tokens(base)
    assert count_tokens(base, system=[{"type": "text", "text": "Be brief."}]) > count_tokens(base)
    assert count_tokens(base, tools=[{"name": "look"}]) > count_tokens(base)
    assert count_tokens(base, tools=[]) == count_tokens(base, system="") == count_tokens(base)


def test_a_memory_counts_as_count_tokens_does():
    messages = [message for given in list(LISTS.values())[:4] for message in given]
    for encoding in (*ENCODINGS, "estimate"):
        with Memory.open(None, embedder="lexical", encoding=encoding) as memory:
            memory.conversation("log").append(messages)
            window = memory.conversation("log").window(budget=10_000, mode="full")
            assert window.tokens == count_tokens(messages, encoding=encoding)


@pytest.mark.parametrize(
    ("value", "options", "error"),
    [
        ("x", {"encoding": "p50k_base"}, InvalidInputError),
        ("x", {"encoding": ""}, InvalidInputError),
        ("x", {"encoding": "o200k_base", "model": "gpt-4o"}, InvalidInputError),
        (5, {}, InvalidInputError),
        (None, {}, InvalidInputError),
        (b"x", {}, InvalidInputError),
        (object(), {}, InvalidInputError),
        ([5], {}, InvalidMessageError),
        (["x"], {}, InvalidMessageError),
        ([{"role": "user", "content": float("nan")}], {}, NotFiniteError),
    ],
)
def test_what_cannot_be_counted(value, options, error):
    with pytest.raises(error):
        count_tokens(value, **options)
