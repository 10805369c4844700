"""Questions about dates, amounts, persons and register numbers, answered from fields (RET-42, 43).

A date or an amount means nothing in a vector, and the top chunks say little of a person. Here the
terms of a question are looked up in the values of documents, in the parties they mention and in
the own entities, behind the walls of the reader. It says how many of how many documents it used.
What does not belong here: searching text (`vectors`, `words`) and listing documents by filters
(`document_list`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from tgv_dagster.know.balance import WayState
from tgv_dagster.know.queries import QueryTerms
from tgv_dagster.know.vectors import narrowing
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.naming import asked_words, is_named, name_words

SHOWN_AT_MOST = 6
"""Documents an answer shows; the rest is counted."""

STATEMENT_MS = 5_000
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

    TRUNCATED when more documents fit the question than were looked at.
    """

    hits: tuple[FieldHit, ...] = ()
    used: int = 0
    of: int = 0
    state: WayState = WayState.COMPLETE
    reason: str = ""


NOT_RUN = FieldAnswer(state=WayState.NOT_RUN)


@dataclass(frozen=True, slots=True)
class FieldTerms:
    """What of a question can stand in a field.

    keys: dates, amounts and numbers as `value_keys` of the database spells them ("d20260831",
    "a0831", "m202608", "n1234.5", "xre20260815"); words: folded words that may name a party.
    """

    keys: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keys or self.words)


_KEY = re.compile(r"d\d{8}|a\d{4}|m\d{6}|x[a-z0-9]{3,40}")
_AMOUNT = re.compile(r"n(\d{1,15}(?:\.\d{1,4})?)")


def field_terms(terms: QueryTerms) -> FieldTerms:
    """The dates, amounts, numbers and names of a question as fields store them."""
    tokens = (token for term in terms.ids for token in term.exact)
    keys = dict.fromkeys(key for token in tokens for key in _keys(token))
    plain = (word.plain for word in terms.words if not word.plain.isdigit())
    return FieldTerms(tuple(keys), asked_words(plain))


def _keys(token: str) -> tuple[str, ...]:
    """What a field may hold for a token; whole digits may be an amount or a number."""
    amount = _AMOUNT.fullmatch(token)
    if amount is None:
        return (token,) if _KEY.fullmatch(token) else ()
    digits = amount.group(1)
    key = f"n{Decimal(digits).normalize():f}"
    return (key, f"x{digits}") if digits.isdigit() and len(digits) > 2 else (key,)


# --- the look-up -------------------------------------------------------------------------------

_NAMED = """(name_words && %(words)s::text[]
            AND (name_words <@ %(words)s::text[] OR name_words @> %(words)s::text[]))"""
"""`naming.is_named` over stored words."""

_LOOK_UP = """
    WITH seen AS (
        SELECT document_id, title, entity FROM (
            SELECT id AS document_id, mandant_id, date_received, invoice_date, entity,
                coalesce(nullif(title, ''), file_name) AS title
            FROM documents WHERE state = 'active'
              AND (id = ANY (%(candidates)s) OR entity = ANY (%(entities)s))) d
        WHERE true{narrowing}),
    hits AS (
        SELECT v.document_id, CASE left(k.key, 1) WHEN 'n' THEN 'amount' WHEN 'x' THEN 'number'
            ELSE 'date' END AS asked, v.field, v.value
        FROM document_values v, LATERAL unnest(value_keys(v.field, v.value)) AS k (key)
        WHERE v.id = ANY (%(values)s) AND v.active AND k.key = ANY (%(keys)s)
          AND NOT EXISTS (
            SELECT 1 FROM document_values o
            WHERE o.document_id = v.document_id AND o.field = v.field AND o.active
              AND (o.origin = 'human') > (v.origin = 'human'))
        UNION SELECT document_id, 'party', role, name_raw FROM contact_mentions
        WHERE id = ANY (%(mentions)s) AND {named}
        UNION SELECT document_id, 'party', role, number FROM contact_mentions,
            LATERAL unnest(ARRAY[iban, vat_id]) AS number
        WHERE id = ANY (%(mentions)s) AND number_key(number) = ANY (%(keys)s)
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
    candidates = _candidates(database, scope, asked)
    entities = _entities(connection, asked)
    if not candidates.documents and not entities:
        return FieldAnswer()
    connection.execute(f"SET LOCAL statement_timeout = {STATEMENT_MS}".encode())
    narrow = narrowing(connection, scope)
    rows = connection.execute(
        _LOOK_UP.format(narrowing=narrow.sql, named=_NAMED).encode(),
        narrow.parameters
        | {
            "keys": list(asked.keys),
            "words": list(asked.words),
            "candidates": candidates.documents,
            "values": candidates.values,
            "mentions": candidates.mentions,
            "entities": list(entities),
            "most": SHOWN_AT_MOST,
        },
    ).fetchall()
    return FieldAnswer(
        hits=tuple(
            FieldHit(document_id, title, Asked(kind), field, value)
            for _, document_id, title, kind, field, value in rows
        ),
        used=len({row[1] for row in rows}),
        of=rows[0][0] if rows else 0,
        state=WayState.TRUNCATED if candidates.truncated and rows else WayState.COMPLETE,
    )


CANDIDATES = f"""
    SELECT document_id, values, mentions FROM (
        SELECT document_id, array_agg(value_id) AS values, array_agg(mention_id) AS mentions FROM (
            SELECT document_id, id AS value_id, NULL::bigint AS mention_id FROM document_values
            WHERE active AND value_keys(field, value) && %(keys)s::text[]
            UNION ALL SELECT document_id, NULL, id FROM contact_mentions
            WHERE ARRAY[number_key(iban), number_key(vat_id)] && %(keys)s::text[]
            UNION ALL SELECT document_id, NULL, id FROM contact_mentions WHERE {_NAMED}) matching
        GROUP BY document_id ORDER BY document_id DESC) found
    WHERE %(mandant)s::integer IS NULL OR %(mandant)s::integer = (
        SELECT d.mandant_id FROM documents d WHERE d.id = document_id)
    LIMIT %(limit)s
"""
"""Each of the three reads its own index (revision 0013)."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Ids of documents that may answer, with their values and mentions that match."""

    documents: list[int]
    values: list[int]
    mentions: list[int]
    truncated: bool


def _candidates(database: Database, scope: Scope, asked: FieldTerms) -> _Candidates:
    """The newest documents of the tenant that may answer.

    Read without the walls of the reader, because a wall before each comparison costs seconds in a
    large tenant; nothing of it is shown or counted before the walled look-up has seen it too.
    """
    with database.worker() as connection:
        connection.execute(f"SET LOCAL statement_timeout = {STATEMENT_MS}".encode())
        found = connection.execute(
            CANDIDATES.encode(),
            {
                "keys": list(asked.keys),
                "words": list(asked.words),
                "mandant": scope.mandant_id,
                "limit": _CANDIDATES_AT_MOST + 1,
            },
        ).fetchall()
    taken = found[:_CANDIDATES_AT_MOST]
    return _Candidates(
        documents=[document for document, _, _ in taken],
        values=[value for _, values, _ in taken for value in values if value is not None],
        mentions=[mention for _, _, ids in taken for mention in ids if mention is not None],
        truncated=len(found) > len(taken),
    )


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


def _entities(connection: Connection, asked: FieldTerms) -> tuple[str, ...]:
    """Own entities that the question names, or whose register or tax number it holds."""
    rows = connection.execute(
        "SELECT slug, ARRAY[legal_name] || aliases,"
        " array_remove(ARRAY[register_no] || vat_ids || ibans, NULL) FROM entities ORDER BY slug"
    ).fetchall()
    keys = set(asked.keys)
    return tuple(
        slug
        for slug, names, ids in rows
        if any(is_named(name_words(name), asked.words) for name in names)
        or not keys.isdisjoint(_number_key(number) for number in ids)
    )


def _number_key(number: str) -> str:
    return "x" + re.sub(r"[^a-z0-9]", "", number.lower())
