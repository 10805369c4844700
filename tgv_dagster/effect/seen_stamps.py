"""The last step of a mail: what became of its parts, and the Seen stamp (MAIL-34 to MAIL-42).

Belongs here: the outcome of a mail from the outcomes of its parts, the conditions of a stamp, and
writing down what the stamping said. Does not belong here: the connection; `mark_seen` is injected
and only the poll has one (MAIL-37). The gate in front is asked by the caller's door.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.arrive.imap_connection import ImapError
from tgv_dagster.arrive.mail_ledger import FINISHED, MailOutcome, Route
from tgv_dagster.arrive.poll import MarkSeen, Stamp, Stampable, StampOutcome
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.pull import BatchReport, Problem
from tgv_dagster.store.stages import Stage

STAMPS_AT_ONCE = 200

_FINAL = (StampOutcome.UNKNOWN_UID, StampOutcome.VALIDITY_CHANGED)
"""Stamps that no further try can set: that mail is not there any more."""


class PartEnd(StrEnum):
    """How one arrival below a mail stands, as far as the stamp is concerned."""

    OPEN = "open"
    ENTERED = "entered"
    BLOCKED = "blocked"
    SET_APART = "set_apart"
    PARKED = "parked"
    DECIDED = "decided"
    HELD = "held"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one mail by their ends; `reason` and `rule` name one of them."""

    counts: Mapping[PartEnd, int]
    reason: str = ""
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The outcome of a mail; None = its parts are still under way."""

    outcome: MailOutcome | None
    reason: str = ""


def judge(parts: Parts) -> Judged:
    """The outcome of a mail whose EML is secured.

    One part that is lost, held or parked keeps the mail unseen (MAIL-36); a part that a person
    decided about and a block by a rule do not (MAIL-38).
    """
    counts = Counter(parts.counts)
    if counts[PartEnd.OPEN]:
        return Judged(None)
    told = ", ".join(f"{counts[end]} {end}" for end in PartEnd if counts[end])
    if counts[PartEnd.LOST] or counts[PartEnd.HELD]:
        return Judged(MailOutcome.FAILED, f"{told}: {parts.reason}")
    if counts[PartEnd.PARKED]:
        return Judged(MailOutcome.PARKED, f"{told}: {parts.reason}")
    if counts[PartEnd.ENTERED]:
        return Judged(MailOutcome.ENTERED, told)
    if counts[PartEnd.BLOCKED]:
        return Judged(MailOutcome.BLOCKED, told)
    return Judged(MailOutcome.NOTHING_TO_DO, told or "no document and no text in it")


def may_stamp(
    *, applied: bool, outcome: MailOutcome, uid: int | None, marks: MarkSeen | None
) -> bool:
    """The four conditions of a stamp, all of them (MAIL-35)."""
    return applied and outcome in FINISHED and uid is not None and marks is not None


def settle(database: Database) -> Mapping[MailOutcome, int]:
    """Write the outcome of every secured mail whose parts have theirs; returns how many ended how.

    A finished mail that is not stamped yet is judged anew, so that a part that a gate held in
    between keeps it unseen.
    """
    with database.worker() as connection:
        _claims_of_lost_drops(connection)
        found = _parts_of_mails(connection)
        changed: Counter[MailOutcome] = Counter()
        for ledger_id, parts in found.items():
            judged = judge(parts)
            outcome = judged.outcome or MailOutcome.SECURED
            if _write(connection, ledger_id, outcome, judged.reason, parts.rule):
                changed[outcome] += 1
    return changed


def stamp_finished(
    database: Database, mark_seen: MarkSeen | None, *, limit: int = STAMPS_AT_ONCE
) -> BatchReport:
    """Settle, then stamp what the poll finished; a failed stamp is an event (MAIL-42).

    `mark_seen` None: this caller cannot stamp, and only the outcomes are written.
    """
    started = time.monotonic()
    outcomes = Counter({f"mail {name}": count for name, count in settle(database).items()})
    problems: list[Problem] = []
    with database.worker() as connection:
        due = _due(connection, limit)
    if due and mark_seen is not None:
        try:
            stamps = mark_seen(due)
        except ImapError as error:
            _tell_unreachable(database, len(due), error)
            outcomes["not stamped"] += len(due)
            problems.append(Problem(0, "not stamped", f"{type(error).__name__}: {error}"))
        else:
            outcomes.update(_write_stamps(database, due, stamps))
    return BatchReport(
        stage=Stage.ARRIVE,
        claimed=len(due),
        outcomes=dict(outcomes),
        problems=tuple(problems),
        seconds=time.monotonic() - started,
    )


def waiting_for_stamp(connection: Connection) -> int:
    """How many mails the stamping step has to look at; 0 means it needs no connection."""
    row = connection.execute(
        "SELECT count(*) FROM mail_ledger WHERE raw_item_id IS NOT NULL AND stamped_at IS NULL"
        " AND (outcome IN ('secured', 'parked', 'failed') OR gate = 'poll')"
    ).fetchone()
    assert row is not None
    return int(row[0])


_PARTS = """
    WITH RECURSIVE open AS (
        SELECT id, raw_item_id, account, gate FROM mail_ledger
        WHERE raw_item_id IS NOT NULL AND (outcome IN ('secured', 'parked', 'failed')
            OR (outcome IN ('entered', 'blocked', 'nothing_to_do') AND gate = 'poll'
                AND stamped_at IS NULL AND uid IS NOT NULL))
    ), tree AS (
        SELECT o.id AS ledger_id, a.id, a.parent_id, a.outcome, a.outcome_reason, a.document_id
        FROM open o JOIN arrivals a ON a.raw_item_id = o.raw_item_id AND a.parent_id IS NULL
          AND a.part_role = 'mail' AND a.gate = CASE o.gate WHEN 'drop' THEN 'drop' ELSE 'mail' END
        UNION ALL
        SELECT t.ledger_id, c.id, c.parent_id, c.outcome, c.outcome_reason, c.document_id
        FROM tree t JOIN arrivals c ON c.parent_id = t.id
    ), ends AS (
        SELECT t.ledger_id, t.outcome_reason AS reason, CASE
            WHEN t.outcome = 'pending' THEN 'open'
            WHEN t.outcome IN ('split', 'erased') THEN NULL
            WHEN t.outcome = 'blocked' THEN 'blocked'
            WHEN t.outcome = 'set_apart' THEN 'set_apart'
            WHEN t.outcome = 'parked' THEN CASE WHEN EXISTS (
                SELECT 1 FROM cases c WHERE c.subject_kind = 'arrival' AND c.state = 'open'
                  AND c.subject_key = t.id::text) OR EXISTS (
                SELECT 1 FROM cases c JOIN cards k ON k.case_id = c.id
                WHERE c.subject_kind = 'mail' AND c.state = 'open'
                  AND c.subject_key = t.parent_id::text AND k.state = 'pending'
                  AND k.arguments ->> 'subject_id' = t.id::text) THEN 'parked' ELSE 'decided' END
            WHEN d.id IS NULL THEN 'lost'
            WHEN d.state = 'held' THEN 'held'
            ELSE 'entered' END AS part_end
        FROM tree t LEFT JOIN documents d ON d.id = t.document_id
        UNION ALL
        SELECT t.ledger_id, p.reason, CASE WHEN EXISTS (
            SELECT 1 FROM cases c WHERE c.subject_kind = 'mail' AND c.state = 'open'
              AND c.subject_key = t.id::text AND NOT c.evidence ? 'subjects')
            THEN 'parked' ELSE 'decided' END
        FROM tree t JOIN mail_parts p ON p.mail_arrival_id = t.id AND p.outcome = 'parked'
        UNION ALL
        SELECT o.id, 'the arrival of this mail is gone', 'lost' FROM open o
        WHERE NOT EXISTS (SELECT 1 FROM tree t WHERE t.ledger_id = o.id)
    )
    SELECT ledger_id, part_end, count(*), min(reason) FROM ends
    GROUP BY ledger_id, part_end ORDER BY ledger_id
"""


def _parts_of_mails(connection: Connection) -> dict[int, Parts]:
    found: dict[int, Parts] = {}
    for ledger_id, end, count, reason in connection.execute(_PARTS).fetchall():
        before = found.get(ledger_id, Parts({}))
        if end is None:
            found[ledger_id] = before
            continue
        kind = PartEnd(end)
        bad = kind in (PartEnd.PARKED, PartEnd.HELD, PartEnd.LOST)
        found[ledger_id] = Parts(
            {**before.counts, kind: count},
            reason=(reason or "") if bad else before.reason,
            rule=reason if kind is PartEnd.BLOCKED else before.rule,
        )
    return found


def _write(
    connection: Connection, ledger_id: int, outcome: MailOutcome, reason: str, rule: str | None
) -> bool:
    """Write a changed outcome; a mail that turns to failed or parked is told (MAIL-36)."""
    changed = connection.execute(
        "UPDATE mail_ledger SET outcome = %s, outcome_reason = coalesce(%s, outcome_reason),"
        " blocked_by = %s, updated_at = now() WHERE id = %s AND outcome <> %s",
        (outcome, reason or None, rule, ledger_id, outcome),
    ).rowcount
    if changed and outcome in (MailOutcome.FAILED, MailOutcome.PARKED):
        record(
            connection,
            Event(
                kind="mail.attachment_failed",
                author=SERVICE_LOGIN,
                object=f"mail:{ledger_id}",
                reason=f"stays unseen; {reason}"[:500],
            ),
        )
    elif changed and outcome is MailOutcome.BLOCKED:
        record(
            connection,
            Event(
                kind="mail.blocked",
                author=SERVICE_LOGIN,
                object=f"mail:{ledger_id}",
                reason=(rule or "blocked by a rule")[:500],
            ),
        )
    return bool(changed)


def _claims_of_lost_drops(connection: Connection) -> None:
    """Drops that were secured by a process that died before it could write that down."""
    connection.execute(
        """
        UPDATE mail_ledger l SET outcome = 'secured', raw_item_id = a.raw_item_id,
            claimed_by = NULL, lease_until = NULL, updated_at = now()
        FROM raw_items r JOIN arrivals a ON a.raw_item_id = r.id AND a.gate = 'drop'
          AND a.part_role = 'mail'
        WHERE l.gate = 'drop' AND l.outcome = 'claimed' AND r.sha256 = l.raw_sha256
        """
    )


def _due(connection: Connection, limit: int) -> tuple[Stampable, ...]:
    rows = connection.execute(
        """
        SELECT id, uid, uidvalidity, raw_sha256 FROM mail_ledger
        WHERE gate = %s AND outcome = ANY (%s) AND uid IS NOT NULL AND stamped_at IS NULL
          AND raw_sha256 IS NOT NULL
          AND NOT split_part(coalesce(stamp_error, ''), ':', 1) = ANY (%s)
        ORDER BY id LIMIT %s
        """,
        (Route.POLL, [str(one) for one in FINISHED], [str(one) for one in _FINAL], limit),
    ).fetchall()
    return tuple(Stampable(*row) for row in rows)


def _write_stamps(
    database: Database, due: Sequence[Stampable], stamps: Sequence[Stamp]
) -> Counter[str]:
    done: Counter[str] = Counter()
    with database.worker() as connection:
        for mail, stamp in zip(due, stamps, strict=True):
            error = None if stamp.stamped else f"{stamp.outcome}: {stamp.detail}"[:500]
            changed = connection.execute(
                "UPDATE mail_ledger SET stamped_at = CASE WHEN %s::text IS NULL"
                " THEN clock_timestamp() END, stamp_error = %s, updated_at = now()"
                " WHERE id = %s AND (%s::text IS NULL OR stamp_error IS DISTINCT FROM %s)",
                (error, error, mail.ledger_id, error, error),
            ).rowcount
            done["stamped" if error is None else "not stamped"] += 1
            if error is not None and changed:
                record(
                    connection,
                    Event(
                        kind="mail.stamp_failed",
                        author=SERVICE_LOGIN,
                        object=f"mail:{mail.ledger_id}",
                        reason=error,
                    ),
                )
    return done


def _tell_unreachable(database: Database, waiting: int, error: ImapError) -> None:
    with database.worker() as connection:
        record(
            connection,
            Event(
                kind="mail.stamp_failed",
                author=SERVICE_LOGIN,
                object="mailbox",
                reason=f"{type(error).__name__}: {error}"[:500],
                payload={"mails": waiting},
            ),
        )
