"""The index, on disk or in memory: a catalog in SQLite and write-once segments of arrays."""

from rprs.index.reader import Index
from rprs.index.verify import verify
from rprs.index.writer import Added, Writer

__all__ = ["Added", "Index", "Writer", "verify"]
