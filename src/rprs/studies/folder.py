"""The results folder of a study: runs, scores, tables, figures, one report, and all numbers as JSON.

It holds exactly the files of the last study: files of an earlier one that are no longer produced are deleted, other
files are left alone. Nothing in it depends on time, place or speed, so equal studies give equal bytes.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rprs.errors import UsageError
from rprs.evaluation.evaluate import Evaluation
from rprs.files.atomic import write_atomically

__all__ = ["file_name", "per_query_csv", "per_query_json", "write_results"]

RESULTS = "results.json"
LONGEST = 60  # characters of a file name: file systems allow 255 bytes, and a character may take four


def file_name(name: str) -> str:
    """A name that every file system accepts: `RPRS w/freq` becomes `rprs-w-freq`."""
    return re.sub(r"[^\w.]+", "-", name.lower()).strip("-.")[:LONGEST] or "system"


def per_query_csv(evaluations: Mapping[str, Evaluation]) -> str:
    """One line per system and query, one column per measure, in full precision."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for place, (name, evaluation) in enumerate(evaluations.items()):
        if not place:
            writer.writerow(["system", "query", *map(str, evaluation.parts)])
        columns = [evaluation.values(measure).tolist() for measure in evaluation.parts]
        writer.writerows([name, query, *values] for query, *values in zip(evaluation.queries, *columns, strict=True))
    return stream.getvalue()


def per_query_json(evaluations: Mapping[str, Evaluation]) -> str:
    """system → measure → query → value."""
    return _json(
        {
            name: {
                str(measure): dict(zip(evaluation.queries, evaluation.values(measure).tolist(), strict=True))
                for measure in evaluation.parts
            }
            for name, evaluation in evaluations.items()
        }
    )


def write_results(folder: Path, files: Mapping[str, str | bytes], numbers: Mapping[str, Any]) -> None:
    """Write all files, each complete or not at all, and last results.json, which lists them."""
    old = _listed(folder)
    for name, content in files.items():
        _write(folder / name, content)
    for name in sorted(old - set(files)):
        (folder / name).unlink(missing_ok=True)
    _write(folder / RESULTS, _json({**numbers, "files": sorted(files)}))


def _listed(folder: Path) -> set[str]:
    """The files of the previous study in this folder."""
    path = folder / RESULTS
    if not path.exists():
        return set()
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["files"]
        return {str(name) for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts}
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} was not written by a study: choose another folder for the results") from error


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
