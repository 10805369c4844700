"""Choosing: from what was found in the text to at most one value per field, or a question.

Here belong the choice between mentions of one axis, between printed and structured figures, and
the threshold below which a value is not stated. What is found belongs to the modules of the
values; which fields a kind of document must have belongs to the registry of the room deepen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from tgv_dagster.understand import words
from tgv_dagster.understand.dates import DateMention, DateRole
from tgv_dagster.understand.doctypes import BOOKING_KINDS, CONTRACT_KINDS, DocType
from tgv_dagster.understand.einvoice_model import EInvoice
from tgv_dagster.understand.evidence import (
    Field,
    Finding,
    OpenPoint,
    OpenPointKind,
    Origin,
    PageMap,
)
from tgv_dagster.understand.identifiers import Identifier, IdentifierKind
from tgv_dagster.understand.totals import Arithmetic, Total, Totals

Stated = tuple[tuple[Finding, ...], tuple[OpenPoint, ...]]
NOTHING: Stated = ((), ())


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen date of an axis, or the values between which the text does not decide."""

    mention: DateMention | None
    rivals: tuple[date, ...] = ()


_CLOSE = 0.05


def choose_date(mentions: Iterable[DateMention], role: DateRole) -> Choice:
    """The date of a role: the surest one, more sure when repeated; equals are rivals."""
    best: dict[date, DateMention] = {}
    counts: dict[date, int] = {}
    for mention in mentions:
        if mention.role is not role:
            continue
        counts[mention.value] = counts.get(mention.value, 0) + 1
        known = best.get(mention.value)
        if known is None or mention.confidence > known.confidence:
            best[mention.value] = mention
    if not best:
        return Choice(None)

    def score(mention: DateMention) -> float:
        return mention.confidence + 0.02 * min(counts[mention.value] - 1, 2)

    ranked = sorted(best.values(), key=lambda mention: -score(mention))
    first = ranked[0]
    if first.ambiguous and first.other_reading is not None:
        return Choice(None, (first.value, first.other_reading))
    peers = [mention.value for mention in ranked if score(mention) > score(first) - _CLOSE]
    return Choice(first) if len(peers) == 1 else Choice(None, tuple(sorted(peers)))


def issued_axis(doc_type: DocType) -> Field | None:
    """The axis of the date a document itself carries; contracts have none but start and end."""
    if doc_type in BOOKING_KINDS:
        return Field.INVOICE_DATE
    if doc_type in CONTRACT_KINDS:
        return None
    return Field.LETTER_DATE


def state_dates(
    mentions: tuple[DateMention, ...], doc_type: DocType, pages: PageMap, least: float
) -> Stated:
    """Findings per date axis, and questions where an axis has rivals or is too uncertain.

    Axes are filled from their own role only: a due date never becomes an invoice date.
    """
    findings: list[Finding] = []
    points: list[OpenPoint] = []
    if doc_type is DocType.REMINDER:
        mentions = tuple(m for m in mentions if not _dates_the_bill(m))
    for role, field in _axes(doc_type):
        choice = choose_date(mentions, role)
        if role is DateRole.ISSUED and choice == Choice(None):
            choice = choose_date(_made_out(mentions), role)
        if doc_type is DocType.RECEIPT and role is DateRole.ISSUED:
            choice = _receipt_date(mentions, choice)
        mention = choice.mention
        if mention is not None and mention.confidence >= least:
            findings.append(
                Finding(
                    field,
                    mention.value,
                    Origin.MACHINE,
                    round(mention.confidence, 3),
                    pages.span(*mention.span),
                    f"date.{role.value}",
                    mention.label,
                )
            )
        elif doc_type in BOOKING_KINDS and field in (Field.INVOICE_DATE, Field.DUE_DATE):
            points += _date_question(field, choice)
    return tuple(findings), tuple(points)


_BILL = re.compile(r"rechnung|invoice|facture|fattura|счет")


def _dates_the_bill(mention: DateMention) -> bool:
    """Whether a day belongs to the bill that a reminder reminds of, and not to the reminder."""
    return mention.role is DateRole.ISSUED and _BILL.search(words.fold(mention.label)) is not None


def _made_out(mentions: tuple[DateMention, ...]) -> Iterator[DateMention]:
    """The day a paper without another day was made out at its place ("Fait à Lille, le …")."""
    for mention in mentions:
        if mention.role is DateRole.SIGNED and _MADE_OUT.match(words.fold(mention.label)):
            yield replace(mention, role=DateRole.ISSUED)


_MADE_OUT = re.compile(r"fait a|ort,? (?:und )?datum|luogo e data")
_ONLY_DATE = 0.8


def _receipt_date(mentions: tuple[DateMention, ...], choice: Choice) -> Choice:
    """A till receipt prints one date without label; the only date of the paper is its own."""
    values = {mention.value for mention in mentions}
    free = [m for m in mentions if m.role in (None, DateRole.ISSUED, DateRole.PAID)]
    if len(values) != 1 or not free or free[0].ambiguous:
        return choice
    return Choice(replace(free[0], confidence=max(_ONLY_DATE, free[0].confidence)))


def _axes(doc_type: DocType) -> Iterator[tuple[DateRole, Field]]:
    issued = issued_axis(doc_type)
    if issued is not None:
        yield DateRole.ISSUED, issued
    yield DateRole.RECEIPT_STAMP, Field.RECEIPT_STAMP_DATE
    if doc_type in CONTRACT_KINDS:
        return
    if doc_type is not DocType.PAYSLIP:  # its day of payment is ours to keep, not a bill's term
        yield DateRole.DUE, Field.DUE_DATE
    yield DateRole.SERVICE, Field.SERVICE_DATE
    yield DateRole.PERIOD_START, Field.SERVICE_START_DATE
    yield DateRole.PERIOD_END, Field.SERVICE_END_DATE


def _date_question(field: Field, choice: Choice) -> list[OpenPoint]:
    if choice.rivals:
        choices = tuple(value.isoformat() for value in choice.rivals)
        return [OpenPoint(OpenPointKind.CONFLICT, field, "several dates of equal weight", choices)]
    if choice.mention is not None and field is Field.INVOICE_DATE:
        reason = "the date carries no label"
        value = choice.mention.value.isoformat()
        return [OpenPoint(OpenPointKind.LOW_CONFIDENCE, field, reason, (value,))]
    return []


# --- amounts -------------------------------------------------------------------------------------


def state_amounts(totals: Totals, doc_type: DocType, pages: PageMap, least: float) -> Stated:
    """Findings of the totals that are sure enough; booking kinds ask for the rest."""
    findings: list[Finding] = []
    roles = (
        (Field.AMOUNT_NET, totals.net),
        (Field.AMOUNT_TAX, totals.tax),
        (Field.AMOUNT_GROSS, totals.gross),
        (Field.AMOUNT_DUE, totals.due),
    )
    for field, plain in roles:
        total = (
            _receipt_total(plain, totals)
            if field is Field.AMOUNT_GROSS and (doc_type is DocType.RECEIPT)
            else plain
        )
        if total is not None and total.confidence >= least:
            findings.append(_amount(field, total, pages))
    gross_stated = any(finding.field is Field.AMOUNT_GROSS for finding in findings)
    if totals.currency is not None and (findings or doc_type in BOOKING_KINDS):
        confidence = min(0.95, max([0.9, *(finding.confidence for finding in findings)]))
        span = findings[-1].span if findings else None
        findings.append(
            Finding(
                Field.CURRENCY, totals.currency, Origin.MACHINE, confidence, span, "totals.currency"
            )
        )
    points: list[OpenPoint] = []
    if doc_type in BOOKING_KINDS and not gross_stated:
        points += _gross_question(totals)
    elif doc_type in BOOKING_KINDS and totals.currency is None:
        points.append(OpenPoint(OpenPointKind.UNKNOWN, Field.CURRENCY, "no currency is printed"))
    return tuple(findings), tuple(points)


_RECEIPT_TOTAL = 0.85


def _receipt_total(gross: Total | None, totals: Totals) -> Total | None:
    """A receipt shows one total and often no sum that proves it; a labelled one without rival
    counts there. Measured on the tuning part: docs/evaluation.md, "Receipts"."""
    unproven = totals.arithmetic is Arithmetic.UNPROVEN and not totals.rivals
    if gross is None or not unproven or gross.confidence >= _RECEIPT_TOTAL:
        return gross
    return replace(gross, confidence=_RECEIPT_TOTAL, rule_id="totals.receipt")


def _amount(field: Field, total: Total, pages: PageMap) -> Finding:
    span = pages.span(*total.span) if total.span is not None else None
    note = "" if total.span is not None else "derived from the other totals"
    if total.parts:
        note = "sum of: " + "; ".join(_line_around(pages.text, part) for part in total.parts)
    return Finding(field, total.value, Origin.MACHINE, total.confidence, span, total.rule_id, note)


def _line_around(text: str, span: tuple[int, int]) -> str:
    """The line an amount stands on, up to the amount."""
    begin = text.rfind("\n", 0, span[0]) + 1
    return " ".join(text[max(begin, span[0] - 60) : span[1]].split())


def _gross_question(totals: Totals) -> list[OpenPoint]:
    if totals.rivals:
        choices = tuple(str(value) for value in totals.rivals)
        reason = "several totals of equal weight"
        return [OpenPoint(OpenPointKind.CONFLICT, Field.AMOUNT_GROSS, reason, choices)]
    if totals.gross is None:
        return []
    contradicted = totals.arithmetic is Arithmetic.CONTRADICTED
    kind = OpenPointKind.CONFLICT if contradicted else OpenPointKind.LOW_CONFIDENCE
    reason = "net and tax do not add up to it" if contradicted else "no sum proves it"
    return [OpenPoint(kind, Field.AMOUNT_GROSS, reason, (str(totals.gross.value),))]


# --- the e-invoice -------------------------------------------------------------------------------

_STRUCTURED = 0.99


def state_einvoice(invoice: EInvoice) -> tuple[Finding, ...]:
    """The fields an e-invoice states; its XML is the truth for them."""
    values: tuple[tuple[Field, str | Decimal | date | None], ...] = (
        (Field.INVOICE_NUMBER, invoice.number or None),
        (Field.INVOICE_DATE, invoice.issue_date),
        (Field.DUE_DATE, invoice.due_date),
        (Field.SERVICE_DATE, invoice.delivery_date),
        (Field.SERVICE_START_DATE, invoice.period_start),
        (Field.SERVICE_END_DATE, invoice.period_end),
        (Field.AMOUNT_NET, invoice.net),
        (Field.AMOUNT_TAX, invoice.tax),
        (Field.AMOUNT_GROSS, invoice.gross),
        (Field.AMOUNT_DUE, invoice.totals.payable),
        (Field.CURRENCY, invoice.currency or None),
    )
    return tuple(
        Finding(field, value, Origin.MACHINE, _STRUCTURED, None, "einvoice", invoice.syntax.value)
        for field, value in values
        if value is not None
    )


_COMPARED = (
    Field.INVOICE_NUMBER,
    Field.AMOUNT_GROSS,
    Field.AMOUNT_NET,
    Field.AMOUNT_TAX,
    Field.INVOICE_DATE,
    Field.DUE_DATE,
    Field.CURRENCY,
)


@dataclass(frozen=True, slots=True)
class Picture:
    """What the pages beside an e-invoice say.

    `stated` are the findings of the text, `likely` those that are too unsure to be stated alone,
    `amounts` every amount in it.
    """

    stated: tuple[Finding, ...]
    likely: tuple[Finding, ...]
    amounts: frozenset[Decimal]


def compare_with_picture(
    structured: tuple[Finding, ...], picture: Picture
) -> tuple[OpenPoint, ...]:
    """Questions where the picture says something else than the XML, field by field.

    A likely value counts only where the picture does not show the value of the XML as well.
    """
    sure = {finding.field: finding for finding in picture.stated}
    likely = {finding.field: finding for finding in picture.likely}
    points: list[OpenPoint] = []
    for finding in structured:
        if finding.field not in _COMPARED:
            continue
        other = sure.get(finding.field)
        if other is None and finding.value not in picture.amounts:
            other = likely.get(finding.field)
        if other is None or _comparable(other.value) == _comparable(finding.value):
            continue
        page = "" if other.span is None else f" (page {other.span.page})"
        points.append(
            OpenPoint(
                OpenPointKind.CONFLICT,
                finding.field,
                f"the e-invoice says {finding.value}, its picture{page} {other.value}",
                (str(finding.value), str(other.value)),
            )
        )
    return tuple(points)


def _comparable(value: object) -> object:
    """Numbers of documents are printed with and without blanks."""
    return re.sub(r"\W", "", value).casefold() if isinstance(value, str) else value


# --- numbers -------------------------------------------------------------------------------------

_NUMBER_FIELDS = (
    (IdentifierKind.INVOICE_NO, Field.INVOICE_NUMBER),
    (IdentifierKind.CUSTOMER_NO, Field.CUSTOMER_NUMBER),
    (IdentifierKind.CONTRACT_NO, Field.CONTRACT_NUMBER),
    (IdentifierKind.ORDER_NO, Field.ORDER_NUMBER),
)
_LABELLED, _NOUN, _REPEATED = 0.93, 0.82, 0.04


def state_numbers(
    identifiers: tuple[Identifier, ...], doc_type: DocType, pages: PageMap, least: float
) -> Stated:
    """Document numbers: the labelled one, the repeated one; two equals are a question."""
    findings: list[Finding] = []
    points: list[OpenPoint] = []
    for kind, field in _NUMBER_FIELDS:
        if field is Field.INVOICE_NUMBER and doc_type not in BOOKING_KINDS:
            continue
        ranked = _ranked_numbers(identifiers, kind)
        if not ranked:
            continue
        first, score = ranked[0]
        rival = ranked[1] if len(ranked) > 1 else None
        if rival is not None and rival[1] > score - 0.03:
            if field is Field.INVOICE_NUMBER:
                choices = (first.value, rival[0].value)
                reason = "two numbers of equal weight"
                points.append(OpenPoint(OpenPointKind.CONFLICT, field, reason, choices))
            continue
        if score >= least:
            findings.append(
                Finding(
                    field,
                    first.value,
                    Origin.MACHINE,
                    round(min(score, 0.97), 3),
                    pages.span(*first.span),
                    "number.labelled" if first.labelled else "number.behind_title",
                )
            )
    return tuple(findings), tuple(points)


def _ranked_numbers(
    identifiers: tuple[Identifier, ...], kind: IdentifierKind
) -> list[tuple[Identifier, float]]:
    found: dict[str, Identifier] = {}
    counts: dict[str, int] = {}
    for identifier in identifiers:
        if identifier.kind is not kind:
            continue
        counts[identifier.value] = counts.get(identifier.value, 0) + 1
        known = found.get(identifier.value)
        if known is None or (identifier.labelled and not known.labelled):
            found[identifier.value] = identifier
    scored = [
        (
            identifier,
            (_LABELLED if identifier.labelled else _NOUN) + _REPEATED * min(counts[value] - 1, 2),
        )
        for value, identifier in found.items()
    ]
    return sorted(scored, key=lambda item: (-item[1], item[0].span))
