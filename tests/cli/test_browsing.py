"""The verbs that list, find and show documents, and the ids that are suggested for an unknown one."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from rprs import Index, NoDocument, Writer
from rprs.index.lookup import find_documents, list_documents, resolve_id, similar_ids
from tests.support.cli import RECORDS, TEXTS, rprs_error, rprs_ok, sample_index

IDS = sorted([*TEXTS, *(record["id"] for record in RECORDS)])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("browse"))


# ---------------------------------------------------------------------------- list


def test_list_prints_all_documents_in_the_order_of_their_ids(path: Path) -> None:
    outcome = rprs_ok("list", path)
    header, *rows = outcome.out.splitlines()
    assert header.split() == ["document", "sentences", "words", "title"]
    assert [row.split()[0] for row in rows] == IDS
    assert outcome.err == "12 documents\n"
    lease = next(row for row in rows if row.startswith("lease.txt"))
    assert lease.split() == ["lease.txt", "5", str(len(TEXTS["lease.txt"].split()))]


def test_list_has_a_filter_and_a_limit(path: Path) -> None:
    outcome = rprs_ok("list", path, "--where", "date < 2010-01-01 and date present and title ~ v", "--format", "jsonl")
    assert {record["id"] for record in outcome.objects} <= {record["id"] for record in RECORDS}
    assert "moss-v-reed" in {record["id"] for record in outcome.objects}
    limited = rprs_ok("list", path, "--where", "court = hill", "-k", 1, "--format", "jsonl")
    assert [record["id"] for record in limited.objects] == ["heron-v-otter"]
    assert limited.err == "The first 1 of 2 documents\n"
    nothing = rprs_ok("list", path, "--where", "court = nowhere")
    assert (nothing.out, nothing.err) == ("", "No documents found\n")
    assert "The filter 'court =' is wrong" in rprs_error("list", path, "--where", "court =")


def test_list_has_the_same_rows_in_all_formats(path: Path) -> None:
    with Index(path) as index:
        listing = list_documents(index, limit=5)
        expected = [
            {
                "id": id,
                "title": index.document(id).title,
                "sentences": len(index.sentences(id)),
                "words": len(index.document(id).text.split()),
            }
            for id in IDS[:5]
        ]
    assert (len(listing.documents), listing.total) == (5, len(IDS))
    assert json.loads(rprs_ok("list", path, "-k", 5, "--format", "json").out) == expected
    assert rprs_ok("list", path, "-k", 5, "--format", "jsonl").objects == expected
    rows = list(csv.DictReader(io.StringIO(rprs_ok("list", path, "-k", 5, "--format", "csv").out)))
    assert rows == [{name: str(value) for name, value in row.items()} for row in expected]


def test_a_title_cannot_run_as_a_formula(tmp_path: Path) -> None:
    path = sample_index(tmp_path)
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "evil", "title": "=1+1", "text": "One and one is two."}))
    rprs_ok("add", path, tmp_path / "more.jsonl")
    rows = csv.DictReader(io.StringIO(rprs_ok("list", path, "--format", "csv").out))
    assert {row["id"]: row["title"] for row in rows}["evil"] == "'=1+1"


# ---------------------------------------------------------------------------- find


def test_find_needs_all_words_in_the_id_or_title(path: Path) -> None:
    assert [row["id"] for row in rprs_ok("find", path, "V.", "reed", "--format", "jsonl").objects] == ["moss-v-reed"]
    rows = json.loads(rprs_ok("find", path, "patent", "-k", "2", "--format", "json").out)
    assert [row["id"] for row in rows] == ["patent-boat", "patent-copy"]
    assert rprs_ok("find", path, "patent", "-k", "2").err == "The first 2 of 4 documents\n"
    assert json.loads(rprs_ok("find", path, "unicorn", "--format", "json").out) == []
    with Index(path) as index:
        assert find_documents(index, "patent boat").total == 1


# ---------------------------------------------------------------------------- show


def test_show_prints_the_facts_and_the_text(path: Path) -> None:
    lines = rprs_ok("show", path, "lease.txt", width=200).out.splitlines()
    facts = dict(line.split(maxsplit=1) for line in lines[: lines.index("")])
    assert facts["sentences"].strip() == "5"
    assert facts["words"].strip() == str(len(TEXTS["lease.txt"].split()))
    assert facts["path"].strip() == str(path.parent / "sources/lease.txt")
    assert "\n".join(lines[lines.index("") + 1 :]) == TEXTS["lease.txt"]


@pytest.mark.parametrize("format", ["json", "jsonl"])
def test_show_as_json_has_everything(path: Path, format: str) -> None:
    record = json.loads(rprs_ok("show", path, "pike-v-vole", "--format", format).out)
    with Index(path) as index:
        document = index.document("pike-v-vole")
        assert (record["id"], record["title"], record["text"]) == (document.id, document.title, document.text)
        assert record["metadata"] == document.metadata
        assert record["sentences"] == len(index.sentences("pike-v-vole"))
        assert record["words"] == len(document.text.split())


def test_metadata_with_the_name_of_a_fact_is_printed_as_it_is(tmp_path: Path) -> None:
    path = sample_index(tmp_path)
    record = {"id": "odd", "text": "A strange record.", "encoder": "none", "bytes": "many", "court": None}
    (tmp_path / "more.jsonl").write_text(json.dumps(record))
    rprs_ok("add", path, tmp_path / "more.jsonl")
    lines = rprs_ok("show", path, "odd").out.splitlines()
    assert "encoder    none" in [line.rstrip() for line in lines]


# ---------------------------------------------------------------------------- unknown ids


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("leese.txt", "'lease.txt'"),
        ("LEASE.TXT", "'lease.txt'"),
        ("lease", "'lease.txt'"),
        ("loan.pdf", "'loan.txt'"),
        ("moss-v-reed.txt", "'moss-v-reed'"),
    ],
)
def test_similar_ids_are_suggested_for_an_unknown_one(path: Path, name: str, suggestion: str) -> None:
    for words in (["show", path, name], ["search", path, "--id", name], ["explain", path, "--id", "loan.txt", name]):
        line = rprs_error(*words)
        assert line.startswith(f"There is no document {name!r} in {path}. Did you mean {suggestion}")
        assert line.endswith("?")


def test_nothing_is_suggested_if_nothing_is_similar(path: Path) -> None:
    assert rprs_error("show", path, "zzzz") == f"There is no document 'zzzz' in {path}"


def test_the_end_of_a_path_comes_before_similar_letters() -> None:
    ids = ["2016/brown.txt", "2017/brown.txt", "brawn.txt", "2016/smith.txt"]
    assert similar_ids(ids, "brown.txt") == ["2016/brown.txt", "2017/brown.txt", "brawn.txt"]
    assert similar_ids(ids, "cases/1999/smith.txt")[0] == "2016/smith.txt"
    assert similar_ids([], "brown.txt") == similar_ids(ids, "") == []


def test_a_path_is_resolved_by_its_text_or_by_its_end(path: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy.txt", tmp_path / "lease.txt"
    copy.write_text(TEXTS["loan.txt"])
    other.write_text("A lease that nobody has indexed.")
    with Index(path) as index:
        assert resolve_id(index, "lease.txt") == "lease.txt"
        assert resolve_id(index, "somewhere/else/lease.txt") == "lease.txt"
        assert resolve_id(index, str(copy)) == "loan.txt"
        assert resolve_id(index, str(other)) == "lease.txt"
        with pytest.raises(NoDocument, match=r"Did you mean 'lease\.txt'"):
            resolve_id(index, "leases.txt")
    copy.rename(tmp_path / "sublease.txt")  # the text decides, not the name
    with Index(path) as index:
        assert resolve_id(index, str(tmp_path / "sublease.txt")) == "loan.txt"


def test_the_longest_end_of_a_path_is_the_id(tmp_path: Path) -> None:
    for folder in ("2016", "2017"):
        (tmp_path / "cases" / folder).mkdir(parents=True)
        (tmp_path / "cases" / folder / "brown.txt").write_text("The same text in both files.")
    (tmp_path / "cases/brown.txt").write_text("The same text in both files.")
    rprs_ok("index", tmp_path / "cases", "--to", tmp_path / "x.rprs", "--encoder", "hashed(dimension=16)")
    with Index(tmp_path / "x.rprs") as index:
        assert index.ids == ["2016/brown.txt", "2017/brown.txt", "brown.txt"]
        assert resolve_id(index, str(tmp_path / "cases/2017/brown.txt")) == "2017/brown.txt"


def test_a_removed_document_is_not_listed(tmp_path: Path) -> None:
    path = sample_index(tmp_path)
    with Writer(path) as writer:
        writer.remove(["lease.txt"])
    assert "lease.txt" not in [row["id"] for row in rprs_ok("list", path, "--format", "jsonl").objects]
    assert "There is no document 'lease.txt'" in rprs_error("show", path, "lease.txt")
