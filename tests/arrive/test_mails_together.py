"""Parts of many mails are secured together; each mail is split once and fails on its own."""

from __future__ import annotations

import io

import pytest
from mail_walks import enter, invoice_mail, secure, sql
from mailbuild import base64_part, html, mail, multipart
from PIL import Image

from tgv_dagster.arrive.mails import MAILS_TOGETHER, split_mails
from tgv_dagster.arrive.mime import split
from tgv_dagster.installation import Installation
from tgv_dagster.store.blobs import BlobStore, BlobTooLarge, LocalBlobStore, Step, StoreFull

MANY = MAILS_TOGETHER + 3


def split_all(installation: Installation, blobs: BlobStore) -> dict[str, int]:
    report = split_mails(installation.database, blobs, limit=2 * MANY)
    return dict(report.outcomes)


def arrived(installation: Installation) -> tuple[int, int]:
    (row,) = sql(
        installation,
        "SELECT count(*), count(DISTINCT mail_arrival_id) FROM mail_parts"
        " WHERE outcome = 'arrived' AND arrival_id IS NOT NULL",
    )
    return row


def test_many_mails_are_each_split_once(installation: Installation):
    for number in range(MANY):
        secure(installation, invoice_mail(number))
    seen: list[tuple[int, int]] = []
    report = split_mails(
        installation.database,
        installation.blobs,
        limit=MANY,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert (report.outcomes, report.problems) == ({"split": MANY}, ())
    assert arrived(installation) == (MANY, MANY)
    assert seen == [(done, MANY) for done in range(1, MANY + 1)]
    assert split_all(installation, installation.blobs) == {}


def test_a_mail_whose_bytes_are_gone_fails_alone(installation: Installation):
    for number in range(4):
        secure(installation, invoice_mail(number))
    (gone,) = sql(installation, "SELECT bucket, raw_key FROM raw_items ORDER BY id LIMIT 1")
    installation.blobs.delete(*gone)
    assert split_all(installation, installation.blobs) == {"retry": 1, "split": 3}
    assert arrived(installation) == (3, 3)


def picture_mail(number: int) -> bytes:
    """A mail whose text shows a picture of its own that is large enough to be read."""
    content = io.BytesIO()
    Image.new("RGB", (800, 800), (number, 0, 0)).save(content, "PNG")
    picture = base64_part("image/png; name=a.png", content.getvalue(), "Content-ID: <a@x>")
    body = html(f'Gruß {number} <img src="cid:a@x">')
    return mail(multipart("related", body, picture), f"Message-ID: <p{number}@x>")


def test_a_mail_whose_reading_breaks_fails_alone(installation: Installation):
    for number in range(4):
        secure(installation, picture_mail(number))
    (broken,) = (
        leaf.content for leaf in split(picture_mail(2)).leaves if leaf.safe_name == "a.png"
    )

    def reads_text(content: bytes) -> bool:
        if content == broken:
            raise RuntimeError("the reader broke")
        return False

    report = split_mails(
        installation.database, installation.blobs, limit=MANY, reads_text=reads_text
    )
    assert report.outcomes == {"retry": 1, "split": 3}
    assert sql(installation, "SELECT count(DISTINCT mail_arrival_id) FROM mail_parts") == [(3,)]


@pytest.mark.parametrize("name", ["From", "Message-ID", "References", "Subject", "To"])
def test_a_header_that_no_database_takes_costs_no_mail(installation: Installation, name: str):
    extra = f"{name}: <a\x00b@example.org>\r\n".encode()
    secure(installation, extra + invoice_mail(1))
    secure(installation, invoice_mail(2))
    enter(installation)
    assert arrived(installation) == (2, 2)
    assert sql(installation, "SELECT count(*) FROM documents") == [(2,)]


@pytest.fixture
def small_store(installation: Installation):
    """A store in which one part of a group cannot be stored, whatever else is."""

    def open_store(error: Exception, at: int) -> LocalBlobStore:
        written: list[Step] = []

        def fault(step: Step) -> None:
            if step is Step.WRITTEN:
                written.append(step)
                if len(written) == at:
                    raise error

        return LocalBlobStore(installation.settings.home / "blobs", on_step=fault)

    return open_store


def test_after_a_part_that_no_store_takes_each_mail_goes_alone(
    installation: Installation, small_store
):
    for number in range(4):
        secure(installation, invoice_mail(number))
    store = small_store(BlobTooLarge("too large", "Raise the limit"), at=3)
    assert split_all(installation, store) == {"split": 4}
    assert arrived(installation) == (4, 4)


def test_a_full_disk_ends_the_batch_and_nothing_is_half(installation: Installation, small_store):
    for number in range(4):
        secure(installation, invoice_mail(number))
    with pytest.raises(StoreFull):
        split_all(installation, small_store(StoreFull("full", "Free space"), at=3))
    assert arrived(installation) == (0, 0)
    assert split_all(installation, installation.blobs) == {"split": 4}
    assert arrived(installation) == (4, 4)


def test_the_same_mail_in_two_tenants_has_its_parts_in_both(installation: Installation):
    for login in ("emil", "sven"):
        secure(installation, invoice_mail(7), login=login)
    assert split_all(installation, installation.blobs) == {"split": 2}
    assert arrived(installation) == (2, 2)
