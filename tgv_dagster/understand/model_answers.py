"""What a model is asked for and what its answer may say: fields, closed sets, quoted evidence.

Here belong the shape of an answer per field, its validation, and the proof that each value stands
in the document. A model's answer is input from outside like the document itself: whatever is not
of the schema, not of the closed sets, or not quoted from the text, is no statement. How the model
is reached belongs to `chat_model`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StringConstraints,
    ValidationError,
    create_model,
)
from pydantic import (
    Field as Constrained,
)

from tgv_dagster.store.levels import Level
from tgv_dagster.understand.doctypes import ContractType, DocType
from tgv_dagster.understand.entity import Direction
from tgv_dagster.understand.evidence import Field

MEANING: Mapping[Field, str] = {
    Field.DOC_TYPE: "the kind of the document",
    Field.ENTITY: "which of our entities it belongs to, by the content alone: the bill-to party of"
    " an incoming document, the issuer of an outgoing one; null when it is none of them",
    Field.PROVIDER: "name of the company or authority that issued the document",
    Field.DIRECTION: "in: issued by somebody else to our entity; out: issued by our entity",
    Field.LANGUAGE: "language of the text, ISO 639-1",
    Field.PROJECT_CODE: "which of our projects it names; null when none",
    Field.CONFIDENTIALITY_LEVEL: "how closed the document is, loosest to strictest",
    Field.AMOUNT_NET: "total without tax",
    Field.AMOUNT_TAX: "total tax",
    Field.AMOUNT_GROSS: "total including tax",
    Field.AMOUNT_DUE: "amount still to be paid",
    Field.CURRENCY: "currency of the totals, ISO 4217",
    Field.INVOICE_NUMBER: "number of the invoice, credit note or receipt",
    Field.CUSTOMER_NUMBER: "number under which the issuer keeps the customer",
    Field.CONTRACT_NUMBER: "number of the contract or insurance policy",
    Field.ORDER_NUMBER: "number of the order",
    Field.INVOICE_DATE: "day the invoice, credit note or receipt was issued",
    Field.LETTER_DATE: "day the letter or notice was written",
    Field.SERVICE_DATE: "day of supply, when it is one day",
    Field.SERVICE_START_DATE: "first day of the period of supply",
    Field.SERVICE_END_DATE: "last day of the period of supply",
    Field.DUE_DATE: "last day of payment",
    Field.RECEIPT_STAMP_DATE: "day of the receipt stamp on the paper",
    Field.ACCOUNTING_PERIOD: "month a payslip belongs to, YYYY-MM",
    Field.CONTRACT_TYPE: "what the contract is about",
    Field.CONTRACT_START_DATE: "first day of the contract's term, not the day of signing",
    Field.CONTRACT_END_DATE: "last day of the contract's term, only when it is printed",
    Field.NOTICE_PERIOD_DAYS: "length of ordinary notice in days, a month counted as 30",
    Field.NEXT_RENEWAL_DATE: "day of the next automatic renewal, only when it is printed",
    Field.AUTO_RENEWAL: "whether the contract renews by itself",
}
"""What is asked for each field; a field without an entry is never asked of a model.

Every date axis is named by its own name (DATE-09, SPEC-10). Deadlines are computed and not asked.
"""

_ASSERTED = frozenset(
    {
        Field.DOC_TYPE,
        Field.ENTITY,
        Field.DIRECTION,
        Field.LANGUAGE,
        Field.CONFIDENTIALITY_LEVEL,
        Field.CONTRACT_TYPE,
        Field.AUTO_RENEWAL,
        Field.NOTICE_PERIOD_DAYS,
    }
)
"""Fields whose value is a judgement from a closed set and need not stand in the text as it is."""

_LONGEST_QUOTE = 300


class MalformedAnswer(ValueError):
    """The answer is not of the schema; the message names the places, never a value."""


@dataclass(frozen=True, slots=True)
class ModelStatement:
    """One statement of a model in the stored form of values; `text` None = it found none.

    `proven`: its quote stands in the document (or the field needs none).
    """

    field: Field
    text: str | None
    quote: str | None
    proven: bool


@dataclass(frozen=True, slots=True)
class ClosedSets:
    """The vocabulary of the tenant: what an answer may choose from."""

    entities: tuple[str, ...]
    projects: tuple[str, ...]
    languages: tuple[str, ...]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


AnswerModel = type[BaseModel]


def answer_model(fields: Sequence[Field], sets: ClosedSets) -> AnswerModel:
    """The shape of an answer over these fields: each with a value or null, and a quote or null."""
    members: dict[str, Any] = {}
    for name in fields:
        shape: dict[str, Any] = {
            "value": (_kind_of(name, sets) | None, ...),
            "quote": (_QUOTE, ...),
        }
        statement = create_model(f"Statement_{name}", __base__=_Answer, **shape)
        members[str(name)] = (statement, Constrained(..., description=MEANING[name]))
    return create_model("Statements", __base__=_Answer, **members)


def schema_of(answer: AnswerModel) -> dict[str, Any]:
    """The JSON schema a provider is asked to keep to; generated from what is validated."""
    return answer.model_json_schema()


def read_answer(answer: AnswerModel, content: str, text: str) -> tuple[ModelStatement, ...]:
    """The statements of an answer about a text. Raises MalformedAnswer."""
    try:
        parsed = answer.model_validate_json(content)
    except ValidationError as error:
        places = sorted({".".join(str(p) for p in fault["loc"]) for fault in error.errors()})
        known = {str(name) for name in Field} | {"value", "quote"}
        named = [place for place in places if set(place.split(".")) <= known]
        raise MalformedAnswer(f"not of the schema: {', '.join(named[:5]) or 'other'}") from None
    haystack = _plain(text)
    statements = []
    for name in type(parsed).model_fields:
        stated = getattr(parsed, name)
        statements.append(_statement(Field(name), stated.value, stated.quote, haystack))
    return tuple(statements)


def _statement(name: Field, value: object, quote: str | None, haystack: str) -> ModelStatement:
    if value is None:
        return ModelStatement(name, None, quote, proven=True)
    quoted = quote is not None and bool(_plain(quote)) and _plain(quote) in haystack
    shown = quoted or (name in _ASSERTED and not quote)
    text = str(value).lower() if isinstance(value, bool) else _normal(str(value), name)
    return ModelStatement(name, text, quote, proven=shown)


def _normal(text: str, name: Field) -> str:
    return format(Decimal(text), "f") if name.startswith("amount_") else text.strip()


_SPACE = re.compile(r"\s+")


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()


# --- kinds of values ------------------------------------------------------------------------------


def _iso_day(text: str) -> str:
    """Raises ValueError for what is no day of the calendar (31 February)."""
    date.fromisoformat(text)
    return text


_QUOTE = Annotated[str | None, StringConstraints(max_length=_LONGEST_QUOTE)]
_NAME = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\n\r\t]+$")]
_DAY = Annotated[
    str, StringConstraints(pattern=r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9]$"), AfterValidator(_iso_day)
]
_MONTH = Annotated[str, StringConstraints(pattern=r"^[12][0-9]{3}-(0[1-9]|1[0-2])$")]
_AMOUNT = Annotated[str, StringConstraints(pattern=r"^-?[0-9]{1,12}(\.[0-9]{1,2})?$")]
_CURRENCY = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
_DAYS = Annotated[int, Constrained(ge=0, le=3650)]


def _one_of(values: Sequence[str]) -> Any:
    """A closed set; an empty one allows nothing but null."""
    return Literal[tuple(values)] if values else type(None)


def _kind_of(name: Field, sets: ClosedSets) -> Any:
    makers: dict[Field, Callable[[], Any]] = {
        Field.DOC_TYPE: partial(_one_of, [k.value for k in DocType if k is not DocType.UNKNOWN]),
        Field.ENTITY: partial(_one_of, sets.entities),
        Field.PROJECT_CODE: partial(_one_of, sets.projects),
        Field.LANGUAGE: partial(_one_of, sets.languages),
        Field.DIRECTION: partial(_one_of, [d.value for d in Direction]),
        Field.CONFIDENTIALITY_LEVEL: partial(_one_of, [level.value for level in Level]),
        Field.CONTRACT_TYPE: partial(_one_of, [kind.value for kind in ContractType]),
    }
    if name in makers:
        return makers[name]()
    plain: dict[Field, Any] = {
        Field.CURRENCY: _CURRENCY,
        Field.ACCOUNTING_PERIOD: _MONTH,
        Field.NOTICE_PERIOD_DAYS: _DAYS,
        Field.AUTO_RENEWAL: bool,
    }
    if name in plain:
        return plain[name]
    if name.endswith("_date"):
        return _DAY
    return _AMOUNT if name.startswith("amount_") else _NAME
