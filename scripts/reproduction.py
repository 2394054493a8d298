"""Write docs/reproduction.md from the results of studies: `python scripts/reproduction.py [RESULTS_FOLDER ...]`.

The first table of docs/effectiveness.md is written too, from the studies `default-*`. The `results.json` of each study
is stored as experiments/results/NAME.json. With RESULTS_FOLDER, the folder that `rprs study --to` wrote to, its results
and two figures of each study are copied first. The comments on the results are written by hand, in
experiments/remarks/NAME.md.
"""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rprs.evaluation.table import Cell, Figure, Table

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
PAGE = ROOT / "docs" / "reproduction.md"
EFFECTIVENESS = ROOT / "docs" / "effectiveness.md"
BEGIN, END = "<!-- made by scripts/reproduction.py -->", "<!-- end -->"
COLLECTIONS, TARGET = ("peps", "elife_evo", "scotus_cite", "lecard"), "AP@100"
PAPER = "paper.toml"
PICTURES = ROOT / "docs" / "images" / "reproduction"
FIGURES = {
    "sensitivity": "Sensitivity to n, k1 and b",
    "length-bias": "P(relevant | length) against P(retrieved | length)",
}
MARKS = "†*‡§¶#"
NAMES = {
    "ablation": ("Ablation", "system"),
    "units": ("Units", "unit"),
    "truncation": ("Truncation", "first tokens"),
    "depth": ("Re-ranking depth", "candidates"),
}
Results = Mapping[str, Any]


def main() -> None:
    """Copy the results in the folders given as arguments, if any, and write the page."""
    for folder in map(Path, sys.argv[1:]):
        for path in sorted(folder.glob("*/results.json")):
            shutil.copyfile(path, EXPERIMENTS / "results" / f"{path.parent.name}.json")
            PICTURES.mkdir(exist_ok=True)
            for name in FIGURES:
                if (figure := path.parent / "figures" / f"{name}.svg").exists():
                    shutil.copyfile(figure, PICTURES / f"{path.parent.name}-{name}.svg")
    PAGE.write_text(page(), encoding="utf-8")
    text = EFFECTIVENESS.read_text(encoding="utf-8")
    EFFECTIVENESS.write_text(with_default_table(text), encoding="utf-8")


def with_default_table(text: str) -> str:
    """A page with the table of all systems on all collections, between its two marks."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{default_table()}\n{END}{rest.split(END)[1]}"


def default_table() -> str:
    """AP@100 of every system in the studies `default-*`, one column per collection; the best in bold."""
    studies = {name: result for name in COLLECTIONS if (result := _results(f"default-{name}"))}
    columns = {name: result["parts"]["systems"] for name, result in studies.items()}
    systems = dict.fromkeys(system for column in columns.values() for system in column)
    best = {name: max(row["scores"][TARGET] for row in column.values()) for name, column in columns.items()}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (system, *(_bold(column.get(system), best[name]) for name, column in columns.items())) for system in systems
    )
    return Table("", ("system", *columns), rows).markdown().strip()


def _bold(row: Results | None, best: float) -> Cell:
    return None if row is None else Figure(row["scores"][TARGET], 3, "", row["scores"][TARGET] == best)


def page() -> str:
    """The text of docs/reproduction.md."""
    plans = {path.stem: tomllib.loads(path.read_text()) for path in sorted(EXPERIMENTS.glob("*.toml"))}
    paper = plans.pop(Path(PAPER).stem)
    results = {name: result for name in plans if (result := _results(name))}
    parts = [(EXPERIMENTS / "remarks" / "introduction.md").read_text().strip()]
    for name, result in sorted(results.items(), key=lambda item: _position(item[0])):
        parts += _study(name, plans[name], result, paper)
    parts += ["## Not run", _not_run({name: plan for name, plan in plans.items() if name not in results}, paper)]
    return "\n\n".join(parts) + "\n"


def _results(name: str) -> Results | None:
    path = EXPERIMENTS / "results" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _position(name: str) -> tuple[int, str]:
    """Sort key: the paper's tables in their order, then its research questions, then other studies."""
    digits = "".join(filter(str.isdigit, name.split("-")[0])) if name.startswith("table") else ""
    return (int(digits) if digits else 98 + (not name.startswith("rq")), name)


# ---------------------------------------------------------------------------- one study


def _study(name: str, plan: Mapping[str, Any], result: Results, paper: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {result['title']}"
    yield f"`rprs study experiments/{name}.toml --data DATA --to results`. {_facts(result)}{_missing(result)}"
    parts = result["parts"]
    if "systems" in parts:
        yield _systems(result, paper.get(plan.get("paper", ""), {})).markdown().strip()
        if differences := _differences(result):
            yield differences.markdown().strip()
        if tuned := _tuned(parts["systems"]):
            yield tuned.markdown().strip()
    if "totals" in parts.get("judgements", {}):
        yield _judgements(parts["judgements"], paper[plan["paper"]]).markdown().strip()
    if "unjudged" in parts:
        yield _unjudged(parts["unjudged"], list(result["measures"])).markdown().strip()
    for part, (title, label) in NAMES.items():
        if part in parts:
            yield _trend(title, label, parts[part], result["measures"]).markdown().strip()
    if "pearson" in parts:
        yield _pearson(parts["pearson"]).markdown().strip()
    for figure, caption in FIGURES.items():
        if (picture := PICTURES / f"{name}-{figure}.svg").exists():
            yield f"![{caption}]({picture.relative_to(PAGE.parent)})"
    remarks = EXPERIMENTS / "remarks" / f"{name}.md"
    if remarks.exists():
        yield remarks.read_text().strip()


def _facts(result: Results) -> str:
    facts = result["collection"]
    missing = f", of which {facts['relevant_absent']} are not in the collection" if facts["relevant_absent"] else ""
    encoders = []
    for encoder in result["encoders"].values():
        agreement = encoder["report"].get("agreement")
        fitted = f" (cosine to its teacher {agreement:.3f})" if agreement else ""
        encoders.append(f"`{encoder['in_force']}`{fitted}")
    return (
        f"{facts['documents']:,} documents of {facts['words_mean']:,.0f} words on average; {facts['queries']} queries "
        f"with {facts['relevant']:,} relevant documents{missing}. "
        f"Encoders: {'; '.join(encoders)}.{_first_stages(result)}"
    )


def _first_stages(result: Results) -> str:
    """The parameters of the systems that are BM25 alone, untuned."""
    stages = [
        f"{name} is `{system['first']}`"
        for name, system in result["parts"].get("systems", {}).items()
        if system["rerank"] is None and system["first"].startswith("bm25(") and "tuned" not in system
    ]
    return f" {'; '.join(stages)}." if stages else ""


def _missing(result: Results) -> str:
    """How many documents of runs and judgements are not in the collection."""
    sentences = ""
    for name, system in result["parts"].get("systems", {}).items():
        counts = system.get("candidates", {})
        if counts.get("listed_absent") and system["rerank"] is None:
            sentences += (
                f" Of the {counts['listed']:,} lines of {name}, {counts['listed_absent']:,} name a document that is "
                f"not in the collection, {counts['top_absent']:,} of them among the top {system['depth']} of a query; "
                "the documents ranked below move up."
            )
    if part := result["parts"].get("judgements"):
        sentences += (
            f" Of the {part['relevant']:,} relevant pairs in {part['qrels']}, {part['relevant_absent']:,} name a "
            f"document that is not in the collection; the other tables use {result['collection']['relevant']:,} pairs."
        )
    return sentences


def _systems(result: Results, paper: Mapping[str, Any]) -> Table:
    """Our scores; the row above has those that the paper prints for the system of the same name, if any.

    If the study scored the systems with other judgements too, there is a row for each.
    """
    measures, systems = list(result["measures"]), result["parts"]["systems"]
    judged = list(next(iter(systems.values())).get("judged", ()))
    rows: list[tuple[Cell, ...]] = []
    scores = {name: system["scores"] for name, system in result["parts"]["systems"].items()}
    best = {measure: max(values[measure] for values in scores.values()) for measure in measures}
    marks = _marks(result)
    other = result["parts"].get("judgements", {})
    others, ours = other.get("systems", {}), "ours"
    if others:
        ours = f"ours, {result['collection']['relevant']:,} pairs"
    for name, values in scores.items():
        printed = paper.get(name)
        if printed:
            by_measure = dict(zip(paper["measures"], printed, strict=True))
            rows.append((name, "paper", *(_figure(by_measure.get(measure)) for measure in (*measures, *judged))))
        if name in others:
            label = f"ours, {other['relevant']:,} pairs"
            rows.append((name, label, *(_figure(others[name].get(measure)) for measure in (*measures, *judged))))
        figures = (Figure(values[m], 3, marks.get((name, m), ""), values[m] == best[m]) for m in measures)
        rows.append((name, ours, *figures, *(_figure(systems[name]["judged"][measure]) for measure in judged)))
    if others:
        label = f"{other['relevant']:,} pairs"
        rows.append(("best possible", label, *(_figure(other["best"].get(m)) for m in (*measures, *judged))))
    test = result["parts"].get("significance")
    notes = tuple(
        f"{mark} significantly better than {baseline} ({test['test']}-test, p < {test['alpha']}, {test['correction']})."
        for mark, baseline in zip(MARKS, test["baselines"] if test else (), strict=False)
        if any(mark in used for used in marks.values())
    )
    references, note = _references(result, measures, judged)
    return Table("", ("system", "", *measures, *judged), tuple(rows), (*notes, *note), references)


def _references(
    result: Results, measures: list[str], judged: list[str]
) -> tuple[tuple[tuple[Cell, ...], ...], tuple[str, ...]]:
    """The candidates in random order and in the best order, and a note that says whose; none in older results."""
    part = result.get("references")
    if not part:
        return (), ()
    rows = tuple(
        (name, "", *(_figure(row["scores"][m]) for m in measures), *(_figure(row["judged"][m]) for m in judged))
        for name, row in part["rows"].items()
    )
    return rows, (f"For reference: the {part['depth']} candidates of {part['system']} (first stage: {part['first']}).",)


def _differences(result: Results) -> Table | None:
    """The differences by the target measure with intervals and effect sizes; none in older results."""
    test, target = result["parts"].get("significance"), result["target"]
    if not test or "confidence" not in test:
        return None
    level = f"{100 * test['confidence']:g}%"
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row["system"],
            row["baseline"],
            *(_figure(row[key]) for key in ("difference", "low", "high")),
            None if row["d_z"] is None else Figure(row["d_z"], 2),
            row[f"corrected_{test['test']}"],
        )
        for row in test["rows"]
        if row["measure"] == target
    )
    header = ("system", "baseline", "difference", f"{level} low", f"{level} high", "d_z", "corrected p")
    return Table(f"Differences of {target}", header, rows) if rows else None


def _marks(result: Results) -> dict[tuple[str, str], str]:
    test = result["parts"].get("significance")
    marks: dict[tuple[str, str], str] = {}
    for row in test["rows"] if test else ():
        if row["significant"] and row["difference"] > 0:
            key = (row["system"], row["measure"])
            marks[key] = marks.get(key, "") + MARKS[test["baselines"].index(row["baseline"])]
    return marks


def _tuned(systems: Mapping[str, Any]) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for name, system in systems.items():
        if tuned := system.get("tuned"):
            for number, fold in enumerate(tuned["folds"], 1):
                rows.append(
                    (name, f"all but fold {number}", fold["best"], _figure(fold["tuned"]), _figure(fold["value"]))
                )
            rows.append(
                (name, tuned["on"] or "all queries", tuned["best"], _figure(tuned["value"]), _figure(tuned["held_out"]))
            )
    header = ("system", "tuned on", "best parameters", "value there", "held out")
    return Table("", header, tuple(rows)) if rows else None


def _judgements(part: Results, paper: Mapping[str, Any]) -> Table:
    measures = list(next(iter(part["totals"].values())))
    printed = dict(zip(paper["measures"], paper["K"], strict=True))
    rows: list[tuple[Cell, ...]] = [("paper", *(_figure(printed.get(measure)) for measure in measures))]
    rows += [(name, *(_figure(scores[measure]) for measure in measures)) for name, scores in part["totals"].items()]
    return Table(f"{part['run']} as published, with {part['qrels']}", ("", *measures), tuple(rows))


def _unjudged(part: Results, measures: list[str]) -> Table:
    shares = list(next(iter(part["shares"].values())))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(_figure(part["shares"][name][s]) for s in shares), *(_figure(scores[m]) for m in measures))
        for name, scores in part["condensed"].items()
    )
    references: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(None for _ in shares), *(_figure(scores[m]) for m in measures))
        for name, scores in part.get("references", {}).items()
    )
    title = "Judged documents only (condensed lists)"
    return Table(title, ("system", *shares, *measures), rows, references=references)


def _trend(title: str, label: str, part: Results, measures: list[str]) -> Table:
    rows = tuple((row, *(_figure(scores[measure]) for measure in measures)) for row, scores in part.items())
    return Table(title, (label, *measures), rows)


def _pearson(part: Results) -> Table:
    columns = [name for name in next(iter(part.values())) if name != "queries"]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(values[column] if column == "pairs" else _figure(values[column]) for column in columns))
        for name, values in part.items()
    )
    return Table("Pearson’s correlation of score and length", ("system", *columns), rows)


def _figure(value: float | None) -> Figure | None:
    return None if value is None else Figure(float(value))


def _not_run(plans: Mapping[str, Any], paper: Mapping[str, Any]) -> str:
    lines = [
        "The data of these studies was not available. Without it, each stops with one line that says what to download; "
        "with it, each runs unchanged.",
        "",
    ]
    for name, plan in sorted(plans.items(), key=lambda item: _position(item[0])):
        title = paper.get(plan.get("paper", ""), {}).get("title", plan["title"])
        lines.append(f"- `experiments/{name}.toml` ({title}): {plan['download']}.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
