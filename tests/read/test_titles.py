"""Titles from the properties of files: kept if they are titles of the document, otherwise the file's name is used."""

from __future__ import annotations

import gzip
import io
import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.read import read_one
from rprs.read.doc_styles import Piece, first_heading
from rprs.read.source import Source
from rprs.read.titles import embedded_title, plain_heading, slide_heading
from tests.support.office_samples import FIXTURES
from tests.support.read_samples import pdf, word

OPINION = "SUPREME COURT OF UNITED STATES\n\nHolland v. Illinois\n\nNo. 88-5050. Decided January 22, 1990."
LEASE = "This lease is made between the landlord and the tenant. The tenant pays the rent."


def title(embedded: str, name: str, text: str) -> str:
    return embedded_title(embedded, Source(name, name, io.BufferedReader(io.BytesIO())), text)


@pytest.mark.parametrize(
    ("embedded", "name", "text"),
    [
        ("Holland v. Illinois", "88-5050.pdf", OPINION),  # in the text
        ("Holland v. Illinois, 493 U.S. 474", "holland-v-illinois.pdf", "I"),  # most of it in the file name
        ("HOLLAND V. ILLINOIS", "holland_v_illinois.pdf", "I"),
        ("Café: Lease of a shop", "cafe lease of a shop.docx", "I"),  # accents differ
        ("Lease", "scan-0001.pdf", LEASE),
        ("Draft lease", "scan-0001.pdf", LEASE),  # "draft" alone would be a placeholder
        ("租赁合同", "a.pdf", "本租赁合同由以下双方签订。"),  # no spaces between words
        ("1984", "book.pdf", "1984\n\nIt was a bright cold day in April."),
        ("Title insurance", "title-insurance.pdf", "I"),
    ],
)
def test_a_title_that_suits_the_document_is_kept(embedded: str, name: str, text: str) -> None:
    assert title(f"  {embedded}\n", name, text) == embedded


@pytest.mark.parametrize(
    "embedded",
    [
        *("", " \n ", "...", "-", "untitled", "Untitled", "(untitled)", "Untitled document", "untitled-2", "Unnamed"),
        *("Microsoft Word - Document1", "Microsoft Word - lease_final_v3.doc", "Microsoft PowerPoint - Lease"),
        *("Document1", "Document (2)", "Doc1", "New document", "Dokument1", "Sans titre", "Unbenannt 1"),
        *("PowerPoint Presentation", "Slide 1", "Layout 1", "Book1", "Sheet1", "Page 1", "Title", "[Title]"),
        *("lease.docx", "LEASE FINAL.DOC", "C:\\Users\\clerk\\lease.doc", "/home/clerk/lease", "file:///tmp/lease"),
        *("scan0001", "Scanned document", "IMG_0001", "Full page fax print", "none", "about:blank", "Template"),
        *("Annual report of the fisheries board", "Employment contract (template)"),  # of another document
    ],
)
def test_a_placeholder_or_the_title_of_something_else_is_not_a_title(embedded: str) -> None:
    assert title(embedded, "lease.pdf", LEASE) == ""


def test_the_name_of_the_file_is_the_title_where_the_properties_have_none(tmp_path: Path) -> None:
    samples = {
        "Rent of 2019.pdf": pdf([[LEASE]], Title="Microsoft Word - Document1"),
        "Rent of 2020.docx": word(LEASE, title="Minutes of the annual fisheries meeting"),
        "Rent of 2021.rtf": rb"{\rtf1\ansi{\info{\title untitled}}" + LEASE.encode() + b"}",
        "Rent of 2022.html": f"<title>Untitled Document</title><p>{LEASE}".encode(),
    }
    for name, data in samples.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert read_one(path).title == path.stem


@given(embedded=st.text(max_size=60), name=st.text(min_size=1, max_size=20), text=st.text(max_size=200))
def test_a_title_is_the_embedded_one_on_one_line_or_nothing(embedded: str, name: str, text: str) -> None:
    assert title(embedded, name, text) in ("", " ".join(embedded.split()))


PARAGRAPH = "The tenant shall pay the rent on the first day of each month, and the landlord keeps the roof in repair."


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (f"LEASE OF A DWELLING\n\n{PARAGRAPH}", "LEASE OF A DWELLING"),
        (f"\n\n      MOTION TO DISMISS THE APPEAL\n\n{PARAGRAPH}", "MOTION TO DISMISS THE APPEAL"),
        (f"Lease of a dwelling\n===================\n\n{PARAGRAPH}", "Lease of a dwelling"),
        (f"MIETVERTRAG ÜBER EINE WOHNUNG\n\n{PARAGRAPH}\n\nMore.", "MIETVERTRAG ÜBER EINE WOHNUNG"),
        (f"Lease of a dwelling\n\n{PARAGRAPH}", ""),  # it may be the name of a firm or a person
        (f"SMITH AND PARTNERS LLP\n\n12 Harbour Street\nSall\n\n{PARAGRAPH}", ""),
        (f"PRIVATE AND CONFIDENTIAL\n\n{PARAGRAPH}", ""),
        (f"DRAFT OF 3 MAY\n\n{PARAGRAPH}", ""),
        (f"LEASE\n\n{PARAGRAPH}", ""),
        (f"THE ROOF LEAKS.\n\n{PARAGRAPH}", ""),
        (f"LEASE OF A DWELLING\nbetween two parties\n\n{PARAGRAPH}", ""),
        ("LEASE OF A DWELLING", ""),
        (PARAGRAPH, ""),
        ("", ""),
    ],
)
def test_a_heading_of_plain_text_is_one_that_cannot_be_mistaken(text: str, title: str) -> None:
    assert plain_heading(text) == title


def test_the_heading_of_plain_text_and_rtf_is_the_title(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"LEASE OF A DWELLING\r\n\r\n{PARAGRAPH}\r\n")
    (tmp_path / "b.rtf").write_text(rf"{{\rtf1 LEASE OF A DWELLING\par {PARAGRAPH}\par}}")
    (tmp_path / "c.txt").write_text(f"---\ntitle: Another title\n---\nLEASE OF A DWELLING\n\n{PARAGRAPH}\n")
    titles = [read_one(tmp_path / name).title for name in ("a.txt", "b.rtf", "c.txt")]
    assert titles == ["LEASE OF A DWELLING", "LEASE OF A DWELLING", "Another title"]


# ---------------------------------------------------------------------------- headings by their style

STYLES = r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s7\sbasedon0 Title;}{\*\cs3 heading 2 Char;}}"


@pytest.mark.parametrize("name", ["heading.doc", "heading.rtf"])
def test_the_first_heading_of_old_word_files_and_rtf_is_the_title(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    shutil.copy(FIXTURES / name, path)  # below a letterhead and an empty heading, without a title in its properties
    document = read_one(path)
    assert document.title == "Lease of the café at the harbour"
    assert document.text.startswith("Clerk and Moss\n\n12 Harbour Street")


@pytest.mark.parametrize("name", ["titled.odp", "titled.ppt.gz", "sources/titled.pptx"])
def test_the_first_title_of_a_slide_is_the_title_of_a_talk(name: str, tmp_path: Path) -> None:
    data = (FIXTURES / name).read_bytes()
    path = tmp_path / f"2015-03{Path(name.removesuffix('.gz')).suffix}"
    path.write_bytes(gzip.decompress(data) if name.endswith(".gz") else data)
    document = read_one(path)
    assert document.title == "Rights of tenants"
    assert document.text.startswith("Clerk and Moss, solicitors\n\nRights of tenants")  # a text box without a role


@pytest.mark.parametrize("name", ["talk.odp", "talk.ppt.gz", "talk.pptx"])
def test_a_talk_of_text_boxes_has_its_first_line_as_its_title(name: str, tmp_path: Path) -> None:
    data = (FIXTURES / name).read_bytes()
    path = tmp_path / f"2015-03{Path(name.removesuffix('.gz')).suffix}"
    path.write_bytes(gzip.decompress(data) if name.endswith(".gz") else data)
    assert read_one(path).title == "Rights of tenants"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Rights of\ttenants\n\nThe tenant pays.", "Rights of tenants"),
        ("The tenant shall pay the rent.\n\nNeither party may assign.", ""),
        ("Confidential: not for distribution\n\nRights of tenants", ""),
        ("Slide 1\n\nRent", ""),
        ("Rent", ""),
        ("many words " * 20, ""),
        ("", ""),
    ],
)
def test_a_first_line_that_is_no_heading_is_not_the_title_of_a_talk(text: str, title: str) -> None:
    assert slide_heading(text) == title


def test_headings_of_a_word_file_that_was_edited_are_complete() -> None:
    """A paragraph may be in several pieces of the file, in one or two bytes a character; its mark has its style."""
    headings, body = "Lease of the café\r", "The rent is due.\r"
    stream = bytearray(0x600)
    struct.pack_into("<II", stream, 0x00A2, 0, 100)
    struct.pack_into("<II", stream, 0x0102, 100, 12)
    styles = [(0, 0), (1, 1), (2, 4)]  # a style of the document, and its built-in number; 4 is "heading 4"
    sheet = struct.pack("<HH", 4, len(styles)) + bytes(2)
    sheet += b"".join(struct.pack("<HHH", 4, built_in, 0) for _, built_in in styles)
    table = sheet.ljust(100, b"\0") + struct.pack("<III", 0x400, 0x500, 2)
    page = bytearray(512)
    struct.pack_into("<III", page, 0, 0x400, 0x400 + 2 * len(headings), 0x400 + 2 * len(headings + body))
    for number, style in ((0, 1), (1, 2)):
        page[12 + 13 * number] = 200 + 4 * number
        struct.pack_into("<BBH", page, 2 * (200 + 4 * number), 0, 1, style)
    page[-1] = 2
    stream[0x400:0x600] = page
    half = len(headings) // 2
    pieces = [Piece(0, 0x10000, 1), Piece(half, 0x400 + 2 * half, 2)]
    assert first_heading(bytes(stream), table, pieces, list(headings + body)) == "Lease of the café"
    assert first_heading(bytes(stream), table, [Piece(0, 0x400 + 2 * len(headings), 2)], list(body)) == ""


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (r"\pard\s0 Clerk and Moss\par\pard\s1 Lease of a house\par\pard\s0 Rent.\par", "Lease of a house"),
        (r"\pard\s7 The lease\line of a house\par\pard\s1 Rent\par", "The lease of a house"),
        (r"{\pard\s0 Moss\par}{\pard\outlinelevel1 Miete {\b und} Pacht\par}\pard Rent.\par", "Miete und Pacht"),
        (r"\pard\s1 Lease{\footnote\pard\s0 A note.\par} of a house\par", "Lease of a house"),
        (r"\pard\s1 {\deleted Sale}Lease\par", "Lease"),
        (r"\pard\s1 {\listtext\pard 1.\tab}Lease\par", "Lease"),
        (r"\pard\s1 Untitled\par\pard\s1 Document1\par\pard\s1 Lease\par", "Lease"),
        (r"\pard\s1 " + "A paragraph of prose in the style of a heading. " * 9 + r"\par", "file"),
        (r"\pard\s1\outlinelevel9 Body\par\pard\s0 Rent.\par", "file"),
        (r"\pard\s5 No such style\par", "file"),
    ],
)
def test_the_first_heading_of_rtf_by_style_or_outline_level(body: str, title: str, tmp_path: Path) -> None:
    (tmp_path / "file.rtf").write_text(rf"{{\rtf1\ansi{STYLES}{body}}}")
    assert read_one(tmp_path / "file.rtf").title == title
