"""Families of the tuning part from web shops, utilities and fee notes, and contract summaries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tgv_dagster.deepen.evaluation.deals import OF_MONTHS, Deal
from tgv_dagster.deepen.evaluation.deals import Family as ContractFamily
from tgv_dagster.deepen.evaluation.papers import in_figures, in_words
from tgv_dagster.deepen.evaluation.sales import Family, Sale
from tgv_dagster.understand.evidence import Field

Truth = dict[Field, str | None]

_SAID: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"invoice": "Rechnung", "no": "Rechnungsnummer", "day": "Ausgestellt am",
               "due": "Fällig am", "to": "Rechnungsempfänger", "sub": "Zwischensumme",
               "tax": "USt.", "total": "Gesamt", "owed": "Fälliger Betrag", "ref": "Bestellnummer",
               "account": "Vertragskonto", "bill": "Ihre Verbrauchsrechnung",
               "gross": "Rechnungsbetrag", "net": "Nettobetrag", "billday": "Rechnungsdatum",
               "payby": "Wir buchen den Betrag am {day} von Ihrem Konto ab.",
               "foot": "Sitz der Gesellschaft: {town} · Amtsgericht {town} HRB 20417 ·"
                       " Geschäftsführung: Petra Vogt",
               "fee": "Honorarrechnung", "feeno": "Rechnung Nr.", "client": "Mandant",
               "dated": "{town}, den {day}", "paid": "Zahlbar bis zum {day}.",
               "before": "Vorherige Rechnung 11-204 vom {day}"},
        "fr": {"invoice": "Facture", "no": "Numéro de facture", "day": "Date d'émission",
               "due": "Date d'échéance", "to": "Facturé à", "sub": "Sous-total HT", "tax": "TVA",
               "total": "Total TTC", "owed": "Montant dû", "ref": "Numéro de commande",
               "account": "Compte client", "bill": "Votre facture d'énergie",
               "gross": "Total TTC", "net": "Total HT", "billday": "Date de facture",
               "payby": "Cette somme sera prélevée le {day} sur votre compte.",
               "foot": "Siège social : {town} - RCS {town} 512 034 871 - capital de 40 000 €",
               "fee": "Note d'honoraires", "feeno": "Facture n°", "client": "Client",
               "dated": "{town}, le {day}", "paid": "À régler au plus tard le {day}.",
               "before": "Facture précédente 11-204 du {day}"},
        "en": {"invoice": "Invoice", "no": "Invoice number", "day": "Date of issue",
               "due": "Date due", "to": "Bill to", "sub": "Subtotal", "tax": "VAT",
               "total": "Total", "owed": "Amount due", "ref": "Order number",
               "account": "Account number", "bill": "Your energy bill",
               "gross": "Total amount", "net": "Net amount", "billday": "Bill date",
               "payby": "We will collect this amount from your account on {day}.",
               "foot": "Registered in England No. 04471182. Registered office: {town}",
               "fee": "Fee note", "feeno": "Invoice no.", "client": "Client",
               "dated": "{town}, {day}", "paid": "Payable by {day}.",
               "before": "Previous invoice 11-204 of {day}"},
        "it": {"invoice": "Fattura", "no": "Numero fattura", "day": "Data di emissione",
               "due": "Data di scadenza", "to": "Fatturare a", "sub": "Imponibile", "tax": "IVA",
               "total": "Totale", "owed": "Importo dovuto", "ref": "Numero ordine",
               "account": "Codice cliente", "bill": "La Sua bolletta",
               "gross": "Totale fattura", "net": "Imponibile", "billday": "Data fattura",
               "payby": "L'importo sarà addebitato il {day} sul Suo conto.",
               "foot": "Sede legale: {town} - Registro imprese {town} - REA 118204 - capitale"
                       " sociale 50.000 euro",
               "fee": "Nota onorari", "feeno": "Fattura n.", "client": "Cliente",
               "dated": "{town}, {day}", "paid": "Da pagare entro il {day}.",
               "before": "Fattura precedente 11-204 del {day}"},
    }
)  # fmt: skip


def _day(sale: Sale, *, due: bool = False) -> str:
    return in_words(sale.due if due else sale.issued, sale.language)


def _storefront(sale: Sale) -> tuple[str, Truth]:
    """A web invoice: supplier left without a label, receiver right under one."""
    said = _SAID[sale.language]
    left = [sale.supplier, *sale.address]
    right = [said["to"], *sale.receiver]
    rows = [f"{one:<40}{other}" for one, other in zip([*left, ""], right, strict=True)]
    lines = [
        said["invoice"],
        f"{said['no']:<22}{sale.number}", f"{said['day']:<22}{_day(sale)}",
        f"{said['due']:<22}{_day(sale, due=True)}",
        *([f"{said['ref']:<22}{sale.order_number}"] if sale.trap == "order_first" else []),
        "", *rows, "",
        *([said["before"].format(day=in_words(sale.order_day, sale.language))]
          if sale.trap == "old_invoice" else []),
        *(f"{good:<40}1{sale.money(sale.net / 2):>20}" for good in sale.goods), "",
        f"{said['sub']:<40}{sale.money(sale.net):>21}",
        f"{said['tax']} ({sale.rate} %){'':<30}{sale.money(sale.tax):>18}",
        f"{said['total']:<40}{sale.money(sale.gross):>21}",
        f"{said['owed']:<40}{sale.money(sale.gross):>21}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _household(sale: Sale) -> tuple[str, Truth]:
    """A utility bill: the name alone on top, the receiver in the window, the firm in the foot."""
    said = _SAID[sale.language]
    town = sale.address[1].split()[-1] if sale.language != "en" else "Leeds"
    site = sale.supplier.split()[0].lower()
    lines = [
        f"{'':<50}{sale.supplier}", f"{'':<50}www.{site}-service.example",
        "", *sale.receiver, "", "",
        f"{said['account']} 7731{sale.order_number[:4]}", said["bill"], "",
        f"{said['no']}: {sale.number}", f"{said['billday']}: {_day(sale)}", "",
        *([said["before"].format(day=in_words(sale.order_day, sale.language))]
          if sale.trap in ("old_invoice", "order_first") else []),
        *(f"{good}  {sale.money(sale.net / 2)}" for good in sale.goods),
        f"{said['net']}  {sale.money(sale.net)}",
        f"{said['tax']} {sale.rate} %  {sale.money(sale.tax)}",
        f"{said['gross']}  {sale.money(sale.gross)}", "",
        said["payby"].format(day=_day(sale, due=True)), "",
        f"{sale.supplier} · {sale.address[0]} · {sale.address[1]}",
        said["foot"].format(town=town),
    ]  # fmt: skip
    return "\n".join(lines), sale.truth(due_date="-")


def _fee_note(sale: Sale) -> tuple[str, Truth]:
    """An adviser's fee note: receiver on top left, sender's block on the right, no sender label."""
    said = _SAID[sale.language]
    town = sale.address[1].split()[-1] if sale.language != "en" else "Leeds"
    right = [sale.supplier, *sale.address, "Tel. +49 30 5550177"]
    rows = [f"{one:<48}{other}" for one, other in zip([*sale.receiver, ""], right, strict=True)]
    lines = [
        *rows, "", said["dated"].format(town=town, day=_day(sale)), "",
        said["fee"], f"{said['feeno']} {sale.number}", "",
        *([said["before"].format(day=in_words(sale.order_day, sale.language))]
          if sale.trap == "old_invoice" else []),
        *(f"{good}{sale.money(sale.net / 2):>40}" for good in sale.goods),
        f"{said['net']}{sale.money(sale.net):>40}",
        f"{said['tax']} {sale.rate} %{sale.money(sale.tax):>38}",
        f"{said['gross']}{sale.money(sale.gross):>40}", "",
        said["paid"].format(day=_day(sale, due=True)),
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


_SUMMARY: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Vertragszusammenfassung", "kind": "Vertrag über Bürodienste",
               "ours": "Kunde", "theirs": "Anbieter", "start": "Vertragsbeginn",
               "last": "Vertragsende", "open": "unbefristet", "notice": "Kündigungsfrist",
               "ends": "{length} zum Vertragsende", "any": "{length}",
               "signed": "Unterzeichnet am {day}"},
        "fr": {"title": "Résumé du contrat", "kind": "Contrat de services de bureau",
               "ours": "Client", "theirs": "Prestataire", "start": "Date de début du contrat",
               "last": "Date de fin", "open": "indéterminée", "notice": "Préavis",
               "ends": "{length} avant la fin du contrat", "any": "{length}",
               "signed": "Signé le {day}"},
        "en": {"title": "Contract summary", "kind": "Office services agreement",
               "ours": "Customer", "theirs": "Provider", "start": "Start date",
               "last": "End date", "open": "open-ended", "notice": "Notice period",
               "ends": "{length} before the end of the term", "any": "{length}",
               "signed": "Signed on {day}"},
        "it": {"title": "Sintesi contrattuale", "kind": "Contratto di servizi per ufficio",
               "ours": "Cliente", "theirs": "Fornitore", "start": "Data di inizio",
               "last": "Data di fine", "open": "indeterminata", "notice": "Preavviso",
               "ends": "{length} prima della scadenza", "any": "{length}",
               "signed": "Firmato il {day}"},
    }
)  # fmt: skip


def _summary(deal: Deal) -> tuple[str, Truth]:
    """A contract summary in two columns: field and value."""
    said = _SUMMARY[deal.language]
    length = OF_MONTHS[deal.language][deal.notice_months]
    notice = said["any" if deal.end is None else "ends"].format(length=length)
    last = said["open"] if deal.end is None else in_figures(deal.end, deal.language)
    rows = (
        (said["theirs"], f"{deal.other}, {deal.other_address}"),
        (said["ours"], deal.own),
        (said["start"], in_figures(deal.start, deal.language)),
        (said["last"], last),
        (said["notice"], notice),
    )
    lines = [
        said["title"], said["kind"], "", *(f"{name:<30}{value}" for name, value in rows), "",
        *([said["signed"].format(day=in_words(deal.signed, deal.language))]
          if deal.trap == "signed" else []),
    ]  # fmt: skip
    return "\n".join(lines), deal.truth("contract", auto_renewal="-")


SHOPS: Mapping[str, Family] = MappingProxyType(
    {"storefront": _storefront, "household": _household, "fee_note": _fee_note}
)
SUMMARIES: Mapping[str, ContractFamily] = MappingProxyType({"summary": _summary})
