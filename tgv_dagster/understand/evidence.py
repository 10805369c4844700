"""Evidence: the shapes in which understanding states what it found, where, and how sure it is.

Here belong the closed vocabulary of fields and the records that carry a value with its origin and
the place in the text that shows it. How a value is found belongs to the module of that value; how
a record is stored belongs to the store.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum

FindingValue = str | Decimal | date | int | bool


class Field(StrEnum):
    """Fields a document can carry; date axes have a name each and never share one (DATE-09)."""

    DOC_TYPE = "doc_type"
    ENTITY = "entity"
    PROVIDER = "provider"
    DIRECTION = "direction"
    LANGUAGE = "language"
    PROJECT_CODE = "project_code"
    CONFIDENTIALITY_LEVEL = "confidentiality_level"
    FOLDER = "folder"
    AMOUNT_NET = "amount_net"
    AMOUNT_TAX = "amount_tax"
    AMOUNT_GROSS = "amount_gross"
    AMOUNT_DUE = "amount_due"
    CURRENCY = "currency"
    INVOICE_NUMBER = "invoice_number"
    CUSTOMER_NUMBER = "customer_number"
    CONTRACT_NUMBER = "contract_number"
    ORDER_NUMBER = "order_number"
    DATE_RECEIVED = "date_received"
    INVOICE_DATE = "invoice_date"
    LETTER_DATE = "letter_date"
    SERVICE_DATE = "service_date"
    SERVICE_START_DATE = "service_start_date"
    SERVICE_END_DATE = "service_end_date"
    DUE_DATE = "due_date"
    RECEIPT_STAMP_DATE = "receipt_stamp_date"
    ACCOUNTING_PERIOD = "accounting_period"
    CONTRACT_TYPE = "contract_type"
    CONTRACT_START_DATE = "contract_start_date"
    CONTRACT_END_DATE = "contract_end_date"
    NOTICE_PERIOD_DAYS = "notice_period_days"
    NOTICE_DEADLINE = "notice_deadline"
    NEXT_RENEWAL_DATE = "next_renewal_date"
    AUTO_RENEWAL = "auto_renewal"
    RIGHTS_VERBATIM_OK = "rights_verbatim_ok"
    RIGHTS_COPYRIGHT_HOLDER = "rights_copyright_holder"
    RIGHTS_MODEL_RELEASE = "rights_model_release"
    RIGHTS_POST_MORTEM = "rights_post_mortem"


class Origin(StrEnum):
    """Who stated a value: reading the document, a configured rule, or a person."""

    MACHINE = "machine"
    RULE = "rule"
    HUMAN = "human"


class EntityOrigin(StrEnum):
    """The closed set behind `entity_quelle` (TRI-08)."""

    STRUCTURAL_RULE = "structural_rule"
    CONTENT = "content"
    HUMAN = "human"
    HINT = "hint"


class OpenPointKind(StrEnum):
    """Why a document needs a person (TRI-10)."""

    UNKNOWN = "unknown"
    CONFLICT = "conflict"
    LOW_CONFIDENCE = "low_confidence"
    SENSITIVE = "sensitive"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the text: page counted from 1, character offsets within that page."""

    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement about one field.

    `value` None means "looked for and not there" (DATE-19); a field nobody looked at has no
    finding at all. `confidence` is 0..1; `note` carries the derivation for people.
    """

    field: Field
    value: FindingValue | None
    origin: Origin
    confidence: float
    span: Span | None
    rule_id: str
    note: str = ""

    @property
    def checked_none(self) -> bool:
        """Whether the field was checked and the document states no value."""
        return self.value is None


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """A question that only a person may answer; `choices` are the values the text supports."""

    kind: OpenPointKind
    field: Field
    reason: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TuningValue:
    """A value somebody may tune, with owner and dates; `measured_on` None means never (VAL-01)."""

    name: str
    value: float
    owner: str
    set_on: date
    measured_on: date | None = None


@dataclass(frozen=True, slots=True)
class PageMap:
    """Pages joined to one text, and the way back from an offset to page and place.

    Pages are separated by one line break, so a phrase never runs across two pages unseen.
    """

    pages: tuple[str, ...]
    text: str = field(init=False)
    _starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        starts: list[int] = []
        offset = 0
        for page in self.pages:
            starts.append(offset)
            offset += len(page) + 1
        object.__setattr__(self, "text", "\n".join(self.pages))
        object.__setattr__(self, "_starts", tuple(starts))

    def span(self, start: int, end: int) -> Span | None:
        """Page and offsets of a range of the joined text; None for an empty document.

        A range that runs over a page break is cut at the end of its first page.
        """
        if not self.pages:
            return None
        index = max(0, bisect_right(self._starts, start) - 1)
        base = self._starts[index]
        return Span(index + 1, start - base, min(end - base, len(self.pages[index])))
