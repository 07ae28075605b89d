"""What hooks were told when they were installed."""

from __future__ import annotations

from typing import Final, NamedTuple

from warmset.serve.hooks import files

_MOST_BYTES: Final = 4_096


class Config(NamedTuple):
    """What hooks were told when they were installed.

    Args:
        embedder: The helper's source of vectors, by name; None for the local model, where it is
            installed, else words alone.
        context_tokens: The context of the agent's model; None for what the transcript says.
        idle: Seconds without an event after which the helper ends.
    """

    embedder: str | None = None
    context_tokens: int | None = None
    idle: float = 900.0


def read(path: str) -> Config:
    """Return what hooks were told; what is not there, or is wrong, is as if nothing was said.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        made = files.read_json(path, _MOST_BYTES) or {}
    except ValueError:
        return Config()
    embedder, tokens, idle = made.get("embedder"), made.get("context_tokens"), made.get("idle")
    usual = Config()
    return Config(
        embedder if isinstance(embedder, str) else usual.embedder,
        tokens if isinstance(tokens, int) and tokens > 0 else usual.context_tokens,
        float(idle) if isinstance(idle, int | float) and idle > 0 else usual.idle,
    )


def write(path: str, config: Config) -> None:
    """Keep what hooks are told.

    Raises:
        OSError: It cannot be written.
    """
    files.replace_json(path, config._asdict())
