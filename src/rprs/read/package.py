"""ZIP files that are documents (Word, Excel, PowerPoint, OpenDocument, EPUB), told apart by their parts."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from urllib.parse import unquote

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read import source as limits
from rprs.read.dates import iso_date
from rprs.read.source import Skipped, Source
from rprs.read.xml_tree import Element, local, parse

__all__ = ["Package", "read_zip"]

_BY_PART = {
    "word/document.xml": "rprs.read.docx:read_docx",
    "xl/workbook.xml": "rprs.read.sheets:read_xlsx",
    "xl/workbook.bin": "",
    "ppt/presentation.xml": "rprs.read.slides:read_pptx",
    "META-INF/container.xml": "rprs.read.epub:read_epub",
    "content.xml": "rprs.read.odf:read_odf",
}


def read_zip(source: Source) -> Iterator[Document | Skipped]:
    """The document in a ZIP file, or those of the members if it is an archive."""
    package = Package(source.data())
    part = next((part for part in _BY_PART if part in package.names), None)
    if part is None or (part == "content.xml" and "mimetype" not in package.names):
        from rprs.read.archive import read_archive

        yield from read_archive(source, package.archive)
        return
    if not _BY_PART[part]:
        raise ReadError("a binary Excel file (.xlsb): save it as .xlsx")
    package.check_size()
    module, _, function = _BY_PART[part].partition(":")
    yield getattr(import_module(module), function)(source, package)


class Package:
    """The parts of an office file, their relations, and the properties of the document."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.archive = zipfile.ZipFile(io.BytesIO(data))
        self.names = frozenset(self.archive.namelist())

    def check_size(self) -> None:
        """Reject a file whose parts are too large; zipfile never extracts more than the declared sizes."""
        if sum(part.file_size for part in self.archive.infolist()) > limits.LIMIT:
            raise ReadError(
                f"larger than {limits.LIMIT / 2**20:.0f} MB after unpacking: split it into several documents"
            )

    def part(self, name: str) -> bytes:
        """The bytes of a part; nothing if it does not exist."""
        return self.archive.read(name) if name in self.names else b""

    def xml(self, name: str) -> Element | None:
        """The root element of a part; None if it does not exist."""
        data = self.part(name)
        return parse(data) if data else None

    def require(self, name: str) -> Element:
        """The root element of a part without which a file is damaged."""
        root = self.xml(name)
        if root is None:
            raise ReadError(f"can't be opened; its part {name} is empty or missing")
        return root

    def related(self, part: str, kind: str) -> list[str]:
        """The parts to which a part refers by relations whose type ends in `kind`, in their order."""
        return [target for name, target in self.relations(part).values() if name.endswith(f"/{kind}")]

    def relations(self, part: str) -> Mapping[str, tuple[str, str]]:
        """The type and the target of each relation of a part, by its id."""
        folder, _, name = part.rpartition("/")
        root = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        found: dict[str, tuple[str, str]] = {}
        for relation in () if root is None else root:
            if local(relation) == "Relationship" and relation.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, unquote(relation.get("Target", ""))))
                found[relation.get("Id", "")] = relation.get("Type", ""), target.lstrip("/")
        return found

    @cached_property
    def properties(self) -> dict[str, str]:
        """The properties of an Office document: `title`, `creator`, `created`, …"""
        names = [name for name in self.related("", "core-properties") if name in self.names]
        root = self.xml(names[0] if names else "docProps/core.xml")
        return {} if root is None else {local(child): (child.text or "").strip() for child in root}

    def metadata(self) -> dict[str, Value]:
        """Author and date of an Office document."""
        values = {"author": self.properties.get("creator", ""), "date": iso_date(self.properties.get("created", ""))}
        return {name: value for name, value in values.items() if value}
