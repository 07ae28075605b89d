"""The public API: names at the root, what importing costs, which options and twins there are."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import subprocess
import sys

import pytest

import warmset
from warmset import Conversation, Memory
from warmset.errors import InvalidInputError
from warmset.memory import MemoryOptions, OpenKeywords
from warmset.store import StoreKeywords, StoreOptions
from warmset.window import Part, WindowKeywords, WindowOptions


def run(code):
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_all_is_sorted_complete_and_importable():
    assert list(warmset.__all__) == sorted(warmset.__all__)
    assert len(set(warmset.__all__)) == len(warmset.__all__) <= 45
    found = {}
    exec("from warmset import *", found)  # noqa: S102 - what a user may write
    assert set(warmset.__all__) <= set(found)
    contract = {
        "Budget",
        "BudgetTooSmall",
        "Conversation",
        "Filter",
        "Memory",
        "PreparedCompaction",
        "Report",
        "Synced",
        "WarmsetError",
        "Window",
        "compact_context",
        "convert",
        "count_tokens",
        "fit",
        "repair",
        "summary_of",
        "validate",
    }
    assert contract <= set(warmset.__all__)


def test_the_rooms_have_the_rest():
    rooms = {
        "native": {"ColdStore", "HotIndex", "LexicalIndex", "Log", "Put", "pack", "pack_batch"},
        "pick": {"AnthropicPicker", "LLMPicker", "OpenAIPicker", "Picker", "ScorePicker"},
        "summarize": {"ExtractiveSummarizer", "LLMSummarizer", "Summary", "audit"},
        "embed": {"CohereEmbedder", "FunctionEmbedder", "MiniLM", "OpenAIEmbedder"},
        "messages": {"Violation", "RepairResult", "ConversionResult"},
        "errors": {"BudgetTooSmall", "Locked", "StoreError", "WarmsetError"},
        "testing": {"check_evictor"},
    }
    code = f"""
import warmset
for room, names in {rooms!r}.items():
    there = getattr(warmset, room)
    assert names <= set(there.__all__), (room, names - set(there.__all__))
    for name in there.__all__:
        getattr(there, name)
print("ok")
"""
    assert run(code) == "ok\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'warmset' has no attribute 'NoSuchName'"):
        _ = warmset.NoSuchName
    assert {"Memory", "native", "__version__"} <= set(dir(warmset))
    assert warmset.__version__


def test_the_log_is_imported_when_it_is_used():
    code = (
        "import sys\n"
        "from warmset import native\n"
        "loaded = lambda: [one for one in sys.modules if one.startswith('warmset.store.')]\n"
        "assert not loaded() and {'Log', 'Put', 'ColdStore'} <= set(dir(native))\n"
        "native.Log, native.Put\n"
        "assert {'Log', 'Put'} <= set(vars(native)) and len(loaded()) == 4, loaded()\n"
        "try:\n"
        "    native.Lag\n"
        "except AttributeError as error:\n"
        "    print(error)\n"
    )
    assert run(code) == "module 'warmset.native' has no attribute 'Lag'\n"


def test_a_name_is_imported_once():
    code = "import warmset; warmset.fit; warmset.pick; print({'fit', 'pick'} <= set(vars(warmset)))"
    assert run(code) == "True\n"


def test_what_is_public_is_documented():
    for name in warmset.__all__:
        one = getattr(warmset, name)
        assert one.__doc__, name
        for member in vars(one) if isinstance(one, type) else ():
            inner = getattr(one, member, None)
            if not member.startswith("_") and callable(inner):
                assert inner.__doc__, f"{name}.{member}"


def test_what_is_handed_out_is_frozen():
    for one in (warmset.Hit, Part, warmset.Report, warmset.Synced, warmset.Window):
        assert one.__dataclass_params__.frozen
        assert all(field.name for field in dataclasses.fields(one))


def test_importing_loads_nothing_heavy():
    loaded = "print(sorted({'numpy', 'warmset._core', 'asyncio', 'onnx', 'onnxruntime', 'openai',"
    loaded += "'anthropic', 'tokenizers', 'rich', 'cyclopts', 'huggingface_hub', 'safetensors',"
    loaded += "'requests',"
    loaded += "'httpx', 'pydantic', 'warmset.memory', 'warmset.summarize.extract',"
    loaded += "'warmset.pick.providers', 'warmset.embed.minilm'} & set(sys.modules)))"
    assert run(f"import sys, warmset; {loaded}") == "[]\n"
    used = run(f"import sys; from warmset import Memory, fit; {loaded}")
    assert set(eval(used)) <= {"numpy", "warmset._core", "warmset.memory"}  # noqa: S307 - a list


def test_a_memory_that_searches_by_words_needs_no_extra():
    code = (
        "import sys\n"
        "for name in ('onnx', 'onnxruntime', 'tokenizers', 'openai', 'rich', 'cyclopts',\n"
        "             'huggingface_hub', 'safetensors'):\n"
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
    lines = run(code).splitlines()
    assert lines[0] == "the kite"
    assert lines[1].startswith("MissingExtraError")
    assert 'pip install "warmset[local]"' in lines[1]


# --- options that are said once -------------------------------------------------------------------


def fields(*kinds):
    return [field.name for kind in kinds for field in dataclasses.fields(kind)]


@pytest.mark.parametrize(
    ("keywords", "kinds"),
    [
        (WindowKeywords, [WindowOptions]),
        (StoreKeywords, [StoreOptions]),
        (OpenKeywords, [StoreOptions, MemoryOptions]),
    ],
)
def test_keywords_are_the_fields_of_their_options(keywords, kinds):
    told = keywords.__annotations__  # those of its bases are among them
    assert list(told) == fields(*kinds)
    for kind in kinds:
        for field in dataclasses.fields(kind):
            given = told[field.name]
            assert getattr(given, "__forward_arg__", given) == field.type, field.name


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (Memory.open, [MemoryOptions, StoreOptions]),
        (Memory.aopen, [MemoryOptions, StoreOptions]),
        (Memory.process, [WindowOptions]),
        (Memory.aprocess, [WindowOptions]),
        (Conversation.window, [WindowOptions]),
        (Conversation.awindow, [WindowOptions]),
    ],
)
def test_every_way_in_takes_all_options_and_shows_them(function, kinds):
    shown = inspect.signature(function).parameters
    assert list(shown)[-len(fields(*kinds)) :] == fields(*kinds)
    for kind in kinds:
        for field in dataclasses.fields(kind):
            assert shown[field.name].default == field.default
            assert shown[field.name].kind is inspect.Parameter.KEYWORD_ONLY
    assert not any(one.kind is one.VAR_KEYWORD for one in shown.values())


def test_an_unknown_option_is_a_type_error():
    with pytest.raises(TypeError, match="tenent"):
        Memory.open(None, embedder="lexical", tenent="a")
    with Memory.open(None, embedder="lexical") as memory:
        with pytest.raises(TypeError, match="recents"):
            memory.conversation("a").window("x", budget=900, recents=1)
        with pytest.raises(TypeError, match="pickers"):
            memory.process([], conversation="a", budget=900, pickers=None)


def test_a_misspelt_option_names_the_function_and_the_option_meant():
    with pytest.raises(TypeError, match=r"^open\(\).*'tenent'; did you mean 'tenant'\?$"):
        Memory.open(None, embedder="lexical", tenent="a")
    with Memory.open(None, embedder="lexical") as memory:
        with pytest.raises(TypeError, match=r"^window\(\).*'recents'; did you mean 'recent'\?$"):
            memory.conversation("a").window("x", budget=900, recents=1)
        with pytest.raises(TypeError, match=r"^process\(\) got an unexpected.*'xyzzy'$"):
            memory.process([], conversation="a", budget=900, xyzzy=1)


@pytest.mark.parametrize("options", [{"weights": 1}, {"picker": 1}, {"picker": "score"}])
def test_wrong_options_are_refused_when_they_are_given(options):
    [name] = options
    with pytest.raises(InvalidInputError, match=f"^{name}: expected"):
        Memory.open(None, embedder="lexical", **options)


def test_a_class_is_no_picker():
    with (
        Memory.open(None, embedder="lexical") as memory,
        pytest.raises(InvalidInputError, match="picker: expected"),
    ):
        memory.conversation("a").window("x", budget=900, picker=warmset.pick.ScorePicker)


def test_process_takes_the_options_that_only_a_window_had(made):
    said = [{"role": "user", "content": f"part {n} " * 80} for n in range(30)]
    with Memory.open(None, embedder="lexical") as memory:
        picker = warmset.pick.ScorePicker()
        window = memory.process(
            said, conversation="a", budget=2_000, picker=picker, compaction=made()
        )
        assert window.report.compaction is not None
    with Memory.open(None, embedder="lexical") as memory:
        window = memory.process(said, conversation="a", budget=2_000)
        assert window.report.compaction is None


# --- asynchronous twins ---------------------------------------------------------------------------

NOT_BLOCKING = {"conversation", "paused"}
"""Methods that wait for nothing."""


@pytest.mark.parametrize("kind", [Memory, Conversation])
def test_every_public_method_that_may_wait_has_a_twin(kind):
    names = {name for name in vars(kind) if not name.startswith("_")}
    blocking = {
        name
        for name in names
        if callable(getattr(kind, name)) and not inspect.iscoroutinefunction(getattr(kind, name))
    } - NOT_BLOCKING
    twins = {"a_sync" if name == "sync" else f"a{name}" for name in blocking}
    assert twins <= names
    for name in blocking:
        other = getattr(kind, "a_sync" if name == "sync" else f"a{name}")
        assert inspect.iscoroutinefunction(other)
        one = [p.name for p in inspect.signature(getattr(kind, name)).parameters.values()]
        assert [p.name for p in inspect.signature(other).parameters.values()] == one
        said = f"Run `{name}` in a thread; the same arguments, result and errors."
        assert other.__doc__.startswith(said)


def test_twins_run_what_a_subclass_has_in_a_method_s_place():
    class Loud(Memory):
        said = ()

        def close(self, **options):
            self.said = (*self.said, "closed")
            super().close(**options)

        def search(self, query, **options):
            self.said = (*self.said, query)
            return super().search(query, **options)

    async def use():
        async with await Loud.aopen(None, embedder="lexical") as memory:
            await memory.asearch("kite")
        return memory.said

    assert asyncio.run(use()) == ("kite", "closed")


def test_a_memory_is_used_asynchronously(tmp_path):
    async def use():
        async with await Memory.aopen(tmp_path, embedder="lexical") as memory:
            chat = memory.conversation("a")
            ids = await chat.aappend([{"role": "user", "content": "the kite flies"}])
            assert (await chat.a_sync([{"role": "user", "content": "the kite flies"}])).kept == 1
            assert (await chat.afetch(ids[0]))["content"] == "the kite flies"
            assert [turn.id for turn in await chat.afetch(ids)] == ids
            assert (await chat.asearch("kite"))[0].id == ids[0]
            assert (await chat.afit(budget=900)).ids == ids
            assert (await chat.atools(budget=900)).left == 900
            assert await memory.aflush(1)
            assert (await memory.astats())["messages"] == 1
            assert (await memory.aerase(ids=ids)).records == 1
            assert await memory.aconversations() == []
        with pytest.raises(warmset.errors.Closed):
            await memory.astats()

    asyncio.run(use())
