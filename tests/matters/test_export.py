"""A matter as a file for others: everything that the user marked and wrote is in it, in every format."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import docx
import pytest

from rprs.document import Document
from rprs.errors import UsageError
from rprs.index import Index, Writer
from rprs.matters import (
    MATTER_FORMATS,
    MatterReport,
    Search,
    Settings,
    matter_format_of,
    new_matter,
    new_search,
    report_search,
    save_matter,
)
from rprs.rank.steering import Marks
from rprs.search import Searcher
from tests.support.cli import QUERY, rprs_error, rprs_ok, sample_index

HOSTILE = "=1+1 | <b>bold</b>\n*not* a [link](x)"


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def search(index_path: Path) -> Search:
    """`loan.txt` is relevant, `lease.txt` is not, a hit is hidden, and a document that is no hit has a note."""
    with Index(index_path) as index:
        hits = Searcher(index).search(Document("query.txt", QUERY), 10, like=["loan.txt"], unlike=["lease.txt"])
        marked = new_search(
            index,
            [Document("query.txt", QUERY, "Our brief")],
            name="Withheld rent",
            marks=Marks(like=("loan.txt",), unlike=("lease.txt",)),
            settings=Settings(k=10),
        )
    notes = {"loan.txt": HOSTILE, "gone.txt": "Removed in May", hits[0].id: "Best"}
    return replace(marked, hidden=(hits[1].id,), notes=notes, tags={"loan.txt": ("deposit", "costs")})


@pytest.fixture(scope="module")
def report(index_path: Path, search: Search) -> MatterReport:
    matter = replace(new_matter("Dunmore v. Pellam"), notes="Due in May.\nAsk the court.", tags=("urgent",))
    with Index(index_path) as index:
        return MatterReport(replace(matter, searches=(search,)), (report_search(search, Searcher(index)),))


def test_relevant_documents_come_first_and_nothing_written_is_lost(report: MatterReport, search: Search) -> None:
    (section,) = report.sections
    entries = {entry.id: entry for entry in section.entries}
    assert section.entries[0].id == "loan.txt"
    assert (entries["loan.txt"].mark, entries["loan.txt"].rank) == ("relevant", None)
    assert entries["lease.txt"].mark == "not relevant"
    assert entries[search.hidden[0]].mark == "hidden"
    assert (entries["gone.txt"].note, entries["gone.txt"].title) == ("Removed in May", "")
    ranked = [entry for entry in section.entries if entry.rank is not None]
    assert [entry.rank for entry in ranked] == sorted(entry.rank or 0 for entry in ranked)
    assert ranked[0].pair
    assert (section.query, section.settings) == ("Our brief", {})
    assert "1 hidden" in section.notes


def test_csv_has_a_line_for_each_document(report: MatterReport) -> None:
    comment, rows = sheet(report)
    assert "matter=Dunmore v. Pellam; " in comment
    assert "; settings=" in comment
    assert comment.endswith("; search=Withheld rent; query=Our brief; collection=made.rprs")
    assert [row["id"] for row in rows] == [entry.id for entry in report.sections[0].entries]
    assert rows[0]["note"] == f"'{HOSTILE}"  # not run as a formula
    assert rows[0]["tags"] == "deposit; costs"
    assert rows[1]["query_passage"]
    assert not {"search", "query", "collection"} & rows[0].keys()


def test_csv_of_several_searches_names_them_in_each_line(report: MatterReport) -> None:
    (section,) = report.sections
    other = replace(section, search=replace(section.search, name="Again", settings=Settings(k=3)))
    comment, rows = sheet(replace(report, sections=(section, other)))
    assert [row["search"] for row in rows] == [name for name in ("Withheld rent", "Again") for _ in section.entries]
    assert "settings of search 2=k=3" in comment
    assert comment.endswith("; query=Our brief; collection=made.rprs")


def sheet(report: MatterReport) -> tuple[str, list[dict[str, str]]]:
    """The comment and the rows of the CSV file."""
    lines = io.StringIO(MATTER_FORMATS["csv"].write(report).decode("utf-8-sig"), newline="")
    (comment,) = next(csv.reader(lines))
    return comment, list(csv.DictReader(lines))


def test_word_has_a_table_for_each_search(report: MatterReport) -> None:
    document = docx.Document(io.BytesIO(MATTER_FORMATS["docx"].write(report)))
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts[0] == "Dunmore v. Pellam"
    assert {"Due in May.", "Ask the court.", "Withheld rent"} <= {*texts}
    (table,) = document.tables
    assert [cell.text for cell in table.rows[0].cells][:3] == ["Rank", "Document", "Mark"]
    assert len(table.rows) == 1 + len(report.sections[0].entries)
    assert "#deposit #costs" in table.rows[1].cells[3].text


def test_html_and_markdown_show_the_text_and_run_nothing(report: MatterReport) -> None:
    html = MATTER_FORMATS["html"].write(report).decode()
    assert "&lt;b&gt;bold&lt;/b&gt;" in html
    assert "<b>" not in html
    assert 'class="aside"' in html
    markdown = MATTER_FORMATS["md"].write(report).decode()
    lines = markdown.splitlines()
    assert lines[0] == "# Dunmore v. Pellam"
    assert r"=1+1 \| \<b\>bold\</b\> \*not\* a \[link\](x) \#deposit \#costs" in markdown
    assert sum(line.startswith("| ") for line in lines) == 1 + len(report.sections[0].entries)


def test_without_the_collection_and_without_the_query(index_path: Path, search: Search, tmp_path: Path) -> None:
    section = report_search(search, None)
    assert {entry.id for entry in section.entries} == {
        *search.notes,
        *search.hidden,
        *search.marks.like,
        *search.marks.unlike,
    }
    assert section.notes == (f"The collection {search.collection.name} could not be opened: without results",)
    with Index(index_path) as index:
        empty = report_search(replace(search, name="x", documents=(), ids=("gone.txt",)), Searcher(index))
    assert "No document of the search 'x' is in" in empty.notes[0]
    assert empty.entries


def test_the_suffix_is_the_format() -> None:
    assert matter_format_of("a/B.DOCX").name == "docx"
    with pytest.raises(UsageError, match=r"must be one of \.docx, \.html, \.md, \.csv\. Got 'a\.pdf'"):
        matter_format_of("a.pdf")


# ---------------------------------------------------------------------------- command line


def test_the_command(index_path: Path, search: Search, tmp_path: Path) -> None:
    path = tmp_path / "pellam.rprs-matter"
    gone = replace(search, name="Gone", collection=replace(search.collection, path=str(tmp_path / "none.rprs")))
    save_matter(path, replace(new_matter("Pellam"), searches=(search, gone)))
    both = rprs_ok("matter", "export", path)
    assert both.out.startswith("# Pellam\n")
    assert both.out.count("Removed in May") == 2
    assert "is gone: name where it is now with --index" in both.err
    assert "2 searches" in both.err
    one = rprs_ok("matter", "export", path, "--search", "1", "--format", "csv").out
    assert len(list(csv.reader(io.StringIO(one)))) < both.out.count("\n| ")
    rprs_ok("matter", "export", path, "--index", index_path, "-o", tmp_path / "pellam.docx")
    assert len(docx.Document(str(tmp_path / "pellam.docx")).tables) == 2
    assert "The suffix of an exported matter" in rprs_error("matter", "export", path, "-o", tmp_path / "pellam.pdf")
    assert "searches 1 to 2. Got --search 3" in rprs_error("matter", "export", path, "--search", "3")


def test_a_collection_that_changed_is_said(index_path: Path, search: Search, tmp_path: Path) -> None:
    with Writer(index_path) as writer:
        writer.add([Document("new.txt", "A new judgment about rent.")])
    path = tmp_path / "pellam.rprs-matter"
    save_matter(path, replace(new_matter("Pellam"), searches=(search,)))
    assert "has changed since this search was saved" in rprs_ok("matter", "export", path).out
