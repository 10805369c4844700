"""How often the model in shadow agrees with what was applied, per field (TRI-04).

Counts only: which of the two is right is known where a person decided, and nowhere else. Here
belongs no decision to let the model lead; a person takes it after looking at these counts.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from tgv_dagster.store.db import Connection
from tgv_dagster.understand.evidence import Field


@dataclass(slots=True)
class Agreement:
    """Counts of one field of one model in one purpose, over documents it was asked about.

    `unproven` answers (no such passage in the document) count in nothing else. `by_person` are the
    documents where a person decided the field, `as_person` those where the model had said the same.
    """

    purpose: str
    model: str
    field: Field
    same: int = 0
    different: int = 0
    only_model: int = 0
    only_applied: int = 0
    neither: int = 0
    unproven: int = 0
    by_person: int = 0
    as_person: int = 0
    examples: list[int] = dataclasses.field(default_factory=list)

    @property
    def share(self) -> float | None:
        """Share of agreement where both stated a value; None is unmeasured."""
        both = self.same + self.different
        return self.same / both if both else None


@dataclass(frozen=True, slots=True)
class Calls:
    """The log of calls of one purpose and model: how they ended and what they cost.

    `euro` is None when a price or a count of tokens is unknown for some call.
    """

    purpose: str
    model: str
    status: str
    calls: int
    input_tokens: int
    output_tokens: int
    euro: float | None
    median_milliseconds: int


MOST_EXAMPLES = 5

_STATEMENTS = """
    SELECT DISTINCT ON (c.document_id, c.purpose, c.model)
        c.document_id, c.purpose, c.model, c.response
    FROM model_calls c JOIN documents d ON d.id = c.document_id
    WHERE c.purpose LIKE 'shadow.%%' AND c.status = 'ok' AND d.is_test = %s
    ORDER BY c.document_id, c.purpose, c.model, c.id DESC
"""
_APPLIED = """
    SELECT DISTINCT ON (document_id, field) document_id, field, value, origin
    FROM document_values WHERE active AND document_id = ANY (%s)
    ORDER BY document_id, field, array_position(ARRAY['human', 'rule', 'machine'], origin),
        confidence DESC NULLS LAST, id
"""


def agreement(connection: Connection, *, is_test: bool = False) -> tuple[Agreement, ...]:
    """Agreement per purpose, model and field; empty while no model was asked."""
    rows = connection.execute(_STATEMENTS, (is_test,)).fetchall()
    documents = sorted({row[0] for row in rows})
    applied = {
        (document_id, name): (value, origin)
        for document_id, name, value, origin in connection.execute(_APPLIED, (documents,))
    }
    counted: dict[tuple[str, str, Field], Agreement] = {}
    for document_id, purpose, model, statements in rows:
        for stated in statements or ():
            if stated["field"] not in set(Field):
                continue
            name = Field(stated["field"])
            counts = counted.setdefault((purpose, model, name), Agreement(purpose, model, name))
            value, origin = applied.get((document_id, name), (None, None))
            _count(counts, document_id, stated, value, decided=origin == "human")
    return tuple(counted[key] for key in sorted(counted))


def _count(
    counts: Agreement, document_id: int, stated: dict[str, object], applied: str | None, *,
    decided: bool,
) -> None:  # fmt: skip
    said = stated["value"] if isinstance(stated["value"], str) else None
    if said is not None and stated["proven"] is not True:
        counts.unproven += 1
        return
    equal = said is not None and applied is not None and is_same(counts.field, said, applied)
    if decided:
        counts.by_person += 1
        counts.as_person += equal or (said is None and applied is None)
    if said is None and applied is None:
        counts.neither += 1
    elif applied is None:
        counts.only_model += 1
    elif said is None:
        counts.only_applied += 1
    elif equal:
        counts.same += 1
    else:
        counts.different += 1
        if len(counts.examples) < MOST_EXAMPLES:
            counts.examples.append(document_id)


def is_same(name: Field, one: str, other: str) -> bool:
    """Whether two stored values of a field mean the same: numbers by value, words by letters."""
    if name.startswith("amount_"):
        try:
            return Decimal(one) == Decimal(other)
        except InvalidOperation:
            return False
    return _letters(one) == _letters(other)


def _letters(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def calls(connection: Connection) -> tuple[Calls, ...]:
    """The shadow's calls by purpose, model and end."""
    rows = connection.execute(
        """
        SELECT purpose, model, status, count(*), coalesce(sum(input_units), 0),
            coalesce(sum(output_units), 0),
            CASE WHEN count(*) = count(cost_eur) THEN sum(cost_eur)::float END,
            coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY milliseconds), 0)::integer
        FROM model_calls WHERE purpose LIKE 'shadow.%%'
        GROUP BY purpose, model, status ORDER BY purpose, model, status
        """
    ).fetchall()
    return tuple(Calls(*row) for row in rows)


def overall(rows: Iterable[Agreement]) -> float | None:
    """Share of agreement over all fields; None is unmeasured."""
    counted = list(rows)
    both = sum(row.same + row.different for row in counted)
    return sum(row.same for row in counted) / both if both else None
