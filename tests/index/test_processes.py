"""An index of files of several kinds is the same, whatever the number of processes that read, split and encode."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rprs import Index, Writer
from rprs.index import encoding, preparing, sentence_vectors, workers
from rprs.read import read
from rprs.read.bounded import use_processes
from rprs.scoring.threads import limit_cores
from tests.support.office_samples import ASSIGN, RENT, mail, mailbox
from tests.support.read_samples import PROSE, pdf, word
from tests.support.tiny_models import make_bert

LARGE = 2**20  # bytes of a text that is read in a process, too


def fill(folder: Path) -> None:
    """Texts, a long one among them, PDF and Word files, and messages with a file attached."""
    folder.mkdir()
    for number in range(6):
        own = f"The tenant of house {number} paid {number} crowns. Mr. Smith v. Jones, 3 U.S. {number}, was cited. "
        (folder / f"{number}.txt").write_text(own + f"{RENT} The landlord of house {number} keeps the roof.\n\n" * 9)
        (folder / f"{number}.pdf").write_bytes(pdf([[own, ASSIGN], [*PROSE, f"Page two of file {number}."]]))
        (folder / f"{number}.docx").write_bytes(word(own, RENT, rows=[["House", "Rent"], [str(number), "900"]]))
        letter = mail(own + ASSIGN, subject=f"House {number}", attachments={"lease.docx": word(own)}, number=number)
        (folder / f"{number}.eml").write_bytes(bytes(letter))
    (folder / "all.mbox").write_bytes(mailbox(*(mail(f"House {n} is empty.", number=n) for n in range(50, 55))))
    lines = (f"House {n} has {n % 7} rooms, and its roof was mended in {1900 + n % 99}." for n in range(20_000))
    (folder / "long.txt").write_text("\n".join(lines))
    assert (folder / "long.txt").stat().st_size > LARGE


def rows(path: Path) -> dict[str, list[Any]]:
    """The rows of all tables of the catalog."""
    with closing(sqlite3.connect(path / "catalog.sqlite")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in names}


def test_an_index_of_files_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[str]()
    start = workers._Process.__init__

    def note(process: workers._Process, function: Any) -> None:
        started.append(type(function).__name__)
        start(process, function)

    monkeypatch.setattr(workers._Process, "__init__", note)
    clock = SimpleNamespace(perf_counter=lambda: 0.0)  # an encoder notes how many seconds its fit took
    monkeypatch.setattr("rprs.encode.fitted.time", clock)
    monkeypatch.setattr(preparing, "LEAST_CHARACTERS", 500)
    monkeypatch.setattr(preparing, "CHUNK", 5_000)
    monkeypatch.setattr(encoding, "LEAST_SENTENCES", 20)
    monkeypatch.setattr(sentence_vectors, "ENCODE_ROWS", 500)
    fill(tmp_path / "files")
    teacher = make_bert(tmp_path / "tiny", positions=64)
    found = {}
    for number in (1, 2, 4):
        monkeypatch.setenv("RPRS_CACHE", str(tmp_path / f"cache{number}"))  # each fits the encoder
        path = tmp_path / f"{number}.rprs"
        started.clear()
        with (
            use_processes(number),
            limit_cores(number),
            Writer(
                path,
                create=True,
                encoder=f'fitted(teacher=onnx(model="{teacher}",precision=fp32),sample=200)',
                batch=3_000,
                processes=number,
            ) as writer,
        ):
            writer.add(read(tmp_path / "files"))
        assert set(started) == (set() if number == 1 else {"_Prepare", "EncodeSentences"})
        with Index(path) as index:
            assert len(index) == 36
            fingerprint = index.fingerprint
        files = {file.relative_to(path).as_posix(): file.read_bytes() for file in path.glob("*/*/*")}
        found[number] = files, fingerprint, rows(path)
    files, fingerprint, catalog = found[1]
    assert {Path(name).parts[0] for name in files} == {"segments", "encoders", "norms"}
    assert len(catalog["segments"]) > 3
    for number in (2, 4):
        assert sorted(found[number][0]) == sorted(files)
        assert [name for name in files if found[number][0][name] != files[name]] == []
        assert found[number][1:] == (fingerprint, catalog)
