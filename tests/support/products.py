"""Products in 8 bits, on processors with instructions for them and on others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rprs.forks import PerProcess
from rprs.scoring import coarse

__all__ = ["InNumPy", "in_bytes"]


class InNumPy(coarse._Machine):
    """Exact products on any processor."""

    def __init__(self) -> None:
        super().__init__()
        self._is_fast, self._session = True, object()

    def multiply(self, codes: Any, signed: Any) -> Any:
        return (codes.astype(np.int32) - coarse.ZERO) @ signed.astype(np.int32)


def loaded() -> coarse._Machine:
    """ONNX Runtime's products, or None on a processor on which they are not used."""
    machine = coarse._Machine()
    if not machine.worth_using(coarse.WORTH_LOADING):
        pytest.skip("this processor does not multiply in 8 bits faster")
    return machine


@pytest.fixture(params=[InNumPy, loaded], ids=["numpy", "onnxruntime"], scope="module")
def in_bytes(request: pytest.FixtureRequest) -> Iterator[None]:
    """All lists are compared in 8 bits first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarse, "_machine", PerProcess(request.param))
        coarse._machine()
        yield
