"""Titles from the properties of files: kept if they are titles of the document, otherwise the file's name is used."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.read import read_one
from rprs.read.source import Source
from rprs.read.titles import embedded_title, plain_heading
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
