"""A finding as a picture: one bar per row on a common line, the space in question behind them.

The picture names rows and sources by id, never by the words of a document. It is SVG, readable
without colour: the space in question is hatched, and every bar carries its row in words.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from html import escape

import polars as pl

from tgv_dagster.intervals.model import FOREVER, RULES, Finding, FindingKind, IntervalKind

DRAWN_ROWS = 20
_EPOCH = date(1970, 1, 1)
_LABEL = 30
_LEFT, _WIDTH, _BAR, _STEP, _TOP = 190, 640, 16, 24, 40


def picture(finding: Finding, frame: pl.DataFrame, kind: IntervalKind) -> str:
    """An SVG timeline of the rows a finding names, from the frame that was compared.

    At most `DRAWN_ROWS` rows are drawn; the caption says how many there are.
    """
    named = frame.filter(pl.col("row").is_in(list(finding.rows))).sort("start", "end", "row")
    drawn = named.head(DRAWN_ROWS).with_columns(pl.col("end").fill_null(FOREVER))
    scale = _Scale(finding, drawn)
    height = _TOP + _STEP * max(drawn.height, 1) + 30
    title = f"{finding.kind}: {finding.count} rows, {amount(finding.ticks, kind)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_LEFT + _WIDTH + 20}'
        f' {height}" font-family="sans-serif" font-size="12" style="background:#fff;color:#111">',
        f"<title>{escape(title)}</title>",
        '<defs><pattern id="shared" width="6" height="6" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><path d="M0 0V6" stroke="#8a1c1c" stroke-width="2"/>'
        "</pattern></defs>",
        f'<text x="4" y="16" font-weight="bold" fill="currentColor">{escape(title)}</text>',
        *_question(finding, drawn, scale, height),
    ]
    for line, row in enumerate(drawn.iter_rows(named=True)):
        parts += _bar(row, line, scale)
    parts += _axis(scale, height, kind)
    return "\n".join([*parts, "</svg>"])


def amount(ticks: int, kind: IntervalKind) -> str:
    """A number of ticks in the unit of its kind; open intervals have none."""
    if ticks >= FOREVER // 2:
        return "open"
    rule = RULES[kind]
    return f"{ticks / rule.ticks_per_unit:g} {rule.unit}"


def place(tick: int, kind: IntervalKind) -> str:
    """A position as people write it: kilometres, a moment, or a day."""
    if tick >= FOREVER // 2:
        return "open"
    if kind is IntervalKind.TRIPS:
        return amount(tick, kind)
    if kind is IntervalKind.TIME_ENTRIES:
        return datetime.fromtimestamp(tick, UTC).strftime("%Y-%m-%d %H:%M")
    return (_EPOCH + timedelta(days=tick)).isoformat()


class _Scale:
    """Ticks to pixels over the drawn rows; an open end stops at the edge of the picture."""

    def __init__(self, finding: Finding, drawn: pl.DataFrame) -> None:
        known = [value for value in drawn.get_column("end").to_list() if value < FOREVER // 2]
        starts = drawn.get_column("start").drop_nulls().to_list()
        ends = [*known, *starts, finding.start]
        if finding.end < FOREVER // 2:
            ends.append(finding.end)
        self.first = min([*starts, finding.start])
        self.last = max([*ends, self.first + 1])

    def x(self, tick: int) -> float:
        share = (min(tick, self.last) - self.first) / (self.last - self.first)
        return round(_LEFT + _WIDTH * max(share, 0.0), 1)


def _question(finding: Finding, drawn: pl.DataFrame, scale: _Scale, height: int) -> list[str]:
    """The hatched space: the gap itself, or where more than one drawn row lies."""
    spaces = [(finding.start, finding.end)] if finding.kind is FindingKind.GAP else _shared(drawn)
    return [
        f'<rect x="{scale.x(start)}" y="{_TOP - 8}" width="{max(scale.x(end) - scale.x(start), 1)}"'
        f' height="{height - _TOP - 18}" fill="url(#shared)" opacity="0.5"/>'
        for start, end in spaces
    ]


def _shared(drawn: pl.DataFrame) -> list[tuple[int, int]]:
    """Where at least two of the drawn rows lie, as disjoint spaces."""
    rows = drawn.drop_nulls(["start", "end"]).filter(pl.col("start") < pl.col("end"))
    edges = sorted(
        [(start, 1) for start in rows.get_column("start")]
        + [(end, -1) for end in rows.get_column("end")]
    )
    spaces: list[tuple[int, int]] = []
    depth = since = 0
    for tick, step in edges:
        if depth < 2 <= depth + step:
            since = tick
        elif depth >= 2 > depth + step and tick > since:
            spaces.append((since, tick))
        depth += step
    return spaces


def _bar(row: dict, line: int, scale: _Scale) -> list[str]:
    y = _TOP + _STEP * line
    label = escape(f"{row['row']} ({row['source'] or 'no source'})"[:_LABEL])
    start, end = row["start"] or scale.first, row["end"] or scale.first
    width = max(scale.x(end) - scale.x(start), 2)
    return [
        f'<text x="4" y="{y + 12}" fill="currentColor">{label}</text>',
        f'<rect x="{scale.x(start)}" y="{y}" width="{width}" height="{_BAR}" rx="2"'
        ' fill="#2f5d8a" fill-opacity="0.75" stroke="currentColor"/>',
    ]


def _axis(scale: _Scale, height: int, kind: IntervalKind) -> list[str]:
    y = height - 24
    return [
        f'<path d="M{_LEFT} {y}H{_LEFT + _WIDTH}" stroke="currentColor"/>',
        f'<text x="{_LEFT}" y="{y + 18}" fill="currentColor">{place(scale.first, kind)}</text>',
        f'<text x="{_LEFT + _WIDTH}" y="{y + 18}" text-anchor="end" fill="currentColor">'
        f"{place(scale.last, kind)}</text>",
    ]
