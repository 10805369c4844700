"""What the headers of a mail say (MAIL-58 to MAIL-60, known faults 34, 58, 59, 74)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mailbuild import PDF, TEXT, base64_part, mail, multipart

from tgv_dagster.arrive.mime import Address, DefectKind, MailHeaders, split
from tgv_dagster.arrive.mime_headers import read_addresses, read_date


def headers(*lines: str | bytes) -> MailHeaders:
    raw = [line if isinstance(line, bytes) else line.encode("utf-8") for line in lines]
    return split(b"\r\n".join(raw) + b"\r\n\r\nText").headers


class TestThread:
    def test_an_absent_header_is_none(self):
        found = headers("From: a@example.org")
        assert found.in_reply_to is None
        assert found.references is None
        assert found.message_id is None
        assert found.subject is None

    def test_a_header_without_an_id_is_empty_and_not_absent(self):
        found = headers("In-Reply-To: your mail of Monday", "References:")
        assert found.in_reply_to == ()
        assert found.references == ()

    def test_ids_stand_without_brackets_in_order_and_once(self):
        found = headers("References: <a@x>\r\n <b@x>  <a@x> <c@x>", "In-Reply-To: <c@x> (Anna)")
        assert found.references == ("a@x", "b@x", "c@x")
        assert found.in_reply_to == ("c@x",)

    def test_ids_without_brackets_are_read(self):
        assert headers("References: a@x b@x").references == ("a@x", "b@x")

    def test_several_reference_fields_are_one_list(self):
        assert headers("References: <a@x>", "References: <b@x>").references == ("a@x", "b@x")

    def test_the_message_id_without_brackets(self):
        assert headers("Message-ID: abc@x").message_id == "abc@x"


class TestDates:
    @pytest.mark.parametrize(
        ("text", "moment"),
        [
            ("Mon, 1 Jan 2024 11:00:00 +0100", datetime(2024, 1, 1, 10, tzinfo=UTC)),
            ("2024-01-01T10:00:00Z", datetime(2024, 1, 1, 10, tzinfo=UTC)),
            ("1 Jan 2024 10:00", datetime(2024, 1, 1, 10, tzinfo=UTC)),
            ("Mon, 1 Jan 2024 10:00:00 -0000", datetime(2024, 1, 1, 10, tzinfo=UTC)),
            ("2024-01-01 10:00:00", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        ],
    )
    def test_dates_that_are_dates(self, text: str, moment: datetime):
        assert read_date(text) == moment

    @pytest.mark.parametrize("text", ["", "<HR>", "99 Foo 20x4", "0 0 0 0:0:0", "1 Jan 99999"])
    def test_what_is_no_date_is_none(self, text: str):
        assert read_date(text) is None

    @settings(max_examples=200, deadline=None)
    @given(st.text(max_size=40))
    def test_no_text_makes_it_raise(self, text: str):
        value = read_date(text)
        assert value is None or value.tzinfo is not None

    def test_a_missing_date_is_none_and_no_defect(self):
        found = split(b"Subject: a\r\n\r\nText")
        assert found.headers.date is None
        assert found.headers.date_raw is None
        assert not found.has_defect(DefectKind.BAD_DATE)

    def test_a_bad_date_keeps_its_text(self):
        found = split(b"Date: gestern\r\n\r\nText")
        assert found.headers.date is None
        assert found.headers.date_raw == "gestern"
        assert found.has_defect(DefectKind.BAD_DATE)


class TestAddresses:
    @pytest.mark.parametrize(
        ("raw", "expected"),
        [
            ("anna@example.org", [("", "anna@example.org")]),
            ("Anna <anna@example.org>, b@x.de", [("Anna", "anna@example.org"), ("", "b@x.de")]),
            ('"Muster, Anna" <a@x.de>', [("Muster, Anna", "a@x.de")]),
            ("a@x.de (Anna Muster)", [("Anna Muster", "a@x.de")]),
            ("=?utf-8?q?M=C3=BCller=2C_Anna?= <a@x.de>", [("Müller, Anna", "a@x.de")]),
            ("a@x.de; b@x.de", [("", "a@x.de"), ("", "b@x.de")]),
            ("undisclosed-recipients:;", []),
            ("Team: a@x.de, B <b@x.de>;", [("", "a@x.de"), ("B", "b@x.de")]),
            ("Anna <@relay.de:a@x.de>", [("Anna", "a@x.de")]),
            ("Müller <a@x.de>", [("Müller", "a@x.de")]),
        ],
    )
    def test_mailboxes(self, raw: str, expected: list[tuple[str, str]]):
        found, strange = read_addresses(raw.encode())
        assert [(one.name, one.address) for one in found] == expected
        assert not strange

    @pytest.mark.parametrize(
        ("raw", "expected"),
        [
            ("<a@x.de> <b@x.de>", [("", "a@x.de"), ("", "b@x.de")]),
            ('"a@b" <c@d.de>, e', [("a@b", "c@d.de"), ("e", "")]),
            ("Anna a@x.de", [("Anna", "a@x.de")]),
            ('"nie zu <a@x.de>', [("nie zu", "a@x.de")]),
            ("=?utf-8?q?Anna_=3Ca=40x=2Ede=3E?=", [("Anna", "a@x.de")]),
            ("nobody", [("nobody", "")]),
        ],
    )
    def test_odd_mailboxes_are_read_with_a_finding(self, raw: str, expected: list[tuple[str, str]]):
        found, strange = read_addresses(raw.encode())
        assert [(one.name, one.address) for one in found] == expected
        assert strange

    @settings(max_examples=200, deadline=None)
    @given(st.text(alphabet='ab@.<>",;:()\\ =?', max_size=60))
    def test_no_text_makes_it_raise(self, text: str):
        read_addresses(text.encode())

    def test_a_strange_address_does_not_cost_the_attachment(self):
        entity = multipart("mixed", TEXT, base64_part("application/pdf", PDF))
        found = split(b"To: <a@x> <b@x>, (((\r\n" + entity)
        assert found.has_defect(DefectKind.BAD_ADDRESS)
        assert found.leaves[1].content == PDF
        assert found.headers.texts("to") == ("<a@x> <b@x>, (((",)


class TestBlock:
    def test_raw_and_decoded_values_stand_side_by_side(self):
        found = headers("Subject: =?utf-8?q?=C3=BC?=", "List-Id: Liste <l.example.org>")
        assert found.raws("subject") == (b"=?utf-8?q?=C3=BC?=",)
        assert found.subject == "ü"
        assert found.list_id == "Liste <l.example.org>"

    def test_automatic_mail_says_so(self):
        assert headers("Auto-Submitted: auto-replied").auto_submitted == "auto-replied"

    def test_sender_and_copies(self):
        found = headers("From: A <a@x>", "Cc: b@x.de", "Reply-To: c@x.de")
        assert found.from_ == (Address("A", "a@x"),)
        assert found.cc == (Address("", "b@x.de"),)
        assert found.reply_to == (Address("", "c@x.de"),)

    def test_a_folded_value_is_one_value(self):
        assert headers("Subject: eins\r\n zwei\r\n\tdrei").subject == "eins zwei drei"

    def test_a_value_folded_without_indent_does_not_hide_the_rest(self):
        entity = multipart("mixed", TEXT, base64_part("application/pdf", PDF))
        found = split(b"To: a@x.de,\r\nb@x.de\r\n" + entity)
        assert [one.address for one in found.headers.to] == ["a@x.de", "b@x.de"]
        assert found.leaves[1].content == PDF
        assert found.has_defect(DefectKind.BROKEN_FOLDING)

    def test_an_empty_line_inside_the_header_does_not_hide_the_attachment(self):
        entity = multipart("mixed", TEXT, base64_part("application/pdf", PDF))
        found = split(b"To: a@x.de\r\n\r\nSubject: x\r\nMIME-Version: 1.0\r\n" + entity)
        assert found.headers.subject == "x"
        assert found.leaves[1].content == PDF

    def test_a_body_that_quotes_headers_stays_a_body(self):
        raw = mail(
            b"Content-Type: text/plain\r\n\r\nFrom: b@x.de\r\nContent-Type: text/html\r\n\r\nx"
        )
        assert split(raw).body_text.startswith("From: b@x.de")

    def test_a_header_without_an_empty_line_ends_at_the_first_other_line(self):
        found = split(b"Subject: a\r\nHallo Anna\r\n")
        assert found.headers.subject == "a"
        assert found.body_text == "Hallo Anna"
        assert found.has_defect(DefectKind.HEADERS_NOT_CLOSED)

    def test_the_first_of_two_subjects_counts_and_the_second_is_reported(self):
        found = split(b"Subject: eins\r\nSubject: zwei\r\n\r\nx")
        assert found.headers.subject == "eins"
        assert found.has_defect(DefectKind.DUPLICATE_HEADER)

    def test_a_byte_order_mark_before_the_header_is_no_matter(self):
        assert headers(b"\xef\xbb\xbfSubject: a").subject == "a"

    def test_the_unusable_content_type_gives_way_to_the_usable_one(self):
        entity = b"Content-Type: Unfug\r\n" + base64_part("application/pdf", PDF)
        assert (
            split(mail(multipart("mixed", TEXT, entity))).leaves[1].media_type == "application/pdf"
        )

    def test_endless_headers_are_bounded_and_reported(self):
        found = split(b"X-A: 1\r\n" * 5_000 + b"Subject: " + b"a" * 200_000 + b"\r\n\r\nText")
        assert found.has_defect(DefectKind.HEADER_TRUNCATED)
        assert found.body_text == "Text"
