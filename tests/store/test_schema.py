"""Schema: every table declared, upgrades repeatable, starts safe in parallel (architecture §2a)."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from shared_builders import database_on, import_test_organisation

from tgv_dagster.store import embedded, events, migrate, organisation
from tgv_dagster.store.db import Database, DatabaseUnavailable, connect
from tgv_dagster.store.events import Event
from tgv_dagster.store.organisation import OrganisationError
from tgv_dagster.store.register import BOOKKEEPING, TABLES, Kind
from tgv_dagster.store.walls import APP_ROLE, WORKER_ROLE

DUMPS = Path(__file__).parent / "dumps"


def empty_database(server_url: str, name: str) -> str:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return database_on(server_url, name)


def test_every_table_of_the_database_is_declared(database: Database) -> None:
    with database.worker() as connection:
        found = {
            row[0]
            for row in connection.execute(
                "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE n.nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition"
            )
        }
    assert found - BOOKKEEPING == {t.name for t in TABLES}


def test_rows_that_a_rebuild_keeps_are_declared_on_derived_tables_only() -> None:
    assert all(t.kind is Kind.DERIVED for t in TABLES if t.keep is not None)


def test_every_table_forces_row_level_security(database: Database) -> None:
    with database.worker() as connection:
        open_tables = connection.execute(
            "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition"
            " AND relname <> 'alembic_version' AND NOT (relrowsecurity AND relforcerowsecurity)"
        ).fetchall()
        bypass = connection.execute(
            "SELECT rolname FROM pg_roles WHERE rolname IN (%s, %s)"
            " AND (rolbypassrls OR rolsuper OR rolcanlogin)",
            (APP_ROLE, WORKER_ROLE),
        ).fetchall()
    assert open_tables == []
    assert bypass == []


def test_upgrading_twice_changes_nothing(database_url: str) -> None:
    migrate.upgrade(database_url)
    with connect(database_url) as connection:
        assert migrate.current_revision(connection) == migrate.head_revision()


def test_parallel_first_starts_end_with_one_schema(server_url: str) -> None:
    url = empty_database(server_url, "parallel_start")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate.upgrade, [url] * 4))
    with connect(url) as connection:
        assert migrate.current_revision(connection) == migrate.head_revision()


@pytest.mark.parametrize("dump", sorted(DUMPS.glob("*.sql")), ids=lambda path: path.stem)
def test_a_dump_of_every_earlier_revision_upgrades_with_its_data(
    server_url: str, dump: Path
) -> None:
    url = empty_database(server_url, f"dump_{dump.stem}")
    with connect(url, autocommit=True) as connection:
        connection.execute(dump.read_bytes())
    migrate.upgrade(url)
    with connect(url) as connection:
        assert migrate.current_revision(connection) == migrate.head_revision()
        row = connection.execute("SELECT count(*) FROM document_numbers").fetchone()
    assert row is not None
    assert row[0] > 0


def test_every_revision_has_a_dump() -> None:
    versions = Path(migrate.__file__).parent / "migrations" / "versions"
    revisions = {path.stem.split("_")[0] for path in versions.glob("[0-9]*.py")}
    assert {path.stem for path in DUMPS.glob("*.sql")} == revisions


def test_a_database_from_the_future_is_refused_with_the_remedy(database_url: str) -> None:
    with connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(migrate.SchemaError, match="newer version"):
        migrate.upgrade(database_url)


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        connect(f"postgresql://nobody@/none?host={tmp_path}")


def test_the_server_survives_its_killed_owner_and_parallel_starts(server_dir: Path) -> None:
    start = (
        "import sys, os, signal; from pathlib import Path; from tgv_dagster.store import embedded;"
        "print(embedded.start(Path(sys.argv[1]), shared_buffers_mb=16), flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", start, str(server_dir)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    (url,) = {process.communicate()[0].decode().strip() for process in processes}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (id int)")
    assert embedded.start(server_dir) == url
    assert embedded.stop(server_dir)
    assert embedded.running_url(server_dir) is None
    with psycopg.connect(embedded.start(server_dir)) as connection:
        connection.execute("SELECT * FROM kept")


def test_a_stale_pid_file_does_not_prevent_the_start(server_dir: Path) -> None:
    embedded.start(server_dir, shared_buffers_mb=16)
    lines = (server_dir / "postmaster.pid").read_text().splitlines()
    embedded.stop(server_dir)
    (server_dir / "postmaster.pid").write_text("\n".join(["1", *lines[1:]]) + "\n")
    assert embedded.running_url(server_dir) is None
    embedded.start(server_dir, shared_buffers_mb=16)
    assert embedded.running_url(server_dir) is not None


def test_events_are_chained_and_append_only(database: Database) -> None:
    with database.worker() as connection:
        ids = [
            events.record(connection, Event("test", "anna", f"document:{n}", "because"))
            for n in range(3)
        ]
        assert events.broken_links(connection) == ()
        connection.execute("UPDATE agent_events SET mandant_id = NULL")  # a move is allowed
        connection.execute("UPDATE event_payloads SET payload = NULL")  # so is an erasure
        assert events.broken_links(connection) == ()
    with pytest.raises(psycopg.errors.RaiseException), database.worker() as connection:
        connection.execute("UPDATE agent_events SET reason = 'forged' WHERE id = %s", (ids[1],))
    with database.owner() as connection:
        connection.execute("ALTER TABLE agent_events DISABLE TRIGGER agent_events_append_only")
        connection.execute("UPDATE agent_events SET kind = 'forged' WHERE id = %s", (ids[1],))
    with database.worker() as connection:
        assert events.broken_links(connection) == (ids[1],)


COMPANY = "mandant: m, kind: company, legal_name: x, bucket: b"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("mandanten: [{slug: A B, name: x}]", "slug"),
        (f"entities: [{{slug: alle, {COMPANY}}}]", "alle"),
        (f"entities: [{{slug: e, {COMPANY}}}]", "unknown mandant"),
        ("users: [{login: u, name: U, roles: [{role: viewer}]}]", "needs a mandant"),
        ("users: [{login: u, name: U, roles: [{role: super_admin, valid_to: 2027-01-01}]}]", "end"),
        ("mandanten: [{slug: m, name: x}, {slug: m, name: y}]", "stands twice"),
        ("typo: []", "typo"),
        ("a: [", "not valid YAML"),
    ],
)  # fmt: skip
def test_a_faulty_organisation_names_its_fault(text: str, fault: str) -> None:
    with pytest.raises(OrganisationError, match=fault):
        organisation.parse(text)


def test_the_organisation_exports_what_it_imported(database: Database) -> None:
    import_test_organisation(database)
    with database.worker() as connection:
        first = organisation.export(connection)
        assert "valid_to: '2099-01-01'" in first
        report = organisation.import_organisation(
            connection, organisation.parse(first), author="test"
        )
        assert organisation.export(connection) == first
    assert report.only_in_database == ()


def test_a_shortened_organisation_deletes_nothing_and_says_what_is_missing(
    database: Database,
) -> None:
    import_test_organisation(database)
    with database.worker() as connection:
        report = organisation.import_organisation(
            connection, organisation.parse("mandanten: []"), author="test"
        )
    assert "entity nord-gmbh" in report.only_in_database


def test_an_import_never_moves_an_entity_to_another_tenant(database: Database) -> None:
    import_test_organisation(database)
    with database.worker() as connection:
        text = organisation.export(connection).replace(
            "slug: haus-sued\n  mandant: sued", "slug: haus-sued\n  mandant: nord"
        )
        with pytest.raises(OrganisationError, match="does not change its tenant"):
            organisation.import_organisation(connection, organisation.parse(text), author="test")
