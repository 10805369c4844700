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

_BEFORE = pl.col("end").shift()
_SAME_KEY = pl.col("key") == pl.col("key").shift()


def compare(frame: pl.DataFrame, kind: IntervalKind, *, limit: int = MAX_FINDINGS) -> Report:
    """Judge every row of `frame` (schema `FRAME`) against all others of its key.

    Raises polars.exceptions.SchemaError when the frame has another schema.
    """
    _require_schema(frame)
    rule = RULES[kind]
    faulty, occupying = _split(frame, rule)
    ordered = occupying.sort("key", "start", "end")
    suspects = ordered.filter(_SAME_KEY & (pl.col("start") < _BEFORE)).select("key").unique()
    clustered = _clusters(ordered.join(suspects, on="key", how="semi", maintain_order="left"))
    errors = _invalid(faulty) + _conflicts(clustered, limit)
    told = _gaps(ordered, clustered, suspects) if rule.gap_is_told else None
    named = sorted(errors, key=lambda f: (f.kind, f.key, f.start))[:limit]
    if told is not None and len(named) < limit:
        named += [_gap(row) for row in told.head(limit - len(named)).iter_rows(named=True)]
    return Report(
        kind=kind,
        rows=frame.height,
        keys=frame.get_column("key").n_unique(),
        errors=faulty.height + _conflict_count(clustered),
        gaps=0 if told is None else told.height,
        findings=tuple(named),
    )


def conflicting(frame: pl.DataFrame, kind: IntervalKind) -> pl.DataFrame:
    """Rows of `frame` that share space with another one, with their cluster.

    Adds `cluster` (number), `cluster_start`, `cluster_end`, and `covers`: whether the row alone
    occupies the whole space of its cluster.
    """
    _, occupying = _split(frame, RULES[kind])
    ordered = occupying.sort("key", "start", "end")
    suspects = ordered.filter(_SAME_KEY & (pl.col("start") < _BEFORE)).select("key").unique()
    clustered = _clusters(ordered.join(suspects, on="key", how="semi", maintain_order="left"))
    return clustered.filter(pl.len().over("cluster") > 1)


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
    faults = frame.filter(fault.is_not_null()).with_columns(fault.alias("fault"))
    if faults.height:
        frame = frame.filter(fault.is_null())
    if frame.filter(pl.col("start") == pl.col("end")).height:
        frame = frame.filter(pl.col("start") < pl.col("end"))
    return faults, frame


def _clusters(ordered: pl.DataFrame) -> pl.DataFrame:
    """Number the clusters of rows sorted by key and start; a cluster ends where nobody is left."""
    reach = pl.col("end").cum_max().over("key").shift()
    begins = (~_SAME_KEY | (pl.col("start") >= reach)).fill_null(True)
    numbered = ordered.with_columns(begins.cum_sum().alias("cluster"))
    numbered = numbered.with_columns(
        pl.col("start").min().over("cluster").alias("cluster_start"),
        pl.col("end").max().over("cluster").alias("cluster_end"),
    )
    covers = (pl.col("start") == pl.col("cluster_start")) & (pl.col("end") == pl.col("cluster_end"))
    return numbered.with_columns(covers.alias("covers"))


def _conflict_count(clustered: pl.DataFrame) -> int:
    return clustered.group_by("cluster").len().filter(pl.col("len") > 1).height


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
        .filter(pl.col("count") > 1)
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


def _gaps(ordered: pl.DataFrame, clustered: pl.DataFrame, suspects: pl.DataFrame) -> pl.DataFrame:
    """Space between neighbours that nobody occupies: key, start, end, the rows beside it."""
    steps = clustered.group_by("cluster", maintain_order=True).agg(
        pl.col("key").first(),
        pl.col("cluster_start").first().alias("start"),
        pl.col("cluster_end").first().alias("end"),
        pl.col("row").first(),
        pl.col("source").first(),
    )
    of_suspects = _empty_between(steps.drop("cluster"))
    if suspects.height == 0:
        return _empty_between(ordered)
    calm = ordered.join(suspects, on="key", how="anti", maintain_order="left")
    return pl.concat([_empty_between(calm), of_suspects]).sort("key", "start")


def _empty_between(steps: pl.DataFrame) -> pl.DataFrame:
    return (
        steps.with_columns(_BEFORE.alias("since"), pl.col("row").shift().alias("row_before"))
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
