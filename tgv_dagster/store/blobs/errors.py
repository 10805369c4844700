"""What can go wrong with a byte store, one type per remedy.

Belongs here: the error types and the table from an operating system error to one of them.
Does not belong here: retrying (remote.py) and the four verdicts of a verification (model.py),
which are answers, not errors.
"""

import errno


class StoreError(Exception):
    """A store did not do what was asked; the message says what to do about it.

    Attributes: `problem` (what happened), `remedy` (what a person does about it).
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}. {remedy}")
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[type["StoreError"], tuple[str, str]]:
        return type(self), (self.problem, self.remedy)


class StoreFull(StoreError):
    """No room or no quota left; nothing of the failed write stays behind."""


class StoreReadOnly(StoreError):
    """The file system is mounted read-only."""


class StoreDenied(StoreError):
    """The store refuses this user, this credential or this host key."""


class BlobTooLarge(StoreError):
    """One file is larger than the store or the process limit allows."""


class StoreUnreachable(StoreError):
    """Nothing can be said about the content: not mounted, no connection, or a busy server.

    The only kind that is worth a retry.
    """


class StoreNotThere(StoreUnreachable):
    """Something answers at the address, but it is not the store: not mounted, or moved.

    Waiting does not cure it, so it is not retried.
    """


class StoreFailed(StoreError):
    """The store answered with an error that waiting does not cure."""


class BlobMissing(StoreError):
    """The store is reachable and has no such blob."""


class BlobDamaged(StoreError):
    """A stored blob does not hash to its name."""


class ContentConflict(StoreError):
    """Something else already stands under this name, and it is never overwritten."""


class ReadBackMismatch(StoreError):
    """What was read back after writing is not what was written."""


class SourceUnreadable(StoreError):
    """The bytes to be stored could not be read, or changed while they were read."""


class HashMismatch(StoreError):
    """The bytes to be stored are not the bytes the caller expected."""


class BadName(StoreError, ValueError):
    """A bucket, key, side-car name or byte range that no store accepts."""


class BadStoreUrl(StoreError, ValueError):
    """A store address that cannot be used as it is written."""


_FULL = {
    errno.ENOSPC: "free space on the volume or move the store to a larger one",
    errno.EDQUOT: "raise the quota of the user that runs the service or free some of it",
}
_DENIED = (errno.EACCES, errno.EPERM)
_UNREACHABLE = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.ESTALE,
    errno.ENOTCONN,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ENETDOWN,
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.ECONNABORTED,
    errno.EPIPE,
    errno.ETIMEDOUT,
    errno.ENODEV,
    errno.ENXIO,
)


def from_os_error(error: OSError, what: str) -> StoreError:
    """Return the typed error for an operating system error met while doing `what`."""
    problem = f"{what}: {error.strerror or str(error) or type(error).__name__}"
    code = error.errno
    if code in _FULL:
        return StoreFull(problem, f"Nothing was stored: {_FULL[code]}, then run again")
    if code == errno.EFBIG:
        return BlobTooLarge(
            problem,
            "Raise the file size limit of the process (ulimit -f) or use a file system "
            "that takes files of this size",
        )
    if code == errno.EROFS:
        return StoreReadOnly(problem, "Mount the volume read-write, then run again")
    if code in _DENIED:
        return StoreDenied(
            problem, "Give the user that runs the service read and write access to the store"
        )
    if code in _UNREACHABLE or isinstance(error, TimeoutError):
        return StoreUnreachable(problem, "Check that the store is mounted and its server runs")
    if code == errno.EIO:
        return StoreFailed(problem, "Check the disk for errors before anything else is written")
    if code in (errno.EMFILE, errno.ENFILE):
        return StoreFailed(problem, "Raise the limit of open files (ulimit -n)")
    return StoreFailed(problem, "Look at the store's own log; nothing was stored")
