"""Every built-in reader fulfils the contract and handles any input."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rprs.document import Document
from rprs.read import Reader, Skipped, Source, find_reader
from rprs.testing.readers import check_bytes, check_reader, damaged
from tests.support.office_samples import FIXTURES, JATS, RED_BOOK, archive, mail, mailbox, outlook, tar
from tests.support.read_samples import PROSE, SAMPLES

relaxed = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
OFFICE = {
    **{kind: (FIXTURES / f"letter.{kind}").read_bytes() for kind in ("doc", "epub", "odt")},
    **{kind: (FIXTURES / f"rents.{kind}").read_bytes() for kind in ("ods", "xls", "xlsx")},
    **{kind: (FIXTURES / f"talk.{kind}").read_bytes() for kind in ("odp", "pptx")},
    "eml": bytes(mail(attachments={"a.txt": PROSE[0].encode()})),
    "mbox": mailbox(mail(), mail(number=2)),
    "msg": outlook(a_txt=PROSE[0].encode()),
    "nxml": JATS,
    "tar": tar({"a.txt": PROSE[0].encode()}),
    "xml": RED_BOOK.encode(),
    "zip": archive({"a.txt": PROSE[0].encode(), "b/c.txt": PROSE[1].encode()}),
}
ALL = {**SAMPLES, **OFFICE}
MAGIC = {
    "pdf": b"%PDF-1.4\n",
    "rtf": b"{\\rtf1 ",
    "docx": b"PK\x03\x04",
    "html": b"<html>",
    "csv": b"id,text\n",
    "license": b"---\n",
    "doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "eml": b"From: a\nTo: b\nSubject: c\n",
    "mbox": b"From a\nSubject: c\n\n",
    "xml": b"<us-patent-grant>",
    "zip": b"PK\x03\x04",
}


def reader_of(suffix: str) -> Reader:
    reader = find_reader(suffix)
    assert reader is not None
    return reader


@pytest.mark.parametrize("suffix", ALL)
def test_built_in_readers_fulfil_the_contract(suffix: str) -> None:
    check_reader(reader_of(suffix), ALL[suffix], rounds=40 if suffix in SAMPLES else 20)


@pytest.mark.parametrize("suffix", [*SAMPLES, "doc", "eml", "mbox", "tar", "xml", "zip"])
@relaxed
@given(data=st.binary(max_size=2000))
def test_any_bytes_are_handled(suffix: str, data: bytes) -> None:
    check_bytes(reader_of(suffix), data)
    check_bytes(reader_of(suffix), MAGIC.get(suffix, b"") + data)


@pytest.mark.parametrize("suffix", [*SAMPLES, "doc", "eml", "msg", "odt", "zip"])
@relaxed
@given(edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), st.binary(max_size=30)), min_size=1, max_size=4))
def test_edited_files_are_handled(suffix: str, edits: list[tuple[float, int, bytes]]) -> None:
    data = ALL[suffix]
    for place, length, new in edits:
        at = int(place * len(data))
        data = data[:at] + new + data[at + length :]
    check_bytes(reader_of(suffix), data)


@pytest.mark.parametrize("suffix", SAMPLES)
@relaxed
@given(
    text=st.text(
        st.sampled_from("{}[]()<>\\/\"',;:|#-=*&\n\t ab1\u00e9\ud7ff") | st.characters(codec="utf-8"),
        max_size=300,
    )
)
def test_any_text_is_handled(suffix: str, text: str) -> None:
    check_bytes(reader_of(suffix), MAGIC.get(suffix, b"") + text.encode())


@pytest.mark.parametrize("part", ["word/document.xml", "docProps/core.xml", "word/_rels/document.xml.rels"])
def test_word_documents_with_a_damaged_part(part: str) -> None:
    with zipfile.ZipFile(io.BytesIO(SAMPLES["docx"])) as good:
        parts = {name: good.read(name) for name in good.namelist()}
    for data in damaged(parts[part], 60):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as bad:
            for name, content in {**parts, part: data}.items():
                bad.writestr(name, content)
        check_bytes(reader_of("docx"), out.getvalue())


def nameless(_source: Source) -> Iterator[Document | Skipped]:
    yield Document("\x01", "text")


def nested(source: Source) -> Iterator[Document | Skipped]:
    document = Document(source.id, "text")
    object.__setattr__(document, "metadata", {"a": [1]})  # which `Document` itself refuses
    yield document


READINGS = count(1)


def fickle(source: Source) -> Iterator[Document | Skipped]:
    yield Document(source.id, f"reading {next(READINGS)}")


def choosy(source: Source) -> Iterator[Document | Skipped]:
    yield Document(source.id, "text")
    yield Skipped(source.path, "the rest")


def twofold(source: Source) -> Iterator[Document | Skipped]:
    yield from (Document(source.id, "text"), Document(source.id, "more text"))


def talking(source: Source) -> Iterator[Document | Skipped]:
    import logging

    logging.getLogger("talking").warning("an odd file")
    yield Document(source.id, "text")


def failing(_source: Source) -> Iterator[Document | Skipped]:
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("reader", "problem"),
    [
        (nameless, "the valid file has no documents"),
        (nested, "the valid file has no documents"),
        (fickle, "two readings of one file differ"),
        (choosy, "a part of the valid file is skipped"),
        (twofold, "two documents have the same id"),
        (talking, "the reader writes to the log: .*an odd file"),
        (failing, "the valid file has no documents"),
    ],
)
def test_faulty_readers_are_rejected(reader: Reader, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_reader(reader, b"sample")
