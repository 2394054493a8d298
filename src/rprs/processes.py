"""The environment of processes that run our own modules."""

from __future__ import annotations

import os
import sys

__all__ = ["environment"]


def environment(**variables: str) -> dict[str, str]:
    """The environment of a process that is started with `python -P -m` and one of our modules."""
    return {
        **os.environ,
        **variables,
        # The same modules as here, not those of the current folder (-P).
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),  # noqa: PTH100  # an entry may be ""
        # OpenBLAS would reserve address space for a thread per core.
        "OPENBLAS_NUM_THREADS": "1",
    }
