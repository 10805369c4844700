"""Specialists: what a document of a known kind means, as far as its own text says.

Here belong the pure functions that complete what triage stated: required fields, periods,
deadlines, a stricter level (SPEC-02 to SPEC-04). Which one is responsible stands in the registry;
storing values and opening cases belongs to the flow. A value a person or triage stated is never
replaced here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from types import MappingProxyType

from tgv_dagster.deepen import contract_periods, deadlines, statutes
from tgv_dagster.deepen.contract_periods import Anchor, FoundPeriod
from tgv_dagster.deepen.deadlines import ContractFacts, Derivation
from tgv_dagster.deepen.registry import BuildState, Entry, Registry, load
from tgv_dagster.store.levels import Level
from tgv_dagster.understand import dates, identifiers, origin_country, totals, words
from tgv_dagster.understand.amounts import Offsets
from tgv_dagster.understand.contract_terms import (
    TermDate,
    TermState,
    contract_end,
    contract_start,
)
from tgv_dagster.understand.dates import DateRole
from tgv_dagster.understand.doctypes import ContractType, DocType
from tgv_dagster.understand.evidence import (
    Field,
    Finding,
    FindingValue,
    OpenPoint,
    OpenPointKind,
    Origin,
    PageMap,
)


@dataclass(frozen=True, slots=True)
class SpecialistInput:
    """A triaged document: its pages, what is stated so far, and which fields are asked already.

    `country` orders day and month; without it the text is asked for its signs. `as_of` is the day
    from which the next renewal is counted; `source` names the document in
    derivations. `findings` are the effective values, human ones included.
    """

    doc_type: DocType
    pages: tuple[str, ...]
    findings: tuple[Finding, ...]
    asked: frozenset[Field] = frozenset()
    language: str | None = None
    country: str | None = None
    as_of: date | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class SpecialistResult:
    """What the specialist adds; without a built specialist both are empty and `state` says so."""

    specialist: str
    state: BuildState
    findings: tuple[Finding, ...] = ()
    open_points: tuple[OpenPoint, ...] = ()
    derivations: tuple[Derivation, ...] = ()


def specialise(item: SpecialistInput, registry: Registry | None = None) -> SpecialistResult:
    """Run the responsible specialist over one document. Pure; linear in the length of its text."""
    entry = (registry or load()).entry(item.doc_type)
    if entry.state is not BuildState.BUILT:
        return SpecialistResult(entry.specialist, entry.state)
    pages = PageMap(item.pages)
    work = _Work(_with_country(item, pages.text), pages, entry)
    SPECIALISTS[entry.specialist](work)
    work.close()
    return SpecialistResult(
        entry.specialist,
        entry.state,
        tuple(work.added),
        tuple(work.points),
        tuple(work.derivations),
    )


def _with_country(item: SpecialistInput, text: str) -> SpecialistInput:
    """The item with the country its text shows; only English leaves the order of dates open."""
    if item.country is not None or item.language not in (None, "en"):
        return item
    return replace(item, country=origin_country.find(text, identifiers.find(text, item.language)))


@dataclass(slots=True)
class _Work:
    """One run: what was stated before, and what is added to it."""

    item: SpecialistInput
    pages: PageMap
    entry: Entry
    added: list[Finding] = field(default_factory=list)
    points: list[OpenPoint] = field(default_factory=list)
    derivations: list[Derivation] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.pages.text

    def value(self, name: Field) -> FindingValue | None:
        """The stated value of a field, before or in this run."""
        for found in (*self.item.findings, *self.added):
            if found.field is name and found.value is not None:
                return found.value
        return None

    def has(self, name: Field) -> bool:
        """Whether a field is stated, checked or asked already."""
        stated = any(found.field is name for found in (*self.item.findings, *self.added))
        asked = name in self.item.asked or any(point.field is name for point in self.points)
        return stated or asked

    def state(
        self,
        name: Field,
        value: FindingValue | None,
        confidence: float,
        span: Offsets | None,
        rule_id: str,
        note: str = "",
    ) -> None:
        """Add a finding unless the field is settled already."""
        if self.has(name):
            return
        place = None if span is None else self.pages.span(*span)
        self.added.append(Finding(name, value, Origin.MACHINE, confidence, place, rule_id, note))

    def ask(
        self, kind: OpenPointKind, name: Field, reason: str, choices: Iterable[str] = ()
    ) -> None:
        """Add a question unless the field is settled or asked already."""
        if not self.has(name):
            self.points.append(OpenPoint(kind, name, reason, tuple(choices)))

    def close(self) -> None:
        """Required fields that are still open are asked, the others become "checked, none"."""
        for name in self.entry.required:
            if name is Field.DIRECTION and Field.ENTITY in self.item.asked:
                continue
            unstated = f"required for {self.item.doc_type} and not stated in the text"
            self.ask(OpenPointKind.UNKNOWN, name, unstated)
        for name in self.entry.looked_for:
            self.state(name, None, 0.7, None, f"{self.entry.specialist}.not_stated")


# --- booking documents ---------------------------------------------------------------------------


def _booking(work: _Work) -> None:
    """Invoice, credit note, receipt: due date from the terms, booking month, the sum checked."""
    issued = work.value(Field.INVOICE_DATE)
    if isinstance(issued, date):
        _due_from_terms(work, issued)
    _accounting_period(work, issued)
    _check_sum(work)
    _service_from_period(work)


_TERM_REACH = 24
_DAY_COUNT = re.compile(
    r"[\s:]{1,3}(?:von |d'ici |zu )?(?P<days>[0-9]{1,3})\s?(?:kalender)?"
    r"(?:tage?n?|jours?|days?|giorni|gg|j|дней|d)(?!\w)"
)
_COUNT_FIRST = re.compile(
    r"(?<![0-9.,])(?P<days>[0-9]{1,3}) (?:tage|jours|days|giorni)(?: rein)? (?:netto|nets?)(?!\w)"
    r"|(?:terms|payment|conditions|zahlung\w*)\W{1,4}net (?P<net>[0-9]{1,3})(?![\w.,']?\w)"
)


def _due_from_terms(work: _Work, issued: date) -> None:
    """The due date by "zahlbar innerhalb 14 Tagen"; discounts and month ends are left alone."""
    if work.has(Field.DUE_DATE):
        return
    folded = words.fold(work.text)
    found = _terms(folded)
    if len({days for days, _ in found}) != 1:
        return
    days, span = found[0]
    due = issued + timedelta(days=days)
    note = f"{Field.INVOICE_DATE} {issued.isoformat()} + {days} days: {work.text[slice(*span)]}"
    work.state(Field.DUE_DATE, due, 0.85, span, "due_date.terms", note)


def _terms(folded: str) -> list[tuple[int, Offsets]]:
    """Payment terms in days with their places."""
    found: list[tuple[int, Offsets]] = []
    for hit in words.finder("contract", "payment_terms").find(folded):
        span = (hit.start, hit.end)
        if hit.key == "at_once":
            found.append((0, span))
        elif hit.key == "days" and (match := _DAY_COUNT.match(folded, hit.end)) is not None:
            found.append((int(match["days"]), (hit.start, match.end())))
    found += [
        (int(match["days"] or match["net"]), match.span())
        for match in _COUNT_FIRST.finditer(folded)
    ]
    return [(days, span) for days, span in found if not _qualified(folded, span)]


def _qualified(folded: str, span: Offsets) -> bool:
    """Whether a term is a cash discount, runs to a month end, or speaks of something else."""
    around = folded[max(0, span[0] - 40) : span[1] + _TERM_REACH]
    discount = re.search(r"skonto|escompte|discount|sconto|скидк", around) is not None
    keys = {hit.key for hit in words.finder("contract", "payment_terms").find(around)}
    other = re.search(r"widerruf|reklam|einspruch|retour|return|reclam|lieferzeit", around)
    return discount or "month_end" in keys or other is not None


def _accounting_period(work: _Work, issued: FindingValue | None) -> None:
    """The booking month: invoice date before date of receipt (DATE-03)."""
    for name, value in (
        (Field.INVOICE_DATE, issued),
        (Field.DATE_RECEIVED, work.value(Field.DATE_RECEIVED)),
    ):
        if isinstance(value, date):
            confidence = 0.9 if name is Field.INVOICE_DATE else 0.75
            work.state(
                Field.ACCOUNTING_PERIOD,
                f"{value:%Y-%m}",
                confidence,
                None,
                f"accounting_period.from_{name}",
                f"{name} {value.isoformat()}",
            )
            return


_ROUNDING = Decimal("0.02")


def _check_sum(work: _Work) -> None:
    net, tax = work.value(Field.AMOUNT_NET), work.value(Field.AMOUNT_TAX)
    gross = work.value(Field.AMOUNT_GROSS)
    decimals = [v for v in (net, tax, gross) if isinstance(v, Decimal)]
    if len(decimals) == 3 and abs(decimals[0] + decimals[1] - decimals[2]) > _ROUNDING:
        choices = tuple(str(value) for value in decimals)
        reason = "net and tax do not add up to gross"
        work.points.append(OpenPoint(OpenPointKind.CONFLICT, Field.AMOUNT_GROSS, reason, choices))


def _service_from_period(work: _Work) -> None:
    """A period of one day is a day of supply; the axes stay apart otherwise."""
    start, end = work.value(Field.SERVICE_START_DATE), work.value(Field.SERVICE_END_DATE)
    if isinstance(start, date) and start == end:
        work.state(Field.SERVICE_DATE, start, 0.85, None, "service_date.one_day_period")


# --- contracts -----------------------------------------------------------------------------------


def _contract(work: _Work) -> None:
    """Contract, lease, insurance: the START first (SPEC-11), then lengths and deadlines."""
    language, country = work.item.language, work.item.country
    start = contract_start(work.text, language, country)
    _state_term(work, Field.CONTRACT_START_DATE, start)
    if start.state is TermState.NONE:
        _general_terms(work)
    _state_term(work, Field.CONTRACT_END_DATE, contract_end(work.text, language, country))
    notice = contract_periods.notice(work.text)
    _state_notice(work, notice.found)
    renewal = contract_periods.renewal(work.text)
    _state_renewal(work, renewal)
    _state_contract_type(work)
    _state_deadlines(work, notice, renewal)


_TITLE_LINES = 6


def _general_terms(work: _Work) -> None:
    """General terms bind many contracts and begin with none of them: checked, no start."""
    head = "\n".join(work.text.lstrip().split("\n")[:_TITLE_LINES])
    hit = next(words.finder("contract", "general_terms").find(words.fold(head)), None)
    if hit is not None:
        work.state(
            Field.CONTRACT_START_DATE, None, 0.8, None, "term.start.general_terms",
            "general terms, no contract of their own",
        )  # fmt: skip


def _state_term(work: _Work, name: Field, term: TermDate) -> None:
    """A term date as a finding, "checked, none", or a question with its candidates."""
    choices = tuple(day.isoformat() for day in term.candidates)
    if term.state is TermState.FOUND:
        work.state(name, term.value, term.confidence, term.span, term.rule_id, term.note)
    elif term.state is TermState.AMBIGUOUS:
        reason = term.note or "several dates of equal weight"
        work.ask(OpenPointKind.CONFLICT, name, reason, choices)
    elif term.state is TermState.UNRESOLVED:
        work.ask(OpenPointKind.LOW_CONFIDENCE, name, f"only a reference: {term.note}", choices)
    elif term.span is not None or name not in work.entry.required:
        work.state(name, None, term.confidence, term.span, term.rule_id, term.note)


def _state_notice(work: _Work, found: FoundPeriod) -> None:
    if found.rivals:
        choices = tuple(str(period.days) for period in found.rivals)
        reason = "several lengths: " + ", ".join(str(period) for period in found.rivals)
        work.ask(OpenPointKind.CONFLICT, Field.NOTICE_PERIOD_DAYS, reason, choices)
    elif found.period is not None:
        work.state(
            Field.NOTICE_PERIOD_DAYS,
            found.period.days,
            0.9,
            found.span,
            "notice.length",
            f"{found.raw} ({found.period})",
        )


def _state_renewal(work: _Work, renewal: contract_periods.Renewal) -> None:
    if renewal.contradictory:
        work.ask(
            OpenPointKind.CONFLICT,
            Field.AUTO_RENEWAL,
            "the text says both that it renews and that it ends",
            ("true", "false"),
        )
    elif renewal.automatic is not None:
        work.state(
            Field.AUTO_RENEWAL, renewal.automatic, 0.9, renewal.span, "renewal.stated", renewal.raw
        )


_TYPE_OF_KIND = {DocType.LEASE: ContractType.LEASE, DocType.INSURANCE: ContractType.INSURANCE}
_HEAD = 1500


def _state_contract_type(work: _Work) -> None:
    """The group of the contract; an employment contract is closed to most (SPEC-03)."""
    by_kind = _TYPE_OF_KIND.get(work.item.doc_type)
    hit = next(words.finder("contract", "types").find(words.fold(work.text[:_HEAD])), None)
    if by_kind is not None:
        work.state(Field.CONTRACT_TYPE, by_kind.value, 0.95, None, "contract_type.kind")
    elif hit is not None:
        span = (hit.start, hit.end)
        work.state(Field.CONTRACT_TYPE, hit.key, 0.88, span, "contract_type.title")
    if work.value(Field.CONTRACT_TYPE) == ContractType.EMPLOYMENT:
        _tighten(work, Level.STRICT, "level.employment_contract")


def _tighten(work: _Work, level: Level, rule_id: str) -> None:
    """A stricter level than stated; loosening is never done here."""
    stated = work.value(Field.CONFIDENTIALITY_LEVEL)
    current = Level(stated) if isinstance(stated, str) and stated in set(Level) else Level.STRICT
    if stated is None or level.rank > current.rank:
        work.added.append(
            Finding(Field.CONFIDENTIALITY_LEVEL, level.value, Origin.RULE, 0.95, None, rule_id)
        )


def _state_deadlines(
    work: _Work, notice: contract_periods.Notice, renewal: contract_periods.Renewal
) -> None:
    """Renewal, end and notice deadline by computation, each with its derivation (DATE-15)."""
    start, end = work.value(Field.CONTRACT_START_DATE), work.value(Field.CONTRACT_END_DATE)
    stated_renewal = work.value(Field.NEXT_RENEWAL_DATE) or _printed_renewal(work)
    automatic = work.value(Field.AUTO_RENEWAL)
    facts = ContractFacts(
        start=start if isinstance(start, date) else None,
        end=end if isinstance(end, date) else None,
        next_renewal=stated_renewal if isinstance(stated_renewal, date) else None,
        notice=notice.found.period,
        term=contract_periods.term(work.text).period,
        renewal=renewal.period,
        auto_renewal=automatic if isinstance(automatic, bool) else None,
        open_ended=_is_open_ended(work),
        notice_to_an_end=notice.anchor_is_stated and notice.anchor is not Anchor.ANY_TIME,
        source=work.item.source,
    )
    verdict = deadlines.compute(facts, work.item.as_of)
    work.derivations += verdict.candidates
    _state_derived(work, Field.CONTRACT_END_DATE, verdict.contract_end)
    _state_derived(work, Field.NEXT_RENEWAL_DATE, verdict.next_renewal)
    for point in verdict.open_points:
        work.ask(point.kind, point.field, point.reason, point.choices)
    _apply_statute(work, facts)
    _state_derived(work, Field.NOTICE_DEADLINE, verdict.notice_deadline)


def _apply_statute(work: _Work, facts: ContractFacts) -> None:
    """The law where the contract leaves its notice to it or steps over its bounds.

    A rule that nobody signed off is proposed with its source and never stated.
    """
    applied = statutes.apply(
        work.text, work.item.doc_type, work.value(Field.CONTRACT_TYPE), facts, work.item.as_of
    )
    if applied is None:
        return
    if applied.broken is not None:
        work.ask(OpenPointKind.CONFLICT, Field.NOTICE_DEADLINE, applied.broken)
        return
    derivation = applied.derivation
    if derivation is None:
        return
    if applied.signed_off:
        _state_derived(work, Field.NOTICE_DEADLINE, derivation)
        return
    work.derivations.append(derivation)
    reason = f"{derivation}; the rule is not signed off"
    work.ask(
        OpenPointKind.LOW_CONFIDENCE,
        Field.NOTICE_DEADLINE,
        reason,
        (derivation.value.isoformat(),),
    )


def _is_open_ended(work: _Work) -> bool:
    return any(found.rule_id == "term.end.open_ended" for found in work.added)


def _state_derived(work: _Work, name: Field, derivation: Derivation | None) -> None:
    """A computed day; it replaces the "checked, none" of a day that is printed nowhere."""
    if derivation is None:
        return
    work.added[:] = [f for f in work.added if f.field is not name or f.value is not None]
    if derivation not in work.derivations:
        work.derivations.append(derivation)
    rule_id = f"deadline.{derivation.rule}"
    work.state(name, derivation.value, 0.85, None, rule_id, str(derivation))


def _printed_renewal(work: _Work) -> date | None:
    """A renewal date the contract prints itself."""
    mentions = dates.find(work.text, work.item.language, work.item.country)
    printed = {m.value: m for m in mentions if m.role is DateRole.RENEWAL and not m.ambiguous}
    if len(printed) != 1:
        return None
    value, mention = next(iter(printed.items()))
    work.state(
        Field.NEXT_RENEWAL_DATE, value, mention.confidence, mention.span, "renewal.printed",
        mention.label,
    )  # fmt: skip
    return value


# --- letters, notices, payslips ------------------------------------------------------------------


def _letter(work: _Work) -> None:
    """Letters and notices; a start that a letter denies ("Versicherungsbeginn: keine") is noted."""
    start = contract_start(work.text, work.item.language, work.item.country)
    if start.state is TermState.NONE and start.span is not None:
        _state_term(work, Field.CONTRACT_START_DATE, start)
    issued = work.value(Field.LETTER_DATE)
    if isinstance(issued, date) and work.item.doc_type is DocType.REMINDER:
        _due_from_terms(work, issued)


_MONTH_CUES = re.compile(
    r"(?:abrechnungsmonat|abrechnung|monat|periode|période|periodo|period|paie|payslip|cedolino"
    r"|salaire|za|mese|расчетный листок|за)[^\n]{0,24}$"
)


def _payslip(work: _Work) -> None:
    """A payslip belongs to one month, named near its title."""
    mentions = dates.find(work.text, work.item.language, work.item.country)
    months = dates.find_months(work.text, mentions)
    folded = words.fold(work.text)
    cued = [
        month
        for month in months
        if _MONTH_CUES.search(folded[max(0, month.span[0] - 48) : month.span[0]])
    ]
    values = {month.value for month in (cued or months)}
    if len(values) == 1:
        month = (cued or list(months))[0]
        confidence = 0.92 if cued else 0.8
        work.state(
            Field.ACCOUNTING_PERIOD, month.value, confidence, month.span, "accounting_period.month"
        )
    elif values:
        reason = "several months are named"
        work.ask(OpenPointKind.CONFLICT, Field.ACCOUNTING_PERIOD, reason, sorted(values))
    currency = totals.stated_currency(work.text)
    if currency is not None:
        work.state(Field.CURRENCY, currency, 0.9, None, "totals.currency")


SPECIALISTS: Mapping[str, Callable[[_Work], None]] = MappingProxyType(
    {"booking": _booking, "contract": _contract, "letter": _letter, "payslip": _payslip}
)
"""The specialists that exist, by the name the registry calls them."""
