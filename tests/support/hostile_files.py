"""Files designed to harm a reader."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import cache

from tests.support import office_samples as samples


def _pdf(content: bytes, filters: str) -> bytes:
    """A PDF of one page with a compressed content stream."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
        f"<< /Length {len(content)} /Filter {filters} >>\nstream\n".encode() + content + b"\nendstream",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + each + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = (
        f"xref\n0 6\n0000000000 65535 f \n{table}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    )
    return out + trailer.encode()


@cache
def bomb() -> bytes:
    """A PDF of a few kB whose page unpacks to 2 GB: uncompressed blocks, repeated 128 times."""
    packer, times = zlib.compressobj(9), 128
    block = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = (times * 2**24 % 65521 << 16 | 1).to_bytes(4)  # Adler-32 of so many zeros
    page = block[:2] + block[2:] * times + b"\x03\x00" + checksum
    return _pdf(zlib.compress(page, 9), "[/FlateDecode /FlateDecode]")


@cache
def nested() -> bytes:
    """A PDF whose page opens arrays and never closes them."""
    return _pdf(zlib.compress(b"BT " + b"[" * 200_000 + b" ET"), "/FlateDecode")


@cache
def endless() -> bytes:
    """A PDF of 150 kB that takes minutes to read."""
    return _pdf(zlib.compress(b"BT /F1 11 Tf (aa) Tj T* ET q Q " * 2_000_000, 9), "/FlateDecode")


@cache
def cyclic() -> bytes:
    """A PDF whose page tree contains itself."""
    return (
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        b"2 0 obj\n<< /Type /Pages /Kids [2 0 R] /Count 1 >>\nendobj\n"
        b"trailer\n<< /Root 1 0 R /Size 3 >>\nstartxref\n0\n%%EOF\n"
    )


@cache
def swollen() -> bytes:
    """JSON of 30 MB that needs a gigabyte of memory as objects."""
    return b"[" + b"{}," * 10_000_000 + b"{}]"


# ---------------------------------------------------------------------------- files of offices


def _zip(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, data in parts.items():
            packed.writestr(name, data)
    return out.getvalue()


_LAUGHS = (
    b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha ha ha ha ha ha ha ha ha ha">"""
    + b"".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">'.encode() for n in range(12))
    + b"]>"
)
_BIG = 260 * 2**20  # more than the largest file that is read


def _bomb(**parts: bytes) -> bytes:
    """An office file with a part that unpacks to more than any file may."""
    return _zip({name.replace("__", "/").replace("_", "."): data or bytes(_BIG) for name, data in parts.items()})


def _nested() -> bytes:
    data = _zip({"a.txt": b"deep"})
    for _ in range(50):
        data = _zip({"a.zip": data, "b.zip": data} if len(data) < 2**16 else {"a.zip": data})
    return data


def _slides() -> bytes:
    space = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    slides = b"<a xmlns:r='" + space + b"'>" + b"<sldId r:id='s'/>" * 10_000 + b"</a>"
    relation = b"<a><Relationship Id='s' Type='x/slide' Target='presentation.xml'/></a>"
    return _zip({"ppt/presentation.xml": slides, "ppt/_rels/presentation.xml.rels": relation})


def _rows() -> bytes:
    space = b"xmlns:table='urn:oasis:names:tc:opendocument:xmlns:table:1.0'"
    row = b"<table:table-row table:number-rows-repeated='9999999'><table:table-cell/></table:table-row>"
    return _zip({"mimetype": b"x", "content.xml": b"<a " + space + b">" + row * 1000 + b"</a>"})


def _links() -> bytes:
    """A tar archive with links to itself and to a file of the system."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as packed:
        for name, target in (("a.txt", "a.txt"), ("b.txt", "/etc/passwd"), ("c.txt", "../../../../etc/passwd")):
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                member = tarfile.TarInfo(name)
                member.type, member.linkname = kind, target
                packed.addfile(member)
    return out.getvalue()


def _fixture(name: str) -> bytes:
    return (samples.FIXTURES / name).read_bytes()


_MESSAGE = b"From: a\nTo: b\nSubject: c\n"
_PATENT = b"<us-patent-grant><abstract><p>&m;</p></abstract></us-patent-grant>"
_STOLEN = b"<!DOCTYPE a [<!ENTITY m SYSTEM 'file:///etc/passwd'>]>" + _PATENT

# Bombs, loops, broken streams and deep nesting, at least one of each kind of office file.
OFFICE: dict[str, Callable[[], bytes]] = {
    "bomb.zip": lambda: _zip({f"{number}.txt": bytes(_BIG) for number in range(3)}),
    "bomb.tgz": lambda: gzip.compress(samples.tar({"a.txt": bytes(_BIG)}), 1),
    "bomb.docx": lambda: _bomb(word__document_xml=b""),
    "bomb.odt": lambda: _bomb(mimetype=b"x", content_xml=b""),
    "bomb.pptx": lambda: _bomb(ppt__presentation_xml=b""),
    "bomb.epub": lambda: _bomb(mimetype=b"application/epub+zip", **{"META-INF__container_xml": b""}),
    "bomb.tbz2": lambda: bz2.compress(samples.tar({"a.txt": bytes(_BIG)}), 1),
    "bomb.xlsx": lambda: _bomb(xl__workbook_xml=b"<a/>", xl__sharedStrings_xml=b""),
    "laughs.docx": lambda: _zip({"word/document.xml": _LAUGHS + b"<a>&m;</a>"}),
    "laughs.odt": lambda: _zip({"mimetype": b"x", "content.xml": _LAUGHS + b"<a>&m;</a>"}),
    "laughs.xlsx": lambda: _zip({"xl/workbook.xml": _LAUGHS + b"<a>&m;</a>"}),
    "laughs.xml": lambda: _LAUGHS + _PATENT,
    "laughs.nxml": lambda: _LAUGHS + b"<article><front><article-title>&m;</article-title></front></article>",
    "file.xml": lambda: _STOLEN,
    "deep.xml": lambda: b"<us-patent-grant>" + b"<abstract>" * 100_000,
    "rows.ods": _rows,
    "loop.epub": lambda: _zip({"META-INF/container.xml": b"<a><rootfile full-path='META-INF/container.xml'/></a>"}),
    "loop.pptx": _slides,
    "nested.zip": _nested,
    "members.zip": lambda: _zip({f"{number}.txt": b"word" for number in range(11_000)}),
    "loop.doc": lambda: _looping(_fixture("letter.doc")),
    "cut.doc": lambda: _fixture("letter.doc")[:6000],
    "noise.doc": lambda: _fixture("letter.doc")[:512] + bytes(range(256)) * 100,
    "noise.ppt": lambda: gzip.decompress(_fixture("talk.ppt.gz"))[:3000] + bytes(range(256)) * 100,
    "links.tar": _links,
    "noise.xls": lambda: _fixture("rents.xls")[:3000] + bytes(range(256)) * 20,
    "loop.msg": lambda: _looping(samples.outlook(a_txt=b"x" * 10_000)),
    "parts.eml": lambda: _MESSAGE + b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 50_000,
    "deep.eml": lambda: (
        _MESSAGE + b"".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n".encode() for n in range(5_000))
    ),
    "forwards.eml": lambda: _MESSAGE + b"Content-Type: message/rfc822\n\n" * 5_000,
    "lines.mbox": lambda: b"From a\n\n" * 20_000,
    "groups.rtf": lambda: b"{\\rtf1 " + b"{" * 2_000_000,
    "binary.rtf": lambda: b"{\\rtf1 \\bin999999999 x}",
    "deep.html": lambda: b"<html>" + b"<div>" * 500_000 + b"deep",
}


def _looping(data: bytes) -> bytes:
    """A compound file whose table of sectors leads from each sector to itself."""
    place = 512 + 512 * int.from_bytes(data[76:80], "little")
    return data[:place] + b"".join(number.to_bytes(4, "little") for number in range(128)) + data[place + 512 :]
