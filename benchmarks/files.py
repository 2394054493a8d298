"""Files of each kind that are read in a second: `python -m benchmarks.files [--files 100] [--rounds 3]`.

Files of about a thousand words each are made from the texts of Python's own help, and read as `rprs index` reads them,
in processes, and in this process; by the clock and in processor time, the best of several rounds. Prints Markdown.
"""

from __future__ import annotations

import argparse
import html
import io
import resource
import struct
import textwrap
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from pydoc_data.topics import topics
from tempfile import TemporaryDirectory
from time import perf_counter

from rprs.read import read
from rprs.read.bounded import use_processes
from tests.support.office_samples import mail, mailbox, outlook, presentation, workbook
from tests.support.outlook import compound_file
from tests.support.read_samples import pdf, word

__all__ = ["main"]

WORDS = 1_000  # of a file
LINES = 50  # of a page
Times = tuple[float, float]  # by the clock, of the processor


def main(arguments: Sequence[str] | None = None) -> None:
    """Make and read files of each kind, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description="Files that are read in a second")
    parser.add_argument("--files", type=int, default=100, help="of each kind")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    print("| kind | bytes of a file | files a second, in processes | ms of the processor | in this process |")
    print("|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for kind, make in KINDS.items():
            place = Path(folder) / kind
            place.mkdir()
            for number in range(options.files):
                (place / f"{number:04}.{kind}").write_bytes(make(_paragraphs(number)))
            size = sum(path.stat().st_size for path in place.iterdir()) / options.files
            apart, here = (
                min(_timed(place, options.files, in_processes=wanted) for _ in range(options.rounds))
                for wanted in (True, False)
            )
            print(
                f"| .{kind} | {size:,.0f} | {options.files / apart[0]:,.0f} | {1000 * apart[1] / options.files:.1f} | "
                f"{options.files / here[0]:,.0f} |",
                flush=True,
            )


def _timed(place: Path, files: int, *, in_processes: bool) -> Times:
    """Read all files of a folder; the processor time includes that of starting processes, the other does not."""
    before = _processor()
    with use_processes() if in_processes else nullcontext():
        next(read(place))
        started = perf_counter()
        documents = {document.id.partition("#")[0] for document in read(place)}
        elapsed = perf_counter() - started
    used = _processor() - before  # which includes that of processes that have ended
    if len(documents) < files:
        raise SystemExit(f"{place.name}: {len(documents)} of {files} files were read")
    return elapsed, used


def _processor() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


# ---------------------------------------------------------------------------- files


def _paragraphs(number: int) -> list[str]:
    """Paragraphs with about so many words, different ones for each number."""
    words = " ".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore").decode().split()
    start = number * WORDS * 7 // 5 % (len(words) - WORDS)
    chosen = words[start : start + WORDS]
    return [" ".join(chosen[first : first + 100]) for first in range(0, WORDS, 100)]


def _text(paragraphs: list[str]) -> bytes:
    return "\n\n".join(paragraphs).encode()


def _html(paragraphs: list[str]) -> bytes:
    body = "".join(f"<p>{html.escape(paragraph)}</p>\n" for paragraph in paragraphs)
    return f"<!doctype html><html><head><title>Help</title></head><body>\n{body}</body></html>".encode()


def _pdf(paragraphs: list[str]) -> bytes:
    lines = [line for paragraph in paragraphs for line in (*textwrap.wrap(paragraph, 90), "")]
    lines = [line.replace("\\", "/") for line in lines]
    return pdf([lines[first : first + LINES] for first in range(0, len(lines), LINES)])


def _rtf(paragraphs: list[str]) -> bytes:
    escaped = (paragraph.replace("\\", r"\\").replace("{", r"\{").replace("}", r"\}") for paragraph in paragraphs)
    return (r"{\rtf1\ansi\deff0{\fonttbl{\f0 Arial;}}" + "\n" + "\\par\n".join(escaped) + r"\par}").encode()


def _doc(paragraphs: list[str]) -> bytes:
    """A Word 97 document of one piece of text, without formats."""
    text, start = ("\r".join(paragraphs) + "\r").encode("cp1252"), 2048
    stream = bytearray(start) + text
    struct.pack_into("<HH", stream, 0, 0xA5EC, 0xC1)
    struct.pack_into("<H", stream, 0x0A, 0x0200)  # the table is in 1Table
    struct.pack_into("<I", stream, 0x4C, len(text))
    pieces = struct.pack("<II", 0, len(text)) + struct.pack("<HIH", 0, 2 * start | 0x40000000, 0)
    table = b"\x02" + struct.pack("<I", len(pieces)) + pieces
    struct.pack_into("<II", stream, 0x01A2, 0, len(table))
    return compound_file({"WordDocument": bytes(stream), "1Table": table})


def _zipped(files: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return out.getvalue()


def _odt(paragraphs: list[str]) -> bytes:
    body = "".join(f"<text:p>{html.escape(paragraph)}</text:p>" for paragraph in paragraphs)
    names = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
    content = f"<office:body><office:text>{body}</office:text></office:body>"
    return _zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {names}>{content}</office:document-content>",
        }
    )


def _epub(paragraphs: list[str]) -> bytes:
    container = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'  # fmt: skip  # noqa: E501
    package = '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'  # fmt: skip  # noqa: E501
    book = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "a.opf": package}
    return _zipped({**book, "a.xhtml": _html(paragraphs)})


def _mail(paragraphs: list[str]) -> bytes:
    return bytes(mail("\n\n".join(textwrap.fill(paragraph, 72) for paragraph in paragraphs)))


KINDS: dict[str, Callable[[list[str]], bytes]] = {
    "txt": _text,
    "md": _text,
    "html": _html,
    "pdf": _pdf,
    "docx": lambda paragraphs: word(*paragraphs),
    "doc": _doc,
    "rtf": _rtf,
    "odt": _odt,
    "epub": _epub,
    "eml": _mail,
    "mbox": lambda paragraphs: mailbox(mail("\n\n".join(paragraphs))),
    "msg": lambda paragraphs: outlook(body="\n\n".join(paragraphs)),
    "xlsx": lambda paragraphs: workbook([[number, paragraph] for number, paragraph in enumerate(paragraphs)]),
    "pptx": lambda paragraphs: presentation(*((f"Slide {n}", text, "") for n, text in enumerate(paragraphs))),
}


if __name__ == "__main__":
    main()
