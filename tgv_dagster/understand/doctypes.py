"""Kinds of documents: the closed set, how a kind is recognised, and the doubled vocabularies.

Here belongs WHAT a document is. What follows from it (required fields, responsible specialist)
stands in the registry of the room deepen and nowhere here (TRI-15).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from tgv_dagster.understand import words
from tgv_dagster.understand.amounts import Offsets


class DocType(StrEnum):
    """Kinds of documents, canonical words."""

    INVOICE = "invoice"
    CREDIT_NOTE = "credit_note"
    REMINDER = "reminder"
    RECEIPT = "receipt"
    ORDER = "order"
    DELIVERY_NOTE = "delivery_note"
    OFFER = "offer"
    CONTRACT = "contract"
    LEASE = "lease"
    INSURANCE = "insurance"
    BANK_STATEMENT = "bank_statement"
    TAX_NOTICE = "tax_notice"
    PAYSLIP = "payslip"
    LETTER = "letter"
    MAIL_BODY = "mail_body"
    NEWSLETTER = "newsletter"
    TABLE = "table"
    TIME_SHEET = "time_sheet"
    LOGBOOK = "logbook"
    CERTIFICATE = "certificate"
    FORM = "form"
    PHOTO = "photo"
    NOTE = "note"
    CALENDAR = "calendar"
    CONTACT_CARD = "contact_card"
    OTHER = "other"
    UNKNOWN = "unknown"

    @property
    def label_de(self) -> str:
        """The German word people see."""
        return _LABELS_DE[self]


_LABELS_DE = {
    DocType.INVOICE: "Rechnung",
    DocType.CREDIT_NOTE: "Gutschrift",
    DocType.REMINDER: "Mahnung",
    DocType.RECEIPT: "Quittung",
    DocType.ORDER: "Bestellung",
    DocType.DELIVERY_NOTE: "Lieferschein",
    DocType.OFFER: "Angebot",
    DocType.CONTRACT: "Vertrag",
    DocType.LEASE: "Mietvertrag",
    DocType.INSURANCE: "Versicherung",
    DocType.BANK_STATEMENT: "Kontoauszug",
    DocType.TAX_NOTICE: "Steuerbescheid",
    DocType.PAYSLIP: "Lohnabrechnung",
    DocType.LETTER: "Brief",
    DocType.MAIL_BODY: "E-Mail",
    DocType.NEWSLETTER: "Newsletter",
    DocType.TABLE: "Tabelle",
    DocType.TIME_SHEET: "Stundenzettel",
    DocType.LOGBOOK: "Fahrtenbuch",
    DocType.CERTIFICATE: "Bescheinigung",
    DocType.FORM: "Formular",
    DocType.PHOTO: "Foto",
    DocType.NOTE: "Notiz",
    DocType.CALENDAR: "Termin",
    DocType.CONTACT_CARD: "Visitenkarte",
    DocType.OTHER: "Sonstiges",
    DocType.UNKNOWN: "Unbekannt",
}

BOOKING_KINDS = frozenset({DocType.INVOICE, DocType.CREDIT_NOTE, DocType.RECEIPT})
CONTRACT_KINDS = frozenset({DocType.CONTRACT, DocType.LEASE, DocType.INSURANCE})


class PairKind(StrEnum):
    """Whether a doubled vocabulary doubles a field name or a value of a field."""

    NAME = "name"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class VocabularyPair:
    """One thing under two words: `canonical` is written and read, `other` is neither (DATE-26).

    `field` is the field whose values are doubled; empty for doubled names.
    """

    kind: PairKind
    canonical: str
    other: str
    field: str = ""


def _values(field: str, canonical: str, *others: str) -> Iterator[VocabularyPair]:
    for other in others:
        yield VocabularyPair(PairKind.VALUE, canonical, other, field)


VOCABULARY_PAIRS: tuple[VocabularyPair, ...] = (
    VocabularyPair(PairKind.NAME, "auto_renewal", "auto_renews"),
    VocabularyPair(PairKind.NAME, "date_received", "mail_date_received"),
    VocabularyPair(PairKind.NAME, "confidentiality_level", "sensitivity"),
    VocabularyPair(PairKind.NAME, "next_renewal_date", "renewal_date"),
    VocabularyPair(PairKind.NAME, "service_date", "leistungsdatum"),
    VocabularyPair(PairKind.NAME, "due_date", "faelligkeitsdatum"),
    *_values("contract_type", "insurance", "versicherung", "assurance", "assicurazione"),
    *_values("contract_type", "lease", "miete", "mietvertrag", "bail", "locazione"),
    *_values("contract_type", "employment", "arbeitsvertrag", "travail", "lavoro"),
    *_values("contract_type", "subscription", "abonnement", "abo", "abbonamento"),
    *_values("contract_type", "service", "dienstleistung", "prestation", "servizi"),
    *_values("contract_type", "maintenance", "wartung", "entretien", "manutenzione"),
    *_values("contract_type", "loan", "darlehen", "kredit", "pret", "prestito"),
    *_values("confidentiality_level", "oeffentlich", "public", "öffentlich"),
    *_values("confidentiality_level", "intern", "internal"),
    *_values("confidentiality_level", "vertraulich", "confidential"),
    *_values("confidentiality_level", "streng_vertraulich", "strictly_confidential", "streng"),
)
"""Registered doubles (DATE-22 to DATE-28); the guard and every writer read this one register."""


class ContractType(StrEnum):
    """What a contract is about, one word per group across languages (DATE-28)."""

    INSURANCE = "insurance"
    LEASE = "lease"
    EMPLOYMENT = "employment"
    SUBSCRIPTION = "subscription"
    SERVICE = "service"
    MAINTENANCE = "maintenance"
    LOAN = "loan"
    OTHER = "other"


def canonical_contract_type(word: str) -> ContractType | None:
    """The group of a contract type word in any registered language; None when unregistered."""
    plain = words.fold(word).strip()
    for pair in VOCABULARY_PAIRS:
        if pair.field == "contract_type" and plain in (pair.canonical, words.fold(pair.other)):
            return ContractType(pair.canonical)
    return ContractType.OTHER if plain == ContractType.OTHER else None


# --- recognition ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypeVerdict:
    """The kind found with confidence 0..1; `rival` is the second best, `span` shows the title."""

    doc_type: DocType
    confidence: float
    span: Offsets | None
    rule_id: str
    rival: DocType | None = None


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """What is known beside the text: media type, file name, mail subject, what else was found."""

    media_type: str = ""
    file_name: str = ""
    subject: str = ""
    is_mail_body: bool = False
    is_bulk_mail: bool = False
    has_totals: bool = False
    has_invoice_number: bool = False


_BY_MEDIA_TYPE = {
    "text/calendar": DocType.CALENDAR,
    "text/vcard": DocType.CONTACT_CARD,
    "text/x-vcard": DocType.CONTACT_CARD,
}
_TABLE_TYPES = (
    "text/csv",
    "text/tab-separated-values",
    "application/vnd.ms-excel",
    "application/vnd.openxmlformats-officedocument.spreadsheetml",
    "application/vnd.oasis.opendocument.spreadsheet",
)
_BANK_TYPES = ("camt", "mt940", "x-ofx", "application/ofx", "vnd.intu.qfx")
_BANK_MESSAGE = re.compile(r"<(?:[\w.-]+:)?BkToCstmr(?:Stmt|AcctRpt|DbtCdtNtfctn)[\s/>]")
"""The messages of ISO 20022 that report an account: camt.053, camt.052 and camt.054."""
_XML_HEAD = 20_000


def classify(text: str, facts: TypeFacts) -> TypeVerdict:
    """The kind of a document by its format, its title and the words in it.

    UNKNOWN with confidence 0 when nothing speaks for a kind. Linear in the length of the text.
    """
    by_format = _by_format(text, facts)
    if by_format is not None:
        return by_format
    if not text.strip():
        return TypeVerdict(DocType.UNKNOWN, 0.0, None, "type.no_text")
    scores, titles, strong = _scores(text, facts)
    return _decide(scores, titles, strong, facts)


def _by_format(text: str, facts: TypeFacts) -> TypeVerdict | None:
    media_type = facts.media_type.lower()
    if media_type in _BY_MEDIA_TYPE:
        return TypeVerdict(_BY_MEDIA_TYPE[media_type], 0.98, None, "type.format")
    if any(mark in media_type for mark in _BANK_TYPES):
        return TypeVerdict(DocType.BANK_STATEMENT, 0.97, None, "type.format")
    if media_type.endswith("xml") and _BANK_MESSAGE.search(text, 0, _XML_HEAD):
        return TypeVerdict(DocType.BANK_STATEMENT, 0.97, None, "type.format")
    if media_type.startswith(_TABLE_TYPES):
        return _table_kind(text)
    if media_type.startswith("image/") and not any(c.isalpha() for c in text):
        return TypeVerdict(DocType.PHOTO, 0.85, None, "type.picture_without_text")
    if facts.is_mail_body:
        return _mail_kind(text, facts)
    return None


_BANK_COLUMNS = 3


def _table_kind(text: str) -> TypeVerdict:
    """A sheet with the columns of a bank statement is one; every other goes to the recogniser."""
    head = words.fold(text[:4000])
    columns = {hit.key for hit in words.finder("doctypes", "body").find(head)}
    bank = [h for h in words.finder("doctypes", "body").find(head) if h.key == "bank_statement"]
    distinct = {head[hit.start : hit.end] for hit in bank}
    if "bank_statement" in columns and len(distinct) >= _BANK_COLUMNS:
        return TypeVerdict(DocType.BANK_STATEMENT, 0.85, None, "type.bank_columns", DocType.TABLE)
    return TypeVerdict(DocType.TABLE, 0.95, None, "type.format")


def _mail_kind(text: str, facts: TypeFacts) -> TypeVerdict:
    folded = words.fold(f"{facts.subject}\n{text}")
    hits = [*words.finder("doctypes", "body").find(folded)]
    goodbye = any(hit.key == "newsletter" for hit in hits)
    named = any(hit.key == "newsletter" for hit in words.finder("doctypes", "title").find(folded))
    if facts.is_bulk_mail or (goodbye and named):
        return TypeVerdict(DocType.NEWSLETTER, 0.9, None, "type.bulk_mail", DocType.MAIL_BODY)
    return TypeVerdict(DocType.MAIL_BODY, 0.97, None, "type.mail_body")


_TITLE_LINE, _TITLE_START, _TITLE_NEAR, _TITLE_FAR = 6.0, 3.8, 1.6, 0.5
_TITLE_QUALIFIED, _SECOND_TITLE = 5.0, 1.0
_BODY, _BODY_CAP = 1.0, 4.5
_LETTER_BODY, _LETTER_CAP = 1.6, 3.2
_NAME, _SUBJECT = 1.5, 1.2
_TOP_LINES, _HEAD_LINES = 30, 60
_REST = 28
_LINE_LIMIT = 160
_SHORT_LINE = 50
_SUBTITLE = re.compile(r" ?: | - ")
_POINTERS = frozenset(
    [
        *(
            "zu",
            "zur",
            "zum",
            "ihre",
            "ihr",
            "ihrer",
            "ihrem",
            "unsere",
            "unser",
            "der",
            "die",
            "das",
        ),
        *("den", "dem", "des", "von", "aus", "mit", "fur", "fuer", "gemas", "laut", "und", "keine"),
        *("kein", "sur", "votre", "notre", "la", "le", "de", "du", "pour", "par", "et", "sans"),
        *("to", "your", "our", "for", "of", "the", "and", "this", "no", "per", "with"),
        *("bezug", "referenz", "reference", "ref", "riferimento", "rif"),
        *("vostra", "nostra", "della", "del", "di", "per", "con", "senza", "e"),
    ]
)
_SELF_BILLED = re.compile(
    r"selbst ausgestellte rechnung|gutschrifts?verfahren|self-bill(?:ed|ing)"
    r"|autofacturation|autofatturazione"
)
_PAYMENT_PART = re.compile(
    r"payment part|zahlteil|section paiement|sezione pagamento|part da pajament"
)


def _scores(
    text: str, facts: TypeFacts
) -> tuple[dict[DocType, float], dict[DocType, Offsets], frozenset[DocType]]:
    """Scores per kind, the place of its title, and the kinds that stand as a title."""
    scores: dict[DocType, float] = {}
    titles: dict[DocType, Offsets] = {}
    folded = words.fold(_unspaced(text))
    best_title: dict[DocType, float] = {}
    phrases: dict[DocType, set[str]] = {}
    line_ends = [match.start() for match in re.finditer("\n", folded)]
    for hit in words.finder("doctypes", "title").find(folded):
        doc_type = DocType(hit.key)
        start = _word_start(folded, hit.start)
        value = _title_value(folded, start, hit.end, line_ends, numbered=doc_type in _NO_LABELS)
        qualified = value == _TITLE_QUALIFIED and text[_line_start(text, start)].isupper()
        if (text[start].islower() and not qualified) or _continues_prose(text, start):
            value = min(value, _TITLE_NEAR)
        if doc_type not in _NO_LABELS and _LABEL_MARK.match(folded, hit.end):
            value = min(value, _TITLE_NEAR)
        if value == _TITLE_START and _is_headline(text, start):
            value = _TITLE_LINE
        if value >= _TITLE_START:
            phrases.setdefault(doc_type, set()).add(folded[start : hit.end])
        if value > best_title.get(doc_type, 0.0):
            best_title[doc_type] = value
            titles[doc_type] = (start, hit.end)
    for doc_type, value in best_title.items():
        second = _SECOND_TITLE if len(phrases.get(doc_type, ())) > 1 else 0.0
        scores[doc_type] = scores.get(doc_type, 0.0) + value + second
    for doc_type, value in _witnesses(folded).items():
        scores[doc_type] = scores.get(doc_type, 0.0) + value
    if _SELF_BILLED.search(folded):
        scores[DocType.INVOICE] = max(scores.get(DocType.INVOICE, 0.0), _TITLE_LINE)
        scores.pop(DocType.CREDIT_NOTE, None)
    if _PAYMENT_PART.search(folded):
        scores.pop(DocType.RECEIPT, None)
    for source, value in ((facts.file_name, _NAME), (facts.subject, _SUBJECT)):
        folded_name = words.fold(re.sub(r"[_\-.]+", " ", source))
        for doc_type in {
            DocType(h.key) for h in words.finder("doctypes", "title").find(folded_name)
        }:
            scores[doc_type] = scores.get(doc_type, 0.0) + value
    if facts.has_totals and (DocType.INVOICE in scores or DocType.RECEIPT in scores):
        stronger = max((DocType.INVOICE, DocType.RECEIPT), key=lambda t: scores.get(t, 0.0))
        scores[stronger] = scores.get(stronger, 0.0) + 1.0
    if facts.has_invoice_number:
        scores[DocType.INVOICE] = scores.get(DocType.INVOICE, 0.0) + 1.5
    strong = frozenset(t for t, value in best_title.items() if value >= _TITLE_START)
    return scores, titles, strong


_NO_LABELS = frozenset(
    {
        *(DocType.INVOICE, DocType.CREDIT_NOTE, DocType.REMINDER, DocType.RECEIPT),
        *(DocType.PAYSLIP, DocType.TAX_NOTICE, DocType.NEWSLETTER),
    }
)
"""Kinds whose title word with a colon still is a title; others are labels ("Bestellung: B12")."""
_LABEL_MARK = re.compile(r"[ \t]*(?:nr\.?|no\.?|n°|kunde)?[^\n:\d]{0,14}:")


def _is_headline(text: str, start: int) -> bool:
    """Whether a title word opens a line that is set in capitals throughout."""
    line = text[_line_start(text, start) : start + _LINE_LIMIT].partition("\n")[0]
    return line.isupper() and _line_start(text, start) == start


def _line_start(text: str, position: int) -> int:
    """The first letter of the line around a place."""
    start = text.rfind("\n", 0, position) + 1
    while start < position and not text[start].isalpha():
        start += 1
    return start


def _word_start(folded: str, position: int) -> int:
    while position > 0 and folded[position - 1].isalpha():
        position -= 1
    return position


_SPACED = re.compile(r"(?<!\S)(?:[^\W\d_] ){4,}[^\W\d_](?!\S)")


def _unspaced(text: str) -> str:
    """Spaced-out titles ("R E C H N U N G") closed up; the length stays, blanks move behind."""

    def close(match: re.Match[str]) -> str:
        letters = match.group().replace(" ", "")
        return letters + " " * (len(match.group()) - len(letters))

    return _SPACED.sub(close, text)


def _title_value(
    folded: str, start: int, end: int, line_ends: list[int], *, numbered: bool
) -> float:
    """How much a title word counts by its place: own line, line start, near the top, far down.

    A code behind the word belongs to the title of a `numbered` kind; it makes others a reference.
    """
    line_start = folded.rfind("\n", max(0, start - _LINE_LIMIT), start) + 1
    line_start = max(line_start, start - _LINE_LIMIT)
    line_end = folded.find("\n", end, end + _LINE_LIMIT)
    line_end = line_end if line_end >= 0 else end + _LINE_LIMIT
    line = folded[line_start:line_end].strip()
    number = _line_number(line_ends, start)
    before = _COLUMN_GAP.split(folded[line_start:start])[-1].strip(" #*:>-|.")
    rest_of_line = _COLUMN_GAP.split(folded[end:line_end])[0] or folded[end:line_end]
    numberless = _WITH_DIGIT.sub("", rest_of_line) if numbered else rest_of_line
    rest = re.sub(r"[\d\W_]+|(?<!\w)(?:nr|no|vom|du|of|del|n|den)(?!\w)", "", numberless)
    if _SUBTITLE.match(folded, end):
        rest = ""
    at_start = not before or before.isdigit()
    if _ABOUT.match(rest_of_line) and number < _FIRST_LINES:
        rest = ""
    if not rest and not at_start and _qualifies(before) and len(line) < _SHORT_LINE:
        return _TITLE_QUALIFIED if number < _TOP_LINES else _TITLE_NEAR
    if _WITH_DIGIT.sub("", rest_of_line).strip() and rest and folded[start:end] in _alone():
        return _TITLE_FAR
    if number < _HEAD_LINES and at_start and len(rest) <= _REST:
        return _TITLE_LINE if number < _TOP_LINES or not rest else _TITLE_START
    if number < _TOP_LINES and at_start:
        return _TITLE_START if len(line) < 90 else _TITLE_NEAR
    return _TITLE_NEAR if number < _TOP_LINES else _TITLE_FAR


_COLUMN_GAP = re.compile(r" {2,}|\t")
_WITH_DIGIT = re.compile(r"\S*\d\S*")
"""A number behind a title word ("Avoir R710686") leaves the word alone on its line."""
_ABOUT = re.compile(r" (?:for|on|regarding|concerning|uber|ueber|pour|relatif|per|su) [^.;]{3,40}$")
_FIRST_LINES = 6
_FULL_LINE = 60


def _continues_prose(text: str, start: int) -> bool:
    """Whether a line goes on with the sentence of a full line above it."""
    line_start = text.rfind("\n", 0, start) + 1
    if text[line_start:start].strip() or not line_start:
        return False
    above_start = text.rfind("\n", 0, line_start - 1) + 1
    above = text[above_start : line_start - 1].rstrip()
    return len(above) > _FULL_LINE and above[-1:] not in ".:!?;"


def _qualifies(before: str) -> bool:
    """Whether the words before a title word qualify it ("Employment Agreement") or point at it."""
    qualifiers = before.split()
    return 1 <= len(qualifiers) <= 2 and not _POINTERS & set(qualifiers)


@cache
def _alone() -> frozenset[str]:
    return frozenset(words.fold(word) for word in words.load("doctypes")["alone"])


def _line_number(line_ends: list[int], position: int) -> int:
    low, high = 0, len(line_ends)
    while low < high:
        middle = (low + high) // 2
        if line_ends[middle] < position:
            low = middle + 1
        else:
            high = middle
    return low


def _witnesses(folded: str) -> dict[DocType, float]:
    found: dict[DocType, set[str]] = {}
    for hit in words.finder("doctypes", "body").find(folded):
        found.setdefault(DocType(hit.key), set()).add(folded[hit.start : hit.end])
    return {
        doc_type: min(len(phrases) * _LETTER_BODY, _LETTER_CAP)
        if doc_type is DocType.LETTER
        else min(len(phrases) * _BODY, _BODY_CAP)
        for doc_type, phrases in found.items()
    }


_OUTRANKS: tuple[tuple[DocType, DocType], ...] = (
    (DocType.REMINDER, DocType.INVOICE),
    (DocType.CREDIT_NOTE, DocType.INVOICE),
    (DocType.OFFER, DocType.INVOICE),
    (DocType.PAYSLIP, DocType.CERTIFICATE),
    (DocType.DELIVERY_NOTE, DocType.ORDER),
    (DocType.LEASE, DocType.CONTRACT),
    (DocType.INSURANCE, DocType.CONTRACT),
    (DocType.INSURANCE, DocType.CERTIFICATE),
    (DocType.TAX_NOTICE, DocType.CERTIFICATE),
)
"""A special kind wins over the general one it speaks about, when both stand as titles."""

_LEAST = 2.4
_OUTRANKED = 4.0
_SALUTATION = 1.6


def _decide(
    scores: dict[DocType, float],
    titles: dict[DocType, Offsets],
    strong: frozenset[DocType],
    facts: TypeFacts,
) -> TypeVerdict:
    adjusted = dict(scores)
    for special, general in _OUTRANKS:
        if scores.get(special, 0.0) >= _TITLE_START and general in adjusted:
            adjusted[general] = min(adjusted[general], scores[special] - _OUTRANKED)
    if _is_titled_letter(titles, strong, facts):
        highest = scores[DocType.LETTER] - _OUTRANKED
        adjusted = {t: v if t is DocType.LETTER else min(v, highest) for t, v in adjusted.items()}
    else:
        adjusted = _with_letter(adjusted, strong)
    ranked = sorted(adjusted.items(), key=lambda item: -item[1])
    if not ranked or ranked[0][1] < _LEAST:
        return _without_words(ranked, facts)
    best, score = ranked[0]
    rival, second = ranked[1] if len(ranked) > 1 else (None, 0.0)
    confidence = min(0.98, (1 - math.exp(-(score - second) / 2)) * (1 - math.exp(-score / 1.5)))
    return TypeVerdict(best, round(confidence, 3), titles.get(best), "type.words", rival)


def _is_titled_letter(
    titles: dict[DocType, Offsets], strong: frozenset[DocType], facts: TypeFacts
) -> bool:
    """Whether the first title is one of letters; a bill may hold such a title as a heading."""
    if DocType.LETTER not in strong or facts.has_invoice_number:
        return False
    return all(titles[DocType.LETTER] <= titles[kind] for kind in strong)


def _with_letter(scores: dict[DocType, float], strong: frozenset[DocType]) -> dict[DocType, float]:
    """A salutation makes a letter of a text without title, and nothing of one with a title."""
    others = {t: value for t, value in scores.items() if t is not DocType.LETTER}
    letter = scores.get(DocType.LETTER, 0.0)
    best = max(others, key=lambda t: others[t], default=None)
    if best is not None and (best in strong or letter < _SALUTATION):
        return others
    if letter < _SALUTATION:
        return scores
    lifted = {t: min(value, letter) for t, value in others.items()}
    return lifted | {DocType.LETTER: letter + 3.6}


def _without_words(ranked: list[tuple[DocType, float]], facts: TypeFacts) -> TypeVerdict:
    """Short plain texts are notes; everything else without a sign is unknown."""
    if facts.media_type in ("text/plain", "text/markdown") and not ranked:
        return TypeVerdict(DocType.NOTE, 0.85, None, "type.plain_text")
    rival = ranked[0][0] if ranked else None
    if facts.media_type in ("text/plain", "text/markdown"):
        return TypeVerdict(DocType.NOTE, 0.8, None, "type.plain_text", rival)
    return TypeVerdict(DocType.UNKNOWN, 0.2, None, "type.no_sign", rival)
