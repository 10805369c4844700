"""Plain data of the tables room: raw tables, typed columns, and the questions they raise.

Belongs here: what readers return and recogniser, import and working material take. Does not belong
here: how a file is read, what a column is for (`targets`), and anything that talks to a database.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import polars as pl


class TableUnreadable(Exception):
    """No table can be read from this file; the message is the reason that is recorded (FMT-05)."""


class QuestionKind(StrEnum):
    """What a person must say because the file itself does not."""

    DIALECT = "dialect"
    ENCODING = "encoding"
    HEADER = "header"
    HIDDEN_ROWS = "hidden_rows"
    NUMBER_FORMAT = "number_format"
    DATE_FORMAT = "date_format"
    TWO_DIGIT_YEAR = "two_digit_year"
    MEANING = "meaning"


class SetAside(StrEnum):
    """Why a row of the file is not among the rows; it stays listed with its line."""

    RAGGED = "ragged"
    BROKEN_QUOTING = "broken_quoting"
    BROKEN_RECORD = "broken_record"
    UNSOLVED_FORMULA = "unsolved_formula"
    FOOTER = "footer"
    SUM = "sum"
    HIDDEN = "hidden"
    UNFIT_VALUE = "unfit_value"
    NO_PROJECT = "no_project"
    INTERVAL = "interval"
    LOST_DIGITS = "lost_digits"


class Native(StrEnum):
    """What a workbook or JSON says about a cell by itself; TEXT says nothing."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    DURATION = "duration"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible answer, with the samples as they would be read."""

    key: str
    samples: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a table. `column` is a label, empty when the whole table is meant.

    `suggested` is the key of the likelier choice; it is shown first and never taken by itself.
    """

    kind: QuestionKind
    column: str
    choices: tuple[Choice, ...]
    suggested: str | None = None


@dataclass(frozen=True, slots=True)
class AsideRow:
    """A row that was not taken: physical lines (1-based, inclusive), its text, and why."""

    first_line: int
    last_line: int
    raw: str
    reason: SetAside
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text table is written. An empty quote means that nothing is quoted."""

    delimiter: str
    quote: str = '"'
    escape: str = ""

    @property
    def key(self) -> str:
        """The dialect as one word, as questions and memory name it."""
        return f"{self.delimiter!r} {self.quote or '-'} {self.escape or '-'}"

    @classmethod
    def of_key(cls, key: str) -> Dialect:
        """The dialect of a key. Raises ValueError for anything else."""
        delimiter, quote, escape = key.rsplit(" ", 2)
        return cls(str(ast.literal_eval(delimiter)), quote.strip("-"), escape.strip("-"))


@dataclass(frozen=True, slots=True)
class RawTable:
    """A table as it stands in the file: labels, cells as text, physical lines.

    `cells`: one text column per label, in file order, named `c0`, `c1`, …; "" is an empty cell.
    `first_lines`, `last_lines`: 1-based lines of the file (rows of the sheet) of each row.
    `natives`: for columns that know more than text, the kind per row as text of `Native`.
    `preamble` holds the lines above the header, `sheet` the name of the sheet, element or list,
    `remarks` what a person should know about the rows before taking them over.
    """

    sheet: str
    labels: tuple[str, ...]
    cells: pl.DataFrame
    first_lines: np.ndarray
    last_lines: np.ndarray
    header_line: int
    natives: dict[str, pl.Series] = field(default_factory=dict)
    preamble: tuple[str, ...] = ()
    aside: tuple[AsideRow, ...] = ()
    questions: tuple[Question, ...] = ()
    dialect: Dialect | None = None
    encoding: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def height(self) -> int:
        """Number of rows, without header, preamble and what was set aside."""
        return self.cells.height

    def column(self, label: str) -> pl.Series:
        """The cells of the column with this label. Raises KeyError."""
        try:
            return self.cells.to_series(self.labels.index(label))
        except ValueError as error:
            raise KeyError(label) from error

    def raw_row(self, row: int) -> tuple[str, ...]:
        """The raw cells of one row."""
        return tuple(self.cells.row(row))


@dataclass(frozen=True, slots=True)
class FileTables:
    """What one file holds. `skipped`: sheets or parts without a table, each with its reason."""

    tables: tuple[RawTable, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    reader: str = ""
