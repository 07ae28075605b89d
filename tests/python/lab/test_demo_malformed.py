"""A transcript that cannot be read is told with its file, the place in it, and what to do."""

from __future__ import annotations

import pytest

from warmset.errors import InvalidInputError
from warmset.lab.demo import transcripts

GOOD = '{"role": "user", "content": "hi"}\n'


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty; give a transcript"),
        (b"\xef\xbb\xbf\r\n \n", "the file is empty"),
        (b"[]", "no message in it"),
        (b"hello", "line 1, column 1: Expecting value; expected JSON, or JSONL"),
        (b'{"messages": [\n{"role": "user", "content": "a"},\n]}', "line 3, column 1"),
        (GOOD + '{"role": "user", "content": \n', "line 2, column 28"),
        (GOOD[:20] + "\n" + GOOD, "line 1, column"),
        (GOOD + "[1]\n", "line 2: expected a JSON object, found a list"),
        (GOOD + "\n" + '{"content": "who?"}', "line 3: neither a message"),
        (GOOD + '{"role": "nobody", "content": "x"}', "line 2: the role 'nobody' is unknown"),
        (GOOD + '{"role": "user", "content": 7}', "line 2: content is a int"),
        (GOOD + '{"role": "user", "content": NaN}', "line 2: NaN is not JSON"),
        (GOOD.encode() + b'{"role": "user", "content": "\xff"}', "line 2: not UTF-8"),
        (GOOD.encode("utf-16"), "save it as UTF-8"),
        (b'[{"role": "user", "content": "\xff"}]', "line 1: not UTF-8"),
        (b'[\n{"role": "user", "content": "\xff"}]', "byte 31 is not UTF-8"),
        (b'[{"role": "user", "content": "a"}, 3]', "message 2: expected a JSON object"),
        (b'{"answer": 42}', "line 1: neither a message"),
        (b'{\n"answer": 42}', 'an object with a list named "messages"'),
        (b'{"messages": {}}', 'an object with a list named "messages"'),
        (b"[" * 100_000, "recursion"),
        ('{"at": "noon", "message": ' + GOOD.strip() + "}", "line 1: at: Invalid isoformat"),
        ('{"speaker": 3, "message": ' + GOOD.strip() + "}", "line 1: speaker must be a name"),
        ('{"message": "hi"}', "line 1, message: expected a JSON object, found a text"),
        ('{"type": "user", "uuid": "a", "message": []}', "line 1, message: expected a JSON object"),
        (
            '{"type": "user", "timestamp": "x", "message": ' + GOOD.strip() + "}",
            "line 1: timestamp",
        ),
        ('{"conversation": {"session_1": 3}}', "session_1: expected a list of turns"),
        ('{"conversation": {"session_1": [{"text": "a"}]}}', "turn 1: it has no speaker"),
        (
            '{"conversation": {"session_1": [], "session_1_date_time": "noon"}}',
            "session_1_date_time: expected a time like",
        ),
    ],
)
def test_what_is_malformed_is_told_with_file_and_place(tmp_path, content, told):
    path = tmp_path / "given.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInputError) as caught:
        transcripts.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)


def test_what_cannot_be_read_is_told(tmp_path):
    with pytest.raises(InvalidInputError, match="No such file"):
        transcripts.read(tmp_path / "none.json")
    with pytest.raises(InvalidInputError, match="Is a directory"):
        transcripts.read(tmp_path)
