"""Split whole mails into arrivals: one per document, one for the body where there is no document.

Belongs here: a batch of mails, several of them secured together, and the transaction of each.
Does not belong here: taking bytes apart (`arrive.mime`), what becomes of a leaf
(`arrive.mail_parts`), and how a mail gets here (mailbox, drop, folder: the gates).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from tgv_dagster.arrive.gates import NewArrival
from tgv_dagster.arrive.mail_parts import (
    Decided,
    MailArrival,
    PartOutcome,
    SplitMail,
    body_arrival,
    decide,
    load_mails,
    part_arrival,
    sent_before,
    shown_pictures,
    write_mails,
)
from tgv_dagster.arrive.mime import split
from tgv_dagster.arrive.mime_model import Mail
from tgv_dagster.arrive.raw import SecuredBytes, secure_all, write_all_rows
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import BlobStore, StoreError
from tgv_dagster.store.blobs.source import HashedBytes
from tgv_dagster.store.db import Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import INSTALLATION_FAULTS, BatchReport, pull
from tgv_dagster.store.stages import Stage

logger = logging.getLogger(__name__)

MAILS_TOGETHER = 50
BYTES_TOGETHER = 64 << 20
"""Mails whose parts are made durable together; they are read and taken apart one at a time."""

ReadsText = Callable[[bytes], bool]
"""Whether text can be read off a picture, or nobody can tell; reading is a later room's business,
so the flow hands it in."""


def no_text(content: bytes) -> bool:
    """Nothing is read off pictures."""
    return False


def split_mails(
    database: Database,
    blobs: BlobStore,
    *,
    limit: int,
    reads_text: ReadsText = no_text,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Split pending whole mails; a mail that cannot be entered fails alone (MAIL-29).

    The parts of several mails are secured together, and one mail is in memory at any time. Rows
    are committed without waiting for the disk: what a power cut takes is split again to the same
    rows, and whatever is written later on waits for all that was written before.
    """
    with _Batch(database, blobs, reads_text) as batch:
        return pull(
            database,
            Stage.SPLIT,
            batch.finish,
            limit=limit,
            progress=progress,
            begin=batch.begin,
        )


@dataclass(frozen=True, slots=True)
class _Planned:
    """A mail taken apart: its leaves with their outcome, and how many arrivals it has."""

    mail: MailArrival
    parts: tuple[Decided, ...]
    arrivals: int
    body: bool


@dataclass(frozen=True, slots=True)
class _Secured:
    """A mail whose parts are safe and have no row yet."""

    planned: _Planned
    secured: tuple[SecuredBytes, ...]


_Group = dict[int, _Secured | StoreError]
"""Mails that were secured together, by arrival."""


class _Batch:
    """The mails of one claimed batch: while the rows of a group are written, the next is secured.

    The rows of a group are one transaction; if it fails, each of its mails is one of its own.
    """

    def __init__(self, database: Database, blobs: BlobStore, reads_text: ReadsText) -> None:
        self._database = database
        self._blobs = blobs
        self._reads_text = reads_text
        self._claims: dict[int, Claim] = {}
        self._ahead: tuple[int, Future[_Group]] | None = None
        self._ready: _Group = {}
        self._entered: dict[int, str] = {}
        self._together = MAILS_TOGETHER
        # Pictures of this batch, whose rows may not stand yet: tenant, sender, hash → first mail.
        self._shown: dict[tuple[int | None, str | None, str], str] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="split")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, claims: tuple[Claim, ...]) -> None:
        """Remember what is to come."""
        self._claims = {claim.subject_id: claim for claim in claims}

    def finish(self, claim: Claim) -> str:
        """Secure the parts of this mail, and of some that follow, and write its rows."""
        arrival_id = claim.subject_id
        if arrival_id not in self._entered and arrival_id not in self._ready:
            self._enter_from(arrival_id)
        if arrival_id in self._entered:
            return self._entered.pop(arrival_id)
        ready = self._ready.pop(arrival_id)
        if isinstance(ready, StoreError):
            raise ready
        return self._write({arrival_id: ready})[arrival_id]

    def _enter_from(self, arrival_id: int) -> None:
        """Have a group of mails from this one on secured, and write their rows together."""
        group = self._secured_from(arrival_id)
        self._secure_ahead(max(group))
        sound = {key: one for key, one in group.items() if isinstance(one, _Secured)}
        try:
            self._entered |= self._write(sound)
        except INSTALLATION_FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - each goes alone and says its own fault
            logger.info("%d mails go one by one: %s", len(sound), type(error).__name__)
            self._ready |= sound
        self._ready |= {key: one for key, one in group.items() if isinstance(one, StoreError)}

    def _secured_from(self, arrival_id: int) -> _Group:
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == arrival_id:
            return ahead[1].result()
        return self._pool.submit(self._secure_group, arrival_id).result()

    def _secure_ahead(self, last: int) -> None:
        following = next((one for one in self._claims if one > last), None)
        if following is not None:
            self._ahead = following, self._pool.submit(self._secure_group, following)

    def _secure_group(self, first: int) -> _Group:
        wanted = [one for one in self._claims if one >= first][: self._together]
        with self._database.worker() as connection:
            mails = _as_many_as_fit(load_mails(connection, wanted))
        try:
            return self._secure(mails)
        except INSTALLATION_FAULTS:
            raise
        except Exception:
            if len(mails) == 1:
                raise
            # One of them cannot be read or stored: it fails alone, the rest of the batch goes on.
            self._together = 1
            return self._secure(mails[:1])

    def _secure(self, mails: Sequence[MailArrival]) -> _Group:
        planned: list[_Planned | StoreError] = []
        secured = list(secure_all(self._blobs, self._arriving(mails, planned)))
        group: _Group = {}
        for mail, one in zip(mails, planned, strict=True):
            if isinstance(one, StoreError):
                group[mail.arrival_id] = one
                continue
            own, secured = secured[: one.arrivals], secured[one.arrivals :]
            group[mail.arrival_id] = _Secured(one, tuple(own))
        return group

    def _arriving(
        self, mails: Sequence[MailArrival], planned: list[_Planned | StoreError]
    ) -> Iterator[tuple[NewArrival, Path | BinaryIO]]:
        """The arrivals of these mails in order, each mail read when its turn comes."""
        for mail in mails:
            yield from self._arriving_of(mail, planned)

    def _arriving_of(
        self, mail: MailArrival, planned: list[_Planned | StoreError]
    ) -> Iterator[tuple[NewArrival, Path | BinaryIO]]:
        try:
            with self._blobs.open(mail.bucket, mail.raw_key) as source:
                parsed = split(source.read())
        except INSTALLATION_FAULTS:
            raise
        except StoreError as error:  # this one's bytes are gone or damaged; raised in its turn
            planned.append(error)
            return
        plan = self._plan(mail, parsed)
        planned.append(plan)
        for leaf, part in zip(parsed.leaves, plan.parts, strict=True):
            if part.outcome in (PartOutcome.ARRIVED, PartOutcome.ASKED):
                yield part_arrival(mail, parsed, leaf), HashedBytes(leaf.content, leaf.sha256)
        if plan.body:
            with self._blobs.open(mail.bucket, mail.raw_key) as source:
                yield body_arrival(mail, parsed), source

    def _plan(self, mail: MailArrival, parsed: Mail) -> _Planned:
        asked = self._photos(mail, parsed)
        parts = tuple(decide(parsed, leaf, asked) for leaf in parsed.leaves)
        documents = sum(part.outcome is PartOutcome.ARRIVED for part in parts)
        body = not documents and bool(parsed.body_text.strip())
        count = documents + sum(part.outcome is PartOutcome.ASKED for part in parts) + body
        return _Planned(mail, parts, count, body)

    def _photos(self, mail: MailArrival, parsed: Mail) -> frozenset[str]:
        """Paths of shown pictures that this sender never sent before and that say something."""
        pictures = shown_pictures(parsed)
        if not pictures:
            return frozenset()
        with self._database.worker() as connection:
            known = sent_before(connection, mail, pictures)
        for picture in pictures:
            key = (mail.mandant_id, picture.sender, picture.sha256)
            if self._shown.setdefault(key, mail.sha256) != mail.sha256:
                known |= {picture.sha256}
        return frozenset(
            picture.path
            for picture in pictures
            if picture.sha256 not in known
            and (picture.camera or self._reads_text(picture.content()))
        )

    def _write(self, group: Mapping[int, _Secured]) -> dict[int, str]:
        """The rows of these mails in one transaction; the outcome of each."""
        secured = [part for one in group.values() for part in one.secured]
        with self._database.worker() as connection:
            connection.execute("SET LOCAL synchronous_commit = off")
            ledger.complete_all(connection, [self._claims[key] for key in group])
            saved = iter(write_all_rows(connection, secured))
            mails = {
                key: SplitMail(
                    one.planned.mail,
                    one.planned.parts,
                    {part.arrival.part_path: next(saved).arrival_id for part in one.secured},
                    one.planned.body,
                )
                for key, one in group.items()
            }
            write_mails(connection, list(mails.values()))
        return {key: "split" if mail.documents else "nothing_to_do" for key, mail in mails.items()}


def _as_many_as_fit(mails: Sequence[MailArrival]) -> list[MailArrival]:
    """The first mail, and those behind it that stay below the bytes of a group with it."""
    taken: list[MailArrival] = []
    total = 0
    for mail in mails:
        total += mail.size
        if taken and total > BYTES_TOGETHER:
            break
        taken.append(mail)
    return taken
