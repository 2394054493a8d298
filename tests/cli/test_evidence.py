"""Evidence on a terminal: bars, signs, changed words, and passages without a counterpart."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from rprs import Alignment, Coverage, Document, Duplicate, Hit, Results
from rprs.alignment.values import KINDS
from rprs.cli import evidence
from rprs.results.passages import Passage, Piece, passages, pieces, shortened
from tests.support.alignments import alignment_of, pair_of, sentences_of, span_of

QUERY = Document("lease.txt", "Supreme Court. The tenant shall pay the rent now. No dogs.")
DOCUMENT = Document("b.txt", "Supreme Court. The tenant must pay rent. Cats are fine.", "Lease of 2024")
PAIRS = [
    pair_of(QUERY.text, DOCUMENT.text, "identical", ("Supreme Court.",) * 2, boilerplate=True),
    pair_of(
        *(QUERY.text, DOCUMENT.text, "reworded"),
        ("The tenant shall pay the rent now.", "The tenant must pay rent."),
        changes=[("shall", "must"), ("the", ""), (" now", "")],
    ),
]
ALIGNMENT = alignment_of(QUERY, DOCUMENT, PAIRS, boilerplate=([span_of(QUERY.text, "Supreme Court.")], [(0, 14)]))


def printed(monkeypatch: pytest.MonkeyPatch, alignment: Alignment, *, colours: bool = False, **options: bool) -> str:
    console = Console(
        width=90, record=True, force_terminal=colours, color_system="standard" if colours else None, markup=False
    )
    monkeypatch.setattr(evidence, "stdout_console", lambda: console)
    with console.capture() as capture:
        evidence.print_alignment(alignment, KINDS, options.get("all_pairs", False))
    return capture.get()


def test_bars_are_as_wide_as_their_share() -> None:
    def bar(matched: int, words: int = 1000) -> str:
        return evidence.bar(Coverage(words, matched, 0, 0))

    assert (bar(0), bar(500), bar(281), bar(1000)) == ("       0%", "██    50%", "█▏    28%", "████ 100%")
    assert bar(999) == "████  99%"  # 100% only if every word has a counterpart
    assert evidence.bar(None).strip() == ""
    assert {len(bar(share)) for share in range(1001)} == {9}


def test_an_alignment_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [re.sub("(?<=.)  +", "  ", line).rstrip() for line in printed(monkeypatch, ALIGNMENT).splitlines()]
    assert lines == [
        "lease.txt  ⇄  b.txt  Lease of 2024",
        "82% of your document has a counterpart here: 18% identical, 64% reworded.",
        "70% of this document has a counterpart in yours: 20% identical, 50% reworded.",
        "= identical 1  ± reworded 1  ≈ same idea 0  (1 boilerplate)",
        "match  your document  this document",
        "",
        "= identical  Supreme Court.  Supreme Court.",
        "boilerplate",
        "",
        "± reworded  The tenant [-shall-] pay [-the-]  The tenant {+must+} pay rent.",
        "92% of words  rent[- now-].",
        "",
        "Without a counterpart: 1 of 3 sentences of your document",
        "   3  No dogs.",
        "Scores help you prioritise; they are not legal conclusions.",
    ]


def test_changes_are_coloured_where_the_terminal_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, ALIGNMENT, colours=True)
    assert "\x1b[9;31mshall\x1b[0m" in text  # struck through, red
    assert "\x1b[4;32mmust\x1b[0m" in text  # underlined, green
    assert "[-" not in text


def test_identical_texts_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Identical text." in printed(monkeypatch, replace(ALIGNMENT, relation="identical"))
    assert "Near duplicate." in printed(monkeypatch, replace(ALIGNMENT, relation="near duplicate"))


def test_only_the_most_telling_of_many_matches_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"Clause {number} binds the tenant." for number in range(30))
    parts = [f"Clause {number} binds the tenant." for number in range(30)]
    document = Document("d", text)
    pairs = [pair_of(text, text, "identical", (part, part)) for part in parts]
    alignment = alignment_of(document, document, pairs)
    few, everything = printed(monkeypatch, alignment), printed(monkeypatch, alignment, all_pairs=True)
    assert few.count("= identical") == 1 + evidence.PAIRS
    assert "The 20 most telling of 30 matches; --all prints them all." in few
    numbers = [line.split()[3] for line in everything.splitlines() if re.match("= identical +Clause", line)]
    assert numbers == [str(number) for number in range(30)]
    assert "Every sentence of your document has a counterpart." in everything


def test_a_hit_has_its_coverage_relation_evidence_and_duplicates(capsys: pytest.CaptureFixture[str]) -> None:
    twins = Duplicate("c.txt", "", "identical", 1.5, 2, {}), Duplicate("d.txt", "", "near duplicate", 1.0, 3, {})
    hit = Hit(
        *(1, "b.txt", 1.5, "Lease of 2024", {}, 4, 7.0, {"dp": 0.25}, (PAIRS[1],)),
        *(ALIGNMENT.query_coverage, ALIGNMENT.document_coverage, "near duplicate", twins),
    )
    evidence.print_hits(Results((hit,), 10, 3, (), {}), details=True)
    assert capsys.readouterr().out.splitlines() == [
        "  #  of yours   of theirs  document",
        "  1  ███▎  82%  ██▊   70%  b.txt  Lease of 2024  (near duplicate)",
        "     ± reworded, 92% of words: The tenant [-shall-] pay [-the-] rent[- now-].",
        "     ⇄ The tenant {+must+} pay rent.",
        "     also c.txt (identical text), d.txt (near duplicate)",
        "     score 1.5000 (DP 0.250); keyword rank 4",
    ]
    evidence.print_hits(Results((replace(hit, pairs=(), query_coverage=None, document_coverage=None),), 1, 1, (), {}))
    assert capsys.readouterr().out.splitlines()[0] == "  #  document"


# ---------------------------------------------------------------------------- passages


def test_the_pieces_of_a_passage_are_its_words() -> None:
    assert pieces(PAIRS[1], "query") == [
        Piece("The tenant "), Piece("shall", True), Piece(" pay "), Piece("the", True),
        Piece(" rent"), Piece(" now", True), Piece("."),
    ]  # fmt: skip
    assert pieces(PAIRS[1], "document") == [Piece("The tenant "), Piece("must", True), Piece(" pay rent.")]


@given(
    st.lists(st.builds(Piece, st.text("ab ", min_size=1, max_size=30), st.booleans()), max_size=8), st.integers(3, 60)
)
def test_a_shortened_passage_keeps_its_ends(passage: list[Piece], length: int) -> None:
    whole = "".join(piece.text for piece in passage)
    text = "".join(piece.text for piece in shortened(passage, length))
    assert len(text) <= max(length, 3) + 3
    if text != whole:
        start, end = text.split(" … ", 1)
        assert whole.startswith(start)
        assert whole.endswith(end)


@given(st.text(alphabet="ab 漢字é", max_size=80), st.integers(20, 60))
def test_a_shortened_text_fits_and_keeps_its_ends(text: str, width: int) -> None:
    text = " ".join(text.split())
    short = evidence.shorten(text, width)
    assert cell_len(short) <= width
    if short != text:
        start, end = short.split(" … ") if " … " in short else short.split("…")
        assert text.startswith(start.strip())
        assert text.endswith(end.strip())


def test_neighbouring_sentences_make_one_passage() -> None:
    text = "A. B. C. D. E."
    sentences = sentences_of(text, ["A.", "B.", "C.", "D.", "E."])
    without = [span_of(text, part) for part in ("A.", "B.", "D.", "E.")]
    found = passages(sentences, without)
    assert found == [Passage(1, 2, (0, 5)), Passage(4, 5, (9, 14))]
    assert [passage.numbers for passage in found] == ["1–2", "4–5"]
    assert passages(sentences, []) == []
