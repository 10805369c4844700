"""Routing rules: what is decided about an item before its content is read (TRI-06).

Here belongs the evaluation of configured and learned rules: allow, block, assign; the first that
matches ends the search unless it says continue. Where rules are stored, proposed or switched off
belongs to the store and the learning loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from tgv_dagster.understand.evidence import Field


class RuleError(ValueError):
    """A rule that cannot be used; the message names rule and fault."""


class Action(StrEnum):
    """What a rule does."""

    ALLOW = "allow"
    BLOCK = "block"
    ASSIGN = "assign"


class Subject(StrEnum):
    """What a condition looks at."""

    GATE = "gate"
    SENDER = "sender"
    SENDER_DOMAIN = "sender_domain"
    SUBJECT_CONTAINS = "subject_contains"
    HAS_HEADER = "has_header"
    NAME_GLOB = "name_glob"
    MEDIA_TYPE = "media_type"
    FOLDER_GLOB = "folder_glob"
    DOC_TYPE = "doc_type"
    PROVIDER = "provider"
    TEXT_CONTAINS = "text_contains"


CONTENT_SUBJECTS = frozenset({Subject.DOC_TYPE, Subject.PROVIDER, Subject.TEXT_CONTAINS})
"""Subjects that are only known after reading; a routing rule may not use them."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; it holds when any of `values` fits."""

    subject: Subject
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """A value a rule sets."""

    field: Field
    value: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. All conditions must hold; a rule without conditions is refused.

    `mandant_id` None is a rule for every tenant, else the rule's scope ends at that tenant's wall
    (TRI-11); `entity_slug` narrows it further to documents of one entity.
    """

    rule_id: str
    action: Action
    conditions: tuple[Condition, ...]
    assignments: tuple[Assignment, ...] = ()
    mandant_id: int | None = None
    entity_slug: str | None = None
    continues: bool = False
    active: bool = True
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.conditions:
            raise RuleError(f"rule {self.rule_id}: a rule without conditions matches everything")
        if self.action is Action.ASSIGN and not self.assignments:
            raise RuleError(f"rule {self.rule_id}: assign without a value")
        if any(not condition.values for condition in self.conditions):
            raise RuleError(f"rule {self.rule_id}: a condition without values")


@dataclass(frozen=True, slots=True)
class RuleItem:
    """What rules may look at; the last three are empty before the content is read.

    `headers` are the names of the mail headers present. `mandant_id` is the tenant of the gate or,
    later, of the decided entity; None while no tenant is known.
    """

    gate: str = ""
    sender: str = ""
    subject: str = ""
    headers: tuple[str, ...] = ()
    file_name: str = ""
    folder: str = ""
    media_type: str = ""
    mandant_id: int | None = None
    entity_slug: str | None = None
    doc_type: str = ""
    provider: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class RoutingDecision:
    """The outcome: who blocked, what was assigned by which rule, and the rules that matched."""

    blocked_by: str | None
    assignments: tuple[tuple[str, Assignment], ...]
    matched: tuple[str, ...]
    reason: str = ""

    def assigned(self, field: Field) -> tuple[str, str] | None:
        """Rule id and value of the first assignment of a field."""
        return next(
            ((rule, item.value) for rule, item in self.assignments if item.field is field), None
        )


NO_DECISION = RoutingDecision(None, (), ())


def decide(rules: Iterable[Rule], item: RuleItem) -> RoutingDecision:
    """Run the rules in order over one item; inactive rules and foreign scopes are passed over.

    The first assignment of a field stays; a later rule adds only other fields.
    """
    assigned: dict[Field, tuple[str, Assignment]] = {}
    matched: list[str] = []
    for rule in rules:
        if not rule.active or not _in_scope(rule, item) or not _holds(rule, item):
            continue
        matched.append(rule.rule_id)
        if rule.action is Action.BLOCK:
            return RoutingDecision(
                rule.rule_id, tuple(assigned.values()), tuple(matched), rule.reason
            )
        for assignment in rule.assignments:
            assigned.setdefault(assignment.field, (rule.rule_id, assignment))
        if not rule.continues:
            break
    return RoutingDecision(None, tuple(assigned.values()), tuple(matched))


def parse_conditions(rule_id: str, when: Mapping[str, object]) -> tuple[Condition, ...]:
    """Conditions of a stored rule, `{subject: value or list of values}`.

    Raises RuleError for an unknown subject or a value that is no text, so that a misspelt
    condition never widens a rule.
    """
    conditions: list[Condition] = []
    for name, raw in when.items():
        try:
            subject = Subject(name)
        except ValueError:
            raise RuleError(f"rule {rule_id}: unknown condition {name!r}") from None
        values = raw if isinstance(raw, list | tuple) else [raw]
        if not all(isinstance(value, str) and value.strip() for value in values):
            raise RuleError(f"rule {rule_id}: condition {name} must be text")
        conditions.append(Condition(subject, tuple(str(value) for value in values)))
    return tuple(conditions)


def _in_scope(rule: Rule, item: RuleItem) -> bool:
    if rule.mandant_id is not None and rule.mandant_id != item.mandant_id:
        return False
    return rule.entity_slug is None or rule.entity_slug == item.entity_slug


def _holds(rule: Rule, item: RuleItem) -> bool:
    return all(
        any(_fits(condition.subject, value, item) for value in condition.values)
        for condition in rule.conditions
    )


def _fits(subject: Subject, value: str, item: RuleItem) -> bool:
    wanted = value.strip().casefold()
    match subject:
        case Subject.GATE:
            return item.gate.casefold() == wanted
        case Subject.SENDER:
            return item.sender.strip().casefold() == wanted
        case Subject.SENDER_DOMAIN:
            domain = item.sender.strip().casefold().rpartition("@")[2].rstrip(">")
            return bool(domain) and (domain == wanted or domain.endswith("." + wanted))
        case Subject.SUBJECT_CONTAINS:
            return wanted in item.subject.casefold()
        case Subject.HAS_HEADER:
            return any(header.casefold() == wanted for header in item.headers)
        case Subject.NAME_GLOB:
            return fnmatchcase(item.file_name.casefold(), wanted)
        case Subject.FOLDER_GLOB:
            return fnmatchcase(item.folder.casefold(), wanted)
        case Subject.MEDIA_TYPE:
            return item.media_type.casefold().startswith(wanted)
        case Subject.DOC_TYPE:
            return item.doc_type.casefold() == wanted
        case Subject.PROVIDER:
            return bool(item.provider) and item.provider.strip().casefold() == wanted
        case Subject.TEXT_CONTAINS:
            return wanted in item.text.casefold()
