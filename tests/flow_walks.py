"""Builders of the flow's proofs: inputs, walks that can be killed at every boundary, invariants."""

from __future__ import annotations

import io
import os
import re
import signal
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from tgv_dagster import flow
from tgv_dagster.effect.status import flow_status
from tgv_dagster.installation import Installation
from tgv_dagster.know.spaces import active_embedder
from tgv_dagster.know.wording import expected_count
from tgv_dagster.settings import Settings
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import LocalBlobStore, Verified
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import broken_links

Boundary = Callable[[object], None]
"""Called with the name of each boundary between two steps."""


# --- inputs ------------------------------------------------------------------------------------


def letter(number: str, *, to: str = "Nordlicht Tischlerei GmbH") -> bytes:
    """A short invoice as plain text; the number makes it different from every other."""
    return (
        f"Holzkontor Altland GmbH, Deichstrasse 3, 21129 Hamburg\n\n{to}\nHafenweg 1\n"
        f"20457 Hamburg\n\nRechnung Nr. RE-{number}\nRechnungsdatum: 02.03.2026\n\n"
        "Eichenbohlen 30 mm, 12 Stueck zu 40,00 EUR\nNettobetrag 480,00 EUR\n"
        "Umsatzsteuer 19 % 91,20 EUR\nGesamtbetrag 571,20 EUR\nZahlbar bis 16.03.2026.\n"
    ).encode()


def mail(number: str, *attachments: tuple[str, bytes]) -> bytes:
    """A whole mail with a text and any attachments."""
    message = EmailMessage()
    message["From"] = "Holzkontor <buero@holzkontor.example>"
    message["To"] = "rechnung@nordlicht.example"
    message["Subject"] = f"Nachricht {number}"
    message["Message-ID"] = f"<{number}@holzkontor.example>"
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0100"
    message.set_content(f"Guten Tag,\nwir liefern am Dienstag, Vorgang {number}.\nGruss Holzkontor")
    for name, content in attachments:
        message.add_attachment(content, "application", "octet-stream", filename=name)
    if attachments:
        message.set_boundary("grenze")
    return message.as_bytes()


def archive(**members: bytes) -> bytes:
    """A ZIP file of these members; `__` stands for a dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name.replace("__", "."))
            opened.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


Batch = dict[str, bytes]
"""Content by path below the inbox."""


def batch(number: str) -> Batch:
    """One of everything the flow knows, different from the batch of any other number.

    `-a` and `-b` are twice the same bytes in one tenant, `-c` is the same in the other one.
    """
    n, home = number, "nord/nord-gmbh"
    return {
        f"{home}/{n}-brief-a.txt": letter(f"{n}1"),
        f"{home}/{n}-brief-b.txt": letter(f"{n}1"),
        f"sued/haus-sued/{n}-brief-c.txt": letter(f"{n}1"),
        f"{home}/Kita/{n}-kita.txt": letter(f"{n}2"),
        f"{home}/Kita/{n}-kita.txt.intent.txt": b"Schlussrechnung",
        f"{home}/{n}-nachricht.eml": mail(f"{n}3"),
        f"{home}/{n}-anlagen.eml": mail(
            f"{n}4", ("eins.txt", letter(f"{n}5")), ("zwei.txt", letter(f"{n}6"))
        ),
        f"{home}/{n}-paket.zip": archive(drei__txt=letter(f"{n}7"), vier__txt=letter(f"{n}8")),
        f"{home}/{n}-leer.txt": b"",
        f"{n}-ohne-ordner.txt": letter(f"{n}9", to="Unbekannt AG"),
    }


def put(inbox: Path, files: Batch) -> None:
    """Write the files, side-cars first, as a careful sender does."""
    for relative in sorted(files, key=lambda name: not is_side_car(name)):
        path = inbox / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[relative])


def is_side_car(relative: str) -> bool:
    return relative.endswith(".intent.txt")


# --- walks that can be killed ------------------------------------------------------------------


class BoundaryDatabase(Database):
    """A database that names the beginning and the end of each transaction of the flow."""

    def __init__(self, url: str, boundary: Boundary) -> None:
        super().__init__(url, pool_size=4)
        self._boundary = boundary

    @contextmanager
    def worker(self) -> Iterator[Connection]:
        with super().worker() as connection:
            yield connection
            self._boundary("before commit")
        self._boundary("committed")


def open_watched(settings: Settings, boundary: Boundary) -> Installation:
    """The same installation, opened by this process, with every boundary told."""
    url = settings.database_url
    assert url is not None
    return Installation(
        settings,
        BoundaryDatabase(url.get_secret_value(), boundary),
        LocalBlobStore(Path(settings.blob_target), on_step=boundary),
    )


def take_only(installation: Installation, boundary: Boundary) -> None:
    """Folder intake and nothing else."""
    flow.take_folder(installation, on_step=boundary)


def walk(installation: Installation, boundary: Boundary) -> None:
    """The whole flow until nothing is due, as `flow.run_until_idle`, with every boundary told."""

    def progress(done: int, _total: int) -> None:
        boundary(f"item {done}")

    while True:
        taken = flow.take_folder(installation, progress, on_step=boundary)
        for step in flow.STEPS[1:]:
            boundary(step.name)
            step.run(installation, progress)
        with installation.database.worker() as connection:
            due = ledger.any_due(connection)
        if not due and not taken.outcomes.get("taken"):
            return


Walk = Callable[[Installation, Boundary], None]


def warm_up(installation: Installation) -> None:
    """Load what every child would have to load: a fork takes it along."""
    active_embedder(installation.database).embed_passages(["warm"], ["en"])


@dataclass(frozen=True, slots=True)
class Ended:
    """How a forked walk ended: boundaries passed (unless killed), seconds, fault of its own."""

    killed: bool
    boundaries: int
    seconds: float
    fault: str = ""


def fork_walk(
    settings: Settings, act: Walk, *, kill_at: int | None = None, kill_after: float | None = None
) -> Ended:
    """Fork a worker that opens the installation itself and walks.

    It is killed with SIGKILL at its boundary number `kill_at` (from 1), or `kill_after` seconds
    after it began. Raises AssertionError when it failed instead.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.write(write, _walk_in_child(settings, act, kill_at).encode())
        os._exit(0)
    os.close(write)
    started = time.monotonic()
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read) as answer:
        told = answer.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    killed = status == -signal.SIGKILL
    assert killed or told.isdigit(), told
    return Ended(killed, int(told) if told.isdigit() else 0, time.monotonic() - started)


def _walk_in_child(settings: Settings, act: Walk, kill_at: int | None) -> str:
    passed = 0

    def boundary(_name: object) -> None:
        nonlocal passed
        passed += 1
        if passed == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        act(open_watched(settings, boundary), boundary)
    except BaseException:  # noqa: BLE001 - a child has nobody to raise to
        return traceback.format_exc()
    return str(passed)


# --- invariants --------------------------------------------------------------------------------

Rows = list[tuple[Any, ...]]


def rows(installation: Installation, statement: str, *values: object) -> Rows:
    with installation.database.worker() as connection:
        return connection.execute(statement.encode(), values or None).fetchall()


def must_be_empty(found: Rows, what: str) -> None:
    assert not found, f"{what}: {found[:5]}"


def check_now(installation: Installation, files: Batch) -> None:
    """What holds at every moment, however the worker ended: nothing lost, nothing doubled."""
    _sources_are_safe(installation, files)
    for what, statement in _NEVER.items():
        must_be_empty(rows(installation, statement), what)
    _status_adds_up(installation)
    with installation.database.worker() as connection:
        assert broken_links(connection) == ()


def _sources_are_safe(installation: Installation, files: Batch) -> None:
    inbox = installation.settings.inbox_path
    for relative, content in files.items():
        lies = (inbox / relative).exists()
        moved = (inbox / "processed" / relative).exists()
        assert lies != moved, f"{relative}: in the inbox {lies}, in processed {moved}"
        if is_side_car(relative):
            continue
        secured = rows(
            installation,
            "SELECT r.storage_bucket, r.raw_key FROM arrivals a"
            " JOIN raw_items r ON r.id = a.raw_item_id"
            " WHERE a.origin->>'path' = %s AND a.parent_id IS NULL",
            relative,
        )
        assert len(secured) <= 1, f"{relative} arrived {len(secured)} times"
        assert secured or not moved, f"{relative} was moved before its row was committed"
        for bucket, key in secured:
            verdict = installation.blobs.verify(bucket, key)
            assert isinstance(verdict, Verified), f"{relative}: {verdict}"
            with installation.blobs.open(bucket, key) as handle:
                assert handle.read() == content


_NEVER = {
    "a part of a mail or archive arrived twice": """
        SELECT parent_id, part_path FROM arrivals WHERE parent_id IS NOT NULL
        GROUP BY parent_id, part_path HAVING count(*) > 1""",
    "the same bytes are two documents of one tenant": """
        SELECT mandant_id, raw_sha256, part_role FROM documents
        GROUP BY mandant_id, raw_sha256, part_role HAVING count(*) > 1""",
    "two arrivals brought the same document": """
        SELECT document_id FROM arrivals WHERE outcome = 'entered'
        GROUP BY document_id HAVING count(*) > 1""",
    "an arrival waits for nothing": """
        SELECT a.id FROM arrivals a WHERE a.outcome = 'pending' AND NOT EXISTS (
            SELECT 1 FROM flow_ledger l WHERE l.subject_id = a.id AND l.generation = 0
              AND l.stage IN ('split', 'extract', 'triage') AND l.state IN ('pending', 'claimed'))
    """,
    "an arrival has its outcome and is still worked on": """
        SELECT a.id, a.outcome, l.stage, l.state FROM arrivals a
        JOIN flow_ledger l ON l.subject_id = a.id AND l.generation = 0
            AND l.stage IN ('split', 'extract', 'triage')
        WHERE a.outcome <> 'pending' AND l.state IN ('pending', 'claimed')""",
    "an entered arrival has no document": """
        SELECT a.id FROM arrivals a LEFT JOIN documents d ON d.id = a.document_id
        WHERE a.outcome IN ('entered', 'already_here') AND d.id IS NULL""",
    "a document came from no arrival": """
        SELECT d.id FROM documents d WHERE NOT EXISTS (
            SELECT 1 FROM arrivals a WHERE a.document_id = d.id)""",
    "a document is neither finished nor under way": """
        SELECT d.id, d.flow_stage FROM documents d
        WHERE d.dispatch_state <> 'done' AND d.index_filter IS NULL AND NOT EXISTS (
            SELECT 1 FROM flow_ledger l WHERE l.subject_id = d.id AND l.generation = 0
              AND l.stage NOT IN ('split', 'extract', 'triage') AND l.state <> 'done')""",
    "a document has chunks of two generations, or gaps": """
        SELECT document_id FROM rag_chunks WHERE active GROUP BY document_id
        HAVING count(DISTINCT generation) > 1 OR count(*) <> max(chunk_no) - min(chunk_no) + 1""",
    "one subject has two open cases for one reason": """
        SELECT kind, subject_kind, subject_key, reason FROM cases WHERE state = 'open'
        GROUP BY kind, subject_kind, subject_key, reason HAVING count(*) > 1""",
}


def _status_adds_up(installation: Installation) -> None:
    status = flow_status(installation.database, installation.service_scope(source="test"))
    counted = dict(
        rows(
            installation,
            "SELECT 'arrivals', count(*) FROM arrivals UNION ALL"
            " SELECT 'documents', count(*) FROM documents UNION ALL"
            " SELECT 'work', count(*) FROM flow_ledger WHERE state <> 'done' AND generation = 0",
        )
    )
    assert status.arrived == counted["arrivals"]
    assert sum(status.states.values()) == counted["documents"]
    assert status.work is not None
    assert sum(work.items for work in status.work) == counted["work"]


def check_finished(installation: Installation, files: Batch) -> None:
    """What holds when a walk came to its end: all of the above, and nothing is left to do."""
    check_now(installation, files)
    _everything_arrived(installation, files)
    for what, statement in _NOT_LEFT.items():
        must_be_empty(rows(installation, statement), what)
    with installation.database.worker() as connection:
        assert installation.words.count() == expected_count(connection)


def _everything_arrived(installation: Installation, files: Batch) -> None:
    paths = {path for (path,) in rows(installation, "SELECT origin->>'path' FROM arrivals")}
    assert {name for name in files if not is_side_car(name)} <= paths
    inbox = installation.settings.inbox_path
    left = [name for name in files if (inbox / name).exists()]
    assert not (left and installation.settings.move_taken), f"still in the inbox: {left}"


_NOT_LEFT = {
    "pending arrivals": "SELECT id FROM arrivals WHERE outcome = 'pending'",
    "open work": """
        SELECT stage, subject_id, state, attempt, reason FROM flow_ledger
        WHERE state IN ('pending', 'claimed')""",
    "windows without a vector, or with two": """
        SELECT c.id FROM rag_chunks c
        LEFT JOIN (SELECT chunk_id, count(*) AS n FROM chunk_vectors v
            JOIN embedding_spaces s USING (space_id) WHERE s.active GROUP BY chunk_id) v
          ON v.chunk_id = c.id
        WHERE c.active AND coalesce(v.n, 0) <> cardinality(c.windows)""",
}


# --- what came out -----------------------------------------------------------------------------


def came_out(installation: Installation, number: str) -> Counter[str]:
    """Everything the flow made of a batch, without its number: equal for equal batches."""
    found = rows(installation, _CAME_OUT, number)
    return Counter(re.sub(rf"{number}|-[ab]\.txt", "#", str(row)) for row in found)


_CAME_OUT = """
    SELECT a.file_name, a.part_path, a.gate, a.intent_text, a.outcome, a.outcome_reason,
        d.doc_type, d.entity, d.confidentiality_level, d.language, d.amount_gross, d.invoice_date,
        d.flow_stage, d.state, d.index_filter, d.dispatch_state, d.mail_subject,
        (SELECT array_agg(c.chunk_no || ':' || c.content ORDER BY c.chunk_no)
         FROM rag_chunks c WHERE c.document_id = d.id AND c.active),
        (SELECT count(*) FROM chunk_vectors v WHERE v.document_id = d.id),
        (SELECT array_agg(x.field || ' ' || coalesce(x.value, '-') || ' ' || x.origin
            ORDER BY x.field, x.value, x.origin)
         FROM document_values x WHERE x.document_id = d.id AND x.active),
        (SELECT array_agg(k.kind || ' ' || k.reason ORDER BY k.kind, k.reason)
         FROM cases k WHERE k.document_id = d.id AND k.state = 'open'),
        (SELECT array_agg(m.role || ' ' || m.name_raw ORDER BY m.id)
         FROM contact_mentions m WHERE m.document_id = d.id)
    FROM arrivals a LEFT JOIN documents d ON d.id = a.document_id AND a.outcome = 'entered'
    WHERE a.origin->>'path' LIKE '%%' || %s || '-%%'
"""
