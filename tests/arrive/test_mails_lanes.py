"""Many mails are split side by side, each of them exactly once."""

from __future__ import annotations

from mail_walks import invoice_mail, secure, sql

from tgv_dagster.arrive.mails import FRESH_PER_LANE, LANES, split_mails
from tgv_dagster.installation import Installation

MANY = LANES * FRESH_PER_LANE + 3


def test_many_mails_are_each_split_once(installation: Installation):
    for number in range(MANY):
        secure(installation, invoice_mail(number))
    seen: list[tuple[int, int]] = []
    reports = []
    while not reports or reports[-1].claimed:
        reports.append(
            split_mails(
                installation.database,
                installation.blobs,
                limit=MANY,
                progress=lambda done, total: seen.append((done, total)),
            )
        )
    assert sum(report.outcomes.get("split", 0) for report in reports) == MANY
    assert not any(report.problems for report in reports)
    assert sql(installation, "SELECT count(*), count(DISTINCT eml_sha) FROM mail_parts"
        " WHERE outcome = 'arrived'") == [(MANY, MANY)]  # fmt: skip
    first = seen[: reports[0].claimed]
    assert [done for done, _ in first] == list(range(1, reports[0].claimed + 1))
    assert all(done <= total for done, total in seen)
