"""Doubled vocabularies: code that reads the wrong name, rows with the wrong word, new candidates.

Here belongs the guard over the register of pairs in `understand.doctypes` (DATE-22 to DATE-28): a
look at source files, fill rates of every field, and pairs nobody registered yet. Nothing is
renamed here; which name is canonical the register says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

from tgv_dagster.deepen import registry
from tgv_dagster.store.db import Connection
from tgv_dagster.understand.doctypes import VOCABULARY_PAIRS, DocType, PairKind, VocabularyPair
from tgv_dagster.understand.evidence import Field

_NAMES = tuple(pair for pair in VOCABULARY_PAIRS if pair.kind is PairKind.NAME)
_VALUES = tuple(pair for pair in VOCABULARY_PAIRS if pair.kind is PairKind.VALUE)
_ANY = re.compile(
    rf"(?<!\w)(?:{'|'.join(re.escape(pair.other) for pair in VOCABULARY_PAIRS)})(?!\w)"
)


@dataclass(frozen=True, slots=True)
class WrongWord:
    """A place in a source file that uses the word of a pair that is neither read nor written."""

    path: str
    line: int
    word: str
    canonical: str


# --- source files ---------------------------------------------------------------------------------


def wrong_words(root: Path, *, register: str = "doctypes.py") -> tuple[WrongWord, ...]:
    """Places under `root` in Python and SQL files that use a wrong name or value (DATE-24).

    The register itself and prose (docstrings, comments) are no readers.
    """
    found: list[WrongWord] = []
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".py", ".sql") or path.name == register:
            continue
        text = path.read_text(encoding="utf-8")
        if _ANY.search(text) is None:
            continue
        pieces = _python(text) if path.suffix == ".py" else _lines(text)
        for line, piece, context in pieces:
            for pair in _wrong_in(piece, context):
                name = str(path.relative_to(root))
                found.append(WrongWord(name, line, pair.other, pair.canonical))
    return tuple(found)


def _wrong_in(piece: str, context: str) -> Iterator[VocabularyPair]:
    if _ANY.search(piece) is None:
        return
    for pair in _NAMES:
        if _is_word(pair.other, piece):
            yield pair
    for pair in _VALUES:
        if _is_word(pair.field, context) and re.search(
            rf"(?:^|['\"]){re.escape(pair.other)}(?:['\"]|$)", piece
        ):
            yield pair


def _is_word(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.partition("--")[0]
        yield number, code, code


def _python(text: str) -> Iterator[tuple[int, str, str]]:
    """Names and string constants of a module with the source line around each."""
    nodes = list(ast.walk(ast.parse(text)))
    lines = text.splitlines()
    prose = {id(node) for node in _docstrings(nodes)}
    for node in nodes:
        piece: str | None = None
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            piece = node.value
        elif isinstance(node, ast.Name):
            piece = node.id
        elif isinstance(node, ast.Attribute):
            piece = node.attr
        elif isinstance(node, ast.arg | ast.keyword):
            piece = node.arg
        if piece is not None:
            line = getattr(node, "lineno", 1)
            yield line, piece, lines[line - 1] + " " + piece


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """String constants that stand alone as a statement: they document and are not read."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


# --- fill rates -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fill:
    """How often a field is stated, checked and found empty, or not looked at.

    `documents` are those whose kind asks for the field by the registry, all where no kind does.
    `most_frequent` is the share of the commonest value among the stated ones.
    """

    field: str
    documents: int
    stated: int
    checked_none: int
    distinct: int
    most_frequent: float | None

    @property
    def share(self) -> float | None:
        """Share of documents with a value; None is unmeasured."""
        return self.stated / self.documents if self.documents else None

    @property
    def is_suspicious(self) -> bool:
        """A flag that is nearly always the same may be a default and no finding (DATE Open)."""
        often = self.most_frequent is not None and self.most_frequent >= _ONE_VALUE
        return self.field == Field.AUTO_RENEWAL and often and self.stated >= _FEW


_ONE_VALUE, _FEW = 0.95, 20

_FILL = """
    SELECT count(*) FILTER (WHERE value IS NOT NULL), count(*) FILTER (WHERE value IS NULL),
        count(DISTINCT value),
        max(often)::float / nullif(count(*) FILTER (WHERE value IS NOT NULL), 0)
    FROM (SELECT v.value, count(*) OVER (PARTITION BY v.value) AS often FROM (
        SELECT DISTINCT ON (v.document_id) v.document_id, v.value
        FROM document_values v JOIN documents d ON d.id = v.document_id
        WHERE v.active AND v.field = %(field)s AND NOT d.is_test
          AND (%(kinds)s::text[] IS NULL OR d.doc_type = ANY (%(kinds)s::text[]))
        ORDER BY v.document_id, (v.value IS NULL), v.confidence DESC NULLS LAST) v) o
"""


def fill_rates(connection: Connection) -> tuple[Fill, ...]:
    """The fill of every field of the closed vocabulary, over documents that are no tests."""
    found = []
    for name in Field:
        kinds = _kinds_asking(name)
        total = connection.execute(
            "SELECT count(*) FROM documents WHERE NOT is_test"
            " AND (%s::text[] IS NULL OR doc_type = ANY (%s::text[]))",
            (kinds, kinds),
        ).fetchone()
        row = connection.execute(_FILL, {"field": name, "kinds": kinds}).fetchone()
        assert total is not None
        assert row is not None
        found.append(Fill(name.value, int(total[0]), row[0], row[1], row[2], row[3]))
    return tuple(found)


def _kinds_asking(name: Field) -> list[str] | None:
    entries = (registry.load().entry(kind) for kind in DocType)
    kinds = [e.doc_type.value for e in entries if name in (*e.required, *e.looked_for)]
    return kinds or None


# --- rows and candidates --------------------------------------------------------------------------


def wrong_values(connection: Connection) -> Mapping[tuple[str, str], int]:
    """Active values that are the wrong word of a registered pair, counted by field and word."""
    counted: dict[tuple[str, str], int] = {}
    for pair in _VALUES:
        row = connection.execute(
            "SELECT count(*) FROM document_values WHERE active AND field = %s AND value = %s",
            (pair.field, pair.other),
        ).fetchone()
        if row is not None and row[0]:
            counted[pair.field, pair.other] = int(row[0])
    return counted


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its fill (0..1) and its values where they are few (else empty)."""

    table: str
    name: str
    fill: float
    values: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two columns of a table that may be one thing under two names."""

    table: str
    one: str
    other: str
    why: str


_ALIKE, _UNEQUAL, _SHARED_VALUES = 0.8, 0.3, 0.8
_FEW_VALUES = 30
GUARDED = ("documents", "prf_contracts")


def candidates(columns: Iterable[Column]) -> tuple[Candidate, ...]:
    """Pairs of one table with similar names or the same values, and unequal fill (DATE-24).

    Registered pairs and the day axes of the closed vocabulary are known and no candidates.
    """
    axes = {str(name) for name in Field}
    found = []
    for one, other in combinations(sorted(columns, key=lambda c: (c.table, c.name)), 2):
        if one.table != other.table or {one.name, other.name} <= axes:
            continue
        if abs(one.fill - other.fill) < _UNEQUAL:
            continue
        if _similar(one.name, other.name):
            found.append(Candidate(one.table, one.name, other.name, "similar names"))
        elif len(one.values) > 1 and _shared(one.values, other.values) >= _SHARED_VALUES:
            found.append(Candidate(one.table, one.name, other.name, "the same values"))
    return tuple(found)


def _similar(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other).ratio() >= _ALIKE


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


_COUNTS = 'SELECT count(*), count("{}"), count(DISTINCT "{}"::text) FROM {}'
_DISTINCT = 'SELECT DISTINCT "{}"::text FROM {} WHERE "{}" IS NOT NULL'


def columns(connection: Connection) -> tuple[Column, ...]:
    """The columns of the guarded tables with their fill; empty tables have none."""
    found: list[Column] = []
    for table in GUARDED:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT column_name::text FROM information_schema.columns"
                " WHERE table_schema = 'public' AND table_name = %s ORDER BY ordinal_position",
                (table,),
            )
        ]
        for name in names:
            row = connection.execute(_COUNTS.format(name, name, table).encode()).fetchone()
            if row is None or not row[0]:
                continue
            values: frozenset[str] = frozenset()
            if 1 < row[2] <= _FEW_VALUES:
                rows = connection.execute(_DISTINCT.format(name, table, name).encode())
                values = frozenset(value[0] for value in rows)
            found.append(Column(table, name, row[1] / row[0], values))
    return tuple(found)
