"""Bank formats become one neutral frame: signs, days, batches, no entry lost (faults 145-157)."""

from __future__ import annotations

import io
import zipfile
from datetime import date
from decimal import Decimal

import pytest
from bank_files import (
    IBAN,
    OTHER_IBAN,
    Booking,
    booking,
    camt,
    camt_entry,
    camt_statement,
    mt940,
    ofx,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tgv_dagster.bank.frame import BankFile, BankFileError, Kind, Status, faults
from tgv_dagster.bank.reading import Guess, read_bank_file, sniff


def read(content: bytes) -> BankFile:
    found = read_bank_file(content)
    assert found is not None
    assert found.lost_entries == ()
    return found


def amounts(file: BankFile) -> list[Decimal]:
    return [line.amount for line in file.lines]


# ------------------------------------------------------------------ CAMT


@pytest.mark.parametrize("version", ["02", "04", "06", "08", "13"])
def test_every_version_of_a_camt_statement_reads_alike(version: str) -> None:
    true = [booking("2026-03-02", "-12.50", "Miete März"), booking("2026-03-03", "100.00")]
    file = read(camt(camt_statement(true, version=version), version=version))
    assert file.variant == f"camt.053.001.{version}"
    assert faults(file) == ()
    assert [(x.booking_date, x.amount, x.purpose, x.counterparty_name) for x in file.lines] == [
        (b.day, b.amount, b.purpose, b.name) for b in true
    ]
    assert {x.counterparty_iban for x in file.lines} == {OTHER_IBAN}
    assert file.statements[0].account.iban == IBAN


@pytest.mark.parametrize("namespace", ["", "urn:iso:std:iso:20023:tech:xsd:camt.053.001.08", "x"])
def test_a_missing_or_misspelt_namespace_changes_nothing(namespace: str) -> None:
    assert amounts(read(camt(camt_statement([booking("2026-03-02", "5.00")]), namespace=namespace)))


def test_the_message_may_stand_in_an_envelope() -> None:
    inner = camt(camt_statement([booking("2026-03-02", "5.00")])).partition(b"?>")[2]
    assert len(read(b"<Envelope><Body>" + inner + b"</Body></Envelope>").lines) == 1


def test_latin_1_is_read_declared_and_undeclared() -> None:
    true = camt_statement([booking("2026-03-02", "5.00", "Gebühr März", name="Müller")])
    declared = camt(true, encoding="ISO-8859-1")
    lying = declared.replace(b"ISO-8859-1", b"UTF-8")
    for content in (declared, lying):
        (line,) = read(content).lines
        assert (line.purpose, line.counterparty_name) == ("Gebühr März", "Müller")


def test_a_reversal_keeps_the_sign_of_its_own_movement() -> None:
    back = booking("2026-03-02", "30.00", reversal=True)
    (line,) = read(camt(camt_statement([back]))).lines
    assert (line.amount, line.reversal) == (Decimal("30.00"), True)


def test_a_reversal_with_the_original_sign_is_turned_by_the_balances() -> None:
    original_side = booking("2026-03-02", "-30.00", reversal=True)
    statement = camt_statement([original_side], opening="100.00", closing="130.00")
    file = read(camt(statement))
    assert amounts(file) == [Decimal("30.00")]
    assert file.lines[0].notes != ()
    assert faults(file) == ()


def test_each_part_of_a_batch_has_its_own_amount() -> None:
    whole = booking("2026-03-02", "429.56", bank_id="B1")
    parts = [booking("2026-03-02", "329.56", "eins"), booking("2026-03-02", "100.00", "zwei")]
    file = read(camt(camt_statement([whole], entries=camt_entry(whole, batch=parts))))
    assert amounts(file) == [Decimal("329.56"), Decimal("100.00")]
    assert [x.purpose for x in file.lines] == ["eins", "zwei"]
    assert len({x.identity for x in file.lines}) == 2
    assert (file.entries, faults(file)) == (1, ())


def test_parts_that_do_not_sum_to_their_entry_stop_the_file() -> None:
    whole = booking("2026-03-02", "429.56")
    parts = [booking("2026-03-02", "329.56"), booking("2026-03-02", "99.00")]
    file = read(camt(camt_statement([whole], entries=camt_entry(whole, batch=parts))))
    assert amounts(file) == [Decimal("429.56")]
    assert any("do not sum" in fault for fault in faults(file))


def test_a_batch_whose_parts_have_no_amounts_is_one_line() -> None:
    whole = booking("2026-03-02", "10.00")
    detail = "<TxDtls><RmtInf><Ustrd>{}</Ustrd></RmtInf></TxDtls>"
    entry = camt_entry(whole).partition("<NtryDtls>")[0] + (
        f"<NtryDtls>{detail.format('eins')}{detail.format('zwei')}</NtryDtls></Ntry>"
    )
    file = read(camt(camt_statement([whole], entries=entry)))
    assert [(x.amount, x.purpose) for x in file.lines] == [(Decimal("10.00"), "eins zwei")]


def test_zero_and_pending_entries_are_kept_apart_and_not_lost() -> None:
    true = [booking("2026-03-02", "0.00"), booking("2026-03-03", "7.00", pending=True)]
    file = read(camt(camt_statement(true)))
    assert [(x.amount, x.status) for x in file.lines] == [
        (Decimal("0.00"), Status.BOOKED),
        (Decimal("7.00"), Status.PENDING),
    ]
    assert faults(file) == ()


def test_several_statements_stay_apart_and_must_continue_the_balance() -> None:
    first = camt_statement([booking("2026-03-02", "5.00")], opening="10.00", number="1")
    good = camt_statement([booking("2026-03-02", "1.00", "b")], opening="15.00", number="2")
    gap = camt_statement([booking("2026-03-02", "1.00", "b")], opening="16.00", number="2")
    assert len(read(camt(first, good)).statements) == 2
    assert faults(read(camt(first, good))) == ()
    assert any("does not open with" in fault for fault in faults(read(camt(first, gap))))


def test_only_a_statement_books() -> None:
    report = camt_statement([booking("2026-03-02", "5.00")], tag="Rpt", opening=None)
    file = read(camt(report, message="BkToCstmrAcctRpt"))
    assert file.statements[0].kind is Kind.REPORT


def test_an_entry_without_a_readable_amount_is_refused_with_its_place() -> None:
    entry = camt_entry(booking("2026-03-02", "5.00"))
    broken = entry.replace(">5.00<", ">5,OO<")
    file = read(camt(camt_statement([booking("2026-03-02", "5.00")], entries=broken + entry)))
    assert (len(file.lines), len(file.refusals), file.entries) == (1, 1, 2)
    assert file.refusals[0].place.first_line > 0
    assert "cannot be read" in faults(file)[0]


def test_a_sum_that_does_not_hold_is_a_fault() -> None:
    file = read(camt(camt_statement([booking("2026-03-02", "5.00")], closing="1006.00")))
    assert any("closing balance" in fault for fault in faults(file))


@pytest.mark.parametrize(
    "prologue",
    [
        '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>',
        '<!DOCTYPE d SYSTEM "file:///etc/passwd">',
    ],
)
def test_hostile_xml_is_refused(prologue: str) -> None:
    text = camt(camt_statement([booking("2026-03-02", "5.00")])).decode()
    head, _, rest = text.partition("?>")
    with pytest.raises(BankFileError, match="document type"):
        read_bank_file((head + "?>" + prologue + rest).encode())


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(BankFileError):
        read_bank_file(b"<BkToCstmrStmt>" + b"<a>" * 100_000)


# ------------------------------------------------------------------ MT940


def entry(line: str, purpose: str = "166?00X?20Zweck") -> bytes:
    return (
        f":20:S\n:25:{IBAN}\n:28C:1/1\n:60F:C251230EUR100,00\n:61:{line}\n:86:{purpose}\n"
        ":62F:C260110EUR100,00\n-"
    ).encode()


@pytest.mark.parametrize(
    ("line", "booked", "amount"),
    [
        ("1412310105C1,00NMSCX", "2015-01-05", "1.00"),
        ("2601011230C27,98NMSCX", "2025-12-30", "27.98"),
        ("200101    D65,00NMSCX", "2020-01-01", "-65.00"),
        ("200101D65,NMSCX", "2020-01-01", "-65.00"),
        ("2001010101RC12,5NMSCX", "2020-01-01", "-12.50"),
        ("2001010101RD12,50NMSCX", "2020-01-01", "12.50"),
        ("2001010101CR12,50NMSCX", "2020-01-01", "12.50"),
        ("2001010101RDR12,50NMSCX", "2020-01-01", "12.50"),
        ("2001010101C1.234,56NMSCX", "2020-01-01", "1234.56"),
        ("2001010101D000000000000000000007,10NMSCX", "2020-01-01", "-7.10"),
        ("1602300230C1,00NMSCX", "2016-02-29", "1.00"),
        ("2001010101C\n12,50NMSCX", "2020-01-01", "12.50"),
    ],
)
def test_the_entry_line_in_all_its_forms(line: str, booked: str, amount: str) -> None:
    (found,) = read(entry(line)).lines
    assert (found.booking_date, found.amount) == (date.fromisoformat(booked), Decimal(amount))


@pytest.mark.parametrize(
    "line", ["2013400101C1,00NMSC", "200101X1,00NMSC", "C1,00", "200101C1,2,3N"]
)
def test_an_entry_line_that_does_not_follow_the_format_is_refused(line: str) -> None:
    file = read(entry(line))
    assert (file.entries, len(file.refusals), file.lines) == (1, 1, ())


def test_the_numbered_purpose_is_joined_before_its_words_are_looked_for() -> None:
    purpose = (
        "166?00SEPA-GUTSCHRIFT?20EREF+RE-2026-0815?21MREF+M1?22CRED+DE98ZZZ09999999999"
        "?23SVWZ+Rechnung 2026-0815 vom?24 12.03. fuer Tischlerarbeit?25en?30COBADEFFXXX"
        "?31DE75 5121 0800 1245 1261 99?32Holzhandel Weber und Soehne?33 GmbH?34000"
    )
    (line,) = read(entry("2001010101C5,00NMSCNONREF//B1", purpose)).lines
    assert line.references.end_to_end == "RE-2026-0815"
    assert line.references.mandate == "M1"
    assert line.references.bank == "B1"
    assert line.purpose.startswith("Rechnung 2026-0815 vom")
    assert line.counterparty_iban == OTHER_IBAN
    assert line.counterparty_name == "Holzhandel Weber und Soehne GmbH"
    assert line.code == "166"


def test_a_word_cut_by_the_end_of_a_subfield_is_found() -> None:
    whole = "Abschlag fuer Werkstatt SVWEREF+ABC-12345"
    cut = whole[:27], whole[27:]
    (line,) = read(entry("2001010101C5,00NMSC", f"166?20{cut[0]}?21{cut[1]}")).lines
    assert line.references.end_to_end is None  # glued to another word it is text
    (line,) = read(entry("2001010101C5,00NMSC", "166?20Abschlag fuer Werkstatt ERE?21F+AB-1")).lines
    assert line.references.end_to_end == "AB-1"


def test_a_purpose_has_no_limit_and_free_text_stays_text() -> None:
    (line,) = read(entry("2001010101C5,00NMSC", "x" * 1000 + "\n:NS: frei\nmehr")).lines
    assert line.purpose.startswith("x" * 1000)


@pytest.mark.parametrize("moment", ["2601011200+0100", "2601011200-0330", "2601011200", "kaputt"])
def test_the_moment_of_a_report_and_free_lines_change_no_booking(moment: str) -> None:
    content = entry("2001010101C5,00NMSC", ":NS: ohne Ziffern\nfrei").replace(
        b":60F:", f":13D:{moment}\n:60F:".encode()
    )
    file = read(content)
    assert (amounts(file), len(file.refusals)) == ([Decimal("5.00")], 0)


def test_broken_tags_are_mended_or_refused_and_never_lost() -> None:
    text = (
        f":20:S\n:25:{IBAN}\n:28C:1/1\n:60F:C200101EUR0,00\n :61:1811261126CR\n30,00N062NONREF\n:\n"
        "86:166?00GUTSCHR?20SVWZ+Test\n:61 1811261126CR40,00N062NONREF\n:86:x\n"
        "61:1811261126CR50,00N062NONREF\n:62F:C200101EUR120,00\n"
    )
    file = read(text.encode())
    assert (file.entries, amounts(file), len(file.refusals)) == (3, [Decimal("30.00")], 2)
    assert file.lines[0].purpose == "Test"


def test_swift_envelopes_old_line_ends_and_page_breaks() -> None:
    body = mt940([booking("2026-03-02", "5.00"), booking("2026-03-03", "-2.00")])
    for content in (
        b"{1:F01BANKDEFF}{2:I940}{4:\r\n" + body + b"-}{5:{CHK:1}}",
        body.replace(b"\r\n", b"\r"),
        body.replace(b"\r\n", b"@@"),
    ):
        assert amounts(read(content)) == [Decimal("5.00"), Decimal("-2.00")]
    paged = (
        f":20:S\n:25:{IBAN}\n:28C:1/1\n:60F:C260301EUR1,00\n:61:2603010301C2,00NMSC\n"
        f":62M:C260301EUR3,00\n-\n:20:S\n:25:{IBAN}\n:28C:1/2\n:60M:C260301EUR3,00\n"
        ":61:2603010301D1,00NMSC\n:62F:C260301EUR2,00\n-"
    )
    file = read(paged.encode())
    assert len(file.statements) == 2
    assert faults(file) == ()


def test_an_interim_report_books_nothing() -> None:
    text = f":20:S\n:25:{IBAN}\n:28C:1/1\n:34F:EURD0,\n:61:2603010301C2,00NMSC\n:90C:1EUR2,00\n"
    file = read(text.encode())
    assert file.statements[0].kind is Kind.REPORT
    assert file.lines[0].status is Status.PENDING


@pytest.mark.parametrize(
    ("account", "key"),
    [
        (IBAN, IBAN),
        (IBAN + "EUR", IBAN),
        ("COBADEFF/" + IBAN, IBAN),
        ("37040044/0532013000", "37040044/0532013000"),
        ("0001234567", "0001234567"),
    ],
)
def test_accounts_are_named_in_many_ways(account: str, key: str) -> None:
    content = entry("2001010101C5,00NMSC").replace(
        f":25:{IBAN}".encode(), f":25:{account}".encode()
    )
    assert read(content).statements[0].account.key == key


# ------------------------------------------------------------------ OFX


@pytest.mark.parametrize("closed", [False, True])
def test_ofx_reads_with_and_without_end_tags(closed: bool) -> None:
    true = [booking("2026-03-02", "-12.50", "Miete & mehr"), booking("2026-03-03", "100.00")]
    file = read(ofx(true, closing="87.50", closed=closed))
    assert [(x.booking_date, x.amount, x.purpose) for x in file.lines] == [
        (b.day, b.amount, b.purpose) for b in true
    ]
    closing = file.statements[0].closing
    assert closing is not None
    assert closing.amount == Decimal("87.50")


def test_ofx_without_the_end_of_its_bookings_loses_none() -> None:
    content = ofx([booking("2026-03-02", "1.00"), booking("2026-03-03", "2.00")])
    content = content.replace(b"</STMTTRN>\n", b"")
    assert amounts(read(content)) == [
        Decimal("1.00"),
        Decimal("2.00"),
    ]


def test_ofx_refuses_an_entry_it_cannot_read_and_keeps_the_rest() -> None:
    content = ofx([booking("2026-03-02", "1.00"), booking("2026-03-03", "2.00")])
    file = read(content.replace(b"<TRNAMT>1.00", b"<TRNAMT>$1.00"))
    assert (amounts(file), len(file.refusals)) == ([Decimal("2.00")], 1)


def test_an_error_of_the_bank_is_not_an_empty_statement() -> None:
    with pytest.raises(BankFileError, match="Server down"):
        read_bank_file(b"OFXHEADER:100\n<OFX><STATUS><MESSAGE>Server down</STATUS></OFX>")


# ------------------------------------------------------------------ which format


@pytest.mark.parametrize(
    ("head", "guess"),
    [
        (b"!Type:Bank\nD01/02/2026", Guess.UNSUPPORTED),
        (b'<?xml version="1.0"?><Document xmlns="urn:x:pain.001.001.03">', Guess.UNSUPPORTED),
        (b"%PDF-1.7", Guess.NOTHING),
        (b"Sehr geehrte Damen und Herren", Guess.NOTHING),
        (b"", Guess.NOTHING),
    ],
)
def test_other_files_are_left_alone_or_named(head: bytes, guess: Guess) -> None:
    assert sniff(head).guess is guess


def test_a_message_is_known_by_its_namespace_however_far_away_it_begins() -> None:
    content = camt(camt_statement([booking("2026-03-02", "5.00")])).decode()
    far = content.replace("<BkToCstmrStmt>", f"<!--{'x' * 5000}--><BkToCstmrStmt>")
    assert amounts(read(far.encode())) == [Decimal("5.00")]
    assert amounts(read(content.replace("UTF-8", "UTF-16").encode("utf-16"))) == [Decimal("5.00")]


def test_utf_16_is_seen_through() -> None:
    text = mt940([booking("2026-03-02", "5.00")]).decode()
    assert amounts(read(text.encode("utf-16"))) == [Decimal("5.00")]


def packed(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def test_an_archive_of_daily_statements_is_one_file_and_a_mixed_one_is_refused() -> None:
    day_1 = camt(camt_statement([booking("2026-03-02", "5.00")], opening="10.00", number="1"))
    day_2 = camt(camt_statement([booking("2026-03-03", "6.00")], opening="15.00", number="2"))
    file = read(packed({"a.xml": day_1, "b.xml": day_2}))
    assert amounts(file) == [Decimal("5.00"), Decimal("6.00")]
    assert [x.place.member for x in file.lines] == ["a.xml", "b.xml"]
    assert faults(file) == ()
    assert read_bank_file(packed({"brief.txt": b"hallo"})) is None
    with pytest.raises(BankFileError, match="no account statements"):
        read_bank_file(packed({"a.xml": day_1, "brief.txt": b"hallo"}))


# ------------------------------------------------------------------ properties

CENTS = st.integers(-10_000_000, 10_000_000).map(lambda cents: Decimal(cents) / 100)
TEXT = st.text(st.sampled_from("abcXYZ 0123-/.,+äöüé&<>"), min_size=1, max_size=60).map(
    lambda text: " ".join(text.split()) or "x"
)
BOOKINGS = st.lists(
    st.builds(Booking, st.dates(date(2019, 12, 1), date(2027, 1, 31)), CENTS, TEXT),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(BOOKINGS, st.sampled_from(["02", "04", "08", "13"]))
def test_every_route_ends_in_the_same_movements(true: list[Booking], version: str) -> None:
    due = [(b.day, b.amount) for b in true]
    routes = [
        camt(camt_statement(true, version=version), version=version),
        mt940([Booking(b.day, b.amount, b.purpose.replace("?", "")) for b in true]),
        ofx(true),
        ofx(true, closed=True),
    ]
    for content in routes:
        file = read(content)
        assert [(x.booking_date, x.amount) for x in file.lines] == due
        assert faults(file) == ()


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["camt", "mt940", "ofx"]),
    st.lists(
        st.tuples(st.integers(0, 4000), st.integers(0, 4000), st.binary(max_size=6)), max_size=5
    ),
)
def test_no_damage_crashes_a_reader_or_loses_an_entry_silently(
    kind: str, damage: list[tuple[int, int, bytes]]
) -> None:
    true = [
        booking("2026-03-02", "5.00"),
        booking("2026-03-03", "-7.50"),
        booking("2026-03-04", "1"),
    ]
    made = {"camt": camt(camt_statement(true)), "mt940": mt940(true), "ofx": ofx(true)}
    content = bytearray(made[kind])
    for at, length, new in damage:
        start = at % len(content) if content else 0
        content[start : start + length] = new
    try:
        file = read_bank_file(bytes(content))
    except BankFileError:
        return
    if file is not None:
        assert file.lost_entries == ()
        entries = {x.entry for x in file.lines} | {x.entry for x in file.refusals}
        assert entries == set(range(file.entries))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b":61:200101C1,00", b"<OFX>", b"<Stmt>"]))
def test_noise_is_never_a_crash(noise: bytes, head: bytes) -> None:
    try:
        file = read_bank_file(head + noise)
    except BankFileError:
        return
    assert file is None or file.lost_entries == ()
