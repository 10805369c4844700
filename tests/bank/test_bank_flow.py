"""The bank in the flow: files become bookings, proposals and figures, each by its own rule."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import psycopg
import pytest
from bank_files import IBAN, OTHER_IBAN, booking, camt, camt_statement
from bank_walks import add_account, bring, invoice, ledger, number
from shared_builders import import_test_organisation

from tgv_dagster import vollzug
from tgv_dagster.bank import deciding, figures, finance_stage, flowing, matching, periods
from tgv_dagster.bank.matching import Ground, Half, Pair
from tgv_dagster.clarify.execution import CardNotFound
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.web.unmatched_view import open_money

SAVINGS = "DE02120300000000202051"
MARCH = [booking("2026-03-02", "-10.00", "Gebuehr"), booking("2026-03-03", "-25.00", "Papier")]


@pytest.fixture
def firm(database: Database) -> Database:
    import_test_organisation(database)
    add_account(database)
    return database


def place(installation: Installation, name: str, content: bytes) -> None:
    inbox = installation.settings.inbox_path / "nord-gmbh"
    inbox.mkdir(parents=True, exist_ok=True)
    (inbox / name).write_bytes(content)


def test_a_statement_in_the_folder_waits_for_its_account_and_is_then_booked(
    installation: Installation,
) -> None:
    place(installation, "auszug.xml", camt(camt_statement(MARCH)))
    place(installation, "brief.txt", b"Sehr geehrte Damen und Herren, anbei nichts. " * 5)
    run_until_idle(installation)
    database = installation.database
    assert ledger(database) == []
    with database.worker() as connection:
        card = number(connection, "SELECT id FROM cards WHERE action = 'confirm_account'")
    anna = Scope.for_principal(database, "anna", source="test")
    sven = Scope.for_principal(database, "sven", source="test")
    with pytest.raises(CardNotFound):
        vollzug.execute(installation, sven, card, choice="haus-sued")
    done = vollzug.execute(installation, anna, card, choice="nord-gmbh")
    assert (done.card.result or {})["done"]["due"] == 1
    run_until_idle(installation)
    assert [amount for _, amount in ledger(database)] == [Decimal("-10.00"), Decimal("-25.00")]
    with database.worker() as connection:
        states = connection.execute(
            "SELECT state, count(*) FROM flow_ledger WHERE stage = 'bank' GROUP BY 1"
        ).fetchall()
        assert [row[0] for row in states] == ["done"]
        assert number(connection, "SELECT count(*) FROM bank_imports") == 1
        assert (
            number(
                connection,
                "SELECT count(*) FROM cases WHERE kind = 'new_account' AND state = 'executed'",
            )
            == 1
        )
        provenance = connection.execute(
            "SELECT provenance ->> 'raw', document_id FROM txn_master ORDER BY id"
        ).fetchone()
    assert provenance is not None
    assert "Gebuehr" in provenance[0]
    assert provenance[1] is not None


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("konto.qif", b"!Type:Bank\nD01/02/2026\nT-5.00\nPKaffee\n^\n" * 20, "QIF"),
        ("auszug.xml", camt(camt_statement(MARCH, closing="1.00")), "closing balance"),
        ("auszug.sta", b":20:X\n:25:DE1\n:28C:1\n:61:2603010301Q2,00NMSC\n" * 5, "cannot be read"),
    ],
)
def test_a_bank_file_that_cannot_be_booked_is_recorded_with_its_reason(
    installation: Installation, name: str, content: bytes, reason: str
) -> None:
    place(installation, name, content)
    run_until_idle(installation)
    with installation.database.worker() as connection:
        rows = connection.execute("SELECT state, reason FROM bank_imports").fetchall()
        cases = number(connection, "SELECT count(*) FROM cases WHERE reason LIKE 'Bank:%'")
    assert [(row[0], reason in row[1]) for row in rows] == [("refused", True)]
    assert cases == 1


# ------------------------------------------------------------------ links


@pytest.mark.parametrize(
    ("text", "number", "named"),
    [
        ("Rechnung 2026-0815 vom", "2026-0815", True),
        ("RE 2026 0815", "2026-0815", True),
        ("re-4711a", "RE-4711A", True),
        ("Rechnung 12026-08159", "2026-0815", False),
        ("Kunde 4711, Tel 04711", "4711", True),
        ("Zahlung 12", "12", False),
        ("Beleg 123", "123", False),
        ("ABCD", "ABCD", False),
    ],
)
def test_a_reference_is_a_whole_token_with_digits_enough(
    text: str, number: str, named: bool
) -> None:
    assert matching.names_reference(text, number) is named


def pair(**more: object) -> Pair:
    facts: dict[str, object] = {
        "txn_id": 1, "document_id": 7, "amount": Decimal("-119.00"), "direction": "in",
        "doc_type": "invoice", "number": "RE-4711", "document_ibans": (OTHER_IBAN,),
        "counterparty_iban": OTHER_IBAN, "text": "Rechnung RE-4711",
    }  # fmt: skip
    return Pair(**(facts | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "grounds"),
    [
        (pair(), (Ground.REFERENCE, Ground.IBAN)),
        (pair(text="Danke"), (Ground.IBAN,)),
        (pair(counterparty_iban=None), (Ground.REFERENCE,)),
        (pair(counterparty_iban=None, text="Danke"), ()),
        (pair(counterparty_iban=SAVINGS), ()),  # another counterparty contradicts the reference
        (pair(amount=Decimal("119.00")), ()),  # money in does not pay a bill that came in
        (pair(amount=Decimal("119.00"), doc_type="credit_note"), (Ground.REFERENCE, Ground.IBAN)),
        (pair(amount=Decimal("119.00"), direction="out"), (Ground.REFERENCE, Ground.IBAN)),
        (pair(direction=None), ()),
        (pair(amount=Decimal("0.00")), ()),
    ],
)
def test_grounds_of_a_link(one: Pair, grounds: tuple[Ground, ...]) -> None:
    assert matching.grounds_of(one) == grounds


def test_nothing_is_proposed_where_two_would_fit() -> None:
    assert len(matching.proposals([pair()])) == 1
    assert matching.proposals([pair(), pair(document_id=8)]) == ()
    assert matching.proposals([pair(), pair(txn_id=2)]) == ()
    assert (
        len(matching.proposals([pair(), pair(document_id=8, text="", counterparty_iban=None)])) == 1
    )


def test_a_link_needs_reference_and_the_exact_amount_and_stays_inside_its_tenant(
    firm: Database,
) -> None:
    """SPEC-05, CONF-19: a link is proposed inside one tenant only."""
    right = invoice(firm, "25.00", "RE-4711")
    invoice(firm, "25.01", "RE-4712")
    foreign = invoice(firm, "25.00", "RE-4711", tenant="haus-sued")
    paid = [
        booking("2026-03-03", "-25.00", "Rechnung RE-4711"),
        booking("2026-03-04", "-25.00", "RE-4712"),
    ]
    bring(firm, camt(camt_statement(paid)))
    with firm.worker() as connection:
        assert matching.propose_links(connection) == 1
        assert matching.propose_links(connection) == 0
        rows = connection.execute(
            "SELECT document_id, amount, state FROM txn_document_links"
        ).fetchall()
        other = number(connection, "SELECT max(id) FROM txn_master")
    assert rows == [(right, Decimal("25.00"), "proposed")]
    with pytest.raises(psycopg.errors.CheckViolation), firm.worker() as connection:
        connection.execute(
            "INSERT INTO txn_document_links (txn_id, document_id, amount, set_by)"
            " VALUES (%s, %s, 1, 'anna')",
            (other, foreign),
        )


@pytest.mark.parametrize(("amounts", "fits"), [((20, 5), True), ((20, 6), False), ((26,), False)])
def test_links_never_exceed_booking_or_document(
    firm: Database, amounts: tuple[int, ...], fits: bool
) -> None:
    documents = [invoice(firm, "100.00", f"RE-47{n}0") for n in range(len(amounts))]
    bring(firm, camt(camt_statement([MARCH[1]])))

    def link() -> None:
        with firm.worker() as connection:
            txn = number(connection, "SELECT id FROM txn_master")
            for document, amount in zip(documents, amounts, strict=True):
                connection.execute(
                    "INSERT INTO txn_document_links (txn_id, document_id, amount, set_by)"
                    " VALUES (%s, %s, %s, 'anna')",
                    (txn, document, amount),
                )

    if fits:
        link()
        with pytest.raises(psycopg.errors.CheckViolation), firm.worker() as connection:
            connection.execute("UPDATE txn_master SET amount = -24")
    else:
        with pytest.raises(psycopg.errors.CheckViolation):
            link()


def test_a_rejected_proposal_does_not_come_again(firm: Database) -> None:
    invoice(firm, "25.00", "RE-4711")
    bring(firm, camt(camt_statement([booking("2026-03-03", "-25.00", "Rechnung RE-4711")])))
    with firm.worker() as connection:
        matching.propose_links(connection)
        link = number(connection, "SELECT id FROM txn_document_links")
        kind = matching.Proposed.LINK
        assert matching.decide(connection, kind, link, confirm=False, author="anna")
        assert not matching.decide(connection, kind, link, confirm=True, author="anna")
        assert matching.propose_links(connection) == 0


def test_the_finance_stage_follows_what_is_recorded(firm: Database) -> None:
    paper = invoice(firm, "25.00", "RE-4711")

    def follows() -> str:
        with firm.worker() as connection:
            finance_stage.follow(connection)
            assert finance_stage.follow(connection) == 0
            row = connection.execute(
                "SELECT finance_stage FROM documents WHERE id = %s", (paper,)
            ).fetchone()
        assert row is not None
        return finance_stage.FinanceStage(row[0]).name

    def now(statement: str) -> None:
        with firm.worker() as connection:
            connection.execute(statement.encode(), (paper,))

    now("UPDATE documents SET flow_stage = 'understand' WHERE id = %s")
    assert follows() == "COLLECT"
    now("UPDATE documents SET flow_stage = 'clarify' WHERE id = %s")
    assert follows() == "CLARIFY"
    now("UPDATE documents SET flow_stage = 'effect' WHERE id = %s")
    assert follows() == "RECONCILE"
    bring(firm, camt(camt_statement([booking("2026-03-03", "-25.00", "Rechnung RE-4711")])))
    with firm.worker() as connection:
        matching.propose_links(connection)
        link = number(connection, "SELECT id FROM txn_document_links")
    assert follows() == "RECONCILE"
    with firm.worker() as connection:
        matching.decide(connection, matching.Proposed.LINK, link, confirm=True, author="anna")
    assert follows() == "CLOSE"
    with firm.worker() as connection:
        periods.lock_period(connection, entity="nord-gmbh", period="2026-03", author="anna")
    assert follows() == "EVALUATE"


def test_a_part_of_the_amount_does_not_close_an_invoice(firm: Database) -> None:
    """Known fault 163: 150 paid of 200."""
    paper = invoice(firm, "200.00", "RE-4712")
    parts = [booking("2026-03-03", "-150.00", "a"), booking("2026-03-04", "-50.00", "b")]
    bring(firm, camt(camt_statement(parts)))
    stages = []
    for amount in (150, 50):
        with firm.worker() as connection:
            connection.execute(
                "INSERT INTO txn_document_links (txn_id, document_id, amount, state, set_by)"
                " SELECT id, %s, %s, 'confirmed', 'anna' FROM txn_master WHERE amount = %s",
                (paper, amount, -amount),
            )
            finance_stage.follow(connection)
            row = connection.execute(
                "SELECT finance_stage FROM documents WHERE id = %s", (paper,)
            ).fetchone()
        assert row is not None
        stages.append(finance_stage.FinanceStage(row[0]).name)

    assert stages == ["RECONCILE", "CLOSE"]


def scope(database: Database, login: str) -> Scope:
    return Scope.for_principal(database, login, source="test")


def test_a_person_links_by_hand_as_far_as_both_are_open(firm: Database) -> None:
    paper = invoice(firm, "200.00", "RE-4713")
    parts = [booking("2026-03-03", "-150.00", "a"), booking("2026-03-04", "-70.00", "b")]
    bring(firm, camt(camt_statement(parts)))
    anna = scope(firm, "anna")
    with firm.worker() as connection:
        one, two = (
            number(connection, f"SELECT id FROM txn_master WHERE amount = {amount}")
            for amount in (-150, -70)
        )
        connection.execute(
            "INSERT INTO txn_document_links (txn_id, document_id, amount, set_by)"
            " VALUES (%s, %s, 10, 'tgv')",
            (one, paper),
        )
    assert deciding.link(firm, anna, one, paper).amount == 150
    assert deciding.link(firm, anna, two, paper).amount == 50
    with pytest.raises(deciding.LinkRefused, match="whole amount"):
        deciding.link(firm, anna, two, paper)
    made = "SELECT count(*) FROM agent_events WHERE kind = 'bank.link_made' AND is_human"
    with firm.worker() as connection:
        assert connection.execute(
            "SELECT finance_stage FROM documents WHERE id = %s", (paper,)
        ).fetchone() == (finance_stage.FinanceStage.CLOSE,)
        assert number(connection, made) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE documents SET currency = 'USD'", "currencies"),
        ("UPDATE documents SET amount_gross = NULL", "no amount"),
        ("UPDATE documents SET entity = 'nord-sarl'", "entities"),
        (
            "INSERT INTO accounting_periods (entity, period, locked_at, locked_by)"
            " VALUES ('nord-gmbh', '2026-03', now(), 'anna')",
            "locked",
        ),
    ],
)
def test_what_does_not_belong_together_is_not_linked(
    firm: Database, change: str, told: str
) -> None:
    paper = invoice(firm, "150.00", "RE-4714")
    bring(firm, camt(camt_statement([booking("2026-03-03", "-150.00", "a")])))
    with firm.worker() as connection:
        txn = number(connection, "SELECT id FROM txn_master")
        connection.execute(change.encode())
    with pytest.raises(deciding.LinkRefused, match=told):
        deciding.link(firm, scope(firm, "anna"), txn, paper)
    with firm.worker() as connection:
        assert number(connection, "SELECT count(*) FROM txn_document_links") == 0


@pytest.mark.parametrize(
    ("login", "error"), [("vera", ScopeError), ("sven", deciding.LinkNotFound)]
)
def test_who_may_not_decide_about_money_changes_nothing(
    firm: Database, login: str, error: type[Exception]
) -> None:
    paper = invoice(firm, "25.00", "RE-4711")
    bring(firm, camt(camt_statement([booking("2026-03-03", "-25.00", "Rechnung RE-4711")])))
    with firm.worker() as connection:
        matching.propose_links(connection)
        proposal = number(connection, "SELECT id FROM txn_document_links")
        txn = number(connection, "SELECT id FROM txn_master")
    who = scope(firm, login)
    for confirm in (True, False):
        with pytest.raises(error):
            deciding.decide(firm, who, matching.Proposed.LINK, proposal, confirm=confirm)
    with pytest.raises(error):
        deciding.link(firm, who, txn, paper)
    waiting = "SELECT count(*) FROM txn_document_links WHERE state = 'proposed'"
    with firm.worker() as connection:
        assert number(connection, waiting) == 1
    anna = scope(firm, "anna")
    deciding.decide(firm, anna, matching.Proposed.LINK, proposal, confirm=True)
    with pytest.raises(deciding.LinkNotFound):
        deciding.decide(firm, anna, matching.Proposed.LINK, proposal, confirm=False)


# ------------------------------------------------------------------ transfers


def half(txn: int, account: int, day: int, amount: int, to: int | None = None) -> Half:
    return Half(txn, account, date(2026, 3, day), Decimal(amount), "EUR", 1, False, to)


@pytest.mark.parametrize(
    ("halves", "pairs"),
    [
        ([half(1, 1, 2, -50, to=2), half(2, 2, 3, 50, to=1)], ((1, 2),)),
        ([half(1, 1, 2, -50, to=2), half(2, 2, 3, 50)], ((1, 2),)),
        ([half(1, 1, 2, -50), half(2, 2, 3, 50)], ()),
        ([half(1, 1, 2, -50, to=2), half(2, 2, 6, 50, to=1)], ()),
        ([half(1, 1, 2, -50, to=2), half(2, 2, 3, 51, to=1)], ()),
        ([half(1, 1, 2, -50, to=2)], ()),
        ([half(1, 1, 2, -50, to=2), half(2, 2, 2, 50), half(3, 2, 3, 50)], ()),
        (
            [
                half(1, 1, 2, -50, to=2),
                half(2, 1, 2, -50, to=2),
                half(3, 2, 2, 50, to=1),
                half(4, 2, 3, 50, to=1),
            ],
            ((1, 3), (2, 4)),
        ),
    ],
)
def test_transfers_pair_one_to_one(halves: list[Half], pairs: tuple[tuple[int, int], ...]) -> None:
    assert matching.transfers(halves) == pairs


def test_a_transfer_is_a_link_of_two_bookings_and_both_stay(firm: Database) -> None:
    add_account(firm, SAVINGS)
    out = booking("2026-03-02", "-500.00", "Umbuchung", iban=SAVINGS)
    into = booking("2026-03-03", "500.00", "Umbuchung", iban=IBAN)
    bring(firm, camt(camt_statement([out])))
    bring(firm, camt(camt_statement([into], iban=SAVINGS, number="9")))
    with firm.worker() as connection:
        assert matching.propose_transfers(connection) == 1
        assert matching.propose_transfers(connection) == 0
        assert number(connection, "SELECT count(*) FROM txn_master") == 2
    with pytest.raises(psycopg.errors.CheckViolation), firm.worker() as connection:
        connection.execute("UPDATE txn_transfers SET out_txn = in_txn, in_txn = out_txn")


# ------------------------------------------------------------------ figures


def test_unmatched_counts_both_sides_per_month_and_entity(firm: Database) -> None:
    invoice(firm, "25.00", "RE-4711")
    invoice(firm, "77.00", "RE-9999")
    paid = booking("2026-03-03", "-25.00", "Rechnung RE-4711")
    bring(firm, camt(camt_statement([MARCH[0], paid, booking("2026-04-01", "1.00", "Zins")])))
    with firm.worker() as connection:
        matching.propose_links(connection)
        found = figures.unmatched(connection)
    assert found == (
        figures.Unmatched("nord-gmbh", "2026-03", 2, 2, 1),
        figures.Unmatched("nord-gmbh", "2026-04", 1, 0, 0),
    )


def test_a_part_or_a_proposal_leaves_both_sides_open(firm: Database) -> None:
    """One rule for the page, the console, the asset and the finance stage (known fault 163)."""
    paper = invoice(firm, "200.00", "RE-4712")
    parts = [booking("2026-03-03", "-150.00", "a"), booking("2026-03-04", "-70.00", "b")]
    bring(firm, camt(camt_statement(parts)))
    anna = Scope.for_principal(firm, "anna", source="test")

    def look() -> tuple[list[tuple[Decimal, int]], list[Decimal | None], int, int, str]:
        shown = open_money(firm, anna)
        with firm.worker() as connection:
            months = figures.unmatched(connection)
            finance_stage.follow(connection)
            row = connection.execute("SELECT finance_stage FROM documents").fetchone()
        assert row is not None
        counted = (
            sum(m.bookings_without_receipt for m in months),
            sum(m.receipts_without_booking for m in months),
        )
        assert counted == (len(shown.bookings), len(shown.receipts))
        bookings = sorted((b.rest, len(b.proposals)) for b in shown.bookings)
        return bookings, [r.rest for r in shown.receipts], *counted, row[0]

    def link(amount: int, of: int, state: str) -> None:
        with firm.worker() as connection:
            connection.execute(
                "INSERT INTO txn_document_links (txn_id, document_id, amount, state, set_by)"
                " SELECT id, %s, %s, %s, 'anna' FROM txn_master WHERE amount = %s",
                (paper, amount, state, -of),
            )

    waits, closed = finance_stage.FinanceStage.RECONCILE, finance_stage.FinanceStage.CLOSE
    d = Decimal
    assert look() == ([(d(70), 0), (d(150), 0)], [d(200)], 2, 1, waits)
    link(150, 150, "proposed")
    assert look() == ([(d(70), 0), (d(150), 1)], [d(200)], 2, 1, waits)
    with firm.worker() as connection:
        connection.execute("UPDATE txn_document_links SET state = 'confirmed'")
    assert look() == ([(d(70), 0)], [d(50)], 1, 1, waits)
    link(50, 70, "confirmed")
    assert look() == ([(d(20), 0)], [], 1, 0, closed)


def test_balances_show_the_day_of_each_account_and_leave_inactive_ones_out(firm: Database) -> None:
    """FIN-27: each account with its own day."""
    add_account(firm, SAVINGS)
    add_account(firm, "DE75512108001245126199", active=False)
    bring(firm, camt(camt_statement(MARCH)))
    with firm.worker() as connection:
        found = figures.account_balances(connection)
    assert [(one.balance, one.as_of) for one in found] == [
        (Decimal("965.00"), date(2026, 3, 3)),
        (None, None),
    ]


@pytest.mark.parametrize(("login", "seen"), [("anna", 2), ("vera", 0), ("sven", 0)])
def test_bookings_and_balances_stand_behind_the_walls(
    firm: Database, login: str, seen: int
) -> None:
    bring(firm, camt(camt_statement(MARCH)), confidentiality_level="vertraulich")
    scope = Scope.for_principal(firm, login, source="test")
    with firm.reading(scope) as connection:
        assert number(connection, "SELECT count(*) FROM txn_master") == seen
        statements = number(connection, "SELECT count(*) FROM bank_statements")
        assert statements == min(seen, 1)


def test_test_files_make_test_bookings_that_no_figure_counts(firm: Database) -> None:
    bring(firm, camt(camt_statement(MARCH)), is_test=True)
    with firm.worker() as connection:
        assert number(connection, "SELECT count(*) FROM txn_master WHERE is_test") == 2
        assert figures.unmatched(connection) == ()


def test_bookings_follow_the_walls_of_their_document_even_in_a_locked_month(
    installation: Installation,
) -> None:
    database = installation.database
    add_account(database)
    place(installation, "auszug.xml", camt(camt_statement(MARCH)))
    run_until_idle(installation)
    vera = Scope.for_principal(database, "vera", source="test")

    def visible() -> tuple[int, int]:
        with database.reading(vera) as connection:
            return (
                number(connection, "SELECT count(*) FROM txn_master"),
                number(connection, "SELECT count(*) FROM bank_statements"),
            )

    def set_level(level: str) -> None:
        with database.worker() as connection:
            connection.execute("UPDATE documents SET confidentiality_level = %s", (level,))

    set_level("intern")
    assert visible() == (2, 1)
    with database.worker() as connection:
        periods.lock_period(connection, entity="nord-gmbh", period="2026-03", author="anna")
    set_level("vertraulich")
    assert visible() == (0, 0)
    with database.worker() as connection:
        changed = "SELECT count(*) FROM txn_master WHERE changed_at IS NOT NULL"
        assert number(connection, changed) == 2  # by the lock itself, not by the wall
        connection.execute("UPDATE documents SET is_test = true")
        assert number(connection, "SELECT count(*) FROM txn_master WHERE NOT is_test") == 0
    assert visible() == (0, 0)


def test_a_waiting_table_is_due_for_the_recogniser_and_a_statement_for_this_room(
    firm: Database,
) -> None:
    documents = [invoice(firm, "1.00", "RE-1000"), invoice(firm, "2.00", "RE-2000")]
    with firm.worker() as connection:
        for document, variant in zip(documents, ("table", "camt.053"), strict=True):
            connection.execute(
                "INSERT INTO bank_imports (mandant_id, document_id, raw_sha256, variant,"
                " parser_version, state, reason, created_by) SELECT mandant_id, id, raw_sha256, %s,"
                " '1', 'waiting', 'account', 'anna' FROM documents WHERE id = %s",
                (variant, document),
            )
        assert flowing.again(connection, documents) == 2
        rows = connection.execute("SELECT subject_id, stage FROM flow_ledger").fetchall()
    assert sorted(rows) == [(documents[0], "tables"), (documents[1], "bank")]


def test_the_account_of_a_test_entity_makes_test_bookings(firm: Database) -> None:
    with firm.worker() as connection:
        connection.execute("UPDATE entities SET is_test = true WHERE slug = 'nord-gmbh'")
    bring(firm, camt(camt_statement(MARCH)))
    with firm.worker() as connection:
        assert number(connection, "SELECT count(*) FROM txn_master WHERE is_test") == 2
