"""Charts as files: the Word file and the CSV have a row for each sentence or element; JSON is read back exactly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest

import rprs
from rprs import Index, Searcher, UsageError
from rprs.charts.csv_chart import HEADER
from rprs.charts.formats import CHART_FORMATS
from rprs.charts.serialize import chart_from, chart_object
from rprs.charts.values import Chart
from tests.charts.test_claims import LOCK
from tests.support.cli import ENCODER
from tests.support.web_samples import COPIED, EDITED, REWRITTEN, case_query, cases, hostile


@pytest.fixture(scope="module")
def searcher() -> Iterator[Searcher]:
    with Index.in_memory(cases(), encoder=ENCODER) as index:
        yield Searcher(index)


@pytest.fixture(scope="module")
def chart(searcher: Searcher) -> Chart:
    return searcher.coverage(rprs.Document("brief", case_query(), "My brief"), k=4)


def read_csv(data: bytes) -> list[dict[str, str]]:
    comment, *lines = csv.reader(io.StringIO(data.decode("utf-8-sig")))
    assert comment[0].startswith("# rprs: version=")
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def test_csv(chart: Chart, searcher: Searcher) -> None:
    rows = read_csv(CHART_FORMATS["csv"].write(chart, searcher.about(case_query(), 4)))
    assert [*rows[0]] == [*HEADER]
    assert [row["query_passage"] for row in rows] == [row.text for row in chart.rows]
    edited = next(row for row in rows if row["query_passage"] == EDITED)
    assert (edited["source"], edited["source_passage"], edited["kind"]) == ("case-1", REWRITTEN, "reworded")
    foreign = next(row for row in rows if row["query_passage"].startswith("Quarks"))
    assert (foreign["source"], foreign["kind"], foreign["words_covered"]) == ("", "none", "0")
    assert {row["group"] for row in rows} == {"Paragraph 1", "Paragraph 2"}


def test_word(chart: Chart, searcher: Searcher) -> None:
    data = CHART_FORMATS["docx"].write(chart, searcher.about(case_query(), 4))
    document = docx.Document(io.BytesIO(data))
    assert document.core_properties.title == "Coverage of My brief"
    section = document.sections[0]
    assert (section.page_width or 0) > (section.page_height or 0)
    sources, table = document.tables
    assert [cell.text for cell in sources.rows[0].cells][:3] == ["No.", "Document", "Of yours"]
    assert len(sources.rows) == 1 + len(chart.sources)
    lines = [[cell.text for cell in row.cells] for row in table.rows]
    assert lines[0] == ["Your words", "Best source", "Its words", "Kind"]
    assert lines[1] == ["Paragraph 1"] * 4  # one cell over all columns
    assert len(lines) == 1 + len(chart.groups) + len(chart.rows)
    copied = next(line for line in lines if line[0] == COPIED)
    assert copied[1].startswith("1. Case 1")
    assert copied[2:] == [COPIED, "= identical"]
    edited = next(row for row in table.rows if row.cells[0].text == EDITED)
    assert edited.cells[3].text.startswith("± reworded, ")
    underlined = [run.text for run in edited.cells[2].paragraphs[0].runs if run.underline]
    assert underlined == ["fees", "last"]
    texts = [paragraph.text for paragraph in document.paragraphs]
    gaps = texts[texts.index("Without a source") + 1 :]
    assert [text.split()[0] for text in gaps[:2]] == ["Quarks", "Quarks"]
    assert gaps[-1].startswith("Made by rprs: version=")
    assert table._tbl.tr_lst[0].find("{*}trPr/{*}tblHeader") is not None  # it is repeated on every page


def test_claims_in_word_have_the_labels_of_their_elements() -> None:
    chart = rprs.coverage(LOCK, {"prior": "A bolt of steel that slides in a housing is known."}, encoder=ENCODER)
    table = docx.Document(io.BytesIO(CHART_FORMATS["docx"].write(chart, None))).tables[1]
    lines = [row.cells[0].text for row in table.rows]
    assert lines[lines.index("Claim 1") + 2] == "1[a] a bolt of steel that slides in a housing;"
    assert "Claim 3" in lines


def test_json_is_read_back(chart: Chart) -> None:
    values = json.loads(json.dumps(chart_object(chart)))
    assert chart_from(values, chart.query) == chart
    assert [gap["text"] for gap in values["gaps"]] == [
        chart.query.text[slice(*span)] for span in chart.passages_without_source()
    ]


def test_files_are_written_by_their_suffixes(chart: Chart, tmp_path: Path) -> None:
    for suffix in (".docx", ".csv", ".json"):
        chart.save(tmp_path / f"chart{suffix}")
    assert (tmp_path / "chart.docx").read_bytes().startswith(b"PK")
    assert json.loads((tmp_path / "chart.json").read_text())["query"] == "brief"
    assert (tmp_path / "chart.csv").read_text("utf-8-sig").startswith("group,row,")
    with pytest.raises(UsageError, match=r"one of \.docx, \.csv, \.json\. Got '\.pdf'"):
        chart.save(tmp_path / "chart.pdf")
    with pytest.raises(UsageError, match="There is no folder"):
        chart.save(tmp_path / "none" / "chart.docx")


def test_hostile_texts_are_text() -> None:
    """Markup, formulas, control characters and characters that XML forbids."""
    query = "=cmd|' /C calc'!A0 is what the deed of the harbour says on its first page.\n\n" + hostile()[0].text
    query += "\n\nThe deed \x00\x0b\ufffe\uffff ends with these characters and with nothing else at all."
    chart = rprs.coverage(query, hostile(), encoder=ENCODER)
    lines = list(csv.reader(io.StringIO(CHART_FORMATS["csv"].write(chart, None).decode("utf-8-sig"))))
    assert lines[1][2].startswith("'=cmd")
    document = docx.Document(io.BytesIO(CHART_FORMATS["docx"].write(chart, None)))
    cells = [row.cells[0].text for row in document.tables[1].rows]
    assert any("<script>" in cell for cell in cells)
    assert any("ends with these characters" in cell for cell in cells)
