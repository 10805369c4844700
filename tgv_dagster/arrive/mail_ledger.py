"""The mail ledger: one row per mail ever seen, and who works on it (architecture §6).

Belongs here: claims before the download, attempts and waits, outcomes, the thread headers, the
lock that makes one poller for the whole installation (MAIL-57) and the distance of two polls.
Does not belong here: talking to a server, deciding what became of the parts.

A row is keyed by account, folder, UIDVALIDITY and UID. The Message-ID is a hint and never the
identity; the identity of a mail is the hash of its bytes. An unknown UIDVALIDITY is not the same
UIDVALIDITY: there the hash decides after the download (known fault 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from importlib.metadata import version

from tgv_dagster.arrive.mime_headers import read_mail_headers
from tgv_dagster.arrive.mime_wire import read_headers
from tgv_dagster.arrive.raw import printable
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, close_solved, open_case
from tgv_dagster.store.db import WORKER_ROLE, Connection, Database, connect
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN

CODE_VERSION = version("tgv-dagster")
MAX_ATTEMPTS = 5
LEASE = timedelta(minutes=15)
BACK_OFF = timedelta(minutes=1)
"""Wait after the first failure; doubled with each further one."""

POLLER_LOCK = 0x7467_766D_6169_6C
LAST_POLL = "mail_intake_last_poll"
HEADER_BYTES = 256 * 1024


class Route(StrEnum):
    """The three intake routes; the values stand in `mail_ledger.gate`."""

    POLL = "poll"
    BACKFILL = "backfill"
    DROP = "drop"


class MailOutcome(StrEnum):
    """How far a mail is. A block by a rule is shown apart from a success (MAIL-39)."""

    CLAIMED = "claimed"
    SECURED = "secured"
    ENTERED = "entered"
    BLOCKED = "blocked"
    NOTHING_TO_DO = "nothing_to_do"
    PARKED = "parked"
    FAILED = "failed"


FINISHED = (MailOutcome.ENTERED, MailOutcome.BLOCKED, MailOutcome.NOTHING_TO_DO)
"""Outcomes that permit a stamp."""


class ThreadHeaders(StrEnum):
    """Whether the mail has In-Reply-To or References; not recorded is not absent (MAIL-60)."""

    NOT_RECORDED = "not_recorded"
    ABSENT = "absent"
    PRESENT = "present"


class MailClaimLost(RuntimeError):
    """Somebody else holds the mail now."""


@dataclass(frozen=True, slots=True)
class MailPlace:
    """A folder under one UIDVALIDITY; None = the server does not tell it."""

    account: str
    folder: str
    uidvalidity: int | None


@dataclass(frozen=True, slots=True)
class MailClaim:
    """A claimed mail; valid while its worker holds it in this attempt."""

    ledger_id: int
    uid: int | None
    attempt: int
    worker: str


@dataclass(frozen=True, slots=True)
class MailFactsFound:
    """What is recorded of a mail besides its bytes; dates on their two axes (known fault 35)."""

    message_id: str | None
    in_reply_to: str | None
    references: tuple[str, ...] | None
    header_date: datetime | None

    @property
    def thread_headers(self) -> ThreadHeaders:
        """Whether the mail says what it answers."""
        absent = self.in_reply_to is None and self.references is None
        return ThreadHeaders.ABSENT if absent else ThreadHeaders.PRESENT


@dataclass(frozen=True, slots=True)
class Thread:
    """The reply thread of a mail as a reader is told (MAIL-59, MAIL-60)."""

    recorded: ThreadHeaders
    in_reply_to: str | None
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One mail as the operator's list shows it; `reason` is "" when there is none."""

    ledger_id: int
    route: Route
    uid: int | None
    outcome: MailOutcome
    reason: str
    blocked_by: str | None
    thread: Thread
    stamped_at: datetime | None


def facts_of(head: bytes) -> MailFactsFound:
    """Message-ID, thread headers and date from the beginning of a mail; never raises."""
    block = read_headers(head, 0, len(head), top=True)
    headers, _ = read_mail_headers(block, "")
    return MailFactsFound(
        message_id=None if headers.message_id is None else printable(headers.message_id)[:998],
        in_reply_to=None
        if headers.in_reply_to is None
        else printable(" ".join(headers.in_reply_to)),
        references=None
        if headers.references is None
        else tuple(printable(one) for one in headers.references),
        header_date=headers.date,
    )


# --- one poller ---------------------------------------------------------------------------------


@contextmanager
def one_poller(database: Database) -> Iterator[bool]:
    """Whether this caller is the only one at the mailbox until the block ends (MAIL-57).

    The lock is that of a database session: it falls with the process that holds it.
    """
    with connect(database.url, autocommit=True, role=WORKER_ROLE) as connection:
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", (POLLER_LOCK,)).fetchone()
        alone = bool(row and row[0])
        try:
            yield alone
        finally:
            # Closing alone would let the lock go a moment later, and the next call find it held.
            if alone and not connection.broken:
                connection.execute("SELECT pg_advisory_unlock(%s)", (POLLER_LOCK,))


def seconds_until_due(connection: Connection, *, distance: float) -> float:
    """Seconds until the next poll may begin; 0 when it may begin now (MAIL-06)."""
    row = connection.execute(
        "SELECT greatest(0, %s - extract(epoch FROM clock_timestamp() - set_at))"
        " FROM system_config WHERE key = %s",
        (distance, LAST_POLL),
    ).fetchone()
    return 0.0 if row is None else float(row[0])


def note_poll(connection: Connection) -> None:
    """A poll begins now."""
    connection.execute(
        "INSERT INTO system_config (key, value, set_by, set_at)"
        " VALUES (%s, 'see set_at', %s, clock_timestamp())"
        " ON CONFLICT (key) DO UPDATE SET set_by = excluded.set_by, set_at = clock_timestamp()",
        (LAST_POLL, SERVICE_LOGIN),
    )


# --- claims -------------------------------------------------------------------------------------

_WANTED = """
    SELECT u.uid FROM unnest(%(uids)s::bigint[]) AS u (uid)
    WHERE NOT EXISTS (
        SELECT 1 FROM mail_ledger l
        WHERE l.account = %(account)s AND l.folder = %(folder)s AND l.uid = u.uid
          AND l.uidvalidity IS NOT DISTINCT FROM %(uidvalidity)s::bigint
          AND CASE
            WHEN l.raw_sha256 IS NOT NULL THEN l.uidvalidity IS NOT NULL
            WHEN l.outcome = 'failed' THEN l.lease_until > now()
            WHEN l.outcome = 'parked' THEN l.code_version IS NOT DISTINCT FROM %(version)s
            ELSE true END)
    ORDER BY u.uid
"""


def wanted(connection: Connection, place: MailPlace, uids: Sequence[int]) -> tuple[int, ...]:
    """Those of the UIDs whose bytes are still to be fetched, ascending.

    Left out: what is secured, what is claimed, what waits after a failure, and what is parked
    under the running code version. Without UIDVALIDITY nothing secured is left out.
    """
    rows = connection.execute(_WANTED, _values(place) | {"uids": list(uids)}).fetchall()
    return tuple(row[0] for row in rows)


def claim(
    connection: Connection, place: MailPlace, uids: Sequence[int], *, route: Route, worker: str
) -> tuple[MailClaim, ...]:
    """Claim mails before their download (known fault 7); the caller commits at once.

    What somebody else holds, or what is not wanted any more, is left out. Claims on one folder
    are made one after the other, so that no second row can come in beside a secured one.
    """
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
        (f"mail:{place.account}:{place.folder}",),
    )
    rows = connection.execute(
        f"""
        INSERT INTO mail_ledger (account, folder, uidvalidity, uid, gate, outcome, attempt,
            claimed_by, lease_until, code_version)
        SELECT %(account)s, %(folder)s, %(uidvalidity)s::bigint, w.uid, %(route)s, 'claimed', 1,
            %(worker)s, now() + %(lease)s, %(version)s
        FROM ({_WANTED}) AS w (uid)
        ON CONFLICT (account, folder, uidvalidity, uid, raw_sha256) DO UPDATE
            SET outcome = 'claimed', gate = excluded.gate, attempt = 1 +
                CASE mail_ledger.outcome WHEN 'parked' THEN 0 ELSE mail_ledger.attempt END,
                claimed_by = excluded.claimed_by, lease_until = excluded.lease_until,
                code_version = excluded.code_version, updated_at = now()
            WHERE mail_ledger.outcome IN ('failed', 'parked')
        RETURNING id, uid, attempt
        """.encode(),
        _values(place)
        | {"uids": list(uids), "route": str(route), "worker": worker, "lease": LEASE},
    ).fetchall()
    return tuple(
        MailClaim(row[0], row[1], row[2], worker) for row in sorted(rows, key=lambda row: row[1])
    )


def take_back(connection: Connection, account: str, folder: str) -> int:
    """Claims whose worker ended without a word become due again at once; returns how many.

    Only the holder of the poller lock may call it: nobody else can be at work then.
    """
    return connection.execute(
        "UPDATE mail_ledger SET outcome = 'failed', lease_until = now(), claimed_by = NULL,"
        " outcome_reason = 'its worker ended before the mail was secured', updated_at = now()"
        " WHERE account = %s AND folder = %s AND outcome = 'claimed' AND gate <> 'drop'",
        (account, folder),
    ).rowcount


def give_back(connection: Connection, claims: Iterable[MailClaim]) -> tuple[MailClaim, ...]:
    """Undo those of the claims that came to no end; no attempt is counted. Returns them."""
    held = {one.ledger_id: one for one in claims}
    rows = connection.execute(
        """
        WITH held AS (
            SELECT l.id FROM mail_ledger l JOIN unnest(%s::bigint[], %s::text[]) AS c (id, worker)
              ON c.id = l.id AND c.worker = l.claimed_by
            WHERE l.outcome = 'claimed'
        ), gone AS (
            DELETE FROM mail_ledger l USING held
            WHERE l.id = held.id AND l.attempt <= 1 AND l.raw_sha256 IS NULL
        ), waiting AS (
            UPDATE mail_ledger l SET outcome = 'failed', attempt = l.attempt - 1,
                claimed_by = NULL, lease_until = now(), updated_at = now()
            FROM held WHERE l.id = held.id AND l.attempt > 1
        )
        SELECT id FROM held ORDER BY id
        """,
        (list(held), [one.worker for one in held.values()]),
    ).fetchall()
    return tuple(held[row[0]] for row in rows)


# --- ends of a claim ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SecuredMail:
    """What is known of a mail when its bytes are safe; sizes in bytes."""

    raw_item_id: int
    sha256: str
    facts: MailFactsFound
    internal_date: datetime | None
    announced: int | None
    received: int


def secured(connection: Connection, claimed: MailClaim, mail: SecuredMail) -> int:
    """The bytes are safe; returns the row of the mail, which may be an older one.

    Without UIDVALIDITY the same UID with the same hash is the same mail, so its row goes on and
    the claim falls away. Raises MailClaimLost.
    """
    older = connection.execute(
        """
        SELECT o.id FROM mail_ledger c JOIN mail_ledger o
          ON (o.account, o.folder) = (c.account, c.folder) AND o.uid IS NOT DISTINCT FROM c.uid
         AND o.uidvalidity IS NOT DISTINCT FROM c.uidvalidity
        WHERE c.id = %s AND o.id <> c.id AND o.raw_sha256 = %s
        """,
        (claimed.ledger_id, mail.sha256),
    ).fetchone()
    if older is not None:
        _ended(
            connection.execute(
                "DELETE FROM mail_ledger WHERE id = %s AND claimed_by = %s AND attempt = %s"
                " AND outcome = 'claimed'",
                _holder(claimed),
            ).rowcount
        )
        return int(older[0])
    facts = mail.facts
    _ended(
        connection.execute(
            """
            UPDATE mail_ledger SET outcome = 'secured', outcome_reason = %s, raw_item_id = %s,
                raw_sha256 = %s, message_id = %s, in_reply_to = %s, references_ids = %s,
                thread_headers = %s, internal_date = %s, header_date = %s, size_announced = %s,
                size_received = %s, claimed_by = NULL, lease_until = NULL, updated_at = now()
            WHERE id = %s AND claimed_by = %s AND attempt = %s AND outcome = 'claimed'
            """,
            (
                _size_note(mail),
                mail.raw_item_id,
                mail.sha256,
                facts.message_id,
                facts.in_reply_to,
                None if facts.references is None else list(facts.references),
                facts.thread_headers,
                mail.internal_date,
                facts.header_date,
                mail.announced,
                mail.received,
                *_holder(claimed),
            ),
        ).rowcount
    )
    close_solved(
        connection,
        subject_kind=SubjectKind.MAIL,
        subject_key=_case_key(claimed.ledger_id),
        by=SERVICE_LOGIN,
        kinds=(CaseKind.PARKED,),
    )
    return claimed.ledger_id


def failed(connection: Connection, claimed: MailClaim, reason: str) -> MailOutcome:
    """Nothing was secured; the mail waits for its next attempt or, after the last, is parked.

    Returns the outcome. Raises MailClaimLost.
    """
    if claimed.attempt >= MAX_ATTEMPTS:
        parked(connection, claimed, f"{reason} ({claimed.attempt} attempts)")
        return MailOutcome.PARKED
    wait = BACK_OFF * 2 ** (claimed.attempt - 1)
    _ended(
        connection.execute(
            "UPDATE mail_ledger SET outcome = 'failed', outcome_reason = %s, claimed_by = NULL,"
            " lease_until = now() + %s, updated_at = now()"
            " WHERE id = %s AND claimed_by = %s AND attempt = %s AND outcome = 'claimed'",
            (printable(reason)[:2000], wait, *_holder(claimed)),
        ).rowcount
    )
    _tell(connection, claimed.ledger_id, "mail.not_secured", reason)
    return MailOutcome.FAILED


def parked(
    connection: Connection, claimed: MailClaim, reason: str, *, headers: bytes = b""
) -> None:
    """The mail cannot be fetched by further tries: listed as a case, unseen in the mailbox.

    `headers` are kept in the case (known fault 31). Raises MailClaimLost.
    """
    facts = facts_of(headers)
    _ended(
        connection.execute(
            "UPDATE mail_ledger SET outcome = 'parked', outcome_reason = %s, claimed_by = NULL,"
            " lease_until = NULL, message_id = coalesce(%s, message_id), code_version = %s,"
            " updated_at = now()"
            " WHERE id = %s AND claimed_by = %s AND attempt = %s AND outcome = 'claimed'",
            (printable(reason)[:2000], facts.message_id, CODE_VERSION, *_holder(claimed)),
        ).rowcount
    )
    open_case(
        connection,
        NewCase(
            kind=CaseKind.PARKED,
            subject_kind=SubjectKind.MAIL,
            subject_key=_case_key(claimed.ledger_id),
            reason=printable(reason)[:500],
            author=SERVICE_LOGIN,
            evidence={
                "ledger_id": claimed.ledger_id,
                "uid": claimed.uid,
                "headers": printable(headers[:HEADER_BYTES].decode("utf-8", "replace")),
            },
        ),
    )
    _tell(connection, claimed.ledger_id, "mail.parked", reason)


def release(connection: Connection, ledger_id: int, *, by: str) -> bool:
    """Let a mail that is parked without bytes be fetched again; False when it is no such mail."""
    done = connection.execute(
        "UPDATE mail_ledger SET outcome = 'failed', attempt = 0, lease_until = now(),"
        " outcome_reason = 'released', updated_at = now()"
        " WHERE id = %s AND outcome = 'parked' AND raw_sha256 IS NULL",
        (ledger_id,),
    ).rowcount
    if done:
        close_solved(
            connection,
            subject_kind=SubjectKind.MAIL,
            subject_key=_case_key(ledger_id),
            by=by,
            kinds=(CaseKind.PARKED,),
        )
        _tell(connection, ledger_id, "mail.released", "released for another fetch", by=by)
    return bool(done)


def adopt(connection: Connection, place: MailPlace, unseen: Sequence[int]) -> int:
    """Mails that backfill secured and that lie unseen become the poll's, which may stamp them."""
    return connection.execute(
        "UPDATE mail_ledger SET gate = 'poll', updated_at = now() WHERE account = %s"
        " AND folder = %s AND uidvalidity IS NOT DISTINCT FROM %s::bigint AND uid = ANY (%s)"
        " AND gate = 'backfill'"
        " AND raw_sha256 IS NOT NULL",
        (place.account, place.folder, place.uidvalidity, list(unseen)),
    ).rowcount


def thread_of(connection: Connection, raw_sha256: str) -> Thread:
    """The reply thread of a mail by its hash; a mail no route wrote down is not recorded."""
    row = connection.execute(
        "SELECT thread_headers, in_reply_to, references_ids FROM mail_ledger"
        " WHERE raw_sha256 = %s ORDER BY thread_headers = 'not_recorded', id LIMIT 1",
        (raw_sha256,),
    ).fetchone()
    if row is None:
        return Thread(ThreadHeaders.NOT_RECORDED, None, ())
    return Thread(ThreadHeaders(row[0]), row[1], tuple(row[2] or ()))


def newest(
    connection: Connection, *, outcome: MailOutcome | None = None, limit: int = 50
) -> tuple[LedgerRow, ...]:
    """The newest rows, at most `limit`, optionally of one outcome."""
    rows = connection.execute(
        "SELECT id, gate, uid, outcome, coalesce(outcome_reason, ''), blocked_by, thread_headers,"
        " in_reply_to, references_ids, stamped_at FROM mail_ledger"
        " WHERE %s::text IS NULL OR outcome = %s ORDER BY id DESC LIMIT %s",
        (outcome, outcome, limit),
    ).fetchall()
    return tuple(
        LedgerRow(
            row[0],
            Route(row[1]),
            row[2],
            MailOutcome(row[3]),
            row[4],
            row[5],
            Thread(ThreadHeaders(row[6]), row[7], tuple(row[8] or ())),
            row[9],
        )
        for row in rows
    )


def _values(place: MailPlace) -> dict[str, object]:
    return {
        "account": place.account,
        "folder": place.folder,
        "uidvalidity": place.uidvalidity,
        "version": CODE_VERSION,
    }


def _holder(claimed: MailClaim) -> tuple[int, str, int]:
    return claimed.ledger_id, claimed.worker, claimed.attempt


def _ended(rows: int) -> None:
    if rows != 1:
        raise MailClaimLost("somebody else holds this mail now")


def _case_key(ledger_id: int) -> str:
    return f"ledger:{ledger_id}"


def _size_note(mail: SecuredMail) -> str | None:
    if mail.announced in (None, mail.received):
        return None
    return f"the server announced {mail.announced} bytes and gave {mail.received}"


def _tell(
    connection: Connection, ledger_id: int, kind: str, reason: str, *, by: str = SERVICE_LOGIN
) -> None:
    record(
        connection,
        Event(
            kind=kind,
            author=by,
            is_human=by != SERVICE_LOGIN,
            object=f"mail:{ledger_id}",
            reason=printable(reason)[:500],
        ),
    )
