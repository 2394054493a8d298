"""A folder as an office has it: every readable file is read with its text, every other one is named with its reason."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from rprs.document import Document
from rprs.errors import ReadError
from rprs.read import Skipped, read, read_one
from rprs.read import source as limits
from rprs.read.kinds import kind_of
from tests.support.office_samples import (
    ASSIGN,
    FIXTURES,
    JATS,
    RED_BOOK,
    RENT,
    ST36,
    ST96,
    archive,
    bzip2_tar,
    mail,
    mailbox,
    outlook,
    presentation,
    tar,
    workbook,
)  # fmt: skip
from tests.support.read_samples import HTML, JSONL, PROSE, RTF, SAMPLES, encrypted, pdf, word

LETTER = [
    "Lease of a house", RENT, "The café is naïve — “quoted”.", "Rent\tDue", "100\tmonthly", ASSIGN,
    "As defined in section 2.",
]  # fmt: skip
RENTS = ["Rents", "Tenant\tRent", "Anna Moss\t100", "Notes", "The tenant shall pay the rent."]
TALK = ["Rights of tenants", "The tenant shall pay the rent.", "Neither party may assign."]
TITLED = ["Clerk and Moss, solicitors", "Rights of tenants", "A talk at the bar association", "Rent", TALK[1]]
PATENT = [
    "Lock for a door", "A lock is described.", "Field", "The lock has a bolt & a key.", "1. A lock comprising a bolt.",
]  # fmt: skip
HTML_TEXT = [
    "Lease", "The tenant shall pay rent.", "No dogs.\nNo cats.", "No fish.", "one", "two", "Rent\tDue", "100\tmonthly",
    "Signed here\nand there",
]  # fmt: skip
RTF_TEXT = [
    "Lease", "The tenant pays.\nHe pays on time.", "Café, naïve {sic} \\par none.", "Rent\t100|month", "the statute😀",
]  # fmt: skip
BOOK = [  # LibreOffice writes withdrawn words and the numbers of notes into a book as if they were text
    LETTER[0], "The tenant1 shall pay the rent on the first day of each month.withdrawn words", LETTER[2],
    "Rent", "Due", "100", "monthly", ASSIGN, "1As defined in section 2.",
]  # fmt: skip
PRINTED = [BOOK[0], f"{BOOK[1]} {BOOK[2]}", "Rent Due", "100 monthly", ASSIGN, "1 As defined in section 2."]


def fixture(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


KINDS: dict[str, tuple[bytes, list[str]]] = {  # kind → a file, and the paragraphs of its text
    **{f"{kind}": (fixture(f"letter.{kind}"), LETTER) for kind in ("doc", "docx", "odt", "rtf")},
    **{f"{kind}": (fixture(f"rents.{kind}"), RENTS) for kind in ("ods", "xls", "xlsx")},
    **{f"{kind}": (fixture(f"talk.{kind}"), TALK) for kind in ("odp", "pptx")},
    "ppt": (gzip.decompress(fixture("talk.ppt.gz")), TALK),
    "pdf": (pdf([PROSE]), [" ".join(PROSE)]),
    "html": (HTML, HTML_TEXT),
    "txt": (SAMPLES["txt"], PROSE),
    "md": (SAMPLES["md"], ["Lease", PROSE[0], *(f"- {line}" for line in PROSE[1:])]),
}
OTHERS: dict[str, tuple[bytes, dict[str, list[str]]]] = {  # file → its documents
    "letter.epub": (fixture("letter.epub"), {"": BOOK}),
    "written.docx": (word(*PROSE, title="Lease"), {"": PROSE}),
    "written.xlsx": (workbook([["Tenant", "Rent"], ["Anna", 100.0]]), {"": ["Rents", "Tenant\tRent", "Anna\t100"]}),
    "written.pptx": (
        presentation(("Rights", RENT, "A note."), ("End", ASSIGN, "")),
        {"": ["Rights", RENT, "A note.", "End", ASSIGN]},
    ),
    "ep.xml": (ST36, {"": PATENT}),
    "st96.xml": (ST96, {"": [*PATENT[:3], "The lock has a bolt.", "1. A lock."]}),
    "week.xml": (
        "".join(RED_BOOK.replace("{number}", str(number)) for number in (7, 8)).encode(),
        {"#US-7-B2": PATENT, "#US-8-B2": PATENT},
    ),
    "article.nxml": (JATS, {"": ["Rent and law", "We study rent.", "Methods", "We read leases1."]}),
    "plain.eml": (bytes(mail()), {"": ["Rent due — café", RENT]}),
    "page.eml": (bytes(mail(html=f"<p>{RENT}</p><p>Yours</p>")), {"": ["Rent due — café", RENT, "Yours"]}),
    "Inbox": (
        mailbox(mail("From here on, nothing."), mail(ASSIGN, number=2, attachments={"a.txt": b"Attached words."})),
        {
            "/1@example.org": ["Rent due — café", "From here on, nothing."],
            "/2@example.org": ["Rent due — café", ASSIGN],
            "/2@example.org/a.txt": ["Attached words."],
        },
    ),
    "outlook.msg": (
        outlook(letter_doc=fixture("letter.doc"), long_txt=ASSIGN.encode() * 100),
        {
            "": ["Rent due", RENT],
            "/letter.doc": LETTER,
            "/long.txt": [ASSIGN * 100],
            "/Forwarded.msg": ["Earlier message", ASSIGN],
        },
    ),
    "records.jsonl": (JSONL, {"a1": ["Lease", PROSE[0]], "a2": ["Interest", PROSE[1]]}),
    "files.tar": (tar({"a/b.txt": b"In a tar.", "c.rtf": RTF}), {"/a/b.txt": ["In a tar."], "/c.rtf": RTF_TEXT}),
    "files.tgz": (tar({"b.txt": b"In a tar."}, "w:gz"), {"/b.txt": ["In a tar."]}),
    "files.tar.xz": (tar({"b.txt": b"In a tar."}, "w:xz"), {"/b.txt": ["In a tar."]}),
    "files.tbz2": (bzip2_tar({"b.txt": b"In a tar."}), {"/b.txt": ["In a tar."]}),
    "nested.zip": (
        archive({"mail.eml": bytes(mail(attachments={"x.zip": archive({"deep/y.txt": b"Deep."})}))}),
        {"/mail.eml": ["Rent due — café", RENT], "/mail.eml/x.zip/deep/y.txt": ["Deep."]},
    ),
    "names.zip": (
        archive({"../up.txt": b"Up.", "C:\\dir\\win.txt": b"Win.", "__MACOSX/a.txt": b"no", "d/.DS_Store": b"\0"}),
        {"/up.txt": ["Up."], "/dir/win.txt": ["Win."]},
    ),
    "RTF.doc": (RTF, {"": RTF_TEXT}),
    "text.doc": (RENT.encode(), {"": [RENT]}),
    "page.doc": (HTML, {"": HTML_TEXT}),
    "page.pdf": (b"\n<!-- saved -->\n" + HTML, {"": HTML_TEXT}),
    "page.txt": (HTML, {"": HTML_TEXT}),
    "pdf.txt": (pdf([PROSE]), {"": [" ".join(PROSE)]}),
    "word.pdf": (fixture("letter.docx"), {"": LETTER}),
    "excel.docx": (fixture("rents.xlsx"), {"": RENTS}),
    "message.txt.eml": (bytes(mail()), {"": ["Rent due — café", RENT]}),
    "no-suffix-pdf": (pdf([PROSE]), {"": [" ".join(PROSE)]}),
}
REFUSED = {
    "locked.pdf": (encrypted(pdf([PROSE]), "key"), "an encrypted PDF"),
    "scan.pdf": (pdf([[], []]), "No readable text"),
    "photo.jpg": (b"\xff\xd8\xff\xe0" + bytes(100), "an unsupported file type"),
    "program.exe": (b"MZ" + bytes(100), "an unsupported file type"),
    "cut.doc": (fixture("letter.doc")[:5000], ""),
    "cut.odt": (fixture("letter.odt")[:-300], "can't be opened; it may be damaged"),
    "cut.msg": (outlook()[:900], ""),
    "empty.eml": (b"", "an empty file"),
    "headless.eml": (b"\n\n", "not an e-mail message"),
    "empty.zip": (archive({}), "contains no documents"),
    "other.xml": (b"<?xml version='1.0'?><catalog/>", "XML of an unknown kind, with the root element <catalog>"),
    "broken.xml": (b"<?xml version='1.0'?><us-patent-grant>", "not readable XML"),
    "old.doc": (
        fixture("letter.doc").replace(b"W\0o\0r\0d\0D\0o\0c\0", b"X\0o\0r\0d\0D\0o\0c\0"),
        "not a file of Word",
    ),
}
SILENT = {"~$letter.docx": b"lock", "Thumbs.db": b"\xd0\xcf\x11\xe0", ".DS_Store": b"\0", "desktop.ini": b"[x]"}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("office")
    files: dict[str, bytes] = {name: data for name, (data, _) in OTHERS.items()}
    files |= {name: data for name, (data, _) in REFUSED.items()} | SILENT
    for kind, (data, _) in KINDS.items():
        files[f"as-is/letter.{kind}"] = data
        files[f"packed/letter.{kind}.gz"] = gzip.compress(data)
        files[f"attached/{kind}.eml"] = bytes(mail(attachments={f"letter.{kind}": data}))
    files["all.zip"] = archive({f"folder/letter.{kind}": data for kind, (data, _) in KINDS.items()})
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    assert len(files) >= 80
    return folder


@pytest.fixture(scope="module")
def contents(office: Path) -> tuple[dict[str, Document], dict[str, str]]:
    skipped: list[Skipped] = []
    documents = {document.id: document for document in read(office, skipped=skipped.append)}
    return documents, {item.path.removeprefix(f"{office}/"): item.reason for item in skipped}


Contents = tuple[dict[str, Document], dict[str, str]]


def assert_paragraphs(document: Document, expected: list[str]) -> None:
    assert document.text.strip().split("\n\n") == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_read_alone_compressed_attached_and_in_an_archive(kind: str, contents: Contents) -> None:
    documents, _ = contents
    for id in (
        f"as-is/letter.{kind}",
        f"packed/letter.{kind}.gz",
        f"attached/{kind}.eml/letter.{kind}",
        f"all.zip/folder/letter.{kind}",
    ):
        assert_paragraphs(documents[id], KINDS[kind][1])
    assert documents[f"attached/{kind}.eml/letter.{kind}"].metadata["attached_to"] == f"attached/{kind}.eml"
    assert documents[f"all.zip/folder/letter.{kind}"].metadata["archive"] == "all.zip"


@pytest.mark.parametrize("kind", ["doc", "docx", "odt", "rtf"])
def test_text_of_word_processors_is_exactly_what_was_written(kind: str, contents: Contents) -> None:
    document = contents[0][f"as-is/letter.{kind}"]
    assert document.text == "\n\n".join(LETTER)  # with the footnote, without deleted words and comments
    assert (document.title, document.metadata["author"], document.metadata["date"]) == (
        "Lease of a house", "A. Clerk", "2015-03-09",
    )  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_other_kinds_and_with_wrong_suffixes(name: str, contents: Contents) -> None:
    documents, skipped = contents
    for suffix, expected in OTHERS[name][1].items():
        assert_paragraphs(documents[suffix if name == "records.jsonl" else f"{name}{suffix}"], expected)
    assert not [path for path in skipped if path.startswith(f"{name}/") or path == name]
    if name != "records.jsonl":
        assert sum(id == name or id.startswith((f"{name}/", f"{name}#")) for id in documents) == len(OTHERS[name][1])


def test_every_other_file_is_named_with_its_reason(contents: Contents) -> None:
    documents, skipped = contents
    assert skipped.keys() == REFUSED.keys()
    for name, (_, reason) in REFUSED.items():
        assert reason in skipped[name], name
        assert name not in documents
    assert not any(id.endswith(tuple(SILENT)) for id in documents)


def test_messages_have_sender_date_and_subject(contents: Contents) -> None:
    message = contents[0]["attached/doc.eml"]
    assert message.title == message.metadata["subject"] == "Rent due — café"
    assert (message.metadata["sender"], message.metadata["recipients"], message.metadata["date"]) == (
        "Anna Clerk <anna@example.org>", "ben@example.org", "2015-03-09",
    )  # fmt: skip
    assert message.metadata["attachments"] == "letter.doc"
    inner = contents[0]["outlook.msg/Forwarded.msg"].metadata
    assert (inner["sender"], inner["attached_to"]) == ("Ben Moss", "outlook.msg")


def test_patents_and_articles_have_dates_and_classes(contents: Contents) -> None:
    documents, _ = contents
    grant = documents["week.xml#US-8-B2"].metadata
    assert [grant[key] for key in ("date", "filing_date", "classes", "inventor", "language")] == [
        "2015-03-10", "2012-04-02", "E05B 65/08", "Moss, Anna", "en",
    ]  # fmt: skip
    european = documents["ep.xml"].metadata
    assert [european[key] for key in ("number", "date", "filing_date", "classes")] == [
        "EP-1000001-B1", "2001-01-31", "1999-03-04", "E05B 65/08",
    ]  # fmt: skip
    assert documents["st96.xml"].metadata["number"] == "US-20150000001-A1"
    article = documents["article.nxml"].metadata
    assert [article[key] for key in ("author", "date", "journal", "doi")] == [
        "Moss, Anna", "2015-03-09", "Journal of Leases", "10.1/x",
    ]  # fmt: skip


def test_a_message_with_attachments_is_one_query(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(bytes(mail(attachments={"a.txt": b"Attached.", "logo.png": b"\x89PNG"})))
    reported: list[Skipped] = []
    assert read_one(path, skipped=reported.append).text.startswith("Rent due — café")
    assert [str(item) for item in reported] == [f"{path}/logo.png: an unsupported file type"]


def test_content_decides_where_it_can() -> None:
    assert kind_of(b"{\\rtf1", "doc") == "rtf"
    assert kind_of(b"From: a@b.c\nis not a header block of a message", "txt") == ""
    assert kind_of(b"From a long time ago\n\nIt was dark.", "") == ""
    assert kind_of(b"# Markdown\n<html>", "md") == ""


# ---------------------------------------------------------------------------- limits


def test_archives_inside_of_archives_are_limited(tmp_path: Path) -> None:
    data = archive({"a.txt": b"Too deep."})
    for _ in range(9):
        data = archive({"next.zip": data})
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(ReadError, match="more than 4 archives or messages inside of each other"):
        list(read(tmp_path, strict=True))


@pytest.mark.parametrize(("what", "reason"), [("members", "too many members"), ("bytes", "after unpacking: the rest")])
def test_members_of_archives_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, reason: str
) -> None:
    monkeypatch.setattr(limits.Budget, "__init__", limited(what))
    members = {f"{number}.txt": b"word " * 200 for number in range(9)}
    for name, data in {"a.zip": archive(members), "b.tgz": tar(members, "w:gz")}.items():
        (tmp_path / name).write_bytes(data)
        skipped: list[Skipped] = []
        assert len(list(read(tmp_path / name, skipped=skipped.append))) == 3
        assert len(skipped) == 1
        assert reason in skipped[0].reason


def limited(what: str) -> object:
    def start(self: limits.Budget, members: int = 3, bytes: int = 3_500) -> None:
        self.members = members if what == "members" else 100
        self.bytes = bytes if what == "bytes" else 10**6

    return start


WRITTEN = [
    *(("letter.fodt", kind, LETTER) for kind in ("doc", "odt", "docx", "rtf")),
    ("letter.fodt", "epub", BOOK),
    ("letter.fodt", "pdf", PRINTED),
    *(("rents.fods", kind, RENTS) for kind in ("ods", "xls", "xlsx")),
    *(("talk.fodp", kind, TALK) for kind in ("odp", "ppt", "pptx")),
    *(("titled.pptx", kind, TITLED) for kind in ("odp", "ppt")),
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice: soffice")
@pytest.mark.parametrize(
    ("source", "kind", "expected"), WRITTEN, ids=[f"{source}-{kind}" for source, kind, _ in WRITTEN]
)
def test_what_libreoffice_writes_now(source: str, kind: str, expected: list[str], tmp_path: Path) -> None:
    path = FIXTURES / "sources" / source
    command: list[str | Path] = ["soffice", "--headless", "--convert-to", kind, "--outdir", tmp_path, path]
    subprocess.run(command, check=True, capture_output=True)
    document = read_one(tmp_path / f"{path.stem}.{kind}")
    assert document.text == "\n\n".join(expected)
    if expected is TITLED:
        assert document.title == "Rights of tenants"
