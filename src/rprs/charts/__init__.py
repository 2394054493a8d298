"""Coverage charts: a document row by row, with the sources that cover each row, and as Word file and CSV."""

from __future__ import annotations

__all__ = ["SOURCES"]

SOURCES = 20  # of a chart, unless other numbers are asked for
