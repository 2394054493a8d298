"""The unit of comparison: sentences against units of a fixed size, and complete texts against truncated ones.

Candidates, encoder (a fitted table is not fitted again) and parameters are those of the analysed system: only the unit
varies.
"""

from __future__ import annotations

from dataclasses import replace

from rprs import spec
from rprs.errors import UsageError
from rprs.evaluation.evaluate import Evaluation
from rprs.evaluation.measures import Measure
from rprs.studies.experiment import Kind
from rprs.studies.figures import line
from rprs.studies.finding import Finding, trend
from rprs.studies.options import Truncation, Units
from rprs.studies.systems import Study
from rprs.text.split import SentenceSplitter

__all__ = ["truncation", "units"]

SAME = (
    "The first stage, the encoder and the parameters are those of the system, `{rerank}`; avgdl is counted in the "
    "same units. Only the unit of comparison varies."
)


def units(study: Study, options: Units) -> Finding:
    """Units of a fixed number of tokens instead of sentences (the paper's RQ2)."""
    subject, measure = study.subject, study.target(options.measure)
    cuts = {f"{length} tokens": f"tokens(length={length})" for length in options.lengths}
    rows = {name: _scored(study, cut, name, measure, options.pool_only) for name, cut in cuts.items()}
    sentences = study.evaluation(subject.name, measure)
    picture = line(
        "units",
        f"Units of a fixed size: {subject.name}",
        list(options.lengths),
        {str(measure): [row.total(measure) for row in rows.values()]},
        "tokens per unit",
        str(measure),
        log_x=True,
        reference={"sentences": sentences.total(measure)},
    )
    summary = f"{subject.name} with units of a fixed number of tokens instead of sentences."
    text = (summary, SAME.format(rerank=subject.rerank))
    return trend("units", "Effect of the unit", text, "unit", {**rows, "sentences": sentences}, picture)


def truncation(study: Study, options: Truncation) -> Finding:
    """Only the first tokens of queries and documents, split into sentences."""
    subject, measure = study.subject, study.target(options.measure)
    splitter = spec.parse("splitter", subject.splitter)
    if not isinstance(splitter, SentenceSplitter):
        raise UsageError(f"truncation needs a system of sentences: {subject.name!r} has {subject.splitter}")
    cuts = {f"{length:,}": spec.text(replace(splitter, first=length)) for length in options.lengths}
    rows = {name: _scored(study, cut, name, measure, options.pool_only) for name, cut in cuts.items()}
    rows["full"] = study.evaluation(subject.name, measure)
    picture = line(
        "truncation",
        f"Texts truncated to their first tokens: {subject.name}",
        list(rows),
        {str(measure): [row.total(measure) for row in rows.values()]},
        "first tokens of queries and documents",
        str(measure),
    )
    summary = f"{subject.name} with only the first tokens of queries and documents."
    text = (summary, SAME.format(rerank=subject.rerank))
    return trend("truncation", "Effect of truncation", text, "first tokens", rows, picture)


def _scored(study: Study, splitter: str, name: str, measure: Measure, pool_only: bool) -> Evaluation:
    """The analysed system over other units."""
    subject, experiment = study.subject, study.experiment
    kind, shared = Kind(splitter, subject.analyzer, subject.encoder), study.index(subject)
    if pool_only or subject.pool_only:
        index = experiment.pool_index(kind, study.candidates(subject), shared)
        mean = experiment.mean_units(splitter)
    else:
        index = experiment.index(kind, shared)
        mean = experiment.open(index).mean_sentences
    run = experiment.ranking(index, study.first(subject), subject.depth, subject.rerank or "", mean)
    return study.score(study.read(run), name, measure)
