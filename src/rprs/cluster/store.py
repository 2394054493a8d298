"""Where generations are kept: a shared folder, or a bucket of an object store (`s3://`, through obstore).

A file appears complete or not at all, and `create` is the one way to publish: it fails if the name exists already.
Credentials of an object store come from the environment alone; no message contains them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from rprs.errors import MissingExtra, StoreError, UsageError
from rprs.files.atomic import sync_folder

__all__ = ["Folder", "Object", "ObjectStore", "Store", "open_store", "store_url"]

CHUNK = 8 * 2**20  # bytes of a download
DRAFT = ".draft-"
DELETED_AT_ONCE = 500
RETRY = {"max_retries": 5}


@dataclass(frozen=True, slots=True)
class Object:
    """A file in a store."""

    path: str
    bytes: int
    modified: datetime


class Store(Protocol):
    """Files by paths with slashes. A missing one raises `FileNotFoundError`, anything else that fails `StoreError`."""

    url: str

    def read(self, path: str) -> bytes:
        """The content of a small file."""

    def write(self, path: str, content: bytes) -> None:
        """Write a small file, or replace it."""

    def create(self, path: str, content: bytes) -> bool:
        """Write a small file; False, without a change, if there is one already."""

    def upload(self, path: str, source: Path) -> None:
        """Copy a local file to the store."""

    def download(self, path: str, target: Path) -> None:
        """Copy a file of the store to a local file."""

    def list(self, folder: str) -> Iterator[Object]:
        """All files below a folder, by path."""

    def size(self, path: str) -> int | None:
        """The size of a file; None if there is none."""

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files; those that are gone already are no error."""


def open_store(url: str | Path) -> Store:
    """The store at a folder, `file://` or `s3://bucket/path`."""
    text = store_url(url)
    return ObjectStore(text) if text.startswith("s3://") else Folder(Path(unquote(urlsplit(text).path)))


def store_url(url: str | Path) -> str:
    """The address of a store in one form; a relative folder becomes an absolute one."""
    text = str(url)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if not text:
        raise UsageError("The address of the cluster is empty: give a folder or s3://BUCKET/PATH")
    if scheme is None:
        return Path(text).absolute().as_uri()
    parts = urlsplit(text)
    if "@" in parts.netloc:
        raise UsageError(
            "The address of a store must not contain credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if parts.query or parts.fragment:
        raise UsageError(f"The address of a store has no ? and no #. Got {text!r:.80} instead.")
    if scheme[1] == "s3" and parts.netloc:
        return text.rstrip("/")
    if scheme[1] == "file" and not parts.netloc and parts.path.startswith("/"):
        return Path(unquote(parts.path)).absolute().as_uri()
    raise UsageError(f"{text!r:.80} is no address of a store: give a folder or s3://BUCKET/PATH")


# ---------------------------------------------------------------------------- a folder


class Folder:
    """A folder that all nodes have under the same path, such as a network drive."""

    def __init__(self, root: Path) -> None:
        self.root, self.url = root, root.as_uri()

    def read(self, path: str) -> bytes:
        """The content of a small file."""
        with self._errors():
            return (self.root / path).read_bytes()

    def write(self, path: str, content: bytes) -> None:
        """Write a small file, or replace it."""
        with self._errors(), self._draft(path) as draft:
            draft.write_bytes(content)
            self._finish(draft, path)

    def create(self, path: str, content: bytes) -> bool:
        """Write a small file; False, without a change, if there is one already."""
        with self._errors(), self._draft(path) as draft:
            draft.write_bytes(content)
            _sync(draft)
            try:
                os.link(draft, self.root / path)  # the one call that fails if the name exists
            except FileExistsError:
                return False
            sync_folder((self.root / path).parent)
            return True

    def upload(self, path: str, source: Path) -> None:
        """Copy a local file to the store."""
        with self._errors(), self._draft(path) as draft:
            shutil.copyfile(source, draft)
            self._finish(draft, path)

    def download(self, path: str, target: Path) -> None:
        """Copy a file of the store to a local file."""
        with self._errors():
            shutil.copyfile(self.root / path, target)

    def list(self, folder: str) -> Iterator[Object]:
        """All files below a folder, by path."""
        with self._errors():
            for place in sorted((self.root / folder).rglob("*")):
                if place.name.startswith(DRAFT):
                    continue
                try:
                    status = place.stat()
                except FileNotFoundError:  # deleted meanwhile
                    continue
                if place.is_file():
                    modified = datetime.fromtimestamp(status.st_mtime, UTC)
                    yield Object(place.relative_to(self.root).as_posix(), status.st_size, modified)

    def size(self, path: str) -> int | None:
        """The size of a file; None if there is none."""
        with self._errors():
            try:
                return (self.root / path).stat().st_size
            except FileNotFoundError:
                return None

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files, and the folders that become empty."""
        with self._errors():
            for path in paths:
                place = self.root / path
                place.unlink(missing_ok=True)
                for parent in place.parents:
                    if parent == self.root or not parent.is_dir() or any(parent.iterdir()):
                        break
                    parent.rmdir()

    @contextmanager
    def _draft(self, path: str) -> Iterator[Path]:
        """A name beside the file, which is gone at the end of the block."""
        place = self.root / path
        place.parent.mkdir(0o700, parents=True, exist_ok=True)
        draft = place.with_name(f"{DRAFT}{token_hex(8)}")
        draft.touch(0o600, exist_ok=False)
        try:
            yield draft
        finally:
            draft.unlink(missing_ok=True)

    def _finish(self, draft: Path, path: str) -> None:
        _sync(draft)
        draft.replace(self.root / path)
        sync_folder((self.root / path).parent)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(f"The store {self.root} cannot be used ({error.strerror or error}): check it") from error


def _sync(file: Path) -> None:
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


# ---------------------------------------------------------------------------- an object store


class ObjectStore:
    """A bucket, or a path within one. obstore reads the credentials and the endpoint from the environment (AWS_…)."""

    def __init__(self, url: str) -> None:
        try:
            import obstore
            from obstore.exceptions import AlreadyExistsError, BaseError
            from obstore.store import S3Store
        except ModuleNotFoundError as error:
            raise MissingExtra("An object store", "obstore", "cluster") from error
        self.url, self._obstore = url, obstore
        self._exists: Any = AlreadyExistsError
        self._failures: Any = BaseError
        parts = urlsplit(url)
        self._prefix = PurePosixPath(parts.path.strip("/"))
        with self._errors():
            self._store = S3Store(parts.netloc, retry_config=RETRY)

    def _path(self, path: str) -> str:
        return (self._prefix / path).as_posix()

    def read(self, path: str) -> bytes:
        """The content of a small file."""
        with self._errors():
            return bytes(self._obstore.get(self._store, self._path(path)).bytes())

    def write(self, path: str, content: bytes) -> None:
        """Write a small file, or replace it."""
        with self._errors():
            self._obstore.put(self._store, self._path(path), content)

    def create(self, path: str, content: bytes) -> bool:
        """Write a small file; False, without a change, if there is one already."""
        with self._errors():
            try:
                self._obstore.put(self._store, self._path(path), content, mode="create")
            except self._exists:
                # A request that was sent twice, because its answer was lost, finds what it has written itself.
                return bool(self.read(path) == content)
            return True

    def upload(self, path: str, source: Path) -> None:
        """Copy a local file to the store."""
        with self._errors():
            self._obstore.put(self._store, self._path(path), source)

    def download(self, path: str, target: Path) -> None:
        """Copy a file of the store to a local file."""
        with self._errors(), target.open("wb") as copy:
            for chunk in self._obstore.get(self._store, self._path(path)).stream(min_chunk_size=CHUNK):
                copy.write(chunk)

    def list(self, folder: str) -> Iterator[Object]:
        """All files below a folder, by path."""
        start = len(self._prefix.parts) and len(self._prefix.as_posix()) + 1
        with self._errors():
            batches = self._obstore.list(self._store, prefix=self._path(folder))
            found = [
                Object(one["path"][start:], one["size"], one["last_modified"]) for batch in batches for one in batch
            ]
        yield from sorted(found, key=lambda each: each.path)

    def size(self, path: str) -> int | None:
        """The size of a file; None if there is none."""
        try:
            with self._errors():
                return int(self._obstore.head(self._store, self._path(path))["size"])
        except FileNotFoundError:
            return None

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files; those that are gone already are no error."""
        rest = map(self._path, paths)
        with self._errors():
            while chunk := list(islice(rest, DELETED_AT_ONCE)):
                self._obstore.delete(self._store, chunk)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of obstore into one line, without what the server answered: it may repeat a key."""
        try:
            yield
        except FileNotFoundError:
            raise
        except self._failures as error:
            raise StoreError(
                f"The store {self.url} cannot be used ({_kind(error)}): check the bucket, AWS_ENDPOINT_URL and the "
                "credentials in the environment"
            ) from None


def _kind(error: Exception) -> str:
    """What kind of failure it is; the texts of servers are left out."""
    status = re.search(r"\b(4\d\d|5\d\d) [A-Z][A-Za-z ]+", str(error))
    return f"{type(error).__name__}{f', HTTP {status[1]}' if status else ''}"
