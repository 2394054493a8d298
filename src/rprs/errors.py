"""Every error that rprs raises on purpose.

RprsError                 all of them: one line that says what, which value, what to do
├── UsageError            an argument or a setting is wrong
│   └── NoDocument        the index has no document of that id
├── ReadError             a file cannot be read as a document
├── ModelError            the weights of an encoder cannot be had, or are not the right ones
├── MissingExtra          an optional package is needed; the message has its pip line
├── InvalidIndex           the index on disk cannot be used
│   ├── IndexLocked       another process is writing to it
│   ├── IndexMismatch     it was made with another format, splitter, analyzer or encoder
│   ├── IndexCorrupt      a file of it is missing or damaged
│   └── DiskFull          nothing was committed; free some space and run again
├── EmptyQuery            the query has no sentences
└── ServiceError          a server cannot do it, or not now
    ├── Busy              too many requests at once; try again later
    ├── Cancelled         it was stopped on request
    ├── NotAllowed        a token is missing or wrong, or the server takes no changes
    ├── TooLarge          a request is larger than the server takes
    └── TooLong           it took longer than the server allows
"""

from __future__ import annotations

__all__ = [
    "Busy",
    "Cancelled",
    "DiskFull",
    "EmptyQuery",
    "IndexCorrupt",
    "IndexLocked",
    "IndexMismatch",
    "InvalidIndex",
    "MissingExtra",
    "ModelError",
    "NoDocument",
    "NotAllowed",
    "ReadError",
    "RprsError",
    "ServiceError",
    "TooLarge",
    "TooLong",
    "UsageError",
]


class RprsError(Exception):
    """An error that a user can act on: its text is one plain line."""


class UsageError(RprsError):
    """An argument or a setting is wrong."""


class NoDocument(UsageError):
    """The index has no document of that id."""


class ReadError(RprsError):
    """A file cannot be read as a document."""


class ModelError(RprsError):
    """The weights of an encoder cannot be had, or are not the right ones."""


class MissingExtra(RprsError):
    """An optional package is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        line = f"pip install 'rprs[{extra}]' (in a clone: '.[{extra}]')"
        super().__init__(f"{what} needs {package}, which is not installed: {line}")


class InvalidIndex(RprsError):
    """The index on disk cannot be used."""


class IndexLocked(InvalidIndex):
    """Another process is writing to the index."""


class IndexMismatch(InvalidIndex):
    """The index was made with another format, splitter, analyzer or encoder."""


class IndexCorrupt(InvalidIndex):
    """A file of the index is missing or damaged."""


class DiskFull(InvalidIndex):
    """The disk is full: nothing was committed."""


class EmptyQuery(RprsError):
    """The query has no sentences."""


class ServiceError(RprsError):
    """A server cannot do it, or not now."""


class Busy(ServiceError):
    """Too many requests at once."""


class Cancelled(ServiceError):
    """The work was stopped on request."""


class NotAllowed(ServiceError):
    """A token is missing or wrong, or the server takes no changes."""


class TooLarge(ServiceError):
    """A request is larger than the server takes."""


class TooLong(ServiceError):
    """The work took longer than the server allows."""
