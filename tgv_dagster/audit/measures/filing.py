"""Measurements of filing: vocabulary, levels, and the test mark on everything that follows."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, rows, totals
from tgv_dagster.audit.measures.texts import NO_DOCUMENT
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.levels import Level

_FILED = "d.flow_stage IN ('know', 'effect')"


def entity_in_vocabulary(installation: Installation) -> Verdict:
    """Entity, tenant and project of what is filed stand in the directory (TRI-07, MOVE-05)."""
    found = counts_and_ids(
        installation,
        f"""
        SELECT d.id, CASE
            WHEN d.project_code IS NOT NULL AND p.id IS NULL THEN 'unknown_project'
            WHEN d.entity IS NOT NULL AND e.mandant_id IS DISTINCT FROM d.mandant_id
                THEN 'other_tenant'
            WHEN d.entity IS NULL AND {_FILED} THEN 'filed_without_entity'
            WHEN d.entity IS NULL THEN 'waiting'
            ELSE 'known' END
        FROM documents d LEFT JOIN entities e ON e.slug = d.entity
        LEFT JOIN prf_projects p ON p.project_code = d.project_code
        WHERE d.state = 'active'
        """,
    )
    if not found:
        return unmeasured(NO_DOCUMENT)
    broken = ("unknown_project", "other_tenant", "filed_without_entity")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every filed document stands where the directory knows it",
        broken="documents are filed under names the directory does not know",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )


def level_known(installation: Installation) -> Verdict:
    """Only the four words of the ladder stand on documents, and none is filed without (CONF-02)."""
    found = counts_and_ids(
        installation,
        f"""
        SELECT d.id, CASE
            WHEN d.confidentiality_level IS NULL AND {_FILED} THEN 'filed_without_level'
            WHEN d.confidentiality_level IS NULL THEN 'waiting'
            WHEN d.confidentiality_level = ANY (%(ladder)s) THEN d.confidentiality_level
            ELSE 'unknown_word' END
        FROM documents d WHERE d.state = 'active'
        """,
        {"ladder": [str(level) for level in Level]},
    )
    if not found:
        return unmeasured(NO_DOCUMENT)
    broken = ("unknown_word", "filed_without_level")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every filed document carries a level of the ladder",
        broken="documents carry no level or a word that is not on the ladder",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )


_TEST_DOCUMENT = "JOIN documents d ON d.id = t.document_id AND d.is_test"
_TEST_ENTITY = "JOIN entities e ON e.slug = t.entity AND e.is_test"
_TEST_TENANT = "JOIN mandanten m ON m.id = t.mandant_id AND m.is_test"
_FIGURES: tuple[tuple[str, str, str], ...] = (
    ("documents", "t.id", _TEST_ENTITY),
    ("documents", "t.id", _TEST_TENANT),
    ("documents", "t.id", "JOIN arrivals a ON a.document_id = t.id AND a.is_test"),
    ("rag_chunks", "t.document_id", _TEST_DOCUMENT),
    ("chunk_vectors", "t.document_id", _TEST_DOCUMENT),
    ("prf_contracts", "t.document_id", _TEST_DOCUMENT),
    ("txn_master", "coalesce(t.document_id, 0)", _TEST_DOCUMENT),
    ("txn_master", "coalesce(t.document_id, 0)", _TEST_ENTITY),
    ("prf_timetrack", "coalesce(t.document_id, 0)", _TEST_ENTITY),
    ("fahrtenbuch", "coalesce(t.document_id, 0)", _TEST_ENTITY),
    ("artefacts", "t.id", _TEST_ENTITY),
    ("cases", "coalesce(t.document_id, 0)", _TEST_DOCUMENT),
)
"""Tables that feed figures, the id to show, and the join to what makes a row a test row."""


def no_test_row_reaches_a_figure(installation: Installation) -> Verdict:
    """Nothing that stems from a test tenant or test document stands unmarked."""
    unmarked = " UNION ALL ".join(
        f"SELECT {shown}, '{table}_unmarked' FROM {table} t {join} WHERE NOT t.is_test"
        for table, shown, join in _FIGURES
    )
    found = counts_and_ids(installation, unmarked)
    tests = rows(
        installation,
        "SELECT (SELECT count(*) FROM documents WHERE is_test),"
        " (SELECT count(*) FROM entities WHERE is_test),"
        " (SELECT count(*) FROM mandanten WHERE is_test)",
    )[0]
    figures = totals(found) | {
        "test_documents": tests[0],
        "test_entities": tests[1],
        "test_tenants": tests[2],
    }
    if not found and not any(tests):
        return unmeasured("no test row exists that could reach a figure", figures)
    return judged(
        sum(totals(found).values()),
        holds="every row that stems from a test is marked as one",
        broken="rows that stem from a test stand unmarked among real ones",
        figures=figures,
        evidence=evidence(found, tuple(found), "document"),
    )
