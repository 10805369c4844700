"""Every page, fragment, export and error page × every person, in both directions.

The table is compared with the routes of the running app, so that a page nobody thought of fails.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from fastapi.routing import APIRoute
from PIL import Image
from psycopg.types.json import Jsonb
from web_builders import (
    Browser,
    Facts,
    Service,
    booking,
    browser,
    document,
    learned_rule,
    parked_arrival,
    question,
    value,
)

from tgv_dagster.store.actions import Action
from tgv_dagster.store.cards import NewCard, propose
from tgv_dagster.web.app import ROUTERS
from tgv_dagster.web.login import router as signing_router

PEOPLE = ("anna", "emil", "vera", "eva", "sven", "chef")
EVERYBODY = frozenset(PEOPLE)
NORD_GMBH = frozenset({"anna", "emil", "vera", "chef"})
ABOVE = frozenset({"anna", "chef"})
VERA = frozenset({"vera"})
WRITERS = NORD_GMBH - VERA
OWNER = frozenset({"chef"})
NOT_OWNER = EVERYBODY - OWNER
NO_MANAGERS = frozenset({"emil", "vera", "eva"})
_THRESHOLD = "/settings/thresholds/TRIAGE_LEAST_PROJECT"
_shades = itertools.count()


@dataclass(frozen=True)
class Expected:
    """Who gets it (`success`), who hears 403; everybody else hears 404."""

    ask: Callable[[Service], str]
    may: frozenset[str] = EVERYBODY
    fields: dict[str, Any] = field(default_factory=dict)
    success: int = 200
    forbidden: frozenset[str] = frozenset()


def picture() -> bytes:
    """A picture that no other test has."""
    shade, out = next(_shades), io.BytesIO()
    Image.new("RGB", (20, 30), (shade % 256, shade // 256, 7)).save(out, "PNG")
    return out.getvalue()


def _pictured(service: Service, level: str = "intern") -> str:
    content = picture()
    number = document(service, level=level, media_type="image/png", content=content)
    return f"/d/{number}/page/1.webp"


def _waiting_picture(service: Service, **facts: Any) -> str:
    case = parked_arrival(service, content=picture(), **facts)
    service.rows(
        "UPDATE raw_items r SET media_type = 'image/png' FROM arrivals a JOIN cases c"
        " ON c.arrival_id = a.id WHERE c.id = %s AND r.id = a.raw_item_id",
        case,
    )
    ((arrival,),) = service.rows("SELECT arrival_id FROM cases WHERE id = %s", case)
    return f"/inbox/arrivals/{arrival}.webp"


def _framed(service: Service, level: str = "intern") -> str:
    return f"/d/{document(service, level=level, media_type='text/plain')}/frame"


def _case(service: Service, level: str = "intern") -> int:
    return question(service, document(service, level=level), "due_date")


def _card(service: Service) -> int:
    case = _case(service)
    ((number,),) = service.rows("SELECT document_id FROM cases WHERE id = %s", case)
    arguments = {"document_id": number, "values": {"due_date": "2026-04-14"}}
    with service.installation.database.worker() as connection:
        return propose(connection, case, NewCard(Action.ANSWER, arguments, "tgv"))


def _executed(service: Service) -> int:
    card = _card(service)
    done = service.post(f"/api/cards/{card}/execute", "anna", mandant="nord")
    assert done.status_code == 200, done.text
    return card


def _proposal(service: Service) -> tuple[int, int]:
    """A booking with a proposed receipt; its number and that of the proposal."""
    number = document(service)
    service.rows(
        "UPDATE documents SET doc_type = 'invoice', amount_gross = 119, currency = 'EUR'"
        " WHERE id = %s",
        number,
    )
    txn = booking(service, number, "intern")
    ((proposal,),) = service.rows(
        "INSERT INTO txn_document_links (txn_id, document_id, amount, set_by)"
        " VALUES (%s, %s, 119, 'tgv') RETURNING id",
        txn,
        number,
    )
    return txn, proposal


def _verdict(word: str, service: Service) -> str:
    return f"/unmatched/link/{_proposal(service)[1]}/{word}"


def _proposed_for(service: Service, path: str) -> str:
    ((number,),) = service.rows(
        "SELECT document_id FROM txn_document_links WHERE txn_id = %s", path.split("/")[2]
    )
    return str(number)


REASON = {"reason": "not needed"}
TABLE: dict[str, tuple[Expected, ...]] = {
    "GET /chain": (Expected(lambda s: "/chain"),),
    "GET /drop": (Expected(lambda s: "/drop", EVERYBODY - VERA, forbidden=VERA),),
    "GET /drop/queue": (Expected(lambda s: "/drop/queue"),),
    "GET /search": (
        Expected(lambda s: "/search"),
        Expected(lambda s: "/search?q=Eichenholz"),
    ),
    "GET /export/documents.{form}": (
        Expected(lambda s: "/export/documents.csv"),
        Expected(lambda s: "/export/documents.xlsx"),
    ),
    "GET /deadlines": (Expected(lambda s: "/deadlines"),),
    "GET /export/deadlines.{form}": (
        Expected(lambda s: "/export/deadlines.csv"),
        Expected(lambda s: "/export/deadlines.xlsx"),
    ),
    "GET /unmatched": (Expected(lambda s: "/unmatched"),),
    "POST /unmatched/{kind}/{number}/{verdict}": tuple(
        Expected(partial(_verdict, word), ABOVE, success=303, forbidden=NO_MANAGERS)
        for word in ("confirm", "reject")
    ),
    "POST /unmatched/{txn_id}/link": (
        Expected(
            lambda s: f"/unmatched/{_proposal(s)[0]}/link",
            ABOVE,
            {"document": _proposed_for},
            success=303,
            forbidden=NO_MANAGERS,
        ),
    ),
    "GET /export/unmatched-{side}.{form}": (
        Expected(lambda s: "/export/unmatched-bookings.csv"),
        Expected(lambda s: "/export/unmatched-receipts.xlsx"),
    ),
    "GET /settings/thresholds": (
        Expected(lambda s: "/settings/thresholds", OWNER, forbidden=NOT_OWNER),
    ),
    "POST /settings/thresholds/{key}/simulation": (
        Expected(
            lambda s: f"{_THRESHOLD}/simulation", OWNER, {"value": "0.5"}, forbidden=NOT_OWNER
        ),
    ),
    "POST /settings/thresholds/{key}": (
        Expected(lambda s: _THRESHOLD, OWNER, {"value": "0.8"}, 303, forbidden=NOT_OWNER),
    ),
    "GET /parked": (Expected(lambda s: "/parked"),),
    "GET /settings": (Expected(lambda s: "/settings"),),
    "GET /d/{document_id}/page/{page}.webp": (
        Expected(_pictured, NORD_GMBH),
        Expected(lambda s: _pictured(s, "vertraulich"), ABOVE),
    ),
    "GET /d/{document_id}/frame": (
        Expected(_framed, NORD_GMBH),
        Expected(lambda s: _framed(s, "streng_vertraulich"), ABOVE),
    ),
    "GET /inbox/arrivals/{arrival_id}.webp": (
        Expected(_waiting_picture, ABOVE),
        Expected(lambda s: _waiting_picture(s, entity="nord-sarl"), ABOVE),
    ),
    "GET /inbox": (Expected(lambda s: "/inbox"),),
    "GET /inbox/{case_id}": (
        Expected(lambda s: f"/inbox/{_case(s)}", NORD_GMBH),
        Expected(lambda s: f"/inbox/{_case(s, 'vertraulich')}", ABOVE),
    ),
    "POST /inbox/{case_id}/answer": (
        Expected(
            lambda s: f"/inbox/{_case(s)}/answer",
            WRITERS,
            {"value.due_date": "2026-04-01"},
            success=303,
            forbidden=VERA,
        ),
    ),
    "POST /inbox/{case_id}/say": (
        Expected(lambda s: f"/inbox/{_case(s)}/say", WRITERS, {"text": "ja"}, 303, forbidden=VERA),
    ),
    "POST /inbox/{case_id}/release": (
        Expected(
            lambda s: f"/inbox/{parked_arrival(s, entity=None)}/release",
            WRITERS,
            success=303,
            forbidden=VERA,
        ),
    ),
    "POST /inbox/{case_id}/dismiss": (
        Expected(lambda s: f"/inbox/{_case(s)}/dismiss", WRITERS, REASON, 303, forbidden=VERA),
    ),
    "POST /inbox/cards/{card_id}/execute": (
        Expected(
            lambda s: f"/inbox/cards/{_card(s)}/execute", WRITERS, success=303, forbidden=VERA
        ),
    ),
    "POST /inbox/cards/{card_id}/reject": (
        Expected(lambda s: f"/inbox/cards/{_card(s)}/reject", WRITERS, REASON, 303, forbidden=VERA),
    ),
    "POST /inbox/cards/{card_id}/withdraw": (
        Expected(
            lambda s: f"/inbox/cards/{_executed(s)}/withdraw", WRITERS, REASON, 303, forbidden=VERA
        ),
    ),
    "POST /settings/rules/{rule_id}/off": (
        Expected(
            lambda s: f"/settings/rules/{learned_rule(s)}/off",
            ABOVE,
            success=303,
            forbidden=NO_MANAGERS,
        ),
    ),
    "POST /settings/tokens": (
        Expected(lambda s: "/settings/tokens", fields={"name": "scanner", "days": "3"}),
    ),
    "POST /settings/tokens/{token_id}/revoke": (
        Expected(
            lambda s: f"/settings/tokens/{s.token('emil', 'nord').split('_')[1]}/revoke",
            frozenset({"anna", "emil", "chef"}),
            success=303,
        ),
    ),
}
ASKED_ELSEWHERE = {"POST /settings/password"}
"""It ends the session of whoever may; test_pages asks it."""


@pytest.fixture(scope="module")
def people(service: Service) -> Iterator[dict[str, tuple[Browser, str]]]:
    """Everybody signed in, with the token of the own forms."""
    with ExitStack() as stack:
        opened = {login: stack.enter_context(browser(service, login)) for login in PEOPLE}
        yield {login: (person, person.token()) for login, person in opened.items()}


def test_every_page_stands_in_the_table() -> None:
    signing = {id(route) for route in signing_router.routes}
    pages = {
        f"{method} {route.path}"
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and not route.include_in_schema and id(route) not in signing
        for method in route.methods or ()
    }
    assert pages == set(TABLE) | ASKED_ELSEWHERE


def _fields(service: Service, path: str, expected: Expected) -> dict[str, Any]:
    """The fields of the form; a function gives what depends on the path."""
    return {
        name: given(service, path) if callable(given) else given
        for name, given in expected.fields.items()
    }


def _cases() -> Iterator[Any]:
    for route, expectations in TABLE.items():
        for number, expected in enumerate(expectations):
            for login in PEOPLE:
                yield pytest.param(route, expected, login, id=f"{route}-{number}-{login}")


@pytest.mark.parametrize(("route", "expected", "login"), list(_cases()))
def test_who_may_gets_the_page_and_nobody_else(
    service: Service,
    people: dict[str, tuple[Browser, str]],
    route: str,
    expected: Expected,
    login: str,
) -> None:
    person, token = people[login]
    path = expected.ask(service)
    if route.startswith("GET"):
        answer = person.get(path)
    else:
        fields = _fields(service, path, expected)
        assert person.send(path, csrf="", **fields).status_code == 403
        answer = person.send(path, csrf=token, **fields)
    if login in expected.may:
        assert answer.status_code == expected.success, answer.text
    elif login in expected.forbidden:
        assert answer.status_code == 403
    else:
        assert answer.status_code == 404


@pytest.mark.parametrize("route", TABLE)
def test_nobody_sees_a_page_without_signing_in(service: Service, route: str) -> None:
    expected = TABLE[route][0]
    with browser(service) as visitor:
        path = expected.ask(service)
        if route.startswith("GET"):
            answer = visitor.get(path)
        else:
            answer = visitor.send(path, **_fields(service, path, expected))
    assert answer.status_code == 401
    assert "tgv_session" not in str(answer.headers.get_list("set-cookie"))


def test_lists_name_only_what_their_reader_may_see(
    service: Service, people: dict[str, tuple[Browser, str]]
) -> None:
    """A word in title, case, deadline and export; with a positive control in each direction."""
    word, strict, foreign = "Kanarienvogel", "Nachtigall", "Zaunkoenig"
    for name, facts in (
        (word, Facts()),
        (strict, Facts(level="vertraulich")),
        (foreign, Facts(mandant="sued", entity="haus-sued")),
    ):
        number = document(service, facts, title=name, file_name=f"{name}.pdf")
        booking(service, number, facts.level, purpose=f"Zahlung {name}")
        service.rows(
            "UPDATE documents SET due_date = '2099-01-01', doc_type = 'invoice' WHERE id = %s",
            number,
        )
        case = question(service, number, "entity")
        service.rows(
            "UPDATE cases SET reason = %s, choices = %s WHERE id = %s",
            f"about {name}",
            Jsonb([{"field": "entity", "values": [name]}]),
            case,
        )
    lists = ("/search", "/deadlines", "/unmatched", "/export/documents.csv",
             "/export/deadlines.csv", "/export/unmatched-bookings.csv",
             "/export/unmatched-receipts.csv")  # fmt: skip
    seen = {
        login: {
            path: {
                name for name in (word, strict, foreign) if name in people[login][0].get(path).text
            }
            for path in lists
        }
        for login in PEOPLE
    }
    for path in lists:
        assert seen["vera"][path] == {word}
        assert seen["emil"][path] == {word}
        assert seen["anna"][path] == {word, strict}
        assert seen["sven"][path] == {foreign}
        assert seen["eva"][path] == set()
        assert seen["chef"][path] == {word, strict, foreign}


def test_a_foreign_document_and_an_absent_one_give_the_same_page(
    service: Service, people: dict[str, tuple[Browser, str]]
) -> None:
    number = document(service)
    value(service, number, "provider", "Holzkontor")
    sven = people["sven"][0]
    for path in ("/d/{}", "/d/{}/frame", "/d/{}/page/1.webp", "/inbox/{}"):
        foreign = sven.get(path.format(number if "inbox" not in path else _case(service)))
        absent = sven.get(path.format(999_999_999))
        assert (foreign.status_code, foreign.content) == (absent.status_code, absent.content)
        assert foreign.status_code == 404


def test_the_settings_of_a_tenant_stay_in_it(
    service: Service, people: dict[str, tuple[Browser, str]]
) -> None:
    service.token("sven", "sued")
    anna, vera = (people[login][0].get("/settings").text for login in ("anna", "vera"))
    assert "sven" not in anna
    assert "haus-sued" not in anna
    assert "emil" in anna
    assert "emil" not in vera
    assert "Nordlicht GmbH" in vera
