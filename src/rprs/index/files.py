"""Write-once array files: written, hashed and synced before anything refers to them."""

from __future__ import annotations

import builtins
import errno
import hashlib
import math
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rprs.errors import DiskFull, IndexCorrupt, InvalidIndex
from rprs.files.atomic import errors_of, sync, sync_folder
from rprs.files.mapping import map_file
from rprs.index.blocks import Blocks, block_sums

__all__ = [
    "File",
    "RowFile",
    "file_mode",
    "folder_mode",
    "load",
    "load_checked",
    "next_folder",
    "no_space",
    "plain_reason",
    "register",
    "save",
    "save_rows",
    "sync_place",
    "watch_disk",
]

HEADER = 2**12  # bytes: more than the header of any array of an index takes
CATALOG = "catalog.sqlite"
MINIMUM_FREE = 2**16  # bytes: with less, SQLite cannot even open its log


@dataclass(frozen=True, slots=True)
class File:
    """A file as the catalog lists it: path within the index, size and checksum."""

    path: str
    bytes: int
    sha256: str
    sums: builtins.bytes = b""  # of its blocks; empty where the catalog does not store them, or they are not needed


class RowFile:
    """An array file written block by block, so that the array need not fit in memory."""

    def __init__(self, root: Path, path: str, dtype: Any, row_shape: tuple[int, ...] = ()) -> None:
        self.root, self.path, self.dtype, self.row_shape = root, path, np.dtype(dtype), row_shape
        self.rows = 0
        self._stream = open(root / path, "wb", opener=lambda name, flags: os.open(name, flags, file_mode(root)))  # noqa: SIM115  # closed below
        self._write_header()

    def append(self, block: NDArray[Any]) -> None:
        """Write further rows."""
        self.rows += len(block)
        if block.size:
            with errors_of(self.root / self.path):
                self._stream.write(np.ascontiguousarray(block, dtype=self.dtype).data.cast("B"))

    def close(self) -> File:
        """Complete the header, sync and hash."""
        with errors_of(self.root / self.path):
            self._stream.seek(0)
            self._write_header()  # as long as before: NumPy leaves room for the number of rows
            self._stream.close()
        return register(self.root, self.path)

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with suppress(OSError) if kind else nullcontext():  # on a full disk closing fails too, once more
            self._stream.close()

    def _write_header(self) -> None:
        shape = (self.rows, *self.row_shape)
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_2_0(self._stream, header)


def save_rows(
    root: Path, path: str, blocks: Iterable[NDArray[Any]], dtype: Any, row_shape: tuple[int, ...] = ()
) -> File:
    """Write an array from its blocks."""
    with RowFile(root, path, dtype, row_shape) as file:
        for block in blocks:
            file.append(block)
        return file.close()


def save(root: Path, path: str, array: NDArray[Any]) -> File:
    """Write one array as .npy."""
    return save_rows(root, path, [array], array.dtype, array.shape[1:])


def register(root: Path, path: str) -> File:
    """Sync and hash a file that is already written."""
    with errors_of(root / path), (root / path).open("rb") as stream:
        sync(stream.fileno())
    content = map_file(root / path)
    return File(path, len(content), hashlib.sha256(content.data).hexdigest(), block_sums(content))


def sync_place(root: Path, place: str) -> None:
    """Make sure that the names of new files in a folder of the index survive a power failure."""
    sync_folder(root / place)
    sync_folder((root / place).parent)


def load(root: Path, path: str) -> NDArray[Any]:
    """Open an array by mmap; its file does not stay open."""
    return load_checked(root, path, None)[0]


def load_checked(
    root: Path, path: str, sums: bytes | None, *, whole: bool = True
) -> tuple[NDArray[Any], Blocks | None]:
    """The same, with the checks of its blocks if their sums are given; a damaged header raises unless not `whole`."""

    def damage() -> IndexCorrupt:
        return IndexCorrupt(f"{root / path} is damaged (a checksum differs): run `rprs verify {root}`")

    try:
        content = map_file(root / path)
        array = _array(content)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InvalidIndex(f"{root / path} cannot be opened: {plain_reason(error)}") from error
    except Exception as error:  # NumPy reads a header as Python source: damage may raise anything, even SyntaxError
        reason = " ".join(str(error).split())
        raise IndexCorrupt(f"{root / path} is damaged ({reason}): run `rprs verify {root}`") from error
    return array, None if sums is None else Blocks(content, len(content) - array.nbytes, sums, damage, whole=whole)


def _array(content: NDArray[np.uint8]) -> NDArray[Any]:
    """The array in the bytes of a .npy file."""
    header = BytesIO(content[:HEADER].tobytes())
    version = npy.read_magic(header)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(header)
    size = math.prod(shape)
    if fortran or dtype.hasobject or len(content) != header.tell() + size * dtype.itemsize:
        raise ValueError("its header does not match its size")
    return content[header.tell() :].view(dtype).reshape(shape)


def plain_reason(error: OSError) -> str:
    """Why a file cannot be opened, and what to do where that is known."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        whose = f"this process may open {limit} files" if error.errno == errno.EMFILE else "by all processes together"
        return f"too many files are open ({whose}): raise the limit with `ulimit -n`, or close some"
    return f"{error.strerror or error}"


def file_mode(root: Path) -> int:
    """The mode of new files: whoever may enter the folder of the index may read them; by default, only its owner."""
    return 0o600 | (root.stat().st_mode & 0o066 if root.stat().st_mode & 0o011 else 0)


def folder_mode(root: Path) -> int:
    """The mode of new folders: that of the index."""
    return root.stat().st_mode & 0o777 | 0o700


def next_folder(root: Path, group: str) -> str:
    """Create a new folder with the next number, such as norms/000002; its path within the index."""
    numbers = [int(place.name) for place in (root / group).iterdir() if place.name.isdigit()]
    path = f"{group}/{max(numbers, default=0) + 1:06d}"
    (root / path).mkdir(folder_mode(root), parents=True)
    return path


def no_space(error: BaseException, root: Path) -> bool:
    """Whether the cause of an error is a full disk, a quota or a limit on file sizes."""
    if isinstance(error, sqlite3.Error):  # SQLite does not always say why a file cannot grow
        full = "disk I/O error" in str(error) and _free(root) < MINIMUM_FREE
        return full or "disk is full" in str(error)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def watch_disk(root: Path) -> Iterator[None]:
    """Turn errors of writing to the disk into an `InvalidIndex` of one line."""
    try:
        yield
    except (OSError, sqlite3.DatabaseError) as error:
        if no_space(error, root):
            raise DiskFull(
                f"No space left while writing to {root} ({_free_space(root)}): what was committed is complete; "
                "free some space and run the command again"
            ) from error
        if isinstance(error, OSError) and not _within(root, error.filename):
            raise
        if isinstance(error, FileNotFoundError):
            raise IndexCorrupt(f"{error.filename} is missing: run `rprs verify {root}`") from error
        if type(error) is sqlite3.DatabaseError:  # so SQLite calls what it cannot read, for whatever reason
            raise IndexCorrupt(f"{root / CATALOG} cannot be read ({error}): run `rprs verify {root}`") from error
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):  # of this program, not of the disk
            raise
        reason = plain_reason(error) if isinstance(error, OSError) else error
        raise InvalidIndex(
            f"Cannot write to {root} ({reason}): what was committed is complete; "
            "check the disk, its quota and permissions, and run the command again"
        ) from error


def _free(root: Path) -> float:
    """The bytes that are free, or infinity where a broken disk does not say."""
    try:
        return shutil.disk_usage(root).free
    except OSError:
        return math.inf


def _free_space(root: Path) -> str:
    free = _free(root)
    return "the free space is unknown" if math.isinf(free) else f"{free // 2**20} MB free"


def _within(root: Path, path: Any) -> bool:
    """Whether an error is about a file of the index, not about a document that is being read."""
    return isinstance(path, str | Path) and Path(path).absolute().is_relative_to(root.absolute())
