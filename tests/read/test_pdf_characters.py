"""All characters of a page at once are the same as one by one, whatever a font maps its codes to."""

from __future__ import annotations

import pypdfium2
import pypdfium2.raw as pdfium
from hypothesis import example, given
from hypothesis import strategies as st

from rprs.read import pdf as module

# Letters of the file → what its font says they are: ligatures, controls, hyphens, other scripts, and nothing at all.
UNUSUAL = {
    "A": "FB01", "B": "05D0", "C": "0627", "D": "0002", "E": "FFFE", "F": "D83DDE00", "G": "0000", "H": "00AD",
    "I": "4E2D", "J": "0093", "K": "0003", "L": "FFFD", "M": "E001", "N": "2010", "O": "006600660069", "P": "0301",
    "Q": "202E", "R": "FB4A", "S": "2028", "T": "200B",
}  # fmt: skip
CHARACTERS = "abc -.()[]<>" + "".join(UNUSUAL)


def mapped_pdf(lines: list[str]) -> bytes:
    """A PDF of one page, whose font maps capital letters to unusual characters."""
    table = "\n".join(f"<{ord(letter):02x}> <{code}>" for letter, code in UNUSUAL.items())
    mapping = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        "1 begincodespacerange\n<00> <ff>\nendcodespacerange\n"
        f"{len(UNUSUAL)} beginbfchar\n{table}\nendbfchar endcmap end end"
    )
    shown = " ".join(f"<{line.encode('latin-1').hex()}> Tj T*" for line in lines)
    content = f"BT /F1 11 Tf 14 TL 72 760 Td {shown} ET"
    page = "/MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R {page} >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        f"<< /Length {len(mapping)} >>\nstream\n{mapping}\nendstream",
    ]
    body = "".join(f"{number} 0 obj\n{value}\nendobj\n" for number, value in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer\n<< /Size 7 /Root 1 0 R >>\n".encode()


@given(st.lists(st.text(CHARACTERS, max_size=12), max_size=6))
@example(["plain text (only)", "with a co-", "operating hyphen"])
@example(["BB (BC) B", "RABF"])
@example(["G"])
def test_characters_at_once_are_those_one_by_one(lines: list[str]) -> None:
    document = pypdfium2.PdfDocument(mapped_pdf(lines))
    page = document[0].get_textpage()
    codes = [pdfium.FPDFText_GetUnicode(page.raw, number) for number in range(page.count_chars())]
    assert module._characters(page) == "".join(map(chr, codes))
    document.close()
