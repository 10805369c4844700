"""What triage needs from the database, and what the document row needs from triage.

Loads the closed vocabulary (TRI-07), the routing rules and what people decided before, calls the
pure `triage`, and derives tenant and specialist plan. The tenant of an arrival is a wall: a folder
of one tenant never files into another, whatever the paper says (that becomes a question).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from tgv_dagster.arrive.gates import PartRole
from tgv_dagster.store import tuning
from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import Level, is_known
from tgv_dagster.understand.entity import EntityHint, HintSource
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.extracted import Extraction
from tgv_dagster.understand.extracting import MAIL_TYPE, ArrivedBytes
from tgv_dagster.understand.learned import load_learned
from tgv_dagster.understand.rules import Action, Assignment, Rule, parse_conditions
from tgv_dagster.understand.thresholds import thresholds_of
from tgv_dagster.understand.triage import (
    MailFacts,
    Thresholds,
    TriageInput,
    TriageResult,
    triage,
)
from tgv_dagster.understand.versions import deciding_version
from tgv_dagster.understand.vocabulary import EntityEntry, ProjectEntry, Vocabulary

TRIAGE_VERSION = deciding_version()
"""Version of the deterministic cascade, by its sources; stands on every value it writes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the document row needs: the result of triage and the tenant that follows from it."""

    triage: TriageResult
    has_tenants: bool
    mandant_id: int | None
    mandant: str | None
    media_type: str | None

    @property
    def blocked_by(self) -> str | None:
        """The routing rule that stops the arrival."""
        return self.triage.blocked_by

    @property
    def entity(self) -> str | None:
        """Slug of the decided entity."""
        return self.triage.entity_slug

    @property
    def entity_quelle(self) -> str | None:
        """Where the entity comes from (TRI-08)."""
        return None if self.triage.entity_quelle is None else str(self.triage.entity_quelle)


def decide(
    connection: Connection,
    arrived: ArrivedBytes,
    extraction: Extraction,
    *,
    thresholds: Thresholds | None = None,
) -> Decision:
    """Triage one arrival with the vocabulary and the rules of its tenant.

    `thresholds` other than the registered ones are for simulations.
    """
    vocabulary = load_vocabulary(connection, is_test=arrived.is_test)
    mandanten = {e.mandant_slug: e.mandant_id for e in vocabulary.entities}
    own = _mandant_id(connection, arrived.mandant)
    result = triage(
        TriageInput(
            pages=tuple(unicodedata.normalize("NFC", page.text) for page in extraction.pages),
            vocabulary=vocabulary,
            languages=_languages(connection, arrived.mandant),
            file_name=arrived.file_name,
            media_type=arrived.media_type or "",
            gate=str(arrived.gate),
            folder=str(arrived.origin.path or "").rpartition("/")[0],
            is_mail_body=arrived.part_role is PartRole.BODY or arrived.media_type == MAIL_TYPE,
            mail=MailFacts(
                subject=arrived.origin.mail_subject or "",
                sender=arrived.origin.mail_from or "",
                headers=tuple((arrived.origin.mail_headers or "").split()),
            ),
            einvoice=extraction.einvoice,
            intent_text="\n".join(
                part for part in (arrived.intent_text, arrived.origin.project_hint) if part
            ),
            hint=_hint(connection, arrived),
            mandant_id=own,
            rules=load_rules(connection),
            learned=load_learned(connection),
            thresholds=thresholds or thresholds_of(tuning.load_in(connection)),
        )
    )
    mandant_id = result.mandant_id if result.mandant_id is not None else own
    slugs = {number: slug for slug, number in mandanten.items()}
    return Decision(
        triage=result,
        has_tenants=bool(vocabulary.entities) or own is not None,
        mandant_id=mandant_id,
        mandant=slugs.get(mandant_id, arrived.mandant) if mandant_id is not None else None,
        media_type=arrived.media_type,
    )


def load_rules(connection: Connection) -> tuple[Rule, ...]:
    """The active routing rules in their order (TRI-06)."""
    rows = connection.execute(
        "SELECT name, action, conditions, assign, mandant_id, continues, reason"
        " FROM routing_rules WHERE active ORDER BY position, id"
    ).fetchall()
    return tuple(
        Rule(
            rule_id=name,
            action=Action(action),
            conditions=parse_conditions(name, conditions),
            assignments=tuple(Assignment(Field(f), str(v)) for f, v in assign.items()),
            mandant_id=mandant_id,
            continues=continues,
            reason=reason,
        )
        for name, action, conditions, assign, mandant_id, continues, reason in rows
    )


def load_vocabulary(connection: Connection, *, is_test: bool = False) -> Vocabulary:
    """The entities and projects of every tenant; triage narrows them to the arrival's own."""
    entities = connection.execute(
        """
        SELECT e.slug, e.mandant_id, m.slug, e.kind, e.legal_name, e.aliases, e.vat_ids, e.ibans,
            e.register_no, e.siren, e.address, e.email_domains, e.default_level
        FROM entities e JOIN mandanten m ON m.id = e.mandant_id
        WHERE e.is_test = %s ORDER BY e.id
        """,
        (is_test,),
    ).fetchall()
    projects = connection.execute(
        "SELECT p.project_code, p.entity_key, p.name, p.aliases FROM prf_projects p"
        " JOIN entities e ON e.slug = p.entity_key WHERE p.active AND e.is_test = %s ORDER BY p.id",
        (is_test,),
    ).fetchall()
    return Vocabulary(
        entities=tuple(_entity(row) for row in entities),
        projects=tuple(ProjectEntry(row[0], row[1], row[2], tuple(row[3])) for row in projects),
    )


def _hint(connection: Connection, arrived: ArrivedBytes) -> EntityHint | None:
    """What the way of arrival suggests: the folder somebody chose, else the mailbox address."""
    if arrived.entity_hint is not None:
        return EntityHint(arrived.entity_hint, HintSource.FOLDER)
    if not arrived.origin.mail_to:
        return None
    row = connection.execute(
        "SELECT slug FROM entities WHERE lower(intake_mail) = ANY (%s)",
        ([address.strip().lower() for address in arrived.origin.mail_to.split(",")],),
    ).fetchall()
    return EntityHint(row[0][0], HintSource.MAILBOX) if len(row) == 1 else None


def _mandant_id(connection: Connection, mandant: str | None) -> int | None:
    row = connection.execute("SELECT id FROM mandanten WHERE slug = %s", (mandant,)).fetchone()
    return None if row is None else int(row[0])


def _languages(connection: Connection, mandant: str | None) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT languages FROM mandanten WHERE %s::text IS NULL OR slug = %s ORDER BY id",
        (mandant, mandant),
    ).fetchall()
    return tuple(dict.fromkeys(code for row in rows for code in row[0])) or ("de", "fr", "en")


def _entity(row: tuple[Any, ...]) -> EntityEntry:
    register = "; ".join(part for part in (row[8], row[9]) if part)
    return EntityEntry(
        slug=row[0],
        mandant_id=row[1],
        mandant_slug=row[2],
        kind=row[3],
        legal_name=row[4],
        aliases=tuple(row[5]),
        vat_ids=tuple(row[6]),
        ibans=tuple(row[7]),
        register_no=register or None,
        address=row[10],
        email_domains=tuple(row[11]),
        default_level=Level(row[12]) if is_known(row[12]) else None,
    )
