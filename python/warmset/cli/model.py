"""``warmset model``: locate, download and verify the local models."""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias

import cyclopts

from warmset.embed import MiniLM, reference, weights
from warmset.embed.artifact import Precision, prepare
from warmset.embed.bars import Bars
from warmset.embed.pins import MINILM, POTION, TOKENIZER, WEIGHTS
from warmset.errors import EmbedderError, MissingExtraError

Name: TypeAlias = Literal["minilm", "static"]

app = cyclopts.App(name="model", help="The local embedding model: locate, download, verify.")


@app.command
def path(*, model: Name = "minilm") -> int:
    """Print the model's directory and the files in it.

    Args:
        model: Which model: minilm, or static, the fast table.
    """
    directory = weights.model_dir(MINILM if model == "minilm" else POTION)
    print(directory)
    for file in sorted(directory.glob("[!.]*")):
        print(f"{file.stat().st_size:>12,}  {file.name}")
    return 0


@app.command
def pull(*, model: Name = "minilm", precision: Precision = "int8") -> int:
    """Download the model if it is not here, and rebuild it.

    Args:
        model: Which model: minilm, or static, the fast table, which needs no build.
        precision: The precision to build.
    """
    with Bars() as shown:
        try:
            if model == "static":
                print(weights.resolve(POTION, progress=shown).tensors)
                return 0
            made = prepare(precision, progress=shown, rebuild=True)
        except (EmbedderError, MissingExtraError) as error:
            return _failed(error)
    print(made.model)
    return 0


@app.command
def verify(*, precision: Precision = "int8") -> int:
    """Check the files' digests, and embed sentences whose vectors are known.

    Downloads nothing; builds the model if only its weights are here. The exit code is 1 if anything
    is wrong.

    Args:
        precision: The precision to run.
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
