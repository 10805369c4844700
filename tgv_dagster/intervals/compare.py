"""Comparing intervals: sort, shift, and a closer look only where neighbours touch each other.

Intervals are half-open, so touching ends share nothing. Rows of one key that share space form a
cluster; a cluster of several rows is one finding, whatever the order or the date in which its rows
came (INTV-02, INTV-05). The comparison never looks at a subset "since the last time".
"""

from __future__ import annotations

import polars as pl

from tgv_dagster.intervals.model import (
    FOREVER,
    FRAME,
    MAX_ROWS,
    RULES,
    Finding,
    FindingKind,
    IntervalKind,
    KindRule,
    Report,
)

MAX_FINDINGS = 1000
_ONE_NUMBER = 2**62

_SAME_KEY = pl.col("same_key")
"""Whether the row before is one of the same key."""


def compare(frame: pl.DataFrame, kind: IntervalKind, *, limit: int = MAX_FINDINGS) -> Report:
    """Judge every row of `frame` (schema `FRAME`) against all others of its key.

    Raises polars.exceptions.SchemaError when the frame has another schema.
    """
    _require_schema(frame)
    rule = RULES[kind]
    bad, occupying = _split(frame, rule)
    reached = _reached(occupying)
    shared = _shared(reached)
    gaps = _gaps(reached) if rule.gap_is_told else reached.clear()
    errors = sorted(
        _invalid(bad.head(limit)) + _conflicts(shared, limit),
        key=lambda finding: (finding.kind, finding.key, finding.start),
    )[:limit]
    told = [_gap(row) for row in gaps.head(limit - len(errors)).iter_rows(named=True)]
    return Report(
        kind=kind,
        rows=frame.height,
        keys=int((~reached.get_column("same_key")).sum()),
        errors=bad.height + shared.get_column("cluster").n_unique(),
        gaps=gaps.height,
        findings=(*errors, *told),
    )


def conflicting(frame: pl.DataFrame, kind: IntervalKind) -> pl.DataFrame:
    """Rows of `frame` that share space with another one, with their cluster.

    Adds `cluster` (number), `cluster_start`, `cluster_end`, and `covers`: whether the row alone
    occupies the whole space of its cluster.
    """
    return _shared(_reached(_split(frame, RULES[kind])[1]))


def faulty(frame: pl.DataFrame, kind: IntervalKind) -> pl.DataFrame:
    """Rows that are no interval or name no source, with their `fault` (INTV-06)."""
    return _split(frame, RULES[kind])[0]


def _require_schema(frame: pl.DataFrame) -> None:
    if frame.schema != FRAME:
        raise pl.exceptions.SchemaError(f"an interval frame has {FRAME}, not {frame.schema}")


def _split(frame: pl.DataFrame, rule: KindRule) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows with a fault, and rows that occupy space; an empty interval is neither."""
    if rule.is_open_ended:
        frame = frame.with_columns(pl.col("end").fill_null(FOREVER))
    fault = (
        pl.when(pl.col("source").is_null() | (pl.col("source") == ""))
        .then(pl.lit(FindingKind.NO_SOURCE.value))
        .when(
            pl.col("key").is_null()
            | pl.col("start").is_null()
            | pl.col("end").is_null()
            | (pl.col("end") < pl.col("start"))
        )
        .then(pl.lit(FindingKind.INVALID.value))
    )
    is_faulty, is_empty = frame.select(
        fault.is_not_null().any(), (pl.col("start") == pl.col("end")).any()
    ).row(0)
    faults = frame.with_columns(fault.alias("fault")) if is_faulty else frame.clear()
    if is_faulty:
        frame = faults.filter(pl.col("fault").is_null()).drop("fault")
        faults = faults.filter(pl.col("fault").is_not_null())
    if is_empty:
        frame = frame.filter(pl.col("start") < pl.col("end"))
    return faults, frame


def _reached(occupying: pl.DataFrame) -> pl.DataFrame:
    """Rows by key and start, with how far any row before them in their key reaches (`since`).

    As long as no neighbours touch, that is simply where the row before ends.
    """
    ordered = _ordered(occupying).with_columns(
        pl.col("end").shift().alias("since"),
        (pl.col("code") == pl.col("code").shift()).fill_null(False).alias("same_key"),
    )
    if ordered.select((_SAME_KEY & (pl.col("start") < pl.col("since"))).any()).item():
        ordered = ordered.with_columns(pl.col("end").cum_max().over("code").shift().alias("since"))
    return ordered.drop("code")


def _ordered(occupying: pl.DataFrame) -> pl.DataFrame:
    """Rows by key, start and end, with the number of their key (`code`).

    Numbers are sorted in a fraction of the time that long keys take, and key and start as one
    number once more so; only where both do not fit into 62 bits they stay two.
    """
    keys = occupying.get_column("key").unique().sort()
    code = pl.col("key").cast(pl.Enum(keys)).to_physical().cast(pl.Int64)
    coded = occupying.with_columns(code.alias("code"))
    first, last = occupying.select(
        pl.col("start").min().alias("first"), pl.col("start").max().alias("last")
    ).row(0)
    span = 1 if first is None else last - first + 1
    if len(keys) * span >= _ONE_NUMBER:
        return coded.sort("code", "start", "end")
    place = pl.col("code") * span + (pl.col("start") - pl.lit(first, pl.Int64))
    return coded.with_columns(place.alias("place")).sort("place", "end").drop("place")


def _shared(reached: pl.DataFrame) -> pl.DataFrame:
    """The rows of every cluster of several rows; a cluster ends where nobody is left."""
    begins = ~_SAME_KEY | (pl.col("start") >= pl.col("since"))
    marked = reached.with_columns(begins.alias("begins"))
    if marked.get_column("begins").all():
        marked = marked.clear()
    numbered = (
        marked.with_columns(pl.col("begins").cum_sum().alias("cluster"))
        .filter(~pl.col("begins") | ~pl.col("begins").shift(-1).fill_null(True))
        .drop("begins", "since", "same_key")
        .with_columns(
            pl.col("start").min().over("cluster").alias("cluster_start"),
            pl.col("end").max().over("cluster").alias("cluster_end"),
        )
    )
    covers = (pl.col("start") == pl.col("cluster_start")) & (pl.col("end") == pl.col("cluster_end"))
    return numbered.with_columns(covers.alias("covers"))


def _conflicts(clustered: pl.DataFrame, limit: int) -> list[Finding]:
    of_batches = clustered.group_by("cluster", "source").agg(
        pl.col("batch").drop_nulls().n_unique().alias("batches")
    )
    most = of_batches.group_by("cluster").agg(pl.col("batches").max())
    grouped = (
        clustered.group_by("cluster", maintain_order=True)
        .agg(
            pl.col("key").first(),
            pl.col("cluster_start").first().alias("start"),
            pl.col("cluster_end").first().alias("end"),
            (pl.col("end") - pl.col("start")).sum().alias("occupied"),
            pl.len().alias("count"),
            pl.col("covers").sum().alias("covering"),
            pl.struct("start", "end").n_unique().alias("different"),
            pl.col("row").head(MAX_ROWS).alias("rows"),
            pl.col("source").unique().sort().head(MAX_ROWS).alias("sources"),
        )
        .head(limit)
        .join(most, on="cluster", how="left", maintain_order="left")
    )
    return [
        Finding(
            kind=_named(row["covering"], row["count"], row["different"], row["batches"]),
            key=row["key"],
            start=row["start"],
            end=row["end"],
            ticks=row["occupied"] - (row["end"] - row["start"]),
            rows=tuple(row["rows"]),
            sources=tuple(row["sources"]),
            count=row["count"],
        )
        for row in grouped.iter_rows(named=True)
    ]


def _named(covering: int, count: int, different: int, batches: int) -> FindingKind:
    """The name of a conflict.

    Two imports of one source in one space are an old and a new version beside each other.
    """
    if batches > 1:
        return FindingKind.INCOMPLETE_REPLACEMENT
    if different == 1:
        return FindingKind.REPEATED
    if 0 < covering < count:
        return FindingKind.SPANNING
    return FindingKind.OVERLAP


def _invalid(faults: pl.DataFrame) -> list[Finding]:
    return [
        Finding(
            kind=FindingKind(row["fault"]),
            key=row["key"] or "",
            start=row["start"] or 0,
            end=row["end"] or 0,
            ticks=0,
            rows=(row["row"],),
            sources=() if row["source"] is None else (row["source"],),
            count=1,
        )
        for row in faults.iter_rows(named=True)
    ]


def _gaps(reached: pl.DataFrame) -> pl.DataFrame:
    """Space between rows of a key that nobody occupies, with the rows beside it."""
    return (
        reached.with_columns(pl.col("row").shift().alias("row_before"))
        .filter(_SAME_KEY & (pl.col("start") > pl.col("since")))
        .select("key", "since", "start", "row_before", "row", "source")
    )


def _gap(row: dict) -> Finding:
    return Finding(
        kind=FindingKind.GAP,
        key=row["key"],
        start=row["since"],
        end=row["start"],
        ticks=row["start"] - row["since"],
        rows=(row["row_before"], row["row"]),
        sources=(row["source"],),
        count=2,
    )
