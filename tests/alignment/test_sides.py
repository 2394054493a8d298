"""The characters of ranges of words, against a regex."""

from __future__ import annotations

import re
import sys
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rprs.alignment.sides import Side, make_side
from rprs.alignment.values import Span
from rprs.document import Document
from rprs.text.marks import WHITE_SPACE
from rprs.text.split import SentenceSplitter

_STOPS = re.compile(r"[.!?。！？]+[\"'”’)\]]*(?=\s|$)")


def literal_span(side: Side, first: int, stop: int) -> Span:
    sentences = list(zip(side.sentences.spans.tolist(), pairwise(side.bounds.tolist()), strict=True))
    begun = [start for (start, _), (head, tail) in sentences if head == first < tail]
    filled = [end for (_, end), (_, tail) in sentences if tail == stop]
    start, end = int(side.words.starts[first]), int(side.words.ends[stop - 1])
    mark = _STOPS.match(side.document.text, end)
    return min([start, *begun]), max(end, filled[0]) if filled else mark.end() if mark else end


@given(st.text("ab.!？\"'”)] \n\u3000-", max_size=40))
def test_marks_behind_a_range_belong_to_it(text: str) -> None:
    side = make_side(Document("d", text), SentenceSplitter().split(text))
    for first in range(len(side.words)):
        for stop in range(first + 1, len(side.words) + 1):
            assert side.span(first, stop) == literal_span(side, first, stop)


def test_all_white_space_is_known() -> None:
    assert set(WHITE_SPACE) == {char for char in map(chr, range(sys.maxunicode + 1)) if char.isspace()}
