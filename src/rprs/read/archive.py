"""ZIP and tar archives → the documents of their members, without writing anything to disk.

The number of members and their size after decompression are limited, for all archives inside of one file together: a
decompression bomb costs what the limit allows and no more.
"""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO, Any

from rprs.document import Document
from rprs.errors import ReadError
from rprs.progress import counted
from rprs.read import source as limits
from rprs.read.members import Names, read_member
from rprs.read.source import Skipped, Source
from rprs.read.storable import reason

__all__ = ["read_archive", "read_tar"]


def read_archive(source: Source, archive: zipfile.ZipFile) -> Iterator[Document | Skipped]:
    """The members of a ZIP archive, in their order there."""
    names = Names()
    for member in counted(archive.infolist(), source.path, "members"):
        if member.is_dir():
            continue
        name = names.unique(_decoded(member), "unnamed")
        if member.flag_bits & 1:
            yield Skipped(f"{source.path}/{name}", "encrypted: unpack the archive with its password")
            continue
        try:
            with archive.open(member) as stream:
                data = _bounded(stream, source)
        except Exception as error:  # as for files: a damaged member must not stop the reading of the others
            yield Skipped(f"{source.path}/{name}", reason(error))
            if source.budget.bytes < 0 or source.budget.members < 0:
                return
            continue
        yield from read_member(source, name, data, {"path": f"{source.path}/{name}", "archive": source.id})


def _decoded(member: zipfile.ZipInfo) -> str:
    """The name of a member: not marked as UTF-8, it is often UTF-8 or Windows, although the standard says CP437."""
    if member.flag_bits & 0x800 or member.filename.isascii():
        return member.filename
    raw = member.filename.encode("cp437", "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return member.filename


def read_tar(source: Source) -> Iterator[Document | Skipped]:
    """The members of a tar archive, also compressed with gzip, bzip2 or xz."""
    names = Names()
    with tarfile.open(fileobj=source.stream, mode="r|*", bufsize=2**16) as archive:
        for member in counted(archive, source.path, "members"):
            if not member.isfile() or member.issparse():
                continue
            name = names.unique(member.name, "unnamed")
            stream: Any = archive.extractfile(member)
            try:
                data = _bounded(stream, source)
            except ReadError as error:
                yield Skipped(f"{source.path}/{name}", str(error))
                if source.budget.bytes < 0 or source.budget.members < 0:
                    return
                continue
            yield from read_member(source, name, data, {"path": f"{source.path}/{name}", "archive": source.id})


def _bounded(stream: IO[bytes], source: Source) -> bytes:
    """The bytes of a member, as long as the limits on members and bytes of the whole file are kept."""
    budget = source.budget
    budget.members -= 1
    if budget.members < 0:
        raise ReadError(f"too many members: no more than {limits.Budget().members:,} of an archive are read")
    data = stream.read(min(limits.LIMIT, budget.bytes) + 1)
    budget.bytes -= len(data)
    if budget.bytes < 0:
        raise ReadError(f"larger than {limits.Budget().bytes / 2**20:,.0f} MB after unpacking: the rest is not read")
    if len(data) > limits.LIMIT:
        raise ReadError(f"larger than {limits.LIMIT / 2**20:.0f} MB: split it into several documents")
    return data
