"""The wall matrix: every kind of row against every kind of reader, by every way to a row.

Each row is compared on its own: what the written-out rule allows, what row level security shows of
documents, chunks and vectors, what the vector way finds (exact and by bits), what the word way
finds, what the list and the fields of documents show and count, and what the search offers. All of
them are the same set, in both directions (CONF-15, CONF-16, RET-25); a predicate broken on purpose
is seen. Side channels: asked for a word that stands only in rows behind the wall, everything a
reader is told equals what is told of a word that stands nowhere.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowledge_builders import SPACE, BagOfWordsEmbedder, Knowledge
from psycopg import sql
from shared_builders import database_on

from tgv_dagster.know.document_list import MOST_ROWS, DocumentQuery, query_documents
from tgv_dagster.know.queries import QueryTerms, understand
from tgv_dagster.know.search import search
from tgv_dagster.know.spaces import floor_key
from tgv_dagster.know.structured import answer_from_fields
from tgv_dagster.know.vectors import Method, narrowing, nearest
from tgv_dagster.know.word_model import HitFilters
from tgv_dagster.know.wording import hit_filters, wall_terms
from tgv_dagster.know.words import MAX_LIMIT
from tgv_dagster.store import tuning
from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level, Role, rank_of
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.walls import WallColumns, predicate_sql

TENANT_OF = {"nord-gmbh": "nord", "nord-sarl": "nord", "haus-sued": "sued"}
PROJECTS = (None, "P-1")
ODD_PROJECTS = ("Projekt ä/1: (neu)", "p-1", "P-1 ", "'; --", "X" * 300)
NOW = datetime.now(UTC)
RELEASES = (None, NOW - timedelta(days=1), NOW + timedelta(days=365))
LEVELS = (*Level, "publishable_book")
NAMED = ("viewer-intern-all", "sven")
CIRCLE = ("viewer-intern-all", "editor-oeffentlich-all", "manager-one", "sven")


@dataclass(frozen=True, slots=True)
class Access:
    """Who was named for a document: sees it before its day, and the circle drawn around it."""

    persons: tuple[str, ...] = ()
    circle: tuple[str, ...] | None = None


ACCESSES = (
    Access(),
    Access(persons=NAMED),
    Access(circle=CIRCLE),
    Access(persons=("editor-vertraulich-all",), circle=CIRCLE),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One document of the matrix."""

    entity: str
    level: str
    project: str | None
    visible_from: datetime | None
    restricted: bool
    is_test: bool
    access: Access


def matrix_rows() -> list[Row]:
    """Every combination of tenant, entity, level, release, person and circle, twice with the other
    terms in turn; some under legal lock; some odd ones."""
    others = list(itertools.product(PROJECTS, (False, True)))
    combinations = itertools.product(TENANT_OF, LEVELS, RELEASES, ACCESSES)
    full = [
        Row(entity, str(level), project, visible, False, is_test, access)
        for number, (entity, level, visible, access) in enumerate(combinations)
        for project, is_test in (others[number % 4], others[(number + 3) % 4])
    ]
    locked = [replace(row, restricted=True) for row in full[::9]]
    chance = random.Random(7)
    odd = [replace(chance.choice(full), project=chance.choice(ODD_PROJECTS)) for _ in range(40)]
    return full + locked + odd


@dataclass(frozen=True, slots=True)
class Reader:
    """One membership: the login says role, ceiling and entities."""

    login: str
    role: Role
    ceiling: Level | None
    entities: tuple[str, ...] | None


READERS = {
    reader.login: reader
    for reader in (
        *(
            Reader(f"{role}-{ceiling or 'default'}-{name}", role, ceiling, entities)
            for role in (Role.EDITOR, Role.VIEWER)
            for ceiling in (None, *Level)
            for name, entities in (("all", None), ("none", ()), ("one", ("nord-gmbh",)))
        ),
        *(
            Reader(f"manager-{name}", Role.MANDANT_ADMIN, None, entities)
            for name, entities in (("all", None), ("one", ("nord-sarl",)))
        ),
    )
}


@dataclass(slots=True)
class Matrix:
    """The built stock: the row behind each document."""

    knowledge: Knowledge
    rows: dict[int, Row]
    user_ids: dict[str, int]


@pytest.fixture(scope="module")
def matrix(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Matrix]:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE wall_matrix TEMPLATE {}").format(sql.Identifier(template))
        )
    database = Database(database_on(server_url, "wall_matrix"), pool_size=4)
    knowledge = Knowledge.open(database, tmp_path_factory.mktemp("matrix") / "index")
    add_readers(knowledge)
    users = dict(knowledge.rows("SELECT login, id FROM users"))
    built = {add_row(knowledge, row, number): row for number, row in enumerate(matrix_rows())}
    knowledge.rows(
        "INSERT INTO document_values (document_id, field, value, origin, set_by, version)"
        " SELECT id, 'due_date', '2026-08-31', 'machine', 't', '1' FROM documents RETURNING 1"
    )
    knowledge.rows(
        "INSERT INTO contact_mentions (document_id, role, name_raw, name_words, source_kind)"
        " SELECT id, 'sender', title, ARRAY[lower(title)], 't' FROM documents RETURNING 1"
    )
    with database.worker() as connection, connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO document_access (document_id, user_id, granted_by, in_circle,"
            " before_release) VALUES (%s, %s, 't', %s, %s)",
            [
                (d, users[login], login in (row.access.circle or ()), login in row.access.persons)
                for d, row in built.items()
                for login in sorted({*row.access.persons, *(row.access.circle or ())})
            ],
        )
    knowledge.flow(limit=10_000)
    yield Matrix(knowledge, built, users)
    knowledge.words.close()
    database.close()


def add_readers(knowledge: Knowledge) -> None:
    with knowledge.database.worker() as connection:
        for reader in READERS.values():
            connection.execute(
                "WITH u AS (INSERT INTO users (login, name) VALUES (%s, 'x') RETURNING id)"
                " INSERT INTO user_mandant_roles (user_id, mandant_id, role, ceiling, entities)"
                " SELECT u.id, m.id, %s, %s, %s FROM u, mandanten m WHERE m.slug = 'nord'",
                (
                    reader.login,
                    reader.role,
                    reader.ceiling,
                    None if reader.entities is None else list(reader.entities),
                ),
            )


_CONSONANTS = str.maketrans("0123456789abcdef", "bcdfghjklmpqvwxz")


def canary(number: int) -> str:
    """A word that stands in the text, the title and the parties of one row alone.

    Without vowels no stem of it and no group of its letters stands in another one.
    """
    return hashlib.sha256(str(number).encode()).hexdigest()[:14].translate(_CONSONANTS)


def add_row(knowledge: Knowledge, row: Row, number: int) -> int:
    return knowledge.add(
        f"Garage {canary(number)}",
        title=canary(number),
        provider=canary(number),
        entity=row.entity,
        confidentiality_level=row.level,
        project_code=row.project,
        visible_from=row.visible_from,
        restricted_until=NOW + timedelta(days=900) if row.restricted else None,
        is_test=row.is_test,
    )


# --- the rule, written out -----------------------------------------------------------------------


def allowed(matrix: Matrix, scope: Scope) -> set[int]:
    """What the reader may see, by the requirements and without any of our predicates."""
    tenants = dict(matrix.knowledge.rows("SELECT id, slug FROM mandanten"))
    tenant = None if scope.mandant_id is None else tenants[scope.mandant_id]
    login = scope.principal

    def may(row: Row) -> bool:
        named = login in row.access.persons
        inside = row.access.circle is not None and (named or login in row.access.circle)
        manages = scope.role in (Role.MANDANT_ADMIN, Role.SUPER_ADMIN)
        return (
            (tenant is None or TENANT_OF[row.entity] == tenant)
            and (scope.visible_entities is None or row.entity in scope.visible_entities)
            and (scope.project_code is None or row.project == scope.project_code)
            and (rank_of(row.level) <= scope.confidentiality_max or named or inside)
            and (row.visible_from is None or row.visible_from <= NOW or named or manages)
            and (row.access.circle is None or inside or manages)
            and not row.restricted
            and (not row.is_test or scope.include_test)
        )

    return {document for document, row in matrix.rows.items() if may(row)}


# --- the ways to a row ---------------------------------------------------------------------------


def by_rows(matrix: Matrix, scope: Scope, table: str) -> set[int]:
    column = "id" if table == "documents" else "document_id"
    with matrix.knowledge.database.reading(scope) as connection:
        return {row[0] for row in connection.execute(f"SELECT {column} FROM {table}".encode())}


def by_vectors(matrix: Matrix, scope: Scope, method: Method) -> set[int]:
    vector = BagOfWordsEmbedder().embed_query("Garage", None)
    with matrix.knowledge.database.reading(scope) as connection:
        hits = nearest(
            connection, SPACE, vector, narrowing(connection, scope),
            limit=2 * len(matrix.rows), method=method, rerank_rows=50,
        )  # fmt: skip
    return {hit.document_id for hit in hits}


def by_words(matrix: Matrix, scope: Scope, filters: HitFilters | None = None) -> set[int]:
    terms = understand("Garage")
    assert isinstance(terms, QueryTerms)
    walls = wall_terms(scope, datetime.now(UTC))
    hits = matrix.knowledge.words.search(terms, walls, filters or hit_filters(scope), MAX_LIMIT)
    assert len(hits) < MAX_LIMIT, "the matrix must fit into one search"
    return {hit.document_id for hit in hits}


def by_list(matrix: Matrix, scope: Scope) -> set[int]:
    page = query_documents(matrix.knowledge.database, scope, DocumentQuery(limit=MOST_ROWS))
    assert page.complete, "the matrix must fit into one page"
    listed = {row.document_id for row in page.rows}
    assert page.total == len(listed)
    return listed


def by_fields(matrix: Matrix, scope: Scope) -> tuple[set[int], int]:
    """The documents shown for a date, and how many are counted."""
    terms = understand("fällig am 31.08.2026")
    assert isinstance(terms, QueryTerms)
    with matrix.knowledge.database.reading(scope) as connection:
        answer = answer_from_fields(matrix.knowledge.database, connection, scope, terms)
    return {hit.document_id for hit in answer.hits}, answer.of


def differences(matrix: Matrix, scope: Scope) -> dict[str, set[int]]:
    """Documents by way on which the way differs from the rule, in either direction."""
    due = allowed(matrix, scope)
    seen = {
        "documents": by_rows(matrix, scope, "documents"),
        "chunks": by_rows(matrix, scope, "rag_chunks"),
        "vectors": by_rows(matrix, scope, "chunk_vectors"),
        "exact": by_vectors(matrix, scope, Method.EXACT),
        "bits": by_vectors(matrix, scope, Method.BITS),
        "words": by_words(matrix, scope),
        "list": by_list(matrix, scope),
    }
    offered = {card.document_id for card in search(matrix.knowledge.parts, scope, "Garage").cards}
    found = {way: documents ^ due for way, documents in seen.items() if documents != due}
    if not offered <= due or bool(offered) != bool(due):
        found["search"] = offered
    shown, counted = by_fields(matrix, scope)
    if not shown <= due or counted != len(due):
        found["fields"] = shown
    return found


# --- the proof -----------------------------------------------------------------------------------


def scope_of(matrix: Matrix, login: str, mandant: str | None, include_test: bool) -> Scope:
    return matrix.knowledge.scope(login, mandant, include_test=include_test)


CASES = [
    *((login, "nord") for login in READERS),
    ("anna", "nord"),
    ("sven", "sued"),
    ("chef", None),
    ("chef", "nord"),
    ("chef", "sued"),
]


@pytest.mark.parametrize(("login", "mandant"), CASES)
def test_every_way_shows_a_reader_exactly_what_the_rule_allows(
    matrix: Matrix, login: str, mandant: str | None
) -> None:
    scope = scope_of(matrix, login, mandant, include_test=False)
    assert differences(matrix, scope) == {}
    entities = READERS[login].entities if login in READERS else None
    assert bool(allowed(matrix, scope)) == (entities != ()), "both directions are measured"


NARROWINGS = st.builds(
    dict,
    entity=st.sampled_from([None, "alle", *TENANT_OF]),
    project_code=st.sampled_from([None, "P-1", "P-2", *ODD_PROJECTS]),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(case=st.sampled_from(CASES), narrow=NARROWINGS, include_test=st.booleans())
def test_every_way_narrows_alike(
    matrix: Matrix, case: tuple[str, str | None], narrow: dict[str, str | None], include_test: bool
) -> None:
    scope = scope_of(matrix, *case, include_test)
    allowed_entities = scope.allowed_entities
    if narrow["entity"] in TENANT_OF and allowed_entities is not None:
        narrow = narrow | {"entity": next(iter(allowed_entities), None)}
    assert differences(matrix, scope.narrow(**narrow)) == {}  # type: ignore[arg-type]


def test_a_named_person_reads_above_the_ceiling_and_before_the_release(matrix: Matrix) -> None:
    """The rows on which the two halves of the rule meet are there and are seen."""
    scope = scope_of(matrix, "viewer-intern-all", "nord", include_test=False)
    named = {d for d in by_words(matrix, scope) if matrix.rows[d].access.persons}
    above = {d for d in named if rank_of(matrix.rows[d].level) > scope.confidentiality_max}
    later = {d for d in named if (matrix.rows[d].visible_from or NOW) > NOW}
    assert above
    assert later
    foreign = scope_of(matrix, "sven", "sued", include_test=False)
    assert {TENANT_OF[matrix.rows[d].entity] for d in by_words(matrix, foreign)} == {"sued"}


def test_a_circle_shuts_out_everybody_else_and_waits_for_its_day(matrix: Matrix) -> None:
    """Both directions of both walls, on rows that nothing else keeps from the reader."""
    circled = {d for d, row in matrix.rows.items() if row.access == Access(circle=CIRCLE)}
    later = {d for d in circled if (matrix.rows[d].visible_from or NOW) > NOW}
    member = by_list(matrix, scope_of(matrix, "editor-oeffentlich-all", "nord", include_test=False))
    outside = scope_of(matrix, "editor-streng_vertraulich-all", "nord", include_test=False)
    manager = by_list(matrix, scope_of(matrix, "manager-all", "nord", include_test=False))
    assert member & circled
    assert not member & later
    assert {d for d in member & circled if rank_of(matrix.rows[d].level) > 0}
    assert by_list(matrix, outside)
    assert not by_list(matrix, outside) & circled
    assert manager & later
    assert {TENANT_OF[matrix.rows[d].entity] for d in manager} == {"nord"}


# --- side channels -----------------------------------------------------------------------------

NOWHERE = canary(-1)
SIDE_CHANNELS = (
    *(login for login in READERS if "one" in login or "none" in login),
    "viewer-default-all",
    "editor-vertraulich-all",
    "anna",
)


@pytest.fixture
def floored(matrix: Matrix) -> Iterator[Matrix]:
    """With a floor, so that a question for a word nobody has is answered by nothing."""
    key = floor_key(SPACE)
    with matrix.knowledge.database.worker() as connection:
        tuning.set_value(connection, key, "0.6", by="t", note="for this test")
    yield matrix
    matrix.knowledge.rows("DELETE FROM tuning_values WHERE key = %s RETURNING 1", key)


def told(matrix: Matrix, scope: Scope, word: str) -> str:
    """Everything a reader is told about a word by search, fields and list, without durations."""
    answer = search(matrix.knowledge.parts, scope, f"{word} 30.02.2031")
    trace = replace(answer.trace, vector_ms=0.0, words_ms=0.0, total_ms=0.0)
    page = query_documents(matrix.knowledge.database, scope, DocumentQuery(provider=word))
    parts = (
        answer.cards, answer.passages, answer.fields, answer.line, answer.emptiness,
        answer.acting, answer.stopped, trace, page,
    )  # fmt: skip
    return repr(parts).replace(word, "?")


def hidden_by_kind(matrix: Matrix, scope: Scope) -> list[int]:
    """One row behind the reader's wall for every tenant, entity and level."""
    seen = allowed(matrix, scope)
    kinds: dict[tuple[str, str], int] = {}
    for document, row in matrix.rows.items():
        if document not in seen:
            kinds.setdefault((row.entity, row.level), document)
    return list(kinds.values())


@pytest.mark.parametrize("login", SIDE_CHANNELS)
def test_a_word_behind_the_wall_is_told_like_a_word_that_stands_nowhere(
    floored: Matrix, login: str, caplog: pytest.LogCaptureFixture
) -> None:
    scope = scope_of(floored, login, "nord", include_test=False)
    owner = scope_of(floored, "chef", None, include_test=True)
    hidden = hidden_by_kind(floored, scope)
    assert hidden, "something lies behind the wall of this reader"
    numbers = {document: number for number, document in enumerate(floored.rows)}
    caplog.set_level(logging.DEBUG)
    nothing = told(floored, scope, NOWHERE)
    for document in hidden:
        word = canary(numbers[document])
        assert told(floored, scope, word) == nothing, floored.rows[document]
        assert word not in caplog.text
    locked = {document for document, row in floored.rows.items() if row.restricted}
    control = next(document for document in hidden if document not in locked)
    assert f"document_id={control}" in told(floored, owner, canary(numbers[control]))


# --- a broken predicate is seen -----------------------------------------------------------------

TERMS = ("entity", "project_code", "level_rank", "visible_from", "restricted_until", "is_test")


@pytest.mark.parametrize("term", [*TERMS, "persons", "circle"])
@pytest.mark.parametrize("table", ["rag_chunks", "chunk_vectors", "documents"])
def test_a_policy_that_lacks_one_term_is_caught(matrix: Matrix, table: str, term: str) -> None:
    broken = predicate_sql(replace(WallColumns(), **{term: None}))
    scope = scope_of(matrix, "viewer-intern-all", "nord", include_test=False)
    if term in ("entity", "project_code"):
        scope = scope.narrow(entity="nord-sarl", project_code="P-1")
    caught = {"rag_chunks": "chunks", "chunk_vectors": "vectors", "documents": "list"}[table]
    with matrix.knowledge.database.owner(autocommit=True) as owner:
        wall = owner.execute(
            "SELECT qual FROM pg_policies WHERE tablename = %s AND policyname = 'wall'", (table,)
        ).fetchone()
        assert wall is not None
        try:
            owner.execute(f"ALTER POLICY wall ON {table} USING ({broken})".encode())
            assert caught in differences(matrix, scope)
        finally:
            owner.execute(f"ALTER POLICY wall ON {table} USING ({wall[0]})".encode())
    assert differences(matrix, scope) == {}


@pytest.mark.parametrize(
    "broken",
    [
        {"mandant_id": None, "is_super": True},
        {"entities": None},
        {"project_code": None},
        {"max_level_rank": 3},
        {"person": None},
        {"is_manager": True},
        {"include_test": True},
        {"now": NOW + timedelta(days=700)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_word_walls_that_lack_one_term_are_caught(
    matrix: Matrix, broken: dict[str, object]
) -> None:
    scope = scope_of(matrix, "viewer-intern-all", "nord", include_test=False)
    if {"entities", "project_code"} & broken.keys():
        scope = scope.narrow(entity="nord-sarl", project_code="P-1")
    terms = understand("Garage")
    assert isinstance(terms, QueryTerms)
    walls = replace(wall_terms(scope, datetime.now(UTC)), **broken)  # type: ignore[arg-type]
    hits = matrix.knowledge.words.search(terms, walls, hit_filters(scope), MAX_LIMIT)
    assert {hit.document_id for hit in hits} != allowed(matrix, scope)
