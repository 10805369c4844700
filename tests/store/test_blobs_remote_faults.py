"""Remote stores under cut connections, harmed bytes, refused logins and full servers."""

import contextlib
import hashlib
import io
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest
from blob_servers import (
    AUTHORISED,
    HARMLESS,
    PASSWORD,
    QUICK,
    USER,
    Backend,
    FailingSftp,
    FullSftp,
    HarmingSftp,
    LosslessSftp,
    Moto,
    Proxy,
    S3Double,
    SftpService,
    SyncLessSftp,
    WebdavService,
    make_backend,
    sftp_backend,
    webdav_backend,
)

from tgv_dagster.store.blobs import (
    Assurance,
    BadName,
    BlobStore,
    BlobTooLarge,
    Damaged,
    ReadBackMismatch,
    RemoteBlobStore,
    StoreDenied,
    StoreFailed,
    StoreFull,
    StoreNotThere,
    StoreOptions,
    StoreUnreachable,
    Unreachable,
    Verified,
    blob_key,
    resolve,
)
from tgv_dagster.store.blobs.s3 import PART, S3Driver, S3Login, S3Places
from tgv_dagster.store.blobs.sftp import SftpDriver, SftpLogin
from tgv_dagster.store.blobs.webdav import WebdavDriver, WebdavLogin

pytest_plugins = ["blob_servers"]

LARGE = bytes(range(256)) * 12_000
KEY = blob_key(hashlib.sha256(LARGE).hexdigest())
A_CENTURY = 100 * 365 * 86400.0
HARMED_ON_THE_WAY = b"Betrag: 100 EUR " + HARMLESS + b" Ende"


def port_of(backend: Backend) -> int:
    assert backend.port is not None
    return backend.port


def test_an_upload_that_breaks_once_is_sent_again(remote: Backend) -> None:
    with Proxy(port_of(remote), cut_up=1_000_000, cuts=1) as proxy:
        stored = remote.store(port=proxy.port).put("acme", io.BytesIO(LARGE))
        assert proxy.broken == 1

    assert stored.key == KEY
    assert remote.paths() == [f"acme/{KEY}"]
    assert remote.store().verify("acme", KEY) == Verified(KEY[-64:], len(LARGE))


def test_an_upload_that_always_breaks_leaves_nothing(remote: Backend) -> None:
    direct = remote.store()
    kept = direct.put("acme", io.BytesIO(b"before")).key
    with Proxy(port_of(remote), cut_up=1_000_000) as proxy:
        with pytest.raises(StoreUnreachable):
            remote.store(port=proxy.port).put("acme", io.BytesIO(LARGE))
        assert proxy.broken >= 3

    assert list(direct.iter_keys("acme")) == [kept]
    assert not direct.exists("acme", KEY)
    assert not direct.put("acme", io.BytesIO(LARGE)).already_there


def test_a_download_that_breaks_once_is_continued(remote: Backend) -> None:
    remote.store().put("acme", io.BytesIO(LARGE))
    with Proxy(port_of(remote), cut_down=1_000_000, cuts=1) as proxy:
        store = remote.store(port=proxy.port)
        with store.open("acme", KEY) as file:
            assert file.read() == LARGE
        assert proxy.broken == 1


def test_a_download_that_always_breaks_is_unreachable_and_not_damaged(remote: Backend) -> None:
    remote.store().put("acme", io.BytesIO(LARGE))
    with Proxy(port_of(remote), cut_down=1_000_000) as proxy:
        store = remote.store(port=proxy.port)

        assert isinstance(store.verify("acme", KEY), Unreachable)
        with pytest.raises(StoreUnreachable), store.local_path("acme", KEY):
            pass
        assert proxy.broken >= 3


def test_a_blob_that_shrinks_while_it_is_open_never_reads_as_whole(remote: Backend) -> None:
    store = remote.store()
    store.put("acme", io.BytesIO(LARGE))

    with store.open("acme", KEY) as file:
        remote.overwrite(f"acme/{KEY}", LARGE[:1000])
        with pytest.raises(StoreUnreachable, match="1000 bytes"):
            file.read()


def test_a_read_back_that_breaks_is_no_success(remote: Backend) -> None:
    with (
        Proxy(port_of(remote), cut_down=1_000_000) as proxy,
        pytest.raises(StoreUnreachable),
    ):
        remote.store(port=proxy.port).put("acme", io.BytesIO(LARGE))


def test_a_server_that_is_down_is_unreachable(remote: Backend) -> None:
    key = remote.store().put("acme", io.BytesIO(LARGE)).key
    with Proxy(port_of(remote)) as proxy:
        closed = proxy.port
    store = remote.store(port=closed)

    assert isinstance(store.verify("acme", key), Unreachable)
    for act in (
        lambda: store.exists("acme", key),
        lambda: store.put("acme", io.BytesIO(b"new")),
        lambda: list(store.iter_keys("acme")),
    ):
        with pytest.raises(StoreUnreachable):
            act()


def test_a_store_outlives_a_restart_of_its_connection(remote: Backend) -> None:
    """Every connection is cut after the first put; the next use opens another."""
    proxy = Proxy(port_of(remote))
    with proxy:
        store = remote.store(port=proxy.port)
        key = store.put("acme", io.BytesIO(LARGE)).key
        proxy.cut_all()

        assert store.verify("acme", key) == Verified(key[-64:], len(LARGE))


@pytest.fixture(params=["s3", "sftp", "webdav"])
def harming(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[BlobStore, Backend]]:
    """A store to which bytes come changed: by the way over HTTP, by the server over SFTP."""
    if request.param == "sftp":
        service = SftpService(tmp_path / "harming", HarmingSftp)
        backend = sftp_backend(service, "place", tmp_path)
        yield backend.store(), backend
        service.stop()
    else:
        backend = make_backend(request.param, request, tmp_path)
        with Proxy(port_of(backend), change=True) as proxy:
            yield backend.store(port=proxy.port), backend


def test_bytes_harmed_on_their_way_are_not_published(harming: tuple[BlobStore, Backend]) -> None:
    store, backend = harming
    digest = hashlib.sha256(HARMED_ON_THE_WAY).hexdigest()

    with pytest.raises(ReadBackMismatch, match="nothing was stored"):
        store.put("acme", io.BytesIO(HARMED_ON_THE_WAY))
    with pytest.raises(ReadBackMismatch):
        store.put_sidecar("acme", "arrivals/a.json", HARMED_ON_THE_WAY)

    assert backend.paths() == []
    assert not store.exists("acme", blob_key(digest))


@pytest.mark.parametrize(
    ("kind", "name"), [("sftp", "TGV_SFTP_PASSWORD"), ("webdav", "TGV_WEBDAV_PASSWORD")]
)
def test_a_refused_login_is_denied(
    kind: str, name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    store = make_backend(kind, request, tmp_path).store(environ={name: "wrong"})

    with pytest.raises(StoreDenied, match=name):
        store.put("acme", io.BytesIO(LARGE))
    assert isinstance(store.verify("acme", KEY), Unreachable)


def test_an_unknown_host_key_is_denied(sftp_server: SftpService, tmp_path: Path) -> None:
    empty = tmp_path / "nobody"
    empty.write_text("")
    store = sftp_backend(sftp_server, "unknown", tmp_path).store(
        environ={"TGV_SFTP_KNOWN_HOSTS": str(empty)}
    )

    with pytest.raises(StoreDenied, match=r"SHA256:.*known hosts"):
        store.put("acme", io.BytesIO(LARGE))


def test_another_host_key_than_the_known_one_is_denied(
    sftp_server: SftpService, tmp_path: Path
) -> None:
    other = SftpService(tmp_path / "other")
    known = tmp_path / "known"
    known.write_text(other.known_hosts(sftp_server.port))
    other.stop()
    store = sftp_backend(sftp_server, "taken", tmp_path).store(
        environ={"TGV_SFTP_KNOWN_HOSTS": str(known)}
    )

    with pytest.raises(StoreDenied, match="provider"):
        store.put("acme", io.BytesIO(LARGE))


def test_a_key_file_opens_an_sftp_store(sftp_server: SftpService, tmp_path: Path) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    key_file = tmp_path / "key"
    key.write_private_key(key_file)
    AUTHORISED.append(key.convert_to_public())
    backend = sftp_backend(sftp_server, "by-key", tmp_path)

    store = backend.store(environ={"TGV_SFTP_PASSWORD": "", "TGV_SFTP_KEY_FILE": str(key_file)})

    assert store.put("acme", io.BytesIO(LARGE)).key == KEY


@pytest.mark.parametrize(
    ("status", "code", "error", "tries"),
    [
        (403, "AccessDenied", StoreDenied, 1),
        (403, "SignatureDoesNotMatch", StoreDenied, 1),
        (403, "RequestTimeTooSkewed", StoreDenied, 1),
        (403, "QuotaExceeded", StoreFull, 1),
        (507, "XMinioStorageFull", StoreFull, 1),
        (400, "EntityTooLarge", BlobTooLarge, 1),
        (404, "NoSuchBucket", StoreNotThere, 1),
        (400, "MalformedXML", StoreFailed, 1),
        (503, "SlowDown", StoreUnreachable, 3),
        (500, "InternalError", StoreUnreachable, 3),
        (409, "ConditionalRequestConflict", StoreUnreachable, 3),
    ],
)
def test_answers_of_s3_have_their_type_and_only_passing_ones_are_retried(
    status: int, code: str, error: type[Exception], tries: int
) -> None:
    with S3Double(status, code) as double:
        driver = S3Driver(s3_login(double.port), S3Places("real"))
        with pytest.raises(error) as raised:
            QUICK.run(lambda: driver.send("acme/x", io.BytesIO(b"x"), 1))

    assert raised.type is error
    assert double.requests == tries


@pytest.mark.parametrize(
    ("method", "answer", "error"),
    [
        ("PUT", "507 Insufficient Storage", StoreFull),
        ("MOVE", "507 Insufficient Storage", StoreFull),
        ("PUT", "413 Request Entity Too Large", BlobTooLarge),
        ("PUT", "403 Forbidden", StoreDenied),
        ("MOVE", "403 Forbidden", StoreDenied),
        ("MKCOL", "403 Forbidden", StoreDenied),
        ("PUT", "423 Locked", StoreUnreachable),
        ("MOVE", "423 Locked", StoreUnreachable),
        ("MOVE", "502 Bad Gateway", StoreUnreachable),
        ("PUT", "503 Service Unavailable", StoreUnreachable),
        ("PUT", "418 I'm a teapot", StoreFailed),
    ],
)
def test_answers_of_webdav_have_their_type_and_leave_nothing(
    tmp_path: Path, method: str, answer: str, error: type[Exception]
) -> None:
    service = WebdavService(tmp_path / "dav")
    backend = webdav_backend(service, "place")
    backend.store().put("acme", io.BytesIO(b"before"))
    before = backend.paths()
    service.answers[method] = answer

    with pytest.raises(error) as raised:
        backend.store().put("acme", io.BytesIO(LARGE))
    service.stop()

    assert raised.type is error
    assert backend.paths() == before


def test_a_webdav_server_without_ranges_is_read(tmp_path: Path) -> None:
    service = WebdavService(tmp_path / "dav", ranges=False)
    store = webdav_backend(service, "place").store()
    big = LARGE * 2
    key = store.put("acme", io.BytesIO(big)).key

    assert store.read_range("acme", key, 5_000_000, 10) == big[5_000_000:5_000_010]
    assert store.verify("acme", key) == Verified(key[-64:], len(big))
    service.stop()


@pytest.mark.parametrize(("kind", "error"), [(FullSftp, StoreFull), (FailingSftp, StoreFailed)])
def test_a_full_or_failing_sftp_server_is_said(
    tmp_path: Path, kind: type[LosslessSftp], error: type[Exception]
) -> None:
    good = SftpService(tmp_path / "root")
    sftp_backend(good, "place", tmp_path).store().put("acme", io.BytesIO(b"before"))
    good.stop()
    bad = SftpService(tmp_path / "root", kind)
    backend = sftp_backend(bad, "place", tmp_path)
    before = backend.paths()

    with pytest.raises(error):
        backend.store().put("acme", io.BytesIO(LARGE))
    bad.stop()

    assert backend.paths() == before


def test_a_server_without_sync_is_stated(tmp_path: Path) -> None:
    service = SftpService(tmp_path / "root", SyncLessSftp)
    store = sftp_backend(service, "place", tmp_path).store()
    before = store.durability.fsynced

    store.put("acme", io.BytesIO(LARGE))
    service.stop()

    assert (before, store.durability.fsynced) == (Assurance.UNMEASURED, Assurance.NOT_OFFERED)


@pytest.mark.parametrize("kind", ["sftp", "webdav"])
def test_unfinished_uploads_are_swept_when_they_are_old(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    backend = make_backend(kind, request, tmp_path)
    key = backend.store().put("acme", io.BytesIO(LARGE)).key
    for name in ("old", "young"):
        backend.overwrite(f"acme/incoming/{name}.part", b"half")
    two_days_ago = time.time() - 2 * 86400
    os.utime(backend.root / "acme/incoming/old.part", (two_days_ago, two_days_ago))  # pyright: ignore

    backend.store().put("acme", io.BytesIO(LARGE))

    assert backend.paths() == ["acme/incoming/young.part", f"acme/{key}"]


@pytest.mark.parametrize("kind", ["sftp", "webdav"])
def test_publishing_never_overwrites(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    backend = make_backend(kind, request, tmp_path)
    backend.store().put_sidecar("acme", "taken.json", b"first")
    driver: SftpDriver | WebdavDriver
    place = backend.root.name  # pyright: ignore[reportAttributeAccessIssue]
    if kind == "sftp":
        known = tmp_path / f"known_hosts_{backend.port}"
        login = SftpLogin("127.0.0.1", port_of(backend), USER, PASSWORD, known_hosts=known)
        driver = SftpDriver(login, f"/{place}")
    else:
        origin = f"http://127.0.0.1:{backend.port}"
        driver = WebdavDriver(WebdavLogin(origin, USER, PASSWORD), place)
    driver.send("acme/incoming/second.part", io.BytesIO(b"second"), 6)

    assert not driver.publish("acme/incoming/second.part", "acme/manifests/taken.json")
    assert backend.read("acme/manifests/taken.json") == b"first"
    assert backend.read("acme/incoming/second.part") == b"second"


@pytest.fixture
def moto(request: pytest.FixtureRequest, tmp_path: Path) -> Moto:
    backend = make_backend("s3", request, tmp_path)
    assert isinstance(backend, Moto)
    return backend


def s3_login(port: int | None) -> S3Login:
    return S3Login(f"http://127.0.0.1:{port}", "key", "secret", None, "eu-central-1")


def s3_store(moto: Moto, *, stale_seconds: float = 86400, page_size: int = 1000) -> RemoteBlobStore:
    places = S3Places(f"{moto.real}/firm")
    driver = S3Driver(s3_login(moto.port), places, page_size=page_size)
    return RemoteBlobStore(driver, "s3://real", retry=QUICK, stale_seconds=stale_seconds)


@pytest.mark.parametrize("content", [LARGE, LARGE * (PART // len(LARGE) + 2)], ids=["one", "parts"])
def test_an_object_is_sent_under_the_condition_that_there_is_none(
    moto: Moto, content: bytes
) -> None:
    store = moto.store()
    stored = store.put("acme", io.BytesIO(content))
    driver = S3Driver(s3_login(moto.port), S3Places(f"{moto.real}/firm"))

    assert not driver.send(f"acme/{stored.key}", io.BytesIO(bytes(len(content))), len(content))
    assert store.verify("acme", stored.key) == Verified(stored.sha256, len(content))
    assert (moto.paths(), moto.open_uploads()) == ([f"acme/{stored.key}"], 0)


def test_an_upload_in_parts_that_breaks_is_aborted(moto: Moto) -> None:
    large = LARGE * (PART // len(LARGE) + 2)
    with Proxy(port_of(moto), cut_up=1_000_000) as proxy:
        with pytest.raises(StoreUnreachable):
            moto.store(port=proxy.port).put("acme", io.BytesIO(large))
        assert proxy.broken >= 3

    assert (moto.paths(), moto.open_uploads()) == ([], 0)


def test_parts_that_nobody_completed_are_swept(moto: Moto) -> None:
    """moto dates every upload in parts to 2010."""
    moto.begin_upload("acme/sha256/left")

    s3_store(moto, stale_seconds=A_CENTURY).put("acme", io.BytesIO(b"one"))
    kept = moto.open_uploads()
    s3_store(moto).put("acme", io.BytesIO(b"two"))

    assert (kept, moto.open_uploads()) == (1, 0)


def test_an_object_that_fails_its_own_checksum_is_damaged_and_not_unreachable(moto: Moto) -> None:
    """Another tool stored it with a checksum, and its bytes changed after that."""
    key = blob_key(hashlib.sha256(HARMED_ON_THE_WAY).hexdigest())
    with Proxy(port_of(moto), change=True) as proxy:
        moto.overwrite(f"acme/{key}", HARMED_ON_THE_WAY, port=proxy.port)

    assert isinstance(moto.store().verify("acme", key), Damaged)


def test_a_listing_of_several_pages_is_whole(moto: Moto) -> None:
    store = s3_store(moto, page_size=2)
    keys = sorted(store.put("acme", io.BytesIO(bytes([n]))).key for n in range(7))

    assert list(store.iter_keys("acme")) == keys


def test_buckets_can_have_real_buckets_of_their_own(moto: Moto) -> None:
    options = StoreOptions(retry=QUICK, s3_buckets={"acme": moto.real, "beta": f"{moto.real}/b"})
    environ = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{moto.port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }
    store = resolve("s3://", options=options, environ=environ)
    own = store.put("acme", io.BytesIO(LARGE)).key
    store.put("beta", io.BytesIO(LARGE))

    assert moto.paths() == [f"b/{own}", own]
    assert list(store.iter_keys("acme")) == [own]
    with pytest.raises(BadName, match="gamma"):
        store.put("gamma", io.BytesIO(LARGE))


def test_a_real_bucket_is_never_made_by_itself(moto: Moto) -> None:
    store = RemoteBlobStore(
        S3Driver(s3_login(moto.port), S3Places("never-made")), "s3://never-made", retry=QUICK
    )

    with pytest.raises(StoreNotThere, match="European Union"):
        store.put("acme", io.BytesIO(LARGE))


def test_one_store_serves_several_threads(remote: Backend) -> None:
    store = remote.store()
    contents = [bytes([n]) * 300_000 for n in range(6)]
    results: list[object] = []

    def work(content: bytes) -> None:
        try:
            key = store.put("acme", io.BytesIO(content)).key
            with store.open("acme", key) as file:
                results.append(file.read() == content)
        except Exception as error:  # noqa: BLE001  # shown by the assertion below
            results.append(error)

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * len(contents)


def test_a_forked_child_uses_a_connection_of_its_own(remote: Backend) -> None:
    store = remote.store()
    key = store.put("acme", io.BytesIO(LARGE)).key
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = 0 if isinstance(store.verify("acme", key), Verified) else 2
        os._exit(code)

    mine = store.verify("acme", key)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert (code, mine) == (0, Verified(key[-64:], len(LARGE)))
