"""File names, header words and charsets of mails (known faults 44, 46, 47, 49, 50, 53, 55)."""

from __future__ import annotations

import base64
import email.policy
from email.message import EmailMessage
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mailbuild import PDF, TEXT, mail, multipart, part

from tgv_dagster.arrive.mime import DefectKind, safe_name, split
from tgv_dagster.arrive.mime_charsets import codec_of, decode
from tgv_dagster.arrive.mime_names import decode_header_text, read_parameters

# What a header can carry: no controls, no lone surrogates, no outer space or byte order mark.
NAMES = (
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=80)
    .map(lambda name: name.strip(" \ufeff"))
    .filter(bool)
)


def name_of(*headers: str | bytes) -> str:
    """The name that a PDF part with the given header lines gets."""
    lines = [line if isinstance(line, bytes) else line.encode("utf-8") for line in headers]
    entity = b"Content-Type: application/pdf\r\n" + b"\r\n".join(lines) + b"\r\n\r\n" + PDF
    return split(mail(multipart("mixed", TEXT, entity))).leaves[1].filename


@settings(max_examples=150, deadline=None)
@given(NAMES)
@example("Rechnung/Anlage.pdf")
@example('mit "Anführung" und \\ Strich.pdf')
def test_names_written_by_the_standard_library_come_back(name: str):
    message = EmailMessage(policy=email.policy.SMTP)
    message.set_content("x")
    message.add_attachment(PDF, maintype="application", subtype="pdf", filename=name)
    assert split(message.as_bytes()).leaves[1].filename == name


@settings(max_examples=150, deadline=None)
@given(NAMES, st.integers(min_value=4, max_value=40))
def test_names_in_numbered_sections_come_back(name: str, width: int):
    encoded = quote(name, safe="")
    # Cut anywhere but inside an escape: writers cut between octets, not between characters.
    octets = [encoded[i : i + 3] if encoded[i] == "%" else encoded[i] for i in _starts(encoded)]
    pieces = ["".join(octets[i : i + width]) for i in range(0, len(octets), width)]
    sections = "; ".join(
        f"filename*{number}*={'UTF-8' + chr(39) * 2 if number == 0 else ''}{piece}"
        for number, piece in enumerate(pieces)
    )
    assert name_of(f"Content-Disposition: attachment; {sections}") == name


def _starts(encoded: str) -> list[int]:
    found, position = [], 0
    while position < len(encoded):
        found.append(position)
        position += 3 if encoded[position] == "%" else 1
    return found


@settings(max_examples=150, deadline=None)
@given(NAMES, st.integers(min_value=1, max_value=30))
@example("Fußball/Größe über alles €.pdf", 1)
def test_names_in_encoded_words_come_back_wherever_the_octets_were_cut(name: str, width: int):
    raw = name.encode("utf-8")
    chunks = [raw[i : i + width] for i in range(0, len(raw), width)]
    words = " ".join(f"=?UTF-8?B?{base64.b64encode(one).decode()}?=" for one in chunks)
    assert decode_header_text(words.encode()) == name


@settings(max_examples=100, deadline=None)
@given(NAMES.filter(lambda name: not set(name) & set('"\\') and "=?" not in name))
def test_raw_utf8_names_come_back(name: str):
    decoded = name_of(f'Content-Disposition: attachment; filename="{name}"')
    assert decoded == name


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("filename*0*=UTF-8''%47r%C3; filename*1*=%BC; filename*2=n.pdf", "Grün.pdf"),
        ("filename*1*=%fc.pdf; filename*0*=windows-1252''M", "Mü.pdf"),
        ("filename*=windows-1252'de'%fc.pdf; filename=u.pdf", "ü.pdf"),
        ('filename*0="=?utf-8?B?w7w="; filename*1="?=.pdf"', "ü.pdf"),
        ("filename=utf-8''%c3%bc.pdf", "ü.pdf"),
        ('filename="=?iso-8859-1?Q?=FCber_uns=2Epdf?="', "über uns.pdf"),
        ("filename==?utf-8?Q?=C3=BC.pdf?=", "ü.pdf"),
        ("filename=ohne Anführung 1.pdf", "ohne Anführung 1.pdf"),
        ("filename=eins; zwei.pdf", "eins; zwei.pdf"),
        ('filename="sagt "hallo".pdf"; size=3', 'sagt "hallo".pdf'),
        ('filename="nie geschlossen.pdf', "nie geschlossen.pdf"),
        ('filename="C:\\Temp\\a.pdf"', "C:\\Temp\\a.pdf"),
        ('size=12 filename="a b.pdf"', "a b.pdf"),
        ("FILENAME=a.pdf", "a.pdf"),
        ('filename=""; name="b.pdf"', "b.pdf"),
        ('filename="=?x-unknown?B?YS5wZGY=?="', "a.pdf"),
        ('filename="=?utf-8?B?YS5wZGY?="', "a.pdf"),
        ('filename="=?utf-8?B?YS5wZGY=="', "=?utf-8?B?YS5wZGY=="),
    ],
)
def test_names_as_mailers_write_them(header: str, name: str):
    assert name_of(f"Content-Disposition: attachment; {header}") == name


def test_the_name_of_the_type_counts_when_the_disposition_has_none():
    entity = part(
        'application/pdf; name="=?utf-8?q?=C3=9C.pdf?="', PDF, "Content-Disposition: inline"
    )
    assert split(mail(multipart("mixed", TEXT, entity))).leaves[1].filename == "Ü.pdf"


def test_a_raw_legacy_name_is_read_by_the_charset_the_mail_declares():
    text = part("text/plain; charset=windows-1251", "Привет".encode("cp1251"))
    named = (
        b'Content-Type: application/pdf; name="' + "счёт.pdf".encode("cp1251") + b'"\r\n\r\n' + PDF
    )
    leaf = split(mail(multipart("mixed", text, named))).leaves[1]
    assert leaf.filename == "счёт.pdf"
    assert leaf.raw_name == "счёт.pdf".encode("cp1251")


def test_a_raw_legacy_name_without_any_hint_is_western():
    assert (
        name_of(b'Content-Disposition: attachment; filename="\xdcbersicht.pdf"') == "Übersicht.pdf"
    )


class TestSafeName:
    @pytest.mark.parametrize(
        ("name", "safe"),
        [
            ("../../etc/passwd", "passwd"),
            ("C:\\Temp\\a.pdf", "a.pdf"),
            ("..", "unnamed"),
            ("", "unnamed"),
            ("a\u202efdp.exe", "a_fdp.exe"),
            ("a\nb.pdf", "a_b.pdf"),
            ("Übersicht 2024.pdf", "Übersicht 2024.pdf"),
        ],
    )
    def test_one_harmless_component(self, name: str, safe: str):
        assert safe_name(name) == safe

    @settings(max_examples=200, deadline=None)
    @given(st.text(max_size=400))
    def test_it_is_never_a_path_and_never_too_long(self, name: str):
        safe = safe_name(name)
        assert safe not in ("", ".", "..")
        assert not set(safe) & set("/\\\0\n\r")
        assert len(safe.encode("utf-8", "replace")) <= 200

    def test_the_extension_survives_the_cut(self):
        assert safe_name("ü" * 300 + ".pdf").endswith("ü.pdf")


class TestCharsets:
    @pytest.mark.parametrize(
        ("label", "codec"),
        [
            ("cp-850", "cp850"),
            ("utf-8 euao6", "utf-8"),
            ("windows-874", "cp874"),
            ("_iso-2022-jp$esc", "iso2022_jp_ext"),
            ("ks_c_5601-1987", "cp949"),
            ("ISO8859_15", "iso8859-15"),
            ("iso-8859-8-i", "iso8859-8"),
            ("x-mac-roman", "mac-roman"),
            ("unicode-1-1-utf-7", "utf-7"),
            ("US-ASCII", "utf-8"),
            ('"UTF8"', "utf-8"),
            ("windows-1252http-equiv", "cp1252"),
        ],
    )
    def test_labels_found_in_mail(self, label: str, codec: str):
        assert codec_of(label) == codec

    @pytest.mark.parametrize(
        "label", ["7bit", "base64", "rot13", "idna", "unicode_escape", "x\0", "klingon", "", "ä"]
    )
    def test_labels_that_name_no_charset(self, label: str):
        assert codec_of(label) is None

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=80), st.one_of(st.none(), st.text(max_size=15)))
    def test_decoding_never_fails_and_gives_storable_text(self, raw: bytes, label: str | None):
        decode(raw, label).text.encode("utf-8")

    @settings(max_examples=100, deadline=None)
    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
    def test_utf8_comes_back_without_a_label(self, text: str):
        if not text.startswith("\ufeff") and "\x1b" not in text:
            assert decode(text.encode("utf-8"), None).text == text

    @pytest.mark.parametrize("label", [None, "us-ascii", "utf-8", "7bit", "x-unknown"])
    def test_western_bytes_without_a_true_label_are_windows_1252(self, label: str | None):
        assert decode("Größe € 5".encode("cp1252"), label).text == "Größe € 5"

    @pytest.mark.parametrize("label", ["iso-8859-1", "windows-1252", "us-ascii", "gb2312"])
    def test_utf8_under_a_wrong_label_is_still_utf8(self, label: str):
        assert decode("Größe für Österreich".encode(), label).text == "Größe für Österreich"

    def test_latin_1_labels_mean_windows_1252(self):
        assert decode(b"\x80 5", "iso-8859-1").text == "€ 5"

    def test_a_cut_character_does_not_cost_the_rest(self):
        text = "Grüße aus München und Köln"
        assert decode(text.encode()[:-1] + b"\xc3", "utf-8").text.startswith("Grüße aus München")

    def test_an_unknown_label_loses_no_mail_and_is_reported(self):
        entity = part("text/plain; charset=x-klingon", "Größe".encode("cp1252"))
        found = split(mail(entity))
        assert found.body_text == "Größe"
        assert found.has_defect(DefectKind.UNKNOWN_CHARSET)

    def test_umlauts_in_quoted_printable_without_a_charset(self):
        entity = part("text/plain", b"Gr=F6=DFe", "Content-Transfer-Encoding: quoted-printable")
        assert split(mail(entity)).body_text == "Größe"

    def test_html_may_declare_its_charset_itself(self):
        page = '<meta charset="iso-8859-2"><p>Łódź</p>'.encode("iso-8859-2")
        assert split(mail(part("text/html", page))).body_text == "Łódź"


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_parameters_are_read_from_any_bytes(raw: bytes):
    read = read_parameters(raw)
    assert read.text.keys() == read.raw.keys()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"=?", b"?=", b"utf-8?b?", b"utf-8?q?", b"w7w=", b" ", b"a"])))
def test_broken_words_are_read_as_text(pieces: list[bytes]):
    decode_header_text(b"".join(pieces)).encode("utf-8")
