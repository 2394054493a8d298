"""Outlook messages as several programs write them: texts of bytes in any encoding, and headers of either size."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rprs.read import read, read_one
from tests.support.outlook import Tree, compound_file, message

PROPERTIES = "__properties_version1.0"


def of_bytes(text: str, encoding: str, codepage: int = 0) -> bytes:
    """A message whose subject is bytes, with or without the number of its code page."""
    number = struct.pack("<HHIQ", 0x0003, 0x3FFD, 6, codepage) if codepage else b""
    tree: Tree = {
        PROPERTIES: bytes(32) + number,
        "__substg1.0_0037001E": text.encode(encoding),
        "__substg1.0_1000001E": b"Rent.",
    }
    return compound_file(tree)


@pytest.mark.parametrize(
    ("text", "encoding", "codepage"),
    [
        ("Rent due — café", "utf-8", 0),  # as independentsoft.msg 1.6 writes it
        ("Rent due — café", "utf-8", 65001),
        ("Rent due — café", "cp1252", 0),
        ("Rent due — café", "cp1252", 1252),
        ("Аренда", "cp1251", 1251),
        ("Аренда", "utf-8", 0),
        ("賃料", "cp932", 932),
    ],
)
def test_texts_of_bytes(tmp_path: Path, text: str, encoding: str, codepage: int) -> None:
    path = tmp_path / "a.msg"
    path.write_bytes(of_bytes(text, encoding, codepage))
    assert read_one(path).title == text


@pytest.mark.parametrize("header", [24, 32])  # as Outlook and as independentsoft.msg 1.6 write it
def test_a_message_inside_of_another_has_its_date(tmp_path: Path, header: int) -> None:
    inner = message("Earlier", "Rent.", sent=datetime(2015, 3, 9, tzinfo=UTC))
    properties = inner[PROPERTIES]
    assert isinstance(properties, bytes)
    outer: Tree = {
        **message("Later", "See below."),
        "__attach_version1.0_#00000000": {
            PROPERTIES: bytes(8),
            "__substg1.0_3001001F": "Forwarded".encode("utf-16-le"),
            "__substg1.0_3701000D": {**inner, PROPERTIES: bytes(header) + properties[32:]},
        },
    }
    (tmp_path / "a.msg").write_bytes(compound_file(outer))
    dates = {document.id: document.metadata.get("date") for document in read(tmp_path)}
    assert dates["a.msg/Forwarded.msg"] == "2015-03-09"
