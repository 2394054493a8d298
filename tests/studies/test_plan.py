"""The TOML of a study: valid settings, and one-line errors for invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from rprs.errors import ReadError, RprsError, UsageError
from rprs.rank import System
from rprs.rank.named import NAMED
from rprs.studies.options import ANALYSES
from rprs.studies.plan import Plan, read_plan
from rprs.studies.study import parts
from rprs.tuning.settings import write_settings
from tests.support.study_sample import EVERYTHING, SMALL


def _plan(folder: Path, text: str) -> Plan:
    path = folder / "study.toml"
    path.write_text(text)
    return read_plan(path)


def test_all_settings_are_read(tmp_path: Path) -> None:
    plan = _plan(tmp_path, EVERYTHING)
    assert (plan.name, plan.title, plan.folder) == ("study", "The sample", tmp_path)
    assert parts(plan) == ["systems", *ANALYSES]
    assert str(plan.target) == "AP"
    over = plan.system("over the run")
    assert (over.first, over.after, over.rerank) == ("a run", "a run", "rprs")
    assert plan.system("BM25").rerank is None
    assert plan.system("RPRS").rerank == "rprs(n=4,k1=0.0)"
    assert plan.system("tuned elsewhere").on is not None
    assert plan.analyses["truncation"].pool_only


def test_omitted_settings_have_defaults(tmp_path: Path) -> None:
    plan = _plan(tmp_path, SMALL)
    assert (plan.title, str(plan.target), plan.subject) == ("study", "P@1", "RPRS")
    assert plan.system("RPRS").first == "bm25"
    assert parts(plan) == ["systems"]


def test_declared_comparisons_are_read(tmp_path: Path) -> None:
    plan = _plan(tmp_path, SMALL + '[significance]\ncomparisons = [["RPRS", "BM25"]]\n')
    assert plan.significance.pairs == [("RPRS", "BM25")]
    assert (plan.significance.baselines, plan.significance.against) == ((), ("BM25",))


def test_the_reference_is_the_analysed_system_unless_one_is_named(tmp_path: Path) -> None:
    assert _plan(tmp_path, EVERYTHING).reference == "RPRS w/freq"
    assert _plan(tmp_path, 'reference = "BM25"\n' + SMALL).reference == "BM25"
    sdr = SMALL.replace("rprs(n=4)", "sdr")
    assert _plan(tmp_path, sdr).reference == "RPRS"  # the name of the only system that re-ranks
    assert _plan(tmp_path, SMALL.replace("rprs(n=4)", "none")).reference == "BM25"


def test_an_analysis_can_be_switched_off(tmp_path: Path) -> None:
    assert parts(_plan(tmp_path, SMALL + "[analyses]\nablation = false\nlengths = true\n")) == ["systems", "lengths"]


def test_a_system_named_like_a_ranker_is_not_its_own_first_stage(tmp_path: Path) -> None:
    systems = 'bm25 = { first = "bm25", rerank = "none" }\nlast = { first = "bm25" }\n'
    plan = _plan(tmp_path, SMALL.replace("BM25", "first") + systems)
    assert (plan.system("bm25").after, plan.system("last").after) == (None, "bm25")


def test_tuned_settings_are_taken_from_a_file(tmp_path: Path) -> None:
    write_settings(tmp_path / "tuned.toml", System("bm25(k1=9.0)", "rprs(n=2)", 7), {})
    systems = 'tuned = { settings = "tuned.toml" }\nshallow = { settings = "tuned.toml", depth = 3, rerank = "none" }\n'
    plan = _plan(tmp_path, SMALL + systems)
    tuned, shallow = plan.system("tuned"), plan.system("shallow")
    assert (tuned.first, tuned.rerank, tuned.depth) == ("bm25(k1=9.0)", "rprs(n=2)", 7)
    assert (shallow.first, shallow.rerank, shallow.depth) == ("bm25(k1=9.0)", None, 3)


def test_a_named_system_brings_its_splitter(tmp_path: Path) -> None:
    systems = 'paper = { system = "paper" }\nshallow = { system = "paper", depth = 3, splitter = "sentences" }\n'
    plan = _plan(tmp_path, SMALL + systems)
    paper, shallow = plan.system("paper"), plan.system("shallow")
    assert (paper.first, paper.rerank, paper.depth) == ("bm25", "rprs", 100)
    assert paper.splitter == "sentences(limit=25)"
    assert (shallow.first, shallow.depth, shallow.splitter) == ("bm25", 3, "sentences")


@pytest.mark.parametrize("name", NAMED)
def test_a_named_system_is_that_of_the_command_line(name: str, tmp_path: Path) -> None:
    named = _plan(tmp_path, f'{SMALL}chosen = {{ system = "{name}" }}\n').system("chosen")
    assert System(named.first, named.rerank, named.depth) == System.named(name)


def test_any_reranker_can_be_tuned(tmp_path: Path) -> None:
    systems = """
birch = { rerank = "birch(top=2)", tune = "rerank", folds = 3, grid = { a = "0..0.5/0.1", scorer = ["cosine"] } }
words = { rerank = "fuse(first, rprs)", tune = "rerank", folds = 3, grid = { method = "rrf,minmax", depth = [4, 8] } }
same = { rerank = "rprs(avgdl=candidates)", tune = "rerank", folds = 3 }
form = { rerank = "rprs(form=no_qp)", tune = "rerank", folds = 3, grid = { n = [1, 2] } }
"""
    plan = _plan(tmp_path, SMALL + systems)
    tunes = {name: plan.system(name).tune for name in ("birch", "words", "same", "form")}
    assert tunes == {"birch": "rerank", "words": "rerank", "same": "rprs", "form": "rerank"}
    assert plan.system("words").rerank == "fuse(a=first(),b=rprs())"


WRONG = {
    "mesures = []": "study.toml has no key 'mesures': did you mean 'measures'?",
    "depth = 'deep'": "study.toml: 'depth' must be an integer. Got 'deep' instead.",
    "depth = 0": "[systems] 'A': 'depth' must be an integer in [1, inf). Got 0 instead.",
    "measures = ['XY@2']": "XY",
    "measures = []": "'measures' must name at least one measure",
    "first = 'bm52'": "There is no ranker named 'bm52': did you mean 'bm25'?",
    "systems.A = 3": "[systems] 'A' must be a table. Got 3 instead.",
    "systems.A.rerankk = 'rprs'": "[systems] 'A' has no key 'rerankk': did you mean 'rerank'?",
    "systems.A.rerank = 'rprs(m=1)'": "rprs has no parameter 'm'",
    "systems.A.folds = 5": "'folds' needs 'tune' too",
    "systems.A.grid = { n = [1] }": "'grid' needs 'tune' too",
    "systems.A.measure = 'AP'": "'measure' needs 'tune' too",
    "systems.A.pool_only = true": "pool_only needs an encoder that is not fitted to the collection: fitted is",
    "systems.A.tune = 'rprs'": "'tune' needs either 'folds' (cross-validation) or 'on' (another collection)",
    "systems.A = { tune = 'sdr', folds = 2 }": '\'tune\' must be "rprs", "bm25" or "rerank". Got \'sdr\' instead.',
    "systems.A = { tune = 'rprs', folds = 1 }": "'folds' must be an integer in [2, inf). Got 1 instead.",
    "systems.A = { tune = 'bm25', folds = 2, rerank = 'rprs' }": "a tuned BM25 has no 'rerank'",
    "systems.A = { tune = 'rprs', folds = 2, grid = { k2 = [1] } }": "'grid' has no parameter 'k2': it may have n, k1",
    "systems.A = { tune = 'rprs', folds = 2, grid = { n = [0] } }": "grid of n must be integers in [1, inf). Got 0",
    "systems.A = { tune = 'rprs', folds = 2, grid = { n = [] } }": "'n' must have at least one value",
    "systems.A = { tune = 'rprs', on = { data = 'x', depth = -4 } }": "'on': 'depth' must be an integer in [1, inf)",
    "systems.A = { tune = 'rprs', folds = 2, grid = { b = '0..2' } }": "must be a number in [0, 1]. Got 2 instead.",
    "systems.A = { tune = 'rprs', folds = 2, grid = { b = 'low' } }": "The grid of b must be numbers. Got 'low'",
    "systems.A = { tune = 'rprs', folds = 2, rerank = 'birch' }": 'birch is tuned with tune = "rerank"',
    "systems.A = { tune = 'rerank', folds = 2, rerank = 'none' }": "there is no re-ranker to tune: name one",
    "systems.A = { tune = 'rerank', folds = 2, rerank = 'birhc' }": "no reranker named 'birhc': did you mean 'birch'?",
    "systems.A = { tune = 'rerank', folds = 2, rerank = 'first' }": "There is no grid for first: give the values",
    "systems.A = { tune = 'rerank', folds = 2, rerank = 'birch', grid = { w4 = 1 } }": "birch has no parameter 'w4'",
    "systems.A = { tune = 'rerank', folds = 2, rerank = 'birch', grid = { a = 2 } }": "a number in [0, 1]. Got 2.0",
    "systems.A = { tune = 'rerank', folds = 2, rerank = 'birch', grid = { depth = 0 } }": "grid of depth must be",
    "systems.A = { tune = 'bm25', folds = 2, first = 'runfile(x)' }": "only bm25(...) can be tuned as a first stage",
    "systems.A = { tune = 'bm25', on = { dta = 'x' } }": "'on' has no key 'dta': did you mean 'data'?",
    "systems.A = { tune = 'bm25', on = {} }": "'on' needs the key 'data'",
    "systems.a = {}": "'A' and 'a' would have the same run file: rename one",
    "systems.A.settings = 'none.toml'": "none.toml: no such settings file",
    "systems.A.system = 'papers'": "There is no system named 'papers': did you mean 'paper'?",
    "significance.baselines = ['B']": "[significance] has no system 'B': it may have A",
    "significance.comparisons = [['A', 'B']]": "[significance] has no system 'B': it may have A",
    "significance.comparisons = [['A']]": 'must be a pair of different systems, such as ["RPRS", "BM25"]. Got [\'A\']',
    "significance.comparisons = [['A', 'A']]": "must be a pair of different systems",
    "significance.comparisons = ['A', 'B']": "'comparisons' must be a list, each a text. Got 'A' instead.",
    "significance.baselines = ['a', 'b', 'c', 'd', 'e', 'f', 'g']": "7 baselines, and only 6 marks: name at most 6",
    "reference = 'B'": "'reference' has no system 'B': it may have A",
    "significance.alpha = 2": "'alpha' must be a number in (0, 1). Got 2.0 instead.",
    "significance.correction = 'holmes'": "'correction' must be bonferroni or holm or none. Got 'holmes' instead.",
    "significance.test = 'z'": "'test' must be t or fisher. Got 'z' instead.",
    "analyses.ablations = true": "[analyses] has no analysis 'ablations': did you mean 'ablation'?",
    "analyses.units = { lengths = [true] }": "'lengths' must be an integer. Got True instead.",
    "analyses.depth = { depths = '0..5' }": "'depths' must be integers in [1, inf). Got 0 instead.",
    "analyses.depth = { depths = '9..5' }": "must rise by a step above 0",
    "analyses.depth = { depths = [] }": "'depths' must have at least one value",
    "analyses.depth = { measure = 'AP@@' }": "[analyses] depth: Cannot read 'AP@@' as a measure",
    "analyses.sensitivity = { measure = 'APP' }": "[analyses] sensitivity: There is no measure named 'APP'",
    "analyses.units = { lengths = [-5] }": "'lengths' must be integers in [1, inf). Got -5 instead.",
    "analyses.truncation = { lengths = [] }": "'lengths' must have at least one value",
    "analyses.length_bias = { k = 0 }": "'k' must be integers in [1, inf). Got 0 instead.",
    "analyses.unjudged = { k = -1 }": "'k' must be integers in [1, inf). Got -1 instead.",
    "analyses.judgements = { run = 'x', qrels = 'y', measures = ['XY'] }": "There is no measure named 'XY'",
    "analyses.judgements = true": "[analyses] judgements needs the key 'qrels'",
    "analyses.judgements = { qrels = 'y', systems = ['B'] }": "[analyses] judgements has no system 'B'",
    "analyses.pearson = { systems = ['B'] }": "[analyses] pearson has no system 'B'",
    "analyses.length_bias = true\nsystems.relevant = {}": "a system cannot be called 'relevant'",
    "systems.B = { first = 'A', depth = 101 }": "'B': 101 candidates are needed, but 'A' lists 100: change a depth",
    "analyses = { system = 'B', depth = { depths = [20] } }\nsystems.B = { first = 'A', depth = 9 }\ndepth = 9": (
        "'B': 20 candidates are needed, but 'A' lists 9"
    ),
    "analyses.system = 5": "[analyses]: 'system' must be a text. Got 5 instead.",
    "analyses.system = 'B'": "[analyses] has no system 'B'",
    "analyses = { system = 'B', ablation = true }\nsystems.B.rerank = 'none'": "'B' must re-rank with rprs(...)",
    "analyses.ablation = true\nrerank = 'none'": "ablation needs a system that re-ranks with rprs(...)",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_mistake_is_one_line(tmp_path: Path, line: str) -> None:
    key = line.partition("=")[0].strip()
    required = {"data": "'beir(x)'", "measures": "['AP']", "systems.A": "{}"}
    kept = [f"{name} = {value}" for name, value in required.items() if not key.startswith(name)]
    with pytest.raises(RprsError) as caught:
        _plan(tmp_path, "\n".join([*kept, line]))
    message = str(caught.value)
    assert WRONG[line] in message
    assert "\n" not in message


def test_a_study_needs_data_measures_and_systems(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs the key 'data'"):
        _plan(tmp_path, "title = 'x'")
    with pytest.raises(UsageError, match="must name at least one system"):
        _plan(tmp_path, "data = 'x'\nmeasures = ['AP']\n[systems]")


def test_a_file_that_is_not_a_study(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such study"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(ReadError, match="cannot be read as TOML"):
        _plan(tmp_path, "title = ")
