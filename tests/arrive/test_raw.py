"""The raw layer: bytes, manifest, rows, in this order and without doubles (RAW-01 to RAW-03)."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.arrive.gates import GateKind, NewArrival, Origin, arrival_key
from tgv_dagster.arrive.raw import arrival_of, bucket_for, manifest_name, save_raw
from tgv_dagster.installation import Installation
from tgv_dagster.store.blobs import LocalBlobStore, StoreReadOnly, Verified
from tgv_dagster.store.blobs.model import check_bucket
from tgv_dagster.store.db import Database
from tgv_dagster.store.organisation import unsorted_bucket


def arrival(name: str = "brief.txt", *, key: str = "1", bucket: str = "nord-gmbh") -> NewArrival:
    return NewArrival(
        gate=GateKind.UPLOAD,
        arrival_key=arrival_key(GateKind.UPLOAD, key),
        bucket=bucket,
        file_name=name,
        received_at=datetime(2026, 3, 1, tzinfo=UTC),
        mandant="nord",
        entity_hint="nord-gmbh",
        uploader="anna",
        intent_text="gehört zur Kita",
        origin=Origin(path=name),
    )


def count(database: Database, table: str) -> int:
    with database.worker() as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return row[0]


def save(installation: Installation, new: NewArrival, data: bytes):
    return save_raw(installation.database, installation.blobs, new, io.BytesIO(data))


def test_bytes_manifest_and_rows_are_there_afterwards(installation: Installation) -> None:
    saved = save(installation, arrival(), b"Guten Tag")
    key = f"sha256/{saved.sha256[:2]}/{saved.sha256[2:4]}/{saved.sha256}"
    assert isinstance(installation.blobs.verify("nord-gmbh", key), Verified)
    manifest = json.loads(
        installation.blobs.read_sidecar(
            "nord-gmbh", manifest_name(saved.sha256, str(arrival().uid))
        )
    )
    assert arrival_of(manifest) == arrival()
    with installation.database.worker() as connection:
        row = connection.execute(
            "SELECT a.outcome, r.raw_key, l.stage FROM arrivals a JOIN raw_items r ON r.id ="
            " a.raw_item_id JOIN flow_ledger l ON l.subject_id = a.id WHERE a.id = %s",
            (saved.arrival_id,),
        ).fetchone()
    assert row == ("pending", key, "extract")


def test_the_same_act_seen_again_adds_nothing(installation: Installation) -> None:
    first = save(installation, arrival(), b"x")
    again = save(installation, arrival(), b"x")
    assert (again.arrival_id, again.new_arrival, again.new_bytes) == (
        first.arrival_id,
        False,
        False,
    )
    assert count(installation.database, "arrivals") == 1


def test_the_same_bytes_arriving_twice_are_one_item_with_two_arrivals(
    installation: Installation,
) -> None:
    """DEDUP-05, MAIL-46: the second arrival is told, the bytes stand once."""
    first = save(installation, arrival(), b"x")
    second = save(installation, arrival("kopie.txt", key="2"), b"x")
    assert first.raw_item_id == second.raw_item_id
    assert count(installation.database, "raw_items") == 1
    assert count(installation.database, "arrivals") == 2


def test_the_same_bytes_in_two_buckets_are_two_items(installation: Installation) -> None:
    save(installation, arrival(), b"x")
    save(installation, arrival(key="2", bucket="haus-sued"), b"x")
    assert count(installation.database, "raw_items") == 2


@pytest.mark.parametrize(
    "name",
    ["a\x00b.pdf", "a\nb.pdf", "../../etc/passwd", "ü" * 150, "u\u0308.pdf", "\udce4.pdf", ""],
)
def test_no_name_is_ever_a_path_or_a_fault(installation: Installation, name: str) -> None:
    saved = save(installation, arrival(name), b"x")
    assert saved.new_arrival
    with installation.database.worker() as connection:
        row = connection.execute("SELECT file_name FROM arrivals").fetchone()
    assert row is not None
    assert "\x00" not in row[0]


def test_when_the_bytes_cannot_be_stored_there_is_no_row(
    installation: Installation, tmp_path: Path
) -> None:
    armed = False

    def fail(_step: object) -> None:
        if armed:
            raise StoreReadOnly("the store is read-only", "remount it")

    store = LocalBlobStore(tmp_path / "other", on_step=fail)
    armed = True
    with pytest.raises(StoreReadOnly):
        save_raw(installation.database, store, arrival(), io.BytesIO(b"x"))
    assert count(installation.database, "raw_items") == 0


def test_when_the_database_is_gone_the_bytes_stay_and_saving_again_completes(
    installation: Installation,
) -> None:
    with installation.database.owner(autocommit=True) as connection:
        connection.execute("ALTER TABLE arrivals RENAME TO arrivals_away")
    with pytest.raises(psycopg.errors.UndefinedTable):
        save(installation, arrival(), b"precious")
    with installation.database.owner(autocommit=True) as connection:
        connection.execute("ALTER TABLE arrivals_away RENAME TO arrivals")
    assert count(installation.database, "raw_items") == 0
    saved = save(installation, arrival(), b"precious")
    assert not saved.new_bytes
    assert saved.new_arrival


def test_a_missing_item_is_healed_by_its_next_arrival(installation: Installation) -> None:
    save(installation, arrival(), b"x")
    with installation.database.worker() as connection:
        connection.execute("UPDATE raw_items SET state = 'missing'")
    save(installation, arrival(key="2"), b"x")
    with installation.database.worker() as connection:
        assert connection.execute("SELECT state FROM raw_items").fetchone() == ("stored",)


def test_the_bucket_of_an_entity_created_a_minute_ago_is_used(installation: Installation) -> None:
    """RAW-20: no slug stands in code."""
    with installation.database.worker() as connection:
        connection.execute(
            "INSERT INTO entities (slug, mandant_id, kind, legal_name, bucket)"
            " SELECT 'brand-new', id, 'company', 'Brand New', 'brand-new-bucket'"
            " FROM mandanten WHERE slug = 'nord'"
        )
        assert bucket_for(connection, entity="brand-new", mandant="nord") == "brand-new-bucket"
        assert bucket_for(connection, entity=None, mandant="nord") == "nord-unsorted"
        assert bucket_for(connection, entity="unknown", mandant=None) == "intake"


@given(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True))
def test_every_tenant_has_an_unsorted_bucket_that_a_store_takes(slug: str) -> None:
    assert check_bucket(unsorted_bucket(slug)) == unsorted_bucket(slug)


def test_two_long_tenants_do_not_share_a_bucket() -> None:
    names = ["a" * 62 + ending for ending in "bc"]
    assert len({unsorted_bucket(name) for name in names}) == 2
    assert unsorted_bucket("nord") == "nord-unsorted"
