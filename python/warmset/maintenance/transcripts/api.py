"""`import_transcripts`: files of other programs into a memory, or into a store's directory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.maintenance.access import Access, open_store
from warmset.maintenance.transcripts.run import Importing, check
from warmset.maintenance.transcripts.target import EngineTarget, StoreTarget
from warmset.memory import Memory
from warmset.store.records import key_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator

    from warmset.engine import Redactor
    from warmset.maintenance.transcripts.report import ImportReport
    from warmset.maintenance.transcripts.sources import Source
    from warmset.maintenance.transcripts.target import Target

_DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of an import; see `import_transcripts`.

    Args:
        source: Where the files come from.
        conversation: The name of the conversation of messages that name none.
        tenant: Whose the conversations are.
        key_file: A file with the store's master key.
        redactor: What every text passes through.
        dry_run: Whether nothing is stored.
        within: The directory, by its real path, outside of which no file is read.
        own_tenant: Whether exports with records of other tenants are refused.
    """

    source: Source | None = None
    conversation: str | None = None
    tenant: str | None = None
    key_file: str | PathLike[str] | None = None
    redactor: Redactor | None = None
    dry_run: bool = False
    within: Path | None = None
    own_tenant: bool = False


def import_transcripts(
    target: Memory | str | PathLike[str],
    sources: Iterable[str | PathLike[str]] | str | PathLike[str],
    *,
    source: Source | None = None,
    conversation: str | None = None,
    tenant: str | None = None,
    key_file: str | PathLike[str] | None = None,
    redactor: Redactor | None = None,
    dry_run: bool = False,
    progress: Callable[[int, int], object] | None = None,
    follow: threading.Event | None = None,
) -> ImportReport:
    """Import conversations that other programs keep in files.

    What was imported before is recognised by the source's own ids and not stored again, also after
    it was erased. Batches are stored whole or not at all, so that an import that was interrupted is
    finished by the next one. An export of warmset is the exception: the ids in it refer to each
    other, so a conversation of which a part was imported is refused with what to do about it.

    Args:
        target: An open memory, which finds the messages at once; or a store's directory, which is
            created if it does not exist. Vectors are made when a memory is opened on it.
        sources: Files and directories. Directories are searched for files that a source knows.
        source: Where the files come from; None to find out by their content.
        conversation: The name of the conversation of messages that name none; the file's name if
            not given.
        tenant: Whose the conversations are: the memory's tenant, or "default".
        key_file: A file with the store's master key, for a directory.
        redactor: What every text passes through, for a directory; see `maintenance.redactor`. A
            memory has its own.
        dry_run: Whether nothing is stored: the report says what would be.
        progress: Called with the bytes read so far and those of all files; not with `follow`.
        follow: An event: until it is set, what is written to the files is imported, too.

    Returns:
        What was imported.

    Raises:
        InvalidInputError: A file is not there or of no known source, an option has the wrong type,
            or a conversation of an export of warmset has other records in the store.
        RedactionError: The redaction hook failed; what came before was stored.
        Locked: Another process kept the store's lock for too long.
        StoreError: Something could not be stored; what came before was.
    """
    options = Options(
        source=source,
        conversation=conversation,
        tenant=tenant,
        key_file=key_file,
        redactor=redactor,
        dry_run=dry_run,
    )
    with begun(target, sources, options) as work:
        return work.run(progress) if follow is None else work.follow(follow)


@contextmanager
def begun(
    target: Memory | str | PathLike[str],
    sources: Iterable[str | PathLike[str]] | str | PathLike[str],
    options: Options,
) -> Iterator[Importing]:
    """Yield an import that can be run, while its store is open; see `import_transcripts`."""
    listed = [sources] if isinstance(sources, (str, PathLike)) else [*sources]
    if not listed:
        raise InvalidInputError("sources: expected at least one file or directory")
    if not all(fspath(one) for one in listed):  # a path of it is the working directory
        raise InvalidInputError("sources: a name is empty")
    paths = [Path(one) for one in listed]
    own = (options.tenant, options.key_file, options.redactor)
    if isinstance(target, Memory) and own != (None, None, None):
        raise InvalidInputError("tenant, key_file, redactor: a memory has its own")
    tenant = target.tenant if isinstance(target, Memory) else options.tenant or _DEFAULT
    key_of(tenant, options.conversation or "any")
    check(paths, options.source, options.within)  # no store is made for what is not there
    with _opened(target, options) as place:
        through = options.redactor
        if isinstance(target, Memory):
            through = target.__warmset_redactor__()
        yield Importing(
            place,
            paths,
            tenant=tenant,
            kind=options.source,
            name=options.conversation,
            through=through,
            dry=options.dry_run,
            within=options.within,
            own_tenant=options.own_tenant,
        )


@contextmanager
def _opened(target: Memory | str | PathLike[str], options: Options) -> Iterator[Target]:
    if isinstance(target, Memory):
        yield EngineTarget(target.__warmset_engine__())
        return
    path, key_file, dry = Path(target), options.key_file, options.dry_run
    if dry and not path.is_dir():
        yield StoreTarget(None)
        return
    access = Access(path=path, key_file=None if key_file is None else Path(key_file))
    with open_store(access, mode="read" if dry else "shared", make=not dry) as store:
        yield StoreTarget(store)
