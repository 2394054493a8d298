"""OCR of uploads and of files in folders: within the limits of the reading process, and never silently."""

from __future__ import annotations

import io
import json
import shutil
import socket
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import numpy as np
import pytest
from pypdf import PdfReader, PdfWriter

from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.read.ocr import Recognised, _installed, engine
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
needs_rapidocr = pytest.mark.skipif(find_spec("rapidocr_onnxruntime") is None, reason="needs the extra ocr")


@pytest.fixture(scope="module")
def scan() -> bytes:
    return scanned_pages([[TYPED[:90], TYPED[90:]], Picture(PROSE)], dpi=200)


@pytest.fixture
def without_tesseract(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A computer on which only RapidOCR is installed."""
    monkeypatch.setenv("PATH", "/nonexistent")
    _installed.cache_clear()
    yield
    _installed.cache_clear()


@needs_rapidocr
@pytest.mark.slow
@pytest.mark.usefixtures("without_tesseract")
def test_rapidocr_reads_an_upload_within_the_limits() -> None:
    """The second page is full; the last ones are not begun, since no time would be left for them."""
    pages = [[TYPED[:90], TYPED[90:]], Picture(PROSE * 15), *[Picture(PROSE)] * 40]
    document, notes = read_upload(io.BytesIO(scanned_pages(pages, dpi=200)), "a.pdf", Limits(ocr="auto"))
    assert str(document.metadata["ocr_engine"]).startswith("rapidocr ")
    assert " ".join(document.text.split()).count(PROSE[0]) >= 14
    assert any("pages without readable text" in note and "42" in note for note in notes)


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


def test_pages_that_would_not_be_finished_in_time_are_not_begun() -> None:
    """A slow engine takes 0.2 s for a page, and the pages have 1 s: four or five of ten are recognised."""
    ours, theirs = socket.socketpair()

    def recognise_slowly() -> None:
        stream = theirs.makefile("rwb")
        while any(shape := stream.read(8)):
            height, width = int.from_bytes(shape[:4], "little"), int.from_bytes(shape[4:], "little")
            stream.read(height * width)
            sleep(0.2)
            answer = json.dumps({"lines": ["read"], "confidence": 1.0}).encode()
            stream.write(len(answer).to_bytes(4, "little") + answer)
            stream.flush()

    engine = Thread(target=recognise_slowly)
    with ours, theirs:
        engine.start()
        pages = list(
            _Client(ours, 1, deadline=monotonic() + 1.0).recognise(np.zeros((2, 3), np.uint8) for _ in range(10))
        )
        engine.join()
    texts = [bool(page.lines) for page in pages]
    assert len(texts) == 10
    assert 2 <= sum(texts) <= 5
    assert texts == sorted(texts, reverse=True)


def test_an_unknown_mode_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"OCR must be auto, never or always\. Got 'often' instead\."):
        Limits(ocr="often")  # type: ignore[arg-type]  # a wrong value is the point


@pytest.mark.slow
@needs_tesseract
def test_a_server_recognises_queries_and_added_files(
    scan: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))  # of files in folders, not of uploads
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
