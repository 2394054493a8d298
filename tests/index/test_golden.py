"""Indexes built by the first version of each format: they must open and rank the same as long as the format is read.

`python -m tests.index.test_golden` builds one for a new format, under a new name.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rprs.document import Document
from rprs.errors import InvalidIndex
from rprs.index import Index, Writer, verify
from rprs.index.catalog import FORMAT
from rprs.rank.cosine import Cosine
from rprs.search import Searcher
from tests.support.paths import DATA

GOLDEN = [DATA / f"golden-{number}.rprs" for number in range(1, FORMAT + 1)]
DOCUMENTS = [
    Document("ferry", "The ferry left the quay at dawn. Fog lay over the whole strait. The bell rang twice.", "Ferry"),
    Document("mill", "The miller ground the barley. Water turned the great wheel. The sacks stood in rows."),
    Document("pilot", "A pilot boards each vessel at the beacon. The ferry waits in the fog for its pilot.", "Pilot"),
    Document("toll", "Every cart pays a toll at the bridge. The bridge keeper counts the carts and sacks."),
    Document("well", "The village well ran dry in August. Nobody had seen it dry before that year."),
    Document("empty", "", "Nothing at all", {"pages": 0}),
]
QUERY = Document("query", "Fog lay over the ferry at dawn. The pilot waits at the beacon. Sacks of barley stood by.")


def make(path: Path) -> None:
    """Two segments and six documents, of which one is removed and one is retitled later."""
    with Writer(path, create=True, encoder="hashed(dimension=8)") as writer:
        writer.add(DOCUMENTS[:4])
        writer.add([*DOCUMENTS[4:], Document("mill", DOCUMENTS[1].text, "Mill", {"date": "1851-05-01"})])
        writer.remove(["well"])
    for leftover in ("lock", "encoders"):
        (shutil.rmtree if (path / leftover).is_dir() else Path.unlink)(path / leftover)


@pytest.fixture(params=GOLDEN, ids=lambda golden: golden.stem)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an index of each format."""
    return Path(shutil.copytree(request.param, tmp_path / "golden.rprs"))


def test_the_present_version_reads_it_and_ranks_the_same(path: Path) -> None:
    assert verify(path) == []
    with Index(path) as index:
        assert index.ids == ["empty", "ferry", "mill", "pilot", "toll"]
        assert [segment.number for segment in index.segments] == [1, 2]
        assert index.document("mill").metadata == {"date": "1851-05-01"}
        results = Searcher(index, first="bm25(k1=1.2,b=0.75)", rerank="rprs(n=5,k1=1.5,b=0.5)").search(QUERY)
        assert [hit.id for hit in results] == ["toll", "pilot", "ferry", "mill"]
        scores = [0.26122448979591834, 0.1942857142857143, 0.17350933914296351, 0.08293538311300999]
        first = [0.36917356394441564, 2.72988905773944, 2.2855659616835524, 1.5383374829611909]
        assert [hit.score for hit in results] == pytest.approx(scores, rel=1e-12)
        assert [hit.first_score for hit in results] == pytest.approx(first, rel=1e-12)


def test_it_can_be_written_to(path: Path) -> None:
    with Writer(path) as writer:
        assert writer.add(DOCUMENTS).unchanged == 4
        writer.compact()
    assert verify(path) == []
    with Index(path) as index:
        assert len(index) == len(DOCUMENTS)


def test_upgraded_it_ranks_by_phrases_as_a_new_index(path: Path, tmp_path: Path) -> None:
    make(tmp_path / "new.rprs")
    with Writer(path) as writer:
        writer.upgrade()
    assert verify(path) == []
    with Index(path) as old, Index(tmp_path / "new.rprs") as new:
        assert old.fingerprint == new.fingerprint
        assert Cosine().scores(QUERY, old).tobytes() == Cosine().scores(QUERY, new).tobytes()
        assert old.ids[int(Cosine().scores(QUERY, old).argmax())] == "ferry"  # "fog lay over" is in both


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.stem)
def test_it_is_small(golden: Path) -> None:
    assert sum(file.stat().st_size for file in golden.rglob("*")) < 200_000


def test_an_old_sqlite_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Writer(tmp_path / "made.rprs", create=True, encoder="hashed").close()
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 36, 0))
    for create in (True, False):
        with pytest.raises(InvalidIndex, match=r"needs SQLite 3\.37\.0 or later, and this Python has"):
            Writer(tmp_path / f"{'new' if create else 'made'}.rprs", create=create, encoder="hashed")


if __name__ == "__main__":
    make(GOLDEN[-1])
