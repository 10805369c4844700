"""Families of the tuning part about who sends a paper: heads, windows, feet and sole traders."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tgv_dagster.deepen.evaluation.papers import in_figures, in_words
from tgv_dagster.deepen.evaluation.sales import Family, Sale
from tgv_dagster.understand.evidence import Field

Truth = dict[Field, str | None]

_SAID: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Rechnung", "no": "Rechnungs-Nr.", "day": "Rechnungsdatum",
               "due": "Zahlungsziel", "net": "Summe netto", "tax": "MwSt.", "gross": "Endbetrag",
               "from": "Von", "to": "An", "by": "Rechnung von {name}",
               "trader": "Jonas Ehlers", "craft": "Malermeister", "owner": "Inhaber: Jonas Ehlers",
               "court": "Amtsgericht Leipzig HRB 31877", "head": "Geschäftsführerin: Ute Brandt",
               "bank": "Sparkasse Leipzig", "iban": "IBAN DE02 1203 0000 0000 2020 51",
               "greet": "Mit freundlichen Grüßen", "slip": "Quittung",
               "got": "Dankend erhalten von",
               "sum": "Betrag", "for": "für", "town": "Leipzig, den {day}"},
        "fr": {"title": "Facture", "no": "Facture n°", "day": "Date de facture",
               "due": "Échéance", "net": "Total HT", "tax": "TVA", "gross": "Total TTC",
               "from": "Émetteur", "to": "Destinataire", "by": "Facture émise par {name}",
               "trader": "Luc Ferrand", "craft": "Artisan peintre",
               "owner": "Luc Ferrand, entrepreneur individuel",
               "court": "RCS Lyon 732 829 320", "head": "Gérante : Anne Colas",
               "bank": "Crédit Agricole", "iban": "IBAN FR14 2004 1010 0505 0001 3M02 606",
               "greet": "Salutations distinguées", "slip": "Reçu", "got": "Reçu de",
               "sum": "La somme de", "for": "pour", "town": "Lyon, le {day}"},
        "en": {"title": "Invoice", "no": "Invoice no.", "day": "Invoice date",
               "due": "Payment due", "net": "Net total", "tax": "VAT", "gross": "Invoice total",
               "from": "From", "to": "To", "by": "Invoice from {name}",
               "trader": "Martin Ashdown", "craft": "Painter and decorator",
               "owner": "Martin Ashdown trading as sole trader",
               "court": "Registered in England No. 04471182", "head": "Directors: Ann Cole",
               "bank": "Barclays Bank", "iban": "IBAN GB29 NWBK 6016 1331 9268 19",
               "greet": "Yours sincerely", "slip": "Receipt", "got": "Received with thanks from",
               "sum": "The sum of", "for": "for", "town": "Leeds, {day}"},
        "it": {"title": "Fattura", "no": "Fattura n.", "day": "Data fattura",
               "due": "Scadenza", "net": "Imponibile", "tax": "IVA", "gross": "Totale fattura",
               "from": "Mittente", "to": "Destinatario", "by": "Fattura emessa da {name}",
               "trader": "Paolo Bassi", "craft": "Imbianchino",
               "owner": "Paolo Bassi, ditta individuale",
               "court": "Registro imprese Milano - REA MI-204411",
               "head": "Amministratore: L. Riva",
               "bank": "Banca Intesa", "iban": "IBAN IT60 X054 2811 1010 0000 0123 456",
               "greet": "Distinti saluti", "slip": "Ricevuta", "got": "Ricevuto da",
               "sum": "La somma di", "for": "per", "town": "Milano, {day}"},
    }
)  # fmt: skip


def _facts(sale: Sale) -> list[str]:
    said = _SAID[sale.language]
    return [
        f"{said['no']} {sale.number}",
        f"{said['day']}: {in_figures(sale.issued, sale.language)}",
        f"{said['due']}: {in_figures(sale.due, sale.language)}",
    ]


def _sums(sale: Sale) -> list[str]:
    said = _SAID[sale.language]
    return [
        *(f"{good}  {sale.money(sale.net / 2)}" for good in sale.goods), "",
        f"{said['net']}  {sale.money(sale.net)}",
        f"{said['tax']} {sale.rate} %  {sale.money(sale.tax)}",
        f"{said['gross']}  {sale.money(sale.gross)}",
    ]  # fmt: skip


def _from_to(sale: Sale) -> tuple[str, Truth]:
    """Two labelled columns whose gaps were closed to two blanks, as a text layer gives them."""
    said = _SAID[sale.language]
    left = [said["from"], sale.supplier, *sale.address]
    right = [said["to"], *sale.receiver]
    if sale.trap in ("order_first", "carried_over"):
        left, right = right, left
    rows = [f"{one}  {other}" for one, other in zip(left, right, strict=True)]
    return "\n".join([said["title"], *_facts(sale), "", *rows, "", *_sums(sale)]), sale.truth()


def _window(sale: Sale) -> tuple[str, Truth]:
    """No head; a sender line in the window, and the firm's data in a foot of three columns."""
    said = _SAID[sale.language]
    foot = [
        f"{sale.supplier}  {said['bank']}  {said['court']}",
        f"{sale.address[0]}  {said['iban']}  {said['head']}",
        sale.address[1],
    ]
    lines = [
        f"{sale.supplier}, {sale.address[0]}, {sale.address[1]}", "", *sale.receiver, "",
        said["title"], *_facts(sale), "", *_sums(sale), "", *foot,
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _foot_only(sale: Sale) -> tuple[str, Truth]:
    """The head is a picture: the supplier stands in the foot alone."""
    said = _SAID[sale.language]
    foot = [
        f"{sale.supplier}  {said['bank']}  {said['court']}",
        f"{sale.address[0]}  {said['iban']}  {said['head']}",
        sale.address[1],
    ]
    lines = [*sale.receiver, "", said["title"], *_facts(sale), "", *_sums(sale), "", *foot]
    return "\n".join(lines), sale.truth()


def _told_by(sale: Sale) -> tuple[str, Truth]:
    """The title names who sends it."""
    said = _SAID[sale.language]
    lines = [
        said["by"].format(name=sale.supplier), "", f"{said['to']}: {sale.receiver[0]}",
        *sale.receiver[1:], "", *_facts(sale), "", *_sums(sale),
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _sole_trader(sale: Sale) -> tuple[str, Truth]:
    """A craftsman without legal form: name and trade on top, owner in the foot, a signature."""
    said = _SAID[sale.language]
    lines = [
        said["trader"], said["craft"], *sale.address, "", *sale.receiver, "",
        said["title"], *_facts(sale), "", *_sums(sale), "", said["greet"], said["trader"], "",
        f"{said['owner']} - {said['iban']}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth(provider=said["trader"])


def _given_slip(sale: Sale) -> tuple[str, Truth]:
    """A receipt filled in by hand: received from, the sum, for what, town and day."""
    said = _SAID[sale.language]
    lines = [
        f"{said['slip']} {sale.order_number[-3:]}", sale.supplier, *sale.address, "",
        f"{said['got']} {sale.receiver[0]}",
        f"{said['sum']} {sale.money(sale.gross)}",
        f"{said['for']} {sale.goods[0]}",
        said["town"].format(day=in_words(sale.issued, sale.language)),
    ]  # fmt: skip
    truth = sale.truth(
        doc_type="receipt", entity="-", due_date=None, invoice_number="-", direction="-",
        amount_net="-", amount_tax="-", provider="-",
    )  # fmt: skip
    return "\n".join(lines), truth


SENDERS: Mapping[str, Family] = MappingProxyType(
    {
        "from_to": _from_to,
        "window": _window,
        "foot_only": _foot_only,
        "told_by": _told_by,
        "sole_trader": _sole_trader,
        "given_slip": _given_slip,
    }
)
