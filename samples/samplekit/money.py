"""Amounts, dates and the words of an invoice in the languages of the samples."""

from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
_SEPARATORS = {"de": ".,", "it": ".,", "en": ",.", "fr": "\u00a0,", "ru": "\u00a0,"}
_MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "en": "January February March April May June July August September October November December",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
}


def cents(value: Decimal) -> Decimal:
    """Rounded to two places the way invoices round: half away from zero."""
    return value.quantize(CENT, ROUND_HALF_UP)


def money(value: Decimal, language: str) -> str:
    """`1234.5` as 1.234,50 (de, it), 1 234,50 (fr, ru) or 1,234.50 (en)."""
    thousands, decimal = _SEPARATORS[language]
    whole, fraction = f"{cents(abs(value)):,.2f}".split(".")
    sign = "-" if value < 0 else ""
    return f"{sign}{whole.replace(',', thousands)}{decimal}{fraction}"


def unit_price(value: Decimal, language: str) -> str:
    """A price with two places, or with all its places when it has more (0,2711)."""
    if value == cents(value):
        return money(value, language)
    return plain_number(value, language)


def plain_number(value: Decimal, language: str) -> str:
    """A quantity without needless zeros, with the decimal mark of the language."""
    return f"{value.normalize():f}".replace(".", _SEPARATORS[language][1])


def numeric_day(day: date, language: str) -> str:
    """The short form of a date: 02.03.2026, 02/03/2026 (fr, it) or 2 March 2026 (en)."""
    if language == "en":
        return long_day(day, "en")
    return day.strftime("%d/%m/%Y" if language in ("fr", "it") else "%d.%m.%Y")


def long_day(day: date, language: str) -> str:
    """The long form of a date: 2. März 2026, 1er janvier 2024, 2 March 2026."""
    month = _MONTHS[language].split()[day.month - 1]
    number = {"de": f"{day.day}.", "fr": "1er" if day.day == 1 else str(day.day)}
    return f"{number.get(language, str(day.day))} {month} {day.year}"


@dataclass(frozen=True, slots=True)
class InvoiceWords:
    """The printed labels of an invoice in one language; `tax` takes the rate."""

    columns: tuple[str, str, str, str, str]
    net: str
    tax: str
    gross: str


WORDS = {
    "de": InvoiceWords(
        ("Pos.", "Bezeichnung", "Menge", "Einzelpreis", "Betrag"),
        "Nettobetrag",
        "zzgl. {rate} % USt.",
        "Gesamtbetrag",
    ),
    "fr": InvoiceWords(
        ("N°", "Désignation", "Quantité", "P.U. HT", "Montant HT"),
        "Total HT",
        "TVA {rate} %",
        "Total TTC",
    ),
    "en": InvoiceWords(
        ("#", "Description", "Qty", "Unit price", "Amount"),
        "Subtotal",
        "VAT {rate}%",
        "Total due",
    ),
    "it": InvoiceWords(
        ("N.", "Descrizione", "Quantità", "Prezzo unitario", "Importo"),
        "Totale imponibile",
        "IVA {rate} %",
        "Totale fattura",
    ),
    "ru": InvoiceWords(
        ("№", "Наименование", "Кол-во", "Цена", "Сумма"),
        "Итого без НДС",
        "НДС {rate} %",
        "Всего к оплате",
    ),
}


@dataclass(frozen=True, slots=True)
class Position:
    """One invoice line; price and amount are net and in the invoice's currency."""

    text: str
    quantity: Decimal
    unit: str
    price: Decimal

    @property
    def amount(self) -> Decimal:
        """Quantity times price, rounded to cents."""
        return cents(self.quantity * self.price)


def position(text: str, quantity: str, unit: str, price: str) -> Position:
    """A line from written figures, so that texts read like the paper."""
    return Position(text, Decimal(quantity), unit, Decimal(price))


@dataclass(frozen=True, slots=True)
class Totals:
    """Net, tax and gross of an invoice; `rate` in per cent."""

    net: Decimal
    rate: Decimal
    tax: Decimal
    gross: Decimal


def totals(positions: tuple[Position, ...], rate: str) -> Totals:
    """The sums of the lines; `rate` is the one tax rate of all lines."""
    net = sum((line.amount for line in positions), Decimal(0))
    tax = cents(net * Decimal(rate) / 100)
    return Totals(net, Decimal(rate), tax, net + tax)
