"""Exports: copies of originals in folders made from data, under the scope of whoever asks.

A path template is a view: the bytes in the raw layer never move and are never linked, only copied.
An export holds what its scope may see, names the strictest level in it, and lists what was left out
and why (FILE-01, FLOW-09).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from tgv_dagster.store.blobs import BlobStore, StoreError
from tgv_dagster.store.db import Database, rows_as_dicts
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Level, rank_of
from tgv_dagster.store.scope import Scope

DEFAULT_TEMPLATE = "{entity}/{year}/{doc_type}/{number}_{file_name}"
MANIFEST = "export.json"
_PIECE = 1 << 20
_LONGEST_PART = 120
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]')


class ExportRefused(ValueError):
    """An export that cannot be made; the message says why."""


class LeftOut(StrEnum):
    """Why a document of the scope is not in an export."""

    CONTAINER = "container"
    NO_FILE = "no_file"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a path template may name; a missing fact becomes `-`."""

    number: int
    tenant: str
    entity: str
    project: str
    doc_type: str
    provider: str
    file_name: str
    year: str
    month: str
    level: str


FIELDS = frozenset(Facts.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class ExportReport:
    """One export: where it is, how strict, what is in it and what is not."""

    folder: Path
    level: Level
    documents: int
    size: int
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)


def check_template(template: str) -> str:
    """The template, when it can make paths. Raises ExportRefused naming the fault."""
    try:
        names = [name for _, name, spec, how in string.Formatter().parse(template) if name or spec]
        plain = all(
            not spec and how is None
            for _, name, spec, how in string.Formatter().parse(template)
            if name is not None
        )
    except ValueError as error:
        raise ExportRefused(f"The template cannot be read: {error}.") from error
    unknown = [name for name in names if name not in FIELDS]
    if unknown or not plain or "number" not in names:
        raise ExportRefused(
            f"A template names plain fields of {', '.join(sorted(FIELDS))}; `number` is one of"
            " them, so that no two documents share a path."
        )
    if template.startswith("/") or any(part in ("", ".", "..") for part in template.split("/")):
        raise ExportRefused("A template is a relative path without empty parts.")
    return template


def path_of(template: str, facts: Facts) -> Path:
    """The relative path of a document; no fact of it can leave its part of the path."""
    values = {name: _part(str(getattr(facts, name))) for name in FIELDS}
    parts = [_cut(part.format(**values)) for part in template.split("/")]
    return Path(*parts)


def _part(text: str) -> str:
    """A fact as part of a path: nothing that could be a path, a drive or an option."""
    clean = _UNSAFE.sub("_", text).strip(" .")
    return clean or "-"


def _cut(part: str) -> str:
    """At most what every file system takes, the ending kept; never a name with a meaning."""
    part = part.strip(" .") or "-"
    stem, dot, ending = part.rpartition(".")
    if not dot or len(ending) > 10 or not stem:
        stem, ending = part, ""
    room = _LONGEST_PART - len(ending.encode()) - 1
    while len(stem.encode()) > room:
        stem = stem[:-1]
    return f"{stem}.{ending}" if ending else stem


def export(
    database: Database,
    blobs: BlobStore,
    scope: Scope,
    target: Path,
    *,
    template: str = DEFAULT_TEMPLATE,
) -> ExportReport:
    """Copy the originals that the scope may see into a new folder below `target`.

    The folder's name ends with the strictest level in it, and appears only when it is complete.
    Whole mails and archives are left out: they hold other documents with walls of their own.
    Raises ExportRefused, StoreError when the store cannot be reached at all.
    """
    check_template(template)
    target.mkdir(parents=True, exist_ok=True)
    moment = datetime.now(UTC)
    building = target / f".export-{moment:%Y%m%dT%H%M%S}-{os.getpid()}"
    building.mkdir()
    listed: list[dict[str, Any]] = []
    left_out: Counter[LeftOut] = Counter()
    strictest, size = Level.PUBLIC, 0
    for row in _documents(database, scope):
        why = _why_not(row)
        facts = _facts_of(row)
        path = path_of(template, facts)
        if (building / path).exists():
            path = path.with_name(_cut(f"{facts.number}-{path.name}"))
        if why is None:
            try:
                _copy(blobs, row, building / path)
            except StoreError:
                why = LeftOut.UNREADABLE
        if why is not None:
            left_out[why] += 1
            listed.append({"number": facts.number, "left_out": str(why)})
            continue
        level = tuple(Level)[rank_of(row["confidentiality_level"])]
        strictest = max(strictest, level, key=lambda one: one.rank)
        size += int(row["size"])
        listed.append(
            {
                "number": facts.number,
                "path": str(path),
                "sha256": row["raw_sha256"],
                "level": str(level),
            }
        )
    manifest = {
        "made_at": moment.isoformat(),
        "made_by": scope.principal,
        "scope": _scope_words(scope),
        "highest_level": str(strictest),
        "template": template,
        "documents": listed,
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1)
    (building / MANIFEST).write_text(text, encoding="utf-8")
    folder = target / f"export-{moment:%Y%m%dT%H%M%S%f}-{strictest}"
    building.rename(folder)
    report = ExportReport(
        folder, strictest, sum("path" in one for one in listed), size, dict(left_out)
    )
    _tell(database, scope, report)
    return report


_DOCUMENTS = """
    SELECT d.id, m.slug AS tenant, d.entity, d.project_code, d.doc_type, d.provider, d.file_name,
        d.date_received, d.invoice_date, d.confidentiality_level, d.raw_sha256, d.storage_bucket,
        d.raw_key, d.file_class, coalesce(r.size, 0) AS size, r.id AS raw_item
    FROM documents d LEFT JOIN mandanten m ON m.id = d.mandant_id
    LEFT JOIN raw_items r ON r.id = d.raw_item_id
    WHERE d.state = 'active' AND d.id > %s ORDER BY d.id LIMIT 500
"""


def _documents(database: Database, scope: Scope) -> Iterator[dict[str, Any]]:
    """The documents of the scope, page by page; each page is behind the walls of its moment."""
    last = 0
    while True:
        with database.reading(scope) as connection:
            page = rows_as_dicts(connection).execute(_DOCUMENTS, (last,)).fetchall()
        # Not through the walls: what came out of a file may be closed to its reader.
        with database.worker() as connection:
            containers = {
                row[0]
                for row in connection.execute(
                    "SELECT r.sha256 FROM arrivals part JOIN arrivals a ON a.id = part.parent_id"
                    " JOIN raw_items r ON r.id = a.raw_item_id WHERE r.sha256 = ANY (%s)",
                    ([row["raw_sha256"] for row in page],),
                )
            }
        yield from (row | {"has_parts": row["raw_sha256"] in containers} for row in page)
        if not page:
            return
        last = page[-1]["id"]


def _why_not(row: Mapping[str, Any]) -> LeftOut | None:
    if row["file_class"] != "file" or row["has_parts"]:
        return LeftOut.CONTAINER
    return LeftOut.NO_FILE if row["raw_item"] is None else None


def _facts_of(row: Mapping[str, Any]) -> Facts:
    day: date = row["invoice_date"] or row["date_received"].date()
    return Facts(
        number=row["id"],
        tenant=row["tenant"] or "-",
        entity=row["entity"] or "-",
        project=row["project_code"] or "-",
        doc_type=row["doc_type"] or "-",
        provider=row["provider"] or "-",
        file_name=row["file_name"],
        year=f"{day:%Y}",
        month=f"{day:%m}",
        level=row["confidentiality_level"] or "-",
    )


def _copy(blobs: BlobStore, row: Mapping[str, Any], path: Path) -> None:
    """Copy and compare: what does not hash to its name does not get its name here either."""
    path.parent.mkdir(parents=True, exist_ok=True)
    seen = hashlib.sha256()
    with blobs.open(row["storage_bucket"], row["raw_key"]) as source, path.open("xb") as copy:
        while piece := source.read(_PIECE):
            seen.update(piece)
            copy.write(piece)
    if seen.hexdigest() != row["raw_sha256"]:
        path.unlink()
        raise StoreError("the original is damaged", "Restore it from the backup.")


def _scope_words(scope: Scope) -> dict[str, Any]:
    return {
        "mandant_id": scope.mandant_id,
        "entities": None if scope.visible_entities is None else list(scope.visible_entities),
        "project_code": scope.project_code,
        "highest_level_allowed": str(tuple(Level)[scope.confidentiality_max]),
    }


def _tell(database: Database, scope: Scope, report: ExportReport) -> None:
    with database.worker() as connection:
        record(
            connection,
            Event(
                kind="export.made",
                author=scope.principal,
                is_human=True,
                object=f"export:{report.folder.name}",
                reason=f"{report.documents} originals were copied, up to {report.level}",
                mandant_id=scope.mandant_id,
                payload={
                    "documents": report.documents,
                    "level": str(report.level),
                    "left_out": {str(k): v for k, v in report.left_out.items()},
                },
            ),
        )
