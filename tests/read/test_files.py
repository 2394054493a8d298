from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from rprs.document import Document
from rprs.errors import ReadError
from rprs.read import Fields, Skipped, Source, read, read_one, read_queries
from rprs.read import source as source_module
from tests.support.read_samples import JSONL, PACKERS, PROSE, SAMPLES, encrypted, pdf, word


def write_files(folder: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def outcome(*sources: Path, **options: Any) -> tuple[list[Document], list[str]]:
    """The documents, and one line per skipped file without the name of the folder."""
    skipped: list[Skipped] = []
    documents = list(read(sources, skipped=skipped.append, **options))
    return documents, [
        str(line).removeprefix(f"{sources[0]}/").removeprefix(f"{sources[0].parent}/") for line in skipped
    ]


# ---------------------------------------------------------------------------- folders


def test_a_tree_is_read_by_name_with_ids_relative_to_it(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"b.txt": "b", "a/z.md": "z", "a/y.txt": "y", "c/d/e.TXT": "e", ".git/x.txt": "x", ".b.txt": "b"}
    )
    documents, skipped = outcome(tmp_path)
    assert [document.id for document in documents] == ["a/y.txt", "a/z.md", "b.txt", "c/d/e.TXT"]
    assert [document.title for document in documents] == ["y", "z", "b", "e"]
    assert skipped == []
    assert documents == outcome(tmp_path)[0]


def test_every_format_is_read_plain_and_compressed(tmp_path: Path) -> None:
    for suffix, sample in SAMPLES.items():
        names = [f"{suffix}/x.{suffix}", *(f"{suffix}/x.{suffix}.{packer}" for packer in PACKERS)]
        write_files(tmp_path, dict.fromkeys(names, sample))
        for packer, pack in PACKERS.items():
            write_files(tmp_path, {f"{suffix}/x.{suffix}.{packer}": pack(sample)})
        texts = [[document.text for document in read(tmp_path / name)] for name in names]
        assert texts[0], suffix
        assert texts[1] == texts[0], suffix
        assert texts[2] == texts[0], suffix


def test_the_date_of_a_document_is_the_one_that_it_states_never_that_of_its_file(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"a.txt": "text", "b.html": "<meta name=date content=1999-12-31><p>text", "c.jsonl": '{"text": "x"}'}
    )
    for path in tmp_path.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    plain, page, record = outcome(tmp_path)[0]
    assert plain.metadata == {"path": str(tmp_path / "a.txt")}
    assert page.metadata["date"] == "1999-12-31"
    assert record.id == "c.jsonl#1"
    assert record.metadata == {"path": str(tmp_path / "c.jsonl")}


def test_in_a_beir_folder_only_the_corpus_or_the_queries_are_read(tmp_path: Path) -> None:
    queries = json.dumps({"_id": "q1", "text": "Who pays?"}).encode()
    write_files(
        tmp_path, {"set/corpus.jsonl.gz": gzip.compress(JSONL), "set/queries.jsonl": queries, "set/qrels/test.tsv": "q"}
    )
    assert [document.id for document in read(tmp_path)] == ["a1", "a2"]
    assert [document.id for document in read_queries(tmp_path / "set")] == ["q1"]


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    write_files(tmp_path, {"tree/a/x.txt": "x", "elsewhere/y.txt": "y"})
    (tmp_path / "tree/a/up").symlink_to(tmp_path / "tree")
    (tmp_path / "tree/other").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "tree/gone.txt").symlink_to(tmp_path / "nowhere.txt")
    documents, skipped = outcome(tmp_path / "tree")
    assert [document.id for document in documents] == ["a/x.txt", "other/y.txt"]
    assert skipped == [
        "a/up: a link to a folder that is already being read",
        "gone.txt: cannot be read: No such file or directory",
    ]


def test_an_index_among_the_documents_is_skipped(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "text", "mine.rprs/catalog.sqlite": "", "mine.rprs/segments/000001/spans.npy": ""})
    documents, skipped = outcome(tmp_path)
    assert [document.id for document in documents] == ["a.txt"]
    assert skipped == ["mine.rprs: an index, not documents"]


def test_a_pipe_in_a_folder_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert outcome(tmp_path) == ([], ["pipe.txt: not a regular file"])


def test_files_without_read_permission_are_skipped(tmp_path: Path) -> None:
    write_files(tmp_path, {"open/a.txt": "text", "open/b/c.txt": "text", "shut/d.txt": "text"})
    (tmp_path / "open").chmod(0o755)
    for name in ("open/a.txt", "open/b", "shut"):
        (tmp_path / name).chmod(0)
    code = (
        "import os, sys; from rprs.errors import ReadError; from rprs.read import find_reader, read\n"
        "find_reader('txt')\n"
        "os.chdir(sys.argv[1])\n"
        "if os.geteuid() == 0: os.setuid(65534)  # root may read everything\n"
        "print(list(read('.', skipped=print)))\n"
        "try: read('../shut/d.txt')\n"
        "except ReadError as error: print(error)"
    )
    tmp_path.chmod(0o755)
    output = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "open")], capture_output=True, text=True, check=True
    ).stdout
    (tmp_path / "open/b").chmod(0o700)
    (tmp_path / "shut").chmod(0o700)
    assert output.splitlines() == [
        "a.txt: cannot be read: Permission denied",
        "b: cannot be read: Permission denied",
        "[]",
        "../shut/d.txt: cannot be read: Permission denied",
    ]


def test_a_name_that_is_not_utf8_gives_an_id_that_can_be_stored(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))).write_text("text")
    (document,) = read(tmp_path)
    assert document.id == "caf\ufffd.txt"
    assert f"{document.metadata['path']}{document.title}".isprintable()


# ---------------------------------------------------------------------------- what is skipped


DAMAGED = "can't be opened; it may be damaged"
SKIPPED = {
    "empty.txt": (b"", "an empty file"),
    "empty.txt.gz": (gzip.compress(b""), "an empty file"),
    "blank.txt": (b" \n\t \r\n", "contains no text"),
    "binary.txt": (bytes(range(256)) * 10, "a binary file, not text"),
    "noise.txt": (bytes(range(1, 32)) * 10, "a binary file, not text"),
    "picture.png": (b"\x89PNG\r\n", "an unsupported file type"),
    "README": (b"read me", "an unsupported file type"),
    "scan.pdf": (pdf([[], []]), "No readable text: it looks like a scan. Run OCR first."),
    "secret.pdf": (encrypted(pdf([PROSE]), "key"), "an encrypted PDF: save a copy that opens without a password"),
    "cut.pdf": (pdf([PROSE])[:40], DAMAGED),
    "no.pdf": (b"hello", "can't be opened; it is not a PDF or is damaged"),
    "cut.docx": (word(*PROSE)[:-200], f"{DAMAGED} (BadZipFile: File is not a zip file)"),
    "none.docx": (word(), "contains no text"),
    "cut.rtf": (b"hello", r"not an RTF file, or damaged: it does not begin with {\rtf"),
    "bare.html": (b"<html><script>var x</script></html>", "contains no text"),
    "cut.txt.gz": (gzip.compress(PROSE[0].encode())[:-9], f"{DAMAGED} (EOFError: Compressed file ended before"),
    "no.txt.gz": (b"hello", f"{DAMAGED} (BadGzipFile: Not a gzipped file"),
    "no.txt.xz": (b"hello", f"{DAMAGED} (LZMAError: Input format not supported"),
    "none.json": (b"[]", "contains no documents"),
    "header.license": (b"---\nkey: x\nname: X\n---\n", "contains no text"),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_unreadable_files_are_skipped_with_a_reason_or_an_error_if_strict(tmp_path: Path, name: str) -> None:
    content, reason = SKIPPED[name]
    write_files(tmp_path, {name: content, "zz.txt": "fine"})
    documents, skipped = outcome(tmp_path)
    assert [document.id for document in documents] == ["zz.txt"]
    assert len(skipped) == 1
    assert skipped[0].startswith(f"{name}: {reason}")
    with pytest.raises(ReadError) as raised:
        list(read(tmp_path, strict=True))
    assert str(raised.value) == f"{tmp_path}/{skipped[0]}"


def test_a_pdf_that_the_empty_password_opens_is_read(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.pdf": encrypted(pdf([PROSE]), "")})
    assert read_one(tmp_path / "a.pdf").text == " ".join(PROSE)


def test_a_repeated_id_is_skipped_and_the_first_file_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"one/a.txt": "first", "two/a.txt": "second"})
    documents, skipped = outcome(tmp_path / "one", tmp_path / "two")
    assert [document.text for document in documents] == ["first"]
    assert skipped == [f"two/a.txt: the id 'a.txt' is already used by a document of {tmp_path}/one/a.txt"]


def test_a_document_that_is_too_large_after_unpacking_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "LIMIT", 2**20)
    bomb = word("a" * 2**21)
    assert len(bomb) < 2**18
    write_files(
        tmp_path,
        {
            "a.txt.gz": gzip.compress(b"a " * 2**20),
            "b.docx": bomb,
            "c.jsonl.gz": gzip.compress(b'{"text": "' + b"a" * 2**21 + b'"}'),
            "d.csv": b'text\n"' + b"a\n" * 2**20 + b'"\n',
        },
    )
    assert outcome(tmp_path)[1] == [
        "a.txt.gz: larger than 1 MB: split it into several documents",
        "b.docx: larger than 1 MB after unpacking: split it into several documents",
        "c.jsonl.gz: a line longer than 1 MB",
        "d.csv:2: not valid CSV: field larger than field limit (1048576); is a quote missing?",
    ]


# ---------------------------------------------------------------------------- single files


def test_a_named_file_without_a_suffix_is_read_if_it_is_text(tmp_path: Path) -> None:
    write_files(tmp_path, {"NOTICE": "Some text.", "data.bin": b"\0\1\2", "notes.xyz": "Some text."})
    assert read_one(tmp_path / "NOTICE") == Document(
        "NOTICE", "Some text.", "NOTICE", read_one(str(tmp_path / "NOTICE")).metadata
    )
    for name in ("data.bin", "notes.xyz"):
        with pytest.raises(ReadError, match=rf"{name}: an unsupported file type; supported are csv, .*, zip, also"):
            read_one(tmp_path / name)


def test_a_source_that_does_not_exist_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="nowhere: no such file or folder"):
        read([tmp_path, tmp_path / "nowhere"])


def test_one_source_need_not_be_a_list(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "text"})
    assert list(read(str(tmp_path))) == list(read([tmp_path]))


def test_a_query_file_has_one_document(tmp_path: Path) -> None:
    write_files(tmp_path, {"two.jsonl": JSONL, "one.json": '{"id": 7, "text": "Who pays?"}', "none.csv": "text\n"})
    assert read_one(tmp_path / "one.json").id == "7"
    with pytest.raises(ReadError, match=r"two\.jsonl: contains more than one document"):
        read_one(tmp_path / "two.jsonl")
    with pytest.raises(ReadError, match=r"none\.csv: contains no documents"):
        read_one(tmp_path / "none.csv")
    with pytest.raises(ReadError, match="a folder; name the file"):
        read_one(tmp_path)


def test_a_folder_of_files_is_a_set_of_queries(tmp_path: Path) -> None:
    write_files(tmp_path, {"q1.txt": "Who pays?", "q2.pdf": SAMPLES["pdf"], "q3.txt": ""})
    lines: list[str] = []
    assert [query.id for query in read_queries(tmp_path, skipped=lambda one: lines.append(str(one)))] == [
        "q1.txt",
        "q2.pdf",
    ]
    assert lines == [f"{tmp_path}/q3.txt: an empty file"]


# ---------------------------------------------------------------------------- plug-ins


def read_letter(source: Source) -> Any:
    head, _, body = source.text().partition("\n\n")
    yield Document(source.id, body, head)


def test_a_plug_in_adds_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint(".letter", f"{__name__}:read_letter", "rprs.reader"),
        EntryPoint("bad", "no.such:one", "rprs.reader"),
    ]
    monkeypatch.setattr(source_module, "entry_points", lambda group: points if group == "rprs.reader" else [])
    source_module._targets.cache_clear()
    try:
        write_files(tmp_path, {"a.letter.xz": PACKERS["xz"](b"Dear Sir\n\nPay.")})
        (document,) = read(tmp_path)
        assert (document.title, document.text) == ("Dear Sir", "Pay.")
        write_files(tmp_path, {"b.bad": b"x"})
        assert outcome(tmp_path)[1] == [
            "b.bad: the reader of .bad files, no.such:one, cannot be loaded: No module named 'no'"
        ]
    finally:
        monkeypatch.undo()
        source_module._targets.cache_clear()


def test_columns_can_be_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.csv": "number,abstract,text\n5,Short.,Long.\n"})
    (document,) = read(tmp_path, fields=Fields(id=("number",), text=("abstract",)))
    assert (document.id, document.text, document.metadata["text"]) == ("5", "Short.", "Long.")
