"""What may be shown where no tenant logs in: counts, ids and codes, never a document's words.

Dagster keeps metadata, messages and stack traces in a storage of its own, in front of which no
wall stands (architecture §4). Everything that goes there passes through here. The full reason
stays in the ledger, the cases and the events, behind the walls.
"""

from __future__ import annotations

import hashlib
import re

_LEADING_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*): ")


class StepStopped(RuntimeError):
    """A step ended by a fault; the message is a code, the fault itself stands in the events."""


def reason_code(reason: str) -> str:
    """A code for a reason: the kind of fault when the reason names one, and a short hash.

    Equal reasons have equal codes, so that they can be counted; no part of the reason's own words
    survives, because a reason may quote a file name.
    """
    digest = hashlib.sha256(reason.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    found = _LEADING_NAME.match(reason)
    if found is not None and found[1] in _known_faults():
        return f"{found[1]}-{digest}"
    return f"reason-{digest}"


def fault_code(error: BaseException) -> str:
    """A code for a fault: its class and a short hash of its message."""
    digest = hashlib.sha256(str(error).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{type(error).__name__}-{digest}"


def _known_faults() -> frozenset[str]:
    """Names of every exception class that is loaded; a file name is never one of them."""
    names: set[str] = set()
    waiting: list[type[BaseException]] = [Exception]
    while waiting:
        current = waiting.pop()
        if current.__name__ not in names:
            names.add(current.__name__)
            waiting += current.__subclasses__()
    return frozenset(names)
