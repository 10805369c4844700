"""Folding: one spelling for case, accents, ligatures and umlauts, and the words of a text.

Whoever compares words folds both sides by these functions, so that a word that was stored folded is
asked for folded (known fault 134). What does not belong here: stems and letter groups
(`know.stems`), dates, amounts and identifiers (`know.identifiers`), and folding that keeps
positions (`words`).
"""

import re
import unicodedata
from functools import cache

import regex

# --- folding -----------------------------------------------------------------------------------

_SPECIAL_LETTERS = {
    "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i",
    "ŋ": "n", "ё": "е", "ʼ": "'", "’": "'", "‘": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-",
    "—": "-", "−": "-", "⁄": "/",
}  # fmt: skip
_TO_FOLD = re.compile(
    "[\u0080-\u024f\u02bc\u1e00-\u1eff\u0300-\u036f"  # Latin with marks, loose marks
    "\u0370-\u03ff\u1f00-\u1fff"  # Greek
    "\u0451"  # Cyrillic yo; other Cyrillic letters carry meaning in their mark
    "\u0591-\u05c7\u0640\u064b-\u0652"  # Hebrew and Arabic vowel points, tatweel
    "\u00ad\u200b-\u206f\ufeff\u2010-\u2015\u2044\u2212\ud800-\udfff]"
)
_WORD_BROKEN_AT_LINE_END = re.compile(r"(?<=[^\W\d_])-[ \t]*\r?\n\s*(?=[^\W\d_])")


def _fold_letter(match: re.Match[str]) -> str:
    return _folded_letter(match.group())


@cache
def _folded_letter(letter: str) -> str:
    special = _SPECIAL_LETTERS.get(letter)
    if special is not None:
        return special
    category = unicodedata.category(letter)
    if category in ("Mn", "Cf") or letter == "\u0640":
        return ""
    if not letter.isalnum():
        return " "
    bare = "".join(c for c in unicodedata.normalize("NFD", letter) if not unicodedata.combining(c))
    return _SPECIAL_LETTERS.get(bare, bare)


def _join_broken_word(match: re.Match[str]) -> str:
    following = match.string[match.end()]
    return "" if following.islower() else match.group()


def compose(text: str) -> str:
    """One code point per sign where there is one, words broken at a line end joined, lower case."""
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    if "-" in text and "\n" in text:
        text = _WORD_BROKEN_AT_LINE_END.sub(_join_broken_word, text)
    return text.casefold()


def without_marks(lower: str) -> str:
    """Lower-case text without accents, vowel points and invisible characters."""
    return lower if lower.isascii() else _TO_FOLD.sub(_fold_letter, lower)


def fold(text: str) -> str:
    """Lower case without accents, ligatures and invisible characters; length may change.

    "ä" becomes "a", "ß" becomes "ss", a word hyphenated at a line end is joined. Characters that
    cannot be encoded (lone surrogates) become spaces. Source: known fault 134.
    """
    return without_marks(compose(text))


def collapse(word: str) -> str:
    """The spelling on which "gebuehr", "gebühr" (folded "gebuhr") and "gebuhr" meet."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


# --- words -------------------------------------------------------------------------------------

_NO_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(
    rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_NO_SPACES}]]+|(?:[{_NO_SPACES}]\p{{M}}*)+", regex.V1
)
_UNSPACED = regex.compile(f"[{_NO_SPACES}]", regex.V1)
_BEYOND_LATIN = re.compile("[\u0370-\uffff\U00010000-\U0010ffff]")
_ASCII_BREAKS = bytes(c if c > 127 or chr(c).isalnum() else 32 for c in range(256))


def words(folded: str) -> list[str]:
    """Runs of letters, marks and digits of an already folded text, in order.

    A script without spaces parts from the signs around it.
    """
    if _BEYOND_LATIN.search(folded):
        return _WORD.findall(folded)
    # Folding has turned every other Latin punctuation into ASCII or a space.
    return folded.encode().translate(_ASCII_BREAKS).decode().split()


def is_unspaced(word: str) -> bool:
    """Whether a word is written in a script without spaces, so that it may be a whole sentence."""
    return _UNSPACED.search(word) is not None
