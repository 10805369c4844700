"""Bad input through the whole flow: each item ends in a listed outcome, the good ones are found."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path
from typing import Any

import pytest
from bad_files import (
    UMLAUTS,
    broken_pdf,
    encrypted_pdf,
    mail_with_names,
    nested_mail,
    nested_zip,
    pdf,
    pdf_with_nul,
    permissions_count,
    vast_image,
    zip_bomb,
    zipped,
)
from flow_walks import must_be_empty, rows

from tgv_dagster import flow
from tgv_dagster.arrive.folder import PATIENCE_SECONDS, FolderGate, FolderSettings
from tgv_dagster.arrive.gates import Taken, TakenStatus
from tgv_dagster.audit.ledger import evaluate
from tgv_dagster.audit.register import CHECKPOINTS
from tgv_dagster.audit.verdict import State
from tgv_dagster.installation import Installation
from tgv_dagster.know.search import SearchParts, search

HOME = "nord/nord-gmbh"
GOOD = [f"gutwort{word}" for word in ("amsel", "birke", "cello", "distel", "elster", "falke")]
LONGEST = "ü" * 125 + ".txt"
"""254 bytes: the longest that fits into a directory entry."""

BAD: dict[str, bytes] = {
    "leer.txt": b"",
    "leerraum.eml": b"From: a@example.org\r\nSubject: Leer\r\n\r\n \t\r\n\r\n \r\n",
    "leerraum.txt": b" \n\t\r\n  \n",
    "zeile\nbruch.txt": b"Notiz mit Zeilenbruch im Namen, Kennung zeilenwort",
    LONGEST: b"Notiz mit langem Namen, Kennung langwort",
    "Mu\u0308ller.txt": b"Notiz mit zerlegtem Umlaut, Kennung nfdwort",
    os.fsdecode(b"latin-\xe4.txt"): b"Notiz mit fremdem Namen, Kennung latinwort",
    "-rf $(x);.txt": b"Notiz mit Schalterzeichen, Kennung schalterwort",
    "kaputt.pdf": broken_pdf(),
    "gesperrt.pdf": encrypted_pdf("Niemand kennt das Kennwort"),
    "nul.pdf": pdf_with_nul("Vertrag mit nulwort im Text der Seite und noch mehr Worten"),
    "lange-zeile.txt": b"Lange Zeile zeilenlangwort " + b"Wort " * 200_000,
    "utf16.txt": "Grüße aus Köln, Kennung utfwort".encode("utf-16"),
    "riesig.png": vast_image(),
    "bombe.zip": zip_bomb(),
    "tief.eml": nested_mail(12, b"Anlage ganz innen, Kennung tiefwort"),
    "schachtel.zip": nested_zip(3, b"Anlage ganz innen, Kennung schachtelwort"),
    "matroschka.zip": nested_zip(9, b"Anlage viel zu weit innen"),
    "pfade.zip": zipped(
        {
            "../../flucht.txt": b"Mitglied mit Pfad, Kennung fluchtwort",
            "/etc/wurzel.txt": b"Mitglied mit Wurzel, Kennung wurzelwort",
            "a/b\nc.txt": b"Mitglied mit Zeilenbruch, Kennung bruchwort",
            f"{UMLAUTS}.txt": b"Mitglied mit langem Namen, Kennung umlautwort",
        }
    ),
    "namen.eml": mail_with_names(
        {
            "../../weg.txt": b"Anlage mit Pfad, Kennung wegwort",
            "nul\x00name.txt": b"Anlage mit Null, Kennung nullwort",
            "zeile\r\nbruch.txt": b"Anlage mit Zeilenbruch, Kennung umbruchwort",
            f"{UMLAUTS}.txt": b"Anlage mit langem Namen, Kennung langnamenwort",
        }
    ),
    "gepackt.txt.gz": gzip.compress(b"Notiz allein gepackt, Kennung gepacktwort"),
    "fremd.bin": bytes(range(256)) * 20,
}

FOUND = {
    "zeilenwort", "langwort", "nfdwort", "latinwort", "schalterwort", "zeilenlangwort", "utfwort",
    "tiefwort", "fluchtwort", "wurzelwort", "bruchwort", "umlautwort", "wegwort", "nullwort",
    "umbruchwort", "langnamenwort", "nulwort",
    "schachtelwort", "gepacktwort",
}  # fmt: skip
"""Words of bad items whose text can be read after all."""


@pytest.fixture
def inbox(installation: Installation) -> Path:
    folder = installation.settings.inbox_path
    (folder / HOME).mkdir(parents=True)
    return folder


def put_good(inbox: Path) -> None:
    """Good files before, between and behind the bad ones, in the order of the look."""
    for prefix, word in zip(("0", "b", "h", "n", "s", "zz"), GOOD, strict=True):
        text = f"Nordlicht Tischlerei GmbH\nNotiz fuer die Ablage, Kennung {word}.\n"
        (inbox / HOME / f"{prefix}-gut.txt").write_text(text)


def finds(installation: Installation, word: str) -> bool:
    """Whether a search finds a document that holds the word."""
    parts = SearchParts.of(installation.database, installation.words, installation.embedder)
    answer = search(parts, installation.service_scope(source="test"), word)
    holding = rows(
        installation,
        "SELECT DISTINCT document_id FROM rag_chunks WHERE content LIKE '%%' || %s || '%%'",
        word,
    )
    return not {row[0] for row in holding}.isdisjoint(card.document_id for card in answer.cards)


def arrivals(installation: Installation) -> dict[str, tuple[str, str]]:
    """Outcome and reason of each file of the folder, by its name."""
    found = rows(
        installation,
        "SELECT file_name, outcome, coalesce(outcome_reason, '') FROM arrivals"
        " WHERE parent_id IS NULL",
    )
    return {name: (outcome, reason) for name, outcome, reason in found}


def unlisted(installation: Installation) -> list[tuple[Any, ...]]:
    """Arrivals without an outcome, or with one that needs a reason and has none."""
    return rows(
        installation,
        "SELECT file_name, part_path, outcome, outcome_reason FROM arrivals"
        " WHERE outcome = 'pending' OR (outcome IN ('parked', 'blocked', 'set_apart')"
        "   AND coalesce(outcome_reason, '') = '')",
    )


def unexplained_work(installation: Installation) -> list[tuple[Any, ...]]:
    """Work that failed and waits for another attempt, or hangs: none of it is an outcome."""
    return rows(
        installation,
        "SELECT stage, subject_id, state, attempt, reason FROM flow_ledger"
        " WHERE state IN ('pending', 'claimed')"
        "   OR (state IN ('parked', 'held') AND coalesce(reason, '') = '')",
    )


def red_checkpoints(installation: Installation) -> dict[str, str]:
    """What a bad file turns red although everything went as it should."""
    verdicts = {which.id: evaluate(installation, which, run_id=None) for which in CHECKPOINTS}
    return {
        name: verdict.reason for name, verdict in verdicts.items() if verdict.state is State.RED
    }


def test_every_bad_file_ends_listed_and_every_good_one_is_found(
    installation: Installation, inbox: Path
) -> None:
    put_good(inbox)
    for name, content in BAD.items():
        (inbox / HOME / name).write_bytes(content)

    flow.run_until_idle(installation)

    assert unlisted(installation) == []
    assert unexplained_work(installation) == []
    assert red_checkpoints(installation) == {}
    outcomes = arrivals(installation)
    assert len(outcomes) == len(BAD) + len(GOOD)
    parked = {name for name, (outcome, _) in outcomes.items() if outcome == "parked"}
    assert parked == {"leer.txt", "kaputt.pdf", "gesperrt.pdf", "fremd.bin", "bombe.zip"}
    deepest = rows(
        installation,
        "SELECT outcome_reason FROM arrivals WHERE outcome = 'parked' AND parent_id IS NOT NULL",
    )
    assert [reason.rpartition(": ")[2] for (reason,) in deepest] == ["more than 5 files deep"]
    inside = "SELECT file_name FROM arrivals WHERE parent_id IS NOT NULL"
    assert ("gepackt.txt",) in rows(installation, inside)
    must_be_empty(
        rows(
            installation,
            "SELECT r.sha256 FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id"
            " GROUP BY r.sha256 HAVING count(*) > 1",
        ),
        "arrived twice",
    )
    assert [p.name for p in (inbox / HOME).iterdir()] == []
    assert {word for word in [*GOOD, *FOUND] if not finds(installation, word)} == set()


def looked_at(installation: Installation, **options: Any) -> dict[str, Taken]:
    """What the folder gate says of each thing it sees."""
    gate = FolderGate(
        installation.database,
        installation.blobs,
        FolderSettings(installation.settings.inbox_path, stable_seconds=0),
        **options,
    )
    return {taken.name: taken for taken in gate.take(1000)}


def open_cases(installation: Installation) -> list[tuple[str, str]]:
    found = rows(
        installation,
        "SELECT subject_key, reason FROM cases WHERE subject_kind = 'file' AND state = 'open'"
        " ORDER BY subject_key",
    )
    return [(key, reason) for key, reason in found]


def test_what_may_not_be_read_is_named_and_taken_as_soon_as_it_may(
    installation: Installation, inbox: Path
) -> None:
    put_good(inbox)
    locked, closed = inbox / HOME / "c-gesperrt.txt", inbox / HOME / "d-zu"
    locked.write_text("Notiz hinter Rechten, Kennung rechtewort")
    closed.mkdir()
    (closed / "innen.txt").write_text("Notiz im gesperrten Ordner, Kennung ordnerwort")
    locked.chmod(0)
    closed.chmod(0)
    try:
        with permissions_count():
            taken = looked_at(installation)
        assert taken[f"{HOME}/c-gesperrt.txt"].status is TakenStatus.FAILED
        assert taken[f"{HOME}/d-zu"].status is TakenStatus.FAILED
        assert [key for key, _ in open_cases(installation)] == [
            f"{HOME}/c-gesperrt.txt",
            f"{HOME}/d-zu",
        ]
        assert all("Permission denied" in reason for _, reason in open_cases(installation))
    finally:
        locked.chmod(0o600)
        closed.chmod(0o700)

    flow.run_until_idle(installation)

    assert open_cases(installation) == []
    wanted = [*GOOD, "rechtewort", "ordnerwort"]
    assert {word for word in wanted if not finds(installation, word)} == set()


def test_nothing_outside_the_folder_is_taken_through_a_link(
    installation: Installation, inbox: Path, tmp_path: Path
) -> None:
    put_good(inbox)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "geheim.txt").write_text("Notiz von draussen, Kennung geheimwort")
    (inbox / HOME / "c-verweis").symlink_to(outside, target_is_directory=True)
    (inbox / HOME / "d-verweis.txt").symlink_to(outside / "geheim.txt")
    (inbox / HOME / "e-kreis").symlink_to(inbox, target_is_directory=True)
    (inbox / HOME / "f-leer").symlink_to(outside / "nirgends")

    seen = looked_at(installation)
    flow.run_until_idle(installation)

    links = [f"{HOME}/{name}" for name in ("c-verweis", "d-verweis.txt", "e-kreis", "f-leer")]
    assert {seen[name].status for name in links} == {TakenStatus.SKIPPED}
    assert all("link" in seen[name].reason for name in links)
    assert not finds(installation, "geheimwort")
    assert (outside / "geheim.txt").exists()
    assert {word for word in GOOD if not finds(installation, word)} == set()


def test_a_file_that_grows_for_minutes_is_taken_once_and_whole(
    installation: Installation, inbox: Path
) -> None:
    put_good(inbox)
    growing = inbox / HOME / "c-waechst.txt"
    with growing.open("w") as writer:
        for page in range(4):
            writer.write(f"Seite {page} des Berichts.\n")
            writer.flush()
            os.utime(growing, (time.time() - 3600 * page, time.time() - 3600 * page))
            flow.run_until_idle(installation)
            assert growing.exists()
        writer.write("Letzte Seite, Kennung endwort")

    flow.run_until_idle(installation)

    assert len(arrivals(installation)) == len(GOOD) + 1
    assert not growing.exists()
    assert {word for word in [*GOOD, "endwort"] if not finds(installation, word)} == set()


def test_a_scan_without_its_end_waits_and_is_named_when_nothing_more_comes(
    installation: Installation, inbox: Path
) -> None:
    put_good(inbox)
    whole = pdf("Ein Scan, der mitten in der Seite endet")
    (inbox / HOME / "c-halb.pdf").write_bytes(whole[: len(whole) // 2])

    waiting = looked_at(installation)[f"{HOME}/c-halb.pdf"]
    flow.run_until_idle(installation)
    assert waiting.status is TakenStatus.WAITING
    assert "not complete yet" in waiting.reason
    assert set(arrivals(installation)) == {p.name for p in processed(inbox)}

    looked_at(installation, clock=lambda: time.time() + PATIENCE_SECONDS + 1)
    flow.run_until_idle(installation)
    outcome, reason = arrivals(installation)["c-halb.pdf"]
    assert outcome in ("parked", "entered")
    assert reason or outcome == "entered"
    assert unlisted(installation) == []
    assert {word for word in GOOD if not finds(installation, word)} == set()


def processed(inbox: Path) -> list[Path]:
    return [path for path in (inbox / "processed").rglob("*") if path.is_file()]


@pytest.mark.parametrize("step", ["before_raw", "before_move"])
def test_a_file_that_vanishes_does_not_stop_the_others(
    installation: Installation, inbox: Path, step: str
) -> None:
    put_good(inbox)
    fleeting = inbox / HOME / "c-fluechtig.txt"
    fleeting.write_text("Gleich wieder weg")

    def vanish(name: str) -> None:
        if name == step:
            fleeting.unlink(missing_ok=True)

    report = flow.take_folder(installation, on_step=vanish)
    flow.run_until_idle(installation)

    assert report.outcomes.get("failed", 0) == 0
    assert len(arrivals(installation)) in (len(GOOD), len(GOOD) + 1)
    assert unlisted(installation) == []
    assert {word for word in GOOD if not finds(installation, word)} == set()
