"""The resident helper: has the store open, answers hooks over a local socket, and does their jobs.

There is one for a store: it holds a lock while it lives, and who finds the lock taken ends. The
socket is for its owner alone, takes the place of a leftover, and is there once the store is open.
The helper ends when nobody asked for a while, when its folder is gone, or when warmset was replaced
by another version.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import EmbedderMismatch, InvalidInputError
from warmset.memory import Memory
from warmset.messages import text_of
from warmset.serve.hooks import answers, config, entry, files, jobs
from warmset.serve.hooks.failures import note, words_of
from warmset.serve.hooks.places import Places
from warmset.serve.hooks.recalled import Recalled, has_enough, passage, terms_of
from warmset.serve.hooks.work import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.retrieve.hits import Hit

PING: Final = "ping"
"""The host of a question whether the helper lives."""

_NAME: Final = "helper.sock"
_TICK: Final = 0.5
_AUDIT: Final = 1.0
"""Seconds that SessionStart waits for what the summary lost; the next prompt gets it otherwise."""

_PATIENCE: Final = 5.0
_AT_ONCE: Final = 8
_CANDIDATES: Final = 24
_LIKE: Final = 0.5
"""The cosine from which a turn counts as about the same as the prompt, without a common word."""

_MOST: Final = 17_000_000
_IDLE_WORK: Final = 30.0
"""Seconds after which the worker looks at the queue by itself."""


def run(memory: str) -> bool:
    """Help until nobody asks any more.

    Args:
        memory: The store's directory.

    Returns:
        Whether it helped: another helper may live already.
    """
    places = Places(memory)
    try:
        number = os.open(places.helper_lock, os.O_RDWR | os.O_CREAT | files.NO_LINKS, files.MODE)
    except OSError:
        return False
    try:
        if not files.try_lock(number):
            return False
        _help(places)
    except Exception as error:  # noqa: BLE001 - nobody is there to see it
        note(places.failures, "helper", "helper", words_of(error))
    finally:
        os.close(number)
    return True


def _help(places: Places) -> None:
    told = config.read(places.config)
    with _opened(places, told.embedder or "lexical") as memory:
        helper = Helper(places, memory, told)
        helper.serve()


def _opened(places: Places, embedder: str) -> Memory:
    """Open the store; by words alone, where its vectors are not those of the embedder."""
    if embedder != "lexical":
        made = Memory.open(places.memory, embedder=embedder)
        try:
            made.search("warmset", k=1)
        except EmbedderMismatch as error:
            note(places.failures, "helper", "helper", words_of(error))
            made.close()
        else:
            return made
    return Memory.open(places.memory, embedder="lexical")


class Helper:
    """Answers hooks, and does their jobs, for one store.

    Args:
        places: The paths of its hooks.
        memory: The open store.
        told: What the hooks were told.
    """

    def __init__(self, places: Places, memory: Memory, told: config.Config) -> None:
        self._places = places
        self._memory = memory
        self._told = told
        self._worker = Worker(places, memory)
        self._asked = time.monotonic()
        self._wake = threading.Event()
        self._over = threading.Event()
        self._room = threading.Semaphore(_AT_ONCE)
        self._version = _version()

    def serve(self) -> None:
        """Answer until nobody asked for a while.

        Raises:
            OSError: Nobody can listen there.
        """
        worker = threading.Thread(target=self._work, name="warmset-hooks", daemon=True)
        worker.start()
        with self._listening() as bound:
            bound.settimeout(_TICK)
            while not self._is_over():
                with suppress(TimeoutError):
                    self._accept(bound)
            with suppress(OSError):
                os.unlink(self._places.socket)
            bound.settimeout(0.0)
            with suppress(OSError):  # who had connected by then is answered
                while True:
                    self._accept(bound)
        self._over.set()
        self._wake.set()
        worker.join(_PATIENCE)
        for _ in range(_AT_ONCE):
            self._room.acquire(timeout=_PATIENCE)

    def ask(self, host: str, event: str, raw: bytes, *, wrapped: bool) -> str:
        """Answer one event; see `answers.answer`."""
        desk = answers.Desk(
            self._places,
            host,
            self.recall,
            self._enqueue,
            partial(self._audited, host),
            self._told.context_tokens,
            wrapped,
        )
        return answers.answer(desk, event, raw)

    def recall(
        self, query: str, /, *, skip: frozenset[str], without: str | None, most: int
    ) -> Sequence[Recalled]:
        """Return what answers a query; see `Recalls`."""
        terms = terms_of(query)
        if not terms:
            return []
        found: list[Recalled] = []
        for item in self._memory.memories(query=query, k=most):
            if item.memory_id in skip or not has_enough(item.text, terms):
                continue
            at, origin = item.timestamp.timestamp(), item.origin or "origin not known"
            found.append(Recalled(item.memory_id, origin, at, passage(item.text, terms)))
        for hit in self._memory.search(query, k=_CANDIDATES + len(skip)):
            if len(found) >= most:
                break
            if f"#{hit.id}" in skip or hit.conversation == without:
                continue
            text = self._text(hit)
            if has_enough(text, terms) or hit.terms.get("dense", 0.0) >= _LIKE:
                said = passage(text, terms)
                found.append(Recalled(f"#{hit.id}", hit.role, hit.at.timestamp(), said))
        return found[:most]

    def _text(self, hit: Hit) -> str:
        one = self._memory.conversation(hit.conversation)
        return text_of(one.fetch(hit.id), one.dialect or "openai")

    def _enqueue(self, kind: str, fields: dict[str, Any]) -> None:
        jobs.put(self._places.queue, kind, fields)  # the worker begins when the answer is sent

    def _audited(self, host: str, name: str) -> None:
        """Wait a moment for the audits of a session that wait."""
        end = time.monotonic() + _AUDIT
        while time.monotonic() < end and any(
            job.kind == "audit"
            and (job.fields.get("host"), job.fields.get("session")) == (host, name)
            for job in self._waiting()
        ):
            time.sleep(_AUDIT / 100)

    def _listening(self) -> socket.socket:
        """Return a socket in the place of whatever is there."""
        os.chdir(self._places.hooks)  # the path of a socket has no more than 107 bytes
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        beside = f"{_NAME}.{os.getpid()}"
        try:
            with suppress(FileNotFoundError):
                os.unlink(beside)
            before = os.umask(0o177)
            try:
                made.bind(beside)
            finally:
                os.umask(before)
            made.listen(64)
            os.replace(beside, _NAME)
        except BaseException:
            made.close()
            raise
        return made

    def _is_over(self) -> bool:
        if self._version != _version() or not os.path.exists(self._places.socket):
            return True
        return time.monotonic() - self._asked > self._told.idle

    def _accept(self, bound: socket.socket) -> None:
        made, _ = bound.accept()
        self._room.acquire()
        self._asked = time.monotonic()
        threading.Thread(target=self._answer, args=(made,), daemon=True).start()

    def _answer(self, made: socket.socket) -> None:
        host = event = ""
        try:
            with made:
                made.settimeout(_PATIENCE)
                if not _is_ours(made):
                    return
                parts = _received(made).split(b"\n", 3)
                if len(parts) != 4:  # noqa: PLR2004 - three lines, and the host's input
                    return
                host, event = parts[0].decode(), parts[1].decode()
                out = self._told_to(host, event, parts[3], wrapped=parts[2] == b"1")
                made.sendall(entry.ANSWERED + out.encode("utf-8", "replace"))
        except Exception as error:  # noqa: BLE001 - the hook then answers by itself
            note(self._places.failures, host or "helper", event or "helper", words_of(error))
        finally:
            self._room.release()
            self._wake.set()

    def _told_to(self, host: str, event: str, raw: bytes, *, wrapped: bool) -> str:
        if host == PING:
            return str(os.getpid())
        try:
            return self.ask(host, event, raw, wrapped=wrapped)
        except answers.BadInputError as error:  # the hook could do no better
            note(self._places.failures, host, event, words_of(error))
            return ""

    def _work(self) -> None:
        """Do the jobs that wait, until the helper ends."""
        self._try("words", self._worker.refresh)
        while not self._over.is_set():
            self._wake.clear()
            waiting = self._waiting()
            again = bool(waiting) and self._do(waiting)
            if not again:
                self._wake.wait(_IDLE_WORK)

    def _waiting(self) -> list[jobs.Job]:
        try:
            return jobs.waiting(self._places.queue)
        except OSError as error:
            note(self._places.failures, "helper", "queue", words_of(error))
            return []

    def _do(self, waiting: list[jobs.Job]) -> bool:
        """Do jobs, those that say the same once; return whether all of them are done."""
        seen: set[str] = set()
        done: list[jobs.Job] = []
        whole = True
        for job in sorted(waiting, key=lambda one: one.kind != "audit"):  # somebody may wait
            if self._over.is_set():
                break
            said = f"{job.kind} {sorted(job.fields.items())}"
            self._asked = time.monotonic()
            if said not in seen and not self._try(job.kind, partial(self._worker.do, job)):
                whole = False
                self._try("queue", partial(jobs.failed, job))
                continue
            seen.add(said)
            if job.kind == "audit":
                self._try("queue", partial(jobs.done, job))
            else:
                done.append(job)
        if done:
            self._try("words", self._worker.refresh)
        for job in done:  # what they stored can be found by now
            self._try("queue", partial(jobs.done, job))
        return whole and not self._over.is_set()

    def _try(self, what: str, do: Callable[[], object]) -> bool:
        try:
            do()
        except Exception as error:  # noqa: BLE001 - it is told, and tried again
            note(self._places.failures, "helper", what, words_of(error))
            return False
        return True


def ping(places: Places, wait: float = 1.0) -> int | None:
    """Return the process of the helper that lives; None if there is none."""
    said = entry.asked(PING, "", places.memory, b"", wait)
    return int(said) if said and said.isdigit() else None


def _received(made: socket.socket) -> bytes:
    parts: list[bytes] = []
    length = 0
    while part := made.recv(1 << 16):
        parts.append(part)
        length += len(part)
        if length > _MOST:
            raise InvalidInputError("a hook sent more than it can have read")
    return b"".join(parts)


def _is_ours(made: socket.socket) -> bool:
    """Return whether a process of the same user asks, where the system can tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    said = made.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
    return int(struct.unpack("3i", said)[1]) == os.getuid()


def _version() -> tuple[int, int] | None:
    """Return what tells the installed files from those of another version."""
    try:
        about = os.stat(entry.__file__)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_ino


__all__ = ["PING", "Helper", "ping", "run"]
