"""Whether a picture says something: what the mail gate asks before it discards one.

Belongs here: reading one picture and the threshold between words and noise. Does not belong here:
what follows from it (`arrive.mails`), which only gets this function handed in.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from tgv_dagster.arrive.filetype import sniff
from tgv_dagster.understand.extracted import Status
from tgv_dagster.understand.workers import ExtractionPool

LEAST_WORDS = 3
"""Fewer words are what OCR reads off a pattern or an ornament."""

_WORD = re.compile(r"[^\W_]{3,}")


def may_carry_text(pool: ExtractionPool, content: bytes) -> bool:
    """Whether the picture has readable text, or nobody can tell because it could not be read.

    Nothing is discarded on an unmeasured answer; a person looks instead.
    """
    with TemporaryDirectory(prefix="tgv-picture-") as folder:
        path = Path(folder) / "picture"
        path.write_bytes(content)
        found = pool.extract(path, sniff(content, path.name))
    if found.status not in (Status.COMPLETE, Status.EMPTY):
        return True
    return len(_WORD.findall(found.text)) >= LEAST_WORDS
