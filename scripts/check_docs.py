"""Check that every relative link and picture in the Markdown files leads somewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Anchors of a page as Markdown viewers make them."""
    found = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


def broken_links(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    broken = []
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(f"{page.relative_to(ROOT)}: {target}")
    return broken


def main() -> int:
    """Exit status 1 and one line per broken link."""
    pages = [p for p in ROOT.glob("**/*.md") if not {".venv", "var"} & set(p.parts)]
    broken = [line for page in sorted(pages) for line in broken_links(page)]
    print("\n".join(broken), end="\n" if broken else "", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
