"""Measurements of the knowledge base: chunks against texts, vectors and words against chunks."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, rows, rows_in, totals
from tgv_dagster.audit.verdict import Verdict, judged, red, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.know.chunks import PAGE_SEPARATOR
from tgv_dagster.know.word_schema import row_digest
from tgv_dagster.know.wording import expected_count, rows_of_chunks
from tgv_dagster.store.db import Connection
from tgv_dagster.understand.extracted import PAGE_BREAK

NO_CHUNK = "no chunk stands here yet"
SAMPLE = 200


def chunk_count(installation: Installation) -> Verdict:
    """Cores of a document's chunks partition its text: first at 0, no gap, no overlap (ING-02)."""
    found = counts_and_ids(
        installation,
        """
        SELECT l.subject_id, CASE
            WHEN c.document_id IS NULL AND d.state = 'active' AND coalesce(x.characters, 0) > 0
                AND x.status <> 'empty' AND d.entity IS NOT NULL
                AND d.confidentiality_level IS NOT NULL
                THEN 'text_without_chunks'
            WHEN c.document_id IS NULL THEN 'nothing_to_cut'
            WHEN c.chunks <> c.last_no + 1 THEN 'chunk_missing'
            WHEN c.first_core <> 0 OR c.cores <> c.last_core THEN 'gap_or_overlap'
            WHEN c.last_core <> x.characters + greatest(x.pages - 1, 0) * %(separator)s
                THEN 'other_length_than_text'
            ELSE 'complete' END
        FROM flow_ledger l
        LEFT JOIN documents d ON d.id = l.subject_id
        LEFT JOIN extractions x ON x.raw_sha256 = d.raw_sha256 AND x.part_role = d.part_role
            AND x.active AND x.generation = 0
        LEFT JOIN (
            SELECT document_id, count(*) AS chunks, max(chunk_no) AS last_no,
                min(core_start) AS first_core, max(core_end) AS last_core,
                sum(core_end - core_start) AS cores
            FROM rag_chunks WHERE active GROUP BY document_id) c ON c.document_id = l.subject_id
        WHERE l.stage = 'chunk' AND l.generation = 0 AND l.state = 'done'
        """,
        {"separator": len(PAGE_SEPARATOR) - len(PAGE_BREAK)},
    )
    if not found:
        return unmeasured(NO_CHUNK)
    broken = ("text_without_chunks", "chunk_missing", "gap_or_overlap", "other_length_than_text")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="the chunks of every document cover its text",
        broken="documents are not covered by their chunks",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )


def vectors_equal_windows(installation: Installation) -> Verdict:
    """As many vectors as windows for every embedded document, none without a chunk (ING-16)."""
    space = rows(installation, "SELECT space_id FROM embedding_spaces WHERE active")
    if not space:
        return unmeasured("no vector space is active")
    found = counts_and_ids(
        installation,
        """
        SELECT l.subject_id, CASE
            WHEN coalesce(c.windows, 0) <> coalesce(v.vectors, 0) THEN 'other_number'
            WHEN v.other_walls > 0 THEN 'other_walls'
            WHEN v.vectors IS NULL THEN 'nothing_to_embed'
            ELSE 'complete' END
        FROM flow_ledger l
        LEFT JOIN (
            SELECT document_id, sum(cardinality(windows)) AS windows
            FROM rag_chunks WHERE active GROUP BY document_id) c ON c.document_id = l.subject_id
        LEFT JOIN (
            SELECT w.document_id, count(*) AS vectors, count(*) FILTER (WHERE
                (w.mandant_id, w.entity, w.project_code, w.level_rank, w.visible_from,
                 w.restricted_until, w.persons, w.circle, w.is_test)
                IS DISTINCT FROM
                (k.mandant_id, k.entity, k.project_code, k.level_rank, k.visible_from,
                 k.restricted_until, k.persons, k.circle, k.is_test)) AS other_walls
            FROM chunk_vectors w JOIN rag_chunks k ON k.id = w.chunk_id
            WHERE w.space_id = %(space)s AND w.active AND k.active
            GROUP BY w.document_id) v ON v.document_id = l.subject_id
        WHERE l.stage = 'embed' AND l.generation = 0 AND l.state = 'done'
        """,
        {"space": space[0][0]},
    )
    if not found:
        return unmeasured("no document is embedded yet")
    broken = ("other_number", "other_walls")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every window has its vector, with the walls of its chunk",
        broken="vectors and windows differ in number or in their walls",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )


def index_equals_chunks(installation: Installation) -> Verdict:
    """The word index holds the active chunks with their walls, and is sound on disk.

    The number is compared as a whole, text and walls of a sample: the newest chunks and a run of
    older ones that starts anywhere.
    """
    on_disk = installation.words.verify()
    with installation.database.worker() as connection:
        waiting = rows_in(
            connection,
            "SELECT count(*) FROM flow_ledger WHERE stage = 'words' AND generation = 0"
            " AND state IN ('pending', 'claimed')",
        )[0][0]
        expected = expected_count(connection)
        sample = rows_of_chunks(connection, _sampled_chunks(connection))
    figures = {
        "chunks": expected,
        "indexed": on_disk.chunks,
        "files": on_disk.files,
        "damaged_files": len(on_disk.damaged),
        "documents_waiting": waiting,
        "compared_word_by_word": len(sample),
    }
    if on_disk.damaged:
        return red("files of the word index are not as they were written", figures)
    if waiting:
        return unmeasured("documents still wait for the index, so nothing can be compared", figures)
    if expected == 0 and on_disk.chunks == 0:
        return unmeasured(NO_CHUNK, figures)
    held = installation.words.identities(row.chunk_id for row in sample)
    drifted = sorted(
        {row.document_id for row in sample if held.get(row.chunk_id) != row_digest(row)}
    )
    return judged(
        abs(expected - on_disk.chunks) + len(drifted),
        holds="the word index holds exactly the active chunks",
        broken="the word index and the chunk table differ in number, text or walls",
        figures=figures | {"documents_that_differ": len(drifted)},
        evidence=tuple(f"document:{item}" for item in drifted),
    )


def _sampled_chunks(connection: Connection) -> list[int]:
    found = rows_in(
        connection,
        """
        (SELECT id FROM rag_chunks WHERE active ORDER BY id DESC LIMIT %(size)s)
        UNION
        (SELECT id FROM rag_chunks WHERE active AND id >= (
            SELECT min(id) + (random() * (max(id) - min(id)))::bigint FROM rag_chunks)
         ORDER BY id LIMIT %(size)s)
        """,
        {"size": SAMPLE},
    )
    return [row[0] for row in found]
