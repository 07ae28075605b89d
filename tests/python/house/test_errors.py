"""One family of exceptions: each pickles, and each says what it is about."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from warmset import errors
from warmset.errors import WarmsetError

CLASSES = sorted(
    (one for one in vars(errors).values() if isinstance(one, type)), key=lambda one: one.__name__
)
VALUES = {"expected": 3, "found": 4, "index": 2, "need": 9, "have": 5, "size": 8, "limit": 7}
BUILT_IN = {
    "InvalidInputError": ValueError,
    "UnknownIdError": LookupError,
    "StoreIOError": OSError,
    "TooLarge": ValueError,
    "NotFound": LookupError,
    "MissingExtraError": ImportError,
}


def made(one):
    """An exception of a class, with the fields that its constructor names."""
    own = "__init__" in vars(one)
    names = [name for name in inspect.signature(one.__init__).parameters if name != "self"]
    fields = {name: VALUES.get(name, f"the {name}") for name in names} if own else {}
    return one(*fields.values()) if own else one("what to do"), fields


def test_there_is_one_base_class():
    assert len(CLASSES) > 25
    assert [one for one in CLASSES if not issubclass(one, WarmsetError)] == []
    for name, base in BUILT_IN.items():
        assert issubclass(getattr(errors, name), base)


@pytest.mark.parametrize("one", CLASSES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_pickle(one, protocol):
    error, fields = made(one)
    for again in (
        pickle.loads(pickle.dumps(error, protocol)),  # noqa: S301 - our own bytes
        copy.copy(error),
        copy.deepcopy(error),
    ):
        assert type(again) is one
        assert str(again) == str(error)
        assert again.args == error.args
        assert {name: getattr(again, name) for name in fields} == fields


@pytest.mark.parametrize("one", CLASSES)
def test_errors_say_what_they_know(one):
    error, fields = made(one)
    assert all(str(value) in str(error) for value in fields.values())
    assert str(error)
    assert one.__doc__


def test_an_operating_system_s_error_keeps_its_number():
    error = errors.StoreIOError(28, "append: no room", "/store")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (again.errno, again.filename, str(again)) == (28, "/store", str(error))
    assert type(again) is errors.StoreIOError
