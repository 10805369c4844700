"""Field `:86:` of MT940: the German numbered form, the SEPA slash form, and free text.

The subfields ?20 to ?29 and ?60 to ?63 are one text that banks cut every 27 characters: they are
joined before the SEPA words in it (EREF+, SVWZ+ ...) are looked for, because the cut may run
through a word. Not here: anything about `:61:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_GERMAN = re.compile(r"\s*(?P<code>\d{3})(?P<mark>[^\w\s])(?P<rest>\d\d.*)", re.DOTALL)
_WORDS = (
    "EREF",
    "KREF",
    "MREF",
    "CRED",
    "DEBT",
    "COAM",
    "OAMT",
    "SVWZ",
    "ABWA",
    "ABWE",
    "IBAN",
    "BIC",
)
_SEPA = re.compile(r"(?<![A-Z0-9])(" + "|".join(_WORDS) + r")[ ]?[+:]", re.IGNORECASE)
_SLASH = re.compile(
    r"/(EREF|MARF|CSID|REMI|IBAN|NAME|BENM|ORDP|ID|BIC|TRTP|TRCD|CNTP|RTRN|PREF|ISDT|SVCL|ULTD|ULTB"
    r"|USTD|STRD|PURP|ADDR|EXCH|CHGS?|OCMT|BUSP|PY|SUM|CREF|RREF|SEPA)/"
)
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_LINE = 27
"""Characters a bank puts into one subfield; a shorter one was cut at a blank."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a purpose field says; None where it says nothing."""

    text: str
    name: str | None = None
    iban: str | None = None
    end_to_end: str | None = None
    mandate: str | None = None
    creditor_id: str | None = None
    customer: str | None = None
    code: str | None = None


def read_purpose(value: str) -> Purpose:
    """Read the field in the form it is written in; free text stays as it is."""
    german = _GERMAN.fullmatch(value)
    if german is not None:
        return _german(german["code"], german["mark"], german["rest"])
    if len(_SLASH.findall(value.replace("\n", ""))) >= 2:
        return _slashes(value.replace("\n", ""))
    return Purpose(" ".join(value.split()))


def _german(code: str, mark: str, rest: str) -> Purpose:
    parts = re.split(re.escape(mark) + r"(?=\d\d)", mark + rest)
    fields: dict[str, list[str]] = {}
    for part in parts[1:]:
        fields.setdefault(part[:2], []).append(part[2:].replace("\n", ""))
    purpose = [
        text
        for number in (*range(20, 30), *range(60, 64))
        for text in fields.get(f"{number:02}", [])
    ]
    whole = _joined(purpose)
    words = _sepa_words(whole)
    name = " ".join("".join([*fields.get("32", []), " ", *fields.get("33", [])]).split())
    number = "".join("".join(fields.get("31", [])).split()).upper()
    text = words.get("SVWZ") or (words.get("", "") if words else whole)
    posting = " ".join("".join(fields.get("00", [])).split())
    return Purpose(
        text=text or posting,
        name=name or None,
        iban=_iban(words.get("IBAN", "")) or _iban(number),
        end_to_end=words.get("EREF"),
        mandate=words.get("MREF"),
        creditor_id=words.get("CRED"),
        customer=words.get("KREF"),
        code=code,
    )


def _joined(parts: list[str]) -> str:
    """A full subfield runs on into the next one; a shorter one lost the blank at its end."""
    text = ""
    for part in parts:
        text += part if len(part) >= _LINE else part + " "
    return " ".join(text.split())


def _sepa_words(text: str) -> dict[str, str]:
    """Values by SEPA word; what stands before the first one under ""."""
    marks = list(_SEPA.finditer(text))
    if not marks:
        return {}
    found = {"": text[: marks[0].start()].strip()}
    for number, mark in enumerate(marks):
        stop = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        found.setdefault(mark[1].upper(), text[mark.end() : stop].strip())
    return found


def _slashes(text: str) -> Purpose:
    marks = list(_SLASH.finditer(text))
    fields: dict[str, str] = {}
    for number, mark in enumerate(marks):
        stop = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        fields.setdefault(mark[1], text[mark.end() : stop].strip("/ "))
    party = fields.get("CNTP", "").split("/")
    remittance = fields.get("REMI", "")
    for prefix in ("USTD//", "STRD/"):
        remittance = remittance.removeprefix(prefix)
    purpose = fields.get("USTD") or remittance
    name = fields.get("NAME") or (party[2] if len(party) > 2 else "")
    return Purpose(
        text=" ".join(purpose.strip("/ ").split()) or " ".join(text.split()),
        name=name.strip() or None,
        iban=_iban(fields.get("IBAN", "")) or _iban(party[0]),
        end_to_end=fields.get("EREF"),
        mandate=fields.get("MARF"),
        creditor_id=fields.get("CSID"),
        code=fields.get("TRCD") or fields.get("TRTP"),
    )


def _iban(text: str) -> str | None:
    squeezed = "".join(text.split()).upper()
    return squeezed if _IBAN.fullmatch(squeezed) else None
