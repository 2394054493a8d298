"""The date of a change is never the date of a document."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rprs.read import read_one
from tests.support.office_samples import FIXTURES
from tests.support.outlook import Tree, compound_file, message
from tests.support.read_samples import RTF, pdf

CREATED, CHANGED = "2015-03-09", "2024-05-06"
SUMMARY = bytes.fromhex("e0859ff2f94f6810ab9108002b27b3d9")  # the format of the summary of old Office files
CREATION, LAST_SAVED = 12, 13


def with_part(name: str, part: str, replace: Callable[[str], str]) -> bytes:
    """A fixture with one part changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(FIXTURES / name) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            new.writestr(member, replace(data.decode()).encode() if member == part else data)
    return out.getvalue()


def office(name: str) -> bytes:
    """An Office file that says only when it was changed."""
    return with_part(
        name,
        "docProps/core.xml",
        lambda xml: re.sub(r"(</?dcterms:)created", r"\1modified", xml).replace(CREATED, CHANGED),
    )


def old_office(name: str) -> bytes:
    """The same for an old one: its creation is when it was last saved, and the other date has no meaning."""
    data = bytearray((FIXTURES / name).read_bytes())
    at = data.index(SUMMARY)
    section = at - 28 + struct.unpack_from("<I", data, at + 16)[0]
    for row in range(section + 8, section + 8 + 8 * data[section + 4], 8):
        if data[row] in (CREATION, LAST_SAVED):
            data[row] = LAST_SAVED if data[row] == CREATION else 99
    return bytes(data)


def open_document(name: str) -> bytes:
    return with_part(
        name,
        "meta.xml",
        lambda xml: re.sub(
            r"<meta:creation-date>.*?</meta:creation-date>", f"<dc:date>{CHANGED}T10:00:00</dc:date>", xml
        ),
    )


def book(*dates: str) -> bytes:
    """A book with some elements about dates, and `dcterms:modified`."""
    return with_part(
        "letter.epub", "OEBPS/content.opf", lambda xml: xml.replace("<dc:language>", f"{''.join(dates)}<dc:language>")
    )


def outlook() -> bytes:
    """A message without a date but that of its last change (0x3008)."""
    properties = message("", "", sent=datetime(2024, 5, 6, tzinfo=UTC))["__properties_version1.0"]
    assert isinstance(properties, bytes)
    tree: Tree = {
        **message("Rent due", "Rent."),
        "__properties_version1.0": properties.replace(struct.pack("<HH", 0x40, 0x39), struct.pack("<HH", 0x40, 0x3008)),
    }
    return compound_file(tree)


def page(*names: str) -> bytes:
    metas = "".join(f'<meta name="{name}" content="{CHANGED}">' for name in names)
    return f"<html><head>{metas}</head><body><p>Rent.</p></body></html>".encode()


MODIFIED = f'<dc:date opf:event="modification">{CHANGED}</dc:date>'
ONLY_CHANGED = {
    "letter.docx": office("letter.docx"),
    "rents.xlsx": office("rents.xlsx"),
    "talk.pptx": office("talk.pptx"),
    "letter.odt": open_document("letter.odt"),
    "rents.ods": open_document("rents.ods"),
    "talk.odp": open_document("talk.odp"),
    "letter.epub": book(MODIFIED),
    "letter.doc": old_office("letter.doc"),
    "letter.pdf": pdf([["The tenant pays the rent."]], ModDate="D:20240506100000Z"),
    "letter.rtf": RTF.replace(rb"\creatim", rb"\revtim"),
    "letter.msg": outlook(),
    "page.html": page("last-modified", "article:modified_time", "dcterms.modified", "dc.date.modified", "dateModified"),
}


@pytest.mark.parametrize("name", ONLY_CHANGED)
def test_a_file_that_says_only_when_it_was_changed_has_no_date(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ONLY_CHANGED[name])
    result = read_one(tmp_path / name)
    assert result.text
    assert "date" not in result.metadata


def test_the_fixtures_have_dates() -> None:
    """Without the changes that these tests make to them."""
    for name in ONLY_CHANGED.keys() & {path.name for path in FIXTURES.iterdir()} - {"letter.epub", "letter.pdf"}:
        assert read_one(FIXTURES / name).metadata["date"] == CREATED, name


@pytest.mark.parametrize(
    "dates",
    [
        (MODIFIED, f'<dc:date opf:event="publication">{CREATED}</dc:date>'),
        (f"<dc:date>{CREATED}</dc:date>", MODIFIED),
        (f'<dc:date opf:event="creation">{CREATED}</dc:date>',),
    ],
)
def test_a_book_has_the_date_of_its_publication(tmp_path: Path, dates: tuple[str, ...]) -> None:
    (tmp_path / "a.epub").write_bytes(book(*dates))
    assert read_one(tmp_path / "a.epub").metadata["date"] == CREATED
