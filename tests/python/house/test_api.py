"""The public names, and what importing them costs."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import warmset


def test_all_is_sorted_complete_and_importable():
    assert list(warmset.__all__) == sorted(warmset.__all__)
    assert len(set(warmset.__all__)) == len(warmset.__all__)
    found = {}
    exec("from warmset import *", found)  # noqa: S102 - what a user may write
    assert set(warmset.__all__) <= set(found)
    contract = {
        "Budget",
        "ColdStore",
        "Conversation",
        "Filter",
        "HotIndex",
        "LLMPicker",
        "Memory",
        "Synced",
        "WarmsetError",
        "Window",
        "count_tokens",
        "pack",
        "pack_batch",
    }
    assert contract <= set(warmset.__all__)


def test_what_is_public_is_documented():
    for name in warmset.__all__:
        one = getattr(warmset, name)
        assert one.__doc__, name
        for member in vars(one) if isinstance(one, type) else ():
            inner = getattr(one, member, None)
            if not member.startswith("_") and callable(inner):
                assert inner.__doc__, f"{name}.{member}"


def test_what_is_handed_out_is_frozen():
    for one in (warmset.Hit, warmset.Part, warmset.Report, warmset.Synced, warmset.Window):
        assert one.__dataclass_params__.frozen
        assert all(field.name for field in dataclasses.fields(one))


def test_importing_is_light():
    code = (
        "import sys, warmset; heavy = {'onnx', 'onnxruntime', 'openai', 'anthropic', 'tokenizers', "
        "'rich', 'cyclopts', 'asyncio', 'huggingface_hub', 'requests', 'httpx', 'pydantic'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert set(eval(done.stdout)) <= {"asyncio"}  # noqa: S307 - a list of names


def test_a_memory_that_searches_by_words_needs_no_extra():
    code = (
        "import sys\n"
        "for name in ('onnx', 'onnxruntime', 'tokenizers', 'openai', 'rich', 'cyclopts'):\n"
        "    sys.modules[name] = None\n"
        "from warmset import Memory\n"
        "with Memory.open(None, embedder='lexical') as memory:\n"
        "    memory.conversation('a').append({'role': 'user', 'content': 'the kite'})\n"
        "    print(memory.search('kite')[0].summary)\n"
        "try:\n"
        "    Memory.open(None)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "the kite"
    assert lines[1].startswith("MissingExtraError")
    assert 'pip install "warmset[local]"' in lines[1]
