"""Triage: WHAT a document is and whose, from its text and what is known of its way (TRI-01).

Here belongs the order of the deterministic steps: rules, language, identifiers, kind, entity,
provider, amounts, dates, level, project, learned rules. Each step stands in its own module. What a
document means, and who is responsible next, is decided by the specialists of the room deepen
(TRI-03, TRI-15). Below its threshold a value is not stated but asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import partial
from itertools import pairwise

from tgv_dagster.store.levels import Level
from tgv_dagster.understand import (
    amounts,
    choosing,
    confidentiality,
    dates,
    doctypes,
    entity,
    identifiers,
    language,
    learned,
    origin_country,
    parties,
    reminders,
    rules,
    totals,
    vocabulary,
)
from tgv_dagster.understand.doctypes import DocType, TypeFacts, TypeVerdict
from tgv_dagster.understand.einvoice_model import EInvoice
from tgv_dagster.understand.entity import (
    ContentVerdict,
    Direction,
    EntityHint,
    EntityThresholds,
    EntityVerdict,
    Intent,
)
from tgv_dagster.understand.evidence import (
    EntityOrigin,
    Field,
    Finding,
    OpenPoint,
    OpenPointKind,
    Origin,
    PageMap,
    Span,
    TuningValue,
)
from tgv_dagster.understand.identifiers import Identifier, IdentifierKind
from tgv_dagster.understand.language import LanguageVerdict
from tgv_dagster.understand.parties import CompanyName, Layout, PartyMention, PartyRole
from tgv_dagster.understand.rules import RoutingDecision, Rule, RuleItem
from tgv_dagster.understand.vocabulary import EntityMatch, Vocabulary


def _untested(name: str, value: float) -> TuningValue:
    return TuningValue(name, value, "understanding", date(2026, 11, 1))


def _measured(name: str, value: float) -> TuningValue:
    """Measured on the tuning part of the labelled set: docs/evaluation.md, "Understanding"."""
    return TuningValue(name, value, "understanding", date(2026, 11, 1), date(2026, 11, 30))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Least confidence per decision, each with owner and date of measurement (VAL-01)."""

    doc_type: TuningValue = field(default_factory=partial(_measured, "triage.least.doc_type", 0.8))
    entity: TuningValue = field(default_factory=partial(_measured, "triage.least.entity", 0.8))
    provider: TuningValue = field(default_factory=partial(_measured, "triage.least.provider", 0.8))
    amounts: TuningValue = field(default_factory=partial(_measured, "triage.least.amounts", 0.8))
    dates: TuningValue = field(default_factory=partial(_measured, "triage.least.dates", 0.75))
    numbers: TuningValue = field(default_factory=partial(_measured, "triage.least.numbers", 0.8))
    language: TuningValue = field(default_factory=partial(_measured, "triage.least.language", 0.5))
    project: TuningValue = field(default_factory=partial(_untested, "triage.least.project", 0.8))
    folder_hint: TuningValue = field(
        default_factory=partial(_untested, "triage.worth.folder_hint", 0.8)
    )
    mailbox_hint: TuningValue = field(
        default_factory=partial(_untested, "triage.worth.mailbox_hint", 0.4)
    )
    stated_by_person: TuningValue = field(
        default_factory=partial(_untested, "triage.worth.note_of_person", 0.9)
    )

    def for_entity(self) -> EntityThresholds:
        """The part the entity decision needs."""
        return EntityThresholds(
            self.entity.value,
            self.folder_hint.value,
            self.mailbox_hint.value,
            self.stated_by_person.value,
        )


DEFAULT_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class MailFacts:
    """Facts of the mail around a document; the sender is a hint of the lowest rank."""

    subject: str = ""
    sender: str = ""
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TriageInput:
    """Everything triage may look at; offsets of findings refer to `pages` (NFC text).

    `mandant_id` is the tenant of the gate where it has one: a wall the vocabulary does not cross.
    `rules` are routing rules in order, `learned` the approved rules of the learning loop.
    """

    pages: tuple[str, ...]
    vocabulary: Vocabulary
    languages: tuple[str, ...] = ("de", "fr", "en", "it", "ru")
    file_name: str = ""
    media_type: str = ""
    gate: str = ""
    folder: str = ""
    is_mail_body: bool = False
    mail: MailFacts = field(default_factory=MailFacts)
    einvoice: EInvoice | None = None
    intent_text: str = ""
    hint: EntityHint | None = None
    mandant_id: int | None = None
    rules: tuple[Rule, ...] = ()
    learned: tuple[Rule, ...] = ()
    thresholds: Thresholds = DEFAULT_THRESHOLDS


class Outcome(StrEnum):
    """Ends of triage: decided as far as possible, or stopped by a rule."""

    TRIAGED = "triaged"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class TriageResult:
    """The statements about a document and the questions that remain (TRI-10).

    `doc_type` is UNKNOWN and `entity_slug` None where nothing is sure enough. `matched_rules`
    names every rule that took part. A learned value stands before the machine's in `findings`.
    `cues` is what learned rules could look at.
    """

    outcome: Outcome
    doc_type: DocType
    entity_slug: str | None
    entity_quelle: EntityOrigin | None
    mandant_id: int | None
    direction: Direction | None
    provider: str | None
    project_code: str | None
    language: str | None
    confidentiality_level: Level
    findings: tuple[Finding, ...]
    open_points: tuple[OpenPoint, ...]
    mentions: tuple[PartyMention, ...] = ()
    blocked_by: str | None = None
    matched_rules: tuple[str, ...] = ()
    cues: RuleItem | None = None

    def finding(self, name: Field) -> Finding | None:
        """The strongest finding of a field, None when it is not stated."""
        return next((found for found in self.findings if found.field is name), None)


def triage(item: TriageInput) -> TriageResult:
    """Run the cascade over one document. Pure; linear in the length of its text."""
    routing = rules.decide(item.rules, _rule_item(item))
    if routing.blocked_by is not None:
        return _blocked(routing)
    read = _Reading.of(item, routing)
    drafts = [
        _state_language(read),
        _state_type(read),
        _state_entity(read),
        _state_provider(read),
        _state_values(read),
        _state_level(read),
        _state_project(read),
    ]
    findings = [finding for draft in drafts for finding in draft[0]]
    points = [point for draft in drafts for point in draft[1]]
    taught = learned.outranked(findings, learned.values_of(read.taught))
    return _result(read, [*taught, *findings], learned.answered(points, taught))


# --- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reading:
    """The document read once: every later step looks only at this."""

    item: TriageInput
    vocabulary: Vocabulary
    pages: PageMap
    routing: RoutingDecision
    language: LanguageVerdict
    country: str | None
    identifiers: tuple[Identifier, ...]
    totals: totals.Totals
    layout: Layout
    matches: tuple[EntityMatch, ...]
    kind: TypeVerdict
    own_type: DocType
    doc_type: DocType
    intent: Intent
    content: ContentVerdict
    entity: EntityVerdict
    companies: tuple[CompanyName, ...]
    cues: RuleItem
    taught: RoutingDecision

    @classmethod
    def of(cls, item: TriageInput, routing: RoutingDecision) -> _Reading:
        known = item.vocabulary
        if item.mandant_id is not None:
            known = known.narrowed(item.mandant_id)
        pages = PageMap(item.pages)
        text = pages.text
        spoken = language.detect(text, item.languages)
        found = identifiers.find(text, spoken.language)
        read_totals = totals.read(text, spoken.language)
        layout = Layout(text)
        matches = vocabulary.find_matches(known, text, found)
        kind = _kind(item, text, found, read_totals)
        own_type = kind.doc_type
        if kind.confidence < item.thresholds.doc_type.value:
            own_type = DocType.UNKNOWN
        companies = parties.company_names(
            layout,
            tuple(match.span for match in matches if not match.embedded),
            found,
            _sender_domain(item),
        )
        content = _content(item, known, layout, matches, kind.doc_type, companies)
        intent = entity.read_intent(known, item.intent_text)
        settled = entity.settle(
            content,
            vocabulary=known,
            assigned=routing.assigned(Field.ENTITY) or _taught_entity(item, kind, companies),
            intent=_with_entity_of_project(known, intent),
            hint=item.hint,
            thresholds=item.thresholds.for_entity(),
        )
        cues = _learned_item(item, known, settled.slug, kind, companies, text)
        taught = rules.decide(item.learned, cues)
        return cls(
            item=item,
            vocabulary=known,
            pages=pages,
            routing=routing,
            language=spoken,
            country=origin_country.find(text, found),
            identifiers=found,
            totals=read_totals,
            layout=layout,
            matches=matches,
            kind=kind,
            own_type=own_type,
            doc_type=_taught_type(taught) or own_type,
            intent=intent,
            content=content,
            entity=settled,
            companies=companies,
            cues=cues,
            taught=taught,
        )

    def span(self, offsets: amounts.Offsets | None) -> Span | None:
        """Page and offsets of a place in the joined text."""
        return None if offsets is None else self.pages.span(*offsets)


def _kind(
    item: TriageInput, text: str, found: tuple[Identifier, ...], read_totals: totals.Totals
) -> TypeVerdict:
    """The kind by the e-invoice's type code, else by format and words."""
    if item.einvoice is not None:
        kind = DocType.CREDIT_NOTE if item.einvoice.is_credit_note else DocType.INVOICE
        return TypeVerdict(kind, 0.99, None, "type.einvoice")
    numbered = any(
        identifier.kind is IdentifierKind.INVOICE_NO and identifier.labelled for identifier in found
    )
    facts = TypeFacts(
        media_type=item.media_type,
        file_name=item.file_name,
        subject=item.mail.subject,
        is_mail_body=item.is_mail_body,
        is_bulk_mail=any(h.casefold() == "list-unsubscribe" for h in item.mail.headers),
        has_totals=read_totals.gross is not None,
        has_invoice_number=numbered,
    )
    return doctypes.classify(text, facts)


def _content(
    item: TriageInput,
    known: Vocabulary,
    layout: Layout,
    matches: tuple[EntityMatch, ...],
    doc_type: DocType,
    companies: tuple[CompanyName, ...],
) -> ContentVerdict:
    if item.einvoice is not None:
        structured = entity.by_einvoice(known, item.einvoice)
        if structured is not None:
            return structured
    evidence = parties.entity_evidence(layout, matches)
    return entity.by_content(
        evidence,
        doc_type,
        layout.foreign_bill_to(matches),
        one_sender=len(companies) <= 1 and layout.is_of_one_sender(),
    )


def _with_entity_of_project(known: Vocabulary, intent: Intent) -> Intent:
    """A note that names only a project names the entity of that project."""
    if intent.entities or not intent.projects:
        return intent
    owners = {p.entity_slug for p in known.projects if p.project_code in intent.projects}
    return Intent(tuple(sorted(owners)), intent.projects)


# --- statements ----------------------------------------------------------------------------------


def _state_language(read: _Reading) -> choosing.Stated:
    verdict = read.language
    value = verdict.language
    if value is not None and verdict.confidence < read.item.thresholds.language.value:
        value = None
    note = verdict.reason or ("too uncertain" if value is None else "")
    found = Finding(
        Field.LANGUAGE, value, Origin.MACHINE, verdict.confidence, None, "language.lingua", note
    )
    return (found,), ()


def _state_type(read: _Reading) -> choosing.Stated:
    kind = read.kind
    found = Finding(
        Field.DOC_TYPE,
        read.own_type.value,
        Origin.MACHINE,
        kind.confidence,
        read.span(kind.span),
        kind.rule_id,
    )
    if read.own_type is not DocType.UNKNOWN:
        return (found,), ()
    choices = tuple(
        dict.fromkeys(
            option.value
            for option in (kind.doc_type, kind.rival)
            if option is not None and option is not DocType.UNKNOWN
        )
    )
    unsure = OpenPointKind.LOW_CONFIDENCE if choices else OpenPointKind.UNKNOWN
    return (found,), (OpenPoint(unsure, Field.DOC_TYPE, "the kind is not certain", choices),)


_ORIGINS = {
    EntityOrigin.CONTENT: Origin.MACHINE,
    EntityOrigin.HINT: Origin.MACHINE,
    EntityOrigin.STRUCTURAL_RULE: Origin.RULE,
    EntityOrigin.HUMAN: Origin.RULE,
}
"""A person's note is read by a rule; only what a person enters as a value has origin human."""


def _state_entity(read: _Reading) -> choosing.Stated:
    verdict = read.entity
    if verdict.slug is None or verdict.quelle is None:
        return (), verdict.open_points
    findings = [
        Finding(
            Field.ENTITY,
            verdict.slug,
            _ORIGINS[verdict.quelle],
            verdict.confidence,
            read.span(verdict.span),
            verdict.rule_id,
            verdict.note,
        )
    ]
    direction = _direction(read)
    if direction is not None:
        confidence = min(verdict.confidence, 0.9)
        findings.append(
            Finding(
                Field.DIRECTION,
                direction.value,
                Origin.MACHINE,
                confidence,
                read.span(verdict.span),
                "direction.sides" if verdict.direction else "direction.foreign_sender",
            )
        )
    return tuple(findings), verdict.open_points


_SENDS = 1.5


def _direction(read: _Reading) -> Direction | None:
    """By the side of the entity; a paper with a foreign sender and no side of ours came in."""
    if read.entity.direction is not None:
        return read.entity.direction
    if read.companies and read.companies[0].weight >= _SENDS:
        return Direction.IN
    if read.item.is_mail_body and read.item.mail.sender and not _from_own_domain(read):
        return Direction.IN
    return None


def _from_own_domain(read: _Reading) -> bool:
    domain = _sender_domain(read.item)
    own = {d.casefold() for entry in read.vocabulary.entities for d in entry.email_domains}
    return domain in own


_SURE_PROVIDER, _FAIR_PROVIDER, _PROVIDER_MARGIN = 3.0, 2.0, 0.6


def _state_provider(read: _Reading) -> choosing.Stated:
    """The other side's name; on outgoing documents the supplier is the own entity."""
    if read.item.einvoice is not None and read.item.einvoice.seller.name:
        name = read.item.einvoice.seller.name
        found = Finding(Field.PROVIDER, name, Origin.MACHINE, 0.99, None, "provider.einvoice")
        return (found,), ()
    entry = read.vocabulary.entity(read.entity.slug) if read.entity.slug else None
    if entry is not None and read.entity.direction is Direction.OUT:
        span = read.span(read.entity.span)
        own = Finding(
            Field.PROVIDER, entry.legal_name, Origin.MACHINE, 0.95, span, "provider.own_entity"
        )
        return (own,), ()
    if not read.companies:
        return choosing.NOTHING
    if read.item.is_mail_body:
        return _provider_of_mail(read)
    first = read.companies[0]
    second = read.companies[1].weight if len(read.companies) > 1 else 0.0
    least = read.item.thresholds.provider.value
    clear = first.weight - second >= _PROVIDER_MARGIN
    confidence = 0.92 if first.weight >= _SURE_PROVIDER else 0.82
    if first.weight >= _FAIR_PROVIDER and clear and confidence >= least:
        span = read.span(first.span)
        found = Finding(
            Field.PROVIDER, first.name, Origin.MACHINE, confidence, span, "provider.layout"
        )
        return (found,), ()
    if read.doc_type not in (DocType.INVOICE, DocType.CREDIT_NOTE):
        return choosing.NOTHING
    if least <= _ONLY_OTHER and _is_only_other_side(read, first):
        alone = Finding(
            Field.PROVIDER,
            first.name,
            Origin.MACHINE,
            _ONLY_OTHER,
            read.span(first.span),
            "provider.only_other_side",
        )
        return (alone,), ()
    choices = tuple(company.name for company in read.companies[:3])
    point = OpenPoint(
        OpenPointKind.LOW_CONFIDENCE, Field.PROVIDER, "the supplier is not certain", choices
    )
    return (), (point,)


_ONLY_OTHER, _HEAD_LINES, _LEAST_WEIGHT = 0.81, 12, 0.5


def _is_only_other_side(read: _Reading, company: CompanyName) -> bool:
    """Whether a bill to one of ours names one other company, and that one in its head."""
    ours = read.entity.slug is not None and read.entity.direction is Direction.IN
    near_top = read.layout.line_of(company.span[0]) < _HEAD_LINES
    return ours and near_top and len(read.companies) == 1 and company.weight >= _LEAST_WEIGHT


def _provider_of_mail(read: _Reading) -> choosing.Stated:
    """A mail names many firms; its sender is one whose name stands in the sender's domain."""
    domain = _sender_domain(read.item)
    senders = [c for c in read.companies if parties.is_of_domain(c.name, domain)]
    if len({c.name for c in senders}) != 1:
        return choosing.NOTHING
    found = Finding(
        Field.PROVIDER,
        senders[0].name,
        Origin.MACHINE,
        0.85,
        read.span(senders[0].span),
        "provider.sender_domain",
    )
    return (found,), ()


def _sender_domain(item: TriageInput) -> str:
    return item.mail.sender.casefold().rpartition("@")[2].rstrip("> ")


def _state_values(read: _Reading) -> choosing.Stated:
    """Numbers, amounts and dates; an e-invoice states its own and is compared with the picture."""
    least = read.item.thresholds
    mentions = dates.find(read.pages.text, read.language.language, read.country)
    numbers = choosing.state_numbers(
        read.identifiers, read.doc_type, read.pages, least.numbers.value
    )
    printed = [
        numbers,
        _state_amounts(read, numbers),
        choosing.state_dates(mentions, read.doc_type, read.pages, least.dates.value),
    ]
    findings = [finding for draft in printed for finding in draft[0]]
    points = [point for draft in printed for point in draft[1]]
    if read.item.einvoice is None:
        return tuple(findings), tuple(points)
    structured = choosing.state_einvoice(read.item.einvoice)
    stated = {finding.field for finding in structured}
    others = [finding for finding in findings if finding.field not in stated]
    likely, _ = choosing.state_amounts(read.totals, read.doc_type, read.pages, _LIKELY)
    mentioned = amounts.find(read.pages.text, read.language.language)
    shown = frozenset(mention.value for mention in mentioned)
    picture = choosing.Picture(tuple(findings), likely, shown)
    conflicts = choosing.compare_with_picture(structured, picture)
    left = [point for point in points if point.field not in stated]
    return (*structured, *others), (*conflicts, *left)


def _state_amounts(read: _Reading, numbers: choosing.Stated) -> choosing.Stated:
    """The totals; of a reminder what is demanded with its fees."""
    found, least = _totals_of_one(read, numbers), read.item.thresholds.amounts.value
    if read.doc_type is not DocType.REMINDER:
        return choosing.state_amounts(found, read.doc_type, read.pages, least)
    demand = reminders.demand(read.pages.text, read.language.language)
    if demand is None:
        return choosing.state_amounts(found, read.doc_type, read.pages, least)
    found = replace(found, due=demand.total)
    findings, points = choosing.state_amounts(found, read.doc_type, read.pages, least)
    if demand.choices:
        reason = "fees are printed and no sum of them with the open amount"
        choices = tuple(str(value) for value in demand.choices)
        asked = OpenPoint(OpenPointKind.CONFLICT, Field.AMOUNT_DUE, reason, choices)
        points = (*points, asked)
    return findings, points


def _totals_of_one(read: _Reading, numbers: choosing.Stated) -> totals.Totals:
    """The totals; none where pages or parts with numbers of their own prove different bills."""
    asked = {(point.kind, point.field) for point in numbers[1]}
    if (OpenPointKind.CONFLICT, Field.INVOICE_NUMBER) not in asked:
        return read.totals
    parts = [*read.item.pages, *_parts_by_number(read)]
    pages = [totals.read(part, read.language.language) for part in parts]
    proven = {
        page.gross.value: None
        for page in pages
        if page.gross is not None and page.arithmetic is totals.Arithmetic.PROVEN
    }
    if len(proven) < _SEVERAL:
        return read.totals
    return replace(
        totals.NOTHING,
        currency=read.totals.currency,
        arithmetic=totals.Arithmetic.CONTRADICTED,
        rivals=tuple(proven),
    )


def _parts_by_number(read: _Reading) -> list[str]:
    """The text cut before the line of each other invoice number: bills below each other."""
    text, seen, cuts = read.pages.text, set[str](), [0]
    for found in sorted(read.identifiers, key=lambda one: one.span):
        if found.kind is IdentifierKind.INVOICE_NO and found.value not in seen:
            seen.add(found.value)
            cuts.append(text.rfind("\n", 0, found.span[0]) + 1)
    return [text[begin:end] for begin, end in pairwise((*cuts, len(text)))]


_SEVERAL = 2
_LIKELY = 0.7
"""From here a printed total contradicts the XML, though no sum proves it."""


def _state_level(read: _Reading) -> choosing.Stated:
    """The level; a kind that is only likely tightens it as well."""
    entry = read.vocabulary.entity(read.entity.slug) if read.entity.slug else None
    verdict = confidentiality.level_of(
        read.pages.text,
        read.kind.doc_type,
        entity_known=entry is not None,
        entity_default=entry.default_level if entry is not None else None,
    )
    found = Finding(
        Field.CONFIDENTIALITY_LEVEL,
        verdict.level.value,
        Origin.RULE,
        verdict.confidence,
        read.span(verdict.span),
        verdict.rule_id,
        verdict.note,
    )
    return (found,), (() if verdict.point is None else (verdict.point,))


_BY_CODE, _BY_NAME, _BY_WORD = 0.95, 0.85, 0.6


def _state_project(read: _Reading) -> choosing.Stated:
    """The project by the note, else by its code or name in the text, within its entity.

    Tables and contracts may name many projects; only a paper for one of them is asked about.
    """
    entity_of = {p.project_code: p.entity_slug for p in read.vocabulary.projects}
    slug = read.entity.slug
    foreign = [code for code in read.intent.projects if slug not in (None, entity_of[code])]
    if foreign:
        reason = "the note names a project of another entity"
        point = OpenPoint(OpenPointKind.CONFLICT, Field.PROJECT_CODE, reason, tuple(foreign))
        return (), (point,)
    if len(read.intent.projects) == 1:
        code = read.intent.projects[0]
        found = Finding(
            Field.PROJECT_CODE, code, Origin.RULE, 0.95, None, "project.note", "named in the note"
        )
        return (found,), ()
    if slug is None:
        return choosing.NOTHING
    scored = _project_scores(read, slug)
    if not scored:
        return choosing.NOTHING
    ranked = sorted(scored.items(), key=lambda item: -item[1][0])
    code, (confidence, place) = ranked[0]
    if len(ranked) > 1 and ranked[1][1][0] > confidence - 0.05:
        if read.doc_type not in entity.TWO_SIDED:
            return choosing.NOTHING
        choices = tuple(sorted(code for code, (value, _) in ranked if value > confidence - 0.05))
        reason = "several projects are named"
        return (), (OpenPoint(OpenPointKind.CONFLICT, Field.PROJECT_CODE, reason, choices),)
    if confidence < read.item.thresholds.project.value:
        return choosing.NOTHING
    span = read.span(place)
    return (
        Finding(Field.PROJECT_CODE, code, Origin.MACHINE, confidence, span, "project.named"),
    ), ()


def _project_scores(read: _Reading, slug: str) -> dict[str, tuple[float, amounts.Offsets | None]]:
    """Best confidence per project of the entity, with its place."""
    own = {p.project_code for p in read.vocabulary.projects if p.entity_slug == slug}
    scored: dict[str, tuple[float, amounts.Offsets | None]] = {}
    text = read.pages.text
    for code, place in vocabulary.match_projects(read.vocabulary, text):
        if code not in own:
            continue
        raw = text[slice(*place)]
        if raw.casefold() == code.casefold():
            value = _BY_CODE
        else:
            value = _BY_NAME if len(raw.split()) > 1 or "-" in raw else _BY_WORD
        if value > scored.get(code, (0.0, None))[0]:
            scored[code] = (value, place)
    named_in_file = re.sub(r"[_]+", " ", read.item.file_name)
    for code, _ in vocabulary.match_projects(read.vocabulary, named_in_file):
        if code in own and scored.get(code, (0.0, None))[0] < _BY_NAME:
            place = scored.get(code, (0.0, None))[1]
            scored[code] = (_BY_NAME, place)
    return scored


# --- rules and result ----------------------------------------------------------------------------


def _rule_item(item: TriageInput) -> RuleItem:
    return RuleItem(
        gate=item.gate,
        sender=item.mail.sender,
        subject=item.mail.subject,
        headers=item.mail.headers,
        file_name=item.file_name,
        folder=item.folder,
        media_type=item.media_type,
        mandant_id=item.mandant_id,
    )


def _learned_item(
    item: TriageInput,
    known: Vocabulary,
    slug: str | None,
    kind: TypeVerdict,
    companies: tuple[CompanyName, ...],
    text: str,
) -> RuleItem:
    """What learned rules may look at: the decided entity bounds their scope (TRI-11).

    While no entity is decided, the tenant of the gate does.
    """
    entry = known.entity(slug) if slug else None
    return replace(
        _rule_item(item),
        mandant_id=entry.mandant_id if entry is not None else item.mandant_id,
        entity_slug=slug,
        doc_type=kind.doc_type.value,
        provider=_read_provider(item, companies),
        text=text,
    )


def _taught_type(taught: RoutingDecision) -> DocType | None:
    """The kind a learned rule knows; later steps read the paper as that kind."""
    found = taught.assigned(Field.DOC_TYPE)
    return DocType(found[1]) if found is not None and found[1] in set(DocType) else None


def _read_provider(item: TriageInput, companies: tuple[CompanyName, ...]) -> str:
    if item.einvoice is not None and item.einvoice.seller.name:
        return item.einvoice.seller.name
    return companies[0].name if companies else ""


def _taught_entity(
    item: TriageInput, kind: TypeVerdict, companies: tuple[CompanyName, ...]
) -> tuple[str, str] | None:
    """The entity a learned rule names for papers of this sender, within the tenant of the gate."""
    if item.mandant_id is None:
        return None
    cues = replace(
        _rule_item(item),
        doc_type=kind.doc_type.value,
        provider=_read_provider(item, companies),
    )
    return rules.decide(item.learned, cues).assigned(Field.ENTITY)


def _result(
    read: _Reading, findings: Sequence[Finding], points: Sequence[OpenPoint]
) -> TriageResult:
    by_field = {finding.field: finding for finding in reversed(findings)}
    entry = read.vocabulary.entity(read.entity.slug) if read.entity.slug else None
    direction = _text(by_field.get(Field.DIRECTION))
    by_rule = (read.entity.rule_id,) if read.entity.rule_id.startswith(learned.PREFIX) else ()
    return TriageResult(
        outcome=Outcome.TRIAGED,
        doc_type=DocType(_text(by_field.get(Field.DOC_TYPE)) or DocType.UNKNOWN),
        entity_slug=read.entity.slug,
        entity_quelle=read.entity.quelle,
        mandant_id=entry.mandant_id if entry is not None else read.item.mandant_id,
        direction=None if direction is None else Direction(direction),
        provider=_text(by_field.get(Field.PROVIDER)),
        project_code=_text(by_field.get(Field.PROJECT_CODE)),
        language=_text(by_field.get(Field.LANGUAGE)),
        confidentiality_level=Level(_text(by_field[Field.CONFIDENTIALITY_LEVEL]) or Level.STRICT),
        findings=tuple(findings),
        open_points=tuple(points),
        mentions=_mentions(read),
        matched_rules=tuple(dict.fromkeys((*read.routing.matched, *by_rule, *read.taught.matched))),
        cues=read.cues,
    )


def _text(finding: Finding | None) -> str | None:
    return finding.value if finding is not None and isinstance(finding.value, str) else None


def _mentions(read: _Reading) -> tuple[PartyMention, ...]:
    """The parties of the document with their sides, the own entity among them."""
    invoice = read.item.einvoice
    if invoice is not None:
        return tuple(
            PartyMention(
                role,
                party.name,
                party.email or None,
                None,
                party.vat_id or None,
                party.address.country or None,
                "einvoice",
            )
            for role, party in (
                (PartyRole.SUPPLIER, invoice.seller),
                (PartyRole.BILL_TO, invoice.buyer),
            )
            if party.name
        )
    found: list[PartyMention] = []
    for index, company in enumerate(read.companies[:5]):
        supplier = index == 0 and company.weight >= _FAIR_PROVIDER
        role = PartyRole.SUPPLIER if supplier else PartyRole.MENTIONED
        found.append(PartyMention(role, company.name))
    entry = read.vocabulary.entity(read.entity.slug) if read.entity.slug else None
    if entry is not None:
        sides = {
            Direction.IN: PartyRole.BILL_TO,
            Direction.OUT: PartyRole.SUPPLIER,
            None: PartyRole.MENTIONED,
        }
        found.append(PartyMention(sides[read.entity.direction], entry.legal_name))
    return tuple(found)


def _blocked(routing: RoutingDecision) -> TriageResult:
    return TriageResult(
        outcome=Outcome.BLOCKED,
        doc_type=DocType.UNKNOWN,
        entity_slug=None,
        entity_quelle=None,
        mandant_id=None,
        direction=None,
        provider=None,
        project_code=None,
        language=None,
        confidentiality_level=Level.STRICT,
        findings=(),
        open_points=(),
        blocked_by=routing.blocked_by,
        matched_rules=routing.matched,
    )
