"""Components as texts, and texts parsed into components."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs import spec
from rprs.errors import UsageError
from rprs.spec import Component, Kind, find, names, parse, require, text


@dataclass(frozen=True)
class Teacher(Component):
    name: ClassVar[str] = "teacher"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)
    model: str = "all-MiniLM-L6-v2"
    int8: bool = False


@dataclass(frozen=True)
class Table(Component):
    name: ClassVar[str] = "table"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)
    teacher: Teacher = Teacher()
    sample: int = 10_000
    ridge: float | None = None
    threads: int = field(default=1, repr=False)


@dataclass(frozen=True)
class Order(Component):
    name: ClassVar[str] = "order"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker",)
    n: int = 4
    k1: float = 2.8
    b: float = 1.0
    lengths: Literal["exact", "lucene"] = "exact"
    level: Literal[1, 2] = 1

    def __post_init__(self) -> None:
        require(self, "n", self.n >= 1, "an integer in [1, inf)")


@dataclass(frozen=True)
class Run(Component):
    name: ClassVar[str] = "run"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker",)
    path: str
    weight: float | int | str | None = None


class Generated:
    """The class behind `generated`, which a test replaces."""


@pytest.fixture(autouse=True, scope="module")
def components() -> Iterator[None]:
    here = __name__
    with pytest.MonkeyPatch.context() as patch:
        components: dict[Kind, dict[str, str]] = {
            "splitter": {},
            "analyzer": {},
            "encoder": {"teacher": f"{here}:Teacher", "table": f"{here}:Table"},
            "ranker": {"run": f"{here}:Run", "lost": "rprs_nowhere:Lost", "plain": f"{here}:Generated"},
            "reranker": {"order": f"{here}:Order", "generated": f"{here}:Generated"},
        }
        patch.setattr(spec, "BUILT_IN", components)
        spec._targets.cache_clear()
        yield
    spec._targets.cache_clear()


# ---------------------------------------------------------------------------- text → component


@pytest.mark.parametrize(
    ("source", "meaning"),
    [
        ("order", Order()),
        ("order()", Order()),
        ("order(n=4, k1=2.8, b=1.0)", Order()),
        ("  order ( n = 5 ,k1=1.5,\n b=0.5, ) ", Order(5, 1.5, 0.5)),
        ("order(5, 1.5, b=.5)", Order(5, 1.5, 0.5)),
        ("order(k1=2)", Order(k1=2.0)),
        ("order(k1=1e-3, b=-0)", Order(k1=0.001, b=0.0)),
        ("order(lengths=lucene, level=2)", Order(lengths="lucene", level=2)),
        ("order(lengths='lucene')", Order(lengths="lucene")),
    ],
)
def test_parse(source: str, meaning: Order) -> None:
    parsed: Any = parse("reranker", source)
    assert parsed == meaning
    assert type(parsed.k1) is float
    assert type(parsed.n) is int


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("run(runs/bm25-k1_2.8.trec)", "runs/bm25-k1_2.8.trec"),
        ("run(sentence-transformers/all-mpnet-base-v2)", "sentence-transformers/all-mpnet-base-v2"),
        ("run(path=~/a\\b:c@d#1)", "~/a\\b:c@d#1"),
        ("""run("it's, (a) = \\"b\\" \\\\ c")""", """it's, (a) = "b" \\ c"""),
        ("run('it\\'s')", "it's"),
        ('run("")', ""),
        ("run(2024)", "2024"),
        ("run(007)", "007"),
        ("run(1e3)", "1e3"),
        ("run(True)", "True"),
        ("run(none)", "none"),
        ("run(nan)", "nan"),
    ],
)
def test_a_text_is_kept_to_the_letter(source: str, path: str) -> None:
    component: Any = parse("ranker", source)
    assert component.path == path


def test_of_several_types_the_one_that_a_bare_word_looks_like_wins() -> None:
    words = ("0.5", "none", '"none"', '"7"', "half")
    components: list[Any] = [parse("ranker", f"run(x, {word})") for word in words]
    assert [component.weight for component in components] == [0.5, None, "none", "7", "half"]


@pytest.mark.parametrize(
    "source", ["table(teacher=teacher(int8=true))", "table(teacher(all-MiniLM-L6-v2, TRUE), ridge=none)"]
)
def test_nested_components(source: str) -> None:
    component: Any = parse("encoder", source)
    assert component == Table(Teacher(int8=True))


@pytest.mark.parametrize("source", ["table(teacher)", "table(teacher=teacher())", 'table(teacher="teacher")'])
def test_a_bare_word_names_a_nested_component(source: str) -> None:
    component: Any = parse("encoder", source)
    assert component == Table()


# ---------------------------------------------------------------------------- component → text


@pytest.mark.parametrize(
    ("component", "short", "full"),
    [
        (Order(), "order", "order(n=4,k1=2.8,b=1.0,lengths=exact,level=1)"),
        (Order(n=7, b=0.25), "order(n=7,b=0.25)", "order(n=7,k1=2.8,b=0.25,lengths=exact,level=1)"),
        (Run("a b"), 'run(path="a b")', 'run(path="a b",weight=none)'),
        (Run("2024", "none"), 'run(path="2024",weight="none")', 'run(path="2024",weight="none")'),
        (
            Table(Teacher("m/x", True)),
            "table(teacher=teacher(model=m/x,int8=true))",
            "table(teacher=teacher(model=m/x,int8=true),sample=10000,ridge=none)",
        ),
        (Table(ridge=0.03, threads=8), "table(ridge=0.03)", None),
    ],
)
def test_text(component: Component, short: str, full: str | None) -> None:
    assert text(component) == str(component) == short
    if full is not None:
        assert text(component, full=True) == full


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    """Tuning walks over arrays, so their elements end up in components."""
    component = Order(n=np.int64(7), k1=np.float64(1.2), b=np.float32(0.5))  # type: ignore[arg-type]
    assert text(component) == "order(n=7,k1=1.2,b=0.5)"


TEXTS = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["true", "None", "1_0", "-1", "inf", "nan", "a(b)", '"', "'", "\\", '\\"', " ", "\n", "\u2003", "٣", "a=b"]
)
FLOATS = st.floats(allow_nan=False)
ENCODERS = st.builds(
    Table, st.builds(Teacher, TEXTS, st.booleans()), st.integers(), st.none() | FLOATS, threads=st.just(1)
)
COMPONENTS = st.one_of(
    ENCODERS,
    st.builds(Order, st.integers(1), FLOATS, FLOATS, st.sampled_from(["exact", "lucene"]), st.sampled_from([1, 2])),
    st.builds(Run, TEXTS, st.none() | FLOATS | TEXTS),
)


@given(COMPONENTS, st.booleans())
def test_a_text_parses_back_to_an_equal_component(component: Any, full: bool) -> None:
    assert parse(component.kinds[0], text(component, full=full)) == component


VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(),
    float: FLOATS,
    str: TEXTS,
    bool: st.booleans(),
    Teacher: st.builds(Teacher, TEXTS, st.booleans()),
    int | None: st.none() | st.integers(),
    str | None: st.none() | TEXTS,
    bool | str: st.booleans() | TEXTS,
    int | float | str: st.integers() | FLOATS | TEXTS,
    Teacher | None: st.none() | st.builds(Teacher, TEXTS, st.booleans()),
}


@given(st.data())
def test_components_of_any_shape_parse_back(data: st.DataObject) -> None:
    hints = data.draw(st.lists(st.sampled_from(list(VALUES)), max_size=5))
    cls = make_dataclass(
        "Shape",
        [(f"p{i}", hint) for i, hint in enumerate(hints)],
        bases=(Component,),
        namespace={"name": "generated", "kinds": ("reranker",)},
        frozen=True,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[__name__], "Generated", cls)
        component = cls(*(data.draw(VALUES[hint]) for hint in hints))
        parsed = parse("reranker", str(component))
    assert parsed == component
    assert [type(value) for value in vars(parsed).values()] == [type(value) for value in vars(component).values()]


# ---------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "Cannot read '': a name is missing at the end"),
        ("order(", "Cannot read 'order(': a value is missing at the end"),
        ("order(n=4", "Cannot read 'order(n=4': ')' is missing at the end"),
        ("order(n=", "Cannot read 'order(n=': a value is missing at the end"),
        ("order(n=,)", "Cannot read 'order(n=,)': expected a value before ','"),
        ("order(n 4)", "Cannot read 'order(n 4)': expected ',' before '4'"),
        ("order(4))", "Cannot read 'order(4))': unexpected ')'"),
        ("order rprs", "Cannot read 'order rprs': unexpected 'rprs'"),
        ("(4)", "Cannot read '(4)': expected a name, found '('"),
        ("order(lengths='exact)", """Cannot read "order(lengths='exact)": an unclosed quote at "'exact)\""""),
        ("ordre", "There is no reranker named 'ordre': did you mean 'order'?"),
        ("zzz(n=4)", "There is no reranker named 'zzz': choose from generated, order"),
        ("order(m=4)", "order has no parameter 'm': it has n, k1, b, lengths, level"),
        ("order(4, n=5)", "order has the parameter 'n' twice"),
        ("order(1,2,3,exact,1,6)", "order takes at most 5 parameters: n, k1, b, lengths, level"),
        ("order(n=0)", "The 'n' parameter of order must be an integer in [1, inf). Got 0 instead."),
        ("order(n=4.5)", "The 'n' parameter of order must be an integer. Got 4.5 instead."),
        ("order(n=true)", "The 'n' parameter of order must be an integer. Got True instead."),
        ("order(n='4')", "The 'n' parameter of order must be an integer. Got '4' instead."),
        ("order(n=few)", "The 'n' parameter of order must be an integer. Got 'few' instead."),
        ("order(k1=none)", "The 'k1' parameter of order must be a number. Got None instead."),
        ("order(n=order(2))", "The 'n' parameter of order must be an integer. Got order(...) instead."),
        ("order(lengths=short)", "The 'lengths' parameter of order must be 'exact' or 'lucene'. Got 'short' instead."),
        ("order(level=true)", "The 'level' parameter of order must be 1 or 2. Got True instead."),
    ],
)
def test_errors_of_a_reranker(source: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse("reranker", source)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("kind", "source", "message"),
    [
        ("ranker", "run", "run needs the parameter 'path': run(path=...)"),
        (
            "ranker",
            "lost",
            "The ranker 'lost' cannot be loaded from 'rprs_nowhere:Lost': No module named 'rprs_nowhere'",
        ),
        ("ranker", "plain", f"The ranker 'plain' must be a dataclass: '{__name__}:Generated' is not"),
        ("encoder", "table(teacher=teach)", "There is no encoder named 'teach': did you mean 'teacher'?"),
        ("encoder", "table(teacher=4)", "There is no encoder named '4': choose from table, teacher"),
        ("encoder", "table(ridge=x)", "The 'ridge' parameter of table must be a number or none. Got 'x' instead."),
        ("encoder", "table(threads=x)", "The 'threads' parameter of table must be an integer. Got 'x' instead."),
    ],
)
def test_errors_of_other_kinds(kind: Kind, source: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(kind, source)
    assert str(raised.value) == message


@given(st.text(st.sampled_from("order(n=4,'\"\\ )x.")))
def test_any_text_is_a_component_or_a_usage_error(source: str) -> None:
    with contextlib.suppress(UsageError):
        assert isinstance(parse("reranker", source), Order)


# ---------------------------------------------------------------------------- names


def test_names_are_sorted_and_can_be_looked_up() -> None:
    assert names("encoder") == ["table", "teacher"]
    assert find("encoder", "teacher") is Teacher


PLUG_IN = """
from dataclasses import dataclass
from typing import ClassVar
from rprs.spec import Component, Kind

@dataclass(frozen=True)
class Lines(Component):
    name: ClassVar[str] = "lines"
    kinds: ClassVar[tuple[Kind, ...]] = ("splitter",)
    width: int = 80
"""


def test_an_installed_plug_in_is_a_component_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "xyz.py").write_text(PLUG_IN)
    metadata = tmp_path / "xyz-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: xyz\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[rprs.splitter]\nlines = xyz:Lines\nsentences = xyz:Lines\n")
    code = (
        "import sys; from rprs import spec; print(spec.names('splitter'), 'xyz' in sys.modules);"
        "print(spec.parse('splitter', 'lines(72)'), spec.find('splitter', 'sentences').__module__)"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True, check=True
    )
    first, second = run.stdout.splitlines()
    assert first == "['lines', 'sentences', 'tokens'] False"
    assert second == "lines(width=72) rprs.text.split"  # built-in names cannot be replaced
