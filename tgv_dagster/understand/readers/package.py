"""ZIP packages of office formats, opened within bounds.

Here: size checks before anything is inflated, parts, relationships, and what lies embedded. Not
here: the vocabularies (`office_word`, `office_slides`, `office_odf`, `tables`) and ZIP archives as
such (`archives`).
"""

import contextlib
import posixpath
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.arrive.filetype import Family, sniff_file
from tgv_dagster.understand.extracted import (
    Embedded,
    EmbeddedRole,
    ExtractionSettings,
    Facts,
    PageText,
    ReaderError,
)
from tgv_dagster.understand.readers.embedding import keep_stream, refused
from tgv_dagster.understand.readers.xml_tree import Element, every, first, local, parse, text

_PART_BYTES = 96 * 2**20
_BLOCK = 1 << 16
_LEAST_PICTURE = 20_000
_MOST_PICTURES = 40


@dataclass(frozen=True, slots=True)
class Package:
    """An open package; names are case-folded on request because writers differ."""

    archive: zipfile.ZipFile
    settings: ExtractionSettings

    def names(self, prefix: str = "") -> list[str]:
        """Member names that begin with `prefix`, in order."""
        return [name for name in self.archive.namelist() if name.startswith(prefix)]

    def has(self, name: str) -> bool:
        """Whether a part exists."""
        return name in self.archive.NameToInfo

    def read(self, name: str) -> bytes:
        """One part, inflated within the bound. Raises ReaderError."""
        blocks: list[bytes] = []
        total = 0
        for block in self.blocks(name):
            total += len(block)
            if total > _PART_BYTES:
                raise ReaderError(f"a part is larger than {_PART_BYTES} bytes")
            blocks.append(block)
        return b"".join(blocks)

    def blocks(self, name: str) -> Iterator[bytes]:
        """One part in blocks. Raises ReaderError when it is damaged or missing."""
        try:
            with self.archive.open(name) as stream:
                while block := stream.read(_BLOCK):
                    yield block
        except KeyError as error:
            raise ReaderError("a part the package refers to is missing") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError,
                NotImplementedError) as error:  # fmt: skip
            raise ReaderError("a part of the package is damaged") from error

    def tree(self, name: str) -> Element:
        """The root element of an XML part. Raises ReaderError."""
        return parse(self.read(name))[0]

    def targets(self, part: str) -> dict[str, tuple[str, str]]:
        """Relationships of a part: id to (last word of the type, target part)."""
        folder, base = posixpath.split(part)
        name = f"{folder}/_rels/{base}.rels".lstrip("/")
        if not self.has(name):
            return {}
        found: dict[str, tuple[str, str]] = {}
        for item in every(self.tree(name), "Relationship"):
            if item.get("TargetMode") == "External":
                continue
            target = item.get("Target", "")
            path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
            kind = item.get("Type", "").rsplit("/", 1)[-1]
            found[item.get("Id", "")] = (kind, posixpath.normpath(path))
        return found

    def facts(self) -> Facts:
        """Title, author and date as the core properties state them."""
        if not self.has("docProps/core.xml"):
            return Facts()
        root = self.tree("docProps/core.xml")
        return Facts(
            title=clean_text(text(root, "title")),
            author=clean_text(text(root, "creator")),
            created=text(root, "created"),
        )

    def embedded(self, prefixes: Iterable[str]) -> tuple[Embedded, ...]:
        """Keep the files under the given folders."""
        kept: list[Embedded] = []
        most = self.settings.archive.member_bytes
        for name in self.archive.namelist():
            if not name.startswith(tuple(prefixes)) or name.endswith("/"):
                continue
            size = self.archive.getinfo(name).file_size
            base = PurePosixPath(name).name
            if size > most:
                reason = f"larger than {most} bytes"
                kept.append(refused(base, EmbeddedRole.ATTACHMENT, size, reason))
                continue
            kept.append(
                keep_stream(base, self.blocks(name), EmbeddedRole.ATTACHMENT, self.settings)
            )
        return tuple(kept)

    def pictures(self, prefix: str) -> tuple[PageText, ...]:
        """OCR of the pictures in a folder, for documents that consist of pictures only."""
        from tgv_dagster.understand.readers import images

        pages: list[PageText] = []
        names = [
            n for n in self.names(prefix) if self.archive.getinfo(n).file_size > _LEAST_PICTURE
        ]
        with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
            for name in names[:_MOST_PICTURES]:
                path = Path(folder) / "picture"
                with path.open("wb") as stream:
                    stream.writelines(self.blocks(name))
                found = sniff_file(path, name)
                if found.family is Family.IMAGE:
                    with contextlib.suppress(ReaderError):
                        pages += images.read(path, found, self.settings).pages
        return tuple(pages)


@contextlib.contextmanager
def opened(source: Path, settings: ExtractionSettings) -> Iterator[Package]:
    """Open a package after checking what it would inflate to. Raises ReaderError."""
    try:
        with zipfile.ZipFile(source) as archive:
            _check(archive, source.stat().st_size, settings)
            yield Package(archive, settings)
    except zipfile.BadZipFile as error:
        raise ReaderError("the package is damaged or cut off") from error


def _check(archive: zipfile.ZipFile, packed: int, settings: ExtractionSettings) -> None:
    limits, entries = settings.archive, archive.infolist()
    total = sum(entry.file_size for entry in entries)
    if len(entries) > 20 * limits.members:
        raise ReaderError(f"the package has {len(entries)} parts")
    if total > limits.total_bytes or total > limits.ratio * max(packed, 1 << 20):
        raise ReaderError(f"the package would inflate to {total} bytes")


def joined(node: Element, name: str) -> str:
    """All text of descendants with a local name, as one string."""
    return "".join(child.text or "" for child in node.iter() if local(child) == name)


def child(node: Element | None, path: str, attribute: str) -> str:
    """An attribute (by local name) of the first element at a path."""
    found = first(node, path)
    return attribute_of(found, attribute)


def attribute_of(node: Element | None, name: str) -> str:
    """An attribute by its local name; "" when absent."""
    if node is None:
        return ""
    for key, value in node.attrib.items():
        if key.rpartition("}")[2] == name:
            return value
    return ""
