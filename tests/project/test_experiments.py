"""The studies in experiments/: each can be read, names the data that it needs, and agrees with its stored results."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rprs import spec
from rprs.evaluation.measures import parse_measure
from rprs.studies.plan import read_plan
from rprs.studies.study import study
from tests.support.cli import rprs_error
from tests.support.paths import ROOT
from tests.support.study_sample import SMALL, write_collection

EXPERIMENTS = ROOT / "experiments"
PAPER = tomllib.loads((EXPERIMENTS / "paper.toml").read_text())
STUDIES = sorted(set(EXPERIMENTS.glob("*.toml")) - {EXPERIMENTS / "paper.toml"})
RESULTS = sorted((EXPERIMENTS / "results").glob("*.json"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_without_its_data_names_the_download_in_one_line(path: Path, tmp_path: Path) -> None:
    plan = read_plan(path)
    line = rprs_error("study", path, "--data", tmp_path, "--to", tmp_path / "results")
    assert plan.download
    assert plan.download in line
    assert not (tmp_path / "results" / plan.name).exists()


def test_every_table_of_the_paper_has_a_study() -> None:
    tables = {tomllib.loads(path.read_text()).get("paper") for path in STUDIES}
    assert set(PAPER) <= tables
    assert all(name == "figures" or name in PAPER for name in tables - {None})


@pytest.mark.parametrize("table", PAPER)
def test_a_table_of_the_paper_has_a_figure_for_every_measure(table: str) -> None:
    rows = {name: row for name, row in PAPER[table].items() if name not in ("title", "encoder", "measures")}
    assert rows
    assert {len(row) for row in rows.values()} == {len(PAPER[table]["measures"])}
    if table != "table8":
        assert [str(parse_measure(text)) for text in PAPER[table]["measures"]] == PAPER[table]["measures"]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_stored_results_have_the_parameters_of_their_study(path: Path) -> None:
    plan, results = read_plan(EXPERIMENTS / f"{path.stem}.toml"), json.loads(path.read_text())
    stored = results["parts"]["systems"]
    assert results["title"] == plan.title
    assert results["measures"] == list(map(str, plan.measures))
    assert list(stored) == [system.name for system in plan.systems]
    for system in plan.systems:
        facts = stored[system.name]
        first = system.after or _component("ranker", system.first)
        assert (facts["first"] if system.after else _component("ranker", facts["first"])) == first
        assert _component("reranker", facts["rerank"]) == _component("reranker", system.rerank)
        assert facts["depth"] == system.depth


def _component(kind: spec.Kind, text: str | None) -> Any:
    return None if text in (None, "none") else spec.parse(kind, text)


@pytest.fixture
def reproduction(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import reproduction

    monkeypatch.delitem(sys.modules, "reproduction")
    return reproduction


def test_the_reproduction_page_is_up_to_date(reproduction: Any) -> None:
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == reproduction.page()


def test_the_page_shows_references_judged_documents_and_intervals(reproduction: Any, tmp_path: Path) -> None:
    path = write_collection(tmp_path) / "small.toml"
    path.write_text(SMALL + '[significance]\ncomparisons = [["RPRS", "BM25"]]\n[analyses]\nunjudged = true\n')
    results = json.loads((study(path, tmp_path / "results") / "results.json").read_text())
    systems = reproduction._systems(results, {}).markdown()
    assert systems.startswith("| system |  | P@1 | AP | Judged@1 |\n")
    assert "\n| *random order* |  | ." in systems
    assert "the 8 candidates of RPRS (first stage: bm25)" in systems
    assert reproduction._differences(results).header[2:6] == ("difference", "95% low", "95% high", "d_z")
    assert (
        "| *best order (oracle)* |  |  | 1.000 |"
        in reproduction._unjudged(results["parts"]["unjudged"], results["measures"]).markdown()
    )
