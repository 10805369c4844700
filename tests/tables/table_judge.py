"""Judging a reading against the values a generated table means: exact, asked, or wrong."""

from __future__ import annotations

from dataclasses import dataclass

from table_generator import Made

from tgv_dagster.tables.model import TableUnreadable
from tgv_dagster.tables.reading.columns import examine_table, typed
from tgv_dagster.tables.reading.delimited import read_delimited

EXACT, ASKED, WRONG = "exact", "asked", "wrong"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict; `why` names the question, the rows set aside, or the first wrong column."""

    verdict: str
    why: str = ""


def judge(made: Made) -> Judgement:
    """Read a generated table. Only exact values or an explicit question are not wrong."""
    try:
        table = read_delimited(made.data).tables[0]
    except TableUnreadable as error:
        return Judgement(ASKED, f"unreadable: {error}")
    if table.questions:
        return Judgement(ASKED, str(table.questions[0].kind))
    if table.aside:
        return Judgement(ASKED, str(table.aside[0].reason))
    rows = [row for row in zip(*made.columns, strict=True) if any(str(v).strip() for v in row)]
    if table.labels != made.labels or table.height != len(rows):
        return Judgement(WRONG, f"labels {table.labels}, {table.height} of {len(rows)} rows")
    asked = ""
    for number, column in enumerate(examine_table(table)):
        if column.question is not None:
            asked = str(column.question.kind)
            continue
        wanted = [row[number] or None if row[number] == "" else row[number] for row in rows]
        found = [None if v == "" else v for v in typed(table, column).to_list()]
        if found != wanted:
            return Judgement(WRONG, f"{column}: {found[:3]} instead of {wanted[:3]}")
    return Judgement(ASKED, asked) if asked else Judgement(EXACT)
