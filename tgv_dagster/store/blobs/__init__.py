"""The byte store: content-addressed, write-once, behind one protocol for every provider.

Belongs here: bytes and their hashes (RAW-01, RAW-07, RAW-11 to RAW-15). Does not belong here:
rows; `save_raw` in the arrive room writes them after the bytes are safe.
"""

from tgv_dagster.store.blobs.errors import (
    BadName,
    BadStoreUrl,
    BlobDamaged,
    BlobMissing,
    BlobTooLarge,
    ContentConflict,
    HashMismatch,
    ReadBackMismatch,
    SourceUnreadable,
    StoreDenied,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreNotThere,
    StoreReadOnly,
    StoreUnreachable,
)
from tgv_dagster.store.blobs.local import LocalBlobStore, Step
from tgv_dagster.store.blobs.model import (
    Assurance,
    BlobStore,
    Damaged,
    Durability,
    Incoming,
    Missing,
    Sidecar,
    StoredBlob,
    Unreachable,
    Verification,
    Verified,
    blob_key,
    check_bucket,
    sha256_of,
)
from tgv_dagster.store.blobs.regions import RegionStanding, region_standing
from tgv_dagster.store.blobs.remote import RemoteBlobStore, RetryPolicy
from tgv_dagster.store.blobs.resolve import StoreOptions, resolve

__all__ = [
    "Assurance",
    "BadName",
    "BadStoreUrl",
    "BlobDamaged",
    "BlobMissing",
    "BlobStore",
    "BlobTooLarge",
    "ContentConflict",
    "Damaged",
    "Durability",
    "HashMismatch",
    "Incoming",
    "LocalBlobStore",
    "Missing",
    "ReadBackMismatch",
    "RegionStanding",
    "RemoteBlobStore",
    "RetryPolicy",
    "Sidecar",
    "SourceUnreadable",
    "Step",
    "StoreDenied",
    "StoreError",
    "StoreFailed",
    "StoreFull",
    "StoreNotThere",
    "StoreOptions",
    "StoreReadOnly",
    "StoreUnreachable",
    "StoredBlob",
    "Unreachable",
    "Verification",
    "Verified",
    "blob_key",
    "check_bucket",
    "region_standing",
    "resolve",
    "sha256_of",
]
