"""Machine code is stored once, by everything it depends on, and loaded without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.extending import intrinsic

import rprs.compiled
from rprs.cautions import SlowStart
from rprs.compiled import compiled

KERNELS = """
import sys
import numpy as np
from rprs.compiled import compiled, compiled_callback

FACTOR = {factor}

@compiled
def scaled(value):
    return value * FACTOR

@compiled
def total(values):
    result = 0.0
    for value in values:
        result += scaled(value)
    return result + values.min()

def added(a, b):
    return a + b
"""

EMPTY = "zero-size array to reduction operation minimum which has no identity"  # Numba's own words

MAIN = """
print(kernels.total(np.array([1.0, 2.0, 4.0])), kernels.compiled_callback(kernels.added, "int64(int64, int64)")(2, 3))
try:
    kernels.total(np.array([], dtype=np.float64))
except ValueError as error:
    print(error)
print(sum(kernels.total.stats.cache_hits.values()), "numba.np.arraymath" in sys.modules)
"""


def start(folder: Path, cache: Path, factor: float = 2.0) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    (folder / "kernels.py").write_text(KERNELS.format(factor=factor))
    return subprocess.Popen(
        [sys.executable, "-c", f"import kernels; from kernels import *{MAIN}"],
        env={**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        text=True,
    )


def lines(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return output.splitlines()


@pytest.mark.slow
def test_another_installation_loads_what_two_processes_compiled_at_once(tmp_path: Path) -> None:
    """Errors inside of kernels are the same, the compiler is not imported, and a changed constant compiles again."""
    cache = tmp_path / "cache"
    both = [start(tmp_path / name, cache) for name in ("one", "two")]
    for each in both:
        assert lines(each)[:2] == ["15.0 5", EMPTY]
    stored = set((cache / "rprs").iterdir())
    assert (cache / "rprs").stat().st_mode & 0o777 == 0o700

    other = lines(start(tmp_path / "another", cache))
    assert other == ["15.0 5", EMPTY, "1 False"]
    assert set((cache / "rprs").iterdir()) == stored

    assert lines(start(tmp_path / "one", cache, factor=3.0))[0] == "22.0 5"

    for path in stored:  # a file that was not written completely
        path.write_bytes(path.read_bytes()[:-1])
    again = lines(start(tmp_path / "one", cache))
    assert (again[0], again[2]) == ("15.0 5", "0 True")
    assert lines(start(tmp_path / "one", cache))[2] == "1 False"


def test_a_new_function_can_call_one_that_was_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only then is the intermediate code of the loaded one read."""
    monkeypatch.setattr(rprs.compiled, "_folder", lambda: tmp_path)

    def tripled(value):  # type: ignore[no-untyped-def]
        return 3 * value

    assert compiled(tripled)(2) == 6
    loaded = compiled(tripled)
    assert loaded(2) == 6
    assert sum(loaded.stats.cache_hits.values()) == 1

    @compiled
    def outer(value):  # type: ignore[no-untyped-def]
        return loaded(value) + 1

    assert outer(2) == 7
    assert outer(4) == 13


def test_what_nobody_used_for_months_is_deleted(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    rprs.compiled._delete_unused(tmp_path)
    assert list(tmp_path.iterdir()) == [new]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o777, 0o770], ids=["all", "group"])
def test_a_folder_to_which_others_may_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    folder = tmp_path / "rprs"
    folder.mkdir()
    folder.chmod(mode)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    choose = rprs.compiled._folder.__wrapped__
    with pytest.warns(SlowStart, match="other users may write to .*; name a folder of your own in NUMBA_CACHE_DIR"):
        assert choose() is None


def test_a_cache_that_cannot_be_made_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(SlowStart, match="every process needs a minute to compile them"):
        assert rprs.compiled._folder.__wrapped__() is None


def test_the_key_covers_everything_that_a_function_refers_to() -> None:
    @compiled
    def inner(value):  # type: ignore[no-untyped-def]
        return value + 1

    table, other_table = np.arange(3), np.arange(1, 4)

    def key(source: str, **names: object) -> bytes:
        space = {"__name__": "made", **names}
        exec(source, space)
        return b"\0".join(rprs.compiled._described(space["f"], set()))

    def intrinsic_of(value: int) -> object:
        return intrinsic(lambda context, x: (x, lambda *parts: parts[3][0] if value else None))

    calling = "def f(x):\n    return inner(x)\n"
    assert key(calling, inner=intrinsic_of(1)) == key(calling, inner=intrinsic_of(1))
    assert key(calling, inner=intrinsic_of(1)) != key(calling, inner=intrinsic_of(0))

    source = "def f(x):\n    return inner(x) + table[0]\n"
    same = key(source, inner=inner, table=table)
    assert key(source, inner=inner, table=table.copy()) == same
    assert key(f"# moved\n\n{source}", inner=inner, table=table) == same
    assert key(source, inner=inner, table=other_table) != same
    assert key(source, inner=compiled(inner.py_func, fastmath=True), table=table) != same
    assert key(source.replace("[0]", "[1]"), inner=inner, table=table) != same
