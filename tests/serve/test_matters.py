"""Matters over HTTP and through the client: listed, read, saved with the check of revisions; damage is one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rprs import Client
from rprs.document import Document
from rprs.errors import InvalidMatter, MatterConflict, RprsError, UsageError
from rprs.index import Index, Writer
from rprs.matters import Matter, new_matter, new_search, read_matter, save_matter
from rprs.rank.steering import Marks
from tests.support.cli import QUERY, sample_index
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


def test_what_has_changed_since(client: Client, index_path: Path, matter: Matter) -> None:
    assert client.changes(matter) == [()]
    with Writer(index_path) as writer:
        writer.remove(["loan.txt"])
    ((first, second),) = client.changes(matter)
    assert "has changed since this search was saved" in first
    assert second == "1 of 1 relevant documents are no longer in the collection: 'loan.txt'"
