"""The whole learning loop through the service: three corrections, a rule, and the way back.

An exception, corrected three times, becomes a proposed rule; approved, the next document needs
nobody; switched off, the machine's values stand again and the exception is an exception again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web_builders import Service, fresh_database, opened, serving

from tgv_dagster.flow import run_until_idle

SENDER = "Meier Bau GmbH und Huber Holz GmbH"
RIGHT = "Meier Bau GmbH & Co. KG"


@pytest.fixture
def service(server_url: str, template: str, tmp_path: Path) -> Iterator[Service]:
    """A service of one's own, whose flow runs when a test says so."""
    with (
        fresh_database(server_url, template) as url,
        opened(url, tmp_path / "home", stable_seconds=0) as installation,
        serving(installation) as running,
    ):
        yield running


def invoice(number: int, sender: str = SENDER) -> bytes:
    """An invoice whose head names two firms, so that nobody can be sure who sent it."""
    return (
        f"{sender}\n\nNordlicht GmbH\nHafenweg 1\n20457 Hamburg\n\nRechnung Nr. RE-{number}\n"
        f"Rechnungsdatum: 02.03.2026\nEichenbohlen 480,00 EUR\nNettobetrag 480,00 EUR\n"
        "Umsatzsteuer 19 % 91,20 EUR\nGesamtbetrag 571,20 EUR\nZahlbar bis 16.03.2026.\n"
    ).encode()


def hand_over(service: Service, number: int, *, login: str = "anna", sender: str = SENDER) -> int:
    """Upload, let the flow run; returns the document's number."""
    taken = service.upload(
        login, (f"paper-{number}.txt", invoice(number, sender)), entity="nord-gmbh"
    )
    assert taken.status_code == 202, taken.text
    run_until_idle(service.installation)
    ((document_id,),) = service.rows(
        "SELECT document_id FROM arrivals WHERE file_name = %s", f"paper-{number}.txt"
    )
    return int(document_id)


def open_cases(service: Service, document_id: int) -> list[dict[str, Any]]:
    """The open cases of a document, as the inbox shows them."""
    inbox = service.get("/api/inbox?limit=100", "anna").json()["cases"]
    return [one for one in inbox if one["case"]["document_id"] == document_id]


def provider_of(service: Service, document_id: int) -> dict[str, Any]:
    """The value in force for the supplier, with its source."""
    values = service.get(f"/api/documents/{document_id}", "anna").json()["values"]
    (found,) = [v for v in values if v["field"] == "provider" and v["in_force"]]
    return found


def correct(service: Service, document_id: int, value: str = RIGHT) -> None:
    """Say the right supplier in words, and execute the card that comes back."""
    (case,) = open_cases(service, document_id)
    number = case["case"]["id"]
    said = service.post(f"/api/cases/{number}/messages", "emil", json={"text": value})
    assert said.status_code == 200, said.text
    block = said.json()["messages"][-1]["blocks"][0]
    assert block["kind"] == "card", said.text
    done = service.post(f"/api/cards/{block['card_id']}/execute", "emil")
    assert done.status_code == 200, done.text
    assert done.json()["still_open"] == []
    run_until_idle(service.installation)


def rule_case(service: Service, login: str = "anna") -> dict[str, Any]:
    """The case that proposes a rule."""
    inbox = service.get("/api/inbox?limit=100", login).json()["cases"]
    (found,) = [one for one in inbox if one["case"]["kind"] == "rule"]
    return found


def taught(service: Service) -> list[int]:
    """Three documents whose supplier was corrected alike; returns their numbers."""
    numbers = []
    for number in (1, 2, 3):
        document_id = hand_over(service, number)
        assert [c["case"]["open_points"][0]["field"] for c in open_cases(service, document_id)] == [
            "provider"
        ]
        correct(service, document_id)
        numbers.append(document_id)
    return numbers


def test_exception_three_corrections_rule_approved_nobody_needed_rule_off_exception_again(
    service: Service,
) -> None:
    """CLAR-11, FLOW-01: three equal answers become a rule, and nobody is asked again."""
    documents = taught(service)
    case = rule_case(service)
    evidence = case["case"]["evidence"]
    assert evidence["scope"]["entity"] == "nord-gmbh"
    assert evidence["condition"] == {"provider": "meier bau gmbh", "doc_type": "invoice"}
    assert evidence["effect"] == {"provider": RIGHT}
    assert evidence["examples"] == documents
    assert evidence["origin"]["authors"] == ["emil"]
    assert (evidence["simulation"]["matching"], evidence["simulation"]["agrees"]) == (3, 3)

    waiting = hand_over(service, 4)
    assert len(open_cases(service, waiting)) == 1, "a proposed rule acts on nothing"

    (card,) = case["cards"]
    refused = service.post(f"/api/cards/{card['id']}/execute", "emil")
    assert refused.status_code == 403
    approved = service.post(f"/api/cards/{card['id']}/execute", "anna")
    assert approved.status_code == 200, approved.text
    run_until_idle(service.installation)
    assert open_cases(service, waiting) == [], "what waited is answered"

    fourth = hand_over(service, 5)
    assert open_cases(service, fourth) == []
    value = provider_of(service, fourth)
    (rule,) = service.get("/api/rules", "anna").json()["rules"]
    assert (value["value"], value["origin"]) == (RIGHT, "rule")
    assert value["source"]["rule_id"] == rule["name"], "the trace names the rule"
    assert rule["values_in_force"] == 2

    off = service.post(f"/api/rules/{rule['id']}/off", "anna")
    assert off.status_code == 200, off.text
    assert off.json()["card"]["result"]["done"]["documents"] == 2
    run_until_idle(service.installation)
    for number in (waiting, fourth):
        (again,) = open_cases(service, number)
        assert again["case"]["open_points"][0]["field"] == "provider"
    assert service.rows(
        "SELECT count(*) FROM document_values WHERE origin = 'rule' AND rule_id LIKE 'learned:%'"
    ) == [(0,)]
    for number in documents:
        assert provider_of(service, number)["origin"] == "human", "a person's value stays"
    fifth = hand_over(service, 6)
    assert len(open_cases(service, fifth)) == 1


def test_a_rule_ends_at_its_scope(service: Service) -> None:
    taught(service)
    (card,) = rule_case(service)["cards"]
    assert service.post(f"/api/cards/{card['id']}/execute", "anna").status_code == 200
    other = hand_over(service, 7, sender="Lang Dach GmbH und Otto Glas GmbH")
    assert len(open_cases(service, other)) == 1
    assert service.get("/api/rules", "sven").json()["rules"] == []
    assert service.get(f"/api/cards/{card['id']}", "sven").status_code == 404


def test_a_refused_rule_is_not_proposed_by_the_same_lessons_again(service: Service) -> None:
    taught(service)
    (card,) = rule_case(service)["cards"]
    reason = {"reason": "The sender has two firms."}
    assert service.post(f"/api/cards/{card['id']}/reject", "anna", json=reason).status_code == 200
    ((state,),) = service.rows("SELECT state FROM pattern_rules")
    assert state == "off"
    fourth = hand_over(service, 8)
    assert len(open_cases(service, fourth)) == 1
    correct(service, fourth)
    assert [
        one
        for one in service.get("/api/inbox?limit=100", "anna").json()["cases"]
        if one["case"]["kind"] == "rule"
    ] == []


def test_two_opinions_make_no_rule(service: Service) -> None:
    for number, value in ((1, RIGHT), (2, "Meier Bau AG"), (3, RIGHT), (4, RIGHT)):
        correct(service, hand_over(service, number), value)
    assert service.rows("SELECT condition, effect, origin FROM pattern_rules") == []
