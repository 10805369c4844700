"""Assets of understanding and deepening that show a state: figures with pictures, never a text."""

from __future__ import annotations

import dagster as dg
import pytest

from assets import deepen, understand
from resources.door import Door
from tgv_dagster.installation import Installation


def metadata(asset: dg.AssetsDefinition, installation: Installation) -> dict[str, object]:
    result = dg.materialize(
        [asset],
        resources={"door": Door(opens=lambda: installation)},
        selection=[asset],
    )
    (event,) = result.asset_materializations_for_node(asset.key.to_user_string())
    return dict(event.metadata)


@pytest.mark.parametrize(
    ("asset", "parts"),
    [
        (deepen.shadow_agreement, {"agreement", "fields", "calls", "picture"}),
        (deepen.deadlines_upcoming, {"upcoming", "cases_opened", "deadlines", "as_of"}),
        (deepen.vocabulary_fill, {"fill", "rows", "candidates", "picture", "wrong_words_in_code"}),
    ],
)
def test_an_empty_installation_is_shown_as_it_is(
    installation: Installation, asset: dg.AssetsDefinition, parts: set[str]
) -> None:
    shown = metadata(asset, installation)
    assert parts <= set(shown)
    if "agreement" in shown:
        assert shown["agreement"] == dg.TextMetadataValue("unmeasured")


def test_the_evaluation_of_understanding_is_an_asset_of_its_room() -> None:
    asset = understand.understanding_evaluation
    assert asset.group_names_by_key[asset.key] == "understand"
