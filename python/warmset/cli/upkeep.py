"""``warmset doctor | verify | erase | export``: maintain a store."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter
from rich.console import Console

from warmset._support.files import destination
from warmset.cli.show_health import show_failures, show_health, show_verified
from warmset.embed.bars import Bars
from warmset.errors import InvalidInputError, NotFound
from warmset.index.file_lock import erasing
from warmset.maintenance import (
    Access,
    erase_conversation,
    examine,
    export as write_export,
    open_store,
    scope_of,
    undecipherable,
)
from warmset.maintenance.doctor import plain
from warmset.serve.hooks import failures
from warmset.serve.hooks.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warmset.receipts import ErasureResult, RewriteResult

_READ: Final = "read the store"
_Json = Annotated[bool, Parameter(name="--json", negative="")]
_Yes = Annotated[bool, Parameter(negative="")]


def doctor(path: Path, /, *, key_file: Path | None = None, as_json: _Json = False) -> int:
    """Show the contents of a store and whether anything is wrong; nothing is changed.

    The exit code is 1 if anything is wrong. What failed in hooks of the store is shown, too; it
    does not count as wrong in the store.

    Args:
        path: The store's directory.
        key_file: A file with the store's master key, if it has one.
        as_json: Print one JSON object.
    """
    with bar(_READ) as progress:
        health = examine(Access(path=path, key_file=key_file), progress)
    failed = failures.read(Places(str(path)).failures)
    if as_json:
        told = [one._asdict() for one in failed]
        print(json.dumps({**health.as_json(), "hook_failures": told}, indent=1))
    else:
        show_health(health, _out())
        show_failures(failed, _out())
    return int(not health.is_healthy)


def verify(path: Path, /, *, key_file: Path | None = None, as_json: _Json = False) -> int:
    """Read and check every byte of a store; nothing is changed.

    The exit code is 1 if anything is damaged or could not be decrypted.

    Args:
        path: The store's directory.
        key_file: A file with the store's master key, if it has one.
        as_json: Print one JSON object.
    """
    access = Access(path=path, key_file=key_file)
    with bar(_READ) as progress, open_store(access, mode="read") as store:
        report = store.verify(progress)
        locked = undecipherable(store)
    damages = [plain(damage) for damage in report["damages"]]
    if as_json:
        print(json.dumps({**report, "locked": locked, "damages": damages}, indent=1))
    else:
        show_verified(report, locked, damages, _out())
    return int(bool(damages or locked))


def erase(
    path: Path,
    /,
    *,
    conversation: str,
    tenant: str = "default",
    compact: bool = True,
    yes: _Yes = False,
    key_file: Path | None = None,
    as_json: _Json = False,
) -> int:
    """Erase a conversation, everything derived from it, and copies of its messages.

    Copies are messages that a compaction stored outside of the conversation. The side chains of a
    session that was imported go with it.

    Args:
        path: The store's directory.
        conversation: Its name.
        tenant: Its tenant.
        compact: Rewrite the files, so that no byte of it is left.
        yes: Do not ask.
        key_file: A file with the store's master key, if it has one.
        as_json: Print one JSON object; needs --yes.
    """
    if as_json and not yes:
        raise InvalidInputError("--json asks no question; give --yes as well")
    scope_of(tenant, conversation)  # the names are checked before anything is asked
    with open_store(Access(path=path, key_file=key_file), mode="shared") as store:
        pending = store.erasure_report()["pending"]
        if not yes and not _agreed(f"erase conversation {conversation!r} of {tenant!r} for good?"):
            print("nothing was erased")
            return 1
        with erasing(path):
            gone = erase_conversation(store, tenant, conversation)
        if not gone.records and not pending:
            raise NotFound(f"tenant {tenant!r} has no conversation {conversation!r}")
        done = store.compact() if compact else None
    if as_json:
        print(json.dumps(_erased(gone, done), indent=1))
        return 0
    print(f"erased {gone.records:,} records, {gone.derived:,} made from them, {gone.keys} keys")
    if done is not None:
        print(f"wrote {done.segments} files anew, {done.bytes:,} bytes given back")
    else:
        print("their bytes are still in the files; erase again with --compact to remove them")
    return 0


def _erased(gone: ErasureResult, done: RewriteResult | None) -> dict[str, Any]:
    made = {"records": gone.records, "derived": gone.derived, "keys": gone.keys}
    return {
        **made,
        "compacted": done is not None,
        "files": 0 if done is None else done.segments,
        "bytes": 0 if done is None else done.bytes,
    }


def export(
    path: Path,
    /,
    *,
    conversation: str | None = None,
    tenant: str | None = None,
    out: Path | None = None,
    key_file: Path | None = None,
    as_json: _Json = False,
) -> int:
    """Write records as JSON lines, for ``warmset import`` or for the person concerned.

    Vectors are left out: they are computed again from the messages.

    Args:
        path: The store's directory.
        conversation: Only this conversation, of the tenant "default" if none is named.
        tenant: Only this tenant.
        out: The file to write; standard output if not given.
        key_file: A file with the store's master key, if it has one.
        as_json: Print what was written as one JSON object; needs --out.
    """
    if as_json and out is None:
        raise InvalidInputError("--json describes the export; name its file with --out")
    whole = conversation is None and tenant is None
    prefix = [] if whole else scope_of(tenant or "default", conversation)
    access = Access(path=path, key_file=key_file)
    with bar(_READ) as progress, open_store(access, mode="read") as store, _sink(out) as file:
        made = write_export(store, file, prefix=prefix, progress=progress)
        if not whole and not made.records + made.vectors + made.unknown:
            what = f"tenant {tenant or 'default'!r} has no "
            what += "records" if conversation is None else f"conversation {conversation!r}"
            raise NotFound(f"{what} that can be read; nothing was written")
    if as_json:
        print(json.dumps({"out": str(out), **asdict(made)}, indent=1))
        return int(bool(made.damages))
    for count, what in (
        (made.records, "records written"),
        (made.vectors, "records of vectors left out"),
        (made.unknown, "records of a newer version left out"),
        (made.damages, "damaged places left out; see warmset doctor"),
    ):
        if count or what == "records written":
            print(f"{count:,} {what}", file=sys.stderr)
    return int(bool(made.damages))


@contextmanager
def bar(stage: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far a stage has come, where somebody watches."""
    with Bars(Console(stderr=True)) as bars:
        yield lambda done, total: bars(stage, done, total)


@contextmanager
def _sink(out: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that only its owner can read and that appears once complete."""
    if out is None and sys.stdout is None:
        raise InvalidInputError("there is no standard output; name a file with --out")
    if out is None:
        yield sys.stdout
        return
    out, replaceable = destination(out)
    if not replaceable:
        with _named(out), out.open("w") as file:
            yield file
        return
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    with _named(out):
        file = os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")
    try:
        with file:
            yield file
        with _named(out):
            beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _named(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInputError(f"{out}: {error.strerror or error}; give another file") from error


def _agreed(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().casefold() in {"y", "yes"}
    except EOFError:
        return False


def _out() -> Console:
    return Console(file=sys.stdout, highlight=False, emoji=False, markup=False, soft_wrap=True)
