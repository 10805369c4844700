"""CSV, TSV and their kin of any dialect and encoding as raw tables.

A regular file goes through Polars after `structure` has proven its records; anything else goes
through a careful reader that sets broken and ragged rows aside by line. Nothing is padded or cut.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tgv_dagster.arrive.decoding import decode
from tgv_dagster.tables.model import (
    AsideRow,
    Choice,
    Dialect,
    FileTables,
    Question,
    QuestionKind,
    RawTable,
    SetAside,
    TableUnreadable,
)
from tgv_dagster.tables.reading.dialect import (
    Found,
    find_dialect,
    stated_delimiter,
    strict_reader,
)
from tgv_dagster.tables.reading.header import (
    HeaderFound,
    clean_labels,
    find_header,
    usual_width,
)
from tgv_dagster.tables.reading.structure import Structure, structure_of
from tgv_dagster.tables.reading.sums import without_sums
from tgv_dagster.tables.reading.tidying import tidy

MOST_COLUMNS = 16_384
MOST_LINE_BYTES = 8 * 2**20
_HEAD_RECORDS = 300
_WIDTH_RECORDS = 20_000
_MOST_RAGGED = 0.2
_MOST_BROKEN = 200
_LIKELY = "äöüÄÖÜßéèêëàâçîïôûùœÉÈÀÊÇÎÔŒæ€§°´’‘–—…•«»„“”²³µ©®·½¼×\xa0\xad"
_UNLIKELY = re.compile(
    rf"[^\x00-\x7f{_LIKELY}]|[A-Za-z](?:§|[„“…•²³µ](?=[A-Za-z]))|Î[^lL]|[”…][a-z]|[a-z][„“]|[a-z][ÄÖÜÉÈÀÊÇÎÔŒ]"
)
"""What windows-1252 text in German or French hardly has, and other code pages read as it do."""

_SURE_ENCODINGS = ("utf-8", "cp1252", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


@dataclass(frozen=True, slots=True)
class Settled:
    """What memory or a person settled about a file before it is read; None leaves it open.

    `header` is the 1-based line of the labels, 0 for a file without any.
    """

    dialect: Dialect | None = None
    encoding: str | None = None
    header: int | None = None


@dataclass(frozen=True, slots=True)
class _Record:
    """One record of the careful reader; `cells` is None when its quoting is broken."""

    first_line: int
    last_line: int
    raw: str
    cells: tuple[str, ...] | None


def read_delimited(data: bytes, settled: Settled | None = None) -> FileTables:
    """Read a text table. Raises TableUnreadable: empty, one column, too wide, a line too long."""
    settled = settled or Settled()
    text, encoding, questions = _decoded(data, settled)
    found, skip = _dialect(text, settled)
    questions += _dialect_questions(found, text[skip:])
    body = text[skip:]
    offset = text[:skip].count("\n")
    if settled.header:
        settled = replace(settled, header=settled.header - offset)
    plain = encoding == "utf-8" and not skip and not questions and text.startswith(_head(data))
    table = _by_structure(
        body, data if plain and not _is_changed(data) else None, found.dialect, settled
    ) or _carefully(body, found.dialect, settled)
    whole = _located(table, offset, tuple(questions), found.dialect, encoding)
    return FileTables((without_sums(tidy(whole)),), reader="delimited")


def _head(data: bytes) -> str:
    return data[:64].decode("utf-8", "ignore")


def _is_changed(data: bytes) -> bool:
    """Whether decoding cut or replaced something besides its encoding."""
    return b"\0" in data or (b"\r" in data and b"\n" not in data)


def _decoded(data: bytes, settled: Settled) -> tuple[str, str, list[Question]]:
    if not data or data.isspace():
        raise TableUnreadable("the file is empty")
    if settled.encoding:
        text, encoding, doubtful = data.decode(settled.encoding, "replace"), settled.encoding, False
    else:
        decoded = decode(data)
        text, encoding = decoded.text, decoded.encoding
        doubtful = decoded.lossy or encoding not in _SURE_ENCODINGS
        doubtful = doubtful or (encoding == "cp1252" and _UNLIKELY.search(text) is not None)
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        text = text.replace("\0", "")
    if "\r" in text and "\n" not in text:
        text = text.replace("\r", "\n")
    questions = [_encoding_question(data, encoding)] if doubtful else []
    return text, encoding, questions


def _encoding_question(data: bytes, best: str) -> Question:
    line = next((x for x in data.splitlines() if any(byte > 127 for byte in x)), b"")[:200]
    names = dict.fromkeys((best, "cp1252", "cp850", "mac_roman", "iso8859_2"))
    choices = tuple(
        Choice(n, ((line.decode("latin-1"), line.decode(n, "replace")),)) for n in names
    )
    return Question(QuestionKind.ENCODING, "", choices, suggested=best)


def _dialect(text: str, settled: Settled) -> tuple[Found, int]:
    if settled.dialect is not None:
        stated = stated_delimiter(text)
        return Found(settled.dialect), stated[1] if stated else 0
    if stated := stated_delimiter(text):
        delimiter, skip = stated
        return find_dialect(text[skip:], delimiter=delimiter), skip
    return find_dialect(text), 0


def _dialect_questions(found: Found, text: str) -> list[Question]:
    if not found.rivals:
        return []
    choices = tuple(
        Choice(d.key, tuple(("", " | ".join(r)) for r in _first_rows(text, d)))
        for d in (found.dialect, *found.rivals)
    )
    return [Question(QuestionKind.DIALECT, "", choices, suggested=found.dialect.key)]


def _first_rows(text: str, dialect: Dialect) -> list[list[str]]:
    rows: list[list[str]] = []
    reader = strict_reader(io.StringIO(text[:4000], newline=""), dialect)
    try:
        for row in reader:
            rows.append(row)
            if len(rows) == 3:
                break
    except csv.Error:
        return rows
    return rows


# --- regular files -------------------------------------------------------------------------------


def _by_structure(
    text: str, original: bytes | None, dialect: Dialect, settled: Settled
) -> RawTable | None:
    """`original`: the bytes of the file where they are the text in UTF-8 as it stands."""
    if dialect.escape:
        return None
    data = text.encode("utf-8", "surrogatepass") if original is None else original
    structure = structure_of(data, dialect.delimiter, dialect.quote)
    if structure is None:
        return None
    _check_limits(int((structure.ends - structure.starts).max()), int(structure.widths.max()))
    full = np.flatnonzero(structure.ends > structure.starts)
    if not len(full):
        raise TableUnreadable("the file is empty")
    width = _usual_width(structure.widths[full])
    head = full[:_HEAD_RECORDS]
    rows = [_record_cells(data, structure, int(i), dialect) for i in head]
    placed = _placed(rows, width, settled, structure.first_lines[head])
    body = full if placed.index is None else full[full > head[placed.index]]
    labels = _labels(rows, placed, width)
    even = structure.widths[body] == len(labels)
    frame = _by_polars(data, structure, body[even], dialect, len(labels))
    if frame is None:
        return None
    taken = body[even]
    return RawTable(
        sheet="",
        labels=labels,
        cells=frame,
        first_lines=structure.first_lines[taken],
        last_lines=structure.last_lines[taken],
        header_line=_header_line(placed, structure.first_lines[head]),
        preamble=tuple(" ".join(row).strip() for row in rows[: placed.index or 0]),
        aside=tuple(
            AsideRow(
                int(structure.first_lines[i]),
                int(structure.last_lines[i]),
                data[structure.starts[i] : structure.ends[i]].decode("utf-8", "replace"),
                SetAside.RAGGED,
                f"{structure.widths[i]} cells instead of {len(labels)}",
            )
            for i in body[~even]
        ),
        questions=()
        if settled.header is not None
        else _header_questions(
            placed, labels, rows, structure.first_lines[head], int((~even).sum()), len(taken)
        ),
    )


def _check_limits(line: int, width: int) -> None:
    if line > MOST_LINE_BYTES:
        raise TableUnreadable(f"a record has {line} bytes; the limit is {MOST_LINE_BYTES}")
    if width > MOST_COLUMNS:
        raise TableUnreadable(f"a record has {width} cells; the limit is {MOST_COLUMNS}")


def _usual_width(widths: np.ndarray) -> int:
    found, counts = np.unique(widths[:_WIDTH_RECORDS], return_counts=True)
    width = usual_width(dict(zip(found.tolist(), counts.tolist(), strict=True)))
    if width < 2:
        raise TableUnreadable("the file has one column only; that is a text, not a table")
    return width


def _record_cells(
    data: bytes, structure: Structure, record: int, dialect: Dialect
) -> tuple[str, ...]:
    raw = data[structure.starts[record] : structure.ends[record]].decode("utf-8", "replace")
    return tuple(next(strict_reader(io.StringIO(raw, newline=""), dialect)))


def _by_polars(
    data: bytes, structure: Structure, records: np.ndarray, dialect: Dialect, width: int
) -> pl.DataFrame | None:
    """The records as text columns; None when Polars sees something else than we do."""
    schema = {f"c{i}": pl.String for i in range(width)}
    if not len(records):
        return pl.DataFrame(schema=schema)
    breaks = np.flatnonzero(np.diff(records) != 1)
    firsts = records[np.append([0], breaks + 1)]
    lasts = records[np.append(breaks, len(records) - 1)]
    # One run to the end of the file needs no copy of it.
    to_end = len(firsts) == 1 and int(lasts[0]) == len(structure.starts) - 1
    content = data if to_end else _runs(data, structure, firsts, lasts)
    try:
        frame = pl.read_csv(
            content,
            skip_lines=int(structure.first_lines[firsts[0]]) - 1 if to_end else 0,
            has_header=False,
            schema=schema,
            separator=dialect.delimiter,
            quote_char=dialect.quote or None,
            infer_schema=False,
            empty_string_is_null=False,
            missing_columns="raise",
            extra_columns="raise",
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.height != len(records) or any(frame.null_count().row(0)):
        return None
    return frame


def _runs(data: bytes, structure: Structure, firsts: np.ndarray, lasts: np.ndarray) -> bytes:
    return b"".join(
        data[structure.starts[a] : _behind(data, structure, b)]
        for a, b in zip(firsts, lasts, strict=True)
    )


def _behind(data: bytes, structure: Structure, record: int) -> int:
    """Offset behind the line end of a record."""
    if record + 1 < len(structure.starts):
        return int(structure.starts[record + 1])
    return len(data)


# --- irregular files -----------------------------------------------------------------------------


def _carefully(text: str, dialect: Dialect, settled: Settled) -> RawTable:
    records = [r for r in _records(text, dialect) if r.cells is None or any(r.cells)]
    whole = [r for r in records if r.cells is not None]
    if not whole:
        raise TableUnreadable("no record follows the quoting of the file")
    _check_limits(max(len(r.raw) for r in records), max(len(r.cells or ()) for r in whole))
    width = usual_width(Counter(len(r.cells or ()) for r in whole))
    if width < 2:
        raise TableUnreadable("the file has one column only; that is a text, not a table")
    head = whole[:_HEAD_RECORDS]
    rows = [r.cells or () for r in head]
    lines = np.array([r.first_line for r in head])
    placed = _placed(rows, width, settled, lines)
    labels = _labels(rows, placed, width)
    start = head[placed.index].last_line if placed.index is not None else 0
    body = [r for r in records if r.first_line > start]
    taken = [r for r in body if r.cells is not None and len(r.cells) == len(labels)]
    aside = tuple(
        _aside(r, len(labels)) for r in body if r.cells is None or len(r.cells) != len(labels)
    )
    columns = list(zip(*(r.cells or () for r in taken), strict=True)) or [()] * len(labels)
    return RawTable(
        sheet="",
        labels=labels,
        cells=pl.DataFrame(
            {f"c{i}": pl.Series(list(column), dtype=pl.String) for i, column in enumerate(columns)}
        ),
        first_lines=np.array([r.first_line for r in taken], dtype=np.int64),
        last_lines=np.array([r.last_line for r in taken], dtype=np.int64),
        header_line=_header_line(placed, lines),
        preamble=tuple(" ".join(row).strip() for row in rows[: placed.index or 0]),
        aside=aside,
        questions=()
        if settled.header is not None
        else _header_questions(placed, labels, rows, lines, len(aside), len(taken)),
    )


def _records(text: str, dialect: Dialect) -> Iterator[_Record]:
    """Records with their lines. After a broken one, reading goes on at the next physical line."""
    lines = list(io.StringIO(text, newline=""))
    position = 0
    broken = 0
    while position < len(lines):
        reader = strict_reader(lines[position:], dialect)
        begin = position
        try:
            done = 0
            for cells in reader:
                raw = "".join(lines[begin + done : begin + reader.line_num]).rstrip("\r\n")
                yield _Record(begin + done + 1, begin + reader.line_num, raw, tuple(cells))
                done = reader.line_num
                position = begin + done
            return
        except csv.Error:
            broken += 1
            if broken > _MOST_BROKEN:
                raise TableUnreadable("more than 200 records break the quoting rule") from None
            yield _Record(position + 1, position + 1, lines[position].rstrip("\r\n"), None)
            position += 1


def _aside(record: _Record, width: int) -> AsideRow:
    broken = record.cells is None
    return AsideRow(
        record.first_line,
        record.last_line,
        record.raw,
        SetAside.BROKEN_QUOTING if broken else SetAside.RAGGED,
        "" if broken else f"{len(record.cells or ())} cells instead of {width}",
    )


# --- header --------------------------------------------------------------------------------------


def _placed(
    rows: Sequence[tuple[str, ...]], width: int, settled: Settled, lines: np.ndarray
) -> HeaderFound:
    if settled.header is None:
        return find_header(rows, width)
    if settled.header == 0:
        return HeaderFound(None, certain=True)
    at = np.flatnonzero(lines == settled.header)
    if not len(at):
        raise TableUnreadable(f"line {settled.header} does not carry the labels")
    return HeaderFound(int(at[0]), certain=True)


def _labels(rows: Sequence[tuple[str, ...]], placed: HeaderFound, width: int) -> tuple[str, ...]:
    """As many labels as the rows have cells; only blank ones are added or dropped at the end."""
    if placed.index is None:
        return clean_labels([""] * width)
    cells = list(rows[placed.index])
    if len(cells) == width + 1 and not cells[-1].strip():
        cells.pop()
    elif len(cells) == width - 1:
        cells.append("")
    return clean_labels(cells)


def _header_questions(
    placed: HeaderFound,
    labels: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    lines: np.ndarray,
    uneven: int,
    even: int,
) -> tuple[Question, ...]:
    """Asked when nothing proves the header, or when many rows do not fit its width."""
    unlabelled = placed.index is not None and len(rows[placed.index]) < len(labels)
    unlabelled = unlabelled and any(row[-1:] not in ((), ("",)) for row in _full(rows, labels))
    if placed.certain and not unlabelled and uneven <= _MOST_RAGGED * (uneven + even):
        return ()
    shown = min(len(rows), max(5, (placed.index or 0) + 2))
    first = tuple((str(lines[i]), " | ".join(rows[i])) for i in range(shown))
    suggested = "0" if placed.index is None else str(lines[placed.index])
    choices = (Choice("0"), *(Choice(number, ((number, text),)) for number, text in first))
    return (Question(QuestionKind.HEADER, "", choices, suggested=suggested),)


def _full(rows: Sequence[tuple[str, ...]], labels: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return (row for row in rows if len(row) == len(labels))


def _header_line(placed: HeaderFound, lines: np.ndarray) -> int:
    return 0 if placed.index is None else int(lines[placed.index])


def _located(
    table: RawTable,
    offset: int,
    questions: Iterable[Question],
    dialect: Dialect,
    encoding: str,
) -> RawTable:
    """The table with its place in the whole file and everything that is asked about it."""
    return RawTable(
        sheet=table.sheet,
        labels=table.labels,
        cells=table.cells,
        first_lines=table.first_lines + offset,
        last_lines=table.last_lines + offset,
        header_line=table.header_line + offset if table.header_line else 0,
        preamble=table.preamble,
        aside=tuple(
            AsideRow(a.first_line + offset, a.last_line + offset, a.raw, a.reason, a.detail)
            for a in table.aside
        ),
        questions=(*questions, *(_shifted(q, offset) for q in table.questions)),
        dialect=dialect,
        encoding=encoding,
    )


def _shifted(question: Question, offset: int) -> Question:
    """A question about lines, counted in the whole file."""
    if not offset:
        return question

    def moved(key: str) -> str:
        return key if key == "0" else str(int(key) + offset)

    return replace(
        question,
        choices=tuple(replace(choice, key=moved(choice.key)) for choice in question.choices),
        suggested=None if question.suggested is None else moved(question.suggested),
    )
