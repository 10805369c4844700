"""The vector way: nearest windows, best per chunk, exact and by bits, never too few."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from knowledge_builders import SPACE, BagOfWordsEmbedder, Knowledge

from tgv_dagster.know import halfvec
from tgv_dagster.know.vectors import (
    Method,
    ScanSettings,
    UnknownAxis,
    VectorHit,
    VectorSizes,
    days_in_zone,
    narrowing,
    nearest,
    search_vectors,
)
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Period, Scope

EXACT, BITS = ScanSettings(30_000, 800), ScanSettings(0, 8)
SUBJECTS = ("Fenster", "Türen", "Treppen", "Dielen", "Schränke", "Tische", "Bänke", "Regale")


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    yield opened
    opened.words.close()


def find(
    knowledge: Knowledge,
    question: str,
    scope: Scope,
    *,
    limit: int = 6,
    settings: ScanSettings = EXACT,
) -> tuple[VectorHit, ...]:
    vector = BagOfWordsEmbedder().embed_query(question, None)
    with knowledge.database.reading(scope) as connection:
        return search_vectors(
            connection, VectorSizes(knowledge.database), SPACE, vector, scope, settings,
            limit=limit,
        ).hits  # fmt: skip


def template(subject: str, number: int) -> str:
    return f"Rechnung {number}: Lieferung von {subject} aus Eiche, zahlbar in {number} Tagen."


@pytest.mark.parametrize("settings", [EXACT, BITS])
def test_the_nearest_document_comes_first(knowledge: Knowledge, settings: ScanSettings) -> None:
    documents = {s: knowledge.add(template(s, n)) for n, s in enumerate(SUBJECTS)}
    knowledge.flow()
    for subject in SUBJECTS:
        best = find(knowledge, f"Lieferung von {subject}", knowledge.scope(), settings=settings)[0]
        assert best.document_id == documents[subject]


def test_a_chunk_counts_by_its_best_window(knowledge: Knowledge) -> None:
    far = ("Allgemeine Angaben ohne jeden Bezug zur Sache selbst. " * 5 + "\n\n") * 5
    long = knowledge.add(far + "Die Kündigungsfrist beträgt sechs Wochen. " * 4 + "\n\n" + far)
    near = knowledge.add("Die Frist für eine Anfrage beträgt manchmal Wochen, selten mehr.")
    knowledge.flow()
    hits = find(knowledge, "Kündigungsfrist beträgt sechs Wochen", knowledge.scope())
    assert [hit.document_id for hit in hits] == [long, near]
    assert len({hit.chunk_id for hit in hits}) == len(hits)
    chunk = knowledge.rows(
        "SELECT content, windows, span_start FROM rag_chunks WHERE id = %s", hits[0].chunk_id
    )[0]
    window = chunk[1][hits[0].window_no]
    assert "Kündigungsfrist" in chunk[0][window.lower - chunk[2] : window.upper - chunk[2]]


@pytest.mark.parametrize("settings", [EXACT, BITS])
def test_a_longer_list_never_holds_less(knowledge: Knowledge, settings: ScanSettings) -> None:
    """Fault 139: no limit at which rows vanish; many windows of one chunk do not use it up."""
    for number in range(30):
        knowledge.add(template(SUBJECTS[number % 8], number) + "\n\n" + "Eiche Eiche. " * 200)
    knowledge.flow()
    chunks = knowledge.rows("SELECT count(*) FROM rag_chunks")[0][0]
    before: list[VectorHit] = []
    for limit in (1, 2, 6, 29, 30, 31, chunks, chunks + 100):
        hits = find(knowledge, "Eiche", knowledge.scope(), limit=limit, settings=settings)
        assert len(hits) == min(limit, chunks)
        if settings is EXACT:
            assert list(hits[: len(before)]) == before
            before = list(hits)


def test_a_small_tenant_beside_a_large_one_gets_all_its_rows(knowledge: Knowledge) -> None:
    """Fault 140: one tenant's vectors do not change what another one finds."""
    for number in range(60):
        knowledge.add(template(SUBJECTS[number % 8], number))
    own = {knowledge.add(template("Fenster", n), entity="haus-sued") for n in range(5)}
    knowledge.flow()
    for settings in (EXACT, BITS):
        hits = find(knowledge, "Fenster aus Eiche", knowledge.scope("sven"), settings=settings)
        assert {hit.document_id for hit in hits} == own


def test_narrowing_keeps_the_full_list_of_what_is_left(knowledge: Knowledge) -> None:
    for number in range(40):
        knowledge.add(template("Fenster", number))
    wanted = {
        knowledge.add(template("Fenster", 900 + n), entity="nord-sarl", project_code=None)
        for n in range(6)
    }
    project = {knowledge.add(template("Fenster", 950 + n), project_code="P-1") for n in range(6)}
    knowledge.flow()
    anna = knowledge.scope()
    for settings in (EXACT, BITS):
        sarl = find(knowledge, "Fenster", anna.narrow(entity="nord-sarl"), settings=settings)
        assert {hit.document_id for hit in sarl} == wanted
        inside = find(knowledge, "Fenster", anna.narrow(project_code="P-1"), settings=settings)
        assert {hit.document_id for hit in inside} == project
        pinned = anna.narrow(context_doc_id=min(wanted))
        assert {h.document_id for h in find(knowledge, "Fenster", pinned)} == {min(wanted)}


# --- periods -----------------------------------------------------------------------------------


def period(axis: str, first: str | None, last: str | None) -> Period:
    day = dt.date.fromisoformat
    return Period(axis, day(first) if first else None, day(last) if last else None)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (period("invoice_date", "2026-05-01", "2026-05-31"), {"may"}),
        (period("invoice_date", None, "2026-05-31"), {"april", "may"}),
        (period("invoice_date", "2026-05-31", None), {"may", "june"}),
        (period("invoice_date", None, None), {"april", "may", "june"}),
        (period("invoice_date", "2026-06-01", "2026-05-01"), set()),
        # 22:30 UTC on 31 May is already 1 June in Berlin, the zone of the tenant.
        (period("date_received", "2026-06-01", "2026-06-01"), {"undated"}),
        (period("date_received", "2026-05-31", "2026-05-31"), set()),
        (period("date_received", None, None), {"april", "may", "june", "undated"}),
    ],
)
def test_a_period_acts_on_its_axis_in_the_zone_of_the_tenant(
    knowledge: Knowledge, wanted: Period, found: set[str]
) -> None:
    documents = {
        "april": {"invoice_date": "2026-04-30", "date_received": "2026-04-30T08:00Z"},
        "may": {"invoice_date": "2026-05-31", "date_received": "2026-05-15T08:00Z"},
        "june": {"invoice_date": "2026-06-01", "date_received": "2026-06-02T08:00Z"},
        "undated": {"date_received": "2026-05-31T22:30Z"},
    }
    names = {knowledge.add("Fenster aus Eiche", **c): name for name, c in documents.items()}
    knowledge.flow()
    for scope in (knowledge.scope(), knowledge.scope("chef")):
        hits = find(knowledge, "Fenster", scope.narrow(period=wanted))
        assert {names[hit.document_id] for hit in hits} == found


def test_an_unknown_axis_is_an_error_and_not_an_empty_result(knowledge: Knowledge) -> None:
    with pytest.raises(UnknownAxis):
        find(knowledge, "Fenster", knowledge.scope().narrow(period=period("birthday", None, None)))


def test_the_days_of_a_period_follow_the_change_of_the_clock() -> None:
    low, high = days_in_zone(period("date_received", "2026-10-25", "2026-10-25"), "Europe/Berlin")
    assert low is not None
    assert high is not None
    assert high - low == dt.timedelta(hours=25)
    assert days_in_zone(Period("date_received", None, dt.date.max), "UTC") == (None, None)


# --- method and wire form ----------------------------------------------------------------------


def test_the_size_of_the_tenant_chooses_the_method(knowledge: Knowledge) -> None:
    for number in range(5):
        knowledge.add(template("Fenster", number))
    knowledge.flow()
    small = ScanSettings(4, 800)
    for login, mandant, settings, method in (
        ("anna", None, EXACT, Method.EXACT),
        ("anna", None, small, Method.BITS),
        ("sven", None, small, Method.EXACT),
        ("chef", None, small, Method.BITS),
        ("chef", "sued", small, Method.EXACT),
    ):
        scope = knowledge.scope(login, mandant)
        assert VectorSizes(knowledge.database).method(SPACE, scope, settings) is method
    pinned = knowledge.scope().narrow(context_doc_id=1)
    assert VectorSizes(knowledge.database).method(SPACE, pinned, small) is Method.EXACT


def test_tenants_in_turn_on_one_pooled_connection_never_mix(
    database: Database, tmp_path: Path
) -> None:
    one = Database(database.url, pool_size=1)
    knowledge = Knowledge.open(one, tmp_path / "index")
    nord = {knowledge.add(template("Fenster", n)) for n in range(8)}
    sued = {knowledge.add(template("Fenster", n), entity="haus-sued") for n in range(8)}
    knowledge.flow()
    anna, sven = knowledge.scope(), knowledge.scope("sven")
    for _ in range(12):
        for scope, own in ((anna, nord), (sven, sued)):
            hits = find(knowledge, "Fenster", scope)
            assert len(hits) == 6
            assert {hit.document_id for hit in hits} <= own
    knowledge.words.close()
    one.close()


def test_a_limit_below_one_is_refused(knowledge: Knowledge) -> None:
    scope, vector = knowledge.scope(), np.ones(SPACE.dimension, np.float32)
    with knowledge.database.reading(scope) as connection, pytest.raises(ValueError, match="limit"):
        nearest(
            connection, SPACE, vector, narrowing(connection, scope),
            limit=0, method=Method.EXACT, rerank_rows=8,
        )  # fmt: skip


@given(st.lists(st.floats(-1, 1, width=16), min_size=3, max_size=3))
def test_the_literal_form_says_the_vector(values: list[float]) -> None:
    text = halfvec.literal(np.array(values, np.float32))
    assert [float(part) for part in text.strip("[]").split(",")] == pytest.approx(values, rel=1e-5)
