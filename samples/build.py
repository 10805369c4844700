"""Writes the sample inbox: `python samples/build.py --out DIR` (default: `samples/inbox`).

The committed `samples/inbox` is the output of this script. Same library versions, same bytes; a
newer compressor may write other bytes for the same content. Nothing is deleted: a file that is no
longer generated has to be removed by hand, and the tests name it.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from samplekit import atelier, brandt, desk, einvoice, nordwind, unsorted
from samplekit.sample import Sample

INBOX = Path(__file__).parent / "inbox"


def all_samples() -> list[Sample]:
    """Every file of the inbox, sorted by path; raises ValueError when a path comes twice."""
    modules = (nordwind, atelier, brandt, desk, einvoice, unsorted)
    found = [sample for module in modules for sample in module.samples()]
    paths = [sample.path for sample in found]
    if len(set(paths)) != len(paths):
        raise ValueError(f"written twice: {sorted({p for p in paths if paths.count(p) > 1})}")
    return sorted(found, key=lambda sample: sample.path)


def write(samples: Sequence[Sample], out: Path) -> int:
    """Writes the files below `out`; returns the number of bytes."""
    for sample in samples:
        target = out / sample.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(sample.data)
    return sum(len(sample.data) for sample in samples)


def main() -> None:
    """Reads `--out` and writes."""
    parser = argparse.ArgumentParser(description="Write the sample inbox.")
    parser.add_argument("--out", type=Path, default=INBOX, help="folder to write into")
    out: Path = parser.parse_args().out
    samples = all_samples()
    size = write(samples, out)
    print(f"{len(samples)} files, {size / 1e6:.2f} MB in {out}")


if __name__ == "__main__":
    main()
