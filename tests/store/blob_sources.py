"""Sources of bytes for the tests of the byte store."""

from typing import BinaryIO, cast


class Trickle:
    """A binary stream that gives its pieces as they are, like a pipe or a response does."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def read(self, size: int = -1) -> bytes:
        return next(self._pieces, b"")


def stream(*pieces: bytes) -> BinaryIO:
    """Return a stream that cannot seek and gives one piece at a time."""
    return cast("BinaryIO", Trickle(list(pieces)))
