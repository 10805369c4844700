"""The samples through the whole flow, against the truth written by hand beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from shared_builders import fresh_database

from tgv_dagster.effect.status import flow_status
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.know.search import SearchParts, search
from tgv_dagster.settings import Settings
from tgv_dagster.store import organisation
from tgv_dagster.store.scope import Scope

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
EXPECTED: list[dict[str, Any]] = yaml.safe_load((SAMPLES / "expected.yaml").read_text())["files"]
QUESTIONS: list[dict[str, Any]] = yaml.safe_load((SAMPLES / "questions.yaml").read_text())[
    "questions"
]
OUTCOMES = {
    "entered": "entered",
    "duplicate": "already_here",
    "parked": "parked",
    "set_apart": "set_apart",
    "split": "split",
    "body_only": "split",
    "blocked": "split",
}
FIELDS = {"gross_amount": "amount_gross", "net_amount": "amount_net", "tax_amount": "amount_tax"}
COLUMNS = {"mandant": "mandant", "entity": "entity", "level": "confidentiality_level",
           "direction": "direction", "language": "language", "project": "project_code"}  # fmt: skip
LEAST_RIGHT = 0.9
"""Share of stated values that must be there; a wrong one is never allowed."""


@dataclass(frozen=True)
class Walked:
    """The installation after the walk, with what it stored."""

    installation: Installation
    arrivals: dict[str, list[dict[str, Any]]]
    values: dict[int, dict[str, str | None]]
    asked: frozenset[int]


@pytest.fixture(scope="module")
def walked(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Walked]:
    with fresh_database(server_url, template) as url:
        settings = Settings(
            home=tmp_path_factory.mktemp("samples-home"),
            database_url=url,  # pyright: ignore[reportArgumentType]
            inbox=SAMPLES / "inbox",
            move_taken=False,
            stable_seconds=0,
            patience_seconds=0,
        )
        installation = Installation.open(settings)
        with installation.database.worker() as connection:
            organisation.import_organisation(
                connection, organisation.load(SAMPLES / "organisation.yaml"), author="test"
            )
        run_until_idle(installation)
        yield read_back(installation)
        installation.close()


def read_back(installation: Installation) -> Walked:
    arrivals: dict[str, list[dict[str, Any]]] = {}
    values: dict[int, dict[str, str | None]] = {}
    with installation.database.worker() as connection:
        for path, name, role, outcome, reason, document, row in connection.execute(
            "SELECT a.origin ->> 'path', a.file_name, a.part_role, a.outcome, a.outcome_reason,"
            " d.id, to_jsonb(d) || jsonb_build_object('mandant', m.slug) FROM arrivals a"
            " LEFT JOIN documents d ON d.id = a.document_id"
            " LEFT JOIN mandanten m ON m.id = d.mandant_id ORDER BY a.id"
        ):
            facts = {"name": name, "role": role, "outcome": outcome, "reason": reason}
            facts |= {"document": document, "row": row or {}}
            arrivals.setdefault(f"inbox/{path}", []).append(facts)
        for document, field, value in connection.execute(
            "SELECT document_id, field, value FROM document_values WHERE active"
        ):
            values.setdefault(document, {})[field] = value
        asked = frozenset(
            row[0]
            for row in connection.execute(
                "SELECT document_id FROM cases WHERE state = 'open' AND document_id IS NOT NULL"
            )
        )
    return Walked(installation, arrivals, values, asked)


def stated(value: object) -> str:
    """A value of the truth as the product stores it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def part_of(found: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The arrival of a mail's part; the empty name is the mail's own text."""
    for arrival in found[1:]:
        if arrival["name"] == name or (name == "" and arrival["role"] == "body"):
            return arrival
    return None


def entered(walked: Walked) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every document the truth describes: label, truth, what arrived."""
    for truth in EXPECTED:
        found = walked.arrivals.get(truth["path"], [])
        if truth["outcome"] == "entered":
            yield truth["path"], truth, found[0]
        for part in truth.get("parts", []):
            match = part_of(found, part["name"])
            if match is not None and match["outcome"] == "entered":
                yield f"{truth['path']} / {part['name']}", part, match


@pytest.mark.parametrize(
    "truth", [t for t in EXPECTED if t["outcome"] != "intent"], ids=lambda t: Path(t["path"]).name
)
def test_every_file_ends_as_the_truth_says(walked: Walked, truth: dict[str, Any]) -> None:
    first = walked.arrivals[truth["path"]][0]
    assert first["outcome"] == OUTCOMES[truth["outcome"]]
    if truth["outcome"] in ("parked", "set_apart"):
        assert first["reason"]
    if truth.get("clarification"):
        assert first["document"] in walked.asked


def test_no_stored_value_is_wrong_and_most_are_there(walked: Walked) -> None:
    wrong, absent, right = [], [], 0
    for label, truth, found in entered(walked):
        checks = [
            (c, truth.get(k), found["row"].get(c)) for k, c in COLUMNS.items() if truth.get(k)
        ]
        kinds = [truth.get("doc_type"), *truth.get("also_ok", [])]
        kind = found["row"]["doc_type"]
        checks.append(("doc_type", kind if kind in kinds else kinds[0], kind))
        values: dict[str, Any] = walked.values.get(found["document"], {})
        fields: dict[str, Any] = truth.get("fields") or {}
        for field, value in fields.items():
            got = values.get(FIELDS.get(field, field), "unknown")
            checks.append((field, None if value == "none" else stated(value), got))
        for name, want, got in checks:
            if got in (None, "unknown") and want is not None:
                absent.append((label, name))
            elif str(want).casefold() != str(got).casefold():
                wrong.append((label, name, want, got))
            else:
                right += 1
    assert wrong == []
    assert right / (right + len(absent)) >= LEAST_RIGHT, absent


def test_the_sums_show_that_nothing_is_lost(walked: Walked) -> None:
    scope = walked.installation.service_scope(source="test")
    status = flow_status(walked.installation.database, scope)
    assert "pending" not in status.arrivals
    assert status.arrived == sum(len(found) for found in walked.arrivals.values())
    assert sum(status.states.values()) == status.arrivals["entered"]


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q["files"]], ids=lambda q: q["id"])
def test_a_question_in_its_own_language_finds_its_document(
    walked: Walked, question: dict[str, Any]
) -> None:
    installation = walked.installation
    wanted = {
        found["document"]
        for file in question["files"]
        for found in walked.arrivals[file["path"]]
        if found["document"] is not None
    }
    scope = Scope.for_principal(
        installation.database, question["as"], mandant=question["mandant"], source="test"
    )
    parts = SearchParts.of(installation.database, installation.words, installation.embedder)
    answer = search(parts, scope, question["ask"][question["in"]], language=question["in"])
    assert wanted & {card.document_id for card in answer.cards}


def test_no_reader_of_one_tenant_sees_a_document_of_the_other(walked: Walked) -> None:
    installation = walked.installation
    seen: dict[str, set[int]] = {}
    for mandant in ("nordwind", "familie-brandt"):
        scope = Scope.for_principal(installation.database, "jonas", mandant=mandant, source="test")
        with installation.database.reading(scope) as connection:
            seen[mandant] = {row[0] for row in connection.execute("SELECT id FROM documents")}
    assert seen["nordwind"]
    assert seen["familie-brandt"]
    assert not seen["nordwind"] & seen["familie-brandt"]
