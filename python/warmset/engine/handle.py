"""One tenant's handle on an open store, which every part of a memory uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import Closed

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.engine.leases import Lease
    from warmset.engine.redaction import Redactor
    from warmset.index.query_vectors import QueryVectors


class Handle:
    """A share in the engine of a path, seen by one tenant.

    Args:
        share: The share; it is given back by `close`.
        tenant: Whose conversations are seen.
        redactor: What every text passes through before it is stored or sent.
    """

    def __init__(self, share: Lease, tenant: str, redactor: Redactor) -> None:
        self._share = share
        self.tenant = tenant
        self.redactor = redactor
        self.closed = False

    @property
    def engine(self) -> Engine:
        """The store and its index; empty once the last handle was closed."""
        return self._share.engine

    @property
    def query_vectors(self) -> QueryVectors | None:
        """The cache of query vectors; None where the store is searched by words alone."""
        return self._share.vectors

    def live(self) -> Engine:
        """Read what other processes wrote meanwhile, and return the engine.

        Raises:
            Closed: The handle was closed.
            StoreError: The store could not be read.
        """
        if self.closed:
            raise Closed("the memory is closed; open it again")
        self.engine.follow()
        return self.engine

    def close(self, timeout: float) -> None:
        """Give the share back; closing twice does nothing.

        Args:
            timeout: Seconds that the last handle on a path gives the pending vectors.
        """
        self.closed = True
        self._share.release(timeout)  # which does nothing twice, and what a first try did not reach

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"{self.engine.store.path!s}, tenant={self.tenant!r}, {state}"
