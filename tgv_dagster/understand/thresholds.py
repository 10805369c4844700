"""The thresholds of triage from the register of tuning values: the row leads (VAL-01, VAL-04)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from tgv_dagster.store.tuning import Tuning
from tgv_dagster.understand.triage import DEFAULT_THRESHOLDS, Thresholds


class ThresholdKey(StrEnum):
    """Registered keys of the thresholds."""

    DOC_TYPE = "TRIAGE_LEAST_DOC_TYPE"
    ENTITY = "TRIAGE_LEAST_ENTITY"
    PROVIDER = "TRIAGE_LEAST_PROVIDER"
    AMOUNTS = "TRIAGE_LEAST_AMOUNTS"
    DATES = "TRIAGE_LEAST_DATES"
    NUMBERS = "TRIAGE_LEAST_NUMBERS"
    LANGUAGE = "TRIAGE_LEAST_LANGUAGE"
    PROJECT = "TRIAGE_LEAST_PROJECT"

    @property
    def decision(self) -> str:
        """The decision of triage it belongs to: the field of `Thresholds`."""
        return self.name.lower()


def thresholds_of(tuning: Tuning, changes: Mapping[str, float] | None = None) -> Thresholds:
    """The thresholds in force, with `changes` per registered key put over them."""
    values = {str(key): tuning.number(key) for key in ThresholdKey} | dict(changes or {})
    made = DEFAULT_THRESHOLDS
    for key in ThresholdKey:
        current = getattr(made, key.decision)
        made = replace(made, **{key.decision: replace(current, value=values[key])})
    return made
