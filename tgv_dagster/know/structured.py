"""Questions about dates, amounts, persons and register numbers, answered from fields (RET-42, 43).

A date or an amount means nothing in a vector, and the top chunks say little of a person. Here the
terms of a question are looked up in the values of documents, in the parties they mention and in
the own entities, behind the walls of the reader. It says how many of how many documents it used.
What does not belong here: searching text (`vectors`, `words`) and listing documents by filters
(`document_list`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.know.balance import WayState
from tgv_dagster.know.folding import collapse, fold
from tgv_dagster.know.folding import words as words_in
from tgv_dagster.know.queries import QueryTerms
from tgv_dagster.know.vectors import narrowing
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.evidence import Field

SHOWN_AT_MOST = 6
"""Documents an answer shows; the rest is counted."""

STATEMENT_MS = 5_000
_NAMES_AT_MOST = 5_000
_CANDIDATES_AT_MOST = 2_000


class Asked(StrEnum):
    """What a question asks for by its value."""

    DATE = "date"
    AMOUNT = "amount"
    NUMBER = "number"
    PARTY = "party"


@dataclass(frozen=True, slots=True)
class FieldHit:
    """One document found by one of its fields; `value` is the stored form."""

    document_id: int
    title: str
    asked: Asked
    field: str
    value: str

    @property
    def link(self) -> str:
        """The source link shown in prose."""
        return f"#{self.document_id}"


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """What the fields answer: `used` documents are shown `of` those that match for this reader.

    TRUNCATED when more names or documents fit the question than were looked at.
    """

    hits: tuple[FieldHit, ...] = ()
    used: int = 0
    of: int = 0
    state: WayState = WayState.COMPLETE
    reason: str = ""


NOT_RUN = FieldAnswer(state=WayState.NOT_RUN)


@dataclass(frozen=True, slots=True)
class FieldTerms:
    """What of a question can stand in a field, in stored forms.

    days: ISO dates; month_days: "08-31"; months: "2026-08"; amounts: plain decimals; numbers:
    identifiers without signs; words: collapsed words that may name a party.
    """

    days: tuple[str, ...] = ()
    month_days: tuple[str, ...] = ()
    months: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(
            (self.days, self.month_days, self.months, self.amounts, self.numbers, self.words)
        )


_TOKEN = re.compile(
    r"d(?P<day>\d{8})|a(?P<month_day>\d{4})|m(?P<month>\d{6})|n(?P<amount>\d{1,15}(?:\.\d{1,4})?)"
    r"|x(?P<number>[a-z0-9]{3,40})"
)


def field_terms(terms: QueryTerms) -> FieldTerms:
    """The dates, amounts, numbers and names of a question as fields store them."""
    found: dict[str, dict[str, None]] = {}
    for term in terms.ids:
        for token in term.exact:
            match = _TOKEN.fullmatch(token)
            if match is not None and match.lastgroup is not None:
                found.setdefault(match.lastgroup, {})[match.group(match.lastgroup)] = None

    def of(kind: str) -> Iterable[str]:
        return found.get(kind, {})

    return FieldTerms(
        days=tuple(f"{day[:4]}-{day[4:6]}-{day[6:]}" for day in of("day")),
        month_days=tuple(f"{day[:2]}-{day[2:]}" for day in of("month_day")),
        months=tuple(f"{month[:4]}-{month[4:]}" for month in of("month")),
        amounts=tuple(of("amount")),
        numbers=tuple(of("number")),
        words=tuple(word.plain for word in terms.words if not word.plain.isdigit()),
    )


# --- the look-up -------------------------------------------------------------------------------

_DATES = tuple(
    str(field)
    for field in Field
    if field.endswith("_date") or field in (Field.NOTICE_DEADLINE, Field.DATE_RECEIVED)
)
_AMOUNTS = tuple(str(field) for field in Field if field.startswith("amount_"))
_NUMBERS = tuple(str(field) for field in Field if field.endswith("_number"))

_LOOK_UP = """
    WITH seen AS (
        SELECT document_id, title, entity FROM (
            SELECT id AS document_id, mandant_id, date_received, invoice_date, entity,
                coalesce(nullif(title, ''), file_name) AS title
            FROM documents WHERE state = 'active'
              AND (id = ANY (%(candidates)s) OR entity = ANY (%(entities)s))) d
        WHERE true{narrowing}),
    values_in_force AS (
        SELECT v.document_id, v.field, v.value FROM document_values v
        WHERE v.document_id = ANY (%(candidates)s) AND v.active AND v.value IS NOT NULL
          AND NOT EXISTS (
            SELECT 1 FROM document_values o
            WHERE o.document_id = v.document_id AND o.field = v.field AND o.active
              AND (o.origin = 'human') > (v.origin = 'human'))),
    hits AS (
        SELECT document_id, 'date' AS asked, field, value FROM values_in_force
        WHERE (field = ANY (%(date_fields)s)
                AND (value = ANY (%(days)s) OR right(value, 5) = ANY (%(month_days)s)
                     OR left(value, 7) = ANY (%(months)s)))
            OR (field = 'accounting_period' AND value = ANY (%(months)s))
        UNION SELECT document_id, 'amount', field, value FROM values_in_force
        WHERE field = ANY (%(amount_fields)s)
            AND CASE WHEN value ~ '^-?[0-9]{{1,15}}([.][0-9]{{1,6}})?$'
                THEN abs(value::numeric) = ANY (%(amounts)s::numeric[]) ELSE false END
        UNION SELECT document_id, 'number', field, value FROM values_in_force
        WHERE field = ANY (%(number_fields)s)
            AND regexp_replace(lower(value), '[^a-z0-9]', '', 'g') = ANY (%(numbers)s)
        UNION SELECT document_id, 'party', role, name_raw FROM contact_mentions
        WHERE document_id = ANY (%(candidates)s) AND name_raw = ANY (%(names)s)
        UNION SELECT document_id, 'party', role, number FROM contact_mentions,
            LATERAL unnest(ARRAY[iban, vat_id]) AS number
        WHERE document_id = ANY (%(candidates)s)
            AND regexp_replace(lower(number), '[^a-z0-9]', '', 'g') = ANY (%(numbers)s)
        UNION SELECT s.document_id, 'party', 'entity', e.legal_name
        FROM entities e JOIN seen s ON s.entity = e.slug WHERE e.slug = ANY (%(entities)s)),
    matching AS (
        SELECT document_id, title, count(DISTINCT asked) AS kinds, bool_or(field <> 'entity') AS own
        FROM hits JOIN seen USING (document_id) GROUP BY document_id, title),
    shown AS (
        SELECT *, count(*) OVER () AS total FROM matching
        ORDER BY kinds DESC, own DESC, document_id DESC LIMIT %(most)s)
    SELECT total, document_id, title, asked, field, value
    FROM shown JOIN hits USING (document_id)
    ORDER BY kinds DESC, own DESC, document_id DESC, asked, field, value
"""
"""Documents that answer more kinds of what was asked come first, then the newest."""


def answer_from_fields(
    database: Database, connection: Connection, scope: Scope, terms: QueryTerms
) -> FieldAnswer:
    """What the fields of visible documents answer, on the connection of `database.reading(scope)`.

    A value that a person replaced does not count. With a pinned document nothing but its vectors
    is asked (RET-14). Raises UnknownAxis; psycopg.errors.QueryCanceled after STATEMENT_MS.
    """
    asked = field_terms(terms)
    if scope.context_doc_id is not None:
        return NOT_RUN
    if not asked:
        return FieldAnswer()
    names, candidates, truncated = _candidates(database, scope, asked)
    entities = _entities(connection, asked)
    if not candidates and not entities:
        return FieldAnswer()
    connection.execute(f"SET LOCAL statement_timeout = {STATEMENT_MS}".encode())
    narrow = narrowing(connection, scope)
    rows = connection.execute(
        _LOOK_UP.format(narrowing=narrow.sql).encode(),
        narrow.parameters | _parameters(asked, names, entities) | {"candidates": candidates},
    ).fetchall()
    return FieldAnswer(
        hits=tuple(
            FieldHit(document_id, title, Asked(kind), field, value)
            for _, document_id, title, kind, field, value in rows
        ),
        used=len({row[1] for row in rows}),
        of=rows[0][0] if rows else 0,
        state=WayState.TRUNCATED if truncated and rows else WayState.COMPLETE,
    )


_CANDIDATES = """
    SELECT DISTINCT document_id FROM (
        SELECT document_id FROM document_values
        WHERE field = ANY (%(date_fields)s) AND active
            AND (value = ANY (%(days)s) OR right(value, 5) = ANY (%(month_days)s)
                 OR left(value, 7) = ANY (%(months)s))
        UNION ALL SELECT document_id FROM document_values
        WHERE field = 'accounting_period' AND active AND value = ANY (%(months)s)
        UNION ALL SELECT document_id FROM document_values
        WHERE cardinality(%(amounts)s::text[]) > 0 AND field = ANY (%(amount_fields)s) AND active
            AND CASE WHEN value ~ '^-?[0-9]{1,15}([.][0-9]{1,6})?$'
                THEN abs(value::numeric) = ANY (%(amounts)s::numeric[]) ELSE false END
        UNION ALL SELECT document_id FROM document_values
        WHERE cardinality(%(numbers)s::text[]) > 0 AND field = ANY (%(number_fields)s) AND active
            AND regexp_replace(lower(value), '[^a-z0-9]', '', 'g') = ANY (%(numbers)s)
        UNION ALL SELECT document_id FROM contact_mentions
        WHERE name_raw = ANY (%(names)s) OR (cardinality(%(numbers)s::text[]) > 0
            AND (regexp_replace(lower(iban), '[^a-z0-9]', '', 'g') = ANY (%(numbers)s)
                OR regexp_replace(lower(vat_id), '[^a-z0-9]', '', 'g') = ANY (%(numbers)s)))) found
    JOIN documents d ON d.id = document_id
    WHERE %(mandant)s::integer IS NULL OR d.mandant_id = %(mandant)s::integer
    ORDER BY document_id DESC LIMIT %(limit)s
"""
_NAMED = """
    SELECT DISTINCT m.name_raw FROM contact_mentions m JOIN documents d ON d.id = m.document_id
    WHERE lower(m.name_raw) LIKE ANY (%(patterns)s)
        AND (%(mandant)s::integer IS NULL OR d.mandant_id = %(mandant)s::integer)
    ORDER BY m.name_raw LIMIT %(most)s
"""


def _candidates(
    database: Database, scope: Scope, asked: FieldTerms
) -> tuple[tuple[str, ...], list[int], bool]:
    """Names the question means, documents of the tenant that may answer, and whether more names
    fit than were read.

    Read without the walls of the reader, because a wall before each comparison costs seconds in a
    large tenant; nothing of it is shown or counted before the walled look-up has seen it too.
    """
    with database.worker() as connection:
        connection.execute(f"SET LOCAL statement_timeout = {STATEMENT_MS}".encode())
        names, truncated = _names(connection, scope, asked)
        values = _parameters(asked, names, ()) | {
            "mandant": scope.mandant_id,
            "limit": _CANDIDATES_AT_MOST + 1,
        }
        found = connection.execute(_CANDIDATES.encode(), values).fetchall()
    ids = [row[0] for row in found[:_CANDIDATES_AT_MOST]]
    return names, ids, truncated or len(found) > len(ids)


def _parameters(
    asked: FieldTerms, names: tuple[str, ...], entities: tuple[str, ...]
) -> dict[str, object]:
    return {
        "date_fields": list(_DATES),
        "amount_fields": list(_AMOUNTS),
        "number_fields": list(_NUMBERS),
        "days": list(asked.days),
        "month_days": list(asked.month_days),
        "months": list(asked.months),
        "amounts": list(asked.amounts),
        "numbers": list(asked.numbers),
        "names": list(names),
        "entities": list(entities),
        "most": SHOWN_AT_MOST,
    }


_LINES = {
    "de": "Aus Feldern (Datum, Betrag, Nummer, Beteiligte): {used} von {of} Dokumenten genutzt.",
    "fr": "Par les champs (date, montant, numéro, parties) : {used} sur {of} documents utilisés.",
    "en": "From fields (date, amount, number, parties): {used} of {of} documents used.",
}
_FAILED_LINES = {
    "de": "Die Suche in den Feldern ist ausgefallen.",
    "fr": "La recherche dans les champs est en panne.",
    "en": "The search of fields failed.",
}


def field_line(answer: FieldAnswer, language: str) -> str:
    """What is said of the fields, in de, fr or en (any other language: en); empty for nothing."""
    spoken = language if language in _LINES else "en"
    if answer.state is WayState.FAILED:
        return _FAILED_LINES[spoken]
    return _LINES[spoken].format(used=answer.used, of=answer.of) if answer.of else ""


# --- who is meant ------------------------------------------------------------------------------

_MARKED = re.compile(r"[^bfgmpqvwx0-9hjkrtdlnz]+")
"""Letters that may stand with a mark, or as two: they match anything in the first choice."""


def _names(connection: Connection, scope: Scope, asked: FieldTerms) -> tuple[tuple[str, ...], bool]:
    """Names of parties that the question means, chosen widely first and then by `is_named`."""
    longer = [word for word in asked.words if len(word) > 2]
    if not longer:
        return (), False
    rows = connection.execute(
        _NAMED.encode(),
        {
            "patterns": [f"%{_MARKED.sub('%', word)}%" for word in longer],
            "mandant": scope.mandant_id,
            "most": _NAMES_AT_MOST + 1,
        },
    ).fetchall()
    names = [row[0] for row in rows[:_NAMES_AT_MOST]]
    return tuple(name for name in names if is_named(name, asked.words)), len(rows) > len(names)


def _entities(connection: Connection, asked: FieldTerms) -> tuple[str, ...]:
    """Own entities that the question names, or whose register or tax number it holds."""
    rows = connection.execute(
        "SELECT slug, ARRAY[legal_name] || aliases,"
        " array_remove(ARRAY[register_no] || vat_ids || ibans, NULL) FROM entities ORDER BY slug"
    ).fetchall()
    numbers = set(asked.numbers)
    return tuple(
        slug
        for slug, names, ids in rows
        if any(is_named(name, asked.words) for name in names)
        or not numbers.isdisjoint(_compact(number) for number in ids)
    )


_LEGAL_FORMS = frozenset(
    {
        *("ag", "bv", "co", "cie", "company", "eg", "ei", "eirl", "eurl", "ev", "gbr", "gmbh"),
        *("inc", "kg", "kgaa", "llc", "ltd", "mbh", "ohg", "plc", "sa", "sarl", "sas", "sasu"),
        *("sci", "scop", "se", "snc", "spa", "srl", "ug", "und", "et", "and"),
    }
)


def is_named(name: str, words: Iterable[str]) -> bool:
    """Whether a question with these collapsed words names this party.

    Legal forms and single letters do not count. All other words of the name stand in the question,
    or the question holds nothing but words of the name ("Wer ist Mustermann?").
    """
    of_name = {
        word
        for word in map(collapse, words_in(fold(name.replace(".", ""))))
        if len(word) > 1 and word not in _LEGAL_FORMS
    }
    asked = {word for word in words if word not in _LEGAL_FORMS}
    return bool(of_name) and bool(asked) and (of_name <= asked or asked <= of_name)


def _compact(number: str) -> str:
    return re.sub(r"[^a-z0-9]", "", number.lower())
