"""The runs and scores of a study for publication: compressed, each run with a header of ir_metadata.

The header (https://www.ir-metadata.org, version 0.1) describes how the run was made: platform, research goal,
implementation, method, actor and data. It names no person, computer or path. Unlike the results folder, it depends on
the machine; time and energy are not recorded, since most steps come from the cache.
"""

from __future__ import annotations

import json
import lzma
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rprs.rank.fuse import run_files
from rprs.read.runs import HEADER_END, HEADER_START
from rprs.studies.facts import encoder_facts
from rprs.studies.folder import file_name
from rprs.studies.machine import platform_facts, source_facts
from rprs.studies.overview import describe
from rprs.studies.plan import PlannedSystem
from rprs.studies.systems import Study

__all__ = ["header", "published_files", "run_metadata", "yaml_lines"]

_PAPER = {"doi": "https://doi.org/10.1145/3631938", "arxiv": "https://arxiv.org/abs/2303.01200"}
_TESTS = {"t": "t-test", "fisher": "permutation"}  # the names that ir_metadata proposes
_WORDS = {"true", "false", "yes", "no", "y", "n", "on", "off", "null"}  # not texts in YAML, unless they are quoted
_CORRECTIONS = {"holm": "holm-bonferroni"}


def published_files(study: Study, texts: Mapping[str, str]) -> dict[str, bytes]:
    """The texts of a results folder, compressed with xz; the runs among them have a header."""
    headers = {
        f"runs/{file_name(system.name)}.trec": header(run_metadata(study, system)) for system in study.plan.systems
    }
    return {f"{name}.xz": lzma.compress(f"{headers.get(name, '')}{text}".encode()) for name, text in texts.items()}


def header(metadata: Mapping[str, Any]) -> str:
    """The lines above a run, as comments."""
    return "".join(f"{line}\n" for line in (HEADER_START, *(f"# {line}" for line in yaml_lines(metadata)), HEADER_END))


# ---------------------------------------------------------------------------- facts


def run_metadata(study: Study, system: PlannedSystem) -> dict[str, Any]:
    """The components of ir_metadata for the run of one system."""
    return {
        "schema-version": 0.1,
        "run-version": 1.0,
        "tag": file_name(system.name),
        "platform": platform_facts(),
        "research goal": _research_goal(study),
        "implementation": {
            "executable": {"cmd": f"rprs study {study.plan.name}.toml"},
            "source": source_facts(),
        },
        "method": _method(study, system),
        "actor": {"role": "reproducer" if study.plan.paper else "experimenter"},
        "data": _data(study, system),
    }


def _research_goal(study: Study) -> dict[str, Any]:
    plan, options = study.plan, study.plan.significance
    test = {"name": _TESTS[options.test]}
    if options.correction != "none":
        test["correction method"] = _CORRECTIONS.get(options.correction, options.correction)
    evaluation: dict[str, Any] = {"reported_measures": list(map(str, plan.measures))}
    if options.against:
        evaluation |= {"baseline": list(map(file_name, options.against)), "significance test": [test]}
    paper = {"venue": {"name": "TOIS", "year": 2023}, "publication": _PAPER} if plan.paper else {}
    return {**paper, "evaluation": evaluation}


def _method(study: Study, system: PlannedSystem) -> dict[str, Any]:
    facts = describe(study, system)
    first, rerank = system.after or facts["first"], facts["rerank"]
    stages: list[dict[str, Any]] = [{"name": "first stage", "method": first, "depth": facts["depth"]}]
    if rerank is not None:
        stages.append({"name": "re-ranker", "method": rerank, "reranks": "first stage"})
    manual = system.after is None and run_files(study.experiment.ranker(system.first))
    indexing = {"tokenizer": system.analyzer} | {name: facts[name] for name in ("splitter", "encoder") if name in facts}
    tuned = facts.get("tuned", {})
    return {
        **({} if manual else {"automatic": True}),  # how a run file was made is not known here
        "score ties": "first-stage order, or by id where there is no re-ranker",
        "indexing": indexing,
        "retrieval": stages,
        **({"date limit": str(study.plan.limit)} if study.plan.limit else {}),
        **({"tuning": {name: tuned[name] for name in ("on", "measure", "grid", "best", "folds")}} if tuned else {}),
    }


def _data(study: Study, system: PlannedSystem) -> dict[str, Any]:
    """The collection and the judgements, with hashes that identify them, and the encoder."""
    experiment = study.experiment
    collection = {
        "name": study.plan.title,
        "source": study.plan.download or study.plan.data,
        "documents": len(experiment.documents.ids),
        "documents sha256": experiment.documents.digest,
        "queries": len(experiment.queries),
        "queries sha256": experiment.query_key,
        "qrels sha256": experiment.qrels_key,
    }
    encoder = encoder_facts(study).get(system.encoder) if study.encodes(system) else None
    other = [{"name": encoder["in_force"], "fingerprint": encoder["fingerprint"]}] if encoder else []
    training = [{"name": system.on.data, **_source(system.on.download)}] if system.on else []
    return {
        "test collection": collection,
        **({"training data": training} if training else {}),
        **({"other": other} if other else {}),
    }


def _source(download: str) -> dict[str, str]:
    return {"source": download} if download else {}


# ---------------------------------------------------------------------------- YAML


def yaml_lines(value: Mapping[str, Any] | Sequence[Any], indent: int = 0) -> Iterator[str]:
    """Nested mappings and lists as YAML; texts are quoted as in JSON, of which YAML is a superset."""
    margin = "  " * indent
    if isinstance(value, Mapping):
        for key, inner in value.items():
            bare = re.fullmatch(r"[A-Za-z]([\w -]*\w)?", key, re.ASCII) and key.lower() not in _WORDS
            name = key if bare else _scalar(key)
            if _nested(inner):
                yield f"{margin}{name}:"
                yield from yaml_lines(inner, indent + 1)
            else:
                yield f"{margin}{name}: {_scalar(inner)}"
        return
    for item in value:
        if _nested(item):
            first, *others = yaml_lines(item, indent + 1)
            yield f"{margin}- {first.lstrip()}"
            yield from others
        else:
            yield f"{margin}- {_scalar(item)}"


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and len(value) > 0


def _scalar(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    if isinstance(value, str):
        value = " ".join(value.split())  # no line of a header may end within a text
    return json.dumps(value, ensure_ascii=False)
