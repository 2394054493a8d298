"""A system: accepted and refused values, and its cut-off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rprs import BM25, RPRS, System
from rprs.document import Ranking
from rprs.errors import UsageError
from rprs.evaluation.cutoff import Ratio, Top
from rprs.rank.birch import Birch
from rprs.rank.blend import Blend
from rprs.rank.fuse import First, Fuse
from rprs.rank.named import NAMED
from rprs.rank.sdr import SDR

RANKING = Ranking(tuple("abcd"), np.array([10.0, 8.0, 5.0, 1.0]), {"qp": np.arange(4.0)}, notes=("a note",))


def test_texts_and_components_are_the_same() -> None:
    assert System("bm25(k1=2)", "rprs(n=4)", 50, "ratio(p=0.8,l=1,h=6)") == System(
        BM25(k1=2.0), RPRS(n=4), 50, Ratio(0.8, 1, 6)
    )
    assert System(rerank="none") == System(rerank=None)
    assert System(rerank=" None ").rerank is None
    assert System(cutoff="4").cutoff == Top(4)


def test_bm25_without_parameters_is_the_documented_default() -> None:
    assert System("bm25").first == BM25() == BM25(k1=2.8, b=1.0)


def test_the_default_fuses_its_first_stage_with_rprs() -> None:
    nearest = RPRS(k1=0.0, form="no_qp")
    assert System() == System(Blend(), Fuse(First(), nearest, "zscore", None), 100) == System.named("default")


def test_systems_have_names() -> None:
    assert [System.named(name).name for name in NAMED] == list(NAMED) == ["default", "paper", "bm25", "fast"]
    assert System.named("paper") == System("bm25", "rprs")
    assert System.named("bm25") == System("bm25", None)
    assert System.named("fast") == System(System().first, None)
    assert System(cutoff="3").name == "default"
    assert System(depth=99).name is None
    with pytest.raises(UsageError, match="There is no system named 'papre': did you mean 'paper'"):
        System.named("papre")


def test_text_and_tag() -> None:
    assert str(System("bm25", "rprs")) == "bm25 → rprs"
    assert str(System("bm25", None, cutoff="3")) == "bm25, cut at 3"
    assert str(System()) == "blend → fuse(a=first(),b=rprs(k1=0.0,form=no_qp),method=zscore,weight=none)"
    assert (System().tag, System("bm25", "rprs(n=4)").tag) == ("default", "rprs(n=4)")
    assert System('runfile("my run")', None).tag == 'runfile(path="my_run")'
    assert System().changed(rerank=SDR(), depth=7) == System(rerank="sdr", depth=7)


def test_the_cut_off_is_applied_to_scores_and_parts() -> None:
    cut = System(cutoff="ratio(p=0.6,l=1,h=3)").cut(RANKING)
    assert (cut.ids, cut.scores.tolist(), cut.parts["qp"].tolist()) == (("a", "b"), [10.0, 8.0], [0.0, 1.0])
    assert cut.notes == RANKING.notes
    assert System().cut(RANKING) is RANKING


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "The depth of re-ranking must be an integer in [1, inf). Got 0 instead."),
        ({"depth": "50"}, "The depth of re-ranking must be an integer in [1, inf). Got '50' instead."),
        ({"depth": True}, "The depth of re-ranking must be an integer in [1, inf). Got True instead."),
        ({"depth": 2.5}, "The depth of re-ranking must be an integer in [1, inf). Got 2.5 instead."),
        ({"first": Birch()}, "Birch(a=0.5, w2=0.5, w3=0.5, top=3, scorer='cosine', model='') is not a first stage"),
        ({"first": BM25}, "is not a first stage, such as bm25"),
        ({"first": None}, "None is not a first stage, such as bm25"),
        ({"rerank": BM25()}, "is not a re-ranker, such as rprs"),
        ({"rerank": 5}, "5 is not a re-ranker, such as rprs"),
        ({"cutoff": 4}, "A cut-off is a rule such as '4' or 'ratio(p=0.8,l=1,h=6)'. Got 4 instead."),
        ({"first": "bm52"}, "There is no ranker named 'bm52': did you mean 'bm25'?"),
    ],
)
def test_a_wrong_value_is_one_line(options: Any, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        System(**options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
