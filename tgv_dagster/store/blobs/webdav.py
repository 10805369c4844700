"""Blobs on a WebDAV server, through fsspec and webdav4.

Belongs here: the driver and the meaning of HTTP answers. Does not belong here: the order of steps
of a put (remote.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import BinaryIO, NoReturn
from urllib.parse import urlsplit

import httpx
from webdav4.client import (
    BadGatewayError,
    Client,
    ClientError,
    ForbiddenOperation,
    HTTPError,
    InsufficientStorage,
    ResourceAlreadyExists,
    ResourceConflict,
    ResourceLocked,
    ResourceNotFound,
)
from webdav4.fsspec import WebdavFileSystem

from tgv_dagster.store.blobs import model
from tgv_dagster.store.blobs.errors import (
    BlobMissing,
    BlobTooLarge,
    StoreDenied,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreUnreachable,
)
from tgv_dagster.store.blobs.remote import PerThread
from tgv_dagster.store.blobs.source import CHUNK
from tgv_dagster.store.blobs.staging import StagingDriver
from tgv_dagster.store.blobs.walk import Entry

_TIMEOUT = httpx.Timeout(60.0, connect=15.0)
_BUSY = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.LOCKED,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)


@dataclass(frozen=True, slots=True)
class WebdavLogin:
    """Server address (`https://host:port`) and basic authentication."""

    origin: str
    user: str | None = None
    password: str | None = None


class WebdavDriver(StagingDriver):
    """A `Driver` for one collection on a WebDAV server."""

    def __init__(self, login: WebdavLogin, root: str) -> None:
        super().__init__(root)
        self._login = login
        self._sessions = PerThread(self._connect, lambda dav: dav.client.http.close())

    def durability(self, region: str | None) -> model.Durability:
        """See `Driver.durability`. The protocol has no word for a sync."""
        return model.Durability(
            fsynced=model.Assurance.NOT_OFFERED,
            atomic_rename=model.Assurance.PROMISED,
            read_back=model.Assurance.DONE,
            no_overwrite=model.Assurance.PROMISED,
            encrypted=urlsplit(self._login.origin).scheme == "https",
            region=region,
        )

    def stat(self, path: str) -> int | None:
        """See `Driver.stat`."""
        with self._session(path) as client:
            try:
                found = _properties(client, self.absolute(path))
            except ResourceNotFound:
                return None
        if found.collection:
            raise StoreFailed(f"{path} is no file", "Remove what stands there")
        return int(found.content_length or 0)

    def fetch(self, path: str, start: int, length: int) -> bytes:
        """See `Driver.fetch`. A server that knows no ranges sends all; the rest is passed over."""
        with self._session(path) as client:
            url = client.join_url(self.absolute(path))
            span = {"Range": f"bytes={start}-{start + length - 1}", "Accept-Encoding": "identity"}
            with client.http.stream("GET", url, headers=span) as answer:
                if answer.status_code == HTTPStatus.NOT_FOUND:
                    raise BlobMissing(f"{path} is gone", "Restore it from the backup")
                answer.raise_for_status()
                skip = 0 if answer.status_code == HTTPStatus.PARTIAL_CONTENT else start
                return _take(answer.iter_bytes(CHUNK), skip, length)

    def send(self, path: str, file: BinaryIO, size: int) -> bool:
        """See `Driver.send`."""
        self.make_parents(path)
        with self._session(path) as client, self._known_directories():
            client.http.put(
                client.join_url(self.absolute(path)),
                content=iter(lambda: file.read(CHUNK), b""),
                headers={"Content-Length": str(size)},
            ).raise_for_status()
        return True

    def publish(self, staged: str, final: str) -> bool:
        """See `Driver.publish`: MOVE with `Overwrite: F`."""
        self.make_parents(final)
        with self._session(final) as client, self._known_directories():
            try:
                client.move(self.absolute(staged), self.absolute(final), overwrite=False)
            except ResourceAlreadyExists:
                return False
        return True

    def remove(self, path: str) -> bool:
        """See `Driver.remove`."""
        with self._session(path) as client:
            try:
                client.remove(self.absolute(path))
            except ResourceNotFound:
                return False
        return True

    def make_directory(self, path: str) -> bool:
        """See `StagingDriver.make_directory`."""
        with self._session(path) as client:
            if _is_collection(client, path):
                return True
            try:
                client.mkdir(path)
            except ResourceAlreadyExists:
                return True
            except (ResourceConflict, ResourceNotFound):
                return False
        return True

    def list_directory(self, path: str) -> list[Entry] | None:
        """See `StagingDriver.list_directory`."""
        with self._session(path) as client:
            try:
                infos = client.ls(self.absolute(path), allow_listing_resource=False)
            except ResourceNotFound:
                return None
        return [_entry(info) for info in infos if isinstance(info, dict)]

    def _connect(self) -> WebdavFileSystem:
        login = self._login
        auth = (login.user, login.password or "") if login.user else None
        return WebdavFileSystem(
            login.origin, auth=auth, retry=False, timeout=_TIMEOUT, skip_instance_cache=True
        )

    @contextmanager
    def _known_directories(self) -> Iterator[None]:
        """Make the directories again next time when one has vanished (409, or 404)."""
        try:
            yield
        except (ResourceConflict, ResourceNotFound, httpx.HTTPStatusError) as error:
            self.forget_directories()
            status = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else 409
            if status in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND):
                raise StoreUnreachable(
                    "a collection of the store vanished", "Check that the volume stays mounted"
                ) from error
            raise

    @contextmanager
    def _session(self, path: str) -> Iterator[Client]:
        what = f"{self._login.origin} {path}"
        try:
            yield self._sessions.get().client
        except httpx.HTTPStatusError as error:
            raise _typed(error.response, what) from error
        except HTTPError as error:
            raise _typed(error.response, what) from error
        except (httpx.TransportError, httpx.StreamError) as error:
            self._sessions.drop()
            raise StoreUnreachable(
                f"{what}: {error or type(error).__name__}", "Check that the server runs"
            ) from error
        except ClientError as error:
            _raise_client_error(error, what)


def _properties(client: Client, path: str):  # webdav4 exports no name for it
    """Ask for one resource alone; without a depth the protocol means everything below it."""
    answer = client.propfind(path, headers={"Depth": "0"}, follow_redirects=True)
    return answer.get_response_for_path(client.base_url.path, path).properties


def _is_collection(client: Client, path: str) -> bool:
    try:
        return bool(_properties(client, path).collection)
    except ResourceNotFound:
        return False


def _entry(info: dict[str, object]) -> Entry:
    modified = info.get("modified")
    seconds = modified.timestamp() if hasattr(modified, "timestamp") else 0.0  # pyright: ignore
    name = str(info["name"]).rstrip("/").rpartition("/")[2]
    return Entry(name, info.get("type") == "directory", seconds)


def _take(pieces: Iterator[bytes], skip: int, length: int) -> bytes:
    """Return `length` bytes after the first `skip`, or what there is."""
    taken = bytearray()
    for piece in pieces:
        rest = piece[min(skip, len(piece)) :]
        skip -= len(piece) - len(rest)
        taken += rest[: length - len(taken)]
        if len(taken) == length:
            break
    return bytes(taken)


def _typed(answer: httpx.Response, what: str) -> StoreError:
    """Return the typed error for an HTTP answer."""
    status = answer.status_code
    problem = f"{what}: {status} {answer.reason_phrase}"
    if status == HTTPStatus.INSUFFICIENT_STORAGE:
        return StoreFull(problem, "Free space or raise the quota on the server, then run again")
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return BlobTooLarge(problem, "Raise the upload limit of the server")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return StoreDenied(problem, "Check TGV_WEBDAV_USER, TGV_WEBDAV_PASSWORD and write access")
    if status in _BUSY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return StoreUnreachable(problem, "Look at the server's log")
    return StoreFailed(problem, "Look at the server's log; nothing was stored")


def _raise_client_error(error: ClientError, what: str) -> NoReturn:
    """Raise the typed error for what webdav4 has already told apart."""
    problem = f"{what}: {error}"
    if isinstance(error, InsufficientStorage):
        raise StoreFull(
            problem, "Free space or raise the quota on the server, then run again"
        ) from error
    if isinstance(error, ForbiddenOperation):
        raise StoreDenied(problem, "Give this login write access there") from error
    if isinstance(error, BadGatewayError | ResourceLocked):
        raise StoreUnreachable(problem, "Look at the server's log") from error
    raise StoreFailed(problem, "Look at the server's log; nothing was stored") from error
