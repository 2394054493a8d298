from __future__ import annotations

import pickle
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs import spec
from rprs.errors import UsageError
from rprs.text.split import SentenceSplitter, TokenSplitter

SENTENCES = SentenceSplitter()


def split(text: str, splitter: SentenceSplitter | TokenSplitter = SENTENCES) -> list[str]:
    return splitter.split(text).texts(text)


def paragraphs(text: str) -> list[list[str]]:
    result = SENTENCES.split(text)
    groups: list[list[str]] = [[] for _ in range(int(result.paragraphs.max(initial=-1)) + 1)]
    for number, sentence in zip(result.paragraphs.tolist(), result.texts(text), strict=True):
        groups[number].append(sentence)
    return groups


# ---------------------------------------------------------------------------- hard cases: law, patents, science

HARD = """
See Smith v. Jones, 123 F.2d 456 (9th Cir. 1990).|The court did not agree.
As shown in FIG. 3, the valve 12 is closed.|The spring 14 holds it.
He sued pursuant to 42 U.S.C. § 1983.|The claim was dismissed.
No. 08–651. Argued October 13, 2009.
The case is Brown v. Board of Education, 347 U. S. 483, 495 (1954).|It was decided without dissent.
See id., at 12; cf. Doe v. Roe, 5 S. Ct. 77.|We therefore affirm the judgment.
The rule is in 29 C.F.R. § 1910.134(b)(2).|It applies here.
Acme Corp. v. Widget Co., 12 F. Supp. 2d 34 (S.D.N.Y. 1998), is not to the contrary.|That case was settled.
U.S. Pat. No. 5,123,456 describes a pump.|It has no valve.
Referring now to Figs. 1 and 2, a housing 10 is shown.|FIG. 1 is a side view.
Samples were taken from N. attenuata plants (Fig. 2B).|Geocoris spp. predators were absent.
As Price et al. (1980) showed, the effect is small.|Our data confirm it.
The compound, e.g. ethanol, i.e. an alcohol, was added.|Nothing was seen to happen.
Under Sec. 4 of the Act, as amended by Pub. L. No. 94-553, the fee is due.|It was not paid.
Mr. Justice Holmes delivered the opinion of the Court.|He was brief.
Justice Kennedy, J., dissented.|Justice Scalia, J., joined him.
The plaintiff, John Q. Public, Jr., appeals.|The order is reversed.
She works at Widget Inc. in Dayton.|She likes it.
He bought it from Widget Inc.|The price was high.
The plaintiff lives in the U.S.|He came in 1990.
"Is that so?" he asked.|"Yes, it is," she said.
The statute says: "No person shall be held."|That is clear.
The claim was filed at 5 p.m. on Jan. 3, 2001.|It was late.
Art. 6(1) of the Convention and Arts. 7 and 8 apply.|So does para. 12.
The values were p < .05 and r = 0.31.|They were significant.
See Restatement (Second) of Torts § 402A cmt. i (1965).|The comment is on point.
Rev. Rul. 71-447, 1971-2 C.B. 230, denied the exemption.|The school sued.
The court cited 17 Stat. 13.|Congress had passed it in 1871.
Ex parte Young, 209 U.S. 123 (1908), controls.|We so hold.
1. A device comprising a lever.|2. The device of claim 1, wherein the lever is steel.
(a) The tenant shall pay rent.|(b) The landlord shall repair.
Smith, 12 Cal. App. 4th at 99, 15 Cal. Rptr. 2d 1.|This is dictum.
A temperature of approx. 20 deg. C. was used.|The yield was 80%.
Is the contract void?|We do not think so!|It stands as written.
The term ... shall not exceed five years.|The parties agree.
See, e.g., Roe, 410 U. S., at 152–153.|The right is not absolute.
See Op. Att'y Gen. 12 (1990).|The opinion binds the agency.
See 5 U. S. C. §§ 551 et seq. and Fed. R. Civ. P. 12(b)(6).|The motion was denied.
The patent (EP No. 0 123 456 A1) expired.|The owner had forgotten it.
He held a Ph.D. in chemistry from M.I.T. in 1990.|He then went to Bell Labs.
It was decided by the 2d Cir. in 1991.|The Supreme Court denied cert. in 1992.
The vessel was 12 ft. long and 3 in. wide.|It sank at sea.
See 2 W. LaFave & J. Israel, Criminal Procedure § 11.1 (1984).|The treatise is cited often.
The tolerance is ±0.5 mm.|The bolt 22 fits the bore.
The assay was run at pH 7.4.|The buffer was PBS.
Held: The motion is denied.|Justice Roe took no part.
The claims recite "a resilient member."|The specification describes springs only.
Plaintiff's expert, Dr. A. B. Carter, M.D., testified.|He was cross-examined.
Section 2.1. Definitions apply to this agreement.|They are set out below.
See Doe, 12 N.E.2d at 14 n. 3.|The note is dictum.
Cells (n = 12) were lysed (Sigma, St. Louis, MO).|Lysates were frozen at −80 °C.
The sequence (SEQ ID NO. 5) encodes a kinase.|SEQ ID NO. 6 does not.
He lives at 12 Main St. in Springfield.|His wife lives in Dayton.
Baltimore & O.R.R. v. Kepner, 314 U.S. 44, is cited in vs. Doe.|It is old.
The ratio (cf. Tab. 3) was 4.2 vs. 3.9 mg/ml.|Both differ from zero.
The mixture was heated to 37.5 °C. for 2 h.|It was then cooled.
The office was the U.S. Pat. Off. before it was renamed.|It has grown since.
He relied on exhibit A.|The court did not.
""".strip().splitlines()

# Known errors: "h." and "A." are treated as parts of a name, and "Off." is not recognised as an abbreviation.
KNOWN_LIMITS = set(HARD[-3:])


def test_hard_cases_are_split_as_a_reader_would() -> None:
    wrong = {case for case in HARD if split(case.replace("|", " ")) != case.split("|")}
    assert wrong == KNOWN_LIMITS
    assert len(HARD) - len(wrong) >= 54


# ---------------------------------------------------------------------------- fragments


def test_a_fragment_is_merged_with_the_preceding_sentence() -> None:
    assert split("The judgment of the court is affirmed. So ordered. Costs are to be shared.") == [
        "The judgment of the court is affirmed. So ordered.",
        "Costs are to be shared.",
    ]


def test_a_first_fragment_and_a_list_marker_are_merged_with_the_following_sentence() -> None:
    assert split("Yes. He did it on purpose.") == ["Yes. He did it on purpose."]
    assert split("The terms are these. IV. The tenant pays. § 5. The landlord repairs.") == [
        "The terms are these.",
        "IV. The tenant pays.",
        "§ 5. The landlord repairs.",
    ]


def test_a_marker_on_a_line_of_its_own_belongs_to_the_next_paragraph() -> None:
    assert paragraphs(
        "The parties agree as follows.\n\n1.\n\nThe rent is due monthly.\n\n(b)\nIt is paid in cash."
    ) == [
        ["The parties agree as follows."],
        ["1.\n\nThe rent is due monthly."],
        ["(b)\nIt is paid in cash."],
    ]


def test_a_heading_is_a_separate_sentence() -> None:
    assert paragraphs("Introduction\n\nPlants defend themselves. They do it well.") == [
        ["Introduction"],
        ["Plants defend themselves.", "They do it well."],
    ]


# ---------------------------------------------------------------------------- lines and paragraphs

WRAPPED = dedent(
    """\
    GENERAL TERMS

    The licensee may copy the work and give copies of it to others, as long
    as every copy carries this notice. A copy that is changed must say so in
    a prominent place. The following must be given along with every copy:
    (a) the complete text of this licence, unchanged and in a form that can
    be read without special means;
    (b) the address at which the licensor can be reached.
    Liability
    The licensor is not liable for any damage that follows from the use of
    the work, whether or not the damage could have been foreseen by anybody.
    """
)


def test_in_wrapped_text_a_newline_is_only_white_space() -> None:
    result = [[" ".join(sentence.split()) for sentence in group] for group in paragraphs(WRAPPED)]
    assert result == [
        ["GENERAL TERMS"],
        [
            "The licensee may copy the work and give copies of it to others, as long as every copy carries this "
            "notice.",
            "A copy that is changed must say so in a prominent place.",
            "The following must be given along with every copy:",
        ],
        [
            "(a) the complete text of this licence, unchanged and in a form that can be read without special means;",
        ],
        ["(b) the address at which the licensor can be reached."],
        ["Liability"],
        [
            "The licensor is not liable for any damage that follows from the use of the work, whether or not the "
            "damage could have been foreseen by anybody.",
        ],
    ]


def test_windows_line_ends_make_no_difference() -> None:
    plain = [" ".join(sentence.split()) for sentence in split(WRAPPED)]
    assert [" ".join(sentence.split()) for sentence in split(WRAPPED.replace("\n", "\r\n"))] == plain


def test_in_unwrapped_text_every_newline_ends_a_paragraph() -> None:
    long = "The court below held that the statute does not reach the conduct of which the plaintiff complains, and so"
    text = (
        f"Opinion of the Court\n{long} do we. {long}; we affirm.\nThe facts\n{long}\nBackground of it all\n{long} too."
    )
    assert [len(group) for group in paragraphs(text)] == [1, 2, 1, 1, 1, 1]


def test_bullets_in_wrapped_text_are_paragraphs() -> None:
    text = dedent(
        """\
        The apparatus has these parts, which are shown together in the figure
        * a housing with a lid that opens towards the operator of the machine
        * a motor inside the housing, with a shaft that carries a blade, which
          turns in the direction of the arrow
        * a switch
        """
    )
    assert [" ".join(group[0].split())[:12] for group in paragraphs(text)] == [
        "The apparatu",
        "* a housing ",
        "* a motor in",
        "* a switch",
    ]


def test_a_form_feed_ends_a_paragraph() -> None:
    assert len(paragraphs("The end of a page.\fThe start of a page.")) == 2


# ---------------------------------------------------------------------------- long sentences


def test_long_sentences_become_pieces_of_25_words() -> None:
    words = [f"w{i}" for i in range(103)]
    pieces = split(" ".join(words))
    assert [len(piece.split()) for piece in pieces] == [25, 25, 25, 25, 3]
    assert " ".join(pieces).split() == words
    assert len(split(" ".join(words[:100]))) == 1


@pytest.mark.parametrize(("count", "sizes"), [(50, [25, 25]), (51, [25, 26]), (52, [25, 27]), (53, [25, 25, 3])])
def test_one_or_two_last_words_stay_with_their_piece(count: int, sizes: list[int]) -> None:
    pieces = split("word " * count, SentenceSplitter(limit=30))
    assert [len(piece.split()) for piece in pieces] == sizes


def test_a_very_long_word_is_cut() -> None:
    assert max(map(len, split("QUJD" * 25_000))) <= 2_500
    assert max(map(len, split("a " * 200 + "QUJD" * 25_000))) <= 2_500


MORE_UNITS = ["alpha beta ", "ก", "a.) ", "!", 'a."', "1.\n", "Foo v. ", "汉.", "x\n"]


@pytest.mark.parametrize("unit", ["A. ", "汉", *(pytest.param(unit, marks=pytest.mark.slow) for unit in MORE_UNITS)])
def test_time_grows_linearly_with_the_text(unit: str) -> None:
    split(unit * 100)

    def best(size: int) -> float:
        text = unit * (size // len(unit))
        seconds = []
        for _ in range(3):
            start = time.process_time()
            split(text)
            seconds.append(time.process_time() - start)
        return min(seconds)

    # Sixteen times the text: sixteen times as long, or 256 times if it were quadratic; a busy machine lies between.
    assert best(160_000) < 100 * best(10_000) + 0.5


def test_a_document_of_400_000_words_on_one_line_takes_seconds() -> None:
    draw = random.Random(7)
    text = " ".join(
        draw.choices(["the", "court", "held", "that", "Smith", "v.", "Jones", "applies.", "See", "id."], k=400_000)
    )
    start = time.process_time()
    assert len(split(text)) > 4_000
    assert time.process_time() - start < 60  # it takes half a second


# ---------------------------------------------------------------------------- other scripts


def test_chinese_and_japanese_are_split_on_their_own_punctuation() -> None:
    assert split("本院认为，被告应当赔偿。原告的请求成立！被告是否上诉？尚不清楚；判决如下。") == [
        "本院认为，被告应当赔偿。",
        "原告的请求成立！",
        "被告是否上诉？",
        "尚不清楚；",
        "判决如下。",
    ]
    assert split("本発明は弁に関する。「弁は閉じる。」と書かれている。図１に示す。") == [
        "本発明は弁に関する。",
        "「弁は閉じる。」と書かれている。",
        "図１に示す。",
    ]
    assert split("这是第一句话.这是第二句话!这是第三句话") == ["这是第一句话.", "这是第二句话!", "这是第三句话"]


def test_full_stops_of_other_scripts_end_sentences() -> None:
    assert split("यह पहला वाक्य है। यह दूसरा वाक्य है।") == ["यह पहला वाक्य है।", "यह दूसरा वाक्य है।"]
    assert split("هل هذا هو العقد؟ نعم هذا هو العقد.") == ["هل هذا هو العقد؟", "نعم هذا هو العقد."]


@pytest.mark.parametrize("character", ["汉", "の", "ก", "ក"])
def test_a_script_without_spaces_never_becomes_one_giant_sentence(character: str) -> None:
    assert {len(piece) for piece in split(character * 1_000)} == {50}


def test_mixed_text() -> None:
    assert split("The term 合同 means a contract. 合同成立。It binds both parties.") == [
        "The term 合同 means a contract.",
        "合同成立。",
        "It binds both parties.",
    ]


# ---------------------------------------------------------------------------- properties

MARKS = """word No. v. Smith 。 」 汉字 ก ิ ́ . ! ? … " ) (a) 1. § * -""".split()
SPACES = [" ", "  ", "\n", "\n\n", "\r\n", "\f", "\u2028", "\u3000", "\xa0", "\x1c"]
PIECES = st.sampled_from([*MARKS, *SPACES, "\ufeff", "\0", "\ud800", "x" * 1_200])
TEXTS = st.one_of(
    st.text(),
    st.lists(PIECES, max_size=60).map("".join),
    st.lists(PIECES, max_size=60).map(" ".join),
)
SPLITTERS = st.one_of(
    st.builds(lambda limit, piece: SentenceSplitter(limit, min(limit, piece)), st.integers(1, 40), st.integers(1, 40)),
    st.builds(TokenSplitter, st.integers(1, 40)),
)


def check(text: str, splitter: SentenceSplitter | TokenSplitter, end: int) -> None:
    result = splitter.split(text)
    assert result.spans.dtype == np.int64
    assert result.spans.shape == (len(result), 2)
    assert result.paragraphs.dtype == np.int32
    assert result.paragraphs.shape == (len(result),)
    position = 0
    for start, stop in result.spans.tolist():
        assert text[position:start].strip() == ""
        assert text[start:stop] == text[start:stop].strip() != ""
        position = stop
    assert text[position:end].strip() == ""
    assert position <= end
    steps = [after - before for before, after in pairwise([0, *result.paragraphs.tolist()])]
    assert all(step in (0, 1) for step in steps)
    assert steps[:1] in ([], [0])


@settings(max_examples=250, deadline=None)
@given(TEXTS, SPLITTERS)
def test_sentences_contain_everything_but_white_space(text: str, splitter: SentenceSplitter | TokenSplitter) -> None:
    check(text, splitter, len(text))


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 30))
def test_first_splits_only_a_prefix(text: str, first: int) -> None:
    units = TokenSplitter(length=1).split(text).spans.tolist()
    end = units[first - 1][1] if first <= len(units) else len(text)
    check(text, SentenceSplitter(first=first), end)
    check(text, TokenSplitter(length=7, first=first), end)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_no_sentence_has_many_more_words_than_the_limit(text: str) -> None:
    for sentence in split(text, SentenceSplitter(limit=10, piece=5)):
        assert len(sentence.split()) <= 10


# ---------------------------------------------------------------------------- tokens, texts of components, pickling


def test_units_of_a_fixed_number_of_tokens() -> None:
    assert split("one two three\n\nfour five six seven", TokenSplitter(length=3)) == [
        "one two three",
        "four five six",
        "seven",
    ]
    assert split("合同 means contract", TokenSplitter(length=2)) == ["合同", "means contract"]


def test_a_unit_belongs_to_the_paragraph_in_which_it_begins() -> None:
    result = TokenSplitter(length=2).split("one two three\n\nfour\n\nfive\n\nsix seven")
    assert result.paragraphs.tolist() == [0, 0, 1, 2]


def test_first_tokens_only() -> None:
    assert split("The first sentence is here. The second is not.", SentenceSplitter(first=7)) == [
        "The first sentence is here. The second"
    ]
    assert split("one two three four five", TokenSplitter(length=2, first=3)) == ["one two", "three"]
    assert split("one two", SentenceSplitter(first=100)) == ["one two"]


@pytest.mark.parametrize("text", ["", " \n\n\t "])
def test_no_text_has_no_sentences(text: str) -> None:
    assert len(SENTENCES.split(text)) == 0
    assert len(TokenSplitter().split(text)) == 0


@pytest.mark.parametrize(
    "text",
    ["sentences", "sentences(limit=60)", "sentences(limit=30,piece=10,first=512)", "tokens", "tokens(length=64)"],
)
def test_the_text_of_a_splitter_parses_back(text: str) -> None:
    splitter = spec.parse("splitter", text)
    assert str(splitter) == text
    again = pickle.loads(pickle.dumps(splitter))
    assert again == splitter
    assert again.split(WRAPPED).spans.tolist() == splitter.split(WRAPPED).spans.tolist()


@pytest.mark.parametrize(
    "text",
    ["sentences(limit=0)", "sentences(piece=0)", "sentences(limit=20)", "sentences(first=0)", "tokens(length=0)"],
)
def test_an_invalid_parameter_is_named_in_the_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"The '(limit|piece|first|length)' parameter of (sentences|tokens) must be"):
        spec.parse("splitter", text)


def test_splitting_is_deterministic_and_thread_safe() -> None:
    texts = [case.replace("|", " ") for case in HARD] * 5
    expected = [split(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(split, texts)) == expected


def test_nupunkt_is_loaded_on_first_use() -> None:
    code = "import sys, rprs.text.split; sys.exit('nupunkt' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
