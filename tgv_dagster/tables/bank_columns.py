"""Columns of a bank table beyond their labels: what their cells can be, and which ones belong
together.

Here: whose account a constant column names, marks of debit and credit, payer beside payee, and
columns that must not stay unused. Not here: the words of labels (`lexicon`) and the rows
(`bank_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import polars as pl

from tgv_dagster.bank.tabular import (
    are_directions,
    are_sign_marks,
    is_outgoing,
    says_outgoing,
)
from tgv_dagster.tables.lexicon import bare_label, lexicon, normal_label
from tgv_dagster.tables.model import RawTable

_HEAD = 64
_MINUS = r"^\s*(?:[-\u2212\u2013]|\()|[-\u2212\u2013]\s*$"
_MOST_STATES = 12
_NET = ("net", "netto", "montant net", "net amount", "nettobetrag")
_YES = frozenset(
    ("ja", "j", "yes", "y", "oui", "o", "true", "wahr", "vrai", "x", "#", "s", "storno", "reversal")
)
_NO = frozenset(("", "nein", "n", "no", "non", "false", "falsch", "faux"))
_OF_BALANCE = frozenset(("saldo", "saldos", "kontostand", "balance", "solde", "guthaben"))
_ACCOUNT = r"(?:\d\D{0,4}){4,}"


class State(StrEnum):
    """What a bank says about a line; UNKNOWN is a word nobody here knows."""

    BOOKED = "booked"
    PENDING = "pending"
    REFUSED = "refused"
    UNKNOWN = "unknown"


def state_of(cell: str) -> State:
    """The state that a cell names; an empty one says that the line is booked."""
    told = normal_label(cell)
    known = lexicon()
    if not told or told in known.booked:
        return State.BOOKED
    if told in known.pending:
        return State.PENDING
    return State.REFUSED if told in known.refused else State.UNKNOWN


def can_hold(table: RawTable, field: str, label: str) -> bool:
    """Whether the cells of a column can be this field: an account has digits, a state is known."""
    if field == "account":
        filled = _filled(table.column(label))
        return bool(len(filled)) and bool(filled.str.contains(_ACCOUNT).all())
    if field == "status":
        states = {state_of(cell) for cell in _few(table.column(label)) or ("?",)}
        return bool(states - {State.UNKNOWN})
    if field == "reversal":
        return all(affirms(cell) or _denies(cell) for cell in _few(table.column(label)) or ("?",))
    return True


def completed(table: RawTable, fields: Mapping[str, str]) -> dict[str, str]:
    """The fields with what cells and neighbours tell besides the words."""
    found = dict(fields)
    if "payer" in found and "counterparty_name" in found:
        found["payee"] = found.pop("counterparty_name")
    elif "payer" in found:
        found["counterparty_name"] = found.pop("payer")
    if "fee" in found:
        found = _after_charges(table, found)
    if "account" not in found and _is_own_account(table, found):
        found["account"] = found.pop("counterparty_iban")
    if "amount" in found:
        return _with_marks(table, found)
    if {"debit", "credit", "balance", "sign"} <= set(found):
        found["balance_sign"] = found.pop("sign")
    return found


def _with_marks(table: RawTable, fields: Mapping[str, str]) -> dict[str, str]:
    """Columns of marks of debit and credit: which one is of the amounts, which of the balance.

    A label that names the balance decides; of two columns the first is of whichever stands first.
    One column alone is of the amounts, unless they carry signs that contradict it or it stands
    behind the balance; there, with no other sign and the same mark in all rows, it may be of
    either, and is left to a person.
    """
    found = {name: label for name, label in fields.items() if name != "sign"}
    free = _free(table, found)
    marks = [x for x in free if holds_sign_marks(table.column(x))]
    if not marks:
        signed = table.column(fields["amount"]).str.contains(_MINUS).any()
        told = [] if signed or "sign" in fields else [x for x in free if _are_directions(table, x)]
        return dict(fields) | ({"sign": told[0]} if len(told) == 1 else {})
    if "balance" in found:
        of_balance = _marks_of_balance(table, found, marks)
        marks = [x for x in marks if x not in of_balance]
        if len(of_balance) == 1:
            found["balance_sign"] = of_balance[0]
        if len(marks) == 1 and not of_balance and _may_be_of_balance(table, found, marks[0]):
            return found
    told = fields.get("sign")
    if told is not None and told not in found.values():
        marks = [told]
    return found | {"sign": marks[0]} if len(marks) == 1 else found


def _marks_of_balance(
    table: RawTable, fields: Mapping[str, str], marks: Sequence[str]
) -> Sequence[str]:
    named = [x for x in marks if _OF_BALANCE & set(normal_label(x).split())]
    if named:
        return named
    if len(marks) == 2:
        at = table.labels.index
        return [marks[at(fields["balance"]) > at(fields["amount"])]]
    signed = table.column(fields["amount"]).str.contains(_MINUS).to_list()
    agree = signed == [is_outgoing(mark) for mark in table.column(marks[0]).to_list()]
    return marks if any(signed) and (not agree or _beside(table, fields, marks[0])) else []


def _may_be_of_balance(table: RawTable, fields: Mapping[str, str], mark: str) -> bool:
    return _beside(table, fields, mark) and len(set(_few(table.column(mark)))) == 1


def _beside(table: RawTable, fields: Mapping[str, str], mark: str) -> bool:
    """Whether the marks stand right behind the balance."""
    place = table.labels.index(mark)
    return place > 0 and table.labels[place - 1] == fields["balance"]


def tells_outgoing(table: RawTable, fields: Mapping[str, str]) -> bool:
    """Whether a column that nobody mapped has words of money that goes out."""
    return any(any(map(says_outgoing, _few(table.column(x)))) for x in _free(table, fields))


def _are_directions(table: RawTable, label: str) -> bool:
    return are_directions(_few(table.column(label)))


def holds_sign_marks(cells: pl.Series) -> bool:
    """Whether a column marks debit and credit; only distinct cells are looked at."""
    head = [cell for cell in cells.head(_HEAD) if cell.strip()]
    return (not head or are_sign_marks(head)) and are_sign_marks(cells.unique())


def unused(table: RawTable, fields: Mapping[str, str]) -> str | None:
    """Why the table must not be booked with these fields: a column that nobody mapped decides
    about signs, or about which lines are booked at all."""
    for label in _free(table, fields):
        cells = table.column(label)
        if not {"sign", "debit", "balance_sign"} & set(fields) and holds_sign_marks(cells):
            return f"column {label!r} marks debit and credit and is not used"
        if bare_label(label) in _reversed() and any(map(affirms, _few(cells))):
            return f"column {label!r} says that lines are reversed and is not used"
        if "status" not in fields and _tells_unbooked(label, cells):
            return f"column {label!r} says that lines are not booked and is not used"
    return None


def affirms(cell: str) -> bool:
    """Whether a cell says yes, or holds the mark that stands for it."""
    return cell.strip() != "0" and normal_label(cell) in _YES


def _denies(cell: str) -> bool:
    return cell.strip() == "0" or normal_label(cell) in _NO


def _reversed() -> tuple[str, ...]:
    return lexicon().fields["txn_master"]["reversal"]


def _tells_unbooked(label: str, cells: pl.Series) -> bool:
    """Every cell is a state of a line, and one is not booked; or the label says state."""
    states = {state_of(cell) for cell in _few(cells)}
    named = bare_label(label) in lexicon().fields["txn_master"]["status"]
    unbooked = bool(states & {State.PENDING, State.REFUSED})
    return unbooked and (named or State.UNKNOWN not in states)


def _after_charges(table: RawTable, fields: dict[str, str]) -> dict[str, str]:
    """Where a column says what is left after charges, it is the amount and nothing is charged."""
    left = [x for x in table.labels if bare_label(x) in _NET and x not in fields.values()]
    if bare_label(fields.get("amount", "")) in _NET:
        left = [fields["amount"]]
    if not left:
        return fields
    return {name: x for name, x in fields.items() if name != "fee"} | {"amount": left[0]}


def _is_own_account(table: RawTable, fields: Mapping[str, str]) -> bool:
    """One number in all rows, left of the days, is the account itself and nobody's counterparty."""
    label = fields.get("counterparty_iban")
    day = fields.get("booking_date") or fields.get("value_date")
    if label is None or day is None or table.height < 1:
        return False
    cells = table.column(label)
    alike = cells.n_unique() == 1 and bool(cells.item(0).strip())
    return alike and table.labels.index(label) < table.labels.index(day)


def _free(table: RawTable, fields: Mapping[str, str]) -> list[str]:
    return [label for label in table.labels if label not in fields.values()]


def _filled(cells: pl.Series) -> pl.Series:
    return cells.filter(cells.str.strip_chars() != "")


def _few(cells: pl.Series) -> tuple[str, ...]:
    """The distinct filled cells where they are few, as states are; else none."""
    if cells.head(1024).n_unique() > _MOST_STATES:
        return ()
    found = _filled(cells.unique()).to_list()
    return tuple(found) if len(found) <= _MOST_STATES else ()
