"""Tuning any re-ranker: values that do not fit a parameter, and models that are retrained or truncate their inputs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rprs import spec
from rprs.errors import UsageError
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Advance
from rprs.rank import System
from rprs.rank.batch import first_stage
from rprs.rank.fuse import Fuse
from rprs.rank.identity import identity
from rprs.tuning.choose import Tuned
from rprs.tuning.rerankers import reranker_axes, tune_reranker
from tests.support.cli import rprs_ok
from tests.support.judged_sample import QRELS, QUERIES, write_queries_and_qrels, write_rulings_index
from tests.support.tiny_models import make_cross


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "models"))
    return write_rulings_index(tmp_path)


def tuned(path: Path, rerank: str, grid: dict[str, tuple[Any, ...]] | None = None, **options: Any) -> Tuned:
    base = System("bm25", rerank, 6)
    with Index(path) as index:
        run = first_stage(index, QUERIES, "bm25", 6)
        return tune_reranker(index, QUERIES, run, QRELS, "AP", grid, base=base, **options)


@pytest.mark.parametrize(
    ("rerank", "grid", "line"),
    [
        ("birch", {"top": (1, 1.5)}, "The 'top' parameter of birch must be an integer. Got 1.5 instead."),
        ("birch", {"a": ("high",)}, "The 'a' parameter of birch must be a number. Got 'high' instead."),
        ("birch", {"w2": (None,)}, "The 'w2' parameter of birch must be a number. Got None instead."),
        ("fuse(first,rprs)", {"k": (1.5,)}, "The 'k' parameter of fuse must be an integer. Got 1.5 instead."),
        ("fuse(first,rprs)", {"a": ("nix",)}, "There is no reranker named 'nix'"),
        ("rprs(form=no_qp)", {"n": (2.5,)}, "The 'n' parameter of rprs must be an integer. Got 2.5 instead."),
        ("sdr", {}, "There is no grid for sdr: give the values to try, as depth=15..100/5"),
    ],
)
def test_a_value_that_does_not_fit_is_one_line(rerank: str, grid: dict[str, tuple[Any, ...]], line: str) -> None:
    with pytest.raises(UsageError) as raised:
        reranker_axes(spec.parse("reranker", rerank), System(), grid)
    assert str(raised.value).startswith(line)


def test_none_may_be_a_word_and_a_word_a_reranker(path: Path) -> None:
    """The grid of the command line reads `normalise=none` as no value; the parameter has the value "none"."""
    result = tuned(path, "sdr", {"normalise": (None, "zscore")})
    assert result.before == result.totals.ravel()[0]
    fused = tuned(path, "fuse(first,rprs)", {"a": ("first", "sdr")})
    assert fused.axes.shape == (1, 11, 2)
    assert isinstance(fused.best.rerank, Fuse)
    assert fused.best.rerank.weight == fused.point["weight"]


def test_retrained_weights_are_a_different_model(path: Path, tmp_path: Path) -> None:
    model, cache = make_cross(tmp_path / "cross"), Cache(tmp_path / "work")
    reranker = f'fuse(first,cross("{model}"),minmax)'
    old = tuned(path, reranker, cache=cache)
    make_cross(tmp_path / "other", layers=1, labels=2)
    shutil.copytree(tmp_path / "other", model, dirs_exist_ok=True)
    new = tuned(path, reranker, cache=cache)
    assert np.array_equal(new.totals, tuned(path, reranker).totals)
    assert not np.array_equal(new.totals, old.totals)


def test_truncation_is_reported(path: Path, tmp_path: Path) -> None:
    """Once for the inputs of the deepest candidates, also when the results come from the cache."""
    model, cache = make_cross(tmp_path / "cross"), Cache(tmp_path / "work")
    reranker, note = f'cross("{model}")', "30 of 30 inputs truncated to 24 tokens"
    for _ in range(2):
        assert note in tuned(path, reranker, {"depth": (3, 6)}, cache=cache).notes
    queries, qrels = write_queries_and_qrels(tmp_path)
    options = ("--qrels", qrels, "-o", tmp_path / "t.toml", "--depth", 6, "--rerank", reranker)
    outcome = rprs_ok("tune", path, queries, *options, "--what", "cutoff", "-m", "micro_F1")
    assert note in outcome.err


def test_models_are_loaded_before_the_queries(path: Path, tmp_path: Path) -> None:
    opened = []

    @contextmanager
    def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        opened.append(what)
        yield lambda _amount: None

    model = make_cross(tmp_path / "cross")
    for reranker in (f'fuse(first,cross("{model}"))', f'birch(scorer=cross,model="{model}")'):
        opened.clear()
        tuned(path, reranker, {"weight": (0.5,)} if reranker.startswith("fuse") else {"a": (0.5,)}, progress=progress)
        assert opened == ["preparing cross", "re-ranking"]


def test_weights_are_part_of_the_key_by_folder_and_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty model is not the working directory, and a name is not a folder: its weights count."""
    cache, model = Cache(tmp_path / "work"), make_cross(tmp_path / "shelf" / "cross")
    monkeypatch.chdir(model)
    assert "weights" not in (identity(spec.parse("reranker", "birch"), cache) or {})
    by_folder = identity(spec.parse("reranker", "fuse(first,cross(.))"), cache)
    assert by_folder is not None
    assert len(by_folder["weights"]["."]) == 5
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "shelf"))
    by_name = identity(spec.parse("reranker", "cross(cross)"), cache)
    assert by_name is not None
    assert by_name["weights"]["cross"] == by_folder["weights"]["."]
    make_cross(tmp_path / "other", layers=1, labels=2)
    shutil.copytree(tmp_path / "other", model, dirs_exist_ok=True)
    assert identity(spec.parse("reranker", "cross(cross)"), cache) != by_name


def test_a_component_without_a_text_form_has_no_identity(tmp_path: Path) -> None:
    assert identity(object(), Cache(tmp_path)) is None
