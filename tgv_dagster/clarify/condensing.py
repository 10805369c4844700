"""Condensing: equal corrections in one scope become a proposed rule, with a simulation (LEARN-02).

Here belongs the decision which corrections are equal, what rule follows, what it would have done to
past documents, and its proposal as a case for the person who may approve it. A rule acts only after
approval (LEARN-06). How it is read back stands in `understand.learned`, how it is approved and
switched off in `rules_of_tenant`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.store.actions import Action
from tgv_dagster.store.cards import NewCard
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Level, rank_of
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.learned import LEARNABLE, item_of, rule_of
from tgv_dagster.understand.rules import decide

ENOUGH = 3
"""Equal corrections on different documents that make a proposal."""

CUE_SETS: tuple[tuple[str, ...], ...] = (
    ("provider", "doc_type"),
    ("sender", "doc_type"),
    ("provider",),
    ("sender",),
    ("folder", "doc_type"),
)
"""What may be the common mark of equal corrections, the most telling first."""

MOST_SIMULATED = 20_000
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Lesson:
    """One correction that counts: the newest of its document and field."""

    id: int
    document_id: int
    mandant_id: int
    entity: str | None
    field: Field
    value: str
    cues: dict[str, Any]
    author: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule that follows from equal lessons; scope and origin are part of it (LEARN-04)."""

    mandant_id: int
    entity: str | None
    condition: dict[str, str]
    field: Field
    value: str
    lessons: tuple[int, ...]
    documents: tuple[int, ...]
    authors: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """The identity of the rule: the same lessons again propose nothing new."""
        whole = [self.mandant_id, self.entity, self.condition, str(self.field), self.value]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a rule would have done to past documents of its scope.

    `agrees`: the value stands there already; `fills`: there was none; `changes`: a machine's value
    would have been replaced; `contradicts`: a person decided otherwise.
    """

    matching: int
    agrees: int
    fills: int
    changes: int
    contradicts: int
    examples: tuple[int, ...]
    contradicted: tuple[int, ...]
    truncated: bool

    def to_json(self) -> dict[str, Any]:
        """The form in which it is stored and shown."""
        return {
            "matching": self.matching,
            "agrees": self.agrees,
            "fills": self.fills,
            "changes": self.changes,
            "contradicts": self.contradicts,
            "examples": list(self.examples),
            "contradicted": list(self.contradicted),
            "truncated": self.truncated,
        }


def condense(lessons: Sequence[Lesson]) -> tuple[Proposal, ...]:
    """The rules that follow from lessons. Pure; linear in their number.

    Lessons are equal when tenant, entity, field and value are the same and they share a mark. A
    mark under which somebody taught something else makes no rule.
    """
    groups: dict[tuple[str, ...], dict[_Place, list[Lesson]]] = {}
    for names in CUE_SETS:
        places = groups.setdefault(names, {})
        for lesson in lessons:
            mark = _mark(lesson, names)
            if mark is not None:
                places.setdefault(_place(lesson, mark), []).append(lesson)
    found: dict[str, Proposal] = {}
    for lesson in lessons:
        for names in CUE_SETS:
            mark = _mark(lesson, names)
            if mark is None:
                continue
            alike = groups[names][_place(lesson, mark)]
            if len({other.value for other in alike}) != 1 or _documents(alike) < ENOUGH:
                continue
            proposal = _proposal(lesson, alike, mark)
            found.setdefault(proposal.fingerprint, proposal)
            break
    return tuple(found.values())


_Place = tuple[int, str | None, Field, tuple[tuple[str, str], ...]]


def _place(lesson: Lesson, mark: dict[str, str]) -> _Place:
    """Scope, field and mark of a lesson; marks differ in more than upper and lower case."""
    folded = tuple((name, value.casefold()) for name, value in mark.items())
    return (lesson.mandant_id, lesson.entity, lesson.field, folded)


def _documents(lessons: Sequence[Lesson]) -> int:
    return len({lesson.document_id for lesson in lessons})


def _proposal(lesson: Lesson, alike: Sequence[Lesson], mark: dict[str, str]) -> Proposal:
    return Proposal(
        mandant_id=lesson.mandant_id,
        entity=lesson.entity,
        condition={name: value.casefold() for name, value in mark.items()},
        field=lesson.field,
        value=lesson.value,
        lessons=tuple(sorted(other.id for other in alike)),
        documents=tuple(sorted({other.document_id for other in alike})),
        authors=tuple(sorted({other.author for other in alike})),
    )


def _mark(lesson: Lesson, names: Iterable[str]) -> dict[str, str] | None:
    mark: dict[str, str] = {}
    for name in names:
        raw = str(lesson.cues.get(name, ""))
        value = raw.strip()
        if not value or (name in _EXACT and raw != value):
            return None
        mark["folder_glob" if name == "folder" else name] = (
            _literal_glob(value) if name == "folder" else value
        )
    return mark


_EXACT = frozenset({"doc_type", "folder"})
"""Compared as they stand: a name that begins or ends with a blank could not be matched again."""


def _literal_glob(text: str) -> str:
    """A pattern that fits exactly this text: the marks of a pattern stand in brackets."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in text)


# --- reading lessons ---------------------------------------------------------------------------


def lessons_of(
    connection: Connection, *, mandant_id: int | None = None, fields: Iterable[Field] = LEARNABLE
) -> tuple[Lesson, ...]:
    """The lessons that count: not withdrawn, the newest per document and field, of real documents.

    They count where their document stands now: what was moved to another tenant teaches there.
    A lesson about the entity holds for the tenant: its rule acts before an entity is decided.
    """
    rows = connection.execute(
        """
        SELECT DISTINCT ON (l.document_id, l.field) l.id, l.document_id, d.mandant_id,
            CASE WHEN l.field = 'entity' THEN NULL ELSE d.entity END, l.field,
            l.new_value, l.cues, l.author
        FROM learning_events l JOIN documents d ON d.id = l.document_id AND NOT d.is_test
        WHERE l.withdrawn_at IS NULL AND d.mandant_id IS NOT NULL AND l.field = ANY (%s)
          AND (%s::integer IS NULL OR d.mandant_id = %s)
        ORDER BY l.document_id, l.field, l.id DESC
        """,
        ([str(field) for field in fields], mandant_id, mandant_id),
    ).fetchall()
    return tuple(
        Lesson(row[0], row[1], row[2], row[3], Field(row[4]), row[5], row[6], row[7])
        for row in rows
        if row[5] is not None
    )


def simulate(connection: Connection, proposal: Proposal) -> Simulation:
    """What the rule would have done to the newest past documents of its scope."""
    rule = rule_of(
        0,
        proposal.mandant_id,
        proposal.entity,
        dict(proposal.condition),
        {str(proposal.field): proposal.value},
    )
    rows = connection.execute(
        """
        SELECT d.id, d.entity, d.cues,
            (SELECT v.value FROM document_values v WHERE v.document_id = d.id AND v.active
                AND v.field = %(field)s AND v.origin <> 'rule'
                ORDER BY v.origin = 'human' DESC, v.confidence DESC NULLS LAST LIMIT 1),
            EXISTS (SELECT 1 FROM document_values v WHERE v.document_id = d.id AND v.active
                AND v.field = %(field)s AND v.origin = 'human')
        FROM documents d
        WHERE d.mandant_id = %(mandant)s AND d.cues IS NOT NULL AND NOT d.is_test
        ORDER BY d.id DESC LIMIT %(most)s
        """,
        {"field": proposal.field, "mandant": proposal.mandant_id, "most": MOST_SIMULATED + 1},
    ).fetchall()
    counts = {"agrees": 0, "fills": 0, "changes": 0, "contradicts": 0}
    examples: list[int] = []
    contradicted: list[int] = []
    for document_id, entity, cues, value, by_person in rows[:MOST_SIMULATED]:
        scope_entity = proposal.entity if proposal.field is Field.ENTITY else entity
        item = item_of(cues, mandant_id=proposal.mandant_id, entity=scope_entity)
        if not decide((rule,), item).matched:
            continue
        outcome = _outcome(proposal, value, by_person=by_person)
        counts[outcome] += 1
        examples.append(document_id)
        if outcome == "contradicts":
            contradicted.append(document_id)
    return Simulation(
        matching=len(examples),
        **counts,
        examples=tuple(examples[:MOST_NAMED]),
        contradicted=tuple(contradicted[:MOST_NAMED]),
        truncated=len(rows) > MOST_SIMULATED,
    )


def _outcome(proposal: Proposal, value: str | None, *, by_person: bool) -> str:
    if value == proposal.value:
        return "agrees"
    if by_person:
        return "contradicts"
    return "fills" if value in (None, "unknown") else "changes"


# --- proposing ---------------------------------------------------------------------------------


def propose_rules(
    connection: Connection, *, mandant_id: int | None = None, fields: Iterable[Field] = LEARNABLE
) -> tuple[int, ...]:
    """Propose every rule that follows and does not stand yet; returns the numbers of new ones.

    A rule that was refused or switched off is proposed again only by lessons learned since.
    """
    wanted = frozenset(fields) & LEARNABLE
    if not wanted:
        return ()
    proposals = condense(lessons_of(connection, mandant_id=mandant_id, fields=wanted))
    made: list[int] = []
    for proposal in proposals:
        rule_id = _store(connection, proposal)
        if rule_id is not None:
            made.append(rule_id)
    return tuple(made)


def unproposed(connection: Connection) -> tuple[Proposal, ...]:
    """Rules that follow from what was taught and stand nowhere: condensing left them out."""
    known = {
        row[0]: tuple(row[1])
        for row in connection.execute(
            "SELECT fingerprint, ARRAY(SELECT jsonb_array_elements_text(origin -> 'lessons'))"
            " FROM pattern_rules WHERE fingerprint IS NOT NULL"
        )
    }
    return tuple(p for p in condense(lessons_of(connection)) if p.fingerprint not in known)


def _store(connection: Connection, proposal: Proposal) -> int | None:
    standing = connection.execute(
        "SELECT id, state, origin -> 'lessons' FROM pattern_rules WHERE fingerprint = %s"
        " FOR UPDATE",
        (proposal.fingerprint,),
    ).fetchone()
    if standing is not None and (
        standing[1] != "off"
        or len([one for one in proposal.lessons if one > max(standing[2], default=0)]) < ENOUGH
    ):
        return None
    simulation = simulate(connection, proposal)
    origin = {
        "lessons": list(proposal.lessons),
        "documents": list(proposal.documents),
        "authors": list(proposal.authors),
    }
    row = connection.execute(
        """
        INSERT INTO pattern_rules (mandant_id, scope, origin, condition, effect, simulation,
            fingerprint)
        VALUES (%s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (fingerprint) DO UPDATE SET state = 'proposed', origin = excluded.origin,
            simulation = excluded.simulation, approved_by = NULL, switched_off_by = NULL,
            changed_at = now()
        WHERE pattern_rules.state = 'off' RETURNING id
        """,
        (
            proposal.mandant_id,
            Jsonb({"mandant_id": proposal.mandant_id, "entity": proposal.entity}),
            Jsonb(origin),
            Jsonb(proposal.condition),
            Jsonb({str(proposal.field): proposal.value}),
            Jsonb(simulation.to_json()),
            proposal.fingerprint,
        ),
    ).fetchone()
    if row is None:  # another transaction proposed the same between our two statements
        return None
    _ask(connection, int(row[0]), proposal, simulation, origin)
    return int(row[0])


def _ask(
    connection: Connection,
    rule_id: int,
    proposal: Proposal,
    simulation: Simulation,
    origin: dict[str, Any],
) -> None:
    case_id = open_case(
        connection,
        NewCase(
            kind=CaseKind.RULE,
            subject_kind=SubjectKind.RULE,
            subject_key=str(rule_id),
            reason=f"{proposal.field} = {proposal.value}",
            author=SERVICE_LOGIN,
            mandant_id=proposal.mandant_id,
            entity=proposal.entity,
            confidentiality_level=_strictest(connection, proposal.documents),
            evidence={
                "scope": {"mandant_id": proposal.mandant_id, "entity": proposal.entity},
                "condition": proposal.condition,
                "effect": {str(proposal.field): proposal.value},
                "origin": origin,
                "examples": list(proposal.documents),
                "simulation": simulation.to_json(),
            },
            cards=(
                NewCard(
                    Action.APPROVE_RULE,
                    {"rule_id": rule_id},
                    SERVICE_LOGIN,
                    {"state": "proposed", "fingerprint": proposal.fingerprint},
                ),
            ),
        ),
    )
    connection.execute("UPDATE pattern_rules SET case_id = %s WHERE id = %s", (case_id, rule_id))
    record(
        connection,
        Event(
            kind="rule.proposed",
            author=SERVICE_LOGIN,
            object=f"rule:{rule_id}",
            reason="equal corrections make a rule",
            entity=proposal.entity,
            mandant_id=proposal.mandant_id,
            payload={"case": case_id, "lessons": list(proposal.lessons)},
        ),
    )


def _strictest(connection: Connection, documents: Sequence[int]) -> str:
    """The case names values of these documents, so it stands behind the strictest wall of them."""
    rows = connection.execute(
        "SELECT DISTINCT confidentiality_level FROM documents WHERE id = ANY (%s)",
        (list(documents),),
    ).fetchall()
    ranks = [rank_of(row[0]) for row in rows]
    return str(tuple(Level)[max(ranks, default=len(Level) - 1)])
