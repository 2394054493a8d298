"""Exported hits and the HTML report, read back by independent parsers."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rispy
from bibtexparser.entrypoint import parse_string
from bibtexparser.middlewares import LatexDecodingMiddleware
from hypothesis import given, settings
from hypothesis import strategies as st

import rprs
from rprs import Document, Explanation, Hit, Index, Pair, Searcher, System, UsageError, read_run
from rprs.document import Metadata, Sentences, Value
from rprs.results import FORMATS
from rprs.results.one_line import one_line
from rprs.results.report import report
from rprs.results.serialize import About, about_from, hit_from
from tests.support.cli import QUERY, TEXTS, rprs_error, rprs_ok, sample_index

ABOUT = About(
    version="0.1.0",
    index="cases.rprs",
    fingerprint="0123456789abcdef",
    documents=12,
    first="bm25(k1=2.8, b=1.0)",
    rerank="rprs(n=4)",
    depth=100,
    cutoff=None,
    where='court = "high court" and owner ~ {a@b}',
    keep_self=False,
    k=10,
    query="brief.pdf",
    query_hash="ab" * 32,
    date="2024-05-06T07:08:09+00:00",
)
SETTINGS = (
    "version=0.1.0; index=cases.rprs; fingerprint=0123456789abcdef; documents=12; first=bm25(k1=2.8, b=1.0); "
    'rerank=rprs(n=4); depth=100; where=court = "high court" and owner ~ {a@b}; keep_self=false; k=10; '
    f"query=brief.pdf; query_hash={'ab' * 32}; date=2024-05-06T07:08:09+00:00"
)


def hit(id: str = "a", title: str = "", metadata: Metadata | None = None, rank: int = 1, **others: Value) -> Hit:
    pair = Pair("The rent\nis due.", "=The rent was due.", 0.75, (0, 16), (3, 21), 1)
    fields = {**(metadata or {}), **others}
    return Hit(rank, id, 1.5 / rank, title, fields, rank + 2, 7.25, {"qp": 0.5, "dp": 0.25}, (pair,))


def export(name: str, *hits: Hit) -> str:
    return FORMATS[name].write(hits, ABOUT)


# ---------------------------------------------------------------------------- csv


def rows(*hits: Hit) -> list[dict[str, str]]:
    lines = io.StringIO(export("csv", *hits), newline="")
    (comment,) = next(csv.reader([next(lines)], strict=True))
    assert comment == f"# rprs: {SETTINGS}"
    return list(csv.DictReader(lines, strict=True))


def test_a_sheet_has_numbers_evidence_and_metadata_after_its_settings() -> None:
    first, second = rows(hit("a", "A title", court="hill", pages=12), hit("b", rank=2, open=True, share=-0.5))
    assert list(first)[:11] == [
        *("rank", "id", "title", "score", "qp", "dp", "first_rank", "first_score"),
        *("similarity", "query_sentence", "document_sentence"),
    ]
    assert list(first)[11:] == ["court", "pages", "open", "share"]
    assert (first["rank"], first["score"], first["qp"], first["first_rank"]) == ("1", "1.5", "0.5", "3")
    assert (first["similarity"], first["query_sentence"]) == ("0.75", "The rent is due.")
    assert (first["pages"], first["open"], second["open"], second["share"]) == ("12", "", "true", "-0.5")


def test_pandas_reads_a_sheet_as_exported(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path, format = tmp_path / "hits.csv", FORMATS["csv"]
    path.write_text(export("csv", hit("a", "A # title", court="hill"), hit("b", rank=2)), format.encoding, newline="")
    frame = pandas.read_csv(path, skiprows=1)
    assert frame["title"].iloc[0] == "A # title"
    assert frame["score"].tolist() == [1.5, 0.75]
    assert path.read_bytes().startswith(b'\xef\xbb\xbf"# rprs: ')  # a spreadsheet recognises UTF-8


@pytest.mark.parametrize("text", ["=1+1", "+1 2", "-2+3", "@SUM(A1)", "\tx", "\rx", "＝1", '=HYPERLINK("http://x")'])
def test_no_cell_is_a_formula(text: str) -> None:
    ((row),) = rows(replace(hit(text, text, note=text), score=-1.5))
    assert {row["id"], row["title"], row["note"]} == {f"'{text}"}
    assert row["document_sentence"] == "'=The rent was due."
    assert row["score"] == "-1.5"


def test_a_number_in_a_text_stays_a_number() -> None:
    ((row),) = rows(hit(balance="-12.50", dial="+49 30 12"))
    assert (row["balance"], row["dial"]) == ("-12.50", "'+49 30 12")


def test_metadata_that_have_the_name_of_a_column_get_another_name() -> None:
    fields: dict[str, Value] = {"title": "other", "metadata.title": "third", "=x": "fourth"}
    ((row),) = rows(hit("a", "mine", fields))
    values = [row[name] for name in ("title", "metadata.metadata.title", "metadata.title", "'=x")]
    assert values == ["mine", "other", "third", "fourth"]


def test_a_missing_value_is_an_empty_cell() -> None:
    bare = replace(hit(), parts={"maxsim": 0.125}, pairs=(), first_score=float("nan"))
    ((row),) = rows(bare)
    assert (row["qp"], row["dp"], row["maxsim"], row["first_score"], row["similarity"]) == ("", "", "0.125", "", "")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    lambda text: bool(one_line(text))
)


@given(id=WORDS, title=TEXT, metadata=st.dictionaries(WORDS, TEXT | st.integers() | st.booleans(), max_size=4))
def test_whatever_a_hit_holds_a_sheet_can_be_read_back(id: str, title: str, metadata: dict[str, Value]) -> None:
    ((row),) = rows(hit(id, title, metadata))
    assert None not in row
    assert {row["id"], row["id"].removeprefix("'")} >= {id}
    assert len(row) == 11 + len(metadata)
    assert not any(re.match(r"[=@\t\r\n]", cell) for cell in row.values())


# ---------------------------------------------------------------------------- jsonl and trec


def test_json_lines_begin_with_their_provenance() -> None:
    hits = (hit("a", "Ä title", date="2001-02-03"), replace(hit("b", rank=2), parts={}))
    first, *others = [json.loads(line) for line in export("jsonl", *hits).splitlines()]
    assert about_from(first["about"]) == ABOUT
    assert [hit_from(each) for each in others] == list(hits)
    assert {each["query"] for each in others} == {"brief.pdf"}


def test_the_tag_of_a_run_has_its_provenance(tmp_path: Path) -> None:
    (tmp_path / "run").write_text(export("trec", hit("a"), hit("b", rank=2)))
    ranking = read_run(tmp_path / "run")["brief.pdf"]
    assert (ranking.ids, ranking.scores.tolist()) == (("a", "b"), [1.5, 0.75])
    tag = (tmp_path / "run").read_text().split()[5]
    assert tag == (
        "bm25(k1=2.8,_b=1.0)→rprs(n=4)|index=0123456789abcdef|rprs=0.1.0|depth=100|k=10"
        '|where=court%20=%20"high%20court"%20and%20owner%20~%20%7Ba%40b%7D|query=' + "ab" * 32
    )
    plain = FORMATS["trec"].write([hit()], replace(ABOUT, rerank=None, where=None, keep_self=True, cutoff="top(l=3)"))
    assert "bm25(k1=2.8,_b=1.0)|index=" in plain
    assert "|cutoff=top(l=3)|keep_self=true|" in plain


def test_an_id_that_a_run_cannot_hold_is_named() -> None:
    with pytest.raises(UsageError, match=r"The document 'my file\.txt' cannot be written to a run file"):
        export("trec", hit("my file.txt"))


# ---------------------------------------------------------------------------- ris and bibtex

CASE = hit(
    "2016/moss.txt",
    "Moss & Sons v. Reed_{1}",
    date="2016-03-31",
    court="Harbour Court",
    author="Judge, Ann; Reeve, Bo",
    url="https://example.org/moss?a=1&b=%7B2",
    docket_number="12-345",
)
NOTES = "rank 1, score 1.5, QP 0.5, DP 0.25; rank 3 in the first stage"


def test_a_case_in_ris_by_hand() -> None:
    assert export("ris", CASE) == "\r\n".join(
        [
            "TY  - CASE",
            "ID  - 2016/moss.txt",
            "TI  - Moss & Sons v. Reed_{1}",
            "AU  - Judge, Ann",
            "AU  - Reeve, Bo",
            "PY  - 2016",
            "DA  - 2016/03/31/",
            "PB  - Harbour Court",
            "SV  - 12-345",
            "UR  - https://example.org/moss?a=1&b=%7B2",
            f"N1  - {NOTES}",
            f"N1  - rprs: {SETTINGS}",
            "ER  - ",
            "",
        ]
    )


def test_a_case_in_bibtex_by_hand() -> None:
    comment = SETTINGS.replace("{a@b}", "%7Ba%40b%7D")
    note = f"{NOTES}; rprs: {SETTINGS}".replace("_", r"\_").replace("~", r"\textasciitilde{}")
    note = note.replace("{a@b}", r"\textbraceleft{}a@b\textbraceright{}")
    assert export("bibtex", CASE) == "\n".join(
        [
            f"@comment{{rprs: {comment}}}",
            "",
            "@misc{2016-moss.txt,",
            r"  title = {Moss \& Sons v. Reed\_\textbraceleft{}1\textbraceright{}},",
            "  author = {Judge, Ann and Reeve, Bo},",
            "  year = {2016},",
            "  date = {2016-03-31},",
            "  number = {12-345},",
            "  howpublished = {Harbour Court},",
            "  url = {https://example.org/moss?a=1&b=%7B2},",
            f"  note = {{{note}}},",
            "}",
            "",
        ]
    )


@pytest.mark.parametrize(
    ("metadata", "ris", "bibtex"),
    [
        ({"Journal": "Acta", "volume": 3, "pages": "10-19"}, "JOUR", "article"),
        ({"booktitle": "Proc. of X", "court": None}, "CPAPER", "inproceedings"),
        ({"publication-number": "EP1", "assignee": "Acme", "journal": "Acta"}, "PAT", "patent"),
        ({"court": "hill", "publication_number": "EP1"}, "CASE", "misc"),
        ({"court": "", "journal": False}, "GEN", "misc"),
    ],
)
def test_the_type_of_a_reference_follows_its_fields(metadata: dict[str, Value], ris: str, bibtex: str) -> None:
    (reference,) = rispy.loads(export("ris", hit(metadata=metadata)))
    assert reference["type_of_reference"] == ris
    (entry,) = entries(hit(metadata=metadata))
    assert entry.entry_type == bibtex


def test_missing_and_invalid_fields_are_left_out() -> None:
    bare = hit(doi="none yet", url="javascript:alert(1)", link="//example.org", date="last week", author=" ", path="/x")
    text = export("ris", bare)
    assert [line[:2] for line in text.splitlines()] == ["TY", "ID", "N1", "N1", "ER"]
    (entry,) = entries(bare)
    assert set(entry.fields_dict) == {"note"}
    assert "javascript" not in export("bibtex", bare) + text
    assert export("ris") == ""


def test_an_endless_list_of_authors_is_read_as_one_name() -> None:
    """Deeply nested lists exceed the recursion limit of the JSON parser."""
    (reference,) = rispy.loads(export("ris", hit(authors="[" * 100_000)))
    assert reference["authors"] == ["[" * 100_000]


@pytest.mark.parametrize(
    ("field", "authors"),
    [
        ("Ann Judge and Reeve, Bo", ["Ann Judge", "Reeve, Bo"]),
        ('["Barnes and Noble", {"family": "Reeve", "given": "Bo"}, {"name": "Cy"}, 7]', None),
        ("[not json", ["[not json"]),
    ],
)
def test_authors_come_one_by_one(field: str, authors: list[str] | None) -> None:
    (reference,) = rispy.loads(export("ris", hit(authors=field)))
    assert reference["authors"] == (authors or ["Barnes and Noble", "Reeve, Bo", "Cy"])
    if authors is None:
        assert "author = {{Barnes and Noble} and Reeve, Bo and Cy}," in export("bibtex", hit(authors=field))


@pytest.mark.parametrize(
    ("metadata", "year", "day"),
    [
        ({"year": 1998, "date": "2024-01-01"}, "1998", None),  # the date of another edition
        ({"year": "1998", "date": "1998-03-02"}, "1998", "1998/03/02/"),
        ({"date": "2024-01-01", "decision_date": "1998-03"}, "1998", "1998/03//"),
        ({"published": "D:19980302120000"}, "1998", "1998/03/02/"),
    ],
)
def test_the_date_of_a_reference(metadata: dict[str, Value], year: str, day: str | None) -> None:
    (reference,) = rispy.loads(export("ris", hit(metadata=metadata)))
    assert (reference["year"], reference.get("date")) == (year, day)


def test_a_reference_to_a_file_that_states_no_date_has_no_year(tmp_path: Path) -> None:
    path = tmp_path / "lease.txt"
    path.write_text("The tenant pays the rent.")
    document = rprs.read_one(path)
    plain = hit(document.id, document.title, document.metadata)
    (reference,) = rispy.loads(export("ris", plain))
    assert not {"year", "date"} & {*reference}
    assert not re.search(r"^  (year|date) =", export("bibtex", plain), re.MULTILINE)
    assert "date" not in rows(plain)[0]


def test_a_doi_is_found_in_its_address() -> None:
    (reference,) = rispy.loads(export("ris", hit(doi="https://doi.org/10.1000/a_b{c}")))
    assert reference["doi"] == "10.1000/a_b{c}"
    assert "doi = {10.1000/a_b%7Bc%7D}," in export("bibtex", hit(doi="doi:10.1000/a_b{c}"))


def entries(*hits: Hit, latex: bool = False) -> list[Any]:
    """The entries as an independent parser reads them, with LaTeX decoded or as written."""
    library = parse_string(export("bibtex", *hits), append_middleware=[LatexDecodingMiddleware()] if latex else [])
    assert not library.failed_blocks
    assert len(library.comments) == 1
    listed: list[Any] = library.entries
    return listed


def test_special_characters_come_out_of_latex_as_they_were() -> None:
    title = r"100 % of $5 & #1_a~c\d @ \alpha 'x' <y>"
    (entry,) = entries(hit("a", title), latex=True)
    assert entry["title"] == title
    (others,) = entries(hit("a", "}{ ^ →"))
    assert others["title"] == r"\textbraceright{}\textbraceleft{} \textasciicircum{} $\rightarrow$"


def test_keys_are_clean_and_unique_ignoring_case() -> None:
    ids = ["a b", "A/b", "a-b", "Ärger", "判決", "{}", "a-b-2"]
    keys = [entry.key for entry in entries(*(hit(id) for id in ids))]
    assert keys == ["a-b", "A-b-2", "a-b-3", "Arger", "document", "document-2", "a-b-2-2"]


@given(title=WORDS, court=WORDS, id=WORDS)
@settings(max_examples=60)
def test_whatever_a_hit_holds_references_can_be_read_back(title: str, court: str, id: str) -> None:
    hits = hit(id, title, court=court), hit("second", rank=2)
    first, second = rispy.loads(export("ris", *hits))
    assert (first["id"], first["title"], first["publisher"]) == (one_line(id), one_line(title), one_line(court))
    assert second["id"] == "second"
    one, two = entries(*hits)
    assert two.key.startswith("second")
    names = {"backslash": "\\", "braceleft": "{", "braceright": "}", "asciicircum": "^", "asciitilde": "~"}
    plain = re.sub(
        r"\\text(\w+)\{\}|\\([$&#_%])|\$\\rightarrow\$",
        lambda mark: names[mark[1]] if mark[1] else mark[2] or "→",
        one["title"],
    )
    assert plain == one_line(title)


# ---------------------------------------------------------------------------- the report


class Page(HTMLParser):
    """What a browser would see: elements with attributes, and the text of both panes without the numbers of pairs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.panes: dict[str, str] = {}
        self.cells: list[str] = []
        self._open: list[str] = []
        self._pane = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.elements.append((tag, values))
        if tag in ("meta", "wbr"):
            return
        self._open.append(tag)
        if tag == "section":
            self._pane = values.get("id") or ""
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "p" and self._pane:
            self.panes[self._pane] += " "

    def handle_data(self, data: str) -> None:
        if "p" in self._open and "a" not in self._open:
            self.panes[self._pane] = self.panes.get(self._pane, "") + data
        if "td" in self._open:
            self.cells[-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def words(text: str) -> list[str]:
    return text.split()


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def index(index_path: Path) -> Iterator[Index]:
    with Index(index_path) as index:
        yield index


def reported(index: Index, id: str = "lease.txt", min_similarity: float = -1.0) -> tuple[Explanation, Page, str]:
    searcher, query = Searcher(index), Document("query.txt", QUERY)
    explanation = searcher.explain(query, id)
    about = searcher.about(query, 10)
    sentences = index.query_sentences(query), index.sentences(id)
    text = report(explanation, *sentences, about, min_similarity)
    return explanation, Page(text), text


def test_the_report_has_both_texts_and_each_pair_on_both_sides(index: Index) -> None:
    explanation, page, text = reported(index)
    assert words(page.panes["query"]) == words(QUERY)
    assert words(page.panes["document"]) == words(TEXTS["lease.txt"])
    links = {link["id"]: link["href"] for link in page.all("a") if link.get("id")}
    count = len(explanation.hit.pairs)
    assert count > 5
    assert links == {f"{a}{n}": f"#{b}{n}" for n in range(1, count + 1) for a, b in ("qd", "dq")}
    assert page.cells == [
        cell
        for number, pair in enumerate(explanation.hit.pairs, 1)
        for cell in (str(number), one_line(pair.query), f"{pair.similarity:.3f}", one_line(pair.document))
    ]
    assert "an aid to ranking, not a verdict" in text
    assert "It guards seven golden spoons." in text.partition('id="unmatched"')[2]
    system = System()
    settings = (index.fingerprint, str(system.first), str(system.rerank), "made.rprs", "100")
    assert all(f">{value}<" in text for value in settings)


def test_the_report_leaves_weak_pairs_out_and_keeps_the_numbers_of_others(index: Index) -> None:
    explanation, _, _ = reported(index)
    pairs = list(enumerate(explanation.hit.pairs, 1))
    bound = sorted(pair.similarity for _, pair in pairs)[len(pairs) // 2]
    _, page, text = reported(index, min_similarity=bound)
    kept = [f"q{number}" for number, pair in pairs if pair.similarity >= bound]
    assert 0 < len(kept) < len(pairs)
    assert [link["id"] for link in page.all("a") if (link.get("id") or "").startswith("q")] == kept
    assert f"pairs below a similarity of {bound:g} are left out" in text
    _, nothing, text = reported(index, min_similarity=1.0)
    assert not [link for link in nothing.all("a") if link.get("id")]
    assert "Unmatched sentences: 6 of 6 sentences" in text
    assert words(nothing.panes["query"]) == words(QUERY)


def test_the_report_loads_nothing_and_runs_nothing(index: Index) -> None:
    _, page, text = reported(index)
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv"))
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "link", "iframe", "object", "svg", "form"})
    assert all((link["href"] or "").startswith("#") for link in page.all("a"))
    assert "url(" not in text
    assert "@import" not in text
    assert "path" not in re.findall(r"<dt[^>]*>([^<]*)", text)


def spans(text: str, parts: list[str]) -> Sentences:
    places = [(text.index(part), text.index(part) + len(part)) for part in parts]
    return Sentences(np.array(places, dtype=np.int64).reshape(-1, 2), np.zeros(len(places), dtype=np.int32))


NASTY = '<script>alert("x")</script> & \'"><img src=x onerror=alert(1)>'


def test_text_in_the_report_is_only_ever_text() -> None:
    metadata: dict[str, Value] = {NASTY: NASTY, "home": "javascript:alert(1)", "web": 'https://example.org/"onclick='}
    query = Document(NASTY, f"{NASTY} one. Two \x00\ud800.", NASTY)
    document = Document(f"d{NASTY}", f"𝔘 {NASTY} one. Three.", NASTY, {**metadata, "good": "https://example.org/?a&b"})
    pair = Pair(query.text[:-7], document.text[2:-7], 0.5, (0, len(query.text) - 7), (2, len(document.text) - 7), 1)
    nasty_hit = Hit(1, document.id, 1.0, NASTY, document.metadata, 1, 1.0, {}, (pair,))
    explanation = Explanation(nasty_hit, True, query, document, 2, ((len(query.text) - 6, len(query.text)),), (NASTY,))
    left = spans(query.text, [pair.query, query.text[-6:]])
    right = spans(document.text, [pair.document, "Three."])
    about = replace(ABOUT, where=NASTY, query=NASTY)
    text = report(explanation, left, right, about)
    page = Page(text.encode().decode())
    plain = Page(report(replace(explanation, hit=replace(nasty_hit, pairs=())), left, right, about))
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img"})
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert words(page.panes["document"]) == words(document.text) == words(plain.panes["document"])
    assert words(page.panes["query"]) == words(query.text.replace("\x00\ud800", "\ufffd\ufffd"))
    outside = [link["href"] for link in page.all("a") if not (link["href"] or "").startswith("#")]
    assert outside == ["https://example.org/?a&b"]


def test_text_outside_sentences_is_kept() -> None:
    text = "Heading\n\nOne here. -- Two there.\nThe end"
    sentences = replace(spans(text, ["One here.", "Two there."]), paragraphs=np.array([0, 1], dtype=np.int32))
    document = Document("d", text)
    explanation = Explanation(Hit(1, "d", 1.0, "", {}, 1, 1.0), True, document, document, 2, (), ())
    page = Page(report(explanation, sentences, sentences, ABOUT))
    assert words(page.panes["query"]) == words(page.panes["document"]) == words(text)


def long_report(sentence_count: int) -> str:
    """A report with many sentences of twenty words, every second of which matches itself."""
    sentences = [
        f"Sentence {number} has as many words as twenty which is what a sentence of a court has in the mean."
        for number in range(sentence_count)
    ]
    text = " ".join(sentences)
    ends = np.cumsum([len(sentence) + 1 for sentence in sentences])
    where = np.stack([np.append(0, ends[:-1]), ends - 1], axis=1)
    split = Sentences(where, np.zeros(sentence_count, dtype=np.int32))
    places = [(int(a), int(b)) for a, b in where[::2]]
    pairs = tuple(Pair(text[a:b], text[a:b], 0.9, (a, b), (a, b), 1) for a, b in places)
    document = Document("d", text)
    hit_ = Hit(1, "d", 1.0, "", {}, 1, 1.0, {}, pairs)
    uncovered = tuple((int(a), int(b)) for a, b in where[1::2])
    return report(Explanation(hit_, True, document, document, sentence_count, uncovered), split, split, ABOUT)


def test_a_report_of_100_000_words() -> None:
    page = long_report(5_000)
    assert page.count('class="match') == 5_000
    assert len(page) < 8_000_000


def test_the_work_of_a_report_grows_with_its_length() -> None:
    """Twice as long a report takes about twice as many function calls, not four times as many."""

    def calls(sentences: int) -> int:
        count = 0

        def trace(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(trace)
        try:
            long_report(sentences)
        finally:
            sys.setprofile(None)
        return count

    assert calls(800) < 2.5 * calls(400)


# ---------------------------------------------------------------------------- the command line


def test_the_command_line_writes_the_same_files(index_path: Path, index: Index) -> None:
    query = index_path.parent / "query.txt"
    searcher = Searcher(index)
    document = Document("query.txt", QUERY)
    results = searcher.search(document, 3, where="court present")
    about = searcher.about(document, 3, where="court present")
    for name in ("csv", "ris", "bibtex"):
        outcome = rprs_ok("search", index_path, query, "-k", "3", "--where", "court present", "--format", name)
        then = re.search(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00", outcome.out)
        assert then is not None
        assert outcome.out == FORMATS[name].write(results, replace(about, date=then[0]))
        assert "3 candidates" not in outcome.out
        assert "candidates of 12 documents" in outcome.err
    assert [case["publisher"] for case in rispy.loads(rprs_ok("search", index_path, query, "--format", "ris").out)
            if case["type_of_reference"] == "CASE"].count("harbour") == 2  # fmt: skip


def test_the_command_line_writes_the_report(index_path: Path) -> None:
    query = index_path.parent / "query.txt"
    text = rprs_ok("explain", index_path, query, "lease.txt", "--format", "html", "--min-similarity", "0.5").out
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert words(page.panes["query"]) == words(QUERY)
    assert "similarity of 0.5 are left out" in text
    assert "no document 'nobody'" in rprs_error("explain", index_path, query, "nobody", "--format", "html")


def test_the_report_has_the_colours_of_the_web_interface() -> None:
    def tints(style: Path) -> list[str]:
        return re.findall(r"--(?:match|mark)-\d: #\w+", style.read_text(encoding="utf-8"))

    package = Path(rprs.__file__).parent
    colours = tints(package / "results/report.css")
    assert colours == tints(package / "serve/web/aligned.css")
    assert len(colours) == 2 * 2 * 8  # behind ink and as ink, in light and in dark
