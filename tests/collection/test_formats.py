"""Each format with a tiny collection in exactly that format: the exact documents, queries and judgements."""

from __future__ import annotations

import csv
import lzma
import os
import pickle
import shutil
import tarfile
from collections import OrderedDict, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

from rprs.collection import Collection, open_collection, write_beir
from rprs.collection.wikipedia import safe_pickle
from rprs.document import Document
from rprs.errors import ReadError, RprsError, UsageError
from rprs.read import Skipped, read, read_queries
from rprs.testing.collections import check_collection
from rprs.testing.readers import damaged
from tests.support.paths import DATA

SAMPLES = DATA / "collections"
SPECS = [
    *("beir", "beir(beir, split=dev)", "coliee(coliee)", "coliee(coliee, year=2022, split=train)"),
    *("coliee(coliee, french=drop)", "coliee(coliee2020, year=2020)", "caselaw(caselaw)"),
    *("caselaw(caselaw, query=sentence)", "caselaw(caselaw, query=keywords)", "caselaw(caselaw, itself=keep)"),
    *("clefip(clefip)", "clefip(clefip, language=none)", "wikipedia(wines)"),
]


def sample(spec: str) -> Collection:
    return open_collection(spec, SAMPLES)


def texts(documents: Any) -> dict[str, str]:
    return {document.id: document.text for document in documents}


def skipped_by(collection: Collection) -> list[str]:
    reports: list[Skipped] = []
    list(collection.documents(reports.append))
    return [str(one).removeprefix(str(SAMPLES)) for one in reports]


@pytest.mark.parametrize("spec", SPECS)
def test_every_collection_fulfils_the_contract(spec: str, tmp_path: Path) -> None:
    check_collection(sample(spec), tmp_path)


def test_faulty_collections_are_rejected(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "beir", tmp_path / "beir")
    (tmp_path / "beir/exclude.tsv").write_text("query-id\tcorpus-id\nq1\td1\n")
    with pytest.raises(AssertionError, match="d1 is relevant to q1, and excluded"):
        check_collection(open_collection(str(tmp_path / "beir")), tmp_path)
    with (tmp_path / "beir/corpus.jsonl").open("a") as corpus:
        corpus.write('{"_id": "d 4", "text": "An id that no run can hold."}\n')
    with pytest.raises(AssertionError, match="white space in the id 'd 4'"):
        check_collection(open_collection(str(tmp_path / "beir")), tmp_path)


@pytest.mark.parametrize("spec", ["beir", "coliee(coliee)", "caselaw(caselaw)", "clefip(clefip)", "wikipedia(wines)"])
def test_damaged_files_are_skipped_or_reported(spec: str, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES, tmp_path / "samples")
    collection = open_collection(spec, tmp_path / "samples")
    for path in collection.files():
        whole = path.read_bytes()
        for data in damaged(whole, rounds=6):
            path.write_bytes(data)
            for part in (collection.documents, collection.queries, collection.qrels, collection.excluded):
                with suppress(RprsError):
                    list(part())
        path.write_bytes(whole)


# ---------------------------------------------------------------------------- BEIR


def test_beir_reads_what_the_index_reads(tmp_path: Path) -> None:
    collection = sample("beir(beir)")
    assert list(collection.documents()) == list(read(SAMPLES / "beir"))
    assert list(collection.queries()) == list(read_queries(SAMPLES / "beir"))
    assert collection.qrels() == {"q1": {"d1": 2, "d3": 1}, "q2": {"d2": 1, "d9": 1, "d1": 0}}
    assert collection.excluded() == {"q2": {"d3"}}
    assert [path.name for path in collection.files()] == ["corpus.jsonl", "queries.jsonl", "test.tsv", "exclude.tsv"]


def test_beir_is_read_compressed_and_with_other_judgements(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        (tmp_path / f"{name}.xz").write_bytes(lzma.compress((SAMPLES / "beir" / name).read_bytes()))
    packed = open_collection(str(tmp_path))
    assert texts(packed.documents()) == texts(sample("beir").documents())
    assert packed.qrels() == sample("beir").qrels()
    assert packed.excluded() == {}
    (tmp_path / "mine.txt").write_text("q1 0 d2 1\n")
    mine = open_collection("beir(., judgements=mine.txt)", tmp_path)
    assert mine.qrels() == {"q1": {"d2": 1}}
    assert mine.files()[2] == tmp_path / "mine.txt"


def test_beir_takes_the_queries_from_a_metadata_field(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "beir", tmp_path / "beir")
    (tmp_path / "beir/queries.jsonl").write_text(
        '{"_id": "q1", "title": "Fish", "text": "Long.", "metadata": {"claim": "Salt keeps fish.", "year": 1890}}\n'
        '{"_id": "q2", "text": "Another.", "metadata": {"claim": " ", "words": ["salt", "ice [cold]"]}}\n'
        '{"_id": "q3", "text": "A third.", "metadata": {"claim": "[sic] Ice keeps meat.", "words": [1]}}\n'
    )
    reported: list[Skipped] = []
    claims = list(open_collection("beir(beir, query=claim)", tmp_path).queries(reported.append))
    assert texts(claims) == {"q1": "Salt keeps fish.", "q3": "[sic] Ice keeps meat."}
    assert claims[0].title == ""
    assert claims[0].metadata["year"] == 1890
    assert [str(one) for one in reported] == ["q2: the query has no text in the field 'claim'"]
    assert texts(open_collection("beir(beir, query=year)", tmp_path).queries()) == {"q1": "1890"}
    words = open_collection("beir(beir, query=words)", tmp_path)
    assert texts(words.queries()) == {"q2": "salt\n\nice [cold]", "q3": "[1]"}
    with pytest.raises(ReadError, match=r"^No query has text in the field 'clam': they have claim, words, year$"):
        list(open_collection("beir(beir, query=clam)", tmp_path).queries())


# ---------------------------------------------------------------------------- COLIEE


def test_coliee_since_2021() -> None:
    collection = sample("coliee(coliee)")
    documents = list(collection.documents())
    assert [document.id for document in documents] == ["000101", "000102", "000103", "000104"]
    assert documents[3] == Document("000104", (SAMPLES / "coliee/task1_test_files_2022/000104.txt").read_text())
    assert [query.id for query in collection.queries()] == ["000101", "000104"]
    assert collection.qrels() == {"000101": {"000102": 1, "000104": 1}, "000104": {"000102": 1}}
    assert collection.excluded() == {}
    assert [path.name for path in collection.files()][:2] == ["task1_test_labels_2022.json", "000101.txt"]
    train = sample("coliee(coliee, split=train)")
    assert list(texts(train.documents())) == ["000007", "000012"]
    assert train.qrels() == {"000007": {"000012": 1}}


def test_coliee_of_2020_has_candidates_for_each_query() -> None:
    collection = sample("coliee(coliee2020)")
    assert texts(collection.documents()) == {
        "001_001": "A weighing of grain must be witnessed by both sides.\n",
        "001_002": "A trade mark for bread was struck out.\n",
        "002_001": "A licence may not be suspended without a hearing.\n",
        "002_002": "The lease of a hangar ended by notice.\n",
    }
    assert texts(collection.queries())["002"] == "The pilot contests the suspension of her licence.\n"
    assert collection.qrels() == {"001": {"001_001": 1}, "002": {"002_001": 1}}
    excluded = collection.excluded()
    assert dict(excluded) == {"001": {"002_001", "002_002"}, "002": {"001_001", "001_002"}}
    assert len(excluded) == 2
    assert excluded.get("003", "none") == "none"


def test_coliee_of_2021_has_one_folder_for_both_splits(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "coliee/task1_test_files_2022", tmp_path / "task1_train_files_2021")
    (tmp_path / "task1_train_labels_2021.json").write_text('{"000101.txt": ["000102.txt"]}')
    (tmp_path / "task1_test_labels_2021.json").write_text('{"000104.txt": ["000102.txt"]}')
    test, train = (open_collection(f"coliee({tmp_path}, split={split})") for split in ("test", "train"))
    assert texts(test.documents()) == texts(train.documents())
    assert (list(texts(test.queries())), list(texts(train.queries()))) == (["000104"], ["000101"])


def test_coliee_requires_the_year_if_there_are_several(tmp_path: Path) -> None:
    for year in (2021, 2022):
        shutil.copytree(SAMPLES / "coliee/task1_test_files_2022", tmp_path / f"{year}/task1_test_files_{year}")
        (tmp_path / f"{year}/task1_test_labels_{year}.json").write_text(f'{{"00010{year - 2020}": ["000104.txt"]}}')
    with pytest.raises(UsageError, match=r"has both 2021/task1_test_files_2021 and 2022/.*: choose one with year="):
        open_collection(f"coliee({tmp_path})").documents()
    assert open_collection(f"coliee({tmp_path}, year=2021)").qrels() == {"000101": {"000104": 1}}
    assert open_collection(f"coliee({tmp_path}, year=2022)").qrels() == {"000102": {"000104": 1}}


def test_coliee_of_2020_without_candidates_is_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "task1_test_2020" / "001").mkdir(parents=True)
    (tmp_path / "task1_test_2020" / "001" / "base_case.txt").write_text("A case.")
    with pytest.raises(ReadError, match="lacks the folder task1_test_2020/001/candidates of COLIEE task 1"):
        list(open_collection(f"coliee({tmp_path})").documents())


@pytest.mark.parametrize("labels", ["[[1]]", '{"1.txt": "2.txt"}', '{"1.txt": [["2.txt"]]}', "3"])
def test_invalid_coliee_labels_are_a_one_line_error(tmp_path: Path, labels: str) -> None:
    (tmp_path / "task1_test_files_2022").mkdir()
    (tmp_path / "task1_test_files_2022" / "000001.txt").write_text("A case.")
    (tmp_path / "task1_test_labels_2022.json").write_text(labels)
    with pytest.raises(ReadError, match="not a label file"):
        open_collection(f"coliee({tmp_path})").qrels()


def test_coliee_without_its_labels_still_has_queries(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "coliee", tmp_path / "coliee")
    (tmp_path / "coliee/task1_test_labels_2022.json").unlink()
    collection = open_collection("coliee(coliee)", tmp_path)
    assert list(texts(collection.queries())) == ["000101", "000104"]
    with pytest.raises(ReadError, match=r"task1_test_no_labels_2022.json: no case has labels"):
        collection.qrels()


# ---------------------------------------------------------------------------- Caselaw

MILL = (
    "Mill & Sons v. River Board\n\n(Slip Opinion)\n\n"
    "The mill owner claims under Ferry Co. v. Dale, 12 Inv. 34, 36.\nWe affirm."
)


def test_caselaw() -> None:
    collection = sample("caselaw(caselaw)")
    first, second, third = collection.documents()
    assert first == Document(
        "9001",
        "Ferry Co. v. Dale\n\nThe ferry sank.\n\nIts owner pays & appeals.",
        "Ferry Co. v. Dale",
        {"date": "1931-05-04"},
    )
    assert second == Document("9002", "The dam broke.\n\nThe board had been warned.\n")
    assert third == Document("9003", MILL, "Mill & Sons v. River Board", {"date": "2017-03-01"})
    assert skipped_by(collection) == [
        "/caselaw/opinions/9004.json: contains no text",
        "/caselaw/opinions/9005.json: not an opinion as JSON",
    ]


def test_caselaw_excludes_the_case_that_both_topics_share() -> None:
    collection = sample("caselaw(caselaw)")
    assert texts(collection.queries()) == {"1": MILL, "2": MILL}
    metadata = next(collection.queries()).metadata
    assert (metadata["case_id"], metadata["date"]) == ("9003", "2017-03-01")
    assert collection.excluded() == {"1": {"9003"}, "2": {"9003"}}
    assert collection.qrels() == {"1": {"9001": 3, "9002": 0, "9999": 1}, "2": {"9002": 3, "9001": 1}}
    kept = sample("caselaw(caselaw, itself=keep)")
    assert kept.excluded() == {}
    assert kept.qrels()["2"] == {"9002": 3, "9001": 1, "9003": 1}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sentence", {"1": "The mill owner claims under Ferry Co. v. Dale, 12 Inv. 34, 36.", "2": "We affirm."}),
        ("paragraph", {"1": "The mill owner claims under Ferry Co. v. Dale, 12 Inv. 34, 36. We affirm."}),
        ("keywords", {"1": "ferry\n\nright of way", "2": "affirm"}),
    ],
)
def test_caselaw_has_four_forms_of_a_topic_as_the_query(query: str, expected: dict[str, str], tmp_path: Path) -> None:
    collection = sample(f"caselaw(caselaw, query={query})")
    reported: list[Skipped] = []
    assert texts(collection.queries(reported.append)) == expected
    assert [one.path for one in reported] == sorted({"1", "2"} - set(expected))
    assert collection.qrels() == sample("caselaw(caselaw)").qrels()
    field = {"sentence": "citing_sentence", "paragraph": "citing_paragraph", "keywords": "relevant_keywords"}[query]
    write_beir(sample("caselaw(caselaw)"), tmp_path / "beir")
    converted = open_collection(f"beir(beir, query={field})", tmp_path)
    assert texts(converted.queries()) == expected


def test_caselaw_reads_compressed_bulk_data(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "caselaw/ussc-caselaw-collection", tmp_path / "ussc-caselaw-collection")
    for what, to in (("opinions", tmp_path / "opinions/scotus.tar.gz"), ("clusters", tmp_path / "clusters.tar")):
        to.parent.mkdir(exist_ok=True)
        with tarfile.open(to, "w:gz" if to.suffix == ".gz" else "w") as archive:
            for path in sorted((SAMPLES / "caselaw" / what).iterdir()):
                archive.add(path, path.name)
    packed = open_collection(f"caselaw({tmp_path})")
    assert list(packed.documents()) == list(sample("caselaw(caselaw)").documents())
    assert [path.name for path in packed.files()][-2:] == ["scotus.tar.gz", "clusters.tar"]
    (tmp_path / "opinions/scotus.tar.gz").write_bytes((tmp_path / "opinions/scotus.tar.gz").read_bytes()[:-200])
    with pytest.raises(ReadError, match=r"scotus.tar.gz: not a valid tar file"):
        list(packed.documents())


# ---------------------------------------------------------------------------- CLEF-IP

GUTTER = """Rain gutter with a bend

A gutter bends water through an angle α of 30 degrees.

Background

Gutters clog with leaves.

A bend of steel helps.

1. A gutter with a bend of steel.

2. The gutter of claim 1, painted."""


def test_clefip_merges_the_files_of_a_patent_in_english() -> None:
    collection = sample("clefip(clefip)")
    gutter, pipe = collection.documents()
    title = "Rain gutter with a bend"
    assert gutter == Document("EP-0000001", GUTTER, title, {"language": "EN", "date": "1980-01-09"})
    assert (pipe.id, pipe.text) == ("WO-1980000003", "Downpipe\n\nA pipe that takes water down.")
    assert texts(collection.queries()) == {
        "EP-1000010-A1": "Gutter heater\n\nA heater keeps a bent gutter free of ice.\n\n1. A heater for gutters."
    }
    assert collection.qrels() == {"EP-1000010-A1": {"EP-0000001": 2, "WO-1980000003": 1, "EP-0777777": 1}}
    assert collection.excluded()["EP-1000010-A1"] == {"EP-1000010"}


def test_clefip_in_all_languages() -> None:
    collection = sample("clefip(clefip, language=none)")
    assert texts(collection.documents())["EP-0000002"] == "Dachfenster\n\nEin Fenster im Dach."
    assert texts(collection.queries())["EP-1000011-A1"] == "Un radiateur de toit."
    assert collection.qrels()["EP-1000011-A1"] == {"EP-0000002": 1}


def test_clefip_rejects_entities_that_expand_without_limit() -> None:
    (skipped,) = skipped_by(sample("clefip(clefip)"))
    assert skipped.endswith("EP-0000004-A1.xml: not readable XML: it declares the entity 'a' itself")


def test_clefip_opens_no_external_entity(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret")
    shutil.copytree(SAMPLES / "clefip", tmp_path / "clefip")
    (tmp_path / "clefip/EP/000000/00/00/04/EP-0000004-A1.xml").write_text(
        f'<!DOCTYPE patent-document [<!ENTITY s SYSTEM "file://{secret}">]><patent-document lang="EN">'
        '<abstract lang="EN"><p>Told: &s;.</p></abstract></patent-document>'
    )
    (tmp_path / "clefip/EP/000000/00/00/02/EP-0000002-A1.xml").write_text(
        '<patent-document lang="EN"><abstract lang="EN"><p>No DTD &mdash; and &what; else?</p></abstract>'
        "</patent-document>"
    )
    documents = texts(open_collection("clefip(clefip)", tmp_path).documents())
    assert documents["EP-0000004"] == "Told: ."
    assert documents["EP-0000002"] == "No DTD — and else?"


def test_clefip_keeps_the_highest_of_several_judgements_of_a_patent(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("EP-1000010-A1 0 EP-0000001-A1 1\nEP-1000010-A1 0 EP-0000001-B1 2\n")
    collection = open_collection(f"clefip({SAMPLES / 'clefip'}, judgements={tmp_path / 'mine.txt'})")
    assert collection.qrels() == {"EP-1000010-A1": {"EP-0000001": 2}}


def test_clefip_keeps_the_judgements_of_a_topic_that_cannot_be_read(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "clefip", tmp_path / "clefip")
    (tmp_path / "clefip/PAC_test/files/EP-1000011-A1.xml").unlink()
    collection = open_collection("clefip(clefip)", tmp_path)
    assert collection.qrels()["EP-1000011-A1"] == {"EP-0000002": 1}
    reports: list[Skipped] = []
    list(collection.queries(reports.append))
    assert str(reports[0]).endswith("EP-1000011-A1.xml: cannot be read: No such file or directory")


# ---------------------------------------------------------------------------- Wikipedia


def test_wikipedia() -> None:
    collection = sample("wikipedia(wines)")
    assert texts(collection.documents()) == {
        "Hill_Red": "Hill Red is a wine of the northern hills. It is kept in oak.\n\nMonks pressed it first.",
        "Salt_&_Stone": "Salt & Stone is a white wine from the coast.",
        "Late_Amber": "Late Amber\n\nAmber wine rests on its skins.\nIt is drunk late.",
    }
    assert [query.id for query in collection.queries()] == ["Hill_Red", "Late_Amber"]
    assert collection.qrels() == {
        "Hill_Red": {"Salt_&_Stone": 2, "Late_Amber": 1},
        "Late_Amber": {"Hill_Red": 1, "Lost_Wine": 1},
    }
    assert skipped_by(collection) == [
        "/wines/raw_data:5: its sections are not a list of (heading, text)",
        "/wines/raw_data:6: contains no text",
    ]


def test_wikipedia_reports_missing_queries(tmp_path: Path) -> None:
    with (tmp_path / "wines.txt").open("w", newline="") as stream:
        csv.writer(stream).writerows([("Title", "Sections"), ("Hill Red", str([("", "A wine.")]))])
    (tmp_path / "gt").write_bytes(pickle.dumps({"Hill Red": ["Late Amber"], "Late Amber": ["Hill Red"]}))
    collection = open_collection(f"wikipedia({tmp_path})")
    reports: list[Skipped] = []
    assert [query.id for query in collection.queries(reports.append)] == ["Hill_Red"]
    assert [str(one) for one in reports] == ["Late_Amber: judged, but not among the readable articles"]
    assert collection.qrels() == {"Hill_Red": {"Late_Amber": 1}, "Late_Amber": {"Hill_Red": 1}}


class Attack:
    """An object whose pickle would run code on loading."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_cannot_run_code(tmp_path: Path, protocol: int) -> None:
    trap, victim = tmp_path / "gt", tmp_path / "victim"
    trap.write_bytes(pickle.dumps({"Hill Red": Attack(victim)}, protocol=protocol))
    with pytest.raises(ReadError, match=r"gt: rejected, it refers to (posix|nt)\.system, which is not plain data"):
        safe_pickle(trap)
    assert not victim.exists()
    pickle.loads(trap.read_bytes())  # without protection, it runs
    assert victim.exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_of_plain_data_is_read(tmp_path: Path, protocol: int) -> None:
    plain = {"a": OrderedDict(b=1), "c": defaultdict(int, d=2), "e": [1.5, None, ("f", {"g"}), True, -(2**70)]}
    (tmp_path / "gt").write_bytes(pickle.dumps(plain, protocol=protocol))
    assert safe_pickle(tmp_path / "gt") == plain


@pytest.mark.parametrize("content", [b"", b"not a pickle", b"cos\nsystem\n.", b"\x80\x05\x93.", b"(lp0\nI1\na"])
def test_a_damaged_pickle_is_a_one_line_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "gt").write_bytes(content)
    with pytest.raises(ReadError, match=r"gt: (not|rejected)"):
        safe_pickle(tmp_path / "gt")


# ---------------------------------------------------------------------------- ir_datasets


@pytest.fixture
def tiny_dataset(tmp_path: Path) -> str:
    """A dataset that needs no download, with its own name."""
    for name, content in (
        ("docs.tsv", "d1\tSalt keeps fish.\nd2\tSmoke keeps meat.\n"),
        ("queries.tsv", "q1\tkeeping fish\n"),
        ("qrels.txt", "q1 0 d1 1\nq1 0 d2 0\n"),
    ):
        (tmp_path / name).write_text(content)
    paths = [str(tmp_path / name) for name in ("docs.tsv", "queries.tsv", "qrels.txt")]
    name = f"rprs-{tmp_path.name}"
    ir_datasets.registry.register(name, ir_datasets.create_dataset(*paths))
    return name


def test_any_dataset_of_ir_datasets(tiny_dataset: str, tmp_path: Path) -> None:
    collection = open_collection(f"irds({tiny_dataset})")
    assert texts(collection.documents()) == {"d1": "Salt keeps fish.", "d2": "Smoke keeps meat."}
    assert texts(collection.queries()) == {"q1": "keeping fish"}
    assert collection.qrels() == {"q1": {"d1": 1, "d2": 0}}
    check_collection(collection, tmp_path)


def test_ir_datasets_errors_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no dataset 'no-such' in ir_datasets: see https://ir-datasets.com"):
        open_collection("irds(no-such)").documents()
    (tmp_path / "docs.tsv").write_text("d1\tSalt keeps fish.\n")
    name = f"rprs-{tmp_path.name}"
    ir_datasets.registry.register(name, ir_datasets.create_dataset(str(tmp_path / "docs.tsv")))
    with pytest.raises(UsageError, match="has no queries"):
        open_collection(f"irds({name})").queries()


# ---------------------------------------------------------------------------- missing data


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("beir(.)", r"lacks corpus.jsonl, which .* its makers \(https://.*\), and put corpus.jsonl, queries.jsonl and"),
        ("coliee(.)", r"lacks the folder task1_test_files_2021 of COLIEE task 1: .* organisers \(https://coliee.org"),
        ("caselaw(.)", r"lacks the opinions of Caselaw: .* CourtListener \(https://.*\), and put opinions/"),
        ("clefip(.)", r"lacks the patents of CLEF-IP 2011: .* TU Wien \(https://.*\), and put its folders EP and WO"),
        ("wikipedia(.)", r"lacks raw_data, which .* https://github.com/microsoft/SDR \(.*zenodo.*\), and put raw_data"),
    ],
)
def test_a_missing_collection_is_an_error_that_says_where_to_get_it(tmp_path: Path, spec: str, problem: str) -> None:
    with pytest.raises(ReadError, match=problem) as caught:
        open_collection(spec, tmp_path).documents()
    assert "\n" not in str(caught.value)
    for part in ("queries", "qrels", "files"):
        with pytest.raises(ReadError, match=f"{tmp_path} lacks .*: download from .*https://.*, and put .* there"):
            getattr(open_collection(spec, tmp_path), part)()


def test_a_missing_split_is_an_error_that_lists_the_existing_ones() -> None:
    with pytest.raises(ReadError, match="has no split 'train': it has dev, test"):
        sample("beir(beir, split=train)").qrels()


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("coliee(coliee, split=validation)", "The 'split' parameter of coliee must be 'train' or 'test'"),
        ("coliee(coliee, french=translate)", "The 'translator' parameter of coliee must be package.module:function"),
        ("coliee(coliee, translator=os:getcwd)", "must be omitted without french=translate"),
        ("beer(beir)", "There is no collection named 'beer': did you mean 'beir'"),
    ],
)
def test_an_invalid_parameter_is_a_one_line_error(spec: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        sample(spec)
