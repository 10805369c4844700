"""Checks of the bank see the fault they are for, and are grey where nothing can be said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bank_files import booking, camt, camt_statement, mt940
from bank_walks import add_account, bring

from tgv_dagster.audit.measures import bank
from tgv_dagster.audit.verdict import State, Verdict
from tgv_dagster.bank.overlap import Decision
from tgv_dagster.installation import Installation

MARCH = [
    booking("2026-03-02", "-10.00", "Gebuehr Konto"),
    booking("2026-03-03", "-25.00", "Papier und Stifte"),
    booking("2026-03-04", "70.00", "Rechnung 1 Auftrag"),
]
Measure = Callable[[Installation], Verdict]
ALL = (bank.bank_balances, bank.bank_coverage, bank.bank_duplicates, bank.bank_links_in_bounds)


@pytest.fixture
def firm(installation: Installation) -> Installation:
    add_account(installation.database)
    return installation


@pytest.mark.parametrize("measure", ALL)
def test_without_data_nothing_is_said(firm: Installation, measure: Measure) -> None:
    assert measure(firm).state is State.UNMEASURED


def fill(firm: Installation) -> None:
    bring(firm.database, camt(camt_statement(MARCH[:2])))
    bring(firm.database, camt(camt_statement(MARCH[1:], opening="990.00", number="2")))
    bring(firm.database, mt940(MARCH))


def test_overlapping_files_in_two_formats_are_green(firm: Installation) -> None:
    fill(firm)
    for measure in ALL[:3]:
        verdict = measure(firm)
        assert verdict.state is State.GREEN, verdict


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM txn_master WHERE amount = 70",
        "UPDATE txn_master SET amount = 71 WHERE amount = 70",
        "UPDATE txn_master SET booking_date = '2026-05-01' WHERE amount = 70",
        "INSERT INTO txn_master (entity, account_id, booking_date, amount, currency, row_key,"
        " source) SELECT entity, account_id, booking_date, amount, currency, 'again', 'hand'"
        " FROM txn_master WHERE amount = 70",
    ],
)
def test_a_lost_changed_or_double_booking_breaks_the_balance(
    firm: Installation, damage: str
) -> None:
    fill(firm)
    with firm.database.worker() as connection:
        connection.execute("DELETE FROM txn_sightings")
        connection.execute(damage.encode())
    assert bank.bank_balances(firm).state is State.RED


def test_a_missing_statement_is_a_gap(firm: Installation) -> None:
    bring(firm.database, camt(camt_statement(MARCH[:1])))
    late = [booking("2026-05-04", "1.00", "Mai")]
    bring(firm.database, camt(camt_statement(late, opening="1234.00", number="3")))
    assert bank.bank_coverage(firm).state is State.RED
    assert bank.bank_balances(firm).state is State.GREEN


def test_the_same_words_in_two_formats_are_seen(firm: Installation) -> None:
    fill(firm)
    with firm.database.worker() as connection:
        connection.execute(
            "INSERT INTO txn_master (entity, account_id, booking_date, amount, currency, row_key,"
            " source, purpose, bank_format) SELECT entity, account_id, booking_date, amount,"
            " currency, 'again', 'hand', upper(purpose), 'ofx' FROM txn_master WHERE amount = 70"
        )
    assert bank.bank_duplicates(firm).state is State.RED


def test_two_lines_a_person_called_different_are_no_duplicate(firm: Installation) -> None:
    bring(firm.database, camt(camt_statement([booking("2026-03-02", "-31.00", "Zinsen A")])))
    other = booking("2026-03-02", "-31.00", "Beitrag B", iban="DE02120300000000202051")
    bring(firm.database, mt940([other], opening="969.00"), decision=Decision.NEW)
    assert bank.bank_duplicates(firm).state is State.GREEN


def test_a_document_corrected_below_its_links_is_seen(firm: Installation) -> None:
    fill(firm)
    with firm.database.worker() as connection:
        connection.execute(
            "INSERT INTO document_numbers (id, mandant_id, raw_sha256, part_role, arrival_uid)"
            " SELECT 9, mandant_id, repeat('a', 64), 'file', gen_random_uuid() FROM entities"
            " WHERE slug = 'nord-gmbh'"
        )
        connection.execute(
            "INSERT INTO documents (id, mandant_id, entity, raw_sha256, file_class, file_name,"
            " date_received, amount_gross) SELECT 9, mandant_id, slug, repeat('a', 64),"
            " 'mail_body', 'r', now(), 25 FROM entities WHERE slug = 'nord-gmbh'"
        )
        connection.execute(
            "INSERT INTO txn_document_links (txn_id, document_id, amount, set_by)"
            " SELECT id, 9, 25, 'anna' FROM txn_master WHERE amount = -25"
        )
    assert bank.bank_links_in_bounds(firm).state is State.GREEN
    with firm.database.worker() as connection:
        connection.execute("UPDATE documents SET amount_gross = 24 WHERE id = 9")
    assert bank.bank_links_in_bounds(firm).state is State.RED
