"""The daily flow as one list of steps, in order; console, Dagster and tests run the same list.

A step pulls what is pending for its stage and returns a report. The order is the lineage: each
step names the steps it follows. What a step does stands in its room, not here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tgv_dagster.arrive import mail_ledger, mailbox
from tgv_dagster.arrive.folder import FolderGate, FolderSettings
from tgv_dagster.arrive.gates import TakenStatus
from tgv_dagster.arrive.mail_access import imap_settings, is_configured, is_switched_on
from tgv_dagster.arrive.mailbox import MailReport
from tgv_dagster.arrive.mails import split_mails
from tgv_dagster.arrive.poll import seen_marker
from tgv_dagster.bank.flowing import take_bank_files
from tgv_dagster.bank.matching import propose
from tgv_dagster.deepen.deepening import deepen_documents
from tgv_dagster.deepen.shadow import ask_in_shadow
from tgv_dagster.effect.dispatching import dispatch_documents
from tgv_dagster.effect.seen_stamps import stamp_finished, waiting_for_stamp
from tgv_dagster.file.filing import file_documents
from tgv_dagster.installation import Installation
from tgv_dagster.know.chunking import cut_chunks
from tgv_dagster.know.embedding import embed_chunks
from tgv_dagster.know.wording import index_words
from tgv_dagster.store import ledger
from tgv_dagster.store.pull import WAITING, BatchReport, Problem
from tgv_dagster.store.stages import Room, Stage
from tgv_dagster.tables.flowing import take_tables
from tgv_dagster.understand.entering import enter_documents
from tgv_dagster.understand.extracting import extract_texts
from tgv_dagster.understand.picture_text import may_carry_text

Progress = Callable[[int, int], None]
"""Called with (done, total) of the running batch."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name is the name of its asset; `after` names the steps upstream of it."""

    name: str
    room: Room
    says: str
    after: tuple[str, ...]
    run: Callable[[Installation, Progress | None], BatchReport]


def folder_gate(
    installation: Installation, *, on_step: Callable[[str], None] | None = None
) -> FolderGate:
    """The gate of the watched folder, as the settings have it."""
    settings = installation.settings
    return FolderGate(
        installation.database,
        installation.blobs,
        FolderSettings(
            settings.inbox_path,
            stable_seconds=settings.stable_seconds,
            patience_seconds=settings.patience_seconds,
            move=settings.move_taken,
            mandant=settings.inbox_mandant,
            entity=settings.inbox_entity,
        ),
        on_step=on_step,
    )


def take_folder(
    installation: Installation,
    progress: Progress | None = None,
    *,
    on_step: Callable[[str], None] | None = None,
) -> BatchReport:
    """Take what rests in the watched folder (FLOW-05: raw first); `on_step` as of `FolderGate`."""
    settings = installation.settings
    gate = folder_gate(installation, on_step=on_step)
    settings.inbox_path.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    outcomes: Counter[str] = Counter()
    problems: list[Problem] = []
    for number, taken in enumerate(gate.take(settings.batch_size), start=1):
        outcomes[str(taken.status)] += 1
        if taken.status is TakenStatus.FAILED:
            problems.append(Problem(taken.arrival_id or 0, str(taken.status), taken.reason))
        if progress is not None:
            progress(number, number)
    return BatchReport(
        stage=Stage.ARRIVE,
        claimed=sum(outcomes.values()),
        outcomes=dict(outcomes),
        problems=tuple(problems),
        seconds=time.monotonic() - started,
    )


def fetch_mail(installation: Installation, progress: Progress | None = None) -> BatchReport:
    """Secure what lies unseen in the mailbox, when its rhythm says so (MAIL-04 to MAIL-06).

    Without a background rhythm, with the switch off, or too soon after the last poll, nothing is
    asked of the server. The sensor and the doors say why; this step only keeps to it.
    """
    started = time.monotonic()
    seconds = installation.settings.mail_poll_seconds
    report = None
    if seconds is not None and is_configured(installation.settings):
        with installation.database.worker() as connection:
            due = (
                is_switched_on(connection)
                and mail_ledger.seconds_until_due(connection, distance=seconds) == 0
            )
        if due:
            report = _polled(installation)
    if report is not None and progress is not None:
        progress(len(report.taken), len(report.taken))
    return mail_batch(report, time.monotonic() - started)


def _polled(installation: Installation) -> MailReport | None:
    parts = mailbox.parts_of(installation.database, installation.blobs, installation.settings)
    try:
        return mailbox.poll(parts)
    except (mailbox.PollerBusy, mailbox.PollTooSoon):
        return None


def mail_batch(report: MailReport | None, seconds: float) -> BatchReport:
    """A call at the mailbox as the report of a batch; ids of the problems are ledger rows."""
    if report is None:
        return BatchReport(stage=Stage.ARRIVE, claimed=0, seconds=seconds)
    outcomes = Counter(
        str(TakenStatus.TAKEN if one.outcome is mail_ledger.MailOutcome.SECURED else one.outcome)
        for one in report.taken
    )
    return BatchReport(
        stage=Stage.ARRIVE,
        claimed=len(report.taken),
        outcomes=dict(outcomes),
        problems=tuple(
            Problem(one.ledger_id or 0, str(one.outcome), one.reason)
            for one in report.taken
            if one.reason
        ),
        seconds=seconds,
    )


def stamp_mail(installation: Installation, progress: Progress | None = None) -> BatchReport:
    """Write what became of each mail, and stamp what the poll finished: the last step (MAIL-34)."""
    with installation.database.worker() as connection:
        waiting = waiting_for_stamp(connection)
    if not waiting:
        return BatchReport(stage=Stage.ARRIVE, claimed=0)
    marks = None
    if is_configured(installation.settings):
        marks = seen_marker(imap_settings(installation.settings))
    done = stamp_finished(installation.database, marks)
    if progress is not None:
        progress(done.claimed, done.claimed)
    return done


def _split(installation: Installation, progress: Progress | None) -> BatchReport:
    return split_mails(
        installation.database,
        installation.blobs,
        limit=installation.settings.batch_size,
        reads_text=lambda content: may_carry_text(installation.extraction, content),
        progress=progress,
    )


def _extract(installation: Installation, progress: Progress | None) -> BatchReport:
    return extract_texts(
        installation.database,
        installation.blobs,
        installation.extraction,
        limit=installation.settings.batch_size,
        progress=progress,
    )


def _enter(installation: Installation, progress: Progress | None) -> BatchReport:
    return enter_documents(
        installation.database,
        installation.blobs,
        limit=installation.settings.batch_size,
        progress=progress,
    )


def _deepen(installation: Installation, progress: Progress | None) -> BatchReport:
    return deepen_documents(
        installation.database, limit=installation.settings.batch_size, progress=progress
    )


def _shadow(installation: Installation, progress: Progress | None) -> BatchReport:
    return ask_in_shadow(
        installation.database,
        installation.chat_model,
        limit=installation.settings.batch_size,
        progress=progress,
    )


def _file(installation: Installation, progress: Progress | None) -> BatchReport:
    return file_documents(
        installation.database, limit=installation.settings.batch_size, progress=progress
    )


def _cut(installation: Installation, progress: Progress | None) -> BatchReport:
    return cut_chunks(
        installation.database, limit=installation.settings.batch_size, progress=progress
    )


def _embed(installation: Installation, progress: Progress | None) -> BatchReport:
    return embed_chunks(
        installation.database,
        installation.embedder,
        limit=installation.settings.batch_size,
        progress=progress,
    )


def _words(installation: Installation, progress: Progress | None) -> BatchReport:
    return index_words(
        installation.database,
        installation.words,
        limit=installation.settings.batch_size,
        progress=progress,
    )


def _tables(installation: Installation, progress: Progress | None) -> BatchReport:
    return take_tables(
        installation.database,
        installation.blobs,
        limit=installation.settings.batch_size,
        progress=progress,
    )


def _bank(installation: Installation, progress: Progress | None) -> BatchReport:
    return take_bank_files(
        installation.database,
        installation.blobs,
        limit=installation.settings.batch_size,
        progress=progress,
    )


def _bank_links(installation: Installation, progress: Progress | None) -> BatchReport:
    return propose(installation.database, progress=progress)


def _dispatch(installation: Installation, progress: Progress | None) -> BatchReport:
    return dispatch_documents(
        installation.database, limit=installation.settings.batch_size, progress=progress
    )


STEPS: tuple[Step, ...] = (
    Step(
        "folder_arrivals",
        Room.ARRIVE,
        "Files from the watched folder, secured byte for byte before anything else happens.",
        (),
        take_folder,
    ),
    Step(
        "mail_fetched",
        Room.ARRIVE,
        "Unseen mails of the intake mailbox, each secured as EML before anything else happens.",
        (),
        fetch_mail,
    ),
    Step(
        "mail_parts",
        Room.ARRIVE,
        "Whole mails taken apart: one arrival per document, every part in one listed outcome.",
        ("folder_arrivals", "mail_fetched"),
        _split,
    ),
    Step(
        "extracted_texts",
        Room.UNDERSTAND,
        "Text of every arrival, page by page, with method and quality.",
        ("folder_arrivals", "mail_parts"),
        _extract,
    ),
    Step(
        "documents",
        Room.UNDERSTAND,
        "Documents with type, entity, amounts and dates, each with source and confidence.",
        ("extracted_texts",),
        _enter,
    ),
    Step(
        "document_details",
        Room.DEEPEN,
        "Mandatory fields per document kind, contract terms and deadlines with their derivation.",
        ("documents",),
        _deepen,
    ),
    Step(
        "shadow_decisions",
        Room.DEEPEN,
        "What the model would have decided, recorded beside what was applied; without effect.",
        ("document_details",),
        _shadow,
    ),
    Step(
        "filed_documents",
        Room.FILE,
        "Compartment, level and project; what is not decided waits for a person.",
        ("document_details",),
        _file,
    ),
    Step(
        "rag_chunks",
        Room.KNOW,
        "Chunks of the documents' text, each with all its walls.",
        ("filed_documents",),
        _cut,
    ),
    Step(
        "chunk_vectors",
        Room.KNOW,
        "Vectors of the chunks' windows in the active space.",
        ("rag_chunks",),
        _embed,
    ),
    Step(
        "word_index",
        Room.KNOW,
        "The Tantivy word index over the same chunks.",
        ("rag_chunks",),
        _words,
    ),
    Step(
        "tables_recognised",
        Room.TABLES,
        "Tables recognised: confirmed schemas imported, new ones asked, others working material.",
        ("filed_documents",),
        _tables,
    ),
    Step(
        "bank_transactions",
        Room.BANK,
        "Bookings out of bank files: each once, whole files only, when every sum holds.",
        ("filed_documents",),
        _bank,
    ),
    Step(
        "bank_links",
        Room.BANK,
        "Proposals: which receipt belongs to which booking, which two bookings are one transfer.",
        ("bank_transactions",),
        _bank_links,
    ),
    Step(
        "dispatched_documents",
        Room.EFFECT,
        "Finished documents handed to whoever works on with them.",
        ("chunk_vectors", "word_index"),
        _dispatch,
    ),
    Step(
        "seen_stamps",
        Room.EFFECT,
        "What became of each mail; the Seen flag on those whose every part is accounted for.",
        ("dispatched_documents",),
        stamp_mail,
    ),
)


def run_until_idle(installation: Installation, *, rounds: int = 1000) -> tuple[BatchReport, ...]:
    """Run all steps until a round does nothing; the plain form that tests and repairs use.

    What only waits (a word index that somebody else writes) stays pending for the next run.
    """
    reports: list[BatchReport] = []
    for _ in range(rounds):
        done = [step.run(installation, None) for step in STEPS]
        reports += done
        with installation.database.worker() as connection:
            due = ledger.any_due(connection)
        taken = any(report.outcomes.get(TakenStatus.TAKEN) for report in done)
        if not taken and not (due and any(_moved(report) for report in done)):
            break
    return tuple(reports)


def _moved(report: BatchReport) -> bool:
    """Whether a batch did more than find out that its items have to wait."""
    if report.stage is Stage.ARRIVE:
        return bool(report.outcomes.get(TakenStatus.TAKEN))
    return any(count for outcome, count in report.outcomes.items() if outcome != WAITING)
