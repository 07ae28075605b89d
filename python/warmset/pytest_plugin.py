"""Fixtures for tests of trimmers and agents, which pytest loads where warmset is installed.

A run that uses none of them imports nothing of warmset but this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.testing import Evictor, Invariant, RequestLike
    from warmset.tokens import Counter, CountFunction


class CheckTrimmer(Protocol):
    """What the fixture `check_trimmer` gives."""

    def __call__(
        self,
        trimmer: Evictor,
        dialect: str = "openai",
        *,
        examples: int | None = None,
        seed: int | None = None,
        counter: str | CountFunction | Counter | None = None,
        orphans: bool = False,
        invariants: Sequence[Invariant] | None = None,
        refusals: bool = True,
    ) -> None:
        """Test a function that shortens lists on generated conversations.

        Args:
            trimmer: Takes messages and a budget in tokens; see `warmset.testing.check_evictor` for
                it and for the other arguments.
            dialect: The dialect of the conversations.
            examples: The number of conversations; that of ``--trimmer-examples`` if not given.
            seed: The seed of the first one; that of ``--trimmer-seed`` if not given.
            counter: Counts the tokens.
            orphans: Whether lists that providers reject are tried as well.
            invariants: The invariants to check; all if not given.
            refusals: Whether to check that each refusal was justified.
        """
        ...


class CheckAppendOnly(Protocol):
    """What the fixture `check_append_only` gives."""

    def __call__(
        self,
        requests: Iterable[RequestLike],
        *,
        dialect: str | None = None,
        model: str = "",
        allow: int = 0,
    ) -> None:
        """Test that the requests of one conversation only append, as prompt caches need it.

        Args:
            requests: In the order in which they were sent; see `warmset.testing.check_prefix` for
                them and for the other arguments.
            dialect: The dialect of the lists; detected if not given.
            model: The model whose prices and rules hold.
            allow: How many requests may change what stood before.
        """
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixtures."""
    group = parser.getgroup("warmset", "tests of functions that shorten lists of messages")
    group.addoption(
        "--trimmer-examples",
        type=int,
        default=100,
        metavar="N",
        help="conversations that check_trimmer tries (default: 100)",
    )
    group.addoption(
        "--trimmer-seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the first conversation that check_trimmer tries (default: 0)",
    )


@pytest.fixture(scope="session")
def check_trimmer(pytestconfig: pytest.Config) -> CheckTrimmer:
    """Test a function that shortens lists; the test fails with the smallest list for each fault."""
    usual = {
        name: cast("int", pytestconfig.getoption(f"trimmer_{name}"))
        for name in ("examples", "seed")
    }

    def check(
        trimmer: Evictor,
        dialect: str = "openai",
        *,
        examples: int | None = None,
        seed: int | None = None,
        invariants: Sequence[Invariant] | None = None,
        **options: Any,
    ) -> None:
        from warmset.testing import INVARIANTS, EvictorError, check_evictor  # noqa: PLC0415

        try:
            check_evictor(
                trimmer,
                dialect,
                examples=usual["examples"] if examples is None else examples,
                seed=usual["seed"] if seed is None else seed,
                invariants=INVARIANTS if invariants is None else invariants,
                **options,
            )
        except EvictorError as error:
            names = ", ".join(one.invariant for one in error.failures)
            found = f"{len(error.failures)} invariants do not hold in {dialect}: {names}"
            pytest.fail(f"{found}\n\n{error}", pytrace=False)

    return check


@pytest.fixture(scope="session")
def check_append_only() -> CheckAppendOnly:
    """Test that requests only append; the test fails with the first changes and what they cost."""

    def check(requests: Iterable[RequestLike], **options: Any) -> None:
        from warmset.testing import PrefixError, assert_append_only  # noqa: PLC0415

        try:
            assert_append_only(requests, **options)
        except PrefixError as error:
            pytest.fail(str(error), pytrace=False)

    return check
