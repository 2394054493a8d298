"""Logarithms and exponentials that are the same to the last bit on every processor.

Those of NumPy and of the C library choose other instructions on other processors (AVX-512, FMA), and in some hundredths
of all values the last bit differs. Scores would then depend on the machine, and an index or a cluster of several
machines would not rank as one. Here, everything is computed by additions, multiplications and divisions of float64,
which IEEE 754 defines exactly, in an order that the compiler must not change. Results are nearly always rounded
correctly: intermediate values are sums of two numbers (Dekker 1971), of about 106 bits.

    ln x = e · ln 2 − ln c + ln(1 + r)      x = 2^e · m,  c ≈ 1 / m from a table,  r = m · c − 1
    e^x  = 2^k · t · e^r                    t = 2^(j/64) from a table,  r = x − (k + j / 64) · ln 2
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled

__all__ = ["exp", "exp_of", "log", "log1p", "log2", "log_of"]

Floats = NDArray[np.float64]

STEPS = 128  # intervals of m, of [1, 2)
PARTS = 64  # of an exponent
NEAR = 2.0**-8  # a smaller |x − 1| is r itself
_SPLIT = 2.0**27 + 1


def _two(values: Sequence[Decimal]) -> tuple[Floats, Floats]:
    """Numbers as the sums of two floats."""
    high = [float(value) for value in values]
    return np.array(high), np.array([float(value - Decimal(each)) for value, each in zip(values, high, strict=True)])


with localcontext() as _context:
    _context.prec = 50
    _LN2 = Decimal(2).ln()
    _FACTORS = np.array([1 / (1 + (step + 0.5) / STEPS) for step in range(STEPS)])
    _TABLE_HIGH, _TABLE_LOW = _two([-Decimal(each).ln() for each in _FACTORS.tolist()])
    _POWER_HIGH, _POWER_LOW = _two([(_LN2 * part / PARTS).exp() for part in range(PARTS)])
    _LN2_HIGH = float(int(_LN2 * 2**40)) / 2**40  # few bits, so that its product with an exponent is exact
    _LN2_LOW = float(_LN2 - Decimal(_LN2_HIGH))
    _PART_HIGH = float(int(_LN2 / PARTS * 2**42)) / 2**42
    _PART_LOW = float(_LN2 / PARTS - Decimal(_PART_HIGH))
    _PER_PART = float(PARTS / _LN2)
    _PER_LN2 = float(1 / _LN2)


def log(values: NDArray[Any] | float) -> Floats:
    """ln x, in the shape of the values."""
    return _mapped(_log_all, values)


def log1p(values: NDArray[Any] | float) -> Floats:
    """ln(1 + x), also for small x."""
    return _mapped(_log1p_all, values)


def exp(values: NDArray[Any] | float) -> Floats:
    """e^x."""
    return _mapped(_exp_all, values)


def log2(value: float) -> float:
    """The logarithm to base 2 of a number above 0: exact for powers of two."""
    fraction, exponent = math.frexp(value)
    return exponent - 1 + float(log_of(2 * fraction)) * _PER_LN2


def _mapped(function: Any, values: NDArray[Any] | float) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    result = np.empty(array.size, dtype=np.float64)
    function(array.ravel(), result)
    return result.reshape(np.shape(values))


# ---------------------------------------------------------------------------- compiled


@compiled(inline="always")
def _sum(a, b):  # type: ignore[no-untyped-def]
    """a + b exactly, as the sum of two numbers (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


@compiled(inline="always")
def _product(a, b):  # type: ignore[no-untyped-def]
    """a · b exactly, as the sum of two numbers (Veltkamp, Dekker)."""
    product = a * b
    wide = _SPLIT * a
    a_high = wide - (wide - a)
    a_low = a - a_high
    wide = _SPLIT * b
    b_high = wide - (wide - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def _log(high, low):  # type: ignore[no-untyped-def]
    """ln(high + low), for a normal number above 0 and a much smaller correction."""
    exponent, base, base_low = 0.0, 0.0, 0.0
    if 1 - NEAR < high < 1 + NEAR:
        r, r_low = _sum(high - 1, low)
    else:
        bits = np.float64(high).view(np.int64)
        exponent = np.float64((bits >> 52) - 1023)
        mantissa = np.int64((bits & 0xFFFFFFFFFFFFF) | (1023 << 52)).view(np.float64)
        place = (bits >> 45) & (STEPS - 1)
        r, r_low = _product(mantissa, _FACTORS[place])
        r, r_low = _sum(r - 1, r_low + low * (mantissa / high) * _FACTORS[place])
        base, base_low = _TABLE_HIGH[place], _TABLE_LOW[place]
    square, square_low = _product(r, r)
    # ln(1 + r) − r + r² / 2
    tail = 1 / 5 + r * (-1 / 6 + r * (1 / 7 + r * (-1 / 8 + r * (1 / 9 + r * (-1 / 10)))))
    tail = square * r * (1 / 3 + r * (-1 / 4 + r * tail))
    small = tail + ((r_low - r * r_low) - 0.5 * square_low)
    total, rest = _sum(exponent * _LN2_HIGH, base)
    rest += exponent * _LN2_LOW + base_low
    total, more = _sum(total, r)
    rest += more
    total, more = _sum(total, -0.5 * square)
    return total + (rest + (more + small))


@compiled
def log_of(value):  # type: ignore[no-untyped-def]
    """ln of one number."""
    if not 0 < value < np.inf:
        if value == 0:
            return -np.inf
        return value if value > 0 else np.nan
    if value < 2.0**-1022:  # too small for all digits
        return _log(value * 2.0**54, 0.0) - 54 * (_LN2_HIGH + _LN2_LOW)
    return _log(value, 0.0)


@compiled
def exp_of(value):  # type: ignore[no-untyped-def]
    """e to the power of one number."""
    if not -745.2 < value < 709.79:
        return np.nan if value != value else (0.0 if value < 0 else np.inf)
    parts = np.rint(value * _PER_PART)
    r = value - parts * _PART_HIGH
    correction = parts * _PART_LOW
    low = r
    r = r - correction
    low = (low - r) - correction
    growth = r + (r * r * (0.5 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720))))) + low)
    number = np.int64(parts)
    place = number & (PARTS - 1)
    result = _POWER_HIGH[place] + (_POWER_LOW[place] + _POWER_HIGH[place] * growth)
    exponent = (number - place) // PARTS
    first = exponent // 2  # in two factors, since 2^exponent alone may be too large or too small
    for half in (first, exponent - first):
        result *= np.int64((half + 1023) << 52).view(np.float64)
    return result


@compiled
def _log_all(values, results):  # type: ignore[no-untyped-def]
    for place in range(values.size):
        results[place] = log_of(values[place])


@compiled
def _log1p_all(values, results):  # type: ignore[no-untyped-def]
    for place in range(values.size):
        value = values[place]
        if -1 < value < 2.0**1000:
            high, low = _sum(1.0, value)
            results[place] = _log(high, low)
        else:
            results[place] = log_of(1 + value)


@compiled
def _exp_all(values, results):  # type: ignore[no-untyped-def]
    for place in range(values.size):
        results[place] = exp_of(values[place])
