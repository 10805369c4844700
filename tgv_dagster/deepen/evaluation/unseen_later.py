"""Families of the test part written last, after every rule: a rental bill and a letter contract.

Whoever changes a rule after seeing figures of a family here moves it to the tuning part and writes
another one.
"""

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
        "de": {"title": "Mietrechnung", "no": "Rechnung Nr.", "day": "Ausstellungsdatum",
               "car": "Mietvertrag Nr. {ref} vom {day}", "who": "Rechnungsanschrift",
               "net": "Zwischensumme", "tax": "Mehrwertsteuer {rate} %",
               "gross": "Gesamtbetrag EUR",
               "pay": "Fälligkeitsdatum", "us": "Vermieter"},
        "fr": {"title": "Facture de location", "no": "Facture n°", "day": "Date d'émission",
               "car": "Contrat de location n° {ref} du {day}", "who": "Adresse de facturation",
               "net": "Sous-total HT", "tax": "TVA {rate} %", "gross": "Montant total TTC",
               "pay": "Date d'échéance", "us": "Loueur"},
        "en": {"title": "Rental invoice", "no": "Invoice no.", "day": "Date of issue",
               "car": "Rental agreement no. {ref} of {day}", "who": "Billing address",
               "net": "Subtotal", "tax": "VAT {rate} %", "gross": "Total amount",
               "pay": "Due date", "us": "Lessor"},
        "it": {"title": "Fattura di noleggio", "no": "Fattura n.", "day": "Data di emissione",
               "car": "Contratto di noleggio n. {ref} del {day}",
               "who": "Indirizzo di fatturazione",
               "net": "Imponibile", "tax": "IVA {rate} %", "gross": "Totale fattura",
               "pay": "Data di scadenza", "us": "Locatore"},
    }
)  # fmt: skip


def _rental_bill(sale: Sale) -> tuple[str, Truth]:
    """A car rental: facts on the left, the receiver on the right, the firm in one line below."""
    said = _SAID[sale.language]
    facts = [
        f"{said['no']} {sale.number}",
        f"{said['day']} {in_words(sale.issued, sale.language)}",
        f"{said['pay']} {in_words(sale.due, sale.language)}",
        said["car"].format(
            ref=sale.order_number, day=in_figures(sale.order_day, sale.language)
        ),
    ]  # fmt: skip
    right = [said["who"], *sale.receiver]
    rows = [f"{one:<56}{other}" for one, other in zip(facts, right, strict=True)]
    lines = [
        said["title"], "", *rows, "",
        *(f"{good:<50}{sale.money(sale.net / 2):>18}" for good in sale.goods),
        f"{said['net']:<50}{sale.money(sale.net):>18}",
        f"{said['tax'].format(rate=sale.rate):<50}{sale.money(sale.tax):>18}",
        f"{said['gross']:<50}{sale.money(sale.gross):>18}", "",
        f"{said['us']}: {sale.supplier}, {sale.address[0]}, {sale.address[1]}",
    ]  # fmt: skip
    return "\n".join(lines), sale.truth()


_LETTER: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "de": {"title": "Beratungsvertrag", "opening": "{b}, nachstehend „Kunde“, beauftragt {a},"
               " {at}, mit laufender Beratung.", "start": "Die Beratung beginnt am {day}",
               "end": " und endet am {day}.", "open": " und läuft auf unbestimmte Zeit.",
               "notice": "Kündigung: schriftlich, mit einer Frist von {length} zum Quartalsende.",
               "age": "Das Angebot vom {day} ist Bestandteil."},
        "fr": {"title": "Contrat de conseil",
               "opening": "{b}, ci-après « le client », confie à {a},"
               " {at}, une mission de conseil.", "start": "La mission commence le {day}",
               "end": " et prend fin le {day}.", "open": " pour une durée indéterminée.",
               "notice": "Résiliation : par écrit, avec un préavis de {length} avant la fin du"
               " trimestre.", "age": "L'offre du {day} en fait partie."},
        "en": {"title": "Consultancy agreement",
               "opening": "{b} (the \"Client\") engages {a}, {at},"
               " as its consultant.", "start": "The engagement begins on {day}",
               "end": " and ends on {day}.", "open": " and continues until terminated.",
               "notice": "Termination: in writing, on {length} notice to the end of a quarter.",
               "age": "The proposal of {day} forms part of it."},
        "it": {"title": "Contratto di consulenza", "opening": "{b}, di seguito «il cliente», affida"
               " a {a}, {at}, un incarico di consulenza.", "start": "L'incarico ha inizio il {day}",
               "end": " e termina il {day}.", "open": " ed è a tempo indeterminato.",
               "notice": "Recesso: per iscritto, con un preavviso di {length} prima della fine del"
               " trimestre.", "age": "L'offerta del {day} ne fa parte."},
    }
)  # fmt: skip


def _consultancy(deal: Deal) -> tuple[str, Truth]:
    """A short consultancy contract in sentences."""
    said = _LETTER[deal.language]
    until = (
        said["open"]
        if deal.end is None
        else said["end"].format(day=in_words(deal.end, deal.language))
    )
    lines = [
        said["title"],
        said["opening"].format(a=deal.other, at=deal.other_address, b=deal.own),
        *([said["age"].format(day=in_words(deal.older, deal.language))]
          if deal.trap in ("older", "signed", "founded") else []),
        said["start"].format(day=in_words(deal.start, deal.language)) + until,
        said["notice"].format(length=OF_MONTHS[deal.language][deal.notice_months]),
    ]  # fmt: skip
    return "\n\n".join(lines), deal.truth("contract", auto_renewal="-")


RENTALS: Mapping[str, Family] = MappingProxyType({"rental_bill": _rental_bill})
CONSULTANCIES: Mapping[str, ContractFamily] = MappingProxyType({"consultancy": _consultancy})
