"""The splitter of the mail gate: structure, roles, accounting (MAIL-29, MAIL-64)."""

from __future__ import annotations

import email.policy
import hashlib
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mailbuild import (
    PDF,
    PNG,
    TEXT,
    base64_part,
    html,
    mail,
    multipart,
    nested_multiparts,
    part,
    signed,
    tnef,
    tnef_file,
)

from tgv_dagster.arrive.mime import (
    DefectKind,
    Leaf,
    Limits,
    Mail,
    Role,
    leaf_text,
    looks_like_mail,
    split,
)

PDF_PART = base64_part('application/pdf; name="Rechnung.pdf"', PDF)


def leaf(mail_: Mail, path: str) -> Leaf:
    return next(one for one in mail_.leaves if one.path == path)


def roles(mail_: Mail) -> list[tuple[str, str]]:
    return [(one.path, one.role.value) for one in mail_.leaves]


def assert_accounted(mail_: Mail) -> None:
    """Every leaf once, in order, with one role, inside a container that is there too."""
    paths = [one.path for one in mail_.leaves]
    assert len(set(paths)) == len(paths)
    assert [one.index for one in mail_.leaves] == list(range(len(paths)))
    assert all(one.parent_path in {None, *paths} for one in mail_.leaves)
    assert all(one.mail_path in {"", *paths} for one in mail_.leaves)
    assert all(hashlib.sha256(one.content).hexdigest() == one.sha256 for one in mail_.leaves)
    assert all(len(one.content) == one.size for one in mail_.leaves)


class TestRoles:
    def test_plain_is_the_body_and_html_its_alternative(self):
        found = split(mail(multipart("alternative", TEXT, html("<p>Guten Tag</p>"))))
        assert roles(found) == [("1", "body"), ("2", "body_alternative")]
        assert found.body_text == "Guten Tag,\nanbei die Rechnung."

    def test_an_empty_plain_part_gives_way_to_the_html(self):
        empty = part("text/plain", b" \r\n")
        found = split(mail(multipart("alternative", empty, html("<p>Grüße</p>"))))
        assert roles(found) == [("1", "body_alternative"), ("2", "body")]
        assert found.body_text == "Grüße"

    def test_a_stub_that_points_to_the_html_gives_way_too(self):
        stub = part("text/plain", b"Please view this message in HTML.")
        long = html("<p>" + "Ihre Bestellung wurde versandt. " * 40 + "</p>")
        found = split(mail(multipart("alternative", stub, long)))
        assert "versandt" in found.body_text

    def test_a_short_plain_text_beside_a_short_html_stays_the_body(self):
        plain = part("text/plain", b"Passt, danke.")
        found = split(mail(multipart("alternative", plain, html("<p>Passt, <b>danke</b>.</p>"))))
        assert found.body_text == "Passt, danke."

    @pytest.mark.parametrize("disposition", ["inline", "attachment", "x-unknown"])
    def test_a_pdf_is_an_attachment_however_it_is_labelled(self, disposition):
        labelled = base64_part("application/pdf", PDF, f"Content-Disposition: {disposition}")
        found = split(mail(multipart("mixed", TEXT, labelled)))
        assert roles(found) == [("1", "body"), ("2", "attachment")]

    @pytest.mark.parametrize("declared", ["text/plain", "text/html", "image/png"])
    def test_a_pdf_behind_another_type_is_an_attachment(self, declared):
        found = split(mail(multipart("mixed", TEXT, base64_part(declared, PDF))))
        assert leaf(found, "2").role is Role.ATTACHMENT
        assert leaf(found, "2").sniffed_type == "application/pdf"

    def test_a_pdf_among_alternatives_is_an_attachment(self):
        found = split(mail(multipart("alternative", TEXT, PDF_PART)))
        assert roles(found) == [("1", "body"), ("2", "attachment")]

    def test_an_image_the_html_shows_is_inline_even_when_called_attachment(self):
        shown = html('<img src="cid:Logo%40x">')
        image = base64_part(
            "image/png", PNG, "Content-ID: <logo@x>", "Content-Disposition: attachment"
        )
        found = split(mail(multipart("related", shown, image)))
        assert roles(found) == [("1", "body"), ("2", "inline_referenced")]

    def test_an_inline_image_nobody_shows_is_an_attachment(self):
        image = base64_part("image/png", PNG, "Content-ID: <a@x>", "Content-Disposition: inline")
        found = split(mail(multipart("related", html("<p>Scan</p>"), image)))
        assert leaf(found, "2").role is Role.ATTACHMENT

    def test_a_pdf_the_html_refers_to_stays_an_attachment(self):
        linked = base64_part("application/pdf; name=a.pdf", PDF, "Content-ID: <a@x>")
        found = split(mail(multipart("related", html('<a href="cid:a@x">a</a>'), linked)))
        assert leaf(found, "2").role is Role.ATTACHMENT

    def test_an_image_sent_as_octet_stream_and_shown_is_inline(self):
        image = base64_part("application/octet-stream; name=l.png", PNG, "Content-ID: <l@x>")
        found = split(mail(multipart("related", html("<img src='cid:l@x'>"), image)))
        assert leaf(found, "2").role is Role.INLINE_REFERENCED

    def test_a_reference_counts_only_inside_its_own_mail(self):
        inner = mail(multipart("related", html("<p>x</p>"), base64_part(
            "image/png", PNG, "Content-ID: <l@x>")))  # fmt: skip
        outer = multipart("mixed", html('<img src="cid:l@x">'), part("message/rfc822", inner))
        found = split(mail(outer))
        assert leaf(found, "2/2").role is Role.ATTACHMENT

    def test_a_named_text_is_an_attachment_and_nameless_texts_are_body(self):
        named = part('text/plain; name="notiz.txt"', b"Notiz", "Content-Disposition: inline")
        footer = part("text/plain", b"Verteiler")
        found = split(mail(multipart("mixed", TEXT, named, footer)))
        assert [role for _, role in roles(found)] == ["body", "attachment", "body"]
        assert found.body_text.endswith("Verteiler")

    def test_the_only_text_is_the_body_although_it_claims_to_be_attached(self):
        claimed = part("text/plain", b"Hallo", "Content-Disposition: attachment")
        found = split(mail(multipart("mixed", claimed, PDF_PART)))
        assert found.body_text == "Hallo"

    def test_calendar_report_and_detached_signature_have_their_own_roles(self):
        invite = part("text/calendar; method=REQUEST", b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
        status = part("message/delivery-status", b"Reporting-MTA: dns; x\r\n")
        seal = base64_part("application/pkcs7-signature; name=smime.p7s", b"\x30\x03\x02\x01\x01")
        report = multipart("report", TEXT, status)
        found = split(mail(multipart("signed", multipart("mixed", report, invite), seal)))
        assert roles(found) == [
            ("1.1.1", "body"),
            ("1.1.2", "report"),
            ("1.2", "calendar"),
            ("2", "signature"),
        ]
        assert {one.signature.value for one in found.leaves} == {"not_verified"}

    def test_a_detached_signature_sent_as_a_file_is_an_attachment(self):
        seal = base64_part("application/pkcs7-signature; name=rechnung.p7s", b"\x30\x00")
        found = split(mail(multipart("mixed", TEXT, seal)))
        assert leaf(found, "2").role is Role.ATTACHMENT

    def test_pgp_encrypted_parts_are_neither_documents_nor_dropped(self):
        version = part("application/pgp-encrypted", b"Version: 1\r\n")
        secret = part("application/octet-stream", b"-----BEGIN PGP MESSAGE-----\r\n")
        found = split(mail(multipart("encrypted", version, secret)))
        assert {one.role for one in found.leaves} == {Role.ENCRYPTED}

    def test_an_apple_resource_fork_is_a_companion_of_its_file(self):
        fork = base64_part("application/applefile; name=a.pdf", b"\x00\x05\x16\x07")
        found = split(mail(multipart("mixed", TEXT, multipart("appledouble", fork, PDF_PART))))
        assert [role for _, role in roles(found)] == ["body", "companion", "attachment"]


class TestTree:
    def test_mixed_inside_related_inside_mixed_loses_no_leaf(self):
        inner = multipart("mixed", html("<p>x</p>"), PDF_PART)
        middle = multipart("related", inner, base64_part("image/jpeg; name=a.jpg", b"\xff\xd8\xff"))
        found = split(mail(multipart("mixed", TEXT, middle, PDF_PART)))
        assert [one.path for one in found.leaves] == ["1", "2.1.1", "2.1.2", "2.2", "3"]
        assert_accounted(found)

    def test_a_mail_with_one_pdf_and_no_body_is_normal(self):
        found = split(mail(multipart("mixed", PDF_PART)))
        assert found.body_text == ""
        assert roles(found) == [("1", "attachment")]
        assert found.defects == ()

    def test_a_mail_that_is_one_pdf(self):
        found = split(mail(PDF_PART))
        assert roles(found) == [("1", "attachment")]
        assert found.leaves[0].content == PDF

    def test_the_part_without_a_name_gets_one_from_digest_and_type(self):
        found = split(mail(multipart("mixed", TEXT, base64_part("application/pdf", PDF))))
        made = leaf(found, "2")
        assert made.name_generated
        assert made.filename == f"part-{hashlib.sha256(PDF).hexdigest()[:12]}.pdf"

    def test_the_same_mail_gives_the_same_leaves_again(self):
        raw = mail(multipart("mixed", TEXT, PDF_PART, part("message/rfc822", mail(TEXT))))
        assert split(raw) == split(raw)


class TestEmbeddedMail:
    INNER = mail(multipart("mixed", TEXT, PDF_PART), "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=")

    def test_its_bytes_are_kept_and_its_leaves_stand_behind_it(self):
        found = split(mail(multipart("mixed", TEXT, part("message/rfc822", self.INNER))))
        assert roles(found) == [
            ("1", "body"),
            ("2", "embedded_mail"),
            ("2/1", "body"),
            ("2/2", "attachment"),
        ]
        assert leaf(found, "2").content == self.INNER
        assert leaf(found, "2/2").parent_path == "2"
        assert leaf(found, "2/2").mail_path == "2"
        assert found.body_text == "Guten Tag,\nanbei die Rechnung."

    def test_its_headers_stand_at_its_leaf(self):
        found = split(mail(part("message/rfc822", self.INNER)))
        headers = leaf(found, "1").mail_headers
        assert headers is not None
        assert headers.subject == "Grüße"

    def test_an_invoice_two_mails_deep_is_found(self):
        middle = mail(multipart("mixed", TEXT, part("message/rfc822", self.INNER)))
        found = split(mail(multipart("mixed", TEXT, part("message/rfc822", middle))))
        assert leaf(found, "2/2/2").content == PDF
        assert leaf(found, "2/2/2").parent_path == "2/2"

    @pytest.mark.parametrize(
        "kind", ["message/rfc822", "message/global", "application/octet-stream"]
    )
    def test_base64_and_octet_stream_mails_are_opened_too(self, kind):
        attached = base64_part(f"{kind}; name=alt.eml", self.INNER)
        found = split(mail(multipart("mixed", TEXT, attached)))
        assert leaf(found, "2").role is Role.EMBEDDED_MAIL
        assert leaf(found, "2").content == self.INNER
        assert leaf(found, "2/2").content == PDF

    def test_quoted_printable_is_undone_only_when_it_was_done(self):
        mislabelled = part(
            "message/rfc822", self.INNER, "Content-Transfer-Encoding: quoted-printable"
        )
        encoded = part(
            "message/rfc822",
            self.INNER.replace(b"=", b"=3D"),
            "Content-Transfer-Encoding: quoted-printable",
        )
        found = split(mail(multipart("mixed", mislabelled, encoded)))
        assert leaf(found, "1").content == self.INNER
        assert leaf(found, "2").content == self.INNER

    def test_a_digest_holds_mails_without_saying_so(self):
        one = b"\r\nSubject: a\r\nFrom: a@example.org\r\n\r\nText\r\n"
        found = split(mail(multipart("digest", one, one)))
        assert [role for _, role in roles(found)] == ["embedded_mail", "body"] * 2

    def test_a_pdf_labelled_as_a_mail_is_no_mail(self):
        found = split(mail(multipart("mixed", TEXT, base64_part("message/rfc822", PDF))))
        assert leaf(found, "2").role is Role.ATTACHMENT
        assert found.has_defect(DefectKind.TYPE_MISMATCH)

    def test_an_mbox_file_gives_every_one_of_its_mails(self):
        box = b"".join(
            b"From a@example.org Mon Jan  1 10:00:00 2024\n"
            + self.INNER.replace(b"\r\n", b"\n")
            + b"\n"
            for _ in range(3)
        )
        found = split(box)
        assert [one.path for one in found.with_role(Role.EMBEDDED_MAIL)] == ["1", "2", "3"]
        assert len(found.with_role(Role.ATTACHMENT)) == 3
        assert found.has_defect(DefectKind.MAILBOX_OF_MANY)

    def test_one_mail_with_an_mbox_line_is_that_mail(self):
        found = split(b"From a@example.org Mon Jan  1 10:00:00 2024\r\n" + self.INNER)
        assert found.headers.subject == "Grüße"
        assert roles(found) == [("1", "body"), ("2", "attachment")]


class TestBoundaries:
    def test_a_mail_cut_off_in_a_part_keeps_what_arrived(self):
        whole = mail(multipart("mixed", TEXT, PDF_PART))
        cut = whole[: whole.rindex(b"--=_mixed")].rstrip()
        found = split(cut)
        assert leaf(found, "2").content == PDF
        assert found.has_defect(DefectKind.BOUNDARY_NOT_CLOSED)

    def test_parts_behind_the_closing_line_are_found(self):
        whole = multipart("mixed", TEXT, boundary="b")
        found = split(mail(whole + b"--b\r\n" + PDF_PART + b"\r\n--b--\r\n"))
        assert [role for _, role in roles(found)] == ["body", "attachment"]
        assert found.has_defect(DefectKind.PART_AFTER_CLOSE)

    def test_a_boundary_that_is_not_the_declared_one_is_inferred(self):
        wrong = multipart("mixed", TEXT, PDF_PART, boundary="b").replace(b"--b", b"--other", 9)
        found = split(mail(wrong))
        assert [role for _, role in roles(found)] == ["body", "attachment"]
        assert found.has_defect(DefectKind.BOUNDARY_INFERRED)

    def test_a_multipart_without_any_boundary_is_one_text(self):
        found = split(mail(part("multipart/mixed", b"nur Text\r\n")))
        assert roles(found) == [("1", "body")]
        assert found.body_text == "nur Text"
        assert found.has_defect(DefectKind.BOUNDARY_MISSING)

    @pytest.mark.parametrize(
        "raw",
        [
            b'Content-Type: multipart/mixed; boundary="b--"\r\n\r\n--b--\r\nContent-Type:'
            b' multipart/mixed; boundary="b----"\r\n\r\n--b----\r\nContent-Type: text/plain\r\n\r\n'
            b"Gruss\r\n--b----\r\n",
            b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type:'
            b' multipart/mixed; boundary="c"\r\n\r\n--b--\r\nGruss\r\n',
        ],
        ids=["inner boundary closes the outer one", "empty part before the text"],
    )
    def test_a_mail_whose_only_text_is_outside_its_parts_is_not_empty(self, raw: bytes):
        found = split(raw)
        assert [role for _, role in roles(found)] == ["body"]
        assert "Gruss" in found.body_text
        assert found.has_defect(DefectKind.TEXT_OUTSIDE_PARTS)

    def test_a_boundary_that_starts_like_another_one_is_told_apart(self):
        inner = multipart("alternative", TEXT, html("<p>x</p>"), boundary="abc-1")
        found = split(mail(multipart("mixed", inner, PDF_PART, boundary="abc")))
        assert [one.path for one in found.leaves] == ["1.1", "1.2", "2"]

    @pytest.mark.parametrize("tail", [b" ", b"\t \t", b" (comment)"])
    def test_white_space_behind_a_boundary_line_is_no_matter(self, tail):
        lines = multipart("mixed", TEXT, PDF_PART, boundary="b").split(b"\r\n")
        padded = b"\r\n".join(line + tail if line.startswith(b"--b") else line for line in lines)
        assert len(split(mail(padded)).leaves) == 2

    @pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\r\n"])
    def test_every_kind_of_line_end_is_read(self, end):
        raw = mail(multipart("mixed", TEXT, PDF_PART)).replace(b"\r\n", end)
        found = split(raw)
        assert [role for _, role in roles(found)] == ["body", "attachment"]
        assert leaf(found, "2").content == PDF

    def test_an_encoded_multipart_is_decoded_before_it_is_cut(self):
        whole = multipart("mixed", TEXT, PDF_PART, boundary="bb")
        head, _, body = whole.partition(b"\r\n\r\n")
        import_ready = base64_part("multipart/mixed; boundary=bb", body)
        found = split(mail(import_ready))
        assert head.startswith(b"Content-Type: multipart/mixed")
        assert leaf(found, "2").content == PDF


class TestNotQuiteMails:
    @pytest.mark.parametrize("raw", [b"", b"\r\n", b"\0", b"nur ein Satz", b"\xff" * 40])
    def test_whatever_comes_is_one_leaf(self, raw):
        found = split(raw)
        assert [one.content for one in found.leaves] == [raw]
        assert found.defects != ()

    @pytest.mark.parametrize("first", ["X-Foo: 1", "ARC-Seal: i=1", "Zz: 3"])
    def test_a_mail_is_known_by_the_grammar_of_its_header(self, first):
        raw = f"{first}\r\nSubject: a\r\nFrom: a@example.org\r\n\r\nText".encode()
        assert looks_like_mail(raw)
        assert split(raw).headers.subject == "a"

    @pytest.mark.parametrize(
        "data",
        [
            PDF,
            b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:a\r\nEND:VCALENDAR\r\n",
            b"BEGIN:VCARD\r\nN:a\r\nEND:VCARD\r\n",
            b"Hallo Anna,\r\n\r\nSubject: x\r\n",
            b"a: 1\r\nb: 2\r\n",
            b"",
        ],
    )
    def test_other_texts_are_no_mails(self, data):
        assert not looks_like_mail(data)

    def test_a_pdf_dropped_as_a_mail_is_an_attachment(self):
        found = split(PDF)
        assert roles(found) == [("1", "attachment")]
        assert found.has_defect(DefectKind.NOT_A_MAIL)

    @pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-16-le"])
    def test_a_mail_saved_as_utf16_is_read(self, codec):
        raw = mail(multipart("mixed", TEXT, PDF_PART), "Subject: Hallo").decode().encode(codec)
        found = split(raw)
        assert found.headers.subject == "Hallo"
        assert leaf(found, "2").content == PDF


class TestBounds:
    @pytest.mark.parametrize("depth", [3_000, 20_000])
    def test_deep_nesting_ends_in_one_unopened_leaf(self, depth):
        found = split(nested_multiparts(depth, TEXT))
        assert [one.role for one in found.leaves] == [Role.UNOPENED]
        assert found.has_defect(DefectKind.DEPTH_LIMIT)
        assert b"anbei die Rechnung" in found.leaves[0].content

    def test_deep_mail_in_mail_keeps_the_rest_whole(self):
        raw = b"Content-Type: message/rfc822\r\n\r\n" * 3_000 + TEXT
        found = split(raw)
        assert_accounted(found)
        assert found.leaves[-1].role is Role.UNOPENED
        assert found.leaves[-1].content.endswith(TEXT)

    def test_beyond_the_number_of_leaves_the_rest_is_one_leaf(self):
        parts = [part("text/plain", f"Teil {number}".encode()) for number in range(30)]
        found = split(mail(multipart("mixed", *parts)), Limits(leaves=10))
        assert_accounted(found)
        assert found.leaves[-1].role is Role.UNOPENED
        assert b"Teil 29" in found.leaves[-1].content
        assert found.has_defect(DefectKind.PART_LIMIT)

    def test_beyond_the_amount_of_work_containers_stay_closed(self):
        raw = b"Content-Type: message/rfc822\r\n\r\n" * 40 + TEXT
        found = split(raw, Limits(work_factor=1, work_floor=0))
        assert found.has_defect(DefectKind.SIZE_LIMIT)
        assert found.leaves[-1].role is Role.UNOPENED
        assert_accounted(found)


def _message_tree() -> st.SearchStrategy[EmailMessage]:
    names = st.one_of(st.none(), st.sampled_from(["a.pdf", "Übersicht.pdf", "0 дней.xls"]))
    leaves = st.tuples(st.binary(max_size=60), names)

    @st.composite
    def build(draw: st.DrawFn, depth: int = 3) -> EmailMessage:
        message = EmailMessage(policy=email.policy.SMTP)
        message["Subject"] = "Prüfung"
        message.set_content(draw(st.text(alphabet="abcdeü ß\n", max_size=60)))
        for content, name in draw(st.lists(leaves, max_size=3)):
            message.add_attachment(
                content, maintype="application", subtype="octet-stream", filename=name
            )
        if depth and draw(st.booleans()):
            message.add_attachment(draw(build(depth - 1)))
        return message

    return build()


def _expected(message: EmailMessage) -> list[tuple[str, bytes | None]]:
    """Leaves in document order: (kind, content), embedded mails before their own leaves."""
    found: list[tuple[str, bytes | None]] = []
    stack: list[EmailMessage] = [message]
    while stack:
        one = stack.pop()
        if one.get_content_type() == "message/rfc822":
            found.append(("mail", None))
        elif not one.is_multipart():
            content = one.get_payload(decode=True)
            found.append(("leaf", content if isinstance(content, bytes) else b""))
        if one.is_multipart():
            children = one.get_payload()
            assert isinstance(children, list)
            stack.extend(child for child in reversed(children) if isinstance(child, EmailMessage))
    return found


@settings(max_examples=60, deadline=None)
@given(_message_tree())
def test_a_tree_built_by_the_standard_library_comes_back_leaf_by_leaf(message: EmailMessage):
    found = split(message.as_bytes())
    assert_accounted(found)
    got = [
        ("mail", None) if one.role is Role.EMBEDDED_MAIL else ("leaf", one.content)
        for one in found.leaves
    ]
    assert [kind for kind, _ in got] == [kind for kind, _ in _expected(message)]
    attached = [content for kind, content in got if kind == "leaf"]
    expected = [content for kind, content in _expected(message) if kind == "leaf"]
    assert [_lines(one) for one in attached] == [_lines(one) for one in expected]


def _lines(content: bytes | None) -> list[bytes]:
    return (content or b"").replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_attachment_bytes_come_back_exactly(contents: list[bytes]):
    parts = [base64_part("application/x-data; name=a.bin", content) for content in contents]
    found = split(mail(multipart("mixed", TEXT, *parts)))
    opened = [one for one in found.leaves if one.parent_path is None]
    assert [one.content for one in opened[1:]] == contents


_FRAGMENTS = st.sampled_from(
    [
        b"Content-Type: multipart/mixed; boundary=b\r\n",
        b'Content-Type: multipart/alternative; boundary="c"\r\n',
        b"Content-Type: message/rfc822\r\n",
        b"Content-Type: text/html; charset=x-klingon\r\n",
        b"Content-Type: application/pkcs7-mime; name=a.p7m\r\n",
        b"Content-Disposition: attachment; filename*0*=utf-8''%41; filename*1*=%\r\n",
        b"Content-Transfer-Encoding: base64\r\n",
        b"Content-Transfer-Encoding: quoted-printable\r\n",
        b"Subject: =?utf-8?b?w7w=?= =?utf-8?q?=C3?= =?utf-8?q?=BC?=\r\n",
        b"Date: 99 Foo 20x4\r\n",
        b'To: "a <b@c>, <d@e> <f@g>; (h\r\n',
        b"\r\n",
        b"--b\r\n",
        b"--b--\r\n",
        b"--c\r\n",
        b"begin 644 a.txt\n#0V%T\n`\nend\n",
        b"<html><img src='cid:x'><p>",
        PDF,
        signed(TEXT),
        tnef(tnef_file(b"a.txt", b"x")),
        b"=\r\n=3D=ZZ",
        b"AAAA====AAA",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(_FRAGMENTS, st.binary(max_size=30)), max_size=25).map(b"".join))
def test_no_bytes_make_the_splitter_raise_or_lose_count(raw: bytes):
    found = split(raw)
    assert not found.has_defect(DefectKind.SPLITTER_FAILED)
    assert_accounted(found)
    assert all("\0" not in one.filename for one in found.leaves)
    found.body_text.encode("utf-8")


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_accounted_for(raw: bytes):
    found = split(raw)
    assert not found.has_defect(DefectKind.SPLITTER_FAILED)
    assert_accounted(found)


def test_a_leaf_of_text_is_read_by_its_charset():
    text = part("text/plain; charset=iso-8859-1", "Größe".encode("latin-1"))
    assert leaf_text(split(mail(text)).leaves[0]) == "Größe"
