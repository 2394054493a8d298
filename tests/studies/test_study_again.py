"""What a study computes again, what it keeps, and its errors."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rprs.collection import open_collection
from rprs.errors import MissingExtra, ReadError, UsageError
from rprs.files.cache import Cache
from rprs.read import read_run
from rprs.studies.experiment import Experiment
from rprs.studies.plan import read_plan
from rprs.studies.study import study
from tests.support.paths import DATA
from tests.support.study_place import Place
from tests.support.study_sample import SMALL, contents, write_collection


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(write_collection(tmp_path))


def test_a_changed_setting_recomputes_only_what_depends_on_it(place: Place) -> None:
    first = place.study(SMALL)
    assert [step.split()[0] for step in first.computed] == ["documents", "index", "first", "pools", "ranking"]
    parameters = place.study(SMALL.replace("rprs(n=4)", "rprs(n=3,b=1)"))
    assert parameters.computed == ["ranking rprs(n=3,b=1.0)"]
    measures = place.study(SMALL.replace('"AP"', '"AP", "RR"'))
    assert measures.computed == []
    deeper = place.study(SMALL.replace("depth = 8", "depth = 4"))
    assert [step.split()[0] for step in deeper.computed] == ["first", "pools", "ranking"]
    encoder = place.study(SMALL.replace("dimension=64", "dimension=32"))
    assert [step.split()[0] for step in encoder.computed] == ["index", "pools", "ranking"]
    back = place.study(SMALL)
    assert back.computed == []


def test_changed_judgements_change_scores_and_tuning_alone(place: Place) -> None:
    tuned = SMALL + 'tuned = { tune = "rprs", folds = 3, grid = { n = [1, 2] } }\n'
    place.study(tuned)
    judged = place.folder / "sample" / "qrels" / "test.tsv"
    judged.write_text(judged.read_text() + "heating\tcontracts/employment.txt\t1\n")
    steps = place.study(tuned)
    assert [step.split()[0] for step in steps.computed] == ["documents", "tuned"]


def test_changed_documents_change_everything(place: Place) -> None:
    place.study(SMALL)
    corpus = place.folder / "sample" / "corpus.jsonl"
    corpus.write_text(corpus.read_text() + json.dumps({"_id": "new", "text": "The tenant pays rent."}) + "\n")
    steps = place.study(SMALL)
    assert [step.split()[0] for step in steps.computed] == ["documents", "index", "first", "pools", "ranking"]


def dated(place: Place, name: str, dates: dict[str, Any]) -> dict[str, str]:
    """Give the records of a file these dates, by id; the text of each record by id."""
    path = place.folder / "sample" / f"{name}.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    metadata = [{"date": dates[record["_id"]]} if record["_id"] in dates else {} for record in records]
    lines = [json.dumps({**record, "metadata": each}) for record, each in zip(records, metadata, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return {record["_id"]: record["text"] for record in records}


LIMITED = SMALL.replace("depth = 8", 'depth = 8\nbefore = "date"') + (
    '"RPRS, tuned" = { tune = "rprs", folds = 2, grid = { n = [1, 4], k1 = [0], b = [1] } }\n'
    '"BM25, tuned" = { tune = "bm25", folds = 2, grid = { k1 = [1, 2], b = [1], kli = "none" } }\n'
)


def test_no_document_newer_than_the_query_is_ranked(place: Place) -> None:
    place.study(SMALL)
    ids = list(dated(place, "corpus", {}))
    limits = {query: 2010 + number for number, query in enumerate(dated(place, "queries", {}))}
    undated_query = list(limits)[-1]
    years = {id: 2010 + number % 4 for number, id in enumerate(ids[:-2])}  # the last two documents have no date
    dated(place, "corpus", years)
    dated(place, "queries", {query: f"{year}-06-01" for query, year in limits.items() if query != undated_query})
    steps = place.study(LIMITED)
    assert {"index", "first"} <= {step.split()[0] for step in steps.computed}
    for name in ("bm25", "rprs", "rprs-tuned", "bm25-tuned"):
        run = read_run(place.folder / "results" / "study" / "runs" / f"{name}.trec")
        assert undated_query not in run
        for query, ranking in run.items():
            assert max(years.get(id, 0) for id in ranking.ids) <= limits[query]
        assert any(id in ids[-2:] for ranking in run.values() for id in ranking.ids), name
    facts = place.results()["collection"]
    assert (facts["before"], facts["undated"], facts["documents_undated"]) == ("date", "keep", 2)
    report = (place.folder / "results" / "study" / "report.html").read_text()
    assert "nothing newer than the query" in report
    assert "2 documents without a date kept" in report
    assert place.study(LIMITED).computed == []
    dropped = place.study(LIMITED, undated="drop", before="date")
    assert "index" not in {step.split()[0] for step in dropped.computed}
    run = read_run(place.folder / "results" / "study" / "runs" / "bm25.trec")
    assert not any(id in ids[-2:] for ranking in run.values() for id in ranking.ids)


def test_changed_dates_change_a_study_with_a_limit(place: Place) -> None:
    ids = list(dated(place, "corpus", {}))
    dated(place, "corpus", dict.fromkeys(ids, "2015"))
    dated(place, "queries", dict.fromkeys(dated(place, "queries", {}), "2015"))
    place.study(LIMITED)
    dated(place, "corpus", {**dict.fromkeys(ids, "2015"), ids[0]: "2016"})
    assert {"index", "first"} <= {step.split()[0] for step in place.study(LIMITED).computed}
    run = read_run(place.folder / "results" / "study" / "runs" / "bm25.trec")
    assert ids[0] not in {id for ranking in run.values() for id in ranking.ids}


def test_a_wrong_limit_of_a_study_is_one_line(place: Place) -> None:
    with pytest.raises(UsageError, match="no document has a date in 'date'"):
        place.study(LIMITED)
    with pytest.raises(UsageError, match=r"study\.toml: The date limit '2015-13' is wrong"):
        place.study(LIMITED.replace('"date"', '"2015-13"'))


def test_a_renamed_file_is_another_document(tmp_path: Path) -> None:
    shutil.copytree(DATA / "collections" / "coliee", tmp_path / "coliee")

    def ids() -> tuple[str, ...]:
        collection = open_collection("coliee(coliee,year=2022)", tmp_path)
        with Experiment("coliee", collection, Cache(tmp_path / "cache")) as experiment:
            return experiment.documents.ids

    before = ids()
    last = tmp_path / "coliee" / "task1_test_files_2022" / "000104.txt"
    last.rename(last.with_name("000105.txt"))  # the same contents in the same order
    assert ids() == (*before[:-1], "000105")


def test_studies_share_a_cache(place: Place) -> None:
    place.study(SMALL, "one", cache=place.folder / "cache")
    steps = place.study(SMALL, "two", cache=place.folder / "cache")
    assert steps.computed == []
    assert contents(place.folder / "one") == contents(place.folder / "two")


def test_obsolete_results_are_removed_and_other_files_stay(place: Place) -> None:
    place.study(SMALL + "[analyses]\nablation = true\n")
    folder = place.folder / "results" / "study"
    (folder / "tables" / "mine.md").write_text("mine")
    place.study(SMALL)
    assert not (folder / "tables" / "ablation.md").exists()
    assert (folder / "tables" / "mine.md").read_text() == "mine"
    place.study(SMALL + "[analyses]\nablation = true\n", only=["ablation"])
    assert set(contents(folder)) == {
        "report.html",
        "results.json",
        "tables/ablation.csv",
        "tables/ablation.md",
        "tables/ablation.tex",
        "tables/mine.md",
    }


KILLED = """
import os, signal, sys
import rprs.index, rprs.studies.folder, rprs.tuning.pools
from rprs.studies.study import study

def die(*_arguments, **_options):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[3] == "index":
    rprs.index.Writer.finish = die
elif sys.argv[3] == "pools":
    rprs.tuning.pools.save_pools = die
else:
    folder, files, write = rprs.studies.folder, [], rprs.studies.folder._write
    folder._write = lambda path, content: die() if len(files) > 2 else files.append(write(path, content))
study(sys.argv[1], sys.argv[2])
"""
MEDIUM = f"""{SMALL}
tuned = {{ tune = "rprs", folds = 3, grid = {{ n = [1, 2] }} }}
[analyses]
truncation = {{ lengths = [64] }}
"""


@pytest.mark.slow
def test_a_killed_study_resumes(place: Place) -> None:
    """Killed while documents are indexed, while neighbours are written, and while the results are."""
    place.study(MEDIUM, "undisturbed")
    for moment in ("index", "pools", "results"):
        arguments = [str(place.folder / name) for name in ("study.toml", "results")]
        command = [sys.executable, "-c", KILLED, *arguments, moment]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        assert bool(list((place.folder / "results").rglob("pools/*.complete"))) == (moment == "results")
    steps = place.study(MEDIUM)
    assert steps.computed == []
    ours, theirs = (contents(place.folder / name / "study") for name in ("results", "undisturbed"))
    assert ours == theirs


# ---------------------------------------------------------------------------- errors


def test_missing_data_is_one_line(place: Place) -> None:
    missing = SMALL.replace("beir(sample)", "beir(elsewhere)")
    with pytest.raises(ReadError, match=r"lacks corpus\.jsonl"):
        place.study(missing)
    with pytest.raises(ReadError, match=r"beir\(elsewhere\) was not found in .*: write to the makers"):
        place.study('download = "write to the makers"\n' + missing)
    assert not (place.folder / "results").exists()


def test_missing_files_are_reported_before_anything_is_computed(place: Place) -> None:
    with pytest.raises(ReadError, match="no such run file; it is the first stage of 'other'"):
        place.study(SMALL + 'other = { first = "runfile(none.trec)" }\n')
    with pytest.raises(ReadError, match="no such file; the analysis judgements needs it"):
        place.study(SMALL + '[analyses]\njudgements = { run = "runs/other.trec", qrels = "qrels/none.txt" }\n')
    with pytest.raises(ReadError, match=r"lacks corpus\.jsonl"):
        place.study(SMALL + 'other = { tune = "rprs", on = "beir(elsewhere)" }\n')
    assert not (place.folder / "results").exists()


def test_encoding_candidates_alone_needs_an_unfitted_encoder(place: Place) -> None:
    with pytest.raises(UsageError, match="pool_only needs an encoder that is not fitted"):
        place.study(SMALL + 'other = { encoder = "fitted", pool_only = true }\n')


def test_a_collection_without_documents_is_an_error(place: Place) -> None:
    (place.folder / "sample" / "corpus.jsonl").write_text("")
    with pytest.raises(UsageError, match=r"beir\(sample\) has no document that can be read"):
        place.study(SMALL)


def test_a_system_may_have_a_long_name_in_any_script(place: Place) -> None:
    name = "../𝒳/" * 90
    place.study(f'{SMALL}"{name}" = {{ rerank = "none" }}\n')
    files = [file.name for file in (place.folder / "results" / "study" / "runs").iterdir()]
    assert len(files) == 3
    assert name in place.results()["parts"]["systems"]


def test_a_folder_with_other_files_is_left_alone(place: Place) -> None:
    folder = place.folder / "results" / "study"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text('{"files": 3}')
    with pytest.raises(UsageError, match="was not written by a study"):
        place.study(SMALL)


def test_a_missing_part(place: Place) -> None:
    with pytest.raises(UsageError, match="has no part 'ablation': it has systems"):
        place.study(SMALL, only=["ablation"])


def test_without_matplotlib_the_error_has_the_pip_line(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rprs.studies.study.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"rprs\[study\]"):
        place.study(SMALL)


def test_a_plan_can_be_used_without_its_file(place: Place) -> None:
    (place.folder / "small.toml").write_text(SMALL)
    plan = read_plan(place.folder / "small.toml")
    assert study(plan, place.folder / "results") == place.folder / "results" / "small"
