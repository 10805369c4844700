"""Mail intake beside mbsync: `python bench/mail_intake.py [mails] [directory]`.

Fills a Maildir of a throwaway Dovecot (mixed sizes, one mail in twenty with a 5 MB attachment),
copies it with mbsync (FSync yes) and then takes it with the mailbox gate: fetch, EML, ledger. Both
in one run on one volume; only the ratio means anything on a shared machine. Then: splitting beside
a bare write-and-sync loop of the same parts, a second poll, a second balance, and the memory of
taking mails with 25 MB attachments, above what the process used before.
"""

from __future__ import annotations

import base64
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import SecretStr

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "arrive"))

from dovecot import PASSWORD, USER, Dovecot, running_dovecot

from tgv_dagster.arrive.mail_access import set_switch
from tgv_dagster.arrive.mail_balance import balance
from tgv_dagster.arrive.mailbox import MailReport, parts_of, poll
from tgv_dagster.arrive.mails import split_mails
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded

MAILS = 10_000
BIG_EVERY = 20
BIG_BYTES = 5_000_000
HUGE_BYTES = 25_000_000
HUGE_MAILS = 4
OLD_SECONDS_PER_MAIL = 11.2
"""Worst case measured in the former system (MAIL-55)."""


def main() -> None:
    """Measure and print."""
    mails = int(sys.argv[1]) if len(sys.argv) > 1 else MAILS
    place = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if shutil.which("mbsync") is None:
        sys.exit("mbsync is missing: apt-get install --no-install-recommends isync")
    with running_dovecot() as server, tempfile.TemporaryDirectory(dir=place) as scratch:
        size = fill(server, mails)
        print(f"{mails} mails, {size / 1e6:.0f} MB\n")
        copied = mbsync(server, Path(scratch))
        measure_ours(server, Path(scratch), mails, copied)


def fill(server: Dovecot, mails: int) -> int:
    """Write the mails into the Maildir; returns their bytes."""
    chance = random.Random(1)
    new = server.folder / "mail" / USER / "new"
    server.deliver(message(0, 100))  # Dovecot makes the folders itself
    total = 0
    owner = new.parent.stat()
    for number in range(1, mails):
        big = number % BIG_EVERY == 0
        raw = message(number, BIG_BYTES if big else chance.randint(200, 60_000))
        path = new / f"{1_700_000_000 + number}.M{number}P1.bench"
        path.write_bytes(raw)
        os.chown(path, owner.st_uid, owner.st_gid)
        total += len(raw)
    return total


def message(number: int, attachment: int) -> bytes:
    """A mail with one attachment of this size; every number gives other bytes."""
    content = random.Random(number).randbytes(attachment)
    return (
        (
            f"From: a@example.org\r\nTo: {USER}\r\nSubject: Mail {number}\r\n"
            f"Message-ID: <bench-{number}@example.org>\r\nMIME-Version: 1.0\r\n"
            'Content-Type: multipart/mixed; boundary="grenze"\r\n\r\n--grenze\r\n'
            f"Content-Type: text/plain\r\n\r\nMail {number}\r\n--grenze\r\n"
            "Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n"
            f'Content-Disposition: attachment; filename="{number}.bin"\r\n\r\n'
        ).encode()
        + base64.encodebytes(content).replace(b"\n", b"\r\n")
        + b"--grenze--\r\n"
    )


def mbsync(server: Dovecot, scratch: Path) -> float:
    """Seconds of a whole copy by mbsync with fsync."""
    target = scratch / "mbsync"
    target.mkdir()
    config = scratch / "mbsyncrc"
    config.write_text(
        f"""FSync yes
IMAPAccount box
Host 127.0.0.1
Port {server.port}
User {USER}
Pass {PASSWORD}
SSLType None
AuthMechs LOGIN

IMAPStore far
Account box

MaildirStore near
Path {target}/
Inbox {target}/INBOX

Channel all
Far :far:
Near :near:
Patterns INBOX
Create Near
Sync Pull
SyncState {scratch}/state
"""
    )
    started = time.monotonic()
    subprocess.run(["mbsync", "-q", "-c", str(config), "all"], check=True)
    return time.monotonic() - started


def measure_ours(server: Dovecot, scratch: Path, mails: int, copied: float) -> None:
    """Take the same mailbox with the gate and print the table."""
    installation = opened(server, scratch / "home")
    before = memory()
    print("| what | seconds | per mail | beside |")
    print("|---|---|---|---|")
    print(f"| mbsync, FSync yes | {copied:.1f} | {per(copied, mails)} | 1 |", flush=True)
    started = time.monotonic()
    report = poll_now(installation)
    seconds = time.monotonic() - started
    assert len(report.taken) == mails, (len(report.taken), report.stopped)
    print(
        f"| fetch + EML + ledger | {seconds:.1f} | {per(seconds, mails)} | {seconds / copied:.2f} |"
    )
    print(f"| former system, worst case | | {OLD_SECONDS_PER_MAIL * 1000:.0f} ms | |")
    print(f"| second poll, no body | {timed(lambda: poll_now(installation)):.2f} | | |")
    parts = parts_of(installation.database, installation.blobs, installation.settings)
    balance(parts)
    print(f"| second balance, no body | {timed(lambda: balance(parts)):.2f} | | |", flush=True)
    split_seconds, bare_seconds = splitting(installation, scratch)
    grown = memory() - before
    print(f"| bare write + fsync of the parts | {bare_seconds:.1f} | | 1 |")
    print(f"| split + part files | {split_seconds:.1f} | | {split_seconds / bare_seconds:.2f} |")
    print(f"\nMemory above start after all mails: {grown / 1e6:.0f} MB")
    server.empty()
    for number in range(HUGE_MAILS):
        server.deliver(message(10**6 + number, HUGE_BYTES))
    poll_now(installation)
    print(f"Memory above start after 25 MB attachments: {(memory() - before) / 1e6:.0f} MB")
    installation.close()
    embedded.stop(installation.settings.postgres_path)


def opened(server: Dovecot, home: Path) -> Installation:
    """An installation on the mailbox, with an embedded database that syncs."""
    installation = Installation.open(
        Settings(
            home=home,
            mail_host="127.0.0.1",
            mail_port=server.port,
            mail_user=USER,
            mail_password=SecretStr(PASSWORD),
            mail_tls="none",
        )  # pyright: ignore[reportCallIssue]
    )
    with installation.database.worker() as connection:
        set_switch(connection, on=True, by="bench")
    return installation


def poll_now(installation: Installation) -> MailReport:
    """One poll without an end, whenever the last one was."""
    with installation.database.worker() as connection:
        connection.execute("UPDATE system_config SET set_at = now() - interval '1 hour'")
    parts = parts_of(installation.database, installation.blobs, installation.settings)
    return poll(parts, limit=10**9, seconds=float("inf"))


def splitting(installation: Installation, scratch: Path) -> tuple[float, float]:
    """Seconds of splitting everything, and of a bare loop over the same parts."""
    started = time.monotonic()
    while split_mails(installation.database, installation.blobs, limit=1000).claimed:
        pass
    seconds = time.monotonic() - started
    bare = scratch / "bare"
    bare.mkdir()
    with installation.database.worker() as connection:
        places = connection.execute(
            "SELECT storage_bucket, raw_key FROM raw_items WHERE kind = 'part'"
        ).fetchall()
    spent = 0.0
    for number, (bucket, key) in enumerate(places):
        with installation.blobs.open(bucket, key) as source:
            content = source.read()
        started = time.monotonic()
        with (bare / str(number)).open("wb") as target:
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
        spent += time.monotonic() - started
    return seconds, spent


def timed(act: Callable[[], object]) -> float:
    """Seconds of one call."""
    started = time.monotonic()
    act()
    return time.monotonic() - started


def per(seconds: float, mails: int) -> str:
    """Milliseconds per mail."""
    return f"{seconds * 1000 / mails:.1f} ms"


def memory() -> int:
    """Most bytes this process ever used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
