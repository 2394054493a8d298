"""What an index needs of a file system: locks that exclude other processes, also for SQLite, and one machine.

SQLite shares memory between the processes that have an index open, which they can only do on one machine. A network
file system hides that: two machines that write to the same index damage it, and each would think that it is alone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import warnings
from contextlib import suppress
from pathlib import Path

from rprs.cautions import NetworkStorage
from rprs.errors import IndexLocked, InvalidIndex
from rprs.files.atomic import errors_of

__all__ = ["WriterLock", "network_type", "warn_of_network"]

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = (
    "9p", "acfs", "afs", "ceph", "cifs", "coda", "davfs", "gfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "ocfs2", "smb3", "smbfs", "vboxsf",
)  # fmt: skip
OVER_FUSE = ("ceph", "curlftpfs", "davfs", "gcsfuse", "gluster", "juicefs", "mountpoint-s3", "rclone", "s3fs", "sshfs")
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class WriterLock:
    """The lock of the one process that may write, held until `release`; its end, however it ends, releases it too."""

    def __init__(self, path: Path, mode: int) -> None:
        """Acquire the lock file at a path; `IndexLocked` if another process has it, `InvalidIndex` without locks."""
        self._path = path
        with errors_of(path):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._descriptor = os.open(path, flags, mode)
            try:
                if not self._acquire(self._descriptor):
                    raise IndexLocked(f"{path.parent} is being written to by another process: wait until it is done")
                self._probe(mode)
            except BaseException:
                os.close(self._descriptor)
                raise

    def release(self) -> None:
        """Let others write; once is enough."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):  # closing releases it as well, unless a forked process has a copy
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            with suppress(OSError):
                os.close(descriptor)

    def _acquire(self, descriptor: int) -> bool:
        """Whether the lock was free."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            raise self._unsupported(error.strerror or str(error)) from error
        return True

    def _probe(self, mode: int) -> None:
        """Check that a second lock is refused: some file systems grant every one."""
        second = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            if self._acquire(second):
                raise self._unsupported("a second lock was granted")
        finally:
            os.close(second)

    def _unsupported(self, reason: str) -> InvalidIndex:
        return InvalidIndex(
            f"The file system of {self._path.parent} does not lock files ({reason}), so that two processes could write "
            "at once: put the index on a local disk"
        )


def warn_of_network(path: Path) -> None:
    """Warn, in one line, if an index that is about to be written is on a network file system."""
    with suppress(OSError):
        kind = network_type(path.resolve(), MOUNTS.read_text("utf-8", "surrogateescape"))
        if kind is not None:
            warnings.warn(
                f"{path} is on a network file system ({kind}): open it on one machine only, or keep the index on a "
                "local disk and copy it with `rprs backup`",
                NetworkStorage,
                stacklevel=3,
            )


def network_type(path: Path, mountinfo: str) -> str | None:
    """The type of the network file system that holds an absolute path, by the text of mountinfo; None if it is local.

    The last mount wins among those of the same place: it hides the others.
    """
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        fields, separator, rest = line.partition(" - ")
        if not separator or len(fields.split()) < 5 or not rest.split():
            continue
        place = Path(_unescaped(fields.split()[4]))
        if path.is_relative_to(place) and len(place.parts) >= best:
            best, kind = len(place.parts), rest.split()[0]
    name = kind.removeprefix("fuse.")
    remote = kind in NETWORK or (name != kind and name.startswith(OVER_FUSE))
    return kind if remote else None


def _unescaped(text: str) -> str:
    """A path of mountinfo, in which blanks, tabs, line ends and backslashes are written as octal numbers."""
    for code in ("040", "011", "012", "134"):  # the backslash last
        text = text.replace(f"\\{code}", chr(int(code, 8)))
    return text
