"""Logarithms and exponentials against 60 digits, and weights with and without a processor's special instructions."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy._core._multiarray_umath import (  # type: ignore[import-not-found]  # it has no stub
    __cpu_dispatch__,
    __cpu_features__,
)

from rprs.scoring.logarithms import exp, log, log1p, log2

POSITIVE = st.floats(min_value=1e-300, max_value=1e300)


def error(value: float, exact: Decimal) -> float:
    """How far a float is from a number, in units of the last bit."""
    return abs(float((Decimal(value) - exact) / Decimal(float(np.spacing(abs(float(exact)) or 1e-300)))))


@given(st.one_of(POSITIVE, st.floats(0.9, 1.1), st.integers(1, 10**9).map(float)))
def test_logarithms_are_rounded_correctly(value: float) -> None:
    with localcontext() as context:
        context.prec = 60
        assert error(float(log(value)), Decimal(value).ln()) <= 0.501


@given(st.one_of(st.floats(1e-300, 1e300), st.floats(-0.99, 2)))
def test_logarithms_of_one_more_are_rounded_correctly(value: float) -> None:
    with localcontext() as context:
        context.prec = 400
        assert error(float(log1p(value)), (1 + Decimal(value)).ln()) <= 0.501


@given(st.floats(-700, 700))
def test_exponentials_are_nearly_always_rounded_correctly(value: float) -> None:
    with localcontext() as context:
        context.prec = 60
        assert error(float(exp(value)), Decimal(value).exp()) <= 0.52


def test_limits_and_shapes() -> None:
    assert np.array_equal(log(np.array([0.0, -1.0, np.inf, np.nan, 1.0])), [-np.inf, np.nan, np.inf, np.nan, 0.0], True)
    assert np.array_equal(exp(np.array([-800.0, 800.0, np.nan, 0.0])), [0.0, np.inf, np.nan, 1.0], True)
    assert np.array_equal(log1p(np.array([-1.0, 0.0, np.inf, 1e-300])), [-np.inf, 0.0, np.inf, 1e-300])
    assert float(log(5e-324)) == pytest.approx(-744.44007192138)
    assert log(np.ones((2, 3))).shape == (2, 3)
    assert [log2(2.0**exponent) for exponent in range(40)] == list(range(40))


WEIGHTS = """
import hashlib
import numpy as np
import rprs
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from rprs.scoring import blend, bm25, cosine, fuse, steering

random = np.random.default_rng(7)
df = random.integers(1, 10**6, 20000)
scores = random.random(20000)
arrays = [
    bm25.rsj(df, 10**6), cosine.idf(df, 10**6), cosine.sublinear(df), cosine.LOGARITHMS, fuse.zscore(scores),
    bm25.kli(df % 9 + 1, df, 10**5, 10**9, 0.4), blend.geometric(scores, scores[::-1].copy(), 0.3),
    fuse.mix(scores, scores[::-1], 0.4, "zscore"), steering.combined([scores, scores[::-1]], [1.0, 0.25]),
]
words = [f"w{number % 97} v{number % 31}" for number in range(4000)]
index = rprs.Index.in_memory({f"d{n}": ". ".join(words[n * 40 : n * 40 + 90]) for n in range(90)},
                             encoder="hashed(dimension=16)")
for system in ("default", "paper"):
    ranking = rprs.Searcher(index, system).rank(". ".join(words[7:99:3]))
    arrays += [ranking.scores, np.array([int(id[1:]) for id in ranking.ids])]
print([name for name in __cpu_dispatch__ if __cpu_features__.get(name)])
print([hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16] for array in arrays])
"""


def weights(**variables: str) -> tuple[str, str]:
    """The instructions beyond the usual that NumPy uses, and the digests of weights and rankings."""
    command = [sys.executable, "-c", WEIGHTS]
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": "", **variables}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    used, digests = found.stdout.splitlines()
    assert digests.count("'") == 2 * 13
    return used, digests


def test_weights_do_not_depend_on_the_instructions_of_the_processor() -> None:
    """Once with all that NumPy uses on this machine, such as AVX-512, and once without each of them."""
    present = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    used, expected = weights()
    assert used == str(present)
    for first in range(len(present)):  # they build on one another
        used, digests = weights(NPY_DISABLE_CPU_FEATURES=" ".join(present[first:]))
        assert used == str(present[:first])
        assert digests == expected


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86 processor")
def test_weights_do_not_depend_on_the_instructions_of_compiled_kernels(tmp_path: Path) -> None:
    """Numba and OpenBLAS without AVX and FMA; all kernels are compiled anew."""
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "OPENBLAS_CORETYPE": "Prescott"}
    assert weights(**plain, NUMBA_CACHE_DIR=str(tmp_path)) == weights()
