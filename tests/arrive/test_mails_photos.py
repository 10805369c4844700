"""Pictures inside a mail's text: decoration is discarded with an event, a photograph is asked."""

from __future__ import annotations

import io

import pytest
from mail_walks import enter, events, secure, sql
from mailbuild import base64_part, html, mail, multipart
from PIL import ExifTags, Image, ImageDraw, ImageFont

from tgv_dagster.clarify.decisions import list_cases, release
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
