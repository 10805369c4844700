"""Measurement of interval data after it was written: trips, time entries, contract validities."""

from __future__ import annotations

from itertools import islice

import polars as pl

from tgv_dagster.audit.measures.asking import rows_in
from tgv_dagster.audit.verdict import MAX_EVIDENCE, Figure, Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.intervals import frames
from tgv_dagster.intervals.compare import compare
from tgv_dagster.intervals.model import IntervalKind, Report
from tgv_dagster.intervals.picture import picture
from tgv_dagster.intervals.writing import IntervalTable, stored
from tgv_dagster.store.db import Connection

_CONTRACTS = pl.Schema({"row": pl.String, "since": pl.Date, "until": pl.Date, "source": pl.String})


def compared(connection: Connection) -> tuple[tuple[pl.DataFrame, Report], ...]:
    """Every kind of interval that stands here: its frame, and what the comparison says."""
    frames_of = (
        (IntervalKind.TRIPS, stored(connection, IntervalTable.TRIPS)),
        (IntervalKind.TIME_ENTRIES, stored(connection, IntervalTable.TIME_ENTRIES)),
        (IntervalKind.VALIDITIES, _contracts(connection)),
    )
    return tuple((frame, compare(frame, kind)) for kind, frame in frames_of if frame.height)


def intervals_consistent(installation: Installation) -> Verdict:
    """No two rows of a key share space, whatever way they came in (INTV-01 to INTV-09)."""
    with installation.database.worker() as connection:
        reports = [report for _, report in compared(connection)]
    if not reports:
        return unmeasured("no interval stands here yet")
    figures: dict[str, Figure] = {}
    named: list[str] = []
    for report in reports:
        figures[str(report.kind)] = report.rows
        if report.gaps:
            figures[f"{report.kind}_gaps"] = report.gaps
        for finding in report.findings:
            if finding.kind.is_error:
                name = f"{report.kind}_{finding.kind}"
                figures[name] = int(figures.get(name, 0)) + 1
                named += [f"{report.kind}:{row}" for row in finding.rows]
    return judged(
        sum(report.errors for report in reports),
        holds="no two intervals of a key share space",
        broken="intervals share space, or are none, or name no origin",
        figures=figures,
        evidence=tuple(dict.fromkeys(named))[:MAX_EVIDENCE],
    )


PICTURED = 5
"""Findings of which a picture is drawn."""


def pictures(installation: Installation) -> tuple[str, ...]:
    """SVG timelines of the first findings that are errors, as they stand now; see `picture`."""
    with installation.database.worker() as connection:
        found = compared(connection)
    drawn = (
        picture(finding, frame, report.kind)
        for frame, report in found
        for finding in report.findings
        if finding.kind.is_error
    )
    return tuple(islice(drawn, PICTURED))


def _contracts(connection: Connection) -> pl.DataFrame:
    """Validities, each contract by itself: two contracts may run side by side."""
    found = rows_in(
        connection,
        "SELECT document_id::text, contract_start_date, contract_end_date,"
        " 'document:' || document_id FROM prf_contracts WHERE contract_start_date IS NOT NULL",
    )
    contracts = pl.DataFrame(found, schema=_CONTRACTS, orient="row")
    return frames.validities(contracts, "row", first="since", last="until")
