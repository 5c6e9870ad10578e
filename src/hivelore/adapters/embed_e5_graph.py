"""The encoder of multilingual-e5-small as an ONNX graph: token embeddings in, one vector of length 1 out.

Shaped for a small, shared machine:
- One text at a time. Padding, an attention mask and batches would buy 8 % of speed for texts of 70 tokens and
  make a text's vector depend on its neighbours.
- The embedding table stays outside (see embed_e5_model): 54 MB of which a text touches a few kilobytes.
- Linear layers multiply 8-bit integers. Activations get one scale per token, so an outlier token does not
  blur the others (cosine to float32: 0.9989, against 0.9972 with one scale per text). Weights use the range
  -64..64 only: older x86 processors add pairs of products in 16 bits, and 2 * 255 * 64 still fits while
  2 * 255 * 127 does not.
- Weights lie in a file beside the graph, which onnxruntime maps instead of reading twice.

Source of the architecture: BERT (Devlin et al. 2018), as the model's config.json says; mean pooling and
normalisation as its model card says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hivelore.adapters import embed_e5_wire as wire
from hivelore.adapters.embed_e5_source import Weights

INPUT, OUTPUT = "embeddings", "vector"
_MICROSOFT = "com.microsoft"  # operators of onnxruntime beyond the standard ones
_IR_VERSION, _OPSET = 8, 18
_ONNX_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}
_INLINE_BYTES = 1024  # smaller constants stay in the graph file, where onnxruntime can read them while it plans
_ALIGN_BYTES = 64
_WEIGHT_LIMIT = 64
_Attribute = int | float


class _Graph:
    """Nodes and constants in the making. Large constants go to `bulk` (named `bulk_name`) at once."""

    def __init__(self, bulk: BinaryIO, bulk_name: str) -> None:
        self._bulk, self._bulk_name = bulk, bulk_name
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Add a constant; return its name. A name that is there already is kept."""
        if name not in self._constants:
            shape = b"".join(wire.number(1, size) for size in value.shape)
            head = shape + wire.number(2, _ONNX_TYPES[value.dtype.name]) + wire.text(8, name)
            raw = np.ascontiguousarray(value).tobytes()
            self._constants[name] = head + (wire.data(9, raw) if len(raw) < _INLINE_BYTES else self._outside(raw))
        return name

    def _outside(self, raw: bytes) -> bytes:
        self._bulk.write(bytes(-self._bulk.tell() % _ALIGN_BYTES))
        place = {"location": self._bulk_name, "offset": str(self._bulk.tell()), "length": str(len(raw))}
        self._bulk.write(raw)
        entries = (wire.data(13, wire.text(1, key) + wire.text(2, value)) for key, value in place.items())
        return b"".join(entries) + wire.number(14, 1)

    def one(self, operator: str, *inputs: str, domain: str = "", **attributes: _Attribute) -> str:
        """Add a node with one output; return the output's name."""
        output = f"{operator}_{len(self._nodes)}"
        self.add(operator, inputs, [output], domain, attributes)
        return output

    def add(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        domain: str,
        attributes: Mapping[str, _Attribute],
    ) -> None:
        """Add a node whose outputs have the names given."""
        fields = [wire.text(1, each) for each in inputs] + [wire.text(2, each) for each in outputs]
        fields += [wire.text(4, operator), wire.text(7, domain)]
        fields += [wire.data(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join(fields))

    def model(self, hidden: int) -> bytes:
        """The whole as a ModelProto: input 1 x tokens x hidden, output 1 x hidden."""
        graph = [wire.data(1, node) for node in self._nodes] + [wire.text(2, "multilingual-e5-small")]
        graph += [wire.data(5, constant) for constant in self._constants.values()]
        graph += [
            wire.data(11, _float_value(INPUT, 1, "tokens", hidden)),
            wire.data(12, _float_value(OUTPUT, 1, hidden)),
        ]
        standard, extra = (
            wire.text(1, "") + wire.number(2, _OPSET),
            wire.text(1, _MICROSOFT) + wire.number(2, 1),
        )
        head = wire.number(1, _IR_VERSION) + wire.text(2, "hivelore")
        return head + wire.data(7, b"".join(graph)) + wire.data(8, standard) + wire.data(8, extra)


def _attribute(name: str, value: _Attribute) -> bytes:
    """An AttributeProto: value and type of a real (1) or whole (2) number."""
    if isinstance(value, float):
        return wire.text(1, name) + wire.real(2, value) + wire.number(20, 1)
    return wire.text(1, name) + wire.number(3, value) + wire.number(20, 2)


def _float_value(name: str, *shape: int | str) -> bytes:
    """A ValueInfoProto for float32 values; a dimension given as text may vary."""
    dimensions = (wire.data(1, wire.text(2, size) if isinstance(size, str) else wire.number(1, size)) for size in shape)
    tensor = wire.number(1, _ONNX_TYPES["float32"]) + wire.data(2, b"".join(dimensions))
    return wire.text(1, name) + wire.data(2, wire.data(1, tensor))


def write_graph(weights: Weights, graph_file: BinaryIO, bulk: BinaryIO, bulk_name: str) -> None:
    """Write the graph to `graph_file` and large weights to `bulk`, which the graph calls `bulk_name`."""
    graph = _Graph(bulk, bulk_name)
    x = _with_positions(graph, weights)
    for layer in range(weights.layers):
        x = _layer(graph, weights, x, f"l{layer}.")
    mean = graph.one("ReduceMean", x, graph.constant("axis.tokens", np.array([1], np.int64)), keepdims=0)
    graph.add("LpNormalization", [mean], [OUTPUT], "", {"axis": -1, "p": 2})
    graph_file.write(graph.model(weights.hidden))


def _with_positions(graph: _Graph, weights: Weights) -> str:
    """Token embeddings plus position and type embeddings. The type is always 0: its row is added here."""
    positions = weights.floats("emb.pos").reshape(-1, weights.hidden) + weights.floats("emb.type")[: weights.hidden]
    first, second = graph.constant("0", np.array([0], np.int64)), graph.constant("1", np.array([1], np.int64))
    tokens = graph.one("Gather", graph.one("Shape", INPUT), second, axis=0)
    used = graph.one("Slice", graph.constant("positions", positions), first, tokens, first)
    return _layer_norm(graph, weights, graph.one("Add", INPUT, used), "emb.ln")


def _layer(graph: _Graph, weights: Weights, x: str, name: str) -> str:
    """One transformer layer: self-attention, then feed-forward, each with its residual and layer norm."""
    hidden, wide = weights.hidden, weights.feed_forward
    projected = _linear(graph, weights, x, [name + "q", name + "k", name + "v"], hidden, hidden)
    parts = [name + "query", name + "key", name + "value"]
    graph.add("Split", [projected], parts, "", {"axis": -1, "num_outputs": 3})
    context = graph.one("MultiHeadAttention", *parts, domain=_MICROSOFT, num_heads=weights.heads)
    x = graph.one("Add", x, _linear(graph, weights, context, [name + "ao"], hidden, hidden))
    x = _layer_norm(graph, weights, x, name + "aln")
    inner = graph.one("Gelu", _linear(graph, weights, x, [name + "fi"], wide, hidden), domain=_MICROSOFT)
    x = graph.one("Add", x, _linear(graph, weights, inner, [name + "fo"], hidden, wide))
    return _layer_norm(graph, weights, x, name + "oln")


def _layer_norm(graph: _Graph, weights: Weights, x: str, name: str) -> str:
    scale = graph.constant(name + ".w", weights.floats(name + ".w"))
    shift = graph.constant(name + ".b", weights.floats(name + ".b"))
    return graph.one("LayerNormalization", x, scale, shift, axis=-1, epsilon=float(weights.epsilon))


def _linear(graph: _Graph, weights: Weights, x: str, names: list[str], rows: int, columns: int) -> str:
    """x · W + b in 8-bit integers. Several layers of one input are joined, so that it is quantised once.

    Activation of a token: a = round(127 x / max|x|) + 128; weight column: w = round(64 W / max|W|).
    Then x · W = (a - 128) · w * max|x| * max|W| / (127 * 64).
    """
    matrix = np.concatenate([weights.matrix(name + ".w", rows, columns) for name in names])
    bias = np.concatenate([weights.floats(name + ".b") for name in names])
    steps = np.abs(matrix).max(axis=1) / _WEIGHT_LIMIT
    codes = np.rint(matrix / steps[:, None]).astype(np.int8)
    largest = graph.one(
        "ReduceMax", graph.one("Abs", x), graph.constant("axis.last", np.array([-1], np.int64)), keepdims=1
    )
    largest = graph.one(
        "Max", largest, graph.constant("tiny", np.array(1e-8, np.float32))
    )  # a token of zeros: no 0 / 0
    middle = graph.constant("128", np.array(128, np.uint8))
    step = graph.constant("1/127", np.array(1 / 127, np.float32))
    quantised = graph.one("QuantizeLinear", graph.one("Div", x, largest), step, middle)
    product = graph.one("MatMulInteger", quantised, graph.constant(names[0] + ".codes", codes.T), middle)
    scaled = graph.one("Mul", graph.one("Cast", product, to=1), largest)
    scaled = graph.one("Mul", scaled, graph.constant(names[0] + ".steps", (steps / 127).astype(np.float32)))
    return graph.one("Add", scaled, graph.constant(names[0] + ".bias", bias))
