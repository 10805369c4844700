"""Identifiers: numbers and addresses in a text that name a party or a document.

Here belongs finding and validating them; every kind with a checksum is only accepted with a
right one. Whose identifier it is belongs to `vocabulary` and `parties`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import chain

import phonenumbers
from schwifty import IBAN
from schwifty.exceptions import SchwiftyException
from schwifty.registry import get_iban_spec
from stdnum.ch import uid as ch_uid
from stdnum.ch import vat as ch_vat
from stdnum.de import stnr as de_stnr
from stdnum.eu import at_02
from stdnum.eu import vat as eu_vat
from stdnum.exceptions import ValidationError
from stdnum.fr import siren as fr_siren
from stdnum.fr import siret as fr_siret
from stdnum.gb import vat as gb_vat

from tgv_dagster.understand import civil_dates, references, words
from tgv_dagster.understand.amounts import Offsets


class IdentifierKind(StrEnum):
    """Kinds of identifiers."""

    VAT_ID = "vat_id"
    IBAN = "iban"
    SIREN = "siren"
    SIRET = "siret"
    REGISTER_NO = "register_no"
    TAX_NO = "tax_no"
    CREDITOR_ID = "creditor_id"
    EMAIL = "email"
    DOMAIN = "domain"
    PHONE = "phone"
    INVOICE_NO = "invoice_no"
    CUSTOMER_NO = "customer_no"
    CONTRACT_NO = "contract_no"
    ORDER_NO = "order_no"


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier in normal form: capitals without blanks, E.164 for phones, lower-case mail.

    `detail` holds the register court for register numbers. `labelled` says that its label, not
    just a noun in front, names a document number.
    """

    kind: IdentifierKind
    value: str
    span: Offsets
    detail: str = ""
    labelled: bool = True


def find(text: str, language: str | None = None) -> tuple[Identifier, ...]:
    """All valid identifiers of a text, ordered by place; linear in its length.

    `language` gives the country of phone numbers without country code.
    """
    folded = words.fold(text)
    ibans = tuple(_ibans(folded))
    starts, ends = [i.span[0] for i in ibans], [i.span[1] for i in ibans]
    found = chain(
        ibans,
        (vat for vat in _vat_ids(folded) if not _overlaps(vat.span, starts, ends)),
        _french_numbers(folded),
        _register_numbers(text, folded),
        _tax_numbers(folded),
        _creditor_ids(folded),
        _mail_addresses(folded),
        _domains(folded),
        _phones(text, folded, language),
        _document_numbers(text, folded),
    )
    unique: dict[tuple[IdentifierKind, Offsets], Identifier] = {}
    for identifier in found:
        key = (identifier.kind, identifier.span)
        if key not in unique or identifier.labelled:
            unique[key] = identifier
    return tuple(sorted(unique.values(), key=lambda i: (i.span, i.kind)))


def normal_form(kind: IdentifierKind, raw: str) -> str:
    """The form in which two identifiers of a kind are compared; no validation."""
    if kind in (IdentifierKind.EMAIL, IdentifierKind.DOMAIN):
        return raw.strip().lower().removeprefix("www.")
    if kind is IdentifierKind.REGISTER_NO:
        match = _GERMAN_REGISTER.search(words.fold(raw))
        if match is not None:
            return _register_value(match)
    return re.sub(r"[^0-9A-Z]", "", words.fold(raw).upper())


def _overlaps(span: Offsets, starts: list[int], ends: list[int]) -> bool:
    """Whether a span lies on one of some ordered spans that do not overlap each other."""
    index = bisect_right(starts, span[1] - 1) - 1
    return index >= 0 and ends[index] > span[0]


# --- party numbers --------------------------------------------------------------------------------

_BLANKS = r"[ \t\u00a0]{0,4}"
_IBAN_START = re.compile(r"(?<![0-9a-z])[a-z]{2}[0-9]{2}(?=" + _BLANKS + "[0-9a-z]{4})")


@cache
def _iban_length(country: str) -> int | None:
    """Length of an IBAN of a country, None for a country without IBAN."""
    try:
        return get_iban_spec(country.upper()).iban_length
    except SchwiftyException:
        return None


def _ibans(folded: str) -> Iterator[Identifier]:
    for match in _IBAN_START.finditer(folded):
        length = _iban_length(match.group()[:2])
        if length is None:
            continue
        taken = _take(folded, match.start(), length)
        if taken is None:
            continue
        compact, end = taken
        try:
            IBAN(compact)
        except (SchwiftyException, ValueError):
            continue
        yield Identifier(IdentifierKind.IBAN, compact, (match.start(), end))


def _take(folded: str, start: int, length: int) -> tuple[str, int] | None:
    """The next `length` letters and digits of a line, without blanks, and where they end.

    None when the line has fewer, something else stands between them, or a digit follows.
    """
    characters: list[str] = []
    position = start
    while len(characters) < length:
        if position >= len(folded) or position - start > 3 * length:
            return None
        character = folded[position]
        if character.isascii() and character.isalnum():
            characters.append(character.upper())
        elif character not in " \t.-":
            return None
        position += 1
    if folded[position : position + 1].isdigit():
        return None
    return "".join(characters), position


_VAT_LENGTHS = {
    "at": (11,),
    "be": (12,),
    "bg": (11, 12),
    "cy": (11,),
    "cz": (10, 11, 12),
    "de": (11,),
    "dk": (10,),
    "ee": (11,),
    "el": (11,),
    "es": (11,),
    "fi": (10,),
    "fr": (13,),
    "hr": (13,),
    "hu": (10,),
    "ie": (10, 11),
    "it": (13,),
    "lt": (11, 14),
    "lu": (10,),
    "lv": (13,),
    "mt": (10,),
    "nl": (14,),
    "pl": (12,),
    "pt": (11,),
    "ro": (4, 5, 6, 7, 8, 9, 10, 11, 12),
    "se": (14,),
    "si": (10,),
    "sk": (12,),
    "gb": (11, 14),
}
_VAT_START = re.compile(r"(?<![0-9a-z])(" + "|".join(_VAT_LENGTHS) + r")(?=[ .-]?[0-9a-z])")
_ITALIAN_VAT = re.compile(r"(?:partita iva|p\.? ?iva)[ :.n°]{0,5}(?:it ?)?([0-9]{11})(?![0-9])")
_SWISS_VAT = re.compile(
    r"(?<![0-9a-z])che[-. ]?[0-9]{3}[. ]?[0-9]{3}[. ]?[0-9]{3} ?(mwst|tva|iva)?"
)


def _vat_ids(folded: str) -> Iterator[Identifier]:
    for match in _VAT_START.finditer(folded):
        country = match.group()
        for length in reversed(_VAT_LENGTHS[country]):
            taken = _take(folded, match.start(), length)
            if taken is None or not any(c.isdigit() for c in taken[0]):
                continue
            compact, end = taken
            check = gb_vat.validate if country == "gb" else eu_vat.validate
            if _is_valid(check, compact):
                yield Identifier(IdentifierKind.VAT_ID, compact, (match.start(), end))
                break
    for match in _ITALIAN_VAT.finditer(folded):
        compact = f"IT{match.group(1)}"
        if _is_valid(eu_vat.validate, compact):
            yield Identifier(IdentifierKind.VAT_ID, compact, match.span(1))
    for match in _SWISS_VAT.finditer(folded):
        compact = re.sub(r"[^0-9A-Z]", "", match.group().upper())
        if match.group(1) and _is_valid(ch_vat.validate, compact):
            yield Identifier(IdentifierKind.VAT_ID, compact, match.span())
        elif _is_valid(ch_uid.validate, compact):
            yield Identifier(IdentifierKind.REGISTER_NO, compact, match.span())


def _is_valid(check: Callable[[str], object], value: str) -> bool:
    try:
        check(value)
    except ValidationError:
        return False
    return True


_FRENCH_LABELLED = re.compile(
    r"(?<!\w)(?:siret|siren|rcs|r\.c\.s\.?)[^0-9\n]{0,30}([0-9]{3}[ .]?[0-9]{3}[ .]?[0-9]{3}"
    r"(?:[ .]?[0-9]{5})?)(?![0-9])"
)
_FRENCH_BEFORE_RCS = re.compile(r"(?<![0-9])([0-9]{3} ?[0-9]{3} ?[0-9]{3})(?= (?:rcs|r\.c\.s))")


def _french_numbers(folded: str) -> Iterator[Identifier]:
    for match in chain(_FRENCH_LABELLED.finditer(folded), _FRENCH_BEFORE_RCS.finditer(folded)):
        compact = re.sub(r"[ .]", "", match.group(1))
        if len(compact) == 14 and _is_valid(fr_siret.validate, compact):
            yield Identifier(IdentifierKind.SIRET, compact, match.span(1))
        elif len(compact) == 9 and _is_valid(fr_siren.validate, compact):
            yield Identifier(IdentifierKind.SIREN, compact, match.span(1))


_GERMAN_REGISTER = re.compile(
    r"(?<![0-9a-z])(hr|h\.r\.|h|gn|v|p|gs)[ .]?(a|b|r)[ .:]{0,3}(?:nr\.?|nummer|no\.?)?[ .:]{0,3}"
    r"([0-9]{1,6})( ?[a-z](?![a-z0-9]))?(?![0-9])"
)
_REGISTERS = frozenset({"HRA", "HRB", "GNR", "VR", "PR", "GSR"})
_COURT = re.compile(
    r"(?:Amtsgericht|Registergericht|Handelsregister)[ :]{1,3}(?:des )?([A-ZÄÖÜ][\wäöüß.-]+)"
)
_SHORT_COURT = re.compile(r"(?<!\w)AG ([A-ZÄÖÜ][\wäöüß.-]+)[ ,:]{1,3}$")
_AUSTRIAN_REGISTER = re.compile(r"(?<![0-9a-z])fn[ .:]{0,3}([0-9]{5,6}) ?([a-z])(?![a-z0-9])")
_ITALIAN_REGISTER = re.compile(
    r"(?<![0-9a-z])rea[ .:n°]{0,5}([a-z]{2})[ -]{0,3}([0-9]{5,7})(?![0-9])"
)
_BRITISH_REGISTER = re.compile(
    r"(?:company (?:registration )?(?:no|number|reg)\.?|registered (?:no|number)\.?"
    r"|registered in england(?: and wales)?,?(?: (?:no|number)\.?)?)[ :]{0,3}"
    r"((?:[0-9]{8})|(?:sc|ni|oc)[0-9]{6})(?![0-9])"
)
_COURT_REACH = 70


def _register_numbers(text: str, folded: str) -> Iterator[Identifier]:
    for match in _GERMAN_REGISTER.finditer(folded):
        value = _register_value(match)
        if value.split()[0] not in _REGISTERS:
            continue
        around = text[max(0, match.start() - _COURT_REACH) : match.end() + _COURT_REACH]
        before = text[max(0, match.start() - _COURT_REACH) : match.start()]
        court = _COURT.search(around) or _SHORT_COURT.search(before)
        detail = court.group(1) if court is not None else ""
        yield Identifier(IdentifierKind.REGISTER_NO, value, match.span(), detail)
    for pattern, prefix in (
        (_AUSTRIAN_REGISTER, "FN"),
        (_ITALIAN_REGISTER, "REA"),
        (_BRITISH_REGISTER, "UK"),
    ):
        for match in pattern.finditer(folded):
            value = f"{prefix} {''.join(match.groups()).upper()}"
            yield Identifier(IdentifierKind.REGISTER_NO, value, match.span())


def _register_value(match: re.Match[str]) -> str:
    register = (match.group(1) + match.group(2)).replace(".", "").upper()
    register = {"HA": "HRA", "HB": "HRB"}.get(register, register)
    suffix = (match.group(4) or "").strip().upper()
    return f"{register} {int(match.group(3))}{suffix}"


_TAX_NUMBER = re.compile(
    r"(?:steuer-?(?:nr\.?|nummer)|st\.?-?nr\.?)[ .:]{0,5}"
    r"([0-9]{2,5}[/ ]?[0-9]{3,4}[/ ]?[0-9]{4,5})(?![0-9])"
)


def _tax_numbers(folded: str) -> Iterator[Identifier]:
    for match in _TAX_NUMBER.finditer(folded):
        if _is_valid(de_stnr.validate, match.group(1)):
            compact = re.sub(r"[^0-9]", "", match.group(1))
            yield Identifier(IdentifierKind.TAX_NO, compact, match.span(1))


_CREDITOR = re.compile(r"(?<![0-9a-z])[a-z]{2}[0-9]{2}[0-9a-z]{3}[0-9a-z]{4,28}(?![0-9a-z])")


def _creditor_ids(folded: str) -> Iterator[Identifier]:
    for match in _CREDITOR.finditer(folded):
        value = match.group().upper()
        near = folded[max(0, match.start() - 40) : match.start()]
        named = "gl" in near or "creditor" in near or "ics" in near or "sepa" in near
        if named and _is_valid(at_02.validate, value):
            yield Identifier(IdentifierKind.CREDITOR_ID, value, match.span())


# --- addresses ------------------------------------------------------------------------------------

_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24}(?![\w-])")
_URL = re.compile(r"(?:https?://|www\.)((?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24})(?![\w-])")


def _mail_addresses(folded: str) -> Iterator[Identifier]:
    for match in _MAIL.finditer(folded):
        yield Identifier(IdentifierKind.EMAIL, match.group(), match.span())


def _domains(folded: str) -> Iterator[Identifier]:
    for match in _URL.finditer(folded):
        value = match.group(1).removeprefix("www.")
        yield Identifier(IdentifierKind.DOMAIN, value, match.span(1))


_PHONE = re.compile(
    r"(?:(?<!\w)(?:tel|telefon|telefax|fax|fon|phone|mobil|mobile|tél|telephone|telefono|cell|тел)"
    r"[a-z]{0,4}[ .:/()]{1,5})((?:\+|00)?[0-9(][0-9 ()/.\-]{5,22}[0-9])"
    r"|(?<![\w+])(\+[1-9][0-9 ()/.\-]{6,22}[0-9])"
)
_REGIONS = {"de": "DE", "fr": "FR", "it": "IT", "nl": "NL", "es": "ES", "ru": "RU"}


def _phones(text: str, folded: str, language: str | None) -> Iterator[Identifier]:
    region = _REGIONS.get(language or "")
    for match in _PHONE.finditer(folded):
        group = 1 if match.group(1) else 2
        try:
            number = phonenumbers.parse(text[slice(*match.span(group))], region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            value = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
            yield Identifier(IdentifierKind.PHONE, value, match.span(group))


# --- document numbers -----------------------------------------------------------------------------

_NUMBER = re.compile(
    r"(?:[ \t]{1,60}+|[:#.°*]|\((?:[0-9]{3})\)|n[r°o]\.?(?![a-z])|nummer|numero|number"
    r"|lautet|is){0,6}"
    r"(?P<value>[0-9A-Za-z][0-9A-Za-z._/\-]{0,39})"
)
_NUMBER_LATER = re.compile(
    r"[^\n0-9:.;]{0,24}?(?<!\w)(?:n°|nr\.?|no\.|№|#)[ ]{0,3}"
    r"(?P<value>[0-9A-Za-z][0-9A-Za-z._/\-]{0,39})"
)
_NUMBER_BELOW = re.compile(
    r"[ \t:.]{0,3}\r?\n[ \t]{0,4}(?P<value>[0-9A-Za-z][0-9A-Za-z._/\-]{0,39})"
)


def _labels_by_line(folded: str) -> Iterator[words.Hit]:
    """Labels within their lines: a title above a label does not make one label with it."""
    finder = words.finder("numbers", "labels")
    start = 0
    for line in folded.split("\n"):
        for hit in finder.find(line):
            yield words.Hit(hit.key, hit.start + start, hit.end + start)
        start += len(line) + 1


def _document_numbers(text: str, folded: str) -> Iterator[Identifier]:
    for hit in _labels_by_line(folded):
        if hit.key == "another_document" or _points_elsewhere(folded, hit.start, hit.end):
            continue
        match = _NUMBER.match(folded, hit.end) or _NUMBER_BELOW.match(folded, hit.end)
        if match is None or not any(c.isdigit() for c in match["value"]):
            match = _number_in_column(text, hit.start, hit.end)
        yield from _document_number(text, hit.key, match, labelled=True)
    for hit in words.finder("numbers", "nouns").find(folded):
        if _points_elsewhere(folded, hit.start, hit.end):
            continue
        contract = hit.key == IdentifierKind.CONTRACT_NO
        later = _NUMBER_LATER.match(folded, hit.end) if contract else None
        if later is not None:
            yield from _document_number(text, hit.key, later, labelled=True)
        else:
            match = _NUMBER.match(folded, hit.end)
            if match is None or not any(c.isdigit() for c in match["value"]):
                match = _behind_qualified_title(folded, hit)
            yield from _document_number(text, hit.key, match, labelled=False)
    for match in _BARE_NUMBER.finditer(folded):
        if _under_title(folded, match.start("value")):
            yield from _document_number(
                text, IdentifierKind.INVOICE_NO, match, labelled=False, marked=True
            )


_QUALIFIED = re.compile(
    r"(?:[ \t](?:d'|de |di )?(?!fur|fuer|pour|per|for|zu|vom|von|dal|del|dated)[^\W\d_]{3,14}){1,2}"
    r"[ \t]{1,9}+(?P<value>[0-9A-Za-z][0-9A-Za-z._/\-]{3,39})[ \t]*(?=\n|$)"
)


def _behind_qualified_title(folded: str, noun: words.Hit) -> re.Match[str] | None:
    """ "Facture d'hôtel BD/9055": the code that ends a title line which opens with the noun."""
    line_start = folded.rfind("\n", 0, noun.start) + 1
    if noun.key != IdentifierKind.INVOICE_NO or folded[line_start : noun.start].strip():
        return None
    return _QUALIFIED.match(folded, noun.end)


_BARE_NUMBER = re.compile(
    r"(?:^|\n|  )[ \t]{0,80}+(?:n°|nr\.?|no\.|№|#|numero|nummer|number)[ \t]?:?"
    r"(?:[ \t]{1,60}+|[ \t]{0,9}\n)"
    r"(?P<value>[0-9A-Za-z][0-9A-Za-z._/\-]{2,39})[ \t]*(?=\n|  |$)"
)
_TITLE_REACH = 500


def _under_title(folded: str, position: int) -> bool:
    """Whether the last booking noun above a bare number stands alone on its line, as a title."""
    begin = max(0, position - _TITLE_REACH)
    above = [
        hit for hit in words.finder("numbers", "nouns").find(folded[begin:position])
        if hit.key == IdentifierKind.INVOICE_NO
    ]  # fmt: skip
    if not above:
        return False
    start, end = begin + above[-1].start, begin + above[-1].end
    line_start = folded.rfind("\n", 0, start) + 1
    line_end = folded.find("\n", end)
    return folded[line_start:line_end].strip() == folded[start:end]


_CELL = re.compile(r"[^\s|]+(?: [^\s|]+)*")
_NUMBER_CELL = re.compile(
    r"(?P<value>(?:[A-Z]{1,3} )?[0-9A-Za-z][0-9A-Za-z._/\-]{0,39}(?: [0-9]{2,8}){0,4})"
)
_LABEL_REST = 3


def _number_in_column(text: str, start: int, end: int) -> re.Match[str] | None:
    """The number under a label that is one head of several: the same cell of the line below."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if line_end < 0:
        return None
    heads = list(_CELL.finditer(text, line_start, line_end))
    at = next((i for i, cell in enumerate(heads) if cell.start() <= start < cell.end()), None)
    if len(heads) < 2 or at is None or heads[at].end() - end > _LABEL_REST:
        return None
    below_start = line_end + 1
    below_end = text.find("\n", below_start)
    cells = list(_CELL.finditer(text, below_start, len(text) if below_end < 0 else below_end))
    if len(cells) != len(heads):
        return None
    return _NUMBER_CELL.fullmatch(text, cells[at].start(), cells[at].end())


_POINTS_ELSEWHERE = re.compile(
    r"(?<!\w)(?:zu|zur|zu unserer|zu ihrer|auf|unsere|ihre|sur|pour|votre|notre|for|to|your|our"
    r"|storno der|storno della|storniert|a fronte della|relativa alla|к)(?: die| der| la)? $"
    r"|(?<!\w)(?:bezug|referenz|reference|riferimento) ?: (?:[a-z]{2,12} )?$"
)


def _points_elsewhere(folded: str, start: int, end: int) -> bool:
    """Whether the words around make the document another one: "zu Rechnung 17"."""
    pointed = _POINTS_ELSEWHERE.search(folded[max(0, start - 24) : start]) is not None
    return pointed or references.is_earlier(folded, start, end)


_MISREAD = re.compile(r"(?<=[0-9])[Ol|](?=[0-9])|(?<![A-Za-z])l(?=[0-9])")
"""A letter where a scan has misread a digit ("2O26-l17"): such a number is asked."""
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")


def _is_title_number(text: str, noun_end: int, start: int, end: int) -> bool:
    """ "Rechnung 5512" alone in its cell: a bare number of a title, and no year."""
    value = text[start:end]
    if len(value) < 3 or _YEAR.fullmatch(value) or text[noun_end:start].strip():
        return False
    line_start = text.rfind("\n", 0, noun_end) + 1
    behind = text[end : end + 3]
    first = len(text[line_start:noun_end].split()) == 1
    return first and (not behind.strip() or behind.startswith(("\n", "  ")))


_SHORTEST_UNLABELLED = 4
_DIGIT_GROUPS = re.compile(r"(?: [0-9]{3,5}(?![0-9A-Za-z.,/:-]))+")
_AMOUNT_LIKE = re.compile(r"[0-9]+[.,][0-9]{2}")


def _document_number(
    text: str,
    key: str,
    match: re.Match[str] | None,
    *,
    labelled: bool,
    marked: bool = False,
) -> Iterator[Identifier]:
    if match is None:
        return
    start, end = match.span("value")
    if text[start:end].isdigit() and (groups := _DIGIT_GROUPS.match(text, end)) is not None:
        end = groups.end()
    while end > start and text[end - 1] in "._/-":
        end -= 1
    value = text[start:end].replace(" ", "")
    if not any(character.isdigit() for character in value):
        return
    if not (labelled or marked) and (len(value) < _SHORTEST_UNLABELLED or value.isdigit()):
        between = words.fold(text[match.start() : start])
        sign = re.search(r"n[r°o]|#|№|nummer", between) or (":" in between and len(value) > 3)
        if not sign and not _is_title_number(text, match.start(), start, end):
            return
    if key == IdentifierKind.INVOICE_NO and _MISREAD.search(value):
        return
    amount = text[end : end + 1] == "," and text[end + 1 : end + 2].isdigit()
    if amount or _AMOUNT_LIKE.fullmatch(value) or civil_dates.parse_all(value, None, None):
        return
    yield Identifier(IdentifierKind(key), value, (start, end), "", labelled)
