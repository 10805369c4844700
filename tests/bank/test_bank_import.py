"""Bank import: all or nothing, each booking once, and only when the sums hold."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from bank_files import OTHER_IBAN, Booking, booking, camt, camt_statement, mt940, ofx
from bank_walks import add_account, bring, ledger, number
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shared_builders import import_test_organisation

from tgv_dagster.bank import accounts, periods, undoing
from tgv_dagster.bank.importing import State
from tgv_dagster.bank.overlap import Decision
from tgv_dagster.store.db import Database


@pytest.fixture
def firm(database: Database) -> Database:
    import_test_organisation(database)
    add_account(database)
    return database


def statement(*true: Booking, opening: str = "1000.00", number: str = "1", **more: object) -> bytes:
    return camt(camt_statement(true, opening=opening, number=number, **more))  # type: ignore[arg-type]


MARCH = [
    booking("2026-03-02", "-10.00", "Gebuehr"),
    booking("2026-03-03", "-25.00", "Papier"),
    booking("2026-03-04", "70.00", "Rechnung 1"),
    booking("2026-03-05", "-5.00", "Porto"),
]


def test_the_same_file_twice_brings_nothing_new(firm: Database) -> None:
    content = statement(*MARCH)
    assert bring(firm, content).inserted == 4
    again = bring(firm, content)
    assert (again.inserted, again.known, again.repeated) == (0, 4, True)
    assert bring(firm, content + b"\n").known == 4  # other bytes, same bookings
    assert len(ledger(firm)) == 4


def test_the_entity_comes_from_the_account_master(firm: Database) -> None:
    bring(firm, statement(*MARCH))
    with firm.worker() as connection:
        rows = connection.execute(
            "SELECT DISTINCT entity, m.slug, check_status, t.state FROM txn_master t"
            " JOIN mandanten m ON m.id = t.mandant_id"
        ).fetchall()
    assert rows == [("nord-gmbh", "nord", "read", "draft")]


def test_two_equal_lines_on_a_day_are_two(firm: Database) -> None:
    twice = [booking("2026-03-02", "-3.50", "Kaffee"), booking("2026-03-02", "-3.50", "Kaffee")]
    assert bring(firm, statement(*twice)).inserted == 2
    assert bring(firm, statement(*twice) + b" ").known == 2
    third = [*twice, booking("2026-03-02", "-3.50", "Kaffee")]
    assert bring(firm, statement(*third)).inserted == 1
    assert len(ledger(firm)) == 3


def test_two_statements_of_one_day_that_continue_each_other_share_no_line(firm: Database) -> None:
    fee = booking("2026-03-02", "-3.50", "Kaffee")
    morning = statement(fee, opening="100.00", number="1")
    evening = statement(fee, opening="96.50", number="2")
    assert bring(firm, morning).inserted == 1
    assert bring(firm, evening).inserted == 1
    assert bring(firm, evening + b" ").inserted == 0
    assert len(ledger(firm)) == 2


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_overlapping_exports_end_in_the_same_ledger_in_any_order(
    firm: Database, order: tuple[int, ...]
) -> None:
    cuts = [
        statement(*MARCH[:2], opening="1000.00"),
        statement(*MARCH[1:3], opening="990.00", number="2"),
        statement(*MARCH[2:], opening="965.00", number="3"),
    ]
    for which in (*order, *order):
        assert bring(firm, cuts[which]).state is State.IMPORTED
    assert ledger(firm) == [(str(b.day), b.amount) for b in MARCH]


def test_the_same_ledger_in_another_format_is_not_booked_again(firm: Database) -> None:
    assert bring(firm, statement(*MARCH)).inserted == 4
    assert bring(firm, mt940(MARCH)).known == 4
    assert bring(firm, statement(*MARCH, version="02")).known == 4
    assert len(ledger(firm)) == 4


def test_what_only_looks_alike_in_another_format_is_asked(firm: Database) -> None:
    bring(firm, statement(booking("2026-03-02", "-31.00", "Zinsen Darlehen A")))
    other = booking("2026-03-02", "-31.00", "Beitrag Kammer", iban="DE02120300000000202051")
    content = mt940([other])
    asked = bring(firm, content)
    assert (asked.state, asked.inserted) == (State.WAITING, 0)
    assert len(ledger(firm)) == 1
    with firm.worker() as connection:
        assert number(connection, "SELECT count(*) FROM cases WHERE kind = 'duplicate'") == 1
    assert bring(firm, content, decision=Decision.NEW).inserted == 1
    with firm.worker() as connection:
        assert number(connection, "SELECT count(*) FROM cases WHERE state = 'open'") == 0


def test_similar_amounts_and_ids_that_contain_each_other_stay_apart(firm: Database) -> None:
    true = [
        booking("2026-03-02", "0.31", "Zinsen", bank_id="12"),
        booking("2026-03-02", "0.31", "Zinsen", bank_id="123"),
        booking("2026-03-02", "0.32", "Zinsen", bank_id="1 23"),
    ]
    assert bring(firm, statement(*true)).inserted == 3


@pytest.mark.parametrize("fitids", [("", ""), ("0", "0"), ("A", "A"), ("A", "B")])
def test_weak_ids_of_ofx_lose_nothing(firm: Database, fitids: tuple[str, str]) -> None:
    true = [booking("2026-03-02", "-3.50", "Kaffee", bank_id=one or None) for one in fitids]
    assert bring(firm, ofx(true)).inserted == 2
    assert bring(firm, ofx(true) + b"\n").known == 2


def test_a_line_that_a_later_statement_lacks_is_reported_and_kept(firm: Database) -> None:
    bring(firm, statement(*MARCH))
    whole = statement(MARCH[0], MARCH[3], opening="1000.00", closing="985.00", number="9")
    report = bring(firm, whole, trust_balances=True)
    assert (report.state, report.vanished) == (State.IMPORTED, 2)
    assert len(ledger(firm)) == 4


def test_a_day_with_other_bookings_than_recorded_is_asked(firm: Database) -> None:
    bring(firm, statement(*MARCH[:3], opening="1000.00"))
    other = [MARCH[0], booking("2026-03-03", "-25.00", "Papier und Stifte"), MARCH[2]]
    report = bring(firm, statement(*other, opening="1000.00", number="9"))
    assert report.state is State.WAITING
    assert len(ledger(firm)) == 3


def test_a_file_whose_sums_do_not_hold_books_nothing_and_says_why(firm: Database) -> None:
    report = bring(firm, statement(*MARCH, closing="1.00"))
    assert report.state is State.REFUSED
    assert "closing balance" in (report.reason or "")
    assert ledger(firm) == []
    with firm.worker() as connection:
        assert number(connection, "SELECT count(*) FROM cases WHERE kind = 'conflict'") == 1


def test_a_statement_that_does_not_continue_the_recorded_balance_is_refused(firm: Database) -> None:
    bring(firm, statement(*MARCH[:2]))
    report = bring(firm, statement(*MARCH[2:], opening="900.00", number="2"))
    assert report.state is State.REFUSED
    assert "does not open" in (report.reason or "")
    assert bring(firm, statement(*MARCH[2:], opening="965.00", number="2")).inserted == 2


def test_an_overlap_that_contradicts_a_recorded_balance_is_refused(firm: Database) -> None:
    bring(firm, statement(*MARCH[:2], opening="1000.00"))
    wrong = [MARCH[0], booking("2026-03-03", "-26.00", "Papier"), MARCH[2]]
    report = bring(firm, statement(*wrong, opening="1000.00", number="7"))
    assert report.state is State.REFUSED
    assert "contradicts" in (report.reason or "")


def test_an_unknown_account_becomes_an_inactive_proposal_that_books_nothing(firm: Database) -> None:
    """CLAR-08, CLAR-10: an unknown account waits for a person."""
    content = statement(*MARCH, iban=OTHER_IBAN)
    report = bring(firm, content)
    assert (report.state, report.inserted) == (State.WAITING, 0)
    bring(firm, content)
    with firm.worker() as connection:
        rows = connection.execute(
            "SELECT id, active, entity FROM md_accounts WHERE account_key = %s", (OTHER_IBAN,)
        ).fetchall()
        assert [(row[1], row[2]) for row in rows] == [(False, None)]
        assert number(connection, "SELECT count(*) FROM cases WHERE kind = 'new_account'") == 1
        with pytest.raises(accounts.AccountError):
            accounts.confirm(connection, rows[0][0], entity="haus-sued", author="anna")
        accounts.confirm(connection, rows[0][0], entity="nord-sarl", author="anna")
        accounts.close_case(connection, rows[0][0], by="anna")
    assert bring(firm, content).inserted == 4
    with firm.worker() as connection:
        assert number(connection, "SELECT count(*) FROM cases WHERE state = 'open'") == 0


def test_the_german_number_finds_the_account_of_its_iban(firm: Database) -> None:
    assert bring(firm, mt940(MARCH, account="37040044/532013000")).inserted == 4


def test_an_account_of_another_tenant_is_not_found(firm: Database) -> None:
    add_account(firm, OTHER_IBAN, entity="haus-sued")
    assert bring(firm, statement(*MARCH, iban=OTHER_IBAN)).state is State.WAITING


def test_pending_lines_are_never_booked_and_replaced_when_they_are(firm: Database) -> None:
    coming = booking("2026-03-03", "-25.00", "Papier", pending=True)
    first = bring(firm, statement(MARCH[0], coming))
    assert (first.inserted, first.pending) == (1, 1)
    report = camt_statement([MARCH[1], MARCH[2]], tag="Rpt", opening=None)
    day = bring(firm, camt(report, message="BkToCstmrAcctRpt"))
    assert (day.inserted, day.pending) == (0, 2)
    bring(firm, statement(MARCH[1], opening="990.00", number="2"))
    with firm.worker() as connection:
        assert connection.execute("SELECT amount FROM bank_pending").fetchall() == [
            (Decimal("70.00"),)
        ]
    assert len(ledger(firm)) == 2


def test_a_report_books_where_the_bank_offers_nothing_else(database: Database) -> None:
    import_test_organisation(database)
    add_account(database, books_reports=True)
    report = camt_statement(MARCH, tag="Rpt", opening="10.00")
    assert bring(database, camt(report, message="BkToCstmrAcctRpt")).inserted == 4


def test_undo_removes_exactly_the_import_and_the_file_may_come_again(firm: Database) -> None:
    content = statement(*MARCH)
    first = bring(firm, content)
    with firm.worker() as connection:
        done = undoing.undo_import(connection, first.import_id, author="anna")
    assert (done.removed, done.kept, ledger(firm)) == (4, (), [])
    with firm.worker() as connection, pytest.raises(undoing.UndoRefused):
        undoing.undo_import(connection, first.import_id, author="anna")
    again = bring(firm, content)
    assert (again.inserted, again.import_id != first.import_id) == (4, True)


def test_undo_leaves_what_a_later_file_shows_too(firm: Database) -> None:
    first = bring(firm, statement(*MARCH[:3]))
    bring(firm, statement(*MARCH[2:], opening="965.00", number="2"))
    with firm.worker() as connection:
        done = undoing.undo_import(connection, first.import_id, author="anna")
    assert (done.removed, done.handed_on) == (2, 1)
    assert ledger(firm) == [(str(b.day), b.amount) for b in MARCH[2:]]


def test_undo_keeps_what_was_matched_changed_or_locked_and_says_so(firm: Database) -> None:
    april = [booking("2026-04-01", "-9.00", "April"), booking("2026-04-02", "9.00", "April 2")]
    first = bring(firm, statement(*MARCH, *april))
    with firm.worker() as connection:
        ids = [r[0] for r in connection.execute("SELECT id FROM txn_master ORDER BY id").fetchall()]
        connection.execute("UPDATE txn_master SET project_code = 'P-1' WHERE id = %s", (ids[4],))
        periods.lock_period(connection, entity="nord-gmbh", period="2026-03", author="anna")
        done = undoing.undo_import(connection, first.import_id, author="anna")
    assert done.removed == 1
    assert {one.reason for one in done.kept} == {"its period is locked", "somebody changed it"}
    again = bring(firm, statement(*MARCH, *april))
    assert (again.inserted, again.known) == (1, 5)  # only the open day comes again


def test_undo_of_locked_bookings_is_refused(firm: Database) -> None:
    first = bring(firm, statement(*MARCH))
    with firm.worker() as connection:
        periods.lock_period(connection, entity="nord-gmbh", period="2026-03", author="anna")
    with firm.worker() as connection, pytest.raises(undoing.UndoRefused, match="locked"):
        undoing.undo_import(connection, first.import_id, author="anna")
    assert len(ledger(firm)) == 4


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM txn_master WHERE booking_date = '2026-03-02'",
        "UPDATE txn_master SET amount = 1 WHERE booking_date = '2026-03-02'",
        "UPDATE txn_master SET booking_date = '2026-03-30' WHERE booking_date = '2026-04-01'",
        "UPDATE txn_master SET booking_date = '2026-04-30' WHERE booking_date = '2026-03-02'",
        "UPDATE txn_master SET accounting_period = '2026-03' WHERE booking_date = '2026-04-01'",
        "UPDATE txn_master SET entity = 'nord-sarl' WHERE booking_date = '2026-03-02'",
        "TRUNCATE txn_master CASCADE",
        "DELETE FROM accounting_periods",
        "UPDATE accounting_periods SET locked_at = NULL",
        "INSERT INTO txn_master (entity, account_id, booking_date, amount, currency, row_key,"
        " source) SELECT 'nord-gmbh', id, '2026-03-31', 1, 'EUR', 'x', 'hand' FROM md_accounts",
    ],
)
def test_the_database_lets_nothing_into_out_of_or_over_a_locked_month(
    firm: Database, change: str
) -> None:
    bring(firm, statement(*MARCH, booking("2026-04-01", "-9.00", "April")))
    with firm.worker() as connection:
        periods.lock_period(connection, entity="nord-gmbh", period="2026-03", author="anna")
    with pytest.raises(psycopg.errors.CheckViolation), firm.worker() as connection:
        connection.execute(change.encode())
    with firm.worker() as connection:
        connection.execute("UPDATE txn_master SET purpose = 'x' WHERE booking_date = '2026-04-01'")


def test_a_file_for_a_locked_month_is_refused_whole(firm: Database) -> None:
    with firm.worker() as connection:
        periods.lock_period(connection, entity="nord-gmbh", period="2026-03", author="anna")
    report = bring(firm, statement(*MARCH, booking("2026-04-01", "-9.00", "April")))
    assert (report.state, ledger(firm)) == (State.REFUSED, [])
    with firm.worker() as connection:
        assert number(connection, "SELECT count(*) FROM cases WHERE kind = 'period_closed'") == 1


def test_a_killed_import_leaves_nothing_and_the_next_one_brings_all(
    firm: Database, tmp_path: Path
) -> None:
    content = statement(*(booking("2026-03-02", "1.00", f"Zeile {n}") for n in range(400)))
    (tmp_path / "s.xml").write_bytes(content)
    code = (
        "import os, signal, sys; from pathlib import Path; sys.path.insert(0, sys.argv[3]);"
        "from bank_walks import source_of; from tgv_dagster.store.db import Database;"
        "from tgv_dagster.bank.importing import import_bank_file;"
        "from tgv_dagster.bank.reading import read_bank_file;"
        "c = Path(sys.argv[2]).read_bytes(); d = Database(sys.argv[1]); w = d.worker();"
        "x = w.__enter__(); r = import_bank_file(x, read_bank_file(c), source_of(d, c));"
        "assert r.inserted == 400; os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, firm.url, str(tmp_path / "s.xml"), str(Path(__file__).parent)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert ledger(firm) == []
    assert bring(firm, content).inserted == 400


def test_another_cut_and_encoding_of_the_raw_entry_is_the_same_booking(firm: Database) -> None:
    true = [booking("2026-03-02", "-12.00", "Buerobedarf Maerz und April lang und laenger")]
    one = mt940(true)
    assert bring(firm, one).inserted == 1
    other = one.decode().replace("\r\n", "\n").replace("?21", "\n?21").encode("cp1252")
    assert bring(firm, other).inserted == 0


def test_a_day_that_nets_nothing_is_not_booked_twice_by_an_overlapping_file(firm: Database) -> None:
    """Before and after such a day stands the same balance; only the lines tell."""
    back = [
        booking("2026-03-03", "5.00", "Pfand rein"),
        booking("2026-03-03", "-5.00", "Pfand raus"),
    ]
    bring(firm, statement(MARCH[0], *back))
    assert bring(firm, statement(*back, MARCH[2], opening="990.00", number="2")).inserted == 1
    assert len(ledger(firm)) == 4


PURPOSES = ("Kontogebuehr", "Kaffee Kueche", "Rechnung 4711", "Miete Lager Nord")
TRUTH = st.lists(
    st.tuples(st.integers(2, 7), st.sampled_from((-5, -3, 3, 5, 70)), st.sampled_from(PURPOSES)),
    min_size=1,
    max_size=10,
)
CUTS = st.lists(
    st.tuples(st.integers(2, 7), st.integers(0, 5), st.sampled_from(("02", "08", "sta", "ofx"))),
    min_size=1,
    max_size=5,
)


def written(true: list[Booking], opening: Decimal, form: str) -> bytes:
    if form == "sta":
        return mt940(true, opening=f"{opening:.2f}")
    if form == "ofx":
        return ofx(true)
    return camt(camt_statement(true, opening=f"{opening:.2f}", version=form), version=form)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(truth=TRUTH, cuts=CUTS, data=st.data())
def test_any_cuts_in_any_formats_and_order_end_in_the_one_true_ledger(
    firm: Database,
    truth: list[tuple[int, int, str]],
    cuts: list[tuple[int, int, str]],
    data: st.DataObject,
) -> None:
    with firm.worker() as connection:
        connection.execute("TRUNCATE txn_master, bank_imports CASCADE")
    true = [booking(f"2026-03-{d:02d}", f"{a:.2f}", p) for d, a, p in sorted(truth)]
    files = []
    shown: set[int] = set()
    for first, length, form in cuts:
        days = range(first, first + length + 1)
        inside = [b for b in true if b.day.day in days]
        opening = Decimal(100) + sum((b.amount for b in true if b.day.day < first), Decimal(0))
        if inside:
            files.append(written(inside, opening, form))
            shown |= set(days)
    for content in (*data.draw(st.permutations(files)), *data.draw(st.permutations(files))):
        report = bring(firm, content)
        assert report.state is State.IMPORTED, report
        bring(firm, content + b"\n")
    due = [(str(b.day), b.amount) for b in true if b.day.day in shown]
    assert sorted(ledger(firm)) == sorted(due)
