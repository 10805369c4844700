"""Measurements of the knowledge base: chunks against texts, vectors and words against chunks."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, rows, totals
from tgv_dagster.audit.verdict import Verdict, judged, red, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.know.chunks import PAGE_SEPARATOR
from tgv_dagster.understand.extracted import PAGE_BREAK

NO_CHUNK = "no chunk stands here yet"


def chunk_count(installation: Installation) -> Verdict:
    """Cores of a document's chunks partition its text: first at 0, no gap, no overlap (ING-02)."""
    found = counts_and_ids(
        installation,
        """
        SELECT l.subject_id, CASE
            WHEN c.document_id IS NULL AND d.state = 'active' AND coalesce(x.characters, 0) > 0
                AND d.entity IS NOT NULL AND d.confidentiality_level IS NOT NULL
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
                 w.restricted_until, w.persons, w.is_test)
                IS DISTINCT FROM
                (k.mandant_id, k.entity, k.project_code, k.level_rank, k.visible_from,
                 k.restricted_until, k.persons, k.is_test)) AS other_walls
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
    """The word index holds the active chunks of every indexed document, and is sound on disk."""
    expected = rows(
        installation,
        """
        SELECT count(*) FROM rag_chunks c JOIN flow_ledger l
          ON l.subject_id = c.document_id AND l.stage = 'words' AND l.generation = 0
        WHERE c.active AND l.state = 'done'
        """,
    )[0][0]
    waiting = rows(
        installation,
        "SELECT count(*) FROM flow_ledger WHERE stage = 'words' AND generation = 0"
        " AND state <> 'done'",
    )[0][0]
    on_disk = installation.words.verify()
    figures = {
        "chunks": expected,
        "indexed": on_disk.chunks,
        "files": on_disk.files,
        "damaged_files": len(on_disk.damaged),
        "documents_waiting": waiting,
    }
    if on_disk.damaged:
        return red("files of the word index are not as they were written", figures)
    if waiting:
        return unmeasured("documents still wait for the index, so its size says nothing", figures)
    return judged(
        abs(expected - on_disk.chunks),
        holds="the word index holds exactly the active chunks",
        broken="the word index and the chunk table differ",
        figures=figures,
    )
