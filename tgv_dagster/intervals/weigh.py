"""Deciding which arriving rows may stand beside the existing ones, before anything is written.

A row that spans others, repeats a space or overlaps one is refused and reported; the existing rows
are never touched (INTV-03). Writing belongs to `writing`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tgv_dagster.intervals.compare import MAX_FINDINGS, compare, conflicting, faulty
from tgv_dagster.intervals.model import IntervalKind, Report

_IDENTITY = ["key", "start", "end", "source"]


@dataclass(frozen=True, slots=True)
class Weighing:
    """What becomes of arriving rows, as ids of rows.

    `known` stand already with the same key, space and source; `refused` do not fit, and `report`
    says why, over existing and arriving rows together.
    """

    accepted: tuple[str, ...]
    known: tuple[str, ...]
    refused: tuple[str, ...]
    report: Report


def weigh(
    existing: pl.DataFrame,
    arriving: pl.DataFrame,
    kind: IntervalKind,
    *,
    limit: int = MAX_FINDINGS,
) -> Weighing:
    """Weigh `arriving` against all of `existing` (both of schema `FRAME`, row ids disjoint).

    A spanning row is refused before the rows it spans are judged, so it takes none with it.
    """
    twins = arriving.join(existing, on=_IDENTITY, how="semi", nulls_equal=True)
    fresh = arriving.join(twins.select("row"), on="row", how="anti", maintain_order="left")
    bad = set(faulty(fresh, kind).get_column("row"))
    candidates = fresh.filter(~pl.col("row").is_in(list(bad)))
    spanning = _arriving(_spanning(conflicting(_together(existing, candidates), kind)), candidates)
    rest = candidates.filter(~pl.col("row").is_in(list(spanning)))
    clashing = _arriving(conflicting(_together(existing, rest), kind), rest)
    refused = bad | spanning | clashing
    return Weighing(
        accepted=tuple(row for row in fresh.get_column("row") if row not in refused),
        known=tuple(twins.get_column("row")),
        refused=tuple(row for row in fresh.get_column("row") if row in refused),
        report=compare(_together(existing, fresh), kind, limit=limit),
    )


def _together(existing: pl.DataFrame, arriving: pl.DataFrame) -> pl.DataFrame:
    keys = arriving.select("key").unique()
    return pl.concat([existing.join(keys, on="key", how="semi"), arriving])


def _spanning(conflicts: pl.DataFrame) -> pl.DataFrame:
    """Rows that alone cover their cluster while others of it do not."""
    return conflicts.filter(pl.col("covers") & ~pl.col("covers").all().over("cluster"))


def _arriving(conflicts: pl.DataFrame, arriving: pl.DataFrame) -> set[str]:
    return set(conflicts.join(arriving.select("row"), on="row", how="semi").get_column("row"))
