"""Interval comparison over a million rows against a hand-written sort-and-shift of polars.

Usage: python bench/intervals.py [ROWS]. Both find the overlaps and the gaps of the same frames; the
ratio of their best times is reported, clean and with one row in a thousand overlapping.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl

from tgv_dagster.intervals.compare import compare
from tgv_dagster.intervals.model import FRAME, IntervalKind

ROUNDS = 3


def trips(rows: int, *, broken: float) -> pl.DataFrame:
    """Trips of 500 vehicles that follow each other; a share of them reaches into the next."""
    dice = np.random.default_rng(7)
    vehicle = np.sort(dice.integers(0, 500, rows))
    length = dice.integers(1, 900, rows)
    end = np.cumsum(length)
    longer = np.where(dice.random(rows) < broken, 50, 0)
    frame = pl.DataFrame(
        {
            "row": np.arange(rows).astype(str),
            "key": [f"nord-gmbh\x1fHH-T {number}" for number in vehicle],
            "start": end - length,
            "end": end + longer,
            "source": ["log"] * rows,
            "batch": [None] * rows,
        },
        schema=FRAME,
    )
    return frame.sample(fraction=1.0, shuffle=True, seed=3)


def by_hand(frame: pl.DataFrame) -> tuple[int, int]:
    """What one would write: sort, shift within the key, filter twice."""
    shifted = frame.sort("key", "start", "end").with_columns(
        pl.col("end").shift().over("key").alias("before"),
        pl.col("row").shift().over("key").alias("row_before"),
    )
    overlaps = shifted.filter(pl.col("start") < pl.col("before"))
    gaps = shifted.filter(pl.col("start") > pl.col("before"))
    return overlaps.height, gaps.height


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest of some rounds."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    """Print one line per frame."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for broken in (0.0, 0.001):
        frame = trips(rows, broken=broken)
        report = compare(frame, IntervalKind.TRIPS)
        hand = best(lambda frame=frame: by_hand(frame))
        ours = best(lambda frame=frame: compare(frame, IntervalKind.TRIPS))
        print(
            f"{rows} rows, {broken:.1%} broken: by hand {hand:.2f} s, compare {ours:.2f} s,"
            f" ratio {ours / hand:.2f}; errors {report.errors}, gaps {report.gaps}"
        )


if __name__ == "__main__":
    main()
