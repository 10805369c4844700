"""Measurements over the product's own source: fields nobody writes, registered values nobody reads.

The source that runs is read, as text of SQL statements and names; no second list is kept. What a
person typed into a statement by another tool is unknown here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from tgv_dagster.audit.measures.asking import rows
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.tuning import REGISTER

_WRITES = re.compile(
    r"\b(INSERT\s+INTO|UPDATE\s+\w+\s|DO\s+UPDATE|COPY\s+\w+|SET\s+\w+\s*=|INTO\s+NEW\.)"
    r"|NEW\.\w+\s*:="
)
_READS = re.compile(r"\b(SELECT|RETURNING|WHERE|ORDER BY|JOIN)\b")
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Mentions:
    """Words of statements that write, words of statements that read, and all names of the code."""

    written: frozenset[str]
    read: frozenset[str]
    names: frozenset[str]


def mentions(sources: Iterable[str]) -> Mentions:
    """What these Python sources mention; a statement that does both counts as both.

    A text that is nothing but a name counts as written: columns are also written from lists.
    """
    written: set[str] = set()
    read: set[str] = set()
    names: set[str] = set()
    for source in sources:
        tree = ast.parse(source)
        nodes = list(ast.walk(tree))
        names |= {node.id for node in nodes if isinstance(node, ast.Name)}
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        for text in _texts(nodes, dict(_constants(tree))):
            words = set(_WORD.findall(text))
            names |= set(re.findall(r"\w+", text)) if len(text) < 80 else set()
            if _WRITES.search(text):
                written |= words
            if _READS.search(text):
                read |= words
            elif _NAME.fullmatch(text):
                written.add(text)
    return Mentions(frozenset(written), frozenset(read), frozenset(names))


def fields_without_writer(columns: Iterable[tuple[str, str]], known: Mentions) -> tuple[str, ...]:
    """Columns (table, name) that a statement reads and none writes, as `table.name`."""
    return tuple(
        f"{table}.{name}"
        for table, name in columns
        if name in known.read and name not in known.written
    )


def field_has_writer(installation: Installation) -> Verdict:
    """Every column that the code reads is written by the code or by the database (OBS-05)."""
    columns = rows(
        installation,
        """
        SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND column_default IS NULL AND is_generated = 'NEVER'
          AND is_identity = 'NO' ORDER BY 1, 2
        """,
    )
    known = _of_the_product()
    orphans = fields_without_writer([(row[0], row[1]) for row in columns], known)
    return judged(
        len(orphans),
        holds="every field that is read is written somewhere",
        broken="fields are read and nothing writes them",
        figures={"fields": len(columns), "without_writer": len(orphans)},
        evidence=tuple(f"field:{name}" for name in orphans),
    )


def registered_value_has_reader(installation: Installation) -> Verdict:
    """Every registered tuning value is asked for by name somewhere (VAL-03, OBS-05)."""
    stored = {row[0] for row in rows(installation, "SELECT key FROM tuning_values")}
    registered = {value.key for value in REGISTER}
    if not stored:
        return unmeasured("no tuning value is registered yet")
    names = _of_the_product(without="tuning.py").names
    # A value per vector space is asked for by its first part, with the name of the space behind.
    unread = sorted(k for k in stored | registered if k.partition(":")[0] not in names)
    return judged(
        len(unread),
        holds="every registered value is read by the code",
        broken="values are registered and nobody reads them",
        figures={"values": len(stored | registered), "unread": len(unread)},
        evidence=tuple(f"tuning:{key}" for key in unread),
    )


def _texts(nodes: Sequence[ast.AST], constants: Mapping[str, str]) -> Iterator[str]:
    """Whole texts: the parts of an f-string belong together, with the constants named in it."""
    inside: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            yield " ".join(_part(part, constants) for part in node.values)
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
        ):
            yield node.value


def _constants(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names of the module that stand for one text."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if isinstance(target, ast.Name) and isinstance(node.value.value, str):
                    yield target.id, node.value.value


def _part(part: ast.expr, constants: Mapping[str, str]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
        return constants.get(part.value.id, "")
    return ""


def _of_the_product(without: str = "") -> Mentions:
    parts = [part for name, part in _per_file() if name != without]
    return Mentions(
        frozenset().union(*(part.written for part in parts)),
        frozenset().union(*(part.read for part in parts)),
        frozenset().union(*(part.names for part in parts)),
    )


@cache
def _per_file() -> tuple[tuple[str, Mentions], ...]:
    """Every source file is parsed once per process; the code that runs does not change."""
    package = files("tgv_dagster")
    python = [(name, mentions([text])) for name, text in _sources(package, ".py")]
    statements = [
        (name, mentions(map(repr, text.split(";")))) for name, text in _sources(package, ".sql")
    ]
    return (*python, *statements)


def _sources(folder: Traversable, suffix: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _sources(entry, suffix)
        elif entry.name.endswith(suffix):
            yield entry.name, entry.read_text(encoding="utf-8")
