"""Measurements of the bank: balances add up, nothing is missing or double, links stay in bounds."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, totals
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation

NO_STATEMENT = "no statement with both balances is recorded"
NO_BOOKING = "no booking is recorded"
NO_LINK = "no link is recorded"

_CLOSINGS = """
    closings AS (
        SELECT account_id, closing_day AS day, array_agg(closing) AS closings, min(opening_day)
            AS reaches, array_agg(opening) AS openings, max(id) AS id
        FROM bank_statements
        WHERE kind = 'statement' AND opening IS NOT NULL AND closing IS NOT NULL
        GROUP BY account_id, closing_day),
    steps AS (
        SELECT c.*, lag(c.day) OVER own AS before_day, lag(c.closings) OVER own AS before
        FROM closings c WINDOW own AS (PARTITION BY c.account_id ORDER BY c.day))
"""
"""Per account and day: every balance a statement closed with; a day may have several statements."""


def bank_balances(installation: Installation) -> Verdict:
    """Between two recorded balances stand exactly the bookings that explain the difference.

    Judged where the later statement reaches back to the day of the earlier balance; what lies
    between statements that do not touch belongs to `bank_coverage`.
    """
    found = counts_and_ids(
        installation,
        f"""
        WITH {_CLOSINGS}
        SELECT s.id, CASE
            WHEN s.before IS NULL OR s.reaches > s.before_day + 1 THEN 'start_or_gap'
            WHEN EXISTS (SELECT 1 FROM unnest(s.before) b, unnest(s.closings) c
                WHERE c - b = (SELECT coalesce(sum(t.amount), 0) FROM txn_master t
                    WHERE t.account_id = s.account_id
                      AND t.booking_date > s.before_day AND t.booking_date <= s.day))
                THEN 'explained'
            ELSE 'unexplained' END
        FROM steps s
        UNION ALL
        SELECT b.id, CASE
            WHEN b.opening + coalesce(o.amount, 0) = b.closing THEN 'own_lines_explain'
            WHEN EXISTS (SELECT 1 FROM txn_sightings g WHERE g.import_id = b.import_id)
                OR EXISTS (SELECT 1 FROM bank_imports i WHERE i.id = b.import_id AND i.known > 0)
                THEN 'shares_lines'
            ELSE 'unexplained' END
        FROM bank_statements b
        LEFT JOIN (
            SELECT import_id, (provenance ->> 'statement')::bigint AS statement,
                sum(amount) AS amount
            FROM txn_master WHERE import_id IS NOT NULL GROUP BY 1, 2) o
            ON o.statement = b.id AND o.import_id = b.import_id
        WHERE b.kind = 'statement' AND b.opening IS NOT NULL AND b.closing IS NOT NULL
        """,
    )
    if not found:
        return unmeasured(NO_STATEMENT)
    return judged(
        found.get("unexplained", (0, ()))[0],
        holds="the bookings explain every step from one recorded balance to the next",
        broken="bookings are missing, double or changed between two recorded balances",
        figures=totals(found),
        evidence=evidence(found, ("unexplained",), "bank_statement"),
    )


def bank_coverage(installation: Installation) -> Verdict:
    """No day lies between two statements of an account with money moved and no statement."""
    found = counts_and_ids(
        installation,
        f"""
        WITH {_CLOSINGS}
        SELECT s.id, CASE
            WHEN s.before IS NULL THEN 'first'
            WHEN s.openings && s.before OR s.reaches <= s.before_day THEN 'continues'
            ELSE 'gap' END
        FROM steps s
        """,
    )
    if not found:
        return unmeasured(NO_STATEMENT)
    return judged(
        found.get("gap", (0, ()))[0],
        holds="every statement of an account continues an earlier one or is its first",
        broken="between statements of an account money moved that no statement shows",
        figures=totals(found),
        evidence=evidence(found, ("gap",), "bank_statement"),
    )


def bank_duplicates(installation: Installation) -> Verdict:
    """No booking stands twice because it came in two formats with the same words."""
    found = counts_and_ids(
        installation,
        """
        SELECT max(id), CASE
            WHEN count(DISTINCT coalesce(bank_format, '')) > 1 AND length(words) >= 6
            THEN 'twice' ELSE 'once' END
        FROM (SELECT id, account_id, booking_date, amount, currency, bank_format,
                regexp_replace(lower(purpose), '[^a-z0-9]', '', 'g') AS words
              FROM txn_master) t
        GROUP BY account_id, booking_date, amount, currency, words
        """,
    )
    if not found:
        return unmeasured(NO_BOOKING)
    return judged(
        found.get("twice", (0, ()))[0],
        holds="no booking stands twice in words and amount",
        broken="bookings of one account, day, amount and purpose came in two formats",
        figures=totals(found),
        evidence=evidence(found, ("twice",), "booking"),
    )


def bank_links_in_bounds(installation: Installation) -> Verdict:
    """Links of a booking never exceed it, links of a document never exceed its total.

    The database refuses such a link; a document whose total was corrected later shows here.
    """
    found = counts_and_ids(
        installation,
        """
        SELECT l.txn_id, CASE WHEN sum(l.amount) > abs(min(t.amount)) THEN 'over_booking'
            ELSE 'within' END
        FROM txn_document_links l JOIN txn_master t ON t.id = l.txn_id GROUP BY l.txn_id
        UNION ALL
        SELECT l.document_id, CASE WHEN min(d.id) IS NULL THEN 'document_gone'
            WHEN sum(l.amount) > coalesce(abs(min(d.amount_gross)), 0) THEN 'over_document'
            ELSE 'within' END
        FROM txn_document_links l LEFT JOIN documents d ON d.id = l.document_id
        GROUP BY l.document_id
        """,
    )
    if not found:
        return unmeasured(NO_LINK)
    return judged(
        sum(found.get(name, (0, ()))[0] for name in ("over_booking", "over_document")),
        holds="no booking and no document is linked beyond its amount",
        broken="links exceed the amount of their booking or document",
        figures=totals(found),
        evidence=(
            *evidence(found, ("over_booking",), "booking"),
            *evidence(found, ("over_document",), "document"),
        ),
    )
