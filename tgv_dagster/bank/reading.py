"""Which bank format a file is in, and the frame it becomes; formats nobody reads here by name.

Here: looking at the first bytes, archives of daily statements, the list of formats that are known
and not supported. Not here: tables of bookings, which the recogniser of tables reads.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from tgv_dagster.bank.camt import read_camt
from tgv_dagster.bank.frame import BankFile, BankFileError, Line, Refusal, Statement
from tgv_dagster.bank.mt940 import read_mt940
from tgv_dagster.bank.ofx import read_ofx

HEAD = 4096
MAX_MEMBERS = 400
MAX_MEMBER_BYTES = 50_000_000
MAX_BYTES = 200_000_000


class Guess(StrEnum):
    """What the first bytes look like."""

    CAMT = "camt"
    MT940 = "mt940"
    OFX = "ofx"
    ARCHIVE = "archive"
    UNSUPPORTED = "unsupported"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Sniffed:
    """The guess; `reason` names the format when it is a bank's and is not supported."""

    guess: Guess
    reason: str = ""


_UNSUPPORTED: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (
        re.compile(rb"\s*!(?:Type|Account|Option):", re.IGNORECASE),
        "QIF has no account and no currency",
    ),
    (re.compile(rb"pain\.00\d\.\d{3}"), "a payment order (pain) is no account statement"),
    (re.compile(rb"camt\.0(?!5[234])\d\d\."), "this CAMT message carries no bookings"),
    (re.compile(rb"0128A[A-Z]"), "DTAUS is a payment order of former times"),
    (re.compile(rb"0[147]\d{5}.{113}\r?\n0[147]\d{5}", re.DOTALL), "CFONB 120 is not supported"),
    (re.compile(rb"00000\d{6}\d{3}05"), "CODA is not supported"),
    (re.compile(rb"01,[^,\n]*,[^,\n]*,\d{6},"), "BAI2 is not supported"),
    (re.compile(rb"11\d{18}\d{12}[12]\d{14}978"), "AEB43 is not supported"),
)
_CAMT = re.compile(
    rb"BkToCstmr(?:Stmt|AcctRpt|DbtCdtNtfctn)(?:V\d\d)?\b|camt\.05[234]\.\d{3}\.\d\d"
)
_MT940 = re.compile(rb"(?:^|\n|\r|@@)[ \t]*:(?:20|25|28C?|60[FM]):")
_MT940_BODY = re.compile(rb"(?:\n|\r|@@)[ \t]*:(?:60[FM]|61|62[FM]|34F):")
_ENTRY = re.compile(rb"(?:^|[\r\n]|@@)[ \t]*:[ \r\n]*61:\d{6}")
_OFX = re.compile(rb"<OFX\s*>|OFXHEADER", re.IGNORECASE)


def sniff(head: bytes) -> Sniffed:
    """Judge the first `HEAD` bytes of a file; UTF-16 counts like its ASCII letters."""
    plain = head.replace(b"\0", b"")
    if plain.startswith(b"PK\x03\x04"):
        return Sniffed(Guess.ARCHIVE)
    if _CAMT.search(plain):
        return Sniffed(Guess.CAMT)
    if _OFX.search(plain):
        return Sniffed(Guess.OFX)
    if _ENTRY.search(plain) or (_MT940.search(plain) and _MT940_BODY.search(plain)):
        return Sniffed(Guess.MT940)
    for pattern, reason in _UNSUPPORTED:
        start = pattern.match(plain.lstrip(b"\xef\xbb\xbf")) or (
            pattern.search(plain) if plain.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<") else None
        )
        if start:
            return Sniffed(Guess.UNSUPPORTED, reason)
    return Sniffed(Guess.NOTHING)


_READERS: dict[Guess, Callable[[bytes], BankFile]] = {
    Guess.CAMT: read_camt,
    Guess.MT940: read_mt940,
    Guess.OFX: read_ofx,
}


def read_bank_file(content: bytes) -> BankFile | None:
    """The file in the neutral frame; None when it is no bank file at all.

    Raises BankFileError with the reason when it is one that cannot be read: an unsupported format,
    broken XML, an archive with something else beside its statements.
    """
    if len(content) > MAX_BYTES:
        raise BankFileError(f"the file is larger than {MAX_BYTES // 1_000_000} MB")
    sniffed = sniff(content[:HEAD])
    if sniffed.guess is Guess.NOTHING:
        return None
    if sniffed.guess is Guess.UNSUPPORTED:
        raise BankFileError(sniffed.reason)
    if sniffed.guess is Guess.ARCHIVE:
        return _read_archive(content)
    return _READERS[sniffed.guess](content)


def _read_archive(content: bytes) -> BankFile | None:
    """Daily statements that a bank packs into one archive; None when none of it is a statement."""
    members = list(_members(content))
    kinds = {name: sniff(data[:HEAD]).guess for name, data in members}
    readable = [name for name, guess in kinds.items() if guess in _READERS]
    if not readable:
        return None
    others = sorted(set(kinds) - set(readable))
    if others:
        raise BankFileError(f"{len(others)} files of the archive are no account statements")
    if len({kinds[name] for name in readable}) > 1:
        raise BankFileError("the archive mixes several formats")
    parts = [_placed(_READERS[kinds[name]](data), name) for name, data in sorted(members)]
    return _merged(parts)


def _members(content: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if len(infos) > MAX_MEMBERS or sum(i.file_size for i in infos) > MAX_BYTES:
                return
            for info in infos:
                with archive.open(info) as member:
                    yield info.filename, member.read(MAX_MEMBER_BYTES)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError):
        return


def _placed(file: BankFile, member: str) -> BankFile:
    def line(found: Line) -> Line:
        return replace(found, place=replace(found.place, member=member))

    def refusal(found: Refusal) -> Refusal:
        return replace(found, place=replace(found.place, member=member))

    return replace(
        file,
        statements=tuple(
            replace(s, lines=tuple(line(found) for found in s.lines)) for s in file.statements
        ),
        refusals=tuple(refusal(found) for found in file.refusals),
    )


def _merged(files: list[BankFile]) -> BankFile:
    statements: list[Statement] = []
    refusals: list[Refusal] = []
    entries = 0
    for file in files:
        for statement in file.statements:
            lines = tuple(replace(found, entry=found.entry + entries) for found in statement.lines)
            statements.append(replace(statement, lines=lines))
        refusals += [replace(found, entry=found.entry + entries) for found in file.refusals]
        entries += file.entries
    return replace(
        files[0],
        entries=entries,
        statements=tuple(statements),
        refusals=tuple(refusals),
        notes=tuple(note for file in files for note in file.notes),
    )
