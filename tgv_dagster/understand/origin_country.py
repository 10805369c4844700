"""Origin country: where a paper was written, as far as it orders day and month.

Here belong the signs: numbers of the state, addresses, legal forms, taxes and currencies. Signs of
the United States beside signs of another country settle nothing: then the dates are asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tgv_dagster.understand.identifiers import Identifier, IdentifierKind

_HEAD = 20_000
_STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DE|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM"
    "|NY|NC|ND|OH|OK|OR|PA|RI|SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY|DC"
)
_UNITED_STATES = re.compile(
    rf"(?<![\w.])(?:[A-Za-z.]+, ?(?:{_STATES}),? [0-9]{{5}}(?:-[0-9]{{4}})?(?![0-9])"
    r"|United States|USA|U\.S\.A\.|LLC|L\.L\.C\.|Inc\.?|Corp\.?|Corporation"
    r"|[Ss]ales [Tt]ax|EIN|Z[Ii][Pp] [Cc]ode|US\$|USD)(?!\w)"
)
_DAY_FIRST = re.compile(
    r"£|€|(?<!\w)(?:GBP|EUR|VAT|GST|ABN|GSTIN|HMRC|PAYE|Ltd|LTD|Limited|LIMITED|PLC|plc"
    r"|United Kingdom|England|Scotland|Wales|Ireland|Eircode|[Cc]heque|[Pp]ost ?code"
    r"|[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2})(?!\w)"
)


def find(text: str, found: Iterable[Identifier]) -> str | None:
    """ISO code of the country whose order of day and month holds; None when nothing settles it.

    `found` are the identifiers of the text. Every country of a VAT id or IBAN writes the day
    first, so several of them agree; the first one is named.
    """
    stated = sorted(
        {i.value[:2] for i in found if i.kind in (IdentifierKind.VAT_ID, IdentifierKind.IBAN)}
    )
    head = text[:_HEAD]
    american = _UNITED_STATES.search(head) is not None
    if stated or _DAY_FIRST.search(head):
        return None if american else (stated or ["GB"])[0]
    return "US" if american else None
