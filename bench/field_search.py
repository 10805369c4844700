"""Questions for numbers, accounts, dates, amounts and parties over many documents, with and
without the indexes that answer them.

Usage: python -m bench.field_search [DOCUMENTS]. Prints per question the median milliseconds of the
whole look-up behind the walls, with the indexes of the fields, and after they were dropped.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from psycopg.errors import QueryCanceled

from tgv_dagster.installation import Installation
from tgv_dagster.know.queries import QueryTerms, understand
from tgv_dagster.know.structured import answer_from_fields
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation
from tgv_dagster.store.db import connect
from tgv_dagster.store.scope import Scope

ROUNDS = 15
QUESTIONS = {
    "invoice number": "Rechnung RE-2026-77777",
    "IBAN": "IBAN DE77 7770 0000 0000 0000 77",
    "day": "was ist am 17.03.2026 fällig?",
    "month": "Rechnungen März 2026",
    "amount": "1.234,56 Euro",
    "party": "Wer ist Firma4711 GmbH?",
    "nothing": "RE-0000-11111",
}
INDEXES = ("document_values_keys", "contact_mentions_numbers", "contact_mentions_names")
ORGANISATION = """
mandanten: [{slug: nord, name: Nord}]
entities: [{slug: nord-gmbh, mandant: nord, kind: company, legal_name: Nord, bucket: nord-gmbh}]
users: [{login: bench, name: Bench, roles: [{mandant: nord, role: mandant_admin}]}]
"""
_FILL = """
    CREATE TEMP TABLE made AS SELECT n AS id, encode(sha256(n::text::bytea), 'hex') AS sha
        FROM generate_series(1, {count}) n;
    INSERT INTO raw_items (id, bucket, sha256, size, kind, storage_bucket, raw_key, verified_at)
        SELECT id, 'nord-gmbh', sha, 9, 'file', 'nord-gmbh', sha, now() FROM made;
    INSERT INTO document_numbers (id, mandant_id, raw_sha256, part_role, arrival_uid)
        SELECT id, (SELECT id FROM mandanten LIMIT 1), sha, 'file', gen_random_uuid() FROM made;
    INSERT INTO documents (id, mandant_id, entity, raw_sha256, raw_item_id, file_class, file_name,
        confidentiality_level, date_received)
        SELECT id, (SELECT id FROM mandanten LIMIT 1), 'nord-gmbh', sha, id, 'file', 'f.pdf',
            'intern', now() FROM made;
    INSERT INTO document_values (document_id, field, value, origin, set_by, version)
        SELECT id, f.name, f.value, 'machine', 'bench', '1' FROM made, LATERAL (VALUES
            ('doc_type', 'invoice'), ('language', 'de'), ('provider', 'Firma' || id % 20000),
            ('invoice_number', 'RE-2026-' || id), ('amount_gross', (id % 900000 / 100.0)::text),
            ('invoice_date', (date '2020-01-01' + (id % 2500)::int)::text),
            ('due_date', (date '2020-01-31' + (id % 2500)::int)::text)) f (name, value);
    INSERT INTO contact_mentions (document_id, role, name_raw, name_words, iban, source_kind)
        SELECT id, 'sender', 'Firma' || id % 20000 || ' GmbH', ARRAY['firma' || id % 20000],
            'DE77777000' || lpad(id::text, 12, '0'), 'text' FROM made;
"""


@contextmanager
def filled(count: int) -> Iterator[Installation]:
    """An installation with so many documents, seven values and one party each."""
    with TemporaryDirectory(prefix="tgv-bench-") as folder:
        home = Path(folder)
        installation = Installation.open(Settings(home=home, shared_buffers_mb=1024))
        try:
            with installation.database.worker() as connection:
                parsed = organisation.parse(ORGANISATION)
                organisation.import_organisation(connection, parsed, author="bench")
            with connect(installation.database.url) as owner:
                owner.execute("SET session_replication_role = replica")
                owner.execute(_FILL.format(count=count).encode())
            with connect(installation.database.url, autocommit=True) as owner:
                owner.execute("VACUUM ANALYZE")
            yield installation
        finally:
            installation.close()
            embedded.stop(home / "postgres")


def milliseconds(installation: Installation, question: str, rounds: int) -> tuple[float, int]:
    """Median of some rounds (a look-up that is stopped counts until then), and how many matched."""
    database = installation.database
    scope = Scope.for_principal(database, "bench", source="bench")
    terms = understand(question)
    assert isinstance(terms, QueryTerms)
    taken, matched = [], 0
    for _ in range(rounds):
        started = time.perf_counter()
        with suppress(QueryCanceled), database.reading(scope) as connection:
            matched = answer_from_fields(database, connection, scope, terms).of
        taken.append(1000 * (time.perf_counter() - started))
    return statistics.median(taken), matched


def main() -> None:
    """Print one row per question."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    with filled(count) as installation:
        with_indexes = {
            name: milliseconds(installation, question, ROUNDS)
            for name, question in QUESTIONS.items()
        }
        with connect(installation.database.url, autocommit=True) as owner:
            for index in INDEXES:
                owner.execute(f"DROP INDEX {index}".encode())
        print(f"| {count:,} documents | found | with indexes | without | ratio |")
        print("|---|---|---|---|---|")
        for name, question in QUESTIONS.items():
            median, matched = with_indexes[name]
            without, _ = milliseconds(installation, question, 3)
            print(
                f"| {name} | {matched} | {median:.1f} ms | {without:.0f} ms |"
                f" {without / median:.0f} × |"
            )


if __name__ == "__main__":
    main()
