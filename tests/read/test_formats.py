from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from rprs.document import Document
from rprs.read import read_one
from rprs.read.pdf_paragraphs import paragraphs
from tests.support.read_samples import HTML, PROSE, RTF, pdf, word


def document(folder: Path, name: str, content: bytes | str) -> Document:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_one(folder / name)


def metadata(result: Document) -> dict[str, object]:
    return {key: value for key, value in result.metadata.items() if key not in ("path", "date")}


# ---------------------------------------------------------------------------- text and Markdown


def test_line_ends_are_normalised(tmp_path: Path) -> None:
    assert document(tmp_path, "a.txt", "one\r\n\r\ntwo\rthree\n").text == "one\n\ntwo\nthree\n"


LICENCE = """---
key: lease-1.0
short_name: Lease 1
name: 'The Lease: 1.0'
is_exception: yes
year: 1999
notes: |
    Several lines
    of: notes
# a comment
urls:
  - http://example.org
- http://example.com
empty:
list: [a, b]
---

The tenant pays.
---
"""


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.LICENSE"])
def test_front_matter_becomes_metadata(tmp_path: Path, name: str) -> None:
    result = document(tmp_path, name, LICENCE)
    assert result.title == "The Lease: 1.0"
    assert result.text.startswith("The tenant pays.")
    assert metadata(result) == {
        "key": "lease-1.0", "short_name": "Lease 1", "name": "The Lease: 1.0", "is_exception": "yes", "year": 1999,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["---\nA rule, then text: more\n---\nrest", "---\nkey: never closed\n", "text\n---\nkey: x\n---\n", "--- \n"],
)
def test_dashes_alone_are_not_front_matter(tmp_path: Path, text: str) -> None:
    result = document(tmp_path, "a.txt", text)
    assert result.text == text
    assert metadata(result) == {}


def test_a_date_in_the_front_matter_is_the_date_of_the_document(tmp_path: Path) -> None:
    result = document(tmp_path, "a.md", "---\ntitle: Lease\ndate: 1999-12-31\n---\n# Heading\ntext")
    assert (result.title, result.metadata["date"], result.text) == ("Lease", "1999-12-31", "Heading\n\ntext")
    assert "title" not in result.metadata


def test_markdown_headings_and_items_are_paragraphs_and_links_are_text(tmp_path: Path) -> None:
    markdown = (
        'Preface\n## The *Lease* ##\nSee [the act](http://x.org/a "Act") and ![a seal](s.png).\n- one\n- two\n'
        "  goes on\n"
        "1. three\nTerms\n=====\nlast <!-- not\nshown -->line\n```sh\n# no heading\n- no item\n```\nend"
    )
    result = document(tmp_path, "a.md", markdown)
    assert result.title == "The *Lease*"
    assert result.text == (
        "Preface\n\nThe *Lease*\n\nSee the act and a seal.\n\n- one\n\n- two\n  goes on\n\n1. three\n\n"
        "Terms\n\nlast line\n```sh\n# no heading\n- no item\n```\nend"
    )


# ---------------------------------------------------------------------------- HTML


def test_html_blocks_are_paragraphs_and_boilerplate_is_removed(tmp_path: Path) -> None:
    result = document(tmp_path, "a.html", HTML)
    assert result.title == "Lease & rent"
    assert result.metadata["date"] == "2015-03-09"
    assert result.metadata["author"] == "A. Clerk"
    assert result.text.split("\n\n") == [
        "Lease", "The tenant shall pay rent.", "No dogs.\nNo cats.", "No fish.", "one", "two",
        "Rent\tDue", "100\tmonthly", "Signed here\nand there",
    ]  # fmt: skip


def test_html_in_layout_tables_keeps_its_paragraphs(tmp_path: Path) -> None:
    result = document(tmp_path, "a.htm", "<table><tr><td><p>One.</p><p>Two.</p></td><td><div>Three.</div></table>Four.")
    assert result.text == "One.\n\nTwo.\n\nThree.\n\nFour."


@pytest.mark.parametrize(
    ("page", "title"),
    [("<title> \n</title><h1>The\n<i>Lease</i></h1>x", "The Lease"), ("<h2>Not this</h2>x", "a"), ("x", "a")],
)
def test_the_title_of_a_page_is_its_heading_or_the_file_name(tmp_path: Path, page: str, title: str) -> None:
    assert document(tmp_path, "a.html", page).title == title


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("<meta charset=Shift_JIS>", "shift_jis"),
        ('<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=gb2312">', "gb18030"),
        ('<?xml version="1.0" encoding="euc-jp"?>', "euc_jp"),
        ("<meta charset='iso-8859-1'>", "utf-8"),
        ("", "utf-16"),
    ],
)
def test_html_in_its_declared_encoding(tmp_path: Path, head: str, encoding: str) -> None:
    assert document(tmp_path, "a.html", f"{head}<p>契約".encode(encoding)).text == "契約"


def test_html_may_be_nested_deeper_than_python_recurses(tmp_path: Path) -> None:
    assert document(tmp_path, "a.html", "<div>" * 5_000 + "deep" + "</div>" * 5_000).text == "deep"


# ---------------------------------------------------------------------------- Word


def test_word_paragraphs_tables_and_properties(tmp_path: Path) -> None:
    data = word(*PROSE, title="Lease", rows=[["Rent", "Due\nSoon"], ["100", "monthly"]])
    result = document(tmp_path, "lease.docx", data)
    assert result.title == "Lease"
    assert metadata(result) == {"author": "A. Clerk"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(result.metadata["date"]))
    assert result.text.split("\n\n") == [*PROSE, "Rent\tDue\nSoon", "100\tmonthly"]


def test_word_content_that_python_docx_omits(tmp_path: Path) -> None:
    body = (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>In a control.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:r><w:t>Kept</w:t><w:tab/><w:t>apart</w:t><w:noBreakHyphen/><w:t>ly</w:t></w:r>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>One.</w:t></w:r></w:p><w:p><w:r><w:t>Two.</w:t></w:r></w:p></w:tc>"
        "<w:tc><w:p><w:r><w:t>Three.</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice>'
        "<w:p><w:r><w:t>In a box.</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>In a box.</w:t></w:r></w:p>"
        "</mc:Fallback></mc:AlternateContent>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word("MARK"))) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "word/document.xml":
                part = re.sub(rb"<w:p\b.*MARK.*?</w:p>", body.encode(), part, flags=re.DOTALL)
            if name == "word/_rels/document.xml.rels":
                office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
                note = f'<Relationship Id="note" Type="{office}/footnotes" Target="footnotes.xml"/></Relationships>'
                part = part.replace(b"</Relationships>", note.encode())
            new.writestr(name, part)
        space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
        note = "<w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote>"
        note = f'<w:footnotes xmlns:w="{space}">{note}</w:footnotes>'
        new.writestr("word/footnotes.xml", note)
    result = document(tmp_path, "a.docx", out.getvalue())
    assert result.text.split("\n\n") == [
        "In a control.",
        "Kept apart-ly",
        "One.",
        "Two.\tThree.",
        "In a box.",
        "A note.",
    ]


# ---------------------------------------------------------------------------- RTF


def test_rtf_paragraphs_cells_escapes_and_properties(tmp_path: Path) -> None:
    result = document(tmp_path, "a.rtf", RTF)
    assert result.title == "Lease of a café"
    assert result.metadata["date"] == "2015-03-09"
    assert result.metadata["author"] == "A. Clerk"
    assert result.text.split("\n\n") == [
        "Lease",
        "The tenant pays.\nHe pays on time.",
        "Café, naïve {sic} \\par none.",
        "Rent\t100|month",
        "the statute😀",
    ]


def test_rtf_in_another_code_page(tmp_path: Path) -> None:
    russian = "Суд постановил".encode("cp1251")
    escaped = "".join(f"\\'{byte:02x}" for byte in russian).encode()
    for content in (russian, escaped):
        assert document(tmp_path, "a.rtf", rb"{\rtf1\ansi\ansicpg1251 " + content + b"}").text == "Суд постановил"


# ---------------------------------------------------------------------------- PDF


def test_pdf_pages_and_properties(tmp_path: Path) -> None:
    result = document(
        tmp_path,
        "lease.pdf",
        pdf([PROSE, ["Signed."]], Title="Lease", Author="A. Clerk", CreationDate="D:20150309"),
    )
    assert (result.title, result.metadata["author"], result.metadata["date"]) == ("Lease", "A. Clerk", "2015-03-09")
    assert result.text.split("\n\n") == [" ".join(PROSE), "Signed."]


def test_pdf_lines_become_paragraphs() -> None:
    page = [
        "1. Rent",
        "The tenant shall pay the rent on the first day of every calen-",
        "dar month, and shall not be entitled to any set-off, as Mr",
        "Justice Brown held.",
        "If the rent is late, the landlord may charge interest on it, at",
        "the statutory rate:",
        "• from the day it was due; and",
        "• until it is paid.",
        "",
        "Signed",
    ]
    assert paragraphs([page]).split("\n\n") == [
        "1. Rent",
        "The tenant shall pay the rent on the first day of every calendar month, and shall not be entitled "
        "to any set-off, as Mr Justice Brown held.",
        "If the rent is late, the landlord may charge interest on it, at the statutory rate:",
        "• from the day it was due; and",
        "• until it is paid.",
        "Signed",
    ]


def test_a_pdf_with_the_same_line_on_every_page_keeps_it() -> None:
    assert paragraphs([["Void"], [], []]) == "Void"
