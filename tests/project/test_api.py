"""The Python API: a few names that load when they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import rprs
from tests.support.cli import ENCODER, QUERY, TEXTS, collection


def test_the_five_lines_of_the_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an encoder that needs no model; the rest is as it stands there."""
    cases, brief = collection(tmp_path), tmp_path / "brief.txt"
    brief.write_text(QUERY)
    rprs.build(tmp_path / "cases.rprs", cases, encoder=ENCODER)
    searcher = rprs.Searcher(rprs.Index(tmp_path / "cases.rprs"))
    for hit in searcher.search(rprs.read_one(brief)):
        print(f"{hit.score:.3f}", hit.id, "because", hit.pairs[0].document)
    searcher.index.close()
    first = capsys.readouterr().out.splitlines()[0]
    assert first.split(" because ")[0].endswith(" lease.txt")
    assert first.split(" because ")[1] in TEXTS["lease.txt"]


def test_build_takes_paths_and_documents_and_resumes(tmp_path: Path) -> None:
    path, sources = tmp_path / "x.rprs", collection(tmp_path)
    files = [sources / name for name in TEXTS]
    assert rprs.build(path, files[:2], encoder=ENCODER).added == 2
    again = rprs.build(path, (str(file) for file in files))
    assert (again.added, again.unchanged) == (2, 2)
    assert rprs.build(path, (rprs.Document(f"d{n}", f"Text number {n}.") for n in range(3))).added == 3
    assert rprs.build(path, []) == rprs.Added()
    with rprs.Index(path) as index:
        assert len(index) == 7


def test_build_tells_what_it_skips_or_stops_at_it(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    (sources / "empty.txt").touch()
    told: list[rprs.Skipped] = []
    rprs.build(tmp_path / "x.rprs", sources, encoder=ENCODER, skipped=told.append)
    assert [skipped.reason for skipped in told] == ["an empty file"]
    with pytest.raises(rprs.ReadError, match="an empty file"):
        rprs.build(tmp_path / "y.rprs", sources, encoder=ENCODER, strict=True)


def test_every_name_is_the_one_of_its_module() -> None:
    from rprs import errors, read, search

    assert rprs.Searcher is search.Searcher
    assert rprs.read_all is read.read
    assert rprs.RprsError is errors.RprsError
    assert set(errors.__all__) <= set(rprs.__all__)
    assert set(rprs._PLACE) | {"build"} == set(rprs.__all__)
    assert set(rprs.__all__) <= set(dir(rprs))


def test_modules_keep_their_names() -> None:
    """No public name hides a module of the package."""
    import rprs.index
    import rprs.read
    import rprs.search

    modules = {path.stem for path in Path(rprs.__file__ or "").parent.iterdir()}
    assert modules.isdisjoint(rprs.__all__)
    assert isinstance(rprs.read, ModuleType)


def test_a_wrong_name_is_pythons_own_error() -> None:
    with pytest.raises(AttributeError, match="module 'rprs' has no attribute 'Sercher'"):
        _ = rprs.Sercher


def test_a_name_loads_what_it_needs_and_no_more() -> None:
    code = "import sys, rprs; rprs.Document; rprs.RprsError; print('numba' in sys.modules, 'sqlite3' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False False\n"
