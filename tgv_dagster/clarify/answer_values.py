"""The form that a person's value must have, per field: checked before anything is written.

A database takes `infinity` or `tomorrow` for a date and `NaN` for an amount; nobody behind it does.
Does not belong here: whether the person may assign it (`decisions`), or whether it is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from enum import StrEnum

from tgv_dagster.store.levels import Level
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import YES_OR_NO

MAX_CHARACTERS = 300


def fault_of(field: Field, text: str) -> str | None:
    """What is wrong with a value as text (its stored form), None when it fits."""
    if not text.strip():
        return "is empty; null says that there is none"
    if len(text) > MAX_CHARACTERS or not text.isprintable():
        return f"has at most {MAX_CHARACTERS} printable characters"
    return _CHECKS.get(field, _anything)(text)


def _anything(_text: str) -> None:
    return None


def _one_of(words: type[StrEnum] | tuple[str, ...]) -> Callable[[str], str | None]:
    known = tuple(str(word) for word in words)
    return lambda text: None if text in known else f"is one of {', '.join(known)}"


def _like(pattern: str, form: str) -> Callable[[str], str | None]:
    compiled = re.compile(pattern)
    return lambda text: None if compiled.fullmatch(text) else f"has the form {form}"


def _day(text: str) -> str | None:
    fault = _DAY(text)
    if fault is not None:
        return fault
    try:
        date.fromisoformat(text)
    except ValueError:
        return "is no day of the calendar"
    return None


_DAY = _like(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "YYYY-MM-DD")
_AMOUNT = _like(r"-?[0-9]{1,15}(?:\.[0-9]{1,2})?", "1234.56")

_CHECKS: dict[Field, Callable[[str], str | None]] = {
    Field.DOC_TYPE: _one_of(DocType),
    Field.DIRECTION: _one_of(("in", "out")),
    Field.LANGUAGE: _like(r"[a-z]{2,3}", "de"),
    Field.CONFIDENTIALITY_LEVEL: _one_of(Level),
    Field.AMOUNT_NET: _AMOUNT,
    Field.AMOUNT_TAX: _AMOUNT,
    Field.AMOUNT_GROSS: _AMOUNT,
    Field.AMOUNT_DUE: _AMOUNT,
    Field.CURRENCY: _like(r"[A-Z]{3}", "EUR"),
    Field.DATE_RECEIVED: _day,
    Field.INVOICE_DATE: _day,
    Field.LETTER_DATE: _day,
    Field.SERVICE_DATE: _day,
    Field.SERVICE_START_DATE: _day,
    Field.SERVICE_END_DATE: _day,
    Field.DUE_DATE: _day,
    Field.RECEIPT_STAMP_DATE: _day,
    Field.ACCOUNTING_PERIOD: _like(r"[0-9]{4}-(?:0[1-9]|1[0-2])", "YYYY-MM"),
    Field.CONTRACT_START_DATE: _day,
    Field.CONTRACT_END_DATE: _day,
    Field.NOTICE_PERIOD_DAYS: _like(r"[0-9]{1,4}", "a number of days"),
    Field.NOTICE_DEADLINE: _day,
    Field.NEXT_RENEWAL_DATE: _day,
    **dict.fromkeys(YES_OR_NO, _one_of(("true", "false"))),
}
