"""What an asset shows on its materialization: tables, small pictures and links, never a text.

Here belong the forms of metadata for all assets. Counts, ids, codes and dates go through; names,
amounts and reasons of documents do not (architecture §4).
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import dagster as dg

from tgv_dagster.audit.discreet import reason_code
from tgv_dagster.settings import Settings
from tgv_dagster.store.pull import BatchReport, Problem
from tgv_dagster.store.stages import STAGES, Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float | bool | None
MAX_PROBLEMS = 50


def table(rows: Iterable[Mapping[str, Cell]]) -> dg.TableMetadataValue:
    """A table; every row has the same columns. Members of an enum become plain words."""
    records = [
        dg.TableRecord(
            {name: str(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        )
        for row in rows
    ]
    names = list(records[0].data) if records else ["nothing"]
    schema = dg.TableSchema(
        columns=[
            dg.TableColumn(name, _column_type([record.data[name] for record in records]))
            for name in names
        ]
    )
    return dg.TableMetadataValue(records=records, schema=schema)


def _column_type(values: Sequence[object]) -> str:
    if values and all(isinstance(value, bool) for value in values):
        return "bool"
    if values and all(isinstance(value, int) for value in values):
        return "int"
    if values and all(isinstance(value, int | float) for value in values):
        return "float"
    return "string"


def counted(counts: Mapping[str, int], *, of: str) -> dg.TableMetadataValue:
    """Counts as a table with their share, largest first; `of` names the first column."""
    total = sum(counts.values())
    return table(
        {of: name, "count": count, "share": f"{count / total:.1%}" if total else "-"}
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def document_link(settings: Settings, document_id: int) -> str:
    """Markdown link to the walled page of a document."""
    return f"[{document_id}](http://{settings.http_host}:{settings.http_port}/d/{document_id})"


def report(settings: Settings, done: BatchReport) -> dict[str, dg.MetadataValue]:
    """Metadata of one step: what happened to how many, and which items did not get through."""
    shown: dict[str, dg.MetadataValue] = {
        "taken": dg.IntMetadataValue(done.claimed),
        "waiting": dg.IntMetadataValue(done.remaining),
        "held_or_parked": dg.IntMetadataValue(done.held + done.outcomes.get("parked", 0)),
        "seconds": dg.FloatMetadataValue(round(done.seconds, 3)),
        "outcomes": counted(done.outcomes, of="outcome"),
    }
    if done.problems:
        shown["not_through"] = dg.MarkdownMetadataValue(_problems(settings, done))
    return shown


def _problems(settings: Settings, done: BatchReport) -> str:
    subject = STAGES[done.stage].subject
    lines = [f"| {subject} | outcome | reason code |", "|---|---|---|"]
    lines += [
        f"| {_subject(settings, subject, problem)} | {problem.outcome} "
        f"| `{reason_code(problem.reason)}` |"
        for problem in done.problems[:MAX_PROBLEMS]
    ]
    left = len(done.problems) - MAX_PROBLEMS
    if left > 0:
        lines.append(f"\n{left} more; `tgv parked` lists all with their reasons.")
    return "\n".join(lines)


def _subject(settings: Settings, subject: Subject, problem: Problem) -> str:
    if subject is Subject.DOCUMENT:
        return document_link(settings, problem.subject_id)
    return str(problem.subject_id)


def day(moment: datetime | None) -> str:
    """A date and time for a table, in UTC; a dash when there is none."""
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


# --- pictures ----------------------------------------------------------------------------------

_COLOURS = {
    "done": "#3a7d44",
    "green": "#3a7d44",
    "pending": "#9aa5b1",
    "claimed": "#4c78a8",
    "unmeasured": "#9aa5b1",
    "held": "#d1495b",
    "red": "#d1495b",
    "parked": "#edae49",
}
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_LINES = 8
_OTHER = ("#4c78a8", "#72b7b2", "#b279a2", "#9d755d", "#f58518", "#54a24b")


def stacked_bars(
    counts: Mapping[tuple[str, str], int], *, rows: Sequence[str], title: str
) -> dg.MarkdownMetadataValue:
    """A picture of counts: one bar per row, one colour and one printed number per part.

    `counts` is keyed by (row, part). The parts are named in the legend, so that no meaning hangs
    on colour alone.
    """
    from matplotlib.figure import Figure  # a fifth of the load time; not every run draws

    parts = sorted({part for _, part in counts})
    figure = Figure(figsize=(6.4, 0.9 + 0.34 * max(len(rows), 1)), layout="constrained")
    axes = figure.subplots()
    left = [0] * len(rows)
    for number, part in enumerate(parts):
        widths = [counts.get((row, part), 0) for row in rows]
        colour = _COLOURS.get(part, _OTHER[number % len(_OTHER)])
        bars = axes.barh(list(rows), widths, left=left, label=part, color=colour, height=0.7)
        axes.bar_label(bars, [str(w) if w else "" for w in widths], label_type="center", fontsize=8)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    if parts:
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return picture(figure, title)


def shares(
    counts: Mapping[tuple[str, str], tuple[int, int]], *, title: str
) -> dg.MarkdownMetadataValue:
    """A picture of shares over months: one line per row, the base of each point printed at it.

    `counts` is keyed by (row, month) and holds (part, whole). Rows with the most cases come first;
    each has a mark of its own, so that no meaning hangs on colour alone.
    """
    from matplotlib.figure import Figure  # a fifth of the load time; not every run draws

    months = sorted({month for _, month in counts})
    weight: dict[str, int] = {}
    for (row, _), (_, whole) in counts.items():
        weight[row] = weight.get(row, 0) + whole
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    for number, row in enumerate(sorted(weight, key=lambda name: -weight[name])[:MOST_LINES]):
        places = [n for n, month in enumerate(months) if counts.get((row, month), (0, 0))[1]]
        values = [counts[row, months[n]][0] / counts[row, months[n]][1] for n in places]
        axes.plot(
            places,
            values,
            label=row,
            color=_OTHER[number % len(_OTHER)],
            marker=_MARKS[number % len(_MARKS)],
        )
        for place, value in zip(places, values, strict=True):
            axes.annotate(
                f"n={counts[row, months[place]][1]}", (place, value), fontsize=6, xytext=(2, 3),
                textcoords="offset points",
            )  # fmt: skip
    axes.set_xticks(range(len(months)), months, rotation=45)
    axes.set_ylim(0, 1.08)
    axes.set_title(title, loc="left", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    if weight:
        axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return picture(figure, title)


def picture(figure: Figure, says: str) -> dg.MarkdownMetadataValue:
    """A figure as a small PNG inside Markdown."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    return dg.MarkdownMetadataValue(f"![{says}](data:image/png;base64,{encoded})")


def drawing(svg: str, says: str) -> dg.MarkdownMetadataValue:
    """An SVG inside Markdown."""
    encoded = base64.b64encode(svg.encode()).decode()
    return dg.MarkdownMetadataValue(f"![{says}](data:image/svg+xml;base64,{encoded})")
