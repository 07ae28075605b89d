"""A deadline: how long is waited, what is given up, and how much of that may run at once."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from warmset.errors import ModelError, PickerError
from warmset.llm import Asker, Deadline, FunctionModel, OutOfTimeError, Prompt, Reply, Terms
from warmset.llm.base import usage_of
from warmset.llm.deadline import MOST, TooManyCallsError
from warmset.usage import Usage

SHORT = 0.02


def give_up(deadline, until):
    with pytest.raises(OutOfTimeError) as caught:
        deadline.run(lambda: until.wait(30), seconds=SHORT)
    return caught.type


def test_as_many_calls_may_be_given_up_and_no_more():
    deadline, until = Deadline(60.0), threading.Event()
    kinds = [give_up(deadline, until) for _ in range(MOST + 1)]
    assert kinds == [OutOfTimeError] * MOST + [TooManyCallsError]
    until.set()
    for thread in threading.enumerate():
        if thread.name == "warmset-llm":
            thread.join(10)
    assert deadline.run(lambda: 5) == 5  # those that ended do not count any more
    until.clear()
    kinds = [give_up(deadline, until) for _ in range(MOST + 1)]
    until.set()
    assert kinds == [OutOfTimeError] * MOST + [TooManyCallsError]


def test_a_call_that_ends_between_the_wait_and_the_lock_is_answered():
    deadline = Deadline(60.0)

    class Late:
        """A lock that is had only when the call has ended."""

        def __init__(self):
            self.held = threading.Lock()
            self.ended = threading.Event()
            self.inside = threading.local()

        def __enter__(self):
            if threading.current_thread().name != "warmset-llm" and started.is_set():
                begin.set()
                assert self.ended.wait(10)
            self.held.acquire()

        def __exit__(self, *_):
            self.held.release()
            if threading.current_thread().name == "warmset-llm":
                self.ended.set()

    started, begin = threading.Event(), threading.Event()

    def call():
        started.set()
        assert begin.wait(10)
        return "in time after all"

    deadline._lock = Late()
    assert deadline.run(call, seconds=SHORT) == "in time after all"


def test_a_time_out_of_the_clients_own_is_not_the_deadline():
    async def fails():
        raise TimeoutError("the client's own")

    with pytest.raises(TimeoutError, match="own"):
        Deadline(60.0).run(fails)

    async def waits():
        await asyncio.sleep(60)

    with pytest.raises(OutOfTimeError):
        Deadline(SHORT).run(waits)
    for thread in threading.enumerate():
        if thread.name == "warmset-llm":
            thread.join(10)
            assert not thread.is_alive()  # it was cancelled


class Model:
    """Answers as it is given, and notes how long it may take."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self.closed = 0

    def ask(self, prompt, *, timeout=None):
        self.asked.append((prompt.text, timeout))
        if callable(self.answer):
            return self.answer()
        return self.answer

    def close(self):
        self.closed += 1


TERMS = Terms(failure=PickerError, timeout=30.0)
PROMPT = Prompt("Choose.", "one two three")


def test_nothing_is_asked_without_time_for_it():
    model = Model("x")
    for seconds in (0, 0.0, -1.0):
        with pytest.raises(PickerError, match="did not answer"):
            Asker(model, TERMS).ask(PROMPT, seconds=seconds)
    assert model.asked == []
    Asker(model, TERMS).ask(PROMPT, seconds=5.0)
    Asker(model, TERMS).ask(PROMPT)
    assert [timeout for _, timeout in model.asked] == [5.0, 30.0]


def test_what_a_model_reports_stands_and_what_it_does_not_is_estimated():
    answer = Asker(Model(Reply("text", Usage(7, 3), "cut")), TERMS).ask(PROMPT)
    assert (answer.text, answer.usage, answer.fault) == ("text", Usage(7, 3), "cut")
    answer = Asker(Model(Reply("text")), TERMS).ask(PROMPT)
    assert answer.usage.estimated
    assert answer.usage.input > answer.usage.output > 0
    answer = Asker(FunctionModel(lambda text: text.upper()), TERMS).ask(PROMPT)
    assert answer.text == PROMPT.text.upper()


def test_a_call_that_is_given_up_is_charged():
    until = threading.Event()
    with pytest.raises(PickerError) as caught:
        Asker(Model(until.wait), TERMS).ask(PROMPT, seconds=SHORT)
    until.set()
    assert caught.value.usage.estimated
    assert caught.value.usage.input > 0


def test_nonsense_is_the_providers_and_a_crash_the_clients():
    for error, why in (
        (ModelError("it sent nonsense"), "it sent nonsense"),
        (OSError(), "OSError"),
    ):

        def fails(error=error):
            raise error

        with pytest.raises(PickerError) as caught:
            Asker(Model(fails), TERMS).ask(PROMPT)
        assert ("client failed" in str(caught.value)) == isinstance(error, OSError)
        assert why in str(caught.value)


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ((3, 2, None), Usage(3, 2)),
        ((3, 2, 4), Usage(7, 2)),
        ((3, 2, -4), Usage(3, 2)),
        ((-3, 2, 4), None),
        ((3, -2, 4), None),
        ((3, None, 4), None),
        ((True, 2, 4), None),
    ],
)
def test_a_usage_is_read_only_where_it_is_one(counts, usage):
    reported = SimpleNamespace(**dict(zip(("came", "went", "more"), counts, strict=True)))
    assert usage_of(reported, "came", "more", output="went") == usage
