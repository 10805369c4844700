"""Blobs in an object store that speaks S3, through fsspec and s3fs.

Belongs here: the driver and the words of S3 for what went wrong. Does not belong here: the order
of steps of a put (remote.py). There is no temporary object: an upload under the final name appears
as a whole or not at all, and the condition `If-None-Match: *` keeps it from replacing another.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, cast

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
)
from s3fs import S3FileSystem
from s3fs.core import S3_RETRYABLE_ERRORS

from tgv_dagster.store.blobs import model
from tgv_dagster.store.blobs.errors import (
    BadName,
    BlobMissing,
    BlobTooLarge,
    StoreDenied,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreNotThere,
    StoreUnreachable,
    from_os_error,
)
from tgv_dagster.store.blobs.remote import PerThread, RetryPolicy
from tgv_dagster.store.blobs.walk import Entry

PART = 16 << 20
"""Size of a part in bytes; larger files go in parts, one at a time, to bound the memory."""

_MAX_PARTS = 10_000
_TAKEN = {"PreconditionFailed", "412"}
_ABSENT = {"NoSuchKey", "404", "NoSuchUpload"}
_NO_BUCKET = {"NoSuchBucket"}
_DENIED = {
    "AccessDenied",
    "AllAccessDisabled",
    "AuthorizationHeaderMalformed",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "403",
    "401",
}
_FULL = {"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "507"}
_BUSY = {"ConditionalRequestConflict", "OperationAborted", "RequestTimeout", "SlowDown"}


@dataclass(frozen=True, slots=True)
class S3Login:
    """Endpoint and keys; what is None is left to the usual places of AWS tools."""

    endpoint_url: str | None = None
    access_key: str | None = None
    secret_key: str | None = None
    session_token: str | None = None
    signing_region: str | None = None


@dataclass(frozen=True, slots=True)
class S3Places:
    """Which real bucket holds a bucket.

    default: `real-bucket` or `real-bucket/prefix` for all; by_bucket: places of single buckets.
    """

    default: str | None = None
    by_bucket: Mapping[str, str] = field(default_factory=dict)

    def locate(self, path: str) -> tuple[str, str]:
        """Return the real bucket and the key for a store path. Raises `BadName`."""
        bucket, _, name = path.partition("/")
        place = self.by_bucket.get(bucket, self.default)
        if place is None:
            raise BadName(
                f"no S3 bucket is named for {bucket!r}",
                "Name one for it, or a default in the store's address",
            )
        real, _, prefix = place.strip("/").partition("/")
        folders = [prefix] if bucket in self.by_bucket else [prefix, bucket]
        return real, "/".join([*filter(None, folders), name])


class S3Driver:
    """A `Driver` for one or more buckets of an S3 endpoint."""

    def __init__(self, login: S3Login, places: S3Places, *, page_size: int = 1000) -> None:
        self._login = login
        self._page_size = page_size
        self._places = places
        self._sessions = PerThread(self._connect, _leave_open)

    @property
    def stages(self) -> bool:
        """Objects are sent under their final name."""
        return False

    def durability(self, region: str | None) -> model.Durability:
        """See `Driver.durability`. What the provider does inside cannot be measured from here."""
        promised = model.Assurance.PROMISED
        return model.Durability(
            fsynced=promised,
            atomic_rename=promised,
            read_back=model.Assurance.DONE,
            no_overwrite=promised,
            encrypted=not (self._login.endpoint_url or "https").startswith("http://"),
            region=region,
        )

    def settle(self, bucket: str, *, create: bool) -> None:
        """See `Driver.settle`. A real bucket is never made here: its region is a decision."""
        real, _ = self._places.locate(bucket)
        with self._session(bucket) as s3:
            try:
                _call(s3, "head_bucket", Bucket=real)
            except OSError as error:
                if _code(error) in _ABSENT | _NO_BUCKET:
                    raise _no_bucket(real) from error
                raise

    def stat(self, path: str) -> int | None:
        """See `Driver.stat`."""
        real, key = self._places.locate(path)
        with self._session(path) as s3:
            try:
                return int(_call(s3, "head_object", Bucket=real, Key=key)["ContentLength"])
            except OSError as error:
                if _code(error) in _ABSENT:
                    return None
                raise

    def fetch(self, path: str, start: int, length: int) -> bytes:
        """See `Driver.fetch`."""
        real, key = self._places.locate(path)
        with self._session(path) as s3:
            try:
                return cast("bytes", s3.cat_file(f"{real}/{key}", start=start, end=start + length))
            except OSError as error:
                if _code(error) in _ABSENT:
                    raise BlobMissing(f"{path} is gone", "Restore it from the backup") from error
                raise

    def send(self, path: str, file: BinaryIO, size: int) -> bool:
        """See `Driver.send`."""
        real, key = self._places.locate(path)
        with self._session(path) as s3:
            try:
                if size <= PART:
                    _call(s3, "put_object", Bucket=real, Key=key, Body=file.read(), IfNoneMatch="*")
                else:
                    _send_parts(s3, real, key, file, size)
            except OSError as error:
                if _code(error) in _TAKEN:
                    return False
                raise
        return True

    def publish(self, staged: str, final: str) -> bool:
        """Never called: an object has its final name from the start."""
        raise StoreFailed(f"{staged} cannot be renamed to {final}", "Send it under its final name")

    def remove(self, path: str) -> bool:
        """See `Driver.remove`; S3 does not say whether there was an object."""
        real, key = self._places.locate(path)
        with self._session(path) as s3:
            _call(s3, "delete_object", Bucket=real, Key=key)
        return True

    def walk(self, prefix: str, retry: RetryPolicy) -> Iterator[Entry]:
        """See `Driver.walk`; page by page, in the order of the service."""
        real, key_prefix = self._places.locate(prefix)
        outside = len(key_prefix) - len(prefix.partition("/")[2])
        bucket = prefix.partition("/")[0]
        token: dict[str, str] = {}
        while True:
            page = retry.run(lambda: self._page(prefix, real, key_prefix, token))  # noqa: B023  # run at once
            for item in page.get("Contents", ()):
                name = item["Key"][outside:]
                modified = item["LastModified"].timestamp()
                yield Entry(f"{bucket}/{name}", is_directory=False, modified=modified)
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def sweep(self, bucket: str, stale_seconds: float) -> int:
        """See `Driver.sweep`: parts of uploads that were never completed."""
        real, prefix = self._places.locate(f"{bucket}/")
        limit = datetime.now(UTC) - timedelta(seconds=stale_seconds)
        with self._session(bucket) as s3:
            page = _call(s3, "list_multipart_uploads", Bucket=real, Prefix=prefix)
            stale = [u for u in page.get("Uploads", ()) if u["Initiated"] < limit]
            for upload in stale:
                _call(
                    s3,
                    "abort_multipart_upload",
                    Bucket=real,
                    Key=upload["Key"],
                    UploadId=upload["UploadId"],
                )
        return len(stale)

    def _page(self, what: str, real: str, prefix: str, token: dict[str, str]) -> dict[str, Any]:
        with self._session(what) as s3:
            return _call(
                s3,
                "list_objects_v2",
                Bucket=real,
                Prefix=prefix,
                MaxKeys=self._page_size,
                **token,
            )

    def _connect(self) -> S3FileSystem:
        login = self._login
        session = S3FileSystem(
            key=login.access_key,
            secret=login.secret_key,
            token=login.session_token,
            endpoint_url=login.endpoint_url,
            client_kwargs={"region_name": login.signing_region} if login.signing_region else {},
            config_kwargs={
                "retries": {"total_max_attempts": 1},
                "connect_timeout": 15,
                "read_timeout": 60,
                # Checksums of AWS's own kind are unknown to other providers, and a damaged
                # object must be read to be called damaged; the hash is checked in remote.py.
                "request_checksum_calculation": "when_required",
                "response_checksum_validation": "when_required",
                "s3": {"addressing_style": "path" if login.endpoint_url else "auto"},
            },
            use_listings_cache=False,
            skip_instance_cache=True,
        )
        session.retries = 1  # retrying is done in one place, remote.py
        return session

    @contextmanager
    def _session(self, path: str) -> Iterator[S3FileSystem]:
        """Lend the session; OSError inside is s3fs's translation of an answer or a timeout."""
        what = f"{self._login.endpoint_url or 's3'} {path}"
        try:
            yield self._sessions.get()
        except (NoCredentialsError, PartialCredentialsError) as error:
            raise StoreDenied(
                f"{what}: no credentials", "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from error
        except OSError as error:
            raise _typed(error, what) from error
        except (BotoCoreError, *S3_RETRYABLE_ERRORS) as error:
            raise StoreUnreachable(f"{what}: {error}", "Check that the service runs") from error


def _call(s3: S3FileSystem, method: str, **arguments: object) -> dict[str, Any]:
    """Send one request and return the answer, for which s3fs declares no type."""
    return cast("dict[str, Any]", s3.call_s3(method, **arguments))


def _leave_open(s3: S3FileSystem) -> None:
    """Leave the connections to s3fs, which closes them when the object is collected."""


def _send_parts(s3: S3FileSystem, real: str, key: str, file: BinaryIO, size: int) -> None:
    """Send a large file in parts; the condition is checked when they are put together."""
    part_size = max(PART, -(-size // _MAX_PARTS))
    started = _call(s3, "create_multipart_upload", Bucket=real, Key=key)
    upload = {"Bucket": real, "Key": key, "UploadId": started["UploadId"]}
    try:
        parts = []
        for number, piece in enumerate(iter(lambda: file.read(part_size), b""), 1):
            sent = _call(s3, "upload_part", PartNumber=number, Body=piece, **upload)
            parts.append({"PartNumber": number, "ETag": sent["ETag"]})
        _call(
            s3,
            "complete_multipart_upload",
            MultipartUpload={"Parts": parts},
            IfNoneMatch="*",
            **upload,
        )
    except BaseException:
        _abort(s3, upload)
        raise


def _abort(s3: S3FileSystem, upload: dict[str, str]) -> None:
    try:
        _call(s3, "abort_multipart_upload", **upload)
    except (OSError, BotoCoreError):
        return  # the error on the way counts; the sweep removes what stays


def _answer(error: BaseException) -> dict[str, Any]:
    """Return the answer of the service that s3fs turned into `error`; empty when there was none."""
    cause = error if isinstance(error, ClientError) else error.__cause__
    return dict(cause.response) if isinstance(cause, ClientError) else {}


def _code(error: BaseException) -> str:
    return str(_answer(error).get("Error", {}).get("Code", ""))


def _no_bucket(real: str) -> StoreNotThere:
    return StoreNotThere(
        f"the S3 bucket {real} does not exist",
        "Create it with the provider, in a region of the European Union",
    )


def _typed(error: OSError, what: str) -> StoreError:
    """Return the typed error for an answer of the service, or for none."""
    answer = _answer(error)
    code = _code(error)
    status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    problem = f"{what}: {code or type(error).__name__} {error}"
    if not answer:
        passing = isinstance(error, TimeoutError | ConnectionError) or error.errno is None
        if passing:
            return StoreUnreachable(problem, "Check that the service runs")
        return from_os_error(error, what)
    if code in _NO_BUCKET:
        return StoreNotThere(problem, "Create the bucket with the provider, in a region of the EU")
    if code in _FULL:
        return StoreFull(problem, "Raise the quota with the provider, then run again")
    if code in _DENIED:
        return StoreDenied(problem, "Check the access key and what it may do in this bucket")
    if code == "RequestTimeTooSkewed":
        return StoreDenied(problem, "Set the clock of this machine")
    if code == "EntityTooLarge":
        return BlobTooLarge(problem, "The provider does not take objects of this size")
    if code in _BUSY or status in (408, 429) or status >= 500:
        return StoreUnreachable(problem, "Try again later, or look at the provider's status page")
    return StoreFailed(problem, "Look at the provider's log; nothing was stored")
