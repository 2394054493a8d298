"""Facts about the data behind a study: the collection, and the encoders that were used."""

from __future__ import annotations

from typing import Any

from rprs import __version__
from rprs.studies.systems import Study

__all__ = ["collection_facts", "encoder_facts", "report_facts"]


def collection_facts(study: Study) -> dict[str, Any]:
    """The size of the collection, and what is missing in it."""
    experiment = study.experiment
    documents = experiment.documents
    relevant = study.relevant
    present = {query.id for query in experiment.queries}
    judged = {query for query, grades in experiment.qrels.items() if any(grade > 0 for grade in grades.values())}
    return {
        "documents": len(documents.ids),
        "documents_skipped": list(documents.skipped),
        "queries": len(judged),
        "queries_absent": sorted(judged - present),
        "relevant": len(relevant),
        "relevant_absent": sum(id not in documents.words_of for _, id in relevant),
        "excluded": sum(len(experiment.excluded.get(query, ())) for query in present),
        **_date_limit(study),
        "words_mean": float(documents.words.mean()) if len(documents.words) else 0.0,
        "words_max": int(documents.words.max(initial=0)),
    }


def _date_limit(study: Study) -> dict[str, Any]:
    limit = study.plan.limit
    if limit is None:
        return {}
    return {"before": str(limit), "undated": limit.undated, "documents_undated": study.experiment.documents.undated}


def encoder_facts(study: Study) -> dict[str, Any]:
    """The encoders in force, by what the study calls them: to a small collection, say, no table is fitted."""
    encoders = {}
    for system in tuple(study.used.values()):
        index = study.experiment.open(study.index(system))
        encoder = index.catalog.encoder()
        if encoder is not None:
            encoders[system.encoder] = {
                "in_force": encoder.spec,
                "fingerprint": encoder.fingerprint,
                "dimension": encoder.dimension,
                "report": {name: value for name, value in encoder.measurements.items() if name != "seconds"},
                "mean_sentences": study.mean_sentences(system),
            }
    return encoders


def report_facts(study: Study, facts: dict[str, Any], encoders: dict[str, Any]) -> dict[str, str]:
    """The facts at the top of the report."""
    absent = facts["relevant_absent"]
    lines = {
        "Collection": f"`{study.plan.data}`",
        "Documents": f"{facts['documents']:,}, of {facts['words_mean']:,.0f} words on average",
        "Queries": f"{facts['queries']:,}, with {facts['relevant']:,} relevant documents"
        + (f", of which {absent:,} are not in the collection" if absent else ""),
        **{f"Encoder {name}": f"`{encoder['in_force']}`" for name, encoder in encoders.items()},
        "Created with": f"rprs {__version__}: `rprs study {study.plan.name}.toml`",
    }
    if limit := study.plan.limit:
        than = f"{limit.given.text}, by `{limit.field}`" if limit.given else f"the query, by its `{limit.field}`"
        lines["Date limit"] = f"nothing newer than {than}; {_undated(limit.undated, facts['documents_undated'])}"
    if facts["queries_absent"]:
        lines["Missing queries"] = f"{len(facts['queries_absent']):,} have judgements but no text; they count as 0"
    return lines


def _undated(choice: str, count: int) -> str:
    documents = "1 document" if count == 1 else f"{count:,} documents"
    return f"{documents} without a date {'kept' if choice == 'keep' else 'left out'}"
