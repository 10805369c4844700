"""The families of the test part: layouts and words that no rule was made or changed for.

Whoever changes a rule after seeing figures of a family here moves it to the tuning part and writes
another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tgv_dagster.deepen.evaluation.deals import OF_MONTHS, Deal
from tgv_dagster.deepen.evaluation.deals import Family as ContractFamily
from tgv_dagster.deepen.evaluation.papers import OWN, in_figures, in_words
from tgv_dagster.deepen.evaluation.sales import Family, Sale
from tgv_dagster.understand.evidence import Field

Truth = dict[Field, str | None]

_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"bill": "Abrechnung", "title": "Rechnung", "no": "Rechnung-Nr.",
               "on": "ausgestellt am",
               "due": "Zahlungsziel", "sum": "Summe ohne MwSt", "tax": "Mehrwertsteuer",
               "total": "Endbetrag brutto", "to": "Rechnungsempfänger", "from": "Rechnungssteller",
               "order": "Auftrag", "of": "vom", "qty": "Menge", "what": "Bezeichnung",
               "amount": "Betrag", "ship": "Versandadresse", "receipt": "Quittung",
               "got": "Betrag dankend erhalten", "incl": "inkl.", "page": "Seite 1 von 2",
               "sub": "Zwischensumme", "corrects": "Korrektur zur Rechnung",
               "credit": "Gutschrift"},
        "fr": {"bill": "Relevé", "title": "Facture", "no": "Facture n°", "on": "émise le",
               "due": "Échéance", "sum": "Total hors taxes", "tax": "TVA",
               "total": "Total toutes taxes comprises", "to": "Facturé à", "from": "Émetteur",
               "order": "Commande", "of": "du", "qty": "Qté", "what": "Désignation",
               "amount": "Montant", "ship": "Livré à", "receipt": "Reçu",
               "got": "Montant reçu", "incl": "dont", "page": "Page 1 sur 2",
               "sub": "Sous-total", "corrects": "Annule la facture", "credit": "Avoir"},
        "en": {"bill": "Statement", "title": "Invoice", "no": "Invoice No.", "on": "issued on",
               "due": "Due date", "sum": "Total excluding VAT", "tax": "VAT",
               "total": "Total including VAT", "to": "Bill to", "from": "From",
               "order": "Order", "of": "of", "qty": "Qty", "what": "Description",
               "amount": "Amount", "ship": "Ship to", "receipt": "Receipt",
               "got": "Amount received with thanks", "incl": "including", "page": "Page 1 of 2",
               "sub": "Subtotal", "corrects": "Corrects invoice", "credit": "Credit note"},
        "it": {"bill": "Estratto", "title": "Fattura", "no": "Fattura n.", "on": "emessa il",
               "due": "Scadenza", "sum": "Totale senza IVA", "tax": "IVA",
               "total": "Totale IVA inclusa", "to": "Intestatario", "from": "Emittente",
               "order": "Ordine", "of": "del", "qty": "Q.tà", "what": "Descrizione",
               "amount": "Importo", "ship": "Luogo di consegna", "receipt": "Ricevuta",
               "got": "Importo ricevuto", "incl": "di cui", "page": "Pagina 1 di 2",
               "sub": "Subtotale", "corrects": "Storno della fattura", "credit": "Nota di credito"},
    }
)  # fmt: skip


def _misleads(sale: Sale, said: Mapping[str, str]) -> list[str]:
    day = in_figures(sale.order_day, sale.language)
    other = next(own for own in OWN if own.slug != sale.entity)
    return {
        "order_first": [f"{said['order']} {sale.order_number} {said['of']} {day}"],
        "carried_over": [f"{said['sub']} {sale.money(sale.net / 2)}", said["page"]],
        "old_invoice": [f"{said['order']} {sale.order_number} / {day}"],
        "delivery_elsewhere": [f"{said['ship']}: {other.legal_name}, {other.address}"],
    }.get(sale.trap, [])


def _two_columns(sale: Sale) -> tuple[str, Truth]:
    """Sender and receiver side by side under their labels, totals on the right."""
    said = _WORDS[sale.language]
    left = [said["from"], sale.supplier, *sale.address]
    right = [said["to"], *sale.receiver]
    lines = [
        f"{said['title']}", "",
        *(f"{a:<40}{b}" for a, b in zip(left, right, strict=False)), "",
        f"{said['no']} {sale.number}, {said['on']} {in_figures(sale.issued, sale.language)}",
        f"{said['due']}: {in_figures(sale.due, sale.language)}",
        *_misleads(sale, said), "",
        f"{said['qty']}  {said['what']:<30}{said['amount']:>16}",
        *(f"1     {good:<30}{sale.money(sale.net / 2):>16}" for good in sale.goods), "",
        f"{'':<22}{said['sum']:<24}{sale.money(sale.net):>16}",
        f"{'':<22}{said['tax'] + f' {sale.rate} %':<24}{sale.money(sale.tax):>16}",
        f"{'':<22}{said['total']:<24}{sale.money(sale.gross):>16}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _one_line_facts(sale: Sale) -> tuple[str, Truth]:
    """All facts in one line of pairs, the amounts with labels behind dots."""
    said = _WORDS[sale.language]
    lines = [
        f"{sale.supplier} | {sale.address[0]} | {sale.address[1]}", "",
        *sale.receiver, "",
        f"{said['no']} {sale.number} | {said['on']} {in_words(sale.issued, sale.language)}"
        f" | {said['due']} {in_words(sale.due, sale.language)}",
        *_misleads(sale, said), "",
        *(f"* {good} ........ {sale.money(sale.net / 2)}" for good in sale.goods),
        f"{said['sum']} ........ {sale.money(sale.net)}",
        f"{said['tax']} {sale.rate},00 % ........ {sale.money(sale.tax)}",
        f"{said['total']} ........ {sale.money(sale.gross)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _tax_table(sale: Sale) -> tuple[str, Truth]:
    """Totals as one row of a tax table, the payable amount once more below."""
    said = _WORDS[sale.language]
    lines = [
        sale.supplier.upper(), *sale.address, "",
        f"{said['to']}:", *sale.receiver, "",
        f"{said['title'].upper()} {sale.number}",
        f"{said['on']} {in_figures(sale.issued, sale.language)}",
        *_misleads(sale, said),
        *(f"{good}   {sale.money(sale.net / 2)}" for good in sale.goods), "",
        f"{said['sum']}   {said['tax']} %   {said['tax']}   {said['total']}",
        f"{sale.money(sale.net)}   {sale.rate}   {sale.money(sale.tax)}   {sale.money(sale.gross)}",
        "",
        f"{said['due']} {in_figures(sale.due, sale.language)}: {sale.money(sale.gross)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _correction(sale: Sale) -> tuple[str, Truth]:
    """A credit note whose first line names the invoice it cancels."""
    said = _WORDS[sale.language]
    day = in_words(sale.order_day, sale.language)
    lines = [
        sale.supplier, ", ".join(sale.address), "", *sale.receiver, "",
        said["credit"].upper(),
        f"{said['corrects']} {sale.order_number} {said['of']} {day}",
        f"{said['credit']} {said['no'].split()[-1]} {sale.number}"
        if sale.language != "de" else f"{said['credit']}-Nr. {sale.number}",
        f"{said['on']} {in_words(sale.issued, sale.language)}", "",
        f"{sale.goods[0]} {sale.money(sale.net)}",
        f"{said['sum']} {sale.money(sale.net)}",
        f"{said['tax']} {sale.rate}% {sale.money(sale.tax)}",
        f"{said['total']} {sale.money(sale.gross)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth(doc_type="credit_note", due_date=None)


def _hand_receipt(sale: Sale) -> tuple[str, Truth]:
    """A receipt over one amount; every second one names the tax inside."""
    said = _WORDS[sale.language]
    lines = [
        said["receipt"].upper(), "", sale.supplier, *sale.address, "",
        f"{sale.goods[0]}",
        f"{said['total']}: {sale.money(sale.gross)}",
        *([f"{said['incl']} {sale.rate} % {said['tax']}: {sale.money(sale.tax)}"]
          if sale.trap else []),
        f"{said['got']}, {in_words(sale.issued, sale.language)}",
    ]  # fmt: skip
    truth = sale.truth(
        doc_type="receipt", entity="-", due_date=None, invoice_number="-", direction="-",
        amount_net="-", amount_tax="-", provider="-",
    )  # fmt: skip
    return "\n".join(lines), truth


BOOKINGS: Mapping[str, Family] = MappingProxyType(
    {
        "one_line_facts": _one_line_facts,
        "tax_table": _tax_table,
        "correction": _correction,
        "hand_receipt": _hand_receipt,
    }
)
SEEN_BOOKINGS: Mapping[str, Family] = MappingProxyType({"two_columns": _two_columns})
"""Looked at: part of tuning."""

# --- contracts -----------------------------------------------------------------------------------

_TERMS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Abonnementvertrag", "parties": "Anbieter: {a}\nKunde: {b}",
               "start": "Vertragsbeginn", "end": "Vertragsende", "notice": "Kündigungsfrist",
               "none": "unbefristet", "signed": "Unterschrieben am", "born": "Handelsregister seit",
               "letter": "Sehr geehrte Damen und Herren,\nwir bestätigen Ihnen den Abschluss des"
               " Dienstleistungsvertrages. Er gilt ab dem {day}{until}. Sie können ihn mit einer"
               " Frist von {length} kündigen.", "until": " bis zum {day}",
               "heading": "Dienstleistungsvertrag"},
        "fr": {"title": "Contrat d'abonnement", "parties": "Fournisseur : {a}\nClient : {b}",
               "start": "Début du contrat", "end": "Fin du contrat", "notice": "Délai de préavis",
               "none": "durée indéterminée", "signed": "Signé le", "born": "Immatriculée depuis le",
               "letter": "Madame, Monsieur,\nnous confirmons la conclusion du contrat de services."
               " Il entre en vigueur le {day}{until}. Vous pouvez le résilier avec un préavis de"
               " {length}.", "until": " et expire le {day}", "heading": "Contrat de services"},
        "en": {"title": "Subscription agreement", "parties": "Provider: {a}\nCustomer: {b}",
               "start": "Contract start", "end": "Contract end", "notice": "Notice period",
               "none": "open-ended", "signed": "Signed on", "born": "Registered since",
               "letter": "Dear Sir or Madam,\nwe confirm the conclusion of the service agreement."
               " It is effective from {day}{until}. You may terminate it with a notice period of"
               " {length}.", "until": " and ends on {day}", "heading": "Service agreement"},
        "it": {"title": "Contratto di abbonamento", "parties": "Fornitore: {a}\nCliente: {b}",
               "start": "Inizio del contratto", "end": "Fine del contratto",
               "notice": "Termine di preavviso", "none": "a tempo indeterminato",
               "signed": "Firmato il", "born": "Iscritta dal",
               "letter": "Gentili Signori,\nconfermiamo la conclusione del contratto di servizi."
               " Esso entra in vigore il {day}{until}. Potete recedere con un preavviso di"
               " {length}.",
               "until": " e scade il {day}", "heading": "Contratto di servizi"},
    }
)  # fmt: skip


def _form(deal: Deal) -> tuple[str, Truth]:
    """A form of fields with the day of signing and another day among them."""
    said = _TERMS[deal.language]
    lines = [
        said["title"],
        said["parties"].format(a=deal.other, b=deal.own), "",
        *([f"{said['born']} {in_figures(deal.older, deal.language)}"]
          if deal.trap in ("founded", "older") else []),
        f"{said['start']}: {in_figures(deal.start, deal.language)}",
        f"{said['end']}: "
        + (said["none"] if deal.end is None else in_figures(deal.end, deal.language)),
        f"{said['notice']}: {OF_MONTHS[deal.language][deal.notice_months]}",
        *([f"{said['signed']} {in_figures(deal.signed, deal.language)}"]
          if deal.trap in ("signed", "reference") else []),
    ]  # fmt: skip
    return "\n".join(lines), deal.truth("contract", auto_renewal="-")


def _confirmation(deal: Deal) -> tuple[str, Truth]:
    """A contract confirmed in the form of a letter, start and end in one sentence."""
    said = _TERMS[deal.language]
    until = "" if deal.end is None else said["until"].format(day=in_words(deal.end, deal.language))
    lines = [
        said["heading"],
        f"{deal.other}, {deal.other_address}", "",
        deal.own, "",
        *([f"{said['signed']} {in_words(deal.signed, deal.language)}"] if deal.trap else []),
        said["letter"].format(
            day=in_words(deal.start, deal.language),
            until=until,
            length=OF_MONTHS[deal.language][deal.notice_months],
        ),
    ]  # fmt: skip
    return "\n".join(lines), deal.truth("contract", auto_renewal="-")


CONTRACTS: Mapping[str, ContractFamily] = MappingProxyType({"confirmation": _confirmation})
SEEN_CONTRACTS: Mapping[str, ContractFamily] = MappingProxyType({"form": _form})
"""Looked at: part of tuning."""
