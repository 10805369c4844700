"""The register is the one list of invariants, complete in every column."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml

from tgv_dagster.audit import register
from tgv_dagster.audit.measures.raw import RAW_FIRST
from tgv_dagster.audit.register import CHECKPOINTS, Checkpoint, Station, checkpoint, gates

each = pytest.mark.parametrize("which", CHECKPOINTS, ids=lambda which: which.id)


def test_ids_are_unique() -> None:
    ids = [which.id for which in CHECKPOINTS]
    assert sorted(set(ids)) == sorted(ids)


def test_there_are_eight_stations_and_each_has_a_checkpoint() -> None:
    assert len(Station) == 8
    assert {which.station for which in CHECKPOINTS} == set(Station)


def test_the_order_of_the_register_is_the_order_of_the_flow() -> None:
    order = [list(Station).index(which.station) for which in CHECKPOINTS]
    assert order == sorted(order)


@each
def test_statement_limit_and_remedy_stand_in_three_languages(which: Checkpoint) -> None:
    for text in (which.statement, which.limit, which.remedy):
        sentences = {text.de, text.fr, text.en}
        assert len(sentences) == 3
        assert all(sentence.strip().endswith(".") for sentence in sentences)


@each
def test_the_guarding_function_exists(which: Checkpoint) -> None:
    if which.found_at.function is None:
        return
    assert callable(_resolve(which.found_at.function))


def test_every_text_belongs_to_a_checkpoint() -> None:
    path = Path(register.__file__).with_name("checkpoints.yaml")
    entries = set(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert entries - {which.id for which in CHECKPOINTS} == {"lost_ops_feature"}


def test_raw_first_is_a_gate_with_the_name_that_held_items_carry() -> None:
    from tgv_dagster.understand import extracting

    assert checkpoint(RAW_FIRST) in gates()
    assert extracting.RAW_FIRST == RAW_FIRST


def test_the_five_lost_features_are_one_checkpoint_each() -> None:
    lost = [which for which in CHECKPOINTS if which.id.startswith("lost_ops_feature_")]
    assert len(lost) == register.LOST_OPS_FEATURES == 5


def test_an_unknown_checkpoint_is_an_error() -> None:
    with pytest.raises(KeyError):
        checkpoint("nothing of that name")


def _resolve(dotted: str) -> object:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise AssertionError(dotted)
