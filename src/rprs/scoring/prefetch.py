"""Requests to memory for what a compiled loop will need soon.

A processor requests what follows in the same page by itself, but not what begins elsewhere: the postings of the next
term, or the next page of long ones. Without a request, a loop over thousands of terms waits for memory at each of them.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["prefetch"]

_READ, _KEEP, _DATA = 0, 3, 1  # what LLVM calls them: no write follows, needed soon, no instructions


def _prefetch(_: Any, array: Any, place: Any) -> Any:
    """Request the line of an array that has a place, which may lie beyond the end."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        content = context.make_array(signature.args[0])(context, builder, values[0])
        line, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(content.data, [values[1]]), line)
        form = ir.FunctionType(ir.VoidType(), (line, number, number, number))
        function = builder.module.declare_intrinsic("llvm.prefetch", (line,), form)
        builder.call(function, [address, *(ir.Constant(number, value) for value in (_READ, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.void(array, place), generate


def _not_compiled(array: Any, place: Any) -> None:
    """Nothing, where compilation is turned off."""


_config: Any = numba.config
prefetch: Any = _not_compiled if _config.DISABLE_JIT else intrinsic(_prefetch)
