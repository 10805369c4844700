"""The stage over real arrivals: which files it takes, and which it leaves alone."""

from __future__ import annotations

import io
from datetime import UTC, datetime

from table_flow import MORNING, export

from tgv_dagster import vollzug
from tgv_dagster.arrive.gates import GateKind, NewArrival, arrival_key
from tgv_dagster.arrive.raw import save_raw
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope

CAMT = (
    b'<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">'
    b"<BkToCstmrStmt></BkToCstmrStmt></Document>"
)


def arrive(installation: Installation, name: str, content: bytes) -> None:
    arrival = NewArrival(
        gate=GateKind.UPLOAD,
        arrival_key=arrival_key(GateKind.UPLOAD, "test", name),
        bucket="nord-gmbh",
        file_name=name,
        received_at=datetime(2026, 3, 2, tzinfo=UTC),
        mandant="nord",
        entity_hint="nord-gmbh",
    )
    save_raw(installation.database, installation.blobs, arrival, io.BytesIO(content))


def outcomes(installation: Installation) -> dict[str, str]:
    with installation.database.worker() as connection:
        return dict(
            connection.execute(
                "SELECT d.file_name, t.state FROM table_imports t"
                " JOIN documents d ON d.id = t.document_id"
            ).fetchall()
        )


def test_structured_files_are_asked_about_and_papers_are_left_alone(
    installation: Installation,
) -> None:
    arrive(installation, "toggl.csv", export(MORNING))
    arrive(installation, "brief.txt", b"Guten Tag, anbei der Brief.")
    arrive(installation, "liste.csv", b"nur\neine\nSpalte\n")
    arrive(installation, "auszug.csv", CAMT)

    run_until_idle(installation)

    assert outcomes(installation) == {"toggl.csv": "asked", "liste.csv": "unreadable"}
    scope = Scope.for_principal(installation.database, "anna", mandant="nord", source="test")
    with installation.database.reading(scope) as connection:
        found = connection.execute(
            "SELECT count(*) FROM cases WHERE kind = 'new_schema' AND state = 'open'"
        ).fetchone()
    assert found == (1,)


KONTO = (
    "Kontonummer DE02120300000000202051\n\nBuchungstag;Verwendungszweck;Empfänger;Betrag;Währung\n"
)


def a_card(installation: Installation, action: str) -> int:
    with installation.database.worker() as connection:
        row = connection.execute(
            "SELECT id FROM cards WHERE action = %s AND state = 'pending' ORDER BY id LIMIT 1",
            (action,),
        ).fetchone()
    assert row is not None, action
    return int(row[0])


def bookings(installation: Installation) -> list[str]:
    with installation.database.worker() as connection:
        found = connection.execute("SELECT amount::text FROM txn_master ORDER BY booking_date")
        return [row[0] for row in found.fetchall()]


def test_tables_that_wait_for_their_account_are_booked_once_a_person_confirmed_it(
    installation: Installation,
) -> None:
    arrive(installation, "jan.csv", f"{KONTO}30.01.2026;Miete;Haus;-500,00;EUR\n".encode())
    run_until_idle(installation)
    anna = Scope.for_principal(installation.database, "anna", mandant="nord", source="test")
    vollzug.execute(installation, anna, a_card(installation, "confirm_table"), choice="take_over")
    arrive(installation, "feb.csv", f"{KONTO}28.02.2026;Miete;Haus;-510,00;EUR\n".encode())
    run_until_idle(installation)
    assert bookings(installation) == []
    assert outcomes(installation) == {"jan.csv": "asked", "feb.csv": "asked"}

    done = vollzug.execute(
        installation, anna, a_card(installation, "confirm_account"), choice="nord-gmbh"
    )
    run_until_idle(installation)

    assert (done.card.result or {})["done"]["due"] == 2
    assert outcomes(installation) == {"jan.csv": "imported", "feb.csv": "imported"}
    assert bookings(installation) == ["-500.00", "-510.00"]
