"""Folding: one spelling for case, accents, ligatures and umlauts; words, stems, letter groups.

Both sides of the word search call these functions, so that a word that was indexed folded is asked
for folded (known fault 134). What does not belong here: dates, amounts and identifiers
(`identifiers`), and what an index holds of a text (`normalise`).
"""

import re
import unicodedata
from functools import cache

import regex
import tantivy

STEM_LANGUAGES: tuple[str, ...] = ("german", "french", "english", "italian", "russian")
"""Stemmers every word runs through, whatever language a text is labelled with (ING-08, ING-22)."""

GRAM = 4
LONGEST_GRAMMED = 64

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


_DIGIT = re.compile(r"\d")

# --- stems and letter groups -------------------------------------------------------------------


@cache
def _stemmers() -> tuple[tuple[str, tantivy.TextAnalyzer], ...]:
    return tuple(
        (
            language,
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
            .filter(tantivy.Filter.stemmer(language))
            .build(),
        )
        for language in STEM_LANGUAGES
    )


def stems(word: str) -> tuple[str, ...]:
    """The different stems of a folded word over all stemmers; none for a word with digits.

    The German stemmer reads the collapsed spelling, the others the folded one: "issue" and
    "issues" would part ways without their "ue".
    """
    if _DIGIT.search(word):
        return ()
    found = dict.fromkeys(
        analyser.analyze(collapse(word) if language == "german" else word)[0]
        for language, analyser in _stemmers()
    )
    return tuple(found)


def is_unspaced(word: str) -> bool:
    """Whether a word is written in a script without spaces, so that it may be a whole sentence."""
    return _UNSPACED.search(word) is not None


def grams(word: str) -> tuple[str, ...]:
    """Letter groups of a folded word: fours of the collapsed spelling, twos where a script writes
    without spaces; none for a shorter word, a word with digits (`identifiers` reads those) and a
    run too long to be one. They let "Vertrag" meet "Mietvertrag".
    """
    unspaced = is_unspaced(word)
    if _DIGIT.search(word) or (len(word) > LONGEST_GRAMMED and not unspaced):
        return ()
    size = 2 if unspaced else GRAM
    spelling = collapse(word)
    return tuple(dict.fromkeys(spelling[i : i + size] for i in range(len(spelling) - size + 1)))


def compound_ends(word: str) -> tuple[tuple[str, ...], ...]:
    """Letter groups of the ends of a long folded word, the last half first: "Mietvertrag" may
    stand in a text as "Vertrag" or as "Miete".
    """
    half = len(collapse(word)) // 2
    if half < GRAM or is_unspaced(word):
        return ()
    spelling = collapse(word)
    ends = (grams(spelling[-half - 1 :]), grams(spelling[: half - 1]))
    return tuple(end for end in ends if end)
