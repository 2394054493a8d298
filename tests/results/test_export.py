"""Exported hits, read back by independent parsers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rispy
from bibtexparser.entrypoint import parse_string
from bibtexparser.middlewares import LatexDecodingMiddleware
from hypothesis import given, settings
from hypothesis import strategies as st

import rprs
from rprs import Coverage, Document, Duplicate, Hit, Index, Pair, Searcher, UsageError, read_run
from rprs.document import Metadata, Value
from rprs.results import FORMATS
from rprs.results.one_line import one_line
from rprs.results.serialize import About, about_from, hit_from
from tests.support.cli import QUERY, rprs_ok, sample_index

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
    pair = Pair("The rent\nis due.", "=The rent was due.", "reworded", 0.75, (0, 16), (3, 21), 4, 4)
    fields = {**(metadata or {}), **others}
    scores = {"qp": 0.5, "dp": 0.25}
    coverage = Coverage(40, 4, 2, 10), Coverage(300, 0, 1, 0)
    return Hit(rank, id, 1.5 / rank, title, fields, rank + 2, 7.25, scores, (pair,), *coverage)


def export(name: str, *hits: Hit) -> str:
    return FORMATS[name].write(hits, ABOUT)


# ---------------------------------------------------------------------------- csv


COLUMNS = 20  # without relation, duplicates and metadata


def rows(*hits: Hit, common: str = "") -> list[dict[str, str]]:
    """The rows of the sheet; `common` is what all of them have, which is among the settings."""
    lines = io.StringIO(export("csv", *hits), newline="")
    (comment,) = next(csv.reader([next(lines)], strict=True))
    assert comment == f"# rprs: {SETTINGS}{common}"
    return list(csv.DictReader(lines, strict=True))


def test_a_sheet_has_numbers_evidence_and_metadata_after_its_settings() -> None:
    first, second = rows(
        hit("a", "A title", court="hill", pages=12),
        hit("b", rank=2, open=True, share=-0.5),
        common="; relation=different",
    )
    assert list(first)[:COLUMNS] == [
        *("rank", "id", "title", "query_matched", "query_identical", "query_reworded", "query_same_idea"),
        *("document_matched", "document_identical", "document_reworded", "document_same_idea"),
        *("score", "qp", "dp", "first_rank", "first_score"),
        *("kind", "similarity", "query_passage", "document_passage"),
    ]
    assert list(first)[COLUMNS:] == ["court", "pages", "open", "share"]
    shares = [first[f"query_{name}"] for name in ("matched", "identical", "reworded", "same_idea")]
    assert shares == ["0.4", "0.1", "0.05", "0.25"]  # 16, 4, 2 and 10 of 40 words
    assert (first["document_matched"], first["kind"]) == ("0.0033", "reworded")
    assert (first["rank"], first["score"], first["qp"], first["first_rank"]) == ("1", "1.5", "0.5", "3")
    assert (first["similarity"], first["query_passage"]) == ("0.75", "The rent is due.")
    assert (first["pages"], first["open"], second["open"], second["share"]) == ("12", "", "true", "-0.5")


def test_no_column_is_empty_or_says_the_same_of_all_hits() -> None:
    twin = Duplicate("c", "", "identical", 1.0, 4, {})
    same = hit("a", court="hill", note=""), hit("b", rank=2, court="hill", note="")
    together = [replace(each, collection="cases") for each in same]
    first, _ = rows(*together, common="; collection=cases; relation=different")
    assert not {"note", "collection", "relation", "duplicates"} & first.keys()
    assert first["court"] == "hill"  # describes the document
    first, second = rows(replace(same[0], duplicates=(twin,), relation="identical"), same[1])
    assert (first["relation"], second["relation"], second["duplicates"]) == ("identical", "different", "")
    assert rows(same[0])[0]["relation"] == "different"  # of one hit, nothing is common
    assert export("csv").splitlines()[1].startswith("rank,id,title,relation,")  # without hits, all names


def test_pandas_reads_a_sheet_as_exported(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path, format = tmp_path / "hits.csv", FORMATS["csv"]
    path.write_text(export("csv", hit("a", "A # title", court="hill"), hit("b", rank=2)), format.encoding, newline="")
    frame = pandas.read_csv(path, skiprows=1)
    assert frame["title"].iloc[0] == "A # title"
    assert frame["score"].tolist() == [1.5, 0.75]
    assert path.read_bytes().startswith(b'\xef\xbb\xbf"# rprs: ')  # a spreadsheet recognises UTF-8


def test_duplicates_are_in_the_row_of_their_hit() -> None:
    twins = Duplicate("b.txt", "B", "identical", 1.25, 2, {}), Duplicate("c", "", "near duplicate", 1.0, 4, {})
    ((row),) = rows(replace(hit(), duplicates=twins, relation="near duplicate"))
    assert (row["duplicates"], row["relation"]) == ("b.txt (identical); c (near duplicate)", "near duplicate")


@pytest.mark.parametrize("text", ["=1+1", "+1 2", "-2+3", "@SUM(A1)", "\tx", "\rx", "＝1", '=HYPERLINK("http://x")'])
def test_no_cell_is_a_formula(text: str) -> None:
    ((row),) = rows(replace(hit(text, text, note=text), score=-1.5))
    assert {row["id"], row["title"], row["note"]} == {f"'{text}"}
    assert row["document_passage"] == "'=The rent was due."
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
    bare = replace(hit(), parts={"maxsim": 0.125}, pairs=(), first_score=float("nan"), query_coverage=None)
    row, _ = rows(bare, replace(hit(rank=2), relation="identical"))
    assert (row["qp"], row["dp"], row["maxsim"], row["first_score"], row["similarity"]) == ("", "", "0.125", "", "")
    assert row["query_matched"] == ""


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    lambda text: bool(one_line(text))
)


@given(id=WORDS, title=TEXT, metadata=st.dictionaries(WORDS, TEXT | st.integers() | st.booleans(), max_size=4))
def test_whatever_a_hit_holds_a_sheet_can_be_read_back(id: str, title: str, metadata: dict[str, Value]) -> None:
    row, _ = rows(
        hit(id, title, metadata), replace(hit("full", "Full", dict.fromkeys(metadata, 1)), relation="identical")
    )
    assert None not in row
    assert {row["id"], row["id"].removeprefix("'")} >= {id}
    assert len(row) == COLUMNS + 1 + len(metadata)
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
NOTES = "rank 1, score 1.5, QP 0.5, DP 0.25; keyword rank 3"


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


# ---------------------------------------------------------------------------- the command line


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def index(index_path: Path) -> Iterator[Index]:
    with Index(index_path) as index:
        yield index


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
        assert "of 12 documents" not in outcome.out
        assert "of 12 documents" in outcome.err
    assert [case["publisher"] for case in rispy.loads(rprs_ok("search", index_path, query, "--format", "ris").out)
            if case["type_of_reference"] == "CASE"].count("harbour") == 2  # fmt: skip
