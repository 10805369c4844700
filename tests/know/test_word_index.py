"""The word index: what is found, replaced, rebuilt, refused, and what a damaged file does."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_builders import fill, found, row, terms, wall

from tgv_dagster.know.generations import WriterBusy
from tgv_dagster.know.queries import NothingToSearch, understand
from tgv_dagster.know.word_model import (
    BuildIncomplete,
    ChunkWithoutWalls,
    IndexDamaged,
    IndexMissing,
    IndexOutdated,
    WordRow,
)
from tgv_dagster.know.word_schema import row_digest
from tgv_dagster.know.words import MAX_LIMIT, WordIndex


@pytest.fixture
def index(tmp_path: Path) -> Iterator[WordIndex]:
    opened = WordIndex.create(tmp_path / "index")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WordIndex]:
    """Passages in several languages, numbered by their place."""
    opened = WordIndex.create(tmp_path_factory.mktemp("shelf") / "index")
    opened.build_beside(row(number, text) for number, text in enumerate(PASSAGES))
    yield opened
    opened.close()


PASSAGES = [
    "Der Mietvertrag über die Garage endet am 31.08.2026.",
    "Attestation d'assurance. Échéance : 31 août. Les factures sont réglées à trente jours.",
    "Rechnung RE-2026/0815 vom 03.05.2026 über 1.234,56 EUR, Handelsregister HRB 102141 B.",
    "Договор аренды помещения, срок действия до конца года.",
    "Contratto di locazione: le spese condominiali sono a carico del conduttore.",
    "The liability of the contractor is limited to gross negligence.",
    "合同编号：甲方应在三十日内支付租金。",
    "Gebühren für die Kontoführung der Müller & Söhne KG, Bußgeldbescheid.",
    "IBAN DE89 3704 0044 0532 0130 00, Kundennummer 0012345.",
    "Sozialversicherungsnummer und Lohnsteuerbescheinigung der Beschäftigten.",
    "El arrendador entrega la vivienda en buen estado.",
    "Umowa najmu lokalu użytkowego, wypowiedzenie na piśmie.",
    "ใบแจ้งหนี้เลขที่ ค่าเช่าสำนักงาน",
    "किराया अनुबंध की अवधि",
]


@pytest.mark.parametrize(
    "question, passage",
    [
        ("Vertrag", 0),
        ("Mietverträge", 0),
        ("Mietvert", 0),
        ("garage", 0),
        ("31. August 2026", 0),
        ("31 août 2026", 0),
        ("le 31 août", 1),
        ("facture", 1),
        ("echeance", 1),
        ("0815", 2),
        ("RE-2026/0815", 2),
        ("re 2026 0815", 2),
        ("1234,56", 2),
        ("1 234,56 €", 2),
        ("HRB102141B", 2),
        ("HRB 102141", 2),
        ("договора аренда", 3),
        ("contratti locazione", 4),
        ("contractors limited liability", 5),
        ("租金", 6),
        ("gebuehr", 7),
        ("Gebuhr", 7),
        ("Bussgeld", 7),
        ("Mueller", 7),
        ("Muller und Soehne", 7),
        ("DE89370400440532013000", 8),
        ("Kundennummer 12345", 8),
        ("Versicherungsnummer", 9),
        ("Lohnsteuer", 9),
        ("Steuerbescheinigung", 9),
        ("arrendadores", 10),
        ("wypowiedzenia umowy", 11),
        ("ค่าเช่า", 12),
        ("अनुबंध", 13),
    ],
)
def test_a_question_finds_its_passage_first(shelf: WordIndex, question: str, passage: int) -> None:
    assert found(shelf, question)[:1] == [passage]


@pytest.mark.parametrize(
    "text",
    ["א" * 3_000, "😀" * 900, "x" * 100_000, "\0\ud800\u200d", "1" * 5_000, "a\u0301" * 2_000],
)
def test_wild_texts_are_indexed_beside_their_words(index: WordIndex, text: str) -> None:
    fill(index, row(1, f"{text} Garage {text}"), row(2, ""))
    assert found(index, "Garage") == [1]
    assert index.count() == 2


def test_a_day_without_year_finds_every_spelling(shelf: WordIndex) -> None:
    assert set(found(shelf, "31.08.")) == {0, 1}


def test_a_question_about_nothing_in_stock_finds_nothing(shelf: WordIndex) -> None:
    assert found(shelf, "Quantenchromodynamik") == []


@settings(max_examples=150, deadline=None)
@given(question=st.one_of(st.text(), st.text(alphabet="\"'():^~*?[]{}+-&|!\\/ aÄß\0語1.,")))
def test_any_question_is_answered(shelf: WordIndex, question: str) -> None:
    understood = understand(question)
    if not isinstance(understood, NothingToSearch):
        shelf.search(understood, wall())


@pytest.mark.parametrize(
    "question",
    ["wort " * 20_000 + "garage", '"' * 50_000 + "garage", "(" * 9_999, "a:(^ garage", "garage\0"],
)
def test_monstrous_questions_are_answered(shelf: WordIndex, question: str) -> None:
    understood = understand(question)
    if not isinstance(understood, NothingToSearch):
        shelf.search(understood, wall())


@pytest.mark.parametrize("limit", [0, -1, MAX_LIMIT + 1])
def test_a_limit_the_engine_cannot_take_is_refused(shelf: WordIndex, limit: int) -> None:
    with pytest.raises(ValueError, match="limit"):
        shelf.search(terms("garage"), wall(), limit=limit)


def test_more_room_never_gives_fewer_hits(shelf: WordIndex) -> None:
    sizes = [
        len(
            shelf.search(
                terms("der die das und Vertrag Rechnung factures liability"), wall(), limit=n
            )
        )
        for n in range(1, 12)
    ]
    assert sizes == sorted(sizes)


# --- replacing and removing --------------------------------------------------------------------


def test_a_document_with_three_chunks_keeps_three_and_is_replaced_whole(index: WordIndex) -> None:
    fill(index, *(row(n, f"Garage alt {n}", document_id=50) for n in range(3)))
    assert sorted(found(index, "Garage")) == [0, 1, 2]
    with index.writer() as writer:
        applied = writer.apply([row(7, "Garage neu", document_id=50)], [50])
    assert (applied.added, applied.removed_documents) == (1, 1)
    assert found(index, "Garage") == [7]
    assert index.count() == 1


def test_a_repeated_batch_changes_nothing(index: WordIndex) -> None:
    for _ in range(3):
        fill(index, row(1, "Garage"), row(2, "Garage"), row(1, "Garage"))
    assert index.count() == 2


def test_a_level_change_is_seen_at_once_by_every_open_index(
    index: WordIndex, tmp_path: Path
) -> None:
    other = WordIndex.open(tmp_path / "index")
    fill(index, row(1, "Garage", level_rank=1))
    assert found(other, "Garage", wall(max_level_rank=1)) == [1]
    fill(index, row(1, "Garage", level_rank=3))
    assert found(other, "Garage", wall(max_level_rank=1)) == []
    assert found(other, "Garage", wall(max_level_rank=3)) == [1]
    other.close()


def test_removing_a_document_removes_all_its_chunks(index: WordIndex) -> None:
    fill(index, *(row(n, "Garage", document_id=9) for n in range(4)), row(8, "Garage"))
    with index.writer() as writer:
        writer.apply([], [9])
    assert found(index, "Garage") == [8]


@pytest.mark.parametrize(
    "changed",
    [
        {"entity": ""},
        {"source_type": ""},
        {"level_rank": 4},
        {"level_rank": -1},
        {"mandant_id": -1},
    ],
)
def test_a_chunk_without_walls_is_refused_before_anything_is_written(
    index: WordIndex, changed: dict[str, object]
) -> None:
    fill(index, row(1, "Garage alt"))
    with index.writer() as writer, pytest.raises(ChunkWithoutWalls):
        writer.apply([row(2, "Garage neu"), row(3, "Garage", **changed)], [1])
    assert found(index, "Garage") == [1]


def test_a_failing_batch_leaves_nothing_and_the_writer_goes_on(index: WordIndex) -> None:
    fill(index, row(1, "Garage alt"))
    with index.writer() as writer:
        with pytest.raises(TypeError):
            writer.apply([row(2, "Garage neu"), row(4, "Garage", entity=4)], [1])
        writer.apply([row(3, "Garage dritte")], [])
    assert sorted(found(index, "Garage")) == [1, 3]


def test_a_second_writer_is_told_and_a_failed_body_releases_the_first(index: WordIndex) -> None:
    with index.writer(), pytest.raises(WriterBusy), index.writer():
        pass
    with pytest.raises(ZeroDivisionError), index.writer():
        raise ZeroDivisionError
    fill(index, row(1, "Garage"))
    assert found(index, "Garage") == [1]


# --- building beside ---------------------------------------------------------------------------


def test_a_build_replaces_the_whole_index_and_open_readers_follow(
    index: WordIndex, tmp_path: Path
) -> None:
    other = WordIndex.open(tmp_path / "index")
    fill(index, row(1, "Garage alt"))
    assert found(other, "Garage") == [1]
    report = index.build_beside((row(n, "Garage neu") for n in (2, 3)), expected=2)
    assert (report.read, report.indexed, report.refused) == (2, 2, 0)
    assert sorted(found(other, "Garage")) == sorted(found(index, "Garage")) == [2, 3]
    other.close()


def test_former_generations_are_removed_once_nobody_reads_them(
    index: WordIndex, tmp_path: Path
) -> None:
    reader = WordIndex.open(tmp_path / "index")
    for number in range(3):
        index.build_beside([row(number, "Garage")])
    names = {path.name for path in (tmp_path / "index").glob("gen-*")}
    assert len(names) == 2
    reader.close()
    fill(index, row(5, "Garage"))
    assert len(list((tmp_path / "index").glob("gen-*"))) == 1


def test_an_odd_row_is_left_out_and_reported(index: WordIndex) -> None:
    report = index.build_beside([row(1, "Garage"), row(2, "Garage", entity=""), row(3, "Garage")])
    assert (report.read, report.indexed, report.refused) == (3, 2, 1)
    assert [(one.chunk_id, one.reason) for one in report.refusals] == [(2, "no entity")]
    assert sorted(found(index, "Garage")) == [1, 3]


def failing_rows() -> Iterator[WordRow]:
    yield row(1, "Garage neu")
    raise ConnectionError("the table went away")


def test_a_build_that_fails_leaves_the_index_in_force(index: WordIndex, tmp_path: Path) -> None:
    fill(index, row(9, "Garage alt"))
    with pytest.raises(ConnectionError):
        index.build_beside(failing_rows())
    with pytest.raises(BuildIncomplete):
        index.build_beside([row(1, "Garage neu")], expected=2)
    assert found(index, "Garage") == [9]
    assert not list((tmp_path / "index").glob("building-*"))


def test_a_writer_waits_out_while_a_build_runs(index: WordIndex) -> None:
    def rows() -> Iterator[WordRow]:
        with pytest.raises(WriterBusy), index.writer():
            pass
        yield row(1, "Garage")

    assert index.build_beside(rows()).indexed == 1


def test_a_search_during_builds_is_always_whole(index: WordIndex) -> None:
    index.build_beside([row(n, "Garage") for n in range(20)])
    stop = threading.Event()
    seen: list[int] = []

    def look() -> None:
        while not stop.is_set():
            seen.append(len(found(index, "Garage")))

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(4):
        index.build_beside([row(n, "Garage") for n in range(20)])
    stop.set()
    thread.join()
    assert set(seen) == {20}


# --- checks and faults -------------------------------------------------------------------------


def test_digests_tell_a_changed_wall_from_an_unchanged_row(index: WordIndex) -> None:
    kept, moved = row(1, "Garage"), row(2, "Garage")
    fill(index, kept, moved)
    held = index.identities([1, 2, 3])
    assert held == {1: row_digest(kept), 2: row_digest(moved)}
    assert held[2] != row_digest(row(2, "Garage", level_rank=3))
    assert index.identities([]) == {}


def test_a_sound_index_is_sound_and_every_flipped_byte_is_seen(index: WordIndex) -> None:
    fill(index, *(row(n, f"Garage {n} mit Stellplatz") for n in range(50)))
    state = index.verify()
    assert state.sound
    assert (state.chunks, state.files > 3) == (50, True)
    directory = index.generations.current()
    assert directory is not None
    for file in sorted(directory.glob("*.*")):
        if file.suffix in (".json", ".lock"):
            continue
        whole = file.read_bytes()
        for place in (0, len(whole) // 3, len(whole) - 1):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert file.name in index.verify().damaged, (file.suffix, place)
        file.write_bytes(whole)
    assert index.verify().sound


def test_a_truncated_index_raises_and_can_be_built_anew(index: WordIndex, tmp_path: Path) -> None:
    fill(index, *(row(n, "Garage") for n in range(50)))
    directory = index.generations.current()
    assert directory is not None
    for file in directory.glob("*.term"):
        file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(IndexDamaged):
        WordIndex.open(tmp_path / "index")
    mended = WordIndex.at(tmp_path / "index")
    mended.build_beside([row(1, "Garage")])
    assert found(mended, "Garage") == [1]
    mended.close()


def test_a_missing_index_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(IndexMissing):
        WordIndex.open(tmp_path / "nothing")
    with pytest.raises(IndexMissing), WordIndex.at(tmp_path / "nothing").writer():
        pass


def test_an_index_of_other_rules_must_be_rebuilt(index: WordIndex, tmp_path: Path) -> None:
    fill(index, row(1, "Garage"))
    directory = index.generations.current()
    assert directory is not None
    (directory / "built.json").write_text('{"rules": "of another day"}')
    with pytest.raises(IndexOutdated):
        WordIndex.open(tmp_path / "index")
    with pytest.raises(IndexOutdated), WordIndex.at(tmp_path / "index").writer():
        pass
    (directory / "built.json").write_text("")
    with pytest.raises(IndexDamaged):
        WordIndex.open(tmp_path / "index")


WRITER = """
import sys
from pathlib import Path
from index_builders import row
from tgv_dagster.know.words import WordIndex

index = WordIndex.create(Path(sys.argv[1]))
print("ready", flush=True)
version = 0
while True:
    version += 1
    with index.writer() as writer:
        writer.apply([row(n, f"Garage {version}", document_id=1) for n in range(3)], [1])
    print("step", flush=True)
    index.build_beside([row(n, f"Garage {version}", document_id=1) for n in range(3)])
    print("step", flush=True)
"""


def kill_while_writing(directory: Path, pause: float) -> None:
    """Start a writer that applies and rebuilds for ever, and kill it in the middle."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(directory)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.readline()
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def assert_whole_and_writable(directory: Path) -> None:
    index = WordIndex.open(directory)
    assert sorted(found(index, "Garage")) == [0, 1, 2]
    assert index.verify().sound
    fill(index, row(9, "Stellplatz"))
    assert found(index, "Stellplatz") == [9]
    with index.writer() as writer:
        writer.apply([], [9])
    index.close()


def test_a_killed_writer_leaves_a_whole_index_and_no_lock(tmp_path: Path) -> None:
    for pause in (0.0, 0.007, 0.019, 0.031):
        kill_while_writing(tmp_path / "index", pause)
        assert_whole_and_writable(tmp_path / "index")


@pytest.mark.soak
def test_a_hundred_killed_writers_leave_a_whole_index(tmp_path: Path) -> None:
    for number in range(100):
        kill_while_writing(tmp_path / "index", 0.001 * number)
        assert_whole_and_writable(tmp_path / "index")
