"""A small collection and a study of it: the sample of the documentation as a BEIR folder."""

from __future__ import annotations

import json
from pathlib import Path

from rprs.read import read, read_queries
from tests.support.docs import DOCS

ENCODER = "hashed(dimension=64)"

EVERYTHING = """
title = "The sample"
data = "beir(sample)"
measures = ["P@1", "R@5", "AP"]
target = "AP"
encoder = "hashed(dimension=64)"
depth = 8

[systems]
BM25 = { rerank = "none" }
RPRS = { rerank = "rprs(n=4,k1=0)" }
"RPRS w/freq" = { rerank = "rprs(n=4,k1=2.8,b=1.0)" }
"RPRS, whole collection" = { first = "rprs(n=4)", rerank = "none" }
"a run" = { first = "runfile(runs/other.trec)", rerank = "none", depth = 3 }
"over the run" = { first = "a run", depth = 3 }
"candidates alone" = { encoder = "hashed(dimension=32)", pool_only = true }
"BM25, tuned" = { tune = "bm25", folds = 3, grid = { k1 = [1, 2], b = [0, 1], kli = "none,0.5" } }
"RPRS, tuned" = { first = "BM25, tuned", tune = "rprs", folds = 3, grid = { n = [1, 4], k1 = "0..2/1" } }
"tuned elsewhere" = { tune = "rprs", on = { data = "beir(sample)", depth = 5 }, grid = { n = "1..3" } }

[significance]
baselines = ["BM25"]

[analyses]
system = "RPRS w/freq"
ablation = true
sensitivity = { n = [1, 5], k1 = "0..3/1.5", b = [0, 1] }
ties = { k = 3 }
units = { lengths = [16, 64] }
truncation = { lengths = [32, 128], pool_only = true }
depth = { depths = "2..10/4" }
length_bias = { k = 2, edges = [0, 200, 250] }
pearson = { systems = ["BM25", "RPRS w/freq"] }
lengths = true
judgements = { run = "runs/other.trec", qrels = "qrels/other.txt" }
unjudged = { k = 3, systems = ["BM25", "RPRS"] }
"""

SMALL = """
data = "beir(sample)"
measures = ["P@1", "AP"]
encoder = "hashed(dimension=64)"
depth = 8

[systems]
BM25 = { rerank = "none" }
RPRS = { rerank = "rprs(n=4)" }
"""


def write_collection(folder: Path) -> Path:
    """A folder with the collection `sample` in it, a run of another system, and other judgements."""
    home = folder / "sample"
    for name in ("qrels", "runs"):
        (home / name).mkdir(parents=True)
    documents = [{"_id": document.id, "text": document.text} for document in read(DOCS / "sample" / "files")]
    queries = [{"_id": query.id, "text": query.text} for query in read_queries(DOCS / "sample" / "queries.jsonl")]
    for name, records in (("corpus", documents), ("queries", queries)):
        (home / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    judged = (DOCS / "sample" / "qrels.txt").read_text()
    rows = [line.split() for line in judged.splitlines()]
    lines = ["query-id\tcorpus-id\tscore", *(f"{query}\t{id}\t{grade}" for query, _, id, grade in rows)]
    (home / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    (home / "qrels" / "other.txt").write_text(judged + "heating 0 opinions/not-there.txt 1\n")
    (home / "runs" / "other.trec").write_text(
        "heating Q0 opinions/dunmore-v-pellam.txt 1 2.0 other\n"
        "heating Q0 opinions/not-there.txt 2 1.0 other\n"
        "heating Q0 contracts/employment.txt 3 0.5 other\n"
        "heating Q0 contracts/residential-lease.txt 4 0.5 other\n"
        "thawed-cargo Q0 patents/cold-container.txt 1 9.0 other\n"
        "next-job Q0 contracts/employment.txt 1 4.0 other\n"
        "next-job Q0 opinions/fenwick-v-ostrey.txt 2 3.0 other\n"
    )
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a results folder."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    }
