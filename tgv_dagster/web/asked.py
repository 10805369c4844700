"""What a person filled into the filters of a page: empty fields are not asked, wrong ones named.

Here forms become the typed questions of the rooms. Does not belong here: answering them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import Query

from tgv_dagster.know.document_list import DocumentQuery, ListAxis, Order
from tgv_dagster.know.search import SearchFilters
from tgv_dagster.store.scope import Period
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.web.errors import NotAskable

MOST_CHARACTERS = 4000
Word = Annotated[str, Query(max_length=300)]
Words = TypeVar("Words", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the search page, as they were sent; "" is not asked."""

    q: str
    entity: str
    project: str
    doc_type: str
    provider: str
    axis: str
    first: str
    last: str
    page: int

    @property
    def period(self) -> Period | None:
        """The span of days on its named axis (DATE-09). Raises NotAskable."""
        first, last = day_of(self.first), day_of(self.last)
        if first is None and last is None:
            return None
        axis = one_of(ListAxis, self.axis) or ListAxis.DATE_RECEIVED
        if first is not None and last is not None and last < first:
            raise NotAskable("`from` lies after `to`.")
        return Period(axis, first, last)

    def for_search(self) -> SearchFilters:
        """What narrows a question."""
        return SearchFilters(
            entity=self.entity or None, project_code=self.project or None, period=self.period
        )

    def for_list(self, *, limit: int, offset: int) -> DocumentQuery:
        """What narrows the list of documents; it is sorted by the axis of the span."""
        axis = one_of(ListAxis, self.axis) or ListAxis.DATE_RECEIVED
        return DocumentQuery(
            entity=self.entity or None,
            project_code=self.project or None,
            period=self.period,
            doc_type=one_of(DocType, self.doc_type),
            provider=self.provider or None,
            order=Order(axis),
            limit=limit,
            offset=offset,
        )

    def address(self, **changes: object) -> str:
        """The query part that asks the same, with changes."""
        names = {"first": "from", "last": "to"}
        values = {
            names.get(name, name): getattr(self, name) for name in self.__dataclass_fields__
        } | changes
        return urlencode({name: value for name, value in values.items() if value})


def filters(
    q: Annotated[str, Query(max_length=MOST_CHARACTERS)] = "",
    entity: Word = "",
    project: Word = "",
    doc_type: Word = "",
    provider: Word = "",
    axis: Word = "",
    first: Annotated[str, Query(alias="from", max_length=10)] = "",
    last: Annotated[str, Query(alias="to", max_length=10)] = "",
    page: Annotated[int, Query(ge=1, le=10_000)] = 1,
) -> Filters:
    """The dependency of the pages that filter. Raises NotAskable for what no field holds."""
    if any("\x00" in text for text in (q, entity, project, doc_type, provider, axis)):
        raise NotAskable("A filter holds a character that nothing is stored with.")
    return Filters(
        q=q.strip(),
        entity=entity.strip(),
        project=project.strip(),
        doc_type=doc_type,
        provider=provider.strip(),
        axis=axis,
        first=first,
        last=last,
        page=page,
    )


def day_of(text: str) -> date | None:
    """A day, None for nothing. Raises NotAskable."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise NotAskable("A day has the form YYYY-MM-DD.") from None


def one_of(words: type[Words], text: str) -> Words | None:
    """A word of a closed set, None for nothing. Raises NotAskable."""
    try:
        return words(text) if text else None
    except ValueError:
        raise NotAskable(f"Choose one of: {', '.join(words)}.") from None
