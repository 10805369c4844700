"""PNG too large to decode: shown small by PDFium, which reads it line by line.

Here: the wrapping of the PNG's own compressed data as an image in a PDF, which uses the same
compression and line filters (PNG 1.2 chapter 6, PDF 32000 7.4.4.4). Not here: other formats.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pikepdf
import pypdfium2 as pdfium

from tgv_dagster.understand.extracted import ReaderError

_COLOURS = {0: (1, "/DeviceGray"), 2: (3, "/DeviceRGB"), 3: (1, "/Indexed")}
_MOST_BYTES = 256 * 2**20


def read_gray(source: Path, size: tuple[int, int], target: tuple[int, int]) -> np.ndarray:
    """Gray pixels of a PNG at the target size. Raises ReaderError for kinds it cannot wrap."""
    with source.open("rb") as stream, tempfile.TemporaryDirectory(prefix="png-") as folder:
        header, palette, data = _chunks(stream)
        wrapped = Path(folder) / "wrapped.pdf"
        _wrap(header, palette, data, size, wrapped)
        with pdfium.PdfDocument(wrapped) as document:
            page = document[0]
            scale: Any = target[0] / size[0]
            bitmap = page.render(scale=scale, grayscale=True)
            pixels = bitmap.to_numpy().reshape(bitmap.height, -1)[:, : bitmap.width]
            return np.array(pixels[: target[1], : target[0]])


def _chunks(stream: BinaryIO) -> tuple[bytes, bytes, bytes]:
    stream.seek(8)
    header, palette, data = b"", b"", bytearray()
    for kind, body in _each(stream):
        if kind == b"IHDR":
            header = body
        elif kind == b"PLTE":
            palette = body
        elif kind == b"IDAT":
            data += body
    if len(header) != 13 or header[12] != 0 or header[9] not in _COLOURS:
        raise ReaderError("a huge PNG with interlacing or transparency is over the memory bound")
    return header, palette, bytes(data)


def _each(stream: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    total = 0
    while len(head := stream.read(8)) == 8:
        length = int.from_bytes(head[:4], "big")
        total += length
        if total > _MOST_BYTES:
            raise ReaderError("a huge PNG whose data is over the memory bound")
        yield head[4:], stream.read(length)
        stream.read(4)


def _wrap(header: bytes, palette: bytes, data: bytes, size: tuple[int, int], path: Path) -> None:
    channels, space = _COLOURS[header[9]]
    with pikepdf.new() as pdf:
        colours: Any = pikepdf.Name(space)
        if space == "/Indexed":
            most = len(palette) // 3 - 1
            colours = pikepdf.Array(
                [pikepdf.Name("/Indexed"), pikepdf.Name("/DeviceRGB"), most, palette]
            )
        image = pikepdf.Stream(pdf, data)
        image.stream_dict = pikepdf.Dictionary(
            Type=pikepdf.Name("/XObject"),
            Subtype=pikepdf.Name("/Image"),
            Width=size[0],
            Height=size[1],
            BitsPerComponent=header[8],
            ColorSpace=colours,
            Filter=pikepdf.Name("/FlateDecode"),
            DecodeParms=pikepdf.Dictionary(
                Predictor=15, Colors=channels, BitsPerComponent=header[8], Columns=size[0]
            ),
        )
        page = pdf.add_blank_page(page_size=(size[0], size[1]))
        page.obj.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(I=image))
        content = f"{size[0]} 0 0 {size[1]} 0 0 cm /I Do".encode()
        page.obj.Contents = pikepdf.Stream(pdf, content)
        pdf.save(path, compress_streams=False, stream_decode_level=pikepdf.StreamDecodeLevel.none)
