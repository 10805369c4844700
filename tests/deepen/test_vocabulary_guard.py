"""The guard over doubled vocabularies: code, rows, fill rates, new candidates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shared_builders import import_test_organisation

import tgv_dagster
from tgv_dagster.deepen import vocabulary_guard as guard
from tgv_dagster.deepen.vocabulary_guard import Column, Fill, candidates, wrong_words
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.understand.evidence import Field

PRODUCT = Path(tgv_dagster.__file__).parent


@pytest.mark.parametrize("folder", ["tgv_dagster", "assets", "checks", "sensors", "resources"])
def test_no_code_of_the_product_uses_a_wrong_word(folder: str) -> None:
    assert wrong_words(PRODUCT.parent / folder) == ()


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("a.py", "def f(row):\n    return row.auto_renews\n", "auto_renews"),
        ("a.py", "x = row['mail_date_received']\n", "mail_date_received"),
        ("a.py", "q = 'SELECT sensitivity FROM documents'\n", "sensitivity"),
        ("a.py", "def f(renewal_date=None): ...\n", "renewal_date"),
        ("a.py", "ok = contract_type == 'versicherung'\n", "versicherung"),
        ("a.py", "f(confidentiality_level='confidential')\n", "confidential"),
        ("a.sql", "SELECT auto_renews FROM prf_contracts;\n", "auto_renews"),
        ("a.sql", "WHERE contract_type = 'miete'\n", "miete"),
    ],
)
def test_a_wrong_word_in_code_is_found(tmp_path: Path, name: str, text: str, word: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (found,) = wrong_words(tmp_path)
    assert (found.path, found.word) == (name, word)


@pytest.mark.parametrize(
    "text",
    [
        '"""The old auto_renews was read here."""\n',
        "x = row.next_renewal_date  # not renewal_date\n",
        "x = 'versicherung'\n",
        "x = row.auto_renewal\n",
    ],
)
def test_prose_longer_names_and_other_fields_are_no_readers(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    assert wrong_words(tmp_path) == ()


def test_similar_names_or_values_with_unequal_fill_are_candidates() -> None:
    levels = frozenset({"a", "b", "c"})
    found = candidates(
        [
            Column("t", "auto_renewing", 0.99),
            Column("t", "auto_renewed", 0.04),
            Column("t", "grade", 0.9, levels),
            Column("t", "shade", 0.1, levels),
            Column("t", "partner", 0.9),
            Column("t", "partners", 0.88),
            Column("u", "auto_renewed", 0.01),
            Column("t", "invoice_date", 0.9),
            Column("t", "service_date", 0.1),
        ]
    )
    assert [(c.one, c.other, c.why) for c in found] == [
        ("auto_renewed", "auto_renewing", "similar names"),
        ("grade", "shade", "the same values"),
    ]


# --- the database --------------------------------------------------------------------------------


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    import_test_organisation(database)
    with database.worker() as opened:
        yield opened


def documents(connection: Connection, count: int, **values: str | None) -> None:
    for _ in range(count):
        row = connection.execute(
            "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
            " SELECT id, md5(random()::text) || md5(random()::text), 'body', gen_random_uuid()"
            " FROM mandanten WHERE slug = 'nord' RETURNING id"
        ).fetchone()
        assert row is not None
        connection.execute(
            "INSERT INTO documents (id, mandant_id, raw_sha256, storage_bucket, raw_key, part_role,"
            " file_class, file_name, date_received, doc_type)"
            " SELECT id, mandant_id, raw_sha256, 'b', 'k', 'body', 'mail_body', 'v.eml', now(),"
            " 'contract' FROM document_numbers WHERE id = %s",
            row,
        )
        for name, value in values.items():
            connection.execute(
                "INSERT INTO document_values (document_id, field, value, checked_none, origin,"
                " set_by, version) VALUES (%s, %s, %s, %s, 'machine', 'test', '1')",
                (row[0], name, value, value is None),
            )


def fill(connection: Connection, name: Field) -> Fill:
    (found,) = [f for f in guard.fill_rates(connection) if f.field == name]
    return found


def test_fill_rates_tell_stated_from_checked_and_from_not_looked_at(connection: Connection) -> None:
    documents(connection, 2, contract_start_date="2024-01-01")
    documents(connection, 1, contract_start_date=None)
    documents(connection, 1)
    found = fill(connection, Field.CONTRACT_START_DATE)
    assert (found.documents, found.stated, found.checked_none, found.share) == (4, 2, 1, 0.5)


def test_a_flag_that_is_always_the_same_is_suspicious(connection: Connection) -> None:
    documents(connection, 20, auto_renewal="true", contract_type="service")
    assert fill(connection, Field.AUTO_RENEWAL).is_suspicious
    assert not fill(connection, Field.CONTRACT_TYPE).is_suspicious
    documents(connection, 2, auto_renewal="false")
    assert not fill(connection, Field.AUTO_RENEWAL).is_suspicious


def test_nothing_is_unmeasured_and_not_zero(connection: Connection) -> None:
    assert fill(connection, Field.AUTO_RENEWAL).share is None


def test_a_stored_wrong_word_is_counted(connection: Connection) -> None:
    documents(connection, 2, contract_type="versicherung")
    documents(connection, 1, contract_type="insurance")
    assert guard.wrong_values(connection) == {("contract_type", "versicherung"): 2}


def test_the_columns_of_the_guarded_tables_are_read_with_their_fill(connection: Connection) -> None:
    assert guard.columns(connection) == ()
    documents(connection, 1)
    fills = {column.name: column.fill for column in guard.columns(connection)}
    assert (fills["file_name"], fills["invoice_date"]) == (1.0, 0.0)
