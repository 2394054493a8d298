"""Remembered decisions are those of nupunkt for whole paragraphs, whatever the text and what was asked before."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rprs.text import boundaries, scan
from rprs.text.boundaries import Boundaries

ABBREVIATIONS = frozenset(["v", "cf", "u.s.c", "fig"])
WORDS = """
the court The COURT he I I'm I’ve In v. vs. cf. U.S. U.S.C. No. no. Mr. Jr. Inc. Ph.D. a.m. fig. A. J. x.
É. 1. 12. 22, 3.5 1,000.00. -4. (4) (a) II. iv. xii. A.) 1.) (b). (1948). court. court, end.) end." end.”
end.' end.’ end?" end!) what? What?! no!! ! ? . .. ... …. … word… word. word.[3] word."[16] U.S.[29]
word.* word.** e.g., i.e. Co., o'clock. gov’t. aff'd. don't. foo.)bar foo.@bar foo.;bar x.y end.)-- --
--end " ' ) ]} *' "The "the (The [the] § §12. ß. ǅ. ÷ 12.) .5 .b ?x !x foo.'s foo.’s 中文 中。 Ünder. über.
##number## Wall. Supp. L. Ed. 2d S. Ct. ¶ 5. & At&t. e-mail. mid-Jan. * ** ` "...
""".split()
GAPS = st.sampled_from([" "] * 12 + ["  ", "\t", "\n", "\r", "\r\n", "\xa0", "\x0b", "\x1c", "\u2003", " \n "])
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), GAPS).map("".join), max_size=14).map("".join)
CHARACTERS = st.text(alphabet=". . .?!…\"')]}”’»*-aAbIv1 (,;:\n", max_size=30)


@cache
def punkt() -> Any:
    from nupunkt.models import load_default_model

    tokenizer = load_default_model()
    tokenizer.add_abbreviations(sorted(ABBREVIATIONS))
    return tokenizer


@cache
def remembered() -> Boundaries:
    """One for all examples, so that most decisions are remembered."""
    return Boundaries(ABBREVIATIONS)


def expected(block: str) -> list[int]:
    return [begin for begin, _ in punkt().span_tokenize(block.replace("\n", " "))][1:]


def found(text: str, blocks: list[tuple[int, int]]) -> list[int]:
    return remembered().begins(text, scan.contexts(scan.marks(text), np.array(blocks, dtype=np.int64).reshape(-1, 2)))


@given(TEXTS | CHARACTERS | st.text(max_size=40))
@example("See id. . . . . The")
@example('He said so. " The end.')
@example("1.) The first. Water. . . . is wet. 12. 13. 14. A. B. The")
def test_sentences_begin_where_nupunkt_begins_them(text: str) -> None:
    text = text.strip()
    if text:
        assert found(text, [(0, len(text))]) == expected(text)


@given(st.lists(TEXTS.map(str.strip).filter(bool), min_size=1, max_size=4))
def test_blocks_know_nothing_of_each_other(parts: list[str]) -> None:
    text, blocks, begins = "", [], []
    for part in parts:
        text += "\n. "
        blocks.append((len(text), len(text) + len(part)))
        begins += [len(text) + begin for begin in expected(part)]
        text += part
    assert found(text, blocks) == begins


def test_full_tables_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundaries, "_MOST", 3)
    own = Boundaries(ABBREVIATIONS)
    for number in range(40):
        text = f"Word{number}. The v. Word{number} . . . of Smith{number}. (A) No. {number}. Then"
        contexts = scan.contexts(scan.marks(text), np.array([[0, len(text)]]))
        assert own.begins(text, contexts) == expected(text)
    assert max(len(own._rules), len(own._keys), len(own._longer)) <= 3


def test_the_white_space_of_python_is_known() -> None:
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    assert scan.longest_chunk(scan.marks("".join(spaces))) == 0
    assert scan.longest_chunk(scan.marks("a\u3001b\U0001f600c")) == 5
