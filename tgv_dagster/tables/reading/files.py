"""One entrance for every structured file: its bytes decide which reader makes its tables (FMT-01).

A format without a reader is refused with its reason; nothing is silently skipped (FMT-05).
"""

from __future__ import annotations

import re

from tgv_dagster.arrive.decoding import decode, looks_like_text
from tgv_dagster.tables.model import FileTables, TableUnreadable
from tgv_dagster.tables.reading.delimited import Settled, read_delimited
from tgv_dagster.tables.reading.markup import read_html, read_json, read_xml
from tgv_dagster.tables.reading.standards import read_calendar, read_cards
from tgv_dagster.tables.reading.workbook import is_workbook, read_workbook

SUFFIXES = frozenset(
    ("csv", "tsv", "tab", "psv", "xlsx", "xlsm", "xls", "xlsb", "ods", "json", "jsonl", "ndjson",
     "ics", "ical", "vcs", "vcf", "vcard", "ldif", "xcs")
)  # fmt: skip
"""Names that always mean a table; other files are tried only when their type says so."""

_HEAD = 4096
_JSON = re.compile(r"\{|\[\s*[\[{\]]")
_CARDS = re.compile(r"BEGIN:[ \t]*VCARD\b", re.IGNORECASE)
_CALENDAR = re.compile(r"BEGIN:[ \t]*V(?:CALENDAR|EVENT|TODO|JOURNAL|FREEBUSY)\b", re.IGNORECASE)
_UNSUPPORTED = (
    (re.compile(r"(?:version:\s*1\s+)?dn::?\s", re.IGNORECASE), "LDIF (address book) is not read"),
    (
        re.compile(r"\[\s*\"v(?:card|calendar)\""),
        "jCard and jCal are not read; export vCard or ICS",
    ),
    (
        re.compile(r"<[^>]*>?[^<]*<?[^>]*urn:ietf:params:xml:ns:(?:vcard-4|icalendar-2)\.0"),
        "xCard and xCal are not read; export vCard or ICS",
    ),
)
_MARKUP = re.compile(r"\s*<(\?xml|!doctype(?: html)?|html|table|\w[\w:.-]*)[\s>/]", re.IGNORECASE)


def read_tables(
    data: bytes,
    settled: Settled | None = None,
    headers: dict[str, int] | None = None,
    hidden: dict[str, str] | None = None,
) -> FileTables:
    """Read every table of a file. Raises TableUnreadable with the reason.

    `headers` and `hidden` are answers per sheet: the line of the labels, and which rows count.
    """
    if not data or data.isspace():
        raise TableUnreadable("the file is empty")
    if is_workbook(data):
        return read_workbook(data, headers, hidden)
    head = decode(data[:_HEAD], partial=True).text.lstrip("\ufeff \t\r\n")
    if not looks_like_text(data[:_HEAD]):
        raise TableUnreadable("no reader for this binary format")
    if _CARDS.match(head):
        return read_cards(data)
    if _CALENDAR.match(head):
        return read_calendar(data)
    for pattern, reason in _UNSUPPORTED:
        if pattern.match(head):
            raise TableUnreadable(reason)
    if _JSON.match(head):
        return read_json(data)
    if match := _MARKUP.match(head):
        word = match.group(1).lower()
        if word in ("!doctype html", "html", "table"):
            return read_html(data)
        return read_xml(data)
    return read_delimited(data, settled)
