"""Files inside of files: members of archives and attachments of messages, each a document of its own.

A member gets the id and path of its container, a slash and its own name: `archive.zip/inner.pdf`. One member that can't
be read is reported like a file, and the others are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rprs.document import Document, Metadata
from rprs.errors import ReadError
from rprs.read.encoding import clean
from rprs.read.kinds import is_passed_over, read_any
from rprs.read.source import Skipped, Source
from rprs.read.storable import reason, storable

__all__ = ["ATTACHED", "DEPTH", "Names", "is_attached", "read_member"]

DEPTH = 4  # archives and messages inside of each other
ATTACHED = "attached_to"  # the metadata field with the id of the message


def is_attached(document: Document, message: Document) -> bool:
    """Whether a document is an attachment of a message, or part of one."""
    container = str(document.metadata.get(ATTACHED, ""))
    return container == message.id or container.startswith(f"{message.id}/")


def read_member(source: Source, name: str, data: bytes, metadata: Metadata) -> Iterator[Document | Skipped]:
    """The documents of a member of the file `source`, with `metadata` about the container."""
    if any(map(is_passed_over, name.split("/"))):
        return
    member = source.inside(name, data)
    try:
        if member.depth > DEPTH:
            raise ReadError(f"more than {DEPTH} archives or messages inside of each other")
        yield from storable(read_any, member, metadata)
    except Exception as error:  # as for files: one damaged member must not stop the reading of the others
        yield Skipped(member.path, reason(error))


class Names:
    """Names of members that can be parts of ids: without `..` and drive letters, and each different."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def unique(self, name: str, default: str) -> str:
        """The name in a usable form; a repeated one gets a number before its suffix."""
        parts = re.split(r"[/\\]+", " ".join(clean(name).split()))
        usable = "/".join(part for part in parts if part not in ("", ".", "..") and not part.endswith(":")) or default
        times = self._used[usable] = self._used.get(usable, 0) + 1
        if times == 1:
            return usable
        stem, dot, suffix = usable.rpartition(".")
        return self.unique(f"{stem} ({times}).{suffix}" if dot else f"{usable} ({times})", default)
