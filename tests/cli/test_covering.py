"""The verb `coverage`."""

from __future__ import annotations

import csv
import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import docx
import pytest

from rprs import Index, Searcher, read_one
from rprs.charts.serialize import chart_object
from rprs.cli import app
from tests.support.cli import TEXTS, rprs_error, rprs_ok, sample_index


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("coverage"))


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    path = tmp_path / "new-lease.txt"
    path.write_text(f"{TEXTS['lease.txt']}\nQuarks tunnel through seventeen indigo manifolds.")
    return path


def test_the_table_names_sources_and_gaps(index_path: Path, lease: Path) -> None:
    outcome = rprs_ok("coverage", index_path, lease, "-k", 3)
    assert "of your document has a counterpart in these documents" in outcome.out
    assert "1 of 6 sentences has no source" in outcome.out
    assert "lease.txt" in outcome.out
    assert "Without a source\n  Quarks tunnel" in outcome.out
    assert "3 sources, 6 rows in" in outcome.err
    rows = rprs_ok("coverage", index_path, lease, "--source", "lease.txt", "--all", width=200).out
    assert "= identical" in rows
    assert "no source" in rows
    assert "loan.txt" not in rows


def test_formats_are_those_of_the_library(index_path: Path, lease: Path, tmp_path: Path) -> None:
    with Index(index_path) as index:
        chart = Searcher(index).coverage(read_one(lease), k=3)
    record = json.loads(rprs_ok("coverage", index_path, lease, "-k", 3, "--format", "json").out)
    assert record.pop("about")["k"] == 3
    assert record == json.loads(json.dumps(chart_object(chart)))
    lines = list(csv.reader(io.StringIO(rprs_ok("coverage", index_path, lease, "-k", 3, "--format", "csv").out)))
    assert [line[2] for line in lines[2:]] == [row.text for row in chart.rows]
    file = tmp_path / "chart.docx"
    assert f"{file} written" in rprs_ok("coverage", index_path, lease, "-k", 3, "-o", file).err
    assert len(docx.Document(str(file)).tables[1].rows) == 1 + len(chart.groups) + len(chart.rows)


def test_a_word_file_on_standard_output(index_path: Path, lease: Path) -> None:
    data = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(data)) as out, pytest.raises(SystemExit, match="0"):
        app(["coverage", str(index_path), str(lease), "-k", "1", "--format", "docx", "--quiet"])
    out.flush()
    assert len(docx.Document(io.BytesIO(data.getvalue())).tables) == 2


def test_errors_are_one_line(index_path: Path, lease: Path, tmp_path: Path) -> None:
    assert rprs_error("coverage", index_path).startswith("Give a query")
    assert "'nobody'" in rprs_error("coverage", index_path, lease, "--source", "nobody")
    suffix = rprs_error("coverage", index_path, lease, "-o", tmp_path / "chart.pdf")
    assert suffix.startswith("The suffix of a chart must be one of .docx, .csv, .json")
    folder = rprs_error("coverage", index_path, lease, "-o", tmp_path / "none" / "chart.docx")
    assert folder.startswith("There is no folder")
    table = rprs_error("coverage", index_path, lease, "-o", tmp_path / "chart.csv", "--format", "table")
    assert table.startswith("A table is printed")
