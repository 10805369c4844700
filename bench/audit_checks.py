"""All checkpoints over many generated documents against their bare SQL statements in the same run.

Usage: python -m bench.audit_checks [DOCUMENTS]. Prints per checkpoint the seconds of the
measurement and of the statements it sent, replayed one after the other on a plain connection, and
the sums. Reading bytes is left out of the sums: nothing is stored that could be read. What a
process does once (loading a library, reading the sources, opening the word index) is done before.
"""

from __future__ import annotations

import importlib
import re
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from tgv_dagster.audit.register import CHECKPOINTS, checkpoint
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation
from tgv_dagster.store.db import connect

READING = re.compile(r"\s*(SELECT|WITH)\b", re.IGNORECASE)
BYTES = {"bytes_hash_to_name", "save_raw_only_writer", "raw_first"}
"""Checkpoints that look at the blob store as well."""

ORGANISATION = """
mandanten: [{slug: nord, name: Nord}]
entities: [{slug: nord-gmbh, mandant: nord, kind: company, legal_name: Nord, bucket: nord-gmbh}]
"""
_FILL = """
    CREATE TEMP TABLE made AS SELECT n AS id, encode(sha256(n::text::bytea), 'hex') AS sha
        FROM generate_series(1, {count}) n;
    INSERT INTO raw_items (id, bucket, sha256, size, kind, storage_bucket, raw_key, verified_at)
        SELECT id, 'nord-gmbh', sha, 9, 'file', 'nord-gmbh',
            'sha256/' || left(sha, 2) || '/' || substr(sha, 3, 2) || '/' || sha, now() FROM made;
    INSERT INTO document_numbers (id, mandant_id, raw_sha256, part_role, arrival_uid)
        SELECT id, (SELECT id FROM mandanten LIMIT 1), sha, 'file', gen_random_uuid() FROM made;
    INSERT INTO documents (id, mandant_id, entity, raw_sha256, raw_item_id, storage_bucket,
        raw_key, file_class, file_name, doc_type, language, confidentiality_level, flow_stage,
        date_received, dispatch_state, amount_gross, currency, invoice_date)
        SELECT id, (SELECT id FROM mandanten LIMIT 1), 'nord-gmbh', sha, id, 'nord-gmbh',
            'sha256/' || left(sha, 2) || '/' || substr(sha, 3, 2) || '/' || sha, 'file', 'f.pdf',
            CASE id % 3 WHEN 0 THEN 'invoice' ELSE 'letter' END, 'de', 'intern', 'effect', now(),
            'done', id % 9000, 'EUR', date '2026-01-01' + (id % 300)::int FROM made;
    INSERT INTO arrivals (uid, arrival_key, raw_item_id, gate, file_name, received_at, mandant_id,
        origin, outcome, document_id)
        SELECT gen_random_uuid(), 'k' || id, id, 'folder', 'f.pdf', now(),
            (SELECT id FROM mandanten LIMIT 1), '{{"path": "f"}}', 'entered', id FROM made;
    INSERT INTO extractions (raw_sha256, part_role, engine_version, status, characters, pages,
        result)
        SELECT sha, 'file', 'bench', 'complete', 20, 1, '{{}}' FROM made;
    INSERT INTO document_values (document_id, field, value, origin, set_by, version)
        SELECT id, f.name, f.value, 'machine', 'bench', '1' FROM made,
            (VALUES ('doc_type', 'letter'), ('language', 'de')) f (name, value);
    INSERT INTO document_values (document_id, field, value, origin, set_by, version)
        SELECT id, 'invoice_number', 'R' || id, 'machine', 'bench', '1' FROM made WHERE id % 3 = 0;
    INSERT INTO rag_chunks (document_id, chunk_no, content, content_sha256, span_start, span_end,
        core_start, core_end, page_from, page_to, windows, mandant_id, entity,
        confidentiality_level, persons, is_test, source_type, source_key, date_received)
        SELECT id, 0, 'twenty characters ..', raw_sha256, 0, 20, 0, 20, 1, 1,
            ARRAY[int4range(0, 20)], mandant_id, entity, confidentiality_level, persons, is_test,
            'document', id::text, date_received FROM documents;
    INSERT INTO flow_ledger (stage, subject_id, state)
        SELECT s.name, id, 'done' FROM made,
            (VALUES ('deepen'), ('file'), ('chunk'), ('words'), ('dispatch')) s (name);
    ANALYZE;
"""


@contextmanager
def filled(count: int) -> Iterator[Installation]:
    """An installation with so many generated documents, its schema's triggers left out."""
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


@contextmanager
def recorded() -> Iterator[list[tuple[Any, Any]]]:
    """The reading statements that a measurement sends, whatever library sends them."""
    sent: list[tuple[Any, Any]] = []
    plain = psycopg.Cursor.execute

    def noting(self: Any, query: Any, params: Any = None, **more: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        if READING.match(text):
            sent.append((query, params))
        return plain(self, query, params, **more)

    psycopg.Cursor.execute = noting
    try:
        yield sent
    finally:
        psycopg.Cursor.execute = plain


def warm(installation: Installation) -> None:
    """Do what a process does once."""
    importlib.import_module("great_expectations")
    for name in ("registered_value_has_reader", "index_equals_chunks"):
        checkpoint(name).measure(installation)


def replayed(installation: Installation, sent: list[tuple[Any, Any]]) -> float:
    """Seconds of the statements alone; one that needs what the measurement had made is left out."""
    taken = 0.0
    with installation.database.worker() as connection:
        for query, parameters in sent:
            started = time.perf_counter()
            with suppress(psycopg.Error), connection.transaction():
                connection.execute(query, parameters).fetchall()
            taken += time.perf_counter() - started
    return taken


def main() -> None:
    """Print one line per checkpoint, then the sums."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    started = time.perf_counter()
    measured = bare = 0.0
    with filled(count) as installation:
        print(f"{count} documents made in {time.perf_counter() - started:.0f} s", flush=True)
        warm(installation)
        for which in CHECKPOINTS:
            with recorded() as sent:
                started = time.perf_counter()
                verdict = which.measure(installation)
                whole = time.perf_counter() - started
            alone = replayed(installation, sent)
            if which.id not in BYTES:
                measured, bare = measured + whole, bare + alone
            print(
                f"{which.id:30} {verdict.state:10} {whole:8.2f} s {alone:8.2f} s {len(sent)}",
                flush=True,
            )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"sums without bytes: {measured:.1f} s, bare {bare:.1f} s, ratio {measured / bare:.2f}")
    print(f"peak memory of the process {memory:.0f} MB")


if __name__ == "__main__":
    main()
