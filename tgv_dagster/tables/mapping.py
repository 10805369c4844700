"""A mapping: which column of a table is which field of its target, and how its cells are read.

The plain form that proposals, cards, memory and the import share, with its JSON. Columns are named,
never numbered (TAB-18).
"""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from typing import Any

from tgv_dagster.tables.model import Dialect
from tgv_dagster.tables.reading.delimited import Settled
from tgv_dagster.tables.targets import RULES, Target, missing


class MappingRefused(ValueError):
    """The mapping names something that is not there or cannot be; the message says what."""


@dataclass(frozen=True, slots=True)
class TableMapping:
    """How a table is understood.

    `fields`: label per field of the target. `readings`: decimal sign or date form per label, for
    columns whose cells leave it open. `dialect`, `encoding`, `header` settle how the file is read.
    """

    target: Target
    fields: MappingOf[str, str] = field(default_factory=dict)
    readings: MappingOf[str, str] = field(default_factory=dict)
    dialect: Dialect | None = None
    encoding: str | None = None
    headless: bool = False

    def settled(self) -> Settled:
        """What is known before the file is read."""
        return Settled(self.dialect, self.encoding, 0 if self.headless else None)

    def as_json(self) -> dict[str, Any]:
        """The mapping as JSON."""
        told: dict[str, Any] = {
            "target": str(self.target),
            "fields": dict(self.fields),
            "readings": dict(self.readings),
            "encoding": self.encoding,
            "headless": self.headless,
        }
        if self.dialect is not None:
            told["dialect"] = [self.dialect.delimiter, self.dialect.quote, self.dialect.escape]
        return told

    @classmethod
    def from_json(cls, told: MappingOf[str, Any]) -> TableMapping:
        """The mapping of this JSON. Raises MappingRefused for an unknown target."""
        if told["target"] not in set(Target):
            raise MappingRefused(f"there is no target {told['target']!r} (TAB-17)")
        dialect = told.get("dialect")
        return cls(
            target=Target(told["target"]),
            fields=dict(told.get("fields", {})),
            readings=dict(told.get("readings", {})),
            dialect=Dialect(*dialect) if dialect else None,
            encoding=told.get("encoding"),
            headless=bool(told.get("headless", False)),
        )


def check(mapping: TableMapping, labels: tuple[str, ...]) -> None:
    """Raise MappingRefused unless every field and column exists and every need is met (TAB-10)."""
    if mapping.target is Target.WORKING:
        return
    unknown = sorted(set(mapping.fields) - set(RULES[mapping.target].kinds))
    if unknown:
        raise MappingRefused(f"{mapping.target} has no field {', '.join(unknown)}")
    absent = sorted(set(mapping.fields.values()) - set(labels))
    if absent:
        raise MappingRefused(f"the table has no column {', '.join(absent)}")
    columns = list(mapping.fields.values())
    twice = sorted({label for label in columns if columns.count(label) > 1})
    if twice:
        raise MappingRefused(f"columns stand for two fields: {', '.join(twice)}")
    open_needs = missing(mapping.target, frozenset(mapping.fields))
    if open_needs:
        raise MappingRefused(f"{mapping.target} needs {'; '.join(open_needs)}")
