"""What is wrong with an argument, a vector, a message or a budget."""

from __future__ import annotations

from warmset.errors.base import WarmsetError


class InvalidInputError(WarmsetError, ValueError):
    """An argument is outside of its range; the message says which and what would be right."""


class DimensionError(InvalidInputError):
    """A vector has another dimension than the index.

    Args:
        expected: The index's dimension.
        found: The dimension that was given.
    """

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"expected vectors of dimension {self.expected}, found {self.found}"


class NotFiniteError(InvalidInputError):
    """A vector or a message holds a NaN or an infinity.

    Attributes:
        index: Position of the message in the list that was given; None for a vector.
    """

    index: int | None = None


class ZeroNormError(InvalidInputError):
    """A vector of length zero has no direction, so it has no cosine."""


class DuplicateIdError(InvalidInputError):
    """The id is in the index already, or twice in one batch."""


class UnknownIdError(InvalidInputError, LookupError):
    """The index has no such id."""


class InvalidMessageError(InvalidInputError):
    """A message cannot be stored or sent.

    Args:
        index: Position of the message in the list that was given.
        why: What is wrong with it and how to mend it.
    """

    def __init__(self, index: int, why: str) -> None:
        super().__init__(index, why)
        self.index = index
        self.why = why

    def __str__(self) -> str:
        return f"message {self.index}: {self.why}"


class UnknownDialectError(InvalidInputError):
    """The messages are of no dialect that warmset knows, or the name is not one of them."""


class ConversionError(InvalidInputError):
    """A message cannot be said in the other dialect without losing something."""


class SpecError(InvalidInputError):
    """The specification of a task is wrong.

    Args:
        path: The place in its document as a JSON path, as in `$.required_memory[2].type`.
        problem: What is wrong there and what would be right.
        file: The name of the file; None if it was not read from one.
    """

    def __init__(self, path: str, problem: str, file: str | None = None) -> None:
        super().__init__(path, problem, file)
        self.path = path
        self.problem = problem
        self.file = file

    def __str__(self) -> str:
        place = self.path if self.file is None else f"{self.file}: {self.path}"
        return f"{place}: {self.problem}"


class BudgetTooSmall(WarmsetError):  # noqa: N818 - the name is part of the published contract
    """What is protected does not fit.

    Args:
        need: Tokens that the protected part takes.
        have: Tokens that the budget has.
    """

    def __init__(self, need: int, have: int) -> None:
        super().__init__(need, have)
        self.need = need
        self.have = have

    def __str__(self) -> str:
        return (
            f"what must stay needs {self.need} tokens, the budget has {self.have}; "
            "raise the budget or protect less"
        )


class CountError(WarmsetError):
    """A counter that was given raised, or returned what is no number of tokens."""
