"""Entity: which own entity a document belongs to, decided by content before anything else.

Here belongs the decision between what the paper says, what a rule, a person or a folder says, and
the questions that remain (TRI-02, TRI-07, TRI-08, TRI-10). Finding the names belongs to
`vocabulary`, telling the sides apart to `parties`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from tgv_dagster.understand import words
from tgv_dagster.understand.amounts import Offsets
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.einvoice_model import EInvoice, Party
from tgv_dagster.understand.evidence import EntityOrigin, Field, OpenPoint, OpenPointKind
from tgv_dagster.understand.parties import EntityEvidence
from tgv_dagster.understand.vocabulary import (
    MatchKind,
    Vocabulary,
    match_identifier,
    match_name,
    match_projects,
)


class Direction(StrEnum):
    """Whether a document came to the entity or went out from it."""

    IN = "in"
    OUT = "out"


class HintSource(StrEnum):
    """Where a hint comes from: a mailbox says little, a folder somebody chose says more."""

    MAILBOX = "mailbox"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class EntityHint:
    """An entity that the way of arrival suggests."""

    slug: str
    source: HintSource


@dataclass(frozen=True, slots=True)
class ContentVerdict:
    """What the content alone says: the entity with confidence, or the rivals."""

    slug: str | None
    confidence: float
    direction: Direction | None
    span: Offsets | None
    rule_id: str
    note: str = ""
    rivals: tuple[str, ...] = ()
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class EntityVerdict:
    """The decided entity with its origin; without a slug the open points say what is asked."""

    slug: str | None
    quelle: EntityOrigin | None
    confidence: float
    direction: Direction | None
    span: Offsets | None
    rule_id: str
    note: str
    open_points: tuple[OpenPoint, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityThresholds:
    """`decide`: least confidence that decides; the others: what a source alone is worth."""

    decide: float
    folder_hint: float
    mailbox_hint: float
    stated_by_person: float


TWO_SIDED = frozenset(
    {
        DocType.INVOICE,
        DocType.CREDIT_NOTE,
        DocType.REMINDER,
        DocType.RECEIPT,
        DocType.ORDER,
        DocType.OFFER,
        DocType.DELIVERY_NOTE,
    }
)
"""Kinds on which the side of a party decides whose document it is."""

_SIDE = 1.2
_SIDE_MARGIN = 0.9
_UNSIDED_NAME = 0.7
_FOREIGN_CAP = 0.45
_PRESENT = 0.3


# --- content -------------------------------------------------------------------------------------


def by_einvoice(vocabulary: Vocabulary, invoice: EInvoice) -> ContentVerdict | None:
    """The entity by the parties of the e-invoice: its buyer, else its seller; None if neither."""
    buyers, sellers = _of_party(vocabulary, invoice.buyer), _of_party(vocabulary, invoice.seller)
    for payment in invoice.payments:
        if not sellers and payment.iban:
            sellers = match_identifier(vocabulary, MatchKind.IBAN, payment.iban)
    if len(buyers) == 1:
        note = f"buyer of the e-invoice: {invoice.buyer.name}"
        return ContentVerdict(buyers[0], 0.99, Direction.IN, None, "entity.einvoice_buyer", note)
    if len(buyers) > 1:
        return ContentVerdict(None, 0.5, None, None, "entity.einvoice_shared", rivals=buyers)
    if len(sellers) == 1:
        note = f"seller of the e-invoice: {invoice.seller.name}"
        return ContentVerdict(sellers[0], 0.99, Direction.OUT, None, "entity.einvoice_seller", note)
    return None


def _of_party(vocabulary: Vocabulary, party: Party) -> tuple[str, ...]:
    """Entities of a structured party: its VAT id first, then its whole name."""
    numbers = (party.vat_id, party.register_id, *party.identifiers)
    for number in numbers:
        for kind in (MatchKind.VAT_ID, MatchKind.SIREN):
            if number and (found := match_identifier(vocabulary, kind, number)):
                return found
    for name in (party.name, party.trading_name):
        if name and (named := match_name(vocabulary, name)):
            return tuple(sorted({slug for slug, _ in named}))
    return ()


def by_content(
    evidence: tuple[EntityEvidence, ...],
    doc_type: DocType,
    foreign_bill_to: str | None,
    *,
    one_sender: bool = False,
) -> ContentVerdict:
    """The entity by the signs in the text; a document made out to somebody else is none of ours.

    `one_sender` says that beside the place of delivery no more than one address is printed: then
    who gets the goods is the only one who can be billed.
    """
    present = [item for item in evidence if item.presence >= _PRESENT]
    if not present:
        note = f"made out to {foreign_bill_to}" if foreign_bill_to else ""
        return ContentVerdict(
            None, 0.0, None, None, "entity.absent", note, foreign=foreign_bill_to is not None
        )
    if doc_type in TWO_SIDED:
        return _two_sided(present, foreign_bill_to, one_sender=one_sender)
    verdict = _one_sided(present)
    if doc_type is DocType.BANK_STATEMENT and verdict.slug is not None:
        return replace(verdict, direction=Direction.IN)
    if doc_type in _WITHOUT_SENDER and verdict.direction is Direction.OUT:
        return replace(verdict, direction=None)
    return verdict


_WITHOUT_SENDER = frozenset(
    {
        DocType.TABLE,
        DocType.TIME_SHEET,
        DocType.LOGBOOK,
        DocType.PHOTO,
        DocType.NOTE,
        DocType.CALENDAR,
        DocType.CONTACT_CARD,
    }
)
"""Data and notes: our number in them is a fact they hold, not the sign of who sent them."""


def _two_sided(
    present: list[EntityEvidence], foreign_bill_to: str | None, *, one_sender: bool
) -> ContentVerdict:
    receivers = [e for e in present if e.bill_to >= _SIDE and e.bill_to > e.supplier]
    senders = [e for e in present if e.supplier >= _SIDE and e.supplier >= e.bill_to]
    receivers.sort(key=lambda e: -e.bill_to)
    if receivers:
        first = receivers[0]
        if len(receivers) > 1 and first.bill_to - receivers[1].bill_to < _SIDE_MARGIN:
            return _rivals(receivers, "entity.two_bill_to")
        note = f"bill-to; supplier is {senders[0].slug}" if senders else "bill-to"
        return _chosen(first, Direction.IN, "entity.bill_to", note)
    if len(senders) == 1:
        return _chosen(senders[0], Direction.OUT, "entity.supplier", "supplier")
    if len(senders) > 1:
        return _rivals(senders, "entity.two_suppliers")
    if foreign_bill_to is not None:
        only = present[0]
        note = f"made out to {foreign_bill_to}"
        return ContentVerdict(
            only.slug, min(only.presence, _FOREIGN_CAP), None, only.span, "entity.foreign_bill_to",
            note, foreign=True,
        )  # fmt: skip
    if len(present) > 1:
        return _rivals(present, "entity.sides_unclear")
    only = present[0]
    if only.ship_to >= _SIDE and one_sender:
        return _chosen(only, Direction.IN, "entity.ship_to_only", "delivered to; nobody else named")
    cap = only.presence if only.identified else min(only.presence, _UNSIDED_NAME)
    return ContentVerdict(only.slug, cap, None, only.span, "entity.named", "side unclear")


def _one_sided(present: list[EntityEvidence]) -> ContentVerdict:
    """Letters, contracts, statements: the one that is here; of several the addressed one."""
    if len(present) == 1:
        only = present[0]
        return _chosen(only, _direction(only), "entity.named", "named in the text")
    addressed = sorted(present, key=lambda e: -(e.bill_to + (0.5 if e.identified else 0.0)))
    first, second = addressed[0], addressed[1]
    if first.bill_to >= _SIDE and first.bill_to - second.bill_to >= _SIDE_MARGIN:
        return _chosen(first, Direction.IN, "entity.addressed", "addressed")
    if first.presence - second.presence >= 0.4 and second.presence <= _UNSIDED_NAME:
        strongest = max(present, key=lambda e: e.presence)
        return _chosen(strongest, _direction(strongest), "entity.named", "named in the text")
    return _rivals(present, "entity.several")


def _direction(evidence: EntityEvidence) -> Direction | None:
    if evidence.bill_to > evidence.supplier:
        return Direction.IN
    return Direction.OUT if evidence.supplier > evidence.bill_to else None


def _chosen(
    evidence: EntityEvidence, direction: Direction | None, rule_id: str, note: str
) -> ContentVerdict:
    kinds = ", ".join(sorted(evidence.kinds)) or "partial name"
    return ContentVerdict(
        evidence.slug, evidence.presence, direction, evidence.span, rule_id, f"{note} ({kinds})"
    )


def _rivals(evidence: list[EntityEvidence], rule_id: str) -> ContentVerdict:
    slugs = tuple(sorted(item.slug for item in evidence))
    return ContentVerdict(None, 0.5, None, evidence[0].span, rule_id, rivals=slugs)


# --- the user's note -----------------------------------------------------------------------------

_NEGATION = re.compile(
    r"(?:nicht|kein|keine|pas|not|non|не|no longer)\s+(?:[\w-]+\s+){0,3}$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Intent:
    """Entities and projects that a note names and does not deny."""

    entities: tuple[str, ...]
    projects: tuple[str, ...]


def read_intent(vocabulary: Vocabulary, note: str) -> Intent:
    """What a note of the uploader names (UPL-05): names, slugs and project codes."""
    if not note.strip():
        return Intent((), ())
    folded = words.fold(note)
    entities: dict[str, None] = {}
    for entry in vocabulary.entities:
        for name in (entry.slug, entry.slug.replace("-", " "), entry.legal_name, *entry.aliases):
            pattern = rf"(?<![\w-]){re.escape(words.fold(name))}(?![\w-])"
            for match in re.finditer(pattern, folded):
                if not _NEGATION.search(folded[: match.start()]):
                    entities.setdefault(entry.slug)
    projects: dict[str, None] = {}
    for code, (start, _) in match_projects(vocabulary, note):
        if not _NEGATION.search(folded[:start]):
            projects.setdefault(code)
    return Intent(tuple(entities), tuple(projects))


# --- settlement ----------------------------------------------------------------------------------


def settle(
    content: ContentVerdict,
    *,
    vocabulary: Vocabulary,
    assigned: tuple[str, str] | None,
    intent: Intent,
    hint: EntityHint | None,
    thresholds: EntityThresholds,
) -> EntityVerdict:
    """Content first, then a rule, a person's note, a folder; contradictions become questions.

    `assigned` is rule id and entity of a structural rule. A slug outside the vocabulary is never
    returned (TRI-07).
    """
    stated = intent.entities[0] if len(intent.entities) == 1 else None
    claims = _claims(vocabulary, assigned, stated, hint)
    if content.slug is not None and content.confidence >= thresholds.decide:
        return _by_content_decided(content, claims)
    if content.rivals:
        return _between_rivals(content, claims, thresholds)
    if content.slug is not None:
        return _weak_content(content, claims, thresholds)
    return _silent_content(content, claims, thresholds, vocabulary, assigned)


@dataclass(frozen=True, slots=True)
class _Claims:
    """What others than the paper say, each only if it is in the vocabulary."""

    rule: tuple[str, str] | None
    person: str | None
    folder: str | None
    mailbox: str | None

    def named(self) -> tuple[str, ...]:
        """All claimed slugs, strongest source first."""
        rule = self.rule[1] if self.rule is not None else None
        found = (rule, self.person, self.folder, self.mailbox)
        return tuple(dict.fromkeys(slug for slug in found if slug is not None))

    def deliberate(self) -> tuple[str, ...]:
        """Claims that a person made on purpose; a mailbox is none."""
        rule = self.rule[1] if self.rule is not None else None
        found = (rule, self.person, self.folder)
        return tuple(dict.fromkeys(slug for slug in found if slug is not None))


def _claims(
    vocabulary: Vocabulary,
    assigned: tuple[str, str] | None,
    stated: str | None,
    hint: EntityHint | None,
) -> _Claims:
    rule = assigned if assigned is not None and vocabulary.entity(assigned[1]) else None
    known_hint = hint if hint is not None and vocabulary.entity(hint.slug) else None
    folder = known_hint.slug if known_hint and known_hint.source is HintSource.FOLDER else None
    mailbox = known_hint.slug if known_hint and known_hint.source is HintSource.MAILBOX else None
    return _Claims(rule, stated, folder, mailbox)


def _by_content_decided(content: ContentVerdict, claims: _Claims) -> EntityVerdict:
    against = tuple(slug for slug in claims.deliberate() if slug != content.slug)
    points: tuple[OpenPoint, ...] = ()
    if against:
        points = (
            OpenPoint(
                OpenPointKind.CONFLICT,
                Field.ENTITY,
                "the note, folder or rule names another entity than the content",
                (str(content.slug), *against),
            ),
        )
    note = content.note
    if claims.mailbox is not None and claims.mailbox != content.slug:
        note = f"{note}; arrived for {claims.mailbox}"
    return EntityVerdict(
        content.slug,
        EntityOrigin.CONTENT,
        content.confidence,
        content.direction,
        content.span,
        content.rule_id,
        note,
        points,
    )


_SUPPORT = 0.5


def _between_rivals(
    content: ContentVerdict, claims: _Claims, thresholds: EntityThresholds
) -> EntityVerdict:
    """Several own entities and no side: a deliberate claim for one of them decides, else ask."""
    for slug in claims.deliberate():
        if slug in content.rivals and len(set(claims.deliberate())) == 1:
            return _decided_by_claim(slug, claims, content, thresholds)
    point = OpenPoint(
        OpenPointKind.CONFLICT,
        Field.ENTITY,
        "the content names several own entities",
        content.rivals,
    )
    return _undecided(content, (point,))


def _weak_content(
    content: ContentVerdict, claims: _Claims, thresholds: EntityThresholds
) -> EntityVerdict:
    """A weak sign of one entity: a claim for it lifts it, a claim for another is a question."""
    others = tuple(slug for slug in claims.deliberate() if slug != content.slug)
    supported = content.slug in claims.named() and not others and not content.foreign
    lifted = 1 - (1 - content.confidence) * (1 - _SUPPORT)
    if supported and lifted >= thresholds.decide:
        return EntityVerdict(
            content.slug,
            EntityOrigin.CONTENT,
            round(lifted, 3),
            content.direction,
            content.span,
            f"{content.rule_id}.supported",
            f"{content.note}; the way of arrival agrees",
        )
    choices = tuple(dict.fromkeys((str(content.slug), *claims.named())))
    kind = OpenPointKind.CONFLICT if others else OpenPointKind.LOW_CONFIDENCE
    reason = content.note or "the content names the entity only weakly"
    return _undecided(content, (OpenPoint(kind, Field.ENTITY, reason, choices),))


def _silent_content(
    content: ContentVerdict,
    claims: _Claims,
    thresholds: EntityThresholds,
    vocabulary: Vocabulary,
    assigned: tuple[str, str] | None,
) -> EntityVerdict:
    """The paper names no own entity: a claim may decide, unless the paper names somebody else."""
    deliberate = claims.deliberate()
    if content.foreign:
        point = OpenPoint(OpenPointKind.UNKNOWN, Field.ENTITY, content.note, claims.named())
        return _undecided(content, (point,))
    if len(deliberate) > 1:
        point = OpenPoint(
            OpenPointKind.CONFLICT, Field.ENTITY, "note, folder and rule differ", deliberate
        )
        return _undecided(content, (point,))
    if deliberate:
        return _decided_by_claim(deliberate[0], claims, content, thresholds)
    reason = "no own entity is named"
    if assigned is not None and vocabulary.entity(assigned[1]) is None:
        reason = f"rule {assigned[0]} assigns an entity that is not in the vocabulary"
    choices = (claims.mailbox,) if claims.mailbox is not None else ()
    return _undecided(content, (OpenPoint(OpenPointKind.UNKNOWN, Field.ENTITY, reason, choices),))


def _decided_by_claim(
    slug: str, claims: _Claims, content: ContentVerdict, thresholds: EntityThresholds
) -> EntityVerdict:
    if claims.rule is not None and claims.rule[1] == slug:
        origin, confidence, rule_id = EntityOrigin.STRUCTURAL_RULE, 0.95, claims.rule[0]
        note = f"assigned by rule {claims.rule[0]}"
    elif claims.person == slug:
        origin, confidence = EntityOrigin.HUMAN, thresholds.stated_by_person
        rule_id, note = "entity.note_of_person", "named in the note"
    else:
        origin, confidence = EntityOrigin.HINT, thresholds.folder_hint
        rule_id, note = "entity.folder", "only the folder says so"
    if confidence < thresholds.decide:
        point = OpenPoint(OpenPointKind.LOW_CONFIDENCE, Field.ENTITY, note, (slug,))
        return _undecided(content, (point,))
    direction = content.direction
    return EntityVerdict(slug, origin, confidence, direction, content.span, rule_id, note)


def _undecided(content: ContentVerdict, points: tuple[OpenPoint, ...]) -> EntityVerdict:
    return EntityVerdict(
        None, None, content.confidence, None, content.span, content.rule_id, content.note, points
    )
