"""The folder gate: files that people, scanners and programs put into the watched folder.

Every look is a full scan (events may only make it happen sooner, known-faults 76 to 81). A file is
taken when size and times rest, nobody here writes to it and its format's end is present; it moves
to `processed/` only after its bytes are read back and its row is committed. Layout:
`<inbox>/<mandant>/<entity>/…`; deeper folders and a side-car `<file>.intent.txt` become the intent
text (UPL-05, UPL-06).
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, cast

from tgv_dagster.arrive.completeness import Completeness, State, is_complete
from tgv_dagster.arrive.filetype import Family, sniff
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
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, close_solved, open_case
from tgv_dagster.store.db import Database
from tgv_dagster.store.organisation import INTAKE_BUCKET, SERVICE_LOGIN
from tgv_dagster.store.pull import INSTALLATION_FAULTS

PROCESSED = "processed"
SIDE_CAR = ".intent.txt"
UNSORTED = "_unsorted"
OLD_SECONDS = 3600.0
"""A file whose times are both older than this rests, whatever the clocks of a share say."""
PATIENCE_SECONDS = 600.0
"""A resting file without its format's end is taken as broken after this long, unless set apart."""
_LONGEST_WAIT_SECONDS = 30.0
"""Waiting longer than this for a file's end is left to a later look."""
VANISHED = "vanished before it could be read"
NOT_YET = "new, still being written or not complete; a later look takes it"
MAX_INTENT_CHARACTERS = 600
_HEAD_BYTES = 8192
_MAX_NAME_BYTES = 255
_MAX_SUFFIX_CHARACTERS = 20

_TEMPORARY_SUFFIXES = (".part", ".crdownload", ".download", ".tmp", ".partial", ".filepart")
_ORGANISATION = "organisation.yaml"
_SYSTEM_NAMES = frozenset({"thumbs.db", "desktop.ini", ".ds_store"})


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """`stable_seconds`: rest before a file without checkable end is taken; files whose end is
    verified wait a fifth of it. `patience_seconds`: rest before a file whose end is missing is
    taken as broken. `move`: whether taken files move to `processed/`. `mandant` and
    `entity` are used where the folder names say nothing."""

    root: Path
    stable_seconds: float = 5.0
    patience_seconds: float = PATIENCE_SECONDS
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

    def is_at(self, path: Path) -> bool:
        """Whether this very file lies there, with the content it was looked at. Raises OSError."""
        info = path.stat(follow_symlinks=False)
        return self.has(info)

    def has(self, info: os.stat_result) -> bool:
        """Whether these are the facts of this file; a rename changes none of them."""
        seen = (self.size, self.mtime_ns, self.inode)
        return (info.st_size, info.st_mtime_ns, info.st_ino) == seen

    def age_seconds(self, now: float) -> float:
        """Seconds since the younger of both times; negative when a clock runs ahead."""
        return now - max(self.mtime_ns, self.ctime_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Look:
    """Everything one full scan saw; `folders` are those whose names could be read."""

    candidates: tuple[Candidate, ...]
    skipped: tuple[Taken, ...]
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftLying:
    """Files of the folder that have not arrived, for one reason; `names` are printable."""

    reason: str
    names: tuple[str, ...]


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
        self._cases: frozenset[str] = frozenset()

    def waiting(self) -> bool:
        """Whether a file lies here that has not arrived yet."""
        return bool(self.new_candidates(look(self._settings.root)))

    def left_lying(self) -> tuple[LeftLying, ...]:
        """What lies in the folder and has not arrived, by reason: no skip is silent."""
        seen = look(self._settings.root)
        reasons = [(taken.reason, taken.name) for taken in seen.skipped]
        reasons += [(NOT_YET, candidate.relative) for candidate in self.new_candidates(seen)]
        names: dict[str, list[str]] = {}
        for reason, name in reasons:
            names.setdefault(reason, []).append(printable(name))
        return tuple(LeftLying(reason, tuple(found)) for reason, found in names.items())

    def new_candidates(self, seen: Look) -> tuple[Candidate, ...]:
        """Candidates whose arrival is not recorded (one indexed read, none for an empty look)."""
        return self._parted(seen)[0]

    def _parted(self, seen: Look) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
        """Candidates that have not arrived yet, and those that have."""
        if not seen.candidates:
            return (), ()
        by_key = {candidate.key: candidate for candidate in seen.candidates}
        with self._database.worker() as connection:
            rows = connection.execute(
                "SELECT arrival_key FROM arrivals WHERE arrival_key = ANY (%s)", (list(by_key),)
            ).fetchall()
        arrived = {row[0] for row in rows}
        return (
            tuple(c for key, c in by_key.items() if key not in arrived),
            tuple(c for key, c in by_key.items() if key in arrived),
        )

    def take(self, limit: int) -> Iterator[Taken]:
        """Secure up to `limit` files; resting files first, young ones after one common wait.

        What waits or fails does not count, so that it never keeps the files behind it from being
        taken. Raises the faults of the installation (`store.pull`): they hit every file alike.
        """
        first_look = time.monotonic()
        seen = look(self._settings.root)
        yield from (self._unreadable_folder(taken) for taken in seen.skipped)
        todo, arrived = self._parted(seen)
        if self._settings.move:
            # A killed run may have secured a file without moving it.
            for candidate in arrived:
                self._leave(candidate)
        if todo:
            self._cases = self._open_cases()
            for folder in seen.folders:
                self._case_is_solved(folder)
        now = self._clock()
        for candidate in todo:
            if limit > 0 and candidate.age_seconds(now) >= OLD_SECONDS:
                taken = self._take_one(candidate, now)
                limit -= taken.status is TakenStatus.TAKEN
                yield taken
        young = [c for c in todo if c.age_seconds(now) < OLD_SECONDS]
        while young and limit > 0:
            part, young = young[:limit], young[limit:]
            for rest, group in self._by_rest(part):
                self._sleep(max(0.0, first_look + rest - time.monotonic()))
                for candidate in group:
                    taken = self._take_one(candidate, self._clock())
                    limit -= taken.status is TakenStatus.TAKEN
                    yield taken

    def _by_rest(self, young: list[Candidate]) -> list[tuple[float, list[Candidate]]]:
        """Young files by how long they have to rest: short when their end can be checked."""
        whole, patience = self._settings.stable_seconds, self._settings.patience_seconds
        rests = {
            State.COMPLETE: whole / 5,
            State.UNDECIDABLE: whole,
            State.INCOMPLETE: patience if patience <= _LONGEST_WAIT_SECONDS else whole,
        }
        groups: dict[float, list[Candidate]] = {}
        for candidate in young:
            groups.setdefault(rests[_state_of_end(candidate)], []).append(candidate)
        return sorted(groups.items(), key=lambda group: group[0])

    def _take_one(self, candidate: Candidate, now: float) -> Taken:
        name = candidate.relative
        try:
            wait = self._why_wait(candidate, now)
            if wait:
                return Taken(name, TakenStatus.WAITING, wait)
            saved = self._secure(candidate)
        except INSTALLATION_FAULTS:
            raise
        except FileNotFoundError:
            return Taken(name, TakenStatus.SKIPPED, VANISHED)
        except SourceUnreadable as error:
            return self._unreadable(candidate, error)
        except (OSError, StoreError) as error:
            return self._failed(name, _reason_of(error))
        note = self._leave(candidate) if self._settings.move else ""
        return Taken(name, TakenStatus.TAKEN, note, saved.arrival_id, not saved.new_bytes)

    def _why_wait(self, candidate: Candidate, now: float) -> str:
        """Why the file is not taken now, '' when it is. Raises OSError."""
        changed = _changed(candidate)
        if changed:
            return changed
        end = _end(candidate)
        if end.state is State.INCOMPLETE and (
            candidate.age_seconds(now) < self._settings.patience_seconds
        ):
            return f"not complete yet: {end.reason}"
        return "another program is still writing to it" if _is_being_written(candidate) else ""

    def _secure(self, candidate: Candidate) -> SavedRaw:
        self._on_step("before_raw")
        with _open(candidate) as handle:
            arrival = self._arrival(candidate, handle.read(_HEAD_BYTES))
            handle.seek(0)
            saved = save_raw(self._database, self._blobs, arrival, _unchanged(handle, candidate))
        self._on_step("after_raw")
        self._case_is_solved(candidate.relative)
        return saved

    def _unreadable(self, candidate: Candidate, error: SourceUnreadable) -> Taken:
        """The bytes could not be read to their end: gone, changing, or really unreadable."""
        try:
            changed = _changed(candidate)
        except FileNotFoundError:
            return Taken(candidate.relative, TakenStatus.SKIPPED, VANISHED)
        except OSError:
            changed = ""
        if changed:
            return Taken(candidate.relative, TakenStatus.WAITING, changed)
        return self._failed(candidate.relative, _reason_of(error))

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
        """Move the source to `processed/`; a reason when it has to stay where it is.

        What is moved is looked at again: a file that changed since it was secured comes back and
        is another arrival of the next look. The side-car goes first: left behind by a killed run,
        it would speak for the next file of that name.
        """
        self._on_step("before_move")
        path = candidate.path
        target = self._settings.root / PROCESSED / candidate.relative
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target = _free_name(target)
            side_car = _moved(_side_car(path), _side_car(target))
            self._on_step("side_car_moved")
            path.rename(target)
            if not candidate.is_at(target):
                target.rename(_free_name(path))
                _moved(side_car, _side_car(path))
                return "secured as it was; it changed meanwhile and is taken again"
        except FileNotFoundError:
            return ""  # another worker moved it, or its owner took it away: the bytes are safe
        except OSError as error:
            return f"secured; the source cannot be moved and stays in the folder ({error.strerror})"
        self._on_step("after_move")
        return ""

    def _unreadable_folder(self, taken: Taken) -> Taken:
        """A skip of the look; one that lost a whole folder becomes a case too."""
        if taken.status is not TakenStatus.FAILED:
            return taken
        return self._failed(taken.name, taken.reason)

    def _failed(self, name: str, reason: str) -> Taken:
        with self._database.worker() as connection:
            place = place_of(name, self._folder_names())
            row = connection.execute(
                "SELECT id FROM mandanten WHERE slug = %s", (place.mandant,)
            ).fetchone()
            open_case(
                connection,
                NewCase(
                    kind=CaseKind.PARKED,
                    subject_kind=SubjectKind.FILE,
                    subject_key=printable(name),
                    reason=f"The file cannot be taken: {printable(reason)}"[:500],
                    author=SERVICE_LOGIN,
                    mandant_id=None if row is None else row[0],
                    entity=place.entity,
                ),
            )
        return Taken(name, TakenStatus.FAILED, reason)

    def _open_cases(self) -> frozenset[str]:
        """Files that somebody was told cannot be taken."""
        with self._database.worker() as connection:
            rows = connection.execute(
                "SELECT subject_key FROM cases WHERE subject_kind = %s AND kind = %s"
                " AND state = 'open'",
                (SubjectKind.FILE, CaseKind.PARKED),
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def _case_is_solved(self, relative: str) -> None:
        key = printable(relative)
        if key not in self._cases:
            return
        with self._database.worker() as connection:
            close_solved(
                connection,
                subject_kind=SubjectKind.FILE,
                subject_key=key,
                by=SERVICE_LOGIN,
                kinds=(CaseKind.PARKED,),
            )


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
    return sniff(head, file_name).family is Family.MAIL


def look(root: Path) -> Look:
    """Scan the whole folder once: candidates and skips with reason; follows no symbolic link."""
    candidates: list[Candidate] = []
    skipped: list[Taken] = []
    folders: list[str] = []
    stack = [root]
    while stack:
        directory = stack.pop()
        try:
            with os.scandir(directory) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError as error:
            name = str(directory.relative_to(root))
            reason = f"folder cannot be read: {error.strerror}"
            skipped.append(Taken(name, TakenStatus.FAILED, reason))
            continue
        folders.append(str(directory.relative_to(root)))
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
    return Look(tuple(candidates), tuple(skipped), tuple(folders))


def _skip_reason(entry: os.DirEntry[str], top: bool) -> str | None:
    """Why an entry is no candidate; '' for what belongs to the gate itself, None to go on."""
    name = entry.name
    lower = name.lower()
    try:
        if entry.is_symlink():
            return "a symbolic link; links are not followed"
        if entry.is_dir(follow_symlinks=False):
            if top and name == PROCESSED:
                return ""
            return "hidden folder" if name.startswith(".") else None
        if not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            return "not a regular file"
    except OSError as error:
        return f"cannot be examined: {error.strerror}"
    if lower.endswith(SIDE_CAR):
        return ""
    if top and name == _ORGANISATION:
        return "the settings of this folder, no document"
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
    if candidate.has(info):
        return ""
    return f"still changing ({candidate.size} → {info.st_size} bytes)"


def _end(candidate: Candidate) -> Completeness:
    with _open(candidate) as handle:
        head = handle.read(_HEAD_BYTES)
    return is_complete(candidate.path, head)


def _state_of_end(candidate: Candidate) -> State:
    try:
        return _end(candidate).state
    except OSError:
        return State.UNDECIDABLE  # `_take_one` meets the same fault and names it


def _open(candidate: Candidate) -> BinaryIO:
    """Open without following a link that was put in the file's place meanwhile."""
    return os.fdopen(os.open(candidate.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")


class _Unchanged(io.RawIOBase):
    """An open file that refuses to end when it is not the file that was looked at.

    A file that changes while it is read would be stored as a mixture of two states.
    """

    def __init__(self, handle: BinaryIO, candidate: Candidate) -> None:
        self._handle = handle
        self._candidate = candidate
        self._read = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Raises OSError at the end of a file that changed."""
        piece = self._handle.read(size)
        self._read += len(piece)
        if not piece and not (
            self._read == self._candidate.size
            and self._candidate.has(os.fstat(self._handle.fileno()))
        ):
            raise OSError("it changed while it was read")
        return piece


def _unchanged(handle: BinaryIO, candidate: Candidate) -> BinaryIO:
    return cast("BinaryIO", _Unchanged(handle, candidate))


def _is_being_written(candidate: Candidate) -> bool:
    """Whether a program of this machine has the file open for writing.

    The kernel grants a read lease only on a file without writers. Where it grants none at all
    (another owner's file, a network share) nothing is known, and rest alone decides.
    """
    with _open(candidate) as handle:
        try:
            # Whoever opens the file in this instant breaks the lease; that signal is ignored.
            fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        with suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False


def _reason_of(error: OSError | StoreError) -> str:
    """Why a file cannot be taken, without its path."""
    if isinstance(error, StoreError):
        return str(error)
    return error.strerror or type(error).__name__


def _side_car(path: Path) -> Path:
    return path.with_name(path.name + SIDE_CAR)


def _read_side_car(path: Path) -> str | None:
    try:
        with path.open("rb") as handle:
            return printable(handle.read(4096).decode("utf-8", "replace")).strip() or None
    except (OSError, ValueError):
        return None  # no side-car, which is the normal case


def _moved(path: Path, target: Path) -> Path:
    """Move a file that need not be there to a free name; returns where it is now."""
    target = _free_name(target)
    try:
        return path.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENAMETOOLONG):
            return path  # a name that is too long for this system belongs to no file
        raise


def _free_name(target: Path) -> Path:
    free, number = target, 1
    while os.path.lexists(free):
        free = target.with_name(_numbered(target, f"~{number}"))
        number += 1
    return free


def _numbered(path: Path, mark: str) -> str:
    """The name with a mark before its suffix, the stem cut where the whole would be too long."""
    suffix = path.suffix if len(path.suffix) <= _MAX_SUFFIX_CHARACTERS else ""
    room = _MAX_NAME_BYTES - len(os.fsencode(mark + suffix))
    stem = os.fsencode(path.name.removesuffix(suffix))
    if len(stem) > room:
        stem = stem[:room].decode("utf-8", "ignore").encode()
    return os.fsdecode(stem) + mark + suffix
