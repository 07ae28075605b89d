"""What `warmset lint` takes a file for: one request, several, or the messages of one list."""

from __future__ import annotations

import json

import pytest

from warmset.cli.request_files import read_files
from warmset.errors import InvalidInputError

SAID = {"role": "user", "content": "Hello."}
ITEM = {"type": "function_call_output", "call_id": "c", "output": "x", "input": "y"}
ONE = {"model": "m", "messages": [SAID]}
TWO = {"model": "m", "input": [SAID, ITEM]}
FAR = {"contents": [{"role": "user", "parts": [{"text": "Hello."}]}]}


def lines(*values):
    return "\n".join(json.dumps(one) for one in values)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (json.dumps(ONE), [ONE]),
        (json.dumps(ONE, indent=2), [ONE]),
        (json.dumps([ONE, TWO]), [ONE, TWO]),
        (json.dumps([[SAID], [SAID, SAID]]), [[SAID], [SAID, SAID]]),
        (json.dumps([SAID, SAID]), [[SAID, SAID]]),
        (json.dumps([SAID, ITEM], indent=1), [[SAID, ITEM]]),
        (json.dumps([SAID, ONE]), [[SAID, ONE]]),
        (json.dumps([]), []),
        (lines(ONE, TWO, FAR), [ONE, TWO, FAR]),
        (lines([SAID], [SAID, SAID]), [[SAID], [SAID, SAID]]),
        (lines(SAID, SAID), [[SAID, SAID]]),
        (lines(SAID, ITEM), [[SAID, ITEM]]),
        (f"\n{lines(ONE)}\n\n{lines(TWO)}\n", [ONE, TWO]),
        (lines(SAID), None),
        (lines(ONE, SAID), None),
        (lines(ONE, 7), None),
        ("7", None),
    ],
)
def test_a_file_is_read_as_what_it_has(tmp_path, text, found):
    file = tmp_path / "a.json"
    for data in (text.encode(), b"\xef\xbb\xbf" + text.encode()):
        file.write_bytes(data)
        if found is None:
            with pytest.raises(InvalidInputError, match=r"a\.json.*found no request"):
                read_files([file])
        else:
            assert read_files([file]) == found
            assert read_files([file, file]) == found * 2


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (lines(ONE).encode() + b"\n\n{]\n", "line 3"),
        (lines(ONE, TWO).encode() + b"\n{\n", "line 3"),
        (b"ab\xff", "byte 2"),
        (b"\xef\xbb\xbf\xff", "byte 0"),
        (b"", "empty"),
        (b" \n\t\n", "empty"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(tmp_path, data, place):
    file = tmp_path / "a.json"
    file.write_bytes(data)
    with pytest.raises(InvalidInputError, match=place) as caught:
        read_files([file])
    assert "a.json" in str(caught.value)
