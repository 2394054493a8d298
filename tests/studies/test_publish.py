"""The runs of a study as they are published: compressed, and each with a header of ir_metadata."""

from __future__ import annotations

import csv
import io
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from rprs.errors import UsageError
from rprs.read import read_run
from rprs.studies.machine import platform_facts, source_facts
from rprs.studies.publish import header, yaml_lines
from rprs.studies.study import study
from tests.support.study_sample import SMALL, contents, write_collection

STUDY = f"""
title = "The sample"
paper = "table3"
download = "Download it from https://example.org"
{SMALL}
"over the run" = {{ first = "runfile(runs/other.trec)", depth = 3 }}
"tuned" = {{ tune = "rprs", folds = 3, grid = {{ n = [1, 4] }} }}
"tuned elsewhere" = {{ tune = "rprs", on = {{ data = "beir(sample)", depth = 5 }}, grid = {{ n = "1..3" }} }}
[significance]
baselines = ["BM25"]
correction = "holm"
"""
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).map(lambda text: " ".join(text.split()))
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of a study and what it published; tests only read it."""
    folder = write_collection(tmp_path_factory.mktemp("published"))
    (folder / "small.toml").write_text(STUDY)
    study(folder / "small.toml", folder / "results", publish=folder / "runs")
    return folder


def metadata_of(path: Path) -> Any:
    """The header of a run, read as another program would read it."""
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    assert lines[0] == "# ir_metadata.start"
    end = lines.index("# ir_metadata.end")
    assert not any(line.startswith("#") for line in lines[end + 1 :])
    return yaml.safe_load("\n".join(line.strip("#") for line in lines[1:end]))


def test_every_run_and_all_scores_are_published(place: Path) -> None:
    names = ("bm25", "rprs", "over-the-run", "tuned", "tuned-elsewhere")
    expected = {f"runs/{name}.trec.xz" for name in names} | {"scores.csv.xz", "results.json"}
    assert set(contents(place / "runs" / "small")) == expected
    for name in names:
        published = read_run(place / "runs" / "small" / "runs" / f"{name}.trec.xz")
        own = read_run(place / "results" / "small" / "runs" / f"{name}.trec")
        assert {query: ranking.ids for query, ranking in published.items()} == {
            query: ranking.ids for query, ranking in own.items()
        }
    scores = lzma.decompress((place / "runs" / "small" / "scores.csv.xz").read_bytes()).decode()
    assert scores == (place / "results" / "small" / "scores.csv").read_text()
    assert len(list(csv.DictReader(io.StringIO(scores)))) == 5 * 3


def test_a_header_has_the_components_of_ir_metadata(place: Path) -> None:
    metadata = metadata_of(place / "runs" / "small" / "runs" / "rprs.trec.xz")
    components = {"platform", "research goal", "implementation", "method", "actor", "data"}
    assert set(metadata) == components | {"schema-version", "run-version", "tag"}
    assert metadata["tag"] == "rprs"
    assert metadata["platform"] == platform_facts()
    assert metadata["implementation"]["source"] == source_facts()
    goal = metadata["research goal"]
    assert goal["venue"] == {"name": "TOIS", "year": 2023}
    assert goal["evaluation"] == {
        "reported_measures": ["P@1", "AP"],
        "baseline": ["bm25"],
        "significance test": [{"name": "t-test", "correction method": "holm-bonferroni"}],
    }
    assert metadata["method"]["retrieval"] == [
        {"name": "first stage", "method": "bm25", "depth": 8},
        {"name": "re-ranker", "method": "rprs(n=4)", "reranks": "first stage"},
    ]
    assert metadata["method"]["automatic"] is True
    assert metadata["method"]["indexing"]["encoder"] == "hashed(dimension=64)"
    collection = metadata["data"]["test collection"]
    assert (collection["documents"], collection["queries"]) == (12, 3)
    assert collection["source"] == "Download it from https://example.org"
    assert metadata["data"]["other"][0]["name"].startswith("hashed(dimension=64")


def test_headers_say_how_a_system_was_tuned_and_leave_out_what_is_not_known(place: Path) -> None:
    folder = place / "runs" / "small" / "runs"
    tuned = metadata_of(folder / "tuned.trec.xz")["method"]["tuning"]
    assert tuned["measure"] == "P@1"
    assert len(tuned["folds"]) == 3
    assert metadata_of(folder / "tuned-elsewhere.trec.xz")["data"]["training data"] == [{"name": "beir(sample)"}]
    assert "automatic" not in metadata_of(folder / "over-the-run.trec.xz")["method"]
    assert "other" not in metadata_of(folder / "bm25.trec.xz")["data"]


def test_headers_name_no_path(place: Path) -> None:
    for path in (place / "runs" / "small" / "runs").iterdir():
        assert str(place) not in json.dumps(metadata_of(path))


def test_a_study_without_a_system_removes_its_published_run(place: Path) -> None:
    (place / "other.toml").write_text(SMALL)
    study(place / "other.toml", place / "results", publish=place / "again", cache=place / "results" / ".cache")
    (place / "other.toml").write_text(SMALL.replace('RPRS = { rerank = "rprs(n=4)" }', ""))
    study(place / "other.toml", place / "results", publish=place / "again", cache=place / "results" / ".cache")
    assert set(contents(place / "again" / "other")) == {"runs/bm25.trec.xz", "scores.csv.xz", "results.json"}


def test_what_cannot_be_published_is_an_error_before_anything_is_computed(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL + "[analyses]\nlengths = true\n")
    with pytest.raises(UsageError, match="cannot be published in the folder of the results"):
        study(tmp_path / "small.toml", tmp_path / "out", publish=tmp_path / "x" / ".." / "out")
    with pytest.raises(UsageError, match="choose the part 'systems', too"):
        study(tmp_path / "small.toml", tmp_path / "out", publish=tmp_path / "runs", only=["lengths"])
    assert not (tmp_path / "out").exists()


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_a_header_is_yaml(value: dict[str, Any]) -> None:
    assert yaml.safe_load("\n".join(f" {line}" for line in yaml_lines(value))) == value


def test_a_text_stays_on_one_line() -> None:
    assert header({"a b": "two\nlines # and \u2028 more"}) == (
        '# ir_metadata.start\n# a b: "two lines # and more"\n# ir_metadata.end\n'
    )
    assert list(yaml_lines({"none": float("nan")})) == ["none: null"]
