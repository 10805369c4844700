"""How scores of real and nonsense questions lie in the sample inbox: `bench/sample_scores.py`.

The sample inbox goes through the whole flow; its questions are asked in all their languages, and
the nonsense of the evaluation beside them. Prints what each floor would keep and cut: a floor
measured on clean passages does not hold for scanned letters.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.know.embeddings import Embedder
from tgv_dagster.know.evaluation.questions import study
from tgv_dagster.know.queries import NothingToSearch, understand
from tgv_dagster.know.spaces import active_space
from tgv_dagster.know.vectors import ScanSettings, VectorHit, VectorSizes, search_vectors
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation, tuning
from tgv_dagster.store.scope import Scope

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
SCAN = ScanSettings(tuning.EXACT_SCAN_ROWS, tuning.RERANK_ROWS)
DEPTH = 30


def main() -> None:
    """Build the installation, ask, print one line per floor."""
    with tempfile.TemporaryDirectory(prefix="tgv-bench-") as folder:
        home = Path(folder) / "home"
        settings = Settings(
            home=home, inbox=SAMPLES / "inbox", move_taken=False, stable_seconds=0,
            patience_seconds=0,
        )  # pyright: ignore[reportCallIssue]  # fmt: skip
        installation = Installation.open(settings)
        try:
            real, nonsense = measured(installation)
        finally:
            installation.close()
            embedded.stop(settings.postgres_path)
    print(f"real {len(real)}, nonsense {len(nonsense)}")
    for hundredths in range(5, 31):
        floor = hundredths / 100
        kept = sum(score >= floor for score in real)
        cut = sum(score < floor for score in nonsense)
        print(f"{floor:.2f}: keeps {kept} of {len(real)}, cuts {cut} of {len(nonsense)}")


def measured(installation: Installation) -> tuple[list[float], list[float]]:
    """Scores of the gold hits, one per question and language, and best scores of nonsense."""
    with installation.database.worker() as connection:
        organisation.import_organisation(
            connection, organisation.load(SAMPLES / "organisation.yaml"), author="bench"
        )
    run_until_idle(installation)
    embedder = installation.embedder
    real = list(_real(installation, embedder))
    reader = Scope.for_principal(installation.database, "jonas", mandant="nordwind", source="bench")
    nonsense = [near(installation, embedder, reader, q)[0].score for q in study().nonsense]
    return real, nonsense


def _real(installation: Installation, embedder: Embedder) -> Iterator[float]:
    questions: list[dict[str, Any]] = yaml.safe_load((SAMPLES / "questions.yaml").read_text())[
        "questions"
    ]
    for question in questions:
        if not question["files"]:
            continue
        gold = documents_of(installation, [file["path"] for file in question["files"]])
        scope = Scope.for_principal(
            installation.database, question["as"], mandant=question["mandant"], source="bench"
        )
        for text in question["ask"].values():
            found = near(installation, embedder, scope, text)
            yield from [hit.score for hit in found if hit.document_id in gold][:1]


def documents_of(installation: Installation, paths: list[str]) -> set[int]:
    """Numbers of the documents that came from these files of the sample inbox."""
    with installation.database.worker() as connection:
        rows = connection.execute(
            "SELECT document_id FROM arrivals WHERE document_id IS NOT NULL"
            " AND 'inbox/' || (origin ->> 'path') = ANY (%s)",
            (paths,),
        ).fetchall()
    return {row[0] for row in rows}


def near(
    installation: Installation, embedder: Embedder, scope: Scope, question: str
) -> tuple[VectorHit, ...]:
    """The nearest chunks, as the search asks for them."""
    terms = understand(question)
    if isinstance(terms, NothingToSearch):
        raise ValueError(f"nothing to search: {terms.reason}")
    vector = embedder.embed_query(terms.for_vector, None)
    sizes = VectorSizes(installation.database)
    with installation.database.reading(scope) as connection:
        space = active_space(connection)
        return search_vectors(connection, sizes, space, vector, scope, SCAN, limit=DEPTH).hits


if __name__ == "__main__":
    main()
