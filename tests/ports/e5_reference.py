"""A second, independent way from the carried weights to vectors: what the tests compare the default embedder
with.

It shares no code with it beyond reading tensors: the tokenizer is the Hugging Face `tokenizers` library, the
graph is made with the `onnx` library, keeps the weights as they are (4 bits), takes padded batches with an
attention mask, and is laid out as a folder of the Hugging Face hub, which `fastembed` reads.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from hivelore.adapters.embed_e5_source import Weights


def reference_tokenizer(weights: Weights) -> Tokenizer:
    """The model's tokenizer. The map of code points must be applied before (see `Weights.normalisation`)."""
    pieces = [(text.decode(), score) for text, score in weights.pieces()]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=weights.unk, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    ends = [("<s>", weights.bos), ("</s>", weights.eos)]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return tokenizer


def write_hub_folder(weights: Weights, folder: Path) -> None:
    """Write model and tokenizer as a hub folder."""
    folder.mkdir(parents=True)
    tokenizer = reference_tokenizer(weights)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), tokenizer.normalizer])
    tokenizer.add_special_tokens(["<s>", "</s>", "<pad>", "<unk>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    _write(folder / "special_tokens_map.json", named)
    _write(folder / "tokenizer_config.json", {"model_max_length": weights.positions, **named})
    _write(
        folder / "config.json",
        {"pad_token_id": weights.pad, "model_type": "bert", "hidden_size": weights.hidden},
    )
    onnx.save(_Builder(weights).model(), folder / "model.onnx")


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value), "utf-8")


class _Builder:
    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def codes(self, name: str, rows: int, columns: int) -> tuple[Any, Any]:
        """Packed 4-bit codes (neighbours share a byte, first one low) and scales of a tensor."""
        raw = np.frombuffer(b"".join(self.weights.raw(name)), np.dtype([("scale", "<f2"), ("codes", "u1", 16)]))
        codes = np.concatenate([raw["codes"] & 15, raw["codes"] >> 4], axis=1).reshape(rows, columns // 2, 2)
        return codes[..., 0] | codes[..., 1] << 4, raw["scale"].astype("f4").reshape(rows, columns // 32)

    def linear(self, x: str, name: str, rows: int, columns: int) -> str:
        packed, scales = self.codes(name + ".w", rows, columns)
        packed = self.constant(name + ".q", packed.reshape(rows, columns // 32, 16))
        scales = self.constant(name + ".s", scales.reshape(-1))
        shape = {"K": columns, "N": rows, "bits": 4, "block_size": 32, "accuracy_level": 1}
        product = self.node("MatMulNBits", x, packed, scales, domain="com.microsoft", **shape)
        return self.node("Add", product, self.constant(name + ".b", self.weights.floats(name + ".b")))

    def norm(self, x: str, name: str) -> str:
        ends = [self.constant(f"{name}.{end}", self.weights.floats(f"{name}.{end}")) for end in "wb"]
        return self.node("LayerNormalization", x, *ends, axis=-1, epsilon=float(self.weights.epsilon))

    def heads(self, x: str, order: list[int]) -> str:
        return self.node("Transpose", self.node("Reshape", x, "split"), perm=order)

    def embeddings(self) -> str:
        weights = self.weights
        packed, scales = self.codes("emb.word", weights.vocabulary, weights.hidden)
        table = TensorProto(name="emb.q", data_type=TensorProto.INT4, dims=[weights.vocabulary, weights.hidden])
        table.raw_data = (packed ^ 0x88).tobytes()  # code - 8 in two's complement
        self.constants.append(table)
        scales = self.constant("emb.s", scales)
        blocks = {"block_size": 32, "gather_axis": 0, "quantize_axis": 1}
        words = self.node("GatherBlockQuantized", "emb.q", "input_ids", scales, domain="com.microsoft", **blocks)
        length = self.node("Gather", self.node("Shape", "input_ids"), self.constant("one", [1]))
        positions = self.constant("emb.pos", weights.floats("emb.pos").reshape(-1, weights.hidden))
        positions = self.node("Slice", positions, self.constant("zero", [0]), length, "zero")
        kind = self.constant("emb.type", weights.floats("emb.type").reshape(-1, weights.hidden)[0])
        return self.norm(self.node("Add", self.node("Add", words, positions), kind), "emb.ln")

    def layer(self, x: str, name: str, mask: str) -> str:
        hidden, wide = self.weights.hidden, self.weights.feed_forward
        query = self.heads(self.linear(x, name + "q", hidden, hidden), [0, 2, 1, 3])
        key = self.heads(self.linear(x, name + "k", hidden, hidden), [0, 2, 3, 1])
        value = self.heads(self.linear(x, name + "v", hidden, hidden), [0, 2, 1, 3])
        scores = self.node("Add", self.node("Mul", self.node("MatMul", query, key), "scale"), mask)
        context = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        context = self.node("Reshape", self.node("Transpose", context, perm=[0, 2, 1, 3]), "join")
        x = self.norm(self.node("Add", x, self.linear(context, name + "ao", hidden, hidden)), name + "aln")
        inner = self.node("Gelu", self.linear(x, name + "fi", wide, hidden), domain="com.microsoft")
        return self.norm(self.node("Add", x, self.linear(inner, name + "fo", hidden, wide)), name + "oln")

    def model(self) -> Any:
        weights = self.weights
        x = self.embeddings()
        size = weights.hidden // weights.heads
        self.constant("split", [0, 0, weights.heads, size])
        self.constant("join", [0, 0, weights.hidden])
        self.constant("scale", np.float32(size**-0.5))
        mask = self.node("Cast", "attention_mask", to=TensorProto.FLOAT)
        mask = self.node(
            "Mul",
            self.node("Sub", mask, self.constant("1", np.float32(1))),
            self.constant("big", np.float32(1e9)),
        )
        mask = self.node("Unsqueeze", mask, self.constant("axes", [1, 2]))
        for layer in range(weights.layers):
            x = self.layer(x, f"l{layer}.", mask)
        self.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["b", "t", weights.hidden])
        graph = helper.make_graph(self.nodes, "e5", inputs, [output], self.constants)
        sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=10)
