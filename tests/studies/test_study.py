"""A study from start to end: all its parts, and the same numbers as the single commands."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from rprs.collection import open_collection
from rprs.read import read_run
from rprs.studies.runs import notes_of
from tests.support.cli import rprs_ok
from tests.support.study_place import Place, Steps
from tests.support.study_sample import EVERYTHING, SMALL, contents, write_collection
from tests.support.tiny_models import make_cross


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The complete study, computed once; tests only read it."""
    place = Place(write_collection(tmp_path_factory.mktemp("everything")))
    place.study(EVERYTHING)
    return place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(write_collection(tmp_path))


# ---------------------------------------------------------------------------- the results


def test_the_folder_holds_every_documented_file(everything: Place) -> None:
    files = contents(everything.folder / "results" / "study")
    tables = {"systems", "settings", "tuning", "significance", "ablation", "sensitivity", "units", "truncation"}
    tables |= {"ties", "published"}
    tables |= {"depth", "length-bias", "length-bias-hits", "pearson", "lengths", "judgements", "judged", "condensed"}
    pictures = {"systems", "differences", "sensitivity", "units", "truncation", "depth", "length-bias"}
    pictures |= {"length-bias-hits", "pearson", "lengths"}
    expected = {f"tables/{name}.{end}" for name in tables for end in ("md", "tex", "csv")}
    expected |= {f"figures/{name}.{end}" for name in pictures for end in ("svg", "png")}
    expected |= {f"runs/{name}.trec" for name in ("bm25", "rprs", "rprs-w-freq", "a-run", "over-the-run")}
    expected |= {f"runs/{name}.trec" for name in ("candidates-alone", "bm25-tuned", "rprs-tuned", "tuned-elsewhere")}
    expected |= {"runs/rprs-whole-collection.trec"}
    assert set(files) == expected | {"report.html", "scores.csv", "scores.json", "results.json"}
    assert set(everything.results()["files"]) == set(files) - {"results.json"}


def test_the_report_has_every_part(everything: Place) -> None:
    page = (everything.folder / "results" / "study" / "report.html").read_text()
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles[:3] == ["Contents", "Systems", "Ablation"]
    assert titles[-2:] == ["Tuning", "Significance"]
    assert len(titles) == 15
    figures = list((everything.folder / "results" / "study" / "figures").glob("*.svg"))
    assert page.count("<svg") == page.count("<figcaption") == len(figures) > 0
    assert "rprs study study.toml" in page


def test_results_do_not_contain_paths_or_times(everything: Place) -> None:
    for name, content in contents(everything.folder / "results" / "study").items():
        assert str(everything.folder).encode() not in content, name


def test_scores_of_queries_average_to_the_table(everything: Place) -> None:
    folder = everything.folder / "results" / "study"
    with (folder / "scores.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    listed = json.loads((folder / "scores.json").read_text())
    for name, system in everything.results()["parts"]["systems"].items():
        mine = [row for row in rows if row["system"] == name]
        assert len(mine) == 3
        for measure, total in system["scores"].items():
            assert math.isclose(np.mean([float(row[measure]) for row in mine]), total)
            assert {row["query"]: float(row[measure]) for row in mine} == listed[name][measure]


def test_every_study_has_the_random_and_the_best_order_of_its_candidates(everything: Place) -> None:
    """Of the eight candidates of the analysed system, which are those of BM25."""
    results = everything.results()
    references = results["references"]
    assert {key: references[key] for key in ("system", "first", "depth")} == {
        "system": "RPRS w/freq",
        "first": "bm25",
        "depth": 8,
    }
    run = read_run(everything.folder / "results" / "study" / "runs" / "bm25.trec")
    qrels = open_collection("beir(sample)", everything.folder).qrels()
    hits = {query: sum(qrels[query].get(id, 0) > 0 for id in ranking.ids) for query, ranking in run.items()}
    random, best = (references["rows"][name] for name in ("random order", "best order (oracle)"))
    assert math.isclose(random["scores"]["P@1"], float(np.mean([hits[q] / len(run[q]) for q in qrels])))
    recall = [5 / len(run[q]) * hits[q] / sum(grade > 0 for grade in qrels[q].values()) for q in qrels]
    assert math.isclose(random["scores"]["R@5"], float(np.mean(recall)))
    for system in ("BM25", "RPRS", "RPRS w/freq"):  # the same candidates
        scores = results["parts"]["systems"][system]["scores"]
        assert all(scores[measure] <= value + 1e-12 for measure, value in best["scores"].items())
    assert random["judged"].keys() == best["judged"].keys() == {"Judged@1", "Judged@5"}
    assert results["parts"]["significance"]["comparisons"] == len(results["parts"]["systems"]) - 1
    table = (everything.folder / "results" / "study" / "tables" / "systems.md").read_text().splitlines()
    labels = [line.split(" | ")[0] for line in table if line.startswith("| ")]
    assert labels[-2:] == ["| *random order*", "| *best order (oracle)*"]
    assert "the 8 candidates of RPRS w/freq (first stage: bm25), in random order" in table[-1]


def test_a_study_of_first_stages_reorders_what_they_list(place: Place) -> None:
    place.study(SMALL.replace("rprs(n=4)", "none"))
    assert "the 8 documents that BM25 lists" in (place.folder / "results" / "study" / "report.html").read_text()
    rows = place.results()["references"]["rows"]
    assert rows["random order"]["scores"]["AP"] < rows["best order (oracle)"]["scores"]["AP"]


def test_the_share_of_judged_documents_is_beside_the_measures(everything: Place) -> None:
    folder = everything.folder / "results" / "study"
    judged = everything.results()["parts"]["systems"]["RPRS"]["judged"]
    run, qrels = read_run(folder / "runs" / "rprs.trec"), open_collection("beir(sample)", everything.folder).qrels()
    shares = [sum(id in qrels[query] for id in ranking.ids[:5]) / 5 for query, ranking in run.items()]
    assert math.isclose(judged["Judged@5"], float(np.mean(shares)))
    header = (folder / "tables" / "systems.csv").read_text().splitlines()[0]
    assert header == "system,P@1,R@5,AP,Judged@1,Judged@5"
    assert (folder / "scores.csv").read_text().splitlines()[0] == "system,query,P@1,R@5,AP,Judged@1,Judged@5"
    measured = {row["measure"] for row in everything.results()["parts"]["significance"]["rows"]}
    assert measured == {"P@1", "R@5", "AP"}


def test_the_share_of_judged_documents_counts_all_judgements(place: Place) -> None:
    """Also those of the file that the analysis of unjudged documents names."""
    path = place.folder / "sample" / "qrels" / "all.txt"
    ids = [json.loads(line)["_id"] for line in (place.folder / "sample" / "corpus.jsonl").read_text().splitlines()]
    queries = open_collection("beir(sample)", place.folder).qrels()
    path.write_text("".join(f"{query} 0 {id} 0\n" for query in queries for id in ids))
    place.study(SMALL + '[analyses]\nunjudged = { qrels = "qrels/all.txt" }\n')
    systems = place.results()["parts"]["systems"]
    assert {value for system in systems.values() for value in system["judged"].values()} == {1.0}


def test_condensed_lists_have_their_floor(everything: Place) -> None:
    """All judged documents are relevant, so that any order of them is the best."""
    unjudged = everything.results()["parts"]["unjudged"]
    assert list(unjudged["references"]) == ["random order", "best order (oracle)"]
    random, best = unjudged["references"].values()
    assert random == pytest.approx(best)
    assert random["P@1"] == 1
    table = (everything.folder / "results" / "study" / "tables" / "condensed.md").read_text()
    assert "| *random order* | 1.000 |" in table


def test_differences_have_intervals_and_effect_sizes(everything: Place) -> None:
    part = everything.results()["parts"]["significance"]
    assert part["confidence"] == 0.95
    for row in part["rows"]:
        assert row["low"] <= row["difference"] + 1e-12 <= row["high"] + 2e-12
        assert row["d_z"] is None or math.copysign(1, row["d_z"]) == math.copysign(1, row["difference"] or row["d_z"])
    header = (everything.folder / "results" / "study" / "tables" / "significance.csv").read_text().splitlines()[0]
    assert header.startswith("system,baseline,measure,difference,95% low,95% high,d_z,p (t)")


def test_only_declared_comparisons_count(place: Place) -> None:
    more = 'again = { rerank = "rprs(n=2)" }\n[significance]\ncomparisons = [["again", "RPRS"]]\n'
    place.study(SMALL + more)
    part = place.results()["parts"]["significance"]
    assert (part["comparisons"], part["baselines"]) == (1, ["RPRS"])
    assert {(row["system"], row["baseline"]) for row in part["rows"]} == {("again", "RPRS")}
    place.study(SMALL)
    assert "significance" not in place.results()["parts"]


def test_missing_documents_and_queries_are_reported(everything: Place) -> None:
    results = everything.results()
    absent = results["parts"]["systems"]["a run"]["candidates"]
    assert absent == {"candidates": 6, "unanswered": [], "listed": 7, "listed_absent": 1, "top_absent": 1}
    assert results["collection"]["relevant_absent"] == 0
    assert results["parts"]["judgements"]["relevant_absent"] == 1
    page = (everything.folder / "results" / "study" / "report.html").read_text()
    assert "1 of the 7 documents in the run are not in the collection" in page


def test_a_first_stage_of_vectors_names_its_encoder_and_its_runs(place: Place) -> None:
    """And one that fuses a run file reports its missing documents."""
    place.study(
        SMALL
        + 'dense = { first = "sdr", rerank = "none", encoder = "hashed(dimension=32)" }\n'
        + 'fused = { first = "fuse(bm25,runfile(runs/other.trec))", rerank = "none" }\n'
    )
    results = place.results()
    systems = results["parts"]["systems"]
    assert systems["dense"]["encoder"] == "hashed(dimension=32)"
    assert set(results["encoders"]) == {"hashed(dimension=32)", "hashed(dimension=64)"}
    assert "encoder" not in systems["fused"]
    assert systems["fused"]["candidates"]["listed_absent"] == 1


# ---------------------------------------------------------------------------- the numbers are right


def test_a_study_equals_the_single_commands(everything: Place, tmp_path: Path) -> None:
    sample, index = everything.folder / "sample", tmp_path / "sample.rprs"
    rprs_ok("index", sample, "--to", index, "--encoder", "hashed(dimension=64)")
    command = ("run", index, sample / "queries.jsonl", "--first", "bm25", "--depth", 8)
    for name, rerank in (("bm25", "none"), ("rprs", "rprs(n=4,k1=0)"), ("rprs-w-freq", "rprs(n=4,k1=2.8,b=1)")):
        rprs_ok(*command, "--rerank", rerank, "-o", tmp_path / name)
        ours = read_run(everything.folder / "results" / "study" / "runs" / f"{name}.trec")
        theirs = read_run(tmp_path / name)
        assert {query: ranking.ids for query, ranking in ours.items()} == {q: r.ids for q, r in theirs.items()}
        assert all(np.array_equal(ours[query].scores, theirs[query].scores) for query in ours)
        output = rprs_ok("evaluate", tmp_path / name, "--qrels", sample / "qrels" / "test.tsv", "-m", "AP").out
        total = everything.results()["parts"]["systems"][_system(name)]["scores"]["AP"]
        assert f"{total:.4f}".lstrip("0") in output


def _system(name: str) -> str:
    return {"bm25": "BM25", "rprs": "RPRS", "rprs-w-freq": "RPRS w/freq"}[name]


def test_every_analysis_contains_the_system_itself(everything: Place) -> None:
    """Five analyses compute the same system in five ways."""
    parts = everything.results()["parts"]
    total = parts["systems"]["RPRS w/freq"]["scores"]["AP"]
    assert parts["ablation"]["full"]["AP"] == total
    assert parts["ties"]["first"]["AP"] == total
    assert (parts["ties"]["first"]["order_changed"], parts["ties"]["first"]["documents_changed"]) == (0, 0)
    assert list(parts["ties"]) == ["first", "id", "worst"]
    assert parts["units"]["sentences"]["AP"] == parts["truncation"]["full"]["AP"] == total
    assert parts["depth"]["first stage"]["AP"] >= parts["systems"]["BM25"]["scores"]["AP"]
    assert list(parts["depth"]) == ["2", "6", "10", "first stage"]
    surface = parts["sensitivity"]
    assert (surface["n"], surface["k1"], surface["b"]) == ([1, 5], [0, 1.5, 3.0], [0, 1])
    assert len({tuple(row[0]) for row in surface["values"]}) == 2
    assert all(len(set(row[0])) == 1 for row in surface["values"])  # where k1 is 0, b changes nothing


def test_texts_below_the_limit_are_complete(place: Place) -> None:
    cut = "truncation = { lengths = [100000] }\n"
    place.study(f"{SMALL}[analyses]\n{cut}")
    whole = place.results()["parts"]["truncation"]
    place.study(SMALL + "[analyses]\n" + cut.replace("]", "], pool_only = true"))
    assert place.results()["parts"]["truncation"] == whole
    assert whole["100,000"] == whole["full"]


def test_encoding_candidates_alone_changes_nothing(place: Place) -> None:
    both = SMALL + 'again = { rerank = "rprs(n=4)", pool_only = true }\n'
    place.study(both)
    systems = place.results()["parts"]["systems"]
    assert systems["again"]["scores"] == systems["RPRS"]["scores"]
    runs = place.folder / "results" / "study" / "runs"
    assert (runs / "again.trec").read_text().replace(" again\n", " rprs\n") == (runs / "rprs.trec").read_text()


def test_tuning_never_sees_held_out_queries(everything: Place) -> None:
    systems = everything.results()["parts"]["systems"]
    tuned = systems["RPRS, tuned"]["tuned"]
    assert [fold["queries"] for fold in tuned["folds"]] == [1, 1, 1]
    assert math.isclose(tuned["held_out"], systems["RPRS, tuned"]["scores"]["AP"])
    assert math.isclose(np.mean([fold["value"] for fold in tuned["folds"]]), tuned["held_out"])
    assert tuned["value"] >= tuned["held_out"]
    elsewhere = systems["tuned elsewhere"]
    assert elsewhere["tuned"]["on"] == "beir(sample)"
    assert (elsewhere["depth"], elsewhere["tuned"]["settings"]["depth"]) == (8, 5)


def test_the_tuned_run_is_evaluated_also_at_a_tuned_depth(place: Place) -> None:
    toml = "tuned = { tune = 'rprs', folds = 3, measure = 'AP', grid = { n = [4], k1 = [0], b = [0], depth = [12] } }\n"
    place.study(SMALL.replace("depth = 8", "depth = 2") + toml)
    tuned = place.results()["parts"]["systems"]["tuned"]
    assert tuned["scores"]["AP"] == pytest.approx(tuned["tuned"]["held_out"], abs=1e-12)


TUNED = (
    SMALL
    + """
Birch = { rerank = "birch(top=2)", tune = "rerank", folds = 3, measure = "AP", grid = { w2 = [0, 0.5], w3 = [0] } }
fused = { first = "Birch", rerank = "fuse(first,rprs)", tune = "rerank", on = { data = "beir(sample)", depth = 5 } }
alone = { rerank = "birch", encoder = "hashed(dimension=32)", tune = "rerank", folds = 3, grid = { depth = [3, 9] } }
"""
)


@pytest.mark.slow
def test_any_reranker_is_tuned(place: Place) -> None:
    """In folds, on another collection, and over candidates encoded alone: a second run recomputes nothing."""
    first = place.study(TUNED)
    systems = place.results()["parts"]["systems"]
    birch, fused, alone = (systems[name] for name in ("Birch", "fused", "alone"))
    assert birch["scores"]["AP"] == pytest.approx(birch["tuned"]["held_out"], abs=1e-12)
    assert (birch["tuned"]["what"], len(birch["tuned"]["folds"])) == ("rerank", 3)
    assert birch["tuned"]["grid"]["a"] == "0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"
    assert birch["tuned"]["best"].startswith("depth=8, a=")
    assert fused["tuned"]["settings"]["rerank"].startswith("fuse(a=first(),b=rprs()")
    assert (fused["tuned"]["on"], fused["tuned"]["settings"]["depth"], fused["depth"]) == ("beir(sample)", 5, 8)
    assert alone["tuned"]["grid"]["depth"] == "3,9"
    table = (place.folder / "results" / "study" / "tables" / "settings.md").read_text()
    assert "| birch(top=2), tuned 3-fold |" in table
    assert "| fuse(a=first(),b=rprs()), tuned on beir(sample) |" in table
    assert [step for step in first.computed if step.startswith("tuned")] == [
        "tuned Birch",
        "tuned fused",
        "tuned alone",
    ]
    own, cut = 'hashed(dimension=32)"', "w2 = [0, 0.5]"
    toml = TUNED.replace(own, f"{own}, pool_only = true").replace(cut, "w2 = [0, 0.7]")
    assert place.steps(TUNED, "Birch", "fused", "alone").computed == []
    assert {step for step in place.steps(toml, "Birch", "alone").computed if step.startswith("tuned")} == {
        "tuned Birch",  # its grid has changed
        "tuned alone",  # its index has
    }


def test_rprs_is_tuned_the_same_under_both_names(place: Place) -> None:
    toml = 'tuned = { tune = "rprs", folds = 3, grid = { n = [1, 2] } }\n'
    place.steps(SMALL + toml, "tuned")
    assert place.steps(SMALL + toml.replace('"rprs"', '"rerank"'), "tuned").computed == []


def test_tuning_on_candidates_encoded_alone_is_the_same(place: Place) -> None:
    toml = SMALL + "tuned = { rerank = 'birch', tune = 'rerank', folds = 3, grid = { w3 = [0], depth = [3, 9] } }\n"
    runs = {}
    for text in (toml, toml.replace("birch',", "birch', pool_only = true,")):
        with place.opened(text, Steps()) as study:
            runs[text] = (study.run(study.plan.system("tuned")).path / "run.trec").read_bytes()
    assert len(set(runs.values())) == 1
    assert len(runs) == 2


def test_truncation_by_a_tuned_model_is_reported(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(place.folder / "models"))
    model = make_cross(place.folder / "cross")
    toml = SMALL + f"tuned = {{ rerank = 'fuse(first,cross(\"{model}\"))', tune = 'rerank', folds = 3 }}\n"
    with place.opened(toml, Steps()) as study:
        assert notes_of(study.run(study.plan.system("tuned"))) == ["24 of 24 inputs truncated to 24 tokens"]
    make_cross(place.folder / "other", layers=1)
    shutil.copytree(place.folder / "other", model, dirs_exist_ok=True)
    assert place.steps(toml, "tuned").computed == ["tuned tuned"]  # retrained weights are a different model


def test_figures_by_length_describe_what_they_count(everything: Place) -> None:
    folder = everything.folder / "results" / "study" / "figures"
    assert "P(retrieved | length), BM25" in (folder / "length-bias.svg").read_text()
    assert "P(relevant and retrieved | length), BM25" in (folder / "length-bias-hits.svg").read_text()


def test_probabilities_by_length_count_all_pairs(everything: Place) -> None:
    bias = everything.results()["parts"]["length_bias"]
    assert bias["edges"] == [0.0, 200.0, 250.0, None]
    with (everything.folder / "results" / "study" / "tables" / "length-bias.csv").open() as stream:
        documents = [int(row["documents"]) for row in csv.DictReader(stream)]
    assert sum(documents) == 12
    relevant = [p * 3 * count for p, count in zip(bias["retrieved"]["relevant"], documents, strict=True)]
    retrieved = [p * 3 * count for p, count in zip(bias["retrieved"]["BM25"], documents, strict=True)]
    assert math.isclose(sum(relevant), 8)
    assert math.isclose(sum(retrieved), 3 * 2)
    assert all(hit <= p for hit, p in zip(bias["hits"]["BM25"], bias["retrieved"]["relevant"], strict=True))


def test_missing_queries_do_not_count_in_probabilities(place: Place) -> None:
    judged = place.folder / "sample" / "qrels" / "test.tsv"
    study = SMALL + "[analyses]\nlength_bias = { k = 2, edges = [0] }\n"
    place.study(study)
    before = place.results()["parts"]["length_bias"]["retrieved"]
    judged.write_text(judged.read_text() + "not-asked\tcontracts/employment.txt\t1\n")
    place.study(study)
    results = place.results()
    assert results["collection"]["queries_absent"] == ["not-asked"]
    assert results["parts"]["length_bias"]["retrieved"] == before


def test_the_correlation_is_that_of_the_run(everything: Place) -> None:
    correlation = everything.results()["parts"]["pearson"]["BM25"]
    words = {}
    for line in (everything.folder / "sample" / "corpus.jsonl").read_text().splitlines():
        record = json.loads(line)
        words[record["_id"]] = len(record["text"].split())
    run = read_run(everything.folder / "results" / "study" / "runs" / "bm25.trec")
    pairs = [
        (words[id], score) for ranking in run.values() for id, score in zip(ranking.ids, ranking.scores, strict=True)
    ]
    assert math.isclose(correlation["pooled"], float(np.corrcoef(np.array(pairs).T)[0, 1]))
    each = [np.corrcoef([words[id] for id in ranking.ids], ranking.scores)[0, 1] for ranking in run.values()]
    assert math.isclose(correlation["mean"], float(np.mean(each)))


def test_ties_are_broken_in_both_ways(everything: Place) -> None:
    """employment and residential-lease tie; only the second is relevant, and its id is the greater one."""
    totals = everything.results()["parts"]["judgements"]["totals"]
    file, trec_eval = totals["ties in the order of the file"], totals["ties by id, as trec_eval"]
    assert math.isclose(file["AP"], ((1 + 2 / 2 + 3 / 4) / 4 + 1 / 3 + (1 + 1) / 2) / 3)
    assert math.isclose(trec_eval["AP"], ((1 + 2 / 2 + 3 / 3) / 4 + 1 / 3 + (1 + 1) / 2) / 3)


def test_systems_are_scored_with_other_judgements_beside_the_best_possible_ranking(everything: Place) -> None:
    """heating has a fourth relevant document, which no system can rank since the collection lacks it."""
    part = everything.results()["parts"]["judgements"]
    own = json.loads((everything.folder / "results" / "study" / "scores.json").read_text())
    assert list(part["systems"]) == list(own)
    assert (part["relevant"], part["relevant_absent"], part["relevant_excluded"]) == (9, 1, 0)
    for name, scores in part["systems"].items():
        ap = own[name]["AP"]
        assert math.isclose(scores["AP"], (ap["heating"] * 3 / 4 + ap["thawed-cargo"] + ap["next-job"]) / 3)
        assert math.isclose(scores["P@1"], np.mean(list(own[name]["P@1"].values())))
    assert part["best"]["P@1"] == 1
    assert math.isclose(part["best"]["R@5"], (3 / 4 + 1 + 1) / 3)
    assert math.isclose(part["best"]["AP"], (3 / 4 + 1 + 1) / 3)


def test_other_judgements_need_no_published_run_and_leave_out_what_is_excluded(place: Place) -> None:
    (place.folder / "sample" / "exclude.tsv").write_text(
        "query-id\tcorpus-id\nheating\topinions/dunmore-v-pellam.txt\n"
    )
    analysis = '[analyses]\njudgements = { qrels = "qrels/other.txt", measures = ["nDCG@1"], systems = ["RPRS"] }\n'
    place.study(SMALL + analysis, only=["judgements"])
    part = place.results()["parts"]["judgements"]
    assert (part["relevant"], part["relevant_absent"], part["relevant_excluded"]) == (9, 1, 1)
    assert "totals" not in part
    assert math.isclose(part["best"]["nDCG@1"], (1 / 2 + 1 + 1) / 3)  # the excluded document has grade 2, the next 1
    assert list(part["systems"]) == ["RPRS"]


# ---------------------------------------------------------------------------- what is recomputed


def test_a_second_run_computes_nothing(everything: Place) -> None:
    before = contents(everything.folder / "results")
    steps = everything.study(EVERYTHING)
    assert steps.computed == []
    assert contents(everything.folder / "results") == before


def test_rankings_are_condensed_to_what_was_judged(everything: Place) -> None:
    """All judged documents of the sample are relevant, so that the judged documents alone are a perfect list."""
    unjudged = everything.results()["parts"]["unjudged"]
    assert unjudged["judged"] == 8
    assert unjudged["condensed"]["BM25"]["P@1"] == 1
    listed = read_run(everything.folder / "results" / "study" / "runs" / "rprs.trec")
    with (everything.folder / "sample" / "qrels" / "other.txt").open() as stream:
        judged = {(line.split()[0], line.split()[2]) for line in stream}
    shares = [sum((query, id) in judged for id in ranking.ids[:3]) / 3 for query, ranking in listed.items()]
    assert math.isclose(unjudged["shares"]["RPRS"]["Judged@3"], float(np.mean(shares)))
