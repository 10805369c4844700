"""From terms, walls and filters to one query of the engine; the ONE place walls become terms.

Here belong the boosts and the mandatory clauses. Nothing is parsed: every clause is built from a
term. What does not belong here: which words of a question matter (`queries`).
"""

import datetime as dt
from collections.abc import Sequence

from tantivy import FieldType, Occur, Query

from tgv_dagster.know.identifiers import IdTerm
from tgv_dagster.know.queries import QueryTerms, QueryWord
from tgv_dagster.know.word_model import HitFilters, IndexedAxis, WallTerms
from tgv_dagster.know.word_schema import SCHEMA, microseconds
from tgv_dagster.store.levels import STRICTEST_RANK

_PLAIN_BOOST, _STEM_BOOST = 1.2, 1.0
_COMPOUND_BOOST, _COMPOUND_END_BOOST = 0.8, 0.4
_ID_BOOST, _WIDE_ID_BOOST, _PHRASE_BOOST = 2.0, 0.5, 1.5


def _term(name: str, value: str | int | bool) -> Query:
    return Query.term_query(SCHEMA, name, value, index_option="freq")


def _boosted(query: Query, boost: float) -> Query:
    return Query.boost_query(query, boost)


def _gram_query(letter_groups: tuple[str, ...], boost: float) -> Query:
    """All letter groups in one chunk, scored as one word and not as many."""
    groups = [(Occur.Must, _term("compound", group)) for group in letter_groups]
    return _boosted(Query.boolean_query(groups), boost / len(letter_groups))


def _word_query(word: QueryWord) -> Query:
    ways = [_boosted(_term("plain", word.plain), _PLAIN_BOOST)]
    ways += [_boosted(_term("stem", stem), _STEM_BOOST) for stem in word.stems]
    if word.grams:
        ways.append(_gram_query(word.grams, _COMPOUND_BOOST))
    ways += [_gram_query(end, _COMPOUND_END_BOOST) for end in word.ends]
    return Query.disjunction_max_query(ways)


def _id_query(term: IdTerm) -> Query:
    ways = [_boosted(_term("ids", token), _ID_BOOST) for token in term.exact]
    ways += [_boosted(_term("ids", token), _WIDE_ID_BOOST) for token in term.wide]
    return Query.disjunction_max_query(ways)


def _phrase_query(run: tuple[str, ...]) -> Query:
    return _boosted(Query.phrase_query(SCHEMA, "plain", list(run)), _PHRASE_BOOST)


def _text_query(terms: QueryTerms) -> Query:
    """Any of the words may match; the best way of each word counts, not their sum."""
    clauses = [_word_query(word) for word in terms.words]
    clauses += [_id_query(term) for term in terms.ids]
    clauses += [_phrase_query(run) for run in terms.phrases if len(run) > 1]
    return Query.boolean_query([(Occur.Should, clause) for clause in clauses])


def _between(name: str, low: int | None, high: int | None) -> Query:
    return Query.range_query(SCHEMA, name, FieldType.Integer, low, high)


def any_of(name: str, values: Sequence[str | int]) -> Query:
    """Documents whose field holds one of the values."""
    return Query.term_set_query(SCHEMA, name, list(values))


def _wall_clauses(wall: WallTerms) -> list[tuple[Occur, Query]] | None:
    """The read predicate of `store.walls` as mandatory terms, None when nobody can pass it.

    The level and the release give way to a named person, the circle to its persons, release and
    circle to who manages the tenant; the other walls never do (UPL-17).
    """
    if wall.entities == () or (wall.mandant_id is None and not wall.is_super):
        return None
    clauses = [
        _level_or_named(wall),
        _term("restricted", False),
    ]
    if not wall.is_manager:
        released = _between("visible_from", None, microseconds(wall.now))
        clauses.append(_or_person(released, wall.person, "person"))
        clauses.append(_or_person(_term("encircled", False), wall.person, "circle"))
    if wall.mandant_id is not None:
        clauses.append(_term("mandant_id", wall.mandant_id))
    if wall.entities is not None:
        clauses.append(any_of("entity", wall.entities))
    if wall.project_code is not None:
        clauses.append(_term("project_code", wall.project_code))
    if not wall.include_test:
        clauses.append(_term("is_test", False))
    return [(Occur.Must, clause) for clause in clauses]


def _level_or_named(wall: WallTerms) -> Query:
    # No level at all is an empty set of levels, which matches nothing.
    levels = range(min(wall.max_level_rank, STRICTEST_RANK) + 1)
    return _or_person(any_of("level_rank", levels), wall.person, "person", "circle")


def _or_person(clause: Query, person: int | None, *fields: str) -> Query:
    if person is None:
        return clause
    ways = [clause, *(_term(field, person) for field in fields)]
    return Query.boolean_query([(Occur.Should, way) for way in ways])


def _filter_clauses(filters: HitFilters) -> list[tuple[Occur, Query]] | None:
    if filters.source_types == ():
        return None
    clauses: list[tuple[Occur, Query]] = []
    if filters.document_id is not None:
        if filters.document_id < 0:
            return None
        clauses.append((Occur.Must, _term("document_id", filters.document_id)))
    if filters.source_types is not None:
        clauses.append((Occur.Must, any_of("source_type", filters.source_types)))
    if filters.period is not None:
        period = filters.period
        axis = IndexedAxis(period.axis)
        low = period.first.toordinal() if period.first else 1
        high = period.last.toordinal() if period.last else dt.date.max.toordinal()
        if low > high:
            return None
        clauses.append((Occur.Must, _between(axis, low, high)))
    return clauses


def walled_query(terms: QueryTerms, wall: WallTerms, filters: HitFilters) -> Query | None:
    """The query of one search inside its walls, None when nothing can be seen through them."""
    walls, asked = _wall_clauses(wall), _filter_clauses(filters)
    if walls is None or asked is None:
        return None
    # Walls and filters decide who is in and must not move the order: their score is nothing.
    gate = Query.const_score_query(Query.boolean_query([*walls, *asked]), 0.0)
    return Query.boolean_query([(Occur.Must, _text_query(terms)), (Occur.Must, gate)])
