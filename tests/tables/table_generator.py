"""Random tables in random dialects, locales and layouts, with the values they mean.

Used by the property test and by the benchmark. A generator that takes a `Random` is the same
thing for Hypothesis and for a seeded run over thousands of tables.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal

LABELS = {
    "text": ("Name", "Ort", "Verwendungszweck", "Libellé", "Beschreibung", "Notiz", "Ville"),
    "number": ("Betrag", "Montant", "Menge", "Stunden", "Amount", "Preis", "Km"),
    "date": ("Datum", "Date", "Buchungstag", "Date de valeur", "Faellig", "Tag"),
    "code": ("Nummer", "Code", "Kennung", "Réf"),
}
WORDS = (
    "Müller", "Straße", "Été", "Français", "Büro", "Café", "Kita", "Hof; links", "a, b", "x|y",
    'der "Alte"', "l'été", "Zeile\nzwei", "100 %ig", "A-1", "", "Œuvre", "tab\there", "C:\\Ordner",
    "groß", "10:30 Uhr", "Nr. 5", "-", "ja", "nein", "#7", "3 Stück", "=1", "+", "(leer)",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is written."""

    delimiter: str
    quote: str
    quoting: str
    escape: str
    encoding: str
    newline: str
    decimal: str
    group: str
    day: str
    minus: str
    preamble: int
    final_newline: bool
    stated: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A written table and the values it means; `plain` when it is unambiguous by construction."""

    data: bytes
    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    columns: tuple[tuple[object, ...], ...]
    layout: Layout
    plain: bool


def layout(random: random.Random, *, plain: bool) -> Layout:
    """A random layout; plain ones use what exports really use and nothing that can be misread."""
    decimal = random.choice(",.")
    group = random.choice(("", ".", " ", "\u202f", "'") if decimal == "," else ("", ",", "'", " "))
    made = Layout(
        delimiter=random.choice(";,\t|"),
        quote='"',
        quoting=random.choice(("minimal", "minimal", "all", "text")),
        escape="",
        encoding=random.choice(("utf-8", "utf-8-sig", "cp1252", "utf-16")),
        newline=random.choice(("\n", "\r\n", "\r")),
        decimal=decimal,
        group=group,
        day=random.choice(("%d.%m.%Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y")),
        minus=random.choice(("before", "before", "behind", "brackets", "sign")),
        preamble=random.choice((0, 0, 0, 1, 3, 5)),
        final_newline=random.random() < 0.8,
        stated=random.random() < 0.05,
    )
    if made.encoding == "cp1252" and made.group == "\u202f":
        made = replace(made, group=" ")
    if plain:
        return made
    encoding = random.choice((made.encoding, "cp850", "mac_roman", "utf-16-le"))
    narrow = encoding in ("cp850", "mac_roman") and made.group == "\u202f"
    return replace(
        made,
        group=" " if narrow else made.group,
        encoding=encoding,
        delimiter=random.choice(";,\t|:^~"),
        quote=random.choice(('"', '"', "'", "")),
        escape=random.choice(("", "", "\\")),
        day=random.choice((made.day, "%d.%m.%y", "%d/%m/%y", "%y-%m-%d", "%m/%d/%y")),
    )


def make(random: random.Random, *, plain: bool) -> Made:
    """A random table in a random layout."""
    how = layout(random, plain=plain)
    if not how.quote and not how.escape and how.delimiter in (how.decimal, how.group):
        how = replace(how, delimiter=";")
    width = random.randint(3 if plain else 2, 8)
    height = random.randint(3 if plain else 1, 40)
    kinds = [random.choice(tuple(LABELS)) for _ in range(width)]
    if plain:
        kinds[0], kinds[1] = "date", "number"
        random.shuffle(kinds)
    names = [f"{random.choice(LABELS[kind])} {chr(65 + i)}" for i, kind in enumerate(kinds)]
    columns = [_values(random, kind, height, plain=plain) for kind in kinds]
    cells = [
        [_written(value, kind, how) for value in column]
        for kind, column in zip(kinds, columns, strict=True)
    ]
    lines = [_preamble(random, i) for i in range(how.preamble)]
    rows = [names, *map(list, zip(*cells, strict=True))]
    if not how.quote and not how.escape:
        rows, columns = _unquotable(rows, columns, kinds, how)
    lines += [how.delimiter.join(_quoted(c, how, k) for c, k in _kinds(r, kinds)) for r in rows]
    text = how.newline.join(lines) + (how.newline if how.final_newline else "")
    if how.stated:
        text = f"sep={how.delimiter}{how.newline}{text}"
    if how.newline == "\r":
        text = text.replace("\n", "\r")
    return Made(
        data=text.encode(how.encoding, "replace"),
        labels=tuple(names),
        kinds=tuple(kinds),
        columns=tuple(tuple(_encodable(v, how.encoding) for v in column) for column in columns),
        layout=how,
        plain=plain,
    )


def _kinds(row: list[str], kinds: list[str]) -> list[tuple[str, str]]:
    return list(zip(row, kinds, strict=True))


def _encodable(value: object, encoding: str) -> object:
    """What the encoding cannot carry was written as `?`, and that is then what the file says."""
    return value.encode(encoding, "replace").decode(encoding) if isinstance(value, str) else value


def _values(random: random.Random, kind: str, height: int, *, plain: bool) -> list[object]:
    match kind:
        case "text":
            return [random.choice(WORDS) for _ in range(height)]
        case "code":
            return [f"{random.randint(0, 99999):07d}" for _ in range(height)]
        case "date":
            start = date(2020, 1, 1)
            days = [start + timedelta(random.randint(0, 2500)) for _ in range(height)]
            if plain:
                days[random.randrange(height)] = date(2024, random.randint(1, 12), 28)
            return list(days)
        case _:
            digits = random.choice((2, 2, 2, 0, 3, 1))
            made = [Decimal(random.randint(-(10**7), 10**8)).scaleb(-digits) for _ in range(height)]
            if plain and digits == 3:
                made[0] = Decimal("0.125")
            return list(made)


def _written(value: object, kind: str, how: Layout) -> str:
    if isinstance(value, date):
        return value.strftime(how.day)
    if not isinstance(value, Decimal):
        return str(value)
    text = f"{abs(value):,f}".replace(",", "G").replace(".", how.decimal).replace("G", how.group)
    if value >= 0:
        return text
    signs = {"before": "-{}", "behind": "{}-", "brackets": "({})", "sign": "\u2212{}"}
    minus = "before" if how.encoding in ("cp1252", "cp850", "mac_roman") else how.minus
    return signs[minus if how.minus == "sign" else how.minus].format(text)


def _preamble(random: random.Random, number: int) -> str:
    return random.choice(
        (f"Export vom {number + 1}. Quartal", "", "Konto: DE00 0000", "Société Générale", "Bericht")
    )


def _unquotable(rows, columns, kinds, how: Layout):
    """Without quotes a cell cannot hold the delimiter or a line end: such cells lose them."""
    bad = str.maketrans(dict.fromkeys((how.delimiter, "\n", "\r"), " "))
    clean = [[cell.translate(bad) for cell in row] for row in rows]
    kept = [[c.translate(bad) if isinstance(c, str) else c for c in column] for column in columns]
    return clean, kept


def _quoted(cell: str, how: Layout, kind: str) -> str:
    needs = any(sign in cell for sign in (how.delimiter, "\n", "\r", how.quote or "\0"))
    if not how.quote:
        if not how.escape:
            return cell
        for sign in ("\\", how.delimiter, "\n"):
            cell = cell.replace(sign, f"\\{sign}")
        return cell
    if how.escape:
        needs = needs or "\\" in cell
    wanted = how.quoting == "all" or (how.quoting == "text" and kind == "text") or needs
    if not wanted:
        return cell
    if how.escape:
        body = cell.replace("\\", "\\\\").replace(how.quote, f"\\{how.quote}")
    else:
        body = cell.replace(how.quote, how.quote * 2)
    return f"{how.quote}{body}{how.quote}"
