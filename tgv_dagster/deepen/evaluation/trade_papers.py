"""Families of the tuning part: trade bills, hotel bills, two tax rates, framework agreements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType

from tgv_dagster.deepen.evaluation.deals import OF_MONTHS, Deal
from tgv_dagster.deepen.evaluation.deals import Family as ContractFamily
from tgv_dagster.deepen.evaluation.papers import in_figures, in_words
from tgv_dagster.deepen.evaluation.sales import Family, Sale
from tgv_dagster.understand.evidence import Field

Truth = dict[Field, str | None]

_SAID: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"tel": "Tel. 0341 5550188", "mail": "buchhaltung@{site}.example",
               "marks": "Ihr Zeichen: EK/{ref}    Unser Zeichen: mw    Kunden-Nr.: 40077",
               "title": "RECHNUNG Nr. {no}", "date": "Datum: {day}",
               "cols": "Pos  Bezeichnung  Menge  Einzelpreis  Gesamtpreis",
               "net": "Warenwert netto", "tax": "zzgl. {rate} % MwSt.", "gross": "Rechnungsbetrag",
               "skonto": "Bei Zahlung bis {early} gewähren wir 2 % Skonto.",
               "terms": "Zahlbar ohne Abzug bis {due}.",
               "offer": "gemäß unserem Angebot {ref} vom {day}",
               "stay": "Hotelrechnung", "guest": "Gast: M. Sander", "arrive": "Anreise {day}",
               "leave": "Abreise {day}", "night": "Übernachtung", "food": "Frühstück",
               "rates": "Steuersatz  Netto  Steuer  Brutto", "all": "Gesamtsumme",
               "vat": "darin enthaltene MwSt.", "of_net": "Summe netto"},
        "fr": {"tel": "Tél. 04 78 55 01 88", "mail": "compta@{site}.example",
               "marks": "Vos réf. : EK/{ref}    Nos réf. : mw    Code client : 40077",
               "title": "FACTURE N° {no}", "date": "Date : {day}",
               "cols": "Pos  Désignation  Qté  Prix unitaire  Montant",
               "net": "Total HT", "tax": "TVA {rate} %", "gross": "Total TTC",
               "skonto": "Escompte de 2 % pour paiement avant le {early}.",
               "terms": "Payable sans escompte avant le {due}.",
               "offer": "selon notre devis {ref} du {day}",
               "stay": "Facture d'hôtel", "guest": "Client : M. Sander", "arrive": "Arrivée {day}",
               "leave": "Départ {day}", "night": "Nuitée", "food": "Petit déjeuner",
               "rates": "Taux  HT  TVA  TTC", "all": "Total TTC", "vat": "dont TVA",
               "of_net": "Total HT"},
        "en": {"tel": "Tel. 0113 555 0188", "mail": "accounts@{site}.example",
               "marks": "Your ref: EK/{ref}    Our ref: mw    Customer no: 40077",
               "title": "INVOICE No. {no}", "date": "Date: {day}",
               "cols": "Pos  Description  Qty  Unit price  Amount",
               "net": "Goods total", "tax": "VAT {rate} %", "gross": "Invoice total",
               "skonto": "2 % discount for payment by {early}.",
               "terms": "Payable in full by {due}.",
               "offer": "as per our quotation {ref} of {day}",
               "stay": "Hotel invoice", "guest": "Guest: M. Sander", "arrive": "Arrival {day}",
               "leave": "Departure {day}", "night": "Overnight stay", "food": "Breakfast",
               "rates": "Rate  Net  VAT  Gross", "all": "Total amount", "vat": "of which VAT",
               "of_net": "Net amount"},
        "it": {"tel": "Tel. 02 5550188", "mail": "contabilita@{site}.example",
               "marks": "Vs. rif.: EK/{ref}    Ns. rif.: mw    Codice cliente: 40077",
               "title": "FATTURA N. {no}", "date": "Data: {day}",
               "cols": "Pos  Descrizione  Q.tà  Prezzo unitario  Importo",
               "net": "Totale imponibile", "tax": "IVA {rate} %", "gross": "Totale fattura",
               "skonto": "Sconto del 2 % per pagamento entro il {early}.",
               "terms": "Da pagare senza sconto entro il {due}.",
               "offer": "come da nostra offerta {ref} del {day}",
               "stay": "Fattura albergo", "guest": "Ospite: M. Sander", "arrive": "Arrivo {day}",
               "leave": "Partenza {day}", "night": "Pernottamento", "food": "Colazione",
               "rates": "Aliquota  Imponibile  IVA  Totale", "all": "Totale documento",
               "vat": "di cui IVA", "of_net": "Totale imponibile"},
    }
)  # fmt: skip


def _site(sale: Sale) -> str:
    return sale.supplier.split()[0].lower()


def _trade_bill(sale: Sale) -> tuple[str, Truth]:
    """Letterhead with contacts, reference line, table with five columns, discount and terms."""
    said = _SAID[sale.language]
    early = in_figures(sale.issued + timedelta(days=8), sale.language)
    half = sale.money(sale.net / 2)
    lines = [
        sale.supplier, *sale.address, said["tel"], said["mail"].format(site=_site(sale)), "",
        *sale.receiver, "", said["marks"].format(ref=sale.order_number[:4]), "",
        said["title"].format(no=sale.number),
        said["date"].format(day=in_figures(sale.issued, sale.language)),
        *([said["offer"].format(ref=sale.order_number,
                                day=in_figures(sale.order_day, sale.language))]
          if sale.trap in ("order_first", "old_invoice", "carried_over") else []), "",
        said["cols"],
        *(f"{n}  {good}  1  {half}  {half}" for n, good in enumerate(sale.goods, 1)), "",
        f"{said['net']}  {sale.money(sale.net)}",
        f"{said['tax'].format(rate=sale.rate)}  {sale.money(sale.tax)}",
        f"{said['gross']}  {sale.money(sale.gross)}", "",
        said["skonto"].format(early=early),
        said["terms"].format(due=in_figures(sale.due, sale.language)),
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


def _hotel(sale: Sale) -> tuple[str, Truth]:
    """A hotel bill to the firm: arrival and departure, the tax within the total."""
    said = _SAID[sale.language]
    arrived = sale.issued - timedelta(days=2)
    lines = [
        sale.supplier, f"{sale.address[0]} - {sale.address[1]} - {said['tel']}", "",
        *sale.receiver, "", f"{said['stay']} {sale.number}", said["guest"],
        said["arrive"].format(day=in_figures(arrived, sale.language)),
        said["leave"].format(day=in_figures(sale.issued, sale.language)),
        said["date"].format(day=in_figures(sale.issued, sale.language)), "",
        f"{said['night']}  {sale.money(sale.gross / 2)}",
        f"{said['food']}  {sale.money(sale.gross / 2)}", "",
        f"{said['all']}  {sale.money(sale.gross)}",
        f"{said['of_net']}  {sale.money(sale.net)}",
        f"{said['vat']} {sale.rate} %  {sale.money(sale.tax)}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth(due_date=None)


def _two_rates(sale: Sale) -> tuple[str, Truth]:
    """Two tax rates in a table of sums; the contacts stand right of the receiver."""
    said = _SAID[sale.language]
    second = replace(sale, rate=sale.rate // 2 or 1)
    tax = sale.tax + second.tax
    gross = sale.gross + second.gross
    side = [sale.supplier, sale.address[1], said["tel"]]
    rows = [f"{one}  {other}" for one, other in zip(sale.receiver, side, strict=True)]
    lines = [
        *rows, "", said["title"].format(no=sale.number),
        said["date"].format(day=in_words(sale.issued, sale.language)), "",
        *(f"{good}  {sale.money(sale.net)}" for good in sale.goods), "",
        said["rates"],
        f"{sale.rate} %  {sale.money(sale.net)}  {sale.money(sale.tax)}  {sale.money(sale.gross)}",
        f"{second.rate} %  {sale.money(sale.net)}  {sale.money(second.tax)}"
        f"  {sale.money(second.gross)}",
        f"{said['all']}  {sale.money(gross)}", "",
        said["terms"].format(due=in_words(sale.due, sale.language)), "",
        f"{sale.supplier} | {sale.address[0]} | {sale.address[1]}",
    ]  # fmt: skip
    truth = sale.truth(
        amount_net=str(sale.net * 2), amount_tax=str(Decimal(tax)), amount_gross=str(gross)
    )
    return "\n".join(lines), truth


_FRAME: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Rahmenvertrag über Reinigungsleistungen",
               "parties": "{a}\n{at}\n- im Folgenden „Dienstleister“ -\n\nund\n\n{b}\n- im"
               " Folgenden „Auftraggeber“ -", "pre": "Präambel\nDie Parteien arbeiten seit dem"
               " {day} zusammen.",
               "start": "§ 5 Inkrafttreten und Dauer\n(1) Dieser Vertrag tritt am {day} in Kraft",
               "end": " und ist bis zum {day} befristet.", "open": " und ist unbefristet.",
               "notice": "(2) Er kann mit einer Frist von {length} zum Monatsende gekündigt"
               " werden."},
        "fr": {"title": "Contrat-cadre de nettoyage",
               "parties": "{a}\n{at}\nci-après « le prestataire »\n\net\n\n{b}\nci-après « le"
               " client »", "pre": "Préambule\nLes parties travaillent ensemble depuis le {day}.",
               "start": "Article 5 Durée\n5.1 Le présent contrat entre en vigueur le {day}",
               "end": " et expire le {day}.", "open": " pour une durée indéterminée.",
               "notice": "5.2 Il peut être résilié moyennant un préavis de {length} avant la fin"
               " d'un mois."},
        "en": {"title": "Framework agreement for cleaning services",
               "parties": "{a}\n{at}\n(the \"Provider\")\n\nand\n\n{b}\n(the \"Customer\")",
               "pre": "Recitals\nThe parties have worked together since {day}.",
               "start": "5. Term\n5.1 This Agreement comes into force on {day}",
               "end": " and expires on {day}.", "open": " and has no fixed term.",
               "notice": "5.2 It may be terminated on {length} notice to the end of a month."},
        "it": {"title": "Contratto quadro di pulizia",
               "parties": "{a}\n{at}\ndi seguito «il fornitore»\n\ne\n\n{b}\ndi seguito «il"
               " cliente»", "pre": "Premessa\nLe parti collaborano dal {day}.",
               "start": "Art. 5 Durata\n5.1 Il presente contratto entra in vigore il {day}",
               "end": " e scade il {day}.", "open": " ed è a tempo indeterminato.",
               "notice": "5.2 Esso può essere disdetto con un preavviso di {length} prima della"
               " fine del mese."},
    }
)  # fmt: skip


def _framework(deal: Deal) -> tuple[str, Truth]:
    """A framework agreement: parties one below the other, a recital with an older day."""
    said = _FRAME[deal.language]
    day = in_words(deal.start, deal.language)
    until = (
        said["open"]
        if deal.end is None
        else said["end"].format(day=in_words(deal.end, deal.language))
    )
    lines = [
        said["title"],
        said["parties"].format(a=deal.other, at=deal.other_address, b=deal.own),
        *([said["pre"].format(day=in_words(deal.older, deal.language))]
          if deal.trap in ("older", "founded", "signed") else []),
        said["start"].format(day=day) + until,
        said["notice"].format(length=OF_MONTHS[deal.language][deal.notice_months]),
    ]  # fmt: skip
    return "\n\n".join(lines), deal.truth("contract", auto_renewal="-")


TRADES: Mapping[str, Family] = MappingProxyType(
    {"trade_bill": _trade_bill, "hotel": _hotel, "two_rates": _two_rates}
)
FRAMES: Mapping[str, ContractFamily] = MappingProxyType({"framework": _framework})
