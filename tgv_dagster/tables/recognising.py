"""The recogniser: signature, proposal, probe, in one pure call for every kind of table (TAB-14).

Memory is handed in; writing and asking belong to `flowing`. Step by step as TAB-08 to TAB-13:
an exact signature is read as it was confirmed and asks nothing; a near one proposes the confirmed
mapping; a new one is proposed from words and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tgv_dagster.tables.lexicon import normal_label
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import (
    FileTables,
    Question,
    QuestionKind,
    RawTable,
    TableUnreadable,
)
from tgv_dagster.tables.proposal import Proposal, propose, questions_of
from tgv_dagster.tables.reading.columns import Column, examine_table
from tgv_dagster.tables.reading.delimited import Settled
from tgv_dagster.tables.reading.files import read_tables
from tgv_dagster.tables.reading.standards import STANDARD
from tgv_dagster.tables.rows import AS_TEXT, column_of, misfits, probe
from tgv_dagster.tables.signature import Compared, Match, Signature, compare, signature_of
from tgv_dagster.tables.targets import Target

_MOST_MISFITS = 0.2


@dataclass(frozen=True, slots=True)
class Schema:
    """A confirmed schema of a tenant: what a person said a table of this signature is."""

    id: int
    signature: Signature
    mapping: TableMapping
    projects: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Recognised:
    """One table understood as far as it goes. Without `questions` and with an exact match nothing
    is asked; otherwise `proposal` is what the card shows. `columns` are all of a new table, and
    those that a confirmed schema uses."""

    table: RawTable
    columns: tuple[Column, ...]
    signature: Signature
    match: Match
    compared: Compared
    schema: Schema | None
    proposal: Proposal
    by_standard: bool = False

    @property
    def mapping(self) -> TableMapping:
        """The mapping in force or proposed."""
        return self.proposal.mapping

    @property
    def questions(self) -> tuple[Question, ...]:
        """What a person must say before rows can be written."""
        return self.proposal.questions

    def probe(self) -> tuple[dict[str, str], ...]:
        """Five rows as values."""
        return probe(self.table, self.mapping)


def recognise_file(
    data: bytes,
    schemas: Sequence[Schema] = (),
    *,
    hint: str = "",
    settled: Settled | None = None,
    headers: dict[str, int] | None = None,
    hidden: dict[str, str] | None = None,
) -> tuple[tuple[Recognised, ...], FileTables]:
    """Every table of a file. Raises TableUnreadable with the reason.

    `settled`, `headers` (line of the labels per sheet) and `hidden` (which rows count, per sheet)
    are what a person said about this file. A schema that settles how the file is read is tried when
    the file itself leaves that open.
    """
    tables = read_tables(data, settled, headers, hidden)
    if tables.reader in STANDARD:
        return tuple(_by_standard(table, tables.reader) for table in tables.tables), tables
    found = [recognise(table, schemas, hint=hint) for table in tables.tables]
    if len(found) == 1 and found[0].table.questions:
        remembered = _with_settled(data, schemas, hint)
        found = [remembered] if remembered is not None else found
    return tuple(found), tables


def _by_standard(table: RawTable, reader: str) -> Recognised:
    """A format with a standard of its own: working material, and nothing to ask (FMT-03)."""
    texts = {label: AS_TEXT for i, label in enumerate(table.labels) if f"c{i}" not in table.natives}
    mapping = TableMapping(Target.WORKING, readings=texts)
    proposal = Proposal(mapping, 1.0, (), (f"the standard of {reader}",))
    return Recognised(
        table,
        tuple(column_of(table, mapping, label) for label in table.labels),
        signature_of(table),
        Match.EXACT,
        Compared(Match.EXACT),
        None,
        proposal,
        by_standard=True,
    )


def recognise(table: RawTable, schemas: Sequence[Schema] = (), *, hint: str = "") -> Recognised:
    """One table against the confirmed schemas of its tenant, newest first."""
    signature = signature_of(table)
    judged = [(compare(schema.signature, signature), schema) for schema in schemas]
    for wanted in (Match.EXACT, Match.NEAR):
        for compared, schema in judged:
            if compared.match is wanted:
                return _remembered(table, signature, compared, schema)
    columns = examine_table(table)
    proposal = propose(table, columns, hint=hint)
    return Recognised(table, columns, signature, Match.NEW, Compared(Match.NEW), None, proposal)


def _with_settled(data: bytes, schemas: Sequence[Schema], hint: str) -> Recognised | None:
    for schema in schemas:
        try:
            (table,) = read_tables(data, schema.mapping.settled()).tables
        except (TableUnreadable, ValueError):
            continue
        if compare(schema.signature, signature_of(table)).match is Match.EXACT:
            return recognise(table, (schema,), hint=hint)
    return None


def _remembered(
    table: RawTable,
    signature: Signature,
    compared: Compared,
    schema: Schema,
) -> Recognised:
    mapping = _spelled(schema.mapping, table, compared)
    columns = tuple(column_of(table, mapping, label) for label in mapping.fields.values())
    match = compared.match
    questions = questions_of(table, columns, mapping)
    if match is Match.EXACT:
        questions = tuple(q for q in questions if not _settled_by(schema.mapping, table, q))
        if questions or misfits(table, mapping) > _MOST_MISFITS:
            match = Match.NEAR
    why = tuple(f"new column {x}" for x in compared.added)
    why += tuple(f"column {x} is gone" for x in compared.dropped)
    why += tuple(f"{old} is now {new}" for old, new in compared.renamed)
    proposal = Proposal(mapping, 1.0, questions, why or ("as confirmed",))
    return Recognised(table, columns, signature, match, compared, schema, proposal)


def _settled_by(mapping: TableMapping, table: RawTable, question: Question) -> bool:
    """Whether the confirmed labels answer a question about the file: they are where they were."""
    match question.kind:
        case QuestionKind.DIALECT | QuestionKind.HEADER:
            return True
        case QuestionKind.ENCODING:
            return mapping.encoding == table.encoding
        case _:
            return False


def _spelled(mapping: TableMapping, table: RawTable, compared: Compared) -> TableMapping:
    """The confirmed mapping with the labels as this file spells them; lost columns drop out."""
    spelled = {normal_label(label): label for label in table.labels}
    renamed = dict(compared.renamed)

    def now(label: str) -> str | None:
        name = normal_label(label)
        return spelled.get(renamed.get(name, name))

    fields = {f: new for f, label in mapping.fields.items() if (new := now(label)) is not None}
    readings = {new: r for label, r in mapping.readings.items() if (new := now(label)) is not None}
    return replace(
        mapping,
        fields=fields,
        readings=readings,
        dialect=table.dialect,
        encoding=table.encoding or None,
    )
