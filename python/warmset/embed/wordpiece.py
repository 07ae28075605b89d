"""The model's vocabulary: texts become word pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset._extras import extra
from warmset.embed.base import readable
from warmset.embed.passages import Word

if TYPE_CHECKING:
    from pathlib import Path

MAX_PIECES: Final = 256
"""What the model was made for, its first and last piece included."""

REACH: Final = 1 << 15
"""Characters of a text that are looked at to find its first 256 pieces."""


class WordPieces:
    """Reads texts as the model was taught to; safe to use from several threads.

    The file asks for padding and a cut at 128 pieces; both are switched off, as the model was
    trained with 128 and is published for 256.

    Args:
        path: A tokenizer.json.

    Raises:
        MissingExtraError: The package tokenizers is not installed.
    """

    def __init__(self, path: Path) -> None:
        with extra("local"):
            from tokenizers import Tokenizer  # noqa: PLC0415 - heavy, and optional

        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def ids(self, text: str) -> list[int]:
        """Give 2 to 256 ids: a beginning, the text's first pieces, an end."""
        found = self._tokenizer.encode(readable(text.strip()[:REACH])).ids
        return found if len(found) <= MAX_PIECES else [*found[: MAX_PIECES - 1], found[-1]]

    def known(self, text: str, most: int, unknown: str) -> list[int]:
        """Give the ids of the first pieces that the vocabulary has, without beginning and end.

        Args:
            text: Any text.
            most: How many at most.
            unknown: The piece that stands for what the vocabulary has not.
        """
        found = self._tokenizer.encode(readable(text[:REACH]), add_special_tokens=False).ids
        gap = self._tokenizer.token_to_id(unknown)
        return [id_ for id_ in found if id_ != gap][:most]

    def count(self, text: str) -> int:
        """Count the pieces of a text that UTF-8 can carry, as `words` costs them."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def words(self, text: str) -> list[Word]:
        """Find words, each with the number of its pieces.

        Args:
            text: A text that UTF-8 can carry.
        """
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        words: list[Word] = []
        last = None
        for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
            if word == last:
                words[-1] = Word(words[-1].start, end, words[-1].cost + 1)
            else:
                words.append(Word(start, end, 1))
            last = word
        return words
