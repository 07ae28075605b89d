"""What is done where a call ends in the middle: by Ctrl-C, or another signal whose handler raises.

Such an exception comes between any two calls of Python. What was written by then is written; what
is known of it in memory may be half of it, and is thrown away and made again.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def if_cut_off(then: Callable[[], object]) -> Iterator[None]:
    """Call something if the block raises anything.

    Args:
        then: What throws away what may be there in part.
    """
    try:
        yield
    except BaseException:
        then()
        raise
