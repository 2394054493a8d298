"""Files designed to harm a reader."""

from __future__ import annotations

import zlib
from functools import cache


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
