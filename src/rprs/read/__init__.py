"""Files → documents: txt, md, html, pdf, docx, rtf; jsonl, json, csv and BEIR; TREC topics, runs and judgements.

    for document in read(["cases/"], skipped=print): ...

Each format is a function of the type `Reader`. Third parties add formats through entry points in the group
`rprs.reader` and check them with `rprs.testing.readers`.
"""

from rprs.read.files import ignore, read, read_one, read_queries
from rprs.read.qrels import Exclusions, Qrels, read_exclusions, read_pairs, read_qrels, write_qrels
from rprs.read.runs import read_run, write_run
from rprs.read.source import Fields, Reader, Skipped, Source, find_reader

__all__ = [
    "Exclusions",
    "Fields",
    "Qrels",
    "Reader",
    "Skipped",
    "Source",
    "find_reader",
    "ignore",
    "read",
    "read_exclusions",
    "read_one",
    "read_pairs",
    "read_qrels",
    "read_queries",
    "read_run",
    "write_qrels",
    "write_run",
]
