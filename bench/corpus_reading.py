"""Read a folder of foreign files to their end and compare with what is expected of them.

`python bench/corpus_reading.py FOLDER...`: each file is sniffed, extracted in the reader pool,
triaged and deepened; every file ends in a listed outcome. Beside a file may lie
`<file>.expected.json` with `amount`, `date` and `invoice_number` of an invoice. Nothing is stored.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tgv_dagster.arrive.filetype import sniff_file
from tgv_dagster.deepen.evaluation.papers import VOCABULARY
from tgv_dagster.deepen.specialists import SpecialistInput, specialise
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.extracted import Extraction
from tgv_dagster.understand.extraction import ExtractionSettings
from tgv_dagster.understand.triage import TriageInput, triage
from tgv_dagster.understand.values import as_text
from tgv_dagster.understand.workers import ExtractionPool

COMPARED = (
    (Field.AMOUNT_GROSS, "amount"),
    (Field.INVOICE_DATE, "date"),
    (Field.INVOICE_NUMBER, "invoice_number"),
)


def values_of(path: Path, extraction: Extraction) -> dict[Field, str | None]:
    """Stated values of one extracted file."""
    pages = tuple(page.text for page in extraction.pages)
    first = triage(
        TriageInput(
            pages=pages,
            vocabulary=VOCABULARY,
            file_name="",
            media_type=sniff_file(path).media_type,
            einvoice=extraction.einvoice,
        )
    )
    then = specialise(
        SpecialistInput(first.doc_type, pages, first.findings, language=first.language)
    )
    found = {f.field: as_text(f.value) for f in (*then.findings, *first.findings)}
    return found | {Field.DOC_TYPE: first.doc_type.value}


def expected_of(path: Path) -> dict[str, Any]:
    """What is expected of a file; empty when nothing is."""
    beside = path.with_name(path.name + ".expected.json")
    if not beside.exists():
        return {}
    content = json.loads(beside.read_text(encoding="utf-8"))
    first = content[0] if isinstance(content, list) and content else content
    return first if isinstance(first, dict) else {}


def is_equal(name: Field, said: str, true: object) -> bool:
    """Whether a stated value is the expected one, in either order of a day's parts."""
    if name is Field.AMOUNT_GROSS and isinstance(true, int | float):
        return abs(float(said) - float(true)) < 0.005
    if name is Field.INVOICE_DATE:
        return said in str(true) or said == "-".join(
            reversed(str(true)[:10].replace("/", "-").split("-"))
        )
    letters = str.maketrans("", "", " -./")
    return said.translate(letters).casefold() == str(true).translate(letters).casefold()


def read_folder(folder: Path, pool: ExtractionPool) -> None:
    """Print outcomes, kinds and the comparison of one folder."""
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    ends: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        if ".expected" in path.name or not path.is_file():
            continue
        extraction = pool.extract(path, sniff_file(path), settings=ExtractionSettings())
        outcomes[f"{extraction.status}"] += 1
        if not extraction.reason and not extraction.pages:
            print(f"  no reason: {path.name}")
        values = values_of(path, extraction)
        kinds[values[Field.DOC_TYPE] or "unknown"] += 1
        _compare(path, values, ends)
        if extraction.einvoice is not None:
            gross, stated = extraction.einvoice.gross, values.get(Field.AMOUNT_GROSS)
            totals["equal" if stated == as_text(gross) else "different"] += 1
    print(f"\n{folder.name}: {sum(outcomes.values())} files, {dict(outcomes)}")
    print(f"  kinds: {dict(kinds.most_common())}")
    if totals:
        print(f"  e-invoices, stated gross against the XML: {dict(totals)}")
    for name, _ in COMPARED:
        row = {end: ends[name, end] for end in ("right", "wrong", "not stated")}
        if sum(row.values()):
            print(f"  {name}: {row}")


def _compare(path: Path, values: dict[Field, str | None], ends: Counter[tuple[str, str]]) -> None:
    expected = expected_of(path)
    for name, key in COMPARED:
        true, said = expected.get(key), values.get(name)
        if true in (None, ""):
            continue
        if said is None:
            ends[name, "not stated"] += 1
        elif is_equal(name, said, true):
            ends[name, "right"] += 1
        else:
            ends[name, "wrong"] += 1
            print(f"  {path.name}: {name} said {said}, expected {true}")


def main() -> None:
    """Read every folder named on the command line."""
    pool = ExtractionPool(workers=1)
    try:
        for folder in sys.argv[1:]:
            read_folder(Path(folder), pool)
    finally:
        pool.close()


if __name__ == "__main__":
    main()
