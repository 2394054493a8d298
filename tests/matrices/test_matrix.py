"""Who matches whom: matches, clusters, resuming, the CSV file and the picture."""

from __future__ import annotations

import csv
import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs import Document, Index, Matrix, Searcher, matrix
from rprs.document import Value
from rprs.errors import EmptyQuery, UsageError
from rprs.files.cache import Cache
from rprs.files.journal import open_journal
from rprs.matrices.clusters import connected, reading_order
from rprs.matrices.values import Match
from rprs.progress import Advance
from tests.support.cli import rprs_error, rprs_ok
from tests.support.web_samples import HARBOUR, ORCHARD, case_query, cases, invent_sentences, paragraphs, write_index


def documents() -> list[Document]:
    """Cases with a copy and a revised copy of the first, and two versions of an orchard."""
    orchard = invent_sentences(ORCHARD, 12, 77)
    return [
        *cases(),
        Document("orchard-1", paragraphs(orchard), "An orchard"),
        Document("orchard-2", paragraphs([*orchard[:-1], "The last sentence is another one."]), "An orchard, revised"),
    ]


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("matrix") / "cases.rprs", documents())


@pytest.fixture(scope="module")
def result(index_path: Path) -> Matrix:
    return matrix(index_path, k=4)


def rows_of(text: str) -> list[dict[str, str]]:
    comment, _, table = text.partition("\n")
    assert comment.strip('"\r').startswith("# rprs: version=")
    return list(csv.DictReader(io.StringIO(table)))


# ---------------------------------------------------------------------------- matches


def test_the_matches_of_each_document_are_those_of_a_search(result: Matrix, index_path: Path) -> None:
    with Index(index_path) as index:
        searcher = Searcher(index)
        for id in index:
            expected = searcher.rank(index[id], keep_self=True, exclude=[id]).top(4)
            own = [match for match in result.matches if match.query == id]
            assert [(match.id, match.score) for match in own] == list(
                zip(expected.ids, expected.scores.tolist(), strict=True)
            )
            assert [match.rank for match in own] == [1, 2, 3, 4]
    assert result.within


def test_a_document_is_not_its_own_match_but_its_copy_is(result: Matrix) -> None:
    assert all(match.query != match.id for match in result.matches)
    best = {match.query: (match.id, match.relation) for match in result.matches if match.rank == 1}
    assert best["case-1"] == ("copy", "identical")
    assert best["orchard-1"] == ("orchard-2", "near duplicate")
    assert best["case-4"][1] == "different"


def test_clusters_are_the_copies_and_versions(result: Matrix) -> None:
    assert [set(cluster) for cluster in result.clusters] == [{"case-1", "copy", "near"}, {"orchard-1", "orchard-2"}]
    assert "2 clusters" in repr(result)


def test_queries_from_elsewhere_are_compared_with_the_collection(index_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "briefs"
    folder.mkdir()
    (folder / "brief.txt").write_text(case_query())
    (folder / "again.txt").write_text(documents()[0].text)
    (folder / "empty.txt").write_text(" \n")
    found = matrix(index_path, folder, k=3, evidence=True)
    assert not found.within
    assert found.queries == ("again.txt", "brief.txt")
    assert list(found.failures) == ["empty.txt"] or "empty.txt" in next(iter(found.failures))
    assert [set(cluster) for cluster in found.clusters] == [{"again.txt", "case-1", "copy", "near"}]
    with Index(index_path) as index:
        hits = Searcher(index).search(Document("brief.txt", case_query()), 3, group=False, pairs=1)
    rows = [match for match in found.matches if match.query == "brief.txt"]
    assert [(row.id, row.score, row.kind) for row in rows] == [
        (hit.id, hit.score, hit.pairs[0].kind if hit.pairs else None) for hit in hits
    ]
    assert rows[0].query_share == (hits[0].query_coverage.share if hits[0].query_coverage else None)


def test_a_filter_selects_what_is_compared(index_path: Path) -> None:
    found = matrix(index_path, where="date < 1995-01-01", k=2)
    assert found.queries == ("case-1", "case-2", "case-3", "case-4")
    assert {match.id for match in found.matches} <= {*found.queries}
    with pytest.raises(UsageError, match="nothing to compare"):
        matrix(index_path, where="date < 1900-01-01")


def test_a_query_that_cannot_be_answered_is_listed_or_raises(index_path: Path) -> None:
    queries = [Document("good", case_query()), Document("bad", "  ")]
    assert dict(matrix(index_path, queries).failures)["bad"].startswith("The query 'bad' has no sentences")
    with pytest.raises(EmptyQuery):
        matrix(index_path, queries, strict=True)
    with pytest.raises(UsageError, match="None of the 1 documents could be compared: The query 'bad'"):
        matrix(index_path, queries[1:])


@pytest.mark.parametrize(("name", "value"), [("k", 0), ("k", True), ("jobs", 0), ("jobs", 1.5)])
def test_wrong_numbers_are_one_line(index_path: Path, name: str, value: object) -> None:
    with pytest.raises(UsageError, match=rf"^{name} must be an integer in \[1, inf\)"):
        matrix(index_path, **{name: value})  # type: ignore[arg-type]  # a wrong value is the point


def test_an_index_in_memory_is_compared_in_this_process() -> None:
    with Index.in_memory({"a": "The roof leaks.", "b": "The roof of the house leaks."}, encoder="hashed") as index:
        assert [match.id for match in matrix(index).matches] == ["b", "a"]
        with pytest.raises(UsageError, match="cannot be shared with other processes"):
            matrix(index, jobs=2)


# ---------------------------------------------------------------------------- clusters

Links = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20)


@given(Links)
def test_groups_are_what_links_reach(links: list[tuple[int, int]]) -> None:
    """Against a literal search from each node."""
    groups = connected(links)
    reached: dict[int, set[int]] = {}
    for start in {node for link in links for node in link}:
        seen, new = {start}, {start}
        while new:
            new = {b for a, b in [*links, *((b, a) for a, b in links)] if a in new} - seen
            seen |= new
        reached[start] = seen
    assert {frozenset(group) for group in groups} == {frozenset(seen) for seen in reached.values() if len(seen) > 1}
    assert [len(group) for group in groups] == sorted((len(group) for group in groups), reverse=True)


@given(Links)
def test_an_order_has_every_node_once_and_clusters_first(links: list[tuple[int, int]]) -> None:
    groups = connected(links[:5])
    order = reading_order(13, links, groups)
    assert sorted(order) == list(range(13))
    assert order[: sum(map(len, groups))] == [node for group in groups for node in group]


# ---------------------------------------------------------------------------- resuming


@given(st.dictionaries(st.text(max_size=3), st.integers(), min_size=1, max_size=4), st.integers(0, 60))
def test_a_journal_that_was_cut_off_keeps_its_complete_lines(tmp: dict[str, int], cut: int) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        with open_journal(path) as journal:
            for name, value in tmp.items():
                journal.add(name, value)
        data = path.read_bytes()[: max(0, path.stat().st_size - cut)]
        path.write_bytes(data)
        complete = data.count(b"\n")
        with open_journal(path) as journal:
            assert journal.entries == dict(list(tmp.items())[:complete])
            journal.add("more", 1)
        with open_journal(path) as journal:
            assert journal.entries == {**dict(list(tmp.items())[:complete]), "more": 1}


def test_an_interrupted_matrix_resumes(index_path: Path, result: Matrix, tmp_path: Path) -> None:
    counts: list[int] = []

    def interrupted(after: int | None):  # type: ignore[no-untyped-def]  # a `Progress`
        @contextmanager
        def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
            def advance(amount: int) -> None:
                counts.append(amount)
                if after is not None and len(counts) > after:
                    raise KeyboardInterrupt

            yield advance

        return progress

    cache = Cache(tmp_path / "work")
    with pytest.raises(KeyboardInterrupt):
        matrix(index_path, k=4, cache=cache, progress=interrupted(5))
    counts.clear()
    resumed = matrix(index_path, k=4, cache=cache, progress=interrupted(None))
    assert counts[0] == 5  # those that were done
    assert sum(counts) == len(documents())
    assert resumed.to_csv() == result.to_csv()
    counts.clear()
    assert matrix(index_path, k=4, cache=cache, progress=interrupted(None)).matches == result.matches
    assert counts == []
    assert len(matrix(index_path, k=1, cache=cache).matches) == len(documents())  # other settings, other results


@pytest.mark.slow
def test_a_killed_command_resumes_with_the_same_file(tmp_path: Path) -> None:
    many = [Document(f"d{n:03}", paragraphs(invent_sentences(HARBOUR, 40, n)), f"D {n}") for n in range(400)]
    path, output = write_index(tmp_path / "many.rprs", many), tmp_path / "matrix.csv"
    command = [sys.executable, "-m", "rprs", "matrix", str(path), "-o", str(output), "--jobs", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    deadline = monotonic() + 250  # a busy machine needs minutes to start it
    while not any(file.stat().st_size > 20_000 for file in tmp_path.rglob("entries.jsonl")) and monotonic() < deadline:
        sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not output.exists()
    (entries,) = tmp_path.rglob("entries.jsonl")
    done = entries.read_bytes().count(b"\n")
    assert 0 < done < 400
    assert subprocess.run(command, check=False).returncode == 0
    assert output.read_text() == matrix(path).to_csv().replace("\r\n", "\n")
    assert not output.with_name("matrix.csv.work").exists()


# ---------------------------------------------------------------------------- output


def test_the_table_has_a_row_for_each_match(result: Matrix) -> None:
    rows = rows_of(result.to_csv())
    assert len(rows) == len(result.matches) == 4 * len(documents())
    first = rows[0]
    assert (first["query"], first["id"], first["relation"], first["cluster"]) == ("case-1", "copy", "identical", "1")
    assert {row["cluster"] for row in rows if row["relation"] == "different"} == {""}
    assert "query_share" not in first
    frame = result.to_frame()
    assert list(frame["id"]) == [row["id"] for row in rows]


def test_a_text_that_a_spreadsheet_would_run_is_quoted() -> None:
    match = Match("=1+1", "", 1, "@b", "", 1.0, "different")
    (row,) = rows_of(Matrix((match,), ("=1+1",), True, {"version": "x"}).to_csv())
    assert (row["query"], row["id"]) == ("'=1+1", "'@b")


def test_the_picture_names_documents_and_frames_clusters(result: Matrix) -> None:
    picture = result.picture()
    svg = picture.svg.decode()
    for id in ("case-1", "orchard-2", "identical or near duplicate"):
        assert id in svg
    assert "2 clusters of near duplicates; the largest have 3, 2 members" in picture.alt
    assert picture.png.startswith(b"\x89PNG")


def test_a_picture_of_many_documents_has_no_names() -> None:
    ids = [f"document-{number}" for number in range(1200)]
    matches = tuple(
        Match(id, "", 1, other, "", 1.0, "near duplicate" if number % 50 == 0 else "different")
        for number, (id, other) in enumerate(zip(ids, ids[1:] + ids[:1], strict=True))
    )
    svg = Matrix(matches, tuple(ids), True).picture().svg
    assert b"document-7" not in svg
    assert len(svg) < 2_000_000
    with pytest.raises(UsageError, match="nothing to draw"):
        Matrix((), ("a",), True).picture()


def test_the_command_line_writes_both_files(index_path: Path, result: Matrix, tmp_path: Path) -> None:
    output, picture = tmp_path / "matrix.csv", tmp_path / "matrix.png"
    outcome = rprs_ok("matrix", index_path, "-k", 4, "-o", output, "--picture", picture, "--jobs", 1)
    assert output.read_bytes().decode() == result.to_csv()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not output.with_name("matrix.csv.work").exists()
    assert "13 documents compared, 0 documents failed: 52 matches" in outcome.err
    assert "2 clusters of near duplicates with 5 documents, at most 3 in one" in outcome.err
    assert rprs_ok("matrix", index_path, "-k", 4, "--jobs", 1, "--quiet").out == result.to_csv()


def test_wrong_arguments_of_the_command_are_one_line(index_path: Path, tmp_path: Path) -> None:
    assert ".svg or .png" in rprs_error("matrix", index_path, "--picture", tmp_path / "a.pdf")
    assert "no folder" in rprs_error("matrix", index_path, "-o", tmp_path / "no" / "a.csv")
    assert "nowhere" in rprs_error("matrix", index_path, tmp_path / "nowhere", "--jobs", 1)


def test_values_of_the_table_are_plain(result: Matrix) -> None:
    values: list[Value] = [value for column in result._columns().values() for value in column]
    assert all(value is None or type(value) in (str, int, float) for value in values)
