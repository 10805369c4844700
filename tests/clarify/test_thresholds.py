"""A threshold is simulated on history before it is saved, and the row then leads."""

from __future__ import annotations

import pytest
from clarify_builders import person, rows

from tgv_dagster.clarify import thresholds
from tgv_dagster.clarify.thresholds import Extent
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.store.tuning import TuningError


def papers(installation: Installation, count: int) -> None:
    """Invoices whose supplier is certain by a little more than the threshold."""
    folder = installation.settings.inbox_path / "nord/nord-gmbh"
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"paper-{number}.txt").write_text(
            "Holzkontor Altland GmbH, Deichstrasse 3, 21129 Hamburg\n\n"
            "Nordlicht Tischlerei GmbH\nHafenweg 1\n20457 Hamburg\n\n"
            f"Rechnung Nr. RE-{number}\nRechnungsdatum: 02.03.2026\nNettobetrag 480,00 EUR\n"
            "Umsatzsteuer 19 % 91,20 EUR\nGesamtbetrag 571,20 EUR\nZahlbar bis 16.03.2026.\n"
        )
    run_until_idle(installation)


def test_a_change_is_simulated_then_saved_then_acts(installation: Installation) -> None:
    papers(installation, 2)
    owner = person(installation, "chef", None)
    looked = thresholds.simulate(installation.database, owner, "TRIAGE_LEAST_PROVIDER", 1.0)
    assert (looked.documents, looked.nobody_before, looked.nobody_after) == (2, 2, 0)
    assert (looked.no_longer_stated, looked.newly_stated) == (2, 0)
    assert looked.extent is Extent.COMPLETE
    assert thresholds.current(installation.database)["TRIAGE_LEAST_PROVIDER"] == 0.8
    thresholds.save(installation.database, owner, "TRIAGE_LEAST_PROVIDER", 1.0)
    ((value, note),) = rows(
        installation,
        "SELECT value, measured_note FROM tuning_values WHERE key = 'TRIAGE_LEAST_PROVIDER'",
    )
    assert float(value) == 1.0
    assert "needs nobody 2 -> 0" in note
    back = thresholds.simulate(installation.database, owner, "TRIAGE_LEAST_PROVIDER", 0.8)
    assert (back.nobody_before, back.nobody_after, back.newly_stated) == (0, 2, 2)
    assert (back.judged, back.silent_wrong) == (0, 0)


def test_what_people_decided_judges_the_newly_stated_values(installation: Installation) -> None:
    papers(installation, 1)
    owner = person(installation, "chef", None)
    thresholds.save(installation.database, owner, "TRIAGE_LEAST_PROVIDER", 1.0)
    rows(
        installation,
        "INSERT INTO document_values (document_id, field, value, origin, set_by, version)"
        " SELECT id, 'provider', 'Holzkontor Altland eG', 'human', 'anna', 'human' FROM documents",
    )
    looked = thresholds.simulate(installation.database, owner, "TRIAGE_LEAST_PROVIDER", 0.8)
    assert (looked.judged, looked.silent_wrong) == (1, 1)


def test_only_the_owner_and_only_thresholds(installation: Installation) -> None:
    for login, mandant in (("anna", "nord"), ("chef", "nord")):
        with pytest.raises(ScopeError):
            thresholds.simulate(
                installation.database, person(installation, login, mandant),
                "TRIAGE_LEAST_PROVIDER", 0.5,
            )  # fmt: skip
    owner = person(installation, "chef", None)
    for key, value in (("P_TOP_K", 0.5), ("TRIAGE_LEAST_PROVIDER", 1.5)):
        with pytest.raises(TuningError):
            thresholds.save(installation.database, owner, key, value)
