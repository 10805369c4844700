"""The structured search: period, amount, order, pages, and nothing behind a wall."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowledge_builders import Knowledge

from tgv_dagster.know.document_list import (
    DocumentPage,
    DocumentQuery,
    Order,
    UnknownListAxis,
    query_documents,
)
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Period, ScopeError


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    yield opened
    opened.words.close()


def listed(knowledge: Knowledge, login: str = "anna", **asked: object) -> DocumentPage:
    query = DocumentQuery(**asked)  # type: ignore[arg-type]
    return query_documents(knowledge.database, knowledge.scope(login), query)


def ids(page: DocumentPage) -> list[int]:
    return [row.document_id for row in page.rows]


def test_a_period_acts_on_its_axis_and_its_bounds_are_included(knowledge: Knowledge) -> None:
    may = knowledge.add("x", invoice_date="2026-05-31", due_date="2026-06-30")
    june = knowledge.add("x", invoice_date="2026-06-01", due_date="2026-05-31")
    knowledge.add("x")
    in_may = date(2026, 5, 1), date(2026, 5, 31)
    assert ids(listed(knowledge, period=Period("invoice_date", *in_may))) == [may]
    assert ids(listed(knowledge, period=Period("due_date", *in_may))) == [june]
    with pytest.raises(UnknownListAxis):
        listed(knowledge, period=Period("date", *in_may))


def test_days_of_receipt_are_those_of_the_tenant(knowledge: Knowledge) -> None:
    late = knowledge.add("x", date_received="2026-05-31T22:30:00Z")
    first_of_june = Period("date_received", date(2026, 6, 1), date(2026, 6, 1))
    assert ids(listed(knowledge, period=first_of_june)) == [late]


def test_amounts_kinds_and_senders_narrow(knowledge: Knowledge) -> None:
    wanted = knowledge.add("x", amount_gross="119.00", doc_type="invoice", provider="Möwen OHG")
    knowledge.add("x", amount_gross="119.01", doc_type="invoice", provider="Möwen OHG")
    knowledge.add("x", doc_type="invoice", provider="Möwen OHG")
    page = listed(
        knowledge,
        amount_from=Decimal(100),
        amount_to=Decimal(119),
        doc_type="invoice",
        provider="MÖWEN OHG",
    )
    assert ids(page) == [wanted]
    assert page.rows[0].link == f"#{wanted}"


def test_pages_together_are_the_whole_in_order_and_say_when_they_end(knowledge: Knowledge) -> None:
    for amount in (30, None, 10, 20, 20):
        knowledge.add("x", amount_gross=amount)
    whole = ids(listed(knowledge, order=Order.AMOUNT_GROSS, descending=False))
    pages = [
        listed(knowledge, order=Order.AMOUNT_GROSS, descending=False, limit=2, offset=offset)
        for offset in (0, 2, 4)
    ]
    assert [number for page in pages for number in ids(page)] == whole
    assert [page.complete for page in pages] == [False, False, True]
    assert {page.total for page in pages} == {5}
    amounts = [row.amount_gross for row in listed(knowledge, order=Order.AMOUNT_GROSS).rows]
    assert amounts == [30, 20, 20, 10, None], "without a value comes last in both directions"


def test_nothing_behind_a_wall_is_listed_or_counted(knowledge: Knowledge) -> None:
    seen = knowledge.add("x")
    for columns in (
        {"confidentiality_level": "vertraulich"},
        {"entity": "haus-sued"},
        {"state": "trashed"},
        {"is_test": True},
    ):
        knowledge.add("x", **columns)
    page = listed(knowledge, "emil")
    assert (ids(page), page.total, page.complete) == ([seen], 1, True)
    assert listed(knowledge, "chef").total == 3
    with pytest.raises(ScopeError):
        query_documents(
            knowledge.database,
            knowledge.scope("emil").narrow(entity="nord-gmbh"),
            DocumentQuery(entity="nord-sarl"),
        )


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(max_size=60).map(lambda t: t.replace("\x00", "")), order=st.sampled_from(Order))
def test_any_filter_is_a_value_and_never_a_statement(
    knowledge: Knowledge, text: str, order: Order
) -> None:
    clean = text.encode("utf-8", "replace").decode()
    page = listed(knowledge, provider=clean, doc_type=clean, currency=clean, order=order)
    assert page.rows == ()
