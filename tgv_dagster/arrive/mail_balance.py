"""The completeness balance of the mailbox: total = stored + parked + skipped + open (MAIL-56).

Belongs here: counting the folder against the ledger without fetching a body, and keeping the
result as an event. Does not belong here: judging it; the audit reads the newest one and says
unmeasured when there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from tgv_dagster.arrive import mail_ledger
from tgv_dagster.arrive.imap import Everything, MailFacts, Session
from tgv_dagster.arrive.mail_ledger import MailPlace
from tgv_dagster.arrive.mailbox import MailboxParts
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN

BALANCE_EVENT = "mail.balance"
YOUNG = timedelta(hours=24)
"""An unseen mail may wait so long for its poll before the balance calls it missing."""


class Standing(StrEnum):
    """How one mail of the folder stands in the ledger; every mail stands in exactly one."""

    STORED = "stored"
    PARKED = "parked"
    SKIPPED = "skipped"
    UNDER_WAY = "under_way"
    FAILED = "failed"
    WAITING = "waiting"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Balance:
    """One count of one folder; `total` is the sum of the standings.

    `missing_uids` names at most 50 of the missing.
    """

    folder: str
    uidvalidity: int | None
    at: str
    total: int
    stored: int
    parked: int
    skipped: int
    under_way: int
    failed: int
    waiting: int
    missing: int
    missing_uids: tuple[int, ...]

    @property
    def holds(self) -> bool:
        """Whether no mail is missing and none failed for good."""
        return self.missing == 0 and self.failed == 0


def balance(parts: MailboxParts, *, now: datetime | None = None) -> Balance:
    """Count the folder against the ledger; the result is kept. Raises ImapError.

    A mail under another UIDVALIDITY counts as missing until a backfill has proven it by its hash.
    """
    moment = now or datetime.now(UTC)
    with parts.open_session() as session:
        place = MailPlace(parts.account, parts.folder, session.uidvalidity)
        uids = session.search(Everything())
        with parts.database.worker() as connection:
            known = _known(connection, place)
        unknown = [uid for uid in uids if uid not in known]
        standings = {uid: known[uid] for uid in uids if uid in known}
        standings |= _of_unknown(session, unknown, moment)
    found = _summed(place, standings, moment)
    with parts.database.worker() as connection:
        _keep(connection, found)
    return found


def latest_balance(connection: Connection) -> tuple[datetime, Mapping[str, object]] | None:
    """When the newest balance was made and its figures; None when there is none (OBS-03)."""
    row = connection.execute(
        "SELECT e.created_at, p.payload FROM agent_events e JOIN event_payloads p"
        " ON p.event_id = e.id WHERE e.kind = %s ORDER BY e.created_at DESC, e.id DESC LIMIT 1",
        (BALANCE_EVENT,),
    ).fetchone()
    return None if row is None or row[1] is None else (row[0], row[1])


def _known(connection: Connection, place: MailPlace) -> dict[int, Standing]:
    rows = connection.execute(
        """
        SELECT DISTINCT ON (uid) uid, CASE
            WHEN raw_sha256 IS NOT NULL THEN 'stored'
            WHEN outcome = 'parked' THEN 'parked'
            WHEN outcome IN ('blocked', 'nothing_to_do') THEN 'skipped'
            WHEN outcome = 'failed' AND attempt >= %s THEN 'failed'
            ELSE 'under_way' END
        FROM mail_ledger WHERE account = %s AND folder = %s
          AND uidvalidity IS NOT DISTINCT FROM %s::bigint AND uid IS NOT NULL
        ORDER BY uid, raw_sha256 IS NULL, id
        """,
        (mail_ledger.MAX_ATTEMPTS, place.account, place.folder, place.uidvalidity),
    ).fetchall()
    return {row[0]: Standing(row[1]) for row in rows}


def _of_unknown(session: Session, uids: Sequence[int], moment: datetime) -> dict[int, Standing]:
    """Mails without a row: young unseen ones wait for their poll, all others are missing."""
    listing = session.facts(uids) if uids else None
    facts: dict[int, MailFacts] = {} if listing is None else {f.uid: f for f in listing.facts}
    gone = frozenset(() if listing is None else listing.gone)
    return {
        uid: Standing.WAITING if _waits(facts.get(uid), moment) else Standing.MISSING
        for uid in uids
        if uid not in gone
    }


def _waits(facts: MailFacts | None, moment: datetime) -> bool:
    if facts is None or facts.seen or facts.internal_date is None:
        return False
    return moment - facts.internal_date < YOUNG


def _summed(place: MailPlace, standings: Mapping[int, Standing], moment: datetime) -> Balance:
    counts = Counter(standings.values())
    missing = [uid for uid, standing in standings.items() if standing is Standing.MISSING]
    return Balance(
        folder=place.folder,
        uidvalidity=place.uidvalidity,
        at=moment.isoformat(),
        total=len(standings),
        stored=counts[Standing.STORED],
        parked=counts[Standing.PARKED],
        skipped=counts[Standing.SKIPPED],
        under_way=counts[Standing.UNDER_WAY],
        failed=counts[Standing.FAILED],
        waiting=counts[Standing.WAITING],
        missing=counts[Standing.MISSING],
        missing_uids=tuple(sorted(missing)[:50]),
    )


def _keep(connection: Connection, found: Balance) -> None:
    record(
        connection,
        Event(
            kind=BALANCE_EVENT,
            author=SERVICE_LOGIN,
            object="mailbox",
            reason="every mail is accounted for" if found.holds else "mails are missing",
            payload=asdict(found) | {"missing_uids": list(found.missing_uids)},
        ),
    )
