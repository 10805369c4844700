"""Parts of many mails are secured together; each mail is split once and fails on its own."""

from __future__ import annotations

import pytest
from mail_walks import invoice_mail, secure, sql

from tgv_dagster.arrive.mails import MAILS_TOGETHER, split_mails
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
