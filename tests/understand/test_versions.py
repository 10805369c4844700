"""The version of a text and of a value follows from the code and the rule data."""

import re
from pathlib import Path

from tgv_dagster.understand.extracted import ENGINE_VERSION
from tgv_dagster.understand.triaging import TRIAGE_VERSION
from tgv_dagster.understand.versions import digest


def test_reading_and_understanding_have_versions_of_their_own():
    assert re.fullmatch("[0-9a-f]{12}", ENGINE_VERSION)
    assert re.fullmatch("[0-9a-f]{12}", TRIAGE_VERSION)
    assert ENGINE_VERSION != TRIAGE_VERSION


def test_a_changed_rule_is_another_version(tmp_path: Path):
    rules, code = tmp_path / "rules.yaml", tmp_path / "code.py"
    rules.write_text("a: 1")
    code.write_text("x = 1")
    before = digest([code, rules])
    assert digest([code, rules]) == before
    rules.write_text("a: 2")
    assert digest([code, rules]) != before
