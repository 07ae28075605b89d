"""The network as an ONNX graph, built from the official weights: standard operators only.

::

    x = norm(word[ids] + position)                    token type 0 is folded into position
    six times:
        x = norm(x + output(softmax(q·kᵀ/√d + mask)·v))
        x = norm(x + shrink(gelu(grow(x))))
    vector = Σ of x over live tokens, divided by its length

The mean over tokens and the sum differ by a factor, which the division by the length takes away.
ONNX Runtime fuses the pattern itself when it loads the graph, so its own fused operators, which
other runtimes do not have, gain nothing worth having.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warmset._extras import extra

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx
    from numpy.typing import NDArray

BUILDER = 1
"""Grows with every change to what this file or `quantise` makes; part of the cached file's name."""

LAYERS = 6
HEADS = 12
WIDTH = 384
_EPSILON = 1e-12
_OPSET = 20
_IR = 9
_FLOAT = 1  # TensorProto.FLOAT


def build(tensors: Mapping[str, NDArray[Any]]) -> onnx.ModelProto:
    """Build the graph.

    Args:
        tensors: The weights, by the names that they have in the official file.

    Returns:
        A model that takes ``input_ids`` and ``attention_mask``, both i64 of shape (batch, tokens),
        and gives ``vectors``, f32 of shape (batch, 384), unit rows.

    Raises:
        MissingExtraError: The package onnx is not installed.
    """
    with extra("local"):
        from onnx import TensorProto, helper  # noqa: PLC0415 - heavy, and optional

    net = _Net(tensors)
    x = net.embed()
    bias = net.mask_bias()
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}."
        attended = net.linear(net.attention(x, layer, bias), layer + "attention.output.dense")
        x = net.norm(net.add("Add", attended, x), layer + "attention.output.LayerNorm")
        grown = net.add("Gelu", net.linear(x, layer + "intermediate.dense"))
        shrunk = net.linear(grown, layer + "output.dense")
        x = net.norm(net.add("Add", shrunk, x), layer + "output.LayerNorm")
    net.pool(x)
    graph = helper.make_graph(
        net.nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", WIDTH])],
        net.constants,
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
        producer_name="warmset",
        producer_version=str(BUILDER),
    )


class _Net:
    """Nodes and constants, in the order in which they were added; methods give output names."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self.tensors = tensors
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.const("by_head", [0, 0, HEADS, WIDTH // HEADS], np.int64)
        self.const("by_token", [0, 0, WIDTH], np.int64)
        self.const("scale", (WIDTH // HEADS) ** -0.5)

    def const(self, name: str, value: object, dtype: type[np.generic] = np.float32) -> str:
        from onnx import numpy_helper  # noqa: PLC0415 - `build` has imported it

        self.constants.append(numpy_helper.from_array(np.array(value, dtype, order="C"), name))
        return name

    def add(self, op: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        from onnx import helper  # noqa: PLC0415 - `build` has imported it

        name = f"{op}_{len(self.nodes)}"
        output = out or name
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=name, **attributes))
        return output

    def linear(self, x: str, name: str) -> str:
        weight = self.const(name + ".weight", self.tensors[name + ".weight"].T)
        bias = self.const(name + ".bias", self.tensors[name + ".bias"])
        return self.add("Add", self.add("MatMul", x, weight), bias)

    def norm(self, x: str, name: str) -> str:
        weight = self.const(name + ".weight", self.tensors[name + ".weight"])
        bias = self.const(name + ".bias", self.tensors[name + ".bias"])
        return self.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=_EPSILON)

    def embed(self) -> str:
        part = "embeddings.{}_embeddings.weight".format
        place = self.tensors[part("position")] + self.tensors[part("token_type")][0]
        words = self.add("Gather", self.const("words", self.tensors[part("word")]), "input_ids")
        count = self.add("Shape", "input_ids", start=1, end=2)
        self.const("first", [0], np.int64)
        places = self.add("Slice", self.const("places", place), "first", count)
        return self.norm(self.add("Add", words, places), "embeddings.LayerNorm")

    def mask_bias(self) -> str:
        live = self.add("Cast", "attention_mask", out="live", to=_FLOAT)
        dead = self.add("Sub", self.const("one", 1), live)
        bias = self.add("Mul", dead, self.const("minus_infinity", -1e9))
        return self.add("Unsqueeze", bias, self.const("heads_and_rows", [1, 2], np.int64))

    def attention(self, x: str, layer: str, bias: str) -> str:
        query, key, value = (
            self.add("Reshape", self.linear(x, f"{layer}attention.self.{part}"), "by_head")
            for part in ("query", "key", "value")
        )
        query = self.add("Transpose", self.add("Mul", query, "scale"), perm=[0, 2, 1, 3])
        key = self.add("Transpose", key, perm=[0, 2, 3, 1])
        value = self.add("Transpose", value, perm=[0, 2, 1, 3])
        scores = self.add("Add", self.add("MatMul", query, key), bias)
        seen = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        return self.add("Reshape", self.add("Transpose", seen, perm=[0, 2, 1, 3]), "by_token")

    def pool(self, x: str) -> str:
        tokens = self.const("token_axis", [1], np.int64)
        live = self.add("Unsqueeze", "live", self.const("last_axis", [2], np.int64))
        total = self.add("ReduceSum", self.add("Mul", x, live), tokens, keepdims=0)
        return self.add(
            "Div", total, self.add("ReduceL2", total, tokens, keepdims=1), out="vectors"
        )
