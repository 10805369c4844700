"""What the headers of a mail say: addresses, dates, ids, list marks (MAIL-58 to MAIL-61).

Belongs here: turning raw fields into `MailHeaders`, with findings instead of errors
(known faults 58, 59, 74). Does not belong here: the grammar of the block (`mime_wire`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tgv_dagster.arrive.mime_charsets import decode
from tgv_dagster.arrive.mime_model import Address, Defect, DefectKind, Header, MailHeaders
from tgv_dagster.arrive.mime_names import decode_header_text
from tgv_dagster.arrive.mime_wire import HeaderBlock

MAX_ADDRESSES = 2_000

_MESSAGE_ID = re.compile(r"<\s*([^<>]{1,1000}?)\s*>")
_SINGLE_FIELDS = ("from", "subject", "date", "message-id", "content-type", "in-reply-to")
_ADDRESS_SPEC = re.compile(r"[^\s<>,;\"()]{1,256}@[^\s<>,;\"()]{1,256}")
_ROUTE = re.compile(r"<([^<>]{0,1000})>")


def read_mail_headers(
    block: HeaderBlock, path: str, hint: str | None = None
) -> tuple[MailHeaders, tuple[Defect, ...]]:
    """Decode the headers of a mail. Never raises; what cannot be read becomes a finding."""
    fields = tuple(
        Header(field.name, field.value, decode_header_text(field.value, hint))
        for field in block.fields
    )
    by_name: dict[str, list[Header]] = {}
    for header in fields:
        by_name.setdefault(header.name.lower(), []).append(header)
    date, date_raw = _date(by_name)
    defects = list(_field_defects(by_name, path))
    if date_raw is not None and date is None:
        defects.append(Defect(DefectKind.BAD_DATE, path, date_raw[:80]))

    def addresses(name: str) -> tuple[Address, ...]:
        found: list[Address] = []
        for header in by_name.get(name, ()):
            read, strange = read_addresses(header.raw, hint)
            found.extend(read)
            if strange:
                defects.append(Defect(DefectKind.BAD_ADDRESS, path, f"{name}: {header.text[:80]}"))
        return tuple(found[:MAX_ADDRESSES])

    headers = MailHeaders(
        fields=fields,
        from_=addresses("from"),
        sender=addresses("sender"),
        reply_to=addresses("reply-to"),
        to=addresses("to"),
        cc=addresses("cc"),
        bcc=addresses("bcc"),
        subject=_first_text(by_name, "subject"),
        date=date,
        date_raw=date_raw,
        message_id=_message_id(by_name),
        in_reply_to=_ids(by_name, "in-reply-to"),
        references=_ids(by_name, "references"),
        auto_submitted=_first_text(by_name, "auto-submitted"),
        precedence=_first_text(by_name, "precedence"),
        list_id=_first_text(by_name, "list-id"),
    )
    return headers, tuple(defects)


def read_addresses(raw: bytes, hint: str | None = None) -> tuple[tuple[Address, ...], bool]:
    """The mailboxes of an address header and whether something in it was strange.

    The structure is read before encoded words are decoded, so an encoded comma stays inside
    its name. Two routes without a comma give two mailboxes (known fault 58).
    """
    text = decode(raw, None, hint).text
    found: list[Address] = []
    strange = text.count('"') % 2 == 1
    for piece in _address_pieces(text):
        read, odd = _mailboxes(piece, hint)
        found.extend(read)
        strange |= odd
    return tuple(found), strange


def read_date(text: str) -> datetime | None:
    """A date header as an aware datetime, None when it says no date (known fault 74).

    RFC 5322 and ISO 8601 are read; a value without a zone is taken as UTC.
    """
    for attempt in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            value = attempt(text.strip())
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
            continue
    return None


def _date(by_name: dict[str, list[Header]]) -> tuple[datetime | None, str | None]:
    candidates = [header.text for header in by_name.get("date", ())]
    for text in candidates:
        value = read_date(text)
        if value is not None:
            return value, text
    return None, candidates[0] if candidates else None


def _message_id(by_name: dict[str, list[Header]]) -> str | None:
    for header in by_name.get("message-id", ()):
        match = _MESSAGE_ID.search(header.text)
        bare = match[1] if match else header.text.strip(" <>")
        if bare:
            return bare
    return None


def _ids(by_name: dict[str, list[Header]], name: str) -> tuple[str, ...] | None:
    headers = by_name.get(name)
    if headers is None:
        return None
    found: dict[str, None] = {}
    for header in headers:
        bracketed = [match[1] for match in _MESSAGE_ID.finditer(header.text)]
        bare = [token for token in header.text.split() if "@" in token and " " not in token]
        for one in bracketed or bare:
            found.setdefault(re.sub(r"\s+", "", one))
    return tuple(found)


def _first_text(by_name: dict[str, list[Header]], name: str) -> str | None:
    headers = by_name.get(name)
    if not headers:
        return None
    return next((header.text for header in headers if header.text), "")


def _field_defects(by_name: dict[str, list[Header]], path: str) -> Iterator[Defect]:
    for name in _SINGLE_FIELDS:
        count = len(by_name.get(name, ()))
        if count > 1:
            yield Defect(DefectKind.DUPLICATE_HEADER, path, f"{name}: {count} times")


def _address_pieces(text: str) -> list[str]:
    """Cut at commas and semicolons outside quotes, comments and routes; drop group names."""
    pieces: list[str] = []
    start = 0
    quoted = routed = False
    comments = 0
    balanced = text.count('"') % 2 == 0
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\\" and (quoted or comments):
            position += 2
            continue
        if char == '"' and balanced and not comments:
            quoted = not quoted
        elif not quoted and char == "(" and ")" in text[position : position + 1_000]:
            comments += 1
        elif not quoted and char == ")" and comments:
            comments -= 1
        elif not quoted and not comments and char in "<>":
            routed = char == "<" and ">" in text[position : position + 1_000]
        elif not (quoted or comments or routed):
            if char in ",;":
                pieces.append(text[start:position])
                start = position + 1
            elif char == ":" and text[start:position].strip() and "@" not in text[start:position]:
                start = position + 1
        position += 1
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def _mailboxes(piece: str, hint: str | None) -> tuple[list[Address], bool]:
    routes = list(_ROUTE.finditer(piece))
    if not routes:
        return _routeless(piece, hint)
    found: list[Address] = []
    position = 0
    for route in routes:
        name = _display_name(piece[position : route.start()], hint)
        found.append(Address(name, _bare_address(route[1])))
        position = route.end()
    odd = len(routes) > 1 or any("@" not in one.address for one in found)
    return found, odd


def _routeless(piece: str, hint: str | None) -> tuple[list[Address], bool]:
    comment = re.search(r"\(([^()]{0,500})\)", piece)
    bare = re.sub(r"\([^()]{0,500}\)", " ", piece).strip()
    match = _ADDRESS_SPEC.search(bare)
    if match is not None:
        name = comment[1] if comment else bare[: match.start()]
        odd = match[0] != bare
        return [Address(_display_name(name, hint), match[0])], odd
    decoded = _display_name(piece, hint)
    inner = _ROUTE.search(decoded) or _ADDRESS_SPEC.search(decoded)
    if inner is not None and "@" in inner[0]:
        # The whole mailbox was put into one encoded word.
        name = decoded[: inner.start()].strip(' "<')
        return [Address(name, _bare_address(inner[0].strip("<>")))], True
    return [Address(decoded, "")], True


def _bare_address(route: str) -> str:
    address = re.sub(r"\s+", "", route)
    if address.startswith("@") and ":" in address:
        address = address.partition(":")[2]
    return address.removeprefix("mailto:").strip('"<>') if "@" in address else address


def _display_name(text: str, hint: str | None) -> str:
    name = text.strip().strip(",").strip()
    if len(name) >= 2 and name[0] == name[-1] == '"':
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return decode_header_text(name.encode("utf-8"), hint).strip().strip('"').strip()
