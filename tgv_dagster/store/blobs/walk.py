"""Walking a tree of directories by prefix, the same for every store that has directories.

Belongs here: the pruned walk in ascending order. Does not belong here: how a directory is listed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a directory, or one file of a walk. `modified` in seconds since the epoch."""

    path: str
    is_directory: bool
    modified: float


Listing = Callable[[str], list[Entry] | None]


def area_prefix(area: str, prefix: str) -> str | None:
    """Return what to walk for paths under `area/` that start with `prefix`, None when none can."""
    inside = f"{area}/"
    if prefix.startswith(inside):
        return prefix
    return inside if inside.startswith(prefix) else None


def walk_tree(listing: Listing, prefix: str) -> Iterator[Entry]:
    """Yield every file whose path starts with `prefix`, in ascending order of the path.

    listing: the entries of the directory at a path ("" is the top) with bare names as `path`,
    None when there is no such directory. Only directories that can hold a match are listed.
    """
    top = prefix.rpartition("/")[0]
    yield from _walk(listing, top, prefix)


def _walk(listing: Listing, directory: str, prefix: str) -> Iterator[Entry]:
    entries = listing(directory) or []
    # A directory sorts as its name with a slash, so that the order is that of the full paths.
    for entry in sorted(entries, key=lambda e: e.path + "/" * e.is_directory):
        path = f"{directory}/{entry.path}" if directory else entry.path
        if entry.is_directory:
            if f"{path}/".startswith(prefix):
                yield from _walk(listing, path, prefix)
        elif path.startswith(prefix):
            yield Entry(path, is_directory=False, modified=entry.modified)
