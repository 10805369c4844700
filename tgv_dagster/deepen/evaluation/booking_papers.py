"""Invoices, credit notes and receipts in layout families, generated from a seed.

Each family is one function of a drawn `Sale` and a table of words. The families of the test part
stand in `unseen_papers` and `unseen_later`: nothing was changed after their figures were seen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType

from tgv_dagster.deepen.evaluation.papers import (
    OWN,
    LabelledPaper,
    Part,
    in_figures,
    in_words,
)
from tgv_dagster.deepen.evaluation.sales import LANGUAGES, TRAPS, Family, Sale, draw
from tgv_dagster.deepen.evaluation.sender_papers import SENDERS
from tgv_dagster.deepen.evaluation.shop_papers import SHOPS
from tgv_dagster.deepen.evaluation.trade_papers import TRADES
from tgv_dagster.deepen.evaluation.unseen_later import RENTALS
from tgv_dagster.deepen.evaluation.unseen_papers import BOOKINGS, SEEN_BOOKINGS
from tgv_dagster.understand.evidence import Field

# --- tuning families -----------------------------------------------------------------------------

_TUNING_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Rechnung", "no": "Rechnungsnummer", "day": "Rechnungsdatum",
               "due": "Zahlbar bis", "net": "Nettobetrag", "tax": "Umsatzsteuer",
               "gross": "Gesamtbetrag", "order": "Bestellung", "of": "vom"},
        "fr": {"title": "Facture", "no": "Numéro de facture", "day": "Date de facture",
               "due": "Date d'échéance", "net": "Total HT", "tax": "TVA", "gross": "Total TTC",
               "order": "Commande", "of": "du"},
        "en": {"title": "Invoice", "no": "Invoice number", "day": "Invoice date",
               "due": "Due date", "net": "Subtotal", "tax": "VAT", "gross": "Total",
               "order": "Order", "of": "of"},
        "it": {"title": "Fattura", "no": "Numero fattura", "day": "Data fattura",
               "due": "Scadenza", "net": "Imponibile", "tax": "IVA", "gross": "Totale fattura",
               "order": "Ordine", "of": "del"},
    }
)  # fmt: skip


def _letterhead(sale: Sale) -> tuple[str, dict[Field, str | None]]:
    said = _TUNING_WORDS[sale.language]
    lines = [
        sale.supplier, *sale.address, "", *sale.receiver, "",
        f"{said['title']} {sale.number}",
        f"{said['no']}: {sale.number}",
        f"{said['day']}: {in_figures(sale.issued, sale.language)}",
        *_trap_lines(sale, said["order"], said["of"], said["title"]),
        *(f"{good}  1  {sale.money(sale.net / 2)}" for good in sale.goods),
        f"{said['net']} {sale.money(sale.net)}",
        f"{said['tax']} {sale.rate} % {sale.money(sale.tax)}",
        f"{said['gross']} {sale.money(sale.gross)}",
        f"{said['due']} {in_figures(sale.due, sale.language)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _columns(sale: Sale) -> tuple[str, dict[Field, str | None]]:
    said = _TUNING_WORDS[sale.language]
    lines = [
        f"{sale.supplier} - {sale.address[0]} - {sale.address[1]}", *sale.receiver, "",
        said["title"].upper(), "",
        f"{said['no']}    {said['day']}    {said['due']}",
        f"{sale.number}    {in_figures(sale.issued, sale.language)}"
        f"    {in_figures(sale.due, sale.language)}", "",
        *_trap_lines(sale, said["order"], said["of"], said["title"]),
        *(f"{good}    {sale.money(sale.net / 2)}" for good in sale.goods), "",
        f"{said['net']}    {said['tax']} {sale.rate} %    {said['gross']}",
        f"{sale.money(sale.net)}    {sale.money(sale.tax)}    {sale.money(sale.gross)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _short_till(sale: Sale) -> tuple[str, dict[Field, str | None]]:
    """A till receipt without any tax: one total, paid in cash with change, or after a subtotal."""
    said = _TILL_WORDS[sale.language]
    note = (sale.gross // 50 + 1) * 50
    lines = [
        sale.supplier, *sale.address, _MORE_WORDS[sale.language]["slip"],
        f"{in_figures(sale.issued, sale.language)}  18:07",
        *(f"{good[:18]:<20}{sale.money(sale.gross / 2)}" for good in sale.goods),
        *([f"{said['sub']:<20}{sale.money(sale.gross + 5)}",
           f"{said['off']:<20}-{sale.money(Decimal(5))}"] if sale.trap == "carried_over" else []),
        f"{said['sum']:<20}{sale.money(sale.gross)}",
        *([f"{said['cash']:<20}{sale.money(Decimal(note))}",
           f"{said['change']:<20}{sale.money(note - sale.gross)}"]
          if sale.trap in ("old_invoice", "delivery_elsewhere") else []),
    ]  # fmt: skip
    truth = sale.truth(
        doc_type="receipt", entity="-", due_date=None, invoice_number="-", direction="-",
        amount_net="-", amount_tax="-", provider="-",
    )  # fmt: skip
    return "\n".join(lines), truth


_TILL_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"sub": "Zwischensumme", "off": "Rabatt", "sum": "Summe", "cash": "Bar gegeben",
               "change": "Rückgeld"},
        "fr": {"sub": "Sous-total", "off": "Remise", "sum": "Total à payer", "cash": "Espèces",
               "change": "Rendu monnaie"},
        "en": {"sub": "Subtotal", "off": "Discount", "sum": "Total to pay", "cash": "Cash",
               "change": "Change"},
        "it": {"sub": "Subtotale", "off": "Sconto", "sum": "Totale da pagare", "cash": "Contanti",
               "change": "Resto"},
    }
)  # fmt: skip


def _trap_lines(sale: Sale, order: str, of: str, title: str) -> list[str]:
    """What misleads: another day, another number, a subtotal, another of our firms."""
    day = in_figures(sale.order_day, sale.language)
    other = next(own for own in OWN if own.slug != sale.entity)
    return {
        "order_first": [f"{order} {sale.order_number} {of} {day}"],
        "carried_over": [f"{_CARRIED[sale.language]} {sale.money(sale.net / 2)}"],
        "old_invoice": [f"{_REFERS[sale.language]} {title} 2019-88 {of} {day}"],
        "delivery_elsewhere": [f"{_DELIVERED[sale.language]}: {other.legal_name}, {other.address}"],
    }.get(sale.trap, [])


_CARRIED = {"de": "Übertrag", "fr": "Report", "en": "Carried forward", "it": "Riporto"}
_REFERS = {"de": "Bezug:", "fr": "Référence :", "en": "Our reference:", "it": "Riferimento:"}
_DELIVERED = {
    "de": "Lieferanschrift", "fr": "Adresse de livraison", "en": "Delivery address",
    "it": "Indirizzo di consegna",
}  # fmt: skip

# --- more of tuning -------------------------------------------------------------------------------

_MORE_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "RECHNUNG", "no": "Beleg-Nr.", "day": "Datum", "due": "Fällig am",
               "net": "Zwischensumme netto", "tax": "MwSt.", "gross": "Rechnungsbetrag",
               "order": "Ihre Bestellung", "of": "vom", "pay": "Zu zahlen", "credit": "Gutschrift",
               "slip": "Kassenbon", "sum": "SUMME", "thanks": "Vielen Dank für Ihren Einkauf",
               "lead": "für unsere Leistungen erlauben wir uns zu berechnen",
               "within": "Bitte überweisen Sie den Betrag bis zum"},
        "fr": {"title": "FACTURE", "no": "N°", "day": "Date", "due": "À régler avant le",
               "net": "Montant HT", "tax": "T.V.A.", "gross": "Montant TTC",
               "order": "Votre commande", "of": "du", "pay": "Net à payer", "credit": "Avoir",
               "slip": "Ticket de caisse", "sum": "TOTAL", "thanks": "Merci de votre visite",
               "lead": "pour nos prestations nous vous facturons",
               "within": "Merci de régler cette somme au plus tard le"},
        "en": {"title": "TAX INVOICE", "no": "Invoice #", "day": "Date of issue",
               "due": "Payment due by", "net": "Net amount", "tax": "VAT",
               "gross": "Amount payable",
               "order": "Your order", "of": "dated", "pay": "Balance due", "credit": "Credit note",
               "slip": "SALES RECEIPT", "sum": "TOTAL", "thanks": "Thank you for shopping with us",
               "lead": "for the services rendered we charge",
               "within": "Please pay this amount no later than"},
        "it": {"title": "FATTURA", "no": "Fattura n.", "day": "Data", "due": "Pagamento entro il",
               "net": "Totale imponibile", "tax": "I.V.A.", "gross": "Totale documento",
               "order": "Vostro ordine", "of": "del", "pay": "Netto a pagare",
               "credit": "Nota di credito", "slip": "Scontrino", "sum": "TOTALE",
               "thanks": "Grazie e arrivederci",
               "lead": "per le nostre prestazioni Vi addebitiamo",
               "within": "Vi preghiamo di versare la somma entro il"},
    }
)  # fmt: skip


def _side_block(sale: Sale) -> tuple[str, dict[Field, str | None]]:
    """Receiver on the left and facts on the right of the same lines."""
    said = _MORE_WORDS[sale.language]
    facts = [
        f"{said['no']} {sale.number}",
        f"{said['day']}: {in_words(sale.issued, sale.language)}",
        f"{said['due']} {in_words(sale.due, sale.language)}",
    ]
    left = [*sale.receiver, "", ""][: len(facts)]
    lines = [
        said["title"], "",
        *(f"{one:<44}{other}" for one, other in zip(left, facts, strict=True)), "",
        *_trap_lines(sale, said["order"], said["of"], said["title"]),
        *(f"{n}. {good:<34}{sale.money(sale.net / 2):>18}" for n, good in enumerate(sale.goods, 1)),
        "",
        f"{said['net']:<36}{sale.money(sale.net):>18}",
        f"{said['tax']} {sale.rate}%{'':<25}{sale.money(sale.tax):>18}",
        f"{said['gross']:<36}{sale.money(sale.gross):>18}", "",
        f"{sale.supplier} | {' | '.join(sale.address)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _summary_first(sale: Sale) -> tuple[str, dict[Field, str | None]]:
    """A box with the payable amount on top, positions behind, labels over their values."""
    said = _MORE_WORDS[sale.language]
    lines = [
        sale.supplier, " · ".join(sale.address), "",
        f"{said['pay']}: {sale.money(sale.gross)}", "",
        said["title"],
        f"{said['no']}", sale.number,
        f"{said['day']}", in_figures(sale.issued, sale.language),
        f"{said['due']}", in_figures(sale.due, sale.language), "",
        *sale.receiver, "",
        *_trap_lines(sale, said["order"], said["of"], said["title"]),
        *(f"{good} {sale.money(sale.net / 2)}" for good in sale.goods),
        f"{said['net']} {sale.money(sale.net)}",
        f"{said['tax']} ({sale.rate} %) {sale.money(sale.tax)}",
        f"{said['gross']} {sale.money(sale.gross)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _narrative(sale: Sale) -> tuple[str, dict[Field, str | None]]:
    """A craftsman's letter: the day at the town, totals in a column without dots."""
    said = _MORE_WORDS[sale.language]
    town = sale.address[1].split()[-1] if sale.language != "en" else "Leeds"
    lines = [
        sale.supplier, sale.address[0], sale.address[1], "",
        *sale.receiver, "",
        f"{town}, {in_words(sale.issued, sale.language)}", "",
        f"{said['title'].title()} {said['no']} {sale.number}"
        if sale.language != "it" else f"{said['no']} {sale.number}", "",
        f"{said['lead']}:",
        *_trap_lines(sale, said["order"], said["of"], said["title"].title()),
        *(f"- {good}" for good in sale.goods), "",
        f"{said['net']}\t{sale.money(sale.net)}",
        f"+ {sale.rate} % {said['tax']}\t{sale.money(sale.tax)}",
        f"{said['gross']}\t{sale.money(sale.gross)}", "",
        f"{said['within']} {in_words(sale.due, sale.language)}.",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _credit(sale: Sale) -> tuple[str, dict[Field, str | None]]:
    """A credit note that names the invoice it corrects."""
    said = _MORE_WORDS[sale.language]
    lines = [
        sale.supplier, *sale.address, "", *sale.receiver, "",
        f"{said['credit']} {sale.number}",
        f"{said['day']}: {in_figures(sale.issued, sale.language)}",
        f"{_REFERS[sale.language]} {said['title'].title()} 77-{sale.order_number}"
        f" {said['of']} {in_figures(sale.order_day, sale.language)}",
        f"{sale.goods[0]}  {sale.money(sale.net)}",
        f"{said['net']} {sale.money(sale.net)}",
        f"{said['tax']} {sale.rate} % {sale.money(sale.tax)}",
        f"{said['gross']} {sale.money(sale.gross)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth(doc_type="credit_note", due_date=None)


def _till(sale: Sale) -> tuple[str, dict[Field, str | None]]:
    """A till receipt: one total, paid by card, the tax in a line of its own."""
    said = _MORE_WORDS[sale.language]
    lines = [
        sale.supplier, *sale.address, said["slip"],
        f"{in_figures(sale.issued, sale.language)} 14:32  Bon {sale.order_number[:4]}",
        *(f"{good[:20]:<22}{sale.money(sale.gross / 2)}" for good in sale.goods),
        f"{said['sum']:<22}{sale.money(sale.gross)}",
        f"{said['tax']} {sale.rate}%  {sale.money(sale.net)}  {sale.money(sale.tax)}"
        if sale.trap != "carried_over" else "",
        said["thanks"],
    ]  # fmt: skip
    truth = sale.truth(
        doc_type="receipt", entity="-", due_date=None, invoice_number="-", direction="-"
    )
    if sale.trap == "carried_over":
        del truth[Field.AMOUNT_NET], truth[Field.AMOUNT_TAX]
    return "\n".join(lines), truth


FAMILIES: Mapping[Part, Mapping[str, Family]] = MappingProxyType(
    {
        Part.TUNING: {
            "letterhead": _letterhead,
            "columns": _columns,
            "short_till": _short_till,
            "side_block": _side_block,
            "summary_first": _summary_first,
            "narrative": _narrative,
            "credit": _credit,
            "till": _till,
            **SENDERS,
            **SHOPS,
            **SEEN_BOOKINGS,
            **TRADES,
        },
        Part.TEST: {**BOOKINGS, **RENTALS},
    }
)


def booking_papers(part: Part, *, per_cell: int = 24, seed: int = 4711) -> Iterator[LabelledPaper]:
    """`per_cell` papers for each family and language of a part, every second one nasty."""
    for family, made in FAMILIES[part].items():
        for language in LANGUAGES:
            rng = random.Random(f"{seed}.{part}.{family}.{language}")
            for number in range(per_cell):
                nasty = number % 2 == 1
                sale = draw(rng, language, rng.choice(TRAPS) if nasty else "")
                text, truth = made(sale)
                name = f"{family}-{language}-{number}"
                hint = None if Field.ENTITY in truth else sale.entity
                yield LabelledPaper(name, family, part, language, nasty, text, truth, hint)
