"""Versions that follow from the code: what reads and what understands, each by its own sources.

Here: the digests that stand on every text and every value. Nobody raises them by hand: a changed
rule, word list or reader is another version by itself.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_READING = ("understand/readers", "understand/extracted.py", "understand/extraction.py",
            "understand/layout.py", "understand/text_quality.py", "understand/einvoice_model.py",
            "understand/einvoice_text.py", "arrive/filetype.py", "arrive/decoding.py")  # fmt: skip
_DECIDING = ("understand", "deepen")
_APART = ("understand/readers", "deepen/evaluation")
_SOURCES = (".py", ".yaml")


def _files(roots: Iterable[str], apart: Iterable[str] = ()) -> list[Path]:
    found: set[Path] = set()
    for root in roots:
        path = _PACKAGE / root
        found |= {path} if path.is_file() else set(path.rglob("*"))
    out = [_PACKAGE / name for name in apart]
    return sorted(
        path
        for path in found
        if path.suffix in _SOURCES and not any(path.is_relative_to(name) for name in out)
    )


def digest(files: Iterable[Path]) -> str:
    """Twelve hexadecimal digits over the names and contents of files, in the order given."""
    total = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        total.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:12]


def reading_version() -> str:
    """The version of what turns bytes into text."""
    return digest(_files(_READING))


def deciding_version() -> str:
    """The version of what turns text into values: code and rule data of two rooms."""
    return digest(_files(_DECIDING, _APART))
