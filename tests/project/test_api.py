"""The Python API: names that load on first use, inputs of many kinds, and one line for a wrong argument."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

import rprs
from tests.support.cli import ENCODER, QUERY, TEXTS, collection


def test_the_example_of_the_package_docstring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an encoder that needs no model."""
    cases, brief = collection(tmp_path), tmp_path / "brief.txt"
    brief.write_text(QUERY)
    rprs.build(tmp_path / "cases.rprs", cases, encoder=ENCODER)
    searcher = rprs.Searcher(tmp_path / "cases.rprs")
    for hit in searcher.search(rprs.read_one(brief)):
        for pair in hit.pairs[:1]:
            print(f"{hit.score:.3f}", hit.id, "because", pair.document)
    searcher.index.close()
    first = capsys.readouterr().out.splitlines()[0]
    assert first.split(" because ")[0].endswith(" lease.txt")
    assert first.split(" because ")[1] in TEXTS["lease.txt"]


# ---------------------------------------------------------------------------- build


def test_build_accepts_paths_and_documents_and_resumes(tmp_path: Path) -> None:
    path, sources = tmp_path / "x.rprs", collection(tmp_path)
    files = [sources / name for name in TEXTS]
    assert rprs.build(path, files[:2], encoder=ENCODER).added == 2
    again = rprs.build(path, (str(file) for file in files))
    assert (again.added, again.unchanged) == (2, 2)
    assert rprs.build(path, (rprs.Document(f"d{n}", f"Text number {n}.") for n in range(3))).added == 3
    assert rprs.build(path, []) == rprs.Added()
    with rprs.Index(path) as index:
        assert len(index) == 7


@pytest.mark.parametrize(
    "documents",
    [
        ["The first text.", "The second text."],
        {"0": "The first text.", "1": "The second text."},
        [{"id": 0, "text": "The first text."}, {"id": np.int64(1), "text": "The second text."}],
        [{"text": "The first text."}, {"text": "The second text."}],
    ],
)
def test_build_accepts_texts_and_records(tmp_path: Path, documents: Any) -> None:
    assert rprs.build(str(tmp_path / "x.rprs"), documents, encoder=ENCODER).added == 2
    with rprs.Index(tmp_path / "x.rprs") as index:
        assert {id: index[id].text for id in index} == {"0": "The first text.", "1": "The second text."}


def test_metadata_of_records_can_be_filtered(tmp_path: Path) -> None:
    records = [
        {"id": "a", "text": "Old text.", "date": date(1999, 5, 1), "pages": np.int32(3)},
        {"id": "b", "text": "New text.", "date": date(2020, 5, 1), "pages": np.float64(30)},
    ]
    rprs.build(tmp_path / "x.rprs", records, encoder=ENCODER)
    with rprs.Index(tmp_path / "x.rprs") as index:
        assert index.select("date < 2000-01-01").tolist() == [True, False]
        assert index.select("pages > 3").tolist() == [False, True]


def test_build_accepts_a_data_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": [7, 8], "text": ["Old text.", "New text."], "date": pandas.to_datetime(["1999-05-01", "2020-05-01"])}
    )
    assert rprs.build(tmp_path / "x.rprs", frame, encoder=ENCODER).added == 2
    with rprs.Index(tmp_path / "x.rprs") as index:
        assert index.ids == ["7", "8"]
        assert index.select("date < 2000-01-01").tolist() == [True, False]


def test_build_reports_skipped_files_or_stops_at_the_first(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    (sources / "empty.txt").touch()
    skipped: list[rprs.Skipped] = []
    rprs.build(tmp_path / "x.rprs", sources, encoder=ENCODER, skipped=skipped.append)
    assert [item.reason for item in skipped] == ["an empty file"]
    with pytest.raises(rprs.ReadError, match="an empty file"):
        rprs.build(tmp_path / "y.rprs", sources, encoder=ENCODER, strict=True)


def test_a_progress_bar_does_not_print_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rprs.build(tmp_path / "x.rprs", list(TEXTS.values()), encoder=ENCODER, progress=True)
    rprs.Index.in_memory(list(TEXTS.values()), encoder=ENCODER, progress=True).close()
    assert capsys.readouterr().out == ""


# ---------------------------------------------------------------------------- wrong arguments


@pytest.fixture(scope="module")
def index() -> Iterator[rprs.Index]:
    with rprs.Index.in_memory(list(TEXTS.values()), encoder=ENCODER) as opened:
        yield opened


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rprs.Writer]:
    with rprs.Writer(tmp_path_factory.mktemp("wrong") / "x.rprs", create=True, encoder=ENCODER) as opened:
        yield opened


DOCUMENT = rprs.Document("a", "Text.")
Call = Callable[[Any], object]


@pytest.mark.parametrize("path", [None, 5, 1.5, b"x.rprs", ["x.rprs"], object(), ""])
@pytest.mark.parametrize(
    "call",
    [
        rprs.Index,
        rprs.Writer,
        lambda path: rprs.Writer(path, create=True),
        lambda path: rprs.build(path, ["Text."]),
        lambda path: rprs.build(path, [DOCUMENT], encoder=ENCODER),
    ],
)
def test_a_wrong_path_of_an_index_is_one_line(call: Call, path: Any) -> None:
    with pytest.raises(rprs.UsageError, match="The path of an index must be a string or a Path") as caught:
        call(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [5, 1.5, ["sentences"], object(), rprs.RPRS(), rprs.RPRS, {}])
@pytest.mark.parametrize("option", ["splitter", "analyzer", "encoder"])
def test_a_wrong_component_is_one_line(tmp_path: Path, option: str, value: Any) -> None:
    calls: list[Callable[..., object]] = [
        lambda **options: rprs.Writer(tmp_path / "x.rprs", create=True, **options),
        lambda **options: rprs.build(tmp_path / "x.rprs", [DOCUMENT], **options),
        lambda **options: rprs.Index.in_memory([DOCUMENT], **options),
    ]
    for call in calls:
        with pytest.raises(rprs.UsageError, match=f"The {option} must be a text such as") as caught:
            call(**{option: value})
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "x.rprs").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda index: index.number(["a"]), r"The id of a document must be a string or an integer. Got \['a'\]"),
        (lambda index: index.document(None), "The id of a document must be a string or an integer. Got None"),
        (lambda index: index.sentences(1.5), "The id of a document must be a string or an integer. Got 1.5"),
        (lambda index: index[{}], "The id of a document must be a string or an integer. Got {}"),
        (lambda index: [] in index, r"The id of a document must be a string or an integer. Got \[\]"),
        (lambda index: index.get(b"a"), "The id of a document must be a string or an integer. Got b'a'"),
        (lambda index: index.select(5), "A filter must be a string such as .* Got 5"),
        (lambda index: index.select(["court = ca9"]), "A filter must be a string"),
        (lambda index: index.find(5), "The words to find must be a string. Got 5"),
        (lambda index: index.find("a", "b"), r"limit must be an integer in \[0, inf\). Got 'b'"),
        (lambda index: index.find("a", -1), r"limit must be an integer in \[0, inf\). Got -1"),
        (lambda index: index.encode("A text."), "Expected a rprs.Document; .* Got 'A text.'"),
        (lambda index: index.query_sentences(None), "Expected a rprs.Document; .* Got None"),
        (lambda index: index.holds("A text."), "Expected a rprs.Document"),
        (lambda index: index.same_content(5), "Expected a rprs.Document"),
        (lambda index: index.namesakes(["A text."]), "Expected a rprs.Document"),
        (lambda index: index.namesakes(5), "Expected a list of documents. Got 5"),
        (lambda index: index.encode(DOCUMENT, progress=5), "progress must be True, False or a callable"),
    ],
)
def test_a_wrong_argument_of_an_index_is_one_line(index: rprs.Index, call: Call, message: str) -> None:
    with pytest.raises(rprs.UsageError, match=message) as caught:
        call(index)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda writer: writer.add(5), "Expected an iterable of rprs.Document. Got 5"),
        (lambda writer: writer.add(DOCUMENT), r"Expected an iterable of rprs.Document. Got Document\('a'"),
        (lambda writer: writer.add("text"), "Expected a rprs.Document"),
        (lambda writer: writer.add([{"id": "a"}]), "Expected a rprs.Document"),
        (lambda writer: writer.remove("a"), "Expected a list of ids. Got 'a'"),
        (lambda writer: writer.remove(5), "Expected a list of ids. Got 5"),
        (lambda writer: writer.remove([None]), "The id of a document must be a string or an integer. Got None"),
        (
            lambda writer: rprs.Writer(writer.path, batch=cast(Any, "x")),
            r"batch must be an integer in \[1, inf\). Got 'x'",
        ),
        (lambda writer: rprs.Writer(writer.path, batch=0), r"batch must be an integer in \[1, inf\). Got 0"),
        (lambda writer: rprs.Writer(writer.path, progress=cast(Any, 5)), "progress must be True, False or a callable"),
    ],
)
def test_a_wrong_argument_of_a_writer_is_one_line(writer: rprs.Writer, call: Call, message: str) -> None:
    with pytest.raises(rprs.UsageError, match=message) as caught:
        call(writer)
    assert "\n" not in str(caught.value)
    assert writer.add([DOCUMENT]).changed == 0


@pytest.mark.parametrize("documents", [5, None, b"text", [5], [b"text"], [["a", "b"]]])
def test_wrong_documents_are_one_line(tmp_path: Path, documents: Any) -> None:
    calls: list[Call] = [
        lambda values: rprs.build(tmp_path / "x.rprs", values, encoder=ENCODER),
        lambda values: rprs.Index.in_memory(values, encoder=ENCODER),
        lambda values: rprs.rerank(QUERY, values, encoder=ENCODER),
    ]
    for call in calls:
        with pytest.raises(rprs.RprsError) as caught:
            call(documents)
        assert "\n" not in str(caught.value)


def test_other_wrong_options_of_build(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{"skipped": 5}, {"progress": "yes"}]
    for options in wrong:
        with pytest.raises(rprs.UsageError, match=f"{next(iter(options))} must be"):
            rprs.build(tmp_path / "x.rprs", ["Text."], encoder=ENCODER, **options)
    assert not (tmp_path / "x.rprs").exists()


# ---------------------------------------------------------------------------- names


def test_every_name_is_the_one_of_its_module() -> None:
    from rprs import errors, read, search

    assert rprs.Searcher is search.Searcher
    assert rprs.read_all is read.read
    assert rprs.RprsError is errors.RprsError
    assert set(errors.__all__) <= set(rprs.__all__)
    assert set(rprs._PLACE) | {"build"} == set(rprs.__all__)
    assert set(rprs.__all__) <= set(dir(rprs))


def test_every_component_for_ranking_is_public() -> None:
    from rprs import spec

    classes = {spec.find(kind, name) for kind in ("ranker", "reranker") for name in spec.BUILT_IN[kind]}
    assert all(getattr(rprs, each.__name__) is each for each in classes)


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


def loaded(code: str, *modules: str) -> list[str]:
    """Which of the modules a fresh interpreter has loaded after running the code."""
    script = f"import sys, rprs\n{code}\nprint(*[name for name in {list(modules)} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return ran.stdout.split()


def test_a_name_loads_what_it_needs_and_no_more() -> None:
    assert loaded("rprs.Document; rprs.RprsError", "numba", "sqlite3") == []


def test_functions_load_no_heavy_library_until_they_are_called() -> None:
    names = "rprs.build; rprs.rerank; rprs.tune; rprs.study; rprs.evaluate; rprs.compare"
    assert loaded(names, "numba", "onnxruntime", "torch", "scipy", "tokenizers", "nupunkt", "sqlite3") == []
