"""Changing a threshold of triage: simulated on history before it is saved, never blind.

Past documents are triaged twice, purely, with the thresholds in force and with the changed one.
What people decided about them says which of the newly stated values would have been wrong without
anybody noticing. Nothing is written but the threshold itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from tgv_dagster.arrive.gates import PartRole
from tgv_dagster.store import tuning
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.store.tuning import TuningError
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.extracting import load_arrived, stored_extraction
from tgv_dagster.understand.thresholds import ThresholdKey, thresholds_of
from tgv_dagster.understand.triage import TriageResult
from tgv_dagster.understand.triaging import decide
from tgv_dagster.understand.values import as_text

MOST_DOCUMENTS = 300
MOST_SECONDS = 20.0


class Extent(StrEnum):
    """Whether the simulation saw all it was asked for."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class ThresholdSimulation:
    """What a change would have done to the newest past documents.

    `silent_wrong` counts values that would be stated and that a person decided otherwise; `judged`
    how many of the newly stated values a person had decided at all.
    """

    key: str
    before: float
    after: float
    documents: int
    nobody_before: int
    nobody_after: int
    newly_stated: int
    no_longer_stated: int
    judged: int
    silent_wrong: int
    extent: Extent

    def says(self) -> str:
        """One line for the account of the value."""
        return (
            f"simulated on {self.documents} documents ({self.extent}): needs nobody"
            f" {self.nobody_before} -> {self.nobody_after}, newly stated {self.newly_stated},"
            f" of them {self.silent_wrong} of {self.judged} judged ones wrong"
        )


def current(database: Database) -> dict[str, float]:
    """The thresholds in force per registered key."""
    values = tuning.load(database)
    return {str(key): values.number(key) for key in ThresholdKey}


def simulate(
    database: Database, scope: Scope, key: str, value: float, *, limit: int = MOST_DOCUMENTS
) -> ThresholdSimulation:
    """Triage the newest documents with the changed threshold; writes nothing.

    For the owner of the installation, because a threshold holds for every tenant. Raises
    ScopeError, TuningError for a key that is no threshold or a value outside 0 to 1.
    """
    _require_owner(scope)
    if key not in set(ThresholdKey):
        raise TuningError(f"{key[:60]!r} is no threshold of triage")
    if not 0 <= value <= 1:
        raise TuningError(f"{key}: {value} is outside 0 to 1")
    with database.worker() as connection:
        values = tuning.load_in(connection)
        rows = connection.execute(
            "SELECT a.id, n.id FROM document_numbers n JOIN documents d ON d.id = n.id"
            " JOIN arrivals a ON a.uid = n.arrival_uid"
            " WHERE d.state = 'active' AND NOT d.is_test ORDER BY n.id DESC LIMIT %s",
            (min(limit, MOST_DOCUMENTS) + 1,),
        ).fetchall()
    before, after = thresholds_of(values), thresholds_of(values, {key: value})
    counts = dict.fromkeys(
        ("documents", "nobody_before", "nobody_after", "newly_stated", "no_longer_stated"), 0
    )
    judged = wrong = 0
    started = time.monotonic()
    todo = rows[: min(limit, MOST_DOCUMENTS)]
    for arrival_id, document_id in todo:
        if time.monotonic() - started > MOST_SECONDS:
            break
        with database.worker() as connection:
            arrived = load_arrived(connection, arrival_id)
            extraction = stored_extraction(connection, arrived.sha256, PartRole(arrived.part_role))
            if extraction is None:
                continue
            old = decide(connection, arrived, extraction, thresholds=before).triage
            new = decide(connection, arrived, extraction, thresholds=after).triage
            human = _human(connection, document_id)
        counts["documents"] += 1
        counts["nobody_before"] += not old.open_points
        counts["nobody_after"] += not new.open_points
        stated_before, stated_after = _stated(old), _stated(new)
        fresh = {f: v for f, v in stated_after.items() if stated_before.get(f) != v}
        counts["newly_stated"] += len(fresh)
        counts["no_longer_stated"] += len(set(stated_before) - set(stated_after))
        judged += len(set(fresh) & set(human))
        wrong += sum(human[f] != v for f, v in fresh.items() if f in human)
    complete = len(rows) == len(todo) and time.monotonic() - started <= MOST_SECONDS
    return ThresholdSimulation(
        key=key,
        before=values.number(key),
        after=value,
        **counts,
        judged=judged,
        silent_wrong=wrong,
        extent=Extent.COMPLETE if complete else Extent.TRUNCATED,
    )


def save(database: Database, scope: Scope, key: str, value: float) -> ThresholdSimulation:
    """Simulate, then set the threshold; the simulation is its account. Raises as `simulate`."""
    simulation = simulate(database, scope, key, value)
    with database.worker() as connection:
        tuning.set_value(
            connection,
            key,
            str(value),
            by=scope.principal,
            measured_at=datetime.now(UTC),
            note=simulation.says(),
        )
    return simulation


def _require_owner(scope: Scope) -> None:
    scope.require(Role.SUPER_ADMIN)
    if scope.mandant_id is not None:
        raise ScopeError("This needs the owner's session over all tenants.")


def _stated(result: TriageResult) -> Mapping[Field, str]:
    asked = {point.field for point in result.open_points}
    return {
        found.field: text
        for found in reversed(result.findings)
        if found.field not in asked
        and (text := as_text(found.value)) is not None
        and text != "unknown"
    }


def _human(connection: Connection, document_id: int) -> Mapping[Field, str | None]:
    rows = connection.execute(
        "SELECT field, value FROM document_values WHERE document_id = %s AND origin = 'human'"
        " AND active",
        (document_id,),
    ).fetchall()
    return {Field(field): value for field, value in rows}
