from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.errors import ReadError
from rprs.read import Skipped, read
from rprs.read.dates import iso_date
from rprs.read.encoding import clean, decode, detect, is_doubtful

TEXTS = {
    "french": "La cour d'appel a jugé que le créancier n'était pas fondé à réclamer des intérêts à cette date.\n",
    "german": "Das Gericht hat entschieden, dass der Kläger für öffentliche Aufträge keine Entschädigung erhält.\n",
    "polish": "Sąd orzekł, że roszczenie powoda uległo przedawnieniu, ponieważ bieg terminu rozpoczął się później.\n",
    "russian": "Суд постановил, что срок исковой давности истёк, поскольку уведомление было вручено ответчику.\n",
    "greek": "Το δικαστήριο έκρινε ότι η αξίωση έχει παραγραφεί, διότι η προθεσμία άρχισε από την επίδοση.\n",
    "japanese": "裁判所は、原告の請求には理由がないとして、これを棄却した。契約の解除は有効である。\n",
    "chinese": "法院认为，原告的诉讼请求缺乏事实和法律依据，依法不予支持。合同的解除合法有效。\n",
    "taiwanese": "法院認為，原告的訴訟請求缺乏事實和法律依據，依法不予支持。合同的解除合法有效。\n",
    "korean": "법원은 원고의 청구가 이유 없다고 판단하여 이를 기각하였다. 계약의 해제는 유효하다.\n",
}
LEGACY = [
    ("french", "latin-1"), ("german", "cp1252"), ("polish", "cp1250"), ("russian", "cp1251"), ("russian", "koi8_r"),
    ("greek", "cp1253"), ("japanese", "shift_jis"), ("chinese", "gb18030"), ("chinese", "gb2312"),
    ("taiwanese", "big5"), ("korean", "euc_kr"),
]  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("language", TEXTS)
def test_unicode_is_detected(language: str, encoding: str) -> None:
    assert decode(TEXTS[language].encode(encoding)) == TEXTS[language]


@pytest.mark.parametrize(("language", "encoding"), LEGACY)
def test_old_encodings_are_detected_in_short_and_long_texts(language: str, encoding: str) -> None:
    for times in (2, 5, 3_000):  # the last is longer than the sample, which then ends within a character
        text = TEXTS[language] * times
        assert decode(text.encode(encoding)) == text


def test_utf16_without_a_mark() -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        assert decode(TEXTS["french"].encode(encoding)) == TEXTS["french"]


def test_typographic_quotes_of_windows_in_an_english_text() -> None:
    text = "The “tenant” — as he is called — pays. " + "Nothing else is agreed between the parties. " * 20
    assert decode(text.encode("cp1252")) == text


def test_stray_windows_bytes_in_a_utf8_file_do_not_affect_the_rest() -> None:
    data = (TEXTS["polish"] * 20).encode() + b"\x93quoted\x94\n"
    assert decode(data) == TEXTS["polish"] * 20 + "“quoted”\n"


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("iso-8859-1", "cp1252"),
        ("Shift_JIS", "cp932"),
        ("GBK", "gb18030"),
        ("windows-1251", "cp1251"),
        ("iso-2022-jp", "iso2022_jp"),
    ],
)
def test_a_declared_encoding_is_used(declared: str, encoding: str) -> None:
    text = {"cp1252": "é", "cp932": "契約", "gb18030": "合同", "cp1251": "Суд", "iso2022_jp": "契約"}[encoding]
    assert decode(text.encode(encoding), declared) == text


@pytest.mark.parametrize("declared", ["iso-8859-1", "no-such-code", "hex", "punycode", "ascii\0", "utf-16"])
def test_a_wrong_declaration_is_ignored(declared: str) -> None:
    assert decode("Kläger und Gläubiger".encode(), declared) == "Kläger und Gläubiger"


@pytest.mark.parametrize("data", [b"\0\1\2\3", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(1, 256)), b"a\0\0b" * 9])
def test_binary_data_is_not_text(data: bytes) -> None:
    with pytest.raises(ReadError, match="a binary file, not text"):
        decode(data)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn"), exclude_characters="\ufeff"), min_size=1))
def test_utf8_is_always_recognised(text: str) -> None:
    assert decode(text.encode()) == text


@given(st.binary())
def test_any_bytes_are_a_known_encoding_or_binary(data: bytes) -> None:
    try:
        data.decode(detect(data), "replace")
    except ReadError as error:
        assert str(error) == "a binary file, not text"  # noqa: PT017


@given(st.text(st.characters()))
def test_a_clean_text_can_be_stored_and_is_clean(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert not set("\0\r\x0c\x85\u00ad") & set(cleaned)
    assert clean(cleaned) == cleaned


def test_examples_of_cleaning() -> None:
    assert clean("a\r\nb\rc\x0cd") == "a\nb\nc\nd"
    assert clean("\x93so\x94 \x97 co\u00adoperate\x00\x1b[1m\ufeff") == "“so” — cooperate[1m"
    assert clean("\ud83d\ude00 \ud83d") == "😀 \ufffd"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2015-03-09", "2015-03-09"), ("2015-03-09T23:59:59+02:00", "2015-03-09"), ("2015/03/09", "2015-03-09"),
        ("D:20150309100000Z", "2015-03-09"), ("20150309", "2015-03-09"), ("Mon, 9 Mar 2015 10:00:00 GMT", "2015-03-09"),
        ("2015-02-30", ""), ("9.3.2015", ""), ("yesterday", ""), ("", ""),
    ],
)  # fmt: skip
def test_dates(text: str, date: str) -> None:
    assert iso_date(text) == date


GERMAN = "Die Bürgschaft für größere Beträge läßt sich nach der Prüfung ändern; die Übergabe ist möglich."
FRENCH = "L'élève a été reçu à l'école où le garçon préfère déjà naître, ça coûte très cher."
SPANISH = "El señor compró jamón y café en España. ¿Qué pasó?"
DANISH = "Løsøre og værelser på øen blev solgt til køberen."


@pytest.mark.parametrize("text", [GERMAN, FRENCH, SPANISH, DANISH])
@pytest.mark.parametrize("encoding", ["cp1252", "cp850", "mac_roman"])
@pytest.mark.parametrize("times", [1, 50])
def test_encodings_of_dos_windows_and_macintosh_are_told_apart(text: str, encoding: str, times: int) -> None:
    assert decode((text * times).encode(encoding)) == text * times


def test_a_text_in_another_encoding_is_reported(tmp_path: Path) -> None:
    wrong = GERMAN.encode("mac_roman").decode("cp1252", "ignore")
    (tmp_path / "a.txt").write_text(wrong, encoding="utf-8")
    dashes = "The page—server–side or not—must be visible on the site—at all times."
    (tmp_path / "c.txt").write_text(dashes, encoding="utf-8")
    (tmp_path / "b.txt").write_text(GERMAN + FRENCH + "O’Hara’s — “naïve” café, Łódź, Dvořák.", encoding="utf-8")
    skipped: list[Skipped] = []
    assert len(list(read(tmp_path, skipped=skipped.append))) == 3
    assert [(item.path, item.reason, item.partly) for item in skipped] == [
        (str(tmp_path / "a.txt"), "some letters look wrong: check its encoding and save it as UTF-8", True)
    ]


@given(st.text(alphabet="aAbZ éÉßŽ’–Ã©…\xa0\xad ñ§1_中я\n", max_size=16))
def test_doubtful_letters_are_those_between_letters(text: str) -> None:
    """The same by one expression for the whole text, which takes several times as long."""
    beyond = re.findall("[^\x00-\x7f]", text)
    latin = sum("\x80" <= char <= "\u024f" or "\u2000" <= char <= "\u25ff" for char in beyond)
    inside = re.findall(r"(?<=[^\W\d_A-Z])[^\x00-\x7f](?=[^\W\d_A-Z])", text)
    strange = [char for char in inside if char not in "’‘·‐‑‒–—―…•\xa0\xad" and (char.isupper() or not char.isalpha())]
    assert is_doubtful(text) == (len(beyond) >= 3 and latin == len(beyond) and len(strange) > len(beyond) / 3)
