"""From the address of a store to the store (RAW-12), so that a provider can change.

Belongs here: reading the address and the environment. Does not belong here: which bucket a
document goes to; that stands in the entity table (RAW-19).

Addresses: a path or `file:///path`; `s3://bucket/prefix` (or `s3://` with a table of buckets);
`sftp://user@host:port/path`; `webdavs://host:port/path` (`webdav://` without encryption).
Secrets never stand in an address, because addresses are shown and logged:

- S3: the usual AWS_* variables; `TGV_S3_ENDPOINT_URL` for another provider than AWS
- SFTP: `TGV_SFTP_USER`, `TGV_SFTP_KEY_FILE`, `TGV_SFTP_KEY_PASSPHRASE`, `TGV_SFTP_PASSWORD`,
  `TGV_SFTP_KNOWN_HOSTS`
- WebDAV: `TGV_WEBDAV_USER`, `TGV_WEBDAV_PASSWORD`
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from tgv_dagster.store.blobs.errors import BadStoreUrl
from tgv_dagster.store.blobs.local import LocalBlobStore
from tgv_dagster.store.blobs.model import BlobStore
from tgv_dagster.store.blobs.remote import Driver, RemoteBlobStore, RetryPolicy


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What an address does not say.

    create: set up a new store where there is none (False: an unmounted volume is an error).
    spool_dir: where files wait on their way to a remote store; needs room for the largest.
    s3_buckets: real S3 bucket, with or without a prefix, for single buckets.
    """

    create: bool = True
    spool_dir: Path | None = None
    s3_buckets: Mapping[str, str] = field(default_factory=dict)
    retry: RetryPolicy = field(default_factory=RetryPolicy)


def resolve(
    url: str,
    *,
    region: str | None = None,
    options: StoreOptions | None = None,
    environ: Mapping[str, str] | None = None,
) -> BlobStore:
    """Return the store at an address.

    region: as the organisation declares it (RAW-13). environ: where endpoint and secrets stand,
    the process environment by default. A remote store is first contacted when it is used.
    Raises `BadStoreUrl`; for a directory also what `LocalBlobStore` raises.
    """
    options = options or StoreOptions()
    environ = os.environ if environ is None else environ
    parts = _split(url)
    if parts.scheme in ("", "file"):
        return LocalBlobStore(_local_root(url, parts), region=region, create=options.create)
    return RemoteBlobStore(
        _driver(url, parts, options, environ),
        url,
        region=region,
        spool_dir=options.spool_dir,
        create=options.create,
        retry=options.retry,
    )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise BadStoreUrl(f"the store address cannot be read: {error}", "Correct it") from error
    if parts.password is not None:
        raise BadStoreUrl(
            f"the address of {parts.hostname} contains a password", "Put it into the environment"
        )
    if parts.query or parts.fragment:
        raise BadStoreUrl(
            f"{url!r} has a query or fragment", "Write special characters of a path as %XX"
        )
    return parts


def _local_root(url: str, parts: SplitResult) -> Path:
    if parts.scheme == "file" and parts.netloc not in ("", "localhost"):
        raise BadStoreUrl(f"{url!r} names another machine", "Write file:/// and the path")
    path = unquote(parts.path) if parts.scheme == "file" else url
    if not path.strip() or "\0" in path:
        raise BadStoreUrl(f"{url!r} names no directory", "Give the path of a directory")
    return Path(path).expanduser()


def _driver(
    url: str, parts: SplitResult, options: StoreOptions, environ: Mapping[str, str]
) -> Driver:
    """Return the driver for a remote address.

    The driver modules are imported here, because their libraries are slow to load and most
    installations use none or one of them.
    """
    if parts.scheme == "s3":
        return _s3(parts, options, environ)
    if not parts.hostname and parts.scheme in ("sftp", "webdav", "webdavs"):
        raise BadStoreUrl(f"{url!r} names no host", "Write the host after //")
    if parts.scheme == "sftp":
        return _sftp(parts, environ)
    if parts.scheme in ("webdav", "webdavs"):
        return _webdav(parts, environ)
    raise BadStoreUrl(
        f"{parts.scheme!r} is no kind of store", "Use a path, file, s3, sftp, webdavs or webdav"
    )


def _s3(parts: SplitResult, options: StoreOptions, environ: Mapping[str, str]) -> Driver:
    from tgv_dagster.store.blobs.s3 import S3Driver, S3Login, S3Places

    default = f"{parts.netloc}{parts.path}".strip("/") or None
    if default is None and not options.s3_buckets:
        raise BadStoreUrl("s3:// names no bucket", "Write s3://bucket or give a table of buckets")
    login = S3Login(
        endpoint_url=environ.get("TGV_S3_ENDPOINT_URL")
        or environ.get("AWS_ENDPOINT_URL_S3")
        or environ.get("AWS_ENDPOINT_URL"),
        access_key=environ.get("AWS_ACCESS_KEY_ID"),
        secret_key=environ.get("AWS_SECRET_ACCESS_KEY"),
        session_token=environ.get("AWS_SESSION_TOKEN"),
        signing_region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"),
    )
    return S3Driver(login, S3Places(default, options.s3_buckets))


def _sftp(parts: SplitResult, environ: Mapping[str, str]) -> Driver:
    from tgv_dagster.store.blobs.sftp import SftpDriver, SftpLogin

    login = SftpLogin(
        host=parts.hostname or "",
        port=parts.port or 22,
        user=unquote(parts.username) if parts.username else environ.get("TGV_SFTP_USER"),
        password=environ.get("TGV_SFTP_PASSWORD"),
        key_file=_path(environ, "TGV_SFTP_KEY_FILE"),
        key_passphrase=environ.get("TGV_SFTP_KEY_PASSPHRASE"),
        known_hosts=_path(environ, "TGV_SFTP_KNOWN_HOSTS"),
    )
    return SftpDriver(login, unquote(parts.path).rstrip("/"))


def _webdav(parts: SplitResult, environ: Mapping[str, str]) -> Driver:
    from tgv_dagster.store.blobs.webdav import WebdavDriver, WebdavLogin

    scheme = "https" if parts.scheme == "webdavs" else "http"
    host = parts.netloc.rpartition("@")[2]
    user = unquote(parts.username) if parts.username else environ.get("TGV_WEBDAV_USER")
    login = WebdavLogin(f"{scheme}://{host}", user, environ.get("TGV_WEBDAV_PASSWORD"))
    return WebdavDriver(login, unquote(parts.path).strip("/"))


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]).expanduser() if environ.get(name) else None
