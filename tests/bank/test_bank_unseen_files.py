"""Files as banks write them and few readers expect: what has to be read, and what has to stop."""

from __future__ import annotations

from decimal import Decimal

import pytest
from bank_files import IBAN, OTHER_IBAN, Booking, booking, camt, camt_entry, camt_statement

from tgv_dagster.bank.frame import BankFile, Status, faults
from tgv_dagster.bank.reading import read_bank_file

DAY = "2026-03-02"


def read(content: bytes) -> BankFile:
    file = read_bank_file(content)
    assert file is not None
    return file


def entry_with(one: Booking, details: str, entry: str | None = None) -> bytes:
    written = (entry or camt_entry(one)).partition("<NtryDtls>")[0] + details + "</Ntry>"
    return camt(camt_statement([one], entries=written))


def part(amount: str, more: str = "") -> str:
    tx = f'<AmtDtls><TxAmt><Amt Ccy="EUR">{amount}</Amt></TxAmt></AmtDtls>'
    return f"<TxDtls>{tx}{more}</TxDtls>"


CHARGE = '<Chrgs><Rcrd><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>DBIT</CdtDbtInd></Rcrd></Chrgs>'


def test_parts_less_their_charges_are_the_parts_of_a_net_entry() -> None:
    details = f"<NtryDtls>{part('60.00', CHARGE)}{part('40.00')}</NtryDtls>"
    net = read(entry_with(booking(DAY, "99.00"), details))
    gross = read(entry_with(booking(DAY, "100.00"), details))

    assert [line.amount for line in net.lines] == [Decimal("59.00"), Decimal("40.00")]
    assert [line.amount for line in gross.lines] == [Decimal("60.00"), Decimal("40.00")]
    assert faults(net) == faults(gross) == ()


@pytest.mark.parametrize(("stated", "stops"), [("1", False), ("3", True)])
def test_a_summary_is_proof_where_no_balance_is(stated: str, stops: bool) -> None:
    summary = f"<TxsSummry><TtlNtries><NbOfNtries>{stated}</NbOfNtries></TtlNtries></TxsSummry>"
    one = booking(DAY, "5.00")
    text = camt_statement([one], opening=None, entries=summary + camt_entry(one))

    assert bool(faults(read(camt(text)))) is stops


def test_the_summary_of_all_pages_is_not_that_of_one() -> None:
    one = booking(DAY, "5.00")
    pages = "<StmtPgntn><PgNb>2</PgNb><LastPgInd>true</LastPgInd></StmtPgntn>"
    summary = "<TxsSummry><TtlNtries><NbOfNtries>9</NbOfNtries></TtlNtries></TxsSummry>"
    text = camt_statement([one], opening=None, entries=pages + summary + camt_entry(one))

    assert faults(read(camt(text))) == ()


def test_a_minus_beside_the_indicator_stops_what_no_balance_proves() -> None:
    one = booking(DAY, "-3.00")
    minus = camt_entry(one).replace(">3.00<", ">-3.00<").replace("DBIT", "CRDT")
    proven = read(camt(camt_statement([one], entries=minus)))
    bare = read(camt(camt_statement([one], opening=None, entries=minus)))

    assert faults(proven) == ()
    assert [line.amount for line in proven.lines] == [Decimal("-3.00")]
    assert any("carries a minus" in fault for fault in faults(bare))


def test_a_return_names_the_other_party_and_its_reason() -> None:
    parties = (
        "<RltdPties><Dbtr><Nm>Sven</Nm></Dbtr><Cdtr><Nm>Wir</Nm></Cdtr></RltdPties>"
        "<RtrInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>Konto erloschen</AddtlInf></RtrInf>"
    )
    file = read(
        entry_with(booking(DAY, "-9.00"), f"<NtryDtls><TxDtls>{parties}</TxDtls></NtryDtls>")
    )

    assert (file.lines[0].counterparty_name, file.lines[0].purpose) == ("Sven", "Konto erloschen")


def test_nobody_is_their_own_counterparty() -> None:
    parties = (
        f"<RltdPties><Dbtr><Nm>Sven</Nm></Dbtr><DbtrAcct><Id><IBAN>{OTHER_IBAN}</IBAN></Id>"
        f"</DbtrAcct><Cdtr><Nm>Wir</Nm></Cdtr><CdtrAcct><Id><IBAN>{IBAN}</IBAN></Id></CdtrAcct>"
        "</RltdPties>"
    )
    file = read(
        entry_with(booking(DAY, "-9.00"), f"<NtryDtls><TxDtls>{parties}</TxDtls></NtryDtls>")
    )

    assert (file.lines[0].counterparty_name, file.lines[0].counterparty_iban) == (
        "Sven",
        OTHER_IBAN,
    )


def test_expected_entries_of_mt940_are_not_booked_yet() -> None:
    file = read(
        b":20:S\n:25:12030000/1\n:28C:1/1\n:60F:C260101EUR100,00\n"
        b":61:2601050105EC10,00NTRFNONREF\n:86:x\n:62F:C260105EUR100,00\n-\n"
    )

    assert [(x.amount, x.status) for x in file.lines] == [(Decimal("10.00"), Status.PENDING)]
    assert faults(file) == ()


def ofx(bookings: str) -> bytes:
    return (
        "OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR<BANKACCTFROM>"
        f"<BANKID>1<ACCTID>2</BANKACCTFROM><BANKTRANLIST>{bookings}</STMTRS></STMTTRNRS>"
        "</BANKMSGSRSV1></OFX>"
    ).encode()


def movement(amount: str, kind: str = "DEBIT", more: str = "") -> str:
    return (
        f"<STMTTRN><TRNTYPE>{kind}<DTPOSTED>20260105<TRNAMT>{amount}<FITID>F{amount}{more}"
        "<NAME>A</STMTTRN>"
    )


@pytest.mark.parametrize("action", ["REPLACE", "DELETE"])
def test_a_correction_of_ofx_is_never_one_more_booking(action: str) -> None:
    more = f"<CORRECTFITID>1<CORRECTACTION>{action}"
    file = read(ofx(movement("-10.00", more=more)))

    assert file.lines == ()
    assert any("replaces or deletes" in fault for fault in faults(file))


def test_debits_without_any_minus_stop_an_ofx_file() -> None:
    signless = read(ofx(movement("10.00") + movement("5.00", "CREDIT")))
    signed = read(ofx(movement("-10.00") + movement("5.00")))

    assert any("signs are missing" in fault for fault in faults(signless))
    assert faults(signed) == ()


def test_pending_movements_of_ofx_are_told() -> None:
    pending = (
        "</BANKTRANLIST><BANKTRANLISTP><DTASOF>20260201<STMTTRNP><TRNTYPE>DEBIT"
        "<DTTRAN>20260201<TRNAMT>-4.00<NAME>P</STMTTRNP></BANKTRANLISTP>"
    )
    file = read(ofx(movement("-10.00") + pending))

    assert len(file.lines) == 1
    assert file.notes == ("1 movements that are not booked yet were not read",)
