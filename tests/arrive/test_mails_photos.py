"""Pictures inside a mail's text: decoration is discarded with an event, a photograph is asked."""

from __future__ import annotations

import io

import pytest
from mail_walks import enter, events, ledger_rows, secure, sql, stamp
from mailbuild import base64_part, html, mail, multipart
from PIL import ExifTags, Image, ImageDraw, ImageFont

from tgv_dagster import vollzug
from tgv_dagster.clarify.cases import CaseRow
from tgv_dagster.clarify.decisions import get_case, list_cases, release
from tgv_dagster.clarify.execution import get_card
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope


def jpeg(shade: int, *, camera: bool, edge: int = 800) -> bytes:
    exif = Image.Exif()
    if camera:
        exif[ExifTags.Base.Make] = "Musterkamera"
    target = io.BytesIO()
    Image.new("RGB", (edge, edge), (shade, 0, 0)).save(target, "JPEG", exif=exif)
    return target.getvalue()


def receipt(number: int, *, words: bool = True, edge: int = 900) -> bytes:
    """A picture without any mark of a camera, with or without something to read."""
    image = Image.new("RGB", (edge, edge), "white")
    font = ImageFont.load_default(size=edge // 16)
    if words:
        text = f"Baumarkt Altland\nQuittung Nummer {number}\nSumme bezahlt 17,85 EUR"
        ImageDraw.Draw(image).multiline_text((edge // 20, edge // 4), text, "black", font=font)
    else:
        ImageDraw.Draw(image).rectangle((100, 100, 300 + number, 300), fill="black")
    target = io.BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


def showing(number: int, picture: bytes, sender: str = "anna@example.org") -> bytes:
    image = base64_part("image/jpeg; name=a.jpg", picture, "Content-ID: <a@x>")
    body = html(f'Quittung {number} <img src="cid:a@x">')
    return mail(multipart("related", body, image), f"Message-ID: <p{number}@x>", f"From: {sender}")


def outcomes(installation: Installation) -> list[str]:
    return [
        row[0]
        for row in sql(
            installation, "SELECT outcome FROM mail_parts WHERE role = 'inline_referenced'"
        )
    ]


def test_a_logo_is_discarded_with_one_event(installation: Installation):
    secure(installation, showing(1, jpeg(1, camera=False)))
    enter(installation)
    assert outcomes(installation) == ["discarded"]
    assert events(installation, "mail.inline_image_discarded") == 1


def test_a_photograph_waits_as_a_case_and_becomes_a_document_when_released(
    installation: Installation,
):
    secure(installation, showing(1, jpeg(2, camera=True)))
    enter(installation)
    assert outcomes(installation) == ["asked"]
    assert events(installation, "mail.inline_image_discarded") == 0
    chef = Scope.for_principal(installation.database, "chef", source="test")
    (case,) = list_cases(installation.database, chef, parked_only=True)
    assert release(installation.database, chef, case.id) == "extract"
    before = sql(installation, "SELECT count(*) FROM extractions")[0][0]
    enter(installation)
    assert sql(installation, "SELECT count(*) FROM extractions")[0][0] == before + 1


def two_photographs(installation: Installation) -> CaseRow:
    images = [
        base64_part(f"image/jpeg; name={n}.jpg", jpeg(20 + n, camera=True), f"Content-ID: <{n}@x>")
        for n in (1, 2)
    ]
    body = html('<img src="cid:1@x"><img src="cid:2@x">')
    secure(installation, mail(multipart("related", body, *images), "From: anna@example.org"))
    enter(installation)
    (case,) = list_cases(installation.database, chef_of(installation), parked_only=True)
    return case


def chef_of(installation: Installation) -> Scope:
    return Scope.for_principal(installation.database, "chef", source="test")


def waiting(installation: Installation) -> list[str]:
    return [
        row[0]
        for row in sql(
            installation,
            "SELECT a.file_name FROM flow_ledger l JOIN arrivals a ON a.id = l.subject_id"
            " WHERE l.stage = 'extract' AND l.state = 'pending' ORDER BY a.file_name",
        )
    ]


def test_the_photographs_of_a_mail_are_one_case_that_releases_them_together(
    installation: Installation,
):
    case = two_photographs(installation)
    assert [one["file_name"] for one in case.evidence["subjects"]] == ["1.jpg", "2.jpg"]
    release(installation.database, chef_of(installation), case.id)
    assert waiting(installation) == ["1.jpg", "2.jpg"]


def test_photographs_of_a_mail_are_decided_singly(installation: Installation):
    case = two_photographs(installation)
    executor, chef = vollzug.executor_of(installation), chef_of(installation)
    cards = sql(installation, "SELECT id FROM cards WHERE case_id = %s ORDER BY id", case.id)
    vollzug.execute(installation, chef, cards[1][0])
    assert waiting(installation) == ["2.jpg"]
    assert get_case(installation.database, chef, case.id).state == "open"
    vollzug.reject(installation, chef, cards[0][0], reason="Urlaub")
    assert get_case(installation.database, chef, case.id).state == "rejected"
    assert get_card(executor, chef, cards[0][0]).state == "rejected"
    assert waiting(installation) == ["2.jpg"]


def test_a_mail_is_parked_until_its_last_photograph_is_decided(installation: Installation):
    case = two_photographs(installation)
    chef = chef_of(installation)
    stamp(installation)
    assert ledger_rows(installation)[0][2] == "parked"
    for (card,) in sql(installation, "SELECT id FROM cards WHERE case_id = %s", case.id):
        vollzug.reject(installation, chef, card, reason="Urlaub")
    stamp(installation)
    assert ledger_rows(installation)[0][2] == "nothing_to_do"


def test_what_was_refused_singly_is_not_released_with_the_rest(installation: Installation):
    case = two_photographs(installation)
    chef = chef_of(installation)
    cards = sql(installation, "SELECT id FROM cards WHERE case_id = %s ORDER BY id", case.id)
    vollzug.reject(installation, chef, cards[0][0], reason="Urlaub")
    release(installation.database, chef, case.id)
    assert waiting(installation) == ["2.jpg"]


def test_the_same_photograph_in_a_second_mail_is_decoration(installation: Installation):
    picture = jpeg(3, camera=True)
    secure(installation, showing(1, picture))
    enter(installation)
    secure(installation, showing(2, picture))
    enter(installation)
    assert sorted(outcomes(installation)) == ["asked", "discarded"]


def test_the_text_around_a_photograph_is_kept_as_a_body_row(installation: Installation):
    secure(installation, showing(1, jpeg(4, camera=True)))
    enter(installation)
    assert events(installation, "mail.body_row_created") == 1


def test_a_picture_with_readable_text_is_asked_without_a_camera(installation: Installation):
    secure(installation, showing(1, receipt(1)))
    enter(installation)
    assert outcomes(installation) == ["asked"]


def test_a_large_picture_without_a_word_is_discarded(installation: Installation):
    secure(installation, showing(1, receipt(1, words=False)))
    enter(installation)
    assert outcomes(installation) == ["discarded"]


@pytest.mark.parametrize(
    ("login", "sender", "second"),
    [
        ("emil", "anna@example.org", "discarded"),
        ("emil", "Anna@Example.org", "discarded"),
        ("emil", "bernd@example.org", "asked"),
        ("sven", "anna@example.org", "asked"),
    ],
)
def test_sent_before_means_by_this_sender_to_this_tenant(
    installation: Installation, login: str, sender: str, second: str
):
    picture = jpeg(5, camera=True)
    secure(installation, showing(1, picture))
    enter(installation)
    secure(installation, showing(2, picture, sender), login=login)
    enter(installation)
    assert sorted(outcomes(installation)) == sorted(["asked", second])


def test_a_signature_sent_twice_in_one_batch_is_asked_at_most_once(installation: Installation):
    picture = jpeg(6, camera=True)
    for number in (1, 2):
        secure(installation, showing(number, picture))
    enter(installation)
    assert sorted(outcomes(installation)) == ["asked", "discarded"]
