"""Redaction: what the hook or `<private>` tags leave out is nowhere, and lists are recognised."""

from __future__ import annotations

import json
import logging
import pickle
import threading
from types import SimpleNamespace

import pytest
from busy import held_elsewhere
from hypothesis import HealthCheck, given, settings, strategies as st
from vectors_by_word import WordEmbedder

from warmset import Memory, PreparedCompaction, compact_context
from warmset.errors import InvalidInputError, RedactionError
from warmset.receipts import Spooled

SECRET = "hunter2"  # noqa: S105 - an example


def hide(text):
    return text.replace(SECRET, "[password]")


def said(text, role="user"):
    return {"role": role, "content": text}


def talk(count):
    """A conversation in which every other message has the secret."""
    return [
        said(
            f"message {n} about the harbour, the password is {SECRET if n % 2 else 'none'} " * 6,
            "assistant" if n % 2 else "user",
        )
        for n in range(count)
    ]


def bytes_of(path):
    return b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())


class Embedder(WordEmbedder):
    """Remembers the texts that it is sent."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        return super().embed(texts)


class Model:
    """A picker and a summarizer that remember what they are asked."""

    def __init__(self):
        self.asked = []

    def pick(self, request, candidates, *, limit):
        self.asked += [request, *(one.summary for one in candidates)]
        return [one.id for one in candidates[:limit]]

    def __call__(self, messages, *, max_tokens):  # noqa: ARG002 - the interface
        self.asked.append(str(messages))
        return "The harbour was talked about, and it was long."


@pytest.fixture
def records(caplog):
    caplog.set_level(logging.DEBUG, logger="warmset")
    return caplog


@pytest.mark.parametrize("way", ["hook", "tags"])
def test_nothing_of_it_is_anywhere(way, tmp_path, records):
    """Use every way in and out, and look for the secret in all files, requests and records."""
    embedder, model = Embedder(), Model()
    options = {"redact": hide} if way == "hook" else {}
    secret = SECRET if way == "hook" else f"<private>{SECRET}</private>"
    history = [said(one["content"].replace(SECRET, secret), one["role"]) for one in talk(40)]
    policy = PreparedCompaction(
        summarizer=model, trigger_ratio=0.3, tail=0.1, keep=1, min_saving=0.01
    )
    path = tmp_path / "store"
    shown = []
    with Memory.open(path, embedder=embedder, picker=model, compaction=policy, **options) as memory:
        log = memory.conversation("log")
        log.append(history[:10], speaker=f"Ann {secret}", meta={"note": [f"a {secret}"]})
        log.sync(history[:20])
        for end in (25, 30, 40):
            window = memory.process(history[:end], conversation="log", budget=1_500)
            shown.append(str(window.messages))
        shown.append(str(log.window(f"what is {secret}?", budget=1_500).messages))
        shown.append(str(log.window(f"what is {secret}?", budget=3_000, mode="full").messages))
        memory.search(f"the {secret}")
        log.search(f"the {secret}")
        id_ = memory.remember(f"The password is {secret}.", meta={"k": secret})
        memory.remember("x" * 590 + f" {secret} and more words after it", memory_id="long")
        memory.revise(id_, f"The new password is {secret}.")
        memory.memories(query=f"password {secret}")
        for keeper in (memory, log):
            other = [said(f"apart {one['content']}") for one in history]
            made = compact_context(
                other, query=f"a {secret}", target_ratio=0.2, memory=keeper, distill_novel=True
            )
            shown += [str(memory.restore(one.handle)) for one in made.dropped]
        kit = log.tools()
        assert memory.flush(20)
        assert SECRET not in str(memory.memories(k=100))
        shown.append(str([turn.meta for turn in log] + [turn.speaker for turn in log]))
        shown.append(str(log.messages()))
        del kit
        redacted = memory.stats()["redacted"]
        assert redacted["messages"] > 20
        assert (redacted["private"] > 20) == (way == "tags")
    assert model.asked
    assert embedder.texts
    assert SECRET.encode() not in bytes_of(path)
    assert SECRET not in "".join([*model.asked, *embedder.texts, *shown])
    assert SECRET not in "".join(str(vars(one)) for one in records.records)


def test_spooled_messages_are_redacted(tmp_path):
    options = {"embedder": "lexical", "on_busy": "spool", "redact": hide}
    with Memory.open(tmp_path, **options) as memory:
        with held_elsewhere(tmp_path):
            assert isinstance(memory.conversation("log").append(said(f"a {SECRET}")), Spooled)
            assert isinstance(memory.remember(f"It is {SECRET}."), Spooled)
            assert memory.conversation("log").sync([said(f"a {SECRET}")]).kept == 1
        assert len(list((tmp_path / "spool").glob("*.spl"))) == 2
        assert SECRET.encode() not in bytes_of(tmp_path)
        memory.conversation("log").append(said("b"))
        assert [one["content"] for one in memory.conversation("log")] == ["a [password]", "b"]


# --- lists that come again -----------------------------------------------------------------------


@pytest.mark.parametrize("again", [False, True], ids=["same process", "reopened"])
def test_the_same_list_is_recognised(again, tmp_path):
    history = talk(30)
    with Memory.open(tmp_path, embedder="lexical", redact=hide) as memory:
        first = memory.conversation("log").sync(history[:20])
        assert (first.redacted, len(first.appended)) == (10, 20)
        if not again:
            synced = memory.conversation("log").sync([dict(one) for one in history])
    if again:
        with Memory.open(tmp_path, embedder="lexical", redact=hide) as memory:
            synced = memory.conversation("log").sync(history)
            assert len(memory.conversation("log")) == 30
    assert (synced.kept, len(synced.appended), synced.branched_at) == (20, 10, None)
    assert synced.redacted == 5


def louder(text):
    """A hook that changes its own results again, as it should not."""
    return text.replace("password", "password!")


@pytest.mark.parametrize("hook", [hide, louder])
@pytest.mark.parametrize("mode", ["jit", "recency"])
def test_windows_that_come_back_are_recognised(hook, mode):
    history = talk(60)
    with Memory.open(None, embedder="lexical", redact=hook) as memory:
        window = memory.process(history, conversation="log", budget=2_000, mode=mode)
        for n in range(3):
            sent = [*window.messages, said(f"answer {n}", "assistant"), said(f"more {n}")]
            window = memory.process(sent, conversation="log", budget=2_000, mode=mode)
            assert window.synced.branched_at in (None, 60 + 2 * n)
            assert not window.synced.left
        assert len(memory.conversation("log")) == 66
        assert all("!!" not in one["content"] for one in memory.conversation("log"))


def test_whole_windows_that_come_back_are_recognised_by_a_hook_that_changes_its_results():
    """A short list passes whole, so that no window is noted; its messages are the stored ones."""
    with Memory.open(None, embedder="lexical", redact=louder) as memory:
        window = memory.process([said("the password")], conversation="log", budget=2_000)
        assert window.messages == [said("the password!")]
        again = [*window.messages, said("and?", "assistant")]
        assert memory.conversation("log").sync(again).kept == 1


def test_a_branch_that_comes_back_is_redacted():
    """Messages that are known from the last list, and yet are new after a branch, are redacted."""
    first, second = [said("a"), said(f"b {SECRET}")], [said("A"), said(f"b {SECRET}")]
    with Memory.open(None, embedder="lexical", redact=hide) as memory:
        log = memory.conversation("log")
        log.sync(first)
        log.sync(second)
        assert [one["content"] for one in log] == ["A", "b [password]"]


def test_two_windows_of_one_request_are_the_same():
    with Memory.open(None, embedder="lexical", redact=hide) as memory:
        log = memory.conversation("log")
        log.append(talk(40))
        one = log.window(f"what was {SECRET}?", budget=1_500)
        assert one.messages[-1]["content"] == "what was [password]?"
        log.append(said(f"what was {SECRET}?"))
        two = log.window(f"what was {SECRET}?", budget=1_500)
        assert two.messages == one.messages


# --- what is told --------------------------------------------------------------------------------


def test_it_is_told(records):
    with Memory.open(None, embedder="lexical") as memory:
        window = memory.process(
            [said("a <private>b</private>"), said("c", "assistant"), said("d")],
            conversation="log",
            budget=1_000,
        )
        assert window.synced.redacted == 1
        assert any("1 new messages" in note for note in window.report.notes)
        [record] = [one for one in records.records if one.event == "redacted"]
        assert (record.levelname, record.tenant, record.conversation) == ("INFO", "default", "log")
        assert record.messages == 1
        assert memory.stats()["redacted"] == {"messages": 1, "private": 1}
        again = memory.process([said("a <private>b</private>")], conversation="b", budget=1_000)
        assert again.synced.redacted == 1
        assert memory.stats()["redacted"] == {"messages": 2, "private": 2}


@pytest.mark.parametrize("hook", [None, str.strip])
def test_tags_can_be_switched_off(hook):
    text = "a <private>b</private>"
    with Memory.open(None, embedder="lexical", private_tags=False, redact=hook) as memory:
        memory.conversation("log").append(said(text))
        assert memory.conversation("log").messages()[0]["content"] == text
        assert memory.stats()["redacted"] == {"messages": 0, "private": 0}


def test_what_is_appended_is_counted():
    with Memory.open(None, embedder="lexical", redact=hide) as memory:
        memory.conversation("log").append([said(f"a {SECRET}"), said("b"), said(SECRET)])
        assert memory.stats()["redacted"] == {"messages": 2, "private": 0}


def test_what_a_compaction_stores_is_counted_and_what_stays_is_not_changed():
    with Memory.open(None, embedder="lexical", redact=hide) as memory:
        given = talk(40)
        for _ in range(2):  # the second time everything is stored already
            made = compact_context(given, target_ratio=0.2, memory=memory)
            dropped = [memory.restore(one.handle)["content"] for one in made.dropped]
            changed = sum("[password]" in one for one in dropped)
            assert changed > 5
            assert memory.stats()["redacted"]["messages"] == changed
        assert all(any(one is message for message in given) for one in made.messages)


def test_a_memory_is_cut_after_it_was_redacted():
    with Memory.open(None, embedder="lexical", redact=hide) as memory:
        memory.remember("x" * 595 + f" {SECRET}")
        [one] = memory.memories()
        assert "hunt" not in one.text


def test_the_hook_does_not_see_what_tags_hide():
    seen = []
    with Memory.open(None, embedder="lexical", redact=lambda t: seen.append(t) or t) as memory:
        memory.conversation("log").append(said("a <private>b</private>"))
    assert seen == ["a [private]"]


# --- hooks that fail -----------------------------------------------------------------------------


def raising(text):
    raise ValueError(text)


async def later(text):
    return text


class Later:
    """An object that is called like a coroutine function."""

    async def __call__(self, text):
        return text


def returning(value):
    return lambda _text: value


@pytest.mark.parametrize(
    "hook",
    [raising, returning(None), returning(b"x"), lambda text: later(text)],  # noqa: PLW0108
)
def test_a_hook_that_fails_lets_nothing_through(hook, tmp_path):
    with Memory.open(tmp_path, embedder="lexical", redact=hook) as memory:
        log = memory.conversation("log")
        for call in (
            lambda: log.append(said(SECRET)),
            lambda: log.append(said("x"), speaker=SECRET),
            lambda: log.sync([said(SECRET)]),
            lambda: log.window(SECRET, budget=1_000),
            lambda: memory.process([said(SECRET)], conversation="log", budget=1_000),
            lambda: memory.remember(SECRET),
            lambda: memory.memories(query=SECRET),
            lambda: memory.search(SECRET),
            lambda: compact_context([said(SECRET)] * 20, target_ratio=0.1, memory=memory),
        ):
            with pytest.raises(RedactionError, match="nothing was stored") as caught:
                call()
            assert SECRET not in str(caught.value)
            assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301
        assert memory.stats()["records"] == 0
    assert SECRET.encode() not in bytes_of(tmp_path)


def test_a_hook_that_fails_in_the_middle_stores_no_message():
    def hook(text):
        if text == "third":
            raise KeyError(text)
        return text

    with Memory.open(None, embedder="lexical", redact=hook) as memory:
        log = memory.conversation("log")
        with pytest.raises(RedactionError, match="KeyError"):
            log.append([said("first"), said("second"), said("third")])
        with pytest.raises(RedactionError, match="KeyError"):
            log.sync([said("first"), said("second"), said("third")])
        assert len(log) == 0


def append_in_vain(log):
    with pytest.raises(RedactionError):
        log.append(said("slow"))


def test_a_slow_hook_is_given_up_and_keeps_nobody_waiting(tmp_path):
    end, ended = threading.Event(), []

    def hook(text):
        if text == "slow":
            ended.append(end.wait(60))
        return text

    options = {"embedder": "lexical", "redact": hook}
    with (
        Memory.open(tmp_path, redact_timeout=0.2, **options) as memory,
        Memory.open(tmp_path, redact_timeout=30.0, **options) as patient,
    ):
        log = memory.conversation("log")
        thread = threading.Thread(target=append_in_vain, args=(log,))
        thread.start()
        patient.conversation("log").append(said("fast"))
        with pytest.raises(RedactionError, match=r"longer than 0\.2 s"):
            log.append(said("slow"))
        thread.join()
        assert ended == [], "the hook was still at it"
        assert [one["content"] for one in log] == ["fast"]
        for _ in range(6):
            with pytest.raises(RedactionError, match="longer"):
                log.sync([said("fast"), said("slow")])
        with pytest.raises(RedactionError, match="earlier calls"):
            log.append(said("fast"))
        end.set()


@pytest.mark.parametrize("hook", ["text", 3, later, Later(), str, SimpleNamespace()])
def test_what_is_no_hook_is_refused(hook):
    with pytest.raises(InvalidInputError, match="redact: expected a function"):
        Memory.open(None, embedder="lexical", redact=hook)


@pytest.mark.parametrize("seconds", [0, -1, None, "1", True, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds):
    with pytest.raises(InvalidInputError, match="redact_timeout"):
        Memory.open(None, embedder="lexical", redact=hide, redact_timeout=seconds)


def test_private_tags_is_a_bool():
    with pytest.raises(InvalidInputError, match="private_tags"):
        Memory.open(None, embedder="lexical", private_tags="no")


# --- a property ----------------------------------------------------------------------------------

_TEXTS = st.text('ab <>/"\\\né', max_size=20)
_HIDDEN = st.tuples(_TEXTS, _TEXTS).map(lambda two: f"{two[0]}{SECRET}{two[1]}")
_VALUES = st.recursive(
    _HIDDEN | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_HIDDEN | _TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)


@given(_HIDDEN, _VALUES, _VALUES)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_secret_reaches_a_file(tmp_path_factory, text, arguments, extra):
    path = tmp_path_factory.mktemp("store")
    batch = [
        said(text),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "f", "arguments": json.dumps({"a": arguments})},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": text}]},
    ]
    blocks = [
        {"role": "user", "content": [{"type": "text", "text": text or "x"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": arguments}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": text}],
        },
    ]
    with Memory.open(path, embedder="lexical", redact=hide, durability="os") as memory:
        memory.conversation("chat").append(batch, meta={"k": extra})
        memory.conversation("blocks").sync(blocks)
        assert not memory.conversation("chat").sync(batch).appended
        assert not memory.conversation("blocks").sync(blocks).appended
    assert SECRET.encode() not in bytes_of(path)
