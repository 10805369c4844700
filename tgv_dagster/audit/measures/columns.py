"""Measurements column by column: suites of Great Expectations over whole tables, with failing ids.

The suites stand in `suites.yaml`. Each run writes its page of Data Docs under the home folder; the
pages carry counts and ids, no value of any row, and load nothing from elsewhere (architecture §4).
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL, Engine, event

from tgv_dagster.audit.measures.asking import rows
from tgv_dagster.audit.verdict import MAX_EVIDENCE, Figure, Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.walls import WORKER_ROLE

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.datasource.fluent.interfaces import Batch

DATA_DOCS = "data-docs"
"""Folder of the pages under the home folder."""

_COUNTS = ("element_count", "unexpected_count", "unexpected_percent", "missing_count",
           "missing_percent", "unexpected_index_column_names")  # fmt: skip
_OUTSIDE = re.compile(
    r"<script[^>]*\bsrc=\"https?:[^>]*>\s*</script>|<link[^>]*\bhref=\"https?:[^>]*>", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Suite:
    """One table: the query of its rows, the column that names one, and what is expected."""

    name: str
    query: str
    row: str
    kind: str
    expectations: tuple[Mapping[str, Any], ...]


@cache
def suites() -> Mapping[str, Suite]:
    """Every suite of the file, by name."""
    path = Path(__file__).parents[1] / "suites.yaml"
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: Suite(name, e["query"], e["row"], e["kind"], tuple(e["expectations"]))
        for name, e in entries.items()
    }


def suite_holds(name: str) -> Callable[[Installation], Verdict]:
    """The measurement of one suite."""
    return partial(_holds, name)


def page_of(home: Path, name: str) -> Path:
    """Where the page of a suite stands after its first run."""
    return home / DATA_DOCS / f"{name}.html"


def _holds(name: str, installation: Installation) -> Verdict:
    """Red with the ids of the rows that break an expectation; an empty table says nothing."""
    suite = suites()[name]
    count = rows(installation, f"SELECT count(*) FROM ({suite.query}) t")[0][0]
    if not count:
        return unmeasured("the table is empty")
    with _batch(installation, suite) as batch:
        result = _validated(batch, suite)
    failing = list(dict.fromkeys(_failing(result, suite)))
    _without_values(result)
    _write_page(page_of(installation.settings.home, name), result)
    figures: dict[str, Figure] = {"rows": int(count), "expectations": len(result.results)}
    for one in result.results:
        if one.exception_info.get("raised_exception", False):
            return unmeasured("an expectation could not be evaluated", figures)
        if not one.success and one.expectation_config is not None:
            column = one.expectation_config.kwargs.get("column", "pair")
            rule = one.expectation_config.type.removeprefix("expect_column_")
            figures[f"{column}: {rule}"] = int(one.result.get("unexpected_count", 0))
    return judged(
        0 if result.success else max(len(failing), 1),
        holds="every row meets what is expected of its columns",
        broken="rows do not meet what is expected of their columns",
        figures=figures,
        evidence=tuple(f"{suite.kind}:{row}" for row in failing[:MAX_EVIDENCE]),
    )


@contextmanager
def _batch(installation: Installation, suite: Suite) -> Iterator[Batch]:
    """All rows of the suite, read as the worker; nothing is sent anywhere about the use."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx  # seconds to load; only the audit needs it
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    with warnings.catch_warnings():  # it advises a class that insists on a host
        warnings.simplefilter("ignore")
        source = context.data_sources.add_sql(suite.name, connection_string=_url(installation))
    _ask_columns_without_rows(source.get_execution_engine().engine, suite.query)
    try:
        asset = source.add_query_asset(suite.name, query=suite.query)
        yield asset.add_batch_definition(suite.name).get_batch()
    finally:
        source.get_execution_engine().close()


def _ask_columns_without_rows(engine: Engine, query: str) -> None:
    """Bound the memory: the library runs a suite's bare query only to learn its columns."""

    def without_rows(
        _connection: object, _cursor: object, statement: str, parameters: Any, *_: object
    ) -> tuple[str, Any]:
        bare = statement.strip() == query
        return (f"SELECT * FROM ({query}) t LIMIT 0" if bare else statement), parameters

    event.listen(engine, "before_cursor_execute", without_rows, retval=True)


def _validated(batch: Batch, suite: Suite) -> ExpectationSuiteValidationResult:
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    expected = [
        ExpectationConfiguration(
            type=e["type"], kwargs={k: v for k, v in e.items() if k != "type"}
        ).to_domain_obj()
        for e in suite.expectations
    ]
    return batch.validate(
        ExpectationSuite(name=suite.name, expectations=expected),
        result_format={
            "result_format": "SUMMARY",  # the complete one reads every failing row into memory
            "partial_unexpected_count": MAX_EVIDENCE,
            "unexpected_index_column_names": [suite.row],
        },
    )


def _url(installation: Installation) -> str:
    parts = conninfo_to_dict(installation.database.url)
    return URL.create(
        "postgresql+psycopg",
        username=_text(parts.get("user")),
        password=_text(parts.get("password")),
        database=_text(parts.get("dbname")),
        query={
            "host": str(parts.get("host", "")),
            "port": str(parts.get("port", "5432")),
            "options": f"-c role={WORKER_ROLE} -c timezone=UTC",
        },
    ).render_as_string(hide_password=False)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _failing(result: ExpectationSuiteValidationResult, suite: Suite) -> Iterator[int | str]:
    for one in result.results:
        for row in one.result.get("partial_unexpected_index_list") or ():
            yield row[suite.row]


def _without_values(result: ExpectationSuiteValidationResult) -> None:
    """Keep counts of a result, and drop every value and query, before anything is drawn."""
    for one in result.results:
        one.result = {name: one.result[name] for name in _COUNTS if name in one.result}


def _write_page(path: Path, result: ExpectationSuiteValidationResult) -> None:
    from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
    from great_expectations.render.view.view import DefaultJinjaPageView

    drawn = DefaultJinjaPageView().render(ValidationResultsPageRenderer().render(result))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_OUTSIDE.sub("", drawn), encoding="utf-8")
