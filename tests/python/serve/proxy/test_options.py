"""What a proxy may be told."""

from __future__ import annotations

import pytest

from warmset.errors import InvalidInputError
from warmset.options import MODES
from warmset.serve.proxy.options import ProxyOptions, mode_of


@pytest.mark.parametrize(
    ("name", "least", "less"),
    [
        ("budget", 1, 0),
        ("patience", 1e-9, 0.0),
        ("patience", 1, -1),
        ("patience", 1, float("nan")),
        ("timeout", 1e-9, 0),
        ("connections", 1, 0),
    ],
)
def test_numbers_have_a_least(name, least, less):
    assert getattr(ProxyOptions(**{name: least}), name) == least
    with pytest.raises(InvalidInputError, match=name):
        ProxyOptions(**{name: less})


def test_a_mode_is_one_of_those_that_there_are():
    assert [mode_of(one) for one in MODES] == list(MODES)
    for other in ("", "Auto", "fast"):
        with pytest.raises(InvalidInputError, match="mode: expected one of"):
            ProxyOptions(mode=other)


@pytest.mark.parametrize("private", [("models.local",), ("models.local:80", "[::1]")])
def test_hosts_that_are_listed_have_a_port(private):
    with pytest.raises(InvalidInputError, match="private"):
        ProxyOptions(private=private)
