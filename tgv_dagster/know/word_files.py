"""Checksums of the files of a word index: what the engine does not look at when it reads.

Here belongs the footer of a segment file and nothing else of the engine's format.
"""

import json
import struct
import zlib
from pathlib import Path

_FOOTER_MAGIC = 1337
_READ_BYTES = 1 << 20


def segment_files(path: Path) -> list[str]:
    """Names of the files of the segments in force in one index directory, sorted."""
    segments = json.loads((path / "meta.json").read_text())["segments"]
    prefixes = tuple(segment["segment_id"].replace("-", "") for segment in segments)
    return sorted(
        entry.name
        for entry in path.iterdir()
        if entry.is_file() and entry.name.startswith(prefixes or ("-",))
    )


def is_intact(file: Path) -> bool:
    """Whether a segment file ends in a footer and its bytes have the checksum named there.

    Layout (Tantivy file format): body, footer as JSON with "crc", u32 length of the footer,
    u32 magic number, both little-endian.
    """
    size = file.stat().st_size
    with file.open("rb") as handle:
        if size < 8:
            return False
        handle.seek(size - 8)
        footer_length, magic = struct.unpack("<II", handle.read(8))
        body = size - 8 - footer_length
        if magic != _FOOTER_MAGIC or body < 0:
            return False
        handle.seek(body)
        try:
            written = json.loads(handle.read(footer_length))["crc"]
        except (ValueError, KeyError, TypeError):
            return False
        handle.seek(0)
        checksum, left = 0, body
        while left:
            block = handle.read(min(_READ_BYTES, left))
            if not block:
                return False
            checksum, left = zlib.crc32(block, checksum), left - len(block)
    return checksum == written
