"""Measurements of mail intake: raw first, stamp last, nothing missing, body rows counted.

They read the ledger and the newest balance; none asks the mail server, so a mailbox that does not
answer turns nothing red: the balance grows old and says nothing any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from tgv_dagster.arrive.mail_access import is_configured
from tgv_dagster.arrive.mail_balance import latest_balance
from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, rows, totals
from tgv_dagster.audit.verdict import Figure, Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.understand.doctypes import DocType

BALANCE_AGE = timedelta(hours=36)
NO_MAIL = "no mail stands in the ledger yet"

_INVOICES = [str(DocType.INVOICE), str(DocType.CREDIT_NOTE)]


def mail_raw_first(installation: Installation) -> Verdict:
    """Every mail past its claim points to its EML, and every part of a mail to its mail."""
    found = counts_and_ids(
        installation,
        """
        SELECT l.id, CASE
            WHEN l.raw_item_id IS NULL AND l.outcome IN ('secured', 'entered', 'blocked')
                THEN 'without_eml'
            WHEN l.raw_item_id IS NULL THEN 'not_secured_yet'
            WHEN r.kind <> 'eml' THEN 'not_an_eml'
            WHEN r.sha256 <> l.raw_sha256 THEN 'other_bytes'
            WHEN r.state IN ('missing', 'damaged') THEN 'eml_lost'
            WHEN l.size_received <> r.size THEN 'other_size'
            ELSE 'secured' END
        FROM mail_ledger l LEFT JOIN raw_items r ON r.id = l.raw_item_id
        """,
    )
    if not found:
        return unmeasured(NO_MAIL)
    orphans = rows(
        installation,
        "SELECT count(*) FROM arrivals a WHERE a.gate = 'mail' AND a.part_role <> 'mail'"
        " AND a.parent_id IS NULL",
    )[0][0]
    broken = ("without_eml", "not_an_eml", "other_bytes", "eml_lost", "other_size")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken) + orphans,
        holds="every secured mail points to its EML, every part to its mail",
        broken="mails or parts of mails stand without their EML",
        figures=totals(found) | {"parts_without_mail": orphans},
        evidence=evidence(found, broken, "mail"),
    )


def stamp_after_entry(installation: Installation) -> Verdict:
    """No stamped mail has a part that is open, parked without a decision, held or lost."""
    found = counts_and_ids(
        installation,
        """
        WITH RECURSIVE stamped AS (
            SELECT id, raw_item_id, outcome, gate FROM mail_ledger WHERE stamped_at IS NOT NULL
        ), tree AS (
            SELECT s.id AS ledger_id, a.id, a.outcome, a.document_id
            FROM stamped s JOIN arrivals a ON a.raw_item_id = s.raw_item_id
              AND a.parent_id IS NULL AND a.gate = 'mail' AND a.part_role = 'mail'
            UNION ALL
            SELECT t.ledger_id, c.id, c.outcome, c.document_id
            FROM tree t JOIN arrivals c ON c.parent_id = t.id
        )
        SELECT s.id, CASE
            WHEN s.gate <> 'poll' THEN 'stamped_by_another_route'
            WHEN s.outcome NOT IN ('entered', 'blocked', 'nothing_to_do')
                THEN 'stamped_unfinished'
            WHEN NOT EXISTS (SELECT 1 FROM tree t WHERE t.ledger_id = s.id)
                THEN 'stamped_without_arrival'
            WHEN EXISTS (SELECT 1 FROM tree t LEFT JOIN documents d ON d.id = t.document_id
                WHERE t.ledger_id = s.id AND (t.outcome = 'pending'
                  OR (t.outcome IN ('entered', 'already_here') AND d.id IS NULL)))
                THEN 'part_not_entered'
            ELSE 'stamped' END
        FROM stamped s
        UNION ALL
        SELECT id, 'not_stamped' FROM mail_ledger WHERE stamped_at IS NULL
        """,
    )
    if not found:
        return unmeasured(NO_MAIL)
    broken = (
        "stamped_by_another_route",
        "stamped_unfinished",
        "stamped_without_arrival",
        "part_not_entered",
    )
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every stamped mail was entered before",
        broken="mails carry the stamp although a part of them is not entered",
        figures=totals(found),
        evidence=evidence(found, broken, "mail"),
    )


def mailbox_balance(installation: Installation) -> Verdict:
    """The newest balance of the mailbox; unmeasured when there is none that is young enough."""
    with installation.database.worker() as connection:
        newest = latest_balance(connection)
    if newest is None:
        configured = is_configured(installation.settings)
        return unmeasured("no balance was made yet" if configured else "no mailbox is configured")
    made_at, told = newest
    figures = _figures(told) | {"made_at": made_at.isoformat(timespec="minutes")}
    if datetime.now(UTC) - made_at > BALANCE_AGE:
        return unmeasured("the last balance is too old to say anything", figures)
    counts = {name: value for name, value in figures.items() if isinstance(value, int)}
    missing, failed = counts.get("missing", 0), counts.get("failed", 0)
    return judged(
        missing + failed,
        holds="every mail of the mailbox is stored, listed or on its way",
        broken="mails of the mailbox are in no list, or failed for good",
        figures=figures,
        evidence=tuple(f"uid:{uid}" for uid in _uids(told)),
    )


def invoice_without_file(installation: Installation) -> Verdict:
    """The three classes of mail rows, as a cross table and not as a sum (MAIL-68, MAIL-69)."""
    found = counts_and_ids(
        installation,
        """
        SELECT d.id, CASE
            WHEN d.file_class <> 'mail_body' THEN 'with_file'
            WHEN coalesce(x.characters, 0) = 0 AND coalesce(d.doc_type = ANY (%(invoices)s), false)
                THEN 'invoice_with_neither_file_nor_text'
            WHEN coalesce(x.characters, 0) = 0 THEN 'neither_file_nor_text'
            WHEN coalesce(d.doc_type = ANY (%(invoices)s), false) THEN 'invoice_without_file'
            ELSE 'body_row_allowed' END
        FROM documents d
        JOIN arrivals a ON a.document_id = d.id AND a.gate IN ('mail', 'drop')
        LEFT JOIN extractions x ON x.raw_sha256 = d.raw_sha256 AND x.part_role = d.part_role
            AND x.active AND x.generation = 0
        GROUP BY d.id, x.characters
        """,
        {"invoices": _INVOICES},
    )
    if not found:
        return unmeasured("no document came by mail yet")
    broken = (
        "invoice_with_neither_file_nor_text",
        "neither_file_nor_text",
        "invoice_without_file",
    )
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every invoice that came by mail has its file; rows of a body have text",
        broken="invoices stand without a file, or rows without file and text",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )


def body_row_events(installation: Installation) -> Verdict:
    """Each body row of a mail has its event; the count stands with its start date (MAIL-71)."""
    found = counts_and_ids(
        installation,
        """
        SELECT a.id, CASE WHEN EXISTS (
            SELECT 1 FROM agent_events e WHERE e.kind = 'mail.body_row_created'
              AND e.object = 'arrival:' || a.parent_id) THEN 'with_event' ELSE 'without_event' END
        FROM arrivals a WHERE a.part_role = 'body'
        """,
    )
    told, since = rows(
        installation,
        "SELECT (SELECT count(*) FROM agent_events WHERE kind = 'mail.body_row_created'),"
        " (SELECT min(created_at) FROM agent_events)",
    )[0]
    figures: dict[str, Figure] = {
        **totals(found),
        "events": told,
        "counted_since": "never" if since is None else f"{since:%Y-%m-%d}",
    }
    if not found:
        return unmeasured("no mail stood for itself yet", figures)
    return judged(
        found.get("without_event", (0, ()))[0],
        holds="every row made of a mail's text was told as an event",
        broken="rows were made of a mail's text without an event",
        figures=figures,
        evidence=evidence(found, ("without_event",), "arrival"),
    )


def _figures(told: Mapping[str, object]) -> dict[str, Figure]:
    return {
        name: value
        for name, value in told.items()
        if isinstance(value, int) and name != "uidvalidity"
    }


def _uids(told: Mapping[str, object]) -> tuple[int, ...]:
    named = told.get("missing_uids")
    return tuple(uid for uid in named if isinstance(uid, int)) if isinstance(named, list) else ()
