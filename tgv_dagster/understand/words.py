"""Words: how the word lists under `lexicon/` are read, folded and searched.

Here belongs the machinery only: length-preserving folding, phrase automata, loading of the data
files. Which words mean what stands in the data files, so a language is added without code.

Notation in the data files: a leading or trailing `*` opens a word at that end (`*rechnung` finds
"Stromrechnung"), `-` inside a phrase stands for hyphen, blank or nothing, `.` for an optional full
stop, a blank for any white space. Umlauts may be written either way in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml


class LexiconError(ValueError):
    """A data file that does not have the expected shape; the message names file and key."""


class _FoldTable(dict[int, str]):
    """Maps one character to exactly one folded character, computed when first met."""

    def __missing__(self, code: int) -> str:
        folded = chr(code)
        while (step := _fold_once(folded)) != folded:
            folded = step
        self[code] = folded
        return folded


def _fold_once(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    base = unicodedata.normalize("NFD", character)[0]
    lowered = base.lower()
    return lowered if len(lowered) == 1 else base


_SPECIAL = {
    "ß": "s",
    "ẞ": "s",
    "ø": "o",
    "Ø": "o",
    "æ": "a",
    "œ": "o",
    "ł": "l",
    "Ł": "l",
    "ı": "i",
    "й": "й",
    "Й": "й",
    "ё": "е",
    "Ё": "е",
    "№": "№",
    "º": "°",
    "\t": " ",
    **dict.fromkeys("\u00a0\u202f\u2009\u2007\u2002\u2003", " "),
    **dict.fromkeys("‐‑‒–—−﹣－", "-"),
    **dict.fromkeys("’‘ʼ´`′", "'"),
}
_TABLE = _FoldTable()


def fold(text: str) -> str:
    """Lower case without accents, with plain blanks, hyphens and apostrophes.

    The result has the length of the input, so offsets hold in both.
    """
    return text.translate(_TABLE)


@dataclass(frozen=True, slots=True)
class Hit:
    """A phrase found: its key in the word list and its place in the text."""

    key: str
    start: int
    end: int


class PhraseFinder:
    """Finds many phrases in one pass, longest first, without overlap; linear in the text."""

    def __init__(self, phrases: Mapping[str, Iterable[str]]) -> None:
        """`phrases` maps a key to its phrases in the notation of this module."""
        self._keys: list[str] = []
        trie: _Node = _Node()
        for key, variants in phrases.items():
            for phrase in variants:
                for spelled in spellings(phrase):
                    self._insert(trie, _atoms(spelled), key)
        self._pattern = re.compile(_render(trie)) if self._keys else None

    def _insert(self, node: _Node, atoms: list[str], key: str) -> None:
        for atom in atoms:
            node = node.children.setdefault(atom, _Node())
        if node.terminal is None:
            self._keys.append(key)
            node.terminal = len(self._keys) - 1

    def find(self, folded: str) -> Iterator[Hit]:
        """Hits in text that has been through `fold`, in order."""
        if self._pattern is None:
            return
        for match in self._pattern.finditer(folded):
            name = match.lastgroup
            if name is not None:
                yield Hit(self._keys[int(name[1:])], match.start(), match.end())


class _Node:
    """One state of the phrase automaton."""

    __slots__ = ("children", "terminal")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.terminal: int | None = None


_LEFT = r"(?<!\w)"
_RIGHT = r"(?!\w)"
_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}


def spellings(phrase: str) -> set[str]:
    """The phrase folded, and folded after writing its umlauts out."""
    written_out = phrase.lower()
    for umlaut, letters in _UMLAUTS.items():
        written_out = written_out.replace(umlaut, letters)
    return {fold(phrase), fold(written_out)}


def _atoms(phrase: str) -> list[str]:
    """The phrase as a list of pattern atoms with its word borders."""
    open_left, open_right = phrase.startswith("*"), phrase.endswith("*")
    body = phrase.strip("*")
    if not body.strip():
        raise LexiconError(f"empty phrase {phrase!r}")
    atoms = [] if open_left or not _is_word(body[0]) else [_LEFT]
    for character in body:
        match character:
            case " ":
                atoms.append(r"\s{1,4}")
            case "-":
                atoms.append(r"[- ]?")
            case ".":
                atoms.append(r"\.?")
            case _:
                atoms.append(re.escape(character))
    if not open_right and (_is_word(body[-1]) or body[-1] == "."):
        atoms.append(_RIGHT)
    return atoms


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _render(node: _Node) -> str:
    """The automaton as a pattern; longer phrases are tried before their beginnings."""
    order = sorted(node.children, key=lambda atom: (atom == _RIGHT, atom != _LEFT))
    branches = [atom + _render(node.children[atom]) for atom in order]
    if node.terminal is not None:
        branches.append(f"(?P<t{node.terminal}>)")
    return branches[0] if len(branches) == 1 else "(?:" + "|".join(branches) + ")"


@cache
def load(name: str) -> Any:
    """The parsed data file `lexicon/<name>.yaml`.

    Raises LexiconError when the file is missing or no mapping. Read once per process.
    """
    path = resources.files("tgv_dagster.understand") / "lexicon" / f"{name}.yaml"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise LexiconError(f"lexicon {name}: {error}") from error
    if not isinstance(data, dict):
        raise LexiconError(f"lexicon {name}: a mapping is expected")
    return data


def phrases_by_key(name: str, section: str | None = None) -> dict[str, tuple[str, ...]]:
    """Phrases of a data file shaped `key: {language: [phrase, ...]}`, languages joined.

    All languages are searched at once: a document may mix them, and a wrongly detected language
    must not hide a label. Raises LexiconError for another shape.
    """
    data = load(name)
    if section is not None:
        data = data.get(section)
    if not isinstance(data, dict):
        raise LexiconError(f"lexicon {name}: section {section} is missing")
    result: dict[str, tuple[str, ...]] = {}
    for key, languages in data.items():
        if not isinstance(key, str) or not isinstance(languages, dict):
            raise LexiconError(f"lexicon {name}: {key} must be a word mapping languages to phrases")
        result[key] = tuple(_strings(name, key, languages))
    return result


def _strings(name: str, key: str, languages: Mapping[object, object]) -> Iterator[str]:
    for language, phrases in languages.items():
        if not isinstance(language, str):
            raise LexiconError(f"lexicon {name}: {key} has a language {language!r} that is no word")
        if not isinstance(phrases, list) or not all(isinstance(p, str) for p in phrases):
            raise LexiconError(f"lexicon {name}: {key}.{language} must be a list of phrases")
        yield from phrases


@cache
def finder(name: str, section: str | None = None) -> PhraseFinder:
    """The compiled finder of a data file; see `phrases_by_key`."""
    return PhraseFinder(phrases_by_key(name, section))
