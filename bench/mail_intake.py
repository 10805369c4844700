"""Mail intake beside mbsync: `python bench/mail_intake.py [mails] [directory]`.

A Maildir of a throwaway Dovecot (mixed sizes, one mail in twenty with a 5 MB attachment) is filled
in rounds. In each round the new mails are copied by mbsync (FSync yes) and taken by the mailbox
gate (fetch, EML, ledger), then split, and their parts are written by a bare write-and-sync loop:
what is compared is measured in turns on one volume, so that the load of the machine meets both.
Then: a second poll, a second balance, and the memory of taking mails with 25 MB attachments, above
what the process used before.
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
from dataclasses import dataclass, field
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
ROUND = 250
OLD_SECONDS_PER_MAIL = 11.2
"""Worst case measured in the former system (MAIL-55)."""


def main() -> None:
    """Measure and print."""
    mails = int(sys.argv[1]) if len(sys.argv) > 1 else MAILS
    place = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if shutil.which("mbsync") is None:
        sys.exit("mbsync is missing: apt-get install --no-install-recommends isync")
    with running_dovecot() as server, tempfile.TemporaryDirectory(dir=place) as scratch:
        installation = opened(server, Path(scratch) / "home")
        before = memory()
        print_times(rounds(server, installation, Path(scratch), mails), mails)
        print_again(installation)
        print(f"\nMemory above start after all mails: {(memory() - before) / 1e6:.0f} MB")
        take_huge(server, installation)
        print(f"Memory above start after 25 MB attachments: {(memory() - before) / 1e6:.0f} MB")
        installation.close()
        embedded.stop(installation.settings.postgres_path)


@dataclass
class Spent:
    """Seconds over all rounds; `processor` of this process while it split."""

    size: int = 0
    copied: float = 0.0
    taken: float = 0.0
    split: float = 0.0
    bare: float = 0.0
    processor: float = 0.0
    load: list[float] = field(default_factory=list)


def rounds(server: Dovecot, installation: Installation, scratch: Path, mails: int) -> Spent:
    """Deliver, copy, take, split and write the parts bare, a round of mails at a time."""
    spent = Spent()
    copier = Mbsync(server, scratch)
    bare = scratch / "bare"
    bare.mkdir()
    server.deliver(message(0, 100))  # Dovecot makes the folders itself
    copier.copy()
    poll_now(installation)
    split_all(installation)
    done = 0
    while done < mails:
        count = min(ROUND, mails - done)
        spent.size += fill(server, done + 1, count)
        if done // ROUND % 2:
            copy(copier, spent)
        take(installation, count, spent)
        if not done // ROUND % 2:
            copy(copier, spent)
        split_in_turns(installation, bare, spent)
        spent.load.append(os.getloadavg()[0])
        done += count
    return spent


def fill(server: Dovecot, first: int, count: int) -> int:
    """Write the mails into the Maildir; returns their bytes."""
    new = server.folder / "mail" / USER / "new"
    owner = new.parent.stat()
    total = 0
    for number in range(first, first + count):
        chance = random.Random(-number)
        big = number % BIG_EVERY == 0
        raw = message(number, BIG_BYTES if big else chance.randint(200, 60_000))
        path = new / f"{1_700_000_000 + number}.M{number}P1.bench"
        path.write_bytes(raw)
        os.chown(path, owner.st_uid, owner.st_gid)
        total += len(raw)
    os.sync()
    return total


def take(installation: Installation, count: int, spent: Spent) -> None:
    """Fetch the new mails with the gate."""
    started = time.monotonic()
    report = poll_now(installation)
    spent.taken += time.monotonic() - started
    assert len(report.taken) == count, (len(report.taken), report.stopped)


def copy(copier: Mbsync, spent: Spent) -> None:
    """Fetch the new mails with mbsync."""
    spent.copied += timed(copier.copy)


def split_in_turns(installation: Installation, bare: Path, spent: Spent) -> None:
    """Split what was taken, then write the same parts bare."""
    with installation.database.worker() as connection:
        row = connection.execute("SELECT max(id) FROM raw_items").fetchone()
    processor = time.process_time()
    spent.split += timed(lambda: split_all(installation))
    spent.processor += time.process_time() - processor
    with installation.database.worker() as connection:
        places = connection.execute(
            "SELECT storage_bucket, raw_key FROM raw_items WHERE kind = 'part' AND id > %s",
            row,
        ).fetchall()
    for bucket, key in places:
        with installation.blobs.open(bucket, key) as source:
            content = source.read()
        started = time.monotonic()
        with (bare / key.rpartition("/")[2]).open("wb") as target:
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
        spent.bare += time.monotonic() - started


def split_all(installation: Installation) -> None:
    """Split until nothing waits."""
    while split_mails(installation.database, installation.blobs, limit=1000).claimed:
        pass


def print_times(spent: Spent, mails: int) -> None:
    """The table."""
    print(f"{mails} mails, {spent.size / 1e6:.0f} MB, in rounds of {ROUND}")
    print(f"load average {min(spent.load):.1f} to {max(spent.load):.1f}\n")
    print("| what | seconds | per mail | beside |")
    print("|---|---|---|---|")
    for what, seconds, beside in (
        ("mbsync, FSync yes", spent.copied, spent.copied),
        ("fetch + EML + ledger", spent.taken, spent.copied),
        ("bare write + fsync of the parts", spent.bare, spent.bare),
        ("split + part files", spent.split, spent.bare),
    ):
        print(f"| {what} | {seconds:.1f} | {per(seconds, mails)} | {seconds / beside:.2f} |")
    print(f"| processor time of split | {spent.processor:.1f} | {per(spent.processor, mails)} | |")
    print(f"| former system, worst case | | {OLD_SECONDS_PER_MAIL * 1000:.0f} ms | |")


def print_again(installation: Installation) -> None:
    """A second poll and a second balance fetch no body."""
    print(f"| second poll, no body | {timed(lambda: poll_now(installation)):.2f} | | |")
    parts = parts_of(installation.database, installation.blobs, installation.settings)
    balance(parts)
    print(f"| second balance, no body | {timed(lambda: balance(parts)):.2f} | | |", flush=True)


def take_huge(server: Dovecot, installation: Installation) -> None:
    """Take and split mails with 25 MB attachments."""
    server.empty()
    for number in range(HUGE_MAILS):
        server.deliver(message(10**6 + number, HUGE_BYTES))
    poll_now(installation)
    split_all(installation)


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


class Mbsync:
    """A copy of the mailbox by mbsync, every file synced."""

    def __init__(self, server: Dovecot, scratch: Path) -> None:
        target = scratch / "mbsync"
        target.mkdir()
        self._config = scratch / "mbsyncrc"
        self._config.write_text(
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

    def copy(self) -> None:
        """Fetch what is new."""
        subprocess.run(["mbsync", "-q", "-c", str(self._config), "all"], check=True)


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
