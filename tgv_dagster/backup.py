"""Backup and restore: a dump of the database and every raw byte, in any store the resolver knows.

A backup is complete when its description stands in the target, which is written last. Bytes are
write-once, so that a later backup copies only what is new. A restore fills an empty installation,
reads every byte back against its hash and replays erasures before anybody may look.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import dumping, migrate
from tgv_dagster.store.blobs import BlobStore, StoreOptions, Verified, blob_key, resolve
from tgv_dagster.store.db import Connection, connect, product_url
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.register import TABLES

BUCKET = "tgv-backups"
"""Bucket of dumps, lists and descriptions in the target."""

MADE, REHEARSED = "backup.made", "backup.rehearsed"
"""Kinds of the events that the checkpoint of restorable backups reads."""

Progress = Callable[[int, int], None]


class BackupError(RuntimeError):
    """A backup cannot be made, read or restored; the message names the remedy."""


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One raw item of the list: where its bytes lie, and what they hash to."""

    bucket: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Description:
    """What a backup holds. `rows` counts every declared table at the moment of the snapshot."""

    name: str
    taken_at: str
    version: str
    revision: str
    dump: str
    manifest: str
    rows: dict[str, int]
    items: int
    size: int

    @property
    def moment(self) -> datetime:
        """When the snapshot was taken."""
        return datetime.fromisoformat(self.taken_at)


@dataclass(frozen=True, slots=True)
class Made:
    """A backup that was made: new bytes copied, and items whose bytes are not there to copy."""

    description: Description
    copied: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """What a restore proved, with its denominators; `bad` names hashes that did not verify."""

    description: Description
    verified: int
    bad: tuple[str, ...]
    differing_tables: tuple[str, ...]
    erased: int

    @property
    def holds(self) -> bool:
        """Every byte hashed to its name and every table has the rows of the snapshot."""
        return not self.bad and not self.differing_tables


def make_backup(
    installation: Installation, target_url: str, *, progress: Progress | None = None
) -> Made:
    """Back up database and bytes to `target_url`, and say so in an event.

    Raises BackupError, DumpError, and the errors of the stores.
    """
    target = _target(target_url, create=True)
    with (
        tempfile.TemporaryDirectory(prefix="tgv-backup-") as folder,
        connect(installation.database.url) as owner,
    ):
        dumping.require_whole_view(owner)
        owner.rollback()
        taken_at = datetime.now(UTC)
        snapshot = _exported(owner)
        path = Path(folder) / "database.dump"
        rows = _counts(owner)
        entries, erasures = _entries(owner), _erasures(owner)
        dumping.dump(installation.database.url, path, snapshot=snapshot)
        owner.rollback()
        copied, missing = _copy_bytes(installation.blobs, target, entries, progress)
        dumped = target.put(BUCKET, path)
        listed = Path(folder) / "raw.jsonl"
        listed.write_text("".join(json.dumps(asdict(entry)) + "\n" for entry in entries))
        manifest = target.put(BUCKET, listed)
    description = Description(
        name=f"backup-{taken_at:%Y%m%dt%H%M%S%f}.json",
        taken_at=taken_at.isoformat(),
        version=version("tgv-dagster"),
        revision=migrate.head_revision(),
        dump=dumped.sha256,
        manifest=manifest.sha256,
        rows=rows,
        items=len(entries),
        size=sum(entry.size for entry in entries),
    )
    _keep_erasures(target, erasures)
    target.put_sidecar(BUCKET, description.name, json.dumps(asdict(description)).encode())
    _tell(installation, MADE, description, {"copied": copied, "missing": len(missing)})
    return Made(description, copied, missing)


def descriptions(target_url: str) -> tuple[Description, ...]:
    """The complete backups of a target, newest last. Raises BackupError for one nobody can read."""
    target = _target(target_url, create=False)
    return tuple(_read(target, name) for name in target.iter_sidecars(BUCKET, "backup-"))


def restore(
    settings: Settings,
    target_url: str,
    *,
    name: str | None = None,
    progress: Progress | None = None,
) -> Proof:
    """Fill the empty installation of `settings` from a backup, the newest unless one is named.

    Erasures that any later backup knows are replayed before anybody can open the installation.
    Raises BackupError when something stands here already, and the errors of the stores.
    """
    target = _target(target_url, create=False)
    description = _chosen(target, name)
    url = product_url(settings)
    _require_empty(url)
    erased = _erased_hashes(target)
    _load(target, description, url)
    store = resolve(settings.blob_target, region=settings.blob_region or None)
    entries = [entry for entry in _listed(target, description) if entry.sha256 not in erased]
    bad: list[str] = []
    for number, entry in enumerate(entries, 1):
        if not _bring_back(target, store, entry):
            bad.append(entry.sha256)
        if progress is not None:
            progress(number, len(entries))
    differing = _differing(url, description)
    gone = _replay_erasures(url, erased)
    _note_missing(url, bad)
    return Proof(description, len(entries) - len(bad), tuple(bad), differing, gone)


def rehearse(
    installation: Installation, target_url: str, *, progress: Progress | None = None
) -> Proof:
    """Restore the newest backup into a database that is thrown away, and read every byte in place.

    Says so in an event. Raises BackupError when there is no backup.
    """
    target = _target(target_url, create=False)
    description = _chosen(target, None)
    with _scratch_database(installation.database.url) as url:
        _load(target, description, url)
        differing = _differing(url, description)
    bad: list[str] = []
    entries = tuple(_listed(target, description))
    for number, entry in enumerate(entries, 1):
        answer = target.verify(entry.bucket, blob_key(entry.sha256))
        if not isinstance(answer, Verified):
            bad.append(entry.sha256)
        if progress is not None:
            progress(number, len(entries))
    proof = Proof(description, len(entries) - len(bad), tuple(bad), differing, 0)
    _tell(
        installation,
        REHEARSED,
        description,
        {"verified": proof.verified, "bad": len(bad), "differing": list(differing),
         "holds": proof.holds},
    )  # fmt: skip
    return proof


# --- the database ------------------------------------------------------------------------------


def _exported(owner: Connection) -> str:
    owner.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    row = owner.execute("SELECT pg_export_snapshot()").fetchone()
    assert row is not None
    return str(row[0])


def _counts(connection: Connection) -> dict[str, int]:
    return {
        table.name: int(
            connection.execute(
                sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table.name))
            ).fetchall()[0][0]
        )
        for table in TABLES
    }


def _entries(connection: Connection) -> tuple[RawEntry, ...]:
    """Every place of bytes once; two rows may share one."""
    rows = connection.execute(
        "SELECT DISTINCT storage_bucket, sha256, size FROM raw_items WHERE state <> 'erased'"
        " ORDER BY 1, 2"
    ).fetchall()
    return tuple(RawEntry(*row) for row in rows)


def _load(target: BlobStore, description: Description, url: str) -> None:
    with target.local_path(BUCKET, blob_key(description.dump)) as dump:
        dumping.load(url, dump)
    migrate.upgrade(url)


def _require_empty(url: str) -> None:
    """Drop a schema without documents that an earlier start left; refuse anything else."""
    with connect(url, autocommit=True) as connection:
        if migrate.current_revision(connection) is None:
            return
        row = connection.execute(
            "SELECT EXISTS (SELECT 1 FROM raw_items) OR EXISTS (SELECT 1 FROM documents)"
            " OR EXISTS (SELECT 1 FROM mandanten)"
        ).fetchone()
        if row is None or row[0]:
            raise BackupError(
                "Something stands in this installation already. Restore into an empty one: set"
                " TGV_HOME to a new folder, or TGV_DATABASE_URL to an empty database."
            )
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


def _differing(url: str, description: Description) -> tuple[str, ...]:
    """Tables whose rows are not those of the snapshot."""
    with connect(url) as connection:
        now = _counts(connection)
    return tuple(sorted(n for n, count in description.rows.items() if now.get(n) != count))


_BEARS_TEXT = ("rag_chunks", "chunk_vectors", "embedding_cache", "document_values",
               "contact_mentions")  # fmt: skip
"""Tables with words of a document, by `document_id`."""


def _replay_erasures(url: str, erased: frozenset[str]) -> int:
    """Take out what was erased after the snapshot; returns how many raw items that were."""
    hashes = list(erased)
    with connect(url) as connection:
        for table in _BEARS_TEXT:
            connection.execute(
                sql.SQL(
                    "DELETE FROM {} WHERE document_id IN"
                    " (SELECT id FROM documents WHERE raw_sha256 = ANY (%s))"
                ).format(sql.Identifier(table)),
                (hashes,),
            )
        connection.execute("DELETE FROM extractions WHERE raw_sha256 = ANY (%s)", (hashes,))
        connection.execute(
            "UPDATE documents SET state = 'trashed', title = NULL, mail_subject = NULL,"
            " intake_text = NULL, intent_text = NULL WHERE raw_sha256 = ANY (%s)",
            (hashes,),
        )
        return connection.execute(
            "UPDATE raw_items SET state = 'erased' WHERE sha256 = ANY (%s) AND state <> 'erased'",
            (hashes,),
        ).rowcount


def _erasures(connection: Connection) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT sha256 FROM raw_items WHERE state = 'erased'"
        " UNION SELECT raw_sha256 FROM erasure_ledger WHERE raw_sha256 IS NOT NULL ORDER BY 1"
    ).fetchall()
    return tuple(row[0] for row in rows)


def _note_missing(url: str, hashes: list[str]) -> None:
    with connect(url) as connection:
        connection.execute(
            "UPDATE raw_items SET state = 'missing' WHERE sha256 = ANY (%s) AND state = 'stored'",
            (hashes,),
        )


@contextmanager
def _scratch_database(url: str) -> Iterator[str]:
    parts = conninfo_to_dict(url)
    name = f"{parts.get('dbname', 'tgv')}_rehearsal"
    parts["dbname"] = name
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    try:
        with connect(url, autocommit=True) as connection:
            connection.execute(drop)
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield make_conninfo(**parts)  # pyright: ignore[reportArgumentType]
    except psycopg.errors.InsufficientPrivilege as error:
        raise BackupError(
            "The database user may not create a database for the rehearsal. Give it CREATEDB."
        ) from error
    finally:
        with connect(url, autocommit=True) as connection:
            connection.execute(drop)


# --- the bytes ---------------------------------------------------------------------------------


def _target(url: str, *, create: bool) -> BlobStore:
    return resolve(url, options=StoreOptions(create=create))


def _copy_bytes(
    source: BlobStore, target: BlobStore, entries: tuple[RawEntry, ...], progress: Progress | None
) -> tuple[int, tuple[str, ...]]:
    """Copy what the target has not; bytes that are gone are named and stop nothing."""
    copied = 0
    missing: list[str] = []
    for number, entry in enumerate(entries, 1):
        key = blob_key(entry.sha256)
        if not target.exists(entry.bucket, key):
            if isinstance(source.verify(entry.bucket, key), Verified):
                with source.local_path(entry.bucket, key) as path:
                    target.put(entry.bucket, path, expected_sha256=entry.sha256)
                copied += 1
            else:
                missing.append(entry.sha256)
        if progress is not None:
            progress(number, len(entries))
    return copied, tuple(missing)


def _bring_back(target: BlobStore, store: BlobStore, entry: RawEntry) -> bool:
    """Copy one item unless it is here, and read it back; False when its bytes are not right."""
    key = blob_key(entry.sha256)
    if not isinstance(target.verify(entry.bucket, key), Verified):
        return False
    with target.local_path(entry.bucket, key) as path:
        store.put(entry.bucket, path, expected_sha256=entry.sha256)
    return isinstance(store.verify(entry.bucket, key), Verified)


def _chosen(target: BlobStore, name: str | None) -> Description:
    names = list(target.iter_sidecars(BUCKET, "backup-"))
    if not names:
        raise BackupError("There is no complete backup in this target. Make one: `tgv backup`.")
    if name is not None and name not in names:
        raise BackupError(f"There is no backup {name!r}. There are: {', '.join(names[-10:])}.")
    return _read(target, name or names[-1])


def _read(target: BlobStore, name: str) -> Description:
    try:
        return Description(**json.loads(target.read_sidecar(BUCKET, name)))
    except (ValueError, TypeError) as error:
        raise BackupError(
            f"{name} is not the description of a backup that this version can read."
        ) from error


def _listed(target: BlobStore, description: Description) -> Iterator[RawEntry]:
    with target.open(BUCKET, blob_key(description.manifest)) as lines:
        for line in lines:
            yield RawEntry(**json.loads(line))


def _keep_erasures(target: BlobStore, hashes: tuple[str, ...]) -> None:
    """Say beside the backups what was erased, so that an older one cannot bring it back."""
    for sha256 in hashes:
        target.put_sidecar(BUCKET, f"erased-{sha256}.json", b"{}")


def _erased_hashes(target: BlobStore) -> frozenset[str]:
    """Everything that was ever erased, as far as any backup of this target knows."""
    return frozenset(
        name.removeprefix("erased-").removesuffix(".json")
        for name in target.iter_sidecars(BUCKET, "erased-")
    )


def _tell(
    installation: Installation, kind: str, description: Description, payload: dict[str, object]
) -> None:
    facts = {"backup": description.name, "taken_at": description.taken_at,
             "items": description.items, "bytes": description.size}  # fmt: skip
    with installation.database.worker() as connection:
        record(
            connection,
            Event(
                kind=kind,
                author=SERVICE_LOGIN,
                object=f"backup:{description.name}",
                reason="database and raw bytes" if kind == MADE else "restored and thrown away",
                payload=facts | payload,
            ),
        )
