"""Archives and other containers: members are unpacked within limits and listed.

Here: ZIP, TAR, GZIP, BZIP2, XZ by the standard library, 7z, RAR and the rest by libarchive, TNEF
and CMS by the mail room. Not here: reading the members; each arrives as a file of its own.
Member names are data and never become paths; links and devices are never followed.
"""

import bz2
import gzip
import lzma
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from tgv_dagster.arrive.decoding import clean_text, decode
from tgv_dagster.arrive.filetype import Family, FileType, sniff_file
from tgv_dagster.arrive.mime_smime import CmsKind, open_cms
from tgv_dagster.arrive.mime_text import html_text
from tgv_dagster.arrive.mime_tnef import BodyKind, TnefBody, open_tnef
from tgv_dagster.understand.extracted import (
    Embedded,
    EmbeddedRole,
    EncryptedError,
    Extraction,
    ExtractionSettings,
    Facts,
    Method,
    PageText,
    ReaderError,
    Status,
    UnsupportedError,
)
from tgv_dagster.understand.readers import office
from tgv_dagster.understand.readers.embedding import clean_name, keep_stream, refused

_LOCKED = "the archive needs a password; none of the configured ones opens it"
_BLOCK = 1 << 16
_FREE_BYTES = 64 * 2**20
_CONTAINER_BYTES = 128 * 2**20
_HTML_CHARS = 2_000_000
_SINGLE = {
    "application/gzip": gzip.open,
    "application/x-bzip2": bz2.open,
    "application/x-xz": lzma.open,
}
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError,
            NotImplementedError, ValueError)  # fmt: skip


class _BoundError(Exception):
    """A limit was met; the message says which."""


@dataclass(slots=True)
class _Unpacking:
    """What one file may still cost, over all its nested archives."""

    settings: ExtractionSettings
    packed: int
    members: list[Embedded] = field(default_factory=list)
    total: int = 0
    stopped: str = ""
    locked: int = 0

    def bounded(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Pass blocks on, counting. Raises _BoundError."""
        limits, size = self.settings.archive, 0
        for block in blocks:
            size += len(block)
            self.total += len(block)
            if size > limits.member_bytes:
                raise _BoundError(f"larger than {limits.member_bytes} bytes")
            if self.total > limits.total_bytes:
                raise _BoundError(f"the archive inflates beyond {limits.total_bytes} bytes")
            if self.total > max(_FREE_BYTES, limits.ratio * self.packed):
                raise _BoundError(f"the archive inflates more than {limits.ratio}-fold")
            yield block

    def full(self) -> bool:
        """Whether no further member may be unpacked."""
        limits = self.settings.archive
        if len(self.members) >= limits.members:
            self.stopped = f"more than {limits.members} members"
        return bool(self.stopped)

    def take(self, name: str, blocks: Iterable[bytes]) -> Embedded | None:
        """Keep one member; a member that cannot be kept is listed with its reason."""
        before = self.total
        role = EmbeddedRole.ARCHIVE_MEMBER
        try:
            found = keep_stream(name, self.bounded(blocks), role, self.settings)
        except _BoundError as error:
            self.refuse(name, self.total - before, str(error))
            if "archive inflates" in str(error):
                self.stopped = str(error)
            return None
        except EncryptedError as error:
            self.locked += 1
            self.refuse(name, 0, str(error))
            return None
        except _DAMAGED as error:
            self.refuse(name, self.total - before, f"damaged ({type(error).__name__})")
            return None
        self.members.append(found)
        return found

    def refuse(self, name: str, size: int, reason: str) -> None:
        """List a member that was not unpacked."""
        self.members.append(refused(name, EmbeddedRole.ARCHIVE_MEMBER, size, reason))


def read(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Unpack a container. Raises EncryptedError, UnsupportedError, ReaderError."""
    if file_type.media_type in ("application/ms-tnef", "application/pkcs7-mime"):
        return _mail_container(source, file_type, settings)
    with tempfile.TemporaryDirectory(prefix="archive-") as scratch:
        # Nested archives are needed once more to be opened, also when nothing is to be kept.
        work = settings
        if settings.embedded_dir is None:
            work = replace(settings, embedded_dir=Path(scratch))
        state = _Unpacking(work, max(1, source.stat().st_size))
        _unpack(source, file_type, settings.name_of(source), 1, state)
        return _extraction(state, settings)


def _extraction(state: _Unpacking, settings: ExtractionSettings) -> Extraction:
    members = state.members
    if settings.embedded_dir is None:
        gone = "not kept: no folder for embedded files"
        members = [replace(m, stored=None, reason=m.reason or gone) for m in members]
    if members and state.locked == len(members):
        raise EncryptedError(_LOCKED)
    lines = [
        f"{m.name} ({m.size} bytes)" + (f": {m.reason}" if m.reason else "") for m in state.members
    ]
    skipped = [m for m in state.members if m.reason]
    reason = state.stopped
    if skipped and not reason:
        reason = f"{len(skipped)} of {len(members)} members were not unpacked: {skipped[0].reason}"
    page = PageText(1, clean_text("\n".join(lines)), Method.NATIVE)
    if not members:
        return Extraction(Status.EMPTY, reason or "the archive has no members", engine="archive")
    status = Status.TRUNCATED if reason else Status.COMPLETE
    return Extraction(
        status, reason, pages=(page,), engine="archive", embedded=tuple(members),
        facts=Facts(page_count=len(members)),
    )  # fmt: skip


def _unpack(source: Path, kind: FileType, name: str, depth: int, state: _Unpacking) -> None:
    """Unpack one archive, and archives in it down to the allowed depth."""
    prefix = "" if depth == 1 else f"{name}/"
    at = len(state.members)
    for inner, blocks in _each(source, kind, name, state):
        if state.full():
            state.refuse(prefix + inner, 0, state.stopped)
            break
        state.take(prefix + inner, blocks)
    for found in state.members[at:]:
        if found.family is not Family.ARCHIVE or found.stored is None or state.stopped:
            continue
        if found.media_type in ("application/ms-tnef", "application/pkcs7-mime"):
            continue
        _nested(found, depth + 1, state)


def _nested(found: Embedded, depth: int, state: _Unpacking) -> None:
    folder = state.settings.embedded_dir
    assert folder is not None and found.stored is not None
    if depth > state.settings.archive.depth:
        place = state.members.index(found)
        state.members[place] = replace(found, reason="nested too deep, kept unopened")
        return
    path = folder / found.stored
    try:
        _unpack(path, sniff_file(path, found.name), found.name, depth, state)
    except (ReaderError, *_DAMAGED) as error:
        why = str(error) if isinstance(error, ReaderError) else type(error).__name__
        place = state.members.index(found)
        state.members[place] = replace(found, reason=f"kept unopened: {why}")


def _each(
    source: Path, kind: FileType, name: str, state: _Unpacking
) -> Iterator[tuple[str, Iterable[bytes]]]:
    media_type = kind.media_type
    if media_type == "application/zip":
        yield from _zip(source, state)
    elif media_type == "application/x-tar":
        yield from _tar(source, state)
    elif media_type in _SINGLE:
        yield from _single(source, media_type, name, state)
    else:
        yield from _by_libarchive(source, state)


def _zip(source: Path, state: _Unpacking) -> Iterator[tuple[str, Iterable[bytes]]]:
    try:
        archive = zipfile.ZipFile(source)
    except _DAMAGED as error:
        raise ReaderError("the archive is damaged or cut off") from error
    with archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if any(e.flag_bits & 1 and e.compress_type == 99 for e in entries):
            # AES is beyond the standard library.
            yield from _by_libarchive(source, state)
            return
        for entry in entries:
            if (entry.external_attr >> 16) & 0o170000 == 0o120000:
                state.refuse(entry.filename, 0, "a link, not followed")
                continue
            yield _zip_name(entry), _zip_blocks(archive, entry, state)


def _zip_name(entry: zipfile.ZipInfo) -> str:
    """Without the UTF-8 flag a name is in the code page of its DOS: 850 in Western Europe."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        raw = entry.filename.encode("cp437")
    except UnicodeEncodeError:
        return entry.filename
    for encoding in ("utf-8", "cp850"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return entry.filename


def _zip_blocks(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, state: _Unpacking
) -> Iterator[bytes]:
    with _zip_member(archive, entry, state) as stream:
        while block := stream.read(_BLOCK):
            yield block


def _zip_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, state: _Unpacking) -> IO[bytes]:
    if not entry.flag_bits & 1:
        return archive.open(entry)
    for password in state.settings.passwords:
        if _opens(archive, entry, password.encode(), state.settings.archive.member_bytes):
            return archive.open(entry, pwd=password.encode())
    raise EncryptedError("needs a password that is not configured")


def _opens(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, password: bytes, most: int) -> bool:
    """The format's own check is one byte weak, so the member is read to its checksum."""
    try:
        with archive.open(entry, pwd=password) as stream:
            while most > 0 and (block := stream.read(_BLOCK)):
                most -= len(block)
    except (RuntimeError, zipfile.BadZipFile, zlib.error, EOFError):
        return False
    return True


def _tar(source: Path, state: _Unpacking) -> Iterator[tuple[str, Iterable[bytes]]]:
    try:
        with tarfile.open(source, "r:") as archive:
            yield from _tar_members(archive, state)
    except tarfile.TarError as error:
        raise ReaderError("the archive is damaged or cut off") from error


def _tar_members(
    archive: tarfile.TarFile, state: _Unpacking
) -> Iterator[tuple[str, Iterable[bytes]]]:
    for entry in archive:
        if entry.isdir():
            continue
        stream = archive.extractfile(entry) if entry.isreg() else None
        if stream is None:
            state.refuse(entry.name, 0, "no plain file (link or device), not followed")
            continue
        yield entry.name, iter(lambda s=stream: s.read(_BLOCK), b"")


def _single(
    source: Path, media_type: str, name: str, state: _Unpacking
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """One compressed file; when it is a TAR, its members."""
    opener: Any = _SINGLE[media_type]
    with closing(opener(source, "rb")) as stream:
        try:
            head = stream.read(512)
        except _DAMAGED as error:
            raise ReaderError("the compressed data is damaged") from error
    with closing(opener(source, "rb")) as stream:
        if head[257:262] == b"ustar":
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                yield from _tar_members(archive, state)
            return
        yield _inner_name(name), iter(lambda: stream.read(_BLOCK), b"")


def _inner_name(name: str) -> str:
    path = PurePosixPath(clean_name(name).replace("\\", "/"))
    return path.stem if path.suffix.lower() in (".gz", ".bz2", ".xz") else f"{path.name}.content"


def _by_libarchive(source: Path, state: _Unpacking) -> Iterator[tuple[str, Iterable[bytes]]]:
    """7z, RAR, CAB, ISO, encrypted ZIP: streamed by libarchive."""
    library = _libarchive()
    password = _library_password(source, library, state.settings.passwords)
    try:
        with library.file_reader(str(source), passphrase=password) as archive:
            for entry in archive:
                if entry.isfile:
                    yield entry.pathname or "", _library_blocks(entry, library)
                elif not entry.isdir:
                    state.refuse(entry.pathname or "", 0, "no plain file, not followed")
    except library.ArchiveError as error:
        if _speaks_of_password(error):
            raise EncryptedError(_LOCKED) from error
        if not state.members:
            raise ReaderError("the archive is damaged or of an unknown kind") from error
        state.stopped = "the archive is damaged behind its first members"


def _library_password(source: Path, library: Any, passwords: tuple[str, ...]) -> str | None:
    """The first password that opens the first member; None when none is needed or none fits."""
    for password in (None, *passwords):
        try:
            with library.file_reader(str(source), passphrase=password) as archive:
                for entry in archive:
                    if entry.isfile and entry.size:
                        next(iter(entry.get_blocks()), None)
                        break
        except library.ArchiveError as error:
            if _speaks_of_password(error):
                continue
        return password
    return None


def _libarchive() -> Any:
    try:
        import libarchive
    except (ImportError, OSError, AttributeError, TypeError) as error:
        raise UnsupportedError("this archive needs libarchive, install libarchive13") from error
    return libarchive


def _speaks_of_password(error: Exception) -> bool:
    said = str(error).lower()
    return "passphrase" in said or "encrypt" in said or "password" in said


def _library_blocks(entry: Any, library: Any) -> Iterator[bytes]:
    try:
        yield from entry.get_blocks()
    except library.ArchiveError as error:
        if _speaks_of_password(error):
            raise EncryptedError("needs a password that is not configured") from error
        raise OSError("damaged member") from error


def _mail_container(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    if source.stat().st_size > _CONTAINER_BYTES:
        raise ReaderError(f"the container is larger than {_CONTAINER_BYTES} bytes")
    raw = source.read_bytes()
    if file_type.media_type == "application/ms-tnef":
        return _tnef(raw, settings)
    return _cms(raw, settings.name_of(source), settings)


def _tnef(raw: bytes, settings: ExtractionSettings) -> Extraction:
    content = open_tnef(raw)
    role = EmbeddedRole.ATTACHMENT
    files = tuple(keep_stream(f.name, (f.content,), role, settings) for f in content.files)
    texts = {body.kind: _tnef_text(body) for body in content.bodies}
    text = next((texts[kind] for kind in BodyKind if texts.get(kind, "").strip()), "")
    if not files and not text:
        raise ReaderError(f"the TNEF container yields nothing ({content.detail or 'empty'})")
    status = Status.COMPLETE if content.complete else Status.TRUNCATED
    reason = "" if content.complete else f"the TNEF container breaks off ({content.detail})"
    pages = (PageText(1, clean_text(text), Method.NATIVE),)
    return Extraction(status, reason, pages=pages, engine="TNEF", embedded=files)


def _tnef_text(body: TnefBody) -> str:
    if body.kind is BodyKind.RTF:
        return office.read_rtf(body.content)
    text = decode(body.content, body.charset).text
    return html_text(text, _HTML_CHARS).text if body.kind is BodyKind.HTML else text


def _cms(raw: bytes, name: str, settings: ExtractionSettings) -> Extraction:
    """The signed content is read as the document; the signature is not judged here."""
    from tgv_dagster.understand.extraction import extract

    opened = open_cms(raw)
    if opened.kind is CmsKind.ENCRYPTED:
        raise EncryptedError("the CMS envelope is encrypted for somebody")
    if opened.content is None:
        raise ReaderError(f"the CMS envelope carries no content ({opened.kind})")
    inner = PurePosixPath(name)
    inner_name = inner.stem if inner.suffix.lower() in (".p7m", ".p7s", ".p7z") else inner.name
    role = EmbeddedRole.CONTENT
    kept = keep_stream(inner_name, (opened.content,), role, settings)
    with tempfile.TemporaryDirectory(prefix="cms-") as folder:
        path = Path(folder) / "content"
        path.write_bytes(opened.content)
        kind = sniff_file(path, inner_name)
        if kind.media_type == "application/pkcs7-mime":
            raise ReaderError("signed more than once, kept unopened")
        found = extract(path, kind, settings)
    facts = replace(found.facts, signed=opened.kind is CmsKind.SIGNED)
    return replace(found, embedded=(kept, *found.embedded), facts=facts)
