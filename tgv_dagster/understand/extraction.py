"""Extraction: any file becomes text by the reader of its family, or ends in a listed outcome.

Here: which reader takes which file, and the border at which every failure becomes an outcome. Not
here: the readers themselves, and the worker processes in which this should run (`workers`).
"""

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tgv_dagster.arrive.filetype import Family, FileType
from tgv_dagster.understand.extracted import (
    ENGINE_VERSION,
    MEMORY_REACHED,
    PAGE_BREAK,
    ArchiveLimits,
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
    WordBox,
    WordBoxes,
    cache_key,
)

__all__ = [
    "ENGINE_VERSION", "PAGE_BREAK", "ArchiveLimits", "Embedded", "EmbeddedRole", "Extraction",
    "ExtractionSettings", "Facts", "Method", "PageText", "Status", "WordBox", "WordBoxes",
    "cache_key", "extract",
]  # fmt: skip

Reader = Callable[[Path, FileType, ExtractionSettings], Extraction]

_MODULES: dict[Family, str] = {
    Family.PDF: "pdf",
    Family.IMAGE: "images",
    Family.OFFICE: "office",
    Family.TABLE: "tables",
    Family.TEXT: "texts",
    Family.XML: "texts",
    Family.CALENDAR: "texts",
    Family.VCARD: "texts",
    Family.BANK: "texts",
    Family.EINVOICE: "einvoice",
    Family.ARCHIVE: "archives",
    Family.MAIL: "mails",
}
_UNREAD: dict[Family, str] = {
    Family.AUDIO: "audio is set apart, speech is not read here",
    Family.VIDEO: "video is not read here",
}


def extract(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Read one file. Never raises: whatever goes wrong is an outcome with a reason.

    The reason names kinds and places, and quotes nothing of the document. Run it in a worker
    process: format libraries may end a process or fill its memory.
    """
    try:
        if source.stat().st_size == 0:
            return Extraction(Status.EMPTY, "the file has no bytes")
        return _bounded(_reader(file_type)(source, file_type, settings), settings)
    except EncryptedError as error:
        return Extraction(Status.ENCRYPTED, str(error))
    except UnsupportedError as error:
        return Extraction(Status.UNSUPPORTED, str(error))
    except ReaderError as error:
        return Extraction(Status.FAILED, str(error))
    except MemoryError:
        return Extraction(Status.FAILED, MEMORY_REACHED)
    except RecursionError:
        return Extraction(Status.FAILED, "nested too deeply")
    except OSError as error:
        return Extraction(
            Status.FAILED, f"the file cannot be read: {error.strerror or 'I/O error'}"
        )
    except Exception as error:  # noqa: BLE001 - a format library failed; its message may quote the document
        return Extraction(
            Status.FAILED,
            f"damaged, or unusual for its kind ({file_type.family}, {type(error).__name__})",
        )


def _reader(file_type: FileType) -> Reader:
    """Readers are loaded when first needed: their libraries are slow to start."""
    name = _MODULES.get(file_type.family)
    if name is None:
        why = _UNREAD.get(file_type.family, f"no reader for {file_type.media_type}")
        raise UnsupportedError(why)
    return importlib.import_module(f"tgv_dagster.understand.readers.{name}").read


def _bounded(found: Extraction, settings: ExtractionSettings) -> Extraction:
    """Cut the text at the limit, and never call a text without letters complete."""
    left, pages = settings.max_chars, []
    for page in found.pages:
        if len(page.text) > left:
            pages.append(replace(page, text=page.text[:left], words=None))
            reason = f"text longer than {settings.max_chars} characters"
            return replace(found, status=Status.TRUNCATED, reason=reason, pages=tuple(pages))
        left -= len(page.text)
        pages.append(page)
    silent = not any(page.text.strip() for page in pages)
    if found.status is Status.COMPLETE and silent and not found.embedded:
        return replace(found, status=Status.EMPTY, reason=found.reason or "no text in the file")
    return found
