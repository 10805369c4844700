"""Write docs/audit.md from the audit register, so that no second list of checkpoints exists.

`--check` only says whether the page is the register's (CHAIN-10).
"""

from __future__ import annotations

import sys
from pathlib import Path

from tgv_dagster.audit.register import CHECKPOINTS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "audit.md"
HEAD = """\
# Audit gates

Generated from `tgv_dagster/audit/register.py` by `scripts/audit_page.py`; change it there.

A checkpoint is **green**, **red** or **unmeasured**. Unmeasured is the absence of a statement: it
is never shown as green or red, and its reason says why nothing was measured. A measurement that is
older than its clock is unmeasured. A **gate** judges per item: an item that violates it is held,
listed in `tgv parked list`, and the rest of the batch goes on; it stops what stands behind it only
when something went around the guard. In Dagster green is a passed check, red a failed one, and an
unmeasured one stays grey.

The count of a checkpoint starts on the day it was first measured; `tgv status` and
`GET /api/audit/checkpoints` show that day, the last measurement and the figures.

| State | Dagster | Page `/chain` | Graph `/api/skill/system-graph` |
|---|---|---|---|
| green | check passed | filled circle, "green" | the same |
| red | check failed; blocks behind a gate | filled square, "red" | the same |
| unmeasured | check skipped (grey), reason in `verdicts` | open triangle, "unmeasured" | the same |

Intervals that share space are drawn beside their failed check: a bar per row, the shared space
hatched.

A station is red when one of its checkpoints is, green when all are, and unmeasured otherwise. What
should be (SOLL) is kept by hand in `soll.md` of the home folder, else the one shipped, and stands
on the page word for word; what is (IST) is read from this register at every request. Each night
every gate is shown a fault at a synthetic test tenant (`gates_turn_red`). In the tests every
checkpoint that is measured turns green and red on purpose, and unmeasured where it needs data,
where its database goes away in the middle, and when it is old; [states.md](states.md) shows each
in each state.

![The chain with a red, a green and unmeasured stations](images/intake-chain.png)

![A gate that something went around, as the Dagster UI shows it](images/failed-gate.png)
"""


def page() -> str:
    """The page as the register has it today."""
    lines = [HEAD]
    for station in dict.fromkeys(checkpoint.station for checkpoint in CHECKPOINTS):
        lines.append(f"\n## {station.capitalize()}\n")
        lines.append("| Checkpoint | Kind | States | Cannot say | When it is not green |")
        lines.append("|---|---|---|---|---|")
        for checkpoint in CHECKPOINTS:
            if checkpoint.station is station:
                kind = "gate" if checkpoint.gate else str(checkpoint.severity)
                cells = (checkpoint.statement.en, checkpoint.limit.en, checkpoint.remedy.en)
                texts = " | ".join(cell.replace("|", "\\|") for cell in cells)
                lines.append(f"| `{checkpoint.id}` | {kind} | {texts} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or compare it."""
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") == page():
            return 0
        print("docs/audit.md is not the register's; run scripts/audit_page.py", file=sys.stderr)
        return 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
