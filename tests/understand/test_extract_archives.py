"""Archives: members within limits, every member that was left out is named."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from asn1crypto import cms
from extraction_files import LETTER, compound, read, text_pdf, written, zipped

from tgv_dagster.arrive.filetype import Family
from tgv_dagster.understand.extraction import ArchiveLimits, Embedded, Status


def _tar(*members: tuple[str, bytes | str], mode: Any = "w") -> bytes:
    """A TAR; a string as content makes a symbolic link to it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            if isinstance(data, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, data
                archive.addfile(entry)
            else:
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _by_name(members: tuple[Embedded, ...]) -> dict[str, Embedded]:
    return {member.name: member for member in members}


@pytest.mark.parametrize(
    "raw",
    [
        zipped({"a.pdf": text_pdf(LETTER), "ordner/b.txt": "Hallo"}),
        _tar(("a.pdf", text_pdf(LETTER)), ("ordner/b.txt", b"Hallo")),
        _tar(("a.pdf", text_pdf(LETTER)), ("ordner/b.txt", b"Hallo"), mode="w:gz"),
        _tar(("a.pdf", text_pdf(LETTER)), ("ordner/b.txt", b"Hallo"), mode="w:xz"),
    ],
    ids=["zip", "tar", "tar.gz", "tar.xz"],
)
def test_members_are_kept_and_listed(raw: bytes, tmp_path: Path):
    found = read(written(tmp_path / "x", raw), embedded_dir=tmp_path / "i")

    members = _by_name(found.embedded)
    assert found.status is Status.COMPLETE
    assert members["a.pdf"].family is Family.PDF and members["ordner/b.txt"].size == 5
    assert "ordner/b.txt" in found.text
    assert (tmp_path / "i" / members["ordner/b.txt"].sha256).read_bytes() == b"Hallo"


@pytest.mark.parametrize(
    ("name", "pack"), [("b.txt.gz", gzip.compress), ("b.txt.bz2", bz2.compress),
                       ("b.txt.xz", lzma.compress)],
)  # fmt: skip
def test_a_single_compressed_file(name: str, pack, tmp_path: Path):
    found = read(written(tmp_path / name, pack(b"Hallo Welt\n" * 10)), embedded_dir=tmp_path / "i")

    (member,) = found.embedded
    assert member.name == "b.txt" and member.size == 110


def test_a_single_compressed_file_is_called_after_the_file_not_after_its_place(tmp_path: Path):
    """Blobs lie under their hash: that is no name, and hides what kind of file is inside."""
    blob = written(tmp_path / "0f3a", gzip.compress(b"Tag;Betrag\n1.3.2026;4,50\n"))

    found = read(blob, embedded_dir=tmp_path / "i", file_name="Kasse März.csv.gz")

    assert [member.name for member in found.embedded] == ["Kasse März.csv"]


def test_archives_in_archives_are_opened_to_the_depth(tmp_path: Path):
    deepest = zipped({"d.txt": "d"})
    raw = zipped({"b.zip": zipped({"c.zip": deepest, "c.txt": "c"}), "a.txt": "a"})

    found = read(written(tmp_path / "x", raw), embedded_dir=tmp_path / "i")

    members = _by_name(found.embedded)
    assert set(members) == {"b.zip", "a.txt", "b.zip/c.zip", "b.zip/c.txt"}
    assert "too deep" in members["b.zip/c.zip"].reason and members["b.zip/c.zip"].stored
    assert found.status is Status.TRUNCATED


def test_names_never_become_paths(tmp_path: Path):
    folder = tmp_path / "i"
    raw = zipped({"../../oben.txt": "x", "/etc/absolut": "y", "C:\\win.txt": "z"})

    read(written(tmp_path / "x", raw), embedded_dir=folder)

    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path, folder}
    assert all(len(path.name) == 64 for path in folder.iterdir())


def test_links_are_not_followed(tmp_path: Path):
    secret = written(tmp_path / "secret", b"geheim")
    raw = _tar(("link", str(secret)), ("a.txt", b"a"))

    found = read(written(tmp_path / "x", raw), embedded_dir=tmp_path / "i")

    link = _by_name(found.embedded)["link"]
    assert link.stored is None and "not followed" in link.reason
    assert found.status is Status.TRUNCATED


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (ArchiveLimits(members=3), "members"),
        (ArchiveLimits(member_bytes=1000), "larger"),
        (ArchiveLimits(total_bytes=60_000), "beyond"),
    ],
)
def test_limits_are_told(limits: ArchiveLimits, word: str, tmp_path: Path):
    raw = zipped({f"{n}.txt": bytes([65 + n]) * 20_000 for n in range(6)})

    found = read(written(tmp_path / "x", raw), embedded_dir=tmp_path / "i", archive=limits)

    assert found.status is Status.TRUNCATED
    assert word in found.reason or any(word in m.reason for m in found.embedded)


def test_a_bomb_is_stopped_while_reading(tmp_path: Path):
    raw = zipped({"bomb": bytes(90_000_000)})

    found = read(written(tmp_path / "x", raw), embedded_dir=tmp_path / "i")

    assert found.status is Status.TRUNCATED and "inflates" in found.reason
    assert sum(path.stat().st_size for path in (tmp_path / "i").iterdir()) == 0


def _encrypted_zip(password: bytes) -> bytes:
    """Traditional ZIP encryption of one stored member (APPNOTE 6.1)."""
    plain = b"Gehaltsliste"
    keys = [0x12345678, 0x23456789, 0x34567890]

    def crc(value: int, byte: int) -> int:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
        return value

    def update(byte: int) -> None:
        keys[0] = crc(keys[0], byte)
        keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = crc(keys[2], keys[1] >> 24)

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("liste.txt", plain)
    raw = bytearray(out.getvalue())
    checksum = int.from_bytes(raw[14:18], "little")
    for byte in password:
        update(byte)
    cipher = bytearray()
    for byte in bytes(11) + bytes([checksum >> 24]) + plain:
        temp = (keys[2] | 2) & 0xFFFF
        cipher.append(byte ^ ((temp * (temp ^ 1)) >> 8) & 0xFF)
        update(byte)
    head = raw[:30] + b"liste.txt"
    central = raw[raw.find(b"PK\x01\x02") :]
    for part, flags, size in ((head, 6, 18), (central, 8, 20)):
        part[flags] |= 1
        part[size : size + 4] = len(cipher).to_bytes(4, "little")
    end = central.find(b"PK\x05\x06")
    central[end + 16 : end + 20] = (len(head) + len(cipher)).to_bytes(4, "little")
    return bytes(head + cipher + central)


def test_a_locked_archive_and_its_password(tmp_path: Path):
    path = written(tmp_path / "x.zip", _encrypted_zip(b"sesam"))

    assert read(path).status is Status.ENCRYPTED
    assert read(path, passwords=("falsch",)).status is Status.ENCRYPTED
    opened = read(path, passwords=("falsch", "sesam"), embedded_dir=tmp_path / "i")
    assert opened.status is Status.COMPLETE
    assert (tmp_path / "i" / opened.embedded[0].sha256).read_bytes() == b"Gehaltsliste"


def test_names_in_the_code_page_of_dos(tmp_path: Path):
    raw = zipped({"Xbung.txt": "x"}).replace(b"Xbung", "Übung".encode("cp850"))

    assert _by_name(read(written(tmp_path / "x", raw)).embedded).keys() == {"Übung.txt"}


def test_other_archives_are_streamed_by_libarchive(tmp_path: Path):
    import libarchive

    path = tmp_path / "x.7z"
    with libarchive.file_writer(str(path), "7zip") as archive:
        archive.add_file_from_memory("a.txt", 5, b"Hallo")

    found = read(path, embedded_dir=tmp_path / "i")

    assert [(m.name, m.size) for m in found.embedded] == [("a.txt", 5)]


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize("kind", ["zip", "tar.gz", "7z"])
def test_a_cut_archive_is_never_complete(kind: str, share: float, tmp_path: Path):
    import libarchive

    members = [(f"{n}.bin", bytes((n * k) % 251 for k in range(3000))) for n in range(1, 20)]
    path = tmp_path / f"x.{kind}"
    if kind == "zip":
        path.write_bytes(zipped(dict(members)))
    elif kind == "tar.gz":
        path.write_bytes(_tar(*members, mode="w:gz"))
    else:
        with libarchive.file_writer(str(path), "7zip") as archive:
            for name, data in members:
                archive.add_file_from_memory(name, len(data), data)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * share)])

    found = read(path, embedded_dir=tmp_path / "i")

    assert found.status in (Status.FAILED, Status.TRUNCATED) and found.reason


def test_an_empty_archive_is_empty(tmp_path: Path):
    assert read(written(tmp_path / "x", zipped({}))).status is Status.EMPTY


def _signed(content: bytes) -> bytes:
    """A CMS envelope around the content, without any signer."""
    inner = cms.ContentInfo({"content_type": "data", "content": content})
    data = cms.SignedData(
        {
            "version": "v1",
            "digest_algorithms": [],
            "encap_content_info": {"content_type": "data", "content": inner["content"].native},
            "signer_infos": [],
        }
    )
    return cms.ContentInfo({"content_type": "signed_data", "content": data}).dump()


def test_the_content_of_a_signed_file_is_read(tmp_path: Path):
    path = written(tmp_path / "Rechnung.pdf.p7m", _signed(text_pdf(LETTER)))

    found = read(path, embedded_dir=tmp_path / "i")

    assert "1.234,50" in found.text and found.facts.signed
    assert found.embedded[0].name == "Rechnung.pdf" and found.embedded[0].family is Family.PDF


def _properties(*numbers: tuple[int, int], head: int) -> bytes:
    entries = (
        (3).to_bytes(2, "little") + tag.to_bytes(2, "little") + bytes(4)
        + value.to_bytes(8, "little")
        for tag, value in numbers
    )  # fmt: skip
    return (bytes(head) + b"".join(entries)).ljust(4096, b"\0")


def test_an_outlook_item_with_an_attachment(tmp_path: Path):
    attachment = "__attach_version1.0_#00000000"
    raw = compound(
        {
            "__properties_version1.0": _properties(head=32),
            "__substg1.0_0037001F": "Rechnung März".encode("utf-16-le").ljust(4096, b"\0"),
            "__substg1.0_1000001F": "Anbei die Rechnung.".encode("utf-16-le").ljust(4096, b"\0"),
            f"{attachment}/__properties_version1.0": _properties((0x3705, 1), head=8),
            f"{attachment}/__substg1.0_3707001F": "r.pdf".encode("utf-16-le").ljust(4096, b"\0"),
            f"{attachment}/__substg1.0_37010102": text_pdf(LETTER).ljust(4096, b"\n"),
        }
    )

    found = read(written(tmp_path / "x.msg", raw), embedded_dir=tmp_path / "i")

    assert "Subject: Rechnung März" in found.text and "Anbei die Rechnung." in found.text
    assert [(item.name, item.family) for item in found.embedded] == [("r.pdf", Family.PDF)]
