"""A document is never looser than its compartment, whoever writes the level (FILE-01, FILE-02)."""

from __future__ import annotations

from typing import Any

import pytest

from tgv_dagster import vollzug
from tgv_dagster.file.compartments import CompartmentRefused, list_compartments, set_compartment
from tgv_dagster.file.unindexed import list_unindexed, says
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.store.levels import Level
from tgv_dagster.store.scope import Scope, ScopeError


def person(installation: Installation, login: str, mandant: str = "nord") -> Scope:
    return Scope.for_principal(installation.database, login, mandant=mandant, source="test")


def filed(installation: Installation) -> int:
    """A filed paper of nord-gmbh; its number."""
    place = installation.settings.inbox_path / "nord/nord-gmbh"
    place.mkdir(parents=True)
    (place / "notiz.txt").write_text("Nordlicht Tischlerei GmbH\nNotiz zum Umbau\n")
    run_until_idle(installation)
    return int(_row(installation, "SELECT id FROM documents")[0])


def _row(installation: Installation, query: str) -> tuple[Any, ...]:
    with installation.database.worker() as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row


def level(installation: Installation) -> object:
    return _row(installation, "SELECT confidentiality_level FROM documents")[0]


def test_a_stricter_compartment_holds_for_what_stands_in_it_at_once(
    installation: Installation,
) -> None:
    filed(installation)
    anna = person(installation, "anna")
    made = set_compartment(
        installation.database, anna, folder="*", entity="nord-gmbh", level=Level.INTERNAL
    )
    run_until_idle(installation)
    assert _row(installation, "SELECT compartment_id FROM documents") == (made.id,)
    set_compartment(
        installation.database, anna, folder="*", entity="nord-gmbh", level=Level.CONFIDENTIAL
    )
    assert level(installation) == "vertraulich"
    set_compartment(installation.database, anna, folder="*", entity="nord-gmbh", level=Level.PUBLIC)
    assert level(installation) == "vertraulich", "a looser default opens nothing by itself"


def test_nothing_writes_a_level_below_the_compartment(installation: Installation) -> None:
    filed(installation)
    set_compartment(
        installation.database,
        person(installation, "anna"),
        folder="*",
        entity=None,
        level=Level.CONFIDENTIAL,
    )
    run_until_idle(installation)
    with installation.database.worker() as connection:
        connection.execute("UPDATE documents SET confidentiality_level = 'oeffentlich'")
    assert level(installation) == "vertraulich"
    with installation.database.worker() as connection:
        connection.execute("UPDATE documents SET confidentiality_level = 'streng_vertraulich'")
    assert level(installation) == "streng_vertraulich"


def test_filing_elsewhere_is_a_card_and_survives_the_next_filing(
    installation: Installation,
) -> None:
    """FILE-04: a filed document moves by a card, with its log."""
    number = filed(installation)
    anna = person(installation, "anna")
    for folder, strictness in (("*", Level.INTERNAL), ("Personal", Level.CONFIDENTIAL)):
        set_compartment(
            installation.database, anna, folder=folder, entity="nord-gmbh", level=strictness
        )
    run_until_idle(installation)
    card = vollzug.propose_for_document(
        installation, anna, number, "file_under", {"folder": "Personal"}
    )
    vollzug.execute(installation, anna, card.id)
    run_until_idle(installation)
    folder = "SELECT c.folder, d.confidentiality_level FROM documents d JOIN compartments c"
    joined = f"{folder} ON c.id = d.compartment_id"
    assert _row(installation, joined) == ("Personal", "vertraulich")
    vollzug.withdraw(installation, anna, card.id, reason="back")
    run_until_idle(installation)
    assert _row(installation, joined)[0] == "*"


def test_only_the_manager_makes_compartments_and_only_at_home(installation: Installation) -> None:
    for login in ("emil", "vera"):
        with pytest.raises(ScopeError):
            set_compartment(
                installation.database, person(installation, login),
                folder="*", entity="nord-gmbh", level=Level.INTERNAL,
            )  # fmt: skip
    anna = person(installation, "anna")
    for folder, entity in (("*", "haus-sued"), (" ", "nord-gmbh"), ("a\nb", "nord-gmbh")):
        with pytest.raises(CompartmentRefused):
            set_compartment(
                installation.database, anna, folder=folder, entity=entity, level=Level.INTERNAL
            )
    assert list_compartments(installation.database, anna) == ()


def test_what_is_not_in_the_index_names_its_filter(installation: Installation) -> None:
    """FILE-03: what filing kept out of the index says why."""
    number = filed(installation)
    anna = person(installation, "anna")
    assert list_unindexed(installation.database, anna) == ()
    card = vollzug.propose_for_document(installation, anna, number, "trash", {})
    vollzug.execute(installation, anna, card.id)
    (left_out,) = list_unindexed(installation.database, anna)
    assert (left_out.filter, left_out.documents, left_out.newest) == ("not_active", 1, (number,))
    assert list_unindexed(installation.database, person(installation, "sven", "sued")) == ()


def test_every_filter_is_said_in_three_languages() -> None:
    assert len(set(says("no_text"))) == 3
    assert says("not decided: entity, level")[2] == "Not decided: entity, level"
