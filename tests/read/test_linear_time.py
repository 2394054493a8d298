"""Readers take time that grows with the size of a file: four times the size takes well below sixteen times as long."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from rprs.read.files import documents
from rprs.read.kinds import read_named
from rprs.read.source import find_reader, suffixes
from tests.support.office_samples import FIXTURES, JATS, RED_BOOK, archive, mail, mailbox, outlook, tar, workbook
from tests.support.read_samples import pdf, word


def repeated(element: str, size: int) -> str:
    """A patent with an element very often."""
    return RED_BOOK.replace("<main-cpc>", "<main-cpc>" + element * (size // len(element)))


def grown(name: str, part: str, end: str, element: str) -> Callable[[int], bytes]:
    """A sample of an office format whose part has an element very often, before its end."""

    def make(size: int) -> bytes:
        with zipfile.ZipFile(FIXTURES / name) as packed:
            members = {each: packed.read(each) for each in packed.namelist()}
        assert members[part].count(end.encode()) >= 1
        before, after = members[part].rsplit(end.encode(), 1)
        members[part] = before + element.encode() * (size // len(element)) + end.encode() + after
        return archive(members)

    return make


SMALL, FACTOR = 20_000, 4  # bytes of generated input, more or less
HARD: dict[str, Callable[[int], bytes]] = {
    "spaces.txt": lambda size: b"a" + b" " * size + b"b",
    "lines.txt": lambda size: b"---\n" + b"key: value\n" * (size // 11),
    "headings.md": lambda size: b"# " + b" #" * (size // 2) + b"x",
    "blank-heading.md": lambda size: b"# a" + b" " * size + b"x",
    "comments.md": lambda size: b"<!--" * (size // 4),
    "links.md": lambda size: b"[a](b" * (size // 5),
    "brackets.md": lambda size: b"[" * size,
    "fences.md": lambda size: b"```\n" * (size // 4),
    "underlines.md": lambda size: b"a\n=" * (size // 3),
    "comments.html": lambda size: b"<html><!--" * (size // 10),
    "nested.html": lambda size: b"<html><body>" + b"<div>" * (size // 5) + b"deep",
    "formats.html": lambda size: b"<html><body>" + b"<b><i>" * (size // 6) + b"deep",
    "tables.html": lambda size: b"<html><table>" + b"<tr><td>x" * (size // 9),
    "spaces.html": lambda size: b"<html><p>a" + b" " * size + b"b",
    "breaks.html": lambda size: b"<html>" + b"<br> " * (size // 5) + b"x",
    "groups.rtf": lambda size: b"{\\rtf1 " + b"{a" * min(size // 2, 9_000),
    "spaces.rtf": lambda size: b"{\\rtf1 a" + b" " * size + b"b}",
    "breaks.rtf": lambda size: b"{\\rtf1 " + b"\\par " * (size // 5) + b"x}",
    "fields.rtf": lambda size: b"{\\rtf1 " + b"{\\field{\\*\\fldinst HYPERLINK" * (size // 40) + b"x}",
    "words.pdf": lambda size: pdf([["a" * (size // 10)] * 10]),
    "hyphens.pdf": lambda size: pdf([["a-"] * (size // 4)]),
    "lines.pdf": lambda size: pdf([[str(number) for number in range(size // 20)]]),
    "words.docx": lambda size: word(*["a" * 10] * (size // 100)),
    "rows.xlsx": lambda size: workbook([["a", number] for number in range(size // 100)]),
    "paragraphs.odt": grown("letter.odt", "content.xml", "</office:text>", "<text:p>a</text:p>"),
    "spaces.odt": grown("letter.odt", "content.xml", "</office:text>", "<text:p>a<text:s text:c='9'/></text:p>"),
    "rows.ods": grown("rents.ods", "content.xml", "</table:table>", "<table:table-row/>"),
    "pages.odp": grown("talk.odp", "content.xml", "</office:presentation>", "<draw:page><draw:frame/></draw:page>"),
    "chapter.epub": grown("letter.epub", "OEBPS/sections/section0001.xhtml", "</body>", "<div><p>a</p></div>"),
    "links.epub": grown("letter.epub", "OEBPS/toc.xhtml", "</ol>", "<li><a href='a'>b</a></li>"),
    "runs.pptx": grown("talk.pptx", "ppt/slides/slide1.xml", "</a:p>", "<a:r><a:t>a</a:t></a:r>"),
    "shapes.pptx": grown("talk.pptx", "ppt/slides/slide1.xml", "</p:spTree>", "<p:sp><p:txBody/></p:sp>"),
    "runs.docx": grown("letter.docx", "word/document.xml", "</w:p>", "<w:r><w:t>a</w:t></w:r>"),
    "cells.tsv": lambda size: b"text\tb\n" + b"a\t\n" * (size // 3),
    "headers.eml": lambda size: b"Subject: " + b"=?a?q?" * (size // 6) + b"\nFrom: a\nTo: b\n\nx",
    "parts.eml": lambda size: b"From: a\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * (size // 8),
    "attached.eml": lambda size: bytes(mail(attachments={f"{n}.txt": b"x" for n in range(size // 2000)})),
    "messages.mbox": lambda size: mailbox(mail()) * (size // 400),
    "from.mbox": lambda size: b"From x\nSubject: a\n\n" + b">From " * (size // 6),
    "files.msg": lambda size: outlook("Files", "x", **{f"f{n}_txt": b"x" for n in range(size // 1000)}),
    "names.zip": lambda size: archive({f"{n}.txt": b"word" for n in range(size // 100)}),
    "names.tar": lambda size: tar({f"{n}.txt": b"word" for n in range(size // 500)}),
    "claims.xml": lambda size: RED_BOOK.replace("<claim ", "<claim/>" * (size // 8) + "<claim ").encode(),
    "patents.xml": lambda size: RED_BOOK.encode() * (size // len(RED_BOOK)),
    "paragraphs.nxml": lambda size: JATS.replace(b"<body>", b"<body>" + b"<p>x</p>" * (size // 8)),
    "classes.xml": lambda size: repeated("<classification-cpc/>", size).encode(),
    "quotes.csv": lambda size: b'text\n"' + b'""' * (size // 2),
    "records.jsonl": lambda size: b'{"text": "a"}\n' * (size // 14),
    "nested.json": lambda size: b"[" * size,
}


@pytest.mark.parametrize("name", HARD)
def test_time_grows_with_the_size_of_the_file(tmp_path: Path, name: str) -> None:
    path, size = tmp_path / name, SMALL
    seconds(path, HARD[name](100))  # imports
    small = seconds(path, HARD[name](size))
    while small < 0.01 and size < 1_000_000:  # too fast to measure
        size *= FACTOR
        small = seconds(path, HARD[name](size))
    large = min(seconds(path, HARD[name](FACTOR * size)) for _ in range(2))
    # A little more than linear, since memory is slower than the cache; quadratic time would be 16 times as long.
    assert large < 2.5 * FACTOR * small + 0.1, f"{size:,} bytes: {small:.3f} s, {FACTOR} times as many: {large:.3f} s"


def test_every_reader_is_tried() -> None:
    tried = {find_reader(name.rpartition(".")[2]) for name in HARD}
    assert {find_reader(suffix) for suffix in suffixes()} == tried


def seconds(path: Path, data: bytes) -> float:
    path.write_bytes(data)
    started = process_time()
    list(documents(read_named, path, path.name))
    return process_time() - started
