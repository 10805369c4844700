"""One ledger of truth, written in the formats banks use; for the tests of this room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from xml.sax.saxutils import escape

IBAN = "DE89370400440532013000"
OTHER_IBAN = "DE75512108001245126199"
NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:camt.053.001."


@dataclass(frozen=True)
class Booking:
    """One true movement; money in is positive."""

    day: date
    amount: Decimal
    purpose: str = "Rechnung 4711"
    name: str = "Holzhandel Weber"
    iban: str = OTHER_IBAN
    bank_id: str | None = None
    pending: bool = False
    reversal: bool = False


def booking(day: str, amount: str, purpose: str = "Rechnung 4711", **more: object) -> Booking:
    return Booking(date.fromisoformat(day), Decimal(amount), purpose, **more)  # type: ignore[arg-type]


def camt_entry(one: Booking, *, version: str = "08", batch: Sequence[Booking] = ()) -> str:
    status = "PDNG" if one.pending else "BOOK"
    sts = f"<Sts><Cd>{status}</Cd></Sts>" if version >= "08" else f"<Sts>{status}</Sts>"
    ref = f"<AcctSvcrRef>{one.bank_id}</AcctSvcrRef>" if one.bank_id else ""
    reversal = "<RvslInd>true</RvslInd>" if one.reversal else ""
    details = "".join(_details(part, version, own=bool(batch)) for part in batch or (one,))
    return (
        f'<Ntry><Amt Ccy="EUR">{abs(one.amount)}</Amt>'
        f"<CdtDbtInd>{'DBIT' if one.amount < 0 else 'CRDT'}</CdtDbtInd>{reversal}{sts}"
        f"<BookgDt><Dt>{one.day}</Dt></BookgDt><ValDt><Dt>{one.day}</Dt></ValDt>{ref}"
        f"<NtryDtls>{details}</NtryDtls></Ntry>"
    )


def _details(one: Booking, version: str, *, own: bool) -> str:
    side = "Dbtr" if one.amount >= 0 else "Cdtr"
    name = f"<Nm>{escape(one.name)}</Nm>"
    party = f"<Pty>{name}</Pty>" if version >= "08" else name
    amount = (
        f'<AmtDtls><TxAmt><Amt Ccy="EUR">{abs(one.amount)}</Amt></TxAmt></AmtDtls>' if own else ""
    )
    return (
        f"<TxDtls>{amount}<RltdPties><{side}>{party}</{side}>"
        f"<{side}Acct><Id><IBAN>{one.iban}</IBAN></Id></{side}Acct></RltdPties>"
        f"<RmtInf><Ustrd>{escape(one.purpose)}</Ustrd></RmtInf></TxDtls>"
    )


def camt_statement(
    bookings: Sequence[Booking],
    *,
    opening: str | None = "1000.00",
    closing: str | None = None,
    first: date | None = None,
    last: date | None = None,
    number: str = "1",
    version: str = "08",
    iban: str = IBAN,
    tag: str = "Stmt",
    entries: str | None = None,
) -> str:
    days = [b.day for b in bookings] or [date(2026, 3, 1)]
    first, last = first or min(days), last or max(days)
    balances = ""
    if opening is not None:
        due = Decimal(opening) + sum((b.amount for b in bookings if not b.pending), Decimal(0))
        end = due if closing is None else Decimal(closing)
        balances = _balance("OPBD", Decimal(opening), first) + _balance("CLBD", end, last)
    body = entries
    if body is None:
        body = "".join(camt_entry(b, version=version) for b in bookings)
    return (
        f"<{tag}><Id>S{number}</Id><ElctrncSeqNb>{number}</ElctrncSeqNb>"
        f"<FrToDt><FrDtTm>{first}T00:00:00</FrDtTm><ToDtTm>{last}T23:59:59</ToDtTm></FrToDt>"
        f"<Acct><Id><IBAN>{iban}</IBAN></Id><Ccy>EUR</Ccy></Acct>{balances}{body}</{tag}>"
    )


def _balance(code: str, amount: Decimal, day: date) -> str:
    return (
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
        f'<Amt Ccy="EUR">{abs(amount)}</Amt>'
        f"<CdtDbtInd>{'DBIT' if amount < 0 else 'CRDT'}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
    )


def camt(
    *statements: str, version: str = "08", message: str = "BkToCstmrStmt", encoding: str = "UTF-8",
    namespace: str | None = None,
) -> bytes:  # fmt: skip
    space = NAMESPACE + version if namespace is None else namespace
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<Document xmlns="{space}"><{message}>'
        f"<GrpHdr><MsgId>M</MsgId></GrpHdr>\n{chr(10).join(statements)}</{message}></Document>"
    )
    return text.encode(encoding)


def mt940(
    bookings: Sequence[Booking],
    *,
    opening: str = "1000.00",
    account: str = IBAN,
    number: str = "1/1",
) -> bytes:
    first, last = min(b.day for b in bookings), max(b.day for b in bookings)
    end = Decimal(opening) + sum((b.amount for b in bookings), Decimal(0))
    lines = [":20:STARTUMS", f":25:{account}", f":28C:{number}"]
    lines.append(f":60F:{_mark(Decimal(opening))}{first:%y%m%d}EUR{_comma(Decimal(opening))}")
    for one in bookings:
        lines.append(f":61:{one.day:%y%m%d%m%d}{_mark(one.amount)}{_comma(one.amount)}NMSCNONREF")
        cut = [one.purpose[i : i + 27] for i in range(0, len(one.purpose), 27)]
        purpose = "".join(f"?{20 + n}{part}" for n, part in enumerate(cut[:10]))
        lines.append(f":86:166?00BUCHUNG{purpose}?30COBADEFF?31{one.iban}?32{one.name[:27]}")
    lines.append(f":62F:{_mark(end)}{last:%y%m%d}EUR{_comma(end)}")
    return ("\r\n".join([*lines, "-"]) + "\r\n").encode()


def _mark(amount: Decimal) -> str:
    return "D" if amount < 0 else "C"


def _comma(amount: Decimal) -> str:
    return f"{abs(amount):.2f}".replace(".", ",")


def ofx(bookings: Sequence[Booking], *, closing: str = "1000.00", closed: bool = False) -> bytes:
    """OFX 1 without end tags of its leaves, or OFX 2 with them."""

    def leaf(name: str, value: object) -> str:
        return f"<{name}>{escape(str(value))}" + (f"</{name}>" if closed else "") + "\n"

    body = "".join(
        "<STMTTRN>\n"
        + leaf("TRNTYPE", "OTHER")
        + leaf("DTPOSTED", f"{one.day:%Y%m%d}120000[+1:CET]")
        + leaf("TRNAMT", one.amount)
        + (leaf("FITID", one.bank_id) if one.bank_id else "")
        + leaf("NAME", one.name)
        + leaf("MEMO", one.purpose)
        + "</STMTTRN>\n"
        for one in bookings
    )
    last = max(b.day for b in bookings)
    head = '<?xml version="1.0"?><?OFX OFXHEADER="200"?>' if closed else "OFXHEADER:100\n\n"
    return (
        f"{head}<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS>\n{leaf('CURDEF', 'EUR')}"
        f"<BANKACCTFROM>\n{leaf('BANKID', '37040044')}{leaf('ACCTID', IBAN)}</BANKACCTFROM>\n"
        f"<BANKTRANLIST>\n{body}</BANKTRANLIST>\n"
        f"<LEDGERBAL>\n{leaf('BALAMT', closing)}{leaf('DTASOF', f'{last:%Y%m%d}')}</LEDGERBAL>\n"
        "</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>\n"
    ).encode()
