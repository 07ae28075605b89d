"""What an agent runs at each event: asks the helper, or answers by itself; no agent fails by it.

It is run as a file, `python -I -S entry.py HOST EVENT MEMORY`, so that it starts as fast as the
interpreter does, and imports no more than it needs. Whatever happens, it ends with exit code 0
before its deadline; what went wrong is noted in `hooks/failures` of the store.
"""

from __future__ import annotations

import os
import sys
import time

DEADLINES = {
    "SessionStart": 5.0,
    "UserPromptSubmit": 3.0,
    "PreCompact": 8.0,
    "PostCompact": 10.0,
    "Stop": 3.0,
    "SessionEnd": 1.2,
}
"""Seconds that a hook takes at most. Claude Code gives all hooks of SessionEnd 1.5 s together."""

SLOTS, SIZE = 64, 512
"""How many failures are kept, and the bytes of each."""

ANSWERED = b"+"
"""What the helper's answer begins with; without it, the helper gave up on the way."""

WRAPPED = "WARMSET_WRAPPED"
"""Set for an agent whose turns the proxy keeps."""

_MOST = 16_000_000
_HELPER = 0.6
"""The share of the deadline that the helper has."""


def main() -> None:
    """Answer one event, and end the process."""
    host, event, memory = (sys.argv[1:] + [""] * 3)[:3]
    failures = os.path.join(memory, "hooks", "failures")
    done = False
    try:
        deadline = DEADLINES.get(event, 1.0)
        _watch(deadline, failures, host, event)
        raw = _read()
        out = asked(host, event, memory, raw, deadline * _HELPER)
        if out is None:
            out = _alone(host, event, memory, raw)
        done = True
        _write(out)
    except BaseException as error:  # noqa: BLE001 - an agent goes on without its memory
        what = f"{type(error).__name__}: {_system(error)}"
        if not note(failures, host, event, what) and not done:
            _tell(event, what)
    os._exit(0)


def note(path: str, host: str, event: str, what: str) -> bool:
    """Note a failure in a file of a fixed size, where the oldest one gives way.

    Args:
        path: The file.
        host: The agent's host.
        event: The hook's event, or what the helper did.
        what: What went wrong, without a word of a conversation.

    Returns:
        Whether it was noted. Whatever is wrong with the file is no error.
    """
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
    except (OSError, ValueError):
        return False
    try:
        _lock(number)
        found = os.read(number, SLOTS * SIZE)
        counts = [_count(found[at * SIZE : (at + 1) * SIZE]) for at in range(SLOTS)]
        place = counts.index(min(counts))
        line = (
            f'{{"n": {max(counts) + 1}, "at": {time.time():.3f}, "host": "{_plain(host, 40)}", '
            f'"event": "{_plain(event, 40)}", "what": "{_plain(what, 240)}"}}'
        )
        os.lseek(number, place * SIZE, os.SEEK_SET)
        return os.write(number, line.encode().ljust(SIZE - 1) + b"\n") == SIZE
    except OSError:
        return False
    finally:
        os.close(number)


def _lock(number: int) -> None:
    """Lock the file, for as long as others have it a fifth of a second at most."""
    try:
        import fcntl  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.002)
        else:
            return


def _count(slot: bytes) -> int:
    """Return the number of a slot's failure; 0 if it has none, or anything else stands there."""
    digits = slot[6 : slot.find(b",")] if slot.startswith(b'{"n": ') else b""
    return int(digits) if digits.isdigit() and len(digits) < 16 else 0  # noqa: PLR2004


def _plain(text: str, most: int) -> str:
    """Return a text as it may stand between quotes: printable ASCII."""
    kept = [char if " " <= char <= "~" and char not in '"\\' else "?" for char in text[:most]]
    return "".join(kept)


def _system(error: BaseException) -> str:
    """Return what the system says of an error; its own words may have some of a conversation."""
    said = getattr(error, "strerror", None)
    name = getattr(error, "filename", None)
    if not isinstance(said, str):
        ours = type(error).__module__.startswith(("warmset.", "__main__"))
        return str(error) if ours or isinstance(error, TimeoutError) else "unexpected"
    return f"{said} ({os.path.basename(name)})" if isinstance(name, str) else said


def _watch(seconds: float, failures: str, host: str, event: str) -> None:
    """End the process at its deadline, whatever the main thread does then."""
    import _thread  # noqa: PLC0415 - as cheap as can be

    def late(*_signal: object) -> None:
        what = f"TimeoutError: it took longer than {seconds} seconds"
        if not note(failures, host, event, what):
            _tell(event, what)
        os._exit(0)

    def watch() -> None:
        time.sleep(seconds)
        late()

    _thread.start_new_thread(watch, ())
    try:
        # The module around it takes five milliseconds to import. What never lets another thread
        # run, as a regular expression, heeds signals all the same.
        made = __import__("_signal")
        made.signal(made.SIGALRM, late)
        made.setitimer(made.ITIMER_REAL, seconds)
    except (ImportError, AttributeError):  # there is none on Windows
        return


def _read() -> bytes:
    parts: list[bytes] = []
    length = 0
    while part := os.read(0, 1 << 20):
        parts.append(part)
        length += len(part)
        if length > _MOST:
            raise TooLongError("the input is longer than 16 MB")
    return b"".join(parts)


class TooLongError(Exception):
    """The host's input is longer than any that its documentation speaks of."""


def asked(host: str, event: str, memory: str, raw: bytes, wait: float) -> bytes | None:
    """Return the helper's answer; None if there is no helper, or none that answers in time."""
    try:
        import _socket  # noqa: PLC0415 - the module around it takes ten times as long

        folder = os.path.join(memory, "hooks")
        if not os.path.isabs(memory) or os.lstat(f"{folder}/helper.sock").st_uid != os.getuid():
            return None
        before = os.getcwd()
    except (ImportError, AttributeError, OSError):
        return None
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        os.chdir(folder)  # the path of a socket has no more than 107 bytes
        made.settimeout(wait)
        made.connect("helper.sock")
        wrapped = "1" if os.environ.get(WRAPPED) else "0"
        made.sendall(f"{host}\n{event}\n{wrapped}\n".encode() + raw)
        made.shutdown(_socket.SHUT_WR)
        parts: list[bytes] = []
        while part := made.recv(1 << 16):
            parts.append(part)
    except TimeoutError:
        note(os.path.join(folder, "failures"), host, event, "TimeoutError: the helper is silent")
        return None
    except OSError:  # it has just ended, or its socket is a leftover
        return None
    finally:
        made.close()
        os.chdir(before)
    answer = b"".join(parts)
    return answer[1:] if answer.startswith(ANSWERED) else None


def _alone(host: str, event: str, memory: str, raw: bytes) -> bytes:
    """Return this process's own answer, by words alone."""
    sys.path.append(os.path.abspath(os.path.join(__file__, *[os.pardir] * 4)))
    from warmset.serve.hooks.alone import answer  # noqa: PLC0415 - only without a helper

    return answer(host, event, memory, raw, wrapped=bool(os.environ.get(WRAPPED)))


def _write(out: bytes) -> None:
    while out:
        out = out[os.write(1, out) :]


def _tell(event: str, what: str) -> None:
    """Tell the user of a failure that could not be noted."""
    said = f"warmset's hook of {_plain(event, 40)} failed: {_plain(what, 240)}"
    try:
        _write(f'{{"systemMessage": "{said}"}}'.encode())
    except OSError:
        return


if __name__ == "__main__":
    main()
