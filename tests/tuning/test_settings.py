"""Settings files: what is written is read back, and a mistake is one line that names the file."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.errors import ReadError, UsageError
from rprs.files.atomic import write_atomically
from rprs.rank import System
from rprs.tuning.settings import read_settings, write_settings

TUNED = System("bm25(k1=2.8,b=1.0,kli=0.1)", "rprs(n=4,k1=2.8,b=1.0)", 50, "ratio(p=0.8,l=1,h=6)")


@pytest.mark.parametrize("settings", [TUNED, System(), System(rerank=None), System('runfile("my run.trec")')])
def test_a_written_file_is_read_back(settings: System, tmp_path: Path) -> None:
    write_settings(tmp_path / "tuned.toml", settings, {"measure": "AP@100"})
    assert read_settings(tmp_path / "tuned.toml") == settings


def test_the_file_is_readable_toml(tmp_path: Path) -> None:
    about = {"measure": "AP@5", "value": 0.5, "missing": None, "folds": [1, 2], "grid": {"n": "1,2", "a b": True}}
    write_settings(tmp_path / "tuned.toml", TUNED, about)
    assert (
        (tmp_path / "tuned.toml").read_text()
        == """\
first = "bm25(kli=0.1)"
rerank = "rprs(n=4,k1=2.8,b=1.0)"
depth = 50
cutoff = "ratio(p=0.8,l=1,h=6)"

[about]
measure = "AP@5"
value = 0.5
folds = [1, 2]

[about.grid]
n = "1,2"
"a b" = true
"""
    )


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.dictionaries(
        TEXTS, TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.lists(st.floats(allow_nan=False))
    )
)
def test_remarks_of_all_kinds_are_read_back(tmp_path_factory: pytest.TempPathFactory, about: dict[str, object]) -> None:
    path = tmp_path_factory.getbasetemp() / "remarks.toml"
    write_settings(path, TUNED, about)
    assert tomllib.loads(path.read_text(encoding="utf-8")).get("about", {}) == about
    assert read_settings(path) == TUNED


def test_omitted_settings_have_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "some.toml").write_text("depth = 20\n")
    assert read_settings(tmp_path / "some.toml") == System(depth=20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rerank = rprs", "cannot be read as TOML"),
        ("reranker = 'rprs'", "has no key 'reranker': did you mean 'rerank'?"),
        ("depth = '50'", "'depth' must be an integer. Got '50' instead."),
        ("depth = true", "'depth' must be an integer. Got True instead."),
        ("first = 5", "'first' must be a text. Got 5 instead."),
        ("depth = 0", "The depth of re-ranking must be an integer in [1, inf). Got 0 instead."),
        ("first = 'bm52'", "There is no ranker named 'bm52': did you mean 'bm25'?"),
        ("rerank = 'rprs(n=0)'", "The 'n' parameter of rprs must be an integer in [1, inf). Got 0 instead."),
        ("cutoff = 'half'", "Cannot read the cut-off of 'half'"),
        ("cutoff = '5..3'", "Cannot read the cut-off of '5..3'"),
    ],
)
def test_a_mistake_is_reported_with_the_file(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ReadError) as caught:
        read_settings(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such settings file"):
        read_settings(tmp_path / "none.toml")


def test_a_failed_write_leaves_the_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    write_settings(path, TUNED, {})
    with pytest.raises(TypeError):
        write_settings(path, System(), {"wrong": object()})
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert read_settings(path) == TUNED
    assert [file.name for file in tmp_path.iterdir()] == ["tuned.toml"]
    with pytest.raises(UsageError, match="There is no folder"):
        write_atomically(tmp_path / "no" / "such.toml", "")


def test_a_write_leaves_the_permissions_of_the_process_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The umask can only be read by setting it, and threads that do so at the same time may leave it at 0."""
    set_umask = os.umask
    before = set_umask(0o027)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", lambda _mask: pytest.fail("the umask was set"))
            write_atomically(tmp_path / "file", "")
        assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    finally:
        set_umask(before)
