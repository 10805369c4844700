"""No word of a document reaches Dagster, whatever happens to the document (architecture §4)."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import dagster as dg
import psycopg
import pytest
from dagster import DagsterRunStatus
from psycopg import sql as compose
from surface_builders import definitions, run

from resources.door import Door
from sensors import folder
from tgv_dagster import runs
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import dagster_url
from tgv_dagster.store.pull import BatchReport, Problem
from tgv_dagster.store.stages import Stage

CANARY = "Goldregenpfeifer"


def _texts(url: str) -> Iterator[tuple[str, str]]:
    """Every row of every table of a database as text, compressed columns unpacked."""
    with psycopg.connect(url) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'public'"
        ).fetchall()
        for table in sorted({name for name, _, _ in columns}):
            query = compose.SQL("SELECT t::text FROM {} t").format(compose.Identifier(table))
            for (row,) in connection.execute(query):
                yield table, row
        for table, column, kind in columns:
            if kind == "bytea":
                query = compose.SQL("SELECT {} FROM {}").format(
                    compose.Identifier(column), compose.Identifier(table)
                )
                for (packed,) in connection.execute(query):
                    yield table, _unpacked(packed)


def _unpacked(packed: bytes | None) -> str:
    if packed is None:
        return ""
    try:
        return zlib.decompress(packed).decode("utf-8", "replace")
    except zlib.error:
        return packed.decode("utf-8", "replace")


def _places_of(word: str, url: str) -> set[str]:
    return {table for table, row in _texts(url) if word.casefold() in row.casefold()}


def _files_with(word: str, root: Path) -> set[str]:
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file()
        and (word.casefold() in path.name.casefold() or word.encode() in path.read_bytes())
    }


def _put_letters(installation: Installation) -> None:
    """A readable letter, a mail, a broken file and one that nobody can open, all with the word."""
    inbox = installation.settings.inbox_path / "nord" / "nord-gmbh" / f"Personal {CANARY}"
    inbox.mkdir(parents=True)
    (inbox / f"Kündigung {CANARY}.txt").write_text(
        f"Nordlicht Tischlerei GmbH\nStreng vertraulich\nKündigung von Frau {CANARY}\n", "utf-8"
    )
    (inbox / f"Kündigung {CANARY}.txt.intent.txt").write_text(f"betrifft {CANARY}")
    (inbox / f"Zeugnis {CANARY}.pdf").write_bytes(b"%PDF-1.7\n1 0 obj broken %%EOF\n")
    (inbox / f"Tonband {CANARY}.mp3").write_bytes(b"ID3\x04" + b"\0" * 400)
    mail = EmailMessage()
    mail["From"] = f"{CANARY} <{CANARY.lower()}@example.org>"
    mail["To"] = "post@nord.example"
    mail["Subject"] = f"Krankmeldung {CANARY}"
    mail["Date"] = "Mon, 02 Mar 2026 09:00:00 +0100"
    mail["Message-ID"] = f"<1.{CANARY}@example.org>"
    mail.set_content(f"Guten Tag, ich bin krank. {CANARY}")
    mail.add_attachment(
        f"Attest fuer {CANARY}".encode(), maintype="text", subtype="plain",
        filename=f"Attest {CANARY}.txt",
    )  # fmt: skip
    (inbox / f"{CANARY}.eml").write_bytes(mail.as_bytes())
    for path in inbox.iterdir():
        os.utime(path, (0, 0))


def _tick_of_the_folder(installation: Installation, stored: dg.DagsterInstance) -> None:
    """One tick before the files are taken; the run it asks for is kept as the daemon keeps it."""
    with dg.build_sensor_context(
        instance=stored, resources={"door": Door(opens=lambda: installation)}
    ) as context:
        result = folder.SENSORS[0](context)
    assert isinstance(result, dg.SensorResult)
    assert result.run_requests
    assert CANARY not in (result.cursor or "")
    for request in result.run_requests:
        stored.add_run(
            dg.DagsterRun(
                job_name="intake",
                status=DagsterRunStatus.CANCELED,
                tags={**request.tags, "dagster/run_key": request.run_key or ""},
            )
        )


@pytest.fixture
def strict(installation: Installation) -> Installation:
    """An installation whose documents are strictly confidential."""
    with installation.database.worker() as connection:
        connection.execute("UPDATE entities SET default_level = 'streng_vertraulich'")
    return installation


def test_a_word_of_a_document_is_nowhere_in_dagster(
    strict: Installation, stored: dg.DagsterInstance, home: Path
) -> None:
    _put_letters(strict)
    _tick_of_the_folder(strict, stored)
    walked = runs.materialize_flow(strict)
    assert {step.name for step in walked.steps if step.materialized} >= {"documents", "verdicts"}

    def breaks(_installation: Installation) -> BatchReport:
        raise ValueError(f"cannot read the letter to {CANARY}")

    def parks(_installation: Installation) -> BatchReport:
        problem = Problem(1, "parked", f"{CANARY}.pdf: no text")
        return BatchReport(Stage.TRIAGE, 1, {"parked": 1}, (problem,))

    assert not run(definitions(strict, {"documents": breaks}), "intake", stored).result.success
    assert run(definitions(strict, {"documents": parks}), "intake", stored).result.success

    product = strict.database.url
    assert {"arrivals", "documents", "extractions"} <= _places_of(CANARY, product)
    storage = dagster_url(strict.settings, product)
    assert {"event_logs", "runs"} <= _places_of("folder_arrivals", storage)
    assert _places_of(CANARY, storage) == set()
    assert _files_with(CANARY, home) == set()
    assert _files_with(CANARY, strict.settings.inbox_path / "processed") != set()
