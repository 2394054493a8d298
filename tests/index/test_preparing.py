"""Documents are split and analysed in processes: the index is the same, whatever their number and whatever they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rprs import Document, Index, Writer
from rprs.document import Sentences
from rprs.index import preparing
from rprs.index.preparing import Preparing
from rprs.index.segment import Entry
from rprs.text.analyze import Words
from rprs.text.split import SentenceSplitter

TEXTS = [
    f"The tenant of house {number} did not pay. Mr. Smith v. Jones, 3 U.S. {number}, was cited." for number in range(40)
]
DOCUMENTS = [Document(f"d{number}", text, "A title", {"year": 1990 + number}) for number, text in enumerate(TEXTS)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are used for small collections, too."""
    monkeypatch.setattr(preparing, "WORTH", 500)
    monkeypatch.setattr(preparing, "CHUNK", 400)


def files(index: Path) -> dict[str, bytes]:
    """The files of all segments."""
    return {str(path.relative_to(index)): path.read_bytes() for path in index.rglob("*.npy")}


def build(path: Path, documents: Iterable[Document], processes: int) -> dict[str, bytes]:
    with Writer(path, create=True, encoder="hashed(dimension=8)", batch=900, processes=processes) as writer:
        writer.add(documents)
    return files(path)


def test_an_index_is_the_same_whatever_the_number_of_processes(tmp_path: Path) -> None:
    assert build(tmp_path / "one", DOCUMENTS, 1) == build(tmp_path / "two", DOCUMENTS, 2)
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children.read_text().split()]
    assert not any(b"rprs.index.preparer" in command for command in commands), "a process is left"


def test_an_id_that_comes_again_is_compared_with_the_batch_before(tmp_path: Path) -> None:
    """A batch is written while the next is prepared; an id may be in both."""
    again = [*DOCUMENTS, *DOCUMENTS[20:32], Document("d25", "Another text."), *DOCUMENTS[:3]]
    counts = []
    for processes in (1, 2):
        path = tmp_path / str(processes)
        with Writer(path, create=True, encoder="hashed(dimension=8)", batch=900, processes=processes) as writer:
            added = writer.add(again)
        counts.append((added.added, added.changed, added.unchanged))
        with Index(path) as index:
            assert index.document("d25").text == "Another text."
            assert len(index) == 40
    assert counts[0] == counts[1] == (40, 1, 15)
    assert files(tmp_path / "1") == files(tmp_path / "2")


def test_a_process_that_is_killed_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = preparing._Process.ask

    def killed(process: preparing._Process, texts: list[str]) -> list[Entry]:
        process._process.send_signal(signal.SIGKILL)
        return ask(process, texts)

    expected = build(tmp_path / "one", DOCUMENTS, 1)
    monkeypatch.setattr(preparing._Process, "ask", killed)
    assert build(tmp_path / "two", DOCUMENTS, 2) == expected


@pytest.mark.slow
def test_processes_end_with_a_program_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal, time\n"
        "from rprs.index import preparing\n"
        "from rprs.text.analyze import Words\n"
        "from rprs.text.split import SentenceSplitter\n"
        "from rprs import spec\n"
        "process = preparing._Process([spec.text(SentenceSplitter()), spec.text(Words()), True])\n"
        "assert process.ask(['One sentence is here.'])[0].length == 3\n"
        "print(process._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for _ in range(100):
        if not Path(f"/proc/{done.stdout.strip()}").exists():
            return
        signal.sigtimedwait([], 0.05)
    pytest.fail("The process still runs")


def test_a_long_document_is_split_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "LONGEST", 300)
    asked: list[str] = []

    def ask(_: Preparing, texts: list[str]) -> None:
        asked.extend(texts)

    monkeypatch.setattr(Preparing, "_ask", ask)
    long = Document("long", " ".join(TEXTS))
    with_long = [*DOCUMENTS[:3], long, *DOCUMENTS[3:5]]
    prepared = Preparing(SentenceSplitter(), Words(), phrases=True, processes=2)
    lengths = [entry.length for entry in prepared.entries(with_long)]
    prepared.close()
    assert asked == [document.text for document in with_long if document is not long]
    assert lengths == [len(Words().terms(document.text)) for document in with_long]


@dataclass(frozen=True)
class Lines:
    """A splitter that another process does not have."""

    def split(self, text: str) -> Sentences:
        return SentenceSplitter().split(text)


def test_components_of_a_program_stay_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> Iterator[Entry]:
        raise AssertionError("a process was started")

    monkeypatch.setattr(Preparing, "_submit", started)
    own = Preparing(Lines(), Words(), phrases=False, processes=2)
    assert len(list(own.entries(DOCUMENTS))) == 40
