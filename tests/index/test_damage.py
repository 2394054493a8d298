"""A damaged, misplaced or mismatched index raises an error of one line and never ranks wrongly in silence."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from numpy.typing import NDArray

from rprs.errors import IndexCorrupt, IndexMismatch, InvalidIndex, RprsError
from rprs.index import Index, Writer, verify
from rprs.index.segment import NAMES, NEWER_NAMES, PHRASE_NAMES, Segment
from rprs.progress import Progress
from tests.support.crash import COLLECTION, HASHED, LearnedTable, invented, memory_folder, rankings
from tests.support.flips import small_index

FILES = [f"segments/000002/{name}.npy" for name in (*NAMES, *NEWER_NAMES, *PHRASE_NAMES, "vectors.000001")]
HEADER = 128  # bytes of header in every array of an index as small as this


@pytest.fixture
def broken(intact: Path) -> Iterator[Path]:
    with memory_folder() as folder:
        yield shutil.copytree(intact, folder / "broken.rprs")


def flip(file: Path, position: int, bits: int = 1) -> None:
    with file.open("r+b") as stream:
        stream.seek(position)
        (byte,) = stream.read(1)
        stream.seek(position)
        stream.write(bytes([byte ^ bits]))


def attempt(call: Callable[[], object]) -> object:
    """The result of a call, or the one line of its error."""
    try:
        return call()
    except RprsError as error:
        if "\n" in str(error):
            raise
        return str(error)


# ---------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("file", [*FILES, "norms/000002/squared.npy", "encoders/000001/counts.json"])
def test_verify_names_a_truncated_changed_or_missing_file(broken: Path, file: str) -> None:
    assert verify(broken) == []
    target = broken / file
    content = target.read_bytes()
    for damaged in (content[:-1], content[: len(content) // 2], content + b"\0", b"", None):
        if damaged is None:
            target.unlink()
        else:
            target.write_bytes(damaged)
        assert any(file in line for line in verify(broken))
        if file.endswith(".npy"):
            with pytest.raises(IndexCorrupt, match=r"000002/.* (is damaged|is missing).*run `rprs verify") as caught:
                Index(broken)
            assert "\n" not in str(caught.value)
    target.write_bytes(content)
    assert verify(broken) == []
    for position in {HEADER, len(content) // 2, len(content) - 1} - ({HEADER} if len(content) <= HEADER else set()):
        flip(target, position)
        assert any(file in line for line in verify(broken)), f"byte {position}"
        flip(target, position)


def _array(path: Path, name: str) -> NDArray[Any]:
    """An array of the second segment."""
    segment = Segment.open(path, 2, 1, phrases=True)
    owner = segment.phrases if name in PHRASE_NAMES else segment
    array: NDArray[Any] = getattr(owner, name.removeprefix("phrase_") if name in PHRASE_NAMES else name)
    return array


@pytest.mark.parametrize("file", FILES)
def test_a_damaged_header_never_opens_as_another_array(intact: Path, broken: Path, file: str) -> None:
    name = Path(file).stem.split(".")[0]
    expected, rejections = _array(intact, name), 0
    for position in range(HEADER):
        flip(broken / file, position)
        try:
            array = _array(broken, name)
        except IndexCorrupt:
            rejections += 1
        else:  # NumPy ignores some white space
            assert array.dtype == expected.dtype
            assert array.tolist() == expected.tolist()
        flip(broken / file, position)
    assert rejections > HEADER // 3


@pytest.mark.filterwarnings("ignore:.*'a'.*:DeprecationWarning")  # of NumPy, which reads it nevertheless
@pytest.mark.parametrize("name", ["term_offsets", "posting_offsets", "sentence_offsets"])
def test_a_header_that_makes_bytes_of_numbers_is_a_problem(broken: Path, name: str) -> None:
    """One flipped bit: the type i8 becomes a8, whose values are no numbers."""
    file = next(broken.glob(f"segments/*/{name}.npy"))
    file.write_bytes(file.read_bytes().replace(b"<i8", b"<a8", 1))
    assert any(name in problem for problem in verify(broken))
    with pytest.raises(IndexCorrupt):
        Index(broken, check=False)


@pytest.mark.parametrize("name", ["term_offsets", "posting_offsets"])
def test_a_wrong_offset_is_detected_before_it_is_used(broken: Path, name: str) -> None:
    file = broken / f"segments/000002/{name}.npy"
    rows = (file.stat().st_size - HEADER) // 8
    for row in range(1, rows - 1):
        flip(file, HEADER + 8 * row + 4, bits=0x10)  # 2^36 more
    with pytest.raises(IndexCorrupt, match=rf"000002/{name}.npy is damaged \(a checksum"):
        rankings(broken)


def test_a_missing_segment_is_named(broken: Path) -> None:
    shutil.rmtree(broken / "segments/000001")
    with pytest.raises(IndexCorrupt, match=r"segments/000001/.* is missing: run `rprs verify"):
        Index(broken)
    assert any("segments/000001/spans.npy is missing" in line for line in verify(broken))
    with Writer(broken) as writer, pytest.raises(IndexCorrupt, match=r"segments/000001/.* is missing"):
        writer.compact()


# ---------------------------------------------------------------------------- the catalog


@pytest.mark.parametrize(
    ("seed", "flips"), [(5, 40), pytest.param(5, 1500, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_damage_to_the_catalog_is_reported_or_harmless(intact: Path, broken: Path, seed: int, flips: int) -> None:
    """A flipped bit is either reported or changes no result."""
    catalog = broken / "catalog.sqlite"
    before, size, random = rankings(intact), catalog.stat().st_size, Random(seed)
    content = catalog.read_bytes()
    used = [position for position in range(size) if content[position]]
    reported = 0
    for position in random.sample(used, flips):
        flip(catalog, position, bits=1 << random.randrange(8))
        problems = attempt(lambda: verify(broken))  # an error of one line if the format number was hit
        reported += bool(problems)
        after = attempt(lambda: rankings(broken))
        assert problems or after == before, f"byte {position}"
        for leftover in broken.glob("catalog.sqlite-*"):
            leftover.unlink()
        catalog.write_bytes(content)
    assert reported > flips // 2


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to look like one" * 90])
def test_a_catalog_that_is_not_a_database(broken: Path, content: bytes) -> None:
    (broken / "catalog.sqlite").write_bytes(content)
    for opened in (Index, Writer):
        with pytest.raises(IndexCorrupt, match=r"catalog.sqlite cannot be opened as an index \(") as caught:
            opened(broken)
        assert "\n" not in str(caught.value)
    assert "catalog.sqlite cannot be opened" in verify(broken)[0]


def test_a_truncated_catalog(broken: Path) -> None:
    content = (broken / "catalog.sqlite").read_bytes()
    for pages in range(1, len(content) // 4096):
        (broken / "catalog.sqlite").write_bytes(content[: pages * 4096])
        assert "catalog.sqlite" in verify(broken)[0]
        with pytest.raises(IndexCorrupt, match=r"catalog.sqlite"):
            rankings(broken)


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path / "catalog.sqlite")
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE texts SET text = text || ' ' WHERE document = 3", "the text of 'd02' has changed"),
        ("DELETE FROM texts WHERE document = 3", "the text of 'd02' has changed"),
        ("UPDATE documents SET title = 'x' WHERE id = 'd02'", "the title or the metadata of 'd02' have changed"),
        ("UPDATE documents SET metadata = '{}' WHERE id = 'd02'", "the title or the metadata of 'd02' have changed"),
        ("UPDATE documents SET sentences = 99 WHERE id = 'd02'", "the size of 'd02' is not that in its segment"),
        ("UPDATE documents SET ordinal = 99 WHERE id = 'd02'", "the size of 'd02' is not that in its segment"),
        ("UPDATE segments SET documents = 99 WHERE number = 1", "segment 1: the number of documents does not fit"),
        ("UPDATE segments SET tokens = 1 WHERE number = 1", "segment 1: the number of words does not fit"),
        ("UPDATE settings SET value = 'words' WHERE key = 'analyzer'", "its settings have changed"),
        ("DELETE FROM settings WHERE key = 'generation'", "its settings have changed"),
        ("UPDATE encoders SET dimension = 17", "its settings have changed"),
    ],
)
def test_verify_reports_parts_that_do_not_fit_together(broken: Path, statement: str, problem: str) -> None:
    change(broken, statement)
    assert any(problem in line for line in verify(broken))


def test_a_path_that_a_changed_bit_made_a_number_is_reported_in_one_line(tmp_path: Path) -> None:
    def encode() -> None:
        with Index(root) as index:
            index.encode(COLLECTION[0])

    root = tmp_path / "a.rprs"
    small_index(root)
    catalog, path = root / "catalog.sqlite", b"encoders/000001/counts.json"
    text, number = 13 + 2 * len(path), 3  # how SQLite writes the type of a text of this length, and of three bytes
    content = catalog.read_bytes()
    places = [match.start() for match in re.finditer(re.escape(path), content)]
    outcomes = []
    for entry in (
        place for place in places if content[place - 3 : place - 1] == bytes([3, text])
    ):  # of an index by path
        flip(catalog, entry - 2, bits=text ^ number)
        outcomes.append(attempt(encode))
        assert any("catalog.sqlite" in line for line in verify(root))
        catalog.write_bytes(content)
    assert f"{catalog} is damaged (a path is not a text): run `rprs verify {root}`" in outcomes


# ---------------------------------------------------------------------------- other formats, settings and folders


@pytest.mark.parametrize(
    ("format", "advice"), [("77", "a newer version has made it, so update rprs"), ("0", "index anew")]
)
def test_another_format_is_refused(broken: Path, format: str, advice: str) -> None:
    change(broken, f"UPDATE settings SET value = '{format}' WHERE key = 'format'")
    for opened in (Index, Writer, verify):
        message = rf"has the index format {format}, this version of rprs reads 1 to 3: {advice}"
        with pytest.raises(IndexMismatch, match=message):
            opened(broken)


@pytest.mark.parametrize(
    ("option", "stored", "other"),
    [
        ("splitter", r"sentences\(.*\)", "tokens"),
        ("analyzer", r"words\(language=english.*ngrams=1\)", "words(ngrams=2)"),
        ("encoder", r"learned\(.*\)", "hashed(dimension=8)"),
    ],
)
def test_other_settings_are_refused_and_both_named(broken: Path, option: str, stored: str, other: str) -> None:
    name = other.split("(")[0]
    with pytest.raises(
        IndexMismatch, match=rf"was made with the {option} {stored}, not {name}.*: leave the option out"
    ):
        Writer(broken, create=True, **{option: other})  # type: ignore[arg-type]
    with Writer(broken, create=True) as writer:  # the lock was released
        assert writer.add(COLLECTION[2:4]).unchanged == 2


def test_the_same_settings_written_differently_are_accepted(broken: Path) -> None:
    with Writer(broken, create=True, analyzer="words( language = english )", encoder="learned(sample=12)"):
        pass


def test_other_weights_are_refused_and_both_named(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LearnedTable, "fingerprint", "feed")
    message = r"was encoded with learned\(.*\) of the weights [0-9a-f]{16}, but those at hand are feed: use the same"
    with Index(broken) as index, pytest.raises(IndexMismatch, match=message):
        index.encode(COLLECTION[0])
    with Writer(broken) as writer, pytest.raises(IndexMismatch, match=message):
        writer.add([invented("new", 0, 3)])
    monkeypatch.undo()
    assert rankings(broken)


def test_a_path_without_an_index(tmp_path: Path) -> None:
    for opened in (Index, Writer, verify):
        with pytest.raises(InvalidIndex, match=r"There is no index at .*nowhere: make one with `rprs index SOURCE"):
            opened(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/thesis.docx").write_text("mine")
    with pytest.raises(InvalidIndex, match=r"file is a file: choose another place"):
        Writer(tmp_path / "file", create=True, encoder=HASHED)
    with pytest.raises(InvalidIndex, match=r"Cannot make the folder .*file/below"):
        Writer(tmp_path / "file/below", create=True, encoder=HASHED)
    with pytest.raises(InvalidIndex, match=r"is not an index and holds other files \(thesis.docx\)"):
        Writer(tmp_path / "folder", create=True, encoder=HASHED)
    assert [file.name for file in (tmp_path / "folder").iterdir()] == ["thesis.docx"]
    for opened in (Index, Writer):
        with pytest.raises(InvalidIndex, match="There is no index at"):
            opened(tmp_path / "file")


def test_a_wrong_setting_creates_no_index(tmp_path: Path) -> None:
    with pytest.raises(RprsError, match="no encoder named 'hased'"):
        Writer(tmp_path / "new", create=True, encoder="hased")
    assert not (tmp_path / "new").exists()


def test_a_damaged_catalog_is_verified_once(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a commit of another process is a reason to verify again."""
    verifying: Any = import_module("rprs.index.verify")
    attempts: list[Path] = []
    verify_state = verifying._verify_state

    def counting(root: Path, progress: Progress) -> tuple[int | None, list[str]]:
        attempts.append(root)
        result: tuple[int | None, list[str]] = verify_state(root, progress)
        return result

    monkeypatch.setattr(verifying, "_verify_state", counting)
    monkeypatch.setattr(verifying, "_database", lambda _catalog: iter(["a page is damaged"]))
    assert verify(broken) == ["a page is damaged"]
    assert len(attempts) == 1
