"""Every route × every principal, in both directions: who may gets it, who may not gets nothing.

The table is made from the routes of the running app, so that a route nobody thought of fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from web_builders import (
    Service,
    document,
    learned_rule,
    parked_arrival,
    question,
    value,
    working_material,
)

from tgv_dagster.web.app import ROUTERS

PRINCIPALS: tuple[tuple[str | None, str | None], ...] = (
    (None, None),
    ("anna", "nord"),
    ("emil", "nord"),
    ("vera", "nord"),
    ("eva", "nord"),
    ("sven", "sued"),
    ("chef", None),
    ("chef", "nord"),
    ("chef", "sued"),
)

EVERYBODY = frozenset(PRINCIPALS) - {(None, None)}
NORD = frozenset(p for p in EVERYBODY if p[1] == "nord" or p == ("chef", None))
IN_NORD_GMBH = NORD - {("eva", "nord")}
WRITERS = frozenset(p for p in EVERYBODY if p[0] != "vera")
ABOVE_CEILING = frozenset({("anna", "nord"), ("chef", None), ("chef", "nord")})
MANAGERS_OF_NORD = ABOVE_CEILING
MANAGERS = frozenset(p for p in EVERYBODY if p[0] in ("anna", "sven", "chef"))


@dataclass(frozen=True)
class Expected:
    """Who gets it; everybody else with a token gets `refused` (404 hides, 403 says the role)."""

    ask: Callable[[Service], tuple[str, dict[str, Any]]]
    may: frozenset[tuple[str | None, str | None]]
    success: int = 200
    forbidden: frozenset[tuple[str | None, str | None]] = frozenset()
    is_open: bool = False
    refused: int = 404


def _document(service: Service, suffix: str = "", level: str = "intern") -> str:
    number = document(service, level=level)
    value(service, number, "doc_type", "invoice")
    return f"/api/documents/{number}{suffix}"


def _case(service: Service) -> int:
    return question(service, document(service), "due_date")


def _strict_case(service: Service) -> int:
    return question(service, document(service, level="vertraulich"), "due_date")


def _question(number: int) -> dict[str, Any]:
    sql = f'SELECT "Ort", sum("Menge") AS m FROM d{number} GROUP BY "Ort"'
    return {"title": "Mengen", "documents": [number], "sql": sql}


def _artefact(service: Service, level: str = "intern") -> int:
    question_ = _question(working_material(service, level=level))
    return service.post("/api/artefacts", "anna", json=question_).json()["id"]


def _card(service: Service, level: str = "intern", to: str = "vertraulich") -> int:
    """A card that changes the level, proposed by the manager."""
    made = service.post(
        f"/api/documents/{document(service, level=level)}/cards",
        "anna",
        json={"action": "change_level", "arguments": {"level": to}},
    )
    return made.json()["id"]


def _executed_card(service: Service) -> int:
    """A card that filled in a project, executed by the manager."""
    made = service.post(
        f"/api/documents/{document(service)}/cards",
        "anna",
        json={"action": "answer", "arguments": {"values": {"due_date": "2026-04-01"}}},
    )
    number = made.json()["id"]
    assert service.post(f"/api/cards/{number}/execute", "anna").status_code == 200
    return number


_THRESHOLD = "/api/thresholds/TRIAGE_LEAST_PROJECT"


def _compartment(entity: str) -> dict[str, str]:
    return {"folder": "invoice", "entity": entity, "default_level": "intern"}


def _arrival_of(service: Service, number: int) -> int:
    ((arrival_id,),) = service.rows("SELECT id FROM arrivals WHERE document_id = %s", number)
    return arrival_id


def _parked(service: Service) -> int:
    case = parked_arrival(service)
    ((arrival_id,),) = service.rows("SELECT arrival_id FROM cases WHERE id = %s", case)
    return arrival_id


OWNER = frozenset({("chef", None)})
VERA, NOT_OWNER = frozenset({("vera", "nord")}), EVERYBODY - {("chef", None)}

TABLE: dict[str, tuple[Expected, ...]] = {
    "GET /healthz": (Expected(lambda s: ("/healthz", {}), EVERYBODY, is_open=True),),
    "GET /readyz": (Expected(lambda s: ("/readyz", {}), EVERYBODY, is_open=True),),
    "POST /api/upload": (
        Expected(
            lambda s: ("/api/upload", {"files": [("files", ("a.txt", b"hello"))]}),
            WRITERS,
            success=202,
            forbidden=VERA,
        ),
        Expected(
            lambda s: (
                "/api/upload",
                {"files": [("files", ("a.txt", b"hello"))], "data": {"entity": "nord-gmbh"}},
            ),
            WRITERS & IN_NORD_GMBH,
            success=202,
            forbidden=VERA,
        ),
    ),
    "GET /api/arrivals/{arrival_id}": (
        Expected(
            lambda s: (f"/api/arrivals/{_arrival_of(s, document(s))}", {}),
            IN_NORD_GMBH,
        ),
        Expected(
            lambda s: (f"/api/arrivals/{_parked(s)}", {}),
            MANAGERS_OF_NORD,
        ),
    ),
    "GET /api/cases": (Expected(lambda s: ("/api/cases", {}), EVERYBODY),),
    "GET /api/cases/{case_id}": (Expected(lambda s: (f"/api/cases/{_case(s)}", {}), IN_NORD_GMBH),),
    "POST /api/cases/{case_id}/answer": (
        Expected(
            lambda s: (
                f"/api/cases/{_case(s)}/answer",
                {"json": {"values": {"due_date": "2026-04-01"}}},
            ),
            IN_NORD_GMBH & WRITERS,
            forbidden=VERA,
        ),
    ),
    "POST /api/cases/{case_id}/release": (
        Expected(
            lambda s: (f"/api/cases/{parked_arrival(s, entity=None)}/release", {}),
            NORD & WRITERS - {("eva", "nord")},
            forbidden=VERA,
        ),
    ),
    "POST /api/cases/{case_id}/dismiss": (
        Expected(
            lambda s: (f"/api/cases/{_case(s)}/dismiss", {"json": {"reason": "not needed"}}),
            IN_NORD_GMBH & WRITERS,
            forbidden=VERA,
        ),
    ),
    "GET /api/inbox": (Expected(lambda s: ("/api/inbox", {}), EVERYBODY),),
    "GET /api/compartments": (Expected(lambda s: ("/api/compartments", {}), EVERYBODY),),
    "GET /api/unindexed": (Expected(lambda s: ("/api/unindexed", {}), EVERYBODY),),
    "PUT /api/compartments": (
        Expected(
            lambda s: ("/api/compartments", {"json": _compartment("haus-sued")}),
            frozenset({("sven", "sued"), ("chef", None), ("chef", "sued")}),
            forbidden=EVERYBODY - MANAGERS,
            refused=422,
        ),
    ),
    "GET /api/thresholds": (
        Expected(lambda s: ("/api/thresholds", {}), OWNER, forbidden=NOT_OWNER),
    ),
    "POST /api/thresholds/{key}/simulation": (
        Expected(
            lambda s: (f"{_THRESHOLD}/simulation", {"json": {"value": 0.5}}),
            OWNER,
            forbidden=NOT_OWNER,
        ),
    ),
    "PUT /api/thresholds/{key}": (
        Expected(lambda s: (_THRESHOLD, {"json": {"value": 0.8}}), OWNER, forbidden=NOT_OWNER),
    ),
    "GET /api/rules": (
        Expected(
            lambda s: ("/api/rules", {}),
            MANAGERS,
            forbidden=EVERYBODY - MANAGERS,
        ),
    ),
    "POST /api/rules/{rule_id}/off": (
        Expected(
            lambda s: (f"/api/rules/{learned_rule(s)}/off", {}),
            MANAGERS_OF_NORD,
            forbidden=EVERYBODY - MANAGERS,
        ),
    ),
    "GET /api/approvals": (Expected(lambda s: ("/api/approvals", {}), EVERYBODY),),
    "GET /api/cases/{case_id}/conversation": (
        Expected(lambda s: (f"/api/cases/{_case(s)}/conversation", {}), IN_NORD_GMBH),
        Expected(lambda s: (f"/api/cases/{_strict_case(s)}/conversation", {}), ABOVE_CEILING),
    ),
    "POST /api/cases/{case_id}/messages": (
        Expected(
            lambda s: (f"/api/cases/{_case(s)}/messages", {"json": {"text": "am 14.04.2026"}}),
            IN_NORD_GMBH & WRITERS,
            forbidden=VERA,
        ),
    ),
    "GET /api/cards/{card_id}": (
        Expected(lambda s: (f"/api/cards/{_card(s)}", {}), IN_NORD_GMBH),
        Expected(lambda s: (f"/api/cards/{_card(s, level='vertraulich')}", {}), ABOVE_CEILING),
    ),
    "POST /api/cards/{card_id}/execute": (
        Expected(
            lambda s: (f"/api/cards/{_card(s)}/execute", {}),
            IN_NORD_GMBH & WRITERS,
            forbidden=VERA,
        ),
        Expected(
            lambda s: (f"/api/cards/{_card(s, to='oeffentlich')}/execute", {}),
            MANAGERS_OF_NORD,
            forbidden=frozenset({("vera", "nord"), ("emil", "nord")}),
        ),
    ),
    "POST /api/cards/{card_id}/reject": (
        Expected(
            lambda s: (f"/api/cards/{_card(s)}/reject", {"json": {"reason": "no"}}),
            IN_NORD_GMBH & WRITERS,
            forbidden=VERA,
        ),
    ),
    "POST /api/cards/{card_id}/withdraw": (
        Expected(
            lambda s: (f"/api/cards/{_executed_card(s)}/withdraw", {"json": {"reason": "no"}}),
            IN_NORD_GMBH & WRITERS,
            forbidden=VERA,
        ),
    ),
    "POST /api/documents/{document_id}/cards": (
        Expected(
            lambda s: (
                f"/api/documents/{document(s)}/cards",
                {"json": {"action": "change_level", "arguments": {"level": "vertraulich"}}},
            ),
            IN_NORD_GMBH & WRITERS,
            success=201,
            forbidden=VERA,
        ),
    ),
    "GET /api/documents/{document_id}": (
        Expected(lambda s: (_document(s), {}), IN_NORD_GMBH),
        Expected(lambda s: (_document(s, level="vertraulich"), {}), ABOVE_CEILING),
        Expected(lambda s: (_document(s, level="no level of ours"), {}), ABOVE_CEILING),
    ),
    "GET /api/documents/{document_id}/bytes": (
        Expected(lambda s: (_document(s, "/bytes"), {}), IN_NORD_GMBH),
        Expected(lambda s: (_document(s, "/bytes", "streng_vertraulich"), {}), ABOVE_CEILING),
    ),
    "GET /api/artefacts": (Expected(lambda s: ("/api/artefacts", {}), EVERYBODY),),
    "POST /api/artefacts": (
        Expected(
            lambda s: ("/api/artefacts", {"json": _question(working_material(s))}),
            IN_NORD_GMBH & WRITERS,
            success=201,
            forbidden=VERA,
        ),
    ),
    "GET /api/artefacts/{artefact_id}/{form}": (
        Expected(lambda s: (f"/api/artefacts/{_artefact(s)}/xlsx", {}), IN_NORD_GMBH),
        Expected(lambda s: (f"/api/artefacts/{_artefact(s)}/svg", {}), IN_NORD_GMBH),
        Expected(
            lambda s: (f"/api/artefacts/{_artefact(s, 'vertraulich')}/pdf", {}), ABOVE_CEILING
        ),
    ),
    "POST /api/artefacts/{artefact_id}/knowledge": (
        Expected(
            lambda s: (f"/api/artefacts/{_artefact(s)}/knowledge", {}),
            IN_NORD_GMBH & WRITERS,
            success=202,
            forbidden=VERA,
        ),
    ),
    "GET /d/{document_id}": (
        Expected(lambda s: (f"/d/{document(s)}", {}), IN_NORD_GMBH),
        Expected(lambda s: (f"/d/{document(s, level='vertraulich')}", {}), ABOVE_CEILING),
    ),
    "GET /l/{legacy:path}": (
        Expected(lambda s: (_legacy(s, level="intern"), {}), IN_NORD_GMBH, success=302),
        Expected(lambda s: (_legacy(s, level="vertraulich"), {}), ABOVE_CEILING, success=302),
    ),
    "GET /api/organisation": (Expected(lambda s: ("/api/organisation", {}), EVERYBODY),),
    "GET /api/search": (Expected(lambda s: ("/api/search?q=Eichenholz", {}), EVERYBODY),),
    "POST /api/search": (
        Expected(lambda s: ("/api/search", {"json": {"q": "Eichenholz"}}), EVERYBODY),
    ),
    "GET /api/documents": (Expected(lambda s: ("/api/documents", {}), EVERYBODY),),
    "GET /api/deadlines": (Expected(lambda s: ("/api/deadlines", {}), EVERYBODY),),
    "GET /deadlines.ics": (Expected(lambda s: ("/deadlines.ics", {}), EVERYBODY),),
    "POST /api/skill/system-graph": (
        Expected(lambda s: ("/api/skill/system-graph", {"json": {}}), EVERYBODY),
    ),
    "GET /api/status": (Expected(lambda s: ("/api/status", {}), EVERYBODY),),
    "GET /api/audit/checkpoints": (
        Expected(
            lambda s: ("/api/audit/checkpoints", {}),
            frozenset({("chef", None)}),
            forbidden=NOT_OWNER,
        ),
    ),
}


def _legacy(service: Service, level: str) -> str:
    number = document(service, level=level)
    service.rows("UPDATE documents SET legacy_number = %s WHERE id = %s", f"old-{number}", number)
    return f"/l/old-{number}"


def _cases() -> Iterator[Any]:
    for route, expectations in TABLE.items():
        for number, expected in enumerate(expectations):
            for login, mandant in PRINCIPALS:
                name = f"{route}-{number}-{login or 'nobody'}-{mandant or 'all'}"
                yield pytest.param(route, expected, login, mandant, id=name)


def _ask(
    service: Service, route: str, expected: Expected, login: str | None, mandant: str | None
) -> httpx.Response:
    path, options = expected.ask(service)
    method = route.split(" ", 1)[0]
    return service.ask(method, path, login, mandant, **options)


def test_every_route_stands_in_the_table() -> None:
    routes = {
        f"{method} {route.path}"
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods or ()
    }
    # The routes of the mailbox have switches besides roles; their table is in test_mail_routes.
    # Pages of people are not in the schema; their table is in test_page_walls.
    assert {route for route in routes if "/api/skills/" not in route} == set(TABLE)


@pytest.mark.parametrize(("route", "expected", "login", "mandant"), list(_cases()))
def test_who_may_gets_it_and_nobody_else(
    service: Service, route: str, expected: Expected, login: str | None, mandant: str | None
) -> None:
    answer = _ask(service, route, expected, login, mandant)
    if login is None and not expected.is_open:
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
    elif login is None or (login, mandant) in expected.may:
        assert answer.status_code == expected.success, answer.text
    elif (login, mandant) in expected.forbidden:
        assert answer.status_code == 403
    else:
        assert answer.status_code == (422 if route == "POST /api/upload" else expected.refused)


@pytest.mark.parametrize(
    "route", [r for r, e in TABLE.items() if "_id}" in r], ids=lambda route: route
)
def test_a_foreign_number_and_an_absent_one_give_the_same_answer(
    service: Service, route: str
) -> None:
    expected = TABLE[route][0]
    foreign = _ask(service, route, expected, "sven", "sued")
    path, options = expected.ask(service)
    number = path.split("/")[2 if path.startswith("/d/") else 3]
    method = route.split(" ", 1)[0]
    absent = service.ask(method, path.replace(f"/{number}", "/999999999", 1), "sven", **options)
    assert (foreign.status_code, foreign.content) == (absent.status_code, absent.content)
    assert foreign.status_code == 404


def test_lists_hold_only_what_the_reader_may_see(service: Service) -> None:
    nord, strict = (
        _case(service),
        question(service, document(service, level="vertraulich"), "entity"),
    )
    sued = question(service, document(service, mandant="sued", entity="haus-sued"), "due_date")

    def seen(login: str) -> set[int]:
        answer = service.get("/api/cases?limit=500", login).json()
        return {case["id"] for case in answer["cases"]} & {nord, strict, sued}

    assert seen("anna") == {nord, strict}
    assert seen("vera") == {nord}
    assert seen("eva") == set()
    assert seen("sven") == {sued}
    assert seen("chef") == {nord, strict, sued}


@pytest.mark.parametrize("sort", ["id", "amount_gross"])
def test_the_list_of_documents_and_its_total_hold_only_what_the_reader_may_see(
    service: Service, sort: str
) -> None:
    kind = f"kind-{document(service)}"
    nord, strict = document(service), document(service, level="vertraulich")
    sued = document(service, mandant="sued", entity="haus-sued")
    for number in (nord, strict, sued):
        service.rows("UPDATE documents SET doc_type = %s WHERE id = %s", kind, number)

    def seen(login: str) -> tuple[set[int], int]:
        page = service.get(f"/api/documents?doc_type={kind}&sort={sort}", login).json()
        return {row["id"] for row in page["documents"]}, page["total"]

    assert seen("anna") == ({nord, strict}, 2)
    assert seen("vera") == ({nord}, 1)
    assert seen("eva") == (set(), 0)
    assert seen("sven") == ({sued}, 1)
    assert seen("chef") == ({nord, strict, sued}, 3)


def test_the_organisation_holds_only_the_own_entities_and_projects(service: Service) -> None:
    def names(login: str) -> tuple[list[str], list[str]]:
        answer = service.get("/api/organisation", login).json()
        return (
            [e["slug"] for e in answer["entities"]],
            [p["project_code"] for p in answer["projects"]],
        )

    assert names("emil") == (["nord-gmbh", "nord-sarl"], ["P-1"])
    assert names("eva") == (["nord-sarl"], [])
    assert names("sven") == (["haus-sued"], ["P-9"])


def test_status_counts_differ_by_wall_and_only_the_owner_sees_the_work(service: Service) -> None:
    document(service, mandant="sued", entity="haus-sued")
    sued = service.get("/api/status", "sven").json()
    chef = service.get("/api/status", "chef").json()
    assert sum(sued["documents"].values()) < sum(chef["documents"].values())
    assert sued["work"] is None
    assert chef["work"] is not None
