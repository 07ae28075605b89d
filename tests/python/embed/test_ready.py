"""Making the local model ready: what is fetched, built, kept and refused."""

from __future__ import annotations

import hashlib
import logging
import sys
from pathlib import Path

import onnx
import pytest

from warmset.embed import MiniLM, artifact, graph, quantise, safetensors, weights as weights_module
from warmset.errors import (
    EmbedderError,
    InvalidInputError,
    MissingExtraError,
    ModelDamaged,
    ModelMissing,
)


@pytest.mark.usefixtures("weights")
def test_a_kept_model_asks_nobody(monkeypatch):
    MiniLM()

    def never(*_):
        raise AssertionError("must not be asked")

    monkeypatch.setattr(weights_module, "SOURCES", {"a": never})
    monkeypatch.setattr(artifact.weights, "resolve", lambda **_: 1 / 0)
    assert MiniLM().embed(["x"]).shape == (1, 384)


def test_a_machine_without_the_model_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path))
    monkeypatch.setattr(weights_module, "SOURCES", {})
    with pytest.raises(ModelMissing, match="warmset model pull"):
        MiniLM()


def test_a_flipped_byte_in_the_weights_is_refused(weights, tmp_path):
    data = bytearray(weights.tensors.read_bytes())
    data[50_000_000] ^= 1
    (tmp_path / "model.safetensors").write_bytes(data)
    (tmp_path / "tokenizer.json").symlink_to(weights.tokenizer)
    with pytest.raises(ModelDamaged, match="sha256"):
        MiniLM(path=tmp_path)


def test_it_is_made_once_and_tells_how_far_it_is(weights, tmp_path, monkeypatch):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path))
    told = []
    made = MiniLM(path=weights.tensors.parent, progress=lambda *said: told.append(said))
    assert told == [("build", 0, 1), ("build", 1, 1), ("quantise", 0, 1), ("quantise", 1, 1)]
    name = made._artifact.model.name
    files = sorted(file.name for file in made._artifact.model.parent.iterdir())
    assert files == [name, f"{name}.sha256"]
    MiniLM(path=weights.tensors.parent, progress=lambda *said: told.append(said))
    assert len(told) == 4


def test_quantising_leaves_the_root_logger_alone(weights, tmp_path):
    root = logging.getLogger()
    kept = root.handlers[:]
    root.handlers[:] = []
    try:
        model = graph.build(safetensors.read(weights.tensors))
        quantise.quantise(model, tmp_path / "x.onnx", reduced_range=False)
        assert root.handlers == []
    finally:
        root.handlers[:] = kept


def test_products_with_weights_are_of_bytes_with_a_scale_for_each_column(weights, tmp_path):
    model = graph.build(safetensors.read(weights.tensors))
    known = {one.name for one in model.graph.initializer}
    products = [one for one in model.graph.node if one.op_type == "MatMul"]
    weighed = [one for one in products if one.input[1] in known]
    assert 0 < len(weighed) < len(products), "attention multiplies what no weight is"
    quantise.quantise(model, tmp_path / "x.onnx", reduced_range=False)
    made = onnx.load(tmp_path / "x.onnx").graph
    kinds = [one.op_type for one in made.node]
    assert kinds.count("MatMulInteger") == len(weighed)
    assert kinds.count("MatMul") == len(products) - len(weighed)
    columns = {one.name: one.dims[1] for one in made.initializer if one.name.endswith("_quantized")}
    scales = {one.name: list(one.dims) for one in made.initializer if one.name.endswith("_scale")}
    assert len(columns) == len(weighed)
    for name, width in columns.items():
        assert scales[name.replace("_quantized", "_scale")] == [width]


def test_a_model_that_cannot_be_loaded_says_how_to_mend_it(weights, tmp_path, monkeypatch):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path))
    model = artifact.model_path("int8")
    model.parent.mkdir(parents=True)
    model.write_bytes(b"nonsense")
    digest = hashlib.sha256(b"nonsense").hexdigest()
    artifact.digest_path(model).write_text(f"{digest}  {model.name}\n")
    with pytest.raises(ModelDamaged, match="warmset model pull"):
        MiniLM(path=weights.tensors.parent).embed(["x"])


@pytest.mark.usefixtures("weights")
def test_a_run_that_fails_is_an_embedder_error():
    broken = MiniLM()
    loaded, _ = broken._load()

    class Session:
        def run(self, _outputs, _inputs):
            raise RuntimeError("out of memory")

    broken._loaded = loaded, Session()
    with pytest.raises(EmbedderError, match="out of memory"):
        broken.embed(["x"])


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers"])
def test_a_missing_package_names_the_extra(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'{module} .*"warmset\[local\]"'):
        MiniLM()


@pytest.mark.parametrize("module", ["onnx", "safetensors"])
def test_building_needs_packages_of_the_extra(weights, tmp_path, monkeypatch, module):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'{module} .*"warmset\[local\]"'):
        MiniLM(path=weights.tensors.parent)


@pytest.mark.parametrize("options", [{"precision": "int4"}, {"threads": 0}])
def test_bad_options_are_refused(options):
    with pytest.raises(InvalidInputError):
        MiniLM(**options)


@pytest.mark.parametrize(
    ("machine", "flags", "reduced"),
    [
        ("x86_64", "flags: fpu avx2 avx512_vnni", False),
        ("AMD64", "flags: fpu avx2 avx_vnni", False),
        ("x86_64", "flags: fpu avx2 avx512f", True),
        ("x86_64", None, True),
        ("aarch64", None, False),
        ("arm64", None, False),
    ],
)
def test_seven_bits_where_eight_would_saturate(monkeypatch, tmp_path, machine, flags, reduced):
    monkeypatch.setattr(quantise.platform, "machine", lambda: machine)
    cpuinfo = Path(tmp_path / "cpuinfo")
    if flags is not None:
        cpuinfo.write_text(flags)
    assert quantise.needs_reduced_range(cpuinfo) is reduced


def test_only_a_model_of_seven_bits_is_called_so(monkeypatch):
    monkeypatch.setattr(quantise, "needs_reduced_range", lambda: True)
    called = {precision: artifact.model_path(precision).name for precision in ("int8", "float32")}
    assert called["int8"].startswith("int8-reduced-")
    assert called["float32"].startswith("float32-1-")


def test_a_changed_model_is_not_loaded(weights, tmp_path, monkeypatch):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path))
    own = weights.tensors.parent
    made = MiniLM(path=own)
    model = made._artifact.model
    data = bytearray(model.read_bytes())
    data[len(data) // 2] ^= 1
    model.write_bytes(data)
    with pytest.raises(ModelDamaged, match=r"sha256.*warmset model pull"):
        made.embed(["x"])
    artifact.digest_path(model).write_bytes(b"\xff")
    with pytest.raises(ModelDamaged, match="warmset model pull"):
        MiniLM(path=own).embed(["x"])
    artifact.digest_path(model).unlink()
    with pytest.raises(ModelDamaged, match="warmset model pull"):
        made.embed(["x"])
    assert MiniLM(path=own).embed(["x"]).shape == (1, 384), "without a digest it is built anew"
