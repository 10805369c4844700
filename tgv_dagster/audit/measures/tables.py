"""Measurements of the table flow: whole imports, known projects, silent class 2, no skips."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, totals
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.tables.reading.files import SUFFIXES

NO_IMPORT = "no table was imported yet"
NO_ROW = "no time entry and no trip stands here yet"
NO_FILE = "no structured file is finished yet"

_ROWS = """
    (SELECT id, 'time' AS kind, entity, project_code, document_id, provenance, is_test
     FROM prf_timetrack
     UNION ALL
     SELECT id, 'trip', entity, project_code, document_id, provenance, is_test FROM fahrtenbuch)
"""


def imports_are_whole(installation: Installation) -> Verdict:
    """Every import in force has exactly the rows it wrote; an undone one has none unreviewed."""
    found = counts_and_ids(
        installation,
        """
        SELECT t.id, CASE
            WHEN t.state = 'undone' AND r.unreviewed > 0 THEN 'left_behind'
            WHEN t.state = 'imported' AND r.rows <> t.inserted THEN 'incomplete'
            ELSE 'whole' END
        FROM table_imports t CROSS JOIN LATERAL (
            SELECT count(*) AS rows, count(*) FILTER (WHERE status = 'needs_review') AS unreviewed
            FROM (SELECT check_status AS status FROM prf_timetrack
                  WHERE provenance ->> 'import_id' = t.id::text
                  UNION ALL
                  SELECT check_status FROM fahrtenbuch
                  WHERE provenance ->> 'import_id' = t.id::text) x) r
        WHERE t.target IN ('prf_timetrack', 'fahrtenbuch') AND t.state IN ('imported', 'undone')
        """,
    )
    if not found:
        return unmeasured(NO_IMPORT)
    broken = ("left_behind", "incomplete")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every import has the rows it wrote, and an undone one has none",
        broken="rows of an import are missing, or stayed after its undo",
        figures=totals(found),
        evidence=evidence(found, broken, "table_import"),
    )


def rows_follow_their_project(installation: Installation) -> Verdict:
    """The project of a row exists, and the row belongs to its entity (TAB-24)."""
    found = counts_and_ids(
        installation,
        f"""
        SELECT r.document_id, CASE
            WHEN r.project_code IS NULL THEN 'without_project'
            WHEN p.id IS NULL THEN 'unknown_project'
            WHEN p.entity_key IS DISTINCT FROM r.entity THEN 'other_entity'
            ELSE 'fits' END
        FROM {_ROWS} r LEFT JOIN prf_projects p ON p.project_code = r.project_code
        """,
    )
    if not found:
        return unmeasured(NO_ROW)
    broken = ("unknown_project", "other_entity")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every row with a project belongs to the entity of that project",
        broken="rows name a project that does not exist or that another entity has",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )


def class_two_writes_nothing(installation: Installation) -> Verdict:
    """No row of a class-1 table comes from a document that is working material only (TAB-02)."""
    found = counts_and_ids(
        installation,
        f"""
        SELECT r.document_id, CASE
            WHEN EXISTS (SELECT 1 FROM table_imports t WHERE t.document_id = r.document_id
                AND t.state = 'working') AND NOT EXISTS (SELECT 1 FROM table_imports t
                WHERE t.document_id = r.document_id AND t.id::text = r.provenance ->> 'import_id')
                THEN 'from_working_material'
            ELSE 'from_an_import' END
        FROM {_ROWS} r WHERE r.document_id IS NOT NULL
        """,
    )
    if not found:
        return unmeasured(NO_ROW)
    return judged(
        found.get("from_working_material", (0, ()))[0],
        holds="every row comes from a table that a person took over",
        broken="rows come from tables that are working material only",
        figures=totals(found),
        evidence=evidence(found, ("from_working_material",), "document"),
    )


def no_table_is_skipped(installation: Installation) -> Verdict:
    """Every structured file that passed the stage has its outcome or its reason (FMT-05)."""
    found = counts_and_ids(
        installation,
        """
        SELECT d.id, CASE
            WHEN EXISTS (SELECT 1 FROM table_imports t WHERE t.document_id = d.id) THEN 'recorded'
            WHEN EXISTS (SELECT 1 FROM bank_imports b WHERE b.document_id = d.id) THEN 'bank_format'
            ELSE 'skipped' END
        FROM documents d JOIN flow_ledger l
          ON l.stage = 'tables' AND l.generation = 0 AND l.subject_id = d.id AND l.state = 'done'
        WHERE d.state = 'active'
          AND lower(substring(d.file_name from '\\.([^.]*)$')) = ANY (%(suffixes)s)
        """,
        {"suffixes": list(SUFFIXES)},
    )
    if not found:
        return unmeasured(NO_FILE)
    return judged(
        found.get("skipped", (0, ()))[0],
        holds="every structured file has its outcome or its reason",
        broken="structured files passed the stage without outcome and without reason",
        figures=totals(found),
        evidence=evidence(found, ("skipped",), "document"),
    )
