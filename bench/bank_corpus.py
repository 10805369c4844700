"""Bank files of a folder of real files: what becomes of each, compared with expected results.

`python bench/bank_corpus.py FOLDER` prints one row per sub-folder (camt, mt940, ofx, and tables of
bookings as the recogniser proposes them without any memory) and the files whose signed amounts
differ from a `.expected` file beside them. Nothing is written. The expected files come from other
readers and are read for signed amounts only.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tgv_dagster.bank.frame import BankFile, BankFileError, Kind, faults
from tgv_dagster.bank.reading import HEAD, Guess, read_bank_file, sniff
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.model import TableUnreadable
from tgv_dagster.tables.recognising import recognise_file
from tgv_dagster.tables.targets import Target

FOLDERS = ("camt", "mt940", "ofx", "bank-csv")
TABLES = "bank-csv"
_YAML_ROW = re.compile(
    r"models\.Transaction\n.*?decimal\.Decimal\n\s+- '(-?[\d.]+)'.*?\n    status: (\w+)", re.DOTALL
)
_INCOMING = {"c", "rd", "credit", "reversedebit", "crdt"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file. `agrees` is None where no expected result lies beside it."""

    name: str
    outcome: str
    entries: int
    lines: int
    refused: int
    agrees: bool | None


def main() -> None:
    """Read and print."""
    root = Path(sys.argv[1])
    print("| folder | files | entries | lines | refused entries | outcome of the files |")
    print("|---|---|---|---|---|---|")
    compared: list[tuple[str, Outcome]] = []
    for folder in FOLDERS:
        found = [judge(path) for path in sorted((root / folder).iterdir()) if is_input(path)]
        told = ", ".join(
            f"{count} {name}" for name, count in Counter(o.outcome for o in found).most_common()
        )
        print(
            f"| {folder} | {len(found)} | {sum(o.entries for o in found)}"
            f" | {sum(o.lines for o in found)} | {sum(o.refused for o in found)} | {told} |"
        )
        compared += [(folder, one) for one in found if one.agrees is not None]
    agreeing = sum(1 for _, one in compared if one.agrees)
    print(f"\nsigned amounts as expected: {agreeing} of {len(compared)} files")
    for folder, one in compared:
        if not one.agrees:
            print(f"- {folder}/{one.name}: {one.lines} lines, {one.outcome}")


def is_input(path: Path) -> bool:
    """A file to read, not an expected result."""
    return path.is_file() and ".expected" not in path.name


def judge(path: Path) -> Outcome:
    """Read one file and compare it."""
    expected = next(iter(path.parent.glob(f"{path.name}.expected*")), None)
    due = None if expected is None else amounts_of(expected)
    try:
        if path.parent.name == TABLES:
            return judge_table(path, due)
        file = read_bank_file(path.read_bytes())
    except BankFileError as error:
        return Outcome(path.name, f"refused: {kind_of(str(error))}", 0, 0, 0, _agree((), due))
    if file is None:
        return Outcome(path.name, "no bank file", 0, 0, 0, _agree((), due))
    amounts = tuple(line.amount for line in whole(file))
    return Outcome(
        path.name, outcome(file), file.entries, len(file.lines), len(file.refusals),
        _agree(amounts, due),
    )  # fmt: skip


def judge_table(path: Path, due: tuple[Decimal, ...] | None) -> Outcome:
    """A table of bookings as the recogniser proposes it: booked, asked about, or something else.

    A question is no wrong answer, so an asked file agrees with nothing and contradicts nothing.
    """
    content = path.read_bytes()
    sniffed = sniff(content[:HEAD])
    if sniffed.guess is Guess.UNSUPPORTED:
        return Outcome(path.name, f"refused: {sniffed.reason}", 0, 0, 0, None)
    try:
        found, _ = recognise_file(content, hint=path.name)
    except TableUnreadable as error:
        return Outcome(path.name, f"unreadable: {kind_of(str(error))}", 0, 0, 0, None)
    bank = [one for one in found if one.mapping.target is Target.BANK]
    if not bank:
        return Outcome(path.name, "not proposed as bookings", 0, 0, 0, None)
    asked = [question for one in bank for question in one.questions]
    if asked:
        kinds = "/".join(sorted({str(question.kind) for question in asked}))
        return Outcome(path.name, f"asked: {kinds}", 0, 0, 0, None)
    file = bank_file(bank[0].table, bank[0].mapping, known_currency="EUR")
    amounts = tuple(line.amount for line in file.lines)
    return Outcome(
        path.name, outcome(file), file.entries, len(file.lines), len(file.refusals),
        _agree(amounts, due),
    )  # fmt: skip


def whole(file: BankFile) -> Iterator[Any]:
    """Lines, with the parts of a batch as the one entry that other readers show."""
    entries: dict[int, Any] = {}
    for line in file.lines:
        if line.entry in entries:
            kept = entries[line.entry]
            entries[line.entry] = type("Sum", (), {"amount": kept.amount + line.amount})
        else:
            entries[line.entry] = line
    yield from entries.values()


def outcome(file: BankFile) -> str:
    """What an import would do with the file."""
    found = faults(file)
    if found:
        return f"stopped: {kind_of(found[0])}"
    if not file.lines:
        return "no bookings in it"
    if all(statement.kind is not Kind.STATEMENT for statement in file.statements):
        return "report, books nothing"
    proven = any(statement.balances for statement in file.statements)
    return "bookable, sums hold" if proven else "bookable, balances not given"


def kind_of(reason: str) -> str:
    """The reason without numbers and names."""
    text = reason.partition(" (")[0]
    return re.sub(r"^\d+ ", "", re.sub(r"^statement .*?: ", "", text, flags=re.DOTALL))


def _agree(found: tuple[Decimal, ...], due: tuple[Decimal, ...] | None) -> bool | None:
    return None if due is None else sorted(found) == sorted(due)


def amounts_of(expected: Path) -> tuple[Decimal, ...] | None:
    """Signed amounts another reader found; None when the file is of no known shape."""
    if expected.suffix in (".ofx", ".mt940"):
        read = read_bank_file(expected.read_bytes())
        return None if read is None else tuple(line.amount for line in read.lines)
    text = expected.read_text(encoding="utf-8")
    if expected.suffix == ".yml":
        return tuple(
            abs(Decimal(amount)) * (1 if side.lower() in _INCOMING else -1)
            for amount, side in _YAML_ROW.findall(text)
        )
    told = json.loads(text)
    if isinstance(told, dict):
        return tuple(Decimal(row["getAmount"]["getAmount"]) / 100 for row in told["getEntries"])
    return tuple(_rows(told))


def _rows(told: list[Any]) -> Iterator[Decimal]:
    for statement in told:
        if isinstance(statement, list):
            for tag in statement:
                if "value_date" in tag and "amount" in tag:
                    incoming = str(tag.get("sign", "")).lower() in _INCOMING
                    yield Decimal(tag["amount"]) * (1 if incoming else -1)
            continue
        for row in statement.get("statement_lines", statement.get("transactions", [])):
            side = row.get("ext_debit_credit_indicator")
            incoming = row["isCredit"] if side is None else side.lower() in _INCOMING
            yield abs(Decimal(str(row["amount"]))) * (1 if incoming else -1)


if __name__ == "__main__":
    main()
