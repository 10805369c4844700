"""Blobs on an SFTP server, through fsspec and paramiko.

Belongs here: the driver and the words of SFTP for what went wrong. Does not belong here: the
order of steps of a put (remote.py).
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, NoReturn

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem
from paramiko.sftp import CMD_EXTENDED

from tgv_dagster.store.blobs import model
from tgv_dagster.store.blobs.errors import (
    BlobMissing,
    StoreDenied,
    StoreFailed,
    StoreFull,
    StoreUnreachable,
    from_os_error,
)
from tgv_dagster.store.blobs.remote import PerThread
from tgv_dagster.store.blobs.staging import StagingDriver
from tgv_dagster.store.blobs.walk import Entry

_TIMEOUT_SECONDS = 60.0
_CONNECT_SECONDS = 15.0
_REQUEST = 32 * 1024
_FULL_WORDS = ("no space", "quota", "disk full", "storage full")


@dataclass(frozen=True, slots=True)
class SftpLogin:
    """How to reach and recognise the server.

    known_hosts: file with its host key; None for the user's own. A key file goes before a password.
    """

    host: str
    port: int = 22
    user: str | None = None
    password: str | None = None
    key_file: Path | None = None
    key_passphrase: str | None = None
    known_hosts: Path | None = None


class SftpDriver(StagingDriver):
    """A `Driver` for one directory on an SFTP server."""

    def __init__(self, login: SftpLogin, root: str) -> None:
        super().__init__(root)
        self._login = login
        self._sessions = PerThread(lambda: _KnownHostSftp(login), lambda sftp: sftp.client.close())
        self._fsynced = model.Assurance.UNMEASURED

    def durability(self, region: str | None) -> model.Durability:
        """See `Driver.durability`. The protocol has no sync for a directory."""
        return model.Durability(
            fsynced=self._fsynced,
            atomic_rename=model.Assurance.PROMISED,
            read_back=model.Assurance.DONE,
            no_overwrite=model.Assurance.PROMISED,
            encrypted=True,
            region=region,
        )

    def stat(self, path: str) -> int | None:
        """See `Driver.stat`."""
        with self._session(path) as client:
            return _regular_size(client, self.absolute(path))

    def fetch(self, path: str, start: int, length: int) -> bytes:
        """See `Driver.fetch`; the requests of a range are sent without waiting for each answer."""
        with self._session(path) as client:
            try:
                with client.open(self.absolute(path), "rb") as file:
                    return b"".join(file.readv([(start, length)]))
            except FileNotFoundError as error:
                raise BlobMissing(f"{path} is gone", "Restore it from the backup") from error

    def send(self, path: str, file: BinaryIO, size: int) -> bool:
        """See `Driver.send`."""
        self.make_parents(path)
        with (
            self._session(path) as client,
            self._known_directories(),
            client.open(self.absolute(path), "wb") as target,
        ):
            sent = 0
            while piece := file.read(_REQUEST):
                sent += len(piece)
                # Only a write that waits hears what became of those that did not.
                target.set_pipelined(sent < size)
                target.write(piece)
            self._sync(client, target)
        return True

    def publish(self, staged: str, final: str) -> bool:
        """See `Driver.publish`. A plain SFTP rename fails when the new name is taken."""
        self.make_parents(final)
        with self._session(final) as client, self._known_directories():
            try:
                client.rename(self.absolute(staged), self.absolute(final))
            except OSError:
                if _regular_size(client, self.absolute(final)) is not None:
                    return False
                raise
        return True

    def remove(self, path: str) -> bool:
        """See `Driver.remove`."""
        with self._session(path) as client:
            try:
                client.remove(self.absolute(path))
            except FileNotFoundError:
                return False
        return True

    def make_directory(self, path: str) -> bool:
        """See `StagingDriver.make_directory`."""
        with self._session(path) as client:
            try:
                client.mkdir(path, 0o700)
            except FileNotFoundError:
                return False
            except OSError:
                if not _is_directory(client, path):
                    raise
        return True

    def list_directory(self, path: str) -> list[Entry] | None:
        """See `StagingDriver.list_directory`."""
        with self._session(path) as client:
            try:
                attributes = client.listdir_attr(self.absolute(path))
            except FileNotFoundError:
                return None
        return [
            Entry(a.filename, S_ISDIR(a.st_mode or 0), float(a.st_mtime or 0)) for a in attributes
        ]

    def _sync(self, client: paramiko.SFTPClient, target: paramiko.SFTPFile) -> None:
        """Ask for a sync by OpenSSH's extension and note whether the server has it."""
        try:
            _extended(client, "fsync@openssh.com", target.handle)
        except OSError as error:
            if error.errno is not None or _closed(client):
                raise
            if "unsupported" not in str(error).lower():
                raise
            self._fsynced = model.Assurance.NOT_OFFERED
        else:
            self._fsynced = model.Assurance.DONE

    @contextmanager
    def _known_directories(self) -> Iterator[None]:
        """Make the directories again next time when one has vanished."""
        try:
            yield
        except FileNotFoundError:
            self.forget_directories()
            raise

    @contextmanager
    def _session(self, path: str) -> Iterator[paramiko.SFTPClient]:
        """Lend this thread's connection; after an error of the connection it is dropped."""
        what = f"{self._login.host}:{self._login.port} {path}"
        try:
            yield self._sessions.get().ftp
        except (OSError, EOFError, paramiko.SSHException) as error:
            session = self._sessions.peek()
            if session is None or _closed(session.ftp) or not _is_answer(error):
                self._sessions.drop()
            _raise_typed(error, what, lost=session is None or _closed(session.ftp))


class _KnownHostSftp(SFTPFileSystem):
    """fsspec's SFTP file system, which here connects to known hosts only."""

    cachable = False

    def __init__(self, login: SftpLogin) -> None:
        self._known_hosts = login.known_hosts
        super().__init__(
            login.host,
            port=login.port,
            username=login.user,
            password=login.password,
            key_filename=str(login.key_file) if login.key_file else None,
            passphrase=login.key_passphrase,
            look_for_keys=login.key_file is None and login.password is None,
            allow_agent=login.key_file is None and login.password is None,
            timeout=_CONNECT_SECONDS,
            banner_timeout=_CONNECT_SECONDS,
            auth_timeout=_CONNECT_SECONDS,
        )

    def _connect(self) -> None:
        self.client = paramiko.SSHClient()
        known = str(self._known_hosts) if self._known_hosts else None
        self.client.load_system_host_keys(known)
        self.client.set_missing_host_key_policy(_RefuseUnknown())
        self.client.connect(self.host, **self.ssh_kwargs)
        self.ftp = self.client.open_sftp()
        channel = self.ftp.get_channel()
        if channel is not None:
            channel.settimeout(_TIMEOUT_SECONDS)


class _RefuseUnknown(paramiko.MissingHostKeyPolicy):
    """Refuse a server whose key nobody has confirmed."""

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> NoReturn:
        raise StoreDenied(
            f"the host key of {hostname} is not known ({key.get_name()} {key.fingerprint})",
            "Compare the fingerprint with the provider's and add the key to the known hosts file "
            "(TGV_SFTP_KNOWN_HOSTS)",
        )


def _regular_size(client: paramiko.SFTPClient, path: str) -> int | None:
    try:
        found = client.stat(path)
    except FileNotFoundError:
        return None
    if not S_ISREG(found.st_mode or 0):
        raise StoreFailed(f"{path} is no file", "Remove what stands there")
    return found.st_size or 0


def _is_directory(client: paramiko.SFTPClient, path: str) -> bool:
    try:
        return S_ISDIR(client.stat(path).st_mode or 0)
    except FileNotFoundError:
        return False


def _extended(client: paramiko.SFTPClient, name: str, handle: object) -> None:
    """Send an extended request, for which paramiko has no public call."""
    client._request(CMD_EXTENDED, name, handle)  # pyright: ignore[reportAttributeAccessIssue]


def _closed(client: paramiko.SFTPClient) -> bool:
    channel = client.get_channel()
    return channel is None or channel.closed


def _is_answer(error: Exception) -> bool:
    """Say whether the server answered, so that the connection is still in step."""
    return isinstance(error, OSError) and not isinstance(error, TimeoutError | ConnectionError)


def _raise_typed(error: Exception, what: str, *, lost: bool) -> NoReturn:
    """Raise the typed error. A failure without a number is the server's generic answer."""
    if isinstance(error, paramiko.BadHostKeyException):
        raise StoreDenied(
            f"{what}: the host key is not the one that is known",
            "Do not go on before the provider has confirmed the new key",
        ) from error
    if isinstance(error, paramiko.AuthenticationException):
        raise StoreDenied(
            f"{what}: the server refuses the login",
            "Check user, TGV_SFTP_KEY_FILE and TGV_SFTP_PASSWORD",
        ) from error
    text = str(error)
    if isinstance(error, OSError) and any(word in text.lower() for word in _FULL_WORDS):
        raise StoreFull(f"{what}: {text}", "Free space on the server, then run again") from error
    if lost or not isinstance(error, OSError):
        raise StoreUnreachable(
            f"{what}: {text or type(error).__name__}", "Check that the server runs"
        ) from error
    if error.errno is None and not isinstance(error, TimeoutError):
        raise StoreFailed(
            f"{what}: the server answers {text!r}",
            "Look at the server's log; SFTP says no more, often its disk or quota is full",
        ) from error
    if error.errno == errno.EACCES:
        raise StoreDenied(f"{what}: {text}", "Give this login write access there") from error
    raise from_os_error(error, what) from error
