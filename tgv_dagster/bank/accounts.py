"""The account master: whose account a statement belongs to, and proposals for unknown ones.

The entity of a booking comes from here and never from the file (FIN-07). An unknown account becomes
an inactive proposal with a case; nothing is booked on it before a person has confirmed it (FIN-10).
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.bank.frame import AccountRef
from tgv_dagster.store.actions import Action
from tgv_dagster.store.cards import Choice, NewCard
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, close_solved, open_case
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record

AUTHOR = "bank"


class AccountError(Exception):
    """The account cannot be confirmed; the message says why."""


@dataclass(frozen=True, slots=True)
class Account:
    """One account of the master. `proposed` means that nobody has confirmed it yet."""

    id: int
    mandant_id: int
    entity: str | None
    key: str
    name: str
    currency: str
    active: bool
    proposed: bool
    books_reports: bool
    is_test: bool


def find(connection: Connection, mandant_id: int, ref: AccountRef) -> Account | None:
    """The account of this tenant that the file names: by key, or by the number in its IBAN."""
    rows = connection.execute(
        """
        SELECT id, mandant_id, entity, account_key, name, currency, active,
            proposed_at IS NOT NULL AND confirmed_by IS NULL AND NOT active,
            coalesce(books_reports, false), is_test OR EXISTS (
                SELECT 1 FROM entities e JOIN mandanten m ON m.id = e.mandant_id
                WHERE e.slug = md_accounts.entity AND (e.is_test OR m.is_test))
        FROM md_accounts
        WHERE mandant_id = %(tenant)s AND (account_key = %(key)s OR iban = %(key)s
            OR (iban LIKE 'DE%%' AND substr(iban, 5) = %(german)s))
        ORDER BY account_key = %(key)s DESC, id
        """,
        {"tenant": mandant_id, "key": ref.key, "german": _german_number(ref)},
    ).fetchall()
    return Account(*rows[0]) if rows else None


def _german_number(ref: AccountRef) -> str | None:
    """Bank code and number as they stand in a German IBAN; None when they are not such."""
    bank, number = ref.bank or "", (ref.number or "").lstrip("0")
    if len(bank) == 8 and bank.isdigit() and number.isdigit() and len(number) <= 10:
        return bank + number.zfill(10)
    return None


def propose(
    connection: Connection,
    ref: AccountRef,
    *,
    mandant_id: int,
    document_id: int | None,
    entity_hint: str | None,
    is_test: bool,
    author: str,
) -> Account:
    """Write the inactive proposal and its case; idempotent per tenant and key."""
    assert ref.key is not None
    row = connection.execute(
        "INSERT INTO md_accounts (mandant_id, entity, iban, account_key, name, currency, active,"
        " is_test, proposed_at, proposed_document) VALUES (%s, NULL, %s, %s, %s, %s, false, %s,"
        " now(), %s) ON CONFLICT (mandant_id, account_key) DO UPDATE SET name = md_accounts.name"
        " RETURNING id, name, currency",
        (
            mandant_id, ref.iban, ref.key, ref.owner or f"Konto {ref.key[-4:]}",
            ref.currency or "EUR", is_test, document_id,
        ),
    ).fetchone()  # fmt: skip
    assert row is not None
    open_case(
        connection,
        NewCase(
            kind=CaseKind.NEW_ACCOUNT,
            subject_kind=SubjectKind.ACCOUNT,
            subject_key=str(row[0]),
            reason="A statement came for an account that is not in the account master.",
            author=author,
            mandant_id=mandant_id,
            entity=entity_hint,
            document_id=document_id,
            evidence={"account_ends_with": ref.key[-4:], "currency": row[2]},
            is_test=is_test,
            cards=_cards(connection, row[0], mandant_id),
        ),
    )
    return Account(
        row[0], mandant_id, None, ref.key, row[1], row[2], False, True, False, is_test
    )  # fmt: skip


def _cards(connection: Connection, account_id: int, mandant_id: int) -> tuple[NewCard, ...]:
    """One card, with a choice for every entity of the tenant."""
    rows = connection.execute(
        "SELECT slug, legal_name FROM entities WHERE mandant_id = %s ORDER BY slug", (mandant_id,)
    ).fetchall()
    choices = tuple(
        Choice(slug, name, {"account_id": account_id, "entity": slug}) for slug, name in rows
    )
    shared = {"account_id": account_id}
    return (
        (NewCard(Action.CONFIRM_ACCOUNT, shared, AUTHOR, basis_of(account_id), choices),)
        if choices
        else ()
    )


def basis_of(account_id: int) -> dict[str, object]:
    """What the card of an account stands on: nobody has decided about it yet."""
    return {"account": account_id, "proposed": True}


def confirm(
    connection: Connection, account_id: int, *, entity: str, author: str
) -> tuple[int, ...]:
    """A person takes the account over for an entity of its tenant; returns waiting documents.

    The case of the account is closed by whoever asked: the executor of its card, or `close_case`.

    Raises AccountError when there is no such account, or the entity belongs to another tenant.
    """
    row = connection.execute(
        "UPDATE md_accounts a SET entity = e.slug, active = true, confirmed_by = %s"
        " FROM entities e WHERE a.id = %s AND e.slug = %s AND e.mandant_id = a.mandant_id"
        " RETURNING a.mandant_id",
        (author, account_id, entity),
    ).fetchone()
    if row is None:
        raise AccountError("There is no such account, or the entity belongs to another tenant.")
    record(
        connection,
        Event(
            kind="bank.account_confirmed",
            author=author,
            object=f"account:{account_id}",
            reason="a person confirmed the account",
            is_human=True,
            entity=entity,
            mandant_id=row[0],
        ),
    )
    return waiting_documents(connection, row[0])


def close_case(connection: Connection, account_id: int, *, by: str) -> None:
    """Close the open case of an account that was confirmed at another door than its card."""
    close_solved(
        connection,
        subject_kind=SubjectKind.ACCOUNT,
        subject_key=str(account_id),
        by=by,
        kinds=(CaseKind.NEW_ACCOUNT,),
    )


def waiting_documents(connection: Connection, mandant_id: int) -> tuple[int, ...]:
    """Documents whose import waits for an account or an answer."""
    rows = connection.execute(
        "SELECT document_id FROM bank_imports WHERE mandant_id = %s AND state = 'waiting'"
        " AND document_id IS NOT NULL ORDER BY id",
        (mandant_id,),
    ).fetchall()
    return tuple(row[0] for row in rows)
