"""The folder gate: files that people, scanners and programs put into the watched folder.

Every look is a full scan (events may only make it happen sooner, known-faults 76 to 81). A file is
taken when size and times rest and its format's end is present; it moves to `processed/` only after
its bytes are read back and its row is committed. Layout: `<inbox>/<mandant>/<entity>/…`; deeper
folders and a side-car `<file>.intent.txt` become the intent text (UPL-05, UPL-06).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from tgv_dagster.arrive.completeness import Completeness, State, is_complete
from tgv_dagster.arrive.gates import (
    GateKind,
    NewArrival,
    Origin,
    PartRole,
    RawKind,
    Taken,
    TakenStatus,
    arrival_key,
)
from tgv_dagster.arrive.raw import SavedRaw, bucket_for, printable, save_raw
from tgv_dagster.store.blobs import BlobStore
from tgv_dagster.store.blobs.errors import SourceUnreadable, StoreError
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.db import Database
from tgv_dagster.store.organisation import INTAKE_BUCKET, SERVICE_LOGIN

PROCESSED = "processed"
SIDE_CAR = ".intent.txt"
UNSORTED = "_unsorted"
OLD_SECONDS = 3600.0
"""A file whose times are both older than this rests, whatever the clocks of a share say."""
PATIENCE_SECONDS = 600.0
"""A resting file without its format's end is taken as broken after this long."""
MAX_INTENT_CHARACTERS = 600
_HEAD_BYTES = 8192

_TEMPORARY_SUFFIXES = (".part", ".crdownload", ".download", ".tmp", ".partial", ".filepart")
_SYSTEM_NAMES = frozenset({"thumbs.db", "desktop.ini", ".ds_store"})


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """`stable_seconds`: rest before a file without checkable end is taken; files whose end is
    verified wait a fifth of it. `move`: whether taken files move to `processed/`. `mandant` and
    `entity` are used where the folder names say nothing."""

    root: Path
    stable_seconds: float = 5.0
    move: bool = True
    mandant: str | None = None
    entity: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One file of a look, with the facts that identify the act of its arrival."""

    path: Path
    relative: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @property
    def key(self) -> str:
        """Arrival key: the same file, untouched, is the same arrival."""
        return arrival_key(
            GateKind.FOLDER, self.path, self.inode, self.size, self.mtime_ns, self.ctime_ns
        )

    def age_seconds(self, now: float) -> float:
        """Seconds since the younger of both times; negative when a clock runs ahead."""
        return now - max(self.mtime_ns, self.ctime_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Look:
    """Everything one full scan saw."""

    candidates: tuple[Candidate, ...]
    skipped: tuple[Taken, ...]


class FolderGate:
    """The watched folder as a gate."""

    kind = GateKind.FOLDER

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        settings: FolderSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
        on_step: Callable[[str], None] | None = None,
    ) -> None:
        """`on_step` is called at each step boundary with its name, for progress and fault tests."""
        self._database = database
        self._blobs = blobs
        self._settings = settings
        self._sleep = sleep
        self._clock = clock
        self._on_step = on_step or (lambda _step: None)
        self._names: dict[str, frozenset[str]] | None = None

    def waiting(self) -> bool:
        """Whether a file lies here that has not arrived yet."""
        return bool(self.new_candidates(look(self._settings.root)))

    def new_candidates(self, seen: Look) -> tuple[Candidate, ...]:
        """Candidates whose arrival is not recorded (one indexed read per 1,000 files)."""
        known: set[str] = set()
        keys = [c.key for c in seen.candidates]
        with self._database.worker() as connection:
            for start in range(0, len(keys), 1000):
                rows = connection.execute(
                    "SELECT arrival_key FROM arrivals WHERE arrival_key = ANY (%s)",
                    (keys[start : start + 1000],),
                )
                known.update(row[0] for row in rows)
        return tuple(c for c, key in zip(seen.candidates, keys, strict=True) if key not in known)

    def take(self, limit: int) -> Iterator[Taken]:
        """Secure up to `limit` files; resting files first, young ones after one common wait."""
        first_look = time.monotonic()
        seen = look(self._settings.root)
        yield from seen.skipped
        todo = self.new_candidates(seen)[:limit]
        now = self._clock()
        young = [c for c in todo if c.age_seconds(now) < OLD_SECONDS]
        old = [c for c in todo if c.age_seconds(now) >= OLD_SECONDS]
        for candidate in old:
            yield self._take_one(candidate, now)
        if not young:
            return
        for rest, group in self._by_rest(young):
            self._sleep(max(0.0, first_look + rest - time.monotonic()))
            for candidate in group:
                yield self._take_one(candidate, self._clock())

    def _by_rest(self, young: list[Candidate]) -> list[tuple[float, list[Candidate]]]:
        """Young files by how long they have to rest: short when their end can be checked."""
        short: list[Candidate] = []
        long: list[Candidate] = []
        for candidate in young:
            (short if _end_is_present(candidate) else long).append(candidate)
        whole = self._settings.stable_seconds
        return [(whole / 5, short), (whole, long)]

    def _take_one(self, candidate: Candidate, now: float) -> Taken:
        name = candidate.relative
        try:
            changed = _changed(candidate)
            if changed:
                return Taken(name, TakenStatus.WAITING, changed)
            end = _end(candidate)
            if end.state is State.INCOMPLETE and candidate.age_seconds(now) < PATIENCE_SECONDS:
                return Taken(name, TakenStatus.WAITING, f"not complete yet: {end.reason}")
            saved = self._secure(candidate)
        except FileNotFoundError:
            return Taken(name, TakenStatus.SKIPPED, "vanished before it could be read")
        except SourceUnreadable as error:
            if not os.path.lexists(candidate.path):
                return Taken(name, TakenStatus.SKIPPED, "vanished before it could be read")
            return self._failed(candidate, str(error))
        except (OSError, StoreError) as error:
            return self._failed(candidate, str(error))
        note = self._leave(candidate) if self._settings.move else ""
        return Taken(name, TakenStatus.TAKEN, note, saved.arrival_id, not saved.new_bytes)

    def _secure(self, candidate: Candidate) -> SavedRaw:
        self._on_step("before_raw")
        with _open(candidate) as handle:
            arrival = self._arrival(candidate, handle.read(_HEAD_BYTES))
            handle.seek(0)
            saved = save_raw(self._database, self._blobs, arrival, handle)
        if _changed(candidate):
            # Its bytes are safe and stay; the changed file is another arrival of the next look.
            self._on_step("changed_while_read")
        self._on_step("after_raw")
        return saved

    def _arrival(self, candidate: Candidate, head: bytes) -> NewArrival:
        place = self._place(candidate.relative)
        file_name = candidate.path.name
        is_mail = looks_like_mail(head, file_name)
        with self._database.worker() as connection:
            bucket = (
                INTAKE_BUCKET
                if is_mail
                else bucket_for(connection, entity=place.entity, mandant=place.mandant)
            )
        return NewArrival(
            gate=GateKind.FOLDER,
            arrival_key=candidate.key,
            bucket=bucket,
            file_name=file_name,
            received_at=datetime.now(UTC),
            kind=RawKind.EML if is_mail else RawKind.FILE,
            part_role=PartRole.MAIL if is_mail else PartRole.FILE,
            intent_text=place.intent,
            mandant=place.mandant,
            entity_hint=place.entity,
            origin=Origin(
                path=printable(candidate.relative),
                modified_at=datetime.fromtimestamp(candidate.mtime_ns / 1e9, UTC).isoformat(),
            ),
        )

    def _place(self, relative: str) -> Place:
        names = self._folder_names()
        place = place_of(relative, names)
        if place.mandant is None:
            place = replace(place, mandant=self._settings.mandant)
        if place.entity is None and place.mandant == self._settings.mandant:
            place = replace(place, entity=self._settings.entity)
        side_car = _read_side_car(_side_car(self._settings.root / relative))
        intent = "\n".join(part for part in (side_car, place.intent) if part)
        return replace(place, intent=intent[:MAX_INTENT_CHARACTERS] or None)

    def _folder_names(self) -> dict[str, frozenset[str]]:
        if self._names is None:
            with self._database.worker() as connection:
                rows = connection.execute(
                    "SELECT m.slug, coalesce(array_agg(e.slug) FILTER (WHERE e.slug IS NOT NULL),"
                    " '{}') FROM mandanten m LEFT JOIN entities e ON e.mandant_id = m.id"
                    " GROUP BY m.slug"
                ).fetchall()
            self._names = {slug: frozenset(entities) for slug, entities in rows}
        return self._names

    def _leave(self, candidate: Candidate) -> str:
        """Move the source to `processed/`; a reason when it has to stay where it is."""
        self._on_step("before_move")
        target = self._settings.root / PROCESSED / candidate.relative
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target = _free_name(target)
            candidate.path.rename(target)
            side_car = _side_car(candidate.path)
            if side_car.exists():
                side_car.rename(_free_name(_side_car(target)))
        except OSError as error:
            return f"secured; the source cannot be moved and stays in the folder ({error})"
        self._on_step("after_move")
        return ""

    def _failed(self, candidate: Candidate, reason: str) -> Taken:
        with self._database.worker() as connection:
            place = place_of(candidate.relative, self._folder_names())
            row = connection.execute(
                "SELECT id FROM mandanten WHERE slug = %s", (place.mandant,)
            ).fetchone()
            open_case(
                connection,
                NewCase(
                    kind=CaseKind.PARKED,
                    subject_kind=SubjectKind.FILE,
                    subject_key=printable(candidate.relative),
                    reason=f"The file cannot be taken: {printable(reason)}"[:500],
                    author=SERVICE_LOGIN,
                    mandant_id=None if row is None else row[0],
                    entity=place.entity,
                ),
            )
        return Taken(candidate.relative, TakenStatus.FAILED, reason)


@dataclass(frozen=True, slots=True)
class Place:
    """What the folder names say about a file."""

    mandant: str | None
    entity: str | None
    intent: str | None


def place_of(relative: str, names: dict[str, frozenset[str]]) -> Place:
    """Tenant, entity and intent from the folder names; unknown names are intent, never a guess."""
    folders = list(Path(relative).parts[:-1])
    mandant = entity = None
    if folders and folders[0] in names:
        mandant = folders.pop(0)
        if folders and folders[0] in names[mandant]:
            entity = folders.pop(0)
    intent = " / ".join(f for f in folders if f != UNSORTED)
    return Place(mandant, entity, printable(intent) or None)


def looks_like_mail(head: bytes, file_name: str) -> bool:
    """Whether the bytes are a whole mail, by the grammar of its header (known-fault 71)."""
    from tgv_dagster.understand.filetype import Family, sniff

    return sniff(head, file_name).family is Family.MAIL


def look(root: Path) -> Look:
    """Scan the whole folder once: candidates and skips with reason; follows no symbolic link."""
    candidates: list[Candidate] = []
    skipped: list[Taken] = []
    stack = [root]
    while stack:
        directory = stack.pop()
        try:
            with os.scandir(directory) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError as error:
            name = str(directory.relative_to(root))
            skipped.append(Taken(name, TakenStatus.FAILED, f"folder cannot be read: {error}"))
            continue
        for entry in entries:
            path = directory / entry.name
            relative = str(path.relative_to(root))
            reason = _skip_reason(entry, directory == root)
            if reason is not None:
                if reason:
                    skipped.append(Taken(relative, TakenStatus.SKIPPED, reason))
            elif entry.is_dir(follow_symlinks=False):
                stack.append(path)
            else:
                found = _candidate(entry, path, relative)
                if found is not None:
                    candidates.append(found)
    return Look(tuple(candidates), tuple(skipped))


def _skip_reason(entry: os.DirEntry[str], top: bool) -> str | None:
    """Why an entry is no candidate; '' for what belongs to the gate itself, None to go on."""
    name = entry.name
    lower = name.lower()
    try:
        if entry.is_symlink():
            return "symbolic links are not followed out of the folder"
        if entry.is_dir(follow_symlinks=False):
            if top and name == PROCESSED:
                return ""
            return "hidden folder" if name.startswith(".") else None
        if not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            return "not a regular file"
    except OSError as error:
        return f"cannot be examined: {error}"
    if lower.endswith(SIDE_CAR):
        return ""
    if lower in _SYSTEM_NAMES or name.startswith("."):
        return "hidden or system file"
    if name.startswith("~$"):
        return "lock file of an open document"
    if lower.endswith(_TEMPORARY_SUFFIXES):
        return "temporary file of a running download or copy"
    return None


def _candidate(entry: os.DirEntry[str], path: Path, relative: str) -> Candidate | None:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:
        return None  # vanished between listing and stat; the next look decides
    return Candidate(
        path=path,
        relative=relative,
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        ctime_ns=info.st_ctime_ns,
        inode=info.st_ino,
    )


def _changed(candidate: Candidate) -> str:
    """Why the file is not the one that was looked at, '' when it is.

    Raises FileNotFoundError when it is gone.
    """
    info = candidate.path.stat(follow_symlinks=False)
    now = (info.st_size, info.st_mtime_ns, info.st_ino)
    if now == (candidate.size, candidate.mtime_ns, candidate.inode):
        return ""
    return f"still changing ({candidate.size} → {info.st_size} bytes)"


def _end(candidate: Candidate) -> Completeness:
    with _open(candidate) as handle:
        head = handle.read(_HEAD_BYTES)
    return is_complete(candidate.path, head)


def _end_is_present(candidate: Candidate) -> bool:
    try:
        return _end(candidate).state is State.COMPLETE
    except OSError:
        return False  # `_take_one` meets the same fault and names it


def _open(candidate: Candidate) -> BinaryIO:
    """Open without following a link that was put in the file's place meanwhile."""
    return os.fdopen(os.open(candidate.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")


def _side_car(path: Path) -> Path:
    return path.with_name(path.name + SIDE_CAR)


def _read_side_car(path: Path) -> str | None:
    try:
        with path.open("rb") as handle:
            return printable(handle.read(4096).decode("utf-8", "replace")).strip() or None
    except (OSError, ValueError):
        return None  # no side-car, which is the normal case


def _free_name(target: Path) -> Path:
    free, number = target, 1
    while os.path.lexists(free):
        free = target.with_name(f"{target.stem}~{number}{target.suffix}")
        number += 1
    return free
