"""Signatures of exports that many firms have: they settle dialect and column names only.

A tenant's first file of each still shows one card, and which value is which project is always the
tenant's own (issue text on standard formats). Read from `shipped.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from tgv_dagster.tables.lexicon import normal_label
from tgv_dagster.tables.targets import Target


@dataclass(frozen=True, slots=True)
class Shipped:
    """One known export: it is recognised when all `must` labels are there."""

    name: str
    target: Target
    must: frozenset[str]
    fields: Mapping[str, str]


@cache
def load() -> tuple[Shipped, ...]:
    """The shipped signatures."""
    text = resources.files("tgv_dagster.tables").joinpath("shipped.yaml").read_text("utf-8")
    return tuple(
        Shipped(
            name,
            Target(entry["target"]),
            frozenset(map(normal_label, entry["must"])),
            entry["fields"],
        )
        for name, entry in yaml.safe_load(text).items()
    )


def find(labels: tuple[str, ...]) -> Shipped | None:
    """The shipped signature whose labels are all among these, in the spelling of the table.

    Of several the one that knows most of the columns.
    """
    spelled = {normal_label(label): label for label in labels}
    fitting = [one for one in load() if one.must <= set(spelled)]
    if not fitting:
        return None
    best = max(
        fitting, key=lambda one: sum(normal_label(x) in spelled for x in one.fields.values())
    )
    fields = {f: spelled.get(normal_label(x), x) for f, x in best.fields.items()}
    return Shipped(best.name, best.target, best.must, fields)


def _known(one: Shipped, spelled: Mapping[str, str]) -> int:
    return sum(normal_label(label) in spelled for label in one.fields.values())
