"""Embedded files: keep the bytes found inside a file under their hash, or say why not.

Here: the only place of the readers that writes. Not here: finding the files (each reader) and
saving them raw (the arrive room, which gets them from `embedded_dir`).
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.arrive.filetype import HEAD_BYTES, Family, FileType, sniff
from tgv_dagster.understand.extracted import Embedded, EmbeddedRole, ExtractionSettings

_NAME_CHARS = 500


def keep(name: str, data: bytes, role: EmbeddedRole, settings: ExtractionSettings) -> Embedded:
    """Store `data` (if an `embedded_dir` is set) and describe it. Raises OSError on a full disk."""
    return keep_stream(name, (data,), role, settings)


def keep_stream(
    name: str, blocks: Iterable[bytes], role: EmbeddedRole, settings: ExtractionSettings
) -> Embedded:
    """Like `keep` for content that is never whole in memory."""
    digest, size, head = hashlib.sha256(), 0, b""
    with contextlib.ExitStack() as stack:
        target = _open_target(settings.embedded_dir, stack)
        for block in blocks:
            digest.update(block)
            size += len(block)
            if len(head) < HEAD_BYTES:
                head += block[: HEAD_BYTES - len(head)]
            if target:
                target.write(block)
        stored = _settle(target, settings.embedded_dir, digest.hexdigest()) if target else None
    found = sniff(head, name)
    return Embedded(
        name=clean_name(name),
        media_type=found.media_type,
        family=found.family,
        role=role,
        size=size,
        sha256=digest.hexdigest(),
        stored=stored,
        reason="" if stored else "not kept: no folder for embedded files",
    )


def refused(name: str, role: EmbeddedRole, size: int, reason: str) -> Embedded:
    """An embedded file that was seen and not unpacked."""
    unknown = FileType("application/octet-stream", Family.UNKNOWN, "")
    return Embedded(
        clean_name(name), unknown.media_type, unknown.family, role, size, "", None, reason
    )


def clean_name(name: str) -> str:
    """The sender's name, printable and bounded; it stays data and never becomes a path."""
    return clean_text(name).replace("\n", " ").replace("\t", " ").strip()[:_NAME_CHARS]


def _open_target(folder: Path | None, stack: contextlib.ExitStack):
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(dir=folder, prefix=".part-")
    stack.callback(lambda: Path(path).unlink(missing_ok=True))
    return stack.enter_context(os.fdopen(handle, "wb"))


def _settle(target, folder: Path | None, digest: str) -> str:
    """Give the finished file its content name; an equal file that is there already is fine."""
    target.flush()
    assert folder is not None
    Path(f"/proc/self/fd/{target.fileno()}").resolve().replace(folder / digest)
    return digest
