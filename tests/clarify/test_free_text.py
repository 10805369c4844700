"""A person's words are an answer only where nothing is in doubt; the rest is asked again."""

from __future__ import annotations

import pytest
from clarify_builders import document, effective, person, question
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster import vollzug
from tgv_dagster.clarify import conversation
from tgv_dagster.clarify.answer_values import fault_of
from tgv_dagster.clarify.cases import NotAnswerable
from tgv_dagster.clarify.free_text import Known, Question, read
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.understand.evidence import Field

KNOWN = Known(
    {"nord-gmbh": ("Nordlicht Tischlerei GmbH", "Nordlicht"), "nord-sarl": ("Atelier Nord SARL",)},
    {"P-1": ("Umbau Kita", "Kita"), "P-2": ("Dach",)},
)


@pytest.mark.parametrize(
    ("text", "language", "questions", "stated"),
    [
        ("Fällig am 14.04.2026.", "de", {Field.DUE_DATE: ()}, {Field.DUE_DATE: "2026-04-14"}),
        ("le 1er avril 2026", "fr", {Field.DUE_DATE: ()}, {Field.DUE_DATE: "2026-04-01"}),
        ("1.234,56 EUR", "de", {Field.AMOUNT_GROSS: ()}, {Field.AMOUNT_GROSS: "1234.56"}),
        ("Das ist für die Nordlicht", "de", {Field.ENTITY: ()}, {Field.ENTITY: "nord-gmbh"}),
        ("c'est pour Atelier Nord SARL", "fr", {Field.ENTITY: ()}, {Field.ENTITY: "nord-sarl"}),
        ("Eine Quittung", "de", {Field.DOC_TYPE: ()}, {Field.DOC_TYPE: "receipt"}),
        ("gehört zur Kita", "de", {Field.PROJECT_CODE: ()}, {Field.PROJECT_CODE: "P-1"}),
        ("Holzkontor Söhne", "de", {Field.PROVIDER: ()}, {Field.PROVIDER: "Holzkontor Söhne"}),
        (
            "Meier Bau GmbH & Co. KG",
            "de",
            {Field.PROVIDER: ("Meier Bau",)},
            {Field.PROVIDER: "Meier Bau GmbH & Co. KG"},
        ),
        ("keins", "de", {Field.DUE_DATE: ()}, {Field.DUE_DATE: None}),
        ("keine", "de", {Field.DUE_DATE: ()}, {Field.DUE_DATE: None}),
        ("il n'y en a pas", "fr", {Field.DUE_DATE: ()}, {Field.DUE_DATE: None}),
        (
            "invoice, für Nordlicht",
            "de",
            {Field.DOC_TYPE: ("invoice", "offer"), Field.ENTITY: ()},
            {Field.DOC_TYPE: "invoice", Field.ENTITY: "nord-gmbh"},
        ),
    ],
)
def test_what_is_said_without_doubt(
    text: str,
    language: str,
    questions: dict[Field, tuple[str, ...]],
    stated: dict[Field, str | None],
) -> None:
    asked = [Question(field, choices) for field, choices in questions.items()]
    assert read(text, asked, KNOWN, language=language) == stated


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("14.04.2026 oder 15.04.2026", (Field.DUE_DATE,)),
        ("14.04.2026", (Field.DUE_DATE, Field.INVOICE_DATE)),
        ("31.02.2026", (Field.DUE_DATE,)),
        ("1.000 EUR", (Field.AMOUNT_GROSS,)),
        ("Nordlicht oder Atelier Nord SARL", (Field.ENTITY,)),
        ("Nordlichtspiele", (Field.ENTITY,)),
        ("keine", (Field.DUE_DATE, Field.AMOUNT_GROSS)),
        ("Holzkontor", (Field.PROVIDER, Field.DUE_DATE)),
        ("weiß ich nicht", (Field.ENTITY,)),
    ],
)
def test_doubt_is_no_answer(text: str, fields: tuple[Field, ...]) -> None:
    assert read(text, [Question(field) for field in fields], KNOWN, language="en") == {}


@given(st.text(max_size=200), st.lists(st.sampled_from(list(Field)), max_size=4, unique=True))
def test_whatever_is_said_a_stated_value_fits_its_field(text: str, fields: list[Field]) -> None:
    stated = read(text, [Question(field) for field in fields], KNOWN, language="de")
    assert all(v is None or fault_of(f, v) is None for f, v in stated.items())


def test_words_become_a_card_and_the_rest_is_asked_again(installation: Installation) -> None:
    number = document(installation)
    case = question(installation, number, due_date=(), doc_type=("invoice", "offer"))
    anna = person(installation, "anna")
    executor = vollzug.executor_of(installation)
    said = conversation.post(
        executor, anna, case, "Die Frist ist der 14.04.2026, mehr weiß ich nicht.", language="de"
    )
    human, reply = said.messages[-2:]
    assert (human.author, human.is_human, human.blocks[0]["kind"]) == ("anna", True, "prose")
    assert [block["kind"] for block in reply.blocks] == ["card", "question"]
    assert reply.blocks[1]["still_open"] == [{"field": "doc_type", "choices": ["invoice", "offer"]}]
    assert effective(installation, number, "due_date") is None
    done = vollzug.execute(installation, anna, reply.blocks[0]["card_id"])
    assert done.open_points == ("doc_type",)
    assert effective(installation, number, "due_date") == ("2026-04-14", "human")


def test_words_in_a_decided_case_are_kept(installation: Installation) -> None:
    case = question(installation, document(installation), due_date=("2026-04-01",))
    anna = person(installation, "anna")
    executor = vollzug.executor_of(installation)
    (card,) = conversation.read(executor, anna, case).cards
    vollzug.execute(installation, anna, card.id, choice=card.choices[0].key)
    said = conversation.post(executor, anna, case, "Danke, 15.05.2026 wäre auch recht.")
    assert said.messages[-2].blocks[0]["text"].startswith("Danke")
    assert said.messages[-1].blocks[0]["kind"] == "receipt"
    assert len(said.cards) == 1


def test_a_file_of_somebody_else_is_no_part_of_a_message(installation: Installation) -> None:
    case = question(installation, document(installation), due_date=())
    executor = vollzug.executor_of(installation)
    with pytest.raises(NotAnswerable):
        conversation.post(executor, person(installation, "anna"), case, "", arrivals=[1])
    with pytest.raises(NotAnswerable):
        conversation.post(executor, person(installation, "anna"), case, "  ")
    with pytest.raises(ScopeError):
        conversation.post(executor, person(installation, "vera"), case, "hello")
