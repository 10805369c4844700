"""The sample inbox holds what `expected.yaml` says, and every file is a real file of its format."""

import email
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from email.message import EmailMessage
from email.policy import default
from io import BytesIO
from pathlib import Path
from typing import Any

import docx2python
import icalendar
import inscriptis
import numpy as np
import openpyxl
import pikepdf
import pypdfium2
import pytest
import python_calamine
import yaml
from facturx import get_xml_from_pdf, xml_check_xsd
from PIL import Image, ImageOps
from schwifty import IBAN
from stdnum.eu import vat
from stdnum.fr import siren, siret
from stdnum.gb import vat as gb_vat
from striprtf.striprtf import rtf_to_text

from tgv_dagster.understand.evidence import Field

SAMPLES = Path(__file__).parents[2] / "samples"
OUTCOMES = {
    "entered",
    "duplicate",
    "parked",
    "set_apart",
    "body_only",
    "split",
    "blocked",
    "intent",
}
PART_OUTCOMES = {"entered", "discarded"}
DOC_TYPES = {
    "invoice",
    "credit_note",
    "receipt",
    "reminder",
    "contract",
    "insurance",
    "lease",
    "bank_statement",
    "payslip",
    "tax_notice",
    "letter",
    "delivery_note",
    "table",
    "note",
    "calendar",
    "contact_card",
    "mail_body",
}
LEVELS = {"oeffentlich", "intern", "vertraulich", "streng_vertraulich"}
MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "en": "January February March April May June July August September October November December",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
}


def _yaml(name: str) -> dict[str, Any]:
    return yaml.safe_load((SAMPLES / name).read_text(encoding="utf-8"))


ORGANISATION = _yaml("organisation.yaml")
FILES: list[dict[str, Any]] = _yaml("expected.yaml")["files"]
QUESTIONS: list[dict[str, Any]] = _yaml("questions.yaml")["questions"]


# --- reading, one function per format -----------------------------------------------------------


def _pdf(data: bytes, password: str | None = None) -> str:
    document = pypdfium2.PdfDocument(data, password=password)
    try:
        return "\n".join(page.get_textpage().get_text_range() for page in document)
    finally:
        document.close()


def _txt(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _docx(data: bytes) -> str:
    with docx2python.docx2python(BytesIO(data)) as document:
        return document.text


def _xlsx(data: bytes) -> str:
    book = openpyxl.load_workbook(BytesIO(data), read_only=True)
    rows = (row for sheet in book.worksheets for row in sheet.iter_rows(values_only=True))
    return "\n".join(" ".join(str(value) for value in row) for row in rows)


def _ods(data: bytes) -> str:
    book = python_calamine.CalamineWorkbook.from_filelike(BytesIO(data))
    rows = (row for name in book.sheet_names for row in book.get_sheet_by_name(name).to_python())
    return "\n".join(" ".join(str(value) for value in row) for row in rows)


def _jpg(data: bytes) -> str:
    with Image.open(BytesIO(data)) as photo:
        photo.load()
    return ""


def _ics(data: bytes) -> str:
    calendar = icalendar.Calendar.from_ical(data.decode("utf-8"))
    (event,) = calendar.walk("VEVENT")
    return "\n".join(str(event[field]) for field in ("SUMMARY", "LOCATION", "DESCRIPTION"))


def _vcf(data: bytes) -> str:
    text = data.decode("utf-8")
    assert text.startswith("BEGIN:VCARD\r\n")
    assert text.endswith("END:VCARD\r\n")
    return text


def _mp3(data: bytes) -> str:
    assert data.startswith(b"ID3")
    return ""


def _eml(data: bytes) -> str:
    texts = [
        part.get_content() if part.get_content_maintype() == "text" else _pdf(part.get_content())
        for _, part in _leaves(_message(data))
        if part.get_content_type() in ("text/plain", "application/pdf")
    ]
    return "\n".join(texts)


READERS: dict[str, Callable[[bytes], str]] = {
    ".pdf": _pdf,
    ".txt": _txt,
    ".csv": _txt,
    ".xml": _txt,
    ".docx": _docx,
    ".xlsx": _xlsx,
    ".ods": _ods,
    ".rtf": lambda data: rtf_to_text(data.decode("ascii")),
    ".html": lambda data: inscriptis.get_text(data.decode("utf-8")),
    ".jpg": _jpg,
    ".ics": _ics,
    ".vcf": _vcf,
    ".mp3": _mp3,
    ".eml": _eml,
}


def _read(path: Path) -> str:
    text = READERS[path.suffix](path.read_bytes())
    return re.sub(r"[ \u00a0\u202f]+", " ", text.replace("\r\n", "\n"))


def _message(data: bytes) -> EmailMessage:
    message = email.message_from_bytes(data, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def _leaves(message: EmailMessage, inside: str = "") -> Iterator[tuple[str, EmailMessage]]:
    """Every leaf with the type of the message part it is wrapped in."""
    for part in message.iter_parts() if message.is_multipart() else ():
        assert isinstance(part, EmailMessage)
        if part.get_content_type() == "message/rfc822":
            yield from _leaves(part.get_content(), "message/rfc822")
        elif part.is_multipart():
            yield from _leaves(part, inside)
        else:
            yield inside, part
    if not message.is_multipart():
        yield inside, message


def _opens_without_help(entry: dict[str, Any]) -> bool:
    return entry.get("reason") not in ("empty", "broken", "encrypted")


def _path(entry: dict[str, Any]) -> Path:
    return SAMPLES / entry["path"]


def _name(entry: dict[str, Any]) -> str:
    return Path(entry["path"]).name


READABLE = [entry for entry in FILES if _opens_without_help(entry)]


# --- the list ------------------------------------------------------------------------------------


def test_the_inbox_holds_exactly_the_expected_files() -> None:
    found = {
        path.relative_to(SAMPLES).as_posix()
        for path in (SAMPLES / "inbox").rglob("*")
        if path.is_file()
    }
    assert found == {entry["path"] for entry in FILES}
    assert len(FILES) == len(found)


def test_the_inbox_stays_small() -> None:
    assert sum(_path(entry).stat().st_size for entry in FILES) <= 2_500_000


def test_names_are_composed_unicode() -> None:
    assert all(unicodedata.is_normalized("NFC", entry["path"]) for entry in FILES)


@pytest.mark.parametrize("entry", FILES, ids=_name)
def test_an_entry_speaks_of_known_things_only(entry: dict[str, Any]) -> None:
    entities = {item["slug"]: item["mandant"] for item in ORGANISATION["entities"]}
    projects = {item["project_code"] for item in ORGANISATION["projects"]}
    tenant = entry["path"].split("/")[1]
    assert entry["mandant"] == tenant
    assert entry["outcome"] in OUTCOMES
    if entry["outcome"] in ("parked", "set_apart"):
        assert entry["reason"]
    if entry["outcome"] == "blocked":
        assert entry["rule"] in {rule["id"] for rule in ORGANISATION["routing_rules"]}
    for part in [entry, *entry.get("parts", [])]:
        if part is not entry:
            assert part["outcome"] in PART_OUTCOMES
        if part["outcome"] in ("entered", "body_only"):
            assert part["doc_type"] in DOC_TYPES
            assert part["entity_from"] in ("content", "hint")
            assert entities[part["entity"]] == entry["mandant"]
        assert set(part.get("fields", {})) <= set(Field)
        assert part.get("level", "intern") in LEVELS
        assert part.get("project") in {None, *projects}


def test_equal_bytes_are_the_named_pairs_and_no_others() -> None:
    seen: dict[bytes, list[str]] = {}
    for entry in FILES:
        seen.setdefault(_path(entry).read_bytes(), []).append(entry["path"])
    pairs = {frozenset(paths) for paths in seen.values() if len(paths) > 1}
    named = {
        frozenset((entry["path"], entry["same_bytes_as"]))
        for entry in FILES
        if "same_bytes_as" in entry
    }
    assert pairs == named


def test_a_note_lies_beside_the_file_it_speaks_of() -> None:
    notes = [entry for entry in FILES if entry["outcome"] == "intent"]
    assert len(notes) == 2
    for note in notes:
        assert note["path"] == note["intent_for"] + ".intent.txt"
        assert (SAMPLES / note["intent_for"]).is_file()
        assert _read(_path(note)).strip()


# --- the files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", READABLE, ids=_name)
def test_a_file_opens_and_has_the_promised_kind_of_text(entry: dict[str, Any]) -> None:
    text = _read(_path(entry))
    kind = entry.get("text", "native")
    if kind in ("text_layer", "native"):
        assert len(text.strip()) > 40
    else:
        assert text.strip() == ""


@pytest.mark.parametrize("entry", [e for e in READABLE if e.get("text") == "ocr"], ids=_name)
def test_a_picture_has_ink_on_it(entry: dict[str, Any]) -> None:
    data = _path(entry).read_bytes()
    if _path(entry).suffix == ".pdf":
        page = pypdfium2.PdfDocument(data)[0].render(scale=1).to_pil()
    else:
        page = ImageOps.exif_transpose(Image.open(BytesIO(data)))
    pixels = np.asarray(page.convert("L"))
    assert pixels.std() > 10
    assert 0.001 < (pixels < 110).mean() < 0.6


def test_the_photo_lies_on_its_side_until_its_exif_is_obeyed() -> None:
    with Image.open(SAMPLES / "inbox/nordwind/nordwind-gmbh/image.jpg") as photo:
        turned = ImageOps.exif_transpose(photo)
        assert photo.getexif()[0x0112] == 6
        assert turned.size == photo.size[::-1]


def test_the_locked_statement_opens_with_its_password_only() -> None:
    (entry,) = [entry for entry in FILES if entry.get("reason") == "encrypted"]
    with pytest.raises(pikepdf.PasswordError):
        pikepdf.open(_path(entry))
    assert "18.204,33" in _pdf(_path(entry).read_bytes(), entry["password"])


def test_broken_and_empty_files_are_what_they_claim() -> None:
    by_reason = {entry["reason"]: _path(entry) for entry in FILES if "reason" in entry}
    assert by_reason["empty"].stat().st_size == 0
    assert by_reason["broken"].read_bytes().startswith(b"%PDF-")
    with pytest.raises(pikepdf.PdfError):
        pikepdf.open(by_reason["broken"])


@pytest.mark.parametrize("entry", [e for e in FILES if "parts" in e], ids=_name)
def test_a_mail_has_the_parts_that_are_listed(entry: dict[str, Any]) -> None:
    message = _message(_path(entry).read_bytes())
    found = {(part.get_filename(), inside) for inside, part in _leaves(message)}
    listed = {(part["name"], part.get("inside", "")) for part in entry["parts"]}
    assert {leaf for leaf in found if leaf[0]} == listed


def test_the_inline_mail_refers_to_its_logo_and_not_to_its_pdf() -> None:
    mail = SAMPLES / "inbox/nordwind/_unsorted/Mail_Beitragsrechnung_inline.eml"
    leaves = [part for _, part in _leaves(_message(mail.read_bytes()))]
    (page,) = [part.get_content() for part in leaves if part.get_content_subtype() == "html"]
    inline = {
        part.get_content_subtype(): (part["Content-ID"] or "").strip("<>")
        for part in leaves
        if part.get_content_disposition() == "inline"
    }
    assert f"cid:{inline['png']}" in page
    assert inline["pdf"] == ""


def test_mails_use_crlf_and_carry_identity() -> None:
    for entry in FILES:
        if entry["path"].endswith(".eml"):
            data = _path(entry).read_bytes()
            assert b"\n" not in data.replace(b"\r\n", b"")
            message = _message(data)
            assert all(message[name] for name in ("From", "To", "Date", "Message-ID"))


# --- the truth of expected.yaml stands on the paper ----------------------------------------------


def _amounts(value: str) -> set[str]:
    english = f"{Decimal(value):,.2f}"
    swapped = english.translate(str.maketrans(",.", ".,"))
    return {english, english.replace(",", ""), swapped, swapped.replace(".", " ")}


def _days(value: date, language: str) -> set[str]:
    month = MONTHS[language].split()[value.month - 1]
    day = f"{value.day}" if value.day > 1 or language not in ("fr", "it") else "1[er°]+"
    return {
        value.strftime(r"%d\.%m\.%Y"),
        value.strftime("%d/%m/%Y"),
        value.isoformat(),
        rf"{day}\.? {month} {value.year}",
    }


def _claims() -> Iterator[Any]:
    for entry in READABLE:
        for part in [entry, *entry.get("parts", [])]:
            if part.get("text") in ("text_layer", "native") and "fields" in part:
                yield pytest.param(entry, part, id=part.get("name", _name(entry)))


@pytest.mark.parametrize(("entry", "part"), list(_claims()))
def test_the_expected_values_can_be_read_in_the_text(
    entry: dict[str, Any], part: dict[str, Any]
) -> None:
    text = re.sub(r"\s+", " ", _read(_path(entry)))
    for field, value in part["fields"].items():
        if field.startswith("amount_") and value != "0.00":
            assert any(form in text for form in _amounts(value)), field
        elif isinstance(value, date):
            forms = _days(value, part["language"])
            assert any(re.search(form, text) for form in forms), field
        elif field == "provider" or field.endswith("_number"):
            assert value in text, field


def test_amounts_add_up() -> None:
    parts = [part for entry in FILES for part in [entry, *entry.get("parts", [])]]
    sums = [part["fields"] for part in parts if "amount_net" in part.get("fields", {})]
    assert len(sums) > 12
    for fields in sums:
        net, tax = Decimal(fields["amount_net"]), Decimal(fields["amount_tax"])
        assert net + tax == Decimal(fields["amount_gross"])


def _fields(name: str) -> dict[str, Any]:
    (entry,) = [entry for entry in FILES if _name(entry) == name]
    return entry["fields"]


def test_the_hybrid_invoice_carries_valid_xml_with_the_printed_sums() -> None:
    name = "Rechnung_Lichtwerk_LW-26-1107.pdf"
    pdf = (SAMPLES / "inbox/nordwind/nordwind-gmbh" / name).read_bytes()
    file_name, xml = get_xml_from_pdf(pdf)
    assert file_name == "factur-x.xml"
    assert isinstance(xml, bytes)
    assert xml_check_xsd(xml, flavor="factur-x", level="en16931")
    for field in ("amount_net", "amount_tax", "amount_gross", "invoice_number"):
        assert f">{_fields(name)[field]}<" in xml.decode("utf-8")


def test_the_bare_invoice_adds_up_line_by_line() -> None:
    name = "BK-2026-5581.xml"
    text = _read(SAMPLES / "inbox/nordwind/nordwind-gmbh" / name)
    amounts = re.findall(r"LineExtensionAmount[^>]*>([\d.]+)<", text)
    assert len(amounts) == 4
    assert amounts[0] == _fields(name)["amount_net"]
    assert sum(map(Decimal, amounts[1:])) == Decimal(amounts[0])
    assert f">{_fields(name)['amount_gross']}</cbc:PayableAmount>" in text


def test_the_bank_statement_balances() -> None:
    text = _read(SAMPLES / "inbox/nordwind/nordwind-gmbh/Umsaetze_2026-04.csv")
    head, *rows = [line.split(";") for line in text.splitlines()[5:]]
    assert head[-2:] == ["Betrag", "Saldo"]
    balance = _german(re.search(r"Anfangssaldo;([\d.,]+) EUR", text))
    for row in rows:
        balance += Decimal(row[-2].replace(".", "").replace(",", "."))
        assert balance == Decimal(row[-1].replace(".", "").replace(",", "."))


def _german(match: re.Match[str] | None) -> Decimal:
    assert match is not None
    return Decimal(match[1].replace(".", "").replace(",", "."))


# --- identifiers ---------------------------------------------------------------------------------


def _vat_ok(number: str) -> bool:
    return gb_vat.is_valid(number[2:]) if number.startswith("GB") else vat.is_valid(number)


def test_the_organisation_has_valid_identifiers() -> None:
    for entity in ORGANISATION["entities"]:
        assert all(_vat_ok(number) for number in entity["vat_ids"])
        assert all(IBAN(number).country_code == entity["country"] for number in entity["ibans"])
        assert entity["siren"] is None or siren.is_valid(entity["siren"])
    for account in ORGANISATION["md_accounts"]:
        (owner,) = [e for e in ORGANISATION["entities"] if e["slug"] == account["entity"]]
        assert account["iban"] in owner["ibans"]


def test_references_inside_the_organisation_resolve() -> None:
    tenants = {item["slug"] for item in ORGANISATION["mandanten"]}
    entities = {item["slug"] for item in ORGANISATION["entities"]}
    assert (len(tenants), len(entities)) == (2, 3)
    assert {item["mandant"] for item in ORGANISATION["entities"]} == tenants
    assert {item["entity"] for item in ORGANISATION["projects"]} <= entities
    roles = [role for user in ORGANISATION["users"] for role in user["roles"]]
    assert {role["mandant"] for role in roles} == tenants
    assert {role["role"] for role in roles} == {
        "super_admin",
        "mandant_admin",
        "editor",
        "viewer",
    }
    assert {role["ceiling"] for role in roles} <= {None, *LEVELS}


_IBAN_REST = {"DE": 18, "FR": 23, "GB": 18, "IT": 23, "KZ": 16}
_IBAN = re.compile(
    "|".join(rf"\b{c}\d\d(?:\s?[A-Z0-9]){{{rest}}}\b" for c, rest in _IBAN_REST.items())
)
_VAT = re.compile(r"\b(?:DE\d{9}|FR\d{11}|GB\d{9}|IT\d{11})\b(?! ?\d)")
_SIRET = re.compile(r"SIRET[^\d\n]{1,12}(\d{3} \d{3} \d{3} \d{5})")


def test_every_printed_identifier_has_valid_check_digits() -> None:
    text = "\n".join(_read(_path(entry)) for entry in READABLE)
    ibans = set(_IBAN.findall(text))
    vats = set(_VAT.findall(text))
    sirets = set(_SIRET.findall(text))
    assert len(ibans) >= 12
    assert len(vats) >= 12
    assert sirets
    for number in ibans:
        IBAN(number, validate_bban=number[:2] in ("FR", "IT"))
    assert [number for number in vats if not _vat_ok(number)] == []
    assert [number for number in sirets if not siret.is_valid(number)] == []


def test_mail_addresses_are_in_the_reserved_domain() -> None:
    text = "\n".join(_read(_path(entry)) for entry in READABLE)
    text += (SAMPLES / "organisation.yaml").read_text(encoding="utf-8")
    addresses = set(re.findall(r"[\w.+-]+@[\w.-]+\.\w+", text))
    assert len(addresses) > 10
    assert [address for address in addresses if not address.endswith(".example")] == []


# --- questions -----------------------------------------------------------------------------------


def test_questions_are_complete() -> None:
    assert len({question["id"] for question in QUESTIONS}) == 12
    for question in QUESTIONS:
        assert list(question["ask"]) == ["de", "fr", "en", "it", "ru"]
        assert question["in"] in question["ask"]
        assert (question["files"] == []) == (question["answer"] is None)
    assert sum(question["files"] == [] for question in QUESTIONS) == 1
    demo = [question["in"] for question in QUESTIONS if question["demo"]]
    assert sorted(demo) == ["de", "fr"]
    assert {question["in"] for question in QUESTIONS} == {"de", "fr", "en", "it", "ru"}
    assert any(q["in"] == "de" and q["documents_in"] == ["fr"] for q in QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_a_question_can_be_answered_by_its_files_and_its_asker(question: dict[str, Any]) -> None:
    (user,) = [user for user in ORGANISATION["users"] if user["login"] == question["as"]]
    assert question["mandant"] in {role["mandant"] for role in user["roles"]}
    for hit in question["files"]:
        (entry,) = [entry for entry in FILES if entry["path"] == hit["path"]]
        assert entry["mandant"] == question["mandant"]
        parts = {part["name"]: part for part in entry.get("parts", [])}
        answering = parts[hit["part"]] if "part" in hit else entry
        assert answering["language"] in question["documents_in"]


# --- the generator -------------------------------------------------------------------------------


def _build(out: Path) -> dict[str, bytes]:
    command = [sys.executable, str(SAMPLES / "build.py"), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    }


def test_the_generator_repeats_itself_and_says_what_is_committed(tmp_path: Path) -> None:
    first, second = _build(tmp_path / "first"), _build(tmp_path / "second")
    assert first == second
    assert {f"inbox/{path}" for path in first} == {entry["path"] for entry in FILES}
    for entry in READABLE:
        written = tmp_path / "first" / entry["path"].removeprefix("inbox/")
        assert _read(written) == _read(_path(entry)), entry["path"]
