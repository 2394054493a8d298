"""Running heads and feet: what repeats is removed, and no word is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rprs.read import read_one
from rprs.read.pdf_paragraphs import paragraphs
from rprs.read.pdf_running import without_running_lines
from tests.support.read_samples import pdf

BODY = [f"The {word} paragraph of this agreement goes on over" for word in ("first", "second", "third", "fourth")]


def text_of(tmp_path: Path, pages: Sequence[Sequence[str]]) -> str:
    """What is read from a PDF with these lines."""
    (tmp_path / "a.pdf").write_bytes(pdf([list(page) for page in pages]))
    return read_one(tmp_path / "a.pdf").text


def test_the_first_head_stays_and_interrupts_no_sentence(tmp_path: Path) -> None:
    pages = [["Moss v. Reed", line, f"Draft, page {number} of 4"] for number, line in enumerate(BODY, 1)]
    body = " ".join(BODY)
    assert text_of(tmp_path, pages) == f"Moss v. Reed\n\n{body}\n\nDraft, page 1 of 4"
    pages[0].pop(0)  # a first page without a head: the head of the second one comes after the sentence
    assert text_of(tmp_path, pages) == f"{body}\n\nDraft, page 1 of 4\n\nMoss v. Reed"
    assert text_of(tmp_path, pages[1:3]).count("Moss v. Reed") == 2  # two pages do not show what repeats


def test_page_numbers_are_removed_from_all_pages(tmp_path: Path) -> None:
    for form in ("{}", "- {} -", "Page {} of 4", "Seite {}", "[{}/4]", "p. {}"):
        pages = [[line, form.format(number)] for number, line in enumerate(BODY, 1)]
        assert text_of(tmp_path, pages) == " ".join(BODY), form
    roman = [[numeral, line] for numeral, line in zip(("iii", "iv", "v", "vi"), BODY, strict=True)]
    assert text_of(tmp_path, roman) == " ".join(BODY)


def test_a_stamp_with_two_counting_numbers_is_a_running_head(tmp_path: Path) -> None:
    stamp = "Case 1:20-cv-01234 Document 45 Filed 03/15/21 Page {} of 4 PageID #: {}"
    pages = [[stamp.format(number, 770 + number), line] for number, line in enumerate(BODY, 1)]
    text = text_of(tmp_path, pages)
    assert text.count("Document 45") == 1
    assert " ".join(BODY) in text


def test_numbers_that_count_no_pages_are_text(tmp_path: Path) -> None:
    """A form whose pages begin with an amount: the words are the same, and the numbers are not those of pages."""
    amounts = ("Rent due: 900", "Rent due: 120", "Rent due: 4100", "Rent due: 77")
    text = text_of(tmp_path, [[amount, line] for amount, line in zip(amounts, BODY, strict=True)])
    assert all(amount in text for amount in amounts)
    years = [[line, year] for line, year in zip(BODY, ("1999", "1812", "2004", "1776"), strict=True)]
    assert all(year in text_of(tmp_path, years) for _, year in years)


def test_a_head_of_two_lines_is_divided_from_the_text(tmp_path: Path) -> None:
    oath = (
        "I swear that what is written on this page is the truth and that nothing that matters has been left out of it"
    )
    pages = [["Form 7", "Copy for the tenant", "", oath, line, "", "Initials:", "Signed"] for line in BODY]
    text = text_of(tmp_path, pages)
    assert text.count(oath) == 4  # a long line
    for once in ("Form 7\n\nCopy for the tenant\n\nI swear", "Initials:\n\nSigned"):
        assert text.count(once) == 1
    assert text.count("Copy") == text.count("Initials") == 1


def test_what_follows_a_head_stays(tmp_path: Path) -> None:
    """Forms whose text is the same on all pages: only the lines at the edges are taken for heads and feet."""
    for blank in ([], [""]):
        pages = [["Form 7", *blank, "Statement of the tenant", line, "I agree", *blank, "Signed"] for line in BODY]
        text = text_of(tmp_path, pages)
        assert text.count("Statement of the tenant") == text.count("I agree") == 4
        assert text.count("Form 7") == text.count("Signed") == 1


def test_a_title_that_is_also_the_running_head_stays_the_beginning(tmp_path: Path) -> None:
    text = text_of(tmp_path, [["Lease of a House", line] for line in BODY])
    assert text == f"Lease of a House\n\n{' '.join(BODY)}"


LINES = st.lists(st.sampled_from(["Head", "Head 1", "Foot", "one two", "three", "", "7", "8", "Page 2"]), max_size=5)


@given(st.lists(LINES, max_size=9))
def test_no_word_is_lost(pages: list[list[str]]) -> None:
    def words(lines: Sequence[str]) -> set[str]:
        return {word for line in lines for word in re.findall(r"[^\W\d]+", line) if word != "Page"}

    assert words([line for page in pages for line in page]) == words([paragraphs(pages)])
    cleaned = without_running_lines(pages)
    for page, before in zip(cleaned, pages, strict=True):
        own = [line for line in [*page.heads, *page.lines, *page.feet] if line]
        rest = iter(line for line in before if line)
        assert all(line in rest for line in own)  # in the same order
