"""Building, changing, verifying and sweeping generations, in this process and over a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rprs
from rprs.cluster.build import add, build, remove
from rprs.cluster.generations import generations, load, newest, publish, sweep, verify_files
from rprs.cluster.job import in_this_process
from rprs.cluster.manifest import Manifest, blob_path
from rprs.cluster.parts import list_parts, shard_of
from rprs.cluster.store import Folder, open_store
from rprs.cluster.transfer import download, file_entry, local_copy, take_copy
from rprs.document import Document
from rprs.errors import StoreError, UsageError
from rprs.index import Index, verify
from rprs.read.source import Skipped
from tests.support.crash import invented
from tests.support.tiny_models import make_bert

DOCUMENTS = [invented(f"d{number:02d}", sentences=2 + number % 5) for number in range(24)]


@pytest.fixture(autouse=True)
def _node_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CLUSTER_FOLDER", str(tmp_path / "node"))


def files_of(manifest: Manifest) -> list[tuple[str, str]]:
    return [(file.path, file.sha256) for file in manifest.files]


def documents_of(tmp_path: Path, manifest: Manifest, store: Path | str) -> dict[str, Document]:
    documents: dict[str, Document] = {}
    for shard in manifest.shards:
        copy = local_copy(open_store(store), shard)
        assert verify(copy.path) == []
        with Index(copy.path) as index:
            documents |= {id: index.document(id) for id in index.ids}
        copy.close()
    return documents


def test_a_build_publishes_all_documents_in_shards_that_are_ordinary_indexes(tmp_path: Path) -> None:
    built = build(tmp_path / "store", DOCUMENTS, 3, encoder="hashed")
    assert built.generation == 1
    assert built.added == built.manifest.documents == len(DOCUMENTS)
    assert documents_of(tmp_path, built.manifest, tmp_path / "store") == {one.id: one for one in DOCUMENTS}
    assert Counter(shard_of(one.id, 3) for one in DOCUMENTS) == {
        number: shard.documents for number, shard in enumerate(built.manifest.shards)
    }
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == ["files", "generations"]


def test_the_same_build_gives_the_same_bytes_and_no_second_generation(tmp_path: Path) -> None:
    first = build(tmp_path / "one", DOCUMENTS, 2, encoder="hashed")
    second = build(tmp_path / "two", DOCUMENTS, 2, encoder="hashed")
    assert first.manifest == second.manifest
    again = build(tmp_path / "one", DOCUMENTS, 2, encoder="hashed")
    assert not again.is_new
    assert generations(open_store(tmp_path / "one")) == [1]


class Killed(BaseException):
    """The end of a process."""


def dying(steps: int) -> Callable[..., Iterator[tuple[int, Any]]]:
    """Runs so many tasks, then ends: before the record of the last one is noticed."""
    rest = [steps]

    def run(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        for place, each in enumerate(arguments):
            rest[0] -= 1
            if rest[0] < 0:
                raise Killed
            yield place, function(*each)

    return run


def noting(ran: list[str]) -> Callable[..., Iterator[tuple[int, Any]]]:
    """Notes the names of the tasks that run."""

    def run(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        ran.extend(function.__name__ for _ in arguments)
        return in_this_process(function, arguments)

    return run


def test_a_build_that_is_killed_at_any_step_continues_to_the_same_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for one in DOCUMENTS[:6]:
        (folder / f"{one.id}.txt").write_text(one.text)
    whole = build(tmp_path / "whole", [folder], 2, encoder="hashed")
    for steps in range(3):
        store = tmp_path / f"killed {steps}"
        with pytest.raises(Killed):
            build(store, [folder], 2, encoder="hashed", run=dying(steps))
        assert newest(open_store(store)) is None

        ran: list[str] = []
        resumed = build(store, [folder], 2, encoder="hashed", run=noting(ran))
        assert files_of(resumed.manifest) == files_of(whole.manifest)
        assert len([name for name in ran if name in ("read_part", "index_shard")]) == 3 - steps


def test_one_table_is_fitted_to_all_shards_and_every_kill_is_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default kind of encoder: its table and all rankings are those of one index, whatever step was the last."""
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    teacher = make_bert(tmp_path / "tiny", positions=64)
    encoder = f'fitted(teacher=onnx(model="{teacher}",precision=fp32),sample=100)'
    documents = [invented(f"d{number}", 0, 8) for number in range(16)]
    ran: list[str] = []
    whole = build(tmp_path / "whole", documents, 2, encoder=encoder, run=noting(ran)).manifest
    assert (ran.count("fit"), ran.count("encode_shard")) == (1, 2)
    assert whole.encoder_used.startswith("fitted(")
    for steps in (place + 1 for place, name in enumerate(ran[:-1]) if name not in ran[:place]):  # one of each kind
        store = tmp_path / f"killed {steps}"
        with pytest.raises(Killed):
            build(store, documents, 2, encoder=encoder, run=dying(steps))
        assert newest(open_store(store)) is None
        assert build(store, documents, 2, encoder=encoder).manifest == whole
    rprs.build(tmp_path / "one.rprs", documents, encoder=encoder)
    alone = rprs.Searcher(tmp_path / "one.rprs")
    with rprs.Cluster.open(tmp_path / "whole") as cluster:
        assert cluster.index.fingerprint == alone.index.fingerprint
        for query in documents[::5]:
            found, expected = (tuple(searcher.search(query, 5)) for searcher in (cluster, alone))
            assert found == expected


@pytest.mark.parametrize(
    ("files", "size", "parts"), [(6, 1000, 1), (32, 2**20, 16), (32, 2**22, 16), (40, 2**24, 20), (3, 2**30, 3)]
)
def test_files_are_divided_into_parts_that_several_nodes_can_read(
    tmp_path: Path, files: int, size: int, parts: int
) -> None:
    for number in range(files):
        with (tmp_path / f"{number:03d}.txt").open("wb") as file:
            file.truncate(size)  # takes no room on the disk
    listed = list_parts([tmp_path])
    assert len(listed) == parts
    assert [file.id for part in listed for file in part.files] == [f"{number:03d}.txt" for number in range(files)]


def test_files_are_read_as_by_one_index_and_the_rest_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.txt").write_text("The ferry left the harbour. The pilot kept the beacon.")
    (folder / "b.bin").write_bytes(bytes(range(256)) * 4)
    records = [{"id": "x", "text": "The miller sold the grain."}, {"id": "x", "text": "Another."}]
    (folder / "c.jsonl").write_text("\n".join(map(json.dumps, records)))
    skipped: list[Skipped] = []
    expected: list[Skipped] = []
    built = build(tmp_path / "store", [folder], 3, encoder="hashed", skipped=skipped.append)
    rprs.build(tmp_path / "one.rprs", folder, encoder="hashed", skipped=expected.append)
    with Index(tmp_path / "one.rprs") as index:
        assert documents_of(tmp_path, built.manifest, tmp_path / "store") == {
            id: index.document(id) for id in index.ids
        }
    assert sorted(item.reason for item in skipped) == sorted(item.reason for item in expected)


def test_a_change_publishes_a_generation_that_shares_files_with_the_last(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = build(store, DOCUMENTS, 4, encoder="hashed").manifest
    added = add(store, [invented("new"), invented("d03", 1), DOCUMENTS[5]])
    assert (added.added, added.changed, added.unchanged, added.generation) == (1, 1, 1, 2)
    removed = remove(store, ["d07", "nobody"])
    assert (removed.removed, removed.generation) == (1, 3)
    expected = {one.id: one for one in [*DOCUMENTS, invented("new"), invented("d03", 1)] if one.id != "d07"}
    assert documents_of(tmp_path, removed.manifest, store) == expected
    unchanged = set(files_of(first)) & set(files_of(removed.manifest))
    assert unchanged
    assert documents_of(tmp_path, load(open_store(store), 1), store) == {one.id: one for one in DOCUMENTS}


def test_progress_counts_the_steps_of_all_nodes_and_those_of_an_earlier_attempt(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for one in DOCUMENTS[:6]:
        (folder / f"{one.id}.txt").write_text(one.text)
    with pytest.raises(Killed):
        build(tmp_path / "store", [folder], 3, encoder="hashed", run=dying(2))  # a part and a shard
    steps: dict[str, tuple[int | None, list[int]]] = {}

    @contextmanager
    def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
        steps[f"{what} {unit}"] = total, []
        yield steps[f"{what} {unit}"][1].append

    build(tmp_path / "store", [folder], 3, encoder="hashed", progress=progress)
    assert {name: (total, sum(done)) for name, (total, done) in steps.items()} == {
        "reading parts": (1, 1),
        "indexing shards": (3, 3),
        "measuring steps": (5, 5),
    }
    assert steps["indexing shards"][1] == [1, 1, 1]  # the first was there


@pytest.mark.parametrize("size", [1_000, 15_000])
def test_norms_do_not_depend_on_how_counts_are_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Shards of different sizes store different numbers of ranges."""
    documents = [one for one in DOCUMENTS if shard_of(one.id, 3) < 2] + [invented("d", 0, 400)]
    assert len({shard_of(one.id, 3) for one in documents}) == 3
    whole = build(tmp_path / "whole", documents, 3, encoder="hashed").manifest
    monkeypatch.setattr("rprs.cluster.contributions.RANGE", size)
    divided: list[str] = []
    assert build(tmp_path / "store", documents, 3, encoder="hashed", run=noting(divided)).manifest == whole
    assert divided.count("_step") > 2  # the counts were added up in several parts
    add(tmp_path / "whole", [invented("new")])
    assert newest(open_store(tmp_path / "whole")) == add(tmp_path / "store", [invented("new")]).manifest


def test_a_shard_stays_on_the_node_that_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path / "store")
    shard = build(tmp_path / "store", DOCUMENTS, 1, encoder="hashed").manifest.shards[0]
    monkeypatch.setattr(Folder, "download", lambda *_: pytest.fail("it was copied again"))
    copy = local_copy(store, shard)
    assert verify(copy.path) == []
    assert {file.path for file in shard.files} <= {
        place.relative_to(copy.path).as_posix() for place in copy.path.rglob("*")
    }
    copy.close()


def test_a_local_copy_is_taken_to_be_changed_only_if_it_is_valid_and_not_in_use(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    shard = build(tmp_path / "store", DOCUMENTS, 1, encoder="hashed").manifest.shards[0]
    copy = local_copy(store, shard)
    take_copy(store, shard, tmp_path / "downloaded")
    assert copy.path.exists()
    copy.close()
    damaged = copy.path / shard.files[-1].path
    damaged.write_bytes(damaged.read_bytes()[:-1])
    take_copy(store, shard, tmp_path / "downloaded again")
    assert not copy.path.exists()
    local_copy(store, shard).close()
    take_copy(store, shard, tmp_path / "moved")
    assert not copy.path.exists()
    for name in ("downloaded", "downloaded again", "moved"):
        for file in shard.files:
            assert file_entry(tmp_path / name, file.path) == file


def test_a_change_that_changes_nothing_publishes_nothing(tmp_path: Path) -> None:
    build(tmp_path, DOCUMENTS, 2, encoder="hashed")
    assert not add(tmp_path, DOCUMENTS[:3]).is_new
    assert not remove(tmp_path, ["nobody"]).is_new
    assert generations(open_store(tmp_path)) == [1]
    assert not (tmp_path / "builds").exists()


def test_two_that_publish_the_same_generation_are_told_apart(tmp_path: Path) -> None:
    manifest = build(tmp_path, DOCUMENTS[:4], 1, encoder="hashed").manifest
    with pytest.raises(StoreError, match="Another process has published the generation 1"):
        publish(open_store(tmp_path), manifest)


def test_verifying_finds_each_file_that_is_missing_or_damaged(tmp_path: Path) -> None:
    manifest = build(tmp_path, DOCUMENTS[:6], 2, encoder="hashed").manifest
    store = open_store(tmp_path)
    assert isinstance(store, Folder)
    files = tuple(manifest.files)
    assert verify_files(store.url, files) == []
    for file in files[:6]:
        place = store.root / blob_path(file.sha256)
        content = place.read_bytes()
        place.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert f"({file.sha256}) is damaged" in "".join(verify_files(store.url, files))
        with pytest.raises(StoreError, match="is damaged"):
            download(store, [file], tmp_path / "copy")
        place.unlink()
        assert f"({file.sha256}) is missing" in "".join(verify_files(store.url, files))
        place.write_bytes(content)


def test_sweeping_keeps_the_last_generations_and_whatever_is_young(tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(store, DOCUMENTS, 2, encoder="hashed")
    add(store, [invented("new")])
    last = remove(store, ["d01"]).manifest
    assert sweep(str(store), 2).generations == (1,)
    assert sweep(str(store), 1).files == 0  # all of them may belong to a build under way
    swept = sweep(str(store), 1, young=timedelta(0))
    assert swept.files > 0
    assert generations(open_store(store)) == [3]
    assert verify_files(open_store(store).url, tuple(last.files)) == []
    assert {each.path for each in open_store(store).list("files")} == {blob_path(file.sha256) for file in last.files}


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no cluster at"):
        add(tmp_path, DOCUMENTS)
    with pytest.raises(UsageError, match="shards must be an integer"):
        build(tmp_path, DOCUMENTS, 0)
    with pytest.raises(UsageError, match="contain no document"):
        build(tmp_path, [], 2)
    with pytest.raises(UsageError, match="Expected a list of ids"):
        remove(tmp_path, "d01")


@given(st.lists(st.text(), max_size=40), st.integers(1, 9))
def test_every_id_of_any_script_has_one_shard(ids: list[str], shards: int) -> None:
    numbers = [shard_of(id, shards) for id in ids]
    assert numbers == [shard_of(id, shards) for id in ids]
    assert all(0 <= number < shards for number in numbers)
