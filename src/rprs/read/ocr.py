"""Scanned pages → text: optical character recognition with Tesseract, or else with RapidOCR.

Tesseract is used where it is installed, since it reads better and faster; RapidOCR comes with the extra `ocr` and
carries its models with it. Neither uses the network. Pages are recognised in parallel. Each result is stored under a
hash of the picture, so that an interrupted or repeated command recognises no page twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.files.atomic import write_atomically

__all__ = [
    "DPI",
    "MAX_PIXELS",
    "Ocr",
    "Picture",
    "Recognised",
    "check_mode",
    "engine",
    "load_engine",
    "ocr_mode",
    "recognise",
    "recognise_with",
    "recognition_notes",
    "threads_of",
    "use_ocr",
    "use_recogniser",
]

Ocr = Literal["auto", "never", "always"]
Picture = NDArray[np.uint8]  # rows of grey values
DPI = 200  # of the picture of a page
MAX_PIXELS = 10**8  # of the picture of a page: larger pages have fewer dots per inch
NO_ENGINE = "OCR needs Tesseract (Debian: apt install tesseract-ocr) or the extra: pip install 'rprs[ocr]'"
_SECONDS = 300  # for one page
_VERSION = 1  # of the stored results

# Whether scanned pages are recognised. The library's default is never: it takes seconds for each page.
ocr_mode: ContextVar[Ocr] = ContextVar("ocr_mode", default="never")


@contextmanager
def use_ocr(mode: str) -> Iterator[None]:
    """Recognise scanned pages where an engine is installed (auto), never, or all pages of all PDFs (always)."""
    token = ocr_mode.set(check_mode(mode))
    try:
        yield
    finally:
        ocr_mode.reset(token)


def check_mode(mode: str) -> Ocr:
    """One of the three modes; all pages can be recognised only where an engine is installed."""
    if mode not in ("auto", "never", "always"):
        raise UsageError(f"OCR must be auto, never or always. Got {mode!r} instead.")
    if mode == "always" and engine() is None:
        raise UsageError(NO_ENGINE)
    return cast("Ocr", mode)


@dataclass(frozen=True, slots=True)
class Recognised:
    """The lines of a page, and the mean confidence of the engine in its words, from 0 to 1."""

    lines: list[str]
    confidence: float


Recogniser = Callable[[Iterable[Picture]], Iterator[Recognised]]

# The name of an engine in another process, and a function that has it recognise pictures, in place of one here.
_elsewhere: ContextVar[tuple[str, Recogniser] | None] = ContextVar("_elsewhere", default=None)


@contextmanager
def use_recogniser(name: str, function: Recogniser) -> Iterator[None]:
    """Within this block, let a function recognise pictures."""
    token = _elsewhere.set((name, function))
    try:
        yield
    finally:
        _elsewhere.reset(token)


def engine() -> str | None:
    """The engine that is used, with its version: `tesseract 5.3.0 eng`, `rapidocr 1.4.4`, or None."""
    elsewhere = _elsewhere.get()
    return _installed() if elsewhere is None else elsewhere[0]


@cache
def _installed() -> str | None:
    if shutil.which("tesseract"):
        output = subprocess.run(["tesseract", "--version"], capture_output=True, text=True, check=False)
        words = (output.stdout or output.stderr).split()
        return f"tesseract {words[1] if len(words) > 1 else ''} {_languages()}".strip()
    if find_spec("rapidocr_onnxruntime") is not None:
        from importlib.metadata import version

        return f"rapidocr {version('rapidocr-onnxruntime')}"
    return None


@cache
def _languages() -> str:
    """The languages of Tesseract that are installed, as its option -l needs them."""
    output = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=False)
    names = [line.strip() for line in output.stdout.splitlines()[1:]]
    usable = [name for name in names if name not in ("osd", "equ") and "/" not in name]
    return "+".join(sorted(usable, key=lambda name: (name != "eng", name))[:6]) or "eng"


def recognise(pictures: Iterable[Picture]) -> Iterator[Recognised]:
    """The text of pictures of pages (grey values), in their order, each from the cache if it was recognised before."""
    name, elsewhere = engine(), _elsewhere.get()
    if name is None:
        raise ReadError(NO_ENGINE)
    if elsewhere is not None:
        return elsewhere[1](pictures)
    return recognise_with(name, pictures, os.cpu_count() or 1, _stored)


def recognition_notes(documents: Iterable[Document]) -> list[str]:
    """A line for each document of which OCR has read pages."""
    facts = ((document.id, document.metadata) for document in documents)
    return [
        f"{id}: {about['ocr_pages']:,} of {about['pages']:,} pages were read by OCR ({about['ocr_engine']}), "
        f"mean confidence {about['ocr_confidence']:.0%}"
        for id, about in facts
        if {"ocr_pages", "ocr_engine", "ocr_confidence", "pages"} <= about.keys()
    ]


def recognise_with(
    name: str, pictures: Iterable[Picture], workers: int, page: Callable[[Picture, str], Recognised] | None = None
) -> Iterator[Recognised]:
    """The text of pictures of pages, in their order, of which so many are recognised at once, without a cache.

    Few pictures are in memory at a time, however many pages there are: when `workers` + 1 are waiting, the first of
    them is awaited before the next is taken.
    """
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Recognised]] = deque()
        for picture in pictures:
            waiting.append(pool.submit(page or _page, picture, name))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        for future in waiting:
            yield future.result()


def _page(picture: Picture, name: str) -> Recognised:
    return _tesseract(picture) if name.startswith("tesseract") else _rapidocr(picture)


def _stored(picture: Picture, name: str) -> Recognised:
    key = hashlib.sha256(f"{_VERSION} {name} {picture.shape} ".encode() + picture.tobytes()).hexdigest()
    path = _folder() / key[:2] / f"{key}.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Recognised([str(line) for line in stored["lines"]], float(stored["confidence"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not stored yet, or damaged
    page = _page(picture, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({"lines": page.lines, "confidence": page.confidence}, ensure_ascii=False))
    return page


def _folder() -> Path:
    from platformdirs import user_cache_path

    return Path(os.environ.get("RPRS_CACHE") or user_cache_path("rprs", appauthor=False)) / "ocr"


# ---------------------------------------------------------------------------- engines


def _tesseract(picture: Picture) -> Recognised:
    height, width = picture.shape
    data = f"P5 {width} {height} 255\n".encode() + picture.tobytes()  # a format without compression
    command = ["tesseract", "stdin", "stdout", "--dpi", str(DPI), "-l", _languages(), "tsv"]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}  # a process for each page is faster than threads
    try:
        output = subprocess.run(
            command, input=data, capture_output=True, check=True, timeout=_SECONDS, env=environment
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ReadError(f"Tesseract failed: {error}") from error
    lines: dict[tuple[str, ...], list[str]] = {}
    confidences: list[float] = []
    blocks: list[tuple[str, ...]] = []
    for row in output.decode("utf-8", "replace").splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) >= 12 and cells[11].strip():
            lines.setdefault(tuple(cells[2:5]), []).append(cells[11].strip())
            confidences.append(max(0.0, float(cells[10])) / 100)
    out: list[str] = []
    for key, words in lines.items():
        if blocks and blocks[-1] != key[:2]:  # another paragraph
            out.append("")
        blocks.append(key[:2])
        out.append(" ".join(words))
    return Recognised(out, sum(confidences) / len(confidences) if confidences else 0.0)


_RAPIDOCR_THREADS = 4  # at most: each needs address space, and more are hardly faster
_RAPIDOCR_LOCK = Lock()  # its engine is not made for several threads


def threads_of(name: str) -> int:
    """The threads in which an engine recognises one page within this process; Tesseract has processes of its own."""
    return 1 if name.startswith("tesseract") else min(os.cpu_count() or 1, _RAPIDOCR_THREADS)


def load_engine(name: str) -> None:
    """Load the models of an engine that runs within this process."""
    if not name.startswith("tesseract"):
        _rapidocr_engine()


@cache
def _rapidocr_engine() -> Any:
    from rapidocr_onnxruntime import RapidOCR

    return RapidOCR(intra_op_num_threads=threads_of("rapidocr"), inter_op_num_threads=1)


def _rapidocr(picture: Picture) -> Recognised:
    try:
        with _RAPIDOCR_LOCK:
            result, _ = _rapidocr_engine()(np.stack([picture] * 3, axis=-1))
    except Exception as error:  # of OpenCV, ONNX Runtime or RapidOCR, which share no class
        raise ReadError(f"RapidOCR failed: {' '.join(str(error).split())[:200]}") from error
    rows = [(float(box[0][1]), float(box[0][0]), str(text), float(score)) for box, text, score in result or []]
    confidence = sum(row[3] for row in rows) / len(rows) if rows else 0.0
    return Recognised([row[2] for row in rows], confidence)
