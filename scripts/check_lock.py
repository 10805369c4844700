"""Check that the lock files follow from pyproject.toml; `--write` writes them anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {
    "requirements-installer.lock": ("--group", "installer"),
    "requirements.lock": ("pyproject.toml",),
    "requirements-dev.lock": ("pyproject.toml", "--group", "dev"),
}
COMMAND = (
    str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet",
    "--generate-hashes", "--no-emit-index-url", "--no-header", "--no-strip-extras",
    "--python-version", "3.11",
)  # fmt: skip


def compiled(lock: str, options: tuple[str, ...]) -> str:
    """The lock that pyproject.toml asks for, keeping the versions that are locked today."""
    done = subprocess.run(
        [*COMMAND, *options, "--output-file", lock],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


def main() -> int:
    """Exit status 1 when a lock file is out of date."""
    stale = []
    for lock, options in LOCKS.items():
        path = ROOT / lock
        before = path.read_bytes() if path.exists() else b""
        compiled(lock, options)
        if path.read_bytes() != before:
            stale.append(lock)
            if "--write" not in sys.argv:
                path.write_bytes(before)
    if stale and "--write" not in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `make lock`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
