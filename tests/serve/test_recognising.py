"""OCR of uploads and of files in folders: within the limits of the reading process, and never silently."""

from __future__ import annotations

import io
import json
import shutil
import socket
import tempfile
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from pypdf import PdfReader, PdfWriter

from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.read.ocr import Recognised, engine
from rprs.serve.limits import Limits
from rprs.serve.recognising import _Client
from rprs.serve.uploads import read_upload, read_uploads
from tests.support.office_samples import mail
from tests.support.read_samples import PROSE, Picture, scanned_pages
from tests.support.server import served
from tests.support.web_samples import write_index

TYPED = "Typed text of the first page, which is long enough to be a page of its own and not a stamp on a scan. " * 2
PARTLY = "a.pdf: pages without readable text: 1 of 2 (2); run OCR"
needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="needs Tesseract")


@pytest.fixture(scope="module")
def scan() -> bytes:
    return scanned_pages([[TYPED[:90], TYPED[90:]], Picture(PROSE)], dpi=200)


@needs_tesseract
def test_an_upload_is_recognised_and_says_so(scan: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    document, notes = read_upload(io.BytesIO(scan), "a.pdf", Limits(ocr="auto"))
    assert " ".join(document.text.split()).endswith(" ".join(PROSE))
    confidence = float(str(document.metadata["ocr_confidence"]))
    assert notes == [f"a.pdf: 1 of 2 pages were read by OCR ({engine()}), mean confidence {confidence:.0%}"]
    assert confidence > 0.8
    assert list(tmp_path.iterdir()) == []  # nothing of an upload stays on disk
    message = bytes(mail(attachments={"a.pdf": scan}))
    (_, attached), skipped = read_uploads(io.BytesIO(message), "m.eml", Limits(ocr="auto"))
    assert (attached.id, attached.text, skipped) == ("m.eml/a.pdf", document.text, [])


def test_without_ocr_the_pages_are_named(scan: bytes) -> None:
    document, notes = read_upload(io.BytesIO(scan), "a.pdf", Limits(ocr="never"))
    assert PROSE[0] not in document.text
    assert notes == [PARTLY]


@needs_tesseract
def test_ocr_stays_within_the_limits() -> None:
    """Pages of five by five metres, which would have 1.5 billion dots: they get fewer, and no more time than others."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(scanned_pages([Picture(PROSE)] * 5))))
    for page in writer.pages:
        page.scale_to(14_400, 14_400)
    data = io.BytesIO()
    writer.write(data)
    started = monotonic()
    with pytest.raises(ReadError, match=r"^a\.pdf: (reading it took longer than the limit|.*too much memory)"):
        read_upload(data, "a.pdf", Limits(ocr="auto", reading_seconds=5))
    assert monotonic() - started < 8


def test_pages_whose_time_is_up_have_no_text() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pictures = (np.zeros((2, 3), np.uint8) for _ in range(3))
        assert list(_Client(ours, 2, deadline=0.0).recognise(pictures)) == [Recognised([], 0.0)] * 3
        assert theirs.recv(100) == bytes(8)  # the end, and no picture
        theirs.close()
        with pytest.raises(ReadError, match="OCR of its pages needs too much memory or time"):
            list(_Client(ours, 2, deadline=float("inf")).recognise(iter([np.zeros((2, 3), np.uint8)])))


def test_an_unknown_mode_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"OCR must be auto, never or always\. Got 'often' instead\."):
        Limits(ocr="often")  # type: ignore[arg-type]  # a wrong value is the point


@needs_tesseract
def test_a_server_recognises_queries_and_added_files(scan: bytes, tmp_path: Path) -> None:
    write_index(tmp_path / "a.rprs", [Document("lease", PROSE[0])])
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "b.pdf").write_bytes(scan)
    with served(tmp_path / "a.rprs", "--allow-write", "--files", folder) as server, server.client() as client:
        file = {"file": ("a.pdf", scan)}
        added = client.post("/documents", files=file).json()
        named = client.post("/documents", json={"folder": str(folder)}).json()
        answer = client.post("/search", files={**file, "request": (None, json.dumps({"k": 1}))}).json()
    assert added["skipped"] == named["skipped"] == []
    notes = [added["notes"], named["notes"], answer["notes"][:1]]
    assert [note[:29] for (note,) in notes] == [f"{name}.pdf: 1 of 2 pages were read" for name in "aba"]
