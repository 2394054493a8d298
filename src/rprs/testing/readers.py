"""Contract suite for readers, for the built-in ones and for the tests of plug-ins.

from rprs.testing.readers import check_reader

def test_my_reader() -> None:
    check_reader(read_srt, sample=Path("hearing.srt").read_bytes())
"""

from __future__ import annotations

import logging
import math
import random
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rprs.document import Document
from rprs.read.files import documents as read_documents
from rprs.read.source import Reader, Skipped

__all__ = ["check_bytes", "check_reader", "damaged"]


def check_reader(reader: Reader, sample: bytes, *, rounds: int = 40) -> list[Document]:
    """Check a reader with a valid file and damaged versions of it; return the documents of the valid file.

    The valid file has at least one document, and nothing in it is skipped. For any input, the reader always yields the
    same valid documents (an id, storable text, plain metadata) and skipped records, or raises an exception, which is
    reported in one line; and it writes nothing to the log.
    """
    items = check_bytes(reader, sample)
    documents = [item for item in items if isinstance(item, Document)]
    _require(len(documents) > 0, "the valid file has no documents")
    _require(len(documents) == len(items), f"a part of the valid file is skipped: {items}")
    _require(len({document.id for document in documents}) == len(documents), "two documents have the same id")
    for data in damaged(sample, rounds):
        check_bytes(reader, data)
    return documents


def check_bytes(reader: Reader, data: bytes) -> list[Document | Skipped]:
    """Check a reader with a file of any content, valid or not; return its documents and skipped records."""
    with tempfile.TemporaryDirectory() as folder, _no_messages():
        path = Path(folder) / "sample"
        path.write_bytes(data)
        items = list(read_documents(reader, path, "sample"))
        _require(items == list(read_documents(reader, path, "sample")), "two readings of one file differ")
    _require(len(items) > 0, "a file is neither read nor skipped")
    for item in items:
        if isinstance(item, Skipped):
            _require("\n" not in str(item) and bool(item.reason), f"not one line with a reason: {item!r}")
        else:
            _check_document(item)
    return items


def damaged(sample: bytes, rounds: int) -> Iterator[bytes]:
    """Damaged versions of a file, as from a bad disk, a broken download or an attacker; always the same ones."""
    chance = random.Random(0)
    for _ in range(rounds):
        data, at = bytearray(sample), chance.randrange(len(sample))
        match chance.randrange(4):
            case 0:
                del data[at:]
            case 1:
                del data[at : at + chance.randrange(1, 50)]
            case 2:
                data[at:at] = chance.randbytes(chance.randrange(1, 50))
            case _:
                for _ in range(chance.randrange(1, 20)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
        yield bytes(data)


def _check_document(document: Document) -> None:
    _require(bool(document.id.strip()), f"a document has no id: {document!r:.200}")
    _require(bool(document.text.strip()), f"{document.id}: the text is empty")
    metadata = dict(document.metadata)
    strings = [document.id, document.title, document.text, *metadata]
    for key, value in metadata.items():
        _require(isinstance(value, (str, int, float, bool, type(None))), f"{document.id}: {key} is {value!r:.200}")
        _require(not isinstance(value, float) or math.isfinite(value), f"{document.id}: {key} is {value}")
        strings += [value] if isinstance(value, str) else []
    for string in strings:
        _require(
            "\0" not in string and "\r" not in string, f"{document.id}: the text contains a NUL or a carriage return"
        )
        _require(
            not any("\ud800" <= char <= "\udfff" for char in string),
            f"{document.id}: the text contains half a surrogate pair",
        )


@contextmanager
def _no_messages() -> Iterator[None]:
    """Fail on any log message or warning."""
    messages: list[str] = []
    listener = logging.Handler(logging.WARNING)
    listener.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(listener)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
    finally:
        logging.getLogger().removeHandler(listener)
    messages += [str(warning.message) for warning in warned]
    _require(not messages, f"the reader writes to the log: {messages[:3]}")


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise AssertionError(problem)
