"""The weights of a BERT or MPNet → an ONNX graph from token ids to unit sentence vectors, or to a classifier's logits.

All sequences of a batch have the same length, so there is no padding and no mask, and every operation except
attention treats tokens as rows of one matrix. Each row is computed in an order that does not depend on the other rows:
**a sentence has the same vector, to the last bit, in any batch**. That is also why

- int8 scales the activations row by row, while ONNX Runtime's own dynamic quantisation uses one scale for the whole
  batch; this is also more accurate (mean cosine to fp32 .997 instead of .991), at the same speed;
- the mean over tokens is a product with a row of ones, since `ReduceMean` adds differently for different batches.

Queries, keys and values of the last third of the layers, where rounding does the most harm, stay in float32. Weights
are rounded to 7 bits per channel: two products of an unsigned 8-bit and a signed 7-bit number fit into 16 bits, so that
no processor's kernel saturates, and all compute the same integers.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from rprs.encode.folder import config_of, first_position, obstacle, positions
from rprs.encode.loading import plainly
from rprs.encode.onnx import Pooling, Precision
from rprs.errors import ModelError

__all__ = ["build", "build_cross", "token_graph"]

Array = NDArray[Any]

MICROSOFT = "com.microsoft"
WEIGHT_TOP = 63  # 7 bits
FARTHEST = 128  # tokens; MPNet does not distinguish greater distances
GELU_FLOOR = 0.17  # GELU is never below minus this value
# From the first token to the logits: BERT's pooler and classifier, and RoBERTa's.
HEADS = (("pooler.dense", "classifier"), ("classifier.dense", "classifier.out_proj"))
# Names of weights in older BERTs and in MPNet → in BERT.
RENAMED = {
    "LayerNorm.gamma": "LayerNorm.weight",
    "LayerNorm.beta": "LayerNorm.bias",
    "attention.attn.q.": "attention.self.query.",
    "attention.attn.k.": "attention.self.key.",
    "attention.attn.v.": "attention.self.value.",
    "attention.attn.o.": "attention.output.dense.",
    "attention.LayerNorm.": "attention.output.LayerNorm.",
}
TYPES = "embeddings.token_type_embeddings.weight"


def build(folder: Path, precision: Precision, pooling: Pooling) -> onnx.ModelProto:
    """The graph of a model folder with config.json and model.safetensors: `input_ids` (b, l) to `vectors` (b, d)."""
    with _valid_weights(folder):
        graph = _empty_graph(folder, precision == "int8")
        graph.sentence(graph.layers(graph.embeddings()), pooling)
        return graph.model(("input_ids",), "vectors", graph.width)


def build_cross(folder: Path) -> onnx.ModelProto:
    """The graph of a sequence classifier in float32: `input_ids` (b, l) to `logits` (b, labels).

    If the model distinguishes two texts by types, `token_type_ids` (b, l) is an input too.
    """
    with _valid_weights(folder):
        graph = _empty_graph(folder, int8=False)
        head = next((pair for pair in HEADS if all(f"{part}.weight" in graph.weights for part in pair)), None)
        if head is None:
            raise ModelError(f"{folder} is not a sequence-classification model: its weights have no classifier")
        typed = len(graph.weights[TYPES]) > 1
        labels = graph.classify(graph.layers(graph.embeddings(typed)), *head)
        return graph.model(("input_ids", "token_type_ids") if typed else ("input_ids",), "logits", labels)


def token_graph(file: Path) -> bytes:
    """The graph that `build` made and that is in a file, with the vectors of all tokens (b, l, d) as its output."""
    model = onnx.load(file)
    makers = {output: node for node in model.graph.node for output in node.output}
    pooled = makers[makers["vectors"].input[0]]
    tokens = pooled.input[0] if pooled.op_type == "Gather" else makers[pooled.input[0]].input[1]
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info(tokens, onnx.TensorProto.FLOAT, ["b", "l", None]))
    return bytes(model.SerializeToString())


def _valid_weights(folder: Path) -> AbstractContextManager[None]:
    return plainly(f"{folder / 'model.safetensors'} is damaged, or does not match config.json")


def _empty_graph(folder: Path, int8: bool) -> _Graph:
    """An empty graph with the weights of a folder, by their names in BERT."""
    from safetensors.numpy import load_file

    config = config_of(folder)
    problem = obstacle(config)
    if problem:
        raise ModelError(f"onnx cannot build {folder}: {problem}; export it to model.onnx, or use sbert")
    weights = {_bert_name(name): array for name, array in load_file(folder / "model.safetensors").items()}
    stem = next((name for name in weights if name.endswith("embeddings.word_embeddings.weight")), None)
    if stem is None:
        raise ModelError(f"{folder} has no word embeddings in model.safetensors: use sbert({folder})")
    prefix = stem.removesuffix("embeddings.word_embeddings.weight")
    weights = {name.removeprefix(prefix): array.astype(np.float32) for name, array in weights.items()}
    if config["model_type"] == "mpnet":  # it does not distinguish types
        weights[TYPES] = np.zeros((1, int(config["hidden_size"])), dtype=np.float32)
    return _Graph(weights, config, int8)


def _bert_name(name: str) -> str:
    for part, renamed in RENAMED.items():
        name = name.replace(part, renamed)
    return name


@dataclass
class _Graph:
    """Nodes and constants of a graph; a method adds nodes and returns the name of their result."""

    weights: dict[str, Array]
    config: dict[str, Any]
    int8: bool
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return int(self.config["hidden_size"])

    def add(self, op: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        names = [f"{op}{len(self.nodes)}.{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, name: str, value: Any, kind: type[Any] = np.float32) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(
                np.ascontiguousarray(value, dtype=kind).reshape(np.shape(value)), name
            )
        return name

    def shape(self, *last: int) -> str:
        """The shape (b, l, last)."""
        tail = self.constant(f"shape.{last}", last, np.int64)
        return str(self.add("Concat", self.add("Shape", "input_ids"), tail, axis=0))

    def length(self) -> str:
        return str(self.add("Shape", "input_ids", start=1, end=2))

    def normalise(self, rows: str, name: str) -> str:
        scale, bias = (self.constant(f"{name}.{part}", self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        epsilon = self.config["layer_norm_eps"]
        return str(self.add("LayerNormalization", rows, scale, bias, axis=-1, epsilon=epsilon))

    def rows(self, tensor: str) -> str:
        return str(self.add("Reshape", tensor, self.constant("rows", (-1, self.width), np.int64)))

    def embeddings(self, typed: bool = False) -> str:
        """Word + position + type, where all tokens are of type 0 unless `typed`."""
        weights = {
            name: self.weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        }
        start = first_position(self.config)
        places = self.constant("positions", weights["position"][start:] + (0 if typed else weights["token_type"][0]))
        place = self.add("Slice", places, self.constant("0", (0,), np.int64), self.length())
        if typed:
            place = self.add(
                "Add", self.add("Gather", self.constant("types", weights["token_type"]), "token_type_ids"), place
            )
        word = self.add("Gather", self.constant("words", weights["word"]), "input_ids")
        return self.rows(self.normalise(self.add("Add", word, place), "embeddings.LayerNorm"))

    def layers(self, rows: str) -> str:
        count = int(self.config["num_hidden_layers"])
        distances = self.distances()
        for number in range(count):
            layer = f"encoder.layer.{number}"
            heads = self.attention(rows, layer, distances, exact=number >= count - count // 3)
            mixed = self.linear(heads, f"{layer}.attention.output.dense")
            rows = self.normalise(self.add("Add", mixed, rows), f"{layer}.attention.output.LayerNorm")
            wide = self.product(rows, f"{layer}.intermediate.dense", self.weights[f"{layer}.intermediate.dense.weight"])
            bias = self.constant(f"{layer}.intermediate.bias", self.weights[f"{layer}.intermediate.dense.bias"])
            wide = self.add("BiasGelu", wide, bias, domain=MICROSOFT)
            narrow = self.linear(wide, f"{layer}.output.dense", gelu=True)
            rows = self.normalise(self.add("Add", narrow, rows), f"{layer}.output.LayerNorm")
        return rows

    def distances(self) -> str:
        """(1, heads, l, l): what MPNet adds to attention for the distance of two tokens; empty for a BERT."""
        if self.config["model_type"] != "mpnet":
            return ""
        weights = self.weights["encoder.relative_attention_bias.weight"]
        table = self.constant("distances", weights.T[None])
        groups = _distance_groups(positions(self.config), len(weights))
        square = self.add("Concat", self.length(), self.length(), axis=0)
        origin = self.constant("0, 0", (0, 0), np.int64)
        near = self.add("Slice", self.constant("groups", groups, np.int64), origin, square)
        return str(self.add("Gather", table, near, axis=2))

    def attention(self, rows: str, layer: str, distances: str, exact: bool) -> str:
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        weight, bias = (
            np.concatenate([self.weights[f"{part}.{kind}"] for part in parts]) for kind in ("weight", "bias")
        )
        product = self.product(rows, f"{layer}.attention.self", weight, exact=exact)
        joint = self.add("Reshape", product, self.shape(3 * self.width))
        thirds = self.constant("thirds", (self.width,) * 3, np.int64)
        split = self.add("Split", joint, thirds, outputs=3, axis=-1)
        heads = self.config["num_attention_heads"]
        bias_name = self.constant(f"{layer}.attention.self.bias", bias)
        inputs = (*split, bias_name, *(("", distances) if distances else ()))  # without a mask
        return self.rows(self.add("MultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=heads))

    def linear(self, rows: str, name: str, gelu: bool = False) -> str:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        if gelu and self.int8:
            # The rows were shifted by a constant to be positive; its contribution to the product is constant too.
            codes, scale = _codes(weight)
            bias = bias - GELU_FLOOR * (codes * scale[:, None]).sum(1)
        return str(self.add("Add", self.product(rows, name, weight, gelu), self.constant(f"{name}.bias", bias)))

    def product(self, rows: str, name: str, weight: Array, gelu: bool = False, exact: bool = False) -> str:
        """rows · weightᵀ, in float32 or in integers."""
        if exact or not self.int8:
            return str(self.add("MatMul", rows, self.constant(f"{name}.weight", weight.T)))
        codes, scale = _codes(weight)
        row_codes, row_scale, zero = self.quantise(rows, gelu)
        product = self.add(
            "MatMulIntegerToFloat",
            row_codes,
            self.constant(f"{name}.codes", codes.T, np.int8),
            self.constant("1.0", 1.0),
            self.constant(f"{name}.scale", scale),
            zero,
            self.constant(f"zeros.{len(scale)}", np.zeros(len(scale)), np.int8),
            domain=MICROSOFT,
        )
        return str(self.add("Mul", product, row_scale))

    def quantise(self, rows: str, gelu: bool) -> tuple[str, str, str]:
        """Unsigned 8-bit codes with one scale per row; outputs of GELU are shifted so that all 256 codes are used."""
        top, middle = (255, 0) if gelu else (127, 128)
        rows = self.add("Add", rows, self.constant("floor", GELU_FLOOR)) if gelu else rows
        peak = self.add("ReduceMax", rows if gelu else self.add("Abs", rows), axes=[1], keepdims=0)
        scale = self.add("Mul", peak, self.constant(f"1/{top}", 1 / top))
        scale = self.add("Max", scale, self.constant("tiny", 1e-12))
        fill = helper.make_tensor("middle", onnx.TensorProto.UINT8, [1], [middle])
        zeros = self.add("ConstantOfShape", self.add("Shape", scale), value=fill)
        codes = self.add("QuantizeLinear", rows, scale, zeros, axis=0)
        column = self.add("Unsqueeze", scale, self.constant("1", (1,), np.int64))
        return codes, column, self.constant(f"zero.{middle}", middle, np.uint8)

    def sentence(self, rows: str, pooling: Pooling) -> None:
        tokens = self.add("Reshape", rows, self.shape(self.width))
        if pooling == "cls":
            pooled = self.first(tokens)
        else:
            size = self.add("Concat", self.constant("1", (1,), np.int64), self.length(), axis=0)
            fill = helper.make_tensor("one", onnx.TensorProto.FLOAT, [1], [1.0])
            total = self.add("MatMul", self.add("ConstantOfShape", size, value=fill), tokens)
            pooled = self.add("Squeeze", total, self.constant("1", (1,), np.int64))
        self.nodes.append(helper.make_node("LpNormalization", [pooled], ["vectors"], axis=-1, p=2))

    def classify(self, rows: str, dense: str, out: str) -> int:
        """Add a tanh layer over the first token and the classifier; return the number of labels."""
        first = self.first(self.add("Reshape", rows, self.shape(self.width)))
        logits = self.linear(self.add("Tanh", self.linear(first, dense)), out)
        self.nodes.append(helper.make_node("Identity", [logits], ["logits"]))
        return len(self.weights[f"{out}.weight"])

    def first(self, tokens: str) -> str:
        return str(self.add("Gather", tokens, self.constant("first", 0, np.int64), axis=1))

    def model(self, inputs: tuple[str, ...], output: str, width: int) -> onnx.ModelProto:
        arguments = [helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["b", "l"]) for name in inputs]
        result = helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, ["b", width])
        graph = helper.make_graph(self.nodes, "sentence", arguments, [result], list(self.constants.values()))
        domains = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=domains, ir_version=8)


def _codes(weight: Array) -> tuple[Array, Array]:
    """Integers and a scale for each output channel (row) of a weight matrix."""
    scale = np.maximum(np.abs(weight).max(1), 1e-12) / WEIGHT_TOP
    return np.rint(weight / scale[:, None]), scale


def _distance_groups(length: int, count: int) -> Array:
    """(length, length): the group of the distance from each token to each other token, as in T5 and MPNet.

    Half of the groups are for tokens before, half for tokens after. In each half, half of the groups are single
    distances; the others become wider with the distance.
    """
    distance = np.arange(length) - np.arange(length)[:, None]
    half, single = count // 2, count // 4
    far = np.maximum(np.abs(distance), 1).astype(np.float32)
    wide = single + (np.log(far / single) / math.log(FARTHEST / single) * (half - single)).astype(np.int64)
    groups: Array = half * (distance > 0) + np.where(far < single, np.abs(distance), np.minimum(wide, half - 1))
    return groups
