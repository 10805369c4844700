"""Opening a PDF: passwords, repair, embedded files, what the document says of itself.

Here: the document level, by pikepdf, and the hand-over to PDFium. Not here: pages (`pdf`,
`pdf_layer`).
"""

import contextlib
import mmap
import re
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.understand.extracted import (
    EncryptedError,
    ExtractionSettings,
    Facts,
    ReaderError,
)

_MOST_FILES = 500
_SMALL_FILE = 2**20


# The dictionary of a stream is never compressed; /ImageB, /ImageC and /ImageI are procedure sets.
_IMAGE_MARK = re.compile(rb"/Image[^BCIM]")


@dataclass(slots=True)
class Opened:
    """A document open for its pages; its objects are opened only when something asks for them."""

    source: Path
    pdf: pdfium.PdfDocument
    settings: ExtractionSettings
    facts: Facts
    stack: contextlib.ExitStack
    pictures: bool | None = None
    content: bytes | mmap.mmap | None = None

    def objects(self) -> pikepdf.Pdf | None:
        """The object level, or None when the file is too broken for it. Raises EncryptedError."""
        return _objects(self.source, self.settings, self.stack)[0]

    def may_embed_files(self) -> bool:
        """Whether the document level speaks of embedded files (annotations are the pages' part)."""
        if raw.FPDFDoc_GetAttachmentCount(self.pdf) > 0:
            return True
        return self._bytes().find(b"EmbeddedFile") >= 0

    def has_pictures(self) -> bool:
        """Whether any raster image stands in the file; looked up once."""
        if self.pictures is None:
            self.pictures = _IMAGE_MARK.search(self._bytes()) is not None
        return self.pictures

    def _bytes(self) -> bytes | mmap.mmap:
        """The file as it is: small ones in memory, large ones mapped."""
        if self.content is None:
            with self.source.open("rb") as stream:
                content = stream.read(_SMALL_FILE)
                if len(content) == _SMALL_FILE:
                    view = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
                    content = self.stack.enter_context(view)
            self.content = content
        return self.content


@contextlib.contextmanager
def opened(source: Path, settings: ExtractionSettings) -> Iterator[Opened]:
    """Open with the first password that fits, rewritten when PDFium refuses the file as it is.

    Raises EncryptedError and ReaderError.
    """
    with contextlib.ExitStack() as stack:
        pdf, index, repaired = _first_that_opens(source, settings, stack)
        facts = _facts(pdf, index, repaired=repaired)
        yield Opened(source, pdf, settings, facts, stack)


def _first_that_opens(
    source: Path, settings: ExtractionSettings, stack: contextlib.ExitStack
) -> tuple[pdfium.PdfDocument, int | None, bool]:
    """The open document, the index of its password, and whether a rewritten copy is read."""
    locked = False
    for index, password in enumerate((None, *settings.passwords)):
        try:
            document = stack.enter_context(pdfium.PdfDocument(source, password=password))
        except pdfium.PdfiumError as error:
            if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
                locked = True
                continue
            return _rewritten(source, settings, stack, _why(error))
        if len(document):
            return document, index - 1 if index else None, False
        break
    try:
        return _rewritten(source, settings, stack, "no pages")
    except ReaderError as error:
        if locked:
            raise EncryptedError(_locked(settings)) from error
        raise


def _locked(settings: ExtractionSettings) -> str:
    if settings.passwords:
        return "the PDF needs a password; none of the configured ones opens it"
    return "the PDF needs a password and none is configured"


def _rewritten(
    source: Path, settings: ExtractionSettings, stack: contextlib.ExitStack, why: str
) -> tuple[pdfium.PdfDocument, int | None, bool]:
    """Let pikepdf mend the file (or accept an owner password) and open its copy."""
    objects, index = _objects(source, settings, stack)
    if objects is not None and not _page_count(objects):
        raise ReaderError("the PDF has no pages that can be read")
    if objects is None:
        raise ReaderError(f"damaged PDF, beyond repair ({why})")
    copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pdf-"))) / "copy.pdf"
    try:
        objects.save(copy, encryption=False)
        return stack.enter_context(pdfium.PdfDocument(copy)), index, True
    except (pikepdf.PdfError, pdfium.PdfiumError, ValueError, RuntimeError) as error:
        raise ReaderError("damaged PDF, the repaired copy cannot be opened either") from error


def _objects(
    source: Path, settings: ExtractionSettings, stack: contextlib.ExitStack
) -> tuple[pikepdf.Pdf | None, int | None]:
    for index, password in enumerate(("", *settings.passwords)):
        try:
            objects = pikepdf.open(source, password=password, suppress_warnings=True)
        except pikepdf.PasswordError:
            continue
        except (pikepdf.PdfError, ValueError, RuntimeError, OverflowError):
            return None, None
        return stack.enter_context(objects), index - 1 if index else None
    raise EncryptedError(_locked(settings))


def _why(error: pdfium.PdfiumError) -> str:
    return str(error).split("(PDFium: ")[-1].rstrip(").") or "PDFium refuses it"


def _page_count(objects: pikepdf.Pdf) -> int:
    try:
        return len(objects.pages)
    except (pikepdf.PdfError, ValueError, RuntimeError):
        return 0


def _facts(pdf: pdfium.PdfDocument, index: int | None, *, repaired: bool) -> Facts:
    def told(key: str) -> str:
        try:
            return clean_text(pdf.get_metadata_value(key))[:500]
        except (pdfium.PdfiumError, UnicodeError):
            return ""

    return Facts(
        title=told("Title"),
        author=told("Author"),
        created=told("CreationDate"),
        producer=told("Producer"),
        page_count=len(pdf),
        encrypted=index is not None or raw.FPDF_GetSecurityHandlerRevision(pdf) >= 0,
        password_index=index,
        signed=raw.FPDF_GetSignatureCount(pdf) > 0,
        repaired=repaired,
    )


def _get(holder, key: str):
    try:
        return holder.get(key)
    except (pikepdf.PdfError, ValueError, TypeError, AttributeError, RuntimeError):
        return None


def is_xfa(pdf: pdfium.PdfDocument) -> bool:
    """Whether the document is a form whose content stands in XML and not on its pages."""
    return raw.FPDF_GetFormType(pdf) in (raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND)


def xfa_data(objects: pikepdf.Pdf, most_bytes: int) -> bytes | None:
    """The filled-in data of an XFA form: the packet `datasets`, or the whole form in one stream."""
    parts = _get(_get(objects.Root, "/AcroForm"), "/XFA")
    if isinstance(parts, pikepdf.Stream):
        return _inflate(parts, most_bytes)
    listed = list(_listed(parts, only_dictionaries=False))
    for name, stream in zip(listed[::2], listed[1::2], strict=False):
        if str(name) == "datasets" and isinstance(stream, pikepdf.Stream):
            return _inflate(stream, most_bytes)
    return None


@dataclass(frozen=True, slots=True)
class PdfFile:
    """A file inside the PDF; `data` is None when it was left out, and `reason` says why."""

    name: str
    data: bytes | None
    size: int = 0
    reason: str = ""


def embedded_files(
    objects: pikepdf.Pdf, most_bytes: int, pages: tuple[int, ...] = ()
) -> Iterator[PdfFile]:
    """Files of the name tree, of associated-file lists, and of annotations on `pages` (from 0).

    Each is found by its stream, so a file listed twice comes once.
    """
    seen: set[tuple[int, int]] = set()
    for count, spec in enumerate(_file_specs(objects, pages)):
        if count >= _MOST_FILES:
            yield PdfFile("", None, reason=f"more than {_MOST_FILES} embedded files")
            return
        found = _stream_of(spec)
        if found is None:
            continue
        if found.objgen in seen and found.objgen != (0, 0):
            continue
        seen.add(found.objgen)
        yield _file(_file_name(spec), found, most_bytes)


def _file_specs(objects: pikepdf.Pdf, pages: tuple[int, ...]) -> Iterator[pikepdf.Object]:
    names = _get(_get(objects.Root, "/Names"), "/EmbeddedFiles")
    if isinstance(names, pikepdf.Dictionary):
        yield from _tree(names, 0)
    yield from _listed(_get(objects.Root, "/AF"))
    for number in pages:
        page = objects.pages[number].obj
        yield from _listed(_get(page, "/AF"))
        for annotation in _listed(_get(page, "/Annots")):
            spec = _get(annotation, "/FS")
            if isinstance(spec, pikepdf.Dictionary):
                yield spec


def _tree(node: pikepdf.Dictionary, depth: int) -> Iterator[pikepdf.Object]:
    listed = list(_listed(_get(node, "/Names"), only_dictionaries=False))
    yield from (item for item in listed[1::2] if isinstance(item, pikepdf.Dictionary))
    if depth < 20:
        for kid in _listed(_get(node, "/Kids")):
            yield from _tree(kid, depth + 1)


def _listed(value, *, only_dictionaries: bool = True) -> Iterator:
    if not isinstance(value, pikepdf.Array):
        return
    for item in value:
        if not only_dictionaries or isinstance(item, pikepdf.Dictionary):
            yield item


def _stream_of(spec: pikepdf.Object) -> pikepdf.Stream | None:
    files = _get(spec, "/EF")
    for key in ("/UF", "/F", "/DOS", "/Unix", "/Mac"):
        stream = _get(files, key)
        if isinstance(stream, pikepdf.Stream):
            return stream
    return None


def _file_name(spec: pikepdf.Object) -> str:
    for key in ("/UF", "/F"):
        name = _get(spec, key)
        if name is not None and not isinstance(name, pikepdf.Stream):
            return clean_text(str(name))
    return ""


def _file(name: str, stream: pikepdf.Stream, most_bytes: int) -> PdfFile:
    try:
        data = _inflate(stream, most_bytes)
    except (pikepdf.PdfError, ValueError, RuntimeError, zlib.error):
        return PdfFile(name, None, reason="the embedded stream is damaged or encrypted")
    if data is None:
        return PdfFile(name, None, most_bytes, f"larger than {most_bytes} bytes")
    return PdfFile(name, data, len(data))


def _inflate(stream: pikepdf.Stream, most_bytes: int) -> bytes | None:
    """Decompress with a bound (None beyond it); a Flate stream is never inflated whole first."""
    kind = _get(stream, "/Filter")
    if isinstance(kind, pikepdf.Array) and len(kind) == 1:
        kind = kind[0]
    if kind == pikepdf.Name.FlateDecode and _get(stream, "/DecodeParms") is None:
        machine = zlib.decompressobj()
        data = machine.decompress(stream.read_raw_bytes(), most_bytes)
        return None if machine.unconsumed_tail else data
    data = stream.read_bytes()
    return data if len(data) <= most_bytes else None
