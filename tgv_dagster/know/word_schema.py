"""The schema of the word index and how a chunk becomes one of its documents.

No text is stored, only terms: a hit yields ids, and text comes from the chunk table behind its
walls. What does not belong here: queries (`word_query`) and files (`words`).
"""

import datetime as dt
import hashlib
import json
from importlib.metadata import version

import tantivy

from tgv_dagster.know.identifiers import month_numbers
from tgv_dagster.know.normalise import RULES_VERSION, index_texts
from tgv_dagster.know.stems import STEM_LANGUAGES
from tgv_dagster.know.word_model import IndexedAxis, WordRow
from tgv_dagster.store.levels import STRICTEST_RANK

SCHEMA_VERSION = 3
TERMS = "terms"
"""Name of the tokenizer of every text field: the terms are made here and only split there."""

_RAW = "raw"


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("plain", tokenizer_name=TERMS, index_option="position")
    builder.add_text_field("stem", tokenizer_name=TERMS, index_option="freq")
    builder.add_text_field("compound", tokenizer_name=TERMS, index_option="freq")
    builder.add_text_field("ids", tokenizer_name=TERMS, index_option="freq")
    for name in ("entity", "project_code", "source_type"):
        builder.add_text_field(name, tokenizer_name=_RAW, index_option="basic")
    for name in ("chunk_id", "document_id", "row_digest"):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    for name in ("mandant_id", "level_rank", "person", "circle"):
        builder.add_unsigned_field(name, indexed=True)
    for name in ("is_test", "restricted", "encircled"):
        builder.add_boolean_field(name, indexed=True)
    for name in ("visible_from", *IndexedAxis):
        builder.add_integer_field(str(name), indexed=True, fast=True)
    return builder.build()


SCHEMA = _schema()


def rules_fingerprint() -> str:
    """Names everything an index depends on; another value means it must be rebuilt."""
    parts = (
        SCHEMA_VERSION,
        RULES_VERSION,
        *STEM_LANGUAGES,
        *sorted(month_numbers().items()),
        *IndexedAxis,
        version("tantivy"),
    )
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:16]


def row_digest(row: WordRow) -> int:
    """A 62-bit digest of everything a row holds: equal rows, equal digests on every machine.

    A check compares it with the chunk table, so that a wall that changed there and not here is
    seen (see `WordIndex.identities`).
    """
    told = (
        row.chunk_id, row.document_id, row.mandant_id, row.entity, row.level_rank,
        row.source_type, row.project_code, row.is_test, microseconds(row.visible_from),
        row.restricted, sorted(row.persons), None if row.circle is None else sorted(row.circle),
        sorted((d.axis, d.day.isoformat()) for d in row.dates),
        row.text,
    )  # fmt: skip
    encoded = json.dumps(told, ensure_ascii=True).encode()
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest()) >> 2


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def microseconds(moment: dt.datetime | None) -> int:
    """Microseconds since 1970 of an aware moment, as exact as the database; 0 = from the start."""
    return 0 if moment is None else (moment - _EPOCH) // dt.timedelta(microseconds=1)


def refusal(row: WordRow) -> str | None:
    """Why a chunk may not enter the index, None when it may."""
    ids = (row.chunk_id, row.document_id, row.mandant_id, *row.persons, *(row.circle or ()))
    if not all(0 <= number < 2**63 for number in ids):
        return "id out of range"
    for name, value in (("entity", row.entity), ("source_type", row.source_type)):
        if not value:
            return f"no {name}"
    if row.level_rank not in range(STRICTEST_RANK + 1):
        return "level_rank off the ladder"
    if row.visible_from is not None and row.visible_from.tzinfo is None:
        return "visible_from without time zone"
    return None


def document(row: WordRow) -> tantivy.Document:
    """The engine document of a chunk that `refusal` lets in."""
    texts = index_texts(row.text)
    made = tantivy.Document()
    made.add_text("plain", texts.plain)
    made.add_text("stem", texts.stem)
    made.add_text("compound", texts.compound)
    made.add_text("ids", texts.ids)
    made.add_text("entity", row.entity)
    made.add_text("source_type", row.source_type)
    if row.project_code:
        made.add_text("project_code", row.project_code)
    for person in row.persons:
        made.add_unsigned("person", person)
    for person in row.circle or ():
        made.add_unsigned("circle", person)
    made.add_unsigned("chunk_id", row.chunk_id)
    made.add_unsigned("document_id", row.document_id)
    made.add_unsigned("row_digest", row_digest(row))
    made.add_unsigned("mandant_id", row.mandant_id)
    made.add_unsigned("level_rank", row.level_rank)
    made.add_boolean("is_test", row.is_test)
    made.add_boolean("restricted", row.restricted)
    made.add_boolean("encircled", row.circle is not None)
    made.add_integer("visible_from", microseconds(row.visible_from))
    for date in row.dates:
        made.add_integer(date.axis, date.day.toordinal())
    return made
