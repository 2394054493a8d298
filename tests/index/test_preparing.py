"""Documents are split and analysed in processes: the index is the same, whatever their number and whatever they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rprs import Document, Index, Writer
from rprs.document import Sentences
from rprs.index import encoding, preparing, sentence_vectors, workers
from rprs.index.preparing import Preparing
from rprs.index.segment import Entry
from rprs.text.analyze import Words
from rprs.text.split import SentenceSplitter
from tests.support.tiny_models import make_bert

TEXTS = [
    f"The tenant of house {number} did not pay. Mr. Smith v. Jones, 3 U.S. {number}, was cited." for number in range(40)
]
DOCUMENTS = [Document(f"d{number}", text, "A title", {"year": 1990 + number}) for number, text in enumerate(TEXTS)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are used for small collections, too."""
    monkeypatch.setattr(preparing, "LEAST_CHARACTERS", 500)
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
    assert not any(b"rprs.index.worker" in command for command in commands), "a process is left"


def test_small_batches_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are small where sentences take long to encode; a large collection still uses all cores."""
    monkeypatch.setattr(preparing, "LEAST_CHARACTERS", 1_000)
    sizes: list[int] = []
    submit = Preparing._submit

    def noted(self: Preparing, chunk: list[Document]) -> object:
        sizes.append(len(chunk))
        return submit(self, chunk)

    monkeypatch.setattr(Preparing, "_submit", noted)
    prepared = Preparing(SentenceSplitter(), Words(), phrases=True, processes=2)
    used = []
    for start in range(0, 20, 5):  # each batch has about 375 characters
        lengths = [entry.length for entry in prepared.entries(DOCUMENTS[start : start + 5])]
        assert lengths == [len(Words().terms(text)) for text in TEXTS[start : start + 5]]
        used.append(sum(sizes))
    prepared.close()
    assert used == [0, 0, 5, 10]
    assert len(list(prepared.entries(DOCUMENTS[:5]))) == 5
    assert sum(sizes) == 10, "counted again from the start once the processes have ended"


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
    ask = workers._Process.ask

    def killed(process: workers._Process, task: Any) -> Any:
        process._process.send_signal(signal.SIGKILL)
        return ask(process, task)

    expected = build(tmp_path / "one", DOCUMENTS, 1)
    monkeypatch.setattr(workers._Process, "ask", killed)
    assert build(tmp_path / "two", DOCUMENTS, 2) == expected


@pytest.mark.parametrize("killed", [False, True])
def test_vectors_are_the_same_whoever_encodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool) -> None:
    """Also if the processes are killed."""
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sentence_vectors, "ENCODE_ROWS", 7)
    teacher = make_bert(tmp_path / "tiny", positions=64)
    fitted = f'fitted(teacher=onnx(model="{teacher}",precision=fp32),sample=100)'
    documents = [Document(f"d{number}", " ".join(TEXTS[number : number + 3])) for number in range(40)]
    started: list[str] = []
    start, ask = sentence_vectors.EncodeSentences, workers._Process.ask

    def note(component: Any, *arguments: Any) -> Any:
        started.append(component.name)
        return start(component, *arguments)

    def kill(process: workers._Process, task: Any) -> Any:
        if killed:
            process._process.send_signal(signal.SIGKILL)
        return ask(process, task)

    monkeypatch.setattr(encoding, "EncodeSentences", note)
    monkeypatch.setattr(workers._Process, "ask", kill)
    found: dict[int, dict[str, bytes]] = {}
    for least in (10**9, 20):
        monkeypatch.setattr(encoding, "LEAST_SENTENCES", least)
        with Writer(tmp_path / str(least), create=True, encoder=fitted, batch=3_000, processes=2) as writer:
            writer.add(documents)
        found[least] = files(tmp_path / str(least))
        assert started == ([] if least > 20 else ["fitted"])
    assert found[10**9] == found[20]


@pytest.mark.slow
def test_processes_end_with_a_program_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal, time\n"
        "from rprs.index import workers\n"
        "from rprs.index.preparing import Preparing\n"
        "from rprs.text.analyze import Words\n"
        "from rprs.text.split import SentenceSplitter\n"
        "prepared = Preparing(SentenceSplitter(), Words(), phrases=True, processes=2)\n"
        "process = workers._Process(prepared._function)\n"
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

    def ask(_: workers.Workers[list[str], list[Entry]], texts: list[str]) -> None:
        asked.extend(texts)

    monkeypatch.setattr(workers.Workers, "_ask", ask)
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
