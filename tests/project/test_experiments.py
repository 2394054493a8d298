"""The experiments in the repository: each is a study, says what it needs, and what came out is what the page shows."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from rprs.evaluation.measures import parse_measure
from rprs.studies.plan import read_plan
from tests.support.cli import refused
from tests.support.paths import ROOT

PAPER = tomllib.loads((ROOT / "experiments" / "paper.toml").read_text())
STUDIES = sorted(set((ROOT / "experiments").glob("*.toml")) - {ROOT / "experiments" / "paper.toml"})


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_without_its_data_says_in_one_line_what_to_get(path: Path, tmp_path: Path) -> None:
    plan = read_plan(path)
    line = refused("study", path, "--data", tmp_path, "--to", tmp_path / "results")
    assert plan.download
    assert plan.download in line
    assert not (tmp_path / "results" / plan.name).exists()


def test_every_table_of_the_paper_has_a_study() -> None:
    named = {tomllib.loads(path.read_text()).get("paper") for path in STUDIES}
    assert set(PAPER) <= named
    assert all(name == "figures" or name in PAPER for name in named - {None})


@pytest.mark.parametrize("table", PAPER)
def test_a_table_of_the_paper_has_a_figure_for_every_measure(table: str) -> None:
    rows = {name: row for name, row in PAPER[table].items() if name not in ("title", "encoder", "measures")}
    assert rows
    assert {len(row) for row in rows.values()} == {len(PAPER[table]["measures"])}
    if table != "table8":
        assert [str(parse_measure(text)) for text in PAPER[table]["measures"]] == PAPER[table]["measures"]


def test_the_page_shows_what_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import reproduction

    monkeypatch.delitem(sys.modules, "reproduction")
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == reproduction.page()
