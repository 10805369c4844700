"""Walls: every reader sees exactly its rows, in both directions (CONF-15, CONF-16)."""

from __future__ import annotations

import itertools
from datetime import date
from typing import Any

import psycopg
import pytest
from shared_builders import import_test_organisation

from tgv_dagster.store import organisation
from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level, Role, ceiling_of, level_rank_sql, rank_of
from tgv_dagster.store.register import TABLES
from tgv_dagster.store.scope import Period, Scope, ScopeError
from tgv_dagster.store.walls import predicate_sql

_numbers = itertools.count(1)


@pytest.fixture
def walled(database: Database) -> Database:
    import_test_organisation(database)
    return database


def scope(database: Database, login: str, mandant: str | None = None, **kw: bool) -> Scope:
    return Scope.for_principal(database, login, mandant=mandant, source="test", **kw)


def add_document(
    database: Database,
    *,
    entity: str | None = "nord-gmbh",
    level: str | None = "intern",
    project: str | None = None,
    extra: str = "",
) -> int:
    number = next(_numbers)
    sha = f"{number:064x}"
    with database.worker() as connection:
        raw = connection.execute(
            "INSERT INTO raw_items (bucket, sha256, size, kind, storage_bucket, raw_key,"
            " verified_at) VALUES ('b', %s, 1, 'file', 'b', 'k', now()) RETURNING id",
            (sha,),
        ).fetchone()
        assert raw is not None
        row = connection.execute(
            "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
            " VALUES ((SELECT mandant_id FROM entities WHERE slug = %s), %s, 'file',"
            " gen_random_uuid()) RETURNING id",
            (entity, sha),
        ).fetchone()
        assert row is not None
        connection.execute(
            "INSERT INTO documents (id, entity, raw_sha256, raw_item_id, file_class, file_name,"
            " confidentiality_level, project_code, date_received)"
            " VALUES (%s, %s, %s, %s, 'file', 'x', %s, %s, now())",
            (row[0], entity, sha, raw[0], level, project),
        )
        if extra:
            connection.execute(f"UPDATE documents SET {extra} WHERE id = {row[0]}".encode())
    return int(row[0])


def seen(database: Database, reader: Scope, table: str = "documents") -> set[int]:
    with database.reading(reader) as connection:
        column = "id" if table == "documents" else "document_id"
        return {r[0] for r in connection.execute(f"SELECT {column} FROM {table}".encode())}


def test_a_tenant_sees_its_own_documents_and_no_other(walled: Database) -> None:
    nord, sued = add_document(walled), add_document(walled, entity="haus-sued")
    assert seen(walled, scope(walled, "anna")) == {nord}
    assert seen(walled, scope(walled, "sven")) == {sued}
    assert seen(walled, scope(walled, "chef")) == {nord, sued}
    assert seen(walled, scope(walled, "chef", "sued")) == {sued}


@pytest.mark.parametrize("level", [*Level, "streng", "publishable_book", None])
@pytest.mark.parametrize(("login", "ceiling"), [("anna", 3), ("emil", 1), ("vera", 1), ("chef", 3)])
def test_the_ceiling_of_the_membership_cuts(
    walled: Database, level: str | None, login: str, ceiling: int
) -> None:
    """CONF-10: the membership decides, not the installation."""
    document = add_document(walled, level=level)
    expected = {document} if rank_of(level) <= ceiling else set()
    assert seen(walled, scope(walled, login)) == expected


def test_a_row_without_tenant_is_for_the_owner_only(walled: Database) -> None:
    orphan = add_document(walled, entity=None)
    assert seen(walled, scope(walled, "chef")) == {orphan}
    assert seen(walled, scope(walled, "anna")) == set()


def test_test_rows_are_seen_only_on_request(walled: Database) -> None:
    """DEDUP-08, DEDUP-09: a test row is no row of a productive reader."""
    document = add_document(walled, extra="is_test = true")
    assert seen(walled, scope(walled, "anna")) == set()
    assert seen(walled, scope(walled, "anna", include_test=True)) == {document}


def test_release_in_time_and_restriction_hide_a_document(walled: Database) -> None:
    later = add_document(walled, extra="visible_from = now() + interval '1 day'")
    add_document(walled, extra="restricted_until = now() + interval '9 years'")
    add_document(walled, extra="restricted_until = now() - interval '1 day'")
    past = add_document(walled, extra="visible_from = now() - interval '1 day'")
    assert seen(walled, scope(walled, "emil")) == {past}
    assert seen(walled, scope(walled, "anna")) == {past, later}, "who manages waits for no day"


def test_a_circle_is_its_persons_and_who_manages(walled: Database) -> None:
    """UPL-17, CONF-22: a ceiling opens no circle, and the persons read above theirs."""
    document = add_document(walled, level="streng_vertraulich")
    plain = add_document(walled)
    with walled.worker() as connection:
        connection.execute(
            "INSERT INTO document_access (document_id, user_id, granted_by, in_circle,"
            " before_release) SELECT d, u.id, 'anna', true, false FROM users u,"
            " unnest(%s::bigint[]) d WHERE u.login IN ('vera', 'sven')",
            ([document, plain],),
        )
    assert seen(walled, scope(walled, "vera")) == {document, plain}
    assert seen(walled, scope(walled, "emil")) == set()
    assert seen(walled, scope(walled, "anna")) == {document, plain}
    assert seen(walled, scope(walled, "sven")) == set()


def test_a_named_person_reads_above_the_ceiling_but_not_across_tenants(walled: Database) -> None:
    document = add_document(walled, level="streng_vertraulich")
    with walled.worker() as connection:
        connection.execute(
            "INSERT INTO document_access (document_id, user_id, granted_by)"
            " SELECT %s, id, 'anna' FROM users WHERE login IN ('vera', 'sven')",
            (document,),
        )
    assert seen(walled, scope(walled, "vera")) == {document}
    assert seen(walled, scope(walled, "emil")) == set()
    assert seen(walled, scope(walled, "sven")) == set()


def test_narrowing_by_entity_and_project(walled: Database) -> None:
    gmbh = add_document(walled, project="P-1")
    sarl = add_document(walled, entity="nord-sarl")
    anna = scope(walled, "anna")
    assert seen(walled, anna.narrow(entity="nord-sarl")) == {sarl}
    assert seen(walled, anna.narrow(project_code="P-1")) == {gmbh}
    assert seen(walled, anna.narrow(entity="alle")) == {gmbh, sarl}
    assert seen(walled, anna.narrow(entity="haus-sued")) == set()


def test_an_empty_list_of_entities_means_nobody(walled: Database) -> None:
    add_document(walled)
    with walled.worker() as connection:
        connection.execute(
            "UPDATE user_mandant_roles SET entities = '{}' WHERE user_id ="
            " (SELECT id FROM users WHERE login = 'emil')"
        )
    assert seen(walled, scope(walled, "emil")) == set()
    with pytest.raises(ScopeError):
        scope(walled, "emil").narrow(entity="nord-gmbh")


def test_a_scope_is_never_widened_and_has_one_constructor(walled: Database) -> None:
    may = Period("invoice_date", date(2026, 5, 1), date(2026, 5, 31))
    narrow = scope(walled, "anna").narrow(
        entity="nord-gmbh", project_code="P-1", context_doc_id=7, period=may
    )
    assert narrow.narrow(entity="alle", period=may) == narrow.narrow() == narrow
    wider: tuple[dict[str, Any], ...] = (
        {"entity": "nord-sarl"},
        {"project_code": "P-2"},
        {"context_doc_id": 8},
        {"period": Period("invoice_date", None, None)},
    )
    for axis in wider:
        with pytest.raises(ScopeError):
            narrow.narrow(**axis)
    with pytest.raises(ScopeError):
        Scope("x", 1, Role.SUPER_ADMIN, None, (), None, 3, "test")


@pytest.mark.parametrize("login", ["nobody", ""])
def test_an_unknown_principal_gets_no_scope(walled: Database, login: str) -> None:
    with pytest.raises(ScopeError):
        scope(walled, login)


def test_a_foreign_tenant_cannot_be_chosen(walled: Database) -> None:
    with pytest.raises(ScopeError):
        scope(walled, "anna", "sued")


def test_an_ended_membership_and_an_unknown_role_are_nothing(walled: Database) -> None:
    with walled.worker() as connection:
        connection.execute(
            "UPDATE user_mandant_roles SET valid_to = now() WHERE user_id ="
            " (SELECT id FROM users WHERE login = 'emil')"
        )
        connection.execute(
            "UPDATE user_mandant_roles SET role = 'boss' WHERE user_id ="
            " (SELECT id FROM users WHERE login = 'vera')"
        )
    for login in ("emil", "vera"):
        with pytest.raises(ScopeError):
            scope(walled, login)


def test_a_membership_ends_on_its_first_day_without(walled: Database) -> None:
    ended = f"valid_to: {date.today()}"
    with walled.worker() as connection:
        text = organisation.export(connection)
        later = organisation.parse(text)
        assert text.count("2099-01-01") == 1
        organisation.import_organisation(connection, later, author="test")
    assert scope(walled, "emil").role is Role.EDITOR
    with walled.worker() as connection:
        now = organisation.parse(text.replace("valid_to: '2099-01-01'", ended))
        organisation.import_organisation(connection, now, author="test")
    with pytest.raises(ScopeError):
        scope(walled, "emil")


def test_a_session_without_settings_sees_no_row_in_any_walled_table(walled: Database) -> None:
    add_document(walled)
    from tgv_dagster.store.db import connect
    from tgv_dagster.store.walls import APP_ROLE

    reference = {"tuning_values", "embedding_spaces"}
    with connect(walled.url, role=APP_ROLE) as connection:
        for table in TABLES:
            if table.wall is None or table.name in reference:
                continue
            count = connection.execute(f"SELECT count(*) FROM {table.name}".encode()).fetchone()
            assert count == (0,), table.name


def test_closed_tables_refuse_the_reader(walled: Database) -> None:
    for table in (t for t in TABLES if t.wall is None):
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege),
            walled.reading(scope(walled, "chef")) as connection,
        ):
            connection.execute(f"SELECT 1 FROM {table.name}".encode())


def test_a_reader_cannot_write_even_with_every_right(walled: Database) -> None:
    with (
        pytest.raises(
            (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)
        ),
        walled.reading(scope(walled, "chef")) as connection,
    ):
        connection.execute("DELETE FROM documents")


def test_settings_do_not_outlive_the_transaction_on_a_pooled_connection(walled: Database) -> None:
    nord, sued = add_document(walled), add_document(walled, entity="haus-sued")
    for _ in range(12):
        assert seen(walled, scope(walled, "anna")) == {nord}
        assert seen(walled, scope(walled, "sven")) == {sued}


def test_satellite_rows_follow_their_document(walled: Database) -> None:
    mine, other = add_document(walled), add_document(walled, entity="haus-sued")
    strict = add_document(walled, level="vertraulich")
    with walled.worker() as connection:
        for document in (mine, other, strict):
            connection.execute(
                "INSERT INTO document_values (document_id, field, value, origin, set_by, version)"
                " VALUES (%s, 'doc_type', 'invoice', 'machine', 't', '1')",
                (document,),
            )
    assert seen(walled, scope(walled, "emil"), "document_values") == {mine}


def test_moving_a_document_moves_its_number_and_walls(walled: Database) -> None:
    document = add_document(walled)
    with walled.worker() as connection:
        connection.execute("UPDATE documents SET entity = 'haus-sued' WHERE id = %s", (document,))
        row = connection.execute(
            "SELECT n.mandant_id = e.mandant_id FROM document_numbers n, entities e"
            " WHERE n.id = %s AND e.slug = 'haus-sued'",
            (document,),
        ).fetchone()
    assert row == (True,)
    assert seen(walled, scope(walled, "sven")) == {document}
    assert seen(walled, scope(walled, "anna")) == set()


def test_a_broken_predicate_is_caught(walled: Database) -> None:
    """Positive control: with the tenant term gone the tenant test above would fail."""
    nord, sued = add_document(walled), add_document(walled, entity="haus-sued")
    with walled.owner() as connection:
        connection.execute("ALTER POLICY wall ON documents USING (true)")
    assert seen(walled, scope(walled, "anna")) == {nord, sued}


def test_the_ladder_in_sql_is_the_ladder_in_python(walled: Database) -> None:
    words = [*Level, "streng", "", None]
    with walled.worker() as connection:
        for word in words:
            row = connection.execute(
                f"SELECT {level_rank_sql('%(word)s::text')}".encode(), {"word": word}
            ).fetchone()
            assert row == (rank_of(word),)
        connection.execute("SAVEPOINT here")
    for word in words:
        document = add_document(walled, level=word)
        with walled.worker() as connection:
            row = connection.execute(
                "SELECT level_rank FROM documents WHERE id = %s", (document,)
            ).fetchone()
        assert row == (rank_of(word),)


@pytest.mark.parametrize(
    ("role", "ceiling", "rank"),
    [
        ("super_admin", "intern", 3),
        ("mandant_admin", None, 3),
        ("editor", None, 1),
        ("viewer", "vertraulich", 2),
        ("viewer", "family_close", -1),
        ("boss", "streng_vertraulich", -1),
    ],
)
def test_ceiling_of_a_membership(role: str, ceiling: str | None, rank: int) -> None:
    assert ceiling_of(role, ceiling) == rank


def test_the_predicate_names_every_wall_column() -> None:
    text = predicate_sql()
    for column in (
        "mandant_id", "entity", "project_code", "level_rank", "visible_from",
        "restricted_until", "is_test", "persons", "circle",
    ):  # fmt: skip
        assert column in text
