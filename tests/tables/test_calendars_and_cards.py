"""Calendars and cards: read by their standard, without a question, broken lines told (FMT-03)."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_flow import organised, rows, scope_of, states, taken

from tgv_dagster.arrive.filetype import sniff_file
from tgv_dagster.store.db import Database
from tgv_dagster.tables.model import TableUnreadable
from tgv_dagster.tables.querying import ask
from tgv_dagster.tables.recognising import recognise_file
from tgv_dagster.tables.working import typed_table
from tgv_dagster.understand.extraction import ExtractionSettings, Status, extract
from tgv_dagster.understand.readers.calendars import read_calendar
from tgv_dagster.understand.readers.cards import read_cards
from tgv_dagster.understand.readers.content_lines import read_components


def calendar(*lines: str) -> bytes:
    body = "\r\n".join(lines)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{body}\r\nEND:VCALENDAR\r\n".encode()


def event(*lines: str) -> bytes:
    return calendar("BEGIN:VEVENT", *lines, "END:VEVENT")


def card(*lines: str, version: str = "3.0") -> bytes:
    body = "\r\n".join(lines)
    return f"BEGIN:VCARD\r\nVERSION:{version}\r\n{body}\r\nEND:VCARD\r\n".encode()


def the_event(content: bytes):
    ((found,), _) = read_calendar(content)
    return found


def the_card(content: bytes):
    ((found,), _) = read_cards(content)
    return found


DAY, MOMENT = datetime.date, datetime.datetime


@pytest.mark.parametrize(
    ("lines", "start", "end", "zone"),
    [
        (("DTSTART:20260301T090000Z", "DTEND:20260301T100000Z"),
         MOMENT(2026, 3, 1, 9), MOMENT(2026, 3, 1, 10), "UTC"),
        (("DTSTART;TZID=Europe/Berlin:20260301T090000", "DURATION:PT90M"),
         MOMENT(2026, 3, 1, 9), MOMENT(2026, 3, 1, 10, 30), "Europe/Berlin"),
        (("DTSTART:20260301T090000",), MOMENT(2026, 3, 1, 9), None, ""),
        (("DTSTART;TZID=Western/Nowhere:20260301T090000",),
         MOMENT(2026, 3, 1, 9), None, "Western/Nowhere"),
        (("DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261227"),
         DAY(2026, 12, 24), DAY(2026, 12, 26), ""),
        (("DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261224"),
         DAY(2026, 12, 24), DAY(2026, 12, 24), ""),
        (("DTSTART;VALUE=DATE:20261224", "DURATION:P2D"),
         DAY(2026, 12, 24), DAY(2026, 12, 25), ""),
    ],
)  # fmt: skip
def test_moments_are_local_as_written_and_whole_days_end_on_their_last(lines, start, end, zone):
    found = the_event(event(*lines))

    assert (found.start, found.end, found.zone) == (start, end, zone)
    assert found.faults == ()


@pytest.mark.parametrize(
    "line",
    ["DTSTART:20260230", "DTSTART:2026-03-01", "DTSTART:morgen", "DTSTART:20260301T250000",
     "DTSTART;VALUE=DATE:01.03.2026"],
)  # fmt: skip
def test_what_is_no_moment_stays_empty_and_is_named(line: str):
    found = the_event(event(line, "SUMMARY:Treffen"))

    assert found.start is None
    assert found.faults[0].startswith("DTSTART is no moment")
    assert found.summary == "Treffen"


def test_one_broken_line_costs_nothing_but_itself():
    entries, broken = read_calendar(
        event("SUMMARY:Abholung", "ORGANIZER;CN=Sixt SE", "DTSTART:20260301T090000Z")
    )

    assert [(entry.summary, entry.start) for entry in entries] == [
        ("Abholung", MOMENT(2026, 3, 1, 9))
    ]
    assert [(one.line, one.raw) for one in broken] == [(5, "ORGANIZER;CN=Sixt SE")]


def test_a_file_that_is_cut_keeps_what_was_whole():
    whole = calendar("BEGIN:VEVENT", "SUMMARY:Eins", "END:VEVENT", "BEGIN:VEVENT", "SUMMARY:Zwei")
    entries, broken = read_calendar(whole[: whole.index(b"\r\nEND:VCALENDAR")])

    assert [entry.summary for entry in entries] == ["Eins", "Zwei"]
    assert entries[1].faults == ("it never ends in the file",)
    assert {one.raw for one in broken} == {"BEGIN:VEVENT", "BEGIN:VCALENDAR"}


def test_recurrence_and_people_are_kept_as_they_are_written():
    found = the_event(
        event(
            "SUMMARY:Jour fixe\\, Büro",
            "RRULE:FREQ=WEEKLY;BYDAY=MO",
            'ATTENDEE;CN="Meyer; Anna";ROLE=CHAIR:MAILTO:anna@x.example',
            "ATTENDEE:mailto:paul@x.example",
        )
    )

    assert found.summary == "Jour fixe, Büro"
    assert found.repeats == "RRULE FREQ=WEEKLY;BYDAY=MO"
    assert found.attendees == "Meyer; Anna <anna@x.example>; paul@x.example"


@pytest.mark.parametrize(
    ("lines", "name", "version"),
    [
        # 170: a soft break inside a character, as exporters of version 2.1 write it.
        (("N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=", "=BCller;J=C3=B6rg;;;"),
         "Jörg Müller", "2.1"),
        (("FN;ENCODING=QUOTED-PRINTABLE;CHARSET=ISO-8859-1:J=F6rg M=FCller",),
         "Jörg Müller", "2.1"),
        (("FN;QUOTED-PRINTABLE;CHARSET=utf-8:J=C3=B6rg M=C3=BCller",), "Jörg Müller", "2.1"),
        (("FN:J\u00f6rg", " M\u00fcller"), "Jörg Müller", "2.1"),
        (("FN:J\u00f6r", " g M\u00fcller"), "Jörg Müller", "3.0"),
        (("item1.FN:J\u00f6rg M\u00fcller",), "Jörg Müller", "4.0"),
        (("fn:J\u00f6rg M\u00fcller",), "Jörg Müller", "4.0"),
        (("N:M\u00fcller;J\u00f6rg;;;",), "Jörg Müller", "3.0"),
        (("ORG:M\u00fcller\\; S\u00f6hne GmbH;Einkauf",), "Müller; Söhne GmbH", "3.0"),
    ],
)  # fmt: skip
def test_names_come_out_whole_in_every_version(lines, name: str, version: str):
    assert the_card(card(*lines, version=version)).name == name


def test_a_character_cut_by_a_fold_is_joined_before_it_is_decoded():
    raw = "FN:Jörg".encode()
    cut = raw[:5] + b"\r\n " + raw[5:]

    found = the_card(b"BEGIN:VCARD\r\nVERSION:3.0\r\n" + cut + b"\r\nEND:VCARD\r\n")

    assert found.name == "Jörg"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_cards_of_any_encoding(encoding: str):
    text = "BEGIN:VCARD\r\nVERSION:2.1\r\nFN:Süß & Söhne, Köln\r\nEND:VCARD\r\n"

    assert the_card(text.encode(encoding)).name == "Süß & Söhne, Köln"


def test_pictures_are_counted_and_not_read():
    found = the_card(
        card("FN:Anna", "PHOTO;JPEG;BASE64:/9j/4AAQSkZJRgABAQ", "AAAQABAAD/2wBDAAgGBgcG", "",
             "TEL;WORK:+49 30 1", "LOGO:data:image/png;base64,iVBORw0KGgo=", version="2.1")
    )  # fmt: skip

    assert found.pictures == 2
    assert [way.value for way in found.ways] == ["+49 30 1"]


def test_a_card_without_an_end_does_not_swallow_the_next_one():
    cards, broken = read_cards(b"BEGIN:VCARD\nFN:Eins\nBEGIN:VCARD\nFN:Zwei\nEND:VCARD\n")

    assert [one.name for one in cards] == ["Eins", "Zwei"]
    assert [one.reason for one in broken] == ["it never ends"]


def test_ways_keep_their_kind_and_the_preferred_one_comes_first():
    found = the_card(
        card("FN:Anna", "TEL;TYPE=home:+49 30 1", "TEL;TYPE=WORK,pref:+49 30 2",
             "EMAIL:a@x.example", "ADR;TYPE=work:;;Weg 1;Ort;;12345;DE")
    )  # fmt: skip

    assert found.first("phone") == ("+49 30 2", "+49 30 1")
    assert [(way.kind, way.types, way.value) for way in found.ways][2:] == [
        ("email", (), "a@x.example"),
        ("address", ("work",), "Weg 1, Ort, 12345, DE"),
    ]


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(raw: bytes):
    read_components(b"BEGIN:VCARD\r\nFN:" + raw + b"\r\nEND:VCARD\r\n")
    read_calendar(b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART" + raw + b"\nEND:VEVENT")


@settings(max_examples=60)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1))
def test_a_name_comes_back_however_it_is_folded(name: str):
    escaped = name.replace("\\", "\\\\").replace(",", "\\,").replace(";", "\\;")
    raw = f"FN:{escaped}".encode()
    folded = b"\r\n ".join(raw[i : i + 20] for i in range(0, len(raw), 20))

    found = the_card(b"BEGIN:VCARD\r\nVERSION:4.0\r\n" + folded + b"\r\nEND:VCARD\r\n")

    assert found.name == name.strip()


# --- as documents and as tables -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("einladung.ics", event("SUMMARY:Notartermin", "DTSTART;TZID=Europe/Berlin:20260301T090000",
                                "LOCATION:Hauptstr. 3"),
         "Notartermin\n2026-03-01 09:00 Europe/Berlin\nHauptstr. 3\n"),
        ("kontakt.vcf", card("FN:Anna Beispiel", "ORG:Muster AG", "TEL;TYPE=CELL:+49 151 1"),
         "Anna Beispiel\nMuster AG\n+49 151 1 (cell)\n"),
    ],
)  # fmt: skip
def test_the_text_is_what_a_person_would_write_down(
    name: str, content: bytes, text: str, tmp_path: Path
):
    path = tmp_path / name
    path.write_bytes(content)

    found = extract(path, sniff_file(path, name), ExtractionSettings())

    assert (found.text, found.status) == (text, Status.COMPLETE)


def test_a_calendar_is_working_material_without_a_question(database: Database):
    office = organised(database)

    facts = taken(
        office,
        event("SUMMARY:Notartermin", "DTSTART:20260301T090000Z", "ORGANIZER;CN=Wer"),
        name="a.ics",
    )

    assert states(office, facts) == [(1, "working", 0, 0, 1)]
    assert rows(office, "SELECT 1 FROM cases WHERE document_id = %s", facts.document_id) == []
    found = ask(
        office,
        scope_of(office, "anna"),
        [facts.document_id],
        f"SELECT summary, start, zone FROM d{facts.document_id}",
    )
    assert found.frame.rows() == [("Notartermin", MOMENT(2026, 3, 1, 9), "UTC")]


def test_cards_are_two_tables_and_their_digits_stay_text():
    content = card("FN:Anna", "TEL:0301234567", "UID:00017") + card("FN:Paul", "TEL:0301234568")

    found, _ = recognise_file(content)

    assert [(one.table.sheet, one.table.height) for one in found] == [("cards", 2), ("ways", 2)]
    ways = typed_table(found[1].table, found[1].mapping)
    assert ways.get_column("value").to_list() == ["0301234567", "0301234568"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n", "no entry"),
        (b"dn: cn=Anna,o=x\nobjectclass: person\ncn: Anna\n", "LDIF"),
        (b"version: 1\n\ndn: cn=Anna\ncn: Anna\n", "LDIF"),
        (b'["vcard",[["version",{},"text","4.0"]]]', "jCard"),
        (b'<?xml version="1.0"?><vcards xmlns="urn:ietf:params:xml:ns:vcard-4.0"><vcard/></vcards>',
         "xCard"),
    ],
)  # fmt: skip
def test_what_has_no_reader_is_refused_with_its_reason(content: bytes, reason: str):
    with pytest.raises(TableUnreadable, match=reason):
        recognise_file(content)
