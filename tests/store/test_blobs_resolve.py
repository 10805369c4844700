"""From an address to a store, and from a declared region to its side of the border."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.store.blobs import (
    BadName,
    BadStoreUrl,
    LocalBlobStore,
    RegionStanding,
    RemoteBlobStore,
    StoreError,
    blob_key,
    check_bucket,
    region_standing,
    resolve,
    sha256_of,
)
from tgv_dagster.store.blobs.regions import EU_COUNTRIES
from tgv_dagster.store.blobs.walk import Entry, walk_tree


def test_a_path_and_a_file_address_are_the_same_store(tmp_path: Path) -> None:
    root = tmp_path / "mit Leerzeichen & Ümlaut %"
    by_path, by_address = resolve(str(root)), resolve(root.as_uri())

    assert isinstance(by_path, LocalBlobStore)
    assert by_path.url == by_address.url == root.as_uri()


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/prefix", "sftp://user@host:23/path", "webdavs://host/path", "webdav://host:81/"],
)
def test_a_remote_store_is_not_contacted_before_it_is_used(url: str) -> None:
    store = resolve(url, region="FR", environ={})

    assert isinstance(store, RemoteBlobStore)
    assert (store.url, store.region, store.durability.standing) == (url, "FR", RegionStanding.EU)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "no directory"),
        ("a\0b", "no directory"),
        ("file://elsewhere/path", "another machine"),
        ("s3://", "no bucket"),
        ("sftp:///path", "no host"),
        ("webdavs://", "no host"),
        ("gs://bucket", "no kind of store"),
        ("https://host/path", "no kind of store"),
        ("sftp://user@host:notaport/", "cannot be read"),
        ("sftp://user@host/path?x=1", "query"),
        ("s3://bucket/path#part", "fragment"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_its_reason(url: str, reason: str) -> None:
    with pytest.raises(BadStoreUrl, match=reason):
        resolve(url, environ={})


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(BadStoreUrl) as refused:
        resolve("sftp://user:hunter2@host/path", environ={})

    assert "hunter2" not in str(refused.value)
    assert "environment" in str(refused.value)


@pytest.mark.parametrize(
    ("region", "standing"),
    [
        ("DE", RegionStanding.EU),
        ("fr", RegionStanding.EU),
        ("DE-BY", RegionStanding.EU),
        ("EU", RegionStanding.EU),
        ("RE", RegionStanding.EU),
        ("nbg1", RegionStanding.EU),
        ("hetzner:fsn1", RegionStanding.EU),
        ("eu-central-1", RegionStanding.EU),
        ("europe-west3", RegionStanding.EU),
        ("westeurope", RegionStanding.EU),
        (" eu-north-1 ", RegionStanding.EU),
        ("GB", RegionStanding.OUTSIDE),
        ("CH", RegionStanding.OUTSIDE),
        ("NO", RegionStanding.OUTSIDE),
        ("GB-ENG", RegionStanding.OUTSIDE),
        ("us-east-1", RegionStanding.OUTSIDE),
        ("europe-west2", RegionStanding.OUTSIDE),
        ("europe-west6", RegionStanding.OUTSIDE),
        ("uksouth", RegionStanding.OUTSIDE),
        ("aws:eu-west-2", RegionStanding.OUTSIDE),
        ("aws:eu-central-2", RegionStanding.OUTSIDE),
        ("wasabi:eu-west-1", RegionStanding.OUTSIDE),
        ("aws:eu-west-1", RegionStanding.EU),
        ("wasabi:eu-central-2", RegionStanding.EU),
        ("eu-west-1", RegionStanding.UNDECLARED),
        ("eu-central-2", RegionStanding.UNDECLARED),
        (None, RegionStanding.UNDECLARED),
        ("", RegionStanding.UNDECLARED),
        ("  ", RegionStanding.UNDECLARED),
        ("XX", RegionStanding.UNDECLARED),
        ("XX-YY", RegionStanding.UNDECLARED),
        ("europe-west99", RegionStanding.UNDECLARED),
        ("nowhere:eu-central-1", RegionStanding.UNDECLARED),
        ("aws:", RegionStanding.UNDECLARED),
        ("somewhere in Europe", RegionStanding.UNDECLARED),
    ],
)
def test_a_region_lies_inside_outside_or_is_not_declared(
    region: str | None, standing: RegionStanding
) -> None:
    assert region_standing(region) is standing


def test_the_union_has_27_members_and_7_territories_with_codes_of_their_own() -> None:
    assert len(EU_COUNTRIES) == 27 + 7


@given(st.text())
def test_no_declaration_is_more_than_it_says(region: str) -> None:
    """Whatever is written there, the answer is one of three and never an error."""
    assert region_standing(region) in RegionStanding


@given(st.text(max_size=80))
def test_every_accepted_bucket_is_one_plain_name(bucket: str) -> None:
    try:
        accepted = check_bucket(bucket)
    except BadName:
        return
    assert accepted == bucket == bucket.lower()
    assert Path("/root", bucket).parent == Path("/root")
    assert bucket.isascii()
    assert "." not in bucket


@given(st.binary(min_size=32, max_size=32))
def test_a_key_and_its_hash_are_one_to_one(digest: bytes) -> None:
    assert sha256_of(blob_key(digest.hex())) == digest.hex()


@given(st.text(max_size=90))
def test_no_other_text_is_a_key(text: str) -> None:
    with pytest.raises(BadName):
        sha256_of(text)
    with pytest.raises(BadName):
        blob_key(text)


def test_an_error_keeps_problem_and_remedy_apart_when_it_travels() -> None:
    error = pickle.loads(pickle.dumps(BadStoreUrl("it is wrong", "Correct it")))

    assert isinstance(error, BadStoreUrl | StoreError)
    assert (error.problem, error.remedy) == ("it is wrong", "Correct it")


names = st.text("ab.-", min_size=1, max_size=3).filter(lambda n: n not in (".", ".."))
trees = st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), max_size=12, unique=True)


@given(trees, st.text("ab.-/", max_size=5))
def test_a_walk_yields_exactly_the_paths_with_the_prefix_in_order(
    paths: list[str], prefix: str
) -> None:
    files = [p for p in paths if not any(o.startswith(f"{p}/") for o in paths)]

    def listing(directory: str) -> list[Entry] | None:
        inside = [
            f.removeprefix(f"{directory}/" if directory else "")
            for f in files
            if not directory or f.startswith(f"{directory}/")
        ]
        names = {(f.partition("/")[0], "/" in f) for f in inside}
        return [Entry(name, is_directory=d, modified=0.0) for name, d in names] or None

    walked = [entry.path for entry in walk_tree(listing, prefix)]

    assert walked == sorted(f for f in files if f.startswith(prefix))
