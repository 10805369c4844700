"""Where rows of a table may go: the closed set of targets and what each needs (TAB-01, TAB-17).

Belongs here: fields of a target, the kinds of column that fit a field, and which fields a target
cannot do without. The recogniser invents no target; a new one is a decision of the owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.tables.reading.columns import ColumnKind


class Target(StrEnum):
    """What a table is for. `WORKING` is class 2: working material that never writes a booking."""

    TIME = "prf_timetrack"
    TRIPS = "fahrtenbuch"
    BANK = "txn_master"
    WORKING = "working"

    @property
    def table_class(self) -> int:
        """1 for bookkeeping, 2 for working material (TAB-01, TAB-02)."""
        return 2 if self is Target.WORKING else 1


_DAY = frozenset((ColumnKind.DATE, ColumnKind.DATETIME))
_CLOCK = frozenset((ColumnKind.TIME, ColumnKind.DATETIME))
_LENGTH = frozenset((ColumnKind.TIME, ColumnKind.DURATION))
_NUMBER = frozenset((ColumnKind.NUMBER,))
_ANY = frozenset(ColumnKind)


@dataclass(frozen=True, slots=True)
class TargetRule:
    """Fields of a target with the kinds of column that fit, and its needs.

    Each need is a set of alternatives: one of them must be mapped wholly.
    """

    kinds: Mapping[str, frozenset[ColumnKind]]
    needs: tuple[tuple[tuple[str, ...], ...], ...]


RULES: Mapping[Target, TargetRule] = {
    Target.TIME: TargetRule(
        kinds={
            "date": _DAY,
            "start": _CLOCK,
            "end": _CLOCK,
            "end_date": _DAY,
            "duration": _LENGTH,
            "hours": _NUMBER | _LENGTH,
            "minutes": _NUMBER,
            "break_minutes": _NUMBER | _LENGTH,
            "person": _ANY,
            "person_first": _ANY,
            "person_last": _ANY,
            "email": _ANY,
            "project": _ANY,
            "project_code": _ANY,
            "description": _ANY,
            "task": _ANY,
            "client": _ANY,
            "billable": _ANY,
        },
        needs=(
            (("date",),),
            (("start",),),
            (("end",), ("duration",), ("hours",), ("minutes",)),
            (("person",), ("person_first", "person_last"), ("email",)),
            (("project",), ("project_code",)),
        ),
    ),
    Target.TRIPS: TargetRule(
        kinds={
            "date": _DAY,
            "km_start": _NUMBER,
            "km_end": _NUMBER,
            "distance": _NUMBER,
            "vehicle": _ANY,
            "purpose": _ANY,
            "destination": _ANY,
            "origin": _ANY,
            "partner": _ANY,
            "kind": _ANY,
            "driver": _ANY,
            "project": _ANY,
            "project_code": _ANY,
        },
        needs=(
            (("date",),),
            (("km_start",),),
            (("km_end",), ("distance",)),
            (("vehicle",),),
            (("project",), ("project_code",)),
        ),
    ),
    Target.BANK: TargetRule(
        kinds={
            "booking_date": _DAY,
            "value_date": _DAY,
            "amount": _NUMBER,
            "inflow": _NUMBER,
            "outflow": _NUMBER,
            "debit": _NUMBER,
            "credit": _NUMBER,
            "balance": _NUMBER,
            "sign": _ANY,
            "balance_sign": _ANY,
            "reversal": _ANY,
            "currency": _ANY,
            "purpose": _ANY,
            "counterparty_name": _ANY,
            "payer": _ANY,
            "payee": _ANY,
            "fee": _NUMBER,
            "counterparty_iban": _ANY,
            "account": _ANY,
            "status": _ANY,
            "bank_reference": _ANY,
        },
        needs=(
            (("booking_date",), ("value_date",)),
            (("amount",), ("debit", "credit"), ("inflow",), ("outflow",)),
            (("purpose",), ("counterparty_name",), ("payer", "payee")),
        ),
    ),
}


def missing(target: Target, mapped: frozenset[str]) -> tuple[str, ...]:
    """Needs of a target that the mapped fields leave open, each as its alternatives."""
    if target is Target.WORKING:
        return ()
    return tuple(
        " / ".join(" + ".join(names) for names in need)
        for need in RULES[target].needs
        if not any(set(names) <= mapped for names in need)
    )


def fits(target: Target, field: str, kind: ColumnKind) -> bool:
    """Whether a column of this kind can carry the field; an empty column carries any."""
    if target is Target.WORKING:
        return False
    kinds = RULES[target].kinds.get(field)
    return kinds is not None and (kind in kinds or kind is ColumnKind.EMPTY)
