"""Tables in every form: the same content, escaped as each form needs it."""

from __future__ import annotations

import csv
import io
import math
import re
from html.parser import HTMLParser

import pytest

from rprs.evaluation.table import Cell, Figure, Table

TABLE = Table(
    "Results of 50 % & more",
    ("system", "micro_F1@4", "queries", "p"),
    (
        ("BM25", Figure(0.2035, 4), 1250, 1.0),
        ("rprs(n=4,k1=2.8) | <new>", Figure(0.23364, 4, "†*", best=True), 1250, 1.25e-7),
        ("none", Figure(math.nan, 4), None, None),
    ),
    ("† over BM25, * over K (p < 0.05).",),
)


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        (Figure(0.3214), ".321"),
        (Figure(0.3215, 4), ".3215"),
        (Figure(1), "1.000"),
        (Figure(0), ".000"),
        (Figure(-0.04), "-.040"),
        (Figure(-0.0001), ".000"),
        (Figure(-1.5), "-1.500"),
        (Figure(0.9996), "1.000"),
        (Figure(12.5, 1), "12.5"),
        (Figure(0.5, 3, "†"), ".500†"),
        (Figure(math.nan), "–"),
        (Figure(math.inf), "inf"),
    ],
)
def test_figures_are_printed_as_papers_do(figure: Figure, expected: str) -> None:
    assert str(figure) == expected


def test_markdown() -> None:
    assert TABLE.markdown() == (
        "**Results of 50 % & more**\n\n"
        "| system | micro_F1@4 | queries | p |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| BM25 | .2035 | 1,250 | 1 |\n"
        "| rprs(n=4,k1=2.8) \\| \\<new> | **.2336**†\\* | 1,250 | 1.25e-07 |\n"
        "| none | – |  |  |\n\n"
        "† over BM25, \\* over K (p \\< 0.05).\n"
    )


def test_markdown_without_title_and_notes_is_the_table_alone() -> None:
    assert Table("", ("a",), (("_x_",), ("two\nlines",))).markdown() == "| a |\n| --- |\n| \\_x\\_ |\n| two lines |\n"


def test_latex() -> None:
    assert TABLE.latex() == "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            r"\caption{Results of 50 \% \& more. "
            r"$\dagger$ over BM25, * over K (p \textless{} 0.05).}",
            r"\begin{tabular}{lrrr}",
            r"\hline",
            r"system & micro\_F1@4 & queries & p \\",
            r"\hline",
            r"BM25 & .2035 & 1,250 & 1 \\",
            r"rprs(n=4,k1=2.8) \textbar{} \textless{}new\textgreater{} & "
            r"\textbf{.2336}$\dagger$* & 1,250 & 1.25e-07 \\",
            r"none & -- &  &  \\",
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def test_latex_escapes_what_it_must() -> None:
    text = Table("", (r"a\b^~{}#$%&_",), (("‡ § ¶ – … × → ≤",),)).latex()
    assert r"a\textbackslash{}b\textasciicircum{}\textasciitilde{}\{\}\#\$\%\&\_ \\" in text
    assert r"$\ddagger$ \S{} \P{} -- \ldots{} $\times$ $\rightarrow$ $\leq$ \\" in text
    assert r"\caption" not in text
    assert r"$-.040$ \\" in Table("", ("a",), ((Figure(-0.04),),)).latex()


def test_csv_has_every_number_in_full() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows == [
        ["system", "micro_F1@4", "queries", "p"],
        ["BM25", "0.2035", "1250", "1.0"],
        ["rprs(n=4,k1=2.8) | <new>", "0.23364", "1250", "1.25e-07"],
        ["none", "nan", "", ""],
    ]


class Cells(HTMLParser):
    """The text of all cells, and the tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data)


def test_html() -> None:
    parsed = Cells(TABLE.html())
    assert parsed.texts[:5] == ["Results of 50 % & more", "system", "micro_F1@4", "queries", "p"]
    assert "rprs(n=4,k1=2.8) | <new>" in parsed.texts
    assert parsed.texts[-1] == "† over BM25, * over K (p < 0.05)."
    assert set(parsed.tags) == {"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "b", "sup"}
    assert '<td class="number"><b>.2336</b><sup>†*</sup></td>' in TABLE.html()
    assert "<caption>" not in Table("", ("a",), (("x",),)).html()


def test_plain() -> None:
    assert TABLE.plain().splitlines() == [
        "Results of 50 % & more",
        "system                    micro_F1@4  queries         p",
        "BM25                         .2035      1,250         1",
        "rprs(n=4,k1=2.8) | <new>     .2336†*    1,250  1.25e-07",
        "none                             –",
        "† over BM25, * over K (p < 0.05).",
    ]


def test_plain_fits_a_narrow_terminal_without_losing_anything() -> None:
    text = TABLE.plain(40)
    assert max(map(len, text.splitlines())) <= 40
    assert "…" not in text
    letters = sorted("".join(TABLE.plain().split()))
    assert sorted("".join(text.split())) == letters


def test_styled_plain_text_shows_the_best_in_bold() -> None:
    assert re.search(r"\x1b\[1m +\.2336†\*\x1b\[0m", TABLE.plain(100, styled=True))
    assert "\x1b" not in TABLE.plain(100)


def test_a_table_without_rows_is_its_header() -> None:
    empty = Table("", ("a", "b"), ())
    assert empty.markdown() == "| a | b |\n| --- | --- |\n"
    assert empty.csv() == "a,b\n"
    assert empty.plain() == "a  b\n"


def test_a_row_of_another_length_is_an_error() -> None:
    row: tuple[Cell, ...] = ("x", 1)
    with pytest.raises(ValueError, match="a row of 2 cells under a header of 1"):
        Table("", ("a",), (row,))


# ---------------------------------------------------------------------------- reference rows


REFERENCES = Table(
    "",
    ("system", "AP"),
    (("BM25", Figure(0.4)), ("RPRS", Figure(0.5, 3, "†"))),
    references=(("random order", Figure(0.12)),),
)


def test_reference_rows_stand_apart_below_the_others() -> None:
    assert REFERENCES.markdown().splitlines()[-2:] == ["| RPRS | .500† |", "| *random order* | .120 |"]
    assert REFERENCES.plain().splitlines()[-3:] == ["RPRS          .500†", "", "random order  .120"]
    lines = REFERENCES.latex().splitlines()
    assert lines[-5:-2] == [r"\hline", r"random order & .120 \\", r"\hline"]
    assert REFERENCES.csv().splitlines()[-1] == "random order,0.12"
    assert REFERENCES.to_frame()["AP"].tolist() == [0.4, 0.5, 0.12]
    page = REFERENCES.html()
    assert page.count("<tbody") == 2
    assert page.index("RPRS") < page.index('<tbody class="references">') < page.index("random order")


def test_reference_rows_have_as_many_cells_as_the_header() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells under a header of 2"):
        Table("", ("system", "AP"), (), references=(("random order",),))
