"""Registry: which specialist a kind of document goes to, read from the one file `registry.yaml`.

Here belong the parsed entries and the guards over them (SPEC-07 to SPEC-09, SPEC-13). What a
specialist does belongs to `specialists`; no other module names one (TRI-15).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

import yaml

from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field


class RegistryError(ValueError):
    """The registry cannot be used; the message lists every fault."""


class BuildState(StrEnum):
    """Whether a specialist exists here, is planned, or is built elsewhere."""

    BUILT = "built"
    PLANNED = "planned"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of document with its specialist; `where` names the room for ELSEWHERE.

    `required` fields are asked for when missing, `looked_for` ones become "checked, none".
    """

    doc_type: DocType
    specialist: str
    state: BuildState
    required: tuple[Field, ...]
    looked_for: tuple[Field, ...]
    axes: tuple[Field, ...]
    model_role: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Registry:
    """All entries, one per kind."""

    entries: tuple[Entry, ...]

    def entry(self, doc_type: DocType) -> Entry:
        """The entry of a kind; every kind has one."""
        return next(entry for entry in self.entries if entry.doc_type is doc_type)

    def skill_plan(self, doc_type: DocType) -> tuple[str, ...]:
        """The specialists a document of this kind goes through; empty while none is built."""
        entry = self.entry(doc_type)
        return () if entry.state is BuildState.PLANNED else (entry.specialist,)


@cache
def load() -> Registry:
    """The shipped registry. Raises RegistryError when the file is wrong."""
    path = resources.files("tgv_dagster.deepen") / "registry.yaml"
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> Registry:
    """A registry from YAML. Raises RegistryError listing every fault, missing kinds included."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RegistryError(f"registry is no YAML: {error}") from error
    kinds = data.get("kinds") if isinstance(data, dict) else None
    if not isinstance(kinds, dict):
        raise RegistryError("registry: a mapping `kinds` is expected")
    faults: list[str] = []
    entries: list[Entry] = []
    for name, raw in kinds.items():
        try:
            entries.append(_entry(str(name), raw))
        except ValueError as error:
            faults.append(f"{name}: {error}")
    missing = set(DocType) - {entry.doc_type for entry in entries} - {str(n) for n in kinds}
    faults += [f"{doc_type}: no entry" for doc_type in sorted(missing)]
    if faults:
        raise RegistryError("registry: " + "; ".join(faults))
    return Registry(tuple(entries))


_KEYS = {"specialist", "state", "where", "required", "looked_for", "axes", "model_role"}


def _entry(name: str, raw: Any) -> Entry:
    if not isinstance(raw, Mapping):
        raise RegistryError("a mapping is expected")
    unknown = set(raw) - _KEYS
    if unknown:
        raise RegistryError(f"unknown keys {sorted(unknown)}")
    state = BuildState(raw.get("state", ""))
    where = str(raw.get("where", ""))
    if (state is BuildState.ELSEWHERE) != bool(where):
        raise RegistryError("`where` belongs to state elsewhere, and only there")
    specialist = raw.get("specialist")
    if not isinstance(specialist, str) or not specialist:
        raise RegistryError("a specialist is not named")
    return Entry(
        DocType(name),
        specialist,
        state,
        _fields(raw, "required"),
        _fields(raw, "looked_for"),
        _fields(raw, "axes"),
        str(raw.get("model_role", "none")),
        where,
    )


def _fields(raw: Mapping[str, Any], key: str) -> tuple[Field, ...]:
    names = raw.get(key, [])
    if not isinstance(names, list):
        raise RegistryError(f"{key} must be a list")
    return tuple(Field(name) for name in names)


def problems(registry: Registry, built: Collection[str]) -> tuple[str, ...]:
    """What is wrong between the registry and the specialists that exist (SPEC-09, SPEC-13).

    `built` are the names of the specialists in code: an entry that claims a missing one, and a
    specialist that no entry calls, are both named.
    """
    return tuple(_problems(registry, set(built)))


def _problems(registry: Registry, built: set[str]) -> Iterator[str]:
    called = {e.specialist for e in registry.entries if e.state is BuildState.BUILT}
    for entry in registry.entries:
        if entry.state is BuildState.BUILT and entry.specialist not in built:
            yield f"{entry.doc_type}: specialist {entry.specialist} is built nowhere"
        if entry.state is BuildState.PLANNED and entry.specialist in built:
            yield f"{entry.doc_type}: specialist {entry.specialist} is built but called planned"
        both = set(entry.required) & set(entry.looked_for)
        if both:
            yield f"{entry.doc_type}: {sorted(both)} both required and looked for"
    for name in sorted(built - called):
        yield f"specialist {name} has no caller"
