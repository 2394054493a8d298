"""Running lists of the nearest sentences that compare them in 8 bits first, which some processors do far faster.

Every vector is rounded to 255 steps of its own size. How much the product of two rounded vectors can differ from their
similarity follows from the lengths of the vectors and of what rounding took away, by Cauchy-Schwarz:

    |q · d − q̂ · d̂| = |(q − q̂) · d + q̂ · (d − d̂)| ≤ |q − q̂| |d| + |q̂| |d − d̂|

Only where the product plus this bound reaches the last of a list is the similarity itself computed. On the grid of
`scoring.vectors`, it is exact in any order of addition, so the lists equal those of `NearestLists` to the last bit.

The products are ONNX Runtime's, whose kernels use the instructions for products of 8 bits (VNNI). Loading it takes as
long as a hundred short searches gain, so a process does it when it has compared that much. Other processors multiply
in 8 bits hardly faster than in float32, or with saturation; there, `NearestLists` are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.forks import PerProcess
from rprs.scoring.lists import POOL_ROWS, QUERY_ROWS, STRIDE, NearestLists, Wide, insert
from rprs.scoring.widening import as_float32

__all__ = [
    "CoarseLists",
    "Rounded",
    "bound",
    "lists_for",
    "multiply",
    "similarity_of",
    "similarity_of_half",
    "worth_using",
]

Codes = NDArray[np.uint8]
Halves = NDArray[np.uint16]  # the bits of float16
Products = NDArray[np.int32]
Ints = NDArray[np.int64]

LEAST_QUERIES = 32  # for fewer, rounding the pool takes longer than its products in float32
WORTH_LOADING = 5 * 10**9  # products of two numbers that take as long as loading ONNX Runtime
ZERO = 128  # the code of 0
_MARGIN = np.float32(2.0**-14)  # of the length of a vector: more than the arithmetic of the bound can be wrong by
_IN_ANY_ORDER = {"nnan", "ninf", "nsz", "reassoc", "contract"}


def lists_for(query: Wide, pool: int) -> type[NearestLists]:
    """The faster kind of lists for comparing a query with a pool of so many sentences in this process."""
    return CoarseLists if worth_using(query, pool) else NearestLists


def worth_using(query: Wide, pool: int) -> bool:
    """Whether a query is compared faster in 8 bits with a pool of so many sentences in this process."""
    if query.dtype != np.float32 or len(query) < LEAST_QUERIES:
        return False
    return _machine().worth_using(query.size * pool)


def multiply(codes: Codes, signed: NDArray[np.int8]) -> Products:
    """(rows, queries): the products of codes and of signed ones (queries, dimension), if that is worth using."""
    return _machine().multiply(codes, np.ascontiguousarray(signed.T))


class CoarseLists(NearestLists):
    """The same lists; a similarity is computed only where the product in 8 bits comes near the last of a list."""

    def __init__(self, query: Wide, n: int, block: int = POOL_ROWS) -> None:
        super().__init__(query, n, 0)
        rounded = Rounded.of(query)
        signed = rounded.signed
        tops = range(0, len(query), QUERY_ROWS)
        self._codes = [np.ascontiguousarray(signed[top : top + QUERY_ROWS].T) for top in tops]
        self._steps, self._errors = rounded.steps, rounded.errors
        self._reach = rounded.lengths + rounded.errors
        self._last = np.full(len(query), -np.inf, dtype=np.float32)  # similarity of the last of each list
        self._block = Rounded(block, query.shape[1])

    def update(self, rows: Wide, keys: Ints) -> None:
        """Compare further sentences, at most `block`, with their keys, which decide between equals."""
        block = self._block
        block.fill(rows)
        for number, codes in enumerate(self._codes):
            part = slice(number * QUERY_ROWS, number * QUERY_ROWS + codes.shape[1])
            _keep_near(
                _machine().multiply(block.codes[: len(rows)], codes),
                (block.steps, block.errors, block.lengths),
                (self._steps[part], self._errors[part], self._reach[part]),
                (rows, keys),
                self._query[part],
                (self.similarity[part], self.keys[part], self._last[part]),
            )


class Rounded:
    """Vectors in codes from 1 to 255, with the size of a step of each, its length and that of what is missing."""

    def __init__(self, count: int, dimension: int) -> None:
        self.codes = np.empty((count, dimension), dtype=np.uint8)
        self.steps, self.errors, self.lengths = (np.empty(count, dtype=np.float32) for _ in range(3))

    @classmethod
    def of(cls, rows: Wide) -> Rounded:
        """Those of some vectors."""
        rounded = cls(*rows.shape)
        rounded.fill(rows)
        return rounded

    @property
    def signed(self) -> NDArray[np.int8]:
        """The codes as numbers from -127 to 127."""
        return (self.codes ^ np.uint8(ZERO)).view(np.int8)

    def fill(self, rows: Wide) -> None:
        """Round as many vectors as there are, which replace the first ones."""
        _round(rows, self.codes, self.steps, self.errors, self.lengths)

    def fill_from_halves(self, halves: Halves, rows: Ints) -> None:
        """The same for some of the vectors that are stored as float16, whose wide form is not kept."""
        _round_halves(halves, rows, self.codes, self.steps, self.errors, self.lengths)


class _Machine:
    """Products in 8 bits on this machine, once a process has compared enough for them."""

    def __init__(self) -> None:
        self._compared = 0
        self._session: Any = None
        self._is_fast = _has_products_of_bytes()

    def worth_using(self, products: int) -> bool:
        """Whether to multiply in 8 bits, now that so many products of two numbers are wanted."""
        if self._is_fast and self._session is None:
            self._compared += products
            if self._compared >= WORTH_LOADING:
                self._session = _session()
                self._is_fast = self._is_right()
        return self._is_fast and self._session is not None

    def multiply(self, codes: Codes, signed: NDArray[np.int8]) -> Products:
        """(rows, queries): the products of the codes, less their zero, and of signed numbers (dimension, queries)."""
        products: Products = self._session.run(None, {"rows": codes, "queries": signed})[0]
        return products

    def _is_right(self) -> bool:
        """Whether the largest numbers are multiplied without saturation."""
        rows = np.tile(np.array([[1], [255]], dtype=np.uint8), 64)
        queries = np.tile(np.array([[-127, 127]], dtype=np.int8), (64, 1))
        return bool((self.multiply(rows, queries) == 64 * 127 * 127 * np.array([[1, -1], [-1, 1]])).all())


_machine = PerProcess(_Machine)


def _has_products_of_bytes() -> bool:
    """Whether the processor has instructions that multiply and add bytes without saturation, on vectors."""
    from llvmlite import binding

    features: dict[str, bool] = binding.get_host_cpu_features()
    return any(features.get(name) for name in ("avx512vnni", "avxvnni"))


def _session() -> Any:
    """A session of ONNX Runtime with the one operation that is needed, on the thread that calls it."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    inputs = (("rows", TensorProto.UINT8), ("queries", TensorProto.INT8))
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["rows", "queries", "zero"], ["products"])],
        "products",
        [helper.make_tensor_value_info(name, kind, [None, None]) for name, kind in inputs],
        [helper.make_tensor_value_info("products", TensorProto.INT32, [None, None])],
        [numpy_helper.from_array(np.array(ZERO, dtype=np.uint8), "zero")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


# ---------------------------------------------------------------------------- compiled


@compiled(fastmath=_IN_ANY_ORDER)
def _round(rows, codes, steps, errors, lengths):  # type: ignore[no-untyped-def]
    """Round each vector to multiples of 1/127 of its largest entry."""
    for row in range(rows.shape[0]):
        steps[row], errors[row], lengths[row] = _round_one(rows[row], codes[row])


@compiled(fastmath=_IN_ANY_ORDER)
def _round_halves(halves, rows, codes, steps, errors, lengths):  # type: ignore[no-untyped-def]
    """The same for some rows of float16, one of which is wide at a time."""
    wide = np.empty(halves.shape[1], dtype=np.float32)
    for row in range(len(rows)):
        own = halves[rows[row]]  # a loop over one row compiles to vector instructions
        for column in range(own.size):
            wide[column] = as_float32(own[column])
        steps[row], errors[row], lengths[row] = _round_one(wide, codes[row])


@compiled(inline="always")
def _round_one(own, codes):  # type: ignore[no-untyped-def]
    """The size of a step, the length of what rounding takes away, and the length of a vector."""
    bits, largest = own.view(np.int32), np.int32(0)
    for column in range(bits.size):  # the bits of numbers without their signs are in the order of the numbers
        largest = max(largest, bits[column] & np.int32(0x7FFFFFFF))
    step = np.int32(largest).view(np.float32) / np.float32(127) if largest else np.float32(1)
    factor, error, length = np.float32(1) / step, np.float32(0), np.float32(0)
    for column in range(own.size):
        code = np.int32(own[column] * factor + np.float32(ZERO + 0.5))
        codes[column] = code
        rest = own[column] - np.float32(code - np.int32(ZERO)) * step
        error += rest * rest
        length += own[column] * own[column]
    length = np.sqrt(length)
    return step, np.sqrt(error) + length * _MARGIN, length


@compiled
def _keep_near(products, of_rows, of_queries, pool, query, lists):  # type: ignore[no-untyped-def]
    """Insert those sentences of a block into the lists that belong there; `products` are rows × query sentences."""
    steps, errors, lengths = of_queries
    rows, keys = pool
    best, where, worst = lists
    last = best.shape[1] - 1
    for row in range(products.shape[0]):
        step, error, length = of_rows[0][row], of_rows[1][row], of_rows[2][row]
        for start in range(0, products.shape[1], STRIDE):
            part = slice(start, start + STRIDE)
            own, most = products[row, part], worst[part]
            parts = steps[part], errors[part], lengths[part]
            if not _any_near(own, step, error, length, parts, most):
                continue
            for place in range(own.size):
                if bound(own[place], step, error, length, parts, place) >= most[place]:
                    similarity, key, column = similarity_of(rows[row], query[start + place]), keys[row], start + place
                    if similarity > most[place] or (similarity == most[place] and key < where[column, last]):
                        insert(best[column], where[column], similarity, key)
                        most[place] = best[column, last]


@compiled(inline="always")
def bound(product, step, error, length, parts, place):  # type: ignore[no-untyped-def]
    """The most that the similarity of two vectors can be."""
    steps, errors, lengths = parts
    return np.float32(product) * (step * steps[place]) + (errors[place] * length + lengths[place] * error)


@compiled
def _any_near(products, step, error, length, parts, worst):  # type: ignore[no-untyped-def]
    """Whether any sentence may enter a list; without a branch, so that it compiles to vector instructions."""
    found = np.int32(0)
    for place in range(products.size):
        found |= np.int32(bound(products[place], step, error, length, parts, place) >= worst[place])
    return found != 0


@compiled(fastmath=_IN_ANY_ORDER)
def similarity_of(row, query):  # type: ignore[no-untyped-def]
    """The similarity of two vectors, which is exact on the grid."""
    total = np.float32(0)
    for column in range(row.size):
        total += row[column] * query[column]
    return total


@compiled(fastmath=_IN_ANY_ORDER)
def similarity_of_half(half, query):  # type: ignore[no-untyped-def]
    """The same with a vector that is stored as float16."""
    total = np.float32(0)
    for column in range(half.size):
        total += as_float32(half[column]) * query[column]
    return total
