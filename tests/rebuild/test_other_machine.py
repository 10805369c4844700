"""A restore on another machine: a server that never saw the product, another user and path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from audit_builders import document, measure, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from shared_builders import server_directory

from tgv_dagster import backup
from tgv_dagster.audit.verdict import State
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded
from tgv_dagster.store.dumping import DumpError


@pytest.fixture(scope="module")
def other_server() -> Iterator[str]:
    """A server without any of the product's roles, whose user is no superuser."""
    with server_directory() as data_dir:
        url = embedded.start(data_dir)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE ROLE anna LOGIN CREATEROLE CREATEDB")
            connection.execute("CREATE DATABASE bare OWNER anna")
        with psycopg.connect(_on(url, "template1"), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE firm OWNER anna")
        yield _on(url, "firm", user="anna")


def _on(url: str, database: str, **more: str) -> str:
    parts = conninfo_to_dict(url) | {"dbname": database} | more
    return make_conninfo(**parts)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("server", ["its own", "embedded"])
def test_a_backup_comes_back_under_another_user_and_path(
    installation: Installation, other_server: str, tmp_path: Path, server: str
) -> None:
    documents = [document(installation) for _ in range(3)]
    target = str(tmp_path / "carried over")
    backup.make_backup(installation, target)
    home = tmp_path / "Büro" / "neue Ablage"
    url = {"database_url": other_server} if server == "its own" else {}
    there = Settings(home=home, **url)  # pyright: ignore[reportArgumentType]
    try:
        proof = backup.restore(there, target)
        assert proof.holds
        assert proof.verified == 3
        again = Installation.open(there)
        try:
            assert sql(again, "SELECT id FROM documents ORDER BY id") == [(d,) for d in documents]
            assert again.words.count() == 3
            assert document(again) not in documents
            for checkpoint in ("raw_first", "walls", "ledger_adds_up", "gates_turn_red"):
                assert measure(again, checkpoint).state is State.GREEN, checkpoint
            assert backup.rehearse(again, target).holds
        finally:
            again.close()
    finally:
        if server == "embedded":
            embedded.stop(home / "postgres")


def test_a_server_without_pgvector_is_refused_with_the_remedy(
    installation: Installation, other_server: str, tmp_path: Path
) -> None:
    document(installation)
    backup.make_backup(installation, str(tmp_path / "target"))
    bare = Settings(
        home=tmp_path / "other",
        database_url=_on(other_server, "bare"),  # pyright: ignore[reportArgumentType]
    )
    with pytest.raises(DumpError, match="CREATE EXTENSION vector"):
        backup.restore(bare, str(tmp_path / "target"))
