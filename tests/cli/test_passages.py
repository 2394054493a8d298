"""The verb that finds passages: texts and lines of files, formats, and errors of one line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import rprs
from rprs.passages.export import hit_object
from tests.support.cli import QUERY, TEXTS, rprs_error, rprs_ok, sample_index

NOTICE = "Either party may end this lease with three months of written notice."


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("passages"))


def test_a_text_in_every_format(index_path: Path) -> None:
    with rprs.Index(index_path) as index:
        expected = [json.loads(json.dumps(hit_object(hit))) for hit in rprs.Searcher(index).passages(NOTICE)]
    assert [(each["id"], each["pair"]["kind"]) for each in expected[:2]] == [
        ("lease.txt", "identical"),
        ("licence.txt", "reworded"),
    ]
    words = ("passages", index_path, NOTICE)
    assert json.loads(rprs_ok(*words, "--format", "json").out) == expected
    assert rprs_ok(*words, "--format", "jsonl").objects == expected
    comment, header, first, *_ = csv.reader(io.StringIO(rprs_ok(*words, "--format", "csv").out))
    assert comment[0].startswith("# rprs: version=")
    assert f"passage={NOTICE}; k=10; kinds=identical, reworded, same idea; context=1" in comment[0]
    row = dict(zip(header, first, strict=False))
    assert (row["id"], row["kind"], row["document_passage"]) == ("lease.txt", "identical", NOTICE)
    assert row["before"].startswith("The landlord keeps the roof")


def test_the_table_shows_passages_in_their_context(index_path: Path) -> None:
    outcome = rprs_ok("passages", index_path, NOTICE, "-k", 2, width=400)
    lines = outcome.out.splitlines()
    assert lines[0] == "  1  lease.txt  sentence 3 of 5"
    assert lines[1] == "     = identical"
    assert "of the house in good repair. »Either party may end this lease" in outcome.out
    assert "yours: Either party may end this [-lease-] with three months" in outcome.out
    assert "{+licence+}" in outcome.out
    assert "Top 2 of " in outcome.err
    assert " sentences compared; phrases " in outcome.err


def test_lines_of_a_file_are_those_of_an_editor(index_path: Path, tmp_path: Path) -> None:
    """Front matter and blank lines count. The file itself is left out if the index has it."""
    brief = tmp_path / "brief.txt"
    brief.write_text(f"---\ntitle: A brief\n---\n\nNothing here.\r\n{NOTICE}\r\nThe end.\n")
    options = ("-k", 1, "--format", "jsonl")
    (hit,) = rprs_ok("passages", index_path, f"{brief}:6", *options).objects
    assert (hit["id"], hit["pair"]["query"], hit["score"]) == ("lease.txt", NOTICE, 1.0)
    (wider,) = rprs_ok("passages", index_path, f"{brief}:5-7", *options).objects
    assert wider["score"] < hit["score"]
    source = index_path.parent / "sources/lease.txt"
    (other,) = rprs_ok("passages", index_path, f"{source}:3", *options).objects
    assert other["id"] == "licence.txt"
    (own,) = rprs_ok("passages", index_path, f"{source}:3", *options, "--keep-self").objects
    assert own["id"] == "lease.txt"
    (stdin,) = rprs_ok("passages", index_path, "-", *options, stdin=QUERY.encode()).objects
    assert stdin["pair"]["query"]


def test_restrictions(index_path: Path) -> None:
    options = ("passages", index_path, NOTICE, "--format", "jsonl")
    assert "lease.txt" not in {hit["id"] for hit in rprs_ok(*options, "--without", "lease.txt").objects}
    assert {hit["pair"]["kind"] for hit in rprs_ok(*options, "--kind", "reworded").objects} == {"reworded"}
    dated = rprs_ok(*options, "--where", "date > 2010-01-01")
    assert not {hit["id"] for hit in dated.objects} & {*TEXTS}
    nothing = rprs_ok(*options, "--where", "court = nowhere")
    assert nothing.out == ""
    assert "No passage is similar enough: relax the filters" in nothing.err


def test_errors_are_one_line(index_path: Path, tmp_path: Path) -> None:
    lease = index_path.parent / "sources/lease.txt"
    words = ("passages", index_path)
    assert rprs_error(*words, "") == "The passage has no words: select or give some text"
    assert rprs_error(*words, f"{lease}:9-12") == f"{lease} has 5 lines, but line 12 was asked for"
    assert rprs_error(*words, f"{lease}:0") == (
        "0-0 is no range of lines: write the first line before the last, as in 10-20"
    )
    assert "4-2 is no range of lines" in rprs_error(*words, f"{lease}:4-2")
    assert rprs_error(*words, "none.txt:10-20") == (
        "There is no file none.txt: give an existing file and its lines, or a text"
    )
    large = tmp_path / "large.txt"
    large.write_text("word " * 2_000_000)
    assert rprs_error(*words, large).startswith("The passage has 10,000,000 characters; at most 20,000 are compared")
    assert "Did you mean 'lease.txt'" in rprs_error(*words, NOTICE, "--without", "leese.txt")
    assert rprs_error("passages", NOTICE, index_path).startswith("The index comes first")
