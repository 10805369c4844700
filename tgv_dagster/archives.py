"""Old archives: a folder with its listing, or an export of paperless-ngx, through the gate `batch`.

Here: which papers an archive names, what must be settled before the first byte is taken, and the
balance that proves completeness. Old numbers and links go with the arrival. Running it again takes
what is missing and nothing twice. Not here: what becomes of a paper (the flow, as for any other).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from tgv_dagster.arrive.gates import GateKind, NewArrival, Origin, arrival_key
from tgv_dagster.arrive.raw import save_raw
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope
from tgv_dagster.tables.lexicon import archive_words, bare_label, normal_label
from tgv_dagster.tables.model import RawTable, TableUnreadable
from tgv_dagster.tables.reading import dates
from tgv_dagster.tables.reading.columns import ColumnKind, examine_column
from tgv_dagster.tables.recognising import recognise_file

_MANIFEST = "manifest.json"
_SHOWN = 5


class ArchiveRefused(ValueError):
    """The archive cannot be taken as it is; the message says what to settle. Nothing was taken."""


@dataclass(frozen=True, slots=True)
class OldPaper:
    """One paper of an old archive. `entity` is a slug; None leaves it to triage. `day` is the day
    the archive states."""

    path: Path
    number: str
    day: date | None = None
    entity: str | None = None
    title: str = ""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    """What an archive names. `missing` are listed and not in the folder, `unlisted` the reverse."""

    papers: tuple[OldPaper, ...]
    missing: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Balance:
    """What was listed, and what stands in the database after the run; `complete` when all does."""

    listed: int
    standing: int
    taken_now: int
    missing: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Every listed paper has its arrival."""
        return self.listed == self.standing and not self.missing


def read_archive(
    folder: Path, listing: Path | None = None, *, dates_as: str | None = None
) -> Archive:
    """The papers of a folder. Without a listing the folder is an export of paperless-ngx.

    `dates_as` is the key of a date form where the listing leaves it open. Raises ArchiveRefused.
    """
    if listing is None:
        return _paperless(folder)
    table = _listing(listing)
    columns = _columns(table)
    days = _days(table, columns.get("date"), dates_as)
    papers: list[OldPaper] = []
    missing: list[str] = []
    for row in range(table.height):
        told = {name: table.column(label)[row].strip() for name, label in columns.items()}
        path = _inside(folder, told["file"])
        if path is None:
            missing.append(told["file"] or f"line {table.first_lines[row]}: no file named")
            continue
        papers.append(
            OldPaper(path, told["number"], days[row], told.get("entity") or None,
                     told.get("title", ""), told.get("url") or None)
        )  # fmt: skip
    known = {paper.path for paper in papers} | {listing.resolve()}
    unlisted = sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.resolve() not in known
    )
    return _checked(Archive(tuple(papers), tuple(missing), tuple(unlisted)))


def settled(
    connection: Connection, archive: Archive, scope: Scope, default: str | None = None
) -> Archive:
    """The archive with the slug of an entity for every paper, as the person may see them.

    Names of entities count as well as slugs; `default` stands where the listing names none.
    Raises ArchiveRefused for names that are no entity of the tenant, and for old numbers that
    another document of the tenant has already.
    """
    rows = connection.execute(
        "SELECT slug, legal_name FROM entities WHERE mandant_id = %s", (scope.mandant_id,)
    ).fetchall()
    slugs = {normal_label(name): slug for slug, legal in rows for name in (slug, legal or slug)}
    wanted = [paper.entity or default or "" for paper in archive.papers]
    unknown = sorted({name for name in wanted if normal_label(name) not in slugs})
    if unknown:
        named = ", ".join(name or "(none)" for name in unknown[:_SHOWN])
        raise ArchiveRefused(
            f"No entity of this tenant: {named}. Write a slug of `tgv org show` into the listing,"
            " or give --entity for papers that name none."
        )
    taken = connection.execute(
        "SELECT d.legacy_number FROM documents d WHERE d.mandant_id = %s"
        " AND d.legacy_number = ANY (%s) AND NOT EXISTS (SELECT 1 FROM arrivals a"
        "   WHERE a.document_id = d.id AND a.arrival_key = ANY (%s))",
        (
            scope.mandant_id,
            [paper.number for paper in archive.papers],
            [_key(scope, paper) for paper in archive.papers],
        ),
    ).fetchall()
    if taken:
        raise ArchiveRefused(
            f"Another document has the old number {taken[0][0]} already ({len(taken)} in all)."
        )
    papers = zip(archive.papers, wanted, strict=True)
    return replace(
        archive,
        papers=tuple(replace(paper, entity=slugs[normal_label(name)]) for paper, name in papers),
    )


def bring_in(
    installation: Installation,
    scope: Scope,
    archive: Archive,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Balance:
    """Take every paper that is not here yet; a run that was killed is completed by the next one.

    Raises ScopeError without the right to administer the tenant, errors of the blob store.
    """
    scope.require(Role.MANDANT_ADMIN)
    with installation.database.worker() as connection:
        before = _standing(connection, scope, archive)
        mandant, buckets = _places(connection, scope)
    for number, paper in enumerate(archive.papers, start=1):
        key = _key(scope, paper)
        if key not in before:
            arrival = _arrival(paper, key, mandant, buckets, scope)
            save_raw(installation.database, installation.blobs, arrival, paper.path)
        if progress is not None:
            progress(number, len(archive.papers))
    with installation.database.worker() as connection:
        after = _standing(connection, scope, archive)
    listed = len(archive.papers) + len(archive.missing)
    return Balance(listed, len(after), len(after - before), archive.missing)


def _arrival(
    paper: OldPaper, key: str, mandant: str, buckets: dict[str, str], scope: Scope
) -> NewArrival:
    assert paper.entity is not None
    stated = datetime.combine(paper.day, time(12), UTC) if paper.day else None
    changed = datetime.fromtimestamp(paper.path.stat().st_mtime, UTC)
    return NewArrival(
        gate=GateKind.BATCH,
        arrival_key=key,
        bucket=buckets[paper.entity],
        file_name=paper.path.name,
        received_at=stated or changed,
        uploader=scope.principal,
        intent_text=paper.title or None,
        mandant=mandant,
        entity_hint=paper.entity,
        origin=Origin(
            legacy_number=paper.number,
            legacy_url=paper.url,
            modified_at=changed.isoformat(),
        ),
    )


def _key(scope: Scope, paper: OldPaper) -> str:
    return arrival_key(GateKind.BATCH, "archive", scope.mandant_id, paper.number, paper.path.name)


def _standing(connection: Connection, scope: Scope, archive: Archive) -> set[str]:
    keys = [_key(scope, paper) for paper in archive.papers]
    rows = connection.execute(
        "SELECT arrival_key FROM arrivals WHERE arrival_key = ANY (%s)", (keys,)
    ).fetchall()
    return {row[0] for row in rows}


def _places(connection: Connection, scope: Scope) -> tuple[str, dict[str, str]]:
    rows = connection.execute(
        "SELECT m.slug, e.slug, e.bucket FROM entities e JOIN mandanten m ON m.id = e.mandant_id"
        " WHERE m.id = %s",
        (scope.mandant_id,),
    ).fetchall()
    return rows[0][0], {slug: bucket for _, slug, bucket in rows}


# --- listings -------------------------------------------------------------------------------------


def _listing(path: Path) -> RawTable:
    try:
        found, _ = recognise_file(path.read_bytes(), hint=path.name)
    except TableUnreadable as error:
        raise ArchiveRefused(f"{path.name} is no listing: {error}") from error
    table = found[0].table
    if len(found) != 1 or table.questions or table.aside:
        raise ArchiveRefused(
            f"{path.name} leaves open how it is read; `tgv tables inspect {path.name}` shows it."
            " A listing is one table with a line of labels, each row of the same width."
        )
    return table


def _columns(table: RawTable) -> dict[str, str]:
    """Label per field of a listing; file and number are needed (by words of the lexicon)."""
    found: dict[str, str] = {}
    for name, words in archive_words().items():
        said = [x for x in table.labels if {normal_label(x), bare_label(x)} & set(words)]
        if said:
            found[name] = min(said, key=lambda label: table.labels.index(label))
    lacking = [name for name in ("file", "number") if name not in found]
    if lacking:
        raise ArchiveRefused(
            f"The listing has no column for the {' and the '.join(lacking)} of a paper:"
            f" its labels are {', '.join(table.labels)}."
        )
    return found


def _days(table: RawTable, label: str | None, dates_as: str | None) -> list[date | None]:
    if label is None:
        return [None] * table.height
    cells = table.column(label)
    column = examine_column(table, label)
    if dates_as is None and column.question is not None:
        forms = ", ".join(choice.key for choice in column.question.choices)
        raise ArchiveRefused(f"How {label!r} writes days is open: say --dates with one of {forms}.")
    key = dates_as or column.reading
    if not key and column.kind is ColumnKind.DATE:
        key = "Y-m-d"
    try:
        read = dates.values(cells, dates.form(key)) if key else None
    except KeyError as error:
        raise ArchiveRefused(f"There is no form of days called {key!r}.") from error
    filled = int((cells.str.strip_chars() != "").sum())
    if read is None or len(read) - read.null_count() < filled:
        raise ArchiveRefused(f"Not every cell of {label!r} is a day.")
    return [value.date() if isinstance(value, datetime) else value for value in read.to_list()]


def _inside(folder: Path, name: str) -> Path | None:
    """The file of this name in the folder; never one outside of it."""
    path = (folder / name).resolve()
    return path if name and path.is_relative_to(folder.resolve()) and path.is_file() else None


def _checked(archive: Archive) -> Archive:
    numbers = Counter(paper.number for paper in archive.papers)
    twice = sorted(number for number, count in numbers.items() if count > 1 or not number)
    if twice:
        shown = ", ".join(number or "(empty)" for number in twice[:_SHOWN])
        raise ArchiveRefused(f"Old numbers are not unique, or empty: {shown}.")
    if not archive.papers:
        raise ArchiveRefused("The archive names no paper that is there.")
    return archive


# --- paperless-ngx --------------------------------------------------------------------------------


def _paperless(folder: Path) -> Archive:
    manifest = folder / _MANIFEST
    if not manifest.is_file():
        raise ArchiveRefused(
            f"{folder} has no {_MANIFEST} of a paperless-ngx export; name a listing with --listing."
        )
    try:
        records = json.loads(manifest.read_text("utf-8"))
        papers = list(_paperless_papers(folder, records))
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveRefused(f"{_MANIFEST} is no manifest of paperless-ngx: {error}") from error
    here = tuple(paper for paper in papers if paper.path.is_file())
    missing = tuple(paper.path.name for paper in papers if not paper.path.is_file())
    return _checked(Archive(here, missing))


def _paperless_papers(folder: Path, records: list[dict[str, Any]]) -> Iterator[OldPaper]:
    for record in records:
        if record["model"] != "documents.document":
            continue
        fields = record["fields"]
        path = (folder / record["__exported_file_name__"]).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise ValueError("a file name leads out of the folder")
        yield OldPaper(
            path,
            number=str(record["pk"]),
            day=datetime.fromisoformat(str(fields["created"])).date(),
            title=str(fields.get("title") or ""),
        )
