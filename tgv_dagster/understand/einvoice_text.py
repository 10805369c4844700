"""The readable form of an e-invoice: lines a person can read and a search can find.

Here: wording and number formats by the seller's country. Not here: anything computed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.understand.einvoice_model import EInvoice, InvoiceLine, Party


@dataclass(frozen=True, slots=True)
class _Wording:
    invoice: str
    credit: str
    number: str
    issued: str
    due: str
    delivered: str
    period: str
    seller: str
    buyer: str
    payee: str
    vat_id: str
    tax_number: str
    register: str
    reference: str
    position: str
    net: str
    tax: str
    gross: str
    prepaid: str
    payable: str
    allowance: str
    charge: str
    terms: str
    thousands: str
    decimal: str
    day: str
    references: dict[str, str]


_GERMAN = _Wording(
    "Rechnung", "Gutschrift", "Rechnungsnummer", "Rechnungsdatum", "Fällig am", "Lieferdatum",
    "Leistungszeitraum", "Verkäufer", "Käufer", "Zahlungsempfänger", "USt-IdNr.", "Steuernummer",
    "Registernummer", "Käuferreferenz", "Pos.", "Summe netto", "USt.", "Gesamtbetrag brutto",
    "Bereits gezahlt", "Zahlbetrag", "Nachlass", "Zuschlag", "Zahlungsbedingungen", ".", ",",
    "%d.%m.%Y",
    {"order": "Bestellung", "sales order": "Auftrag", "contract": "Vertrag", "project": "Projekt",
     "delivery": "Lieferschein", "tender": "Vergabe", "preceding invoice": "Bezug auf Rechnung"},
)  # fmt: skip
_FRENCH = _Wording(
    "Facture", "Avoir", "Numéro de facture", "Date de facture", "Échéance", "Date de livraison",
    "Période de prestation", "Vendeur", "Acheteur", "Bénéficiaire", "N° TVA",
    "Numéro fiscal", "Immatriculation", "Référence acheteur", "Ligne", "Total HT", "TVA",
    "Total TTC", "Déjà payé", "Net à payer", "Remise", "Frais", "Conditions de paiement",
    "\u00a0", ",", "%d/%m/%Y",
    {"order": "Commande", "sales order": "Ordre", "contract": "Contrat", "project": "Projet",
     "delivery": "Bon de livraison", "tender": "Marché", "preceding invoice": "Facture d'origine"},
)  # fmt: skip
_ITALIAN = _Wording(
    "Fattura", "Nota di credito", "Numero fattura", "Data fattura", "Scadenza", "Data consegna",
    "Periodo", "Cedente", "Cessionario", "Beneficiario", "Partita IVA", "Codice fiscale",
    "Numero REA", "Riferimento acquirente", "Riga", "Imponibile", "IVA", "Totale documento",
    "Già pagato", "Importo dovuto", "Sconto", "Maggiorazione", "Condizioni di pagamento", ".", ",",
    "%d/%m/%Y",
    {"order": "Ordine", "sales order": "Ordine", "contract": "Contratto", "project": "Progetto",
     "delivery": "Bolla", "tender": "Gara", "preceding invoice": "Fattura collegata"},
)  # fmt: skip
_ENGLISH = _Wording(
    "Invoice", "Credit note", "Invoice number", "Invoice date", "Due date", "Delivery date",
    "Service period", "Seller", "Buyer", "Payee", "VAT ID", "Tax number", "Register number",
    "Buyer reference", "Line", "Net total", "VAT", "Gross total", "Prepaid", "Amount due",
    "Allowance", "Charge", "Payment terms", ",", ".", "%Y-%m-%d",
    {"order": "Order", "sales order": "Sales order", "contract": "Contract", "project": "Project",
     "delivery": "Delivery note", "tender": "Tender", "preceding invoice": "Refers to invoice"},
)  # fmt: skip
_BY_COUNTRY = {
    **dict.fromkeys(("DE", "AT", "CH", "LI"), _GERMAN),
    **dict.fromkeys(("FR", "BE", "LU", "MC"), _FRENCH),
    **dict.fromkeys(("IT", "SM"), _ITALIAN),
}


def render_text(invoice: EInvoice) -> str:
    """Everything the invoice states, one fact a line, in the wording of the seller's country."""
    say = _wording(invoice)
    return clean_text("\n".join(line for line in _lines(invoice, say) if line.strip()))


def _wording(invoice: EInvoice) -> _Wording:
    country = invoice.seller.address.country or invoice.seller.vat_id[:2]
    return _BY_COUNTRY.get(country.upper(), _ENGLISH)


def _lines(invoice: EInvoice, say: _Wording) -> Iterator[str]:
    yield f"{say.credit if invoice.is_credit_note else say.invoice} {invoice.number}"
    yield _fact(say.number, invoice.number)
    yield _fact(say.issued, _day(invoice.issue_date, say))
    yield _fact(say.delivered, _day(invoice.delivery_date, say))
    period = (_day(invoice.period_start, say), _day(invoice.period_end, say))
    yield _fact(say.period, " – ".join(filter(None, period)))
    yield from _party(say.seller, invoice.seller, say)
    yield from _party(say.buyer, invoice.buyer, say)
    if invoice.payee:
        yield from _party(say.payee, invoice.payee, say)
    yield _fact(say.reference, invoice.buyer_reference)
    for reference in invoice.references:
        issued = f" ({_day(reference.issued, say)})" if reference.issued else ""
        yield _fact(say.references.get(reference.kind, reference.kind), reference.number + issued)
    yield from invoice.notes
    for line in invoice.lines:
        yield from _position(line, invoice.currency, say)
    yield from _sums(invoice, say)
    yield _fact(say.due, _day(invoice.due_date, say))
    yield _fact(say.terms, invoice.payment_terms)
    for payment in invoice.payments:
        parts = (
            _fact("IBAN", payment.iban), _fact("BIC", payment.bic), payment.holder,
            payment.reference, payment.mandate, payment.debited_iban,
        )  # fmt: skip
        yield "  ".join(filter(None, parts))
    yield from invoice.attachment_names


def _fact(label: str, value: str) -> str:
    return f"{label}: {value}" if value else ""


def _party(label: str, party: Party, say: _Wording) -> Iterator[str]:
    place = party.address
    yield _fact(label, party.name or party.trading_name)
    yield party.trading_name if party.name else ""
    yield from place.lines
    yield " ".join(filter(None, (place.country, place.postcode, place.city)))
    yield place.region
    yield _fact(say.vat_id, party.vat_id)
    yield _fact(say.tax_number, party.tax_number)
    yield _fact(say.register, party.register_id)
    yield "  ".join(filter(None, (party.contact, party.phone, party.email)))
    yield "  ".join((*party.identifiers, party.electronic_address)).strip()


def _position(line: InvoiceLine, currency: str, say: _Wording) -> Iterator[str]:
    amount = f"{_number(line.quantity, say)} {line.unit}".strip() if line.quantity else ""
    cells = (
        f"{say.position} {line.number}".strip(), line.article, line.name, amount,
        _money(line.unit_price, currency, say), _percent(line.tax_rate, say),
        _money(line.net, currency, say),
    )  # fmt: skip
    yield " | ".join(filter(None, cells))
    yield line.description
    yield line.note


def _sums(invoice: EInvoice, say: _Wording) -> Iterator[str]:
    stated, currency = invoice.totals, invoice.currency
    for item in invoice.adjustments:
        label = say.charge if item.charge else say.allowance
        yield _fact(label, f"{_money(item.amount, currency, say)} {item.reason}".strip())
    yield _fact(say.net, _money(stated.net, currency, say))
    for tax in invoice.taxes:
        parts = (_percent(tax.rate, say), _money(tax.basis, currency, say),
                 _money(tax.amount, currency, say), tax.exemption)  # fmt: skip
        yield _fact(say.tax, " | ".join(filter(None, parts)))
    if not invoice.taxes:
        yield _fact(say.tax, _money(stated.tax, currency, say))
    yield _fact(say.gross, _money(stated.gross, currency, say))
    yield _fact(say.prepaid, _money(stated.prepaid, currency, say))
    yield _fact(say.payable, _money(stated.payable, currency, say))


def _day(value: date | None, say: _Wording) -> str:
    return value.strftime(say.day) if value else ""


def _percent(value: Decimal | None, say: _Wording) -> str:
    return f"{_number(value, say)} %" if value is not None else ""


def _money(value: Decimal | None, currency: str, say: _Wording) -> str:
    if value is None:
        return ""
    digits = max(2, -int(value.normalize().as_tuple().exponent))
    return f"{_grouped(f'{value:,.{min(digits, 6)}f}', say)} {currency}".strip()


def _number(value: Decimal | None, say: _Wording) -> str:
    if value is None:
        return ""
    plain = f"{value:,f}"
    return _grouped(plain.rstrip("0").rstrip(".") if "." in plain else plain, say)


def _grouped(english: str, say: _Wording) -> str:
    return english.translate({ord(","): say.thousands, ord("."): say.decimal})
