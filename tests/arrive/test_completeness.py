"""Completeness: the end of each format is seen, and a missing end is never called complete."""

import bz2
import gzip
import io
import lzma
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tgv_dagster.arrive.completeness import State, is_complete


def _image(kind: str, **options) -> bytes:
    out = io.BytesIO()
    picture = Image.effect_noise((120, 90), 60).convert("RGB")
    picture.save(out, kind, **options)
    return out.getvalue()


def _tiff() -> bytes:
    out = io.BytesIO()
    frames = [Image.effect_noise((80, 60), 50) for _ in range(3)]
    frames[0].save(out, "TIFF", save_all=True, append_images=frames[1:])
    return out.getvalue()


def _pdf(**options) -> bytes:
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        for _ in range(30):
            pdf.add_blank_page()
        pdf.save(out, **options)
    return out.getvalue()


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", bytes(range(256)) * 20)
    return out.getvalue()


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("a.bin")
        entry.size = 38000
        archive.addfile(entry, io.BytesIO(b"x" * 38000))
    return out.getvalue()


_NOISE = Image.effect_noise((64, 64), 90).tobytes()
_XML = b'<?xml version="1.0"?><!-- c -->\n<a:Root xmlns:a="u">' + b"<b>1</b>" * 400 + b"</a:Root>\n"
_MAIL = (
    b"From: a@example.org\r\nDate: Mon, 1 Jan 2024 10:00:00 +0100\r\n"
    b'Content-Type: multipart/mixed;\r\n boundary="=_b1"\r\n\r\n--=_b1\r\n\r\n'
    + b"text\r\n" * 300
    + b"--=_b1--\r\n"
)

BUILDERS: dict[str, Callable[[], bytes]] = {
    "pdf": _pdf,
    "pdf linearized": lambda: _pdf(linearize=True),
    "png": lambda: _image("PNG"),
    "jpeg": lambda: _image("JPEG"),
    "gif": lambda: _image("GIF"),
    "bmp": lambda: _image("BMP"),
    "webp": lambda: _image("WEBP"),
    "tiff pages": _tiff,
    "zip": _zip,
    "tar": _tar,
    "gzip": lambda: gzip.compress(_NOISE),
    "bzip2": lambda: bz2.compress(_NOISE),
    "xz": lambda: lzma.compress(_NOISE),
    "rtf": lambda: b"{\\rtf1 " + b"Guten Tag. " * 900 + b"}\n",
    "xml": lambda: _XML,
    "xml utf-16": lambda: _XML.decode().encode("utf-16"),
    "json": lambda: b'{"rows": [' + b"1," * 900 + b"2]}\n",
    "mail": lambda: _MAIL,
    "calendar": lambda: b"BEGIN:VCALENDAR\r\n" + b"X-A:1\r\n" * 300 + b"END:VCALENDAR\r\n",
    "card": lambda: b"BEGIN:VCARD\r\n" + b"NOTE:1\r\n" * 300 + b"END:VCARD\r\n",
    "ofx": lambda: b"OFXHEADER:100\r\n\r\n<OFX>" + b"<A>1" * 300 + b"</OFX>",
    "cms": lambda: b"\x30\x82\x08\x00\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02" + b"\x05" * 2041,
}


def _state(path: Path, raw: bytes) -> State:
    path.write_bytes(raw)
    return is_complete(path, raw[:4096]).state


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_whole_file_is_complete(kind: str, tmp_path: Path):
    assert _state(tmp_path / "f", BUILDERS[kind]()) is State.COMPLETE


@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_cut_file_is_incomplete(kind: str, share: float, tmp_path: Path):
    raw = BUILDERS[kind]()
    assert _state(tmp_path / "f", raw[: int(len(raw) * share)]) is State.INCOMPLETE


@pytest.mark.parametrize("kind", [k for k in BUILDERS if k not in ("tar", "xml utf-16")])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_space_reserved_before_the_content_is_incomplete(kind: str, share: float, tmp_path: Path):
    raw = BUILDERS[kind]()
    raw = raw if len(raw) > 6000 else raw.ljust(9000, b"\n")
    written = int(len(raw) * share)
    assert _state(tmp_path / "f", raw[:written] + bytes(len(raw) - written)) is State.INCOMPLETE


@pytest.mark.parametrize(
    "raw",
    [b"", b"Guten Tag\n", b"Datum;Betrag\n1.1.2024;3,50\n", b"From: a@b\r\nDate: x\r\n\r\nHi\r\n"],
)
def test_formats_without_an_end_are_undecidable(raw: bytes, tmp_path: Path):
    assert _state(tmp_path / "f", raw) is State.UNDECIDABLE


def test_text_with_reserved_zeros_at_the_end_is_incomplete(tmp_path: Path):
    assert _state(tmp_path / "f", b"Datum;Betrag\n" * 20 + bytes(4096)) is State.INCOMPLETE


def test_a_pdf_padded_by_its_writer_is_complete(tmp_path: Path):
    assert _state(tmp_path / "f", b"\r\n\r\n" + _pdf() + b"\r\n" * 40) is State.COMPLETE


def test_an_archive_that_begins_with_a_pdf_is_judged_as_an_archive(tmp_path: Path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.pdf", _pdf())
    raw = out.getvalue()
    cut = raw[: raw.rindex(b"%%EOF") + 5]
    assert _state(tmp_path / "whole", raw) is State.COMPLETE
    assert _state(tmp_path / "cut", cut) is State.INCOMPLETE


def test_a_photo_with_data_behind_its_end_mark_is_complete(tmp_path: Path):
    raw = _image("JPEG") + b"MotionPhoto" + _NOISE * 20
    assert _state(tmp_path / "f", raw) is State.COMPLETE


def test_the_end_mark_of_a_thumbnail_is_not_the_end_of_the_photo(tmp_path: Path):
    exif = b"\xff\xe1\x00\x0aThumb\xff\xd9\x00"
    photo = _image("JPEG", quality=95)
    raw = photo[:2] + exif + photo[2:]
    assert _state(tmp_path / "whole", raw) is State.COMPLETE
    assert _state(tmp_path / "cut", raw[: len(raw) * 2 // 3]) is State.INCOMPLETE


def test_a_scanner_that_appends_a_page_is_incomplete_until_the_page_is_there(tmp_path: Path):
    raw = _tiff()
    states = [_state(tmp_path / "f", raw[:length]) for length in range(200, len(raw), 997)]
    assert State.COMPLETE not in states


def test_the_head_may_be_left_to_the_function(tmp_path: Path):
    path = tmp_path / "f"
    path.write_bytes(_pdf())
    assert is_complete(path).state is State.COMPLETE


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(BUILDERS)), st.integers(0, 400), st.binary(max_size=40))
def test_damaged_bytes_never_raise(kind: str, at: int, noise: bytes):
    raw = bytearray(BUILDERS[kind]())
    raw[at : at + len(noise)] = noise
    with tempfile.TemporaryDirectory() as folder:
        assert _state(Path(folder) / "f", bytes(raw)) in State
