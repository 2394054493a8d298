"""Matters over HTTP and through the client: listed, read, saved with the check of revisions; damage is one line."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docx
import pytest

from rprs import Client, Searcher
from rprs.document import Document
from rprs.errors import InvalidMatter, MatterConflict, RprsError, UsageError
from rprs.index import Index, Writer
from rprs.matters import (
    MATTER_FORMATS,
    Matter,
    MatterReport,
    new_matter,
    new_search,
    read_matter,
    report_search,
    save_matter,
)
from rprs.rank.steering import Marks
from tests.support.cli import ENCODER, QUERY, sample_index
from tests.support.server import served


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("matters"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("folder")


@pytest.fixture(scope="module")
def client(index_path: Path, folder: Path) -> Iterator[Client]:
    with served(index_path, "--matters", folder) as server, Client(server.url) as client:
        yield client


@pytest.fixture(scope="module")
def matter(index_path: Path) -> Matter:
    with Index(index_path) as index:
        search = new_search(index, [Document("query.txt", QUERY)], marks=Marks(like=("loan.txt",)))
    return replace(new_matter("Dunmore v. Pellam"), notes="Füße ≠ 🏛", searches=(search,))


def test_saved_listed_and_read(client: Client, folder: Path, matter: Matter) -> None:
    name = "Dunmore v. Pellam.rprs-matter"
    saved = client.save_matter(name, matter)
    assert (saved.revision, saved.searches) == (1, matter.searches)
    assert client.matter(name) == saved == read_matter(folder / name)
    (listed,) = client.matters()
    assert (listed["file"], listed["name"], listed["revision"], listed["searches"]) == (name, matter.name, 1, 1)


def test_what_was_saved_elsewhere_is_not_overwritten(client: Client, folder: Path, matter: Matter) -> None:
    name = "two.rprs-matter"
    opened = client.save_matter(name, matter)
    theirs = save_matter(folder / name, replace(opened, notes="theirs"))
    with pytest.raises(MatterConflict, match=r"saved elsewhere since you opened it \(revision 2, yours is 1\)"):
        client.save_matter(name, replace(opened, notes="mine"))
    assert client.matter(name) == theirs
    assert client.save_matter(name, replace(theirs, notes="both")).revision == 3


def test_a_damaged_matter_is_one_line_and_the_others_are_listed(client: Client, folder: Path) -> None:
    path = folder / "damaged.rprs-matter"
    path.write_text('{"format": "rprs-matter", "version": 1', encoding="utf-8")
    with pytest.raises(InvalidMatter) as caught:
        client.matter(path.name)
    assert str(caught.value) == "damaged.rprs-matter is damaged or not a matter: it is not valid JSON"
    errors = {each["file"]: each["error"] for each in client.matters()}
    assert errors.pop(path.name) == str(caught.value)
    assert not any(errors.values())
    path.unlink()


@pytest.mark.parametrize("name", ["../x.rprs-matter", ".rprs-matter", "a/b.rprs-matter", "x.json", ""])
def test_names_stay_in_the_folder(client: Client, folder: Path, matter: Matter, name: str) -> None:
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises((UsageError, RprsError)):
        client.save_matter(name, matter)
    assert sorted(folder.parent.rglob("*")) == before


def test_missing_matters_and_servers_without_a_folder(client: Client, index_path: Path, matter: Matter) -> None:
    with pytest.raises(InvalidMatter, match=r"There is no matter none\.rprs-matter"):
        client.matter("none.rprs-matter")
    with served(index_path) as server, Client(server.url) as bare:
        with pytest.raises(RprsError, match="no folder for matters: start it with --matters FOLDER"):
            bare.matters()
        assert bare.changes(matter) == [()]  # needs no folder


def test_an_export_is_that_of_the_library(client: Client, index_path: Path, matter: Matter) -> None:
    (search,) = matter.searches
    noted = replace(matter, searches=(replace(search, notes={"loan.txt": "Read ¶ 3 first"}), search))
    with Index(index_path) as index:
        sections = tuple(report_search(each, Searcher(index)) for each in noted.searches)
    report = MatterReport(noted, sections)
    for name in ("html", "md", "csv"):
        assert client.export_matter(noted, name) == MATTER_FORMATS[name].write(report)
    word = docx.Document(io.BytesIO(client.export_matter(noted)))
    assert [len(table.rows) for table in word.tables] == [1 + len(section.entries) for section in sections]
    assert client.export_matter(noted, "md", search=2) == MATTER_FORMATS["md"].write(
        replace(report, sections=sections[1:])
    )
    for format, number, message in (("pdf", None, "format"), ("md", 3, "The matter has 2 searches. Got the number 3")):
        with pytest.raises(RprsError, match=message) as caught:
            client.export_matter(noted, format, search=number)
        assert "\n" not in str(caught.value)


def test_an_export_uses_the_collection_of_each_search(index_path: Path, matter: Matter, tmp_path: Path) -> None:
    """Of three searches, one is in the other collection, one in all together, and one in an unknown collection."""
    other = tmp_path / "other.rprs"
    with Writer(other, create=True, encoder=ENCODER) as writer:
        writer.add([Document("annex.txt", QUERY.replace("roof", "cellar"))])
    (search,) = matter.searches
    names = ("other.rprs", f"{index_path.name} + other.rprs", "elsewhere.rprs")
    searches = tuple(
        replace(search, collection=replace(search.collection, name=name, fingerprint="")) for name in names
    )
    with served(index_path, other) as server, Client(server.url) as client:
        text = client.export_matter(replace(matter, searches=searches), "csv").decode("utf-8-sig")
        comment, _, table = text.partition("\r\n")
        assert comment.strip('"').startswith("# rprs: matter=")
        rows = list(csv.DictReader(io.StringIO(table)))
        ids = [{row["id"] for row in rows if row["collection"] == name} for name in names]
        assert ids[0] == {"annex.txt", "loan.txt"}  # with the marked one, which this collection does not have
        assert {"annex.txt", "lease.txt"} <= ids[1]
        assert "annex.txt" not in ids[2]
        assert "lease.txt" in ids[2]
        markdown = client.export_matter(replace(matter, searches=searches), "md").decode()
        assert "was saved with the collection elsewhere.rprs; this one is" in markdown
        shutil.rmtree(other)
        bare = client.export_matter(replace(matter, searches=searches[:1]), "md").decode()
    assert "The collection other.rprs could not be opened: without results" in bare
    assert str(tmp_path) not in markdown + bare


def test_what_has_changed_since(client: Client, index_path: Path, matter: Matter) -> None:
    assert client.changes(matter) == [()]
    with Writer(index_path) as writer:
        writer.remove(["loan.txt"])
    ((first, second),) = client.changes(matter)
    assert "has changed since this search was saved" in first
    assert second == "1 of 1 relevant documents are no longer in the collection: 'loan.txt'"
