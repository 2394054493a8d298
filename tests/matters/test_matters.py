"""Matters: files that read back exactly, conflicts, changed collections, and one line for everything that is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import Document
from rprs.errors import EmptyQuery, InvalidMatter, MatterConflict, RprsError, UsageError
from rprs.index import Index, Writer
from rprs.matters import (
    Collection,
    Matter,
    Search,
    Settings,
    changes,
    matter_from,
    matter_object,
    new_matter,
    new_search,
    read_matter,
    run_search,
    save_matter,
)
from rprs.rank.steering import Marks
from rprs.search import Searcher
from tests.support.cli import QUERY, rprs_error, rprs_ok, sample_index

words = st.text(max_size=8)
ids = st.lists(words.filter(bool), max_size=3, unique=True).map(tuple)
spans = st.lists(st.tuples(st.integers(0, 50), st.integers(51, 99)), max_size=3, unique=True).map(sorted).map(tuple)
metadata = st.dictionaries(words, st.one_of(words, st.integers(), st.booleans(), st.none()), max_size=2)
searches = st.builds(
    Search,
    name=words,
    collection=st.builds(Collection, words, words, st.integers(0), words),
    documents=st.lists(st.builds(Document, words.filter(bool), words, words, metadata), max_size=2).map(tuple),
    ids=ids,
    marks=st.builds(Marks, like=ids, key=spans, ignore=spans),
    hidden=ids,
    notes=st.dictionaries(words, words, max_size=2),
    tags=st.dictionaries(words, ids, max_size=2),
    settings=st.builds(
        Settings, k=st.integers(1, 99), where=st.none() | words, undated=st.sampled_from(["keep", "drop"])
    ),
    view=st.dictionaries(words, st.integers() | st.lists(words), max_size=2),
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("matters"))


@pytest.fixture
def index_path(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    shutil.copytree(original, tmp_path / "made.rprs")
    return tmp_path / "made.rprs"


@pytest.fixture
def index(index_path: Path) -> Iterator[Index]:
    with Index(index_path) as opened:
        yield opened


BRIEF = Document("query.txt", QUERY)


@settings(max_examples=30)
@given(
    st.builds(Matter, words, words, words, words, st.integers(0), words, ids, st.lists(searches, max_size=2).map(tuple))
)
def test_a_matter_reads_back_exactly(matter: Matter) -> None:
    assert matter_from(json.dumps(matter_object(matter))) == matter


# ---------------------------------------------------------------------------- files


def test_revisions_count_and_nothing_but_the_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.rprs-matter"
    first = save_matter(path, new_matter("A  matter"))
    second = save_matter(path, replace(first, notes="more"))
    assert (first.revision, second.revision) == (1, 2)
    assert read_matter(path) == second
    assert {each.name for each in tmp_path.iterdir()} <= {path.name, f".{path.name}.lock"}


def test_what_was_saved_elsewhere_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.rprs-matter"
    opened_twice = save_matter(path, new_matter("A"))
    mine = save_matter(path, replace(opened_twice, notes="mine"))
    with pytest.raises(
        MatterConflict, match=r"saved elsewhere since you opened it \(revision 2, yours is 1\): open it"
    ):
        save_matter(path, replace(opened_twice, notes="theirs"))
    with pytest.raises(MatterConflict, match="is another matter, 'A': save under another name"):
        save_matter(path, new_matter("B"))
    assert read_matter(path) == mine


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "is damaged or not a matter: it is not valid JSON"),
        ("{" * 100_000, "is damaged or not a matter: it is not valid JSON"),
        ("[]", "is not a matter: it has no format 'rprs-matter'"),
        ('{"format": "rprs-matter"}', "is damaged: its version is None"),
        ('{"format": "rprs-matter", "version": 2}', "was saved by a newer rprs (version 2): upgrade rprs to open it"),
        ('{"format": "rprs-matter", "version": 1}', "is damaged: id is missing"),
    ],
)
def test_a_file_that_is_no_matter_is_one_line(tmp_path: Path, content: str, line: str) -> None:
    path = tmp_path / "bad.rprs-matter"
    path.write_text(content)
    with pytest.raises(InvalidMatter) as caught:
        read_matter(path)
    assert str(caught.value) == f"{path} {line}"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"revision": "3"}, "is damaged: revision must be a whole number. Got '3'"),
        ({"colour": 1}, "is damaged: colour is unknown"),
        ({"searches": [{"name": "a"}]}, "is damaged: searches[0].collection is missing"),
        ({"searches": [5]}, "is damaged: searches[0] must be an object. Got 5"),
        ({"tags": "x"}, "is damaged: tags must be a list. Got 'x'"),
    ],
)
def test_damage_names_its_place(change: dict[str, Any], line: str) -> None:
    with pytest.raises(InvalidMatter) as caught:
        matter_from(json.dumps(matter_object(new_matter("A")) | change), "a.rprs-matter")
    assert str(caught.value) == f"a.rprs-matter {line}"


def test_wrong_marks_in_a_file_are_damage(index: Index) -> None:
    search = new_search(index, [BRIEF])
    broken = replace(new_matter("A"), searches=(replace(search, marks=Marks(key=((9, 3),))),))
    with pytest.raises(InvalidMatter, match="is damaged: A range of key must have 0 <= start < end"):
        matter_from(json.dumps(matter_object(broken)))


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InvalidMatter, match=r"There is no matter .*: create one with `rprs matter new "):
        read_matter(tmp_path / "none.rprs-matter")
    with pytest.raises(InvalidMatter, match="is a folder, not a matter"):
        read_matter(tmp_path)
    with pytest.raises(UsageError, match="A matter needs a name"):
        new_matter("  ")


# ---------------------------------------------------------------------------- searches


def test_a_saved_search_gives_the_same_hits(index: Index) -> None:
    marks = Marks(like=("loan.txt",), unlike=("lease.txt",), key=((0, 20),))
    search = new_search(index, [BRIEF], marks=marks, settings=Settings(k=4))
    expected = Searcher(index).search(BRIEF, 4, like=["loan.txt"], unlike=["lease.txt"], key=[(0, 20)])
    results = run_search(search, Searcher(index))
    assert results.hits == expected.hits
    assert results.notes == expected.notes
    hidden = replace(search, hidden=(expected[0].id,))
    assert run_search(hidden, Searcher(index)).hits == expected.hits[1:]


def test_a_changed_collection_is_named_and_lost_marks_are_left_out(index_path: Path) -> None:
    with Index(index_path) as index:
        marks = Marks(like=("loan.txt",), unlike=("lease.txt",), ignore=((0, 20),))
        search = new_search(index, [BRIEF], ["loan.txt"], marks=marks)
        before = len(index)
        assert changes(search, index) == ()
    with Writer(index_path) as writer:
        writer.remove(["loan.txt"])
    with Index(index_path) as index:
        lines = changes(search, index)
        assert lines == (
            f"The collection made.rprs has changed since this search was saved: it had {before} documents, now "
            f"{before - 1}. Ranks may differ",
            "1 of 1 documents of the query are no longer in the collection: 'loan.txt'",
            "1 of 1 relevant documents are no longer in the collection: 'loan.txt'",
            "The text of the query has changed: its key and ignored sentences are not used",
        )
        results = run_search(search, Searcher(index))
        assert results.notes[: len(lines)] == lines
        assert results.hits == Searcher(index).search(BRIEF, unlike=["lease.txt"]).hits
        with pytest.raises(EmptyQuery, match="No document of the search 'x' is in"):
            run_search(replace(search, name="x", documents=()), Searcher(index))


# ---------------------------------------------------------------------------- command line


def test_a_matter_from_the_command_line(index_path: Path, tmp_path: Path) -> None:
    path, query = tmp_path / "pellam.rprs-matter", tmp_path / "query.txt"
    query.write_text(QUERY)
    rprs_ok("matter", "new", path, "--name", "Dunmore v. Pellam")
    assert "exists already" in rprs_error("matter", "new", path)
    assert "has no searches" in rprs_error("matter", "run", path)
    rprs_ok("matter", "add", path, index_path, query, "-k", "3", "--like", "loan.txt", "--ignore", "4-5")
    rprs_ok("matter", "mark", path, "--not", "lease.txt", "--on", "loan.txt", "--note", "Distinguish", "--tag", "rent")
    rprs_ok("matter", "mark", path, "--note", "Due in May", "--tag", "urgent")
    stored = read_matter(path)
    assert (stored.name, stored.notes, stored.tags) == ("Dunmore v. Pellam", "Due in May", ("urgent",))
    assert stored.searches[0].notes == {"loan.txt": "Distinguish"}
    table = rprs_ok("matter", "show", path).out
    assert "1 relevant, 1 not relevant, 2 ignored passages" in table
    assert "Distinguish #rent" in table
    steered = ("--like", "loan.txt", "--not", "lease.txt", "--ignore", "4-5", "-k", "3", "--format", "jsonl")
    expected = rprs_ok("search", index_path, query, *steered).out
    assert rprs_ok("matter", "run", path, "--format", "jsonl").out == expected
    assert "searches 1 to 1. Got --search 2" in rprs_error("matter", "run", path, "--search", "2")
    index_path.rename(tmp_path / "moved.rprs")
    assert "is gone: name where it is now with --index" in rprs_error("matter", "run", path)
    moved = rprs_ok("matter", "run", path, "--index", tmp_path / "moved.rprs", "--format", "jsonl")
    assert moved.out == expected


def test_errors_are_errors_of_rprs() -> None:
    assert issubclass(MatterConflict, InvalidMatter)
    assert issubclass(InvalidMatter, RprsError)
