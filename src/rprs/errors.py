"""All errors that rprs raises deliberately.

RprsError                 base class: one line with the problem, the value and what to do
├── UsageError            an argument or a setting is wrong
│   ├── NoDocument        the index has no document of that id
│   └── NoCollection      the server has no collection of that name
├── ReadError             a file cannot be read as a document
├── ModelError            the weights of a model are not available or not the right ones
├── MissingExtra          an optional package is needed; the message has the pip command
├── InvalidIndex          the index on disk cannot be used
│   ├── IndexLocked       another process is writing to it
│   ├── IndexMismatch     it has another format, splitter, analyzer or encoder
│   ├── IndexCorrupt      one of its files is missing or damaged
│   └── DiskFull          the last change was not committed; free some space and run again
├── EmptyQuery            the query has no sentences
├── InvalidMatter         the file of a matter cannot be used
│   └── MatterConflict    it was saved elsewhere in the meantime
├── StoreError            the folder or object store of a cluster cannot be used, or a file there is damaged
└── ServiceError          a server cannot answer a request
    ├── Busy              too many requests at once; try again later
    ├── Cancelled         the request was cancelled
    ├── NotAllowed        a token is missing or wrong, or the server is read-only
    ├── ShardUnavailable  no replica of a shard of a cluster is left; there are no partial answers
    ├── TooLarge          the request is larger than the server accepts
    └── TooLong           the request took longer than the server allows
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
    "InvalidMatter",
    "MatterConflict",
    "MissingExtra",
    "ModelError",
    "NoCollection",
    "NoDocument",
    "NotAllowed",
    "ReadError",
    "RprsError",
    "ServiceError",
    "ShardUnavailable",
    "StoreError",
    "TooLarge",
    "TooLong",
    "UsageError",
]


class RprsError(Exception):
    """An error that a user can act on; its message is one line."""


class UsageError(RprsError):
    """An argument or a setting is wrong."""


class NoDocument(UsageError):
    """The index has no document of that id."""


class NoCollection(UsageError):
    """The server has no collection of that name."""


class ReadError(RprsError):
    """A file cannot be read as a document."""


class ModelError(RprsError):
    """The weights of a model are not available or not the right ones."""


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
    """The index has another format, splitter, analyzer or encoder."""


class IndexCorrupt(InvalidIndex):
    """A file of the index is missing or damaged."""


class DiskFull(InvalidIndex):
    """The disk is full; the last change was not committed."""


class EmptyQuery(RprsError):
    """The query has no sentences."""


class InvalidMatter(RprsError):
    """The file of a matter is missing, damaged, or of a newer version."""


class MatterConflict(InvalidMatter):
    """The file of a matter was saved elsewhere since it was read."""


class StoreError(RprsError):
    """The folder or object store of a cluster cannot be used, or a file there is missing or damaged."""


class ServiceError(RprsError):
    """A server cannot answer a request."""


class Busy(ServiceError):
    """Too many requests at once."""


class Cancelled(ServiceError):
    """The request was cancelled."""


class NotAllowed(ServiceError):
    """A token is missing or wrong, or the server is read-only."""


class ShardUnavailable(ServiceError):
    """No replica of a shard can answer, or none has within `seconds`, although it was at work."""

    def __init__(self, shard: str, seconds: float | None = None) -> None:
        if seconds is None:
            message = f"No replica of the shard {shard} is left: start one, then try again"
        else:
            message = (
                f"The shard {shard} has not answered within {seconds:g} seconds, although a replica was at work: "
                "try again when the cluster is less busy, or build it with more shards on more cores"
            )
        super().__init__(message)
        self.shard, self.seconds = shard, seconds

    def __reduce__(self) -> tuple[type[ShardUnavailable], tuple[str, float | None]]:
        return type(self), (self.shard, self.seconds)


class TooLarge(ServiceError):
    """The request is larger than the server accepts."""


class TooLong(ServiceError):
    """The request took longer than the server allows."""
