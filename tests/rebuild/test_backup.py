"""A backup comes back whole into an empty installation; what was erased does not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from audit_builders import arrive, document, measure, place_of_bytes, remove_bytes, sql
from shared_builders import database_on

from tgv_dagster import backup
from tgv_dagster.audit.storage import Healing, audit_storage, counted, heal_report
from tgv_dagster.audit.verdict import State
from tgv_dagster.backup import BackupError
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store.blobs import resolve
from tgv_dagster.store.db import connect
from tgv_dagster.store.events import broken_links


@pytest.fixture
def target(tmp_path: Path) -> str:
    """Where backups go."""
    return str(tmp_path / "backups")


@pytest.fixture
def empty(server_url: str, tmp_path: Path) -> Iterator[Settings]:
    """An empty machine: another home, another database without any schema."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty_machine")
    yield Settings(
        home=tmp_path / "other",
        database_url=database_on(server_url, "empty_machine"),  # pyright: ignore[reportArgumentType]
    )
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE empty_machine WITH (FORCE)")


def test_a_backup_comes_back_whole_on_an_empty_machine(
    installation: Installation, target: str, empty: Settings
) -> None:
    documents = [document(installation) for _ in range(3)]
    made = backup.make_backup(installation, target)
    assert (made.copied, made.missing, made.description.items) == (3, (), 3)

    proof = backup.restore(empty, target)
    assert proof.holds
    assert (proof.verified, proof.bad, proof.differing_tables) == (3, (), ())
    again = Installation.open(empty)
    try:
        assert sql(again, "SELECT id FROM documents ORDER BY id") == [(d,) for d in documents]
        bucket, key = place_of_bytes(again, documents[0])
        assert again.blobs.size(bucket, key) > 0
        assert measure(again, "raw_first").state is State.GREEN
        assert measure(again, "walls").state is State.GREEN
        assert measure(again, "intervals_have_one_writer").state is State.GREEN
        assert document(again) not in documents  # numbers go on where they ended
        with again.database.worker() as connection:
            assert broken_links(connection) == ()
    finally:
        again.close()


def test_a_second_backup_copies_only_what_is_new(installation: Installation, target: str) -> None:
    document(installation)
    backup.make_backup(installation, target)
    document(installation)
    assert backup.make_backup(installation, target).copied == 1
    assert len(backup.descriptions(target)) == 2


def test_nothing_is_restored_over_what_stands_here(installation: Installation, target: str) -> None:
    backup.make_backup(installation, target)
    with pytest.raises(BackupError, match="empty"):
        backup.restore(installation.settings, target)


def test_a_target_without_a_complete_backup_is_said(
    installation: Installation, target: str, empty: Settings
) -> None:
    resolve(target)
    with pytest.raises(BackupError, match="no complete backup"):
        backup.restore(empty, target)
    backup.make_backup(installation, target)
    with pytest.raises(BackupError, match="There are: backup-"):
        backup.restore(empty, target, name="backup-never.json")


def test_damaged_bytes_in_the_target_are_named_and_the_rest_comes_back(
    installation: Installation, target: str, empty: Settings
) -> None:
    broken, whole = document(installation), document(installation)
    backup.make_backup(installation, target)
    bucket, key = place_of_bytes(installation, broken)
    path = Path(target) / bucket / key
    path.chmod(0o600)
    path.write_bytes(b"something else")
    proof = backup.restore(empty, target)
    assert not proof.holds
    assert (proof.verified, len(proof.bad)) == (1, 1)
    again = Installation.open(empty)
    try:
        states = dict(sql(again, "SELECT d.id, r.state FROM documents d JOIN raw_items r"
                                 " ON r.id = d.raw_item_id"))  # fmt: skip
        assert states == {broken: "missing", whole: "stored"}
    finally:
        again.close()


def test_what_was_erased_later_does_not_come_back_from_an_older_backup(
    installation: Installation, target: str, empty: Settings
) -> None:
    erased, kept = document(installation), document(installation)
    first = backup.make_backup(installation, target).description
    remove_bytes(installation, erased)
    sql(
        installation,
        "INSERT INTO erasure_ledger (mandant_id, subject_kind, subject_hash, raw_sha256, reason,"
        " requested_by) SELECT mandant_id, 'document', 'h', raw_sha256, 'asked', 'anna'"
        " FROM documents WHERE id = %s",
        erased,
    )
    sql(installation, "UPDATE raw_items SET state = 'erased' FROM documents d"
                      " WHERE d.raw_item_id = raw_items.id AND d.id = %s", erased)  # fmt: skip
    backup.make_backup(installation, target)
    proof = backup.restore(empty, target, name=first.name)
    assert (proof.verified, proof.erased) == (1, 1)
    with connect(str(empty.database_url and empty.database_url.get_secret_value())) as connection:
        words = connection.execute("SELECT DISTINCT document_id FROM rag_chunks").fetchall()
        states = connection.execute("SELECT state, count(*) FROM raw_items GROUP BY 1").fetchall()
    assert words == [(kept,)]
    assert dict(states) == {"erased": 1, "stored": 1}


def test_bytes_that_are_gone_are_named_and_stop_no_backup(
    installation: Installation, target: str
) -> None:
    lost = document(installation)
    document(installation)
    remove_bytes(installation, lost)
    made = backup.make_backup(installation, target)
    assert (made.copied, len(made.missing)) == (1, 1)


# --- the rehearsal and its checkpoint ----------------------------------------------------------


def backed_up(installation: Installation, target: str) -> None:
    installation.settings = installation.settings.model_copy(update={"backup_url": target})
    document(installation)
    backup.make_backup(installation, target)


def test_without_a_target_or_a_rehearsal_nothing_is_said(
    installation: Installation, target: str
) -> None:
    assert measure(installation, "backups_restorable").state is State.UNMEASURED
    backed_up(installation, target)
    verdict = measure(installation, "backups_restorable")
    assert (verdict.state, verdict.reason) == (State.UNMEASURED, "no restore was rehearsed yet")


def test_a_rehearsal_proves_the_backup_and_leaves_no_database(
    installation: Installation, target: str, server_url: str
) -> None:
    backed_up(installation, target)
    proof = backup.rehearse(installation, target)
    assert proof.holds
    assert measure(installation, "backups_restorable").state is State.GREEN
    with psycopg.connect(server_url) as connection:
        left = connection.execute(
            "SELECT 1 FROM pg_database WHERE datname LIKE '%rehearsal'"
        ).fetchall()
    assert left == []


def test_a_rehearsal_that_fails_is_red(installation: Installation, target: str) -> None:
    backed_up(installation, target)
    for path in (Path(target) / "nord-gmbh").rglob("sha256/*/*/*"):
        path.unlink()
    assert not backup.rehearse(installation, target).holds
    verdict = measure(installation, "backups_restorable")
    assert (verdict.state, verdict.evidence) == (State.RED, ("backup:rehearsal_failed",))


# --- the storage audit -------------------------------------------------------------------------


def test_a_complete_pass_is_resumed_where_it_ended(installation: Installation) -> None:
    for _ in range(3):
        arrive(installation)
    since = datetime.now(UTC) + timedelta(seconds=1)
    sql(installation, "UPDATE raw_items SET verified_at = now() - interval '1 day'")
    nothing = audit_storage(installation, since=since, seconds=0)
    assert (nothing.items, nothing.read, nothing.is_complete) == (3, 0, False)
    began = datetime.now(UTC)
    whole = audit_storage(installation, since=began)
    assert (whole.read, whole.left, whole.is_complete) == (3, 0, True)
    assert whole.taken_at >= began


def test_a_pass_names_what_is_gone(installation: Installation) -> None:
    lost = document(installation)
    remove_bytes(installation, lost)
    audit = audit_storage(installation, since=datetime.now(UTC))
    assert audit.states == {"missing": 1}


def test_the_heal_report_says_what_can_come_back(installation: Installation, target: str) -> None:
    backup_store = resolve(target)
    from_backup = document(installation)
    backup.make_backup(installation, target)
    unrecoverable, whole = document(installation), document(installation)
    body = document(installation, file_class="mail_body", part_role="body")
    sql(installation, "UPDATE documents SET raw_item_id = NULL WHERE id = %s", body)
    for gone in (from_backup, unrecoverable):
        remove_bytes(installation, gone)
    audit_storage(installation, since=datetime.now(UTC))
    report = heal_report(installation, backup_store)
    assert {heal.document_id: heal.healing for heal in report} == {
        from_backup: Healing.FROM_BACKUP,
        unrecoverable: Healing.UNRECOVERABLE,
        body: Healing.BY_DESIGN,
    }
    assert whole not in {heal.document_id for heal in report}
    assert counted(report)[Healing.FROM_A_COPY] == 0
