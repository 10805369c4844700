"""Raw tables at rest: cells, lines and kinds as Parquet, their shape as JSON, both lossless.

What a person was shown is what is imported later; a newer reader never slips between.
"""

from __future__ import annotations

import io
from typing import Any

import polars as pl

from tgv_dagster.tables.model import (
    AsideRow,
    Dialect,
    Native,
    RawTable,
    SetAside,
)

_FIRST, _LAST = "first_line", "last_line"
_KIND = pl.Enum([str(kind) for kind in Native])


def pack(table: RawTable) -> bytes:
    """Cells, physical lines and native kinds as Parquet."""
    frame = table.cells.with_columns(
        pl.Series(_FIRST, table.first_lines, dtype=pl.Int64),
        pl.Series(_LAST, table.last_lines, dtype=pl.Int64),
        *(kinds.cast(pl.String).alias(f"kind_{name}") for name, kinds in table.natives.items()),
    )
    return to_parquet(frame)


def shape_of(table: RawTable) -> dict[str, Any]:
    """Everything about a table but its cells, as JSON; open questions are not kept."""
    return {
        "sheet": table.sheet,
        "labels": list(table.labels),
        "header_line": table.header_line,
        "preamble": list(table.preamble),
        "encoding": table.encoding,
        "remarks": list(table.remarks),
        "dialect": None
        if table.dialect is None
        else [table.dialect.delimiter, table.dialect.quote, table.dialect.escape],
        "aside": [
            [row.first_line, row.last_line, row.raw, str(row.reason), row.detail]
            for row in table.aside
        ],
    }


def unpack(cells: bytes, shape: dict[str, Any]) -> RawTable:
    """The table as it was packed."""
    frame = pl.read_parquet(io.BytesIO(cells))
    names = [name for name in frame.columns if name not in (_FIRST, _LAST)]
    dialect = shape["dialect"]
    return RawTable(
        sheet=shape["sheet"],
        labels=tuple(shape["labels"]),
        cells=frame.select(name for name in names if not name.startswith("kind_")),
        first_lines=frame.get_column(_FIRST).to_numpy(),
        last_lines=frame.get_column(_LAST).to_numpy(),
        header_line=shape["header_line"],
        natives={
            name.removeprefix("kind_"): frame.get_column(name).cast(_KIND)
            for name in names
            if name.startswith("kind_")
        },
        preamble=tuple(shape["preamble"]),
        aside=tuple(
            AsideRow(first, last, raw, SetAside(reason), detail)
            for first, last, raw, reason, detail in shape["aside"]
        ),
        dialect=Dialect(*dialect) if dialect else None,
        encoding=shape["encoding"],
        remarks=tuple(shape.get("remarks", ())),
    )


def to_parquet(frame: pl.DataFrame) -> bytes:
    """A frame as compressed Parquet."""
    stream = io.BytesIO()
    frame.write_parquet(stream, compression="zstd")
    return stream.getvalue()
