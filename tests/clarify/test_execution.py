"""A card is executed once, by a person who may, from what the server stored, or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from clarify_builders import (
    cards,
    column,
    document,
    effective,
    machine_value,
    person,
    proposed,
    question,
    rows,
)

from tgv_dagster import vollzug
from tgv_dagster.clarify import decisions
from tgv_dagster.clarify.cases import BeingRebuilt, NotAnswerable
from tgv_dagster.clarify.execution import (
    CardNotExecutable,
    CardNotFound,
    CardStale,
    CardState,
    ChoiceNeeded,
    NotWithdrawable,
    Refused,
)
from tgv_dagster.installation import Installation
from tgv_dagster.know.lifecycle import NotAssignable, remove_document
from tgv_dagster.store import events
from tgv_dagster.store.db import DatabaseUnavailable
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.understand.evidence import Field

MANY = 50


def test_of_fifty_callers_one_executes_and_the_others_get_the_stored_result(
    installation: Installation,
) -> None:
    number = document(installation)
    (card,) = cards(installation, question(installation, number, due_date=("2026-04-01",)))
    scopes = [person(installation, login) for login in ("anna", "emil")]

    def call(caller: int) -> vollzug.CardOutcome:
        scope = scopes[caller % 2]
        return vollzug.execute(installation, scope, card.id, choice="due_date=2026-04-01")

    with ThreadPoolExecutor(MANY) as pool:
        outcomes = list(pool.map(call, range(MANY)))
    assert sum(not outcome.repeated for outcome in outcomes) == 1
    assert {outcome.card.state for outcome in outcomes} == {CardState.EXECUTED}
    assert len({str(outcome.card.result) for outcome in outcomes}) == 1
    assert len({outcome.card.executed_by for outcome in outcomes}) == 1
    assert rows(
        installation, "SELECT count(*) FROM document_values WHERE document_id = %s", number
    ) == [(1,)]
    ((told, by_human),) = rows(
        installation,
        "SELECT count(*), bool_and(is_human) FROM agent_events WHERE kind = 'kai.vollzug'",
    )
    assert (told, by_human) == (1, True)
    with installation.database.worker() as connection:
        assert events.broken_links(connection) == ()


def test_a_crash_between_card_and_effect_leaves_neither(installation: Installation) -> None:
    number = document(installation)
    (card,) = cards(installation, question(installation, number, due_date=("2026-04-01",)))
    with installation.database.owner() as connection:
        connection.execute(
            """
            CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.result IS NOT NULL AND OLD.result IS NULL THEN
                    PERFORM pg_terminate_backend(pg_backend_pid());
                END IF;
                RETURN NEW;
            END $$;
            ALTER FUNCTION die() SECURITY DEFINER;
            CREATE TRIGGER die BEFORE UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION die()
            """
        )
    scope = person(installation, "anna")
    with pytest.raises(DatabaseUnavailable):
        vollzug.execute(installation, scope, card.id, choice=card.choices[0].key)
    assert vollzug.get_card(installation, scope, card.id).state is CardState.PENDING
    assert effective(installation, number, "due_date") is None
    with installation.database.owner() as connection:
        connection.execute("DROP TRIGGER die ON cards")
    done = vollzug.execute(installation, scope, card.id, choice=card.choices[0].key)
    assert not done.repeated
    assert effective(installation, number, "due_date") == ("2026-04-01", "human")


def test_what_follows_fails_and_everything_is_rolled_back(installation: Installation) -> None:
    number = document(installation)
    case = question(installation, number, due_date=("2026-04-01",))
    (card,) = cards(installation, case)
    with installation.database.owner() as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'no room for events'; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON agent_events FOR EACH ROW"
            " WHEN (NEW.kind = 'kai.vollzug') EXECUTE FUNCTION refuse()"
        )
    scope = person(installation, "anna")
    with pytest.raises(psycopg.errors.RaiseException):
        vollzug.execute(installation, scope, card.id, choice=card.choices[0].key)
    assert effective(installation, number, "due_date") is None
    assert vollzug.get_card(installation, scope, card.id).state is CardState.PENDING
    assert decisions.get_case(installation.database, scope, case).state == "open"
    assert rows(installation, "SELECT count(*) FROM learning_events") == [(0,)]
    assert rows(installation, "SELECT count(*) FROM agent_decisions") == [(0,)]


def test_the_answer_names_what_is_still_open(installation: Installation) -> None:
    """Case #8218: a receipt claimed completion while points were open (CLAR-06)."""
    number = document(installation)
    case = question(
        installation,
        number,
        doc_type=("invoice", "receipt"),
        project_code=(),
        amount_gross=(),
    )
    (card,) = cards(installation, case)
    outcome = vollzug.execute(
        installation, person(installation, "emil"), card.id, choice="doc_type=invoice"
    )
    assert outcome.open_points == ("project_code", "amount_gross")
    result = outcome.card.result
    assert result is not None
    assert result["still_open"] == ["project_code", "amount_gross"]
    assert decisions.get_case(installation.database, person(installation, "anna"), case).state == (
        "open"
    )
    again = vollzug.execute(
        installation, person(installation, "anna"), card.id, choice="doc_type=receipt"
    )
    assert again.repeated
    assert again.card.executed_by == "emil"
    assert column(installation, number, "doc_type") == "invoice"


def test_a_foreign_card_does_not_exist(installation: Installation) -> None:
    (card,) = cards(
        installation, question(installation, document(installation), due_date=("2026-04-01",))
    )
    stranger = person(installation, "sven", "sued")
    for number in (card.id, 10**9):
        with pytest.raises(CardNotFound, match=f"no card {number}"):
            vollzug.execute(installation, stranger, number, choice=card.choices[0].key)
        with pytest.raises(CardNotFound):
            vollzug.withdraw(installation, stranger, number, reason="no")


def test_a_viewer_is_told_the_role_and_the_service_is_no_person(
    installation: Installation,
) -> None:
    (card,) = cards(
        installation, question(installation, document(installation), due_date=("2026-04-01",))
    )
    with pytest.raises(ScopeError, match="needs the role editor"):
        vollzug.execute(
            installation, person(installation, "vera"), card.id, choice=card.choices[0].key
        )
    with pytest.raises(ScopeError, match="by a person"):
        vollzug.execute(
            installation, person(installation, "tgv", None), card.id, choice=card.choices[0].key
        )


def test_only_a_choice_of_the_card_is_taken(installation: Installation) -> None:
    number = document(installation)
    (card,) = cards(installation, question(installation, number, due_date=("2026-04-01",)))
    scope = person(installation, "anna")
    for forged in (None, "due_date=2027-01-01", "", "amount_gross=1"):
        with pytest.raises(ChoiceNeeded):
            vollzug.execute(installation, scope, card.id, choice=forged)
    assert effective(installation, number, "due_date") is None


def test_a_card_changed_behind_the_server_is_not_executed(installation: Installation) -> None:
    number = document(installation)
    (card,) = cards(installation, question(installation, number, due_date=("2026-04-01",)))
    rows(
        installation,
        "UPDATE cards SET choices = replace(choices::text, '2026-04-01', '2036-04-01')::jsonb"
        " WHERE id = %s",
        card.id,
    )
    scope = person(installation, "anna")
    with pytest.raises(CardNotExecutable, match="content_changed"):
        vollzug.execute(installation, scope, card.id, choice="due_date=2036-04-01")
    after = vollzug.get_card(installation, scope, card.id)
    assert (after.state, after.result) == (CardState.NOT_EXECUTED, {"reason": "content_changed"})
    assert effective(installation, number, "due_date") is None


def test_a_stale_card_is_replaced_by_one_on_the_present_state(installation: Installation) -> None:
    number = document(installation)
    card = proposed(installation, number, "change_level", level="vertraulich")
    scope = person(installation, "anna")
    moved = proposed(installation, number, "assign", entity="nord-sarl")
    vollzug.execute(installation, scope, moved.id)
    with pytest.raises(CardStale) as stale:
        vollzug.execute(installation, scope, card.id)
    assert column(installation, number, "confidentiality_level") == "intern"
    assert vollzug.get_card(installation, scope, card.id).state is CardState.NOT_EXECUTED
    assert stale.value.replacement is not None
    fresh = vollzug.get_card(installation, scope, stale.value.replacement)
    assert (fresh.replaces, fresh.basis["entity"]) == (card.id, "nord-sarl")
    vollzug.execute(installation, scope, fresh.id)
    assert column(installation, number, "confidentiality_level") == "vertraulich"


def test_an_expired_card_is_proposed_anew(installation: Installation) -> None:
    card = proposed(installation, document(installation), "trash")
    rows(
        installation,
        "UPDATE cards SET expires_at = now() - interval '1 day' WHERE id = %s",
        card.id,
    )
    with pytest.raises(CardStale):
        vollzug.execute(installation, person(installation, "anna"), card.id)


def test_a_scope_that_shrank_since_the_proposal_is_asked_again(installation: Installation) -> None:
    number = document(installation)
    card = proposed(installation, number, "change_level", by="emil", level="vertraulich")
    rows(
        installation,
        "UPDATE user_mandant_roles SET entities = '{nord-sarl}' WHERE user_id ="
        " (SELECT id FROM users WHERE login = 'emil')",
    )
    with pytest.raises(CardNotFound):
        vollzug.execute(installation, person(installation, "emil"), card.id)
    assert column(installation, number, "confidentiality_level") == "intern"


def test_a_looser_level_needs_the_manager(installation: Installation) -> None:
    number = document(installation)
    card = proposed(installation, number, "change_level", by="emil", level="oeffentlich")
    with pytest.raises(ScopeError, match="looser"):
        vollzug.execute(installation, person(installation, "emil"), card.id)
    assert vollzug.get_card(installation, person(installation, "emil"), card.id).state is (
        CardState.PENDING
    )
    vollzug.execute(installation, person(installation, "anna"), card.id)
    assert column(installation, number, "confidentiality_level") == "oeffentlich"


def test_an_answer_that_loosens_needs_the_manager_too(installation: Installation) -> None:
    number = document(installation)
    case = question(installation, number, confidentiality_level=("oeffentlich", "intern"))
    emil = person(installation, "emil")
    (card,) = cards(installation, case)
    with pytest.raises(ScopeError, match="looser"):
        vollzug.execute(installation, emil, card.id, choice="confidentiality_level=oeffentlich")
    with pytest.raises(ScopeError, match="looser"):
        decisions.answer(
            installation.database, emil, case, {Field.CONFIDENTIALITY_LEVEL: "oeffentlich"}
        )
    assert column(installation, number, "confidentiality_level") == "intern"


def test_an_action_without_endpoint_says_so_and_changes_nothing(
    installation: Installation,
) -> None:
    number = document(installation)
    for action in ("persona-apply-correction", "book_transaction", "invented_by_a_model"):
        card = proposed(installation, number, action, anything=1)
        assert (card.executable, card.not_executable) == (False, "no_endpoint")
        with pytest.raises(CardNotExecutable, match="not yet executable"):
            vollzug.execute(installation, person(installation, "anna"), card.id)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"level": "geheim"},
        {"level": "vertraulich", "extra": 1},
        {"level": ["vertraulich"]},
    ],
)
def test_arguments_that_do_not_fit_the_endpoint_make_no_executable_card(
    installation: Installation, arguments: dict[str, Any]
) -> None:
    card = proposed(installation, document(installation), "change_level", **arguments)
    assert (card.executable, card.not_executable) == (False, "arguments_do_not_fit")


def test_the_same_open_proposal_is_one_card(installation: Installation) -> None:
    number = document(installation)
    first = proposed(installation, number, "trash")
    second = proposed(installation, number, "trash", by="emil")
    assert first.id == second.id


def test_nobody_proposes_for_what_is_not_theirs(installation: Installation) -> None:
    number = document(installation)
    with pytest.raises(NotAssignable):
        proposed(installation, number, "assign", entity="haus-sued")
    with pytest.raises(NotAnswerable):
        proposed(installation, number, "answer", values={"entity": "haus-sued"})


def test_a_refusal_of_the_deed_is_the_stored_state_of_the_card(installation: Installation) -> None:
    number = document(installation, level="vertraulich")
    rows(
        installation,
        "INSERT INTO compartments (mandant_id, entity, folder, default_level, created_by)"
        " SELECT mandant_id, slug, '*', 'vertraulich', 'test' FROM entities"
        " WHERE slug = 'nord-gmbh'",
    )
    rows(
        installation,
        "UPDATE documents SET compartment_id = (SELECT max(id) FROM compartments) WHERE id = %s",
        number,
    )
    card = proposed(installation, number, "change_level", level="intern")
    with pytest.raises(Refused, match="never looser"):
        vollzug.execute(installation, person(installation, "anna"), card.id)
    after = vollzug.get_card(installation, person(installation, "anna"), card.id)
    assert after.state is CardState.NOT_EXECUTED
    assert after.result is not None
    assert "never looser" in after.result["reason"]


def test_an_answer_while_the_document_is_rebuilt_is_told_so(installation: Installation) -> None:
    number = document(installation)
    case = question(installation, number, due_date=("2026-04-01",))
    rows(installation, "DELETE FROM documents WHERE id = %s", number)
    with pytest.raises(BeingRebuilt):
        decisions.answer(
            installation.database,
            person(installation, "anna"),
            case,
            {Field.DUE_DATE: "2026-04-01"},
        )
    with pytest.raises(decisions.CaseNotFound):
        decisions.answer(
            installation.database,
            person(installation, "sven", "sued"),
            case,
            {Field.DUE_DATE: "2026-04-01"},
        )


# --- withdrawing -------------------------------------------------------------------------------


def test_a_withdrawal_brings_the_machine_value_back(installation: Installation) -> None:
    number = document(installation)
    machine_value(installation, number, "project_code", "P-1")
    card = proposed(installation, number, "answer", values={"project_code": None})
    anna = person(installation, "anna")
    vollzug.execute(installation, anna, card.id)
    assert effective(installation, number, "project_code") == (None, "human")
    assert column(installation, number, "project_code") is None
    taken = vollzug.withdraw(installation, anna, card.id, reason="a slip")
    assert taken.card.state is CardState.NOT_EXECUTED
    assert taken.card.withdrawn_by == "anna"
    assert effective(installation, number, "project_code") == ("P-1", "machine")
    assert column(installation, number, "project_code") == "P-1"
    assert vollzug.withdraw(installation, anna, card.id, reason="again").repeated


def test_what_was_not_executed_cannot_be_taken_back(installation: Installation) -> None:
    number = document(installation)
    anna = person(installation, "anna")
    kept = proposed(installation, number, "answer", values={"currency": "EUR"})
    vollzug.execute(installation, anna, kept.id)
    open_one = proposed(installation, number, "answer", values={"currency": "CHF"})
    refused = proposed(installation, number, "answer", values={"currency": "USD"})
    vollzug.reject(installation, anna, refused.id, reason="no")
    for card in (open_one, refused):
        with pytest.raises(NotWithdrawable):
            vollzug.withdraw(installation, anna, card.id, reason="a slip")
    assert effective(installation, number, "currency") == ("EUR", "human")


def test_a_decided_card_is_not_refused_afterwards(installation: Installation) -> None:
    number = document(installation)
    anna, emil = person(installation, "anna"), person(installation, "emil")
    done = proposed(installation, number, "answer", values={"currency": "EUR"})
    vollzug.execute(installation, anna, done.id)
    late = vollzug.reject(installation, emil, done.id, reason="too late")
    assert (late.card.state, late.card.executed_by, late.repeated) == (
        CardState.EXECUTED,
        "anna",
        True,
    )
    assert effective(installation, number, "currency") == ("EUR", "human")


def test_a_withdrawal_leaves_later_edits_and_other_documents_alone(
    installation: Installation,
) -> None:
    number, other = document(installation), document(installation)
    anna = person(installation, "anna")
    values = {"due_date": "2026-04-01", "currency": "EUR"}
    first = proposed(installation, number, "answer", values=values)
    elsewhere = proposed(installation, other, "answer", values=values)
    vollzug.execute(installation, anna, first.id)
    vollzug.execute(installation, anna, elsewhere.id)
    later = proposed(installation, number, "answer", by="emil", values={"due_date": "2026-05-05"})
    vollzug.execute(installation, person(installation, "emil"), later.id)
    vollzug.withdraw(installation, anna, first.id, reason="wrong paper")
    assert effective(installation, number, "due_date") == ("2026-05-05", "human")
    assert effective(installation, number, "currency") is None
    assert column(installation, number, "currency") is None
    assert effective(installation, other, "currency") == ("EUR", "human")
    vollzug.withdraw(installation, anna, later.id, reason="wrong as well")
    assert effective(installation, number, "due_date") is None


def test_a_withdrawal_restores_the_decision_before(installation: Installation) -> None:
    number = document(installation)
    anna = person(installation, "anna")
    for day in ("2026-04-01", "2026-05-05", "2026-06-06"):
        card = proposed(installation, number, "answer", values={"due_date": day})
        vollzug.execute(installation, anna, card.id)
    ((second,), (third,)) = rows(installation, "SELECT id FROM cards ORDER BY id DESC LIMIT 2")[
        ::-1
    ]
    vollzug.withdraw(installation, anna, second, reason="no")
    assert effective(installation, number, "due_date") == ("2026-06-06", "human")
    vollzug.withdraw(installation, anna, third, reason="no")
    assert effective(installation, number, "due_date") == ("2026-04-01", "human")


def test_taking_back_a_stricter_level_is_a_looser_one(installation: Installation) -> None:
    number = document(installation)
    machine_value(installation, number, "confidentiality_level", "intern")
    rows(
        installation,
        "UPDATE user_mandant_roles SET ceiling = 'streng_vertraulich' WHERE user_id ="
        " (SELECT id FROM users WHERE login = 'emil')",
    )
    emil = person(installation, "emil")
    card = proposed(installation, number, "change_level", by="emil", level="vertraulich")
    vollzug.execute(installation, emil, card.id)
    with pytest.raises(ScopeError, match="looser"):
        vollzug.withdraw(installation, emil, card.id, reason="too strict")
    vollzug.withdraw(installation, person(installation, "anna"), card.id, reason="too strict")
    assert column(installation, number, "confidentiality_level") == "intern"


def test_what_was_withdrawn_teaches_nothing(installation: Installation) -> None:
    number = document(installation)
    anna = person(installation, "anna")
    card = proposed(installation, number, "answer", values={"provider": "Holzkontor"})
    vollzug.execute(installation, anna, card.id)
    vollzug.withdraw(installation, anna, card.id, reason="no")
    assert rows(
        installation, "SELECT count(*) FROM learning_events WHERE withdrawn_at IS NULL"
    ) == [(0,)]


def test_the_trash_is_a_card_and_comes_back(installation: Installation) -> None:
    number = document(installation)
    anna = person(installation, "anna")
    card = proposed(installation, number, "trash")
    vollzug.execute(installation, anna, card.id)
    assert column(installation, number, "state") == "trashed"
    vollzug.withdraw(installation, anna, card.id, reason="needed")
    assert column(installation, number, "state") == "active"
    assert remove_document(installation.database, installation.words, anna, number).document_id


def test_a_move_into_a_tenant_one_does_not_see_reports_its_result(
    installation: Installation,
) -> None:
    number = document(installation)
    owner = person(installation, "chef", None)
    card = vollzug.propose_for_document(
        installation, owner, number, "assign", {"entity": "haus-sued"}
    )
    outcome = vollzug.execute(installation, owner, card.id)
    assert outcome.card.state is CardState.EXECUTED
    assert column(installation, number, "entity") == "haus-sued"
    assert [
        row[0]
        for row in rows(installation, "SELECT entity FROM cases WHERE document_id = %s", number)
    ] == ["haus-sued"]


def test_a_move_onto_bytes_that_stand_there_is_refused_and_changes_nothing(
    installation: Installation,
) -> None:
    number = document(installation, content=b"the same")
    twin = document(installation, mandant="sued", entity="haus-sued", content=b"the same")
    owner = person(installation, "chef", None)
    card = vollzug.propose_for_document(
        installation, owner, number, "assign", {"entity": "haus-sued"}
    )
    with pytest.raises(Refused, match="the same bytes stand there already"):
        vollzug.execute(installation, owner, card.id)
    after = vollzug.get_card(installation, owner, card.id)
    assert (after.state, after.result) == (
        CardState.NOT_EXECUTED,
        {"reason": "the same bytes stand there already"},
    )
    assert column(installation, number, "entity") == "nord-gmbh"
    assert column(installation, twin, "state") == "active"
