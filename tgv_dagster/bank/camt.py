"""CAMT.052, 053 and 054 in every version: matched by local names, never by namespace.

Versions differ in wrappers (`Pty`, `Cd`, `BICFI`) and producers misspell the namespace; the shape
decides, and the version is told as information only. The sign is the credit/debit indicator of the
entry; a reversal already carries the indicator of its own movement (ISO 20022, RvslInd).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache

from tgv_dagster.bank.frame import (
    AccountRef,
    Balance,
    BankFile,
    BankFileError,
    Format,
    Identity,
    IdentityKind,
    Kind,
    Line,
    Place,
    References,
    Refusal,
    Statement,
    Status,
)
from tgv_dagster.understand.extracted import ReaderError
from tgv_dagster.understand.readers.xml_tree import Element, parse

VERSION = "camt-2"

_KINDS = {"Stmt": Kind.STATEMENT, "Rpt": Kind.REPORT, "Ntfctn": Kind.NOTIFICATION}
_MESSAGES = {
    "BkToCstmrStmt": "camt.053",
    "BkToCstmrAcctRpt": "camt.052",
    "BkToCstmrDbtCdtNtfctn": "camt.054",
}
_OPENING = ("OPBD", "PRCD")
_CLOSING = ("CLBD",)
_NO_REFERENCE = {"", "NOTPROVIDED", "NONREF", "NOTAVAILABLE", "NONE", "N/A"}
_AMOUNT = re.compile(r"[+-]?\d{1,18}(?:\.\d{1,5})?|[+-]?\.\d{1,5}")
_POSITION = re.compile(r"\d{1,5}")


def read_camt(content: bytes) -> BankFile:
    """The statements of a CAMT message. Raises BankFileError when it is none, is not well-formed,
    or carries a document type declaration."""
    try:
        root, mended = parse(content)
    except ReaderError as error:
        raise BankFileError(str(error)) from error
    found = [node for node in root.xpath(_MESSAGE_NODES) if _message(node) is not None]
    if not found:
        raise BankFileError("the XML holds no account statement, report or notification")
    counter = _Entries()
    statements = tuple(
        _statement(node, _KINDS[_local(node.tag)], counter)
        for message in found
        for node in message
        if _local(node.tag) in _KINDS
    )
    total = sum(int(message.xpath(_COUNT_ENTRIES)) for message in found)
    return BankFile(
        format=Format.CAMT,
        variant=_variant(found[0]),
        parser_version=VERSION,
        entries=total,
        statements=statements,
        refusals=tuple(counter.refusals),
        notes=(mended,) if mended else (),
    )


_MESSAGE_NODES = "descendant-or-self::*[starts-with(local-name(), 'BkTo')]"
_COUNT_ENTRIES = "count(descendant::*[local-name() = 'Ntry'])"


class _Node:
    """One element without its namespace; an entry is copied in one walk and is cheap from then on.

    `text` has no blanks at its ends, `unit` is the currency it carries, `below` are those of its
    children that are wanted; an lxml element is the sequence of its own.
    """

    __slots__ = ("children", "tag", "text", "unit")

    def __init__(self, element: Element, below: Sequence[Element]) -> None:
        self.tag = _local(element.tag)
        self.text = (element.text or "").strip()
        self.unit: str | None = element.get("Ccy")
        self.children: Sequence[_Node] = [_Node(c, c) for c in below] if len(below) else ()


@cache
def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


@cache
def _steps(path: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(one.split("/")) for one in path.split("|"))


def first(node: _Node | None, path: str) -> _Node | None:
    """The first element at a path; alternatives are whole paths, separated by a bar."""
    if node is None:
        return None
    for steps in _steps(path):
        found = _found(node, steps, 0)
        if found is not None:
            return found
    return None


def _found(node: _Node, steps: tuple[str, ...], at: int) -> _Node | None:
    wanted, last = steps[at], at + 1 == len(steps)
    for child in node.children:
        if child.tag == wanted:
            found = child if last else _found(child, steps, at + 1)
            if found is not None:
                return found
    return None


def each(node: _Node, path: str) -> Iterator[_Node]:
    """Every element at a path, in the order of the file."""
    step, _, rest = path.partition("/")
    for child in node.children:
        if child.tag == step:
            if rest:
                yield from each(child, rest)
            else:
                yield child


def text(node: _Node | None, path: str = "") -> str:
    """The text of a node, or of the first element at `path`; blanks at both ends are taken off."""
    found = first(node, path) if path else node
    return found.text if found is not None else ""


class _Unreadable(Exception):
    """This one entry cannot become a line."""


class _Entries:
    """Numbers the entries of a file and collects those that are refused."""

    def __init__(self) -> None:
        self.next = 0
        self.refusals: list[Refusal] = []


def _message(node: Element) -> str | None:
    """The message a node stands for; the first versions carry their version in its name."""
    name = _local(node.tag)
    return _MESSAGES.get(re.sub(r"V\d\d$", "", name)) if name.startswith("BkTo") else None


def _variant(message: Element) -> str:
    namespace = message.tag.rpartition("}")[0]
    version = re.search(r"05[234]\.\d{3}\.\d{2}", namespace)
    return f"camt.{version[0]}" if version else _message(message) or "camt"


def _statement(element: Element, kind: Kind, counter: _Entries) -> Statement:
    entries = [child for child in element if _local(child.tag) == "Ntry"]
    node = _Node(element, [child for child in element if _local(child.tag) != "Ntry"])
    account = _account(first(node, "Acct"))
    lines: list[Line] = []
    faults: list[str] = []
    for written in entries:
        entry, place = _Node(written, written), _place(written)
        number = counter.next
        counter.next += 1
        try:
            found, fault = _lines(entry, number, account, kind, place)
        except _Unreadable as error:
            counter.refusals.append(Refusal(number, str(error), _raw(entry), place))
            continue
        lines += found
        faults += fault
    opening, closing, unread = _balances(node, account)
    statement = Statement(
        kind=kind,
        account=account,
        number=text(node, "ElctrncSeqNb") or text(node, "LglSeqNb") or text(node, "Id") or None,
        opening=opening,
        closing=closing,
        lines=tuple(lines),
        first_day=_day_of(first(node, "FrToDt"), "FrDtTm|FrDt"),
        last_day=_day_of(first(node, "FrToDt"), "ToDtTm|ToDt"),
        faults=(*faults, *unread),
    )
    return _without_proof(_mend_reversals(statement), node, len(entries))


def _without_proof(statement: Statement, node: _Node, entries: int) -> Statement:
    """Where no balances prove a statement, its own summary and the signs have to agree."""
    if statement.balances:
        return statement
    found: list[str] = []
    stated = text(node, "TxsSummry/TtlNtries/NbOfNtries")
    pages = first(node, "StmtPgntn|RptPgntn|NtfctnPgntn")
    whole = pages is None or (text(pages, "PgNb"), text(pages, "LastPgInd")) == ("1", "true")
    if whole and stated.isdecimal() and int(stated) not in (entries, len(statement.lines)):
        found.append(f"its summary states {stated} entries and it holds {entries}")
    if any(_BELOW_NOTHING in line.notes for line in statement.lines):
        found.append("an amount carries a minus beside its indicator, and no balance tells which")
    return replace(statement, faults=(*statement.faults, *found))


_BELOW_NOTHING = "the amount carries a minus beside its indicator"


def _mend_reversals(statement: Statement) -> Statement:
    """Some banks keep the original's indicator on a reversal; the balance equation tells."""
    if statement.balances is not False or not any(line.reversal for line in statement.lines):
        return statement
    flipped = tuple(
        replace(line, amount=-line.amount, notes=(*line.notes, _FLIPPED)) if line.reversal else line
        for line in statement.lines
    )
    other = replace(statement, lines=flipped)
    return other if other.balances else statement


_FLIPPED = "the sign of the reversal follows from the balances"


def _account(node: _Node | None) -> AccountRef:
    iban = "".join(text(node, "Id/IBAN").split()).upper()
    number = text(node, "Id/Othr/Id") or text(node, "Id/PrtryAcct/Id") or text(node, "Id/BBAN")
    servicer = first(node, "Svcr/FinInstnId")
    bank = text(servicer, "ClrSysMmbId/MmbId") or text(servicer, "BICFI|BIC")
    return AccountRef(
        iban=iban or None,
        number=number or None,
        bank=bank or None,
        currency=text(node, "Ccy") or None,
        owner=text(node, "Ownr/Nm") or text(node, "Ownr/Pty/Nm") or None,
    )


def _balances(node: _Node, account: AccountRef) -> tuple[Balance | None, Balance | None, list[str]]:
    found: dict[str, Balance] = {}
    unread: list[str] = []
    for balance in each(node, "Bal"):
        code = text(balance, "Tp/CdOrPrtry/Cd") or text(balance, "Tp/CdOrPrtry/Prtry")
        if code not in _OPENING + _CLOSING or code in found:
            continue
        try:
            amount, currency = _signed(balance, account)
        except _Unreadable as error:
            unread.append(f"balance {code}: {error}")
            continue
        day = _day_of(balance, "Dt")
        if day is None:
            unread.append(f"balance {code}: it has no day")
            continue
        found[code] = Balance(amount, day, currency)
    opening = next((found[code] for code in _OPENING if code in found), None)
    return opening, found.get("CLBD"), unread


def _lines(
    entry: _Node, number: int, account: AccountRef, kind: Kind, place: Place
) -> tuple[list[Line], list[str]]:
    amount, currency = _signed(entry, account)
    status = _status(entry, kind)
    notes: tuple[str, ...] = ()
    booked, valued = _day_of(entry, "BookgDt"), _day_of(entry, "ValDt")
    if booked is None:
        if valued is None:
            raise _Unreadable("it has neither a booking day nor a value day")
        booked, notes = valued, ("the value day stands for the missing booking day",)
    if text(entry, "Amt").startswith("-"):
        notes = (*notes, _BELOW_NOTHING)
    details = list(each(entry, "NtryDtls/TxDtls"))
    parts, faults = _parts(entry, details, amount, currency)
    shared = _Shared(
        entry, number, booked, valued, currency, status, notes, _raw(entry), place, account
    )
    if not parts:
        return [_line(shared, details[0] if len(details) == 1 else None, 0, amount)], faults
    return [_line(shared, part, n, own) for n, (part, own) in enumerate(parts)], faults


def _parts(
    entry: _Node, details: list[_Node], amount: Decimal, currency: str
) -> tuple[list[tuple[_Node, Decimal]], list[str]]:
    """The parts of a batch entry with their own amounts; empty when the entry is one line.

    Parts without an amount in the currency of the entry leave it whole: nothing is invented.
    """
    if len(details) < 2:
        return [], []
    amounts = [_part_amount(part, entry, currency) for part in details]
    if any(own is None for own in amounts):
        return [], []
    known = [own for own in amounts if own is not None]
    if sum(known) != amount:
        charged = [own - _charges(part, currency) for part, own in zip(details, known, strict=True)]
        known = charged if sum(charged) == amount else known
    if sum(known) != amount:
        return [], [f"the {len(details)} parts of an entry do not sum to it"]
    return list(zip(details, known, strict=True)), []


def _charges(part: _Node, currency: str) -> Decimal:
    """What the bank kept from this part, in the currency of the entry."""
    kept = Decimal(0)
    for charge in (*each(part, "Chrgs/Rcrd"), *each(part, "Chrgs")):
        amount = first(charge, "Amt")
        if amount is not None and (amount.unit or currency) == currency:
            size = _number(amount.text)
            kept += -size if text(charge, "CdtDbtInd") == "CRDT" else size
    return kept


def _part_amount(part: _Node, entry: _Node, currency: str) -> Decimal | None:
    for path in ("Amt", "AmtDtls/TxAmt/Amt", "AmtDtls/InstdAmt/Amt"):
        node = first(part, path)
        if node is not None and (node.unit or currency) == currency:
            try:
                own = _number(text(node))
            except _Unreadable:
                return None
            side = text(part, "CdtDbtInd") or text(entry, "CdtDbtInd")
            return -own if side == "DBIT" else own
    return None


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all lines of one entry have in common."""

    entry: _Node
    number: int
    booked: date
    valued: date | None
    currency: str
    status: Status
    notes: tuple[str, ...]
    raw: str
    place: Place
    account: AccountRef


def _line(shared: _Shared, part: _Node | None, number: int, amount: Decimal) -> Line:
    entry = shared.entry
    name, iban = _counterparty(part, shared.account, incoming=amount >= 0)
    bank = text(part, "Refs/AcctSvcrRef")
    return Line(
        entry=shared.number,
        part=number,
        booking_date=shared.booked,
        value_date=shared.valued,
        amount=amount,
        currency=shared.currency,
        purpose=_purpose(entry, part),
        counterparty_name=name,
        counterparty_iban=iban,
        references=References(
            end_to_end=_reference(text(part, "Refs/EndToEndId")),
            mandate=_reference(text(part, "Refs/MndtId")),
            creditor_id=_reference(_creditor_id(part)),
            customer=_reference(text(part, "Refs/InstrId")),
            bank=_reference(bank) or _reference(text(entry, "AcctSvcrRef")),
        ),
        status=shared.status,
        reversal=text(entry, "RvslInd").lower() in ("true", "1"),
        identity=_identity(entry, part, number),
        raw=shared.raw,
        place=shared.place,
        code=_code(entry),
        notes=shared.notes,
    )


def _identity(entry: _Node, part: _Node | None, number: int) -> Identity:
    if own := _reference(text(part, "Refs/AcctSvcrRef")):
        return Identity(IdentityKind.BANK_ID, own)
    if of_entry := _reference(text(entry, "AcctSvcrRef")):
        if number == 0:
            return Identity(IdentityKind.BANK_ID, of_entry)
        return Identity(IdentityKind.BATCH_PART, f"{of_entry}#{number}")
    reference = _reference(text(entry, "NtryRef"))
    if reference and len(reference) > 5 and not _POSITION.fullmatch(reference):
        return Identity(IdentityKind.ENTRY_REFERENCE, f"{reference}#{number}")
    return Identity(IdentityKind.CONTENT, f"{_content(entry)}#{number}")


def _content(entry: _Node) -> str:
    """Texts of the leaves without blanks; what differs between two exports of one line is out."""
    return "|".join(_leaves(entry))


def _leaves(node: _Node) -> Iterator[str]:
    for child in node.children:
        if child.tag in ("Sts", "NtryRef", "RvslInd"):
            continue
        if child.children:
            yield from _leaves(child)
        elif child.text:
            yield "".join(child.text.split())


def _purpose(entry: _Node, part: _Node | None) -> str:
    sources = [part] if part is not None else list(each(entry, "NtryDtls/TxDtls"))
    found: list[str] = []
    for source in sources:
        found += [node.text for node in each(source, "RmtInf/Ustrd")]
        found += [node.text for node in each(source, "RmtInf/Strd/CdtrRefInf/Ref")]
        found.append(text(source, "AddtlTxInf"))
        found += [n.text for n in each(source, "RtrInf/AddtlInf") if n.text not in found]
    if not any(found):
        found = [text(entry, "AddtlNtryInf")]
    return " ".join(part for part in found if part)


def _counterparty(
    part: _Node | None, account: AccountRef, *, incoming: bool
) -> tuple[str | None, str | None]:
    """Who stands on the other side: by the sign, except in a return that names both, as it keeps
    the parties of the original. Nobody is their own counterparty where the other side is known."""
    told, opposite = _party(part, "Dbtr"), _party(part, "Cdtr")
    if not incoming:
        told, opposite = opposite, told
    if first(part, "RtrInf") is not None and any(opposite):
        told, opposite = opposite, told
    if account.iban and told[1] == account.iban and opposite[1] != account.iban and any(opposite):
        return opposite
    return told


def _party(part: _Node | None, side: str) -> tuple[str | None, str | None]:
    party = first(part, f"RltdPties/{side}")
    name = text(party, "Nm") or text(party, "Pty/Nm")
    iban = "".join(text(part, f"RltdPties/{side}Acct/Id/IBAN").split()).upper()
    return name or None, iban or None


def _creditor_id(part: _Node | None) -> str:
    for path in ("RltdPties/Cdtr/Id/PrvtId/Othr/Id", "RltdPties/Cdtr/Pty/Id/PrvtId/Othr/Id"):
        if found := text(part, path):
            return found
    return ""


def _reference(value: str) -> str | None:
    squeezed = " ".join(value.split())
    return None if squeezed.upper() in _NO_REFERENCE else squeezed


def _code(entry: _Node) -> str | None:
    domain = first(entry, "BkTxCd/Domn")
    codes = [
        text(domain, "Cd"),
        text(domain, "Fmly/Cd"),
        text(domain, "Fmly/SubFmlyCd"),
    ]
    told = "/".join(code for code in codes if code)
    return told or text(entry, "BkTxCd/Prtry/Cd") or None


def _status(entry: _Node, kind: Kind) -> Status:
    """Only what the bank calls booked is booked; without a word a statement books (CAMT.053)."""
    word = (text(entry, "Sts/Cd") or text(entry, "Sts/Prtry") or text(entry, "Sts")).upper()
    if not word:
        return Status.BOOKED if kind is Kind.STATEMENT else Status.PENDING
    return Status.BOOKED if word == "BOOK" else Status.PENDING


def _signed(node: _Node, account: AccountRef) -> tuple[Decimal, str]:
    amount = first(node, "Amt")
    if amount is None:
        raise _Unreadable("it has no amount")
    value = _number(text(amount))
    side = text(node, "CdtDbtInd").upper()
    if side not in ("CRDT", "DBIT"):
        raise _Unreadable("it does not say credit or debit")
    currency = amount.unit or account.currency
    if not currency:
        raise _Unreadable("its amount has no currency")
    return (-value if side == "DBIT" else value), currency


def _number(value: str) -> Decimal:
    if not _AMOUNT.fullmatch(value):
        raise _Unreadable("its amount is no number")
    try:
        number = Decimal(value)
    except InvalidOperation as error:
        raise _Unreadable("its amount is no number") from error
    if number != round(number, 2):
        raise _Unreadable("its amount has more than two decimals")
    return number


def _day_of(node: _Node | None, path: str) -> date | None:
    """The civil day of `Dt` or `DtTm` below (or at) `path`; None when missing or impossible."""
    found = first(node, path)
    if found is None:
        return None
    value = text(found, "Dt") or text(found, "DtTm") or text(found)
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        pass
    try:
        return datetime.strptime(value[:8], "%Y%m%d").date()
    except ValueError:
        return None


def _raw(entry: _Node) -> str:
    shown: list[str] = []
    _show(entry, shown)
    return "\n".join(shown)


def _show(node: _Node, shown: list[str]) -> None:
    if node.text:
        unit = f" {node.unit}" if node.unit else ""
        shown.append(f"{node.tag}={' '.join(node.text.split())}{unit}")
    for child in node.children:
        _show(child, shown)


def _place(entry: Element) -> Place:
    """From its own line to that of its last element, or to the line before the next one."""
    following, last = entry.getnext(), entry
    while len(last):
        last = last[-1]
    start = entry.sourceline or 0
    end = max(start, last.sourceline or 0)
    if following is not None and following.sourceline:
        end = max(end, following.sourceline - 1)
    return Place(start, end)
