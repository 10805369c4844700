"""Transfer encodings and body text under breakage (known faults 52, 56, 73)."""

from __future__ import annotations

import base64
import binascii

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mailbuild import PDF, TEXT, html, mail, multipart, part

from tgv_dagster.arrive.mime import DefectKind, Limits, split
from tgv_dagster.arrive.mime_text import rtf_text
from tgv_dagster.arrive.mime_wire import undo_transfer


class TestBase64:
    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=400), st.integers(1, 90), st.sampled_from([b"\r\n", b"\n", b" \r\n"]))
    def test_any_line_length_and_line_end(self, content: bytes, width: int, end: bytes):
        encoded = base64.b64encode(content)
        lines = end.join(encoded[i : i + width] for i in range(0, len(encoded), width))
        assert undo_transfer(lines, b"base64").content == content

    @settings(max_examples=200, deadline=None)
    @given(st.binary(min_size=1, max_size=200))
    def test_missing_padding(self, content: bytes):
        encoded = base64.b64encode(content).rstrip(b"=")
        assert undo_transfer(encoded, b"base64").content == content

    @pytest.mark.parametrize("stray", [b"=", b"==", b"\r\n=\r\n", b"===="])
    def test_stray_padding_at_the_end_is_left_out(self, stray: bytes):
        encoded = base64.b64encode(PDF + b"x" * (-len(PDF) % 3))
        found = undo_transfer(encoded + stray, b"base64")
        assert found.content.startswith(PDF)
        assert not found.clean

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.binary(min_size=1, max_size=40), min_size=2, max_size=5))
    def test_padding_in_the_middle_does_not_end_the_content(self, pieces: list[bytes]):
        encoded = b"\r\n".join(base64.b64encode(piece) for piece in pieces)
        assert undo_transfer(encoded, b"base64").content == b"".join(pieces)

    def test_a_footer_behind_the_end_is_left_out(self):
        encoded = base64.encodebytes(PDF + b"!" * (1 - len(PDF) % 3 + 3))
        found = undo_transfer(encoded + b"-- \r\nMailing list footer\r\nRegards\r\n", b"base64")
        assert found.content == base64.decodebytes(encoded)
        assert not found.clean

    def test_foreign_characters_are_left_out_and_reported(self):
        encoded = base64.encodebytes(PDF * 3).replace(b"\n", b"!\n", 1)
        found = undo_transfer(encoded, b"base64")
        assert found.content == PDF * 3
        assert not found.clean

    def test_a_text_that_was_never_encoded_is_the_text(self):
        found = undo_transfer(b"Sehr geehrte Damen und Herren,\r\nanbei.\r\n", b"base64")
        assert found.content.startswith(b"Sehr geehrte")
        assert not found.clean

    def test_a_damaged_attachment_is_kept_and_reported(self):
        body = base64.encodebytes(PDF).rstrip() + b"="
        entity = part("application/pdf; name=a.pdf", body, "Content-Transfer-Encoding: base64")
        found = split(mail(multipart("mixed", TEXT, entity)))
        assert found.leaves[1].content.startswith(b"%PDF-1.4")
        assert found.has_defect(DefectKind.BAD_TRANSFER_ENCODING)


class TestQuotedPrintable:
    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=200))
    def test_what_was_encoded_comes_back(self, content: bytes):
        encoded = binascii.b2a_qp(content, quotetabs=True, istext=False)
        assert undo_transfer(encoded, b"Quoted-Printable").content == content

    def test_space_added_behind_a_soft_line_break_is_no_matter(self):
        assert (
            undo_transfer(b"eins = \r\nzwei\r\n", b"quoted-printable").content == b"eins zwei\r\n"
        )

    def test_wrong_escapes_stay_as_text(self):
        assert undo_transfer(b"1=2 =ZZ =", b"quoted-printable").content.startswith(b"1=2 =ZZ ")


@pytest.mark.parametrize("label", ["7bit", "7-bit", "8 Bit;", "binary", "plain", "", "NONE"])
def test_identity_encodings_pass_through(label: str):
    found = undo_transfer(b"a=3D\r\n", label.encode())
    assert (found.content, found.clean, found.known) == (b"a=3D\r\n", True, True)


@pytest.mark.parametrize("label", ["base9000", "x-klingon"])
def test_unknown_encodings_pass_through_with_a_finding(label: str):
    found = split(mail(part("text/plain", b"Hallo", f"Content-Transfer-Encoding: {label}")))
    assert found.body_text == "Hallo"
    assert found.has_defect(DefectKind.UNKNOWN_TRANSFER_ENCODING)


@pytest.mark.parametrize("label", ["Base64", "base64;", '"base64"', "b64", "BASE 64"])
def test_base64_however_it_is_spelled(label: str):
    assert undo_transfer(base64.b64encode(PDF), label.encode()).content == PDF


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"base64", b"quoted-printable", b"x-uuencode"]))
def test_no_bytes_make_a_decoder_raise(raw: bytes, label: bytes):
    undo_transfer(raw, label)


class TestBodyText:
    def test_html_is_laid_out_as_text(self):
        table = "<table><tr><td>Netto</td><td>100 €</td></tr></table><script>x()</script>"
        found = split(mail(html(table)))
        assert found.body_text.split() == ["Netto", "100", "€"]

    @pytest.mark.parametrize("depth", [300, 5_000, 100_000])
    def test_deeply_nested_html_still_gives_its_text(self, depth: int):
        found = split(mail(html("<div>" * depth + "Betrag 100" + "</div>" * depth)))
        assert found.body_text == "Betrag 100"
        assert found.has_defect(DefectKind.HTML_TOO_DEEP)

    def test_html_without_any_text_is_empty_and_not_an_error(self):
        assert split(mail(html("<!-- nichts -->"))).body_text == ""

    def test_long_html_is_cut_with_a_finding(self):
        found = split(mail(html("<p>Absatz</p>" * 1_000)), Limits(html=2_000))
        assert found.body_text.startswith("Absatz")
        assert found.has_defect(DefectKind.BODY_TEXT_TRUNCATED)

    def test_long_text_is_cut_with_a_finding(self):
        found = split(mail(part("text/plain", b"a" * 500)), Limits(body_text=100))
        assert len(found.body_text) == 100
        assert found.has_defect(DefectKind.BODY_TEXT_TRUNCATED)
        assert found.leaves[0].size == 500

    @pytest.mark.parametrize(
        "piece",
        ["http://", "<a href=", "<table><tr><td>", "<tr><td>a<td>b", "&amp", "cid:", "src='", "<"],
    )
    @pytest.mark.timeout(60)
    def test_hostile_bodies_end_in_bounded_time(self, piece: str):
        found = split(mail(html(piece * (1_000_000 // len(piece)))))
        assert [leaf.role.value for leaf in found.leaves] == ["body"]

    def test_hostile_tables_are_read_without_layout(self):
        wide = "<table><tr>" + "<td>a" * 3_000 + "</tr>" + "<tr><td>b" * 20_000 + "</table>"
        found = split(mail(html(wide)))
        assert found.body_text.startswith("a")
        assert found.has_defect(DefectKind.HTML_TOO_LARGE)

    @pytest.mark.timeout(60)
    @pytest.mark.parametrize(
        "piece",
        [
            "{\\fonttbl\\f1\\fcharset2 ",
            '{\\field{\\*\\fldinst{HYPERLINK "',
            "{\\*",
            "\\'fc",
            "{\\pict ",
        ],
    )
    def test_hostile_rtf_ends_in_bounded_time(self, piece: str):
        found = rtf_text(("{\\rtf1" + piece * (900_000 // len(piece))).encode())
        assert found.defect in (None, DefectKind.RTF_UNREADABLE)

    def test_rtf_follows_its_fonts(self):
        fonts = r"{\fonttbl{\f0\fswiss\fcharset0 A;}{\f1\fnil\fcharset204{\*\panose 02}B;}}"
        found = rtf_text((r"{\rtf1\ansi" + fonts + r"\f0 Gr\'fc\'dfe \f1\'cf\'f0}").encode())
        assert found.text == "Grüße Пр"

    def test_zero_bytes_do_not_reach_the_text(self):
        assert split(mail(part("text/plain", b"a\0b"))).body_text == "ab"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--bx" * 1_000_000,
        b"Content-Type: a/b;" + b' x=";' * 20_000 + b"\r\n\r\n",
        b"To: " + b"(<:" * 20_000 + b"\r\n\r\n",
        b"Subject: " + b"=?utf-8?q?a?" * 20_000 + b"\r\n\r\n",
        b"Content-Transfer-Encoding: base64\r\n\r\n" + b"AA==\n" * 400_000,
    ],
    ids=["boundaries", "parameters", "addresses", "words", "padding"],
)
def test_hostile_grammar_ends_in_bounded_time(raw: bytes):
    found = split(raw)
    assert len(found.leaves) == 1
    assert not found.has_defect(DefectKind.SPLITTER_FAILED)
