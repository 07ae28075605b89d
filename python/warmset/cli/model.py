"""``warmset model``: locate, download and verify the local models."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal, TypeAlias

import cyclopts
from cyclopts import Parameter

from warmset.embed import MiniLM, reference, weights
from warmset.embed.artifact import Precision, prepare
from warmset.embed.bars import Bars
from warmset.embed.pins import MINILM, POTION, TOKENIZER, WEIGHTS
from warmset.errors import EmbedderError, MissingExtraError

Name: TypeAlias = Literal["minilm", "static"]

_Json = Annotated[bool, Parameter(name="--json", negative="")]

app = cyclopts.App(name="model", help="The local embedding model: locate, download, verify.")


@app.command
def path(*, model: Name = "minilm", as_json: _Json = False) -> int:
    """Print the model's directory and the files in it.

    Args:
        model: Which model: minilm, or static, the fast table.
        as_json: Print one JSON object.
    """
    directory = weights.model_dir(MINILM if model == "minilm" else POTION)
    files = {file.name: file.stat().st_size for file in sorted(directory.glob("[!.]*"))}
    if as_json:
        print(json.dumps({"directory": str(directory), "files": files}, indent=1))
        return 0
    print(directory)
    for name, size in files.items():
        print(f"{size:>12,}  {name}")
    return 0


@app.command
def pull(*, model: Name = "minilm", precision: Precision = "int8", as_json: _Json = False) -> int:
    """Download the model if it is not here, and rebuild it.

    Args:
        model: Which model: minilm, or static, the fast table, which needs no build.
        precision: The precision to build.
        as_json: Print one JSON object.
    """
    with Bars() as shown:
        try:
            if model == "static":
                made = weights.resolve(POTION, progress=shown).tensors
            else:
                made = prepare(precision, progress=shown, rebuild=True).model
        except (EmbedderError, MissingExtraError) as error:
            return _failed(error, as_json=as_json)
    print(json.dumps({"file": str(made)}, indent=1) if as_json else made)
    return 0


@app.command
def verify(*, precision: Precision = "int8", as_json: _Json = False) -> int:
    """Check the files' digests, and embed sentences whose vectors are known.

    Downloads nothing; builds the model if only its weights are here. The exit code is 1 if anything
    is wrong.

    Args:
        precision: The precision to run.
        as_json: Print one JSON object.
    """
    try:
        found = weights.resolve(sources={})
        if not as_json:
            for pin in (WEIGHTS, TOKENIZER):
                print(f"sha256 ok  {pin.name}")
        known = reference.load()
        cosines = known.cosines(MiniLM(precision=precision, path=found.tensors.parent))
    except (EmbedderError, MissingExtraError) as error:
        return _failed(error, as_json=as_json)
    floor, least = reference.FLOORS[precision], float(cosines.min())
    if as_json:
        made: dict[str, Any] = {
            "files": [WEIGHTS.name, TOKENIZER.name],
            "precision": precision,
            "ok": least >= floor,
        }
        made |= {"cosines": [round(float(one), 6) for one in cosines], "least": least}
        print(json.dumps({**made, "needed": floor}, indent=1))
        return int(least < floor)
    for text, cosine in zip(known.texts, cosines, strict=True):
        verdict = "ok" if cosine >= floor else "bad"
        print(f"{cosine:.6f} {verdict:3}  {text[:60]!a}")
    print(f"least cosine {least:.6f}, {precision} needs {floor}")
    return int(least < floor)


def _failed(error: Exception, *, as_json: bool) -> int:
    if as_json:
        raise error
    print(error, file=sys.stderr)
    return 1
