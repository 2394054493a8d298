from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

from rprs.document import Document
from rprs.read import Skipped, read


def outcome(path: Path, content: str | bytes) -> tuple[list[Document], list[str]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    skipped: list[Skipped] = []
    documents = list(read(path, skipped=skipped.append))
    return documents, [str(line).removeprefix(f"{path.parent}/") for line in skipped]


def metadata(document: Document) -> dict[str, object]:
    return {key: value for key, value in document.metadata.items() if key != "path"}


def test_the_title_is_prepended_once_and_kept(tmp_path: Path) -> None:
    records = [
        {"_id": "1", "title": "Lease", "text": "The tenant pays."},
        {"_id": "2", "title": "Lease", "text": "Lease of a house."},
        {"_id": "3", "title": "", "text": "No title."},
        {"_id": "4", "title": "Only a title", "text": ""},
        {"_id": 5, "Title": None, "Contents": ["One.", "Two."]},
    ]
    documents, skipped = outcome(tmp_path / "a.jsonl", "\n".join(map(json.dumps, records)))
    assert skipped == []
    assert [(document.id, document.title, document.text) for document in documents] == [
        ("1", "Lease", "Lease\n\nThe tenant pays."),
        ("2", "Lease", "Lease of a house."),
        ("3", "", "No title."),
        ("4", "Only a title", "Only a title"),
        ("5", "", "One.\n\nTwo."),
    ]


def test_every_other_column_is_metadata(tmp_path: Path) -> None:
    record = {
        "docno": "1", "text": "x", "year": 1999, "ok": True, "none": None, "tags": ["a", "é"],
        "metadata": {"court": "High", "year": 1, "judge": {"name": "B"}},
    }  # fmt: skip
    (document,), _ = outcome(tmp_path / "a.json", json.dumps(record))
    assert metadata(document) == {
        "year": 1999, "ok": True, "none": None, "tags": '["a", "é"]', "court": "High", "judge": '{"name": "B"}',
    }  # fmt: skip


def test_values_that_cannot_be_stored_are_removed(tmp_path: Path) -> None:
    line = (
        r'{"id": "a\u0000b", "n": NaN, "i": Infinity, "k\ud800": "\udc00", "text": "one\u0000\r\n \ud83d\ude00\ud83d"}'
    )
    (document,), _ = outcome(tmp_path / "a.jsonl", line)
    assert document.id == "ab"
    assert document.text == "one\n 😀\ufffd"
    assert metadata(document) == {"n": None, "k\ufffd": "\ufffd", "i": None}


def test_an_invalid_line_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    lines = [
        '{"id": "1", "text": "one"}',
        "",
        '{"id": "2", "text": ',
        "[1, 2]",
        '{"id": "3", "summary": "x"}',
        '{"id": "", "text": "x"}',
        '{"id": ["3"], "title": {}, "text": "x"}',
        '{"id": "4", "text": " "}',
        '{"id": "5", "text": 7.5, "title": true}',
        "[" * 100_000,
        '{"text": "last"}',
    ]
    documents, skipped = outcome(tmp_path / "a.jsonl", "\r\n".join(lines))
    assert [(document.id, document.text) for document in documents] == [("1", "one"), ("a.jsonl#10", "last")]
    assert skipped == [
        "a.jsonl:3: not valid JSON: Expecting value at column 20",
        "a.jsonl:4: not a record with columns but [1, 2]",
        "a.jsonl:5: no text: expected one of the columns text, contents, body, content; the columns are id, summary",
        "a.jsonl:6: its id, in the column id, is empty",
        "a.jsonl:7: its title is not a text but {}",
        "a.jsonl:8: its text, in the column text, is empty",
        "a.jsonl:9: its title is not a text but true",
        "a.jsonl:10: JSON that cannot be read: nested too deeply",
    ]


def test_json_is_a_list_of_records_or_one(tmp_path: Path) -> None:
    documents, skipped = outcome(tmp_path / "a.json", '[{"text": "one"}, 5, {"text": "three"}]')
    assert [document.id for document in documents] == ["a.json#1", "a.json#3"]
    assert skipped == ["a.json#2: not a record with columns but 5"]
    assert outcome(tmp_path / "b.json", '{"text": "x"}\n{"text": "y"}')[1] == [
        "b.json: not valid JSON: Extra data at line 2, column 1; for one record per line, use .jsonl"
    ]


def test_tables_with_comma_semicolon_and_tab(tmp_path: Path) -> None:
    for name, mark in (("a.csv", ","), ("b.csv", ";"), ("c.csv", "\t"), ("d.tsv", "\t")):
        rows = [
            ["ID", "Title", "text", "year", "zip", "share", ""],
            ["1", "T", '"Say ""no"".\n\nTwice."', "1999", "007", "-0.5", "z"],
        ]
        documents, skipped = outcome(tmp_path / name, "\ufeff" + "\r\n".join(mark.join(row) for row in rows))
        assert skipped == []
        (document,) = documents
        assert (document.id, document.title, document.text) == ("1", "T", 'T\n\nSay "no".\n\nTwice.')
        assert metadata(document) == {"year": 1999, "zip": "007", "share": -0.5}


def test_a_broken_row_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    table = 'id,text,note\n1,one,x\n2,two\n\n3,three,x,y\n4,"fo"ur,x\n5,five,\n6,"never closed\n7,seven,x\n'
    documents, skipped = outcome(tmp_path / "a.csv", table)
    assert [(document.id, document.text, document.metadata["note"]) for document in documents] == [
        ("1", "one", "x"),
        ("2", "two", None),
        ("5", "five", None),
    ]
    assert skipped == [
        "a.csv:5: 4 cells under 3 columns: is a quote missing?",
        "a.csv:6: not valid CSV: ',' expected after '\"'; is a quote missing?",
        "a.csv:8: not valid CSV: unexpected end of data; is a quote missing?",
    ]


def test_a_table_without_a_text_column_is_one_line(tmp_path: Path) -> None:
    assert outcome(tmp_path / "a.csv", "number,words\n1,x\n2,y\n") == (
        [],
        ["a.csv: no text: expected one of the columns text, contents, body, content; the columns are number, words"],
    )


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    (document,), _ = outcome(tmp_path / "a.csv", "text\n" + "word " * 200_000)
    assert len(document.text) == 1_000_000


def test_records_that_are_not_utf8(tmp_path: Path) -> None:
    line = json.dumps({"text": "Ein Kläger, drei Beklagte, schöne Grüße — „so“."}, ensure_ascii=False)
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"):
        (document,), _ = outcome(tmp_path / "a.jsonl", line.encode(encoding))
        assert document.text == "Ein Kläger, drei Beklagte, schöne Grüße — „so“.", encoding


def test_damage_in_a_compressed_file_is_reported_and_earlier_records_are_read(tmp_path: Path) -> None:
    records = [json.dumps({"id": str(n), "text": f"document {n * 7919}"}) for n in range(50_000)]
    packed = lzma.compress("\n".join(records).encode(), preset=0)
    documents, skipped = outcome(tmp_path / "a.jsonl.xz", packed[: len(packed) // 2])
    assert 10_000 < len(documents) < 50_000
    assert skipped == [
        "a.jsonl.xz: can't be opened; it may be damaged "
        "(EOFError: Compressed file ended before the end-of-stream marker was reached)"
    ]


def test_memory_stays_flat_over_a_long_file(tmp_path: Path) -> None:
    record = json.dumps({"text": "word " * 20_000})
    with lzma.open(tmp_path / "a.jsonl.xz", "wt", preset=0) as stream:
        stream.writelines(f"{record}\n" for _ in range(1_000))  # 100 MB
    code = (
        "import resource, sys; from rprs.read import read\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "documents = read(sys.argv[1]); next(documents); before = peak()\n"
        "print(sum(1 for _ in documents), peak() - before)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout
    count, grown = output.split()
    assert int(count) == 999
    assert float(grown) < 20, f"{grown} MB"
