"""Split whole mails into arrivals: one per document, one for the body where there is no document.

Belongs here: a batch of mails, several of them secured together, and the transaction of each.
Does not belong here: taking bytes apart (`arrive.mime`), what becomes of a leaf
(`arrive.mail_parts`), and how a mail gets here (mailbox, drop, folder: the gates).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tgv_dagster.arrive.gates import NewArrival
from tgv_dagster.arrive.mail_parts import (
    Decided,
    MailArrival,
    PartOutcome,
    ask_about_photo,
    body_arrival,
    decide,
    finish_mail,
    load_mails,
    part_arrival,
    sent_before,
    shown_pictures,
    write_parts,
)
from tgv_dagster.arrive.mime import split
from tgv_dagster.arrive.mime_model import Mail
from tgv_dagster.arrive.raw import SecuredBytes, secure_all, write_rows
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import BlobStore, StoreError
from tgv_dagster.store.db import Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import INSTALLATION_FAULTS, BatchReport, pull
from tgv_dagster.store.stages import Stage

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
    """Split pending whole mails; each mail is a transaction of its own (MAIL-29).

    The parts of several mails are secured together, and one mail is in memory at any time. Rows
    are committed without waiting for the disk: what a power cut takes is split again to the same
    rows, and whatever is written later on waits for all that was written before.
    """
    batch = _Batch(database, blobs, reads_text)
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


class _Batch:
    """The mails of one claimed batch; what is secured ahead waits for its turn."""

    def __init__(self, database: Database, blobs: BlobStore, reads_text: ReadsText) -> None:
        self._database = database
        self._blobs = blobs
        self._reads_text = reads_text
        self._waiting: list[int] = []
        self._ready: dict[int, _Secured | StoreError] = {}
        self._together = MAILS_TOGETHER
        # Pictures of this batch, whose rows may not stand yet: tenant, sender, hash → first mail.
        self._shown: dict[tuple[int | None, str | None, str], str] = {}

    def begin(self, claims: tuple[Claim, ...]) -> None:
        """Remember what is to come."""
        self._waiting = [claim.subject_id for claim in claims]

    def finish(self, claim: Claim) -> str:
        """Secure the parts of this mail, and of some that follow, and write its rows."""
        if claim.subject_id not in self._ready:
            self._secure_from(claim.subject_id)
        ready = self._ready.pop(claim.subject_id)
        if isinstance(ready, StoreError):
            raise ready
        return self._write(claim, ready)

    def _secure_from(self, arrival_id: int) -> None:
        place = self._waiting.index(arrival_id)
        wanted = self._waiting[place : place + self._together]
        with self._database.worker() as connection:
            mails = _as_many_as_fit(load_mails(connection, wanted))
        try:
            self._secure(mails)
        except INSTALLATION_FAULTS:
            raise
        except Exception:
            if len(mails) == 1:
                raise
            # One of them cannot be read or stored: it fails alone, the rest of the batch goes on.
            self._together = 1
            self._secure(mails[:1])

    def _secure(self, mails: Sequence[MailArrival]) -> None:
        planned: list[_Planned] = []
        secured = list(secure_all(self._blobs, self._arriving(mails, planned)))
        for one in planned:
            own, secured = secured[: one.arrivals], secured[one.arrivals :]
            self._ready[one.mail.arrival_id] = _Secured(one, tuple(own))

    def _arriving(
        self, mails: Sequence[MailArrival], planned: list[_Planned]
    ) -> Iterator[tuple[NewArrival, Path | BinaryIO]]:
        """The arrivals of these mails in order, each mail read when its turn comes."""
        for mail in mails:
            yield from self._arriving_of(mail, planned)

    def _arriving_of(
        self, mail: MailArrival, planned: list[_Planned]
    ) -> Iterator[tuple[NewArrival, Path | BinaryIO]]:
        try:
            with self._blobs.open(mail.bucket, mail.raw_key) as source:
                parsed = split(source.read())
        except INSTALLATION_FAULTS:
            raise
        except StoreError as error:  # this one's bytes are gone or damaged; raised in its turn
            self._ready[mail.arrival_id] = error
            return
        plan = self._plan(mail, parsed)
        planned.append(plan)
        for leaf, part in zip(parsed.leaves, plan.parts, strict=True):
            if part.outcome in (PartOutcome.ARRIVED, PartOutcome.ASKED):
                yield part_arrival(mail, parsed, leaf), io.BytesIO(leaf.content)
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

    def _write(self, claim: Claim, ready: _Secured) -> str:
        planned = ready.planned
        with self._database.worker() as connection:
            connection.execute("SET LOCAL synchronous_commit = off")
            saved = {
                one.arrival.part_path: write_rows(connection, one).arrival_id
                for one in ready.secured
            }
            for part in planned.parts:
                if part.outcome is PartOutcome.ASKED:
                    ask_about_photo(connection, planned.mail, saved[part.path])
            write_parts(connection, planned.mail, planned.parts)
            documents = sum(part.outcome is PartOutcome.ARRIVED for part in planned.parts)
            finish_mail(
                connection, planned.mail, documents=documents + planned.body, body=planned.body
            )
            ledger.complete(connection, claim)
        return "split" if documents or planned.body else "nothing_to_do"


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
