"""References: words that make a named document another one than the paper in hand."""

from __future__ import annotations

import re
from functools import cache

from tgv_dagster.understand import words

_REACH = 32


def is_earlier(folded: str, start: int, end: int) -> bool:
    """Whether the words around a noun name an earlier paper ("previous invoice", "avoir annulé").

    `folded` has been through `words.fold`; `start` and `end` are the place of the noun.
    """
    while start > 0 and folded[start - 1].isalpha():
        start -= 1  # the noun may end a compound: "Abschlagsrechnung"
    before = folded[max(0, start - _REACH) : start]
    return bool(
        _words(
            "before",
            r"(?<!\w)(?:{})\s{{1,3}}(?:(?:der|die|den|dem|des|la|le)\s)?(?:[0-9]{{1,2}}\.\s{{0,2}})?$",
        ).search(before)
        or _words("behind", r"\s{{1,3}}(?:{})(?!\w)").match(folded, end, end + _REACH)
    )


@cache
def _words(key: str, shape: str) -> re.Pattern[str]:
    listed = words.phrases_by_key("numbers", "earlier")[key]
    spelled = {form for word in listed for form in words.spellings(word)}
    options = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))
    return re.compile(shape.format(options))
