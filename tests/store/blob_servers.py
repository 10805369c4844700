"""Real stores on loopback for the tests of the byte store, and ways to harm them.

A `Backend` hands out stores over one fresh place and reaches behind them, as a failing disk or a
careless administrator would. Every server keeps its files under the test's temporary directory.
A test module names this one in `pytest_plugins` and imports from it too, which is why pytest must
not rewrite it: PYTEST_DONT_REWRITE.
"""

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import asyncssh
import boto3
import pytest
from cheroot.wsgi import Server as CherootServer
from moto.server import ThreadedMotoServer
from wsgidav.fs_dav_provider import FilesystemProvider
from wsgidav.wsgidav_app import WsgiDAVApp

from tgv_dagster.store.blobs import BlobStore, RetryPolicy, StoreOptions, resolve

T = TypeVar("T")

QUICK = RetryPolicy(attempts=3, wait_initial=0.01, wait_max=0.02, timeout=20.0)
AUTHORISED: list[asyncssh.SSHKey] = []
USER, PASSWORD = "tgv", "not-a-secret"
HARMLESS, HARMED = b"<left as it was>", b"<changed on way>"


class Backend(Protocol):
    """One kind of store over one fresh place."""

    name: str

    def store(
        self,
        *,
        port: int | None = None,
        create: bool = True,
        environ: dict[str, str] | None = None,
    ) -> BlobStore:
        """Return a new store object over the place, on request through a proxy's port."""
        ...

    def overwrite(self, path: str, content: bytes) -> None:
        """Replace or create a file behind the store's back; `path` starts with the bucket."""
        ...

    def read(self, path: str) -> bytes | None:
        """Read a file behind the store's back, None when there is none."""
        ...

    def paths(self) -> list[str]:
        """Name every file of the place except the marker of the store."""
        ...

    @property
    def port(self) -> int | None:
        """The port of the server, None without one."""
        ...


@dataclass
class Directory:
    """A place whose files lie in a local directory, with or without a server before it."""

    name: str
    root: Path
    url: Callable[[int | None], str]
    port: int | None = None
    environ: dict[str, str] = field(default_factory=dict)
    make_environ: Callable[[int | None], dict[str, str]] | None = None

    def store(
        self,
        *,
        port: int | None = None,
        create: bool = True,
        environ: dict[str, str] | None = None,
    ) -> BlobStore:
        chosen = port or self.port
        usual = self.make_environ(chosen) if self.make_environ else self.environ
        return resolve(
            self.url(chosen),
            region="DE",
            options=StoreOptions(create=create, retry=QUICK),
            environ={**usual, **(environ or {})},
        )

    def overwrite(self, path: str, content: bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.write_bytes(content)

    def read(self, path: str) -> bytes | None:
        target = self.root / path
        return target.read_bytes() if target.exists() else None

    def paths(self) -> list[str]:
        files = (path for path in self.root.rglob("*") if path.is_file())
        names = sorted(str(path.relative_to(self.root)) for path in files)
        return [name for name in names if name != "tgv-store.json"]


@dataclass
class Moto:
    """One real bucket on moto's S3 server."""

    real: str
    port: int | None
    name: str = "s3"

    def __post_init__(self) -> None:
        self._client = self._connect(self.port)
        self._client.create_bucket(
            Bucket=self.real, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )

    def _connect(self, port: int | None):  # boto3 makes its clients' types
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            region_name="eu-central-1",
        )

    def store(
        self,
        *,
        port: int | None = None,
        create: bool = True,
        environ: dict[str, str] | None = None,
    ) -> BlobStore:
        usual = {
            "TGV_S3_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "eu-central-1",
        }
        return resolve(
            f"s3://{self.real}/firm",
            region="DE",
            options=StoreOptions(create=create, retry=QUICK),
            environ={**usual, **(environ or {})},
        )

    def overwrite(self, path: str, content: bytes, *, port: int | None = None) -> None:
        client = self._connect(port) if port else self._client
        client.put_object(Bucket=self.real, Key=f"firm/{path}", Body=content)

    def read(self, path: str) -> bytes | None:
        try:
            answer = self._client.get_object(Bucket=self.real, Key=f"firm/{path}")
        except self._client.exceptions.NoSuchKey:
            return None
        return answer["Body"].read()

    def paths(self) -> list[str]:
        page = self._client.list_objects_v2(Bucket=self.real)
        return [item["Key"].removeprefix("firm/") for item in page.get("Contents", ())]

    def open_uploads(self) -> int:
        """Count the uploads in parts that were neither completed nor aborted."""
        return len(self._client.list_multipart_uploads(Bucket=self.real).get("Uploads", ()))

    def begin_upload(self, path: str) -> None:
        """Leave an upload in parts unfinished."""
        key = f"firm/{path}"
        started = self._client.create_multipart_upload(Bucket=self.real, Key=key)
        self._client.upload_part(
            Bucket=self.real, Key=key, UploadId=started["UploadId"], PartNumber=1, Body=b"half"
        )


class LosslessSftp(asyncssh.SFTPServer):
    """asyncssh's server over one directory."""

    root: Path

    def __init__(self, channel: asyncssh.SSHServerChannel) -> None:
        super().__init__(channel, chroot=os.fsencode(self.root))


class HarmingSftp(LosslessSftp):
    """A server that stores something else than it was sent."""

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        return cast("int", super().write(file_obj, offset, data.replace(HARMLESS, HARMED)))


class FullSftp(LosslessSftp):
    """A server without room, which SFTP can only call a failure."""

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")


class FailingSftp(LosslessSftp):
    """A server that only ever says that it failed."""

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        raise asyncssh.SFTPFailure("Failure")


class SyncLessSftp(LosslessSftp):
    """A server that does not offer OpenSSH's sync."""

    def fsync(self, file_obj: object) -> None:
        raise asyncssh.SFTPOpUnsupported("Unsupported request")


class _SshServer(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == USER and key in AUTHORISED

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)


class SftpService:
    """An SFTP server in a thread of its own."""

    def __init__(self, root: Path, kind: type[LosslessSftp] = LosslessSftp) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        bound = type(kind.__name__, (kind,), {"root": root})
        self._server = self._run(self._listen(bound))
        self.port: int = self._server.get_port()

    async def _listen(self, sftp: type[LosslessSftp]) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=_SshServer,
            server_host_keys=[self._key],
            sftp_factory=sftp,
        )

    def known_hosts(self, port: int | None) -> str:
        return f"[127.0.0.1]:{port} {self._key.export_public_key().decode()}"

    def stop(self) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _run(self, work: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=20)


class WebdavService:
    """wsgidav behind cheroot in a thread of its own.

    answers: HTTP status with which a method is refused from now on.
    ranges: whether the server understands them.
    """

    def __init__(self, root: Path, *, ranges: bool = True) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.answers: dict[str, str] = {}
        app = WsgiDAVApp(
            {
                "provider_mapping": {"/": FilesystemProvider(str(root))},
                "simple_dc": {"user_mapping": {"*": {USER: {"password": PASSWORD}}}},
                "http_authenticator": {"accept_basic": True, "accept_digest": False},
                "verbose": 0,
                "logging": {"enable": False},
                "property_manager": True,
                "lock_storage": True,
            }
        )

        def handle(environ: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
            refusal = self.answers.get(environ["REQUEST_METHOD"])
            if refusal:
                environ["wsgi.input"].read()
                start(refusal, [("Content-Length", "0")])
                return [b""]
            if not ranges:
                environ.pop("HTTP_RANGE", None)
            return cast("Iterable[bytes]", app(environ, start))

        self._server = CherootServer(("127.0.0.1", 0), handle, numthreads=4)
        self._server.error_log = _say_nothing
        self._server.prepare()
        self.port: int = self._server.bind_addr[1]
        self._thread = threading.Thread(target=self._server.serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.stop()
        self._thread.join(timeout=10)


class S3Double:
    """Answers every request as an S3 service with one trouble would: a double, on a real socket."""

    def __init__(self, status: int, code: str) -> None:
        body = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                double.requests += 1
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(200 if self.command == "HEAD" else status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_HEAD = answer  # names http.server asks for

            def log_message(self, format: str, *args: object) -> None:
                _say_nothing()

        self.requests = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> "S3Double":
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _say_nothing(msg: str = "", level: int = 20, traceback: bool = False) -> None:
    """Keep a server quiet about connections that a test cuts."""


class Proxy:
    """A TCP proxy on loopback that cuts and changes what passes.

    cut_up, cut_down: bytes after which a connection breaks on the way to or from the server.
    cuts: how many connections break (None: every one). change: harm what passes to the server.
    """

    def __init__(
        self,
        target: int,
        *,
        cut_up: int | None = None,
        cut_down: int | None = None,
        cuts: int | None = None,
        change: bool = False,
    ) -> None:
        self._target = target
        self._cut = {"up": cut_up, "down": cut_down}
        self._left = cuts
        self._change = change
        self._lock = threading.Lock()
        self._ends: list[socket.socket] = []
        self.broken = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # else a waiting accept takes one more
        self._listener.close()

    def cut_all(self) -> None:
        """Cut every connection there is; new ones are let through."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._ends += [client, server]
                for way, source, sink in (("up", client, server), ("down", server, client)):
                    threading.Thread(
                        target=self._pump, args=(way, source, sink), daemon=True
                    ).start()

    def _pump(self, way: str, source: socket.socket, sink: socket.socket) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self._change and way == "up":
                    data = data.replace(HARMLESS, HARMED)
                passed += len(data)
                limit = self._cut[way]
                if limit is not None and passed > limit and self._may_break():
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _may_break(self) -> bool:
        with self._lock:
            if self._left == 0:
                return False
            if self._left is not None:
                self._left -= 1
            self.broken += 1
            return True


def sftp_backend(service: SftpService, place: str, scratch: Path) -> Directory:
    """Return a backend over one directory of an SFTP server."""

    def environ(port: int | None) -> dict[str, str]:
        known = scratch / f"known_hosts_{port}"
        known.write_text(service.known_hosts(port))
        return {"TGV_SFTP_PASSWORD": PASSWORD, "TGV_SFTP_KNOWN_HOSTS": str(known)}

    return Directory(
        "sftp",
        service.root / place,
        lambda port: f"sftp://{USER}@127.0.0.1:{port}/{place}",
        service.port,
        make_environ=environ,
    )


def webdav_backend(service: WebdavService, place: str) -> Directory:
    """Return a backend over one collection of a WebDAV server."""
    return Directory(
        "webdav",
        service.root / place,
        lambda port: f"webdav://{USER}@127.0.0.1:{port}/{place}",
        service.port,
        environ={"TGV_WEBDAV_PASSWORD": PASSWORD},
    )


@pytest.fixture(scope="session")
def moto_server() -> Iterator[ThreadedMotoServer]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def sftp_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SftpService]:
    service = SftpService(tmp_path_factory.mktemp("sftp"))
    yield service
    service.stop()


@pytest.fixture(scope="session")
def webdav_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebdavService]:
    service = WebdavService(tmp_path_factory.mktemp("webdav"))
    yield service
    service.stop()


_count = iter(range(1_000_000))


def make_backend(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Return a backend of a kind over a place nobody has used."""
    place = f"place-{next(_count)}"
    if kind == "local":
        root = tmp_path / place
        return Directory("local", root, lambda port: root.as_uri())
    if kind == "s3":
        _, port = request.getfixturevalue("moto_server").get_host_and_port()
        return Moto(f"real-{place}", port)
    if kind == "sftp":
        service = request.getfixturevalue("sftp_server")
        return sftp_backend(service, place, tmp_path)
    return webdav_backend(request.getfixturevalue("webdav_server"), place)


@pytest.fixture(params=["local", "s3", "sftp", "webdav"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each kind of store in turn."""
    return make_backend(request.param, request, tmp_path)


@pytest.fixture
def store(backend: Backend) -> BlobStore:
    """A store of each kind in turn."""
    return backend.store()


@pytest.fixture(params=["s3", "sftp", "webdav"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each kind of store behind a network in turn."""
    return make_backend(request.param, request, tmp_path)
