"""``warmset model``: where the local model is, getting it, and proving that it works."""

from __future__ import annotations

import sys

import cyclopts

from warmset.embed import MiniLM, reference, weights
from warmset.embed.artifact import Precision, prepare
from warmset.embed.bars import Bars
from warmset.embed.pins import TOKENIZER, WEIGHTS
from warmset.errors import EmbedderError, MissingExtraError

app = cyclopts.App(name="model", help="The local embedding model: where it is, get it, prove it.")


@app.command
def path() -> int:
    """Print the model's directory and the files in it."""
    directory = weights.model_dir()
    print(directory)
    for file in sorted(directory.glob("[!.]*")):
        print(f"{file.stat().st_size:>12,}  {file.name}")
    return 0


@app.command
def pull(*, precision: Precision = "int8") -> int:
    """Download the model unless it is here, and build it anew.

    Args:
        precision: What to build.
    """
    with Bars() as shown:
        try:
            made = prepare(precision, progress=shown, rebuild=True)
        except (EmbedderError, MissingExtraError) as error:
            return _failed(error)
    print(made.model)
    return 0


@app.command
def verify(*, precision: Precision = "int8") -> int:
    """Check the files' digests, and embed sentences whose vectors are known.

    Downloads nothing; builds the model if only its weights are here. The exit code is 1 if
    anything is not as it should be.

    Args:
        precision: What to run.
    """
    try:
        found = weights.resolve(sources={})
        for pin in (WEIGHTS, TOKENIZER):
            print(f"sha256 ok  {pin.name}")
        known = reference.load()
        cosines = known.cosines(MiniLM(precision=precision, path=found.tensors.parent))
    except (EmbedderError, MissingExtraError) as error:
        return _failed(error)
    floor = reference.FLOORS[precision]
    for text, cosine in zip(known.texts, cosines, strict=True):
        verdict = "ok" if cosine >= floor else "bad"
        print(f"{cosine:.6f} {verdict:3}  {text[:60]!a}")
    print(f"least cosine {cosines.min():.6f}, {precision} needs {floor}")
    return int(cosines.min() < floor)


def _failed(error: Exception) -> int:
    print(error, file=sys.stderr)
    return 1
