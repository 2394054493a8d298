"""Data frames for those who work with pandas, which is optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rprs.errors import MissingExtra

__all__ = ["data_frame"]


def data_frame(purpose: str, columns: Mapping[str, Sequence[Any]]) -> Any:
    """A pandas DataFrame of columns of equal length; `purpose` is named in the error if pandas is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra(purpose, "pandas", "pandas") from error
    return pandas.DataFrame(dict(columns))
