"""Real text for the benchmarks: a chosen collection, the licence texts, or Python's own documentation."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.timing import Options
from rprs.document import Document
from rprs.text.split import SentenceSplitter

__all__ = ["collection", "name_of", "sentences", "work_folder"]


@cache
def _temporary() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="rprs-bench-")


def work_folder() -> Path:
    """A folder that lasts as long as the process."""
    return Path(_temporary().name)


def collection(options: Options) -> Path:
    """The collection to index: the chosen one, licensedcode-data's 2,310 agreements, or Python's documentation."""
    if options.corpus:
        return Path(options.corpus)
    package = find_spec("licensedcode")
    for place in (package.submodule_search_locations or []) if package else []:
        if (Path(place) / "data/licenses").is_dir():
            return Path(place) / "data/licenses"
    folder = work_folder() / "python"
    if not folder.is_dir():
        folder.mkdir()
        for document in manual():
            (folder / f"{document.id}.txt").write_text(document.text, encoding="utf-8")
    return folder


def name_of(source: Path) -> str:
    """The name of a collection in the table."""
    return "licence agreements" if source.parts[-2:] == ("data", "licenses") else source.name


@cache
def manual() -> tuple[Document, ...]:
    """The topics of `help()` and the docstrings of each module of the standard library, as one document each."""
    from pydoc_data.topics import topics

    documents = [Document(f"topic-{name}", text) for name, text in sorted(topics.items())]
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if not {"site-packages", "test", "tests", "idlelib", "lib2to3"} & set(place.parts):
            text = "\n\n".join(_strings(path))
            if text:
                documents.append(Document("-".join(place.with_suffix("").parts), text))
    return tuple(documents)


def _strings(path: Path) -> Iterator[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(path.read_bytes())):
        text = ast.get_docstring(node) if isinstance(node, kinds) else None
        if text:
            yield text


@cache
def sentences() -> tuple[str, ...]:
    """The distinct sentences of the documentation."""
    splitter = SentenceSplitter()
    texts = (
        " ".join(sentence.split())
        for document in manual()
        for sentence in splitter.split(document.text).texts(document.text)
    )
    return tuple(dict.fromkeys(texts))
