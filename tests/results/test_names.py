"""Names of exported files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs import Document
from rprs.results.names import ascii_name, hits_name, report_name

LEASE = Document("contracts/lease.pdf", "Rent.", "Lease of a café")
HOLLAND = Document("88-5050", "Held.", "Holland v. Illinois")


@pytest.mark.parametrize(
    ("name", "expected", "ascii"),
    [
        (hits_name(LEASE, ".csv"), "Similar to Lease of a café.csv", "Similar-to-Lease-of-a-cafe.csv"),
        (
            report_name(LEASE, HOLLAND),
            "Lease of a café compared with Holland v. Illinois.html",
            "Lease-of-a-cafe-compared-with-Holland-v.-Illinois.html",
        ),
        (hits_name(Document("a/b:c.txt", "x"), ".ris"), "Similar to a b c.txt.ris", "Similar-to-a-b-c.txt.ris"),
        (hits_name(Document("a", "x", "\t../..\\x?. "), ".ris"), "Similar to x.ris", "Similar-to-x.ris"),
        (hits_name(Document("a", "x", "租赁"), ".csv"), "Similar to 租赁.csv", "Similar-to-.csv"),
    ],
)
def test_names_say_what_a_file_is_about(name: str, expected: str, ascii: str) -> None:
    assert (name, ascii_name(name)) == (expected, ascii)


@given(id=st.text(min_size=1), title=st.text(max_size=300))
def test_every_name_is_valid_everywhere(id: str, title: str) -> None:
    document = Document(id, "x", title)
    for name in (hits_name(document, ".csv"), report_name(document, LEASE)):
        assert not set('<>:"/\\|?*') & {*name}
        assert len(name) < 200
        assert all(character >= " " for character in name)
        assert ascii_name(name).isascii()
