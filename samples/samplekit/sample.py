"""What every content module hands back: a file with its path below `inbox/`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One file of the sample inbox; `path` is relative to `inbox/` and uses forward slashes."""

    path: str
    data: bytes
