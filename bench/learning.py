"""What fifty corrections are worth, and what an inbox costs: `python -m bench.learning`.

A year of a small firm's post: senders that come back, most of them with two firms in the head of
their paper, some clean, some never seen before. The held-out papers go through the flow before
anybody taught anything, then fifty others are corrected by a person until rules are proposed and
approved, then the held-out papers are understood again, and once more after every rule is off.
Prints markdown rows.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import yaml

from tgv_dagster import vollzug
from tgv_dagster.clarify import conversation, decisions, rules_of_tenant
from tgv_dagster.flow import STEPS
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import Field

CORRECTIONS = 50
HELD_OUT = 100
OPEN_CASES = 10_000
SEED = 7
WANTED = ("folder_arrivals", "extracted_texts", "documents", "document_details")

ORGANISATION = {
    "mandanten": [{"slug": "nord", "name": "Nord"}],
    "entities": [
        {
            "slug": "nord-gmbh", "mandant": "nord", "kind": "company", "bucket": "nord-gmbh",
            "legal_name": "Nordlicht Tischlerei GmbH", "default_level": "intern",
            "address": "Hafenweg 1, 20457 Hamburg",
        }
    ],
    "users": [
        {"login": "anna", "name": "Anna", "roles": [{"mandant": "nord", "role": "mandant_admin"}]}
    ],
}  # fmt: skip

KNOWN = [
    (f"{name} {trade} GmbH und {name} Handel GmbH", f"{name} {trade} GmbH")
    for name, trade in (
        ("Meier", "Bau"), ("Huber", "Holz"), ("Krause", "Dach"), ("Lang", "Elektro"),
        ("Otto", "Farben"), ("Petersen", "Glas"), ("Roth", "Metall"), ("Simon", "Fliesen"),
        ("Thal", "Kran"), ("Ulrich", "Putz"), ("Vogt", "Beton"), ("Weber", "Tore"),
    )
]  # fmt: skip
CLEAN = [
    (name, name) for name in map("Holzkontor {} GmbH".format, ("Altland", "Deichtal", "Brink"))
]
NEVER_SEEN = [
    (f"Neumann {trade} GmbH und Neumann Handel GmbH", f"Neumann {trade} GmbH")
    for trade in ("Zelt", "Zaun", "Zink")
]


@dataclass(frozen=True, slots=True)
class Paper:
    """One invoice with its truth."""

    name: str
    text: str
    provider: str
    gross: str


def papers(kind: str, count: int, senders: list[tuple[str, str]]) -> list[Paper]:
    """Invoices of these senders in a fixed random order."""
    chance = random.Random(f"{SEED}-{kind}")
    made = []
    for number in range(count):
        printed, right = senders[number % len(senders)]
        net = chance.randint(40, 4000)
        gross = f"{net * 1.19:.2f}"
        german = f"{gross[:-3]},{gross[-2:]}"
        text = (
            f"{printed}\n\nNordlicht Tischlerei GmbH\nHafenweg 1\n20457 Hamburg\n\n"
            f"Rechnung Nr. {kind}-{number}\nRechnungsdatum: {chance.randint(1, 28):02}.03.2026\n"
            f"Nettobetrag {net},00 EUR\nUmsatzsteuer 19 % {net * 0.19:.2f} EUR\n"
            f"Gesamtbetrag {german} EUR\nZahlbar bis 30.04.2026.\n"
        ).replace(f"{net * 0.19:.2f} EUR", f"{net * 0.19:.2f} EUR".replace(".", ","))
        made.append(Paper(f"{kind}-{number}.txt", text, right, gross))
    return made


@contextmanager
def installation() -> Iterator[Installation]:
    """A fresh installation with one firm."""
    with TemporaryDirectory(prefix="tgv-bench-") as folder:
        home = Path(folder)
        url = embedded.start(home / "postgres", shared_buffers_mb=128)
        with psycopg.connect(url, autocommit=True) as connection:
            # The figures are counts; waiting for the disk would measure the neighbours.
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
            connection.execute("SELECT pg_reload_conf()")
        opened = Installation.open(
            Settings(home=home, database_url=url, workers=1, stable_seconds=0, batch_size=500)  # pyright: ignore[reportArgumentType]
        )
        with opened.database.worker() as connection:
            organisation.import_organisation(
                connection, organisation.parse(yaml.safe_dump(ORGANISATION)), author="bench"
            )
        yield opened
        opened.close()
        embedded.stop(home / "postgres")


def hand_over(opened: Installation, made: list[Paper]) -> dict[str, int]:
    """Put the papers into the folder and let them be understood; numbers by name."""
    folder = opened.settings.inbox_path / "nord/nord-gmbh"
    folder.mkdir(parents=True, exist_ok=True)
    for paper in made:
        (folder / paper.name).write_text(paper.text, encoding="utf-8")
    understand(opened)
    found = _rows(opened, "SELECT file_name, id FROM documents")
    return {name: number for name, number in found if name in {paper.name for paper in made}}


def understand(opened: Installation) -> None:
    """Run the steps up to the specialists until nothing is due for them."""
    stages = (Stage.EXTRACT, Stage.TRIAGE, Stage.DEEPEN)
    while True:
        for step in STEPS:
            if step.name in WANTED:
                step.run(opened, None)
        ((due,),) = _rows(
            opened,
            "SELECT count(*) FROM flow_ledger WHERE state = 'pending' AND stage = ANY (%s)"
            " AND not_before <= now()",
            [str(stage) for stage in stages],
        )
        if not due:
            return


def judge(opened: Installation, numbers: dict[str, int], made: list[Paper]) -> tuple[int, int]:
    """How many of the papers need nobody, and how many of those state something wrong."""
    truth = {numbers[paper.name]: paper for paper in made}
    asked = {row[0] for row in _rows(opened, "SELECT document_id FROM cases WHERE state = 'open'")}
    quiet = [number for number in truth if number not in asked]
    stated = _rows(
        opened,
        "SELECT id, provider, amount_gross::text, doc_type FROM documents WHERE id = ANY (%s)",
        quiet,
    )
    wrong = sum(
        (provider, gross, kind) != (truth[number].provider, truth[number].gross, "invoice")
        for number, provider, gross, kind in stated
    )
    return len(quiet), wrong


def values(opened: Installation, numbers: dict[str, int]) -> list[tuple[Any, ...]]:
    """What is in force about these documents."""
    return _rows(
        opened,
        "SELECT document_id, field, value, origin, rule_id FROM document_values"
        " WHERE document_id = ANY (%s) AND active ORDER BY 1, 2, 3, 4, 5",
        list(numbers.values()),
    )


def correct(opened: Installation, anna: Scope, numbers: dict[str, int], made: list[Paper]) -> int:
    """Answer the question about the supplier wherever one is asked; returns how many."""
    truth = {numbers[paper.name]: paper for paper in made}
    given = 0
    for case in decisions.list_cases(opened.database, anna):
        paper = truth.get(case.document_id or 0)
        if paper is None or "provider" not in {p["field"] for p in case.open_points}:
            continue
        decisions.answer(opened.database, anna, case.id, {Field.PROVIDER: paper.provider})
        given += 1
    return given


def learning(opened: Installation) -> None:
    """The figure: needs nobody before and after, silently wrong, and what is left of rules."""
    anna = Scope.for_principal(opened.database, "anna", mandant="nord", source="bench")
    part = HELD_OUT // 20
    held = (
        papers("held", part * 12, KNOWN)
        + papers("clean", part * 5, CLEAN)
        + papers("new", part * 3, NEVER_SEEN)
    )
    numbers = hand_over(opened, held)
    before, wrong_before = judge(opened, numbers, held)
    untaught = values(opened, numbers)
    taught = papers("taught", CORRECTIONS, KNOWN)
    given = correct(opened, anna, hand_over(opened, taught), taught)
    cards = [
        card.id
        for case, found in conversation.inbox(vollzug.executor_of(opened), anna, limit=100).cases
        for card in found
        if case.kind == "rule"
    ] or _rule_cards(opened)
    for card in cards:
        vollzug.execute(opened, anna, card)
    understand(opened)
    after, wrong_after = judge(opened, numbers, held)
    by_rule = sum(
        row[3] == "rule" and str(row[4]).startswith("learned:") for row in values(opened, numbers)
    )
    for rule in rules_of_tenant.list_rules(opened.database, anna):
        vollzug.switch_rule_off(opened, anna, rule.id)
    understand(opened)
    restored = values(opened, numbers)
    same = len(set(untaught) & set(restored))
    other = len(set(restored) - set(untaught))
    print(f"| corrections, rules approved | {given}, {len(cards)} |")
    print(
        f"| held-out papers that need nobody, before | {before} of {len(held)},"
        f" {wrong_before} silently wrong |"
    )
    print(
        f"| the same after {given} corrections | {after} of {len(held)}"
        f" ({after / len(held):.0%}), {wrong_after} silently wrong |"
    )
    print(
        f"| values set by rules; values restored when all rules are off | {by_rule};"
        f" {same} of {len(untaught)}, {other} others |"
    )


def _rule_cards(opened: Installation) -> list[int]:
    """Cards of proposed rules beyond the first page of the inbox."""
    return [
        row[0]
        for row in _rows(
            opened,
            "SELECT k.id FROM cards k JOIN cases c ON c.id = k.case_id"
            " WHERE c.kind = 'rule' AND k.state = 'pending' ORDER BY 1",
        )
    ]


def inbox(opened: Installation) -> None:
    """The figure: statements and time of an inbox page beside 10,000 open cases."""
    anna = Scope.for_principal(opened.database, "anna", mandant="nord", source="bench")
    executor = vollzug.executor_of(opened)
    few = _measured(lambda: conversation.inbox(executor, anna, limit=50))
    with opened.database.worker() as connection:
        connection.execute(
            """
            WITH made AS (INSERT INTO threads (mandant_id, entity, kind, subject, created_by)
                SELECT e.mandant_id, e.slug, 'case', 'bench', 'bench'
                FROM entities e, generate_series(1, %s) RETURNING id)
            INSERT INTO cases (kind, subject_kind, subject_key, reason, thread_id, mandant_id,
                entity, document_id, confidentiality_level, open_points)
            SELECT 'unknown', 'document', d.id::text, 'bench ' || m.id, m.id, d.mandant_id,
                d.entity, d.id, 'intern', '[{"field": "due_date", "kind": "unknown"}]'
            FROM made m JOIN LATERAL (SELECT * FROM documents WHERE id > m.id - m.id
                ORDER BY id LIMIT 1) d ON true
            """,
            (OPEN_CASES,),
        )
        connection.execute("ANALYZE cases")
    many = _measured(lambda: conversation.inbox(executor, anna, limit=50))
    print(f"| statements of an inbox page, few cases / {OPEN_CASES} open | {few[0]} / {many[0]} |")
    print(f"| milliseconds of the same | {few[1]:.1f} / {many[1]:.1f} |")


def _measured(call: Any) -> tuple[int, float]:
    """Statements and median milliseconds of five calls."""
    call()
    counted = [0]
    plain = psycopg.Cursor.execute

    def counting(self: Any, *arguments: Any, **options: Any) -> Any:
        counted[0] += 1
        return plain(self, *arguments, **options)

    psycopg.Cursor.execute = counting  # pyright: ignore[reportAttributeAccessIssue]
    try:
        call()
    finally:
        psycopg.Cursor.execute = plain
    times = []
    for _ in range(5):
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1000)
    return counted[0], sorted(times)[2]


def _rows(opened: Installation, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with opened.database.worker() as connection:
        return connection.execute(query.encode(), parameters or None).fetchall()


def main() -> None:
    """Print the figures."""
    print("| figure | value |\n|---|---|")
    with installation() as opened:
        learning(opened)
        inbox(opened)


if __name__ == "__main__":
    main()
