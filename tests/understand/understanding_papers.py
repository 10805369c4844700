"""Builders of small papers and of an organisation for the tests of understanding."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from tgv_dagster.store.levels import Level
from tgv_dagster.understand.vocabulary import EntityEntry, ProjectEntry, Vocabulary

ALPHA = EntityEntry(
    slug="alpha",
    mandant_id=1,
    mandant_slug="one",
    kind="company",
    legal_name="Alpha Werkstatt GmbH",
    aliases=("Alpha Werkstatt",),
    vat_ids=("DE136695976",),
    ibans=("DE02120300000000202051",),
    register_no="Amtsgericht Köln HRB 12345",
    address="Hafenweg 3, 50667, Köln",
    email_domains=("alpha.example",),
    default_level=Level.INTERNAL,
)
BETA = EntityEntry(
    slug="beta",
    mandant_id=1,
    mandant_slug="one",
    kind="company",
    legal_name="Beta Atelier SARL",
    aliases=("Beta Atelier",),
    vat_ids=("FR60421938861",),
    ibans=("FR1420041010050500013M02606",),
    address="9 rue du Port, 69001, Lyon",
    default_level=Level.INTERNAL,
)
GAMMA = EntityEntry(
    slug="gamma",
    mandant_id=2,
    mandant_slug="two",
    kind="household",
    legal_name="Greta und Karl Gamma",
    aliases=("Familie Gamma", "Greta Gamma"),
    address="Am Deich 1, 21129, Hamburg",
    default_level=Level.CONFIDENTIAL,
)
PROJECTS = (
    ProjectEntry("P-2026-01", "alpha", "Neubau Schule", ("Schulneubau Nord",)),
    ProjectEntry("P-2026-02", "beta", "Boutique Rouge"),
)
VOCABULARY = Vocabulary((ALPHA, BETA, GAMMA), PROJECTS)


def german(value: Decimal) -> str:
    """1234.5 as 1.234,50."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


@dataclass(frozen=True, slots=True)
class Invoice:
    """A German invoice on paper; every part can be replaced by a test."""

    supplier: str = "Holzhandel Brink GmbH"
    supplier_address: tuple[str, str] = ("Sägeweg 8", "20097 Hamburg")
    bill_to: tuple[str, ...] = ("Alpha Werkstatt GmbH", "Hafenweg 3", "50667 Köln")
    title: str = "Rechnung"
    number: str = "RE-2026-17"
    issued: date = date(2026, 3, 2)
    due: date | None = date(2026, 3, 16)
    net: Decimal = Decimal("100.00")
    rate: int = 19
    body: tuple[str, ...] = field(default=("1  Leimholz  1 Stk  100,00",))
    footer: tuple[str, ...] = (
        "Holzhandel Brink GmbH  Tel. 040 1234567  Amtsgericht Hamburg HRB 99999",
        "Sägeweg 8  rechnung@brink.example",
    )

    @property
    def tax(self) -> Decimal:
        """The tax to the cent."""
        return (self.net * self.rate / 100).quantize(Decimal("0.01"))

    def text(self) -> str:
        """The paper as lines."""
        street, city = self.supplier_address
        lines = [
            self.supplier,
            f"{self.supplier} · {street} · {city}",
            *self.bill_to,
            "",
            f"{self.title} {self.number}",
            f"Rechnungsnummer: {self.number}",
            f"Rechnungsdatum: {self.issued:%d.%m.%Y}",
            "",
            *self.body,
            f"Nettobetrag {german(self.net)} EUR",
            f"zzgl. {self.rate} % USt. {german(self.tax)} EUR",
            f"Gesamtbetrag {german(self.net + self.tax)} EUR",
        ]
        if self.due is not None:
            lines.append(f"Zahlbar bis {self.due:%d.%m.%Y}")
        return "\n".join([*lines, "", *self.footer])
