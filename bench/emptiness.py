"""How often nonsense is honestly empty, and what that costs: `python -m bench.emptiness`.

Real questions to the shipped passages and to the sample inbox, and two sets of nonsense, are asked
of both ways. Thresholds of the doubt are chosen on one half of the real questions and the nonsense
of `emptiness.yaml`, and judged on the other half and the nonsense of the evaluation.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench import sample_scores
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.know.balance import STANDING_OUT, Doubt
from tgv_dagster.know.evaluation import balancing
from tgv_dagster.know.evaluation.questions import pairs, study
from tgv_dagster.know.evaluation.run import SIZES, embedded_models
from tgv_dagster.know.evaluation.stock import built
from tgv_dagster.know.evaluation.ways import Ways, ways_in
from tgv_dagster.know.search import SearchParts
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation
from tgv_dagster.store.scope import Scope

RECALL = 0.96
"""Share of the real questions to choose on that must stay undoubted, in each stock."""

SHOWN = 10
GRID = ([n / 100 for n in range(12, 24)], [n / 100 for n in range(6, 20)], (1, 2, 3))


@dataclass(frozen=True, slots=True)
class Asked:
    """What both ways gave to the questions of one stock."""

    real: list[Ways]
    chosen_on: list[Ways]
    nonsense: list[Ways]
    unanswerable: list[Ways]


def doubted(doubt: Doubt, asked: Sequence[Ways]) -> float:
    """Share of questions that are doubted."""
    held = (
        doubt.holds(
            [hit.score for hit in ways.vector[: STANDING_OUT.stop]], ways.vector, ways.words
        )
        for ways in asked
    )
    return sum(held) / len(asked)


def shipped() -> Asked:
    """The passages of the evaluation, near-duplicates among them."""
    with _server() as url, built(
        url, balancing.documents(pairs(), 300), embedded_models()[0], SIZES
    ) as stock:  # fmt: skip
        everything = stock.scope()
        real = [
            ways
            for question in balancing.questions(pairs())
            if _found(
                ways := ways_in(stock.parts, stock.scope(question.shelf), question.text),
                {number for number, key in stock.keys.items() if key == question.key},
            )
        ]
        return _with_nonsense(real, stock.parts, everything)


def samples() -> Asked:
    """The sample inbox, as its readers see it."""
    with tempfile.TemporaryDirectory(prefix="tgv-bench-") as folder:
        settings = Settings(
            home=Path(folder) / "home", inbox=sample_scores.SAMPLES / "inbox", move_taken=False,
            stable_seconds=0, patience_seconds=0,
        )  # pyright: ignore[reportCallIssue]  # fmt: skip
        installation = Installation.open(settings)
        try:
            return _samples(installation)
        finally:
            installation.close()
            embedded.stop(settings.postgres_path)


def _samples(installation: Installation) -> Asked:
    with installation.database.worker() as connection:
        organisation.import_organisation(
            connection,
            organisation.load(sample_scores.SAMPLES / "organisation.yaml"),
            author="bench",
        )
    run_until_idle(installation)
    parts = SearchParts.of(installation.database, installation.words, installation.embedder)
    text = (sample_scores.SAMPLES / "questions.yaml").read_text(encoding="utf-8")
    real: list[Ways] = []
    for question in yaml.safe_load(text)["questions"]:
        gold = sample_scores.documents_of(installation, [f["path"] for f in question["files"]])
        scope = Scope.for_principal(
            installation.database, question["as"], mandant=question["mandant"], source="bench"
        )
        asked = [ways_in(parts, scope, text) for text in question["ask"].values() if gold]
        real += [ways for ways in asked if _found(ways, gold)]
    reader = Scope.for_principal(installation.database, "jonas", mandant="nordwind", source="bench")
    return _with_nonsense(real, parts, reader)


def _with_nonsense(real: list[Ways], parts: SearchParts, scope: Scope) -> Asked:
    own = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    sets = (own["chosen_on"], study().nonsense, study().unanswerable)
    return Asked(real, *([ways_in(parts, scope, text) for text in texts] for texts in sets))


def _found(ways: Ways, gold: set[int]) -> bool:
    """Whether an answer is among the nearest of either way; what is lost by rank does not count."""
    shown = (*ways.vector[:SHOWN], *ways.words[:SHOWN])
    return any(hit.document_id in gold for hit in shown)


@contextmanager
def _server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tgv-bench-") as folder:
        home = Path(folder) / "postgres"
        yield embedded.start(home, shared_buffers_mb=128)
        embedded.stop(home)


def chosen(stocks: Sequence[Asked]) -> Doubt:
    """The thresholds that doubt most nonsense of the worse stock at the recall."""
    fitting = [
        doubt
        for doubt in itertools.starmap(Doubt, itertools.product(*GRID))
        if all(1 - doubted(doubt, stock.real[::2]) >= RECALL for stock in stocks)
    ]
    return max(
        fitting,
        key=lambda doubt: sorted(doubted(doubt, stock.chosen_on) for stock in stocks),
    )


def main() -> None:
    """Print the thresholds and one line per stock."""
    stocks = {"shipped": shipped(), "samples": samples()}
    doubt = chosen(tuple(stocks.values()))
    print(doubt)
    print("| stock | real kept, chosen on / held out | nonsense doubted, the same | unanswerable |")
    for name, stock in stocks.items():
        kept = [1 - doubted(doubt, part) for part in (stock.real[::2], stock.real[1::2])]
        nonsense = [doubted(doubt, part) for part in (stock.chosen_on, stock.nonsense)]
        print(
            f"| {name} | {kept[0]:.2f} / {kept[1]:.2f} | {nonsense[0]:.2f} / {nonsense[1]:.2f}"
            f" | {doubted(doubt, stock.unanswerable):.2f} |"
        )


if __name__ == "__main__":
    main()
