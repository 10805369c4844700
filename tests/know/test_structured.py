"""Dates, amounts, persons and register numbers answered from fields, with how many of how many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from knowledge_builders import Knowledge

from tgv_dagster.know.balance import WayState
from tgv_dagster.know.queries import QueryTerms, understand
from tgv_dagster.know.search import SearchFilters, search
from tgv_dagster.know.structured import (
    CANDIDATES,
    SHOWN_AT_MOST,
    Asked,
    FieldAnswer,
    field_terms,
)
from tgv_dagster.store.db import Database
from tgv_dagster.understand.naming import asked_words, is_named, name_words


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    yield opened
    opened.words.close()


def put(knowledge: Knowledge, document: int, field: str, value: str, origin: str = "machine"):
    knowledge.rows(
        "INSERT INTO document_values (document_id, field, value, origin, confidence, set_by,"
        " version) VALUES (%s, %s, %s, %s, 0.9, 'test', '1') RETURNING 1",
        document, field, value, origin,
    )  # fmt: skip


def mention(knowledge: Knowledge, document: int, name: str | None, **more: str) -> None:
    knowledge.rows(
        "INSERT INTO contact_mentions (document_id, role, name_raw, name_words, iban, vat_id,"
        " source_kind) VALUES (%s, 'sender', %s, %s, %s, %s, 'text') RETURNING 1",
        document, name, list(name_words(name)), more.get("iban"), more.get("vat_id"),
    )  # fmt: skip


def fields(
    knowledge: Knowledge, question: str, login: str = "anna", **filters: object
) -> FieldAnswer:
    scope = knowledge.scope(login)
    asked = SearchFilters(**filters)  # type: ignore[arg-type]
    return search(knowledge.parts, scope, question, filters=asked).fields


def found(answer: FieldAnswer) -> list[int]:
    return list(dict.fromkeys(hit.document_id for hit in answer.hits))


@pytest.mark.parametrize(
    ("field", "value", "question"),
    [
        ("due_date", "2026-08-31", "Echéance : 31 août"),
        ("due_date", "2026-08-31", "Was ist am 31.08.2026 fällig?"),
        ("contract_end_date", "2026-08-31", "Welche Verträge enden im August 2026?"),
        ("accounting_period", "2026-08", "Buchungen August 2026"),
        ("amount_gross", "1234.50", "Rechnung über 1.234,50 Euro"),
        ("amount_due", "-300", "remboursement de 300,00 €"),
        ("invoice_number", "RE-2026/0815", "Was steht in RE 2026 0815?"),
        ("customer_number", "K 4711-22", "Kundennummer K4711-22"),
    ],
)
def test_a_value_that_is_asked_for_is_found_in_its_field(
    knowledge: Knowledge, field: str, value: str, question: str
) -> None:
    document, other = knowledge.add("Inhalt ohne Bezug"), knowledge.add("Anderes")
    put(knowledge, document, field, value)
    put(knowledge, other, field, {"due_date": "2026-08-30"}.get(field, "2025-01-01"))
    answer = fields(knowledge, question)
    assert found(answer) == [document]
    assert (answer.used, answer.of, answer.state) == (1, 1, WayState.COMPLETE)
    assert answer.hits[0].field == field
    assert answer.hits[0].link == f"#{document}"


def test_a_value_that_a_person_replaced_does_not_count(knowledge: Knowledge) -> None:
    document = knowledge.add("x")
    put(knowledge, document, "due_date", "2026-08-31")
    put(knowledge, document, "due_date", "2026-09-30", "human")
    assert found(fields(knowledge, "fällig 31.08.2026")) == []
    assert found(fields(knowledge, "fällig 30.09.2026")) == [document]


@pytest.mark.parametrize(
    "question", ["Wer ist Jörg Müller?", "qui est joerg mueller", "Muller", "Wer ist Müller?"]
)
def test_a_person_is_resolved_to_every_document_that_mentions_it(
    knowledge: Knowledge, question: str
) -> None:
    mentioned = [knowledge.add(f"Brief {n}") for n in range(SHOWN_AT_MOST + 3)]
    for document in mentioned:
        mention(knowledge, document, "Jörg Müller")
    mention(knowledge, knowledge.add("Brief"), "Jörg Meier")
    answer = fields(knowledge, question)
    assert found(answer) == mentioned[::-1][:SHOWN_AT_MOST]
    assert (answer.used, answer.of) == (SHOWN_AT_MOST, SHOWN_AT_MOST + 3)


def test_how_many_of_how_many_is_said_in_the_line(knowledge: Knowledge) -> None:
    for number in range(8):
        mention(knowledge, knowledge.add(f"Brief {number}"), "Möwen OHG")
    scope = knowledge.scope()
    lines = {
        language: search(knowledge.parts, scope, "Wer ist Möwen OHG?", language=language).line
        for language in ("de", "fr", "en")
    }
    assert "6 von 8" in lines["de"]
    assert "6 sur 8" in lines["fr"]
    assert "6 of 8" in lines["en"]


def test_a_register_or_account_number_leads_to_its_party(knowledge: Knowledge) -> None:
    document, own = knowledge.add("x", entity="nord-sarl"), knowledge.add("y")
    mention(knowledge, document, None, vat_id="FR 40 303 265 045")
    knowledge.rows(
        "UPDATE entities SET register_no = 'HRB 102141 B' WHERE slug = 'nord-gmbh' RETURNING 1"
    )
    assert found(fields(knowledge, "Wem gehört FR40303265045?")) == [document]
    answer = fields(knowledge, "Geschäftsführer der HRB 102141 B")
    assert found(answer) == [own]
    assert answer.hits[0].asked is Asked.PARTY


def test_what_answers_more_of_the_question_comes_first(knowledge: Knowledge) -> None:
    both, newer = knowledge.add("x"), knowledge.add("y")
    for document in (both, newer):
        mention(knowledge, document, "Möwen OHG")
    put(knowledge, both, "amount_gross", "119.00")
    answer = fields(knowledge, "Möwen OHG 119,00")
    assert (found(answer), answer.of) == ([both, newer], 2)


def test_nothing_behind_a_wall_is_found_or_counted(knowledge: Knowledge) -> None:
    strict = knowledge.add("x", confidentiality_level="streng_vertraulich")
    foreign = knowledge.add("x", entity="haus-sued")
    trashed = knowledge.add("x", state="trashed")
    seen = knowledge.add("x")
    for document in (strict, foreign, trashed, seen):
        mention(knowledge, document, "Zeppelin AG")
        put(knowledge, document, "due_date", "2026-08-31")
    for question in ("Zeppelin AG", "31.08.2026"):
        answer = fields(knowledge, question, "emil")
        assert (found(answer), answer.of) == ([seen], 1)
        assert fields(knowledge, question, "chef").of == 3, "the positive control"
    assert found(fields(knowledge, "31.08.2026", entity="nord-sarl")) == []


def test_a_pinned_document_is_asked_by_vector_only(knowledge: Knowledge) -> None:
    document = knowledge.add("x")
    put(knowledge, document, "due_date", "2026-08-31")
    answer = fields(knowledge, "31.08.2026", document_id=document)
    assert (answer.hits, answer.state) == ((), WayState.NOT_RUN)


def test_terms_are_read_in_their_stored_forms() -> None:
    terms = understand("am 31.08.2026, 30. Juni, Mai 2026, 1.234,50 Euro, DE136695976")
    assert isinstance(terms, QueryTerms)
    keys = set(field_terms(terms).keys)
    assert keys >= {"d20260831", "a0630", "m202605", "n1234.5", "xde136695976"}


@pytest.mark.parametrize(
    ("name", "words", "named"),
    [
        ("Stadtwerke Hamburg GmbH", ("rechnung", "hamburg"), False),
        ("Stadtwerke Hamburg GmbH", ("rechnung", "stadtwerke", "hamburg"), True),
        ("Stadtwerke Hamburg GmbH", ("stadtwerke",), True),
        ("S.A.R.L.", ("sarl",), False),
        ("GmbH", (), False),
        ("", ("a",), False),
    ],
)
def test_a_party_is_named_by_its_whole_name_or_by_nothing_else(
    name: str, words: tuple[str, ...], named: bool
) -> None:
    assert is_named(name_words(name), asked_words(words)) is named


SPELLINGS = (
    ("Peña Muñoz S.L.", "pena munoz"),
    ("Łódzki Žižek", "lodzki zizek"),
    ("MÜLLER & SÖHNE", "mueller soehne"),
    ("Œuvre Straße", "oeuvre strasse"),
    ("ΠΑΠΑΔΟΠΟΎΛΟΥ", "παπαδοπουλου"),
    ("ИВАНОВ и Партнёры", "иванов и партнеры"),
    ("株式会社山田", "株式会社山田"),
    ("EY", "EY"),
    ("مؤسسة النور", "مؤسسة النور"),
    ("A" * 5_000, "a" * 5_000),
    ('Bobby\'); DROP "x" %s {y}', "bobby drop x %s {y}"),
)


def test_a_party_is_found_however_its_name_is_spelled(knowledge: Knowledge) -> None:
    documents = {name: knowledge.add("x") for name, _ in SPELLINGS}
    for name, document in documents.items():
        mention(knowledge, document, name)
    for name, spelling in SPELLINGS:
        for question in (name, spelling):
            assert documents[name] in found(fields(knowledge, question)), question


@pytest.mark.parametrize(
    ("field", "value", "question", "is_found"),
    [
        ("amount_gross", "300.00", "300 €", True),
        ("amount_gross", "0300.000000", "300,00", True),
        ("due_date", "2026-08-31T10:00:00Z", "31.08.2026", True),
        ("invoice_number", "x" * 4_000, "xxxx", False),
        ("invoice_number", "", "leer", False),
        ("amount_gross", "about a hundred", "100,00", False),
        ("due_date", "soon", "31.08.2026", False),
        ("accounting_period", "2012-08", "8. Dezember", False),
    ],
)
def test_a_value_of_any_form_can_be_stored_and_asked_for(
    knowledge: Knowledge, field: str, value: str, question: str, *, is_found: bool
) -> None:
    document = knowledge.add("x")
    put(knowledge, document, field, value)
    assert found(fields(knowledge, question)) == ([document] if is_found else [])


def test_values_and_parties_are_looked_up_by_their_indexes(knowledge: Knowledge) -> None:
    document = knowledge.add("x")
    knowledge.rows(
        "INSERT INTO document_values (document_id, field, value, origin, set_by, version)"
        " SELECT %s, 'invoice_number', 'RE' || n, 'machine', 't', '1'"
        " FROM generate_series(1, 20000) n RETURNING 1",
        document,
    )
    knowledge.rows(
        "INSERT INTO contact_mentions (document_id, role, name_raw, name_words, iban, source_kind)"
        " SELECT %s, 'sender', n, ARRAY['w' || n], 'DE' || n, 't'"
        " FROM generate_series(1, 20000) n RETURNING 1",
        document,
    )
    with knowledge.database.owner(autocommit=True) as owner:
        owner.execute("ANALYZE document_values, contact_mentions")
    with knowledge.database.worker() as connection:
        plan = connection.execute(
            ("EXPLAIN " + CANDIDATES).encode(),
            {"keys": ["xre77"], "words": ["w77"], "mandant": None, "limit": 10},
        ).fetchall()
    told = "\n".join(line for (line,) in plan)
    for index in ("document_values_keys", "contact_mentions_numbers", "contact_mentions_names"):
        assert index in told


HOSTILE = (
    "a:(^", '"' * 20_000, "-", "NOT AND OR", "https://x.de/?q=1&b=%00", "🦊👩‍👩‍👧" * 5_000,
    "א" * 50_000, "株" * 50_000, "1" * 100_000, "1." * 50_000, "-1" * 50_000, "31.08.2026 " * 9_000,
    "e\u0301" * 30_000, "\u202eחשבונית\u202c 4711", "ﷺ" * 10_000, "RE-" + "9" * 5_000, "Ⅷ³½ １２",
    "Miete\x00'; DROP TABLE documents; --", "100 %s {x} \\", "\ud800abc 4711", "İSTANBUL ǅ ſ",
)  # fmt: skip


def test_no_question_breaks_the_look_up(knowledge: Knowledge) -> None:
    document = knowledge.add("x")
    put(knowledge, document, "invoice_number", "4711")
    mention(knowledge, document, "Istanbul A.Ş.")
    for question in HOSTILE:
        answer = fields(knowledge, question)
        assert answer.state is not WayState.FAILED, question[:40]
    assert found(fields(knowledge, "\u202eחשבונית\u202c 4711")) == [document]
    assert found(fields(knowledge, "İSTANBUL")) == [document]
