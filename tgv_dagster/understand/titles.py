"""Titles that files carry in their properties, where they say what the document is.

Here: which of them name nothing, because a program filled them in. Not here: where titles are read
(the readers) and what is shown instead (the file name).
"""

from __future__ import annotations

import re

_PRINTED_BY = re.compile(
    r"(?:microsoft\s+(?:word|excel|powerpoint)|openoffice|libreoffice)\s+[-–]\s+", re.IGNORECASE
)
_FILLED_IN = re.compile(
    r"[(\[<]?(?:untitled|unbenannt|ohne titel|kein titel|sans titre|sans nom|senza titolo|no title"
    r"|anonymous|unspecified|none|null|title|titel|titre"
    r"|(?:neues |new |nouveau )?(?:document?o?|dokument|presentation|präsentation|présentation"
    r"|book|workbook|mappe|classeur|scan|print|page|seite|img|image|bild))"
    r"[\s_-]*\d{0,6}[)\]>]?(?:\.\w{2,4})?",
    re.IGNORECASE,
)


def telling_title(title: str) -> str:
    """The title without the program's own words in front; "" when a program filled it in."""
    told = _PRINTED_BY.sub("", title.strip(), count=1).strip()
    if _FILLED_IN.fullmatch(told) or not any(letter.isalpha() for letter in told):
        return ""
    return told
