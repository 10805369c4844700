"""Steps many tests of this room share: an account, a file, an import."""

from __future__ import annotations

import hashlib
from decimal import Decimal

from bank_files import IBAN

from tgv_dagster.bank.importing import ImportReport, import_bank_file
from tgv_dagster.bank.overlap import Decision
from tgv_dagster.bank.reading import read_bank_file
from tgv_dagster.bank.recording import Source
from tgv_dagster.store.db import Connection, Database


def tenant(database: Database, slug: str = "nord") -> int:
    with database.worker() as connection:
        row = connection.execute("SELECT id FROM mandanten WHERE slug = %s", (slug,)).fetchone()
    assert row is not None
    return int(row[0])


def add_account(
    database: Database, iban: str = IBAN, *, entity: str = "nord-gmbh", active: bool = True,
    books_reports: bool = False,
) -> int:  # fmt: skip
    with database.worker() as connection:
        row = connection.execute(
            "INSERT INTO md_accounts (mandant_id, entity, iban, account_key, name, active,"
            " books_reports) SELECT mandant_id, slug, %s, %s, 'Giro', %s, %s FROM entities"
            " WHERE slug = %s RETURNING id",
            (iban, iban, active, books_reports, entity),
        ).fetchone()
    assert row is not None
    return int(row[0])


def source_of(database: Database, content: bytes, **more: object) -> Source:
    facts: dict[str, object] = {
        "mandant_id": tenant(database),
        "sha256": hashlib.sha256(content).hexdigest(),
        "document_id": None,
        "confidentiality_level": "intern",
        "is_test": False,
        "author": "anna",
        "decision": Decision.ASK,
    }
    return Source(**(facts | more))  # type: ignore[arg-type]


def bring(database: Database, content: bytes, **more: object) -> ImportReport:
    """Import the content in a transaction of its own."""
    file = read_bank_file(content)
    assert file is not None
    with database.worker() as connection:
        return import_bank_file(connection, file, source_of(database, content, **more))


def ledger(database: Database, key: str = IBAN) -> list[tuple[str, Decimal]]:
    """Day and amount of every booking of the account, in order."""
    with database.worker() as connection:
        rows = connection.execute(
            "SELECT booking_date::text, amount FROM txn_master t JOIN md_accounts a"
            " ON a.id = t.account_id WHERE a.account_key = %s ORDER BY 1, 2, t.id",
            (key,),
        ).fetchall()
    return [(row[0], row[1]) for row in rows]


def number(connection: Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def invoice(database: Database, amount: str, invoice_no: str, *, tenant: str = "nord-gmbh") -> int:
    """A filed incoming invoice without bytes."""
    with database.worker() as connection:
        row = connection.execute(
            "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
            " SELECT mandant_id, md5(%s) || md5(%s), 'file', gen_random_uuid() FROM entities"
            " WHERE slug = %s RETURNING id",
            (invoice_no, tenant, tenant),
        ).fetchone()
        assert row is not None
        connection.execute(
            "INSERT INTO documents (id, mandant_id, entity, raw_sha256, file_class, part_role,"
            " file_name, doc_type, direction, confidentiality_level, date_received, invoice_date,"
            " amount_gross, currency, flow_stage) SELECT %s, mandant_id, slug, md5(%s) || md5(%s),"
            " 'mail_body', 'body', 'r', 'invoice', 'in', 'intern', '2026-03-01', '2026-03-01', %s,"
            " 'EUR', 'effect' FROM entities WHERE slug = %s",
            (row[0], invoice_no, tenant, amount, tenant),
        )
        connection.execute(
            "INSERT INTO document_values (document_id, field, value, origin, set_by, version)"
            " VALUES (%s, 'invoice_number', %s, 'machine', 't', '1')",
            (row[0], invoice_no),
        )
    return int(row[0])
