"""Statutes: which statutory notice rule a contract falls under, by its own words.

Deny by default: a rule is applied only where the contract names its law and leaves the notice to
it, or where an agreed notice steps over the bounds of that law. The rules are in `notice_rules`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tgv_dagster.deepen import notice_rules
from tgv_dagster.deepen.deadlines import ContractFacts, DeadlineRule, Derivation
from tgv_dagster.deepen.notice_rules import Kind, NoticeRule
from tgv_dagster.understand import words
from tgv_dagster.understand.doctypes import ContractType, DocType
from tgv_dagster.understand.evidence import Field, FindingValue


@dataclass(frozen=True, slots=True)
class Applied:
    """What the law says: a computed day, or how an agreed notice breaks it."""

    derivation: Derivation | None = None
    signed_off: bool = False
    broken: str | None = None


def apply(
    text: str,
    doc_type: DocType,
    contract_type: FindingValue | None,
    facts: ContractFacts,
    as_of: date | None,
) -> Applied | None:
    """The statute for a contract, None where none is called for.

    Without `as_of` no day can be the next one, and nothing is computed.
    """
    folded = words.fold(text)
    law = _law(folded)
    subject = None if law is None else _subject(folded, doc_type, contract_type)
    if law is None or subject is None or as_of is None or facts.start is None:
        return None
    if facts.notice is not None:
        rule = _bounds(law, subject, facts.start)
        if rule is None or notice_rules.is_within(rule, facts.notice):
            return None
        return Applied(broken=f"the agreed notice of {facts.notice} is outside {rule.source}")
    if next(words.finder("contract", "statutory_notice").find(folded), None) is None:
        return None
    return _computed(law, subject, facts.start, as_of, facts.source)


def _bounds(law: str, subject: str, day: date) -> NoticeRule | None:
    return next(
        (
            rule
            for rule in notice_rules.load()
            if (rule.jurisdiction, rule.subject, rule.kind) == (law, subject, Kind.BOUNDS)
            and rule.holds_on(day)
        ),
        None,
    )


def _computed(law: str, subject: str, start: date, as_of: date, source: str) -> Applied | None:
    rule = notice_rules.find(law, subject, as_of)
    found = None if rule is None else notice_rules.next_notice(rule, start, as_of)
    if rule is None or found is None or found.last_day is None:
        return None
    disputed = () if found.disputed is None else (("disputed", found.disputed.isoformat()),)
    inputs = (
        (Field.CONTRACT_START_DATE.value, start.isoformat()),
        ("statute", f"{rule.source}, law since {rule.valid_from.isoformat()}"),
        ("as_of", as_of.isoformat()),
        ("ends_on", found.ends_on.isoformat()),
        *disputed,
    )
    derivation = Derivation(DeadlineRule.STATUTE, found.last_day, inputs, source)
    return Applied(derivation, signed_off=bool(rule.reviewer))


def _law(folded: str) -> str | None:
    """The one law that the text names."""
    named = {hit.key for hit in words.finder("contract", "jurisdictions").find(folded)}
    return named.pop() if len(named) == 1 else None


def _subject(folded: str, doc_type: DocType, contract_type: FindingValue | None) -> str | None:
    if doc_type is DocType.INSURANCE:
        return "insurance"
    if contract_type == ContractType.EMPLOYMENT:
        return "employment"
    if doc_type is not DocType.LEASE:
        return None
    let = {hit.key for hit in words.finder("contract", "premises").find(folded)}
    return let.pop() if len(let) == 1 else None
