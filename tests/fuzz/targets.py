"""What is fuzzed: functions of arbitrary bytes that must return a sound value or a clear error, and samples for them.

Every sample of `SEEDS`, and every file in `corpus/NAME`, is run by the default tests. `python -m tests.fuzz` looks for
others that break a promise, guided by the lines of code that they reach, and stores them there.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rprs import spec
from rprs.cluster.manifest import FileEntry, Manifest, ShardEntry, parse_manifest
from rprs.document import Document
from rprs.errors import RprsError
from rprs.index.where import to_sql
from rprs.matters.file import matter_from, matter_object, new_matter
from rprs.read.files import documents_of_stream
from rprs.read.kinds import read_any
from rprs.studies.plan import read_plan
from rprs.tuning.settings import read_settings
from tests.support import office_samples as office
from tests.support import read_samples as samples
from tests.support.paths import ROOT

__all__ = ["CORPUS", "SEEDS", "TARGETS", "seeds"]

CORPUS = Path(__file__).parent / "corpus"
KINDS = ("reranker", "ranker", "splitter", "encoder")


def read(suffix: str, data: bytes) -> None:
    """Whatever a file contains, its documents can be stored, and what was skipped has a reason of one line."""
    for item in documents_of_stream(read_any, io.BufferedReader(io.BytesIO(data)), f"file.{suffix}"):
        if isinstance(item, Document):
            (item.id + item.title + item.text).encode("utf-8")
            json.dumps(dict(item.metadata), allow_nan=False).encode("utf-8")
        else:
            assert item.reason.strip()
            assert "\n" not in item.reason
            assert "Traceback" not in item.reason


def one_line(work: Callable[[], object]) -> None:
    """An error of rprs must have one line; any other error is a finding."""
    line = ""
    try:
        work()
    except RprsError as error:
        line = str(error)
    assert "\n" not in line


def where(data: bytes) -> None:
    """A filter becomes SQL with as many values as it has places for them."""

    def parse() -> None:
        condition, values = to_sql(data.decode("utf-8", "replace"))
        assert condition.count("?") == len(values)

    one_line(parse)


def component(data: bytes) -> None:
    """A component, or the text of one, parses back from its own text."""
    if data:
        kind, source = KINDS[data[0] % len(KINDS)], data[1:].decode("utf-8", "replace")

        def parse() -> None:
            parsed = spec.parse(kind, source)  # type: ignore[call-overload]
            assert spec.parse(kind, str(parsed)) == parsed  # type: ignore[call-overload]

        one_line(parse)


def matter(data: bytes) -> None:
    """A matter that is read can be written and read again."""

    def parse() -> None:
        read_back = matter_from(data)
        assert matter_from(json.dumps(matter_object(read_back))) == read_back

    one_line(parse)


def manifest(data: bytes) -> None:
    """A manifest of a cluster that is read can be written and read again."""

    def parse() -> None:
        read_back = parse_manifest(data, "manifest.json")
        assert parse_manifest(read_back.to_json(), "manifest.json") == read_back

    one_line(parse)


def from_file(read_file: Callable[[Path], object], data: bytes) -> None:
    """A settings or study file."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(data)
        file.flush()
        one_line(lambda: read_file(Path(file.name)))


TEXTS = ("txt", "md", "html", "rtf", "eml", "mbox", "xml", "json", "jsonl", "csv", "tsv")
CONTAINERS = ("docx", "odt", "epub", "xlsx", "pptx", "zip", "tar", "doc", "msg", "xls", "pdf", "ods", "odp", "ppt")
TARGETS: dict[str, Callable[[bytes], None]] = {
    **{suffix: partial(read, suffix) for suffix in (*TEXTS, *CONTAINERS)},
    "where": where,
    "component": component,
    "matter": matter,
    "manifest": manifest,
    "settings": partial(from_file, read_settings),
    "study": partial(from_file, read_plan),
}

_FILE = FileEntry("segments/000001/spans.npy", 128, 32 * "0f")
_SHARD = ShardEntry("shard-0", 3, 60, 9, (_FILE,))
_SETTINGS = ("sentences", "words", "fitted", True, "float16", "onnx", "0123456789abcdef")
_MANIFEST = Manifest(1, "source", *_SETTINGS, (_SHARD,), (_FILE,))
_PROSE = b"# Lease\n\nThe tenant shall pay the rent.\n\n- on the *first* day\n\n    code\n"
_MAIL = (
    b"From: =?utf-8?q?M=C3=A4rz?= <a@example.com>\r\nSubject: Rent\r\nDate: Mon, 9 Mar 2015 10:00:00 +0000\r\n"
    b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\n"
    b"The rent is due.\r\n--x\r\nContent-Type: text/html\r\nContent-Disposition: attachment; filename=a.html\r\n\r\n"
    b"<p>Lease</p>\r\n--x--\r\n"
)
_TABLE = b"id,title,text\n1,Lease,The tenant pays.\n2,,Nobody paid.\n"
SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "txt": lambda: [_PROSE, "Straße, naïve, 中文".encode("utf-16"), b"\xff\xfe\x00"],
    "md": lambda: [_PROSE, b"---\ntitle: Lease\ndate: 2015-03-09\n---\n# A [link](x) <b>bold</b> `code`\n"],
    "html": lambda: [_bytes(samples.HTML), b"<!-- <p> --><div><div><table><tr><td>x</td></tr></table>"],
    "rtf": lambda: [samples.RTF],
    "eml": lambda: [_MAIL],
    "mbox": lambda: [b"From a@example.com Mon Mar  9 10:00:00 2015\n" + _MAIL],
    "xml": lambda: [_bytes(office.RED_BOOK), _bytes(office.JATS)],
    "json": lambda: [json.dumps(samples.RECORDS).encode()],
    "jsonl": lambda: [samples.JSONL],
    "csv": lambda: [_TABLE],
    "tsv": lambda: [_TABLE.replace(b",", b"\t")],
    "docx": lambda: [samples.word("The tenant pays.", title="Lease")],
    "odt": lambda: [_fixture("odt")],
    "epub": lambda: [_fixture("epub")],
    "xlsx": lambda: [office.workbook([["rent", 500], ["deposit", 1000]])],
    "pptx": lambda: [office.presentation(("Lease", "Rent is due.", "A note"))],
    "zip": lambda: [office.archive({"a.txt": b"The tenant pays.", "b/c.csv": _TABLE})],
    "tar": lambda: [office.tar({"a.txt": b"The tenant pays."})],
    "doc": lambda: [_fixture("doc")],
    "msg": lambda: [office.outlook()],
    "xls": lambda: [_fixture("xls")],
    "ods": lambda: [_fixture("ods")],
    "odp": lambda: [_fixture("odp")],
    "ppt": lambda: [gzip.decompress(_fixture("ppt.gz"))],
    "pdf": lambda: [samples.pdf([["The tenant pays.", "Nobody paid."]])],
    "where": lambda: [
        b"kind = opinion and date < 2015-01-01",
        b'not (title ~ "rent*" or pages >= 3) and court in ("a", b)',
    ],
    "component": lambda: [
        b"\x00fuse(first,rprs(n=4,k1=2.8,b=1.0),method=zscore,weight=none)",
        b"\x01bm25(k1=1.2,b=0.75)",
        b"\x02sentences(limit=100,piece=25)",
        b"\x03fitted(teacher=onnx(precision=int8),sample=10000)",
    ],
    "matter": lambda: [json.dumps(matter_object(new_matter("Dunmore v. Pellam"))).encode()],
    "manifest": lambda: [_MANIFEST.to_json(), b'{"format": 1, "shards": ' + b"[" * 10**5],
    "settings": lambda: [b'first = "bm25(k1=1.2)"\nrerank = "rprs(n=4)"\ndepth = 50\n'],
    "study": lambda: [(ROOT / "experiments" / "table4-caselaw.toml").read_bytes()],
}


def _bytes(sample: str | bytes) -> bytes:
    return sample.encode() if isinstance(sample, str) else sample


def _fixture(suffix: str) -> bytes:
    return next(iter(sorted(office.FIXTURES.glob(f"*.{suffix}")))).read_bytes()


def seeds(name: str) -> list[bytes]:
    """The samples of a target, those that were found before included."""
    return SEEDS[name]() + [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
