"""File systems on which an index is at risk: those of a network, and those without locks."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.cautions import NetworkStorage
from rprs.errors import IndexLocked, InvalidIndex
from rprs.index import Index, Writer, storage
from rprs.index.storage import WriterLock, network_type
from tests.support.cli import rprs, rprs_error
from tests.support.crash import COLLECTION, HASHED

LOCAL = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw\n"


def mount(place: str, kind: str) -> str:
    return f"36 35 98:0 /mnt1 {place} rw,noatime master:1 shared:7 - {kind} server:/export rw,errors=continue\n"


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.rclone", "fuse.s3fs"])
def test_network_file_systems_are_recognised(kind: str) -> None:
    mounts = LOCAL + mount("/srv/cases", kind)
    assert network_type(Path("/srv/cases/a.rprs"), mounts) == kind
    assert network_type(Path("/srv/cases"), mounts) == kind
    assert network_type(Path("/srv/cases2/a.rprs"), mounts) is None
    assert network_type(Path("/srv"), mounts) is None


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk", "fuse.ntfs-3g"])
def test_local_file_systems_are_not(kind: str) -> None:
    assert network_type(Path("/srv/cases/a.rprs"), LOCAL + mount("/srv/cases", kind)) is None


def test_the_innermost_mount_and_the_last_of_one_place_count() -> None:
    inner = mount("/srv", "nfs4") + mount("/srv/local", "ext4")
    assert network_type(Path("/srv/local/a.rprs"), inner) is None
    assert network_type(Path("/srv/a.rprs"), inner) == "nfs4"
    assert network_type(Path("/srv/a.rprs"), mount("/srv", "ext4") + mount("/srv", "cifs")) == "cifs"
    assert network_type(Path("/srv/a.rprs"), mount("/srv", "cifs") + mount("/srv", "ext4")) is None


def test_places_with_blanks_and_backslashes() -> None:
    assert network_type(Path("/my files/a.rprs"), LOCAL + mount(r"/my\040files", "nfs")) == "nfs"
    assert network_type(Path("/a\\040b/x"), LOCAL + mount(r"/a\134040b", "nfs")) == "nfs"


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert network_type(Path("/srv"), text) is None or " - " in text


def test_a_writer_warns_of_a_network_and_a_reader_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(LOCAL + mount(str(tmp_path.resolve()), "nfs4"))
    monkeypatch.setattr(storage, "MOUNTS", mounts)
    with pytest.warns(NetworkStorage, match=r"is on a network file system \(nfs4\): open it on one machine only"):
        writer = Writer(tmp_path / "a.rprs", create=True, encoder=HASHED)
    with writer:
        writer.add(COLLECTION)
    with Index(tmp_path / "a.rprs") as index:
        assert len(index) == len(COLLECTION)
    outcome = rprs("remove", tmp_path / "a.rprs", "d01")
    assert outcome.code == 0
    assert outcome.err.splitlines()[0].startswith(f"rprs: {tmp_path / 'a.rprs'} is on a network file system (nfs4)")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    message = r"The file system of .*a.rprs does not lock files \(.*\).*: put the index on a local disk"
    for _ in range(2):  # nothing is left behind that would look like the lock of another process
        with pytest.raises(InvalidIndex, match=message):
            Writer(tmp_path / "a.rprs", create=True, encoder=HASHED)
    monkeypatch.undo()
    with Writer(tmp_path / "a.rprs", create=True, encoder=HASHED) as writer:
        assert writer.add(COLLECTION).added == len(COLLECTION)


def test_locks_that_exclude_nobody_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(tmp_path / "a.rprs", create=True, encoder=HASHED) as writer:
        writer.add(COLLECTION)
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    assert "does not lock files (a second lock was granted)" in rprs_error("compact", tmp_path / "a.rprs")


HOLD = """
import sys
from pathlib import Path
from rprs.index.storage import WriterLock
lock = WriterLock(Path(sys.argv[1]), 0o600)
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_excludes_other_processes_until_they_end(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(IndexLocked, match="is being written to by another process"):
            WriterLock(path, 0o600)
        holder.kill()
    lock = WriterLock(path, 0o600)
    with pytest.raises(IndexLocked):
        WriterLock(path, 0o600)
    lock.release()
    lock.release()
    WriterLock(path, 0o600).release()
