"""What the console says when something is wrong: the fault as it is, and what helps."""

from __future__ import annotations

import pytest
import typer

from tgv_dagster.console.common import KNOWN_ERRORS, REMEDIES, clear_errors
from tgv_dagster.rebuild import RebuildError
from tgv_dagster.store.scope import ScopeError


def said(error: Exception, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(typer.Exit) as ended, clear_errors():
        raise error
    assert ended.value.exit_code == 1
    return capsys.readouterr().err


def test_a_remedy_is_named_with_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--mandant TENANT" in said(ScopeError("Choose the tenant."), capsys)


def test_a_message_with_its_own_command_gets_no_second_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert said(ScopeError("Look: `tgv bank links`."), capsys) == "Look: `tgv bank links`.\n"


@pytest.mark.parametrize("name", ["a[1].pdf", "[/red]", "[link=x]", "[/nowhere]"])
def test_brackets_in_a_message_are_shown_as_they_are(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name in said(RebuildError(f"{name} cannot be built"), capsys)


def test_every_remedy_belongs_to_an_error_that_is_told() -> None:
    assert [kind for kind, _ in REMEDIES if kind not in KNOWN_ERRORS] == []
