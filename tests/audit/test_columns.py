"""Suites over whole tables: green, red with the ids of the rows, and pages without any value."""

from __future__ import annotations

import re
from typing import Any

import pytest
from audit_builders import document, measure, sql
from sqlalchemy import Engine, event

from tgv_dagster.audit.measures.columns import page_of, suites
from tgv_dagster.audit.register import CHECKPOINTS
from tgv_dagster.audit.verdict import MAX_EVIDENCE, State
from tgv_dagster.installation import Installation

CANARY = "Zaunkoenig"


def contract(installation: Installation) -> int:
    number = document(installation, doc_type="contract")
    sql(
        installation,
        "INSERT INTO prf_contracts (document_id, entity, contract_start_date, contract_end_date,"
        " notice_period_days, partner)"
        " VALUES (%s, 'nord-gmbh', '2026-01-01', '2027-01-01', 90, %s)",
        number,
        CANARY,
    )
    return number


def booking(installation: Installation) -> int:
    rows = sql(
        installation,
        "WITH account AS (INSERT INTO md_accounts (entity, account_key, name)"
        " VALUES ('nord-gmbh', 'giro', 'Giro') RETURNING id)"
        " INSERT INTO txn_master (entity, account_id, booking_date, amount, currency, row_key,"
        " source, purpose) SELECT 'nord-gmbh', id, '2026-01-05', 1, 'EUR', 'k', 'camt', %s"
        " FROM account RETURNING id",
        CANARY,
    )
    return rows[0][0]


def trip(installation: Installation) -> int:
    with installation.database.owner(autocommit=True) as connection:
        rows = connection.execute(
            "INSERT INTO fahrtenbuch (entity, vehicle, trip_date, km_start, km_end, source,"
            " purpose) VALUES ('nord-gmbh', 'HH-T 1', '2026-01-05', 1, 9, 'log', %s) RETURNING id",
            (CANARY,),
        ).fetchall()
    return rows[0][0]


CASES = {
    "documents": (
        lambda i: document(i),
        "UPDATE documents SET confidentiality_level = 'top secret', title = 'Zaunkoenig'"
        " WHERE id = %s",
    ),
    "rag_chunks": (
        lambda i: sql(i, "SELECT id FROM rag_chunks WHERE document_id = %s", document(i))[0][0],
        "UPDATE rag_chunks SET content_sha256 = 'Zaunkoenig' WHERE id = %s",
    ),
    "contracts": (
        contract,
        "UPDATE prf_contracts SET contract_end_date = '2025-01-01' WHERE document_id = %s",
    ),
    "transactions": (booking, "UPDATE txn_master SET currency = 'Zaunkoenig' WHERE id = %s"),
    "trips": (trip, "UPDATE fahrtenbuch SET vehicle = '' WHERE id = %s"),
}


def test_every_suite_is_a_checkpoint_and_a_case() -> None:
    ids = {which.id for which in CHECKPOINTS if which.id.startswith("columns_")}
    assert ids == {f"columns_{name}" for name in suites()}
    assert set(suites()) == set(CASES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_suite_is_green_on_good_rows_and_names_the_bad_one(
    installation: Installation, name: str
) -> None:
    make, damage = CASES[name]
    checkpoint = f"columns_{name}"
    assert measure(installation, checkpoint).state is State.UNMEASURED
    bad = make(installation)
    good = measure(installation, checkpoint)
    assert good.state is State.GREEN, good
    assert good.figures["rows"] == 1
    with installation.database.owner(autocommit=True) as connection:
        connection.execute(damage.encode(), (bad,))
    verdict = measure(installation, checkpoint)
    assert verdict.state is State.RED
    assert verdict.evidence == (f"{suites()[name].kind}:{bad}",)
    page = page_of(installation.settings.home, name).read_text(encoding="utf-8")
    assert CANARY not in page
    assert re.findall(r"(?:src|href)=\"https?:[^\"]+\.(?:js|css)", page) == []


def seven_hundred_more(installation: Installation, sha256: str | None) -> None:
    """Chunks beside the one of a new document, with this hash or with the one they copy."""
    first = document(installation)
    with installation.database.owner(autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "INSERT INTO rag_chunks (document_id, chunk_no, content, content_sha256, span_start,"
            " span_end, core_start, core_end, page_from, page_to, windows, mandant_id, entity,"
            " confidentiality_level, persons, is_test, source_type, source_key, date_received)"
            " SELECT document_id, n, content, coalesce(%s, content_sha256), 0, 1, 0, 1, 1, 1,"
            " windows, mandant_id, entity, confidentiality_level, persons, is_test, source_type,"
            " source_key, date_received FROM rag_chunks, generate_series(1, 700) n"
            " WHERE document_id = %s",
            (sha256, first),
        )


def test_however_many_rows_are_bad_all_are_counted_and_a_bounded_number_is_named(
    installation: Installation,
) -> None:
    seven_hundred_more(installation, "none")
    verdict = measure(installation, "columns_rag_chunks")
    assert verdict.state is State.RED
    assert verdict.figures["content_sha256: values_to_match_regex"] == 700
    assert len(verdict.evidence) == MAX_EVIDENCE


@pytest.mark.parametrize("sha256", [None, "none"], ids=["good rows", "bad rows"])
def test_a_suite_fetches_a_bounded_number_of_rows_however_many_it_judges(
    installation: Installation, sha256: str | None
) -> None:
    seven_hundred_more(installation, sha256)
    fetched: dict[str, int] = {}

    def note(_connection: object, cursor: Any, statement: str, *_: object) -> None:
        fetched[statement] = cursor.rowcount

    event.listen(Engine, "after_cursor_execute", note)
    try:
        verdict = measure(installation, "columns_rag_chunks")
    finally:
        event.remove(Engine, "after_cursor_execute", note)
    assert verdict.figures["rows"] == 701
    assert max(fetched.values()) <= MAX_EVIDENCE, fetched
