"""What every byte store promises, shown on each kind against a real server."""

import hashlib
import io
import threading
from pathlib import Path

import pytest
from blob_servers import Backend
from blob_sources import stream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tgv_dagster.store.blobs import (
    Assurance,
    BadName,
    BlobDamaged,
    BlobMissing,
    BlobStore,
    ContentConflict,
    Damaged,
    HashMismatch,
    Incoming,
    Missing,
    RegionStanding,
    Sidecar,
    SourceUnreadable,
    StoredBlob,
    StoreUnreachable,
    Unreachable,
    Verified,
    blob_key,
)

pytest_plugins = ["blob_servers"]

LETTER = b"Sehr geehrte Damen und Herren, anbei die Rechnung.\n" * 40
BIG = bytes(range(256)) * 20_000  # more than one range of 4 MiB


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_stored_blob_stands_under_its_hash(backend: Backend) -> None:
    stored = backend.store().put("acme", io.BytesIO(LETTER))

    digest = sha256(LETTER)
    key = f"sha256/{digest[:2]}/{digest[2:4]}/{digest}"
    assert stored == StoredBlob(key, digest, len(LETTER), already_there=False)
    assert backend.read(f"acme/{key}") == LETTER
    assert backend.paths() == [f"acme/{key}"]


def test_a_file_is_stored_by_its_path(backend: Backend, tmp_path: Path) -> None:
    source = tmp_path / "Rechnung Müller.pdf"
    source.write_bytes(BIG)

    stored = backend.store().put("acme", source, expected_sha256=sha256(BIG))

    assert backend.read(f"acme/{stored.key}") == BIG
    assert source.read_bytes() == BIG


def test_a_stream_that_cannot_seek_is_stored(backend: Backend) -> None:
    store = backend.store()

    stored = store.put("acme", stream(b"one ", b"two ", b"three"))

    assert store.read_range("acme", stored.key, 0, 100) == b"one two three"


def test_an_empty_file_is_a_blob(backend: Backend) -> None:
    store = backend.store()

    stored = store.put("acme", io.BytesIO(b""))

    assert (stored.size, store.size("acme", stored.key)) == (0, 0)
    assert store.verify("acme", stored.key) == Verified(sha256(b""), 0)
    with store.open("acme", stored.key) as file:
        assert file.read() == b""


def test_the_same_bytes_again_are_already_there(backend: Backend) -> None:
    first = backend.store().put("acme", io.BytesIO(LETTER))
    second = backend.store().put("acme", io.BytesIO(LETTER))

    assert (first.already_there, second.already_there) == (False, True)
    assert first.key == second.key
    assert len(backend.paths()) == 1


def test_two_buckets_do_not_share_a_blob(backend: Backend) -> None:
    store = backend.store()
    store.put("acme", io.BytesIO(LETTER))

    other = store.put("beta", io.BytesIO(LETTER))

    assert not other.already_there
    assert backend.paths() == [f"acme/{other.key}", f"beta/{other.key}"]


def test_two_writers_of_the_same_bytes_both_succeed(backend: Backend) -> None:
    stores = [backend.store() for _ in range(4)]
    stores[0].put("acme", io.BytesIO(b"the bucket is there"))
    start = threading.Barrier(len(stores))
    results: list[StoredBlob | Exception] = []

    def write(index: int) -> None:
        start.wait()
        try:
            results.append(stores[index].put("acme", io.BytesIO(BIG)))
        except Exception as error:  # noqa: BLE001  # shown by the assertion below
            results.append(error)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    keys = [r.key if isinstance(r, StoredBlob) else r for r in results]
    assert keys == [blob_key(sha256(BIG))] * len(stores)
    assert backend.read(f"acme/{blob_key(sha256(BIG))}") == BIG
    assert not [path for path in backend.paths() if "/sha256/" not in path]


def test_bytes_other_than_announced_are_refused(backend: Backend) -> None:
    store = backend.store()

    with pytest.raises(HashMismatch, match=sha256(b"announced")):
        store.put("acme", io.BytesIO(b"delivered"), expected_sha256=sha256(b"announced"))

    assert backend.paths() == []


def test_a_source_that_breaks_leaves_nothing(backend: Backend) -> None:
    broken = io.BytesIO(LETTER)
    broken.close()

    with pytest.raises(SourceUnreadable):
        backend.store().put("acme", broken)

    assert backend.paths() == []


def test_a_text_stream_is_refused(backend: Backend) -> None:
    with pytest.raises(SourceUnreadable, match="binary"):
        backend.store().put("acme", io.StringIO("Text"))  # pyright: ignore[reportArgumentType]

    assert backend.paths() == []


def test_reading_from_the_middle(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(BIG)).key
    end = len(BIG)

    assert store.read_range("acme", key, 5, 10) == BIG[5:15]
    assert store.read_range("acme", key, 3, 4_500_000) == BIG[3:4_500_003]
    assert store.read_range("acme", key, end - 4, 10) == BIG[-4:]
    assert store.read_range("acme", key, end, 10) == b""
    assert store.read_range("acme", key, end + 7, 10) == b""
    assert store.read_range("acme", key, 0, 0) == b""


def test_an_open_blob_can_be_searched(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(BIG)).key

    with store.open("acme", key) as file:
        assert file.seek(-3, io.SEEK_END) == len(BIG) - 3
        assert file.read() == BIG[-3:]
        assert file.seek(1000) == 1000
        assert file.read(20) == BIG[1000:1020]
        assert file.tell() == 1020
        file.seek(0)
        assert file.read() == BIG


def test_a_local_path_holds_the_bytes(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(BIG)).key

    with store.local_path("acme", key) as path:
        assert path.read_bytes() == BIG


def test_verify_tells_verified_damaged_and_missing(backend: Backend) -> None:
    store = backend.store()
    good, bad, gone = (
        store.put("acme", io.BytesIO(content)).key for content in (LETTER, BIG, b"gone")
    )
    backend.overwrite(f"acme/{bad}", BIG[:-1] + b"!")
    store.delete("acme", gone)

    assert store.verify("acme", good) == Verified(sha256(LETTER), len(LETTER))
    assert store.verify("acme", bad) == Damaged(sha256(BIG), sha256(BIG[:-1] + b"!"), len(BIG))
    assert store.verify("acme", gone) == Missing()
    assert store.verify("never-used", good) == Missing()


def test_a_shortened_blob_is_damaged(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(LETTER)).key
    backend.overwrite(f"acme/{key}", LETTER[:100])

    assert store.verify("acme", key) == Damaged(sha256(LETTER), sha256(LETTER[:100]), 100)


def test_damaged_bytes_are_neither_trusted_nor_overwritten(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(LETTER)).key
    backend.overwrite(f"acme/{key}", b"rotten")

    with pytest.raises(ContentConflict, match="backup"):
        store.put("acme", io.BytesIO(LETTER))

    assert backend.paths() == [f"acme/{key}"]
    assert backend.read(f"acme/{key}") == b"rotten"


def test_what_is_missing_is_said(backend: Backend) -> None:
    store = backend.store()
    store.put("acme", io.BytesIO(LETTER))
    key = blob_key(sha256(b"never stored"))

    assert not store.exists("acme", key)
    for ask in (store.open, store.size):
        with pytest.raises(BlobMissing):
            ask("acme", key)
    with pytest.raises(BlobMissing):
        store.read_range("acme", key, 0, 1)
    with pytest.raises(BlobMissing), store.local_path("acme", key):
        pass
    with pytest.raises(BlobMissing):
        store.read_sidecar("acme", "never-stored.json")
    with pytest.raises(BlobMissing):
        store.copy("acme", key, "beta")


def test_keys_are_listed_in_order_and_by_prefix(backend: Backend) -> None:
    store = backend.store()
    contents = [f"document {number}".encode() for number in range(30)]
    keys = sorted(store.put("acme", io.BytesIO(content)).key for content in contents)
    store.put("beta", io.BytesIO(b"somebody else's"))

    assert list(store.iter_keys("acme")) == keys
    assert list(store.iter_keys("acme", "sha2")) == keys
    for prefix in ("sha256/", keys[3][:9], keys[3][:10], keys[3][:14], keys[3]):
        assert list(store.iter_keys("acme", prefix)) == [k for k in keys if k.startswith(prefix)]
    assert list(store.iter_keys("acme", "manifests/")) == []
    assert list(store.iter_keys("empty")) == []


def test_strangers_are_named_and_are_no_keys(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(LETTER)).key
    store.put_sidecar("acme", "arrivals/one.json", b"{}")
    wrong_place = f"sha256/00/00/{sha256(LETTER)}"
    for path in ("Thumbs.db", wrong_place, "sha256/ab/note.txt"):
        backend.overwrite(f"acme/{path}", b"?")

    assert list(store.iter_strangers("acme")) == sorted(
        ["Thumbs.db", wrong_place, "sha256/ab/note.txt"]
    )
    assert list(store.iter_keys("acme")) == [key]


def test_a_sidecar_is_created_once(backend: Backend) -> None:
    store = backend.store()
    store.put_sidecar("acme", "arrivals/2026/a1.json", b'{"gate": "mail"}')
    backend.store().put_sidecar("acme", "arrivals/2026/a1.json", b'{"gate": "mail"}')

    with pytest.raises(ContentConflict):
        store.put_sidecar("acme", "arrivals/2026/a1.json", b'{"gate": "drop"}')

    assert store.read_sidecar("acme", "arrivals/2026/a1.json") == b'{"gate": "mail"}'


def test_many_blobs_are_stored_in_their_order_and_twice_the_same_once(backend: Backend) -> None:
    store = backend.store()
    contents = [b"one", LETTER, b"", b"one"]
    stored = store.put_all(Incoming("acme", io.BytesIO(content)) for content in contents)

    assert [one.sha256 for one in stored] == [sha256(content) for content in contents]
    assert [one.already_there for one in stored] == [False, False, False, True]
    for one, content in zip(stored, contents, strict=True):
        assert store.verify("acme", one.key) == Verified(one.sha256, len(content))
    assert store.put_all([]) == ()


def test_of_many_sidecars_the_first_content_stands(backend: Backend) -> None:
    backend.store().put_sidecar("acme", "b.json", b"first")
    wanted = [("a", b"1"), ("b", b"second"), ("c", b"2"), ("c", b"3")]
    sidecars = [Sidecar("acme", f"{name}.json", content) for name, content in wanted]

    assert backend.store().put_sidecars(sidecars) == (b"1", b"first", b"2", b"2")
    assert backend.store().read_sidecar("acme", "c.json") == b"2"


def test_sidecars_are_listed_apart_from_blobs(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(LETTER)).key
    names = ["arrivals/2026/a.json", "arrivals/2026/b.json", "erasures/x.json"]
    for name in reversed(names):
        store.put_sidecar("acme", name, name.encode())

    assert list(store.iter_sidecars("acme")) == names
    assert list(store.iter_sidecars("acme", "arrivals/")) == names[:2]
    assert list(store.iter_sidecars("beta")) == []
    assert list(store.iter_keys("acme")) == [key]


def test_a_copy_is_verified_and_the_original_stays(backend: Backend) -> None:
    store = backend.store()
    original = store.put("infrastructure", io.BytesIO(BIG))

    copy = store.copy("infrastructure", original.key, "acme")

    assert (copy.key, copy.already_there) == (original.key, False)
    assert store.verify("acme", copy.key) == Verified(original.sha256, original.size)
    assert store.exists("infrastructure", original.key)


def test_a_damaged_original_is_not_copied(backend: Backend) -> None:
    store = backend.store()
    key = store.put("infrastructure", io.BytesIO(LETTER)).key
    backend.overwrite(f"infrastructure/{key}", b"rotten")

    with pytest.raises(BlobDamaged):
        store.copy("infrastructure", key, "acme")

    assert backend.paths() == [f"infrastructure/{key}"]


def test_deleting_removes_one_blob(backend: Backend) -> None:
    store = backend.store()
    kept, gone = (store.put("acme", io.BytesIO(c)).key for c in (b"kept", b"gone"))

    assert store.delete("acme", gone)
    assert not store.delete("acme", gone)
    assert backend.paths() == [f"acme/{kept}"]


def test_what_was_deleted_can_be_stored_again(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(LETTER)).key
    store.delete("acme", key)

    assert not store.put("acme", io.BytesIO(LETTER)).already_there
    assert store.verify("acme", key) == Verified(sha256(LETTER), len(LETTER))


BAD_BUCKETS = [
    *("", ".", "..", "a/b", "/etc", "a\0b", "Acme", "acme.", "ümlaut", "-acme", "a\n"),
    "a" * 64,
]
BAD_KEYS = ["", "../x", "sha256/ab/cd/../x", "manifests/a.json", f"sha256/00/00/{'a' * 64}"]
BAD_SIDECARS = ["", "/a", "a/", "../a", "a/../b", "A.json", ".a", "a\0", "é", "a/" * 300 + "a"]


def test_a_bucket_is_never_a_path(backend: Backend) -> None:
    store = backend.store()
    key = blob_key(sha256(LETTER))

    for bucket in BAD_BUCKETS:
        for act in (
            lambda b: store.put(b, io.BytesIO(LETTER)),
            lambda b: store.open(b, key),
            lambda b: store.exists(b, key),
            lambda b: store.verify(b, key),
            lambda b: store.delete(b, key),
            lambda b: list(store.iter_keys(b)),
            lambda b: list(store.iter_sidecars(b)),
            lambda b: store.put_sidecar(b, "a.json", b"{}"),
        ):
            with pytest.raises(BadName):
                act(bucket)
    assert backend.paths() == []


def test_only_keys_are_read_and_deleted(backend: Backend) -> None:
    store = backend.store()
    store.put_sidecar("acme", "a.json", b"{}")

    for key in BAD_KEYS:
        for act in (store.open, store.exists, store.size, store.verify, store.delete):
            with pytest.raises(BadName):
                act("acme", key)
    assert backend.read("acme/manifests/a.json") == b"{}"


def test_a_sidecar_name_stays_in_its_area(backend: Backend) -> None:
    store = backend.store()

    for name in BAD_SIDECARS:
        with pytest.raises(BadName):
            store.put_sidecar("acme", name, b"{}")

    assert backend.paths() == []


def test_a_range_before_the_first_byte_is_refused(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(LETTER)).key

    for start, length in ((-1, 1), (0, -1)):
        with pytest.raises(BadName):
            store.read_range("acme", key, start, length)


def test_a_store_that_is_gone_is_unreachable_and_not_empty(backend: Backend) -> None:
    store = backend.store()
    key = store.put("acme", io.BytesIO(LETTER)).key
    lose_place(backend)

    verdict = store.verify("acme", key)
    assert isinstance(verdict, Unreachable)
    assert verdict.reason
    for act in (
        lambda: store.exists("acme", key),
        lambda: store.size("acme", key),
        lambda: list(store.iter_keys("acme")),
        lambda: list(store.iter_sidecars("acme")),
        lambda: store.put("acme", io.BytesIO(b"new")),
        lambda: store.put("beta", io.BytesIO(b"new")),
        lambda: store.delete("acme", key),
    ):
        with pytest.raises(StoreUnreachable):
            act()


def test_a_store_that_must_be_there_is_not_set_up_anew(backend: Backend) -> None:
    backend.store().put("acme", io.BytesIO(LETTER))
    lose_place(backend)

    with pytest.raises(StoreUnreachable):
        backend.store(create=False).put("acme", io.BytesIO(LETTER))


def lose_place(backend: Backend) -> None:
    """Take away the volume or the bucket, leaving an empty mount point."""
    if backend.name == "s3":
        client = backend._client  # pyright: ignore
        for path in backend.paths():
            client.delete_object(Bucket=backend.real, Key=f"firm/{path}")  # pyright: ignore
        client.delete_bucket(Bucket=backend.real)  # pyright: ignore
    else:
        root: Path = backend.root  # pyright: ignore
        root.rename(root.with_name(f"{root.name}-elsewhere"))
        root.mkdir()


def test_durability_is_stated(backend: Backend) -> None:
    store = backend.store()
    store.put("acme", io.BytesIO(LETTER))
    stated = store.durability

    expected = {
        "local": Assurance.DONE,
        "s3": Assurance.PROMISED,
        "sftp": Assurance.DONE,
        "webdav": Assurance.NOT_OFFERED,
    }
    assert stated.fsynced == expected[backend.name]
    assert stated.read_back == Assurance.DONE
    assert stated.encrypted == (backend.name in ("local", "sftp"))
    assert (store.region, stated.region, stated.standing) == ("DE", "DE", RegionStanding.EU)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.binary(max_size=3000), max_size=6))
def test_any_content_in_any_pieces_comes_back(store: BlobStore, pieces: list[bytes]) -> None:
    pieces = [piece for piece in pieces if piece]
    content = b"".join(pieces)

    stored = store.put("acme", stream(*pieces))

    assert (stored.sha256, stored.size) == (sha256(content), len(content))
    with store.open("acme", stored.key) as file:
        assert file.read() == content
    assert store.verify("acme", stored.key) == Verified(stored.sha256, stored.size)
