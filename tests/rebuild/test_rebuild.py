"""Rebuild: from the raw layer alone comes the same content with the same numbers (RAW-06)."""

from __future__ import annotations

import hashlib
import io
from datetime import UTC, date, datetime
from email.message import EmailMessage
from pathlib import Path

import psycopg
import pytest
from reportlab.pdfgen.canvas import Canvas
from shared_builders import database_on, import_test_organisation

from tgv_dagster.arrive.gates import GateKind, NewArrival, PartRole, RawKind, arrival_key
from tgv_dagster.arrive.raw import save_raw
from tgv_dagster.clarify import decisions
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.rebuild import (
    RebuildError,
    RebuildScope,
    drop,
    fingerprint,
    rebuild_all,
    rebuild_step,
    restore_from_raw,
    switch,
)
from tgv_dagster.settings import Settings
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import set_human_value, show_on_document

INVOICE = """Holzhandel Beispiel GmbH · Werkstr. 4 · 20095 Hamburg

Nordlicht Tischlerei GmbH
Hafenweg 1
20457 Hamburg

Rechnung Nr. RE-2026-17
Rechnungsdatum: 02.03.2026
Eichenbohlen für die Werkstatt
Netto 100,00 EUR
USt 19 % 19,00 EUR
Gesamtbetrag 119,00 EUR
"""


def pdf(text: str) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, invariant=True)
    for number, line in enumerate(text.splitlines()):
        canvas.drawString(60, 780 - 16 * number, line)
    canvas.save()
    return stream.getvalue()


def mail(subject: str, body: str, attachment: bytes | None = None) -> bytes:
    message = EmailMessage()
    message["From"] = "Lieferant <post@lieferant.example>"
    message["To"] = "buero@nord.example"
    message["Subject"] = subject
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0100"
    local = hashlib.sha256(subject.encode()).hexdigest()[:12]
    message["Message-ID"] = f"<{local}@lieferant.example>"
    message.set_content(body)
    if attachment is not None:
        message.add_attachment(
            attachment, maintype="application", subtype="pdf", filename="rechnung.pdf"
        )
    return message.as_bytes()


def arrive(
    installation: Installation, key: str, name: str, data: bytes, *, is_mail: bool = False
) -> None:
    arrival = NewArrival(
        gate=GateKind.DROP,
        arrival_key=arrival_key(GateKind.DROP, key),
        bucket="intake" if is_mail else "nord-gmbh",
        file_name=name,
        received_at=datetime(2026, 3, 2, 9, tzinfo=UTC),
        kind=RawKind.EML if is_mail else RawKind.FILE,
        part_role=PartRole.MAIL if is_mail else PartRole.FILE,
        mandant="nord",
        entity_hint="nord-gmbh",
    )
    save_raw(installation.database, installation.blobs, arrival, io.BytesIO(data))


@pytest.fixture
def filled(installation: Installation) -> Installation:
    """An invoice twice, the same invoice inside a mail, a mail without attachment."""
    arrive(installation, "1", "rechnung.pdf", pdf(INVOICE))
    arrive(installation, "2", "kopie der rechnung.pdf", pdf(INVOICE))
    other = pdf(INVOICE.replace("RE-2026-17", "RE-2026-18").replace("119,00", "119,00"))
    arrive(installation, "3", "mail.eml", mail("Ihre Rechnung", "anbei", other), is_mail=True)
    body = (
        "Sehr geehrte Nordlicht Tischlerei GmbH,\nwir kündigen den Wartungsvertrag zum 31.08.2026."
    )
    arrive(installation, "4", "kuendigung.eml", mail("Kündigung", body), is_mail=True)
    run_until_idle(installation)
    return installation


def numbers(installation: Installation) -> list[tuple[int, str, str]]:
    with installation.database.worker() as connection:
        return connection.execute(
            "SELECT id, file_name, part_role FROM documents ORDER BY id"
        ).fetchall()


def outcomes(installation: Installation) -> list[tuple[str, int]]:
    with installation.database.worker() as connection:
        return connection.execute(
            "SELECT outcome, count(*) FROM arrivals GROUP BY outcome ORDER BY outcome"
        ).fetchall()


def decide_as_person(installation: Installation, document: int) -> None:
    with installation.database.worker() as connection:
        set_human_value(connection, document, Field.PROVIDER, "Von Hand GmbH", by="anna")
        set_human_value(connection, document, Field.ENTITY, "nord-sarl", by="anna")
        show_on_document(connection, document)


def test_the_fixture_holds_what_the_other_tests_rely_on(filled: Installation) -> None:
    assert outcomes(filled) == [("already_here", 1), ("entered", 3), ("split", 2)]
    assert [role for _, _, role in numbers(filled)] == ["file", "file", "body"]
    assert fingerprint(filled.database).counts[2] >= 3


def test_everything_derived_comes_back_equal_with_numbers_and_human_values(
    filled: Installation,
) -> None:
    before = numbers(filled)
    decide_as_person(filled, before[0][0])
    run_until_idle(filled)
    report = rebuild_all(filled, by="anna")
    assert report.equal, (report.before, report.after)
    assert report.after.counts[0] == len(before)
    assert numbers(filled) == before
    with filled.database.worker() as connection:
        row = connection.execute(
            "SELECT provider, entity, entity_quelle FROM documents WHERE id = %s", (before[0][0],)
        ).fetchone()
    assert row == ("Von Hand GmbH", "nord-sarl", "human")
    assert filled.words.count() == fingerprint(filled.database).counts[2]


def test_a_rebuild_that_lost_something_is_not_equal(filled: Installation) -> None:
    """Positive control of `equal`."""
    with filled.database.worker() as connection:
        connection.execute("UPDATE documents SET provider = 'somebody put this here'")
    assert not rebuild_all(filled, by="anna").equal


def test_a_lost_database_comes_back_from_blobs_and_manifests_with_the_same_numbers(
    filled: Installation, server_url: str, template: str
) -> None:
    before, content = numbers(filled), fingerprint(filled.database)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS restored WITH (FORCE)")
        connection.execute(f"CREATE DATABASE restored TEMPLATE {template}".encode())
    settings = filled.settings.model_copy(
        update={
            "database_url": Settings(database_url=database_on(server_url, "restored")).database_url,  # pyright: ignore[reportArgumentType]
            "home": filled.settings.home,
        }
    )
    filled.words.close()
    fresh = Installation.open(settings)
    import_test_organisation(fresh.database)
    assert restore_from_raw(fresh, by="anna") == 6
    assert restore_from_raw(fresh, by="anna") == 6  # a second call adds nothing
    run_until_idle(fresh)
    assert numbers(fresh) == before
    after = fingerprint(fresh.database)
    assert (after.documents, after.chunks) == (content.documents, content.chunks)
    arrive(fresh, "9", "neu.pdf", pdf(INVOICE.replace("RE-2026-17", "RE-2026-99")))
    run_until_idle(fresh)
    assert max(number for number, _, _ in numbers(fresh)) > max(n for n, _, _ in before)
    fresh.close()


@pytest.mark.parametrize("step", [Stage.EXTRACT, Stage.TRIAGE, Stage.CHUNK, Stage.EMBED])
def test_a_step_beside_changes_nothing_until_it_is_switched(
    filled: Installation, step: Stage
) -> None:
    content = fingerprint(filled.database)
    compared = rebuild_step(filled, step, RebuildScope(month=date(2026, 3, 1)), "anna")
    assert (compared.documents, compared.same, compared.failed) == (3, 3, 0)
    assert fingerprint(filled.database) == content
    assert switch(filled, compared.generation_id, "anna") == 3
    assert fingerprint(filled.database) == content
    assert filled.words.count() == content.counts[2]
    with pytest.raises(RebuildError):
        switch(filled, compared.generation_id, "anna")


def test_a_changed_result_is_seen_before_the_switch_and_can_be_dropped(
    filled: Installation,
) -> None:
    content = fingerprint(filled.database)
    with filled.database.worker() as connection:
        connection.execute("UPDATE tuning_values SET value = '120' WHERE key = 'CHUNK_CHARS'")
        connection.execute("UPDATE tuning_values SET value = '20' WHERE key = 'CHUNK_OVERLAP'")
    compared = rebuild_step(filled, Stage.CHUNK, RebuildScope(), "anna")
    assert compared.changed == 3
    assert fingerprint(filled.database) == content
    drop(filled, compared.generation_id, "anna")
    assert fingerprint(filled.database) == content
    again = rebuild_step(filled, Stage.CHUNK, RebuildScope(), "anna")
    switch(filled, again.generation_id, "anna")
    after = fingerprint(filled.database)
    assert after.counts[2] > content.counts[2]
    assert filled.words.count() == after.counts[2]


def test_a_scope_takes_only_its_documents(filled: Installation) -> None:
    first = numbers(filled)[0][0]
    by_number = rebuild_step(filled, Stage.TRIAGE, RebuildScope(document_ids=(first,)), "anna")
    assert by_number.documents == 1
    elsewhere = rebuild_step(filled, Stage.TRIAGE, RebuildScope(month=date(2020, 1, 1)), "anna")
    assert elsewhere.documents == 0


def test_a_human_value_survives_a_switched_triage(filled: Installation) -> None:
    first = numbers(filled)[0][0]
    decide_as_person(filled, first)
    compared = rebuild_step(filled, Stage.TRIAGE, RebuildScope(), "anna")
    switch(filled, compared.generation_id, "anna")
    with filled.database.worker() as connection:
        row = connection.execute(
            "SELECT provider, entity FROM documents WHERE id = %s", (first,)
        ).fetchone()
    assert row == ("Von Hand GmbH", "nord-sarl")


def test_an_answered_case_survives_the_rebuild(filled: Installation, tmp_path: Path) -> None:
    arrive(filled, "5", "x.pdf", pdf("Ein Brief ohne jeden Hinweis, worum es geht oder an wen."))
    run_until_idle(filled)
    scope = Scope.for_principal(filled.database, "anna", source="test")
    asked = [c for c in decisions.list_cases(filled.database, scope) if c.document_id]
    fields = {Field(point["field"]): "letter" for point in asked[0].open_points}
    answers = {f: ("letter" if f is Field.DOC_TYPE else None) for f in fields}
    assert decisions.answer(filled.database, scope, asked[0].id, answers) == ()
    run_until_idle(filled)
    assert rebuild_all(filled, by="anna").equal
    still_open = decisions.list_cases(filled.database, scope)
    assert [c for c in still_open if c.document_id == asked[0].document_id] == []
