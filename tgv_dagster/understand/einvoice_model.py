"""The structured invoice: one shape for UBL, CII, ZUGFeRD 1 and FatturaPA (EN 16931 terms).

Here: data only. Not here: reading XML (`readers.einvoice`) and judging the invoice.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum


class Syntax(StrEnum):
    """The XML vocabularies that are read."""

    UBL = "ubl"
    CII = "cii"
    ZUGFERD1 = "zugferd1"
    FATTURAPA = "fatturapa"


@dataclass(frozen=True, slots=True)
class Address:
    """Postal address (BG-5, BG-8); `lines` are street and additions."""

    lines: tuple[str, ...] = ()
    postcode: str = ""
    city: str = ""
    region: str = ""
    country: str = ""


@dataclass(frozen=True, slots=True)
class Party:
    """Seller, buyer or payee (BG-4, BG-7, BG-10)."""

    name: str = ""
    trading_name: str = ""
    vat_id: str = ""
    tax_number: str = ""
    register_id: str = ""
    identifiers: tuple[str, ...] = ()
    electronic_address: str = ""
    contact: str = ""
    phone: str = ""
    email: str = ""
    address: Address = Address()


@dataclass(frozen=True, slots=True)
class PaymentMeans:
    """How to pay (BG-16); `iban` is the account as written, blanks removed."""

    code: str = ""
    iban: str = ""
    bic: str = ""
    holder: str = ""
    reference: str = ""
    mandate: str = ""
    debited_iban: str = ""


@dataclass(frozen=True, slots=True)
class TaxLine:
    """One tax breakdown line (BG-23); rate in per cent."""

    category: str = ""
    rate: Decimal | None = None
    basis: Decimal | None = None
    amount: Decimal | None = None
    exemption: str = ""


@dataclass(frozen=True, slots=True)
class Adjustment:
    """Allowance (negative meaning) or charge on document level (BG-20, BG-21)."""

    charge: bool
    amount: Decimal | None
    reason: str = ""
    rate: Decimal | None = None


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """One position (BG-25); `net` is the line total without tax.

    `parent` names the line it is a part of (extended profiles only): its net is in that line's.
    """

    number: str = ""
    name: str = ""
    description: str = ""
    article: str = ""
    quantity: Decimal | None = None
    unit: str = ""
    unit_price: Decimal | None = None
    net: Decimal | None = None
    tax_category: str = ""
    tax_rate: Decimal | None = None
    note: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """Document totals (BG-22), as stated in the XML and never computed."""

    lines: Decimal | None = None
    allowances: Decimal | None = None
    charges: Decimal | None = None
    net: Decimal | None = None
    tax: Decimal | None = None
    gross: Decimal | None = None
    prepaid: Decimal | None = None
    rounding: Decimal | None = None
    payable: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A document the invoice points to: `kind` is order, contract, project, delivery, ..."""

    kind: str
    number: str
    issued: date | None = None


@dataclass(frozen=True, slots=True)
class XmlAttachment:
    """A document carried or named inside the XML (BG-24); `content` empty when only named."""

    name: str
    media_type: str
    description: str = ""
    url: str = ""
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class EInvoice:
    """An invoice or credit note as its XML states it.

    `type_code` is UNTDID 1001 (380 invoice, 381 credit note, 384 correction, 389 self-billed, ...).
    `problems` names what is missing, unreadable or does not add up; an empty tuple means the
    arithmetic of EN 16931 (BR-CO-10, -13, -14, -15, -16) holds wherever its figures are given.
    """

    syntax: Syntax
    profile: str
    type_code: str
    number: str
    issue_date: date | None
    due_date: date | None
    currency: str
    seller: Party
    buyer: Party
    totals: Totals
    payee: Party | None = None
    delivery_date: date | None = None
    period_start: date | None = None
    period_end: date | None = None
    buyer_reference: str = ""
    references: tuple[Reference, ...] = ()
    payment_terms: str = ""
    payments: tuple[PaymentMeans, ...] = ()
    taxes: tuple[TaxLine, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    lines: tuple[InvoiceLine, ...] = ()
    notes: tuple[str, ...] = ()
    attachment_names: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_credit_note(self) -> bool:
        """Whether the type code says that money flows back (UNTDID 1001)."""
        return self.type_code in {"81", "83", "261", "262", "296", "308", "381", "396", "420",
                                  "458", "532"}  # fmt: skip

    @property
    def net(self) -> Decimal | None:
        """Total without tax (BT-109)."""
        return self.totals.net

    @property
    def tax(self) -> Decimal | None:
        """Total tax (BT-110)."""
        return self.totals.tax

    @property
    def gross(self) -> Decimal | None:
        """Total with tax (BT-112)."""
        return self.totals.gross
