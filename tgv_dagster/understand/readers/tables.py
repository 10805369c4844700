"""Tables as text: XLSX, XLS, XLSB, ODS and CSV, each sheet a page, each row a line.

Here: cells shown as a reader would see them, header and rows readable. Not here: what the columns
mean (the tables room) and number formats of the workbook.
"""

import csv
import datetime
import io
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tgv_dagster.arrive.decoding import clean_text, decode
from tgv_dagster.arrive.filetype import ENCRYPTED_OFFICE, Family, FileType
from tgv_dagster.understand.extracted import (
    EncryptedError,
    Extraction,
    ExtractionSettings,
    Method,
    PageText,
    ReaderError,
    Status,
)
from tgv_dagster.understand.readers import package

_DELIMITERS = ";\t|,"
_SAMPLE_LINES = 200
_MOST_COLUMNS = 2000
_MOST_ROWS = 200_000
_SHEET_ROWS = 1_048_576
_MOST_CELLS = 40_000_000
_MANIFEST = "META-INF/manifest.xml"
_MANIFEST = "META-INF/manifest.xml"
_SCANNED_BYTES = 32 * 2**20
_UNSOLVED = re.compile(rb"(?:</f>|<f[^>]*/>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")
_CSV_BYTES = 64 * 2**20
_CELL = re.compile(r"\s*[\r\n]+\s*")


@dataclass(slots=True)
class _Budget:
    """What may still be written; `hit` says which limit left rows out."""

    chars: int
    rows: int = _MOST_ROWS
    hit: str = ""

    def lines(self, rows: Iterable[Iterable[str]]) -> Iterator[str]:
        """One line a row that is not empty, until a limit is met."""
        for row in rows:
            line = " | ".join(row).rstrip(" |")
            if not line.strip(" |"):
                continue
            self.chars -= len(line) + 1
            self.rows -= 1
            if self.chars < 0 or self.rows < 0:
                self.hit = f"rows beyond the limit of {_MOST_ROWS} rows or the text limit"
                return
            yield line


def read(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Read a table file. Raises ReaderError, EncryptedError."""
    if file_type.media_type.startswith("text/"):
        return _read_csv(source, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "spreadsheetml" in file_type.media_type:
            return _read_xlsx(source, settings)
        return _read_by_calamine(source, settings, packed=_is_packed(source))


def _is_packed(source: Path) -> bool:
    with source.open("rb") as stream:
        return stream.read(2) == b"PK"


def _extraction(pages: list[PageText], reasons: list[str], engine: str) -> Extraction:
    status = Status.TRUNCATED if reasons else Status.COMPLETE
    return Extraction(status, "; ".join(reasons), pages=tuple(pages), engine=engine)


def _page(number: int, title: str, lines: Iterable[str]) -> PageText:
    rows = "\n".join(lines)
    head = clean_text(title).strip()
    text = clean_text(f"{head}\n{rows}" if head and rows else rows)
    return PageText(number, text, Method.NATIVE, title=head)


def _shown(value: object) -> str:
    """A cell as text: whole numbers without a point, dates as ISO, line ends as blanks."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        whole = value.time() == datetime.time()
        return str(value.date()) if whole else value.isoformat(" ", "seconds")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return _CELL.sub(" ", str(value)).strip()


def _read_xlsx(source: Path, settings: ExtractionSettings) -> Extraction:
    """Streamed row by row: a sheet with one far cell costs no more than its cells."""
    with package.opened(source, settings) as opened:
        facts, embedded = opened.facts(), opened.embedded(("xl/embeddings/",))
        unsolved = _unsolved_formulas(opened)
    found = _by_openpyxl(source, settings)
    if found is None or not found.text.strip():
        found = _read_by_calamine(source, settings, packed=True)
    if unsolved:
        note = f"{unsolved} formulas have no stored result and are empty in the text"
        reason = "; ".join(filter(None, (found.reason, note)))
        found = replace(found, status=Status.TRUNCATED, reason=reason)
    return replace(found, facts=facts, embedded=embedded)


def _unsolved_formulas(opened: package.Package) -> int:
    """Programs that write workbooks without calculating leave formulas without their values."""
    return sum(
        len(_UNSOLVED.findall(opened.read(name)))
        for name in opened.names("xl/worksheets/sheet")
        if name.endswith(".xml") and opened.archive.getinfo(name).file_size <= _SCANNED_BYTES
    )


def _by_openpyxl(source: Path, settings: ExtractionSettings) -> Extraction | None:
    """None when the library cannot cope: it is strict about parts that nobody reads here."""
    import openpyxl

    budget = _Budget(settings.max_chars)
    pages: list[PageText] = []
    try:
        with source.open("rb") as stream:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            for number, sheet in enumerate(book.worksheets, 1):
                sheet.reset_dimensions()
                rows = itertools.islice(sheet.iter_rows(values_only=True), _SHEET_ROWS)
                shown = (tuple(map(_shown, row[:_MOST_COLUMNS])) for row in rows)
                pages.append(_page(number, sheet.title, budget.lines(shown)))
                if budget.hit:
                    break
            book.close()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - it fails on odd files in many ways; calamine reads them
        return None
    return _extraction(pages, [budget.hit] if budget.hit else [], "openpyxl")


def _read_by_calamine(source: Path, settings: ExtractionSettings, *, packed: bool) -> Extraction:
    """XLS, XLSB, ODS, and XLSX that openpyxl refuses."""
    import python_calamine

    if packed:
        with package.opened(source, settings):
            pass
    try:
        with source.open("rb") as stream:
            book = python_calamine.load_workbook(io.BytesIO(stream.read()))
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        # From memory the library does not tell a password from damage.
        return _unlocked(source, settings, packed=packed, error=error)
    budget = _Budget(settings.max_chars)
    pages: list[PageText] = []
    for number, sheet in enumerate(book.sheets_metadata, 1):
        if sheet.typ is not python_calamine.SheetTypeEnum.WorkSheet:
            pages.append(PageText(number, "", Method.BLANK, title=sheet.name, note="no cells"))
        else:
            pages.append(_calamine_page(book, number, sheet.name, budget))
        if budget.hit:
            break
    unread = [page for page in pages if page.method is Method.UNREAD]
    if unread and len(unread) == len(pages):
        raise ReaderError(f"no sheet of the workbook can be read: {unread[0].note}")
    reasons = [f"sheet {page.number}: {page.note}" for page in unread[:5]]
    return _extraction(pages, [*reasons, *([budget.hit] if budget.hit else [])], "calamine")


def _calamine_page(book, number: int, name: str, budget: _Budget) -> PageText:
    import python_calamine

    try:
        sheet = book.get_sheet_by_name(name)
        _check_extent(sheet)
        rows = (tuple(map(_shown, row[:_MOST_COLUMNS])) for row in sheet.iter_rows())
        return _page(number, name, budget.lines(rows))
    except ReaderError as error:
        return PageText(number, "", Method.UNREAD, title=name, note=str(error))
    except (python_calamine.CalamineError, OSError, ValueError):
        return PageText(number, "", Method.UNREAD, title=name, note="damaged")


def _check_extent(sheet) -> None:
    """The library lays sheets out densely: refuse before one far cell fills the memory."""
    start, end = sheet.start, sheet.end
    if start is None or end is None:
        return
    cells = (end[0] - start[0] + 1) * (end[1] - start[1] + 1)
    if cells > _MOST_CELLS:
        raise ReaderError(f"the sheet spans {cells} cells")


def _unlocked(
    source: Path, settings: ExtractionSettings, *, packed: bool, error: Exception
) -> Extraction:
    """Read behind a configured password. Raises EncryptedError, or ReaderError for damage."""
    from tgv_dagster.understand.readers import office

    if packed:
        with package.opened(source, settings) as opened:
            if opened.has(_MANIFEST) and b"encryption-data" in opened.read(_MANIFEST):
                raise EncryptedError("the workbook needs a password; ODF is not decrypted here")
    elif office.is_encrypted(source):
        return office.read(source, FileType(ENCRYPTED_OFFICE, Family.OFFICE, ""), settings)
    raise ReaderError("the workbook is damaged") from error


def _read_csv(source: Path, settings: ExtractionSettings) -> Extraction:
    """Text tables: the delimiter by the evenness of the columns, cells joined by bars."""
    cut = source.stat().st_size > _CSV_BYTES
    with source.open("rb") as stream:
        text = decode(stream.read(_CSV_BYTES), partial=cut).text
    delimiter = find_delimiter(text)
    budget = _Budget(settings.max_chars)
    try:
        page = _page(1, "", budget.lines(_rows(text, delimiter)))
    except csv.Error:
        budget = _Budget(settings.max_chars)
        page = _page(1, "", budget.lines([line] for line in text.splitlines()))
    reasons = [f"only the first {_CSV_BYTES} bytes were read"] if cut else []
    return _extraction([page], [*reasons, *([budget.hit] if budget.hit else [])], "csv")


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    stream = io.StringIO(text.replace("\0", "").removeprefix("\ufeff"), newline="")
    for row in csv.reader(stream, delimiter=delimiter):
        yield [_shown(cell) for cell in row]


def find_delimiter(text: str) -> str:
    """The delimiter with the most even columns; the stated one of `sep=` wins; else a comma."""
    if stated := re.match(r"\ufeff?sep=(.)\r?\n", text):
        return stated.group(1)
    lines = [line for line in text[:200_000].splitlines()[:_SAMPLE_LINES] if line.strip()]
    return max(_DELIMITERS, key=lambda delimiter: _evenness(lines, delimiter))


def _evenness(lines: list[str], delimiter: str) -> float:
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return 0.0
    if not widths:
        return 0.0
    usual = max(set(widths), key=widths.count)
    share = widths.count(usual) / len(widths)
    return 0.0 if usual < 2 else share * min(usual, 8) ** 0.5
